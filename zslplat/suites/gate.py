"""``zslplat gate``: may a new study take the place of a recorded one? By validation alone, with a budget of looks.

| symbol | here | meaning |
|---|---|---|
| d | ``gap.estimate`` | mean over validation classes of NEW less BASE, larger is better |
| m | ``margin`` | how much worse NEW may be; 0 asks for a gain, below 0 for a gain of so much |
| L | ``looks`` | tries for which the error is budgeted |

NEW passes where the whole interval of level 1 - .05 / L of d lies above -m, and fails where it lies below. Otherwise
the verdict is *cannot tell*, as it is once the budget of the data is spent, of which a look takes 1 / L. So in L
tries, none of which is as good as allowed, any passes with a probability of at most .025, however the tries depend on
each other (Bonferroni's inequality). That holds as far as the interval does, where both searches gain alike from
choosing among their trials, and for a loop that hears *passed* or *not passed* alone. ``docs/gate.md`` has what it is
otherwise.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from zslplat.comparison.classes import class_difference
from zslplat.errors import StoreError, UsageError
from zslplat.evaluation.components import NOTHING, build_component, open_dataset
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import VALIDATION, Experiment, repeat_seed
from zslplat.evaluation.jobs import Answer, Limits
from zslplat.evaluation.reporter import Reporter
from zslplat.evaluation.scoring.outcomes import class_values
from zslplat.evaluation.session import EvaluationRequest, Session
from zslplat.evidence.draws import join_draws
from zslplat.evidence.scores import Scored, fields_of_classes
from zslplat.keys import METRIC, key_of
from zslplat.metrics.intervals import ClassValues
from zslplat.names import counted
from zslplat.records.database import Records
from zslplat.records.folders import study_folder
from zslplat.records.opening import existing_records
from zslplat.records.studies import OpenStudy, selected_by
from zslplat.settings import Settings
from zslplat.statistics import LEAST_CLASSES, LEVEL, Estimate
from zslplat.tuning.rerun import differences

PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot tell"
EXIT_CODES: Mapping[str, int] = {PASS: 0, FAIL: 4, CANNOT_TELL: 3}  # 1 and 2 are errors
NUMBERS = ("difference", "low", "high", "standard_error", "smallest_gain")  # what a loop must not steer by
REPEATS = 3  # seeds of random methods
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Gate:
    """What was decided. ``smallest_gain``: about which true difference passes four times out of five with so many
    classes; None, like ``standard_error``, where nothing is known of it.

    ``look`` counts the looks at these validation classes, this one included; ``left`` is the share of the budget that
    is left; ``recorded``: the verdict was made by an earlier call, and nothing was spent by this one.
    """

    new: str
    base: str
    metric: str
    margin: float
    looks: int
    verdict: str = ""  # of a look that is reserved
    reason: str = ""
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    classes: int = 0
    standard_error: float | None = None
    smallest_gain: float | None = None
    look: int = 0
    left: float = 1.0
    recorded: bool = False

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return EXIT_CODES[self.verdict]

    def to_json(self, *, numbers: bool) -> dict[str, Any]:
        """Return what ``--json`` prints; without ``numbers`` these are None."""
        return {**vars(self), **({} if numbers else dict.fromkeys(NUMBERS)), "exit_code": self.exit_code}

    def lines(self, *, numbers: bool) -> list[str]:
        """Return the verdict and the budget that is left, with the ``numbers`` between them."""
        lines = [f"{self.verdict}: {self.reason}"]
        if numbers and self.difference is not None:
            lines.append(f"{self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}] over {self.classes} classes")
            smallest = "unknown" if self.smallest_gain is None else f"{self.smallest_gain:+.4f}"
            lines.append(f"standard error {self.standard_error:.4f}; true gain that passes 4 times in 5: {smallest}")
        again = f", decided before with --looks {self.looks} and not spent again" if self.recorded else ""
        return [*lines, f"look {self.look} at these validation classes{again}; {self.left:.1%} of the budget is left"]

    def decided(self, gap: Estimate | None) -> Gate:
        """Return the verdict on a difference (larger is better)."""
        count = 0 if gap is None else gap.classes
        if gap is None or count < LEAST_CLASSES or not np.isfinite(gap.error):
            why = f"{count} classes, and {LEAST_CLASSES} are the fewest" if gap else "no values per class"
            why = "nothing is known of the spread" if count >= LEAST_CLASSES else why
            return replace(self, verdict=CANNOT_TELL, reason=f"{why} on validation", classes=count)
        verdict, (low, high) = verdict_of_gap(gap, self.margin, self.looks)
        size = f" by more than {abs(self.margin):g}" if self.margin else ""
        ahead, behind = f"better than {self.base}{size}", f"worse than {self.base}{size}"
        reason = {
            PASS: f"{self.new} is {f'not {behind}' if self.margin > 0 else ahead}",
            FAIL: f"{self.new} is {f'not {ahead}' if self.margin < 0 else behind}",
            CANNOT_TELL: f"these classes do not decide at --looks {self.looks}",
        }[verdict]
        smallest = gap.smallest_difference(self.looks) - self.margin
        return replace(
            self,
            verdict=verdict,
            reason=f"{reason} on validation {self.metric}",
            difference=gap.estimate,
            low=low,
            high=high,
            classes=gap.classes,
            standard_error=gap.error,
            smallest_gain=smallest if np.isfinite(smallest) else None,
        )


def verdict_of_gap(gap: Estimate, margin: float, looks: int) -> tuple[str, tuple[float, float]]:
    """Return the verdict on a difference (larger is better), and the ends of its interval of level 1 - .05 / looks."""
    low, high = gap.ends_at(1 - (1 - LEVEL) / looks)
    return (PASS if low > -margin else FAIL if high < -margin else CANNOT_TELL), (low, high)


def gate(settings: Settings, new: str, base: str, reporter: Reporter, *, margin: float, looks: int) -> Gate:
    """Decide whether the winner of study ``new`` passes against that of ``base``; the look is recorded.

    The look is reserved before anything is evaluated. A call that fails leaves it to the next one of the same question.

    Raises :class:`UsageError` for studies that cannot be compared, or have not ended, and :class:`StoreError` where
    the code or the data have changed since.
    """
    with existing_records(settings, reporter.warn) as records:
        sides = _Side(records.study(new)), _Side(records.study(base))
        _check_pair(*sides)
        metric, data = sides[0].metric, sides[0].experiment.data
        question = key_of(sides[0].key, sides[1].key, margin)
        now = Gate(new, base, metric.name, margin, looks)

        def reserve(recorded: dict[str, Any]) -> None:
            if 1 / looks <= _left(recorded) + _ROUNDING:
                recorded.setdefault(question, asdict(now))

        recorded = records.change_looks(data, reserve)
        left = max(0.0, _left(recorded))
        if question not in recorded:
            why = f"a look takes {1 / looks:.1%} of the budget of these classes, and {left:.1%} is left"
            why += "; decide on other classes: another data set, or `zslplat compare` once at the end"
            return replace(now, verdict=CANNOT_TELL, reason=why, look=len(recorded), left=left)
        now = replace(Gate(**recorded[question]), look=list(recorded).index(question) + 1, left=left)
        if now.verdict:
            return replace(now, recorded=True)
        ahead, behind = (_validated(side, records, settings, reporter) for side in sides)
        final = now.decided(class_difference(*((ahead, behind) if metric.maximise else (behind, ahead)), metric.name))
        records.change_looks(data, lambda recorded: recorded.update({question: asdict(final)}))
    return final


def _left(recorded: Mapping[str, Any]) -> float:
    """Return the share of the budget that recorded looks leave."""
    return 1.0 - sum(1 / int(one["looks"]) for one in recorded.values())


class _Side:
    """A study that has ended, and its winner."""

    def __init__(self, study: OpenStudy) -> None:
        self.study, values = study, study.values()
        finished = values.get("finished") or {}
        if finished.get("winner") is None:
            raise UsageError(f"study {study.name!r} has not ended; give its command again to continue it")
        self.identity, self.trials = values["identity"], study.finished()
        self.winner = self.trials[finished["winner"]][1]
        experiment = Experiment.from_json(self.identity)
        # With the winner's values, so that what is prepared, too, is prepared for them.
        self.experiment = replace(experiment, method=experiment.method.with_parameters(self.winner["parameters"]))
        self.knows = set(str(finished.get("knows") or NOTHING).split(", ")) - {NOTHING}
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
    if more := ", ".join(sorted(new.knows - base.knows)):
        raise UsageError(
            f"{new.study.name} knows more of the rows that it scores than {base.study.name} ({more}): a verdict would "
            "be on unequal knowledge; give --against a study that knows as much"
        )
    ours, theirs = len(new.trials), len(base.trials)
    # A new one without parameters may have fewer: the best of many for a base only makes passing harder.
    if ours > theirs or (ours < theirs and new.identity.get("space")):
        mend = f"tune both with --trials {max(ours, theirs)}"
        if not base.identity.get("space"):
            mend = f"{base.study.name} has nothing to search: tune the other with --trials {theirs} --study NAME"
        raise UsageError(
            f"{new.study.name} has {counted(ours, 'trial')} and {base.study.name} has {theirs}: a verdict would be on "
            f"unequal budgets; {mend}"
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
            run=uuid.uuid4().hex,  # of this call alone: another one may score the same winner
            experiment=context.experiment.evaluation({}, VALIDATION, repeat_seed(side.experiment.seed, r)),
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
    metric = side.metric.name
    whole = [table for table in tables if table is not None and metric in table.values]
    return Scored(
        label=side.study.name,
        study=side.study.name,
        method=str(side.experiment.method),
        values={metric: [fold["metrics"][metric] for fold in folds]},
        replicates={},
        validation={},
        rows=folds[0]["rows"],
        data=side.experiment.data,
        **(fields_of_classes(whole) if len(whole) == len(tables) else {}),
    )
