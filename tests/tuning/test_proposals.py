"""Properties of proposals: a pure function of seed and earlier batches, within the space, led by the defaults."""

from __future__ import annotations

import math
from statistics import median

import pytest

from zslplat.errors import UsageError
from zslplat.records.trials import FinishedTrial, optuna_distributions
from zslplat.space import Choice, Integer, Real
from zslplat.tuning.proposals import (
    Proposer,
    check_space,
    grid,
    grid_size,
    grid_trials,
    nothing_to_search,
    ordered,
)

SPACE = {
    "lam": Real(1e-3, 1e3, log=True),
    "k": Integer(1, 64, log=True),
    "kernel": Choice(("gaussian", "linear", None)),
    "sigma": Real(0.1, 10, when={"kernel": ("gaussian",)}),
    "power": Integer(2, 5, when={"variant": ("poly",)}),
}
DEFAULTS = {"lam": 1.0, "k": 10, "kernel": None, "sigma": 1.0}
BATCH = 4


def value_of(parameters):
    """Return a deterministic result for parameters, so that a study can be played."""
    return (
        -((math.log10(parameters["lam"]) - 0.5) ** 2) - math.log(parameters["k"]) + len(str(parameters["kernel"])) / 4
    )


def propose(batch, earlier, *, seed=0, sampler="tpe", space=SPACE, fixed=None, defaults=DEFAULTS, maximise=True):
    return Proposer(
        seed=seed,
        batch_size=BATCH,
        space=space,
        fixed={"variant": "plain"} if fixed is None else fixed,
        defaults=defaults,
        sampler=sampler,
        maximise=[maximise],
    ).batch(batch, earlier)


def play(batches, **options):
    """Play a study of several batches; every fifth trial fails."""
    trials = []
    for batch in range(batches):
        for parameters in propose(batch, trials[: batch * BATCH], **options):
            number = len(trials)
            failed = number % 5 == 4
            value = None if failed else value_of(parameters)
            trials.append(FinishedTrial(number, "failed" if failed else "complete", parameters, value))
    return trials


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_the_same_study_gives_the_same_trials(sampler):
    assert play(6, sampler=sampler) == play(6, sampler=sampler)
    assert play(6, sampler=sampler) != play(6, sampler=sampler, seed=1)


def test_a_batch_depends_on_earlier_batches_only():
    trials = play(4)
    again = propose(3, trials[: 3 * BATCH])
    assert again == [t.parameters for t in trials[3 * BATCH :]]
    changed = [*trials[: 3 * BATCH - 1], FinishedTrial(3 * BATCH - 1, "complete", trials[11].parameters, 1e6)]
    assert propose(3, changed) != again
    assert propose(3, changed, sampler="random") == propose(3, trials[: 3 * BATCH], sampler="random")


def test_trial_0_tries_the_defaults_each_where_its_range_holds_it():
    assert propose(0, [])[0] == {"lam": 1.0, "k": 10, "kernel": None}
    outside = propose(0, [], defaults={**DEFAULTS, "k": 1000})[0]
    assert 1 <= outside["k"] <= 64
    assert outside["lam"] == 1.0
    incomplete = propose(0, [], defaults={"lam": 1.0})[0]
    assert incomplete["lam"] == 1.0


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid"])
def test_a_range_with_steps_is_searched_on_them_and_trial_0_keeps_its_default(sampler):
    stepped = Real(1e-2, 1e2, log=True, steps=5)
    space = {"lam": stepped, "k": Integer(1, 64, log=True), "kernel": Choice(("a", "b"))}
    defaults = {"lam": 0.37, "k": 10, "kernel": "a"}
    tried = [trial.parameters["lam"] for trial in play(5, sampler=sampler, space=space, defaults=defaults)]
    if sampler != "grid":
        assert tried.pop(0) == 0.37
    assert {stepped.on_step(value) for value in tried} == set(tried)
    assert 3 <= len(set(tried)) <= 5


