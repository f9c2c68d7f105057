"""The page of an experiment: its description and its saved views, made of what its runs are.

What the runs are is kept in a tag of the experiment and completed with each study, run and sweep that is shown there.
The page is an extra: where it cannot be made the runs are shown all the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from zslplat.records.locks import file_lock
from zslplat.tracking.descriptions import data_in_words, experiment_note
from zslplat.tracking.projection import Projection
from zslplat.tracking.run_view import NOTE, OUR_NOTE, note_mark
from zslplat.tracking.saved_views import merged, saved_views
from zslplat.tracking.views import method_of
from zslplat.tracking.words import in_json

FACTS = "zslplat.shown"
_MOST_TAG = 19_000


def page_facts(
    experiment: Mapping[str, Any],
    about: Mapping[str, Any],
    *,
    stages: tuple[str, ...],
    began: float,
    ended: float,
    series: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return what one study, run or sweep adds to the page of its experiment; see :func:`saved_views.merged`."""
    return {
        "primaries": {about["primary"]["name"]: about["primary"]["maximise"]},
        "methods": {method_of(experiment): sorted(experiment.get("space", {}))},
        "data": {about["data"]["name"]: data_in_words(about)},
        "pairs": [(str(experiment["dataset"]), str(experiment["task"]))],
        "tasks": [str(experiment["task"])],
        "stages": list(stages),
        "series": list(series),
        "suite": about.get("part_of", {}).get("suite", ""),
        "began": began,
        "ended": ended,
    }


def arrange(projection: Projection, new: Mapping[str, Any]) -> None:
    """Complete the page of a projection's experiment; a warning where that fails, whatever the reason."""
    if projection.away:
        return
    try:
        # Two commands may be about to complete the same page.
        with file_lock(projection.settings.studies / "mlflow.lock"):
            _write(projection, new)
    except Exception as error:
        text = projection.settings.masked(" ".join(str(error).split()))[:300]
        projection.on_away(
            f"the views of experiment {projection.mlflow_experiment!r} could not be saved in MLflow "
            f"({type(error).__name__}: {text}); its runs are all there"
        )


def _write(projection: Projection, new: Mapping[str, Any]) -> None:
    client, mlflow_experiment = projection.client, projection.experiment_id
    there = dict(client.get_experiment(mlflow_experiment).tags)
    facts = merged(_known(there), new)
    note = experiment_note(facts)[:_MOST_TAG]
    tags = {**saved_views(facts), FACTS: in_json(facts)}
    if NOTE not in there or there.get(OUR_NOTE) == note_mark(there[NOTE]):
        tags |= {NOTE: note, OUR_NOTE: note_mark(note)}
    for name, value in tags.items():
        if there.get(name) != value:
            client.set_experiment_tag(mlflow_experiment, name, value)


def _known(tags: Mapping[str, str]) -> dict[str, Any]:
    """Return what an experiment's page was made of; nothing where somebody has changed the tag beyond reading."""
    with suppress(ValueError):
        found = json.loads(tags.get(FACTS, "{}"))
        if isinstance(found, dict):
            return found
    return {}
