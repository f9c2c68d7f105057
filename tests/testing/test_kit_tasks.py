"""Every check of tasks catches a task that breaks its promise."""

from dataclasses import replace

import numpy as np
import pytest

from zslplat.data.dataset import Dataset
from zslplat.errors import DataError
from zslplat.families.coding.task import Coding
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.registry import component, names, registry
from zslplat.space import Integer, Parameter
from zslplat.tasks.base import Metric, Outcome, Task
from zslplat.testing import checks_for, parametrize_with_checks, run_checks
from zslplat.testing.problems import data_sets
from zslplat.testing.running import PASSED, SKIPPED
from zslplat.testing.tasks import (
    TASK_CHECKS,
    rows_with_several_labels_are_judged_alike,
    values_per_class_are_those_of_the_metrics,
)

KEPT = data_sets()[0].rows("test_seen")


class Nameless(Task):
    """A task without name and primary metric, all else in place."""

    kind = "zero-shot"

    def validation(self, dataset, *, seed=0):
        return ZeroShot().validation(dataset, seed=seed)

    def test(self, dataset, *, seed=0):
        return ZeroShot().test(dataset, seed=seed)

    def run(self, method, problem, statistics):
        return ZeroShot().run(method, problem, statistics)

    def score(self, problem, outputs, validation_choices, *, full):
        return ZeroShot().score(problem, outputs, validation_choices, full=full)

    def chance(self, problem):
        return ZeroShot().chance(problem)


class Unmeasured(Nameless):
    name = "unmeasured"


class TakesAnything(Task):
    """Options are taken as they come."""

    parameters = {"top_k": Parameter("best classes", Integer(1))}

    def __init__(self, top_k=5):
        self.top_k = top_k

    validation = test = run = score = chance = None
    __abstractmethods__ = frozenset()


def local_task():
    class Local(ZeroShot):
        """Defined in a function."""

    return Local()


class StandardisesByAllRows(ZeroShot):
    """Features are centred by the mean of all rows, those of the test included."""

    def validation(self, dataset, *, seed=0):
        return super().validation(replace(dataset, X=dataset.X - dataset.X.mean(axis=0)), seed=seed)


class NamesOneMetric(ZeroShot):
    """Gives metrics that it does not name."""

    def metric_names(self):
        return ("per_class_accuracy",)


class ForgetsRows(ZeroShot):
    """The test is fitted on a part of the training rows."""

    def test(self, dataset, *, seed=0):
        splits = {**dataset.splits, "train": np.sort(dataset.rows("train"))[::2]}
        return super().test(replace(dataset, splits=splits), seed=seed)


class ScoresAPart(ZeroShot):
    """The test scores a part of its rows."""

    def test(self, dataset, *, seed=0):
        splits = {**dataset.splits, "test_unseen": np.sort(dataset.rows("test_unseen"))[::2]}
        return super().test(replace(dataset, splits=splits), seed=seed)


def with_rows(problem, **arrays):
    return replace(problem, inputs={**problem.inputs, **arrays})


class TrainsOnScoredRows(Coding):
    """One scored row is trained on."""

    def validation(self, dataset, *, seed=0):
        return [
            with_rows(p, X=np.vstack([p.inputs["X"], p.inputs["X_pool"][:1]]), y=np.append(p.inputs["y"], 0))
            for p in super().validation(dataset, seed=seed)
        ]


class FoldsBySample(Nameless):
    """Folds of rows, not of classes."""

    def validation(self, dataset, *, seed=0):
        problems = Coding().validation(replace(dataset, splits={"train": dataset.rows("train"), "test": KEPT}), seed=0)
        return [with_rows(p, seen=np.zeros(len(np.unique(p.inputs["y"])), dtype=bool)) for p in problems]


class GivesViews(Coding):
    """The whole data set hangs on the arrays of its problems."""

    def test(self, dataset, *, seed=0):
        problem = super().test(dataset, seed=seed)
        return with_rows(problem, around=dataset.X[:5])


class DrawsAnew(ZeroShot):
    """Rows come in another order every time."""

    def test(self, dataset, *, seed=0):
        return super().test(dataset, seed=int(np.random.default_rng().integers(1 << 30)))


class KeyErrors(ZeroShot):
    """A missing split is an error of the interpreter."""

    def test(self, dataset, *, seed=0):
        dataset.splits["test_unseen"]
        return super().test(dataset, seed=seed)


