"""Where the code of a module is found, without importing it: in a folder, in an archive, compiled or not."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import site
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ModuleFile:
    """A module on disk: the file that holds it, which may be an archive of many, and how it is read."""

    name: str
    file: Path
    is_package: bool
    loader: Any
    origin: str

    @property
    def place(self) -> str:
        """What tells the module from all others: path of its file, and its own name where that holds several."""
        return str(self.file) if str(self.file) == self.origin else f"{self.file}!{self.name}"

    def source(self) -> str | None:
        """Return the module's text, None where it is there in compiled form only; raises OSError and ValueError."""
        if self.origin.endswith(".py") and str(self.file) == self.origin:
            return self.file.read_text(encoding="utf-8")
        with suppress(ImportError, AttributeError):
            text = self.loader.get_source(self.name)
            return None if text is None else str(text)
        return None

    def content(self) -> bytes:
        """Return the bytes of a compiled module; raises OSError."""
        data = bytes(self.loader.get_data(self.origin))
        # What stands before the code tells when it was compiled.
        return data[16:] if self.origin.endswith(".pyc") else data


@cache
def module_file(name: str) -> ModuleFile | None:
    """Return where a module lies; None where there is no such module, or no file that holds it alone."""
    spec = _found(name)
    loader, origin = getattr(spec, "loader", None), str(getattr(spec, "origin", None) or "")
    if spec is None or loader is None or not spec.has_location:
        return None
    for path in (Path(origin), *Path(origin).parents):
        if path.is_file():
            return ModuleFile(name, path, spec.submodule_search_locations is not None, loader, origin)
    return None


def modules_of(package: str) -> list[str]:
    """Return the names of a package and of all modules in it."""
    found, waiting = [], [package]
    while waiting:
        name = waiting.pop()
        found.append(name)
        waiting += [info.name for info in pkgutil.iter_modules(_locations(name), f"{name}.")]
    return sorted(found)


def is_library(package: str) -> bool:
    """Tell whether a top-level package is installed or part of Python, and not somebody's work in progress."""
    held = module_file(package)
    places = _locations(package) if held is None else [str(held.file)]
    return not places or os.path.realpath(places[0]).startswith(_library_folders())


@cache
def _found(name: str) -> ModuleSpec | None:
    package, _, _ = name.rpartition(".")
    with suppress(ImportError, ValueError, AttributeError):
        if not package:
            return importlib.util.find_spec(name)
        portions: list[str] = []
        for location in _locations(package):
            finder = pkgutil.get_importer(location)
            spec = finder.find_spec(name) if finder is not None else None
            if spec is not None and spec.loader is not None:
                return spec
            portions += [] if spec is None else list(spec.submodule_search_locations or ())
        if portions:
            folder = ModuleSpec(name, None, is_package=True)
            folder.submodule_search_locations = portions
            return folder
    return None


def _locations(package: str) -> list[str]:
    """Return the folders in which a package's modules lie; there may be several, and none of them a file."""
    spec = _found(package)
    return [] if spec is None else list(spec.submodule_search_locations or ())


@cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if name in paths]
    with suppress(AttributeError):
        folders += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(os.path.realpath(folder) + os.sep for folder in folders)
