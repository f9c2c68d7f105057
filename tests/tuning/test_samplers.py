"""Every sampler by name: a pure function of seed, number and earlier complete batches; first values; patience."""

from __future__ import annotations

import importlib.util
import math
import sys
from types import SimpleNamespace

import pytest

from zslplat.errors import UnknownNameError, UsageError
from zslplat.evaluation.reporter import SilentReporter
from zslplat.records.trials import FinishedTrial
from zslplat.space import Choice, Integer, Real
from zslplat.tuning import proposals as proposals_module
from zslplat.tuning.options import StudyOptions
from zslplat.tuning.proposals import Proposer
from zslplat.tuning.samplers import SAMPLERS, quasi_random, require_sampler, value_at
from zslplat.tuning.study import StudyRun

SPACE = {
    "lam": Real(1e-3, 1e3, log=True),
    "gamma": Real(0.0, 2.0),
    "k": Integer(1, 9),
    "kernel": Choice(("gaussian", "linear")),
    "sigma": Real(0.1, 10, log=True, when={"kernel": ("gaussian",)}),
}
DEFAULTS = {"lam": 1.0, "gamma": 0.5, "k": 3, "kernel": "linear", "sigma": 1.0}
NEEDED = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            bool(package) and importlib.util.find_spec(package) is None, reason=f"{package} is not installed"
        ),
    )
    for name, package in SAMPLERS.items()
]
FREE = [name for name in NEEDED if name.values[0] != "grid"]


def value_of(parameters):
    return -((math.log10(parameters["lam"]) - 2) ** 2) - (parameters["gamma"] - 1.5) ** 2 - abs(parameters["k"] - 7) / 9


def proposer(sampler, *, size=4, seed=0, space=SPACE, maximise=True):
    return Proposer(
        seed=seed,
        batch_size=size,
        space=space,
        fixed={},
        defaults=DEFAULTS,
        sampler=sampler,
        maximise=[maximise],
    )


def propose(sampler, batch, earlier, **options):
    return proposer(sampler, **options).batch(batch, earlier)


def play(sampler, batches, *, size=4, sign=1.0, **options):
    """Play a study in batches; every seventh trial fails."""
    trials = []
    for batch in range(batches):
        for parameters in propose(sampler, batch, trials[: batch * size], size=size, **options):
            failed = len(trials) % 7 == 6
            value = None if failed else sign * value_of(parameters)
            trials.append(FinishedTrial(len(trials), "failed" if failed else "complete", parameters, value))
    return trials


@pytest.mark.parametrize("sampler", NEEDED)
def test_proposals_follow_from_the_seed_and_earlier_batches_alone(sampler):
    trials = play(sampler, 6)
    assert len(trials) == 24
    for batch in (1, 3, 5):  # as after a kill: another process knows the records and nothing else
        again = propose(sampler, batch, trials[: batch * 4])
        assert again == [trial.parameters for trial in trials[batch * 4 :][:4]]
    if sampler != "grid":
        assert play(sampler, 2, seed=1)[1:] != trials[1:8]


@pytest.mark.parametrize("sampler", NEEDED)
def test_a_proposer_that_goes_on_proposes_what_a_new_one_would(sampler):
    kept, trials = proposer(sampler), []
    for batch in range(10):
        proposals = kept.batch(batch, trials)
        assert proposals == propose(sampler, batch, trials)
        for parameters in proposals:
            number = len(trials)
            state = ("complete", "complete", "complete", "pruned", "failed")[number % 5]
            value = None if state == "failed" else value_of(parameters)
            trials.append(FinishedTrial(number, state, parameters, value, {1: float(number)}))
        if batch == 5:  # what had failed was tried again, and nothing is better
            trials[4] = FinishedTrial(4, "complete", trials[4].parameters, 1e6)


@pytest.mark.parametrize("sampler", [name for name in NEEDED if name.values[0] != "grid"])
def test_what_comes_to_nothing_in_the_middle_of_a_batch_leaves_no_trace(sampler, monkeypatch):
    kept, trials = proposer(sampler), play(sampler, 4)
    expected = [propose(sampler, batch, trials[: 4 * batch]) for batch in (3, 4)]
    assert kept.batch(3, trials[:12]) == expected[0]
    suggest, asked = proposals_module._suggest, []

    def stop(*given):
        asked.append(given)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return suggest(*given)

    monkeypatch.setattr(proposals_module, "_suggest", stop)
    with pytest.raises(KeyboardInterrupt):
        kept.batch(4, trials)
    assert kept.batch(4, trials) == expected[1]


