"""MLflow's ids as aliases of runs: all that is ever asked of MLflow, and only where a user gives such an id."""

from __future__ import annotations

import re
from contextlib import suppress

from zslplat.errors import StoreError
from zslplat.settings import Settings
from zslplat.tracking.reading import reading

_MLFLOW_ID = re.compile(r"[0-9a-f]{32}")


def run_of_alias(settings: Settings, store: str, text: str) -> str:
    """Return the identifier of the run that MLflow calls so; empty where it knows none of this store."""
    if not _MLFLOW_ID.fullmatch(text):
        return ""
    from mlflow.exceptions import MlflowException

    with suppress(StoreError, MlflowException), reading(settings, f"run {text!r}") as client:
        tags = client.get_run(text).data.tags
        if tags.get("zslplat.store") == store:
            return str(tags.get("zslplat.run", ""))
    return ""
