"""From entry points to components: lazy, with broken plugins reported and name clashes refused.

Hook modules are imported when the names of components are asked for; the component classes themselves only when one
is used. Whatever fails is kept as a :class:`BrokenPlugin` with its cause and stops nothing else: a plugin that does
not import, one hook of several, one name that cannot be typed. Two packages may claim one name: then it is asked for
as ``distribution:name``.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pluggy

from zslplat import hookspecs
from zslplat.errors import PluginError, UnknownNameError, UsageError, near_names
from zslplat.spec import Spec

GROUP = "zslplat"
COMMAND_GROUP = "zslplat.commands"
COMPONENTS = {
    "methods": "method",
    "kernels": "kernel",
    "datasets": "data set",
    "encoders": "encoder",
    "tasks": "task",
    "checks": "check",
}
# Names that other libraries have for kernels.
_ELSEWHERE = {"rbf": "gaussian", "poly": "polynomial", "chi2": "chi-squared", "laplacian": "l1-laplacian"}
# All that hooks register by name: components, what is data, listeners, which no command names, and kinds of methods.
REGISTERED = {
    **COMPONENTS,
    "suites": "suite",
    "cards": "feature card",
    "tables": "published table",
    "listeners": "listener",
    "kinds": "kind of methods",
}
# By name, as these classes stand above this file.
BASES = {
    "methods": "zslplat.methods.base.Method",
    "kernels": "zslplat.kernels.base.Kernel",
    "datasets": "zslplat.data.source.DataSource",
    "encoders": "zslplat_encoders.encoder.Encoder",
    "tasks": "zslplat.tasks.base.Task",
    "checks": "zslplat.checks.base.Check",
    "listeners": "zslplat.listeners.Listener",
}
# The parts of a kind that are classes.
PARTS = {
    "protocol": "zslplat.methods.base.Protocol",
    "pipeline": "zslplat.pipelines.base.Pipeline",
    "model": "zslplat.models.model.SavedModel",
    "kit": "zslplat.testing.kits.MethodKit",
}
# Codes of checks that begin so are zslplat's own.
OWN_CODES, OWN = "ZSP", "zslplat"
OWNER = ":"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*")
_PLACE = re.compile(r"[\w.]+:\w+")
_CODE = re.compile(r"[A-Z]+[0-9]+")
_HOOKS = "zslplat_"
# What stands for data.
_DATA = {
    **dict.fromkeys(("suites", "cards"), "the path of a TOML file or its content as a mapping"),
    "tables": "the path of a TOML file",
    "kinds": "a zslplat.api.Kind",
}


@dataclass(frozen=True)
class Plugin:
    """A plugin that was imported: entry point name, distribution and version."""

    name: str
    distribution: str
    version: str


@dataclass(frozen=True)
class BrokenPlugin(Plugin):
    """A plugin that failed, or a part of one, with the cause in one line."""

    cause: str = ""


@dataclass(frozen=True)
class Registered:
    """A registered component: where it comes from, and the class or ``module:Class`` that it is.

    The target of a suite is the path of its file, or its content as a mapping; that of a published table the path of
    its file, that of a kind of methods a :class:`~zslplat.hookspecs.Kind`.
    """

    kind: str
    name: str
    plugin: Plugin
    target: Any

    @property
    def full_name(self) -> str:
        """``distribution:name``, which tells it from one of another distribution."""
        return f"{self.plugin.distribution}{OWNER}{self.name}"

    def load(self) -> Any:
        """Import the component; raises :class:`PluginError` naming component, distribution and cause."""
        if self.kind not in BASES:
            return self.target
        component = self._imported(self.target, BASES[self.kind])
        if self.kind == "checks" and getattr(component, "code", None) != self.name:
            raise self._error(f"has the code {getattr(component, 'code', None)!r}, expected that of its name")
        return component

    def load_part(self, part: str) -> Any:
        """Import a part of a kind of methods (a key of :data:`PARTS`); raises as :meth:`load` does.

        Raises :class:`UsageError` for a kind without this part.
        """
        target = getattr(self.target, part)
        if not target:
            raise UsageError(f"{REGISTERED[self.kind]} {self.name!r} of {self.plugin.distribution} has no {part}")
        return self._imported(target, PARTS[part])

    def _imported(self, target: Any, base: str) -> Any:
        if isinstance(target, str):
            try:
                target = load(EntryPoint(self.name, target, self.kind))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise self._error(f"does not load: {cause_of(error, target)}") from error
        if not _is_a(target, base):
            by_place = base in PARTS.values() or not base.startswith("zslplat.")
            expected = base if by_place else f"zslplat.api.{base.rpartition('.')[2]}"
            raise self._error(f"is {target!r}, expected a subclass of {expected}")
        return target

    def _error(self, cause: str) -> PluginError:
        plugin = self.plugin
        return PluginError(
            f"{REGISTERED[self.kind]} {self.name!r} of {plugin.distribution} {plugin.version} {cause}; "
            f"repair or uninstall {plugin.distribution}"
        )


@dataclass
class Registry:
    """All components by kind and name; several entries under one name are a clash, raised when it is used."""

    manager: pluggy.PluginManager
    plugins: list[Plugin] = field(default_factory=list)
    broken: list[BrokenPlugin] = field(default_factory=list)
    entries: dict[str, dict[str, list[Registered]]] = field(default_factory=dict)

    def names(self, kind: str) -> list[str]:
        """Return the sorted names of a kind (a key of :data:`COMPONENTS`)."""
        return sorted(self.entries[kind])

    def spellings(self, kind: str) -> list[str]:
        """Return all names of a kind that can be asked for: ``distribution:name`` where two claim a name."""
        entries = self.entries[kind].values()
        return sorted(e.full_name if len(claims) > 1 else e.name for claims in entries for e in claims)

    def claims(self, kind: str, name: str) -> list[Registered]:
        """Return the entries under a name, or under ``distribution:name``; empty where there is none."""
        owner, separator, short = name.rpartition(OWNER)
        entries = self.entries[kind].get(short, [])
        return [e for e in entries if not separator or normal_name(e.plugin.distribution) == normal_name(owner)]

    def entry(self, kind: str, name: str) -> Registered:
        """Return one entry; raises for unknown names (with near matches) and for names claimed twice.

        ``name`` may be ``distribution:name``.
        """
        claims = self.claims(kind, name)
        if not claims:
            names = self.spellings(kind)
            of_others = [noun for other, noun in REGISTERED.items() if other != "kinds" and self.claims(other, name)]
            hint = f"it is the name of a {' and a '.join(of_others)}" if of_others else ""
            hint = f"here it is called {_ELSEWHERE[name]}" if _ELSEWHERE.get(name) in names else hint
            lister = f"list {kind}" if kind in COMPONENTS or kind == "suites" else ""
            error = UnknownNameError(REGISTERED[kind], name, names, hint, lister)
            if self.broken:
                # The name may be one that a broken plugin would offer.
                error.args = ("; ".join([str(error), *map(describe_broken, self.broken)]),)
            raise error
        if len(claims) > 1:
            raise PluginError(_clash(claims))
        return claims[0]

    def component(self, kind: str, name: str) -> Any:
        """Return the component class; raises like :meth:`entry`, and when its import fails."""
        return self.entry(kind, name).load()

    def clashes(self) -> Iterator[str]:
        """Yield one line for every name that two plugins claim."""
        for by_name in self.entries.values():
            for claims in by_name.values():
                if len(claims) > 1:
                    yield _clash(claims)


def describe_broken(plugin: BrokenPlugin) -> str:
    """Return one line that names a broken plugin, its distribution and the cause."""
    return f"plugin {plugin.name!r} of {plugin.distribution} {plugin.version} is broken: {plugin.cause}"


def normal_name(distribution: str) -> str:
    """Return the form in which two spellings of a distribution's name are equal, as pip compares them."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def one_line(error: BaseException) -> str:
    """Return type and text of an error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def cause_of(error: BaseException, target: str) -> str:
    """Return why a module, or what is named in it (``module:Class``), could not be imported."""
    return (
        str(error) if isinstance(error, PluginError) else f"module {target.partition(':')[0]} raises {one_line(error)}"
    )


def _clash(claims: list[Registered]) -> str:
    owners = " and ".join(f"{e.plugin.distribution} {e.plugin.version}" for e in claims)
    names = list(dict.fromkeys(e.full_name for e in claims))
    advice = f"write {' or '.join(names)}" if len(names) == len(claims) else "rename one of them there"
    return f"{REGISTERED[claims[0].kind]} {claims[0].name!r} is claimed by {owners}; {advice}"


def load(point: EntryPoint) -> Any:
    """Import what an entry point names; what that prints goes to standard error, and standard output to the result."""
    with redirect_stdout(sys.stderr):
        return point.load()


def build_registry(points: list[EntryPoint] | None = None) -> Registry:
    """Read the entry points of the group ``zslplat`` (or the given ones) and collect what their hooks return."""
    manager = pluggy.PluginManager("zslplat")
    manager.add_hookspecs(hookspecs)
    registry = Registry(manager, entries={kind: {} for kind in REGISTERED})
    for point in _unique(list(entry_points(group=GROUP)) if points is None else points):
        name, version = (point.dist.name, point.dist.version) if point.dist else (point.value, "?")
        plugin = Plugin(point.name, name, version)
        registered_as = f"{name}:{point.name}"
        try:
            module = load(point)
            # One distribution may be installed twice on a path; the module registers once.
            if manager.is_registered(module):
                continue
            _require_version(module, plugin)
            manager.register(module, name=registered_as)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if manager.has_plugin(registered_as):
                manager.unregister(name=registered_as)
            registry.broken.append(_broken(plugin, cause_of(error, point.value)))
            continue
        registry.plugins.append(plugin)
        registry.broken += [
            _broken(plugin, cause) for cause in [*_odd_hooks(module), *_collect(registry, module, plugin)]
        ]
    return registry


def _broken(plugin: Plugin, cause: str) -> BrokenPlugin:
    return BrokenPlugin(plugin.name, plugin.distribution, plugin.version, cause)


def _unique(points: list[EntryPoint]) -> list[EntryPoint]:
    seen: dict[tuple[str, str, str], EntryPoint] = {}
    for point in points:
        seen.setdefault((point.dist.name if point.dist else "", point.name, point.value), point)
    return [seen[key] for key in sorted(seen)]


def _require_version(module: Any, plugin: Plugin) -> None:
    """Raise :class:`PluginError` for a plugin that declares (``ZSLPLAT_API``) another version of the interface.

    The major version must be the same, the minor one at most that of :data:`zslplat.hookspecs.API_VERSION`.
    """
    required = getattr(module, "ZSLPLAT_API", None)
    if required is None:
        return
    here = hookspecs.API_VERSION
    if not isinstance(required, str) or not re.fullmatch(r"\d+(\.\d+)?", required):
        raise PluginError(f'ZSLPLAT_API is {required!r}; expected a version such as "1" or "{here}"')
    (major, minor), (own_major, own_minor) = (tuple(map(int, f"{text}.0".split(".")[:2])) for text in (required, here))
    if major == own_major and minor <= own_minor:
        return
    newer = (major, minor) > (own_major, own_minor)
    advice = "install a newer zslplat" if newer else f"install a newer {plugin.distribution}"
    raise PluginError(f"it needs version {required} of zslplat's plugin interface, this zslplat has {here}; {advice}")


def _odd_hooks(module: Any) -> Iterator[str]:
    """Yield what is wrong with functions that look like hooks: misspelt names, and names without the marker."""
    names = [name for name in vars(hookspecs) if name.startswith(_HOOKS)]
    for attribute in dir(module):
        value = getattr(module, attribute, None)
        options = getattr(value, "zslplat_impl", None)
        if not inspect.isroutine(value) or not (attribute.startswith(_HOOKS) or options):
            continue
        hook = (options or {}).get("specname") or attribute
        if hook not in names:
            near = near_names(hook, names)
            hint = f"did you mean {', '.join(near)}?" if near else f"hooks: {', '.join(names)}"
            yield f"{hook} is no hook of zslplat and is never called; {hint}"
        elif options is None:
            yield f"{hook} is not marked and is never called; write @hookimpl above it (zslplat.api.hookimpl)"


def _collect(registry: Registry, module: Any, plugin: Plugin) -> Iterator[str]:
    """Register what the hooks of a module return; yield what is wrong with one hook, or with one component."""
    for kind in REGISTERED:
        hook = getattr(registry.manager.hook, f"{_HOOKS}{kind}")
        for implementation in [i for i in hook.get_hookimpls() if i.plugin is module]:
            try:
                with redirect_stdout(sys.stderr):
                    components = implementation.function()
                if not isinstance(components, Mapping):
                    expected = _DATA.get(kind, "class or 'module:Class'")
                    raise TypeError(f"returns {type(components).__name__}, expected {{name: {expected}}}")
                pairs = list(components.items())
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                yield f"hook {_HOOKS}{kind}: {one_line(error)}"
                continue
            for name, target in pairs:
                fault = _fault(name, target, kind) or (_code_fault(name, plugin) if kind == "checks" else "")
                if fault:
                    yield f"{REGISTERED[kind]} {name!r} {fault}"
                else:
                    registry.entries[kind].setdefault(name, []).append(Registered(kind, name, plugin, target))


def _fault(name: Any, target: Any, kind: str) -> str:
    """Return why a component cannot be registered, an empty text where it can."""
    try:
        typed = isinstance(name, str) and _NAME.fullmatch(name) and Spec.parse(name).name == name
    except UsageError:
        typed = False
    if not typed:
        return (
            "cannot be written in a command; a name is made of letters, digits, _, - and ., begins with a letter, and "
            "is none of true, false, none, inf"
        )
    if kind == "kinds":
        return _kind_fault(target)
    if kind in _DATA:
        fits = isinstance(target, str | Path) or (kind in ("suites", "cards") and isinstance(target, Mapping))
        return "" if fits else f"is {target!r}, expected {_DATA[kind]}"
    if isinstance(target, type) or (isinstance(target, str) and _PLACE.fullmatch(target)):
        return ""
    return f"is {target!r}, expected a class or 'module:Class'"


def _kind_fault(target: Any) -> str:
    """Return why a kind of methods cannot be registered, an empty text where it can."""
    if not isinstance(target, hookspecs.Kind):
        return f"is {target!r}, expected {_DATA['kinds']}"
    for part in PARTS:
        place = getattr(target, part)
        if not isinstance(place, str) or not (_PLACE.fullmatch(place) or (not place and part != "protocol")):
            return f"has the {part} {place!r}, expected 'module:Class'"
    return ""


def _code_fault(code: str, plugin: Plugin) -> str:
    """Return why a check cannot be registered under a code, an empty text where it can."""
    if not _CODE.fullmatch(code):
        return "is no code; the name of a check is its code, capital letters and then digits, such as LAB101"
    if code.startswith(OWN_CODES) and normal_name(plugin.distribution) != OWN:
        return f"begins with {OWN_CODES}, which is kept for zslplat's own checks; begin with letters of your own"
    return ""


def _is_a(target: Any, base: str) -> bool:
    return isinstance(target, type) and any(f"{c.__module__}.{c.__qualname__}" == base for c in target.__mro__)


@cache
def registry() -> Registry:
    """Return the registry of this process, built at the first call."""
    return build_registry()


def component(kind: str, name: str) -> Any:
    """Return the component class registered under ``name``."""
    return registry().component(kind, name)


def names(kind: str) -> list[str]:
    """Return the names by which components of a kind can be asked for."""
    return registry().spellings(kind)


class ByName(Mapping[str, Callable[[], Any]]):
    """The components of a kind by name, each imported when its value is called.

    It lists the names that can be asked for, and holds all that are understood: ``distribution:name`` of any, and a
    name that two claim, whose value raises.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, name: str) -> Callable[[], Any]:
        if not registry().claims(self.kind, name):
            raise KeyError(name)
        return partial(component, self.kind, name)

    def __iter__(self) -> Iterator[str]:
        return iter(names(self.kind))

    def __len__(self) -> int:
        return len(names(self.kind))


def registered_name(component: type, kind: str | None = None) -> str | None:
    """Return the name under which a class is registered (as a ``kind``, or as anything); None where it is not.

    It is ``distribution:name`` where another distribution claims the name, too.
    """
    for by_name in [registry().entries[kind]] if kind else registry().entries.values():
        for name in sorted(by_name):
            for entry in by_name[name]:
                if _is_target(entry.target, component):
                    return entry.full_name if len(by_name[name]) > 1 else name
    return None


def known_as(component: type) -> str:
    """Return what messages call a component: its registered name, or the class's where it is not registered.

    Users choose components by name and never see the classes behind them.
    """
    return registered_name(component) or component.__name__


def _is_target(target: Any, component: type) -> bool:
    if not isinstance(target, str):
        return target is component
    # A module that is not imported cannot have given the class.
    module, _, attribute = target.partition(":")
    return getattr(sys.modules.get(module), attribute, None) is component
