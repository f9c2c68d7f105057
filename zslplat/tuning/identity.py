"""Which study a request means: the experiment with its way of searching, where it begins, and the name that follows.

A search may begin at the best trials of another study. Their values are part of the new study's identity, with where
they are from. So the study is what it is however the other one goes on; the same command continues it with the values
that it began with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zslplat.errors import UnknownNameError, UsageError
from zslplat.evaluation.experiment import Experiment
from zslplat.keys import METRIC, key_of
from zslplat.records.database import Records
from zslplat.space import Space
from zslplat.spec import format_value
from zslplat.tuning.options import TRIALS, StudyOptions, fitting
from zslplat.tuning.proposals import grid_trials, nothing_to_search

if TYPE_CHECKING:  # it loads scikit-learn, which reports and tables do without
    from zslplat.methods.base import Method

STEP_RULE = "best of the mean over folds"
KEY = "warm_start"
BEST = 4  # trials that are taken by default


def with_search_settings(
    experiment: Experiment, options: StudyOptions, method: type[Method], warm_start: Mapping[str, Any] | None = None
) -> Experiment:
    """Return an experiment, its data known, with how the options search; ``warm_start``: where it begins."""
    options = options.for_search_of(experiment)
    search: dict[str, Any] = {"batch_size": options.batch_size, "sampler": options.sampler, "pruner": options.pruner}
    if METRIC in experiment.search:
        search[METRIC] = experiment.search[METRIC]
    if method.step_parameter:
        # Trials whose step was chosen by another rule are not comparable with these.
        search["step"] = STEP_RULE
    if warm_start:
        search["warm_start"] = dict(warm_start)
    return replace(experiment, search=search)


def study_name(experiment: Experiment, options: StudyOptions) -> str:
    """Return the name of a study: that of the options, or one made of the experiment :func:`with_search_settings`."""
    title = f"{experiment.method.name}@{experiment.dataset_title}-{experiment.task.name}"
    return options.name or f"{fitting(title)}-{key_of(experiment.to_json())[:8]}"


def unsearched(experiment: Experiment, template: Method) -> dict[str, Any]:
    """Return the values of all parameters that are not searched: the fixed ones, and defaults of the others.

    Conditions of a space may depend on parameters that are neither searched nor fixed.
    """
    defaults = {k: v for k, v in template.get_params(deep=False).items() if k not in experiment.space}
    return {**defaults, **experiment.method.parameters}


def number_of_trials(experiment: Experiment, options: StudyOptions, fixed: Mapping[str, Any]) -> int:
    """Return how many trials a study makes: one where nothing is searched, whatever is requested."""
    if nothing_to_search(experiment.space, fixed):
        return 1
    if options.sampler == "grid":
        return grid_trials(experiment.space, fixed, options.trials)
    return options.trials or TRIALS


def warm_start_of(
    records: Records, source: str, space: Space, identity: Mapping[str, Any], note: Callable[[str], None]
) -> dict[str, Any]:
    """Return where a search begins: ``from``, the study and how many of its trials, and ``trials``, their values.

    ``source``: ``STUDY`` or ``STUDY:K``, the K best of its complete trials; ``identity``: the JSON form of the search
    without this. A search that is recorded already begins where it did, also where the other study is gone. Values that
    are not searched here, or lie outside the ranges, are left out, and ``note`` prints that. Raises :class:`UsageError`
    where nothing is left, and :class:`UnknownNameError` for a study that is not in the store.
    """
    try:
        study, best = _parsed(source, records.study_names())
    except UnknownNameError:
        begun = _begun(records, identity, source) or _begun(records, identity, f"{source}:{BEST}")
        if begun is None:
            raise
        return begun
    origin = f"{study}:{best}"
    if (begun := _begun(records, identity, origin)) is not None:
        return begun
    trials: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for number, values in _best(records, study, best):
        fitting = {}
        for name, value in values.items():
            if name not in space:
                left_out[name] = f"{name} is not searched here"
            elif not space[name].contains(value):
                left_out.setdefault(name, f"{name}={format_value(value)} lies outside {space[name]}")
            else:
                fitting[name] = value
        if fitting and fitting not in [trial["parameters"] for trial in trials]:
            trials.append({"trial": number, "parameters": fitting})
    reasons = "; ".join(left_out.values())
    if not trials:
        raise UsageError(
            f"--warm-start {source}: nothing of these trials can be tried ({reasons or 'none has any values'}); give a "
            "study that searched the same parameters, or wider ranges (--space)"
        )
    if reasons:
        note(f"warm start from {study}: {reasons}; the search proposes values in their place")
    return {"from": origin, "trials": trials}


def _begun(records: Records, identity: Mapping[str, Any], origin: str) -> dict[str, Any] | None:
    """Return where a search that is recorded already began, None where none of this identity began there."""
    for other in records.identities().values():
        begun = other.get(KEY)
        if begun and begun["from"] == origin and {k: v for k, v in other.items() if k != KEY} == dict(identity):
            return dict(begun)
    return None


def first_values(search: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the values that the first trials after the default try."""
    return [dict(trial["parameters"]) for trial in search.get(KEY, {}).get("trials", ())]


def _parsed(source: str, names: list[str]) -> tuple[str, int]:
    """Return the study and the number of its trials; a name may hold a colon itself."""
    if source in names:
        return source, BEST
    study, separator, count = source.rpartition(":")
    if not separator or not count.isascii() or not count.isdecimal():
        study, count = source, str(BEST)
    if study not in names:
        raise UnknownNameError("study to start from", study, names)
    if int(count) < 1:
        raise UsageError(f"--warm-start {source}: give one trial or more, {study}:{BEST}")
    return study, int(count)


def _best(records: Records, study: str, count: int) -> list[tuple[int, dict[str, Any]]]:
    """Return number and values of the best complete trials of a study, the first of equals first."""
    opened = records.study(study)
    sign = -1.0 if opened.maximise[0] else 1.0
    complete = [t for t, _ in opened.finished() if t.state == "complete" and t.value is not None]
    if not complete:
        raise UsageError(f"--warm-start {study}: it has no complete trial yet; tune it first, or give another study")
    ordered = sorted(complete, key=lambda t: (sign * float(t.value or 0.0), t.number))
    return [(trial.number, dict(trial.parameters)) for trial in ordered[:count]]
