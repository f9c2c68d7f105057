"""One session: store, data, records and workers of one command, and the evaluations that it asks for.

Every command that evaluates (a search, a run, a sweep, the repetition of a run, a table) opens a session and closes
it. Preparation is written here once, and so is the rule that an evaluation which is recorded already, of the same
experiment by the same code, is taken from the record and not computed again.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from zslplat.errors import StoreError, ZslplatError
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import TEST, Experiment
from zslplat.evaluation.jobs import Answer, EvaluateJob, Limits, PrepareJob, WorkerSettings
from zslplat.evaluation.reporter import Reporter, StageProgress
from zslplat.evaluation.scoring.outcomes import REPLICATES, read_outcomes
from zslplat.evaluation.workers.pool import Deadline, Workers
from zslplat.keys import key_of
from zslplat.models.folder import MODEL, SHARED, exists, settle
from zslplat.records.costs import SECONDS, prepared_seconds
from zslplat.records.database import Records
from zslplat.records.folders import working_lock
from zslplat.records.locks import file_lock
from zslplat.records.studies import STUDY
from zslplat.space import Space

# Problems with their statistics; without, where these are prepared for each value of what is costly.
Problems = Sequence[tuple[Path, Path | None]]
ALL_BYTES = 2**40  # of matrices: no bound
# What a record holds of the evaluation itself; the rest says who asked for it, and when.
_EVALUATED = (
    *("state", "value", "metrics", "folds", "carry", "warnings", "steps"),
    *("seconds", "cpu_seconds", "prepared", "peak_bytes", "processor"),
)


def seconds_of_trial(record: Mapping[str, Any], problems: Problems) -> float:
    """Return what a trial on these problems takes: with what is prepared for its values, without what is for all."""
    by_value = any(statistics is None for _, statistics in problems)
    return float(record[SECONDS]) + (prepared_seconds(record) if by_value else 0.0)


@dataclass(frozen=True)
class Request:
    """One evaluation that is asked for: its experiment, and what beside its metrics is wanted.

    ``run``: identifier under which it will be recorded; ``artifacts``: folder for what it leaves; ``thresholds``: see
    :class:`~zslplat.evaluation.scoring.evaluation.EvaluateJob`; ``describe``: tables, figures and maps as well;
    ``model``: what was learned is kept for predictions, where it is of the test split and no larger than the settings
    allow.
    """

    label: str
    run: str
    experiment: Experiment
    parameters: Mapping[str, Any]
    artifacts: Path | None = None
    matrices_bytes: int = ALL_BYTES
    thresholds: Mapping[int, float] = field(default_factory=dict)
    describe: bool = False
    maps: bool = False
    model: bool = False


class Session:
    """What one command works with; a context manager that ends its workers and leaves the store in order.

    ``computed`` and ``known`` count the evaluations that were carried out, and those that were taken from records.
    ``deadline`` is when it ends what it prepares and evaluates.
    """

    def __init__(
        self,
        context: ExperimentContext,
        records: Records,
        reporter: Reporter,
        *,
        workers: int = 2,
        cluster: str | None = None,
        recall: bool = True,
    ) -> None:
        self.context, self.records, self.reporter = context, records, reporter
        self.experiment, self.settings = context.experiment, context.settings
        self.most_workers, self.cluster, self.recall = workers, cluster, recall
        self.computed = self.known = 0
        self.deadline = Deadline()
        self._workers: Workers | None = None
        self._by_value: dict[Path, Space] = {}  # problems whose statistics wait for the values of a trial
        self._at_work = ExitStack()
        self._recorded: dict[str, tuple[str, dict[str, Any]]] | None = None

    def __enter__(self) -> Self:
        self._at_work.enter_context(file_lock(working_lock(self.settings), shared=True))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_workers()
        self.records.close()
        self.context.evict()
        self._at_work.close()

    def start_workers(self, most: int, log: Path) -> None:
        """Have workers ready, no more than ``most`` jobs need; what they print goes to ``log``."""
        log.parent.mkdir(parents=True, exist_ok=True)
        cache = self.context.cache
        settings = WorkerSettings(cache.root, log, self.context.code_file, cache_bytes=cache.limit_bytes)
        self._workers = Workers(max(1, min(self.most_workers, most)), settings, self.cluster, self.reporter.note)

    def stop_workers(self) -> None:
        """End the workers and all that they do."""
        if self._workers is not None:
            self._workers.stop()

    def prepared(self, split: str, space: Space | None = None) -> Problems:
        """Return the problems of a split, each with the method's statistics for it, made now where they are missing.

        Where the method searches something costly, statistics are made for each of its values, by :meth:`evaluate`.
        """
        context, name = self.context, self.experiment.method.name
        if self.cluster or not context.made(split):
            self._pool.warm_up()
        problems = context.problems(split)
        if set(context.method_class.costly) & set(space or {}):
            self._by_value |= dict.fromkeys(problems, space or {})
            return [(problem, None) for problem in problems]
        jobs = [context.preparation(problem, space or {}) for problem in problems]
        missing = self._missing(jobs)
        if missing:
            self.reporter.stage(f"preparing statistics of {name} for {len(missing)} problems")
            for answer in self._prepare(missing, Limits(), StageProgress(self.reporter, len(missing))):
                if answer.result is None:
                    raise ZslplatError(f"preparing {name} failed: {answer.reason}")
                context.counts["statistics"] += 1
        return list(zip(problems, [context.cache.path(job.target) for job in jobs], strict=True))

    def evaluate(
        self,
        requests: Sequence[Request],
        problems: Problems,
        limits: Limits,
        on_answer: Callable[[int, Answer], None],
        *,
        while_waiting: Callable[[], None] | None = None,
    ) -> None:
        """Carry out the requests, all on these problems; ``on_answer(position, answer)`` is called as each ends.

        An answer's result is the record to be stored: it holds experiment, question, code and what the method knows.
        Requests for the same evaluation share one. Raises like :meth:`zslplat.evaluation.workers.pool.Workers.run`.
        """
        alike: dict[str | int, list[int]] = {}
        for position, request in enumerate(requests):
            record = self._recall(request) if self.recall else None
            if record is None:
                alike.setdefault(self._content(request) if self.recall else position, []).append(position)
            else:
                self.known += 1
                on_answer(position, Answer(record))
        waiting = list(alike.values())

        def answered(place: int, answer: Answer) -> None:
            self.computed += 1
            first, result = requests[waiting[place][0]], answer.result
            if result is not None:
                answer = Answer({**result, **self._stamp(first)})
                self._remember(first, answer.result or {})
            on_answer(waiting[place][0], answer)
            for position in waiting[place][1:]:
                if result is not None:
                    self.known += 1
                    answer = Answer({**result, **self._stamp(requests[position]), "known_from": first.run})
                on_answer(position, answer)

        if self._by_value and waiting:
            # A value that cannot be prepared for fails its trials, and no others.
            failed = self._prepare_values([requests[p[0]] for p in waiting], problems, limits)
            places = [place for place in range(len(waiting)) if place not in failed]
            for place, answer in failed.items():
                answered(place, answer)
            waiting = [waiting[place] for place in places]
        jobs = [self._job(requests[positions[0]], problems, limits) for positions in waiting]
        if jobs or while_waiting is not None:
            working = StageProgress(self.reporter)
            # How far a fold of a method without steps is, nobody knows.
            self.deadline.begin("the first trial", len(problems), not self.context.method_class.step_parameter)

            def moved(place: int, done: float) -> None:
                working(place, done)
                self.deadline.advance_to(len(problems) * done)

            def ended(place: int, answer: Answer) -> None:
                moved(place, 1.0)
                answered(place, answer)

            self._pool.run(jobs, limits, ended, while_waiting, deadline=self.deadline, on_progress=moved)

    def prepare_note(self) -> str:
        """Return in words what was prepared and what was found in the cache."""
        counts = self.context.counts
        return (
            f"prepared once: {counts['problems']} problems, {counts['statistics']} statistics; "
            f"found in the cache: {counts['problems cached']} problems, {counts['statistics cached']} statistics"
        )

    def _missing(self, jobs: Sequence[PrepareJob]) -> list[PrepareJob]:
        """Return those whose statistics are not in the cache, each once."""
        cache = self.context.cache
        missing = {job.target: job for job in jobs if not cache.has(job.target)}
        self.context.counts["statistics cached"] += len({job.target for job in jobs}) - len(missing)
        return list(missing.values())

    def _prepare(
        self,
        jobs: Sequence[PrepareJob],
        limits: Limits,
        working: Callable[[int, float], None] = lambda place, done: None,
    ) -> list[Answer]:
        at_once = len(jobs) if self.cluster else self._pool.count
        self.deadline.begin(f"preparing {self.experiment.method.name} for the first trials", len(jobs), at_once)
        ready = itertools.count(1)

        def made(place: int, answer: Answer) -> None:
            working(place, 1.0)
            self.deadline.advance_to(next(ready))

        return self._pool.run(jobs, limits, made, deadline=self.deadline)

    def _prepare_values(self, requests: Sequence[Request], problems: Problems, limits: Limits) -> dict[int, Answer]:
        """Make what is missing of the statistics for the values of these requests; return who cannot have his."""
        waiting = [problem for problem, _ in problems if problem in self._by_value]
        jobs_by_request = [[self._preparation(request, problem) for problem in waiting] for request in requests]
        missing = self._missing([job for jobs in jobs_by_request for job in jobs])
        if missing:
            self.reporter.stage(f"preparing statistics of {self.experiment.method.name} for new values")
        answers = self._prepare(missing, limits) if missing else []
        self.context.counts["statistics"] += sum(answer.result is not None for answer in answers)
        failed = {job.target: a for job, a in zip(missing, answers, strict=True) if a.result is None}
        return {
            place: next(failed[job.target] for job in jobs if job.target in failed)
            for place, jobs in enumerate(jobs_by_request)
            if any(job.target in failed for job in jobs)
        }

    def _preparation(self, request: Request, problem: Path) -> PrepareJob:
        return self.context.preparation(problem, self._by_value[problem], request.parameters)

    def _entry_name(self, request: Request, problem: Path, statistics: Path | None) -> str | None:
        """Return the key of the statistics that a request has for a problem."""
        if problem in self._by_value:
            return self._preparation(request, problem).target
        return statistics.name if statistics else None

    @property
    def _pool(self) -> Workers:
        if self._workers is None:
            raise RuntimeError("start_workers comes first")
        return self._workers

    def _job(self, request: Request, problems: Problems, limits: Limits) -> EvaluateJob:
        experiment, test = request.experiment, request.experiment.split == TEST
        return EvaluateJob(
            label=request.label,
            method=experiment.method.name,
            parameters={**self.experiment.method.parameters, **request.parameters},
            seed=int(experiment.method_seed or 0),
            task=str(experiment.task),
            problems=tuple(
                (problem.name, self._entry_name(request, problem, statistics)) for problem, statistics in problems
            ),
            thresholds=request.thresholds,
            validation_choices=dict(experiment.validation_choices),
            full=request.describe,
            artifacts=request.artifacts,
            matrices_bytes=request.matrices_bytes,
            replicates=REPLICATES if test and request.describe else 0,
            outcomes=self.records.evaluation_folder(request.run) if test and request.describe else None,
            maps=request.maps,
            test=test,
            blocks=self.context.blocks,
            sources=self.context.sources(self.experiment.space, request.parameters),
            model_bytes=self._model_bytes(limits) if self._keeps_model(request) else 0,
            about={"experiment": experiment.to_json()},
        )

    def _keeps_model(self, request: Request) -> bool:
        return request.model and request.experiment.split == TEST and self.settings.model_gigabytes > 0

    def _model_bytes(self, limits: Limits) -> int:
        """Return how large a model may be: it is copied while the method still holds what it learned."""
        most = int(self.settings.model_gigabytes * 2**30)
        return most if limits.bytes is None else min(most, limits.bytes // 4)

    def _stamp(self, request: Request) -> dict[str, Any]:
        """Return what a record says of its evaluation, beside what came out."""
        return {
            "run": request.run,
            "experiment": request.experiment.to_json(),
            "question": request.experiment.question,
            "code": self.context.code(request.parameters),
            "knows": self.context.knows(request.parameters),
        }

    def _recall(self, request: Request) -> dict[str, Any] | None:
        """Return a new record of a recorded evaluation of the same experiment by the same code; None where there is
        none.

        Evaluations that thresholds may stop early are computed: what they would have given depends on the thresholds.
        """
        if request.thresholds:
            return None
        if self._recorded is None:
            self._recorded = dict(self._search_records())
        stamp = self._stamp(request)
        match = self._recorded.get(key_of(stamp["question"], stamp["code"]))
        if match is None:
            return None
        other, record = match
        folder = self.records.evaluation_folder(other)
        if request.describe and not ((folder / "artifacts").exists() and self.has_outcomes(other, record)):
            return None
        if self._keeps_model(request) and not has_model(folder, record):
            return None
        return {**{name: record[name] for name in _EVALUATED if name in record}, **stamp, "known_from": other}

    def _content(self, request: Request) -> str:
        """Return what two requests for one evaluation agree in: all but the run and its folders."""
        evaluation = (
            request.experiment.question,
            self.context.code(request.parameters),
            sorted(request.thresholds.items()),
        )
        return key_of(*evaluation, request.describe, request.maps, request.model)

    def has_outcomes(self, run: str, record: Mapping[str, Any]) -> bool:
        """Tell whether the outcomes per row that an evaluation wrote, if any, can still be read."""
        if any("outcomes" in fold for fold in record["folds"]):
            try:
                read_outcomes(self.records.evaluation_folder(run))
            except StoreError:
                return False
        return True

    def adopt(self, record: Mapping[str, Any]) -> None:
        """Put the files of an evaluation where they belong, before it is recorded.

        One that is taken from another's record gets the outcomes, artifacts and model of that one; large arrays of
        models go to where models share them. Raises :class:`StoreError` where they cannot be copied or moved.
        """
        folder = self.records.evaluation_folder(record["run"])
        try:
            settle(folder / MODEL, self.settings.store / SHARED)
        except OSError as error:
            raise StoreError(
                f"cannot move the arrays of {folder / MODEL}: {error.strerror or error}; free space or permissions and "
                "give the same command again, or give --no-model"
            ) from error
        if "known_from" in record:
            try:
                shutil.copytree(self.records.evaluation_folder(record["known_from"]), folder, dirs_exist_ok=True)
            except (OSError, shutil.Error) as error:
                raise StoreError(
                    f"cannot copy the outcomes of run {record['known_from']} to {folder}: "
                    f"{getattr(error, 'strerror', None) or error}; free space or permissions and give the same command "
                    "again"
                ) from error

    def _remember(self, request: Request, record: Mapping[str, Any]) -> None:
        if self._recorded is not None and record.get("state") == "complete" and record.get("warnings") is not None:
            self._recorded[key_of(record["question"], record["code"])] = (request.run, dict(record))

    def _search_records(self) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
        """Yield (key of question and code, (run, record)) of everything complete that was recorded on these data."""
        requested = self.experiment.to_json()
        same = ("dataset", "task", "features", "signatures", "seed", "data")
        for name, identity in self.records.identities().items():
            sure = all(identity.get(part) == requested.get(part) for part in same)
            if sure and str(identity.get("method", "")).partition("(")[0] == self.experiment.method.name:
                with suppress(StoreError):  # one that is damaged knows nothing
                    for _, record in self.records.study(name).finished():
                        yield from _usable(record)
        for owner, _, record in self.records.evaluations_on(self.experiment.data):
            if not owner.startswith(STUDY) or self.experiment.method.name in str(record.get("experiment", "")):
                yield from _usable(record)


def has_model(folder: Path, record: Mapping[str, Any]) -> bool:
    """Tell whether an evaluation has a model, or says why it has none."""
    entry = next((fold["model"] for fold in record.get("folds", []) if "model" in fold), None)
    return entry is not None and ("left_out" in entry or exists(folder / MODEL))


def _usable(record: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    if record.get("state") == "complete" and "question" in record and "code" in record:
        yield key_of(record["question"], record["code"]), (record["run"], dict(record))
