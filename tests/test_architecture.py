"""The house stays as it was drawn: floors that import downwards only, no circles, no long files."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "zslplat"
# From the top; a floor imports only what stands below it.
FLOORS = (
    ("cli", "documentation", "testing", "scaffold", "__main__"),
    ("front",),
    ("reports",),
    ("reproduction",),
    ("suites",),
    ("comparison",),
    ("serving",),
    ("tuning",),
    ("tracking",),
    ("evaluation",),
    ("records",),
    ("models",),
    ("api",),
    ("checks",),
    ("pipelines",),
    ("tasks",),
    ("methods",),
    ("kernels",),
    ("data",),
    ("drawing", "tables", "published"),
    ("figures", "pictures", "metrics", "config", "space", "spec", "settings", "registry", "hookspecs", "builtins"),
    ("imports",),
    ("errors",),
    ("multiples", "keys", "names", "plain_json", "wording", "__init__"),
)
MOST_LINES = 500


def modules():
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }


def imports():
    """Return {module: modules of the package that it imports}, those inside functions included."""
    known = modules()
    found = defaultdict(set)
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names if alias.name in known}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "zslplat":
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    found[name].add(full if full in known else node.module)
        found[name].discard(name)
    return found


def floor_of(module):
    room = module.partition(".")[2].partition(".")[0] or "__init__"
    return next(i for i, floor in enumerate(FLOORS) if room in floor)


def test_every_room_has_a_floor():
    rooms = {name.partition(".")[2].partition(".")[0] or "__init__" for name in modules()}
    assert rooms == {room for floor in FLOORS for room in floor}


def test_a_floor_imports_only_what_stands_below_it():
    upwards = [f"{a} -> {b}" for a, targets in imports().items() for b in targets if floor_of(a) > floor_of(b)]
    assert upwards == []


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
