"""Which hyperparameters a trial tries, as a pure function of the study seed and of the earlier complete batches.

Trials come in batches of a fixed size that is part of the study's identity. Batch b is proposed from the results of
the batches before it; inside the batch, the parameters of lower-numbered trials are shown to the sampler as running.
Nothing depends on the number of workers, on the time, or on where a study was interrupted. The same holds for the
thresholds below which trials of an iterative method are stopped.
"""

from __future__ import annotations

import warnings
from bisect import insort
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from zslplat.errors import UsageError
from zslplat.records.trials import FinishedTrial, optuna_distributions, optuna_parameters
from zslplat.space import ANY, Choice, Integer, Range, Real, Space, is_active
from zslplat.tuning.samplers import generations, quasi_random

GRID_POINTS = 7
# A grid of more points is searched only where that number of trials is requested.
MOST_GRID_POINTS = 1000
_STARTS_AFTER = 8


class Proposer:
    """Proposes the batches of one study.

    What Optuna has been shown is kept from one batch to the next, so that a batch costs what the sampler makes of the
    trials, not showing all of them again. Nothing else depends on it: a new proposer gives the same batch.
    ``maximise`` says of each criterion whether larger values are better.
    """

    def __init__(
        self,
        *,
        seed: int,
        batch_size: int,
        space: Space,
        fixed: Mapping[str, Any],
        defaults: Mapping[str, Any],
        sampler: str,
        maximise: Sequence[bool],
    ) -> None:
        self.seed, self.batch_size, self.sampler, self.maximise = seed, batch_size, sampler, maximise
        self.space, self.fixed, self.defaults = space, fixed, defaults
        self._study: Any = None
        self._shown: list[FinishedTrial] = []

    def batch(self, batch: int, earlier: Sequence[FinishedTrial]) -> list[dict[str, Any]]:
        """Return the parameters of the trials of one batch.

        ``earlier`` holds all trials of the batches before, in order. Trial 0 tries the defaults, each as far as it lies
        inside its range, so that tuning never ends below them. Conditions are judged on the proposed values
        and ``fixed``.
        """
        if self.sampler == "grid":
            points = grid(self.space, self.fixed)
            return points[batch * self.batch_size : (batch + 1) * self.batch_size]
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=optuna.exceptions.ExperimentalWarning)
            # Deprecated arguments of the sampler are given all the same: see _sampler.
            warnings.simplefilter("ignore", category=FutureWarning)
            study = self._showing(earlier)
            self._study = None  # whatever ends this early leaves nothing half done behind
            trials, proposals = [], []
            for number in range(batch * self.batch_size, (batch + 1) * self.batch_size):
                study.sampler = self._sampler(number)
                preset = self._preset_values(number)
                if preset or number == 0:
                    study.enqueue_trial(optuna_parameters(preset, self.space))
                with _one_thread(self.sampler):
                    trial = study.ask()
                    proposals.append(_suggest(trial, self.space, self.fixed, preset))
                trials.append(trial)
            # They are shown again as recorded, once they are; until then as failed, which samplers leave out.
            for trial in trials:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            self._study = study
        return proposals

    def _sampler(self, number: int) -> Any:
        own_seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        if self.sampler == "nsga2":
            return generations(own_seed, number, self.batch_size)
        return _sampler(self.sampler, own_seed, self.space)

    def _preset_values(self, number: int) -> dict[str, Any]:
        """Return the values of a trial that do not come from Optuna's sampler."""
        preset: dict[str, Any] = {}
        if number == 0:
            preset = {k: v for k, v in self.defaults.items() if k in self.space and self.space[k].contains(v)}
        return {**quasi_random(self.seed, number, self.space), **preset} if self.sampler == "qmc" else preset

    def _showing(self, earlier: Sequence[FinishedTrial]) -> Any:
        """Return Optuna's study of the earlier trials: the one of the batch before, where these only follow its own."""
        import optuna

        study, shown = self._study, self._shown
        if study is None or list(earlier[: len(shown)]) != shown:
            study, shown = optuna.create_study(directions=["maximize" if m else "minimize" for m in self.maximise]), []
        study.add_trials([_frozen(trial, self.space) for trial in earlier[len(shown) :]])
        self._shown = list(earlier)
        return study


