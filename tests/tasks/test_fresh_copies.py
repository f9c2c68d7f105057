"""What a method remembers of one batch never meets another: each is scored, or fitted, by a fresh copy."""

from __future__ import annotations

import pytest
from zero_shot_toys import Bilinear, toy

from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot


class Jointly(Bilinear):
    """Scores a batch as a whole, once."""

    transductive = True

    def decision_function(self, X, S, *, seen=None, statistics=None):
        assert not hasattr(self, "batch_")
        self.batch_ = X
        return super().decision_function(X, S)


class InSteps(Jointly):
    """The same after each of two steps."""

    step_parameter = "epochs"

    def _fit_steps(self, X, y, S, statistics):
        self.fit(X, y, S)
        yield 1
        yield 2


class Once:
    """Is fitted once."""

    def fit(self, *arguments, statistics=None):
        assert not hasattr(self, "fitted_")
        self.fitted_ = True
        return super().fit(*arguments, statistics=statistics)


@pytest.mark.parametrize(("method", "steps"), [(Jointly, 1), (InSteps, 2)])
def test_each_request_of_a_transductive_method_has_its_own_copy(method, steps):
    task = GeneralizedZeroShot()
    instance = method()
    assert len(list(task.run(instance, task.test(toy()), {}))) == steps
    assert len(instance.calls_) == 3 * steps


def test_a_direct_transductive_method_shows_what_it_learned_of_the_last_batch():
    task = GeneralizedZeroShot()
    problem, instance = task.test(toy()), Jointly()
    assert list(task.run(instance, problem, {}))
    assert len(instance.batch_) == len(problem.truth["y_pool"])
