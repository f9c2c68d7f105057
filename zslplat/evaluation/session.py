"""One session: the store, data, records and workers of one command, and the evaluations that it needs.

Every command that evaluates (a search, a run, a sweep, the repetition of a run, a table) opens a session and closes it.
The session prepares problems and statistics. It evaluates nothing twice: an evaluation of the same experiment by the
same code is taken from the records.
"""

from __future__ import annotations

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
from zslplat.evaluation.reporter import Reporter
from zslplat.evaluation.scoring.outcomes import REPLICATES, read_outcomes
from zslplat.evaluation.workers.pool import Deadline, Workers
from zslplat.keys import COLUMNS, METRIC, RECORD_CHOICES, key_of
from zslplat.models.folder import MODEL, exists, share
from zslplat.names import counted
from zslplat.records.costs import CPU_SECONDS, evaluation_seconds, prepared_seconds
from zslplat.records.database import Records
from zslplat.records.folders import working_lock
from zslplat.records.locks import file_lock
from zslplat.records.studies import RECALLED_FROM, STUDY
from zslplat.space import Space
from zslplat.spec import format_value

# Problems with their statistics, or without where these are prepared for each value of a costly hyperparameter.
PreparedProblems = Sequence[tuple[Path, Path | None]]
NO_MATRIX_LIMIT = 2**40  # of matrices: no limit
# The entries of a record that depend on the evaluation alone, not on the request.
_EVALUATED = (
    *("state", "value", "metrics", "folds", RECORD_CHOICES, "warnings", "steps"),
    *("seconds", "cpu_seconds", "prepared", "peak_bytes", "processor"),
)


def seconds_of_trial(record: Mapping[str, Any], problems: PreparedProblems) -> float:
    """Return the processor seconds of a trial: with what was prepared for its values, without what all trials share."""
    by_value = any(statistics is None for _, statistics in problems)
    return evaluation_seconds(record, CPU_SECONDS) + (prepared_seconds(record, CPU_SECONDS) if by_value else 0.0)


