"""What guessing reaches is said beside the score of a trial: of the same folds, the mean over them like it."""

import pytest

import zslplat
from zslplat.evaluation.context import ExperimentContext

ASKED = {"method": "eszsl(alpha=1, gamma=1)", "dataset": "digit-pairs", "workers": 1, "quiet": True}


@pytest.fixture
def chances(monkeypatch):
    """Give every problem another chance, as folds of unequal classes have, and collect them."""
    known = {}
    monkeypatch.setattr(
        ExperimentContext, "chance", lambda self, problem: known.setdefault(problem, 0.1 * (1 + len(known)))
    )
    return known


def test_the_chance_of_a_run_is_the_mean_over_its_folds(chances, tmp_path):
    found = zslplat.evaluate(**ASKED, store=tmp_path)
    assert len(chances) > 1
    assert found.result.chance == pytest.approx(sum(chances.values()) / len(chances))


def test_the_chance_of_a_study_is_the_mean_over_its_validation_folds(chances, tmp_path):
    found = zslplat.tune(**ASKED, store=tmp_path, trials=1, no_model=True)
    *folds, test = chances.values()
    assert len(folds) > 1
    assert found.result.chance == pytest.approx(sum(folds) / len(folds))
    assert found.result.test_chance == test
