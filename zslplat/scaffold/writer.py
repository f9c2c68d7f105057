"""Write a plugin package from the templates beside this file; ``$name`` and the like are filled in."""

from __future__ import annotations

import datetime
import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from zslplat.errors import UnknownNameError, UsageError
from zslplat.hookspecs import API_VERSION
from zslplat.registry import COMMAND_GROUP, GROUP, OWN_CODES, Registry

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SUFFIX = ".template"
_NUMPY = "numpy>=2,<3"


@dataclass(frozen=True)
class PluginForm:
    """A form of plugin: its noun, the hook that registers it, how to use one, and what it needs beside zslplat."""

    noun: str
    registered: str
    usage: str
    needs: tuple[str, ...] = (_NUMPY,)
    group: str = GROUP


FORMS = {
    "kernel": PluginForm("kernel", "kernels", 'zslplat tune --method zskl-ort --kernel "$name"'),
    "dataset": PluginForm("data set", "datasets", "zslplat tune --method eszsl --dataset $name"),
    "encoder": PluginForm(
        "encoder",
        "encoders",
        "zslplat encode IMAGES --image-encoder $name --to DATA",
        (_NUMPY, "zslplat-encoders>=0.1,<1"),
    ),
    "task": PluginForm("task", "tasks", "zslplat show $name"),
    "check": PluginForm("check", "checks", "zslplat explain $code", ()),
    "command": PluginForm("command", "", "zslplat $name", ("typer>=0.17,<1",), COMMAND_GROUP),
    "listener": PluginForm("listener", "listeners", "export $variable=runs.jsonl", ()),
}


def write_package(
    form: str, name: str, directory: Path | None, registry: Registry, *, commands: Collection[str] = ()
) -> list[Path]:
    """Write the package ``zslplat-<name>`` and return its files, sorted.

    ``form``: a key of :data:`FORMS`, or a kind of methods. ``directory``: the folder to write, new or empty; default
    ``zslplat-<name>`` in the current folder. ``commands``: names of existing commands. Raises :class:`UsageError` for
    an unknown form, a name that is no lower-case word (or words joined by ``-``), a name that is taken, or a folder
    that holds something.
    """
    values = _values(form, name, registry, commands)
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
        path.write_text(_filled(_templates(form, registry), template, values), encoding="utf-8")
    return sorted(folder / place for place in templates)


def forms(registry: Registry) -> dict[str, PluginForm]:
    """Return all forms of plugins, the kinds of methods that have a template among them."""
    kinds = {name: registry.entry("kinds", name).target for name in registry.names("kinds")}
    methods = {
        name: PluginForm(kind.noun, "methods", " ".join(f"zslplat tune {kind.usage} --method $name".split()))
        for name, kind in kinds.items()
        if kind.template
    }
    return FORMS | methods


def _templates(form: str, registry: Registry) -> list[Traversable]:
    """Return the folders where the templates of a form are, the one that comes first being its own."""
    common = files("zslplat.scaffold").joinpath("templates")
    if form in FORMS:
        return [common.joinpath(form), common]
    package, _, folder = registry.entry("kinds", form).target.template.partition(":")
    return [files(package).joinpath(folder), common]


def _values(form: str, name: str, registry: Registry, commands: Collection[str]) -> dict[str, str]:
    from zslplat import api

    available = forms(registry)
    if form not in available:
        raise UnknownNameError("form of plugin", form, available)
    described = available[form]
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a {described.noun}; use lower-case words joined by -, like my-{form}"
        )
    file, cls = name.replace("-", "_"), "".join(part.capitalize() for part in name.split("-"))
    if keyword.iskeyword(file) or cls in api.__all__ or cls in ("True", "False", "None"):
        raise UsageError(f"{name!r} would clash with a name of Python or of zslplat.api; choose another one")
    # A check is registered by its code; a code of letters of the name is a start, to be replaced like the rest.
    code = "".join(sign for sign in name.upper() if "A" <= sign <= "Z") + "101"
    called = code if form == "check" else name
    if called.startswith(OWN_CODES) and form == "check":
        raise UsageError(f"{name!r} makes the code {code}, and {OWN_CODES} is kept for zslplat; choose another name")
    taken = registry.entries[described.registered].get(called) if described.registered else None
    if taken:
        plugin = taken[0].plugin
        raise UsageError(
            f"{described.noun} {called!r} exists already, in {plugin.distribution} {plugin.version}; choose another "
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
        "noun": described.noun,
        "registered": described.registered,
        "group": described.group,
        "target": module if described.group == GROUP else f"{module}.{file}:{file}",
        "dependencies": ", ".join(f'"{need}"' for need in (*described.needs, bounds)),
        "api": API_VERSION,
        "year": str(datetime.date.today().year),
        "usage": Template(described.usage).substitute(name=name, variable=variable, code=code),
    }


def _filled(folders: list[Traversable], template: str, values: dict[str, str]) -> str:
    """Return a filled template, from the first folder that has it."""
    path = next(path for folder in folders if (path := folder.joinpath(f"{template}{_SUFFIX}")).is_file())
    return Template(path.read_text(encoding="utf-8")).substitute(values)