@dataclass(frozen=True)
class EvaluationRequest:
    """A request for one evaluation: its experiment, and the outputs that are needed beside its metrics.

    ``run``: the identifier under which it will be recorded; ``artifacts``: the folder for its files; ``thresholds``:
    see :class:`~zslplat.evaluation.jobs.EvaluateJob`; ``full``: make tables and figures, with ``maps`` maps as
    well; ``model``: keep what was learned for predictions, if it is of the test split and not larger than the settings
    allow; ``outcomes``: write outcomes per row of validation folds, too.
    """

    label: str
    run: str
    experiment: Experiment
    artifacts: Path | None = None
    matrices_bytes: int = NO_MATRIX_LIMIT
    thresholds: Mapping[int, float] = field(default_factory=dict)
    full: bool = False
    maps: bool = False
    model: bool = False
    outcomes: bool = False

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The values of all hyperparameters that the experiment sets."""
        return self.experiment.method.parameters


class Session:
    """What one command works with; a context manager that ends its workers and leaves the store in order.

    ``computed`` and ``recalled`` count the evaluations that were carried out and those that were taken from records.
    ``deadline`` ends what the session prepares and evaluates.
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
        self.computed = self.recalled = 0
        self.deadline = Deadline()
        self._workers: Workers | None = None
        self._spaces_by_problem: dict[Path, Space] = {}  # problems whose statistics depend on the values of a trial
        self._working_lock = ExitStack()
        self._recallable: dict[str, tuple[str, dict[str, Any]]] | None = None

    def __enter__(self) -> Self:
        self._working_lock.enter_context(file_lock(working_lock(self.settings), shared=True))
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_workers()
        self.records.close()
        self.context.evict()
        self._working_lock.close()

    def start_workers(self, most: int, log: Path) -> None:
        """Set up workers, no more than ``most`` jobs need; what they print goes to ``log``."""
        log.parent.mkdir(parents=True, exist_ok=True)
        cache = self.context.cache
        settings = WorkerSettings(cache.root, log, self.context.code_file, cache_bytes=cache.limit_bytes)
        self._workers = Workers(max(1, min(self.most_workers, most)), settings, self.cluster, self.reporter.note)

    def stop_workers(self) -> None:
        """End the workers and everything that they do."""
        if self._workers is not None:
            self._workers.stop()

    def prepare(
        self, split: str, space: Space | None = None, while_waiting: Callable[[], None] = lambda: None
    ) -> PreparedProblems:
        """Return the problems of a split, each with the method's statistics for it; what is missing is made now.

        ``while_waiting`` is called once, while workers make statistics where some are missing.
        Where the method searches a costly hyperparameter, statistics are made for each of its values by
        :meth:`evaluate`.
        """
        context, name = self.context, self.experiment.method.name
        if self.cluster or not context.has_problems(split):
            self._pool.warm_up()
        problems = context.problems(split)
        if set(context.method_class.costly) & set(space or {}):
            self._spaces_by_problem |= dict.fromkeys(problems, space or {})
            while_waiting()
            return [(problem, None) for problem in problems]
        jobs = [context.preparation(problem, space or {}) for problem in problems]
        missing = self._missing(jobs)
        if missing:
            self.reporter.stage(f"preparing statistics of {name} for {counted(len(missing), 'problem')}")
            for answer in self._pool.run(missing, Limits(), while_waiting=while_waiting, deadline=self.deadline):
                if answer.result is None:
                    raise ZslplatError(f"preparing {name} failed: {answer.reason}")
                context.counts["statistics"] += 1
        else:
            while_waiting()
        return list(zip(problems, [context.cache.path(job.target) for job in jobs], strict=True))

    def evaluate(
        self,
        requests: Sequence[EvaluationRequest],
        problems: PreparedProblems,
        limits: Limits,
        on_answer: Callable[[int, Answer], None],
        *,
        while_waiting: Callable[[], None] | None = None,
    ) -> None:
        """Carry out the requests, all on these problems; ``on_answer(position, answer)`` is called as each ends.

        The result of an answer is the record to be stored; it holds the experiment, question, code and knowledge of the
        method. Requests for the same evaluation share one. Raises like
        :meth:`zslplat.evaluation.workers.pool.Workers.run`.
        """
        groups: dict[str | int, list[int]] = {}
        for position, request in enumerate(requests):
            record = self._recall(request) if self.recall else None
            if record is None:
                groups.setdefault(self._request_key(request) if self.recall else position, []).append(position)
            else:
                self.recalled += 1
                on_answer(position, Answer(record))
        waiting = list(groups.values())

        def pass_on(positions: Sequence[int], answer: Answer) -> None:
            self.computed += 1
            for position, shared in self._answers_for(positions, requests, answer):
                on_answer(position, shared)

        if self._spaces_by_problem and waiting:
            # A value that cannot be prepared fails its own trials and no others.
            failed = self._prepare_values([requests[positions[0]] for positions in waiting], problems, limits)
            for number, answer in failed.items():
                pass_on(waiting[number], answer)
            waiting = [positions for number, positions in enumerate(waiting) if number not in failed]
        jobs = [self._job(requests[positions[0]], problems, limits) for positions in waiting]
        if jobs or while_waiting is not None:

            def finish(number: int, answer: Answer) -> None:
                pass_on(waiting[number], answer)

            self._pool.run(jobs, limits, finish, while_waiting, deadline=self.deadline)

    def _answers_for(
        self, positions: Sequence[int], requests: Sequence[EvaluationRequest], answer: Answer
    ) -> Iterator[tuple[int, Answer]]:
        """Yield the position and the answer of each of the requests that share an evaluation, the first one first."""
        first = requests[positions[0]]
        for position in positions:
            if answer.result is None:
                yield position, answer
                continue
            record = {**answer.result, **self._stamp(requests[position])}
            if position != positions[0]:
                self.recalled += 1
                record[RECALLED_FROM] = first.run
            elif self._recallable is not None:
                self._recallable.update(_reusable_records(record))
            yield position, Answer(record)

    def prepare_note(self) -> str:
        """Return a line that counts what was prepared and what was found in the cache."""
        counts = self.context.counts
        made, cached = (
            f"{counted(counts[f'problems{which}'], 'problem')}, {counts[f'statistics{which}']} statistics"
            for which in ("", " cached")
        )
        return f"prepared once: {made}; found in the cache: {cached}"

    def _missing(self, jobs: Sequence[PrepareJob]) -> list[PrepareJob]:
        """Return the jobs whose statistics are not in the cache, each once."""
        cache = self.context.cache
        missing = {job.target: job for job in jobs if not cache.has(job.target)}
        self.context.counts["statistics cached"] += len({job.target for job in jobs}) - len(missing)
        return list(missing.values())

    def _prepare_values(
        self, requests: Sequence[EvaluationRequest], problems: PreparedProblems, limits: Limits
    ) -> dict[int, Answer]:
        """Prepare missing statistics for the values of these requests; return the answers that failed, by position."""
        waiting = [problem for problem, _ in problems if problem in self._spaces_by_problem]
        jobs_by_request = [[self._preparation(request, problem) for problem in waiting] for request in requests]
        missing = self._missing([job for jobs in jobs_by_request for job in jobs])
        if missing:
            self.reporter.stage(f"preparing statistics of {self.experiment.method.name} for new values")
        answers = self._pool.run(missing, limits, deadline=self.deadline) if missing else []
        self.context.counts["statistics"] += sum(answer.result is not None for answer in answers)
        failed = {job.target: a for job, a in zip(missing, answers, strict=True) if a.result is None}
        return {
            number: next(failed[job.target] for job in jobs if job.target in failed)
            for number, jobs in enumerate(jobs_by_request)
            if any(job.target in failed for job in jobs)
        }

    def _preparation(self, request: EvaluationRequest, problem: Path) -> PrepareJob:
        return self.context.preparation(problem, self._spaces_by_problem[problem], request.parameters)

    def _statistics_key(self, request: EvaluationRequest, problem: Path, statistics: Path | None) -> str | None:
        """Return the key of the statistics of a request for a problem."""
        if problem in self._spaces_by_problem:
            return self._preparation(request, problem).target
        return statistics.name if statistics else None

    @property
    def _pool(self) -> Workers:
        if self._workers is None:
            raise RuntimeError("start_workers comes first")
        return self._workers

    def _job(self, request: EvaluationRequest, problems: PreparedProblems, limits: Limits) -> EvaluateJob:
        experiment, test = request.experiment, request.experiment.split == TEST
        resampled, stores_model = request.full and (test or request.outcomes), self._stores_model(request)
        # A model takes the features of a table by their names.
        columns = self.context.dataset.source.get(COLUMNS, []) if stores_model else []
        return EvaluateJob(
            label=request.label,
            method=experiment.method.name,
            parameters=dict(request.parameters),
            seed=int(experiment.method_seed or 0),
            task=str(experiment.task),
            problems=tuple(
                (problem.name, self._statistics_key(request, problem, statistics)) for problem, statistics in problems
            ),
            thresholds=request.thresholds,
            validation_choices=dict(experiment.validation_choices),
            full=request.full,
            artifacts=request.artifacts,
            matrices_bytes=request.matrices_bytes,
            replicates=REPLICATES if resampled else 0,
            outcomes=self.records.evaluation_folder(request.run) if resampled else None,
            maps=request.maps,
            metric=experiment.search.get(METRIC, ""),
            test=test,
            blocks=self.context.blocks,
            sources=self.context.sources(self.experiment.space, request.parameters),
            model_bytes=self._model_bytes(limits) if stores_model else 0,
            about={"experiment": experiment.to_json(), COLUMNS: columns},
        )

    def _stores_model(self, request: EvaluationRequest) -> bool:
        return request.model and request.experiment.split == TEST and self.settings.model_gigabytes > 0

    def _model_bytes(self, limits: Limits) -> int:
        """Return how large a model may be: it is copied while the method still has what it learned."""
        most = int(self.settings.model_gigabytes * 2**30)
        return most if limits.bytes is None else min(most, limits.bytes // 4)

    def _stamp(self, request: EvaluationRequest) -> dict[str, Any]:
        """Return the entries of a record that say which evaluation it is of."""
        return {
            "run": request.run,
            "experiment": request.experiment.to_json(),
            "question": request.experiment.question,
            "code": self.context.code(request.parameters),
            "knows": self.context.knowledge(request.parameters),
        }

    def _recall(self, request: EvaluationRequest) -> dict[str, Any] | None:
        """Return a new record made of a recorded one of the same experiment and code; None if there is none.

        An evaluation that thresholds may stop early is never recalled: its result depends on the thresholds.
        """
        if request.thresholds:
            return None
        if self._recallable is None:
            self._recallable = dict(self._search_records())
        stamp = self._stamp(request)
        match = self._recallable.get(key_of(stamp["question"], stamp["code"]))
        if match is None:
            return None
        other, record = match
        folder = self.records.evaluation_folder(other)
        if request.full and not ((folder / "artifacts").exists() and self.has_outcomes(other, record)):
            return None
        if self._stores_model(request) and not _has_model(folder, record):
            return None
        return {**{name: record[name] for name in _EVALUATED if name in record}, **stamp, RECALLED_FROM: other}

    def _request_key(self, request: EvaluationRequest) -> str:
        """Return a key that two requests for the same evaluation share, whatever their runs and folders."""
        evaluation = (
            request.experiment.question,
            self.context.code(request.parameters),
            sorted(request.thresholds.items()),
        )
        return key_of(*evaluation, request.full, request.maps, request.model)

    def has_outcomes(self, run: str, record: Mapping[str, Any]) -> bool:
        """Tell whether the outcomes per row of an evaluation, if it wrote any, can still be read."""
        if any("outcomes" in fold for fold in record["folds"]):
            try:
                read_outcomes(self.records.evaluation_folder(run))
            except StoreError:
                return False
        return True

    def adopt(self, record: Mapping[str, Any]) -> None:
        """Put the files of an evaluation into place before it is recorded.

        A recalled evaluation gets copies of the outcomes, artifacts and model of the recorded one; large arrays of
        models are on disk once. Raises :class:`StoreError` where files cannot be written.
        """
        folder, recalled = self.records.evaluation_folder(record["run"]), record.get(RECALLED_FROM)
        try:
            if recalled is not None:
                shutil.copytree(self.records.evaluation_folder(recalled), folder, dirs_exist_ok=True)
            share(folder / MODEL, self.settings.store)
        except (OSError, shutil.Error) as error:
            what = f"copy the outcomes of run {recalled} to" if recalled else "share the arrays of"
            raise StoreError(
                f"cannot {what} {folder}: {getattr(error, 'strerror', None) or error}; free space or permissions and "
                "give the same command again"
            ) from error

    def _search_records(self) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
        """Yield (key of question and code, (run, record)) of every complete record on these data."""
        requested = self.experiment.to_json()
        same = ("dataset", "task", "features", "signatures", "seed", "data")
        for name, identity in self.records.identities().items():
            same_request = all(identity.get(part) == requested.get(part) for part in same)
            if same_request and self._is_of_method(identity):
                with suppress(StoreError):  # a damaged study has nothing to offer
                    for _, record in self.records.study(name).finished():
                        yield from _reusable_records(record)
        for owner, _, record in self.records.evaluations_on(self.experiment.data):
            if not owner.startswith(STUDY) or self._is_of_method(record.get("experiment", {})):
                yield from _reusable_records(record)

    def _is_of_method(self, experiment: Mapping[str, Any]) -> bool:
        """Tell whether an experiment in JSON form is of the method of this session."""
        return str(experiment.get("method", "")).partition("(")[0] == format_value(self.experiment.method.name)


def _has_model(folder: Path, record: Mapping[str, Any]) -> bool:
    """Tell whether an evaluation has a model, or says why it has none."""
    entry = next((fold["model"] for fold in record.get("folds", []) if "model" in fold), None)
    return entry is not None and ("left_out" in entry or exists(folder / MODEL))


def _reusable_records(record: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    if record.get("state") == "complete" and "question" in record and "code" in record:
        yield key_of(record["question"], record["code"]), (record["run"], dict(record))
