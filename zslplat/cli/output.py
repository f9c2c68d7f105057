"""What several commands print, warnings and tables, and the store that they read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from zslplat.cli.invocation import echo
from zslplat.front.terminal import Console
from zslplat.names import counted
from zslplat.summary import padded

MOST_WARNINGS = 3


def warn(text: str) -> None:
    """Print a warning of a command that shows no progress."""
    echo(f"warning: {text}", err=True)


@contextmanager
def open_store(options: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Give the settings and the records of the store that options name; raises :class:`StoreError` without records."""
    from zslplat.front.requests import settings_of
    from zslplat.records.opening import existing_records

    settings = settings_of(options)
    with existing_records(settings, warn) as records:
        yield settings, records


def print_columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print rows as lines of plain text, the columns ``right`` aligned to the right: a store may hold thousands."""
    for line in padded(rows, right):
        echo(line)


def print_warnings(console: Console, lines: Sequence[str], silenced: int = 0, rest: str = "") -> None:
    """Print a line for every warning of a result, how many are silenced, and where more is said of them.

    ``rest``: the command that shows all, where the first three are enough here.
    """
    more = len(lines) - MOST_WARNINGS if rest else 0
    for line in lines[:MOST_WARNINGS] if more > 0 else lines:
        console.print(f"warning: {line}", highlight=False, markup=False, soft_wrap=True)
    notes = [f"{counted(more, 'more warning')}: {rest}" if more > 0 else ""]
    notes += [f"{silenced} silenced" if silenced else "", _hint(lines)]
    if any(notes):
        console.print("; ".join(note for note in notes if note), highlight=False, markup=False, soft_wrap=True)


def print_result(result: Any, warnings: Sequence[str], places: Sequence[str] = ()) -> None:
    """Print a result as Python shows it, where it is, and what tells more of its warnings."""
    for line in [repr(result), *places, _hint(warnings)]:
        if line:
            echo(line)


def _hint(lines: Sequence[str]) -> str:
    """Return what tells more of the first warning."""
    codes = [line.partition(" ")[0] for line in lines]
    return f"`zslplat explain {codes[0]}` tells cause and remedy, --silence {codes[0]} silences" if codes else ""


def stdout_console() -> Console:
    """Return the console for results; as wide as needed in a pipe, so that tables are not cut."""
    return Console() if sys.stdout.isatty() else Console(width=140)


def place_options(settings: Any) -> str:
    """Return the options, ready to be appended to a command, that lead to these places where nothing else would.

    A password is masked, so that such a command asks for it again.
    """
    import shlex

    from zslplat.front.requests import settings_of

    usual = settings_of({})
    options = {
        "--data-root": (settings.data_root, usual.data_root),
        "--store": (settings.store, usual.store),
        "--tracking-uri": (
            settings.shown_tracking_uri,
            None if settings.tracking_is_local else usual.shown_tracking_uri,
        ),
        "--storage-url": (settings.masked(settings.storage_url), usual.masked(usual.storage_url)),
    }
    if settings.tracking_is_local:
        del options["--tracking-uri"]
    if settings.storage_is_local:
        del options["--storage-url"]
    return "".join(
        f" {option} {shlex.quote(str(value))}"
        for option, (value, default) in options.items()
        if value not in (default, None)
    )
