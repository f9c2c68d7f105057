"""Keys of JSON-able values, of runs, and of entries that many modules read."""

from __future__ import annotations

import hashlib
import json
from typing import Any

# The choices that validation hands to the refit, ``validation_choices`` in Python, are stored under these keys: in the
# record of an evaluation, and in the JSON form of an experiment.
RECORD_CHOICES, EXPERIMENT_CHOICES = "carry", "carried"

# The entry of a search that names the metrics it selects by, separated by commas; none: the task's own.
METRIC = "metric"
# The names of the features, in the source of a data set and in a model.
COLUMNS = "columns"


def key_of(*parts: Any) -> str:
    """Return a 32-digit key of JSON-able parts; equal inputs give equal keys in every process."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def trial_key(number: int) -> str:
    """Return the key of a trial in its study."""
    return f"trial-{number}"


def repeat_key(winner: int, repeat: int) -> str:
    """Return the key of a test evaluation of a study's winner."""
    return f"{trial_key(winner)}/repeat-{repeat}"


def run_identifier(origin: str, owner: str, key: str) -> str:
    """Return the stable identifier of a run, 16 hex digits: the same in every copy of its store.

    ``origin``: identity of the store in which its study was made, empty for owners that are unique by themselves;
    ``owner`` and ``key``: under which it is recorded.
    """
    return key_of("run", origin, owner, key)[:16]
