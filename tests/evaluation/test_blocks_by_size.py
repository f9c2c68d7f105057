"""Methods that draw mini-batches are given arrays of data that are small, and rows in files of those that are not."""

import pytest

from zslplat.evaluation.cache.arrays import FOLD
from zslplat.evaluation.context import Workbench
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.scoring.evaluation import evaluate
from zslplat.methods.zero_shot.ranking.estimator import RankingMethod
from zslplat.settings import resolve_settings
from zslplat.spec import Spec


@pytest.fixture
def evaluated(tmp_path):
    def evaluate_in(folder):
        settings = resolve_settings({"store": tmp_path / folder})
        settings.make_store()
        bench = Workbench(Experiment(Spec("ale"), Spec("digit-pairs"), Spec("zsl", {"folds": 1})), settings)
        problems = tuple((path.name, None) for path in bench.problems("validation"))
        job = EvaluateJob("trial", "ale", {"epochs": 3}, 0, "zsl", problems, blocks=bench.blocks)
        record = evaluate(job, bench.cache.root)
        return bench, record, list(bench.cache.root.glob(f"{FOLD}*"))

    return evaluate_in


def test_rows_in_files_cost_no_copy_and_train_to_the_same_scores(evaluated, monkeypatch):
    bench, small, copies = evaluated("small")
    assert bench.dataset.X.nbytes <= RankingMethod.arrays_up_to
    assert not bench.blocks
    assert copies
    monkeypatch.setattr(RankingMethod, "arrays_up_to", bench.dataset.X.nbytes - 1)
    bench, large, copies = evaluated("large")
    assert bench.blocks
    assert not copies
    assert large["metrics"] == small["metrics"]
    assert large["steps"] == small["steps"]
