"""Checks of studies of zero-shot methods: the control, and tests of few classes or few rows."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable

from zslplat.checks.base import Check
from zslplat.checks.facts import StudyFacts
from zslplat.checks.outcome import NotBetter
from zslplat.data.class_draws import draw_of
from zslplat.names import counted
from zslplat.statistics import LEAST_CLASSES, NOT_ENOUGH

LARGEST_ERROR = 0.05


class NotBetterThanControl(NotBetter):
    """Speaks where the test score is not surely above that of the recorded control, the cheapest method of its kind.

    The control is ridge regression onto prototypes, ``cosine-signatures`` in a shared space, and ``class-means`` where
    classes have shots; of its studies on the same data and task the one with the best validation. Whatever is not above
    it has gained nothing by what it costs more. A lead counts where the
    paired interval over the test rows lies above 0: a method that equals the control is named in 39 of 40 cases, one
    that is better by two standard errors of the difference in half of them, by four in one of 50. Rows are the mildest
    test: what is not ahead on these rows is not ahead on new classes. Without an interval (scores on other rows, older
    records) the mean alone decides.
    """

    code, title, scope = "ZSP203", "not better than the control", "study"
    kind = "zero-shot"


class FewTestClasses(Check):
    """Speaks of class-disjoint tests with fewer than 6 classes, which cannot show a difference over new classes.

    The interval of C classes is wide: its half width is 1.24 standard deviations of the differences per class at 5
    classes, 2.48 at 3, .72 at 10. A class fold is one of several tests, which are compared together: it is left out.
    """

    code, title, scope = "ZSP206", "few test classes", "study"

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where there are too few classes."""
        count = sum(1 for name, rows in facts.true.items() if rows and name not in facts.seen)
        if facts.kind == "zero-shot" and 0 < count < LEAST_CLASSES and draw_of(facts.dataset) is None:
            unseen = "unseen " if facts.seen else ""
            what = counted(count, f"{unseen}class", f"{unseen}classes")
            command = ["zslplat", "tune", facts.method, "-d", facts.dataset, "-t", facts.task, "--class-folds", "5"]
            yield (
                f"the test has {what}: with fewer than {LEAST_CLASSES} the verdict on a difference is {NOT_ENOUGH!r}; "
                f"{shlex.join(command)} tests every class once"
            )


class FewRowsPerClass(Check):
    """Speaks where classes have so few test rows that chance among rows alone moves the mean over classes.

    A per-class accuracy of n rows has a standard error of at most 1 / (2 sqrt n), so the mean over C classes one of at
    most sqrt(sum 1 / 4n) / C. Where that is above .05 the 95 % interval is wider than +-.1 for the rows alone: 4 rows
    in each of 25 classes are at the threshold, or 20 in each of 5. Seen and unseen classes have means of their own.
    """

    code, title, scope = "ZSP207", "test classes with few rows", "study"

    def find(self, facts: StudyFacts) -> Iterable[str]:
        """Yield a line where rows are few."""
        if facts.kind != "zero-shot":
            return
        for kind, is_seen in (("unseen ", False), ("seen ", True)):
            rows = {name: n for name, n in facts.true.items() if n and (name in facts.seen) == is_seen}
            error = math.sqrt(sum(0.25 / count for count in rows.values())) / max(1, len(rows))
            if error > LARGEST_ERROR:
                fewest = min(rows, key=lambda name: rows[name])
                yield (
                    f"test: {sum(rows.values())} rows in {len(rows)} {kind if facts.seen else ''}classes, "
                    f"{rows[fewest]} of {fewest!r}: the mean over classes is known to about +-{1.96 * error:.2f} for "
                    "these rows alone"
                )
