"""``studies list``, ``show`` and ``delete``: what is recorded, study by study."""

import time
from typing import Annotated, Any

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo, print_json
from zslplat.front.options import Json, TrackingOptions
from zslplat.front.schema import REQUIRED, Option
from zslplat.names import counted

app = Commands(help="Recorded studies: list, show, delete.", default="list")
MOST_TRIALS = 20


class ListStudyOptions(TrackingOptions, total=False):
    """The options of ``studies list``."""

    names: Annotated[
        list[str] | None,
        Option(
            'Studies or methods, patterns as "mfmr*" among them; default: all.',
            complete="studies",
            metavar="NAME",
            positional=True,
        ),
    ]
    dataset: Annotated[str | None, Option("Only those on this data set.", short="-d", complete="datasets")]
    task: Annotated[str | None, Option("Only those of this task.", short="-t", complete="tasks")]
    json: Json


@app.command("list")
def list_(options: ListStudyOptions) -> None:
    """List the recorded studies, oldest first: how far they are, what validation reached, and what the test gave."""
    from zslplat.cli.output import open_store, print_columns, warn
    from zslplat.errors import UnknownNameError
    from zslplat.evidence.matching import fits
    from zslplat.evidence.table import ResultTable
    from zslplat.listeners import catch_up

    with open_store(options) as (settings, records):
        catch_up(settings, warn, records)
        studies = [_summary(study) for study in ResultTable(records, warn).studies()]
    for noun, key in (("data set", "dataset"), ("task", "task")):
        requested: str | None = options[key]  # type: ignore[literal-required]
        values = {str(study[key]) for study in studies}
        if requested is not None and requested not in values:
            raise UnknownNameError(f"{noun} with a study", requested, values, lister="studies")
        studies = [study for study in studies if requested in (None, study[key])]
    names_of = {one["study"]: (one["study"], one["method"], one["method"].partition("(")[0]) for one in studies}
    chosen: set[str] = set()
    for name in options["names"] or ():
        fitting = {study for study, texts in names_of.items() if any(fits(name, text) for text in texts)}
        if not fitting:
            choices = {text for texts in names_of.values() for text in texts}
            raise UnknownNameError("study or method", name, choices, lister="studies")
        chosen |= fitting
    studies = [one for one in studies if one["study"] in chosen or not options["names"]]
    if options["json"]:
        print_json(studies)
        return
    rows = [
        (
            *(one["study"], one["state"], str(one["trials"])),
            *(_number(one["validation"]), _number(one["test"]), one["selected_by"] or ""),
            time.strftime("%Y-%m-%d %H:%M", time.localtime(one["ended"])) if one["ended"] else "",
        )
        for one in studies
    ]
    titles = ("study", "state", "trials", "validation", "test", "selected by", "ended")
    print_columns([titles, *rows], right=(2, 3, 4))


def _summary(study: Any) -> dict[str, Any]:
    """Return what is listed of a study; its test is the mean over the evaluations of its best trial's refit."""
    finished, metric = study.finished or {}, study.primary.name if study.primary else None
    tested = [one.record["metrics"][metric] for one in study.tested if metric in one.record["metrics"]]
    ended = "finished" if finished.get("complete", True) else "stopped by its time limit"
    return {
        **{"study": study.name, "state": ended if finished else "unfinished"},
        **{"method": study.method, "dataset": study.dataset, "task": study.task, "seed": study.identity.get("seed")},
        **{"trials": study.trial_count, "metric": metric, "selected_by": study.selected_by},
        **{"validation": study.winner.get("value"), "test": sum(tested) / len(tested) if tested else None},
        **{"evaluations": len(study.tested), "ended": finished.get("ended"), "suite": ", ".join(study.suites) or None},
    }


class ShowStudyOptions(TrackingOptions, total=False):
    """The options of ``studies show``."""

    study: Annotated[
        str, Option("A study, or a method with one (zslplat studies).", REQUIRED, complete="studies", positional=True)
    ]
    all: Annotated[bool, Option(f"All trials; default: the best {MOST_TRIALS}.", False)]
    importance: Annotated[bool, Option("Say which hyperparameters mattered, too; that takes a few seconds.", False)]
    json: Json


