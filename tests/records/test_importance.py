"""Importance of hyperparameters: deterministic, and said where too few."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

from zslplat.records.trials import LEAST_TRIALS, importance_of

RANGES = {
    "lam": FloatDistribution(1e-3, 1e3, log=True),
    "gamma": FloatDistribution(0, 1),
    "kernel": CategoricalDistribution(("a", "b")),
}


def trials_of(count, value=lambda lam, gamma: np.log10(lam) ** 2 + 0.1 * gamma, names=tuple(RANGES)):
    rng = np.random.default_rng(0)
    made = []
    for number in range(count):
        tried = {"lam": 10 ** rng.uniform(-3, 3), "gamma": rng.random(), "kernel": "ab"[number % 2]}
        made.append(
            create_trial(
                params={name: tried[name] for name in names},
                distributions={name: RANGES[name] for name in names},
                value=float(value(tried["lam"], tried["gamma"])),
            )
        )
    return made


def failed():
    return create_trial(state=TrialState.FAIL, params={"lam": 1.0}, distributions={"lam": RANGES["lam"]})


def test_what_moves_the_value_has_the_largest_share():
    found = importance_of([*trials_of(24), failed()])
    assert next(iter(found.shares)) == "lam"
    assert found.shares["lam"] > 0.7
    assert sum(found.shares.values()) == pytest.approx(1.0, abs=1e-5)
    assert found.trials == 24


def test_the_same_trials_give_the_same_shares():
    assert importance_of([*trials_of(24), failed()]) == importance_of([*trials_of(24), failed()])


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        (lambda: trials_of(LEAST_TRIALS - 1), "9 complete trials are too few; 10 are needed"),
        (lambda: [], "0 complete trials are too few"),
        (lambda: trials_of(12, value=lambda lam, gamma: 0.5), "gave the same value"),
        (lambda: trials_of(12, names=("lam",)), "lam is all that was searched"),
    ],
)
def test_where_nothing_can_be_told_it_says_why(trials, said):
    assert said in importance_of(trials()).in_words


def test_nothing_is_said_on_the_terminal(capfd):
    optuna.logging.set_verbosity(optuna.logging.INFO)
    importance_of(trials_of(15))
    assert capfd.readouterr() == ("", "")
