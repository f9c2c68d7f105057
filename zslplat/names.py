"""Names and texts in messages: texts from elsewhere as they may be shown, names of files, counts in words."""

from __future__ import annotations

import math
import re

NOTHING = "–"  # for what is not known
MOST_BYTES = 200  # file systems take 255 for a name; endings and keys are added to ours
# C0 and C1 but for tab and line feed, line and paragraph separators, marks and overrides of the direction of writing,
# what is not to be seen, and halves of characters.
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def visible(text: str) -> str:
    """Return a text in which nothing moves the cursor, colours, hides or turns around: such characters are escaped.

    Tabs and line feeds stay. What comes out can be written as UTF-8.
    """
    return _ODD.sub(lambda found: _escaped(found[0]), text)


def one_line(text: str) -> str:
    """Return a name as :func:`visible` does, with tabs and line feeds escaped, too."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def unfit(name: str) -> str:
    """Return why a name cannot be that of a file or folder everywhere, nor of a run; an empty text where it can."""
    if not name.strip():
        return "it is empty"
    if _ODD.search(name) or "\n" in name or "\t" in name:
        return f"it holds control characters: {one_line(name)}"
    if len(name.encode(errors="replace")) > MOST_BYTES:
        return f"it has {len(name.encode())} bytes; at most {MOST_BYTES} are possible"
    if name.startswith((".", " ", "/")) or name.endswith((".", " ", "/")):
        return "it begins or ends with a dot, a blank or a slash"
    for step in name.split("/"):
        if step in ("", ".", "..") or _RESERVED.fullmatch(step):
            return f"{step or '//'!r} is no name of a file on every system"
    return ""


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


def decimal(value: float, digits: int = 4, *, sign: bool = False) -> str:
    """Return a number with so many decimals; one that they would round to 0 keeps the first that is not 0."""
    from decimal import Decimal

    plus = "+" if sign else ""
    text = f"{value:{plus}.{digits}f}"
    return text if float(text) or not abs(value) > 1e-9 else f"{Decimal(f'{value:.1g}'):{plus}f}"


def counted(count: int, one: str, several: str = "") -> str:
    """Return a count with its noun: ``1 trial``, ``3 trials``."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def duration(seconds: float | None) -> str:
    """Return a time in the unit that fits it: ``12 ms``, ``42 s``, ``3.17 min``, ``2.08 h``; a dash for None."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds < 0.0995:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 90:
        return f"{seconds:.3g} s"
    if seconds < 5400:
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:.3g} h"
