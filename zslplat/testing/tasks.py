"""What every task promises: validation apart from the test, honest chance, metrics that depend on no order.

Checks run on small data sets of the usual forms (:mod:`zslplat.testing.problems`), with methods of the kit. Tasks
that take rows with several labels promise for these what they promise for rows with one class.
"""

from __future__ import annotations

import copy
import inspect
import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.errors import DataError, MethodError, OutcomeWarning, UsageError
from zslplat.registry import registered_name
from zslplat.space import Parameter
from zslplat.spec import Spec
from zslplat.tasks.base import Arrays, Metric, Outcome, Problem, Task
from zslplat.testing.kits import kit_for_task, player
from zslplat.testing.problems import data_for, label_sets, more_noise, noise, reordered
from zslplat.testing.running import (
    Check,
    Skipped,
    assert_raises,
    assert_refused,
    check_constructor,
    class_is_importable,
)
from zslplat.testing.truth_seekers import UNDER_ATTACK, assert_nothing_leaks, attack_outcomes, telling_nothing

GUESSES = 30
FEW = {"folds": 2, "last": 10, "repeats": 3, "validation_repeats": 3}


def declarations_are_complete(task: Task) -> None:
    """Name, summary, kind, primary metric and every option are declared; options have legal defaults."""
    cls = type(task)
    for name in ("name", "kind"):
        value = getattr(cls, name, None)
        assert isinstance(value, str), f"{cls.__name__} declares no {name}; set the class attribute {name} to a text"
        assert value.strip(), f"{name} is empty"
    primary = getattr(cls, "primary", None)
    assert isinstance(primary, Metric), (
        f"{cls.__name__} declares no primary metric; set the class attribute primary = Metric(name)"
    )
    assert (inspect.getdoc(cls) or "").strip(), f"{cls.__name__} has no docstring"
    assert cls.summary.strip(), f"{cls.__name__} has no summary, which lists show beside its name"
    assert isinstance(cls.parameters, Mapping), "parameters is no mapping of names to Parameter"
    strange = [name for name, p in cls.parameters.items() if not isinstance(p, Parameter)]
    assert not strange, f"{', '.join(strange)} among the parameters is no Parameter"
    check_constructor(cls, cls.parameters)
    assert cls.preprocessed.get("features"), "preprocessed names no arrays for the role features"


def options_that_are_not_legal_are_refused(task: Task) -> None:
    """A value outside the legal domain of an option raises UsageError."""
    assert_refused(type(task), type(task).parameters)


def validation_is_built_from_training_rows_only(task: Task) -> None:
    """Other features and labels of the test rows leave every array of the validation problems as it is."""
    dataset = data_for(task)
    tested = [index for name, index in dataset.splits.items() if name not in ("train", "validation")]
    if not tested:
        raise Skipped("the data set that the task takes has no test rows of its own")
    rng = np.random.default_rng(34)
    X, y = dataset.X.copy(), dataset.y.copy()
    for index in tested:
        X[index] = 100 + 10 * rng.normal(size=X[index].shape)
        y[index] = np.roll(y[index], 1) if y.ndim > 1 else rng.permutation(y[index])
    _assert_same_problems(
        _validation(task, replace(dataset, X=X, y=y, known_fingerprint="")),
        _validation(task, dataset),
        "with other test rows and labels",
    )


def test_problem_holds_all_rows(task: Task) -> None:
    """The test problem is fitted on all ``train`` rows of validation, and scores all rows of the splits it takes."""
    dataset, problem = _data_and_test(task)
    trained, scored = _rows(task, dataset, problem)
    used: set[int] = set()
    for fold in _validation(task, dataset):
        used |= set().union(*_rows(task, dataset, fold))
    missing = sorted(used - trained - set(dataset.splits.get("validation", np.empty(0, dtype=int)).tolist()))
    assert not missing, f"{len(missing)} rows of validation are not trained on for the test, first row {missing[0]}"
    whole = []
    for name in (name for name in dataset.splits if name not in ("train", "validation")):
        rows = set(dataset.rows(name).tolist())
        assert not rows & trained, f"{len(rows & trained)} rows of {name!r} are trained on"
        assert not rows & scored or rows <= scored, f"only {len(rows & scored)} of {len(rows)} rows of {name!r} scored"
        whole += [name] if rows <= scored else []
    assert whole or not dataset.splits, "the test problem scores no split of the data set"


def rows_that_are_scored_are_not_trained_on(task: Task) -> None:
    """No problem scores a row that it trains on."""
    dataset, test = _data_and_test(task)
    for problem in [*_validation(task, dataset), test]:
        trained, scored = _rows(task, dataset, problem)
        both = sorted(trained & scored)
        assert not both, f"{problem.name}: row {both[0]} is trained on and scored"


