"""Finished trials, and how one is written to Optuna's tables: all its rows in one transaction.

Optuna's own way writes a finished trial value by value and asks, before each, whether the trial may be written and how
the parameter was stored before. All values are known here, so each table is written once. The tables are those that the
installed Optuna declares; where they ask for more than is written here, Optuna does it.
"""

from __future__ import annotations

import datetime
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa

from zslplat.errors import StoreError
from zslplat.space import Integer, Range, Real, Space

_WRITTEN = {
    "TrialModel": {"number", "study_id", "state", "datetime_start", "datetime_complete"},
    "TrialValueModel": {"trial_id", "objective", "value", "value_type"},
    "TrialParamModel": {"trial_id", "param_name", "param_value", "distribution_json"},
    "TrialUserAttributeModel": {"trial_id", "key", "value_json"},
    "TrialIntermediateValueModel": {"trial_id", "step", "intermediate_value", "intermediate_value_type"},
}


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


def add_trial(engine: sa.Engine, study: Any, trial: FinishedTrial, record: Mapping[str, Any], space: Space) -> None:
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
    if not _writable():
        stored = study.get_trials(deepcopy=False)[trial.number : trial.number + 1]
        if [other.user_attrs.get("record") for other in stored] != [frozen.user_attrs["record"]]:
            study.add_trial(frozen)
        return
    frozen._validate()
    _write(engine, study._study_id, frozen, study.study_name)


def _write(engine: sa.Engine, study_id: int, trial: Any, name: str) -> None:
    from optuna.distributions import distribution_to_json
    from optuna.storages._rdb import models

    trials, studies = models.TrialModel.__table__, models.StudyModel.__table__
    with engine.begin() as connection:
        # Other processes that add a trial to the study wait here, so that numbers follow each other.
        locked = sa.select(studies.c.study_id).where(studies.c.study_id == study_id).with_for_update()
        connection.execute(locked).one()
        made = connection.execute(sa.insert(trials).values(_row(study_id, trial))).inserted_primary_key
        assert made is not None  # one row has one key
        trial_id = made[0]
        before = sa.select(sa.func.count()).where(trials.c.study_id == study_id, trials.c.trial_id < trial_id)
        number = connection.execute(before).scalar_one()
        if number != trial.number:
            if _is_there(connection, study_id, trial):
                # The server broke off after the trial was stored, and before it answered.
                connection.rollback()
                return
            # Stores in several folders may share one database, and the lock of a study lies in the folder.
            raise StoreError(
                f"trial {trial.number} of study {name!r} is recorded already, by another command that works on the "
                "same study; wait for it or stop it, then give the same command again"
            )
        connection.execute(sa.update(trials).where(trials.c.trial_id == trial_id).values(number=number))
        of_values = map(models.TrialValueModel.value_to_stored_repr, trial.values or ())
        rows: dict[str, list[dict[str, Any]]] = {
            "TrialValueModel": [
                {"objective": number, "value": value, "value_type": kind}
                for number, (value, kind) in enumerate(of_values)
            ]
        }
        rows["TrialParamModel"] = [
            {
                "param_name": name,
                "param_value": trial.distributions[name].to_internal_repr(value),
                "distribution_json": distribution_to_json(trial.distributions[name]),
            }
            for name, value in trial.params.items()
        ]
        rows["TrialUserAttributeModel"] = [
            {"key": key, "value_json": json.dumps(value)} for key, value in trial.user_attrs.items()
        ]
        stored = models.TrialIntermediateValueModel.intermediate_value_to_stored_repr
        rows["TrialIntermediateValueModel"] = [
            {"step": step, "intermediate_value": value, "intermediate_value_type": kind}
            for step, (value, kind) in ((step, stored(value)) for step, value in trial.intermediate_values.items())
        ]
        for model, entries in rows.items():
            if entries:
                table = getattr(models, model).__table__
                connection.execute(sa.insert(table), [{**row, "trial_id": trial_id} for row in entries])


def _row(study_id: int, trial: Any) -> dict[str, Any]:
    """Return the row of a trial itself, with times as the installed Optuna stores them (since 5.0 in UTC)."""
    from optuna.storages._rdb import models

    model = models.TrialModel(study_id=study_id, state=trial.state)
    model.datetime_start, model.datetime_complete = trial.datetime_start, trial.datetime_complete
    properties = sa.inspect(models.TrialModel)
    names = ("study_id", "state", "datetime_start", "datetime_complete")
    columns = [models.TrialModel.__table__.c[name] for name in names]
    return {column.name: getattr(model, properties.get_property_by_column(column).key) for column in columns}


def _is_there(connection: sa.Connection, study_id: int, trial: Any) -> bool:
    """Tell whether a trial is stored already, with the very same record, times included."""
    from optuna.storages._rdb import models

    trials, notes = models.TrialModel.__table__.c, models.TrialUserAttributeModel.__table__.c
    query = sa.select(notes.value_json).where(
        notes.trial_id == trials.trial_id,
        notes.key == "record",
        trials.study_id == study_id,
        trials.number == trial.number,
    )
    return connection.execute(query).scalar() == json.dumps(trial.user_attrs["record"])


@cache
def _writable() -> bool:
    """Tell whether Optuna's tables are as they are written here."""
    try:
        from optuna.storages._rdb import models

        return all(_takes(getattr(models, name).__table__, columns) for name, columns in _WRITTEN.items())
    except (ImportError, AttributeError):
        return False


def _takes(table: sa.Table, columns: set[str]) -> bool:
    """Tell whether a table has these columns and asks for no other but the key that it counts itself."""
    others = [column for column in table.columns if column.name not in columns and not column.primary_key]
    required = any(not c.nullable and c.default is None and c.server_default is None for c in others)
    return columns <= set(table.columns.keys()) and not required


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
