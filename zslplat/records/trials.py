"""Finished trials, how one is stored by Optuna in one transaction, and which hyperparameters mattered."""

from __future__ import annotations

import datetime
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zslplat.errors import StoreError
from zslplat.space import Integer, Range, Real, Space


@dataclass(frozen=True)
class FinishedTrial:
    """What later proposals may know of a trial; ``value`` is None unless it is complete or pruned.

    It is that of the first criterion of the study; ``further`` are those of the others.
    """

    number: int
    state: str
    parameters: Mapping[str, Any]
    value: float | None
    steps: Mapping[int, float] = field(default_factory=dict)
    further: tuple[float, ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        """The values of all criteria; empty unless the trial is complete."""
        return () if self.state != "complete" or self.value is None else (self.value, *self.further)


def optuna_parameters(values: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Return parameter values as Optuna knows them: numbers, also where they are multiples of a unit of the data."""
    ranges = {name: space[name] for name in values}
    return {name: r.number(values[name]) if isinstance(r, Real) else values[name] for name, r in ranges.items()}


def optuna_distributions(space: Space, names: Sequence[str]) -> dict[str, Any]:
    """Return Optuna's distributions of the named ranges."""
    return {name: _distribution(space[name]) for name in names}


def _distribution(dimension: Range) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(dimension, Real):
        return FloatDistribution(dimension.low, dimension.high, log=dimension.log)
    if isinstance(dimension, Integer):
        return IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return CategoricalDistribution(dimension.values)


def add_trial(study: Any, trial: FinishedTrial, record: Mapping[str, Any], space: Space) -> None:
    """Store a finished trial with its record in one transaction; the same record again is stored once.

    Its number is the next one of the study; raises :class:`StoreError` where another command has recorded that.
    """
    from optuna.trial import FrozenTrial, TrialState

    states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}
    frozen = FrozenTrial(
        number=trial.number,
        trial_id=-1,
        state=states[trial.state],
        value=None,
        values=trial.values or None,
        datetime_start=datetime.datetime.fromtimestamp(record["started"]),
        datetime_complete=datetime.datetime.fromtimestamp(record["ended"]),
        params=optuna_parameters(trial.parameters, space),
        distributions=optuna_distributions(space, list(trial.parameters)),
        user_attrs={"record": json.dumps(record)},
        system_attrs={},
        intermediate_values=dict(trial.steps),
    )
    stored = study.get_trials(deepcopy=False)[trial.number :]
    if [other.user_attrs.get("record") for other in stored[:1]] == [frozen.user_attrs["record"]]:
        return  # the server broke off after it was stored, and before it answered
    if stored:
        # Stores in several folders may share one database, and the lock of a study lies in the folder.
        raise StoreError(
            f"trial {trial.number} of study {study.study_name!r} is recorded already, by another command that works on "
            "the same study; wait for it or stop it, then give the same command again"
        )
    study.add_trial(frozen)


LEAST_TRIALS = 10
_SEED, _TREES, _DEPTH = 0, 64, 64


@dataclass(frozen=True)
class Importance:
    """Which searched hyperparameters mattered: the share of the variation of the values that each explains.

    Source: functional ANOVA over a forest of regression trees (Hutter, Hoos and Leyton-Brown, ICML 2014), as Optuna
    computes it; its trees are drawn from one seed, so that the same trials give the same shares.

    Shares by hyperparameter, the largest first, of so many complete trials; or ``why_not`` there are none.

    Only what all these trials tried has a share: a parameter under a condition has none.
    """

    trials: int
    shares: dict[str, float] = field(default_factory=dict)
    why_not: str = ""

    @property
    def in_words(self) -> str:
        """What is shown in one line."""
        if self.why_not:
            return self.why_not
        listed = ", ".join(f"{name} {share:.2f}" for name, share in self.shares.items())
        return f"{listed} (shares of the variation, by {self.trials} trials)"


def importance_of(trials: list[Any]) -> Importance:
    """Return the shares of hyperparameters by finished trials of Optuna's."""
    import optuna
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances
    from optuna.trial import TrialState

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    complete = [t for t in trials if t.state == TrialState.COMPLETE and t.params]
    count = len(complete)
    if count < LEAST_TRIALS:
        return Importance(count, why_not=f"{count} complete trials are too few; {LEAST_TRIALS} are needed")
    common = set.intersection(*(set(t.params) for t in complete))
    varied = sorted(name for name in common if len({str(t.params[name]) for t in complete}) > 1)
    if len({t.values[0] for t in complete}) < 2 or not varied:
        return Importance(count, why_not=f"{count} trials gave the same value, so nothing mattered")
    if len(varied) < 2:
        return Importance(count, why_not=f"{varied[0]} is all that was searched in every trial")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is experimental there
        study = optuna.create_study(directions=["minimize"] * len(complete[0].values))
        study.add_trials(complete)
        evaluator = FanovaImportanceEvaluator(n_trees=_TREES, max_depth=_DEPTH, seed=_SEED)
        shares = get_param_importances(study, evaluator=evaluator, params=varied, target=lambda trial: trial.values[0])
    ordered = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return Importance(count, {name: round(float(share), 6) for name, share in ordered})
