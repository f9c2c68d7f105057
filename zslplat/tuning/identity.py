"""Which study a request means: the experiment with its way of searching, and the name that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zslplat.evaluation.experiment import Experiment
from zslplat.keys import METRIC, key_of
from zslplat.tuning.options import TRIALS, StudyOptions, fitting
from zslplat.tuning.proposals import grid_trials, nothing_to_search

if TYPE_CHECKING:  # it loads scikit-learn, which reports and tables do without
    from zslplat.methods.base import Method

STEP_RULE = "best of the mean over folds"


def with_search_settings(experiment: Experiment, options: StudyOptions, method: type[Method]) -> Experiment:
    """Return an experiment, its data known, with how the options search."""
    options = options.for_search_of(experiment)
    search: dict[str, Any] = {"batch_size": options.batch_size, "sampler": options.sampler, "pruner": options.pruner}
    if METRIC in experiment.search:
        search[METRIC] = experiment.search[METRIC]
    if method.step_parameter:
        # Trials whose step was chosen by another rule are not comparable with these.
        search["step"] = STEP_RULE
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
