"""Letters of a leaderboard beside its verdicts, and what is said where nothing varies or nothing was validated."""

import numpy as np
import pytest

from zslplat.comparison.classes import class_difference, class_verdict, family_p_values
from zslplat.comparison.leaderboard import leaderboard
from zslplat.comparison.sheets import letters_of
from zslplat.evidence.scores import Scored
from zslplat.tasks.base import Metric

ACC = Metric("acc")


def entry(label, classes, **more):
    classes = np.atleast_2d(np.asarray(classes, dtype=float))
    content = {"replicates": {}, "validation": {"acc": 0.5}, "knows": "nothing", "rows": "same", **more}
    return Scored(
        label, f"study {label}", label, {"acc": classes.mean(axis=1).tolist()}, classes={"acc": classes}, **content
    )


@pytest.mark.parametrize("seed", range(40))
def test_no_letters_tell_apart_what_the_verdict_calls_level(seed):
    rng = np.random.default_rng(seed)
    # Of nine methods over nine classes the pairs are too many for the exact test, the rivals of one method are not.
    found = [entry("base", rng.uniform(size=9), validation={"acc": 0.9})]
    found += [entry(f"m{i}", found[0].classes["acc"] - rng.normal(0.1, 0.12, size=9)) for i in range(8)]
    # Transductive rivals of the one that is asked for make its verdicts stricter than the letters of a small group.
    found += [entry(f"t{i}", rng.uniform(size=9), knows="transductive") for i in range(seed % 3)]
    rows = leaderboard(found, "acc", ACC, "base" if seed % 2 else None)
    base = next(row for row in rows if row["method"] == "base")
    level = [row for row in rows if row["group"] == base["group"] and row["verdict"] == "level"]
    assert all(letters_of(row["tied"]) & letters_of(base["tied"]) for row in level)


def test_the_rule_is_needed():
    """Without it the t test of all pairs tells apart what the exact test of the rivals does not."""
    contradictions = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        base = rng.uniform(size=9)
        found = [entry("base", base)] + [entry(f"m{i}", base - rng.normal(0.1, 0.12, size=9)) for i in range(8)]
        pairs = [(a, b) for a in range(9) for b in range(a + 1, 9)]
        _, letters = family_p_values([class_difference(found[a], found[b], "acc") for a, b in pairs])
        _, rivals = family_p_values([class_difference(found[b], found[0], "acc") for b in range(1, 9)])
        told = dict(zip(pairs, letters <= 0.05, strict=True))
        contradictions += sum(told[0, b] and rivals[b - 1] > 0.05 for b in range(1, 9))
    assert contradictions


def test_a_difference_that_is_the_same_in_every_class_has_no_interval_but_a_verdict():
    base = np.linspace(0.2, 0.7, 8)
    gap = class_difference(entry("a", base + 0.1), entry("b", base), "acc")
    assert np.isnan(gap.ends).all()
    assert np.isnan(gap.smallest_difference())
    assert gap.p_value == gap.student_p == 2.0**-7
    row = leaderboard([entry("a", base + 0.1), entry("b", base, validation={"acc": 0.9})], "acc", ACC)[0]
    assert (row["verdict"], row["p_holm"]) == ("ahead", 2.0**-7)
    assert row["difference_low_classes"] is row["smallest_difference"] is None


def test_a_method_beside_its_copy_is_level_without_an_interval():
    base = np.linspace(0.2, 0.7, 30)
    gap = class_difference(entry("a", base), entry("b", base), "acc")
    assert gap.p_value == 1
    assert np.isnan(gap.ends).all()
    assert class_verdict(gap, gap.p_value, (0.5, 0.5)) == "level"


def test_without_a_score_on_validation_the_first_entry_is_the_baseline():
    found = [entry(name, np.random.default_rng(i).uniform(size=8), validation={}) for i, name in enumerate("abc")]
    assert {row["baseline"] for row in leaderboard(found, "acc", ACC)} == {"a"}
