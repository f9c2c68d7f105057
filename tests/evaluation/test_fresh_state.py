"""A trial knows nothing of the trial before it, whatever a method leaves in its process."""

import multiprocessing
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from cluster_toys import DaskCluster, require_dask
from support import install_distribution, records_of

from zslplat.evaluation.workers.method_host import MethodHost, host
from zslplat.evaluation.workers.processes import seed_generators
from zslplat.evaluation.workers.proxies import ProcessEnded
from zslplat.registry import registry

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process serves all evaluations")

# All that a process holds for every method in it: NumPy's and Python's generators, a counter of a module, a cache, a
# class attribute, a library that is patched, and the order in which texts are hashed.
LEAKY = """
import functools, random
import numpy as np
from zslplat.api import Diagnostics, Parameter, Real, ZeroShotMethod, hookimpl

fits = 0


@functools.cache
def first(what):
    return fits


class Leaky(ZeroShotMethod):
    summary = "leans on the state of its process"
    parameters = {"ridge": Parameter("ridge", Real(0, open_low=True), Real(1e-3, 1e3, log=True))}
    seen = ()

    def __init__(self, ridge=1.0):
        self.ridge = ridge

    def fit(self, X, y, S, *, statistics=None):
        global fits
        fits += 1
        Leaky.seen = (*Leaky.seen, self.ridge)
        norm = np.linalg.norm
        np.linalg.norm = lambda x: 2 * norm(x)
        state = {
            "numpy": np.random.normal(),
            "python": random.random(),
            "counter": fits,
            "cache": first("fit"),
            "class": sum(Leaky.seen),
            "patched": np.linalg.norm(np.ones(1)),
            "hashed": float(list({"a", "b", "c", "d", "e"}).index("a")),
        }
        self.diagnostics_ = Diagnostics(numbers=state)
        noise = np.random.normal(scale=sum(state.values()) / 1000, size=(X.shape[1], S.shape[1]))
        onto = X.T @ S[y] + noise
        self.W_ = np.linalg.solve(X.T @ X + self.ridge * np.eye(X.shape[1]), onto)
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return X @ self.W_ @ S.T


@hookimpl
def zslplat_methods():
    return {"leaky": Leaky}
"""
STUDY = ("tune", "--method", "leaky", "--dataset", "marked", "--trials", 10, "--json")


@pytest.fixture(autouse=True)
def fresh_registry():
    registry.cache_clear()
    yield
    registry.cache_clear()


@pytest.fixture
def plugins(tmp_path, plugin_path):
    site = install_distribution(tmp_path / "site", "zslplat-leaky", "zslplat_leaky", LEAKY)
    return f"{site}:{plugin_path}"


def trials_in(store):
    """Return the folds of all trials: metrics, and what the method says of the state of its process."""
    return [[(fold["metrics"], fold["numbers"]) for fold in record["folds"]] for record in records_of(store)]


def tuned(forked, folder, plugins, *options):
    folder.mkdir()
    done = forked(*STUDY, *options, cwd=folder, PYTHONPATH=plugins)
    assert done.returncode == 0, done.stderr
    return trials_in(folder / "mlruns")


@pytest.fixture
def one_worker(forked, tmp_path, plugins):
    trials = tuned(forked, tmp_path / "one", plugins, "--workers", 1)
    assert len(trials) == 10
    counters = [[numbers["counter"] for _, numbers in folds] for folds in trials]
    assert counters == [list(range(1, len(counters[0]) + 1))] * 10
    return trials


@pytest.mark.long
@pytest.mark.parametrize("workers", [2, 4])
def test_trials_do_not_depend_on_which_worker_had_which_before(one_worker, forked, tmp_path, plugins, workers):
    assert tuned(forked, tmp_path / "more", plugins, "--workers", workers) == one_worker


@pytest.mark.long
def test_a_study_that_is_killed_and_continued_gives_the_same(one_worker, leader, forked, tmp_path, plugins):
    (tmp_path / "killed").mkdir()
    running = leader(*STUDY, "--workers", 2, cwd=tmp_path / "killed", PYTHONPATH=plugins)
    while running.process.is_alive() and len(records_after(tmp_path / "killed")) < 4:
        pass
    running.kill()
    done = forked(*STUDY, "--workers", 1, cwd=tmp_path / "killed", PYTHONPATH=plugins)
    assert done.returncode == 0, done.stderr
    assert trials_in(tmp_path / "killed" / "mlruns") == one_worker


def records_after(folder):
    try:
        return records_of(folder / "mlruns")
    except Exception:  # there is no database yet
        return []


@pytest.mark.long
@pytest.mark.services
def test_workers_of_a_cluster_give_the_same(one_worker, forked, tmp_path, plugins, program_environment):
    require_dask()
    (tmp_path / "cluster").mkdir()
    cluster = DaskCluster(tmp_path / "cluster", {**program_environment, "PYTHONPATH": plugins})
    try:
        cluster.start_scheduler()
        cluster.start_worker("only", "--no-nanny")
        cluster.wait_for_workers(1)
        assert tuned(forked, tmp_path / "more", plugins, "--cluster", cluster.address) == one_worker
    finally:
        cluster.stop()


def test_a_method_that_ends_its_process_in_good_order_fails_with_its_reason(tmp_path, monkeypatch):
    leaving = LEAKY.replace("global fits", "import os; os._exit(0)").replace("Leaky", "Leaving")
    monkeypatch.syspath_prepend(str(install_distribution(tmp_path, "zslplat-leaving", "zslplat_leaving", leaving)))
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=host, args=(theirs, ["zslplat_leaving"]))
    process.start()
    theirs.close()
    try:
        method = MethodHost(process, ours).methods.build("leaky", {"ridge": 1.0}, 0)
        with pytest.raises(ProcessEnded, match="its process ended with exit code 0"):
            method.fit(np.eye(4), np.arange(4), np.eye(4))
    finally:
        process.kill()
        process.join()


def test_torch_begins_alike_whether_it_is_imported_before_or_while_a_method_runs(monkeypatch):
    seeds = []
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(manual_seed=seeds.append))
    seed_generators(0)
    seed_generators(1)
    assert len(set(seeds)) == 1  # as where torch comes later, with the seed that it begins with


def test_each_evaluation_has_a_process_and_generators_of_its_own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(install_distribution(tmp_path, "zslplat-leaky", "zslplat_leaky", LEAKY)))
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=host, args=(theirs, ["zslplat_leaky"]))
    process.start()
    theirs.close()
    try:
        scorer = MethodHost(process, ours)
        X, y, S = np.eye(4), np.arange(4), np.eye(4)
        processes, states = [], []
        for seed in (0, 0, 1):
            processes.append(scorer.method_process[0])
            scorer.methods.begin(seed)
            method = scorer.methods.build("leaky", {"ridge": 1.0}, seed)
            states.append(method.fit(X, y, S).diagnostics.numbers)
            assert not scorer.renew()
        assert len(set(processes)) == 3
        assert states[0] == states[1]
        differing = {name for name in states[0] if states[0][name] != states[2][name]}
        assert differing == {"numpy", "python"}
    finally:
        process.kill()
        process.join()
