"""Tasks and conformance kit call the methods of a kind through one protocol, which passes on all there is."""

from __future__ import annotations

import numpy as np
import pytest
from zero_shot_toys import toy

from zslplat.api import Protocol, protocol_of
from zslplat.families.coding.task import Coding
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.families.selection.task import FeatureSelection
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.registry import names
from zslplat.testing.kits import kit_of, player
from zslplat.testing.problems import data_sets

TASKS = {
    "zero-shot": ZeroShot(),
    "coding": Coding(),
    "feature-selection": FeatureSelection(last=5, repeats=1),
    "exemplar": ExemplarRetrieval(),
}


def test_every_kind_that_is_checked_has_a_protocol_and_the_other_way_round():
    assert (
        set(names("kinds")) == set(TASKS) == {task.kind for task in TASKS.values()} == {kit_of(k).kind for k in TASKS}
    )
    assert all(isinstance(protocol_of(kind), Protocol) for kind in TASKS)


def noting(made, name, call):
    def noted(self, *arguments):
        made.append(name)
        return call(self, *arguments)

    return noted


@pytest.mark.parametrize("kind", TASKS)
def test_task_and_kit_make_the_same_calls(kind, monkeypatch):
    made = []
    protocol = type(protocol_of(kind))
    for name in ("prepare_fit", "prepare_score", "fit", "fit_steps", "score"):
        monkeypatch.setattr(protocol, name, noting(made, name, getattr(protocol, name)))
    task, method = TASKS[kind], player(TASKS[kind], "works")
    data = toy() if kind == "zero-shot" else data_sets()[2 if kind == "coding" else 0]
    problem = task.test(data)
    task.prepare(method, problem, {})
    list(task.run(method, problem, {}))
    by_task, made[:] = [name.removesuffix("_steps") for name in made], []
    kit = kit_of(kind)
    arrays = kit.arrays(method)
    kit.prepare(method, arrays, {})
    kit.protocol.fit(method, arrays, None)
    kit.protocol.score(method, arrays, None)
    assert by_task == [name for name in made if name != "prepare_score" or kind != "feature-selection"]


def test_signatures_of_classes_go_with_their_owners():
    given = {}

    class Notes:
        def fit(self, X, y, S, *, statistics, signature_class):
            given["fit"] = signature_class

        def decision_function(self, X, S, *, seen, statistics, signature_class):
            given["score"] = signature_class
            return np.zeros((len(X), len(seen)))

    inputs = {"X": np.eye(2), "y": np.arange(2), "S": np.eye(3), "signature_class": [0, 0, 1]}
    inputs |= {"X_pool": np.eye(2), "S_pool": np.eye(2), "seen": np.zeros(1), "signature_class_pool": [0, 0]}
    calls = protocol_of("zero-shot")
    calls.fit(Notes(), inputs, None)
    calls.score(Notes(), inputs, None)
    assert given == {"fit": [0, 0, 1], "score": [0, 0]}
