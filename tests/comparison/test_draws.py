"""Draws of the classes of one data set as one entry: a class has one value, and methods are paired on shared draws."""

from dataclasses import replace

import numpy as np
import pytest
from store_toys import MadeStore

from zslplat.comparison.classes import class_difference, over_classes
from zslplat.comparison.compare import compare
from zslplat.comparison.exports import markdown
from zslplat.comparison.sheets import sheets
from zslplat.data.class_draws import draw_of, scheme_of
from zslplat.evidence.draws import join_draws, shared_draws
from zslplat.evidence.matching import Filters
from zslplat.evidence.scores import Scored
from zslplat.metrics.intervals import interactions
from zslplat.settings import resolve_settings

METRIC, NAMES = "per_class_accuracy", np.array([f"c{i}" for i in range(20)])
FOLDS = [f"redrawn(draw={number}, folds=3, of=birds)" for number in range(1, 7)]


def scored(values, names, draw, kinds=None, metric=METRIC):
    """An entry of one draw by the values of its classes (repeats, C)."""
    values = np.atleast_2d(values)
    kinds = np.zeros(len(names), dtype=int) if kinds is None else kinds
    whole = values[:, kinds == 0].mean(axis=1).tolist()
    return Scored(
        *("method", f"study {draw}", "method", {metric: whole}, {}, {metric: 0.5}),
        rows=f"rows {draw}",
        data="d",
        classes={metric: values},
        kinds=kinds,
        class_names=np.asarray(names),
    )


def folds_of(values, count):
    return {k + 1: scored(values[k::count], NAMES[k::count], k + 1) for k in range(count)}


def test_of_folds_the_score_is_the_mean_over_all_classes_each_once():
    values = np.random.default_rng(0).random(20)
    joined = join_draws(folds_of(values, 3))
    assert joined.values[METRIC] == pytest.approx([values.mean()])  # folds have 7, 7 and 6 classes
    order = [joined.class_names.tolist().index(name) for name in NAMES]
    np.testing.assert_allclose(joined.classes[METRIC][0][order], values)
    once = over_classes(scored(values, NAMES, 1), METRIC)
    together = over_classes(joined, METRIC)
    assert (together.ends, together.classes) == (pytest.approx(once.ends), 20)
    assert joined.names >= {"study 1", "study 2", "study 3"}
    assert len(join_draws({1: scored(values, NAMES, 1)}).draws) == 1


def by_hand(draws, metric):
    """Return {class: x_j} by the formula at the head of zslplat/evidence/draws.py, one class after another."""
    values = {}
    for name in sorted({n for one in draws.values() for n in one.class_names}):
        unseen, seen = [], []
        for one in draws.values():
            m, row, at = one.values[metric][0], one.classes[metric][0], one.class_names.tolist()
            if name in at:
                kind = one.kinds[at.index(name)]
                moved = row[at.index(name)] - row[one.kinds == kind].mean()
                (unseen if kind == 0 else seen).append(m + moved if kind == 0 else moved)
        if unseen:
            values[name] = np.mean(unseen) + (np.mean(seen) if seen else 0.0)
    return values


def test_values_of_overlapping_draws_and_of_two_kinds_are_those_of_the_formula():
    rng = np.random.default_rng(1)
    plain, general = {}, {}
    for k in range(1, 6):
        chosen = rng.permutation(20)[:6]
        plain[k] = scored(rng.random(6), NAMES[chosen], k)
        kinds = (~np.isin(np.arange(20), chosen)).astype(int)
        general[k] = scored(rng.random(20), NAMES, k, kinds, "H")
    for draws, metric in ((plain, METRIC), (general, "H")):
        joined, reference = join_draws(draws), by_hand(draws, metric)
        table = dict(zip(joined.class_names.tolist(), joined.classes[metric][0], strict=True))
        assert {name: v for name, v in table.items() if np.isfinite(v)} == pytest.approx(reference)
        assert joined.values[metric] == pytest.approx([np.mean(list(reference.values()))])


def test_what_classes_take_from_each_other_adds_up_over_draws():
    # Of folds the interactions are those of each fold, with the square of its share of the classes.
    rng = np.random.default_rng(4)
    values, draws, pairwise = rng.random(20), {}, 0.0
    for k, one in folds_of(values, 2).items():
        gain = rng.random((10, 10)) * 0.02
        draws[k] = replace(one, exchanged={METRIC: gain + gain.T})
        pairwise += 0.5**2 * np.sum(interactions(gain + gain.T) ** 2)
    joined = join_draws(draws)
    assert np.sum(interactions(joined.exchanged[METRIC]) ** 2) == pytest.approx(pairwise)
    plain = over_classes(join_draws(folds_of(values, 2)), METRIC)
    assert over_classes(joined, METRIC).error ** 2 == pytest.approx(plain.error**2 - pairwise)


