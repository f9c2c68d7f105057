"""Results as JSON that every reader takes."""

from __future__ import annotations

import json
import math
from typing import Any


def plain_json(content: Any, indent: int) -> str:
    """Return a result as JSON; a number that is not finite, which JSON does not have, is null.

    What JSON has no form for is written as its text.
    """
    return json.dumps(_finite(content), indent=indent, default=str, allow_nan=False)


def _finite(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    return [_finite(value) for value in content] if isinstance(content, list | tuple) else content
