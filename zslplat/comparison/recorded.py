"""The test evaluations that a store's records hold, by study and single run, before anything is compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from zslplat.data.class_draws import draw_of, images_of
from zslplat.errors import StoreError
from zslplat.evaluation.experiment import TEST
from zslplat.keys import key_of, run_identifier
from zslplat.records.database import Records
from zslplat.records.membership import parts_of, suites_of
from zslplat.records.overview import Overview
from zslplat.records.studies import STUDY
from zslplat.tracking.views import PARENT

# Studies that nobody named end in eight digits of the key of their experiment.
_DRAWN = re.compile(r"@.*-([0-9a-f]{8})$", re.DOTALL)
_SETTING = ("method", "dataset", "task", "features", "signatures", "seed", "data")


@dataclass(frozen=True)
class Recorded:
    """The test evaluations of one study or single run: its name, what was asked for, records by repeat.

    ``asked`` is the experiment as it was given: that of a study holds the ranges it searched. ``winner`` is the record
    of the trial that the evaluations refit, empty for single runs, and ``trials`` how many trials chose it.
    """

    name: str
    asked: Mapping[str, Any]
    tested: Sequence[Mapping[str, Any]]
    winner: Mapping[str, Any] = field(default_factory=dict)
    trials: int = 0
    code: str = ""
    names: frozenset[str] = frozenset()
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The method as it was asked for."""
        return str(self.asked["method"])

    @property
    def dataset(self) -> str:
        """The data set as it was asked for."""
        return str(self.asked["dataset"])

    @property
    def data(self) -> str:
        """The fingerprint of the data set."""
        return str(self.tested[0]["experiment"]["data"])

    @property
    def created(self) -> float:
        """When it was evaluated, in seconds since 1970."""
        return float(self.tested[0]["created"])

    @property
    def is_study(self) -> bool:
        """Whether a search chose the hyperparameters."""
        return bool(self.winner)

    @property
    def rows(self) -> str | None:
        """The hash of the scored rows, None in older records."""
        found = [fold["rows"] for record in self.tested for fold in record["folds"] if "rows" in fold]
        return str(found[0]) if found else None

    @property
    def images(self) -> frozenset[str]:
        """What tells the images that were scored from those of other data sets (:mod:`zslplat.data.class_draws`)."""
        return images_of(self.dataset, self.rows, self.about.get("data", {}).get("features_digest"))

    @property
    def validation(self) -> Mapping[str, float]:
        """The metrics on validation: of the winner, or of scores made elsewhere; nothing for other single runs."""
        return dict(self.winner.get("metrics", {}) or self.tested[0].get("validation", {}))

    @cached_property
    def particulars(self) -> dict[str, str]:
        """What entries of one method may differ in beside its parameters, each in words."""
        asked = self.asked
        space = asked.get("space", {})
        return {
            "features": f"features {asked.get('features') or 'its own'}",
            "signatures": f"signatures {asked.get('signatures') or 'its own'}",
            "seed": f"seed {asked.get('seed', 0)}",
            "search": "tuned" if self.is_study else "not tuned",
            "ranges": ", ".join(f"{name}={space[name]}" for name in sorted(space)) or "nothing searched",
            "data": f"data {self.data[:8]}",
        }

    @property
    def tag(self) -> str:
        """A short name of the study or run: what ends the names that studies are given by default, or all of it."""
        found = _DRAWN.search(self.name)
        return found[1] if found else self.name

    @property
    def digest(self) -> str:
        """What stands for the method and its :attr:`particulars`, which are the same on every data set."""
        return key_of(self.method, [text for name, text in self.particulars.items() if name != "data"])[:8]

    @property
    def experiment_key(self) -> str:
        """What two records of one experiment share, however they were searched."""
        asked = {name: self.asked.get(name) for name in _SETTING}
        return key_of(asked, self.asked.get("space"), self.asked.get("carried"), self.data, self.rows)

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites that it is part of, that which it was carried out for first."""
        return suites_of(self.about)

    @property
    def suite_rows(self) -> frozenset[tuple[str, str]]:
        """The suites, each with its row, that it is part of."""
        return frozenset((part["suite"], part["row"]) for part in parts_of(self.about) if {"suite", "row"} <= set(part))

    @property
    def classes(self) -> tuple[int, int] | None:
        """How many classes are trained on, and how many of the test are unseen; None in older records."""
        known = self.about.get("data", {}).get("profile", {}).get("classes_of_splits", {})
        return (known["train"], known["test_unseen"]) if {"train", "test_unseen"} <= set(known) else None

    @property
    def tags(self) -> Mapping[str, str]:
        """The tags that the user gave to find it by."""
        return dict(self.about.get("tags", {}))

    @property
    def searched(self) -> int | None:
        """The trials of the search that found the hyperparameters, None where none did.

        Within a suite that may be the search of another task, which hands on what it found.
        """
        own = self.trials if self.is_study else None
        handed = next((part["trials"] for part in parts_of(self.about) if "trials" in part), None)
        return own if handed is None else max(own or 0, int(handed))

    @property
    def questions(self) -> frozenset[str]:
        """The keys of what was evaluated, of one repeat each; older records, which do not say, have none."""
        return frozenset(str(record["question"]) for record in self.tested if "question" in record)

    @property
    def computing(self) -> Mapping[str, str]:
        """The hashes of the code that computed the evaluations, libraries left out."""
        code = self.tested[0].get("code", {})
        return {role: code[role] for role in ("method", "kernel", "task", "data", "scoring") if role in code}


class Reader:
    """Reads the test evaluations of a store, all of them once, for comparisons on any number of data sets.

    ``warn`` is told of studies that are damaged, which are left out.
    """

    def __init__(self, records: Records, warn: Callable[[str], None]) -> None:
        self.records, self.warn = records, warn
        self.identities = records.identities()
        self.overview = Overview(records, ("finished", "about", "origin"))
        # Rows that were made already, for comparisons that share a reader.
        self.rows: dict[Hashable, list[dict[str, Any]]] = {}
        self._read: dict[tuple[str, str], Sequence[Recorded]] = {}
        self._by_owner: dict[str, list[dict[str, Any]]] = {}
        for owner, _, record in records.evaluations_on_split(TEST):
            self._by_owner.setdefault(owner, []).append(record)

    def datasets(self, task: str) -> list[str]:
        """Return the specs of the data sets on whose test split this task was evaluated, oldest first."""
        found = [
            str(identity["dataset"])
            for name, identity in self.identities.items()
            if identity.get("task") == task and STUDY + name in self._by_owner
        ]
        found += [str(experiment["dataset"]) for experiment, _ in self._runs() if experiment["task"] == task]
        return list(dict.fromkeys(found))

    def tasks(self, datasets: Sequence[str] = ()) -> list[str]:
        """Return the tasks that were evaluated on the test split of these data sets (none: of any), oldest first.

        On draws of the classes of one of them, too.
        """
        found: list[Mapping[str, Any]] = [i for name, i in self.identities.items() if STUDY + name in self._by_owner]
        found += [experiment for experiment, _ in self._runs()]
        return list(dict.fromkeys(str(one["task"]) for one in found if is_of(str(one.get("dataset")), datasets)))

    def by_task(self) -> dict[str, list[Recorded]]:
        """Return what was tested of each task, on any data set."""
        return {task: [g for name in self.datasets(task) for g in self.read(name, task)] for task in self.tasks()}

    def read(self, dataset: str, task: str) -> Sequence[Recorded]:
        """Return what was tested of a task on a data set, studies first, each kind in the order of the records.

        It is read once, and what is damaged is told of once.
        """
        place = (dataset, task)
        if place not in self._read:
            self._read[place] = [*self._studies(dataset, task), *self._single_runs(dataset, task)]
        return self._read[place]

    def seconds(self, found: Recorded) -> float | None:
        """Return how long the trials of a study took, one after the other; None for a single run."""
        return self.overview.seconds(found.name) if found.is_study else None

    def _studies(self, dataset: str, task: str) -> list[Recorded]:
        """Return the studies that ended with test evaluations of their winner; one that is damaged is left out."""
        found = []
        asked = {n: i for n, i in self.identities.items() if (i.get("dataset"), i.get("task")) == (dataset, task)}
        winners = self.overview.trials_of(self._winners(asked))
        for name, identity in asked.items():
            try:
                finished = self.overview.value(name, "finished")
                if finished is None:
                    continue
                # An extended study has a new winner; the test evaluations of the earlier one are history.
                known = self._by_owner.get(STUDY + name, [])
                tested = [_with_experiment(r, identity) for r in known if r["winner"] == finished["winner"]]
                winner = self.overview.chosen(name, finished["winner"], winners)
                about = self.overview.value(name, "about") or {}
                origin = str(self.overview.value(name, "origin") or "")
            except StoreError as error:
                self.warn(f"{error}; study {name!r} is left out")
                continue
            if tested:
                runs = {run_identifier(origin, STUDY + name, PARENT), *(record["run"] for record in tested)}
                code, trials = str(finished.get("code", "")), self.overview.trials(name)
                found.append(Recorded(name, identity, _ordered(tested), winner, trials, code, frozenset(runs), about))
        return found

    def _winners(self, studies: Iterable[str]) -> dict[str, int]:
        """Return the numbers of the winners of those studies that say it."""
        found = {}
        for name in studies:
            with suppress(StoreError, KeyError, TypeError):
                found[name] = int(self.overview.value(name, "finished")["winner"])
        return found

    def _single_runs(self, dataset: str, task: str) -> list[Recorded]:
        """Return the single runs that scored the test split."""
        groups = []
        for experiment, found in self._runs():
            if experiment["dataset"] == dataset and experiment["task"] == task:
                name, runs = f"run {found[0]['run'][:8]}", frozenset(record["run"] for record in found)
                about = found[0].get("about", {})
                groups.append(Recorded(name, experiment, _ordered(found), names=runs, about=about))
        return groups

    def _runs(self) -> Iterable[tuple[Mapping[str, Any], list[dict[str, Any]]]]:
        for owner, found in self._by_owner.items():
            experiment = found[0].get("experiment", {})
            if owner.startswith("run:") and {"method", "dataset", "task"} <= set(experiment):
                yield experiment, found


def is_of(dataset: str, asked: Sequence[str]) -> bool:
    """Tell whether a data set is one of those asked for (none: any), or a draw of the classes of one."""
    return not asked or dataset in asked or draw_of(dataset) in asked


def _with_experiment(record: dict[str, Any], identity: Mapping[str, Any]) -> dict[str, Any]:
    return record if "experiment" in record else {**record, "experiment": {**identity, "split": TEST}}


def _ordered(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(records, key=lambda record: int(record.get("repeat", 0)))