class ReportsAnother(ZeroShot):
    """Reports what nobody asked for."""

    primary = Metric("fame")


class MoreWhenFull(ZeroShot):
    """Two numbers for one outcome."""

    def score(self, problem, outputs, validation_choices, *, full):
        outcome = super().score(problem, outputs, validation_choices, full=full)
        return Outcome({n: v + full for n, v in outcome.metrics.items()})


class MixesUpTheRows(ZeroShot):
    """Scores are compared with the labels of other rows."""

    def score(self, problem, outputs, validation_choices, *, full):
        truth = {**problem.truth, "y_pool": np.sort(problem.truth["y_pool"])}
        return super().score(replace(problem, truth=truth), outputs, validation_choices, full=full)


class WishfulChance(ZeroShot):
    """Half of what guesses reach."""

    def chance(self, problem):
        return super().chance(problem) / 2


class FirstRowsOnly(ZeroShot):
    """Only the first rows of the batch count."""

    def score(self, problem, outputs, validation_choices, *, full):
        truth = {name: values[:7] for name, values in problem.truth.items()}
        few = {name: values[:7] for name, values in outputs.items()}
        scores, y = few["U->U"], truth["y_pool"]
        return Outcome({"per_class_accuracy": float(scores[np.arange(7), y].mean())})


class ResamplesSomethingElse(ZeroShot):
    """Intervals around another number."""

    def resampled(self, outcomes, counts):
        found = super().resampled(outcomes, counts)
        return {name: values * 0.9 for name, values in found.items()}


class TakesWhatComes(ZeroShot):
    """NaN and missing rows are made good."""

    def run(self, method, problem, statistics):
        inputs = problem.inputs
        method.fit(inputs["X"], inputs["y"], inputs["S"])
        scores = np.nan_to_num(method.decision_function(inputs["X_pool"], inputs["S_pool"]))
        yield 1, {"U->U": np.resize(scores, (len(inputs["X_pool"]), len(inputs["seen"])))}


class RowsByClass(ZeroShot):
    """The rows that are scored come class by class."""

    def validation(self, dataset, *, seed=0):
        return [self._sorted(problem) for problem in super().validation(dataset, seed=seed)]

    def test(self, dataset, *, seed=0):
        return self._sorted(super().test(dataset, seed=seed))

    def _sorted(self, problem):
        order = np.argsort(problem.truth["y_pool"], kind="stable")
        inputs = {**problem.inputs, "X_pool": problem.inputs["X_pool"][order]}
        truth = {name: values[order] if name.endswith("_pool") else values for name, values in problem.truth.items()}
        return replace(problem, inputs=inputs, truth=truth)


class Elsewhere(ZeroShot):
    """Takes only data of its own making."""

    def test(self, dataset, *, seed=0):
        if not dataset.name.startswith("own"):
            raise DataError(f"{dataset.name} is not mine")
        return super().test(dataset, seed=seed)


class WithExample(Elsewhere):
    """The same, with an example of the data that it takes."""

    def example_dataset(self) -> Dataset:
        return replace(data_sets()[1], name="own")


BROKEN = {
    "declarations_are_complete": (Nameless, "declares no name"),
    "options_that_are_not_legal_are_refused": (TakesAnything, "'top_k': 'text'} is accepted"),
    "class_is_importable": (local_task, "cannot be imported"),
    "validation_is_built_from_training_rows_only": (StandardisesByAllRows, "X .inputs. is another"),
    "test_problem_holds_all_rows": (ForgetsRows, "are not trained on for the test"),
    "rows_that_are_scored_are_not_trained_on": (TrainsOnScoredRows, "is trained on and scored"),
    "folds_hold_out_whole_classes": (FoldsBySample, "0 of the scored classes have no training row"),
    "problems_hold_copies": (GivesViews, "around is a view of the data set's X"),
    "same_seed_gives_the_same_problems": (DrawsAnew, "is another the second time"),
    "missing_data_is_refused": (KeyErrors, r"without splits gives KeyError"),
    "scoring_gives_the_primary_metric": (ReportsAnother, "'fame' is not among the metrics"),
    "a_method_that_works_beats_chance": (MixesUpTheRows, "of a method that works"),
    "chance_is_what_guesses_reach": (WishfulChance, "chance.. says 0.125"),
    "metrics_do_not_depend_on_any_order": (FirstRowsOnly, "in another order"),
    "drawing_every_unit_once_changes_nothing": (ResamplesSomethingElse, "resampled it is"),
    "unusable_outputs_are_refused": (TakesWhatComes, "is accepted"),
    "truth_is_out_of_reach": (RowsByClass, "an array that tells of the truth"),
}
FURTHER = [
    ("declarations_are_complete", Unmeasured, "declares no primary metric"),
    ("test_problem_holds_all_rows", ScoresAPart, "only 24 of 48 rows of 'test_unseen' scored"),
    ("scoring_gives_the_primary_metric", MoreWhenFull, "full=True gives other numbers"),
    ("scoring_gives_the_primary_metric", NamesOneMetric, r"metric_names\(\) lacks \['per_sample_accuracy'"),
]
ALL = {check.__name__: check for check in TASK_CHECKS}