def folds_hold_out_whole_classes(task: Task) -> None:
    """Where methods are judged on new classes, the scored rows of every fold come from at least two of them."""
    if not kit_for_task(task).new_classes:
        return
    dataset = data_for(task)
    for problem in _validation(task, dataset):
        trained, scored = (dataset.y[sorted(rows)] for rows in _rows(task, dataset, problem))
        new = np.setdiff1d(scored, trained)
        assert len(new) >= 2, f"{problem.name}: {len(new)} of the scored classes have no training row; expected two"
        # A task that scores seen classes, too, says which of its candidates they are.
        generalised = np.any(problem.inputs.get("seen", False))
        both = np.intersect1d(scored, trained)
        assert generalised or not len(both), (
            f"{problem.name}: class {dataset.class_names[both[0]]!r} is trained on and scored; hold out whole classes"
            if len(both)
            else ""
        )


def problems_hold_copies(task: Task) -> None:
    """No array of a problem shares its memory with the data set, which holds what is to be scored."""
    dataset, test = _data_and_test(task)
    for problem in [*_validation(task, dataset), test]:
        for name, array in {**problem.inputs, **problem.truth}.items():
            for what, array_of_data in (("X", dataset.X), ("y", dataset.y)):
                assert not np.may_share_memory(array, array_of_data), (
                    f"{problem.name}: {name} is a view of the data set's {what}; copy the rows out"
                )


def same_seed_gives_the_same_problems(task: Task) -> None:
    """Problems follow from data and seed alone."""
    dataset = data_for(task)
    first, second = ([*_validation(task, dataset), _test(task, dataset)] for _ in range(2))
    _assert_same_problems(second, first, "the second time")


def missing_data_is_refused(task: Task) -> None:
    """Without a split, without signatures, with one class or several labels per row: DataError, or it works."""
    dataset = data_for(task)
    labels = np.zeros((len(dataset.y), len(dataset.class_names)), dtype=np.int64)
    labels[np.arange(len(labels)), dataset.y] = 1
    cases: dict[str, dict[str, Any]] = {
        "without splits": {"splits": {}},
        "without signatures": {"signatures": {}, "default_signatures": ""},
        "with several labels per row": {"y": labels},
    }
    for split in dataset.splits:
        cases[f"without the split {split}"] = {"splits": {n: i for n, i in dataset.splits.items() if n != split}}
    if "train" in dataset.splits:
        rows = dataset.rows("train")
        one = {**dataset.splits, "train": rows[dataset.y[rows] == dataset.y[rows[0]]]}
        cases["with one class to train on"] = {"splits": one}
    for what, changes in cases.items():
        for build in (_validation, _test):
            try:
                build(task, replace(dataset, known_fingerprint="", **changes))
            except (DataError, UsageError):
                continue
            except Exception as error:
                raise AssertionError(
                    f"data {what} gives {type(error).__name__} ({error}) in {build.__name__.strip('_')}; "
                    "expected DataError"
                ) from error


def scoring_gives_the_primary_metric(task: Task) -> None:
    """score returns finite numbers, the primary metric among them; full adds tables and changes no number."""
    dataset, test = _data_and_test(task)
    folds = _validation(task, dataset)
    validation_choices = task.validation_choices([_outcome(task, fold, player(task, "works"), {}) for fold in folds])
    outputs = _outputs(task, test, player(task, "works"))
    plain, full = (_scored(task, test, outputs, validation_choices, full=full) for full in (False, True))
    name, declared = task.primary.name, task.metric_names()
    assert name in plain.metrics, f"the primary metric {name!r} is not among the metrics: {', '.join(plain.metrics)}"
    assert not declared or set(plain.metrics) <= set(declared), (
        f"metric_names() lacks {sorted(set(plain.metrics) - set(declared))}"
    )
    for metric, value in plain.metrics.items():
        number = isinstance(value, int | float | np.number) and math.isfinite(value)
        assert number, f"{metric} is {value!r}; expected a finite number"
    assert {n: full.metrics.get(n) for n in plain.metrics} == plain.metrics, "full=True gives other numbers"


def a_method_that_works_beats_chance(task: Task) -> None:
    """On easy data a sensible method does better than chance, in validation and in the test."""
    dataset, test = _data_and_test(task)
    for problem in [*_validation(task, dataset), test]:
        value = _outcome(task, problem, player(task, "works"), {}).metrics[task.primary.name]
        chance = task.chance(problem)
        better = value > chance if task.primary.maximise else value < chance
        assert better, f"{problem.name}: {task.primary.name} {value:.3f} of a method that works; chance is {chance:.3f}"


