"""Methods that draw mini-batches are given arrays of data that are small, and rows in files of those that are not."""

import pytest

from zslplat.evaluation.cache.arrays import FOLD
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.scoring.evaluation import evaluate
from zslplat.families.zero_shot.methods.ranking.estimator import RankingMethod
from zslplat.settings import resolve_settings
from zslplat.spec import Spec


@pytest.fixture
def evaluated(tmp_path):
    def evaluate_in(folder):
        settings = resolve_settings({"store": tmp_path / folder})
        settings.make_store()
        context = ExperimentContext(Experiment(Spec("ale"), Spec("digit-pairs"), Spec("zsl", {"folds": 1})), settings)
        problems = tuple((path.name, None) for path in context.problems("validation"))
        job = EvaluateJob("trial", "ale", {"epochs": 3}, 0, "zsl", problems, blocks=context.blocks)
        record = evaluate(job, context.cache.root)
        return context, record, list(context.cache.root.glob(f"{FOLD}*"))

    return evaluate_in


def test_rows_in_files_cost_no_copy_and_train_to_the_same_scores(evaluated, monkeypatch):
    context, small, copies = evaluated("small")
    assert context.dataset.X.nbytes <= RankingMethod.arrays_up_to
    assert not context.blocks
    assert copies
    monkeypatch.setattr(RankingMethod, "arrays_up_to", context.dataset.X.nbytes - 1)
    context, large, copies = evaluated("large")
    assert context.blocks
    assert not copies
    assert large["metrics"] == small["metrics"]
    assert large["steps"] == small["steps"]
