"""What commands print with ``--json``, held against its schema in ``docs/json``."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parents[1] / "docs" / "json"


def schema_of(command):
    """Return the schema of a command, such as ``data check``."""
    return json.loads((FOLDER / f"{command.replace(' ', '-')}.json").read_text())


def checked(command, text):
    """Return the content of a document that fits the schema of its command."""
    content = json.loads(text)
    errors = [
        f"{error.json_path}: {error.message[:300]}"
        for error in Draft202012Validator(schema_of(command)).iter_errors(content)
    ]
    assert errors == [], f"{command}: {errors}"
    return content
