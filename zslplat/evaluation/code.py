"""Which code computes an evaluation: a hash of every module that imports reach, without comments and docstrings.

Trials record the hashes of the code that gave them, by role (method, kernel, task, data, scoring). Equal hashes say
that the same statements were run; a comment, a docstring or a change of layout changes nothing, nor does a module that
the evaluation does not reach. Imports are followed where they lead to zslplat, to the component's own package, or to
files outside of the installed libraries; numpy, scipy and numba are recorded by version instead.

A name that a module merely hands on (``from zslplat.api import Method``) is followed to the module that defines it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import site
import sysconfig
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "scipy", "numba")
# Changed where the way of hashing is, so that hashes of different ways are never compared.
SCHEME = 1
_IGNORED_FIELDS = frozenset({"type_comment", "kind", "ctx", "type_ignores"})


def libraries() -> dict[str, str]:
    """Return the versions of the libraries that compute beside the modules that are hashed."""
    return {name: version(name) for name in LIBRARIES}


@dataclass(frozen=True)
class _Module:
    """What is known of one source file: hash of its statements, and the modules and names that it imports."""

    digest: str
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    bindings: Mapping[str, tuple[str, str]]


@dataclass
class CodeReader:
    """Hashes of code, remembered in a file (by path, size and time of change) so that they cost nothing the next time.

    ``remembered``: that file; None remembers within this object only.
    """

    remembered: Path | None = None
    _known: dict[str, list[Any]] = field(default_factory=dict)
    _changed: bool = False
    _read: dict[str, _Module | None] = field(default_factory=dict)
    _digests: dict[frozenset[str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.remembered is not None:
            with suppress(OSError, ValueError):
                content = json.loads(self.remembered.read_text())
                if isinstance(content, dict) and content.get("scheme") == SCHEME:
                    self._known = content["files"]

    def digest(self, modules: Iterable[str]) -> str:
        """Return the hash of these modules and of all that their imports reach."""
        roots = frozenset(modules)
        if roots not in self._digests:
            own = {name.partition(".")[0] for name in roots} | {"zslplat"}
            parts = [f"{name}:{self._module(name, own).digest}" for name in self.reached(roots)]  # type: ignore[union-attr]
            self._digests[roots] = hashlib.sha256("\n".join([str(SCHEME), *parts]).encode()).hexdigest()[:16]
            self._remember()
        return self._digests[roots]

    def reached(self, roots: Iterable[str]) -> list[str]:
        """Return the names of the modules that imports reach from these, sorted; libraries are left out."""
        roots = set(roots)
        own = {name.partition(".")[0] for name in roots} | {"zslplat"}
        waiting, found = sorted(roots), set[str]()
        while waiting:
            name = waiting.pop()
            module = self._module(name, own)
            if name in found or module is None:
                continue
            found.add(name)
            for imported, names in module.imports:
                waiting += self._targets(imported, names, own)
        return sorted(found)

    def _targets(self, module: str, names: tuple[str, ...], own: set[str]) -> list[str]:
        """Return the modules in which the imported names are defined."""
        targets = []
        for name in names:
            place, wanted = module, name
            for _ in range(20):
                if self._module(f"{place}.{wanted}", own) is not None:
                    place = f"{place}.{wanted}"
                    break
                source = self._module(place, own)
                if source is None or wanted not in source.bindings:
                    break
                place, wanted = source.bindings[wanted]
            targets.append(place)
        return targets or [module]

    def _module(self, name: str, own: set[str]) -> _Module | None:
        """Return a module's entry; None for what is no module, has no source, or belongs to a library."""
        key = name if name.partition(".")[0] in own else f"?{name}"
        if key not in self._read:
            path = source_file(name) if key == name or not _is_library(name.partition(".")[0]) else None
            self._read[key] = self._parsed(name, path) if path is not None else None
        return self._read[key]

    def _parsed(self, name: str, path: Path) -> _Module | None:
        try:
            status = path.stat()
            stamp = [status.st_size, status.st_mtime_ns]
            known = self._known.get(str(path))
            if known is None or known[:2] != stamp:
                found = parse_module(path.read_text(encoding="utf-8"), name, is_package=path.name == "__init__.py")
                known = [*stamp, found.digest, found.imports, found.bindings]
                self._known[str(path)], self._changed = known, True
        except (OSError, SyntaxError, ValueError):
            return None
        _, _, digest, imports, bindings = known
        return _Module(digest, tuple((m, tuple(n)) for m, n in imports), {k: tuple(v) for k, v in bindings.items()})

    def _remember(self) -> None:
        if not self._changed or self.remembered is None:
            return
        self._changed = False
        with suppress(OSError):
            temporary = self.remembered.with_name(f"{self.remembered.name}.{os.getpid()}")
            temporary.write_text(json.dumps({"scheme": SCHEME, "files": self._known}))
            os.replace(temporary, self.remembered)


