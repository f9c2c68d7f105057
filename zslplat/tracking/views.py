"""What MLflow shows of a record: pure functions from records to views of runs.

Nothing here asks for data, methods or a running command: a study's surroundings (``about``, ``environment``) are
recorded with it, so that the same views can be made at any time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.checks.recorded import findings_tags, recorded_findings
from zslplat.errors import ZslplatError
from zslplat.evaluation.components import knowledge
from zslplat.evaluation.setting import TEST, VALIDATION, Setting
from zslplat.evaluation.warned_words import in_words, warnings_tag
from zslplat.tracking.projection import RunView

PARENT = "study"
ANALYSIS = "analysis"
# How MLflow says that a trial ended.
TRIAL_STATUS = {"complete": "FINISHED", "pruned": "KILLED", "failed": "FAILED"}


def dataset_view(about: Mapping[str, Any], context: str) -> dict[str, str]:
    """Return what MLflow's dataset input says of the data of an evaluation."""
    data = about["data"]
    return {
        "name": data["name"],
        "fingerprint": data["fingerprint"],
        "source": json.dumps(data["source"]),
        "profile": json.dumps(data["profile"]),
        "context": context,
    }


def common_tags(setting: Mapping[str, Any], about: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags that every run carries: what was evaluated on what, and with which software."""
    return {
        "zslplat.method": str(setting["method"]).partition("(")[0],
        "zslplat.dataset": str(setting["dataset"]),
        "zslplat.task": str(setting["task"]),
        "zslplat.data_fingerprint": about["data"]["fingerprint"],
        "zslplat.preprocessing": about["preprocessing"],
        "zslplat.version": environment["packages"]["zslplat"],
        "zslplat.git": json.dumps(environment["git"]),
    }


def setting_tag(setting: Mapping[str, Any]) -> dict[str, str]:
    """Return the tag with the setting of one evaluation."""
    return {"zslplat.setting": json.dumps(setting)}


def rows_tag(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the tag that tells which test rows an evaluation scored; none for records that do not say it."""
    (fold, *others) = record["folds"]
    return {"zslplat.rows": fold["rows"]} if "rows" in fold and not others else {}


def setting_of(record: Mapping[str, Any], identity: Mapping[str, Any], split: str) -> dict[str, Any]:
    """Return the setting of a study's trial or test evaluation in JSON form, also of one that does not hold it."""
    if "setting" in record:
        return dict(record["setting"])
    seed = int(record.get("seed", identity["seed"]))
    return Setting.from_json(identity).evaluation(record["parameters"], split, seed, record.get("carried")).to_json()


def knows_tag(record: Mapping[str, Any], setting: Mapping[str, Any]) -> dict[str, str]:
    """Return the tag that tells what a method knows of the batch that it scores."""
    if "knows" in record:
        return {"zslplat.knows": record["knows"]}
    with suppress(ZslplatError):
        asked = Setting.from_json(setting)
        return {"zslplat.knows": knowledge(asked.method, asked.signatures)}
    return {}


def study_view(values: Mapping[str, Any], name: str, started: float) -> RunView:
    """Return the parent run of a study that has begun."""
    identity, about, environment = values["identity"], values["about"], values["environment"]
    parameters = {key: identity[key] for key in ("method", "dataset", "task", "seed")}
    parameters |= {f"space.{key}": text for key, text in identity["space"].items()}
    tags = common_tags(identity, about, environment)
    return RunView(
        key=PARENT,
        name=name,
        parameters=parameters,
        tags={**tags, "zslplat.kind": "study", "zslplat.environment": json.dumps(environment)},
        dataset=dataset_view(about, VALIDATION),
        status="RUNNING",
        started=started,
    )


def trial_view(values: Mapping[str, Any], record: Mapping[str, Any], artifacts: Path | None) -> RunView:
    """Return the run of a trial."""
    identity, about = values["identity"], values["about"]
    setting = setting_of(record, identity, VALIDATION)
    metrics = {f"val_{k}": v for k, v in record["metrics"].items()}
    for fold in record["folds"]:
        metrics |= {f"val_{k}.{fold['name']}": v for k, v in fold["metrics"].items()}
        metrics |= {f"{k}.{fold['name']}": v for k, v in fold.get("numbers", {}).items()}
    key = f"trial-{record['number']}"
    return RunView(
        key=key,
        name=key,
        parameters={**Setting.from_json(identity).method.parameters, **record["parameters"]},
        metrics=metrics | _costs(record),
        series={f"val_{about['primary']['name']}.by_step": list(record["steps"].values())},
        tags={
            **common_tags(identity, about, values["environment"]),
            **setting_tag(setting),
            **knows_tag(record, setting),
            "zslplat.kind": "trial",
            "zslplat.state": record["state"],
            **warnings_tag(in_words(record.get("warnings", []))),
            **({"zslplat.reason": record["reason"]} if record["reason"] else {}),
            **_known_tag(record),
        },
        status=TRIAL_STATUS[record["state"]],
        started=record["started"],
        ended=record["ended"],
        artifacts=artifacts,
        dataset=dataset_view(about, VALIDATION),
    )


def test_view(
    values: Mapping[str, Any], record: Mapping[str, Any], trial: Mapping[str, Any], artifacts: Path | None
) -> RunView:
    """Return the run of one test evaluation of a study's winner."""
    identity, about = values["identity"], values["about"]
    winner, repeat = record["winner"], record["repeat"]
    validation_choices = {"parameters": trial["parameters"], "carried": trial["carry"]}
    setting = setting_of({**validation_choices, **record}, identity, TEST)
    metrics = {f"test_{k}": v for k, v in record["metrics"].items()} | _costs(record)
    metrics |= {k: v for fold in record["folds"] for k, v in fold.get("numbers", {}).items()}
    return RunView(
        key=f"trial-{winner}/repeat-{repeat}",
        name=f"final-{winner}-{repeat}",
        parameters={
            "seed": record["seed"],
            **Setting.from_json(identity).method.parameters,
            **trial["parameters"],
            **{f"carried.{k}": v for k, v in trial["carry"].items()},
        },
        metrics=metrics,
        tags={
            **common_tags(identity, about, values["environment"]),
            **setting_tag(setting),
            **knows_tag(record, setting),
            **rows_tag(record),
            "zslplat.kind": "final",
            "zslplat.winner": str(winner),
            **warnings_tag(in_words(record.get("warnings", []))),
            **_known_tag(record),
        },
        started=record["created"] - record["seconds"],
        ended=record["created"],
        artifacts=artifacts,
        dataset=dataset_view(about, TEST),
    )


def finished_view(
    view: RunView,
    finished: Mapping[str, Any],
    trials: Sequence[Mapping[str, Any]],
    test: Sequence[Mapping[str, Any]],
    artifacts: Path | None,
) -> RunView:
    """Return the parent run of a study at its end: the winner's numbers, and the warnings of the study."""
    winner = finished["winner"]
    metrics = {f"val_{k}": v for k, v in trials[winner]["metrics"].items()}
    for key in test[0]["metrics"]:
        values = [record["metrics"][key] for record in test]
        metrics[f"test_{key}"] = float(np.mean(values))
        if len(values) > 1:
            metrics[f"test_{key}.std"] = float(np.std(values, ddof=1))
    metrics |= {"trials": len(trials), "test_evaluations": finished["looks"]}
    tags = {
        **{k: v for k, v in view.tags.items() if k != "zslplat.environment"},
        "zslplat.winner": str(winner),
        # A study that goes on may leave its warnings behind.
        **(warnings_tag([f.line for f in recorded_findings(finished)]) or {"zslplat.warnings": "none"}),
        **findings_tags(finished),
        **({"zslplat.code": finished["code"]} if finished.get("code") else {}),
        **({"zslplat.knows": finished["knows"]} if "knows" in finished else {}),
    }
    status = "FINISHED" if finished["complete"] else "KILLED"
    changed = {"parameters": {}, "dataset": {}, "tags": tags, "metrics": metrics, "status": status}
    return replace(view, **changed, ended=finished["ended"], artifacts=artifacts)  # type: ignore[arg-type]


def run_view(record: Mapping[str, Any], key: str, artifacts: Path | None) -> RunView:
    """Return the run of a single evaluation."""
    setting, about, split = record["setting"], record["about"], record["setting"]["split"]
    prefix = "test" if split == TEST else "val"
    metrics = {f"{prefix}_{k}": v for k, v in record["metrics"].items()}
    if split != TEST:
        for fold in record["folds"]:
            metrics |= {f"{prefix}_{k}.{fold['name']}": v for k, v in fold["metrics"].items()}
    metrics |= {"seconds": record["seconds"], "peak_memory_bytes": record["peak_bytes"]}
    method = Setting.from_json(setting).method
    return RunView(
        key=key,
        name=f"{method.name} {split}" + (f" {record['repeat']}" if record.get("repeats", 1) > 1 else ""),
        parameters={"seed": record["seed"], **method.parameters},
        metrics=metrics,
        tags={
            **common_tags(setting, about, record["environment"]),
            **setting_tag(setting),
            **knows_tag(record, setting),
            **rows_tag(record),
            **warnings_tag([f.line for f in recorded_findings(record)]),
            **findings_tags(record),
            "zslplat.kind": "run",
            "zslplat.split": split,
            **_known_tag(record),
        },
        started=record.get("started", record["created"] - record["seconds"]),
        ended=record["created"],
        artifacts=artifacts,
        dataset=dataset_view(about, split),
    )


def sweep_view(record: Mapping[str, Any], artifacts: Path | None) -> RunView:
    """Return the run of a sweep, by its summary."""
    setting, about = record["setting"], record["about"]
    method = Setting.from_json(setting).method
    primary = about["primary"]["name"]
    return RunView(
        key="sweep",
        name=f"{method.name}: {primary} against {record['parameter']}",
        parameters={**method.parameters, "swept": record["parameter"]},
        series={f"{split}_{primary}": [v for v in curve if v is not None] for split, curve in record["curves"].items()},
        tags={
            **common_tags(setting, about, record["environment"]),
            "zslplat.kind": ANALYSIS,
            "zslplat.selectable": "no",
            **warnings_tag([f.line for f in recorded_findings(record)]),
            **findings_tags(record),
        },
        started=record["started"],
        ended=record["created"],
        artifacts=artifacts,
        dataset=dataset_view(about, ANALYSIS),
    )


def _known_tag(record: Mapping[str, Any]) -> dict[str, str]:
    return {"zslplat.known_from": record["known_from"]} if "known_from" in record else {}


def _costs(record: Mapping[str, Any]) -> dict[str, float]:
    names = {"seconds": "seconds", "cpu_seconds": "cpu_seconds", "peak_bytes": "peak_memory_bytes"}
    return {shown: float(record[key]) for key, shown in names.items() if key in record}
