"""The kit over everything that one installed distribution registers: hooks, components and commands.

The checks of a distribution in a process of their own: a component that ends it fails, and hides no other.

One process carries out check after check and says which one it begins. Where it ends before the last one, or has not
done with one in time, that one has failed, and another process goes on behind it.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from multiprocessing.connection import Connection
from typing import Any

from zslplat import imports
from zslplat.errors import PluginError, UnknownNameError, UsageError
from zslplat.evaluation.workers.processes import (
    ask_for_death_signal,
    ctrl_c_blocked,
    describe_exit,
    without_main_module,
)
from zslplat.listeners import Listener
from zslplat.registry import COMMAND_GROUP, PARTS, REGISTERED, Entry, Registry, normal_name, registry
from zslplat.testing.checks import pending_checks
from zslplat.testing.running import FAILED, PASSED, CheckResult, Pending, one_line, pending_check

BUILT = "is_built_with_its_defaults"


@dataclass(frozen=True)
class Subject:
    """Something to be checked: its kind and name, and what builds it and returns its checks, to be run one by one."""

    kind: str
    name: str
    pending: Callable[[], list[Pending]]

    def check(self) -> list[CheckResult]:
        """Run all of them in this process."""
        return [pending.run() for pending in self.pending()]


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
        Subject(REGISTERED[e.kind], e.name, partial(_pending_of, registry, e))
        for e in sorted(entries, key=lambda e: (e.kind, e.name))
    ]
    return subjects + [Subject("command", p.name, partial(_command, p)) for p in commands]


def check_entry(registry: Registry, entry: Entry) -> list[CheckResult]:
    """Load a component, build it with its defaults and run its checks."""
    return [pending.run() for pending in _pending_of(registry, entry)]


def _pending_of(registry: Registry, entry: Entry) -> list[Pending]:
    """Load a component, build it with its defaults and return its checks, or how that failed."""
    claimed = registry.entries[entry.kind][entry.name]
    results: list[Pending] = []
    if len(claimed) > 1:
        owners = ", ".join(e.plugin.distribution for e in claimed)
        results.append(_ended(CheckResult("name_is_unique", FAILED, f"claimed by {owners}; choose another name")))
    if entry.kind in _SOUND:
        return [*results, pending_check(_SOUND[entry.kind], entry)]
    try:
        instance = entry.load()()
        return results + pending_checks(instance)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return [*results, _ended(CheckResult(BUILT, FAILED, one_line(error)))]


def _ended(result: CheckResult) -> Pending:
    return Pending(result.check, result.promise, lambda: result)


def suite_is_sound(entry: Entry) -> None:
    """A suite is read without an error: its keys, methods, tasks, metrics, parameters and differences are known."""
    from zslplat.suites.suite import suite_of
    from zslplat.suites.suite_checks import check_suite

    check_suite(suite_of(entry))


def listener_is_sound(entry: Entry) -> None:
    """A listener loads, and has at least one of the methods that tell it of something."""
    loaded = entry.load()
    events = [name for name in vars(Listener) if name.startswith("on_")]
    assert any(getattr(loaded, name) is not getattr(Listener, name) for name in events), (
        f"{loaded.__name__} has none of {', '.join(events)}"
    )


def kind_is_whole(entry: Entry) -> None:
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

    loaded: Any = imports.load(point)
    if isinstance(loaded, typer.Typer):
        assert typer.main.get_command(loaded).help or loaded.registered_commands, f"{point.name} has no command"
        return
    assert callable(loaded), f"{point.value} is {type(loaded).__name__}, expected a function or a Typer application"
    assert (loaded.__doc__ or "").strip(), f"{point.value} has no docstring, which its help shows"


def _command(point: EntryPoint) -> list[Pending]:
    return [pending_check(command_loads, point)]


def _plugin(registry: Registry, name: str, distribution: str) -> list[Pending]:
    promise = "Every hook is known, marked and returns components under names that can be typed."
    causes = [b.cause for b in registry.broken if b.name == name and normal_name(b.distribution) == distribution]
    if not causes and not _registers(registry, name, distribution):
        causes = ["registers nothing; implement a hook of zslplat.hookspecs, marked with @hookimpl"]
    if causes:
        return [_ended(CheckResult("hooks_are_sound", FAILED, cause, promise)) for cause in causes]
    return [_ended(CheckResult("hooks_are_sound", PASSED, "", promise))]


def _registers(registry: Registry, name: str, distribution: str) -> bool:
    """Whether a plugin has a component."""
    for by_name in registry.entries.values():
        for entry in (entry for claims in by_name.values() for entry in claims):
            if entry.plugin.name == name and normal_name(entry.plugin.distribution) == distribution:
                return True
    return False


_LOOK_SECONDS, _END_SECONDS = 0.2, 2.0
LEFT = "what cannot go on raises an error, and leaves the process to others"
SLOW = "the problems of the checks are small: it waits for something, or needs a longer --timeout"
_BUILDING = -1  # in place of the number of a check
_BEGINS, _ENDED, _REFUSED, _OVER = "begins", "ended", "refused", "over"


def checked_apart(
    distribution: str, beginning: Callable[[Subject], None], limit: float
) -> list[tuple[Subject, CheckResult]]:
    """Return how every check of a distribution ended; ``beginning`` is told each subject before its first check.

    A check that takes longer than ``limit`` seconds is ended, and has failed.

    Raises what :func:`zslplat.testing.distribution.subjects_of` does, :class:`UsageError` under ``python -O``, and
    :class:`PluginError` where the processes end before their first check.
    """
    subjects = subjects_of(registry(), distribution)
    results: list[tuple[Subject, CheckResult]] = []
    announced = -1  # the last subject that ``beginning`` was told
    number, check, over = 0, _BUILDING, False
    while not over:
        process = _Process(distribution, number, check)
        begun = None
        try:
            while not over and (message := process.next_message(limit)) is not None:
                kind, *content = message
                if kind == _BEGINS:
                    number, check, *begun = content
                    if number > announced:
                        beginning(subjects[number])
                        announced = number
                elif kind == _ENDED:
                    results.append((subjects[number], content[0]))
                elif kind == _REFUSED:
                    raise UsageError(content[0])
                else:
                    over = True
        finally:
            code = process.end()
        if not over:
            how = f"not done after {limit:g} s, and ended" if process.is_late else describe_exit(code)[0]
            if begun is None:
                raise PluginError(f"{distribution} cannot be checked: {how} before the first check")
            name, promise = begun
            remedy = SLOW if process.is_late else LEFT
            cause = f"{how}; {remedy}"
            results.append((subjects[number], CheckResult(name, FAILED, cause, promise)))
            # One that cannot be built has no other checks.
            number, check = (number + 1, _BUILDING) if check == _BUILDING else (number, check + 1)
    return results


class _Process:
    """A process that carries out the checks from one on, and what it tells."""

    def __init__(self, distribution: str, number: int, check: int) -> None:
        # As trials have it: forked where that is safe, with the plugins imported already.
        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self._messages, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_carry_out, args=(theirs, distribution, number, check))
        self.is_late = False
        with ctrl_c_blocked(), without_main_module():
            self._process.start()
        theirs.close()

    def next_message(self, limit: float) -> tuple[Any, ...] | None:
        """Return the next message, None where none comes any more, or none within ``limit`` seconds.

        What a component started may hold the pipe open.
        """
        last = time.monotonic() + limit
        while not self._messages.poll(_LOOK_SECONDS):
            if time.monotonic() > last:
                self.is_late = True
                return None
            if not self._process.is_alive() and not self._messages.poll():
                return None
        try:
            message: tuple[Any, ...] = self._messages.recv()
        except (EOFError, OSError):
            return None
        return message

    def end(self) -> int | None:
        """End the process, and return how it ended where it had done so by itself."""
        if not self.is_late:
            self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join()
        self._messages.close()
        code: int | None = self._process.exitcode
        return code


def _carry_out(connection: Connection, distribution: str, first: int, check: int) -> None:
    """Carry out the checks of a distribution from one on: number ``check`` of subject number ``first``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ask_for_death_signal()
    for number, subject in enumerate(subjects_of(registry(), distribution)):
        if number < first:
            continue
        begins = check if number == first else _BUILDING
        connection.send((_BEGINS, number, begins, BUILT, ""))
        for place, pending in enumerate(subject.pending()):
            if place < begins:
                continue
            connection.send((_BEGINS, number, place, pending.check, pending.promise))
            try:
                result = pending.run()
            except UsageError as error:
                connection.send((_REFUSED, str(error)))
                return
            connection.send((_ENDED, result))
    connection.send((_OVER,))
