"""What commands print: progress on a terminal, plain lines in a pipe, JSON for scripts."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from zslplat.cli.invocation import write_result
from zslplat.evaluation.reporter import Reporter
from zslplat.spec import format_value


@contextmanager
def reporting(*, as_json: bool, quiet: bool) -> Iterator[Reporter]:
    """Give the reporter that fits where the output goes; its live line is gone afterwards."""
    reporter = _fitting_reporter(silent=as_json or quiet)
    try:
        yield reporter
    finally:
        reporter.close()


def _fitting_reporter(*, silent: bool) -> QuietReporter | LineReporter | TerminalReporter:
    if silent:
        return QuietReporter()
    return TerminalReporter() if sys.stderr.isatty() else LineReporter()


class QuietReporter:
    """Prints warnings only, on standard error."""

    def stage(self, text: str) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def warn(self, text: str) -> None:
        """Print the warning."""
        print(f"warning: {text}", file=sys.stderr, flush=True)

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """Ignore."""

    def close(self) -> None:
        """Nothing to put away."""


class LineReporter:
    """Plain lines on standard error."""

    def stage(self, text: str) -> None:
        """Print the stage."""
        _line(text)

    def note(self, text: str) -> None:
        """Print the note."""
        _line(text)

    def warn(self, text: str) -> None:
        """Print the warning."""
        _line(f"warning: {text}")

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """Print one line per trial."""
        _line(_trial_text(done, total, record, best))

    def close(self) -> None:
        """Nothing to put away."""


class TerminalReporter:
    """A live line with the stage, the progress and the best value so far; notes stay above it."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[best]}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
        )
        self.task = self.progress.add_task("starting", total=None, best="")
        self.progress.start()

    def stage(self, text: str) -> None:
        """Show the stage."""
        self.progress.update(self.task, description=text, total=None, completed=0, best="")

    def note(self, text: str) -> None:
        """Print the note above the live line."""
        self.progress.console.print(text, highlight=False, markup=False)

    def warn(self, text: str) -> None:
        """Print the warning above the live line."""
        self.note(f"warning: {text}")

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """Advance the bar; failed trials leave a line with their reason."""
        shown = "" if best is None else f"best {best:.4f}"
        self.progress.update(self.task, completed=done, total=total, best=shown)
        if record.get("reason"):
            self.note(_trial_text(done, total, record, best))

    def close(self) -> None:
        """Remove the live line."""
        self.progress.stop()


def _line(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _trial_text(done: int, total: int, record: Mapping[str, Any], best: float | None) -> str:
    setting = ", ".join(f"{k}={_short(v)}" for k, v in record["parameters"].items())
    if record.get("reason"):
        outcome = f"failed: {record['reason']}"
    elif record.get("value") is None:
        outcome = "pruned"
    else:
        outcome = f"{record['value']:.4f}"
    looked = "; ".join(entry["text"] for entry in record.get("warnings", []))
    # Trials have numbers from 0 on, here as in MLflow, Optuna and the result.
    what = f"{record.get('what', 'trial')} {record['number']} ({done} of {total})"
    return (
        f"{what}  {setting}  {outcome}"
        + ("" if best is None else f"  best {best:.4f}")
        + (f"  warning: {looked}" if looked else "")
    )


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else format_value(value)


def print_json(content: Any) -> None:
    """Print a result as one JSON document on standard output."""
    write_result(content)


def metrics_table(
    validation: Mapping[str, float],
    test: list[dict[str, float]],
    primary: str,
    chance: Mapping[str, float],
) -> Table:
    """Return the closing table: validation and test of every metric, with the spread over repeats and chance levels."""
    import numpy as np

    splits = [name for name, there in (("validation", validation), ("test", test)) if there]
    table = Table("metric")
    for split in splits:
        table.add_column(split, justify="right")
        table.add_column("chance", justify="right")
    for name in dict.fromkeys([primary, *validation, *(test[0] if test else {})]):
        cells = []
        for split in splits:
            values = [v[name] for v in ([validation] if split == "validation" else test) if name in v]
            shown = f"{np.mean(values):.4f}" if values else ""
            shown += f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
            cells += [shown, f"{chance[split]:.4f}" if name == primary else ""]
        table.add_row(f"[bold]{name}[/bold]" if name == primary else name, *cells)
    return table


def print_warnings(console: Console, lines: Sequence[str], silenced: int = 0) -> None:
    """Print a line for every warning of a result, how many are silenced, and where more is said of them."""
    for line in lines:
        console.print(f"warning: {line}", highlight=False, markup=False, soft_wrap=True)
    codes = [line.partition(" ")[0] for line in lines]
    hint = f"`zslplat explain {codes[0]}` tells cause and remedy, --silence {codes[0]} silences" if codes else ""
    notes = [f"{silenced} silenced" if silenced else "", hint]
    if any(notes):
        console.print("; ".join(note for note in notes if note), highlight=False, markup=False, soft_wrap=True)


def stdout_console() -> Console:
    """Return the console for results; as wide as needed in a pipe, so that tables are not cut."""
    return Console() if sys.stdout.isatty() else Console(width=140)