# Those of zslplat-papers average splits that share rows, as its page says: what one tests another is trained on.
BUILT_IN = [name for name in names("tasks") if registry().entry("tasks", name).plugin.distribution == "zslplat"]


@parametrize_with_checks([component("tasks", name)() for name in BUILT_IN])
def test_tasks_keep_their_promises(component, check):
    check(component)


def test_every_check_has_a_task_that_breaks_it():
    assert set(BROKEN) == set(ALL)


@pytest.mark.parametrize(("name", "broken", "message"), [(n, *b) for n, b in BROKEN.items()] + FURTHER)
def test_check_catches_the_task_that_breaks_it(name, broken, message):
    with pytest.raises(AssertionError, match=message):
        ALL[name](broken())


def test_every_built_in_task_has_every_check():
    for name in BUILT_IN:
        assert set(TASK_CHECKS) <= set(checks_for(component("tasks", name)()))


@pytest.mark.long
def test_a_task_of_other_data_offers_an_example():
    results = {r.check: r for r in run_checks(Elsewhere())}
    assert "example_dataset" in results["problems_hold_copies"].message
    assert [(r.check, r.message) for r in run_checks(WithExample()) if r.state != PASSED] == []


@pytest.mark.long
def test_tasks_that_no_plugin_registers_are_attacked_one_after_another():
    with pytest.raises(AssertionError, match="an array that tells of the truth"):
        ALL["truth_is_out_of_reach"](RowsByClass())
    ALL["truth_is_out_of_reach"](WithExample())


class OfAnotherKind(ZeroShot):
    """Runs methods of a kind that the kit does not know."""

    kind = "juggling"


def test_checks_that_run_methods_are_skipped_for_a_kind_that_the_kit_does_not_know():
    states = {r.check: r.state for r in run_checks(OfAnotherKind())}
    assert states["chance_is_what_guesses_reach"] == SKIPPED
    assert states["declarations_are_complete"] == PASSED


class ForgetsWhatIsNotCounted(Coding):
    """Takes entries that are not counted for absent ones, in scoring alone."""

    def chance(self, problem):
        if "labels" not in problem.meta:
            return super().chance(problem)
        truth = {name: np.maximum(a, 0) if name.startswith("y_") else a for name, a in problem.truth.items()}
        return super().chance(replace(problem, truth=truth)) / 2


class ScoresWhatItTrainsOn(Coding):
    """Rows with several labels are scored where they were learned from."""

    def test(self, dataset, *, seed=0):
        problem = super().test(dataset, seed=seed)
        if dataset.y.ndim == 2:
            problem = replace(problem, inputs={**problem.inputs, "X_pool": problem.inputs["X"]})
        return problem


class SharesOfClasses(ZeroShot):
    """Each class has its share of the metric."""

    def class_values(self, outcomes):
        found = super().class_values(outcomes)
        return replace(found, values={name: values / len(values) for name, values in found.values.items()})


def test_values_per_class_lie_around_the_metric():
    with pytest.raises(AssertionError, match="its values per class lie around"):
        values_per_class_are_those_of_the_metrics(SharesOfClasses())


@pytest.mark.long
def test_promises_hold_for_rows_with_several_labels():
    rows_with_several_labels_are_judged_alike(Coding())


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (ForgetsWhatIsNotCounted(), "chance_is_what_guesses_reach"),
        (ScoresWhatItTrainsOn(), "scores no split of the data set"),
    ],
)
def test_broken_promises_for_rows_with_several_labels_are_found(task, message):
    with pytest.raises(AssertionError, match=message):
        rows_with_several_labels_are_judged_alike(task)
