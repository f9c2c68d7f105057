"""What methods tell, made fit to be recorded, shown and used as names of files: texts and names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from zslplat.errors import MethodError
from zslplat.names import visible

MOST_CHARACTERS = 1000
_NAME = re.compile(r"\w[\w .-]{0,99}")
# A diagnostic is no file; it may be written as a formula: mean k(x, x).
_DIAGNOSTIC = re.compile(r"\w[\w .,:;()=+*^|<>%'-]{0,99}")


def printable(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text of one line that every terminal, file and database takes: at most ``most`` characters and a count.

    What moves the cursor, hides or is half a character is shown escaped.
    """
    # Text of many megabytes need not be gone through to show its beginning.
    head = " ".join(text[: 10 * most].split())
    shown = visible(head[:most])
    if len(head) <= most and len(shown) <= most and len(text) <= 10 * most:
        return shown
    return f"{shown[:most]}... ({len(text)} characters)"


def message_of(error: BaseException) -> str:
    """Return the text of an exception as :func:`printable` does, whatever it is made of."""
    try:
        return printable(str(error))
    except Exception as unreadable:
        return f"its text cannot be made: {type(unreadable).__name__}"


def require_names(kind: str, names: Iterable[object]) -> None:
    """Raise :class:`MethodError` for a name that cannot be one of a metric and of a file."""
    pattern, more = (_DIAGNOSTIC, ", and signs of formulas") if kind == "diagnostic" else (_NAME, "")
    for name in names:
        if not (isinstance(name, str) and pattern.fullmatch(name)):
            raise MethodError(
                f"a {kind} of the method is named {printable(ascii(name), 120)}; expected 1 to 100 letters, digits, "
                f"underscores, hyphens, dots and blanks{more}, the first a letter, digit or underscore"
            )
