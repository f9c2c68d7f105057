"""Methods that look for the labels that are scored find none, whatever the task; and they would know what to do."""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest
from support import blank_main

from zslplat.evaluation.cache.problems import save_problem
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.scoring.evaluation import evaluate, make_task
from zslplat.registry import component
from zslplat.spec import Spec
from zslplat.testing.kits import kit_of
from zslplat.testing.tasks import FEW
from zslplat.testing.truth_seekers import (
    in_memory,
    labellings,
    of_callers,
    registered_seekers,
    telling_nothing,
)


@pytest.mark.long
@pytest.mark.parametrize("walk", [in_memory, of_callers])
def test_labels_that_are_within_reach_are_found(walk):
    y = np.random.default_rng(0).integers(0, 7, 331)
    holder = {"problem": {"truth": {"y_pool": y}}}

    def method():
        return labellings(walk(), 331)

    assert any(np.array_equal(labels, y) for labels in method())
    del holder["problem"]
    gc.collect()


def test_masks_of_rows_and_columns_of_indicators_are_labellings():
    rows = np.arange(0, 90, 3)
    (mask,) = labellings([rows], 100)
    assert np.array_equal(np.flatnonzero(mask), rows)
    assert len(labellings([np.eye(4, dtype=int)[np.arange(100) % 4]], 100)) == 4
    assert labellings([np.random.default_rng(0).normal(size=100), list(range(100)), [1, 2]], 100) == []


@pytest.fixture
def nothing_told(tmp_path):
    """Two files whose features say nothing of the classes: with seen and unseen classes, and without."""
    for name, zero_shot in (("classes", True), ("rows", False)):
        data = telling_nothing(zero_shot=zero_shot)
        more = {"S": data.signatures["random"].values, **data.splits} if zero_shot else {}
        np.savez(tmp_path / f"{name}.npz", X=data.X, y=data.y, **more)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("walk", ["memory", "callers"])
@pytest.mark.parametrize(
    ("task", "data"),
    [
        *((task, "classes") for task in ("zsl", "gzsl", "retrieval", "feature-selection")),
        *((task, "rows") for task in ("coding", "exemplar-retrieval")),
    ],
)
def test_tuning_and_the_test_show_chance(call, nothing_told, task, data, walk):
    method, attack = f"seeker-{walk}", kit_of(component("tasks", task).kind).attack
    few = {name: value for name, value in FEW.items() if name in component("tasks", task).parameters}
    source = Spec("npz", {"path": str(nothing_told / f"{data}.npz")})
    asked = ("-m", method, "-d", source, "-t", Spec(task, few), "--workers", 1, "--json")
    with registered_seekers(attack):
        tuned = call("tune", *asked)
        assert tuned.returncode == 0, tuned.stderr
        study = json.loads(tuned.stdout)
        primary = study["primary"]
        # Folds differ in size, and so in chance.
        assert study["validation"][primary] <= study["chance"] + 0.1
        ran = call("run", *asked, "--test")
        assert ran.returncode == 0, ran.stderr
        tested = [*study["test"], *json.loads(ran.stdout)["metrics"]]
        assert len(tested) > 1
        for metrics in tested:
            assert metrics[primary] <= study["test_chance"] + 0.1


@pytest.mark.long
@pytest.mark.parametrize("walk", ["memory", "callers"])
@pytest.mark.parametrize(
    ("task", "zero_shot"),
    [
        *[(task, True) for task in ("zsl", "gzsl", "retrieval", "feature-selection(first=1,last=1,repeats=3)")],
        # As many rows to train on as to be scored would leave open which labels are which.
        *[(task, False) for task in ("coding(train_share=0.6)", "exemplar-retrieval")],
    ],
)
def test_where_the_truth_is_in_the_same_process_the_attacks_find_it(task, zero_shot, walk, tmp_path, prepared_process):
    # A process of its own: what other tests leave in memory is none of the attack's business. It is forked off one
    # that has made imports and nothing else.
    with blank_main():
        process = prepared_process.Process(target=attack_in_one_process, args=(task, zero_shot, walk, tmp_path))
        process.start()
    process.join(800)
    assert process.exitcode == 0
    # Random starts of k-means may merge classes that one feature tells apart.
    assert float((tmp_path / "value").read_text()) > 0.85


def attack_in_one_process(task, zero_shot, walk, place):
    with registered_seekers(kit_of(make_task(task).kind).attack):
        save_problem(place / "test", make_task(task).test(telling_nothing(zero_shot=zero_shot)))
        job = EvaluateJob("", f"seeker-{walk}", {}, 0, task, (("test", None),), test=True)
        (place / "value").write_text(str(evaluate(job, place)["value"]))
