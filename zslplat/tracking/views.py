"""How a study looks in MLflow: a parent run, a child run per trial, and one per final repeat."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.config import write_config
from zslplat.drawing import render
from zslplat.evaluation.experiment import Workbench, knowledge
from zslplat.evaluation.warned import in_words, warnings_tag
from zslplat.figures import Curve
from zslplat.records.environment import environment_record
from zslplat.settings import Settings
from zslplat.tables import Table, write_table
from zslplat.tracking.projection import Projection, RunView

PARENT = "study"


def dataset_view(bench: Workbench, context: str) -> dict[str, str]:
    """Return what MLflow's dataset input says of the data of an experiment."""
    data = bench.dataset
    profile = {
        "rows": len(data.X),
        "shape": list(data.X.shape),
        "classes": len(data.class_names),
        "splits": {name: len(index) for name, index in data.splits.items()},
        "fingerprint": data.fingerprint,
    }
    source = {"spec": str(bench.experiment.dataset), **{k: str(v) for k, v in data.source.items()}}
    return {
        "name": data.name,
        "fingerprint": data.fingerprint,
        "source": json.dumps(source),
        "profile": json.dumps(profile),
        "context": context,
    }


def common_tags(bench: Workbench) -> dict[str, str]:
    """Return the tags that every run carries: what was evaluated on what, and with which software."""
    experiment, environment = bench.experiment, environment_record()
    return {
        "zslplat.method": experiment.method.name,
        "zslplat.dataset": str(experiment.dataset),
        "zslplat.task": str(experiment.task),
        "zslplat.data_fingerprint": bench.dataset.fingerprint,
        "zslplat.preprocessing": f"features={','.join(bench.preprocessing.features) or 'none'}; "
        f"signatures={','.join(bench.preprocessing.signatures) or 'none'}",
        "zslplat.version": environment["packages"]["zslplat"],
        "zslplat.git": json.dumps(environment["git"]),
    }


def experiment_name(bench: Workbench) -> str:
    """Return the MLflow experiment that collects comparable runs: one per task and data set."""
    return f"{bench.experiment.task.name}: {bench.experiment.dataset}"


def rerun_tag(
    bench: Workbench, parameters: Mapping[str, Any], split: str, seed: int, carried: Mapping[str, Any]
) -> dict[str, str]:
    """Return the tag from which ``zslplat rerun`` evaluates a run again."""
    experiment = bench.experiment
    content = {
        "method": str(experiment.method.with_parameters(parameters)),
        "dataset": str(experiment.dataset),
        "task": str(experiment.task),
        "features": experiment.features,
        "signatures": experiment.signatures,
        "problems_seed": experiment.seed,
        "seed": seed,
        "split": split,
        "carried": dict(carried),
        "fingerprint": bench.dataset.fingerprint,
    }
    return {"zslplat.rerun": json.dumps(content)}


