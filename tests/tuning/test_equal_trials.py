"""Trials of one batch that try the same values are evaluated once, and recorded as if each had been."""

from __future__ import annotations

import json

import pytest
from support import trials_of

from zslplat.evaluation.session import Session

pytestmark = pytest.mark.long

TUNE = (
    "tune",
    "--method",
    "eszsl",
    "--study",
    "equal",
    "--sampler",
    "random",
    "--trials",
    5,
    "--set",
    "gamma=1",
    "--json",
)
SPACE = ("--space", "alpha=0.1|10")


@pytest.fixture
def computed(monkeypatch):
    """The settings that workers were given, in order."""
    settings, job = [], Session._job

    def noted(self, request, *rest):
        settings.append((request.experiment.split, tuple(sorted(request.parameters.items()))))
        return job(self, request, *rest)

    monkeypatch.setattr(Session, "_job", noted)
    return settings


def test_equal_trials_of_a_batch_are_evaluated_once_with_any_number_of_workers(call, computed, tmp_path):
    stores = []
    (tmp_path / "batches.toml").write_text("batch_size = 5")
    for workers in (1, 2):
        computed.clear()
        stores.append(tmp_path / f"{workers}")
        done = call(*TUNE, *SPACE, "--config", tmp_path / "batches.toml", "--workers", workers, "--store", stores[-1])
        assert done.returncode == 0, done.stderr
        tried = [experiment for experiment in computed if experiment[0] == "validation"]
        assert len(tried) == len(set(tried)) == 2
        printed = json.loads(done.stdout)
        assert (printed["recalled"], printed["recalled_tests"]) == (3, 0)
        assert printed["trials"]["complete"] == 5
    assert trials_of(stores[0]) == trials_of(stores[1])
    values = {}
    for _, _, parameters, value, *_ in trials_of(stores[0]):
        assert values.setdefault(json.dumps(parameters, sort_keys=True), value) == value


def test_equal_trials_under_pruning_fare_alike(call, tmp_path):
    (tmp_path / "batches.toml").write_text('batch_size = 10\npruner = "median"\n')
    done = call(
        *("tune", "--method", "ale", "--set", "epochs=4", "--study", "pruned", "--sampler", "random", "--json"),
        *("--trials", 15, "--config", tmp_path / "batches.toml", "--space", "rate=1e-6|0.5|1", "--workers", 2),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["recalled"] >= 9
    fates = {}
    for number, state, parameters, value, *_ in trials_of(tmp_path / "mlruns"):
        fate = (state, value)
        assert fates.setdefault((number // 10, json.dumps(parameters)), fate) == fate
    assert any(state == "PRUNED" for state, _ in fates.values()), fates


def test_trials_and_test_evaluations_that_were_known_are_counted_apart(call, tmp_path):
    first = call(*TUNE[:-1], "--workers", 1)
    assert "known from records" not in first.stdout
    again = call(*TUNE[:4], "another", *TUNE[5:-1], "--workers", 1)
    assert again.returncode == 0, again.stderr
    assert "5 complete, 5 of them known from records;" in again.stdout
    assert "test repeats: 1, 1 of them known from records;" in again.stdout
