"""One setting, evaluated once: on the validation folds, or on the test split when that is asked for."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zslplat.config import write_config
from zslplat.errors import StoreError, UnknownNameError, UsageError, ZslplatError
from zslplat.evaluation.cache import key_of
from zslplat.evaluation.executor import Workers
from zslplat.evaluation.experiment import Experiment, Workbench
from zslplat.evaluation.jobs import REPLICATES, EvaluateJob
from zslplat.evaluation.reporter import Interrupted, Reporter, SilentReporter
from zslplat.evaluation.warned import in_words, warnings_tag
from zslplat.evaluation.worker import Answer, Limits
from zslplat.records.database import Records
from zslplat.records.locks import file_lock
from zslplat.settings import Settings
from zslplat.tracking import pending
from zslplat.tracking.projection import Projection, RunView
from zslplat.tracking.views import common_tags, dataset_view, experiment_name, knowledge_tag, rerun_tag, rows_tag
from zslplat.tuning.study import repeat_seed
from zslplat.tuning.verdicts import chance_warning

ARTIFACT_SUFFIXES = frozenset({".csv", ".npy", ".npz", ".png", ".json", ".toml"})


@dataclass
class RunResult:
    """The metrics of each repeat on one split, the MLflow runs that show them, and warnings of what to look at."""

    split: str
    metrics: list[dict[str, float]]
    folds: list[list[dict[str, Any]]]
    primary: str
    chance: float
    run_ids: list[str]
    looks_at_test: int
    artifacts: list[Path] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def run_setting(
    experiment: Experiment,
    settings: Settings,
    *,
    test: bool = False,
    repeats: int = 1,
    carried: Mapping[str, Any] | None = None,
    workers: int = 2,
    limits: Limits | None = None,
    reporter: Reporter | None = None,
    export: Path | None = None,
    method_seed: int | None = None,
) -> RunResult:
    """Evaluate the method's fixed parameters; ``carried`` is what an earlier validation handed to the refit.

    Repeats mean something for random methods only; others are evaluated once. ``export``: folder that gets a copy of
    the artifacts, or a path that ends in the file name of one of them. ``method_seed``: seed of the first repeat where
    it is not the experiment's. Raises like :func:`zslplat.tuning.study.run_study`.
    """
    reporter = reporter or SilentReporter()
    started = time.time()
    if export is not None:
        _check_export(export)
    settings.make_store()
    bench = Workbench(experiment, settings, on_stage=reporter.stage)
    records = Records(settings.storage_url, settings.studies)
    problems = [bench.test_problem()] if test else bench.validation_problems()
    if export is not None and _names_artifact(export) and len(problems) > 1:
        raise UsageError(f"each of {len(problems)} folds has its own {export.name}; give --export a folder, or --test")
    split = "test" if test else "validation"
    owner = f"run:{key_of(experiment.identity(), split, started)}"
    folder = settings.studies / owner.replace(":", "-")
    folder.mkdir(parents=True, exist_ok=True)
    repeats = repeats if bench.random else 1
    built, chances = in_words(bench.warned(problems)), [bench.chance(problem) for problem in problems]
    result = RunResult(split, [], [], bench.task.primary.name, chances[0], [], 0, warnings=built)
    try:
        with Workers(min(workers, max(repeats, len(problems))), log_path=str(folder / "workers.log")) as pool:
            statistics = prepare_statistics(bench, pool, problems, reporter)
            jobs = [
                EvaluateJob(
                    label=f"{split} {r}",
                    method=experiment.method.name,
                    parameters=dict(experiment.method.parameters),
                    seed=repeat_seed(experiment.seed if method_seed is None else method_seed, r),
                    task=str(experiment.task),
                    problems=tuple(zip(problems, statistics, strict=True)),
                    carried=dict(carried or {}),
                    full=True,
                    artifacts=folder / f"repeat-{r}",
                    matrices_bytes=2**40,
                    replicates=REPLICATES if test else 0,
                    maps=True,
                    test=test,
                )
                for r in range(repeats)
            ]
            reporter.stage(f"evaluating {experiment.method} on the {split} split")
            answers = pool.run(jobs, limits or Limits())
    except KeyboardInterrupt:
        raise Interrupted("stopped; nothing of this run was recorded; give the same command again") from None
    with file_lock(folder / pending.LOCK):
        shown = _show(
            result, bench, settings, records, owner, folder, jobs, answers, started, reporter, export, chances
        )
    if shown:
        pending.catch_up(settings, reporter.warn)
    result.looks_at_test = records.looks_at_test(bench.dataset.fingerprint)
    records.close()
    bench.evict()
    return result


def _show(
    result: RunResult,
    bench: Workbench,
    settings: Settings,
    records: Records,
    owner: str,
    folder: Path,
    jobs: Sequence[EvaluateJob],
    answers: Sequence[Answer],
    started: float,
    reporter: Reporter,
    export: Path | None,
    chances: Sequence[float],
) -> bool:
    """Record the answers and show them in MLflow; False when the server is away."""
    experiment, split, repeats = bench.experiment, result.split, len(jobs)
    projection = Projection(settings, experiment_name(bench), owner, reporter.warn)
    not_exported: Exception | None = None
    primary, built = bench.task.primary, list(result.warnings)
    for r, answer in enumerate(answers):
        if answer.result is None:
            raise ZslplatError(f"{experiment.method.name} failed on the {split} split: {answer.reason}")
        content = {**answer.result, "seed": jobs[r].seed, "repeat": r}
        records.add_evaluation(owner, f"repeat-{r}", split, bench.dataset.fingerprint, content)
        write_config(
            folder / f"repeat-{r}" / "run.toml",
            method=experiment.method,
            dataset=experiment.dataset,
            task=experiment.task,
            features=experiment.features,
            signatures=experiment.signatures,
            seed=jobs[r].seed,
            repeats=1,
            carried=dict(jobs[r].carried),
        )
        if export is not None:
            try:
                result.artifacts.append(_export(folder / f"repeat-{r}", export, r if repeats > 1 else None))
            except ZslplatError as error:
                not_exported = error  # the run is shown all the same
            except OSError as error:
                not_exported = StoreError(
                    f"cannot export to {export}: {error.strerror or error}; the run is recorded, its artifacts are in "
                    f"{folder / f'repeat-{r}'}"
                )
        reached = [fold["metrics"][primary.name] for fold in content["folds"]]
        warned = in_words(content["warnings"])
        warned += chance_warning("the result", primary.name, reached, chances, maximise=primary.maximise)
        result.warnings += [f"repeat {r}: {line}" if repeats > 1 else line for line in warned]
        prefix = "test" if split == "test" else "val"
        metrics = {f"{prefix}_{k}": v for k, v in content["metrics"].items()}
        metrics |= {
            f"{prefix}_{k}.{fold['name']}": v
            for fold in content["folds"]
            for k, v in fold["metrics"].items()
            if split != "test"
        }
        view = RunView(
            key=f"repeat-{r}",
            name=f"{experiment.method.name} {split}" + (f" {r}" if repeats > 1 else ""),
            parameters={"seed": jobs[r].seed, **experiment.method.parameters},
            metrics=metrics | {"seconds": content["seconds"], "peak_memory_bytes": content["peak_bytes"]},
            tags={
                **common_tags(bench),
                **rerun_tag(bench, {}, split, jobs[r].seed, jobs[r].carried),
                **knowledge_tag(bench, {}),
                **rows_tag(content),
                **warnings_tag([*built, *warned]),
                "zslplat.kind": "run",
                "zslplat.split": split,
            },
            started=started,
            ended=time.time(),
            artifacts=folder / f"repeat-{r}",
            dataset=dataset_view(bench, split),
        )
        pending.keep(folder, experiment_name(bench), owner, view)
        result.run_ids.append(projection.show(view))
        if not projection.away:
            pending.done(folder, view)
        result.metrics.append(content["metrics"])
        result.folds.append(content["folds"])
    projection.close()
    if not_exported is not None:
        raise not_exported
    return not projection.away


def _names_artifact(target: Path) -> bool:
    """Tell whether an export asks for one artifact: a path that ends in a file's name, and is no folder."""
    return target.suffix.lower() in ARTIFACT_SUFFIXES and not target.is_dir()


