"""``zslplat.bench``: a suite carried out as a grid of studies, or what is missing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zslplat.comparison.leaderboard import larger_is_better
from zslplat.drawing import drawn
from zslplat.evaluation.workers.memory import memory_limit, worker_count
from zslplat.figures import MatrixFigure
from zslplat.front.asking import Tags, option_numbers, places
from zslplat.front.grid_progress import grid_progress
from zslplat.front.results import Result, Summary, warning_lines
from zslplat.settings import Settings
from zslplat.suites.budgets import GIVEN
from zslplat.suites.cells import DONE, FAILED, SKIPPED, Cell
from zslplat.suites.earlier_results import Again, carry_out_compared
from zslplat.suites.grid import GridOptions
from zslplat.suites.remembered import place_of
from zslplat.suites.result import GridResult
from zslplat.suites.suite import Suite, load_suite, suite_from
from zslplat.suites.written import MEAN, SCORES, tables_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Grid(Result):
    """A suite that was carried out: ``result`` holds how each cell ended, ``kept`` which scores are as kept."""

    result: GridResult
    settings: Settings = field(repr=False)
    kept: Again

    @property
    def failed(self) -> list[Cell]:
        """The cells that failed, each with its reason; the others stand."""
        return self.result.having(FAILED)

    @property
    def best(self) -> pd.DataFrame:
        """The row with the best test score by data set, task and metric; whether it is more than luck, compare says."""
        frame = self.scores()
        frame = frame[frame["split"].isin([GIVEN, MEAN])].reset_index(drop=True)
        places = [
            (values["test"].idxmax if self._larger_is_better(task, metric) else values["test"].idxmin)()
            for (_, task, metric), values in frame.groupby(["data", "task", "metric"], sort=False)
        ]
        first = frame.loc[places]
        return first.reset_index(drop=True)[["data", "task", "metric", "row", "test"]]

    def _larger_is_better(self, task: str, metric: str) -> bool:
        scored = self.result.scores.items()
        return larger_is_better(metric, [one.primary for (_, _, of, _), one in scored if of == task])

    def to_frame(self) -> pd.DataFrame:
        """Return a row per cell: data set, row, task, how it ended, the task's own metric on the test, seconds."""
        import pandas as pd

        return pd.DataFrame([vars(cell) for cell in self.result.cells])

    def scores(self) -> pd.DataFrame:
        """Return the table of scores with spread and intervals, as ``scores.csv`` of the command has it."""
        import pandas as pd

        return pd.DataFrame(tables_of(self.result).scores, columns=SCORES)

    def plot(self) -> Figure:
        """Return rows x data sets of the suite's first task, in colours: its own metric on the test."""
        cells = [cell for cell in self.result.cells if cell.task == self.result.cells[0].task]
        rows, data = (list(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in ("row", "data"))
        values = np.full((len(rows), len(data)), np.nan)
        for row, data_set in np.ndindex(values.shape):
            own = [c.value for c in cells if (c.row, c.data) == (rows[row], data[data_set]) and c.value is not None]
            values[row, data_set] = np.mean(own) if own else np.nan
        title = f"suite {self.result.suite.name}: task {cells[0].task}, test"
        return drawn(MatrixFigure(values, rows, data, title=title))

    def _summary(self) -> Summary:
        result = self.result
        counts = ", ".join(f"{len(found)} {s}" for s in (DONE, FAILED, SKIPPED) if (found := result.having(s)))
        told = result.told(self.settings.silenced)
        left_out = {cell.data: cell.reason for cell in result.having(SKIPPED)}
        frame = self.scores()[["data", "row", "task", "metric", "test"]]
        table = {name: column.tolist() for name, column in frame.items()}
        held, cells = result.held
        tables = f"tables: {result.out}, {held} of the suite's {cells} cells"
        lines = [
            *([tables] if result.out is not None and held else []),
            *(f"left out: {name}: {reason}" for name, reason in left_out.items()),
            *(f"failed: {cell.title}: {cell.reason}" for cell in self.failed),
            *(f"failed: {line}" for line in result.unheard_metrics()),
            *([self.kept.line] if self.kept.line else []),
            *warning_lines(told.lines, told.silenced),
        ]
        return Summary(f"suite {result.suite.name}: {counts}", [table], lines)


def bench(
    suite: str | Path | Mapping[str, Any] | Suite,
    *,
    only: str | Sequence[str] | None = None,
    trials: int | None = None,
    repeats: int | None = None,
    splits: int | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    abreast: int | None = None,
    trial_timeout: float | None = None,
    memory: float | None = None,
    retry_failed: bool = False,
    accept_changed_code: bool = False,
    no_model: bool = False,
    keep: bool = False,
    results: str | Path | None = None,
    data_root: str | Path | None = None,
    store: str | Path | None = None,
    tracking_uri: str | None = None,
    storage_url: str | None = None,
    silence: Sequence[str] | None = None,
    tag: Tags | None = None,
    quiet: bool = False,
) -> Grid:
    """Carry out a suite, methods x data sets x tasks with equal budgets, as ``zslplat bench``.

    The arguments are the options of the command, with its defaults. ``suite`` is a name, the path of a TOML file, or
    the content of one as a dictionary, whose ``name`` it goes by. The same call goes on where it was stopped. A cell
    that fails leaves the others alone: see ``failed`` of the result. ``keep`` keeps the tables among the results in the
    folder ``results``; what is kept there already is compared with, see ``kept``.

    Raises :class:`~zslplat.errors.UsageError` for what is wrong in the suite, :class:`~zslplat.errors.StoreError` for
    kept results that are damaged, and like :func:`~zslplat.front.studies.tune`.

    >>> content = {"name": "two", "tasks": ["zsl"], "trials": 1,
    ...            "data": [{"name": "digits", "dataset": "digit-pairs"}],
    ...            "row": [{"name": "linear", "method": "eszsl"}, {"name": "ridge", "method": "ridge-prototypes"}]}
    >>> grid = bench(content, workers=1, quiet=True)
    >>> grid.to_frame()[["row", "status"]].values.tolist(), grid.failed
    ([['linear', 'done'], ['ridge', 'done']], [])
    """
    numbers = option_numbers(trials=trials, repeats=repeats, splits=splits, workers=workers, abreast=abreast)
    numbers |= option_numbers(trial_timeout=trial_timeout, memory=memory)
    settings = places(data_root, store, tracking_uri, storage_url, silence, tag)
    found = _suite(suite, settings)
    count = numbers["workers"] or found.workers or worker_count(None, numbers["memory"])
    options = GridOptions(
        trials=numbers["trials"],
        repeats=numbers["repeats"],
        workers=count,
        cluster=cluster,
        only=(only,) if isinstance(only, str) else tuple(only or ()),
        splits=numbers["splits"],
        out=tables_folder(settings, found, splits) if out is None else Path(out),
        trial_timeout=numbers["trial_timeout"],
        memory_bytes=memory_limit(numbers["memory"], count, cluster),
        retry_failed=retry_failed,
        accept_changed_code=accept_changed_code,
        abreast=numbers["abreast"],
        keep_models=not no_model,
    )
    folder = None if results is None else Path(results)
    with grid_progress(quiet=quiet) as reporter:
        result, kept = carry_out_compared(found, options, settings, reporter, keep=keep, folder=folder)
    return Grid(result, settings, kept)


def tables_folder(settings: Settings, suite: Suite, splits: int | None) -> Path:
    """Return where the tables of a suite go where nothing is said."""
    return place_of(settings, suite.name, drawn=splits is not None)


def _suite(given: str | Path | Mapping[str, Any] | Suite, settings: Settings) -> Suite:
    if isinstance(given, Suite):
        return given
    if isinstance(given, Mapping):
        content = dict(given)
        name = str(content.pop("name", "suite"))
        return suite_from(name, content, f"suite {name}")
    return load_suite(given, settings)
