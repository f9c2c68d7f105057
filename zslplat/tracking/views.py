"""What MLflow shows of a record: pure functions from records to views of runs.

Nothing here asks for data, methods or a running command: a study's surroundings (``about``, ``environment``) are
recorded with it, so that the same views can be made at any time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.checks.base import findings_of, warning_lines
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment
from zslplat.keys import RECORD_CHOICES, repeat_key, trial_key
from zslplat.records.costs import costs
from zslplat.records.studies import PARENT, RECALLED_FROM, selected_by
from zslplat.tracking.descriptions import (
    Ends,
    evaluation_note,
    result,
    running_note,
    study_note,
    sweep_note,
)
from zslplat.tracking.run_view import FINAL_STAGE, STUDY_STAGE, SWEEP_STAGE, TRIAL_STAGE, RunView
from zslplat.tuning.study_facts import chosen

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


def common_tags(
    experiment: Mapping[str, Any], about: Mapping[str, Any], environment: Mapping[str, Any]
) -> dict[str, str]:
    """Return the tags that every run carries: what was evaluated on what, and with which software."""
    return {
        **about.get("tags", {}),
        "zslplat.method": str(experiment["method"]).partition("(")[0],
        "zslplat.dataset": str(experiment["dataset"]),
        "zslplat.task": str(experiment["task"]),
        "zslplat.data_fingerprint": about["data"]["fingerprint"],
        "zslplat.preprocessing": about["preprocessing"],
        "zslplat.version": environment["packages"]["zslplat"],
        "zslplat.git": json.dumps(environment["git"]),
        **{f"zslplat.suite.{name}" if name != "suite" else "zslplat.suite": v for name, v in _part_of(about).items()},
    }


def _part_of(about: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in about.get("part_of", {}).items()}


def experiment_tag(experiment: Mapping[str, Any]) -> dict[str, str]:
    """Return the tag with the experiment of one evaluation."""
    return {"zslplat.experiment": json.dumps(experiment)}


def rows_tag(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the tag that tells which test rows an evaluation scored; none for records that do not say it."""
    (fold, *others) = record["folds"]
    return {"zslplat.rows": fold["rows"]} if "rows" in fold and not others else {}


