"""From entry points to components: lazy, with broken plugins reported and name clashes refused.

Hook modules are imported when the names of components are asked for; the component classes themselves only when one
is used. A plugin that fails to import is kept as a :class:`BrokenPlugin` and stops nothing else.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy

from zslplat import hookspecs
from zslplat.errors import PluginError, UnknownNameError

GROUP = "zslplat"
KINDS = {"methods": "method", "kernels": "kernel", "datasets": "data set", "tasks": "task"}


@dataclass(frozen=True)
class Plugin:
    """A plugin that was imported: entry point name, distribution and version."""

    name: str
    distribution: str
    version: str


@dataclass(frozen=True)
class BrokenPlugin(Plugin):
    """A plugin that failed, with the cause in one line."""

    cause: str = ""


@dataclass(frozen=True)
class Entry:
    """A registered component: where it comes from, and the class or ``module:Class`` that it is."""

    kind: str
    name: str
    plugin: Plugin
    target: Any

    def load(self) -> Any:
        """Import the component; raises :class:`PluginError` naming component, distribution and cause."""
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except Exception as error:
            raise PluginError(
                f"{KINDS[self.kind]} {self.name!r} of {self.plugin.distribution} {self.plugin.version} "
                f"does not load: {_one_line(error)}; repair or uninstall {self.plugin.distribution}"
            ) from error


@dataclass
class Registry:
    """All components by kind and name; several entries under one name are a clash, raised when it is used."""

    manager: pluggy.PluginManager
    plugins: list[Plugin] = field(default_factory=list)
    broken: list[BrokenPlugin] = field(default_factory=list)
    entries: dict[str, dict[str, list[Entry]]] = field(default_factory=dict)

    def names(self, kind: str) -> list[str]:
        """Return the sorted names of a kind (``methods``, ``kernels``, ``datasets`` or ``tasks``)."""
        return sorted(self.entries[kind])

    def entry(self, kind: str, name: str) -> Entry:
        """Return one entry; raises for unknown names (with near matches) and for names claimed twice."""
        found = self.entries[kind].get(name)
        if not found:
            error = UnknownNameError(KINDS[kind], name, self.names(kind))
            if self.broken:
                # The name may be one that a broken plugin would offer.
                error.args = ("; ".join([str(error), *map(describe_broken, self.broken)]),)
            raise error
        if len(found) > 1:
            raise PluginError(_clash(found))
        return found[0]

    def component(self, kind: str, name: str) -> Any:
        """Return the component class; raises like :meth:`entry`, and when its import fails."""
        return self.entry(kind, name).load()

    def clashes(self) -> Iterator[str]:
        """Yield one line for every name that two plugins claim."""
        for by_name in self.entries.values():
            for found in by_name.values():
                if len(found) > 1:
                    yield _clash(found)


def describe_broken(plugin: BrokenPlugin) -> str:
    """Return one line that names a broken plugin, its distribution and the cause."""
    return f"plugin {plugin.name!r} of {plugin.distribution} {plugin.version} is broken: {plugin.cause}"


def _clash(found: list[Entry]) -> str:
    owners = " and ".join(f"{e.plugin.distribution} {e.plugin.version}" for e in found)
    return f"{KINDS[found[0].kind]} {found[0].name!r} is claimed by {owners}; uninstall one of them"


def build_registry(points: list[EntryPoint] | None = None) -> Registry:
    """Read the entry points of the group ``zslplat`` (or the given ones) and collect what their hooks return."""
    manager = pluggy.PluginManager("zslplat")
    manager.add_hookspecs(hookspecs)
    registry = Registry(manager, entries={kind: {} for kind in KINDS})
    found = list(entry_points(group=GROUP)) if points is None else points
    for point in _unique(found):
        name, version = (point.dist.name, point.dist.version) if point.dist else (point.value, "?")
        plugin = Plugin(point.name, name, version)
        try:
            module = point.load()
            # One distribution may be installed twice on a path; the module registers once.
            if manager.is_registered(module):
                continue
            manager.register(module, name=f"{name}:{point.name}")
            _collect(registry, manager, module, plugin)
            registry.plugins.append(plugin)
        except (Exception, SystemExit) as error:
            if manager.has_plugin(f"{name}:{point.name}"):
                manager.unregister(name=f"{name}:{point.name}")
            registry.broken.append(BrokenPlugin(point.name, name, version, _one_line(error)))
    return registry


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _unique(points: list[EntryPoint]) -> list[EntryPoint]:
    seen: dict[tuple[str, str, str], EntryPoint] = {}
    for point in points:
        seen.setdefault((point.dist.name if point.dist else "", point.name, point.value), point)
    return [seen[key] for key in sorted(seen)]


def _collect(registry: Registry, manager: pluggy.PluginManager, module: Any, plugin: Plugin) -> None:
    collected: list[Entry] = []
    for kind in KINDS:
        hook = getattr(manager.hook, f"zslplat_{kind}")
        for implementation in hook.get_hookimpls():
            if implementation.plugin is module:
                components = implementation.function()
                collected += [Entry(kind, str(name), plugin, target) for name, target in components.items()]
    for entry in collected:
        registry.entries[entry.kind].setdefault(entry.name, []).append(entry)


@cache
def registry() -> Registry:
    """Return the registry of this process, built at the first call."""
    return build_registry()


def component(kind: str, name: str) -> Any:
    """Return the component class registered under ``name``."""
    return registry().component(kind, name)


def names(kind: str) -> list[str]:
    """Return the names registered for a kind."""
    return registry().names(kind)


def registered_name(component: type, kind: str | None = None) -> str | None:
    """Return the name under which a class is registered (as a ``kind``, or as anything); None where it is not."""
    for by_name in [registry().entries[kind]] if kind else registry().entries.values():
        for name in sorted(by_name):
            if any(_is_target(entry.target, component) for entry in by_name[name]):
                return name
    return None


def known_as(component: type) -> str:
    """Return what messages call a component: its registered name; the class's own for whoever uses an unregistered one.

    Users choose components by name and never see the classes behind them.
    """
    return registered_name(component) or component.__name__


def _is_target(target: Any, component: type) -> bool:
    if not isinstance(target, str):
        return target is component
    # A module that nobody has imported cannot have given the class.
    module, _, attribute = target.partition(":")
    return getattr(sys.modules.get(module), attribute, None) is component
