"""How trials are proposed, by name: what each way needs, and those that know a trial by its number or generation.

All are pure functions of the seed, the number of the trial and the results of earlier complete batches. A sampler that
keeps a state of its own from trial to trial cannot be used as it is, since a study is proposed anew in every process:
its state is made again from what is recorded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zslplat.errors import UnknownNameError, UsageError, require_package
from zslplat.space import Choice, Integer, Range, Space

# The samplers, and the package that each needs beside Optuna.
SAMPLERS = {"tpe": "", "random": "", "grid": "", "qmc": "", "gp": "torch", "nsga2": ""}
# Those that can search for two metrics at once.
FOR_TWO = ("nsga2", "random", "qmc", "grid")
POPULATION = 12  # trials of a generation of NSGA-II, at least


def require_sampler(name: str | None) -> None:
    """Raise :class:`UnknownNameError` for a sampler that is none, :class:`UsageError` where its package is missing.

    None stands for the default.
    """
    if name is None:
        return
    if name not in SAMPLERS:
        raise UnknownNameError("sampler", name, SAMPLERS)
    if package := SAMPLERS[name]:
        require_package(package, name, f"the sampler {name}")


def require_fitting(name: str | None, criteria: int) -> None:
    """Raise :class:`UsageError` for a number of metrics that a sampler cannot search for."""
    if criteria > 1 and name not in FOR_TWO:
        raise UsageError(f"the sampler {name} searches for one metric; two are searched for by {', '.join(FOR_TWO)}")


def quasi_random(seed: int, number: int, space: Space) -> dict[str, Any]:
    """Return point ``number`` of a scrambled Sobol sequence in a space, conditions not looked at.

    Each range takes one axis. Source: Joe and Kuo (SIAM J. Sci. Comput. 2008), scrambled after Matousek (1998), as
    scipy computes it.
    """
    from scipy.stats.qmc import Sobol

    names = sorted(space)
    points = Sobol(len(names), scramble=True, rng=np.random.default_rng([seed, 4099]))
    if number:
        points.fast_forward(number)
    return {name: value_at(space[name], float(u)) for name, u in zip(names, points.random(1)[0], strict=True)}


def generations(seed: int, number: int, batch_size: int) -> Any:
    """Return the sampler of NSGA-II for trial ``number``.

    A generation is made of whole batches and known by the numbers of its trials, failed ones among them. Optuna counts
    completed trials and remembers parents from trial to trial, which would make proposals depend on when a study was
    interrupted; here they are chosen anew from what is recorded. Source: Deb et al., A Fast and Elitist Multiobjective
    Genetic Algorithm: NSGA-II (2002).
    """
    from optuna.samplers import NSGAIISampler
    from optuna.trial import TrialState

    size = batch_size * -(-POPULATION // batch_size)

    class Generations(NSGAIISampler):
        def get_trial_generation(self, study: Any, trial: Any) -> int:
            return number // size

        def get_population(self, study: Any, generation: int) -> list[Any]:
            complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            return [trial for trial in complete if trial.user_attrs["number"] // size == generation]

        def get_parent_population(self, study: Any, generation: int) -> list[Any]:
            parents: list[Any] = []
            for earlier in range(generation):
                population = self.get_population(study, earlier) + parents
                parents = self._elite_population_selection_strategy(study, population) if population else []
            return parents if len(parents) > 1 else []  # a child has two

    # Every argument is given, so that a new default of the library changes no study.
    return Generations(
        population_size=size, mutation_prob=None, crossover=None, crossover_prob=0.9, swapping_prob=0.5, seed=seed
    )


def value_at(dimension: Range, place: float) -> Any:
    """Return the value of a range at a place from 0 to 1: choices and integers have equal shares of it."""
    if isinstance(dimension, Choice):
        return dimension.values[min(int(place * len(dimension.values)), len(dimension.values) - 1)]
    low, high = _ends(dimension)
    number = math.exp(low + place * (high - low)) if dimension.log else low + place * (high - low)
    if isinstance(dimension, Integer):
        return min(max(round(number), int(dimension.low)), int(dimension.high))
    return dimension.value(dimension.on_step(min(max(number, dimension.low), dimension.high)))


def _ends(dimension: Range) -> tuple[float, float]:
    assert not isinstance(dimension, Choice)
    low, high = float(dimension.low), float(dimension.high)
    if isinstance(dimension, Integer):  # each integer has as much room as the others
        low, high = low - 0.5, high + 0.5
        if dimension.log:
            low = max(low, 0.5)
    return (math.log(low), math.log(high)) if dimension.log else (low, high)
