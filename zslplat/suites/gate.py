"""``zslplat gate``: may a new study take the place of a recorded one? By validation alone, with a budget of looks.

| symbol | here | meaning |
|---|---|---|
| d | ``gap.estimate`` | mean over validation classes of NEW less BASE, larger is better |
| m | ``margin`` | how much worse NEW may be; 0 asks for a gain, below 0 for a gain of so much |
| L | ``looks`` | tries for which the error is budgeted |

NEW passes where the whole interval of level 1 - .05 / L of d lies above -m, fails where it lies below, and else nobody
can tell. A look spends 1 / L of the budget of its data, task and metric; where that is spent nothing more is decided.
So in L tries, none of which is as good as allowed, any passes with a probability of at most .025, however the tries
depend on each other (Bonferroni's inequality), as far as the interval holds. ``docs/gate.md`` says where it does not,
and what this does not protect from.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from zslplat.comparison.classes import class_difference
from zslplat.errors import StoreError, UsageError
from zslplat.evaluation.components import build_component, open_dataset
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import VALIDATION, Experiment, repeat_seed
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.reporter import Reporter
from zslplat.evaluation.scoring.outcomes import class_values
from zslplat.evaluation.session import EvaluationRequest, Session
from zslplat.evidence.draws import join_draws
from zslplat.evidence.scores import Scored
from zslplat.keys import METRIC, key_of, trial_key
from zslplat.metrics.intervals import ClassValues
from zslplat.records.database import Records
from zslplat.records.folders import study_folder
from zslplat.records.opening import existing_records
from zslplat.records.studies import OpenStudy, selected_by
from zslplat.settings import Settings
from zslplat.statistics import LEAST_CLASSES, LEVEL, Estimate
from zslplat.tuning.rerun import differences

PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot tell"
EXIT_CODES: Mapping[str, int] = {PASS: 0, FAIL: 1, CANNOT_TELL: 3}
REPEATS = 3  # seeds of random methods
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Gate:
    """What was decided. ``noise_floor``: the standard error of the difference; ``smallest_gain``: about which true
    difference passes four times out of five with so many classes. Both are None where nothing is known of them.

    ``look`` counts the looks at these validation classes, this one included; ``spent`` is the share of the budget that
    is gone; ``recorded``: the verdict was made by an earlier call, and nothing was spent by this one.
    """

    new: str
    base: str
    metric: str
    margin: float
    looks: int
    verdict: str = CANNOT_TELL
    reason: str = ""
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    classes: int = 0
    noise_floor: float | None = None
    smallest_gain: float | None = None
    look: int = 0
    spent: float = 0.0
    recorded: bool = False

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return EXIT_CODES[self.verdict]

    @property
    def lines(self) -> list[str]:
        """The verdict, and what it rests on."""
        lines = [f"{self.verdict}: {self.reason}"]
        if self.noise_floor is not None:
            smallest = "unknown" if self.smallest_gain is None else f"{self.smallest_gain:+.4f}"
            lines.append(
                f"noise floor {self.noise_floor:.4f} (standard error of the difference over {self.classes} classes); "
                f"smallest difference that passes 4 times of 5: {smallest}"
            )
        again = ", decided before and not spent again" if self.recorded else ""
        return [*lines, f"look {self.look} at these validation classes{again}; {self.spent:.1%} of the budget is spent"]

    def decided(self, gap: Estimate | None) -> Gate:
        """Return the verdict on a difference (larger is better)."""
        if gap is None or gap.classes < LEAST_CLASSES:
            few = "no values per class" if gap is None else f"{gap.classes} classes, and {LEAST_CLASSES} are the fewest"
            return replace(self, reason=f"{few} on validation", classes=gap.classes if gap else 0)
        verdict, (low, high) = decide(gap, self.margin, self.looks)
        bound = 0.0 - self.margin
        said = {
            PASS: f"{self.new} is better" if low > 0 else f"{self.new} is not worse by {self.margin:g} or more",
            FAIL: f"{self.new} is below {self.base} {bound:+g}",
            CANNOT_TELL: f"the interval holds {bound:g}",
        }[verdict]
        shown = f"validation {self.metric} {gap.estimate:+.4f} [{low:+.4f}, {high:+.4f}] over {gap.classes} classes"
        smallest = gap.smallest_difference(self.looks) - self.margin
        return replace(
            self,
            verdict=verdict,
            reason=f"{said}: {shown}",
            difference=gap.estimate,
            low=low,
            high=high,
            classes=gap.classes,
            noise_floor=gap.error,
            smallest_gain=smallest if np.isfinite(smallest) else None,
        )


def decide(gap: Estimate, margin: float, looks: int) -> tuple[str, tuple[float, float]]:
    """Return the verdict on a difference (larger is better), and the ends of its interval of level 1 - .05 / looks."""
    low, high = gap.ends_at(1 - (1 - LEVEL) / looks)
    return (PASS if low > -margin else FAIL if high < -margin else CANNOT_TELL), (low, high)


def gate(settings: Settings, new: str, base: str, reporter: Reporter, *, margin: float, looks: int) -> Gate:
    """Decide whether the winner of study ``new`` passes against that of ``base``; the look is recorded.

    Raises :class:`UsageError` for studies that cannot be compared, or have not ended, and :class:`StoreError` where
    the code or the data have changed since.
    """
    with closing(existing_records(settings, reporter.warn)) as records:
        sides = _Side(records.study(new)), _Side(records.study(base))
        _check_pair(*sides)
        metric = sides[0].metric
        place = key_of(sides[0].experiment.data, str(sides[0].experiment.task), metric.name)
        question = [sides[0].key, sides[1].key, margin]
        recorded = records.looks(place)
        spent = sum(1 / one["gate"]["looks"] for one in recorded)
        for number, one in enumerate(recorded, start=1):
            if one["question"] == question:
                return Gate(**{**one["gate"], "look": number, "spent": spent, "recorded": True})
        now = Gate(new, base, metric.name, margin, looks, look=len(recorded), spent=spent)
        if spent + 1 / looks > 1 + _ROUNDING:
            why = "decide on other classes: another data set, or `zslplat compare` once at the end"
            return replace(now, reason=f"the budget of looks at these classes is spent; {why}")
        ahead, behind = (_validated(side, records, settings, reporter) for side in sides)
        gap = class_difference(*((ahead, behind) if metric.maximise else (behind, ahead)), metric.name)
        final = replace(now.decided(gap), look=len(recorded) + 1, spent=spent + 1 / looks)
        records.add_looks(place, [{"question": question, "created": time.time(), "gate": asdict(final)}])
    return final


class _Side:
    """A study that has ended, and its winner."""

    def __init__(self, study: OpenStudy) -> None:
        self.study, values = study, study.values()
        finished = values.get("finished") or {}
        if finished.get("winner") is None:
            raise UsageError(f"study {study.name!r} has not ended; give its command again to continue it")
        self.identity, self.trials = values["identity"], study.finished()
        self.experiment = Experiment.from_json(self.identity)
        self.winner = self.trials[finished["winner"]][1]
        self.key = [study.name, self.winner["number"], self.winner.get("question")]
        self.task = build_component("tasks", self.experiment.task)
        self.metric = self.task.metric(str(selected_by(self.identity, values["about"])).partition(",")[0])


def _check_pair(new: _Side, base: _Side) -> None:
    """Raise :class:`UsageError` where a comparison would be unfair."""
    if new.study.name == base.study.name:
        raise UsageError(f"study {new.study.name!r} is given twice; --against takes another one")
    for part in ("dataset", "task", "seed", "data", METRIC):
        ours, theirs = (side.identity.get(part) for side in (new, base))
        if ours != theirs:
            raise UsageError(
                f"{new.study.name} has {part} {ours}, {base.study.name} has {theirs}: they were not validated on the "
                f"same; tune both with one {part}"
            )
    counts = [len(side.trials) for side in (new, base)]
    if new.identity.get("space") and base.identity.get("space") and counts[0] != counts[1]:
        raise UsageError(
            f"{new.study.name} has {counts[0]} trials and {base.study.name} has {counts[1]}: a verdict would be on "
            f"unequal budgets; give the command of the smaller again with --trials {max(counts)}"
        )


def _validated(side: _Side, records: Records, settings: Settings, reporter: Reporter) -> Scored:
    """Return the scores of the winner on its validation classes; random methods have several seeds.

    Raises :class:`StoreError` where evaluating it again does not give the recorded numbers.
    """
    name, winner = side.study.name, side.winner
    if open_dataset(side.experiment.dataset, settings).fingerprint != side.experiment.data:
        raise StoreError(f"the data of study {name!r} have changed since; restore them, or tune both again")
    context = ExperimentContext(side.experiment, settings, on_stage=reporter.stage)
    requests = [
        EvaluationRequest(
            label=f"validation {r}",
            run=side.study.run(f"{trial_key(winner['number'])}/validation-{r}"),
            experiment=context.experiment.evaluation(
                winner["parameters"], VALIDATION, repeat_seed(side.experiment.seed, r)
            ),
            full=True,
            outcomes=True,
        )
        for r in range(REPEATS if context.random else 1)
    ]
    answers: dict[int, Answer] = {}
    with Session(context, records, reporter, recall=False) as session:
        session.start_workers(len(requests), study_folder(settings, name) / "workers.log")
        prepared = session.prepare(VALIDATION)
        reporter.stage(f"scoring the winner of {name} on its validation classes")
        session.evaluate(requests, prepared, Limits(), answers.__setitem__)
    results = []
    for r in range(len(requests)):
        if answers[r].result is None:
            raise StoreError(f"the winner of study {name!r} could not be evaluated again: {answers[r].reason}")
        results.append(answers[r].result or {})
    _, lines = differences(winner["metrics"], results[0]["metrics"])
    if lines:
        raise StoreError(
            f"the winner of study {name!r} does not give its recorded numbers ({lines[0]}): the code has changed; "
            "tune it again with --study NAME"
        )
    folders = [records.evaluation_folder(request.run) for request in requests]
    folds = range(len(prepared))
    names = [fold["name"] if len(folds) > 1 else "" for fold in results[0]["folds"]]
    tables = [[class_values(side.task, folder / names[k]) for folder in folders] for k in folds]
    for folder in folders:  # the records have no such evaluation
        shutil.rmtree(folder, ignore_errors=True)
    return join_draws({k: _fold_scores(side, [result["folds"][k] for result in results], tables[k]) for k in folds})


def _fold_scores(side: _Side, folds: Sequence[Mapping[str, Any]], tables: Sequence[ClassValues | None]) -> Scored:
    """Return the scores of one fold from its records and values per class in each repeat."""
    metric, first = side.metric.name, tables[0]
    whole = [table for table in tables if table is not None and metric in table.values]
    scored = Scored(
        label=side.study.name,
        study=side.study.name,
        method=str(side.experiment.method),
        values={metric: [fold["metrics"][metric] for fold in folds]},
        replicates={},
        validation={},
        rows=folds[0]["rows"],
        data=side.experiment.data,
    )
    if first is None or len(whole) < len(tables):
        return scored
    exchanged = [table.exchanged[metric] for table in whole if metric in table.exchanged]
    return replace(
        scored,
        classes={metric: np.array([table.values[metric] for table in whole])},
        kinds=first.kinds,
        exchanged={metric: np.mean(exchanged, axis=0)} if exchanged else {},
        class_names=first.names,
    )