def parse_module(text: str, name: str, *, is_package: bool = False) -> _Module:
    """Return the hash, the imports and the handed-on names of a module's source; raises SyntaxError."""
    tree = ast.parse(text)
    imports: list[tuple[str, tuple[str, ...]]] = []
    bindings: dict[str, tuple[str, str]] = {}
    words: list[str] = []
    _walk(tree, words, imports, name if is_package else name.rpartition(".")[0])
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            module = _absolute(node, name if is_package else name.rpartition(".")[0])
            bindings |= {alias.asname or alias.name: (module, alias.name) for alias in node.names}
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
    return _Module(digest, tuple(dict.fromkeys(imports)), bindings)


def _walk(node: ast.AST, words: list[str], imports: list[tuple[str, tuple[str, ...]]], package: str) -> None:
    """Write down a node and all below, without positions, docstrings and what only type checkers read."""
    words.append(type(node).__name__)
    if isinstance(node, ast.Import):
        imports += [(alias.name, ()) for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        imports.append((_absolute(node, package), tuple(alias.name for alias in node.names)))
    for name in node._fields:
        value = getattr(node, name, None)
        # Empty fields are left out: newer versions of Python have more of them.
        if name in _IGNORED_FIELDS or value is None or value == []:
            continue
        words.append(name)
        if isinstance(value, ast.AST):
            _walk(value, words, imports, package)
        elif isinstance(value, list):
            for item in _statements(node, name, value):
                if isinstance(item, ast.AST):
                    _walk(item, words, imports, package)
                else:
                    words.append(repr(item))
            words.append("]")
        else:
            words.append(repr(value))


def _statements(node: ast.AST, name: str, values: list[Any]) -> list[Any]:
    """Return the statements of a body that run; other lists as they are."""
    if name != "body":
        return values
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return []
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    first = values[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return values[1:] if documented and is_text else values


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])


@cache
def source_file(module: str) -> Path | None:
    """Return the source file of a module, None where there is none to be found; nothing is imported for it."""
    package, _, name = module.rpartition(".")
    if not package:
        try:
            found = importlib.util.find_spec(module)
        except (ImportError, ValueError, AttributeError):
            return None
        origin = getattr(found, "origin", None)
        return Path(origin) if origin and str(origin).endswith(".py") else None
    around = source_file(package)
    if around is None or around.name != "__init__.py":
        return None
    for place in (around.parent / f"{name}.py", around.parent / name / "__init__.py"):
        if place.is_file():
            return place
    return None


@cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if name in paths]
    with suppress(AttributeError):
        folders += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(os.path.realpath(folder) + os.sep for folder in folders)


@cache
def _is_library(package: str) -> bool:
    """Tell whether a top-level package is installed or part of Python, and not somebody's work in progress."""
    path = source_file(package)
    return path is None or os.path.realpath(path).startswith(_library_folders())