def chance_is_what_guesses_reach(task: Task) -> None:
    """The mean of random outputs, on features that tell nothing, is the value that chance() returns."""
    dataset = noise(data_for(task))
    problem = _test(task, dataset)
    spread = kit_for_task(task).spread
    count = 5 if spread else GUESSES
    values = [
        _outcome(task, problem, player(task, "guesses", seed), {}).metrics[task.primary.name] for seed in range(count)
    ]
    reached, chance = float(np.mean(values)), task.chance(problem)
    # Four standard errors of the mean; guesses that are clustered or ranked are not quite those of the formula.
    allowed = 4 * float(np.std(values, ddof=1)) / math.sqrt(count) + (spread or 0.02) * abs(reached)
    assert abs(reached - chance) <= allowed, (
        f"guesses reach {reached:.4f} (+- {allowed:.4f}), chance() says {chance:.4f}"
    )


def metrics_do_not_depend_on_any_order(task: Task) -> None:
    """The same data with rows and classes in another order give the same metrics."""
    dataset, test = _data_and_test(task)
    direct = _outcome(task, test, player(task, "works"), {}).metrics
    actual = _outcome(task, _test(task, reordered(dataset)), player(task, "works"), {}).metrics
    allowed = kit_for_task(task).spread or 1e-9
    for name, value in direct.items():
        assert abs(actual[name] - value) <= allowed, (
            f"{name} is {value:.6f}, and {actual[name]:.6f} for the same data with rows and classes in another order"
        )


def drawing_every_unit_once_changes_nothing(task: Task) -> None:
    """The bootstrap metrics of a draw that has every unit once are the metrics themselves."""
    _, problem = _data_and_test(task)
    outputs = _outputs(task, problem, player(task, "works"))
    outcomes = task.outcomes(problem, outputs, {})
    units = None if outcomes is None else task.units(outcomes)
    if outcomes is None or units is None:
        return
    ids, strata = units
    assert len(ids) == len(strata), f"{len(ids)} units in {len(strata)} strata"
    metrics = _scored(task, problem, outputs, {}, full=False).metrics
    for name, values in task.resampled(outcomes, np.ones((1, len(ids)), dtype=np.int64)).items():
        assert np.shape(values) == (1,), f"{name} of one draw has shape {np.shape(values)}"
        assert name in metrics, f"{name} is resampled but is no metric"
        assert abs(values[0] - metrics[name]) <= 1e-9, f"{name} is {metrics[name]:.6f}; resampled it is {values[0]:.6f}"


def unusable_outputs_are_refused(task: Task) -> None:
    """A method that returns NaN, or scores of another shape, gives MethodError and no value."""
    problem = _test(task, data_for(task))
    for play in ("nan",) if kit_for_task(task).spread else ("nan", "wrong-shape"):
        assert_raises(
            MethodError, partial(_outcome, task, problem, player(task, play), {}), f"{play} among the outputs"
        )


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutcomeWarning)
        yield


def _validation(task: Task, dataset: Dataset) -> list[Problem]:
    with _quiet():
        problems = task.validation(dataset)
    assert problems, "validation returns no problem"
    return problems


def _test(task: Task, dataset: Dataset) -> Problem:
    with _quiet():
        return task.test(dataset)


def _data_and_test(task: Task) -> tuple[Dataset, Problem]:
    dataset = data_for(task)
    return dataset, _test(task, dataset)


def _outputs(task: Task, problem: Problem, method: Any) -> Arrays:
    with _quiet():
        steps_and_outputs = list(task.run(method, problem, {}))
    assert steps_and_outputs, "run yields nothing"
    steps = [step for step, _ in steps_and_outputs]
    assert steps == list(range(1, len(steps) + 1)), f"run yields the steps {steps[:4]}, expected 1, 2, ..."
    return steps_and_outputs[-1][1]


def _scored(
    task: Task, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool
) -> Outcome:
    with _quiet():
        return task.score(problem, outputs, validation_choices, full=full)


def _outcome(task: Task, problem: Problem, method: Any, validation_choices: Mapping[str, Any]) -> Outcome:
    return _scored(task, problem, _outputs(task, problem, method), validation_choices, full=False)


def _rows(task: Task, dataset: Dataset, problem: Problem) -> tuple[set[int], set[int]]:
    """Return the rows of the data set that are trained on, and the others that the method is given."""
    place = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(dataset.X))}
    first = {group[0] for group in task.preprocessing_groups("features")}
    trained: set[int] = set()
    others: set[int] = set()
    for name, array in problem.inputs.items():
        if array.ndim != dataset.X.ndim or array.shape[1:] != dataset.X.shape[1:]:
            continue
        places = [place.get(row.tobytes()) for row in np.ascontiguousarray(array.astype(dataset.X.dtype))]
        (trained if name in first else others).update(row for row in places if row is not None)
    if not trained or not others:
        raise Skipped(f"{problem.name}: rows of the data set are not recognised among the inputs")
    return trained, others


