"""What is recorded for good: finished trials (Optuna's tables) and evaluations (a table beside them), by SQLAlchemy.

Each finished trial, and each evaluation, is one transaction. Nothing that is running is ever stored. A store has an
identity, which tells its runs from others' on a shared tracking server, and the version of its schema.
"""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from zslplat.errors import StoreError, UnknownNameError
from zslplat.keys import key_of, run_identifier, trial_key
from zslplat.records.engines import alone_on_server, engine_options, form_of_tables, leave_to_parent, optuna_storage
from zslplat.records.leads import Leads
from zslplat.records.locks import file_lock
from zslplat.records.outages import Outages, lasting_errors, patient, shown_address
from zslplat.records.sqlite_files import address_for_reading, may_not_be_written, settle, write_ahead
from zslplat.records.studies import RECALLED_FROM, STUDY, OpenStudy, configuration_conflict
from zslplat.settings import Settings

SCHEMA = 1
# How the owners of sealed evaluations begin: analysis that selects by the test split. They are never recalled for other
# studies or runs.
SEALED = "oracle:"
LOOKS = "looks:"  # how the names of facts begin that hold the looks of `zslplat gate`
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
_Evaluation = tuple[str, str, dict[str, Any]]
_STORE = sa.Table(
    "zslplat_store",
    _METADATA,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class EvaluationRecord:
    """A recorded evaluation by its run identifier: whose it is, under which key, and its record.

    ``study`` is empty for runs of their own.
    """

    run: str
    owner: str
    key: str
    study: str
    record: dict[str, Any]


def damaged(owner: str, key: str) -> str:
    """Return in words that an evaluation cannot be read, and what to do."""
    return f"evaluation {key} of {owner} is damaged; restore the records from a copy of the store, or evaluate it again"


class Records:
    """The database of studies and evaluations, made before any worker starts; files of outcomes lie beside it.

    Raises :class:`StoreError` for a database that cannot be used, or that another version of the program wrote. One
    that may not be written (``read_only``) can be read. Evaluations that are damaged are left out, and named to
    ``warn`` and, by owner and key, in ``damaged``.
    """

    def __init__(self, settings: Settings, warn: Callable[[str], None] = lambda text: None) -> None:
        self.warn, self.damaged = warn, set[tuple[str, str]]()
        url = settings.storage_url
        self.url, self.shown, self.folder = url, shown_address(url), settings.store
        self.outages = Outages(url, settings, warn)
        parsed = sa.engine.make_url(url)
        self.path = Path(parsed.database) if parsed.drivername.startswith("sqlite") and parsed.database else None
        self.read_only = self.path is not None and may_not_be_written(self.path)
        self._lock = None if self.read_only else self._lock_file(settings)
        self.leads = Leads(url, self.outages)
        self._open()
        if self.schema != str(SCHEMA):
            raise StoreError(
                f"the store {self.shown} has schema {self.schema}, this program knows {SCHEMA}; "
                "update zslplat, or choose another --store"
            )

    @patient
    def _open(self) -> None:
        """Connect, and make what is missing of the tables, while no other program does."""
        url = address_for_reading(self.path) if self.read_only and self.path is not None else self.url
        lock = file_lock(self._lock) if self._lock is not None else nullcontext()
        with lasting_errors(self.url), lock, alone_on_server(self.url, "tables"):
            self.engine = sa.create_engine(url, **engine_options(url))
            leave_to_parent(self.engine)
            form = form_of_tables(self.engine)
            if form is None:
                _ = self.storage  # which makes them
            _METADATA.create_all(self.engine)
            self._facts = self._read_facts()
            if form != self._facts.get("optuna"):
                _ = self.storage  # which refuses the form of another version
                if not self.read_only:
                    self._write_facts(optuna=form_of_tables(self.engine) or "")
            if "schema" not in self._facts:
                self._write_facts(identity=uuid.uuid4().hex[:16], schema=str(SCHEMA))
            if self.path is not None and not self.read_only and self.schema == str(SCHEMA):
                write_ahead(self.engine, self.path, durable=True)

    @cached_property
    def storage(self) -> Any:
        """Optuna's storage of the studies, made when one is written or opened."""
        with lasting_errors(self.url):
            return optuna_storage(self.engine)

    def _lock_file(self, settings: Settings) -> Path:
        """Return the file that keeps two programs from making the tables of one database at once."""
        if self.path is not None and self.path.parent not in (settings.store, Path()) and self.path.parent.is_dir():
            return self.path.with_name(f"{self.path.name}.lock")
        return settings.studies / "records.lock"

    @property
    def identity(self) -> str:
        """What tells this store from every other; a copy of a store keeps it."""
        return self._facts["identity"]

    @property
    def schema(self) -> str:
        """The version of the store's form, :data:`SCHEMA`."""
        return self._facts["schema"]

    def evaluation_folder(self, run: str) -> Path:
        """Return the folder of an evaluation's outcomes and artifacts, whether or not there is one."""
        return self.folder / "evaluations" / run

    @patient
    def open_study(self, name: str, identity: Mapping[str, Any], maximise: Sequence[bool]) -> OpenStudy:
        """Open or create a study; raises :class:`StoreError` when the name holds another configuration.

        ``maximise``: of each criterion, whether larger values are better.
        """
        opened = self.new_study(name, maximise)
        study = opened.study
        with lasting_errors(self.url):
            attributes = study.user_attrs
            stored = attributes.get("identity")
            if stored is None and study.get_trials(deepcopy=False):
                raise StoreError(
                    f"the study {name!r} in {self.shown} was written by another program; choose another --study"
                )
            if stored is None:
                study.set_user_attr("identity", dict(identity))
            elif stored != json.loads(json.dumps(identity)):
                raise StoreError(configuration_conflict(name, stored, identity))
            if "origin" not in attributes:
                study.set_user_attr("origin", self.identity)
        return opened

    @patient
    def new_study(self, name: str, maximise: Sequence[bool]) -> OpenStudy:
        """Make a study that holds nothing yet, or open the one that is there."""
        import optuna

        with lasting_errors(self.url):
            study = optuna.create_study(
                study_name=name,
                storage=self.storage,
                directions=["maximize" if larger else "minimize" for larger in maximise],
                load_if_exists=True,
                # Proposals are never made from the stored study.
                sampler=optuna.samplers.RandomSampler(seed=0),
            )
        return self._opened(study)

    @patient
    def study(self, name: str) -> OpenStudy:
        """Return a recorded study; raises :class:`UnknownNameError` where there is none of this name."""
        import optuna

        with lasting_errors(self.url):
            try:
                study = optuna.load_study(
                    study_name=name, storage=self.storage, sampler=optuna.samplers.RandomSampler(seed=0)
                )
            except KeyError:
                raise UnknownNameError("study", name, self.study_names(), lister="studies") from None
        return self._opened(study)

    def _opened(self, study: Any) -> OpenStudy:
        return OpenStudy(study, self.url, self.outages, lambda: self.leads.confirm(study.study_name))

    def identities(self) -> dict[str, dict[str, Any]]:
        """Return {name of study: its experiment in JSON form} of all studies of this program, oldest first."""
        return self._attributes("identity")

    def close(self) -> None:
        """Leave the database; it opens again by itself when it is used."""
        if self.path is not None and not self.read_only:
            settle(self.engine, self.path)
        else:
            self.engine.dispose()

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @patient
    def study_names(self) -> list[str]:
        """Return the names of all studies in the database."""
        # Optuna would read all that each study keeps, too.
        with lasting_errors(self.url), self.engine.connect() as connection:
            return list(connection.execute(sa.text("select study_name from studies order by study_id")).scalars())

    @patient
    def add_evaluation(self, owner: str, key: str, split: str, fingerprint: str, content: Mapping[str, Any]) -> None:
        """Record one evaluation; the same (owner, key) again is ignored, as it has the same content.

        One that is damaged is replaced.
        """
        row = {
            "owner": owner,
            "key": key,
            "split": split,
            "fingerprint": fingerprint,
            "created": content.get("created") or time.time(),
            "content": json.dumps(content),
        }
        with lasting_errors(self.url), contextlib.suppress(sa.exc.IntegrityError), self.engine.begin() as connection:
            connection.execute(sa.insert(_EVALUATIONS).values(row))
        if (owner, key) in self.damaged:
            self.replace_evaluation(owner, key, content)
            self.damaged.discard((owner, key))

    @patient
    def replace_evaluation(self, owner: str, key: str, content: Mapping[str, Any]) -> None:
        """Write a recorded evaluation in another form."""
        table = _EVALUATIONS
        change = sa.update(table).where(table.c.owner == owner, table.c.key == key).values(content=json.dumps(content))
        with lasting_errors(self.url), self.engine.begin() as connection:
            connection.execute(change)

    def evaluations(self, owner: str) -> dict[str, dict[str, Any]]:
        """Return {key: content} of an owner's evaluations, in the order in which they were made."""
        return {key: content for _, key, content in self._evaluations(_EVALUATIONS.c.owner == owner)}

    def evaluations_on(self, fingerprint: str, owners: Sequence[str] = ("",)) -> Iterator[_Evaluation]:
        """Yield (owner, key, content) of all evaluations on these data that may be recalled; sealed ones may not."""
        table = _EVALUATIONS
        yield from self._evaluations((table.c.fingerprint == fingerprint) & ~table.c.owner.startswith(SEALED), owners)

    def evaluations_on_split(self, split: str) -> Iterator[_Evaluation]:
        """Yield (owner, key, content) of all evaluations on this split."""
        yield from self._evaluations(_EVALUATIONS.c.split == split)

    def all_evaluations(self, owners: Sequence[str] = ("",)) -> Iterator[_Evaluation]:
        """Yield (owner, key, content) of all evaluations of the owners that begin with one of ``owners``."""
        yield from self._evaluations(sa.true(), owners)

    @patient
    def place_of(self, owner: str, key: str) -> tuple[str, str]:
        """Return the split of a recorded evaluation, and the fingerprint of its data."""
        table = _EVALUATIONS
        query = sa.select(table.c.split, table.c.fingerprint).where(table.c.owner == owner, table.c.key == key)
        with lasting_errors(self.url), self.engine.connect() as connection:
            row = connection.execute(query).one()
        return str(row.split), str(row.fingerprint)

    @patient
    def owners(self) -> list[str]:
        """Return the owners of evaluations, each once, in the order of their first."""
        table = _EVALUATIONS
        query = sa.select(table.c.owner).group_by(table.c.owner).order_by(sa.func.min(table.c.id))
        with lasting_errors(self.url), self.engine.connect() as connection:
            return [row.owner for row in connection.execute(query)]

    @patient
    def test_evaluations(self, fingerprint: str) -> int:
        """Return how often the test split of this data was scored, over all studies, runs and sweeps of this store.

        Evaluations that were taken from another's record scored nothing. The same one of the same data under another
        name counts once.
        """
        table = _EVALUATIONS
        scored = (table.c.split == "test") & (table.c.fingerprint == fingerprint)
        looks: dict[str, Counter[str]] = defaultdict(Counter)
        for _, _, content in self._evaluations(scored & ~table.c.content.contains(f'"{RECALLED_FROM}": "')):
            code = {part: one for part, one in content.get("code", {}).items() if part != "data"}
            experiment = content.get("experiment", {})
            same = key_of({**experiment, "dataset": ""}, code, content.get("repeat", 0))
            looks[same][experiment.get("dataset", "")] += 1
        return sum(max(of_names.values()) for of_names in looks.values())

    @patient
    def looks(self, data: str) -> dict[str, Any]:
        """Return by question what `zslplat gate` has decided at the validation classes of data of this fingerprint."""
        with lasting_errors(self.url):
            looks: dict[str, Any] = json.loads(self._read_facts().get(LOOKS + data, "{}"))
        return looks

    @patient
    def change_looks(self, data: str, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Let ``change`` alter the looks at these data, one command at a time, and return them; twice is as once."""
        lock = file_lock(self._lock) if self._lock is not None else nullcontext()
        with lasting_errors(self.url), lock, alone_on_server(self.url, "looks"):
            looks = self.looks(data)
            change(looks)
            self._write_facts(**{LOOKS + data: json.dumps(looks)})
        return looks

    def data_with_looks(self) -> list[str]:
        """Return the fingerprints of the data that have looks."""
        return [name.removeprefix(LOOKS) for name in self._facts if name.startswith(LOOKS)]

    def run_of(self, owner: str, key: str) -> str:
        """Return the identifier of an owner's run."""
        return self.runs()(owner, key)

    def runs(self) -> Callable[[str, str], str]:
        """Return the function that gives the identifier of a run by owner and key, for many runs at once."""
        origins = {STUDY + name: str(origin) for name, origin in self._attributes("origin").items()}
        return lambda owner, key: run_identifier(origins.get(owner, ""), owner, key)

    @patient
    def find(self, run: str) -> EvaluationRecord | None:
        """Return a recorded trial or evaluation by its identifier, or by a beginning of it that fits no other."""
        origins = self._attributes("origin")
        matches: list[tuple[str, str, str, str]] = []
        with lasting_errors(self.url), self.engine.connect() as connection:
            rows = connection.execute(sa.select(_EVALUATIONS.c.owner, _EVALUATIONS.c.key)).all()
        for owner, key in rows:
            study = owner.removeprefix(STUDY) if owner.startswith(STUDY) else ""
            matches.append((run_identifier(origins.get(study, ""), owner, key), owner, key, study))
        for study, origin in origins.items():
            for number in range(self._count_trials(study)):
                key = trial_key(number)
                matches.append((run_identifier(origin, STUDY + study, key), STUDY + study, key, study))
        fitting = [match for match in matches if match[0].startswith(run)] if len(run) >= 6 else []
        if len(fitting) != 1:
            return None
        identifier, owner, key, study = fitting[0]
        if "/" in key or not study:
            evaluations = self.evaluations(owner)
            if key in evaluations:
                return EvaluationRecord(identifier, owner, key, study, evaluations[key])
            raise StoreError(damaged(owner, key))
        record = self.study(study).finished()[int(key.removeprefix("trial-"))][1]
        return EvaluationRecord(identifier, owner, key, study, record)

    @patient
    def _evaluations(self, condition: Any, owners: Sequence[str] = ("",)) -> list[_Evaluation]:
        of_owners = sa.or_(*(_EVALUATIONS.c.owner.startswith(owner, autoescape=True) for owner in owners))
        query = sa.select(_EVALUATIONS).where(condition, of_owners).order_by(_EVALUATIONS.c.id)
        with lasting_errors(self.url), self.engine.connect() as connection:
            rows = connection.execute(query).all()
        return [(r.owner, r.key, content | {"created": r.created}) for r in rows if (content := self._content(r))]

    def _content(self, row: Any) -> dict[str, Any]:
        """Return what is recorded of an evaluation; nothing where that is damaged."""
        content: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            content = json.loads(row.content)
        needed = {"winner", "folds", "metrics"} if row.owner.startswith(STUDY) else set()
        if isinstance(content, dict) and needed <= set(content):
            return content
        if (row.owner, row.key) not in self.damaged:
            self.damaged.add((row.owner, row.key))
            self.warn(f"{damaged(row.owner, row.key)}; it is left out")
        return {}

    @patient
    def _attributes(self, name: str) -> dict[str, Any]:
        """Return {name of study: value} of one attribute of all studies that have it."""
        query = sa.text(
            "select s.study_name, a.value_json from studies s join study_user_attributes a on a.study_id = s.study_id "
            "where a.key = :key order by s.study_id"
        )
        with lasting_errors(self.url), self.engine.connect() as connection:
            rows = connection.execute(query, {"key": name}).all()
        values = {}
        for study, text in rows:
            with contextlib.suppress(ValueError):  # as if it had none: a study of another program
                values[study] = json.loads(text)
        return values

    @patient
    def _count_trials(self, study: str) -> int:
        query = sa.text("select count(*) from trials join studies using (study_id) where study_name = :name")
        with lasting_errors(self.url), self.engine.connect() as connection:
            return int(connection.execute(query, {"name": study}).scalar_one())

    def _read_facts(self) -> dict[str, str]:
        with self.engine.connect() as connection:
            return {row.name: row.value for row in connection.execute(sa.select(_STORE))}

    def _write_facts(self, **facts: str) -> None:
        with lasting_errors(self.url), self.engine.begin() as connection:
            for name, value in facts.items():
                connection.execute(sa.delete(_STORE).where(_STORE.c.name == name))
                connection.execute(sa.insert(_STORE).values(name=name, value=value))
        self._facts = {**self._facts, **facts}
