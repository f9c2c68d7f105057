"""Which code computes an evaluation: a hash of every module that its imports reach, without comments and docstrings.

Trials record the hashes of the code that computed them, by role (method, kernel, task, data, scoring). Equal hashes
mean that the same statements were run; a comment, a docstring, a change of layout or a module that is not reached
changes nothing. Imports are followed to zslplat, to the component's own package, and to files outside of the installed
libraries; numpy, scipy and numba are recorded by version.

A name that a module re-exports (``from zslplat.api import Method``) is followed to the module that defines it. Of a
module without a source file of its own (compiled, or in an archive) the bytes of its file count, and its package.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import pkgutil
import re
import site
import sysconfig
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zslplat import registry
from zslplat.data.store.atomic_files import replacing
from zslplat.errors import StoreError

if TYPE_CHECKING:
    # Methods import scikit-learn, which many commands do not need.
    from zslplat.data.source import DataSource
    from zslplat.evaluation.experiment import Experiment
    from zslplat.methods.base import Method
    from zslplat.tasks.base import Task

LIBRARIES = ("numpy", "scipy", "numba")
# Raised when hashing changes, so that hashes of two schemes are never compared.
SCHEME = 1
_IGNORED_FIELDS = frozenset({"type_comment", "kind", "ctx", "type_ignores"})


def libraries() -> dict[str, str]:
    """Return the versions of the libraries that compute beside the modules that are hashed."""
    return dict(_library_versions())


@cache
def _library_versions() -> dict[str, str]:
    # Reading these from metadata takes longer than all hashing.
    return {name: version(name) for name in LIBRARIES}


@dataclass(frozen=True)
class _Module:
    """The hash of a module's statements, and the modules and names that it imports."""

    digest: str
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    bindings: Mapping[str, tuple[str, str]]


