"""Values, results and methods as MLflow's pages show them: short numbers, names of runs, one colour per method."""

from __future__ import annotations

import colorsys
import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

_SALT = "zslplat:216"  # with which the built-in methods' colours are told apart best
_LEAST_CONTRAST = 3.0  # with white, as WCAG asks of graphics


def result(value: float | None) -> str:
    """Return a result with three decimals and without the zero before the point, as tables of papers have it: ``.956``.

    Values of 10 and more have three digits; what is no number is ``none``.
    """
    if value is None or math.isnan(value):
        return "none"
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:.3g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def interval(ends: tuple[float, float] | None) -> str:
    """Return an interval in brackets with a blank before it, an empty text for none."""
    return f" [{result(ends[0])}, {result(ends[1])}]" if ends is not None else ""


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def commands(*lines: str) -> str:
    """Return commands as a block of Markdown."""
    return "\n".join(("```", *lines, "```"))


def shell_word(text: str) -> str:
    """Return a text as one word of a command; quoted where a shell would take it apart."""
    import shlex

    return shlex.quote(text)


def colour(method: str) -> str:
    """Return the colour of a method, the same in every store: a function of its name."""
    drawn = hashlib.sha256(f"{_SALT}{method}".encode()).digest()
    hue, saturation = int.from_bytes(drawn[:2], "big") / 65536, (0.95, 0.7, 0.45)[drawn[2] % 3]
    lightness = (0.3, 0.42, 0.54)[drawn[3] % 3]
    while True:
        channels = colorsys.hls_to_rgb(hue, lightness, saturation)
        if _contrast_with_white(channels) >= _LEAST_CONTRAST:
            return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)
        lightness -= 0.02


def _contrast_with_white(channels: tuple[float, float, float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 1.05 / (luminance + 0.05)


def in_json(value: Any) -> str:
    """Return a value as JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True)