def _check_export(target: Path) -> None:
    """Raise :class:`UsageError` where nothing can be written to; better now than after the evaluation."""
    folder = target.parent if _names_artifact(target) else target
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise UsageError(f"cannot export to {target}: {existing} is not a folder; give --export another path")
    if not os.access(existing, os.W_OK):
        raise UsageError(f"cannot export to {target}: no permission to write in {existing}; give --export another path")


def _export(artifacts: Path, target: Path, repeat: int | None) -> Path:
    """Copy all artifacts into a folder, or the one of the target's own name where that is a file's (features.csv)."""
    if not _names_artifact(target):
        target = target if repeat is None else target / f"repeat-{repeat}"
        shutil.copytree(artifacts, target, dirs_exist_ok=True)
        return target
    known = {path.name: path for path in sorted(artifacts.rglob("*")) if path.is_file()}
    if target.name not in known:
        raise UnknownNameError("artifact of this run", target.name, known)
    named = target if repeat is None else target.with_stem(f"{target.stem}-{repeat}")
    named.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(known[target.name], named)
    return named


def prepare_statistics(
    bench: Workbench, pool: Workers, problems: Sequence[Path], reporter: Reporter, space: Any = None
) -> list[Path]:
    """Prepare what is missing of the statistics of the problems; returns their folders."""
    jobs = [bench.preparation(problem, space or {}) for problem in problems]
    missing = [job for job in jobs if not bench.cache.has(job.target.name)]
    if missing:
        reporter.stage(f"preparing statistics of {bench.experiment.method.name} for {len(missing)} problems")
    for answer in pool.run(missing, Limits()):
        if answer.result is None:
            raise ZslplatError(f"preparing {bench.experiment.method.name} failed: {answer.reason}")
        bench.counts["statistics"] += 1
    return [job.target for job in jobs]
