"""The house stays as it was drawn: floors that import downwards only, no circles, no long files."""

import re

import pytest
from import_graph import PACKAGE, ROOT, imports, modules

# From the top; a floor imports only what stands below it.
FLOORS = (
    ("cli", "documentation_site", "testing", "scaffold", "__main__"),
    ("front",),
    ("reports",),
    ("suites",),
    ("comparison",),
    ("evidence",),
    ("serving", "tracking"),
    ("tuning",),
    ("evaluation",),
    ("records",),
    ("api",),
    ("models",),
    ("checks",),
    ("estimators",),
    ("pipelines",),
    ("tasks",),
    ("methods",),
    ("kernels",),
    ("data",),
    ("drawing",),
    ("listeners",),
    (
        "kinds",
        "listing",
        "summary",
        "families",
        "builtins",
        "registry",
        "hookspecs",
        "spec",
        "space",
        "settings",
        "config",
        "metrics",
        "statistics",
        "pooling",
        "figures",
        "palette",
        "pictures",
    ),
    ("errors", "__init__"),
    ("multiples", "keys", "names", "plain_json", "platforms"),
)
# The parts of a family, and beside which package each stands; the others are of its tasks.
PARTS_OF_FAMILIES = {
    "methods": "methods",
    "pipeline": "pipelines",
    "checks": "checks",
    "model": "models",
    "kit": "testing",
}
# The base classes that plugins import, the command that looks rows up in an index, and the check that zsl takes a data
# set.
IMPORTERS_OF_FAMILIES = {"zslplat.api", "zslplat.cli.models", "zslplat.testing.datasets"}
MOST_LINES = 500


def package_of(module):
    return module.partition(".")[0]


def floor_of(module):
    if package_of(module) != "zslplat":
        return -1  # the packages of plugins stand above
    room, _, part = module.removeprefix("zslplat").removeprefix(".").partition(".")
    room = room or "__init__"
    if room == "families" and "." in part:
        room = PARTS_OF_FAMILIES.get(part.split(".")[1], "tasks")
    return next(i for i, floor in enumerate(FLOORS) if room in floor)


def test_every_room_has_a_floor():
    rooms = {
        name.partition(".")[2].partition(".")[0] or "__init__" for name in modules() if package_of(name) == "zslplat"
    }
    assert rooms == {room for floor in FLOORS for room in floor}


def test_a_floor_imports_only_what_stands_below_it():
    upwards = [f"{a} -> {b}" for a, targets in imports().items() for b in targets if floor_of(a) > floor_of(b)]
    assert upwards == []


def test_nothing_else_imports_a_family():
    importers = {a for a, targets in imports().items() for b in targets if b.startswith("zslplat.families.")}
    outside = {a for a in importers if package_of(a) == "zslplat" and not a.startswith("zslplat.families")}
    assert outside <= IMPORTERS_OF_FAMILIES


def test_no_two_files_import_each_other_in_a_circle():
    graph = imports()
    order, state, circle = [], {}, []

    def visit(name, path):
        state[name] = "open"
        for other in sorted(graph[name]):
            if state.get(other) == "open":
                circle.append([*path[path.index(other) :], other] if other in path else [name, other])
            elif other not in state:
                visit(other, [*path, other])
        state[name] = "done"
        order.append(name)

    for name in sorted(graph):
        if name not in state:
            visit(name, [name])
    assert circle == []
    assert len(order) >= len(graph)


@pytest.mark.parametrize("folder", ["zslplat", "tests", "benchmarks", "plugins"])
def test_no_file_is_long(folder):
    lines = {path: len(path.read_text().splitlines()) for path in (ROOT / folder).rglob("*.py")}
    assert {str(path.relative_to(ROOT)): count for path, count in lines.items() if count > MOST_LINES} == {}


def test_no_two_test_files_have_one_name():
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_platform_imports_no_package_of_the_folder_plugins():
    packages = {path.parent.name for path in (ROOT / "plugins").glob("*/*/__init__.py")}
    assert packages
    imported = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(packages)})\b", re.MULTILINE)
    assert [str(path) for path in PACKAGE.rglob("*.py") if imported.search(path.read_text())] == []


def test_what_differs_between_systems_is_in_one_module():
    rest = re.compile(
        r"^\s*(?:import|from) (?:fcntl|msvcrt|resource)\b|\bos\.fork\b|\bsys\.platform ==|\bos\.name\b", re.MULTILINE
    )
    files = {path for folder in (PACKAGE, ROOT / "plugins") for path in folder.rglob("*.py")}
    users = {path.relative_to(ROOT).as_posix() for path in files if rest.search(path.read_text())}
    assert {path for path in users if "/tests/" not in path} == {"zslplat/platforms.py"}
