"""What is prepared for the fit is given to the preparation of scoring, in every kind."""

from __future__ import annotations

import numpy as np
import pytest
from zero_shot_toys import Bilinear, toy

from zslplat.families.coding.kit import CodingPlayer
from zslplat.families.coding.task import Coding
from zslplat.families.exemplars.kit import ExemplarPlayer
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.testing.kits import kit_of
from zslplat.testing.problems import data_sets


class Keeps:
    """Prepares a number for the fit, and gives it back with the statistics of scoring."""

    def prepare_fit(self, *arguments, space):
        return {"number": np.array([7, len(arguments[0])])}

    def prepare_score(self, *arguments, space, statistics=None):
        return {"of the fit": statistics["number"]}


def made(form, base, **declared):
    return type("Made", (form, base), declared)


CASES = [
    pytest.param(GeneralizedZeroShot(), Bilinear, {}, 1, id="zero-shot"),
    pytest.param(GeneralizedZeroShot(), Bilinear, {"transductive": True}, 3, id="transductive"),
    pytest.param(Coding(), CodingPlayer, {}, 1, id="coding"),
    pytest.param(ExemplarRetrieval(), ExemplarPlayer, {}, 1, id="exemplar"),
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


@pytest.mark.parametrize("base", [Bilinear, CodingPlayer, ExemplarPlayer])
def test_the_kit_prepares_as_the_tasks_do(base):
    method = made(Keeps, base)()
    kit = kit_of(method.kind)
    assert "score/of the fit" in kit.prepare(method, kit.arrays(method), {})