def _one_thread(sampler: str) -> Any:
    """Return a context in which a sampler that multiplies matrices does so alike on every machine."""
    if sampler != "gp":
        return nullcontext()
    import torch  # noqa: F401  # so that its threads are known, too
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def grid(space: Space, fixed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the points of the sampler ``grid``: all combinations of the choices and of 7 values of each range.

    Values of a range run from its low to its high end, geometrically where it is logarithmic; integers are rounded.
    Parameters whose condition does not hold are left out of a point.
    """
    points: list[dict[str, Any]] = [{}]
    for name in ordered(space):
        dimension = space[name]
        extended = []
        for point in points:
            if is_active(dimension, {**fixed, **point}):
                extended += [{**point, name: value} for value in grid_values(dimension, GRID_POINTS)]
            else:
                extended.append(point)
        points = extended
    return points


def grid_size(space: Space, fixed: Mapping[str, Any]) -> int:
    """Return how many points :func:`grid` has, without making them."""
    required = {other for dimension in space.values() for other in dimension.when}
    # How many points share what conditions ask for.
    counts: dict[tuple[tuple[str, Any], ...], int] = {(): 1}
    for name in ordered(space):
        values = grid_values(space[name], GRID_POINTS)
        extended: dict[tuple[tuple[str, Any], ...], int] = {}
        for shared, count in counts.items():
            if not is_active(space[name], {**fixed, **dict(shared)}):
                extended[shared] = extended.get(shared, 0) + count
            elif name in required:
                extended |= {(*shared, (name, value)): count for value in values}
            else:
                extended[shared] = extended.get(shared, 0) + count * len(values)
        counts = extended
    return sum(counts.values())


def grid_trials(space: Space, fixed: Mapping[str, Any], requested: int | None) -> int:
    """Return the number of trials of a grid search: all its points.

    Raises :class:`UsageError` where ``requested`` trials are fewer than the points, and where no number is requested
    and the points are more than :data:`MOST_GRID_POINTS`.
    """
    size = grid_size(space, fixed)
    if size <= (MOST_GRID_POINTS if requested is None else requested):
        return size
    values = ", ".join(f"{name} {len(grid_values(space[name], GRID_POINTS))}" for name in ordered(space))
    limit = (
        f"a grid of more than {MOST_GRID_POINTS} must be asked for" if requested is None else f"--trials is {requested}"
    )
    raise UsageError(
        f"the grid has {size} points (values: {values}), and {limit}; give --trials {size} for all of them, list fewer "
        "values (--space name=a|b|c), fix parameters (--set name=value), or take --sampler tpe or random"
    )


def nothing_to_search(space: Space, fixed: Mapping[str, Any]) -> bool:
    """Tell whether every trial would try the same experiment."""
    return grid_size(space, fixed) == 1


def grid_values(dimension: Range, points: int) -> list[Any]:
    """Return the values of a grid over one range: the choices, or ``points`` values from low to high."""
    if isinstance(dimension, Choice):
        return list(dimension.values)
    low, high = float(dimension.low), float(dimension.high)
    values = np.geomspace(low, high, points) if dimension.log else np.linspace(low, high, points)
    if isinstance(dimension, Integer):
        return sorted({round(v) for v in values})
    if dimension.steps:
        return [dimension.value(v) for v in sorted({dimension.on_step(float(v)) for v in values})]
    return [dimension.value(min(max(float(f"{v:.6g}"), low), high)) for v in values]


def _suggest(trial: Any, space: Space, fixed: Mapping[str, Any], preset: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a trial tries; values that were not ``preset`` are brought to the steps of their range."""
    values: dict[str, Any] = {}
    for name in ordered(space):
        dimension = space[name]
        if not is_active(dimension, {**fixed, **values}):
            continue
        if isinstance(dimension, Real):
            number = trial.suggest_float(name, dimension.low, dimension.high, log=dimension.log)
            values[name] = dimension.value(number if name in preset else dimension.on_step(number))
        elif isinstance(dimension, Integer):
            values[name] = trial.suggest_int(name, int(dimension.low), int(dimension.high), log=dimension.log)
        else:
            values[name] = trial.suggest_categorical(name, dimension.values)
    return values


def ordered(space: Space) -> list[str]:
    """Return the names so that every condition comes after what it depends on; alphabetical otherwise."""
    done: list[str] = []
    waiting = sorted(space)
    while waiting:
        ready = [n for n in waiting if not (set(space[n].when) & set(waiting))]
        if not ready:
            raise UsageError(f"the conditions of {', '.join(waiting)} depend on each other in a circle")
        done += ready
        waiting = [n for n in waiting if n not in ready]
    return done


def _sampler(name: str, own_seed: int, space: Space) -> Any:
    from optuna.samplers import GPSampler, RandomSampler, TPESampler

    if name in ("random", "qmc"):  # the latter leaves no value to it
        return RandomSampler(seed=own_seed)
    if name == "gp":
        return GPSampler(
            seed=own_seed,
            independent_sampler=RandomSampler(seed=own_seed),
            n_startup_trials=10,
            deterministic_objective=False,
            constraints_func=None,
            warn_independent_sampling=False,
        )
    conditional = any(dimension.when for dimension in space.values())
    # Every argument is given, so that a new default of the library changes no study.
    return TPESampler(
        consider_prior=True,
        prior_weight=1.0,
        consider_magic_clip=True,
        consider_endpoints=False,
        n_startup_trials=10,
        n_ei_candidates=24,
        gamma=_tpe_gamma,
        weights=_tpe_weights,
        seed=own_seed,
        multivariate=True,
        group=conditional,
        warn_independent_sampling=False,
        constant_liar=True,
    )


def _tpe_gamma(n: int) -> int:
    return min(int(np.ceil(0.1 * n)), 25)


def _tpe_weights(n: int) -> np.ndarray:
    if n < 25:
        return np.ones(n)
    return np.concatenate([np.linspace(1.0 / n, 1.0, num=n - 25), np.ones(25)])


def _frozen(trial: FinishedTrial, space: Space) -> Any:
    from optuna.trial import TrialState, create_trial

    states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}
    state = states[trial.state]
    return create_trial(
        state=state,
        values=trial.values or None,
        user_attrs={"number": trial.number},
        params=optuna_parameters(trial.parameters, space),
        distributions=optuna_distributions(space, list(trial.parameters)),
        intermediate_values=dict(trial.steps),
    )