def test_values_in_units_of_the_data_stay_in_them():
    space = {"sigma": Real(0.1, 10, log=True, unit="*median"), "c": Real(0, 2, unit="/square")}
    trials = []
    for batch in range(5):
        for parameters in propose(batch, trials, space=space, defaults={"sigma": "median", "c": "1.0/square"}):
            assert all(space[name].contains(value) for name, value in parameters.items())
            value = -abs(math.log(space["sigma"].number(parameters["sigma"]) / 3))
            trials.append(FinishedTrial(len(trials), "complete", parameters, value))
    assert trials[0].parameters == {"sigma": "1.0*median", "c": "1.0/square"}
    assert max(t.value for t in trials) > trials[0].value
    assert grid(space, {})[0] == {"c": "0.0/square", "sigma": "0.1*median"}


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_mates_of_a_batch_are_different(sampler):
    space = {"lam": Real(1e-3, 1e3, log=True), "mix": Real(0, 1)}
    trials = []
    for batch in range(8):
        proposals = propose(batch, trials, sampler=sampler, space=space, defaults={})
        assert len({tuple(sorted(p.items())) for p in proposals}) == BATCH
        trials += [FinishedTrial(len(trials) + i, "complete", p, -p["lam"]) for i, p in enumerate(proposals)]


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid"])
@pytest.mark.parametrize("variant", ["plain", "poly"])
def test_proposals_lie_in_the_space_and_obey_its_conditions(sampler, variant):
    seen = set()
    for trial in play(8, sampler=sampler, fixed={"variant": variant}):
        for name, value in trial.parameters.items():
            assert SPACE[name].contains(value), (name, value)
        assert ("sigma" in trial.parameters) == (trial.parameters["kernel"] == "gaussian")
        assert ("power" in trial.parameters) == (variant == "poly")
        assert {"lam", "k", "kernel"} <= set(trial.parameters)
        seen.add(trial.parameters["kernel"])
        optuna_distributions(SPACE, list(trial.parameters))
    assert len(seen) > 1 or sampler == "grid"


def test_minimising_is_maximising_the_negative():
    def played(maximise):
        trials = []
        for batch in range(5):
            for parameters in propose(batch, trials[: batch * BATCH], maximise=maximise):
                value = value_of(parameters) * (1 if maximise else -1)
                trials.append(FinishedTrial(len(trials), "complete", parameters, value))
        return [t.parameters for t in trials]

    assert played(True) == played(False)


def test_tpe_finds_what_is_better():
    trials = play(12)
    early, late = trials[:12], trials[-12:]
    middle = [median(t.value for t in part if t.value is not None) for part in (early, late)]
    assert middle[1] > middle[0]


def test_the_grid_holds_every_combination_once_and_ends_within_the_range():
    space = {"a": Real(0, 1 / 3), "b": Choice(("x", "y")), "c": Integer(1, 3, when={"b": ("x",)})}
    points = grid(space, {})
    assert len(points) == 7 * (3 + 1)
    assert len({tuple(sorted(p.items())) for p in points}) == len(points)
    assert all(space[name].contains(value) for point in points for name, value in point.items())
    batches = [p for batch in range(7) for p in propose(batch, [], sampler="grid", space=space)]
    assert batches == points


@pytest.mark.parametrize("fixed", [{}, {"variant": "poly"}, {"variant": "plain"}])
def test_the_size_of_a_grid_is_known_without_making_it(fixed):
    chained = {
        "a": Choice((1, 2, 3), when={"b": ("x", "y")}),
        "b": Choice(("x", "y", "z")),
        "c": Real(0, 1, when={"a": (1, 2)}),
        "d": Integer(1, 3),
    }
    for space in (SPACE, chained, {}, {"c": chained["c"]}):
        assert grid_size(space, fixed) == len(grid(space, fixed))
    assert grid_size({f"p{i}": Real(0, 1) for i in range(40)}, {}) == 7**40


def test_a_large_grid_is_searched_only_where_its_trials_are_asked_for():
    space = {f"p{i}": Real(0, 1) for i in range(6)}
    with pytest.raises(UsageError, match=r"117649 points \(values: p0 7, .*--trials is 5; give --trials 117649"):
        grid_trials(space, {}, 5)
    with pytest.raises(UsageError, match=r"117649 points .*more than 1000 must be asked for"):
        grid_trials(space, {}, None)
    assert grid_trials(space, {}, 117649) == 117649
    small = {"p0": Real(0, 1), "p1": Real(0, 1)}
    assert grid_trials(small, {}, None) == grid_trials(small, {}, 60) == 49
    with pytest.raises(UsageError, match="--trials is 48"):
        grid_trials(small, {}, 48)


def test_nothing_is_searched_where_no_range_applies_or_has_two_values():
    never = {"power": Integer(2, 5, when={"variant": ("poly",)}), "kernel": Choice(("linear",))}
    assert nothing_to_search({}, {})
    assert nothing_to_search(never, {"variant": "plain"})
    assert not nothing_to_search(never, {"variant": "poly"})


def test_conditions_come_after_what_they_depend_on():
    space = {"a": Real(0, 1, when={"c": (1,)}), "b": Real(0, 1), "c": Choice((1, 2), when={"b": (0.5,)})}
    assert ordered(space) == ["b", "c", "a"]
    with pytest.raises(UsageError, match="in a circle"):
        ordered({"a": Real(0, 1, when={"b": (1,)}), "b": Real(0, 1, when={"a": (1,)})})


def test_spaces_that_cannot_be_searched_are_refused():
    check_space(SPACE, {"variant": "poly"})
    with pytest.raises(UsageError, match="both fixed"):
        check_space(SPACE, {"lam": 1})
    with pytest.raises(UsageError, match="no end"):
        check_space({"lam": Real(0)}, {})