def test_methods_are_paired_on_the_draws_that_both_have():
    rng = np.random.default_rng(2)
    a, b = rng.random(20), rng.random(20)
    ours, theirs = folds_of(a, 4), folds_of(b, 4)
    whole = class_difference(join_draws(ours), join_draws(theirs), METRIC)
    assert (whole.estimate, whole.classes) == (pytest.approx(np.mean(a - b)), 20)
    fewer = {k: one for k, one in theirs.items() if k != 2}
    part = class_difference(join_draws(ours), join_draws(fewer), METRIC)
    kept = np.arange(20) % 4 != 1
    assert (part.estimate, part.classes) == (pytest.approx(np.mean((a - b)[kept])), 15)
    other = {9: theirs[1]}
    assert class_difference(join_draws(ours), join_draws(other), METRIC) is None
    first, second = shared_draws(join_draws(ours), join_draws(fewer))
    assert sorted(first.draws) == sorted(second.draws) == [1, 3, 4]


@pytest.mark.parametrize("folds", [5, None])
def test_intervals_over_draws_cover_new_classes(folds):
    # Classes have effects; 50 of them in 5 folds, or 10 drawn anew ten times. What a training adds is shared by a draw.
    rng = np.random.default_rng(3)
    names, hits = np.array([f"c{i:02}" for i in range(50)]), 0
    for _ in range(400):
        classes = rng.normal(size=50)
        order = rng.permutation(50)
        draws = [order[k::5] for k in range(5)] if folds else [rng.permutation(50)[:10] for _ in range(10)]
        joined = join_draws(
            {
                k: scored(classes[chosen] + 0.1 * rng.normal(size=10), names[chosen], k)
                for k, chosen in enumerate(draws, start=1)
            }
        )
        low, high = over_classes(replace_metric(joined), "value").ends
        hits += low <= 0 <= high
    assert hits / 400 == pytest.approx(0.95, abs=0.03)


def replace_metric(entry):
    """The same values under a name that is no share: they are not between 0 and 1."""
    return Scored(
        *(entry.label, entry.study, entry.method, {"value": entry.values[METRIC]}, {}, {}),
        classes={"value": entry.classes[METRIC]},
        class_names=entry.class_names,
    )


@pytest.fixture
def settings(new_store):
    return resolve_settings({"store": new_store()})


def test_folds_are_one_data_set_with_one_row_per_method(settings):
    made = MadeStore(settings)
    for draw in FOLDS[:3]:
        for method, share in (("eszsl", 0.85), ("sae", 0.6), ("eszsl(alpha=3)", 0.7)):
            if (method, draw) != ("eszsl(alpha=3)", FOLDS[2]):
                made.study(method, share, dataset=draw, rows=draw, classes=draw)
    found = compare(settings, ["birds"], warn=pytest.fail)  # the folds are what is recorded of it
    assert found.datasets == ("redrawn(folds=3, of=birds)",)
    rows = {row["short"]: row for row in found.rows}
    assert {name: (row["draws"], row["classes"]) for name, row in rows.items()} == {
        **{"eszsl": (3, 36), "sae": (3, 36)},
        "eszsl(alpha=3)": (2, 24),
    }
    assert [rows[name]["verdict"] for name in ("sae", "eszsl(alpha=3)")] == ["behind", "behind"]
    assert rows["eszsl(alpha=3)"]["unequal"] == "2 draws, not 3"
    (sheet,) = sheets(found)
    assert "on birds, 3 class folds; differences from eszsl" in sheet.title
    assert "3 class folds" in markdown(found)
    assert len(compare(settings, every=True, warn=pytest.fail).datasets) == 3
    one = compare(settings, [FOLDS[0]], warn=pytest.fail)
    assert one.datasets == (FOLDS[0],)
    # Beside another data set the folds are one; what they divide is left out, or counts once where it is named.
    for method, share in (("eszsl", 0.85), ("sae", 0.6)):
        made.study(method, share, dataset="birds")
        made.study(method, share, dataset="fish", rows="fish")
    several = compare(settings, warn=pytest.fail)
    assert set(several.datasets) == {"redrawn(folds=3, of=birds)", "fish"}
    assert several.over_datasets[0]["sets"] == 2
    assert any(note.startswith("birds: the given split is left out") for note in several.notes)
    made.study("cosine", 0.5, dataset="birds", name="alone")
    (note,) = (one for one in compare(settings, warn=pytest.fail).notes if one.startswith("birds: "))
    assert note.endswith("-d birds shows it, with what has no class folds: cosine")
    (row,) = compare(settings, filters=Filters(studies=("alone",)), warn=pytest.fail).rows
    assert (row["short"], row["dataset"]) == ("cosine", "birds")
    named = compare(settings, ["birds", "fish", *FOLDS[:3]], filters=Filters(names=("eszsl", "sae")), warn=pytest.fail)
    assert set(named.datasets) == {"redrawn(folds=3, of=birds)", "birds", "fish"}
    pooled = {row["method"]: row["difference"] for row in named.over_datasets[0]["methods"]}
    assert pooled == {row["method"]: row["difference"] for row in several.over_datasets[0]["methods"]}


def test_a_draw_is_known_by_what_it_draws_from():
    assert draw_of('redrawn(draw=1, of="x(signatures=s)")') == "x(signatures=s)"
    assert draw_of("redrawn(draw=2)") == "digit-pairs"
    assert draw_of("x") is draw_of("no (spec") is scheme_of("x") is None
    assert scheme_of("redrawn(of=x, draw=7, folds=3)") == ("redrawn(folds=3, of=x)", 7)
    assert scheme_of("redrawn(of=x, draw=7)") == ("redrawn(of=x)", 7)
