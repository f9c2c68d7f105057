"""What is recorded for good: finished trials (Optuna's tables) and evaluations (a table beside them), by SQLAlchemy.

Each finished trial, and each evaluation, is one transaction. Nothing that is running is ever stored.
"""

from __future__ import annotations

import contextlib
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from zslplat.errors import StoreError, UsageError
from zslplat.records.journal import settle, write_ahead
from zslplat.records.locks import file_lock
from zslplat.records.trials import FinishedTrial, optuna_distributions, optuna_parameters
from zslplat.settings import masked_url
from zslplat.space import Space

_METADATA = sa.MetaData()
_EVALUATIONS = sa.Table(
    "zslplat_evaluations",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("owner", sa.String(255), nullable=False),
    sa.Column("key", sa.String(255), nullable=False),
    sa.Column("split", sa.String(16), nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.UniqueConstraint("owner", "key"),
)


class Records:
    """The database of studies and evaluations; made once, before any worker starts."""

    def __init__(self, url: str, lock_folder: Path) -> None:
        import optuna
        from optuna.storages import RDBStorage

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.url, self.shown = url, _shown(url)
        parsed = sa.engine.make_url(url)
        self.path = Path(parsed.database) if parsed.drivername.startswith("sqlite") and parsed.database else None
        with _lasting_errors(url), file_lock(lock_folder / "records.lock"):
            engine: dict[str, Any] = {"pool_pre_ping": True}
            if url.startswith("sqlite"):
                engine = {"connect_args": {"timeout": 30}}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.storage = RDBStorage(url, engine_kwargs=engine)
            self.engine = self.storage.engine
            _METADATA.create_all(self.engine)
            if self.path is not None:
                write_ahead(self.engine, self.path, durable=True)

    def open_study(self, name: str, identity: Mapping[str, Any], maximise: bool) -> OpenStudy:
        """Open or create a study; raises :class:`StoreError` when the name holds another configuration."""
        import optuna

        with _lasting_errors(self.url):
            study = optuna.create_study(
                study_name=name,
                storage=self.storage,
                direction="maximize" if maximise else "minimize",
                load_if_exists=True,
                # The stored study is never asked for a proposal.
                sampler=optuna.samplers.RandomSampler(seed=0),
            )
            stored = study.user_attrs.get("identity")
            if stored is None and study.get_trials(deepcopy=False):
                raise StoreError(
                    f"the study {name!r} in {self.shown} was written by another program; choose another --study"
                )
            if stored is None:
                study.set_user_attr("identity", dict(identity))
            elif stored != json.loads(json.dumps(identity)):
                raise StoreError(_difference(name, stored, identity))
            return OpenStudy(study, self.url)

    def close(self) -> None:
        """Leave the database; it opens again by itself when it is used."""
        if self.path is not None:
            settle(self.engine, self.path)

    def study_names(self) -> list[str]:
        """Return the names of all studies in the database."""
        with _lasting_errors(self.url):
            return [s.study_name for s in self.storage.get_all_studies()]

    def add_evaluation(self, owner: str, key: str, split: str, fingerprint: str, content: Mapping[str, Any]) -> None:
        """Record one evaluation; the same (owner, key) again is ignored, as it has the same content."""
        row = {
            "owner": owner,
            "key": key,
            "split": split,
            "fingerprint": fingerprint,
            "created": time.time(),
            "content": json.dumps(content),
        }
        with _lasting_errors(self.url), contextlib.suppress(sa.exc.IntegrityError), self.engine.begin() as connection:
            connection.execute(sa.insert(_EVALUATIONS).values(row))

    def evaluations(self, owner: str) -> dict[str, dict[str, Any]]:
        """Return {key: content} of an owner's evaluations, in the order in which they were made."""
        query = sa.select(_EVALUATIONS).where(_EVALUATIONS.c.owner == owner).order_by(_EVALUATIONS.c.id)
        with _lasting_errors(self.url), self.engine.connect() as connection:
            return {row.key: json.loads(row.content) | {"created": row.created} for row in connection.execute(query)}

    def looks_at_test(self, fingerprint: str) -> int:
        """Return how often the test split of this data was scored, over all studies, runs and sweeps of this store."""
        query = (
            sa.select(sa.func.count())
            .select_from(_EVALUATIONS)
            .where(_EVALUATIONS.c.split == "test", _EVALUATIONS.c.fingerprint == fingerprint)
        )
        with _lasting_errors(self.url), self.engine.connect() as connection:
            return int(connection.execute(query).scalar_one())


class OpenStudy:
    """The finished trials of one study."""

    def __init__(self, study: Any, url: str) -> None:
        self.study, self.url = study, url
        self.name: str = study.study_name

    def remember(self, name: str, make: Callable[[], float]) -> float:
        """Return a number of the study, made and stored at the first call; what ``make`` raises is its own affair."""
        return float(self.recall(name, make))

    def recall(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a JSON value of the study, made and stored at the first call."""
        with _lasting_errors(self.url):
            known = self.study.user_attrs.get(name)
        if known is None:
            known = make()
            self.note(name, known)
        return known

    def knows(self, *names: str) -> bool:
        """Tell whether values of all these names are stored."""
        with _lasting_errors(self.url):
            return set(names) <= set(self.study.user_attrs)

    def note(self, name: str, value: Any) -> None:
        """Store a JSON value of the study, in place of an earlier one."""
        with _lasting_errors(self.url):
            if self.study.user_attrs.get(name) != value:
                self.study.set_user_attr(name, value)

    def finished(self) -> list[tuple[FinishedTrial, dict[str, Any]]]:
        """Return the finished trials with their records, in order."""
        from optuna.trial import TrialState

        names = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}
        with _lasting_errors(self.url):
            trials = self.study.get_trials(deepcopy=False)
        result = []
        for position, trial in enumerate(trials):
            if trial.number != position or trial.state not in names:
                raise StoreError(
                    f"study {self.name!r} holds trial {trial.number} in state {trial.state.name}; it was "
                    "written by another program; choose another --study"
                )
            if "record" not in trial.user_attrs:
                raise StoreError(f"trial {position} of study {self.name!r} holds no record; choose another --study")
            record = json.loads(trial.user_attrs["record"])
            finished = FinishedTrial(
                position, names[trial.state], record["parameters"], record["value"], dict(trial.intermediate_values)
            )
            result.append((finished, record))
        return result

    def add(self, trial: FinishedTrial, record: Mapping[str, Any], space: Space) -> None:
        """Store a finished trial in one transaction."""
        import datetime

        from optuna.trial import FrozenTrial, TrialState

        states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}
        began = datetime.datetime.fromtimestamp(record["started"])
        ended = datetime.datetime.fromtimestamp(record["ended"])
        frozen = FrozenTrial(
            number=trial.number,
            trial_id=-1,
            state=states[trial.state],
            value=trial.value if trial.state == "complete" else None,
            datetime_start=began,
            datetime_complete=ended,
            params=optuna_parameters(trial.parameters, space),
            distributions=optuna_distributions(space, list(trial.parameters)),
            user_attrs={"record": json.dumps(record)},
            system_attrs={},
            intermediate_values=dict(trial.steps),
        )
        with _lasting_errors(self.url):
            self.study.add_trial(frozen)


@contextlib.contextmanager
def _lasting_errors(url: str) -> Iterator[None]:
    """Turn database errors into one clear line."""
    from optuna.exceptions import OptunaError

    shown = _shown(url)
    try:
        yield
    except (sa.exc.SQLAlchemyError, OptunaError, RuntimeError, OSError, ImportError) as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        text = masked_url(" ".join(str(getattr(cause, "orig", None) or cause).split()), url)[:300]
        raise StoreError(
            f"the store {shown} cannot be used: {text}; what was recorded is kept; "
            "free space, repair permissions or the file, or choose another with --store"
        ) from error


def _shown(url: str) -> str:
    """Return the URL without its password; raises :class:`UsageError` for text that is no URL of a database."""
    try:
        sa.engine.make_url(url)
    except (sa.exc.SQLAlchemyError, ValueError):
        raise UsageError(
            "the --storage-url cannot be read; write it as SQLAlchemy does, for example sqlite:////data/optuna.db or "
            "postgresql+psycopg://user@host/name"
        ) from None
    return masked_url(url)


def _difference(name: str, stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    changes = [
        f"{key}: recorded {stored.get(key)!r}, asked {asked.get(key)!r}"
        for key in sorted({*stored, *asked})
        if stored.get(key) != json.loads(json.dumps(asked.get(key)))
    ]
    return (
        f"study {name!r} was recorded with another configuration ({'; '.join(changes)}); "
        "give the recorded configuration to continue it, or another --study for a new one"
    )
