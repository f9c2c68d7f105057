"""Progress: a live line on a terminal and in a notebook, plain lines in a pipe, warnings alone where it is quiet."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from markupsafe import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from zslplat.evaluation.reporter import Interrupted, SilentReporter
from zslplat.front.terminal import Console
from zslplat.names import duration, visible
from zslplat.spec import short_value

_BETWEEN_UPDATES = 0.2  # seconds


@contextmanager
def whole_imports() -> Iterator[None]:
    """Forget what Ctrl-C left of packages that were being imported: the next call of a notebook imports them anew.

    Python forgets a package whose import is stopped, and keeps the parts of it that were read, without which the
    package cannot be imported again.
    """
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        while left := [name for name in sys.modules if name.rpartition(".")[0] not in {"", *sys.modules}]:
            for name in left:
                del sys.modules[name]
        raise


def _import_quietly(name: str) -> None:
    """Import a library of a dependency's, which warns in notebooks that bars which nobody asked for lack a package."""
    with warnings.catch_warnings(), suppress(ImportError):
        warnings.simplefilter("ignore")
        import_module(name)


class QuietReporter(SilentReporter):
    """Prints warnings only, on standard error."""

    def warn(self, text: str) -> None:
        """Print the warning."""
        print(visible(f"warning: {text}"), file=sys.stderr, flush=True)

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
        _line(trial_text(done, total, record, best))

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
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[best]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
            transient=True,
        )
        self.task = self.progress.add_task("starting", total=None, count="", best="", left="")
        self.time_left = TimeLeft()
        self.progress.start()

    def stage(self, text: str) -> None:
        """Show the stage."""
        self.time_left = TimeLeft()
        self.progress.update(self.task, description=visible(text), completed=0, count="", best="", left="")
        self.progress.tasks[0].total = None  # which an update leaves as it was

    def note(self, text: str) -> None:
        """Print the note above the live line."""
        self.progress.console.print(text, highlight=False, markup=False)

    def warn(self, text: str) -> None:
        """Print the warning above the live line."""
        self.note(f"warning: {text}")

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """Advance the bar; failed trials leave a line with their reason."""
        shown, left = "" if best is None else f"best {best:.4f}", self.time_left(done, total)
        self.progress.update(self.task, completed=done, total=total, count=f"{done}/{total}", best=shown, left=left)
        if record.get("reason"):
            self.note(trial_text(done, total, record, best))

    def close(self) -> None:
        """Remove the live line."""
        self.progress.stop()


def _line(text: str) -> None:
    print(visible(f"{time.strftime('%H:%M:%S')} {text}"), file=sys.stderr, flush=True)


def trial_text(done: int, total: int, record: Mapping[str, Any], best: float | None) -> str:
    """Return the line of a trial that has ended."""
    experiment = ", ".join(f"{k}={short_value(v)}" for k, v in record["parameters"].items())
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
        f"{what}  {experiment}  {outcome}"
        + ("" if best is None else f"  best {best:.4f}")
        + (f"  warning: {looked}" if looked else "")
    )


class NotebookReporter(LineReporter):
    """A line under the cell of a notebook, with a bar, which is gone at the end; warnings and failed trials stay.

    ``show(html)`` displays something and returns what has ``update(html)``; by default IPython's display.
    """

    def __init__(self, show: Callable[[str], Any] | None = None) -> None:
        self._show = show or _displayed
        self._text, self._reached = "starting", ""
        self._time_left = TimeLeft()
        self._shown = 0.0
        self._handle = self._show(self._html())

    def stage(self, text: str) -> None:
        """Show the stage."""
        self._text, self._reached = text, ""
        self._time_left = TimeLeft()
        self._update(now=True)

    def note(self, text: str) -> None:
        """Ignore: a cell is no log."""

    def trial(self, done: int, total: int, record: Mapping[str, Any], best: float | None) -> None:
        """Move the bar; failed trials leave a line with their reason."""
        shown = "" if best is None else f" best {best:.4f}"
        self._reached = f" {done} of {total}{shown} {self._time_left(done, total)}".rstrip()
        self._bar = f'<progress value="{done}" max="{total}"></progress> '
        self._update(now=done == total)
        if record.get("reason"):
            _line(trial_text(done, total, record, best))

    def close(self) -> None:
        """Remove the line."""
        self._handle.update("")

    def _update(self, *, now: bool) -> None:
        # Every update is a message to the browser.
        if now or time.monotonic() - self._shown > _BETWEEN_UPDATES:
            self._shown = time.monotonic()
            self._handle.update(self._html())

    def _html(self) -> str:
        bar = self._bar if self._reached else ""
        return f"<div>{bar}{escape(visible(self._text))}{self._reached}</div>"


@contextmanager
def progress(
    *,
    quiet: bool,
    notebook: Callable[[], Any] = NotebookReporter,
    terminal: Callable[[], Any] = TerminalReporter,
    lines: Callable[[], Any] = LineReporter,
) -> Iterator[Any]:
    """Give the reporter that fits where the output goes; its live line is gone afterwards."""
    in_cell = in_notebook()
    if in_cell:
        _import_quietly("tqdm.auto")
    fitting = QuietReporter if quiet else notebook if in_cell else terminal if sys.stderr.isatty() else lines
    reporter = fitting()
    try:
        with whole_imports():
            yield reporter
    finally:
        reporter.close()


def in_notebook() -> bool:
    """Tell whether this runs in the kernel of a notebook, which has imported IPython long before."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


class _Displayed:
    """What IPython shows under the cell, by a handle that changes it."""

    def __init__(self, html: str) -> None:
        from IPython.display import HTML, display

        self._made = HTML
        self._handle = display(HTML(html), display_id=True)

    def update(self, html: str) -> None:
        """Show this in its place."""
        self._handle.update(self._made(html))


def _displayed(html: str) -> Any:
    return _Displayed(html)


class TimeLeft:
    """How long the rest takes if it goes on as since the first call; said only when enough has been seen."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._first: tuple[float, float] | None = None

    def __call__(self, completed: int, total: int) -> str:
        """Return the rest in words; empty where it is not known or nothing is left."""
        now = self.clock()
        if self._first is None or completed < self._first[1]:
            self._first = (now, completed)
        began, before = self._first
        # What was there before this call took none of its time.
        if completed - before < 0.5 or now - began < 2 or completed >= total:
            return ""
        seconds = (now - began) / (completed - before) * (total - completed)
        return f"about {duration(seconds)} left"
