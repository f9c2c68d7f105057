"""Component specs: ``"mfmr(lam=1,k=10)"`` <-> a name and its parameters.

Grammar: ``name`` or ``name(key=value, ...)``; a value is a number, ``true``, ``false``, ``none``, a bare word, a
quoted string, a list ``[a, b]``, a multiple of a unit of the data (``0.7*median``) or a further spec. Names may hold
letters, digits, ``_``, ``-``, ``.`` and, as paths do, ``/``, with the distribution that registers them in front where
two do (``zslplat-foo:mfmr``), and several may be joined by ``+`` (``features=cq+phog``), each with a weight
(``0.3*att+0.7*text``); others are quoted. In double quotes, ``\\"`` is a quote and ``\\\\`` a backslash.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zslplat.errors import UsageError, quoted
from zslplat.multiples import PATTERN

# More names behind a ``+``, each with a weight in front where it has one.
_JOINED = r"(?:\+(?:\d[\d.]*\*)?\w[\w.\-]*)*"
_TOKEN = re.compile(
    rf"\s*(?:(?P<multiple>{PATTERN}[\w.\-]*{_JOINED})"
    r"|(?P<number>[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?(?![\w.]))"
    r"|(?P<word>(?:~|\.{1,2})?/[\w./~\-]*|(?:[A-Za-z_][\w./\-]*(?::[A-Za-z_][\w.\-]*)?|\d[\w.\-]*)"
    rf"{_JOINED}|[+-]?inf\b)"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"|'[^']*')"
    r"|(?P<mark>[(),=\[\]]))"
)
_BLANKS = re.compile(r"\s*")
MOST_DEPTH, MOST_CHARACTERS = 50, 100_000
_ESCAPED = re.compile(r'\\(["\\])')
_WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Spec:
    """A component name and the parameters given for it; ``str`` writes the canonical form, parameters sorted."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Read a spec; raises :class:`UsageError` that points at the first character that does not fit."""
        value = _Reader(text).read_all()
        if isinstance(value, Spec):
            return value
        if isinstance(value, str) and value:
            return cls(value)
        raise UsageError(f"{quoted(text)} is not a component; write a name or name(key=value, ...)")

    def with_parameters(self, parameters: Mapping[str, Any]) -> Spec:
        """Return the spec with these parameters added or replaced."""
        return Spec(self.name, {**self.parameters, **parameters})

    def __str__(self) -> str:
        name = format_value(self.name)
        if not self.parameters:
            return name
        inner = ", ".join(f"{key}={format_value(self.parameters[key])}" for key in sorted(self.parameters))
        return f"{name}({inner})"


def parse_value(text: str) -> Any:
    """Read one value: a number, ``true``/``false``/``none``, a string, a list or a spec."""
    return _Reader(text).read_all()


def format_value(value: Any) -> str:
    """Write a value so that :func:`parse_value` reads the same value again."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(format_value(v) for v in value) + "]"
    if isinstance(value, str):
        try:
            # Joined names are written in quotes, as sums of kernels always were: the text is a study's identity.
            plain = "+" not in value and parse_value(value) == value
        except UsageError:
            plain = False
        return value if plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    # A NumPy float is a float, but its repr is no number.
    return repr(float(value)) if isinstance(value, float) else str(value)


def short_value(value: Any) -> str:
    """Write a value for people: numbers with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else format_value(value)


def parse_assignment(text: str) -> tuple[str, Any]:
    """Read ``key=value`` as given to ``--set``."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip() or not value.strip():
        raise UsageError(f"{quoted(text)} is not an assignment; write key=value, for example lam=1")
    return key.strip(), parse_value(value)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self.kind, self.token, self.depth = "", "", 0
        if len(text) > MOST_CHARACTERS:
            raise UsageError(f"{quoted(text)} is longer than {MOST_CHARACTERS} characters; no value is so long")
        self._advance()

    def read_all(self) -> Any:
        value = self._value()
        if self.kind:
            raise self._error("the end")
        return value

    def _advance(self) -> None:
        blanks = _BLANKS.match(self.text, self.position)
        self.start = blanks.end() if blanks else self.position
        if self.start == len(self.text):
            self.kind, self.token = "", ""
            return
        match = _TOKEN.match(self.text, self.position)
        if not match:
            raise self._error("a name, number, string or list")
        self.kind = match.lastgroup or ""
        self.token = match[self.kind]
        self.position = match.end()

    def _error(self, expected: str) -> UsageError:
        hint = ""
        if self.text[self.start : self.start + 1] in ("/", ".", "~", "\\"):
            hint = '; a path with blanks or signs must be in quotes, as in "my data/birds.npz"'
        if self.depth and self.start == len(self.text):
            hint = "; a bracket is not closed"
        return UsageError(f"cannot read {quoted(self.text)} at character {self.start + 1}: expected {expected}{hint}")

    def _take(self, mark: str) -> None:
        if self.token != mark:
            raise self._error(repr(mark))
        self._advance()

    def _value(self) -> Any:
        kind, token = self.kind, self.token
        if kind == "number":
            self._require_number(float(token))
            self._advance()
            return int(token) if re.fullmatch(r"[+-]?\d+", token) else float(token)
        if kind == "multiple":
            self._require_number(float(re.split(r"\s*[*/]", token)[0]))
            self._advance()
            return token
        if kind == "string":
            self._advance()
            text = _ESCAPED.sub(r"\1", token[1:-1]) if token[0] == '"' else token[1:-1]
            return Spec(text, self._arguments()) if self.token == "(" else text
        if kind == "word":
            self._advance()
            if token.lower() in ("inf", "+inf", "-inf"):
                return float(token)
            if self.token == "(":
                return Spec(token, self._arguments())
            return _WORDS.get(token.lower(), token)
        if token == "[":
            return self._list()
        raise self._error("a value")

    def _require_number(self, number: float) -> None:
        if not math.isfinite(number):
            raise UsageError(
                f"cannot read {quoted(self.text)} at character {self.start + 1}: no number is so large, the largest is "
                "1.8e308; write inf where none is too large"
            )

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise UsageError(f"{quoted(self.text)} has more than {MOST_DEPTH} brackets in each other")

    def _arguments(self) -> dict[str, Any]:
        self._take("(")
        self._deeper()
        arguments: dict[str, Any] = {}
        while self.token != ")":
            if self.kind != "word":
                raise self._error("key=value")
            key = self.token
            self._advance()
            self._take("=")
            if key in arguments:
                raise UsageError(f"{quoted(self.text)} gives {key!r} twice")
            arguments[key] = self._value()
            if self.token != ")":
                self._take(",")
        self._take(")")
        self.depth -= 1
        return arguments

    def _list(self) -> list[Any]:
        self._take("[")
        self._deeper()
        items: list[Any] = []
        while self.token != "]":
            items.append(self._value())
            if self.token != "]":
                self._take(",")
        self._take("]")
        self.depth -= 1
        return items
