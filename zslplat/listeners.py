"""What is told of studies and runs as they are recorded: MLflow's pages, and the listeners of plugins.

Listeners are found through the hook ``zslplat_listeners``. The loop of a study knows none of them: it calls
:class:`Listeners`, which is made here and calls all that are installed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from zslplat.errors import PluginError, StoreError
from zslplat.registry import one_line, registry
from zslplat.settings import Settings

Record = Mapping[str, Any]
Warn = Callable[[str], None]


class Listener:
    """Follows what a command records; a subclass has those of these methods that it needs.

    They are called in the leading process, after what they tell of is recorded, and hold the command up as long as they
    take. A :class:`StoreError` ends the command; whatever else they raise is reported and stops nothing. What a command
    recorded before it was killed is not told again: it is in the records.

    ``settings``: the places and limits of the command; ``records``: the records of its store, None for a command that
    only catches up; ``warn``: prints a line.
    """

    def __init__(self, settings: Settings, records: Any, warn: Warn) -> None:
        self.settings, self.records, self.warn = settings, records, warn

    def on_study_begin(self, study: str, trials: Sequence[Record]) -> None:
        """A study begins or goes on; ``trials``: the records of the trials that earlier commands made."""

    def on_batch_begin(self, study: str) -> None:
        """Workers have begun with a batch of trials; the leader has time until they end."""

    def on_trial_complete(self, study: str, record: Record) -> None:
        """A trial is recorded: complete, pruned or failed, as ``record["state"]`` says; one tried again comes twice."""

    def on_study_end(self, study: str, trials: Sequence[Record], tests: Sequence[Record]) -> None:
        """A study has ended; ``tests``: the records of the test evaluations of its best trial."""

    def on_study_stop(self, study: str, *, failed: bool) -> None:
        """A study was stopped, by an error where it ``failed``; the same command continues it."""

    def on_run_begin(self, owner: str) -> None:
        """The evaluations of a single run, of scores made elsewhere, or of a sweep are about to be recorded."""

    def on_run_complete(self, owner: str, evaluations: Mapping[str, Record], changed: Collection[str]) -> None:
        """The ``evaluations`` of an owner are recorded, by key; ``changed``: those that were told before and changed.

        The owner of a single run begins with ``run:``, that of a repeated one with ``rerun:``, of a sweep ``sweep:``.
        """

    def catch_up(self) -> None:
        """Take over what earlier commands recorded and the listener missed."""

    def run_of(self, name: str) -> str:
        """Return the identifier of the run that the listener knows by this name; empty where it knows none."""
        return ""

    def close(self) -> None:
        """The command has nothing more to tell."""


class Listeners(Listener):
    """All installed listeners; see :class:`Listener`."""

    def __init__(self, settings: Settings, records: Any, warn: Warn) -> None:
        super().__init__(settings, records, warn)
        self.members: dict[str, Listener] = {}
        for entry in [entry for claims in registry().entries["listeners"].values() for entry in claims]:
            try:
                self.members[entry.full_name] = entry.load()(settings, records, warn)
            except PluginError as error:
                warn(str(error))
            except Exception as error:
                warn(f"listener {entry.full_name} failed: {one_line(error)}")

    def _each(self, call: Callable[[Listener], Any]) -> None:
        for name, listener in self.members.items():
            try:
                call(listener)
            except StoreError:
                raise
            except (Exception, SystemExit) as error:
                self.warn(f"listener {name} failed: {one_line(error)}")

    def on_study_begin(self, study: str, trials: Sequence[Record]) -> None:
        self._each(lambda listener: listener.on_study_begin(study, trials))

    def on_batch_begin(self, study: str) -> None:
        self._each(lambda listener: listener.on_batch_begin(study))

    def on_trial_complete(self, study: str, record: Record) -> None:
        self._each(lambda listener: listener.on_trial_complete(study, record))

    def on_study_end(self, study: str, trials: Sequence[Record], tests: Sequence[Record]) -> None:
        self._each(lambda listener: listener.on_study_end(study, trials, tests))

    def on_study_stop(self, study: str, *, failed: bool) -> None:
        self._each(lambda listener: listener.on_study_stop(study, failed=failed))

    def on_run_begin(self, owner: str) -> None:
        self._each(lambda listener: listener.on_run_begin(owner))

    def on_run_complete(self, owner: str, evaluations: Mapping[str, Record], changed: Collection[str] = ()) -> None:
        self._each(lambda listener: listener.on_run_complete(owner, evaluations, changed))

    def catch_up(self) -> None:
        self._each(lambda listener: listener.catch_up())

    def run_of(self, name: str) -> str:
        names: list[str] = []
        self._each(lambda listener: names.append(listener.run_of(name)))
        return next(filter(None, names), "")

    def close(self) -> None:
        self._each(lambda listener: listener.close())


def run_of_alias(settings: Settings, records: Any, name: str) -> str:
    """Return the identifier of the run that a listener knows by this name, such as MLflow's id; empty for none."""
    return Listeners(settings, records, lambda text: None).run_of(name)


def catch_up(settings: Settings, warn: Warn, records: Any = None) -> None:
    """Have listeners take over what earlier commands recorded, before what they show is looked at."""
    Listeners(settings, records, warn).catch_up()
