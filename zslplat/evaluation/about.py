"""What records keep of the surroundings of an evaluation: enough to show and to compare it without the data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.evaluation.experiment import Experiment
from zslplat.tasks.base import Task


def about(
    experiment: Experiment,
    data: Dataset,
    task: Task,
    preprocessing: str,
    part_of: Mapping[str, str] | None = None,
    *,
    maps: bool = False,
    own_ranges: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the experiment, the primary metric, the preprocessing in words, and where the data are from.

    ``maps``: whether the method can show where it puts rows, for who reads records without the method.
    ``own_ranges``: the parameters that are searched in another range than their method's, for who writes the command.
    ``tags``: what the user gave to find it by.
    ``part_of``: the ``suite`` that it is carried out for, with its names for ``data`` and ``row``, and the number of
    the ``split``, and where the parameters were ``searched`` for another task, that and the number of ``trials``; the
    suite is MLflow's experiment then.
    """
    primary = task.primary
    profile = {
        "rows": len(data.X),
        "shape": list(data.X.shape),
        "classes": len(data.class_names),
        "splits": {name: len(index) for name, index in data.splits.items()},
        "classes_of_splits": _classes(data),
        "fingerprint": data.fingerprint,
    }
    found: dict[str, Any] = {
        "mlflow_experiment": f"suite: {part_of['suite']}"
        if part_of
        else f"{experiment.task.name}: {experiment.dataset}",
        **({"part_of": dict(part_of)} if part_of else {}),
        **({"tags": dict(tags)} if tags else {}),
        "primary": {"name": primary.name, "maximise": primary.maximise},
        "preprocessing": preprocessing,
        "maps": maps,
        "own_ranges": list(own_ranges),
        "data": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "features_digest": data.features_digest,
            "source": {"spec": str(experiment.dataset), **{k: str(v) for k, v in data.source.items()}},
            "profile": profile,
        },
    }
    return dict(json.loads(json.dumps(found)))


def _classes(data: Dataset) -> dict[str, int]:
    """Return how many classes each split has rows of; nothing where rows have several labels."""
    if data.y.ndim > 1:
        return {}
    return {name: len(np.unique(data.y[index])) for name, index in data.splits.items()}
