"""What records keep of the surroundings of an evaluation: enough to show and to compare it without the data."""

from __future__ import annotations

import json
from typing import Any

from zslplat.data.dataset import Dataset
from zslplat.evaluation.setting import Setting
from zslplat.tasks.base import Task


def about(setting: Setting, data: Dataset, task: Task, preprocessing: str) -> dict[str, Any]:
    """Return the experiment, the primary metric, the preprocessing in words, and where the data are from."""
    primary = task.primary
    profile = {
        "rows": len(data.X),
        "shape": list(data.X.shape),
        "classes": len(data.class_names),
        "splits": {name: len(index) for name, index in data.splits.items()},
        "fingerprint": data.fingerprint,
    }
    found: dict[str, Any] = {
        "experiment": f"{setting.task.name}: {setting.dataset}",
        "primary": {"name": primary.name, "maximise": primary.maximise},
        "preprocessing": preprocessing,
        "data": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "source": {"spec": str(setting.dataset), **{k: str(v) for k, v in data.source.items()}},
            "profile": profile,
        },
    }
    return dict(json.loads(json.dumps(found)))
