"""Stand-ins for methods in a process of their own: they do what the methods do, and hand over plain data alone."""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import warnings

import numpy as np
import pytest

from zslplat.data.store.array_store import file_of
from zslplat.errors import OutcomeWarning
from zslplat.evaluation.cache.problems import load_problem, save_problem
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.scoring.evaluation import evaluate
from zslplat.evaluation.workers.method_process import serve
from zslplat.evaluation.workers.proxies import MethodClient, MethodFailed, ProcessEnded, Proxy, learned
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.registry import registry
from zslplat.tasks.base import Problem
from zslplat.testing.truth_seekers import telling_nothing


@pytest.fixture
def methods(plugin_path, monkeypatch):
    monkeypatch.syspath_prepend(str(plugin_path))
    registry.cache_clear()
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    yield MethodClient(process, ours)
    process.kill()
    process.join()
    registry.cache_clear()


def rows():
    rng = np.random.default_rng(0)
    return rng.random((40, 6)), np.arange(40) % 4, rng.random((4, 3))


def test_a_stand_in_reads_like_the_method(methods):
    method = methods.build("eszsl", {"gamma": 2.0}, 0)
    X, y, S = rows()
    assert method.fit(X, y, S) is method
    assert (type(method).__name__, method.kind, method.transductive) == ("eszsl", "zero-shot", False)
    assert method.gamma == 2.0
    assert method.decision_function(X, S).shape == (40, 4)
    assert list(method.fit_steps(X, y, S)) == [1]
    assert set(method.matrices())
    assert isinstance(method.diagnostics.series, dict)
    assert getattr(method, "embeddings", None) is None
    assert not hasattr(method, "nothing_")


def test_a_fold_asks_four_times(methods, tmp_path, monkeypatch):
    """Build, the only step, scores, and all that was learned: each question costs two processes their turn."""
    X, y, S = rows()
    inputs = {"X": X, "y": y, "S": S, "X_pool": X, "S_pool": S, "seen": np.zeros(4, dtype=bool)}
    inputs["classes:U->U"] = np.arange(4)
    truth = {"y_pool": y, "row_pool": np.arange(40), "rows:U->U": np.arange(40)}
    meta = {"dataset": "toy", "classes": list("abcd"), "requests": ["U->U"]}
    save_problem(tmp_path / "problem", Problem("fold-1", inputs, truth, meta))
    asked = []
    ask = MethodClient.send
    monkeypatch.setattr(MethodClient, "send", lambda self, *wish: (asked.append(wish[0]), ask(self, *wish))[1])
    parameters = {"gamma": 1.0, "alpha": 1.0}
    job = EvaluateJob("one", "eszsl", parameters, 0, "zsl", (("problem", None),), artifacts=tmp_path / "left")
    there = evaluate(job, tmp_path, methods)
    assert asked == ["step_parameter", "build", "start", "call", "learned"]
    asked.clear()
    assert evaluate(job, tmp_path, methods)["metrics"] == there["metrics"]
    assert asked == ["build", "start", "call", "learned"]
    assert there["cpu_seconds"] > 0
    assert there["peak_bytes"] > 0
    here = evaluate(job, tmp_path)
    assert there["metrics"] == here["metrics"]
    assert there["folds"][0]["numbers"] == here["folds"][0]["numbers"]


def test_a_training_that_fails_has_ended(methods):
    method = methods.build("eszsl", {}, 0)
    training = method.fit_steps(np.zeros((3, 2)), np.zeros(2), np.zeros((1, 1)))
    with pytest.raises(MethodFailed):
        next(training)
    assert list(training) == []


def test_a_method_that_cannot_be_built_says_so(methods):
    X, y, S = rows()
    with pytest.raises(MethodFailed, match="gamma"):
        methods.build("eszsl", {"gamma": -1.0}, 0)
    assert methods.build("eszsl", {"gamma": 1.0}, 0).fit(X, y, S).decision_function(X, S).shape == (40, 4)


def test_an_answer_that_nobody_waited_for_does_not_come_to_the_next_question(methods):
    X, y, S = rows()
    method = methods.build("eszsl", {}, 0).fit(X, y, S)
    learned(method, matrices=True, figures=False)
    assert method.decision_function(X, S).shape == (40, 4)
    matrices, *_ = learned(method, matrices=True, figures=False)()
    assert matrices


def test_a_copy_learns_by_itself(methods):
    method = methods.build("plain", {}, 0)
    X, y, S = rows()
    method.fit(X, y, S)
    before = method.W_
    other = copy.deepcopy(method)
    other.fit(2 * X, y, S)
    assert np.array_equal(method.W_, before)
    assert not np.array_equal(other.W_, before)


def test_failures_are_told_and_the_process_goes_on(methods):
    X, y, S = rows()
    with pytest.raises(MethodFailed, match=r"^ValueError: this goes wrong$"):
        methods.build("trouble", {"trouble": "raises"}, 0).fit(X, y, S)
    odd = methods.build("trouble", {"trouble": "unrecordable"}, 0).fit(X, y, S)
    with pytest.raises(MethodFailed, match="type object is no number"):
        assert odd.diagnostics
    assert methods.build("plain", {}, 0).fit(X, y, S).W_.shape == (6, 3)


def test_an_array_of_a_class_of_the_methods_own_comes_as_a_plain_one(methods):
    X, y, S = rows()
    found = [methods.build("odd", {"odd": kind}, 0).fit(X, y, S).decision_function(X, S) for kind in ("own", "sound")]
    assert [type(scores) for scores in found] == [np.ndarray] * 2
    assert np.array_equal(*found)


def test_warnings_of_outcomes_come_through(methods):
    X, y, S = rows()
    method = methods.build("warner", {}, 0)
    with pytest.warns(OutcomeWarning, match="the fit should be looked at"):
        method.fit(X, y, S)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method.decision_function(X, S)


def test_the_end_of_the_process_is_told_with_its_cause(methods):
    os.kill(methods.process.pid, signal.SIGKILL)
    with pytest.raises(ProcessEnded, match="ended by SIGKILL") as told:
        methods.build("plain", {}, 0)
    assert told.value.killed


def test_what_is_let_go_here_is_let_go_there(methods):
    first = methods.build("plain", {}, 0)
    number = first._number
    del first
    methods.usage()
    # Nobody can ask for it any more, short of an error in the platform itself.
    with pytest.raises(ProcessEnded):
        methods.ask("value", Proxy(methods, number), "W_")


def test_inputs_lie_apart_from_the_truth(tmp_path):
    save_problem(tmp_path / "problem", GeneralizedZeroShot().test(telling_nothing()))
    problem = load_problem(tmp_path / "problem")
    folders = {
        kind: {os.path.dirname(file_of(a)[0]) for a in getattr(problem, kind).values()} for kind in ("inputs", "truth")
    }
    assert folders == {kind: {str(tmp_path / "problem" / kind)} for kind in folders}
    assert not [name for name in problem.inputs if name.startswith(("rows", "row", "y_"))]