def knows_tag(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the tag that tells what a method knows of the batch that it scores; none for what has failed."""
    return {"zslplat.knows": record["knows"]} if "knows" in record else {}


def findings_tags(record: Mapping[str, Any]) -> dict[str, str]:
    """Return MLflow's tags of a record's findings: ``zslplat.findings`` lists the codes, and each code has its texts.

    ``zslplat.findings`` is empty where nothing was found, so that a study that goes on replaces its old codes.
    """
    findings = findings_of(record)
    texts: dict[str, list[str]] = {}
    for finding in findings:
        texts.setdefault(finding.code, []).append(finding.text)
    tags = {f"zslplat.finding.{code}": "; ".join(lines) for code, lines in sorted(texts.items())}
    return {"zslplat.findings": ", ".join(sorted(texts)), **tags}


def warnings_tag(lines: Sequence[str]) -> dict[str, str]:
    """Return the MLflow tag that shows warnings; none if there are none."""
    return {"zslplat.warnings": "; ".join(lines)} if lines else {}


def study_view(values: Mapping[str, Any], name: str, started: float) -> RunView:
    """Return the parent run of a study that has begun."""
    identity, about, environment = values["identity"], values["about"], values["environment"]
    method = method_of(identity)
    tags = common_tags(identity, about, environment)
    return RunView(
        key=PARENT,
        name=_titled(method, about, name, "study"),
        method=method,
        facts=_facts(identity, name),
        parameters={f"space.{key}": text for key, text in identity["space"].items()},
        tags={
            **tags,
            "stage": STUDY_STAGE,
            "selected_by": str(selected_by(identity, about)),
            "zslplat.kind": "study",
            "zslplat.environment": json.dumps(environment),
        },
        dataset=dataset_view(about, VALIDATION),
        status="RUNNING",
        started=started,
        note=running_note(values),
    )


def trial_view(values: Mapping[str, Any], name: str, record: Mapping[str, Any], artifacts: Path | None) -> RunView:
    """Return the run of a trial of the study of this name."""
    identity, about = values["identity"], values["about"]
    experiment = record["experiment"]
    metrics = {f"val_{k}": v for k, v in record["metrics"].items()}
    numbers: dict[str, float] = {}
    for fold in record["folds"]:
        metrics |= {f"val_{k}.{fold['name']}": v for k, v in fold["metrics"].items()}
        numbers |= {f"{k}.{fold['name']}": v for k, v in fold.get("numbers", {}).items()}
    key, method, primary = trial_key(record["number"]), method_of(identity), about["primary"]["name"]
    outcome = f"val {result(record['metrics'].get(primary))}" if record["state"] == "complete" else record["state"]
    return RunView(
        key=key,
        name=f"{method} #{record['number']} {outcome}",
        method=method,
        facts={**_facts(identity, name), "trial": record["number"]},
        parameters={**Experiment.from_json(identity).method.parameters, **record["parameters"]},
        metrics=metrics,
        work=numbers | costs(record, alone=True),
        series={f"val_{primary}.by_step": list(record["steps"].values())},
        tags={
            **common_tags(identity, about, values["environment"]),
            **experiment_tag(experiment),
            **knows_tag(record),
            "stage": TRIAL_STAGE,
            "zslplat.kind": "trial",
            "zslplat.state": record["state"],
            **warnings_tag(warning_lines(record.get("warnings", []))),
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
    values: Mapping[str, Any],
    name: str,
    record: Mapping[str, Any],
    trial: Mapping[str, Any],
    artifacts: Path | None,
    ends: Ends | None,
) -> RunView:
    """Return the run of one test evaluation of the winner of the study of this name.

    ``ends``: the interval of its primary metric. It stands beside its study, not below it, so that the results of an
    experiment are found where the experiment is opened.
    """
    identity, about = values["identity"], values["about"]
    winner, repeat = record["winner"], record["repeat"]
    experiment = record["experiment"]
    method, primary = method_of(identity), about["primary"]["name"]
    hyperparameters = {**Experiment.from_json(identity).method.parameters, **trial["parameters"]}
    return RunView(
        key=repeat_key(winner, repeat),
        name=_titled(method, about, name, f"test {result(record['metrics'].get(primary))}", repeat),
        method=method,
        facts={**_facts(identity, name), "seed": record["seed"], "chosen": chosen(hyperparameters)},
        parameters={**hyperparameters, **{f"carried.{k}": v for k, v in trial[RECORD_CHOICES].items()}},
        metrics={
            **{f"test_{k}": v for k, v in record["metrics"].items()},
            **{f"val_{k}": v for k, v in trial["metrics"].items()},
        },
        work={k: v for fold in record["folds"] for k, v in fold.get("numbers", {}).items()} | costs(record),
        tags={
            **common_tags(identity, about, values["environment"]),
            **experiment_tag(experiment),
            **knows_tag(record),
            **rows_tag(record),
            "stage": FINAL_STAGE,
            "zslplat.kind": "final",
            "zslplat.study": name,
            "zslplat.winner": str(winner),
            **warnings_tag(warning_lines(record.get("warnings", []))),
            **_known_tag(record),
        },
        started=record["created"] - record["seconds"],
        ended=record["created"],
        artifacts=artifacts,
        dataset=dataset_view(about, TEST),
        note=evaluation_note(
            experiment, about, record, study=name, validation=trial["metrics"].get(primary), ends=ends
        ),
    )


def finished_view(
    view: RunView,
    values: Mapping[str, Any],
    name: str,
    trials: Sequence[Mapping[str, Any]],
    test: Sequence[Mapping[str, Any]],
    artifacts: Path | None,
    ends: Ends | None = None,
) -> RunView:
    """Return the parent run of a study at its end: the winner's numbers, what was chosen, and the study's warnings.

    ``values``: what the study keeps, with what it noted at its end (``finished``); ``ends``: the interval of the mean
    of the primary metric over the repeats of the test.
    """
    finished, primary = values["finished"], values["about"]["primary"]["name"]
    winner = finished["winner"]
    metrics = {}
    for key in test[0]["metrics"] if test else ():
        scores = [record["metrics"][key] for record in test]
        metrics[f"test_{key}"] = float(np.mean(scores))
        if len(scores) > 1:
            metrics[f"test_{key}.std"] = float(np.std(scores, ddof=1))
    metrics |= {f"val_{k}": v for k, v in trials[winner]["metrics"].items()}
    mean = metrics.get(f"test_{primary}")
    hyperparameters = {**Experiment.from_json(values["identity"]).method.parameters, **trials[winner]["parameters"]}
    tags = {
        **{k: v for k, v in view.tags.items() if k != "zslplat.environment"},
        "zslplat.winner": str(winner),
        # A study that goes on may choose others, and MLflow never changes a parameter.
        "chosen": chosen(hyperparameters),
        # A study that goes on may leave its warnings behind.
        **(warnings_tag([f.line for f in findings_of(finished)]) or {"zslplat.warnings": "none"}),
        **findings_tags(finished),
        **({"zslplat.code": finished["code"]} if finished.get("code") else {}),
        **({"zslplat.knows": finished["knows"]} if "knows" in finished else {}),
    }
    return replace(
        view,
        name=f"{view.name} {result(mean)}" if test else view.name,
        facts={},
        parameters={},
        dataset={},
        tags=tags,
        metrics=metrics,
        work={"trials": len(trials), "test_evaluations": finished["looks"]},
        status="FINISHED" if finished["complete"] else "KILLED",
        ended=finished["ended"],
        artifacts=artifacts,
        note=study_note(values, name, finished, trials[winner], test, mean, ends),
    )


def run_view(record: Mapping[str, Any], key: str, artifacts: Path | None, ends: Ends | None = None) -> RunView:
    """Return the run of a single evaluation; ``ends``: the interval of its primary metric."""
    experiment, about, split = record["experiment"], record["about"], record["experiment"]["split"]
    prefix, primary = "test" if split == TEST else "val", about["primary"]["name"]
    metrics = {f"{prefix}_{k}": v for k, v in record["metrics"].items()}
    if split != TEST:
        for fold in record["folds"]:
            metrics |= {f"{prefix}_{k}.{fold['name']}": v for k, v in fold["metrics"].items()}
    parameters, method = Experiment.from_json(experiment).method.parameters, method_of(experiment)
    outcome = f"{prefix} {result(record['metrics'].get(primary))}"
    return RunView(
        key=key,
        name=_titled(method, about, "", outcome, record["repeat"] if record.get("repeats", 1) > 1 else 0),
        method=method,
        facts={**_facts(experiment, ""), "seed": record["seed"], "chosen": chosen(parameters)},
        parameters=parameters,
        metrics=metrics,
        work={name: value for name, value in costs(record).items() if name != "cpu_seconds"},
        tags={
            **common_tags(experiment, about, record["environment"]),
            **experiment_tag(experiment),
            **knows_tag(record),
            **rows_tag(record),
            **warnings_tag([f.line for f in findings_of(record)]),
            **findings_tags(record),
            "stage": FINAL_STAGE if split == TEST else TRIAL_STAGE,
            "zslplat.kind": "run",
            "zslplat.split": split,
            **_known_tag(record),
            **({"zslplat.outside": json.dumps(record["outside"])} if "outside" in record else {}),
        },
        started=record["started"],
        ended=record["created"],
        artifacts=artifacts,
        dataset=dataset_view(about, split),
        note=evaluation_note(experiment, about, record, ends=ends),
    )


def sweep_view(record: Mapping[str, Any], artifacts: Path | None) -> RunView:
    """Return the run of a sweep, by its summary; its curves are series of their own, a step per value."""
    experiment, about = record["experiment"], record["about"]
    parameters, method = Experiment.from_json(experiment).method.parameters, method_of(experiment)
    primary, parameter = about["primary"]["name"], record["parameter"].removeprefix("task option ")
    several = len({name.rpartition(" ")[0] for name in record["curves"]}) > 1
    return RunView(
        key="sweep",
        name=f"{'several methods' if several else method} sweep of {parameter}",
        method=method,
        facts={**_facts(experiment, ""), "swept": record["parameter"]},
        parameters=parameters,
        series={_curve_name(name, primary): list(curve) for name, curve in record["curves"].items()},
        tags={
            **common_tags(experiment, about, record["environment"]),
            "stage": SWEEP_STAGE,
            "zslplat.kind": ANALYSIS,
            "zslplat.selectable": "no",
            **warnings_tag([f.line for f in findings_of(record)]),
            **findings_tags(record),
        },
        started=record["started"],
        ended=record["created"],
        artifacts=artifacts,
        dataset=dataset_view(about, ANALYSIS),
        note=sweep_note(record),
    )


def method_of(experiment: Mapping[str, Any]) -> str:
    """Return the name of the method of an experiment in JSON form."""
    return Experiment.from_json(experiment).method.name


def _facts(experiment: Mapping[str, Any], study: str) -> dict[str, Any]:
    """Return the parameters that every run shows under their own names."""
    named = {"study": study} if study else {}
    return {"method": method_of(experiment), **{k: experiment[k] for k in ("dataset", "task", "seed")}, **named}


def _titled(method: str, about: Mapping[str, Any], study: str, what: str, repeat: int = 0) -> str:
    """Return the name of a run: the method, of a suite the data, what came out, the name that a user gave the study."""
    data = _part_of(about).get("data")
    suffix = f" ({study})" if study and not study.startswith(f"{method}@") else ""
    return f"{method}{f' on {data}' if data else ''} {what}{f' repeat {repeat}' if repeat else ''}{suffix}"


def _curve_name(curve: str, primary: str) -> str:
    """Return the name of one curve of a sweep: of its split, and of its method where there are several."""
    label, _, split = curve.rpartition(" ")
    prefix = "test" if split == TEST else "val"
    return f"sweep/{prefix}_{primary}" + (f" {label}" if label else "")


def _known_tag(record: Mapping[str, Any]) -> dict[str, str]:
    return {"zslplat.known_from": record[RECALLED_FROM]} if RECALLED_FROM in record else {}
