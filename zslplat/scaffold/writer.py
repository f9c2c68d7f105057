"""Write a plugin package from the templates beside this file; ``$name`` and the like are filled in."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from zslplat.errors import UnknownNameError, UsageError
from zslplat.registry import Registry

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SUFFIX = ".template"


@dataclass(frozen=True)
class Kind:
    """A kind of plugin: its word, the hook that registers it, and how to use one from the command line."""

    words: str
    registered: str
    usage: str


KINDS = {
    "kernel": Kind("kernel", "kernels", 'zslplat tune --method zskl-ort --kernel "$name"'),
    "method": Kind("method", "methods", "zslplat tune --method $name"),
    "dataset": Kind("data set", "datasets", "zslplat tune --method eszsl --dataset $name"),
}


def write_package(kind: str, name: str, directory: Path | None, registry: Registry) -> list[Path]:
    """Write the package ``zslplat-<name>`` and return its files, sorted.

    ``kind``: kernel, method or dataset. ``directory``: the folder to write, new or empty; default ``zslplat-<name>``
    in the current folder. Raises :class:`UsageError` for an unknown kind, a name that is no lower-case word (or words
    joined by ``-``), a name that is taken, or a folder that holds something.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of plugin", kind, KINDS)
    values = _values(kind, name, registry)
    folder = Path(f"zslplat-{name}") if directory is None else directory
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already; give another folder with --directory, or remove it")
    module = values["module"]
    contents = {
        "pyproject.toml": _filled("pyproject.toml", values),
        "README.md": _filled("README.md", values),
        f"{module}/__init__.py": _filled("hooks.py", values),
        f"{module}/{values['file']}.py": _filled(f"{kind}/component.py", values),
        f"tests/test_{module}.py": _filled("tests.py", values),
    }
    for place, text in contents.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return sorted(folder / place for place in contents)


def _values(kind: str, name: str, registry: Registry) -> dict[str, str]:
    from zslplat import api

    described = KINDS[kind]
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a {described.words}; use lower-case words joined by -, like my-{kind}"
        )
    file, cls = name.replace("-", "_"), "".join(part.capitalize() for part in name.split("-"))
    if keyword.iskeyword(file) or cls in api.__all__:
        raise UsageError(f"{name!r} would clash with a name of Python or of zslplat.api; choose another one")
    taken = registry.entries[described.registered].get(name)
    if taken:
        plugin = taken[0].plugin
        raise UsageError(
            f"{described.words} {name!r} exists already, in {plugin.distribution} {plugin.version}; choose another name"
        )
    return {
        "name": name,
        "file": file,
        "cls": cls,
        "module": f"zslplat_{file}",
        "words": described.words,
        "registered": described.registered,
        "usage": Template(described.usage).substitute(name=name),
    }


def _filled(template: str, values: dict[str, str]) -> str:
    text = files("zslplat.scaffold").joinpath("templates", f"{template}{_SUFFIX}").read_text(encoding="utf-8")
    return Template(text).substitute(values)
