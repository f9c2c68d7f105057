"""What checks find in a study as a whole, and in a single evaluation: facts are gathered, and checks look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from zslplat.checks.base import Finding, drop_silenced, run_checks, warning_facts
from zslplat.checks.data_facts import data_findings
from zslplat.checks.facts import PrimaryScores, RecordedWarning, StudyFacts, TrainingSteps
from zslplat.data.description import notes_of
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import TEST, Experiment
from zslplat.evaluation.reporter import Reporter
from zslplat.evaluation.scoring.messages import warning_entries
from zslplat.evaluation.session import Session
from zslplat.keys import RECORD_CHOICES
from zslplat.records.studies import OpenStudy
from zslplat.tasks.base import Task
from zslplat.tuning.study_facts import (
    combinations_of,
    controls_of,
    lead_ends,
    outcome_facts,
    searched_facts,
    trial_facts,
)

# So many different warnings of trials other than the best are shown.
MOST_TEXTS = 10


def remember_validation(study: OpenStudy, context: ExperimentContext, problems: Sequence[Path]) -> None:
    """Keep what a study needs to know of its validation problems when they are gone."""
    chances = study.recall("chances", lambda: [context.chance(problem) for problem in problems])
    # The score of a trial is the mean over the folds, which need not have as many classes each.
    study.note("chance", fmean(chances))
    study.recall("validation_warnings", lambda: context.problem_warnings(problems))


def remember_test(study: OpenStudy, context: ExperimentContext, problem: Path) -> None:
    """Keep what a study needs to know of its test problem when it is gone."""
    study.recall("test_chance", lambda: context.chance(problem))
    study.recall("test_warnings", lambda: context.problem_warnings([problem]))


def study_findings(
    session: Session,
    study: OpenStudy,
    records: Sequence[Mapping[str, Any]],
    winner: int,
    test: Sequence[Mapping[str, Any]],
    requested: int,
    *,
    grid: bool = False,
) -> tuple[list[Finding], str]:
    """Return what the checks find in a study at its end, and in its data, and the recorded control, if there is one.

    Nothing is silenced here. The control is named by its study.

    ``records`` are those of the trials, ``test`` those of the winner's test evaluations, ``requested`` the number of
    trials that were requested; ``grid``: they are all points of a grid, so that there are no more to try.
    """
    context = session.context
    if not study.knows("chances", "validation_warnings"):
        remember_validation(study, context, context.validation_problems())
    if not study.knows("test_chance", "test_warnings"):
        remember_test(study, context, context.test_problem())
    primary, record, experiment = context.task.primary, records[winner], context.experiment
    reached = [fold["metrics"][primary.name] for fold in record["folds"]]
    scored = [entry["metrics"][primary.name] for entry in test]
    chances, test_chance = study.recall("chances", list), study.recall("test_chance", float)
    about = study.recall("about", context.about)
    facts = StudyFacts(
        subject=study.name,
        method=str(experiment.method),
        dataset=str(experiment.dataset),
        task=str(experiment.task),
        kind=context.task.kind,
        metric=primary.name,
        maximise=primary.maximise,
        winner=winner,
        requested_trials=requested,
        combinations=requested if grid else combinations_of(experiment.space),
        searched=searched_facts(experiment.space, record["parameters"], context.template.domains),
        dimensions=len(experiment.space),
        trials=trial_facts(records, primary.name),
        validation=PrimaryScores(
            "the best of the search", primary.name, tuple(reached), tuple(chances), primary.maximise, len(records)
        ),
        test=PrimaryScores("test", primary.name, tuple(scored), (test_chance,) * len(scored), primary.maximise),
        test_metrics=tuple(entry["metrics"] for entry in test),
        steps=_steps(context, record),
        controls=controls_of(
            session.records,
            experiment.to_json(),
            about["control"],
            about["preprocessing"],
            primary,
            lambda control: lead_ends(session.records, context.task, test, control, primary.name),
        ),
        warnings=tuple(_warned(study, records, winner, test)),
        **(outcome_facts(session.records.evaluation_folder(test[0]["run"]), primary.name) if test else {}),
    )
    findings = (*run_checks("study", facts), *data_findings(context.dataset, session.settings.cache))
    # A check that does not load belongs to no scope, and is found in each.
    distinct = {(one.code, one.text): one for one in findings}
    return list(distinct.values()), facts.controls[0].study if facts.controls else ""


def warn_of_data(context: ExperimentContext, reporter: Reporter, warn: Callable[[str], None]) -> None:
    """Say before anything is computed how the data were read, and ``warn`` of what the checks find in them."""
    for note in notes_of(context.dataset):
        reporter.note(f"{context.dataset.name}: {note}")
    findings, _ = drop_silenced(data_findings(context.dataset, context.settings.cache), context.settings.silenced)
    for finding in findings:
        warn(finding.line)


def evaluation_findings(
    experiment: Experiment,
    task: Task,
    content: Mapping[str, Any],
    split: str,
    chances: Sequence[float],
    folder: Path | None = None,
    warned: Sequence[RecordedWarning] = (),
) -> list[Finding]:
    """Return what the checks find in one evaluation that belongs to no study, by what it gave.

    ``chances``: what guessing reaches, per fold; ``folder``: that of the outcomes per row of a test evaluation;
    ``warned``: what is to be handed on beside the warnings of the evaluation itself.
    """
    primary = task.primary
    values = tuple(fold["metrics"][primary.name] for fold in content["folds"])
    what = "the result" if split == TEST else "the result on validation"
    reached = PrimaryScores(what, primary.name, values, tuple(chances), primary.maximise)
    tested = split == TEST
    facts = StudyFacts(
        subject=str(experiment.method),
        method=str(experiment.method),
        dataset=str(experiment.dataset),
        task=str(experiment.task),
        kind=task.kind,
        metric=primary.name,
        maximise=primary.maximise,
        validation=None if tested else reached,
        test=reached if tested else None,
        test_metrics=(content["metrics"],) if tested else (),
        warnings=(*warning_facts(content["warnings"]), *warned),
        **(outcome_facts(folder, primary.name) if folder is not None else {}),
    )
    return run_checks("study", facts)


def warning_findings(subject: str, warned: Sequence[RecordedWarning]) -> list[Finding]:
    """Return what data, task and method warned of, as findings of their codes."""
    return run_checks("study", StudyFacts(subject, warnings=tuple(warned)))


def _steps(context: ExperimentContext, record: Mapping[str, Any]) -> TrainingSteps | None:
    """Return the step that validation chose of a method that trains in steps."""
    step, chosen = context.method_class.step_parameter, record[RECORD_CHOICES].get("best_step")
    if not step or not chosen:
        return None
    most = {**context.template.get_params(deep=False), **record["parameters"]}.get(step)
    return TrainingSteps(step, float(most), float(chosen)) if most else None


def _warned(
    study: OpenStudy, records: Sequence[Mapping[str, Any]], winner: int, test: Sequence[Mapping[str, Any]]
) -> list[RecordedWarning]:
    """Return what was warned of: by validation, the best trial, the others (with how many of them) and the test."""
    validation, tested = study.recall("validation_warnings", list), study.recall("test_warnings", list)
    final = warning_entries(
        (f"repeat {entry['repeat']}" if len(test) > 1 else "", [warned["text"]])
        for entry in test
        for warned in entry.get("warnings", [])
    )
    best = records[winner].get("warnings", [])
    texts = {entry["text"] for entry in best}
    counts: dict[str, int] = {}
    for record in records:
        for entry in record.get("warnings", []):
            if entry["text"] not in texts:
                counts[entry["text"]] = counts.get(entry["text"], 0) + 1
    others = sorted(counts.items(), key=lambda item: -item[1])[:MOST_TEXTS]
    return [
        *warning_facts(validation),
        *warning_facts(best, f"best trial, {winner}"),
        *(
            warned
            for text, count in others
            for warned in warning_facts([{"text": text, "where": []}], f"{count} of {len(records)} trials")
        ),
        *warning_facts([entry for entry in tested if entry not in validation], "test"),
        *warning_facts(final, "test"),
    ]