def _assert_same_problems(actual: list[Problem], expected: list[Problem], when: str) -> None:
    assert [p.name for p in actual] == [p.name for p in expected], f"other problems {when}"
    for one, other in zip(actual, expected, strict=True):
        for what in ("inputs", "truth"):
            arrays, others = getattr(one, what), getattr(other, what)
            assert set(arrays) == set(others), f"{one.name}: other {what} {when}"
            for name, array in arrays.items():
                same = np.array_equal(array, others[name], equal_nan=array.dtype.kind == "f")
                assert same, f"{one.name}: {name} ({what}) is another {when}"
        assert dict(one.meta) == dict(other.meta), f"{one.name}: other meta {when}"


def truth_is_out_of_reach(task: Task) -> None:
    """Methods that go through their memory, or their callers' frames, are at chance: they find no scored label."""
    if kit_for_task(task).attack is None:
        raise Skipped(f"there is no attack for methods of kind {task.kind!r}")
    spec, unregistered = _attacked(task)
    without_information = telling_nothing(zero_shot=kit_for_task(task).signatures)
    outcomes, refusals = [], []
    for dataset in (without_information, more_noise(data_for(task))):
        try:
            outcomes = attack_outcomes(spec, dataset, unregistered=unregistered)
            break
        except DataError as error:
            refusals.append(str(error))
    if not outcomes:
        raise Skipped(f"takes no data whose features say nothing: {'; '.join(refusals)}")
    assert_nothing_leaks(task, outcomes)


def _attacked(task: Task) -> tuple[str, type[Task] | None]:
    """Return the spec of a task with few folds and clusterings, and its class where no plugin registers it."""
    name = registered_name(type(task), "tasks")
    few = {option: value for option, value in FEW.items() if option in type(task).parameters}
    return str(Spec(name or UNDER_ATTACK, few)), None if name else type(task)


ON_DATA: tuple[Check, ...] = (
    validation_is_built_from_training_rows_only,
    test_problem_holds_all_rows,
    rows_that_are_scored_are_not_trained_on,
    folds_hold_out_whole_classes,
    problems_hold_copies,
    same_seed_gives_the_same_problems,
    missing_data_is_refused,
    scoring_gives_the_primary_metric,
    a_method_that_works_beats_chance,
    chance_is_what_guesses_reach,
    metrics_do_not_depend_on_any_order,
    drawing_every_unit_once_changes_nothing,
    unusable_outputs_are_refused,
)
TASK_CHECKS: tuple[Check, ...] = (
    declarations_are_complete,
    options_that_are_not_legal_are_refused,
    class_is_importable,
    *ON_DATA,
    truth_is_out_of_reach,
)


def values_per_class_are_those_of_the_metrics(task: Task) -> None:
    """Values per class have one entry per class, NaN for no say, and lie around the metric that they are of."""
    _, problem = _data_and_test(task)
    outputs = _outputs(task, problem, player(task, "works"))
    with _quiet():
        outcomes = task.outcomes(problem, outputs, {})
        by_class = None if outcomes is None else task.class_values(outcomes)
    if by_class is None:
        return
    metrics = _scored(task, problem, outputs, {}, full=False).metrics
    for name, values in by_class.values.items():
        assert name in metrics, f"{name} has values per class but is no metric"
        assert values.shape == by_class.kinds.shape, (
            f"{name} has {values.shape} values for {by_class.kinds.shape} classes"
        )
        for kind in np.unique(by_class.kinds):
            finite = values[(by_class.kinds == kind) & np.isfinite(values)]
            # Pseudo-values of a metric that is no mean are off by its bias, which is well inside their spread.
            allowed = 3 * float(finite.std()) / np.sqrt(len(finite)) + 1e-9 if len(finite) else 0.0
            assert not len(finite) or abs(finite.mean() - metrics[name]) <= allowed, (
                f"{name} is {metrics[name]:.6f}; its values per class lie around {finite.mean():.6f}"
            )


def rows_with_several_labels_are_judged_alike(task: Task) -> None:
    """Where a task takes several labels per row, its other promises hold for these, attacks on the truth included."""
    dataset = label_sets()
    try:
        problem = task.test(dataset)
    except (DataError, UsageError):
        return  # it takes one class per row
    form = copy.copy(task.suited(problem))
    form.example_dataset = lambda: dataset  # type: ignore[attr-defined]
    for check in [c for c in ON_DATA if c not in (folds_hold_out_whole_classes, missing_data_is_refused)]:
        try:
            check(form)
        except AssertionError as error:
            raise AssertionError(f"with several labels per row, {check.__name__}: {error}") from error
    spec, unregistered = _attacked(task)
    if unregistered or kit_for_task(task).attack is None:
        return
    outcomes = attack_outcomes(spec, more_noise(dataset, 8))
    assert_nothing_leaks(form, outcomes, "with several labels per row: ")
