"""Drawn validation folds: how many classes they hold out, how often, what they depend on, what is said of them."""

from dataclasses import replace

import numpy as np
import pytest
from zero_shot_toys import outcome, toy, with_changed_test_data

from zslplat.data.dataset import ClassFold
from zslplat.data.sets.digit_pairs import digit_pairs
from zslplat.errors import OutcomeWarning, UsageError
from zslplat.evaluation.context import preprocess
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.methods.eszsl import ESZSL
from zslplat.families.zero_shot.unseen import Retrieval, ZeroShot
from zslplat.tasks.splits import class_folds, draw_folds


@pytest.mark.parametrize(("classes", "size"), [(15, 3), (40, 8), (16, 4), (80, 16), (5, 2)])
def test_drawn_folds_hold_out_a_fifth_of_the_classes_disjoint_while_possible(classes, size):
    data = toy(c_seen=classes, rows=3, test_seen=False)
    rows = data.splits["train"]
    folds = class_folds(data, rows, None, 0.2, seed=0)
    assert [len(f.validation) for f in folds] == [size] * 3
    for fold in folds:
        assert not set(fold.train) & set(fold.validation)
        assert len(fold.train) + len(fold.validation) == classes
    held = [i for fold in folds for i in fold.validation]
    assert len(set(held)) == min(len(held), classes)
    assert any(class_folds(data, rows, None, 0.2, seed=s) != folds for s in (1, 2, 3))


# As many classes are held out as are tested, at most two fifths of the seen ones; thirty in all, in 3 to 10 folds.
SIZES = [(9, 4, 4, 8), (40, 10, 10, 3), (80, 5, 5, 6), (100, 20, 20, 3), (9, 10, 4, 8), (16, 10, 6, 5), (7, 3, 3, 10)]


@pytest.mark.parametrize(("seen", "tested", "size", "count"), SIZES)
@pytest.mark.parametrize("task", [ZeroShot, GeneralizedZeroShot, Retrieval])
def test_drawn_folds_hold_out_as_many_classes_as_are_tested_and_repeat_until_steady(seen, tested, size, count, task):
    data = toy(c_seen=seen, c_unseen=tested, rows=10)
    problems = task().validation(data)
    assert [np.count_nonzero(~p.inputs["seen"]) for p in problems] == [size] * count
    held = [
        name for p in problems for name, known in zip(p.meta["classes"], p.inputs["seen"], strict=True) if not known
    ]
    times = [held.count(name) for name in set(held)]
    assert len(times) == min(seen, size * count)
    assert max(times) - (0 if len(times) < seen else min(times)) <= 1


@pytest.mark.parametrize("share", [None, 0.2, 0.35])
def test_drawn_folds_depend_on_seed_seen_classes_and_options_only(share):
    data = toy()
    rows, changed = data.splits["train"], with_changed_test_data(data)
    some = rows[::2]
    assert np.array_equal(np.unique(data.y[some]), np.unique(data.y[rows]))
    first = class_folds(data, rows, None, share, 3, tested=5)
    assert first == class_folds(replace(changed, X=np.zeros_like(data.X)), some, None, share, 3, tested=5)
    assert first != class_folds(data, rows, None, share, 4, tested=5)


@pytest.mark.parametrize(("seen", "size", "count"), [(6, 2, 10), (6, 2, 14), (10, 4, 10), (8, 5, 40), (9, 3, 83)])
def test_no_two_drawn_folds_are_the_same_and_all_classes_are_held_out_about_as_often(seen, size, count):
    for seed in range(10):
        folds = draw_folds(np.arange(seen) * 3, size, count, seed)
        assert len({fold.validation for fold in folds}) == len(folds) == count
        often = np.unique(np.concatenate([fold.validation for fold in folds]), return_counts=True)[1]
        assert np.ptp(often) <= 1 + (count > 2 * seen)
    assert len(draw_folds(np.arange(3), 2, 5, 0)) == 3


def test_few_classes_have_every_fold_once_and_no_more():
    data = toy(c_seen=4, c_unseen=2)
    with pytest.warns(OutcomeWarning, match="more seen classes"):
        folds = class_folds(data, data.splits["train"], None, None, seed=0, tested=2)
    assert len({fold.validation for fold in folds}) == len(folds) == 6
    with pytest.raises(UsageError, match="2 of the 4 seen classes of toy can be held out in 6 ways; ask for fewer"):
        ZeroShot(folds=7).validation(data)


@pytest.mark.parametrize(
    ("seen", "tested", "options", "message"),
    [
        (9, 10, {}, "validation tells 4 classes apart and the test 10 .to hold out more of 9 seen classes would leave"),
        (12, 5, {"validation_classes": 0.2}, r"3 classes apart and the test 5 .validation_classes=0\.2 of 12 seen"),
        (12, 2, {}, r"mean over 10 drawn folds of 2 classes and depends on the draw; folds=15 makes it steadier"),
    ],
)
def test_it_is_said_where_drawn_folds_are_unlike_the_test(seen, tested, options, message):
    with pytest.warns(OutcomeWarning, match=message) as caught:
        ZeroShot(**options).validation(toy(c_seen=seen, c_unseen=tested))
    assert len(caught) == 1


@pytest.mark.parametrize("own", [False, True])
def test_nothing_is_said_of_folds_like_the_test_or_of_the_data_sets_own(own, recwarn):
    data = toy(c_seen=12, c_unseen=5)
    if own:
        seen = np.unique(data.y[data.splits["train"]]).tolist()
        data = replace(data, folds=(ClassFold("a", tuple(seen[2:]), tuple(seen[:2])),))
    assert len(ZeroShot().validation(data)) == (1 if own else 6)
    assert not [w for w in recwarn if issubclass(w.category, OutcomeWarning)]


def test_validation_on_drawn_folds_is_near_the_test_where_a_fifth_of_few_classes_is_far_above():
    pairs, errors = digit_pairs(), {None: [], 0.2: []}
    for draw in range(8):
        classes = np.random.default_rng(draw).permutation(100)
        splits = {"train": np.isin(pairs.y, classes[:9]), "test_unseen": np.isin(pairs.y, classes[9:13])}
        data = replace(
            pairs, splits={name: np.flatnonzero(rows) for name, rows in splits.items()}, folds=(), groups=None
        )
        for share, found in errors.items():
            task = ZeroShot(validation_classes=share)
            *validation, test = [
                outcome(task, ESZSL(), preprocess(p, task, ESZSL.preprocessing), full=False).metrics[
                    "per_class_accuracy"
                ]
                for p in [*task.validation(data, seed=draw), task.test(data)]
            ]
            found.append(np.mean(validation) - test)
    assert abs(np.mean(errors[None])) < 0.1
    assert np.mean(errors[0.2]) > 0.15
    assert np.mean(np.square(errors[None])) < 0.6 * np.mean(np.square(errors[0.2]))