def test_every_trial_is_shown_to_the_sampler_once(monkeypatch):
    kept, trials, shown = proposer("tpe"), play("tpe", 10), []
    frozen = proposals_module._frozen
    monkeypatch.setattr(proposals_module, "_frozen", lambda trial, space: shown.append(trial) or frozen(trial, space))
    for batch in range(11):
        kept.batch(batch, trials[: 4 * batch])
    assert [trial.number for trial in shown] == list(range(40))


@pytest.mark.parametrize("sampler", FREE)
def test_all_proposals_lie_in_the_space_under_its_conditions_and_differ(sampler):
    trials = play(sampler, 6)
    for trial in trials:
        assert all(SPACE[name].contains(value) for name, value in trial.parameters.items())
        assert ("sigma" in trial.parameters) == (trial.parameters["kernel"] == "gaussian")
    if sampler != "nsga2":  # a child may be like one of its parents
        assert len({str(trial.parameters) for trial in trials}) == 24
    assert trials[0].parameters == {name: value for name, value in DEFAULTS.items() if name != "sigma"}


@pytest.mark.parametrize("sampler", [name for name in FREE if name.values[0] in ("tpe", "gp")])
@pytest.mark.parametrize("maximise", [True, False])
def test_samplers_that_learn_find_better_values_than_the_quasi_random_ones(sampler, maximise):
    batches = 8 if sampler == "gp" else 16
    late = {}
    for name in (sampler, "qmc"):
        trials = play(name, batches, maximise=maximise, sign=1.0 if maximise else -1.0)
        late[name] = sum(value_of(trial.parameters) for trial in trials[-12:]) / 12
    assert late[sampler] > late["qmc"] + 1.0


def test_quasi_random_points_fill_every_axis_evenly():
    space = {"a": Real(0, 1), "b": Choice((1, 2, 3, 4)), "c": Integer(1, 4), "d": Real(1, 16, log=True)}
    points = [quasi_random(3, number, space) for number in range(64)]
    for name in space:
        quarters = [min(int(place(space, name, point) * 4), 3) for point in points]
        assert [quarters.count(quarter) for quarter in range(4)] == [16, 16, 16, 16], name


def place_of(dimension, value):
    """Return where a value lies in a range of numbers, from 0 to 1; integers have equal shares of it."""
    low, high, number = float(dimension.low), float(dimension.high), float(str(value).partition("*")[0])
    if isinstance(dimension, Integer):
        low, high = low - 0.5, high + 0.5
    scale = math.log if dimension.log else float
    return (scale(number) - scale(low)) / (scale(high) - scale(low))


def place(space, name, point):
    dimension, value = space[name], point[name]
    return dimension.values.index(value) / 4 if isinstance(dimension, Choice) else place_of(dimension, value)


@pytest.mark.parametrize(
    "dimension",
    [Real(-2, 5), Real(1e-3, 1e3, log=True), Integer(1, 9), Integer(1, 64, log=True), Real(0.1, 10, unit="*median")],
)
def test_a_place_in_a_range_and_its_value_are_one_another_s(dimension):
    for where in (0.0, 0.03, 0.4, 0.77, 1.0):
        value = value_at(dimension, where)
        assert dimension.contains(value)
        assert (
            value_at(dimension, place_of(dimension, value)) == pytest.approx(value)
            if not isinstance(value, str)
            else dimension.contains(value_at(dimension, place_of(dimension, value)))
        )


def test_a_sampler_whose_package_is_missing_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match=r"needs the package torch.*pip install 'zslplat\[gp\]'"):
        require_sampler("gp")
    for name in ("tpe", "random", "grid", "qmc"):
        require_sampler(name)
    with pytest.raises(UnknownNameError, match="did you mean"):
        require_sampler("tpee")


def test_a_grid_loses_no_patience():
    with pytest.raises(UsageError, match="means nothing to a grid"):
        StudyOptions(sampler="grid", patience=3)


def over(values, patience, size=4, wanted=40):
    """Tell whether a study with these values of its trials is over; None is a failed one."""
    study = StudyRun.__new__(StudyRun)
    study.options = StudyOptions(patience=patience, batch_size=size)
    study.requested, study.out_of_patience, study.reporter = wanted, False, SilentReporter()
    best = max((v for v in values if v is not None), default=None)
    study.log = SimpleNamespace(records=values, best_number=lambda: -1 if best is None else values.index(best))
    return study._search_has_ended()


def test_patience_ends_a_search_at_the_end_of_a_batch_only():
    values = [0.1, 0.9, 0.2, 0.3, 0.9, 0.4, 0.5, 0.6]
    assert over(values, 6)  # the same value again is nothing better
    assert not over(values, 7)
    assert not over([*values, 0.1], 6)  # amid a batch nobody can tell whether the rest is better
    assert not over(values, None)
    assert over([None] * 8, 8)
    assert over(values, None, wanted=8)
