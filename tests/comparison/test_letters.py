"""Letters of a leaderboard beside its verdicts, and what is said where nothing varies or nothing was validated."""

import numpy as np
import pytest

from zslplat.comparison.classes import class_difference, class_verdict, family_p_values
from zslplat.comparison.leaderboard import leaderboard
from zslplat.comparison.sheets import letters_of
from zslplat.evidence.scores import Scored
from zslplat.statistics import AHEAD, BEHIND, NOT_ENOUGH
from zslplat.tasks.base import Metric

ACC = Metric("accuracy")


def entry(label, classes, **more):
    classes = np.atleast_2d(np.asarray(classes, dtype=float))
    content = {"replicates": {}, "validation": {"accuracy": 0.5}, "knows": "nothing", "rows": "same", **more}
    return Scored(
        label,
        f"study {label}",
        label,
        {"accuracy": classes.mean(axis=1).tolist()},
        classes={"accuracy": classes},
        **content,
    )


@pytest.mark.parametrize("seed", range(40))
def test_no_letters_tell_apart_what_the_verdict_does_not(seed):
    rng = np.random.default_rng(seed)
    # Of nine methods over nine classes the pairs are too many for the exact test, the rivals of one method are not.
    found = [entry("base", rng.uniform(size=9), validation={"accuracy": 0.9})]
    found += [entry(f"m{i}", found[0].classes["accuracy"] - rng.normal(0.1, 0.12, size=9)) for i in range(8)]
    # Transductive rivals of the one that is asked for make its verdicts stricter than the letters of a small group.
    found += [entry(f"t{i}", rng.uniform(size=9), knows="transductive") for i in range(seed % 3)]
    rows = leaderboard(found, "accuracy", ACC, "base" if seed % 2 else None)
    base = next(row for row in rows if row["method"] == "base")
    alike = [row for row in rows if row["group"] == base["group"] and row["verdict"] not in (AHEAD, BEHIND)]
    assert all(letters_of(row["tied"]) & letters_of(base["tied"]) for row in alike)


def test_the_rule_is_needed():
    """Without it the correction over all pairs tells apart what that over more rivals does not."""
    contradictions = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        base = rng.uniform(size=9)
        entries = [entry("base", base)] + [entry(f"m{i}", base - rng.normal(0.1, 0.12, size=9)) for i in range(3)]
        others = [entry(f"t{i}", rng.uniform(size=9)) for i in range(20)]
        pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
        letters = family_p_values([class_difference(entries[a], entries[b], "accuracy") for a, b in pairs])[-1]
        gaps = [class_difference(rival, entries[0], "accuracy") for rival in (*entries[1:], *others)]
        rivals = family_p_values(gaps)[-1]
        differs = dict(zip(pairs, letters <= 0.05, strict=True))
        contradictions += sum(differs[0, b] and rivals[b - 1] > 0.05 for b in range(1, 4))
    assert contradictions


def test_a_difference_that_is_the_same_in_every_class_has_a_bound():
    base = np.linspace(0.2, 0.7, 8)
    gap = class_difference(entry("a", base + 0.1), entry("b", base), "accuracy")
    assert gap.ends[0] < 0 < gap.ends[1]
    assert np.isnan(gap.smallest_difference())
    assert gap.p_value == pytest.approx(2 * 1.1**-8)
    row = leaderboard([entry("a", base + 0.1), entry("b", base, validation={"accuracy": 0.9})], "accuracy", ACC)[0]
    assert row["verdict"] == NOT_ENOUGH
    assert row["smallest_difference"] is row["classes_to_decide"] is None


def test_a_method_beside_its_copy_does_not_differ():
    base = np.linspace(0.2, 0.7, 30)
    gap = class_difference(entry("a", base), entry("b", base), "accuracy")
    assert gap.p_value == 1
    assert class_verdict(gap, gap.p_value) == NOT_ENOUGH


def test_without_a_score_on_validation_the_first_entry_is_the_baseline():
    found = [entry(name, np.random.default_rng(i).uniform(size=8), validation={}) for i, name in enumerate("abc")]
    assert {row["baseline"] for row in leaderboard(found, "accuracy", ACC)} == {"a"}
