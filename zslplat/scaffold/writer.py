"""Write a plugin package from the templates beside this file; ``$name`` and the like are filled in."""

from __future__ import annotations

import datetime
import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from zslplat.errors import UnknownNameError, UsageError
from zslplat.hookspecs import API_VERSION
from zslplat.registry import COMMAND_GROUP, GROUP, OWN_CODES, Registry

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SUFFIX = ".template"
_NUMPY = "numpy>=2,<3"


@dataclass(frozen=True)
class Kind:
    """A kind of plugin: its word, the hook that registers it, how to use one, and what it needs beside zslplat."""

    words: str
    registered: str
    usage: str
    needs: tuple[str, ...] = (_NUMPY,)
    group: str = GROUP


KINDS = {
    "kernel": Kind("kernel", "kernels", 'zslplat tune --method zskl-ort --kernel "$name"'),
    "method": Kind("method", "methods", "zslplat tune --method $name"),
    "coding": Kind("coding method", "methods", "zslplat tune --task coding --dataset digits --method $name"),
    "feature-selection": Kind("feature selector", "methods", "zslplat tune --task feature-selection --method $name"),
    "exemplar": Kind("exemplar method", "methods", "zslplat tune --task exemplar-retrieval --method $name"),
    "dataset": Kind("data set", "datasets", "zslplat tune --method eszsl --dataset $name"),
    "task": Kind("task", "tasks", "zslplat show $name"),
    "check": Kind("check", "checks", "zslplat explain $code", ()),
    "command": Kind("command", "", "zslplat $name", ("typer>=0.17,<1",), COMMAND_GROUP),
    "listener": Kind("listener", "listeners", "export $variable=runs.jsonl", ()),
}


def write_package(
    kind: str, name: str, directory: Path | None, registry: Registry, *, commands: Collection[str] = ()
) -> list[Path]:
    """Write the package ``zslplat-<name>`` and return its files, sorted.

    ``kind``: a key of :data:`KINDS`. ``directory``: the folder to write, new or empty; default ``zslplat-<name>`` in
    the current folder. ``commands``: those that there are. Raises :class:`UsageError` for an unknown kind, a name that
    is no lower-case word (or words joined by ``-``), a name that is taken, or a folder that holds something.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of plugin", kind, KINDS)
    values = _values(kind, name, registry, commands)
    folder = Path(f"zslplat-{name}") if directory is None else directory
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already; give another folder with --directory, or remove it")
    module = values["module"]
    templates = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        "LICENSE": "LICENSE",
        ".gitignore": "gitignore",
        ".github/workflows/checks.yml": "workflow.yml",
        f"{module}/__init__.py": "hooks.py",
        f"{module}/py.typed": "py.typed",
        f"{module}/{values['file']}.py": "component.py",
        f"tests/test_{module}.py": "tests.py",
    }
    for place, template in templates.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(kind, template, values), encoding="utf-8")
    return sorted(folder / place for place in templates)


def _values(kind: str, name: str, registry: Registry, commands: Collection[str]) -> dict[str, str]:
    from zslplat import api

    described = KINDS[kind]
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a {described.words}; use lower-case words joined by -, like my-{kind}"
        )
    file, cls = name.replace("-", "_"), "".join(part.capitalize() for part in name.split("-"))
    if keyword.iskeyword(file) or cls in api.__all__ or cls in ("True", "False", "None"):
        raise UsageError(f"{name!r} would clash with a name of Python or of zslplat.api; choose another one")
    # A check is registered by its code; a code of letters of the name is a start, to be replaced like the rest.
    code = "".join(sign for sign in name.upper() if "A" <= sign <= "Z") + "101"
    called = code if kind == "check" else name
    if called.startswith(OWN_CODES) and kind == "check":
        raise UsageError(f"{name!r} makes the code {code}, and {OWN_CODES} is kept for zslplat; choose another name")
    taken = registry.entries[described.registered].get(called) if described.registered else None
    if taken:
        plugin = taken[0].plugin
        raise UsageError(
            f"{described.words} {called!r} exists already, in {plugin.distribution} {plugin.version}; choose another "
            "name"
        )
    if described.group == COMMAND_GROUP and name in commands:
        raise UsageError(f"command {name!r} exists already; choose another name")
    module, variable = f"zslplat_{file}", f"ZSLPLAT_{file.upper()}_FILE"
    here = version("zslplat").split(".")
    bounds = f"zslplat>={here[0]}.{here[1]},<{int(here[0]) + 1}"
    return {
        "name": name,
        "file": file,
        "cls": cls,
        "function": file,
        "code": code,
        "variable": variable,
        "module": module,
        "words": described.words,
        "registered": described.registered,
        "group": described.group,
        "target": module if described.group == GROUP else f"{module}.{file}:{file}",
        "dependencies": ", ".join(f'"{need}"' for need in (*described.needs, bounds)),
        "api": API_VERSION,
        "year": str(datetime.date.today().year),
        "usage": Template(described.usage).substitute(name=name, variable=variable, code=code),
    }


def _filled(kind: str, template: str, values: dict[str, str]) -> str:
    """Return a filled template: the kind's own one, or that of all kinds."""
    places = (
        files("zslplat.scaffold").joinpath("templates", *folder, f"{template}{_SUFFIX}") for folder in ([kind], [])
    )
    found = next(place for place in places if place.is_file())
    return Template(found.read_text(encoding="utf-8")).substitute(values)