def knowledge_tag(bench: Workbench, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the tag that tells what a method with these parameters knows of the batch that it scores."""
    return {"zslplat.knows": knowledge(bench.experiment.method.with_parameters(parameters))}


def rows_tag(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the tag that tells which test rows an evaluation scored; none for records that do not say it."""
    (fold, *others) = entry["folds"]
    return {"zslplat.rows": fold["rows"]} if "rows" in fold and not others else {}


class StudyViews:
    """Projects one study; every call may be repeated without effect on what is shown already."""

    def __init__(
        self,
        bench: Workbench,
        settings: Settings,
        name: str,
        folder: Path,
        identity: Mapping[str, Any],
        note: Callable[[str], None],
    ) -> None:
        self.bench, self.name, self.folder, self.identity = bench, name, folder, identity
        self.projection = Projection(settings, experiment_name(bench), f"study:{name}", note)
        self.tags = common_tags(bench)
        self.dataset = dataset_view(bench, "validation")
        self.parent = ""
        self.shown = 0
        self.began = 0.0

    def begin(self, started: float) -> None:
        """Create the parent run, or open it again."""
        self.began = started
        environment = json.dumps(environment_record())
        self.parent = self.projection.show(
            RunView(
                key=PARENT,
                name=self.name,
                parameters={
                    "method": str(self.bench.experiment.method),
                    "dataset": str(self.bench.experiment.dataset),
                    "task": str(self.bench.experiment.task),
                    "seed": self.bench.experiment.seed,
                    **{f"space.{k}": v for k, v in self.identity["space"].items()},
                },
                tags={**self.tags, "zslplat.kind": "study", "zslplat.environment": environment},
                dataset=self.dataset,
                status="RUNNING",
                started=started,
            )
        )

    def trials(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Show the trials that are recorded and not shown yet."""
        while self.shown < len(records) and not self.projection.away:
            record = records[self.shown]
            key = f"trial-{record['number']}"
            if not self.projection.is_shown(key):
                self._trial(key, record)
            else:
                # A process that ended right after showing the trial has left its copies.
                shutil.rmtree(self.folder / f"trial-{record['number']:05d}", ignore_errors=True)
            self.shown += 1

    def _trial(self, key: str, record: Mapping[str, Any]) -> None:
        metrics = {f"val_{k}": v for k, v in record["metrics"].items()}
        for fold in record["folds"]:
            metrics |= {f"val_{k}.{fold['name']}": v for k, v in fold["metrics"].items()}
            metrics |= {f"{k}.{fold['name']}": v for k, v in fold.get("numbers", {}).items()}
        metrics |= _costs(record)
        primary = self.bench.task.primary.name
        status = {"complete": "FINISHED", "pruned": "KILLED", "failed": "FAILED"}[record["state"]]
        self.projection.show(
            RunView(
                key=key,
                name=key,
                parent=self.parent,
                parameters={**self.bench.experiment.method.parameters, **record["parameters"]},
                metrics=metrics,
                series={f"val_{primary}.by_step": list(record["steps"].values())},
                tags={
                    **self.tags,
                    **rerun_tag(self.bench, record["parameters"], "validation", self.bench.experiment.seed, {}),
                    **knowledge_tag(self.bench, record["parameters"]),
                    "zslplat.kind": "trial",
                    "zslplat.state": record["state"],
                    **warnings_tag(in_words(record.get("warnings", []))),
                    **({"zslplat.reason": record["reason"]} if record["reason"] else {}),
                },
                status=status,
                started=record["started"],
                ended=record["ended"],
                artifacts=self.folder / f"trial-{record['number']:05d}",
                dataset=self.dataset,
            )
        )

    def final(self, winner: int, repeat: int, entry: Mapping[str, Any], trial: Mapping[str, Any]) -> None:
        """Show one final evaluation."""
        key = f"final-{winner}-{repeat}"
        if self.projection.is_shown(key):
            return
        metrics = {f"test_{k}": v for k, v in entry["metrics"].items()} | _costs(entry)
        metrics |= {k: v for fold in entry["folds"] for k, v in fold.get("numbers", {}).items()}
        self.projection.show(
            RunView(
                key=key,
                name=key,
                parent=self.parent,
                parameters={
                    "seed": entry["seed"],
                    **self.bench.experiment.method.parameters,
                    **trial["parameters"],
                    **{f"carried.{k}": v for k, v in trial["carry"].items()},
                },
                metrics=metrics,
                tags={
                    **self.tags,
                    **rerun_tag(self.bench, trial["parameters"], "test", entry["seed"], trial["carry"]),
                    **knowledge_tag(self.bench, trial["parameters"]),
                    **rows_tag(entry),
                    "zslplat.kind": "final",
                    "zslplat.winner": str(winner),
                    **warnings_tag(in_words(entry.get("warnings", []))),
                },
                started=entry["created"] - entry["seconds"],
                ended=entry["created"],
                artifacts=self.folder / f"final-{winner}-{repeat}",
                dataset=dataset_view(self.bench, "test"),
            )
        )

    def finish(
        self,
        records: Sequence[Mapping[str, Any]],
        winner: int,
        test: Sequence[Mapping[str, Any]],
        looks: int,
        counts: Mapping[str, int],
        ended: float,
        *,
        complete: bool,
        warned: Sequence[str] = (),
    ) -> tuple[str, Path]:
        """End the parent run with the winner's numbers and the warnings of the study.

        Returns the run's id and the path of the winner's configuration.
        """
        trial = records[winner]
        metrics = {f"val_{k}": v for k, v in trial["metrics"].items()}
        for key in test[0]["metrics"]:
            values = [entry["metrics"][key] for entry in test]
            metrics[f"test_{key}"] = float(np.mean(values))
            if len(values) > 1:
                metrics[f"test_{key}.std"] = float(np.std(values, ddof=1))
        metrics |= {"trials": len(records), "looks_at_test": looks}
        config = self.folder / "best.toml"
        experiment = self.bench.experiment
        write_config(
            config,
            method=experiment.method.with_parameters(trial["parameters"]),
            dataset=experiment.dataset,
            task=experiment.task,
            features=experiment.features,
            signatures=experiment.signatures,
            seed=experiment.seed,
            repeats=len(test),
            carried=trial["carry"],
            study=self.name,
            trial=winner,
        )
        staged = self.folder / "parent"
        staged.mkdir(exist_ok=True)
        (staged / "best.toml").write_text(config.read_text())
        (staged / "environment.json").write_text(json.dumps(environment_record(), indent=1))
        (staged / "study.json").write_text(
            json.dumps({**self.identity, "prepared": dict(counts), "warnings": list(warned)}, indent=1)
        )
        _write_history(staged, records, self.bench.task.primary.name, self.bench.task.primary.maximise)
        self.projection.show(
            RunView(
                key=PARENT,
                name=self.name,
                metrics=metrics,
                tags={
                    **self.tags,
                    "zslplat.kind": "study",
                    "zslplat.winner": str(winner),
                    # A study that goes on may leave its warnings behind.
                    **(warnings_tag(warned) or {"zslplat.warnings": "none"}),
                    **knowledge_tag(self.bench, trial["parameters"]),
                },
                status="FINISHED" if complete else "KILLED",
                started=self.began,
                ended=ended,
                artifacts=staged,
            )
        )
        return self.parent, config

    def interrupted(self, records: Sequence[Mapping[str, Any]], ended: float) -> None:
        """Show the parent run as stopped."""
        if self.parent and not self.projection.away:
            self.projection.show(RunView(key=PARENT, name=self.name, status="KILLED", started=self.began, ended=ended))


def _costs(record: Mapping[str, Any]) -> dict[str, float]:
    names = {"seconds": "seconds", "cpu_seconds": "cpu_seconds", "peak_bytes": "peak_memory_bytes"}
    return {shown: float(record[key]) for key, shown in names.items() if key in record}


def _write_history(folder: Path, records: Sequence[Mapping[str, Any]], primary: str, maximise: bool) -> None:
    names = sorted({name for record in records for name in record["parameters"]})
    columns: dict[str, list[Any]] = {
        "trial": [r["number"] for r in records],
        "state": [r["state"] for r in records],
        primary: [r["value"] for r in records],
        "seconds": [r.get("seconds") for r in records],
        "reason": [r["reason"] for r in records],
        **{name: [r["parameters"].get(name) for r in records] for name in names},
    }
    write_table(Table(columns), folder / "trials.csv")
    numbers = [r["number"] for r in records if r["value"] is not None]
    values = np.array([r["value"] for r in records if r["value"] is not None], dtype=float)
    if len(values):
        best = np.maximum.accumulate(values) if maximise else np.minimum.accumulate(values)
        curve = Curve(
            {"trial": (numbers, values.tolist()), "best so far": (numbers, best.tolist())},
            "trial",
            f"validation {primary}",
            "Search history",
        )
        render(curve, folder / "history.png")
    searched = [n for n in names if all(isinstance(r["parameters"].get(n), int | float) for r in records)]
    for name in searched:
        if len(values) > 1:
            points = sorted((r["parameters"][name], r["value"]) for r in records if r["value"] is not None)
            low, high = points[0][0], points[-1][0]
            curve = Curve(
                {"trials": ([p[0] for p in points], [p[1] for p in points])},
                name,
                f"validation {primary}",
                f"{primary} against {name}",
                logx=low > 0 and high / low > 50,
            )
            render(curve, folder / f"searched-{name}.png")
