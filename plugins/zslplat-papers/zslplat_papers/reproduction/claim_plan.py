"""What would decide the open claims: how much more data, where it is cheapest, and the core-seconds that it takes.

An open claim has a difference d with the error e. Were d the truth, an error of D / 2.8 would show it with a power of
80 %, where D is the distance of d from what decides: from 0, or from the margin. The precision 1 / e^2 is the sum of
those of the data sets, and each grows with its classes or draws. They are bought where a unit of precision costs least
by the recorded seconds: class folds at most until each class has been unseen once, starts and drawn rows without end.
Ten draws of the classes of one data set have each class several times: what more of them would add is left out.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from zslplat.names import counted
from zslplat.statistics import LEAST_CLASSES, MARGIN, NOT_ENOUGH, detectable
from zslplat_papers.reproduction.claims import Judged
from zslplat_papers.reproduction.measures import MEASURES
from zslplat_papers.reproduction.verdicts import CLASSES, IMAGES, MeanDifference

# All classes of the data sets whose classes may be folded.
ALL_CLASSES = {
    "digit-pairs": 100,
    "ISOLET": 26,
    "AWA1 proposed": 50,
    "AWA1 standard": 50,
    "CIFAR100 GloVe": 100,
    "CIFAR100 hierarchy": 100,
}
# Suites whose intervals are over classes that are all seen, or over draws of them: there is nothing to fold.
CLOSED = ("claims-coding", "claims-faces", "claims-semfs", "claims-slem")


@dataclass(frozen=True)
class Step:
    """More of one data set: what it would have instead of what it has, and the core-seconds of that.

    ``class_folds``: how many folds of all classes that is, None for more of anything else.
    """

    data: str
    what: str
    seconds: float
    class_folds: int | None = None


@dataclass(frozen=True)
class Plan:
    """What would decide a claim.

    ``difference`` is what was found, ``smallest`` what would have been seen, ``times`` how much more precision decides.
    ``steps`` are what there is to compute here; ``data_sets`` how many further ones it takes beside them.
    """

    claim: str
    difference: float
    smallest: float
    times: float
    steps: tuple[Step, ...] = ()
    data_sets: int = 0

    @property
    def seconds(self) -> float:
        """The core-seconds of the steps."""
        return sum(step.seconds for step in self.steps)

    @property
    def command(self) -> str:
        """The command that carries out the first class folds, empty where there are none."""
        folded = [step for step in self.steps if step.class_folds]
        words = [f"zslplat claims {self.claim} --run --class-folds {step.class_folds}" for step in folded[:1]]
        return "".join(f"{line} --only {shlex.quote(folded[0].data)}" for line in words)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {**asdict(self), "seconds": round(self.seconds, 1)}

    def __str__(self) -> str:
        parts = [f"{step.what} of {step.data}" for step in self.steps]
        parts += [counted(self.data_sets, "further data set")] if self.data_sets else []
        return ", ".join(parts) or "nothing that is known here"


def plans(judgements: Sequence[Judged]) -> list[Plan]:
    """Return what would decide each open claim, those that cost least first."""
    listed = [_plan(judged) for judged in judgements if judged.verdict.verdict == NOT_ENOUGH]
    return sorted(listed, key=lambda plan: (plan.data_sets > 0, plan.seconds))


def _plan(judged: Judged) -> Plan:
    if not judged.evidence.means:
        return Plan(judged.claim.id, math.nan, math.nan, math.nan)
    margin = float(judged.lines[0]["margin"])
    level = judged.lines[0]["direction"] == "level"
    factors = {id(mean): _times(mean, margin, level=level) for mean in judged.evidence.means}
    # One comparison that fails refutes a claim about all; where none points that way, each has to be shown.
    against = [one for one in judged.evidence.means if one.difference + (margin if level else 0) <= 0]
    mean = (
        min(against, key=lambda one: factors[id(one)])
        if against
        else max(judged.evidence.means, key=lambda one: factors[id(one)])
    )
    steps, left = _steps(judged, mean, factors[id(mean)])
    further = math.ceil(left / (mean.pooled.error**-2.0 / mean.pooled.data_sets)) if left > 0 else 0
    return Plan(judged.claim.id, mean.difference, mean.smallest, factors[id(mean)], tuple(steps), further)


def _times(mean: MeanDifference, margin: float, *, level: bool) -> float:
    """Return by how much the precision has to grow to decide a difference, were it the true one; at least 1.1."""
    shifted = mean.difference + (margin if level else 0.0)
    distance = max(abs(shifted), 0.0 if level else margin - abs(shifted), MARGIN / 20)
    return max(1.1, (detectable(math.inf, 1) * mean.pooled.error / distance) ** 2)


def _steps(judged: Judged, mean: MeanDifference, times: float) -> tuple[list[Step], float]:
    """Return the cheapest steps towards so many times the precision, and the precision that they leave to find."""
    precision = {family: error**-2.0 for family, error in zip(mean.families, mean.pooled.errors, strict=True)}
    missing = (times - 1) * mean.pooled.error**-2.0
    by_data: dict[str, list[Mapping[str, Any]]] = {}
    for recorded in judged.lines:
        data = str(recorded["contrast"]).partition(": ")[0]
        if IMAGES.get(data, data) in precision and (recorded["classes"] or LEAST_CLASSES) >= LEAST_CLASSES:
            by_data.setdefault(data, []).append(recorded)
    offers = []
    for data, lines in by_data.items():
        spent = [float(line["seconds"] or 0) for line in lines]
        seconds = sum(spent) if lines[0]["suite"] in MEASURES else max(spent)
        offers.append((seconds / precision[IMAGES.get(data, data)], seconds, data, lines[0]))
    steps, used = [], set[str]()
    for _, seconds, data, line in sorted(offers, key=lambda offer: offer[:3]):
        family = IMAGES.get(data, data)
        more, text = _more(data, line, 1 + missing / precision[family])
        if missing <= 0 or family in used or more <= 1:
            continue
        used.add(family)
        # Folds test all classes anew; draws go on from those that are there.
        folds = int(text.split()[0]) if "class folds" in text else None
        steps.append(Step(data, text, seconds * (more if folds else more - 1), folds))
        missing -= (more - 1) * precision[family]
    return steps, max(missing, 0.0)


def _more(data: str, line: Mapping[str, Any], times: float) -> tuple[float, str]:
    """Return how many times its precision a data set can have at most, up to ``times``, and in words by what."""
    if line["suite"] in CLOSED or "classes" in line["over"].removeprefix(CLASSES):
        return 1.0, ""
    count = line["classes"]
    if line["over"] == CLASSES and count:
        every = ALL_CLASSES.get(data, 0)
        folds = math.ceil(every / count)
        return max(every / count, 1.0), f"{folds} class folds"
    number, _, unit = line["over"].rpartition(" ")
    count = int(number) if number.isdigit() else line["repeats"]
    return times, f"{math.ceil(times * count)} {unit} in place of {count}"