@app.command()
def show(options: ShowStudyOptions) -> None:
    """Show a study: what it asks, its trials, the best first, and the test evaluations of its winner."""
    from zslplat.checks.base import findings_of
    from zslplat.cli.output import open_store, warn
    from zslplat.listeners import catch_up
    from zslplat.records.overview import Overview
    from zslplat.records.studies import STUDY, selected_by
    from zslplat.spec import format_value

    with open_store(options) as (settings, records):
        catch_up(settings, warn, records)
        overview = Overview(records)
        study = study_called(options["study"], records, overview)
        values, trials = overview.values(study), [record for _, record in overview.finished(study)]
        tests = list(records.evaluations(STUDY + study).values())
        mattered = None
        if options["importance"]:
            from zslplat.records.trials import importance_of

            mattered = importance_of(records.study(study).optuna_trials())
    finished, about = values.get("finished") or {}, values.get("about") or {}
    sign = -1.0 if about.get("primary", {}).get("maximise", True) else 1.0
    choices = _choices(values, trials, tests)
    ordered = sorted(trials, key=lambda r: (r["value"] is None, sign * (r["value"] or 0.0), r["number"]))
    content = {
        **{"study": study, "experiment": values.get("identity"), "finished": finished or None},
        "trials": [{k: r.get(k) for k in ("number", "run", "state", "value", "parameters", "reason")} for r in trials],
        "choices": choices,
        **({} if mattered is None else {"importance": mattered.shares or mattered.why_not}),
        "tests": [{k: r.get(k) for k in ("run", "winner", "repeat", "metrics", "created")} for r in tests],
    }
    if options["json"]:
        print_json(content)
        return
    echo(f"study {study}")
    for name, value in (values.get("identity") or {}).items():
        echo(f"  {name}: {format_value(value) if not isinstance(value, dict) else _in_words(value)}")
    echo(f"{counted(len(trials), 'trial')}{'' if finished else ', unfinished'}")
    for record in ordered if options["all"] else ordered[:MOST_TRIALS]:
        reached = _number(record["value"]) or record["state"]
        echo(f"  trial {record['number']}: {reached}  {_in_words(record['parameters'])}".rstrip())
    _print_choices(choices, selected_by(values.get("identity") or {}, about))
    if mattered is not None:
        echo(f"importance: {mattered.in_words}")
    for finding in findings_of(finished):
        echo(f"warning: {finding.line}")
    for record in tests:
        text = ", ".join(f"{name}={value:.4f}" for name, value in record["metrics"].items())
        old = "" if record["winner"] == finished.get("winner") else ", of an earlier winner"
        echo(f"test of trial {record['winner']}, repeat {record.get('repeat', 0)}{old}: {text}")


def study_called(name: str, records: Any, overview: Any) -> str:
    """Return the study of a name, or the one of a method; of several it raises :class:`AmbiguousNameError`."""
    from zslplat.data.catalogue import title_of
    from zslplat.errors import AmbiguousNameError, UnknownNameError
    from zslplat.spec import Spec

    names: list[str] = records.study_names()
    if name in names:
        return name
    experiments = {study: overview.value(study, "identity") or {} for study in names}
    methods = {study: str(experiment.get("method", "")) for study, experiment in experiments.items()}
    fitting = [study for study, method in methods.items() if name in (method, method.partition("(")[0])]
    if not fitting:
        raise UnknownNameError("study or method", name, {*names, *methods.values()} - {""}, lister="studies")
    if len(fitting) > 1:
        places = {
            study: f"on {title_of(Spec.parse(experiments[study]['dataset']))}, task {experiments[study]['task']}"
            for study in fitting
        }
        raise AmbiguousNameError("method", name, places)
    return fitting[0]


class DeleteStudyOptions(TrackingOptions, total=False):
    """The options of ``studies delete``."""

    study: Annotated[str, Option("Name of a study.", REQUIRED, complete="studies", positional=True)]
    yes: Annotated[bool, Option("Delete it; without this it is only said what would go.", False)]
    json: Json


@app.command()
def delete(options: DeleteStudyOptions) -> None:
    """Delete a study for good: its trials and test evaluations, their files, and its runs in MLflow."""
    from zslplat.cli.output import open_store, warn
    from zslplat.errors import UsageError
    from zslplat.records.database import SEALED
    from zslplat.tracking.maintenance import delete_study

    with open_store(options) as (settings, records):
        if not options["yes"]:
            recorded = records.study(options["study"])
            trials, tests = len(recorded.finished()), len(records.evaluations(recorded.owner))
            sealed = len(records.evaluations(SEALED + options["study"]))
            content = f"{counted(trials, 'trial')}, {counted(tests, 'test evaluation')}"
            content += f", {counted(sealed, 'evaluation')} of its oracle" if sealed else ""
            raise UsageError(
                f"study {options['study']!r} has {content}, which cannot be had again without computing them; "
                "give --yes to delete it"
            )
        done = delete_study(settings, records, options["study"], warn)
    if options["json"]:
        print_json(vars(done))
    else:
        text = f"{counted(done.trials, 'trial')}, {counted(done.evaluations, 'test evaluation')}"
        text += f", {counted(done.oracle, 'evaluation')} of its oracle" if done.oracle else ""
        echo(f"deleted study {options['study']}: {text}, {counted(done.runs, 'MLflow run')}")


def _choices(values: dict[str, Any], trials: list[Any], tests: list[Any]) -> list[dict[str, Any]]:
    """Return what each metric would have chosen among the trials of a study; nothing where the task is not there."""
    from zslplat.errors import ZslplatError
    from zslplat.evaluation.components import build_component
    from zslplat.evaluation.criteria import choices_of
    from zslplat.spec import Spec

    try:
        task = build_component("tasks", Spec.parse(values["identity"]["task"]))
        return choices_of(trials, task, values["about"]["primary"]["name"], tests)
    except (ZslplatError, KeyError):
        return []


def _print_choices(choices: list[dict[str, Any]], selected: str | None) -> None:
    from zslplat.cli.output import print_columns

    if len({choice["trial"] for choice in choices}) > 1:
        echo(f"what each metric would have chosen on validation; this study selected by {selected}:")
        rows = [tuple(str(v) if isinstance(v, str | int) else _number(v) for v in one.values()) for one in choices]
        print_columns([tuple(choices[0]), *rows], right=(1, 2, 3, 4))
        if untested := [choice["metric"] for choice in choices if choice["test"] is None]:
            echo(
                f"not tested: what others chose; the same command with --metric {untested[0]} selects by it, and tests"
            )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _in_words(values: dict[str, Any]) -> str:
    from zslplat.spec import short_value

    return ", ".join(f"{name}={short_value(value)}" for name, value in values.items())