def check_space(space: Space, fixed: Mapping[str, Any]) -> None:
    """Raise :class:`UsageError` for unbounded ranges and for parameters both fixed and searched."""
    for name, dimension in space.items():
        if fixed.get(name, ANY) != ANY:
            raise UsageError(f"{name} is both fixed (--set) and searched (--space); give one of the two")
        if not isinstance(dimension, Choice) and not (np.isfinite(dimension.low) and np.isfinite(dimension.high)):
            raise UsageError(f"the range of {name} has no end: {dimension}; write low..high")
    ordered(space)


class PruningThresholds:
    """Per step the median of the best mean over folds so far, of the trials of earlier batches.

    A trial whose own best mean so far lies below it is pruned. Values are signed so that larger is better. What is
    known of the trials that were counted is kept: to count a thousand again for each new one takes longer than to
    record it.
    """

    def __init__(self, pruner: str, *, maximise: bool) -> None:
        self._pruner, self._sign = pruner, 1.0 if maximise else -1.0
        self._counted: list[FinishedTrial] = []
        self._sorted: dict[int, list[float]] = {}  # by step, the best values so far

    def after(self, earlier: Sequence[FinishedTrial]) -> dict[int, float]:
        """Return the thresholds by step; none where the pruner is ``none``, or few trials are known."""
        if self._pruner == "none" or len(earlier) < _STARTS_AFTER:
            return {}
        count = len(self._counted)
        if self._counted != earlier[:count]:  # one was tried again, or fewer are counted
            count, self._counted, self._sorted = 0, [], {}
        for trial in earlier[count:]:
            best = -float("inf")
            for step, value in sorted(trial.steps.items()):
                best = max(best, self._sign * value)
                insort(self._sorted.setdefault(step, []), best)
            self._counted.append(trial)
        return {step: _median(v) for step, v in self._sorted.items() if len(v) >= _STARTS_AFTER // 2}


def _median(values: Sequence[float]) -> float:
    """Return the median of sorted values."""
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