@dataclass
class CodeReader:
    """Hashes of code, remembered in a file (by path, size and time of change) so that they are fast the next time.

    ``cache_file``: that file; None remembers within this object only.
    """

    cache_file: Path | None = None
    _files: dict[str, list[Any]] = field(default_factory=dict)
    _changed: bool = False
    _read: dict[str, _Module | None] = field(default_factory=dict)
    _digests: dict[frozenset[str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.cache_file is not None:
            with suppress(OSError, ValueError):
                content = json.loads(self.cache_file.read_text())
                if isinstance(content, dict) and content.get("scheme") == SCHEME:
                    self._files = content["files"]

    def digest(self, modules: Iterable[str]) -> str:
        """Return the hash of these modules and of everything that their imports reach."""
        roots = frozenset(modules)
        if roots not in self._digests:
            packages = {name.partition(".")[0] for name in roots} | {"zslplat"}
            parts = [f"{name}:{self._module(name, packages).digest}" for name in self.reached(roots)]  # type: ignore[union-attr]
            self._digests[roots] = hashlib.sha256("\n".join([str(SCHEME), *parts]).encode()).hexdigest()[:16]
            self._remember()
        return self._digests[roots]

    def reached(self, roots: Iterable[str]) -> list[str]:
        """Return the names of the modules that imports reach from these, sorted; libraries are left out."""
        roots = set(roots)
        packages = {name.partition(".")[0] for name in roots} | {"zslplat"}
        waiting, modules = sorted(roots), set[str]()
        while waiting:
            name = waiting.pop()
            module = self._module(name, packages)
            if name in modules or module is None:
                continue
            modules.add(name)
            for imported, names in module.imports:
                waiting += self._targets(imported, names, packages)
        return sorted(modules)

    def _targets(self, module: str, names: tuple[str, ...], packages: set[str]) -> list[str]:
        """Return the modules in which the imported names are defined."""
        targets = []
        for name in names:
            origin, attribute = module, name
            for _ in range(20):
                if self._module(f"{origin}.{attribute}", packages) is not None:
                    origin = f"{origin}.{attribute}"
                    break
                source = self._module(origin, packages)
                if source is None or attribute not in source.bindings:
                    break
                origin, attribute = source.bindings[attribute]
            targets.append(origin)
        return targets or [module]

    def _module(self, name: str, packages: set[str]) -> _Module | None:
        """Return a module's entry; None if there is no such module, or it belongs to a library."""
        key = name if name.partition(".")[0] in packages else f"?{name}"
        if key not in self._read:
            file = module_file(name) if key == name or not is_library(name.partition(".")[0]) else None
            self._read[key] = self._parsed(file) if file is not None else None
        return self._read[key]

    def _parsed(self, module: ModuleFile) -> _Module | None:
        try:
            status = module.file.stat()
            # Tools that unpack or copy may set st_mtime to any time, but not st_ctime.
            stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
            if module.file.suffix != ".py":
                return _compiled(module)
            place = str(module.file)
            content = self._files.get(place)
            if content is None or content[:3] != stamp:
                content = _parsed_here.get(place)
                if content is None or content[:3] != stamp:
                    text = module.file.read_text(encoding="utf-8")
                    parsed = parse_module(text, module.name, is_package=module.is_package)
                    content = [*stamp, parsed.digest, parsed.imports, parsed.bindings]
                    _parsed_here[place] = content
                self._files[place], self._changed = content, True
        except (FileNotFoundError, NotADirectoryError, SyntaxError, ValueError):
            return None
        digest, imports, bindings = content[3:]
        return _Module(digest, tuple((m, tuple(n)) for m, n in imports), {k: tuple(v) for k, v in bindings.items()})

    def _remember(self) -> None:
        if not self._changed or self.cache_file is None:
            return
        self._changed = False
        # On a full disk, hashes are computed again next time.
        with suppress(OSError), replacing(self.cache_file) as new:
            new.write_text(json.dumps({"scheme": SCHEME, "files": self._files}))


# What this process has parsed, by file: a program that opens several stores reads its code once.
_parsed_here: dict[str, list[Any]] = {}
_unchanged: set[tuple[str, str]] = set()


def require_unchanged(sources: Mapping[str, str], cache_file: Path | None, cluster_worker: str = "") -> None:
    """Raise :class:`StoreError` if modules have changed since the command began.

    ``sources`` maps names of modules, separated by blanks, to the hash that they had (:meth:`CodeReader.digest`). A
    process that starts later, or on another machine (``cluster_worker``), imports the current code; it checks this
    once.
    """
    new = set(sources.items()) - _unchanged
    if not new:
        return
    reader = CodeReader(cache_file)
    for modules, digest in new:
        if reader.digest(modules.split()) != digest:
            if cluster_worker:
                raise StoreError(
                    f"worker {cluster_worker} of the cluster has other code of {modules}, or of what it imports, than "
                    "this command; install the same version there, and start its workers anew"
                )
            raise StoreError(
                f"{modules}, or what it imports, was edited while this command ran, and a process that started since "
                "has the new code; what was recorded before is kept; give the same command again"
            )
        _unchanged.add((modules, digest))


def _compiled(file: ModuleFile) -> _Module:
    """Return the entry of a module that is compiled, or in an archive: its imports are unknown, its package counts."""
    others = tuple((name, ()) for name in modules_of(file.name.partition(".")[0]))
    return _Module(hashlib.sha256(file.file.read_bytes()).hexdigest()[:16], others, {})


def parse_module(text: str, name: str, *, is_package: bool = False) -> _Module:
    """Return the hash, the imports and the re-exported names of a module's source; raises SyntaxError."""
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
    """Write down a node and everything below, without positions, docstrings and what only type checkers read."""
    words.append(type(node).__name__)
    if isinstance(node, ast.Import):
        imports += [(alias.name, ()) for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        imports.append((_absolute(node, package), tuple(alias.name for alias in node.names)))
    elif isinstance(node, ast.Call) and (named := _imported_by_name(node, package)):
        imports.append((named, ()))
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
    """Return the statements of a body that are run; other lists unchanged."""
    if name != "body":
        return values
    if isinstance(node, ast.If) and "TYPE_CHECKING" in (getattr(node.test, "id", ""), getattr(node.test, "attr", "")):
        return []
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    first = values[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return values[1:] if documented and is_text else values


def _imported_by_name(node: ast.Call, package: str) -> str:
    """Return the module that ``import_module("name")`` or ``__import__("name")`` imports; empty for other calls."""
    called = getattr(node.func, "id", getattr(node.func, "attr", ""))
    argument = node.args[0] if node.args else None
    if called not in ("import_module", "__import__") or not isinstance(argument, ast.Constant):
        return ""
    with suppress(ImportError, ValueError):
        return importlib.util.resolve_name(argument.value, package) if isinstance(argument.value, str) else ""
    return ""


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])


_WORDS = re.compile(r"[\w-]+")
SCORING = ("zslplat.evaluation.scoring.folds", "zslplat.evaluation.scoring.evaluation")


def roots_of(
    experiment: Experiment, values: Mapping[str, Any], method: type[Method], task: Task, source: DataSource
) -> dict[str, set[str]]:
    """Return the modules by role: ``method``, ``kernel`` (where a value names one), ``task``, ``data``, ``scoring``.

    ``values``: the hyperparameters that the experiment does not fix.
    """
    return {
        "method": {method.__module__},
        "kernel": modules_named("kernels", {**experiment.method.parameters, **values}.values()),
        # The options of a task may name methods of their own.
        "task": {type(task).__module__} | modules_named("methods", experiment.task.parameters.values()),
        "data": {type(source).__module__},
        "scoring": set(SCORING),
    }


def code_of(roots: Mapping[str, set[str]], reader: CodeReader) -> dict[str, str]:
    """Return the hash of the code of each role that has modules, and the versions of the libraries."""
    return {**{role: reader.digest(modules) for role, modules in roots.items() if modules}, **libraries()}


def modules_named(kind: str, values: Iterable[Any]) -> set[str]:
    """Return the modules of the registered components of a kind whose names occur in these values as words."""
    entries = registry.registry().entries[kind]
    modules = set()
    for name in {word for value in values for word in _WORDS.findall(str(value))} & set(entries):
        for entry in entries[name]:
            modules.add(entry.target.partition(":")[0] if isinstance(entry.target, str) else entry.target.__module__)
    return modules


class ModuleFile(NamedTuple):
    """A module on disk: the file that has it, which may be an archive of many, and whether it is a package."""

    name: str
    file: Path
    is_package: bool


@cache
def module_file(name: str) -> ModuleFile | None:
    """Return where a module is stored; None if there is no such module, or no file that has it."""
    spec = _module_spec(name)
    if spec is None or spec.loader is None or not spec.has_location:
        return None
    origin = Path(str(spec.origin or ""))
    files = [path for path in (origin, *origin.parents) if path.is_file()]
    return ModuleFile(name, files[0], spec.submodule_search_locations is not None) if files else None


def modules_of(package: str) -> list[str]:
    """Return the names of a package and of all modules in it."""
    names, waiting = [], [package]
    while waiting:
        name = waiting.pop()
        names.append(name)
        waiting += [info.name for info in pkgutil.iter_modules(_locations(name), f"{name}.")]
    return sorted(names)


def is_library(package: str) -> bool:
    """Tell whether a top-level package is installed or part of Python, and not a user's work in progress."""
    file = module_file(package)
    places = _locations(package) if file is None else [str(file.file)]
    return not places or os.path.realpath(places[0]).startswith(_library_folders())


@cache
def _module_spec(name: str) -> ModuleSpec | None:
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
    """Return the folders of a package's modules: several, or none if the package is a file."""
    spec = _module_spec(package)
    return [] if spec is None else list(spec.submodule_search_locations or ())


@cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if name in paths]
    with suppress(AttributeError):
        folders += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(os.path.realpath(folder) + os.sep for folder in folders)
