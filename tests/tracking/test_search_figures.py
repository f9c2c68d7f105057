"""Importance of hyperparameters, and the map over the two that matter most: deterministic, and said where too few."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

from zslplat.records.importance import LEAST_TRIALS, importance_of
from zslplat.tracking import study_figures
from zslplat.tracking.study_figures import write_history, write_search_figures

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


def test_what_moves_the_value_has_the_largest_share(tmp_path):
    found = importance_of([*trials_of(24), failed()])
    assert next(iter(found.shares)) == "lam"
    assert found.shares["lam"] > 0.7
    assert sum(found.shares.values()) == pytest.approx(1.0, abs=1e-5)
    assert found.trials == 24


def test_the_same_trials_give_the_same_figures(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_search_figures(tmp_path / name, [*trials_of(24), failed()], "accuracy", pytest.fail)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["importance.csv", "importance.png"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        (lambda: trials_of(LEAST_TRIALS - 1), "9 complete trials are too few; 10 are needed"),
        (lambda: [], "0 complete trials are too few"),
        (lambda: trials_of(12, value=lambda lam, gamma: 0.5), "gave the same value"),
        (lambda: trials_of(12, names=("lam",)), "lam is all that was searched"),
    ],
)
def test_where_nothing_can_be_told_it_says_why(trials, said, tmp_path):
    found = write_search_figures(tmp_path, trials(), "accuracy", pytest.fail)
    assert said in found.in_words
    assert not list(tmp_path.iterdir())


def test_nothing_is_said_on_the_terminal(capfd, tmp_path):
    optuna.logging.set_verbosity(optuna.logging.INFO)
    write_search_figures(tmp_path, trials_of(15), "accuracy", pytest.fail)
    assert capfd.readouterr() == ("", "")


def records_of(trials):
    told = {"state": "complete", "reason": ""}
    return [{"number": n, "value": t.value, "parameters": t.params, **told} for n, t in enumerate(trials)]


def test_names_of_parameters_are_no_formulas(tmp_path):
    called = dict(zip(RANGES, (r"a$\frac{$b", "$x$", "_hidden"), strict=True))
    trials = [
        create_trial(
            params={called[name]: value for name, value in t.params.items()},
            distributions={called[name]: kind for name, kind in t.distributions.items()},
            value=t.value,
        )
        for t in trials_of(24)
    ]
    write_search_figures(tmp_path, trials, "accuracy in $", pytest.fail)
    assert (tmp_path / "importance.png").exists()
    write_history(tmp_path, records_of(trials), "accuracy in $", True, pytest.fail)
    assert (tmp_path / "searched-$x$.png").exists()


def test_pictures_that_fail_cost_a_warning_each(tmp_path, monkeypatch):
    def fails(*given):
        raise ValueError("no pen")

    monkeypatch.setattr(study_figures, "save", fails)
    monkeypatch.setattr(study_figures, "render", fails)
    said = []
    assert write_search_figures(tmp_path, trials_of(24), "accuracy", said.append).shares
    write_history(tmp_path, records_of(trials_of(24)), "accuracy", True, said.append)
    names = ("importance", "history", "searched-gamma", "searched-lam")
    assert said == [f"the picture {name}.png is not drawn: ValueError: no pen" for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["importance.csv", "trials.csv"]
