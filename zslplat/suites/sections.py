"""One table of a suite's file: values by key and type, with errors that say where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, overload

from zslplat.errors import UnknownNameError, UsageError, quoted

_TOO_LARGE = 1 << 63  # for the databases that keep it


class Section:
    """A table, ``where`` it stands, and what it describes (``kind``); :meth:`finish` refuses unread keys."""

    def __init__(self, content: Mapping[str, Any], where: str, kind: str) -> None:
        self.content, self.where, self.kind = content, where, kind
        self._read: list[str] = []

    def named(self) -> str:
        """Return the name, which later errors call the table by."""
        name = self.text("name")
        if name != name.strip() or not name.isprintable():
            raise self._error("name", name, "a text in one line, without blanks around it")
        self.where += f" ({name!r})"
        return name

    @overload
    def text(self, key: str) -> str: ...

    @overload
    def text(self, key: str, *, default: str) -> str: ...

    @overload
    def text(self, key: str, *, default: None) -> str | None: ...

    def text(self, key: str, *, default: Any = ...) -> str | None:
        """Return a text; without a default it must not be empty."""
        value = self._value(key, default)
        if value is not default and not (isinstance(value, str) and value.strip()):
            raise self._error(key, value, "text in quotes")
        return value  # type: ignore[no-any-return]

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, none of them twice; empty where there is none."""
        value = self._value(key, [])
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) and v.strip() for v in value):
            raise self._error(key, value, "a list of texts")
        if len(set(value)) < len(value):
            raise UsageError(f"{self.where}: {key} has an entry twice: {', '.join(value)}")
        return tuple(value)

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """Return a list of pairs of texts, none of them twice."""
        value = self._value(key, [])
        fits = isinstance(value, list | tuple) and all(
            isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(v, str) for v in pair)
            for pair in value
        )
        if not fits:
            raise self._error(key, value, 'a list of pairs of names, [["ahead", "behind"]]')
        if len(set(map(tuple, value))) < len(value):
            raise UsageError(f"{self.where}: {key} has an entry twice: {', '.join(map(str, value))}")
        return tuple((ahead, behind) for ahead, behind in value)

    @overload
    def count(self, key: str, default: int, *, least: int = 1) -> int: ...

    @overload
    def count(self, key: str, default: None, *, least: int = 1) -> int | None: ...

    def count(self, key: str, default: int | None, *, least: int = 1) -> int | None:
        """Return a whole number."""
        value: Any = self._value(key, default)
        if key not in self.content:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < _TOO_LARGE:
            raise self._error(key, value, f"a whole number, {least} or more (and below 2^63)")
        return int(value)

    def mapping(self, key: str) -> dict[str, Any]:
        """Return a table of values; empty where there is none."""
        value = self._value(key, {})
        if not isinstance(value, Mapping):
            raise self._error(key, value, "a table")
        return dict(value)

    def tables(self, key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the tables of a list of tables, counted from 1."""
        value = self._value(key, [])
        if not isinstance(value, list | tuple) or not all(isinstance(v, Mapping) for v in value):
            raise self._error(key, value, f"a list of tables, [[{key}]]")
        yield from enumerate(value, start=1)

    def read(self, key: str, reader: Callable[[], Any]) -> Any:
        """Return what a reader makes of a value; its error is told with the place."""
        try:
            return reader()
        except UsageError as error:
            raise UsageError(f"{self.where}, {key}: {error}") from error

    def finish(self) -> None:
        """Raise :class:`UnknownNameError` for a key that means nothing here."""
        for key in self.content:
            if key not in self._read:
                raise UnknownNameError(f"key of a {self.kind} ({self.where})", str(key), self._read)

    def _value(self, key: str, default: Any) -> Any:
        self._read.append(key)
        return self.content.get(key, default)

    def _error(self, key: str, value: Any, expected: str) -> UsageError:
        return UsageError(f"{self.where}: {key}={quoted(value)}; expected {expected}")
