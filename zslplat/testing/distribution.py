"""The kit over everything that one installed distribution registers: hooks, components and commands.

Whatever a component raises, ``SystemExit`` included, is the result of a check, and hides no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from typing import Any

from zslplat.errors import PluginError, UnknownNameError
from zslplat.listeners import Listener
from zslplat.registry import COMMAND_GROUP, PARTS, REGISTERED, Registered, Registry, load, normal_name
from zslplat.testing.checks import run_checks
from zslplat.testing.running import FAILED, PASSED, CheckResult, one_line, run_check

BUILT = "is_built_with_its_defaults"


@dataclass(frozen=True)
class Subject:
    """Something to be checked: its kind and name, and what builds it, runs its checks and returns how they ended."""

    kind: str
    name: str
    check: Callable[[], list[CheckResult]]


def subjects_of(registry: Registry, distribution: str) -> list[Subject]:
    """Return what there is to check of a distribution: its plugins, its components, its commands.

    Raises :class:`UnknownNameError` with the near matches when it has no plugin, :class:`PluginError` with the cause
    when none of its plugins loads.
    """
    normal = normal_name(distribution)
    plugins = [p for p in registry.plugins if normal_name(p.distribution) == normal]
    broken = [b for b in registry.broken if normal_name(b.distribution) == normal]
    entries = [
        entry
        for by_name in registry.entries.values()
        for claims in by_name.values()
        for entry in claims
        if normal_name(entry.plugin.distribution) == normal
    ]
    commands = [p for p in entry_points(group=COMMAND_GROUP) if p.dist and normal_name(p.dist.name) == normal]
    if not (plugins or commands):
        if broken:
            causes = "; ".join(f"plugin {b.name!r} of {b.distribution} does not load: {b.cause}" for b in broken)
            raise PluginError(causes)
        distributions = {plugin.distribution for plugin in registry.plugins}
        raise UnknownNameError("distribution with a plugin", distribution, distributions)
    names = sorted({p.name for p in [*plugins, *broken]})
    subjects = [Subject("plugin", name, partial(_plugin, registry, name, normal)) for name in names]
    subjects += [
        Subject(REGISTERED[e.kind], e.name, partial(check_entry, registry, e))
        for e in sorted(entries, key=lambda e: (e.kind, e.name))
    ]
    return subjects + [Subject("command", p.name, partial(_command, p)) for p in commands]


def check_entry(registry: Registry, entry: Registered) -> list[CheckResult]:
    """Load a component, build it with its defaults and run its checks, or say how that failed."""
    claimed = registry.entries[entry.kind][entry.name]
    results: list[CheckResult] = []
    if len(claimed) > 1:
        owners = ", ".join(e.plugin.distribution for e in claimed)
        results.append(CheckResult("name_is_unique", FAILED, f"claimed by {owners}; choose another name"))
    if entry.kind in _SOUND:
        return [*results, run_check(_SOUND[entry.kind], entry)]
    try:
        instance = entry.load()()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return [*results, CheckResult(BUILT, FAILED, one_line(error))]
    return results + run_checks(instance)


def suite_is_sound(entry: Registered) -> None:
    """A suite is read without an error: its keys, methods, tasks, metrics, parameters and differences are known."""
    from zslplat.suites.suite import suite_of
    from zslplat.suites.suite_checks import check_suite

    check_suite(suite_of(entry))


def listener_is_sound(entry: Registered) -> None:
    """A listener loads, and has at least one of the methods that tell it of something."""
    loaded = entry.load()
    events = [name for name in vars(Listener) if name.startswith("on_")]
    assert any(getattr(loaded, name) is not getattr(Listener, name) for name in events), (
        f"{loaded.__name__} has none of {', '.join(events)}"
    )


def kind_is_whole(entry: Registered) -> None:
    """The parts of a kind of methods load and are of their base classes, and its template is a folder with a method."""
    for part in PARTS:
        if getattr(entry.target, part):
            loaded = entry.load_part(part)
            name = getattr(loaded, "kind", entry.name)
            assert name == entry.name, f"the {part} is of kind {name!r}"
    package, _, folder = entry.target.template.partition(":")
    assert not package or files(package).joinpath(folder, "component.py.template").is_file(), (
        f"{entry.target.template} has no component.py.template"
    )


_SOUND = {"suites": suite_is_sound, "listeners": listener_is_sound, "kinds": kind_is_whole}


def command_loads(point: EntryPoint) -> None:
    """A command is a Typer application or a function with a docstring, which its help shows."""
    import typer

    loaded: Any = load(point)
    if isinstance(loaded, typer.Typer):
        assert typer.main.get_command(loaded).help or loaded.registered_commands, f"{point.name} has no command"
        return
    assert callable(loaded), f"{point.value} is {type(loaded).__name__}, expected a function or a Typer application"
    assert (loaded.__doc__ or "").strip(), f"{point.value} has no docstring, which its help shows"


def _command(point: EntryPoint) -> list[CheckResult]:
    return [run_check(command_loads, point)]


def _plugin(registry: Registry, name: str, distribution: str) -> list[CheckResult]:
    promise = "Every hook is known, marked and returns components under names that can be typed."
    causes = [b.cause for b in registry.broken if b.name == name and normal_name(b.distribution) == distribution]
    if not causes and not _registers(registry, name, distribution):
        causes = ["registers nothing; implement a hook of zslplat.hookspecs, marked with @hookimpl"]
    if causes:
        return [CheckResult("hooks_are_sound", FAILED, cause, promise) for cause in causes]
    return [CheckResult("hooks_are_sound", PASSED, "", promise)]


def _registers(registry: Registry, name: str, distribution: str) -> bool:
    """Whether a plugin has a component."""
    entries = (entry for by_name in registry.entries.values() for claims in by_name.values() for entry in claims)
    return any(e.plugin.name == name and normal_name(e.plugin.distribution) == distribution for e in entries)
