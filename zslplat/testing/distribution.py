"""The kit over everything that one installed distribution registers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from zslplat.errors import PluginError, UnknownNameError
from zslplat.registry import KINDS, Entry, Registry
from zslplat.testing.checks import run_checks
from zslplat.testing.running import FAILED, CheckResult


@dataclass(frozen=True)
class ComponentReport:
    """The results of one component."""

    kind: str
    name: str
    results: list[CheckResult]


def entries_of(registry: Registry, distribution: str) -> list[Entry]:
    """Return what a distribution registers, by kind and name.

    Raises :class:`UnknownNameError` with the near matches when it has no plugin, :class:`PluginError` with the cause
    when its plugin does not load.
    """
    wanted = _normal(distribution)
    for broken in registry.broken:
        if _normal(broken.distribution) == wanted:
            raise PluginError(f"plugin {broken.name!r} of {broken.distribution} does not load: {broken.cause}")
    if wanted not in {_normal(plugin.distribution) for plugin in registry.plugins}:
        known = {plugin.distribution for plugin in registry.plugins}
        raise UnknownNameError("distribution with a plugin", distribution, known)
    every = [entry for by_name in registry.entries.values() for found in by_name.values() for entry in found]
    return sorted((e for e in every if _normal(e.plugin.distribution) == wanted), key=lambda e: (e.kind, e.name))


def check_entry(registry: Registry, entry: Entry) -> ComponentReport:
    """Load a component, build it with its defaults and run its checks."""
    claimed = registry.entries[entry.kind][entry.name]
    results: list[CheckResult] = []
    if len(claimed) > 1:
        owners = ", ".join(e.plugin.distribution for e in claimed)
        results.append(CheckResult("name_is_unique", FAILED, f"claimed by {owners}; choose another name"))
    try:
        instance = entry.load()()
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        results.append(CheckResult("is_built_with_its_defaults", FAILED, text))
    else:
        results += run_checks(instance)
    return ComponentReport(KINDS[entry.kind], entry.name, results)


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()
