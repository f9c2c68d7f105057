"""Which study a request means: the setting with its way of searching, and the name that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zslplat.evaluation.setting import Setting
from zslplat.keys import key_of
from zslplat.methods.base import Method
from zslplat.tuning.options import TRIALS, StudyOptions, fitting
from zslplat.tuning.proposals import grid_trials, nothing_to_search

STEP_RULE = "best of the mean over folds"


def searching(setting: Setting, options: StudyOptions, method: type[Method]) -> Setting:
    """Return a setting, its data known, with how the options search."""
    search = {"batch_size": options.batch_size, "sampler": options.sampler, "pruner": options.pruner}
    if method.step_parameter:
        # Trials whose step was chosen by another rule are not comparable with these.
        search["step"] = STEP_RULE
    return replace(setting, search=search)


def study_name(setting: Setting, options: StudyOptions) -> str:
    """Return the name of the study of a setting that is :func:`searching`: given, or made of the setting."""
    title = f"{setting.method.name}@{setting.dataset_title}-{setting.task.name}"
    return options.name or f"{fitting(title)}-{key_of(setting.to_json())[:8]}"


def unsearched(setting: Setting, template: Method) -> dict[str, Any]:
    """Return the values of all parameters that are not searched: the fixed ones, and defaults of the others.

    Conditions of a space may ask for parameters that nobody searches or fixes.
    """
    own = {k: v for k, v in template.get_params(deep=False).items() if k not in setting.space}
    return {**own, **setting.method.parameters}


def number_of_trials(setting: Setting, options: StudyOptions, fixed: Mapping[str, Any]) -> int:
    """Return how many trials a study makes: one where nothing is searched, whatever is asked for."""
    if nothing_to_search(setting.space, fixed):
        return 1
    if options.sampler == "grid":
        return grid_trials(setting.space, fixed, options.trials)
    return options.trials or TRIALS
