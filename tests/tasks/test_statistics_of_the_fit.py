"""What is prepared for the fit is given to the preparation of scoring, in every kind; older methods go without."""

from __future__ import annotations

import numpy as np
import pytest
from zero_shot_toys import Bilinear, toy

from zslplat.tasks.coding import Coding
from zslplat.tasks.exemplar_retrieval import ExemplarRetrieval
from zslplat.tasks.gzsl import GeneralizedZeroShot
from zslplat.testing.coding import CodingPlayer
from zslplat.testing.exemplars import ExemplarPlayer
from zslplat.testing.kits import kit_of
from zslplat.testing.task_samples import data_sets


class Keeps:
    """Prepares a number for the fit, and gives it back with the statistics of scoring."""

    def prepare_fit(self, *arguments, space):
        return {"number": np.array([7, len(arguments[0])])}

    def prepare_score(self, *arguments, space, statistics=None):
        return {"of the fit": statistics["number"]}


class OfBefore(Keeps):
    """The same as it was written for version 1.0: no statistics."""

    def prepare_score(self, *arguments, space):
        return {"rows": np.array(len(arguments[0]))}


def made(form, base, **declared):
    return type("Made", (form, base), declared)


CASES = [
    pytest.param(GeneralizedZeroShot(), Bilinear, {}, 1, id="zero-shot"),
    pytest.param(GeneralizedZeroShot(), Bilinear, {"transductive": True}, 3, id="transductive"),
    pytest.param(Coding(splits=2), CodingPlayer, {}, 2, id="coding"),
    pytest.param(ExemplarRetrieval(draws=2), ExemplarPlayer, {}, 2, id="exemplar"),
]


def problem_for(task):
    if task.kind == "zero-shot":
        return task.test(toy())
    return task.test(data_sets()[-1])


@pytest.mark.parametrize(("task", "base", "declared", "times"), CASES)
def test_preparation_of_scoring_is_given_what_was_prepared_for_the_fit(task, base, declared, times):
    found = task.prepare(made(Keeps, base, **declared)(), problem_for(task), {})
    scored = {name: values for name, values in found.items() if name.endswith("/of the fit")}
    fitted = [values for name, values in found.items() if name.endswith("/number")]
    assert len(scored) == times
    assert all(any(values is own for own in fitted) for values in scored.values())


@pytest.mark.parametrize(("task", "base", "declared", "times"), CASES)
def test_a_method_that_takes_no_statistics_prepares_as_before(task, base, declared, times):
    found = task.prepare(made(OfBefore, base, **declared)(), problem_for(task), {})
    assert len([name for name in found if name.endswith("/rows")]) == times


@pytest.mark.parametrize("base", [Bilinear, CodingPlayer, ExemplarPlayer])
def test_the_kit_prepares_as_the_tasks_do(base):
    for form, name in ((Keeps, "score/of the fit"), (OfBefore, "score/rows")):
        method = made(form, base)()
        kit = kit_of(method.kind)
        assert name in kit.prepare(method, kit.arrays(method), {})


def test_a_descendant_of_a_method_of_before_calls_it_as_it_likes():
    class Parent(Bilinear):
        def prepare_score(self, X, S, *, space):
            return {"rows": np.array(len(X))}

    class Child(Parent):
        def prepare_score(self, X, S, *, space, statistics=None):
            assert super().prepare_score(X, S, space=space) == super().prepare_score(X, S, space=space, statistics={})
            return {"given": statistics}

    assert Child().prepare_score(np.eye(2), np.eye(2), space={}, statistics=3) == {"given": 3}
