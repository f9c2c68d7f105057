"""``zslplat.bench``: a suite carried out as a grid of studies, or what is missing of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zslplat.comparison.leaderboard import larger_is_better
from zslplat.drawing import draw_figure
from zslplat.errors import UsageError
from zslplat.figures import MatrixFigure
from zslplat.front.grid_progress import grid_progress
from zslplat.front.requests import settings_of, workforce_of
from zslplat.front.results import Result, warning_lines
from zslplat.front.table_options import BenchCommand
from zslplat.settings import Settings
from zslplat.suites.cells import DONE, FAILED, SKIPPED, Cell, GridOptions, require_selection
from zslplat.suites.grid import carry_out
from zslplat.suites.result import GridResult
from zslplat.suites.sequential import CLASS_FOLDS, Decision, decide, seconds_of
from zslplat.suites.suite import MEAN, Suite, load_suite, suite_from
from zslplat.suites.tables import GIVEN, SCORES, tables_of
from zslplat.summary import Summary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Grid(Result):
    """A suite that was carried out: ``result`` holds how each cell ended, ``decision`` the verdicts that folds made."""

    result: GridResult
    settings: Settings = field(repr=False)
    decision: Decision | None = field(default=None, repr=False)

    @property
    def failed(self) -> list[Cell]:
        """The cells that failed, each with its reason; the others stand."""
        return self.result.having(FAILED)

    @property
    def best(self) -> pd.DataFrame:
        """The row with the best test score by data set, task and metric; whether it is more than luck, compare says."""
        frame = self.scores()
        frame = frame[frame["draw"].isin([GIVEN, MEAN])].reset_index(drop=True)
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
            place = (rows[row], data[data_set])
            scores = [cell.value for cell in cells if (cell.row, cell.data) == place and cell.value is not None]
            values[row, data_set] = np.mean(scores) if scores else np.nan
        title = f"suite {self.result.suite.name}: task {cells[0].task}, test"
        return draw_figure(MatrixFigure(values, rows, data, title=title))

    @property
    def headline(self) -> str:
        """How many cells ended how, in how many seconds, and what is decided."""
        by_status = {status: len(self.result.having(status)) for status in (DONE, FAILED, SKIPPED)}
        counts = ", ".join(f"{count} {status}" for status, count in by_status.items() if count)
        decided = f"; {self.decision.counts}" if self.decision else ""
        return f"suite {self.result.suite.name}: {counts}; {self.result.seconds:.0f} s{decided}"

    @property
    def failures(self) -> list[str]:
        """A line for each cell that failed, and for each metric that no record has."""
        cells = [f"failed: {cell.title}: {cell.reason}" for cell in self.failed]
        return cells + [f"failed: {line}" for line in self.result.missing_metrics()]

    @property
    def lines(self) -> list[str]:
        """What was left out, what failed, where the tables are, and the verdicts that folds made."""
        result = self.result
        left_out = {cell.data: cell.reason for cell in result.having(SKIPPED)}
        in_tables, cells = result.filled_cells
        tables = f"tables: {result.out}, {in_tables} of the suite's {cells} cells"
        return [
            *(f"left out: {name}: {reason}" for name, reason in left_out.items()),
            *self.failures,
            *([tables] if result.out is not None and in_tables else []),
            *(self.decision.lines if self.decision else ()),
        ]

    def _summary(self) -> Summary:
        findings = self.result.messages(self.settings.silenced)
        frame = self.scores()[["data", "row", "task", "metric", "test"]]
        table = {name: column.tolist() for name, column in frame.items()}
        return Summary(self.headline, [table], [*self.lines, *warning_lines(findings.lines, findings.silenced)])


def carry_out_suite(options: BenchCommand) -> Grid:
    """Carry out the suite that the options of the command or the function name."""
    suite, grid_options, settings = suite_request(options)
    with grid_progress(quiet=options["quiet"]) as reporter:
        if not options["until_decided"]:
            if options["budget"] is not None:
                raise UsageError("--budget is the time of --until-decided; give both, or neither")
            return Grid(carry_out(suite, grid_options, settings, reporter), settings)
        if options["budget"] is None or options["draws"] is not None:
            raise UsageError("--until-decided takes --budget, such as 2h, and as many folds as it needs: no --draws")
        decision = decide(suite, grid_options, settings, seconds_of(options["budget"]), reporter)
        return Grid(decision.grid, settings, decision)


def suite_request(options: BenchCommand) -> tuple[Suite, GridOptions, Settings]:
    """Return a suite, how it is carried out, and where it is recorded."""
    settings = settings_of(options)
    suite = _suite_of(options["suite"], settings)
    suite = replace(
        suite,
        class_folds=options["class_folds"] or suite.class_folds or (CLASS_FOLDS if options["until_decided"] else None),
        draws=options["draws"] or (None if options["class_folds"] else suite.draws),
    )
    if metric := options["metric"] or suite.metric:
        suite = require_selection(replace(suite, metric=metric))
    only, folder = options["only"], settings.suites / "-".join([suite.name, *suite.scheme.split()])
    grid_options = GridOptions(
        trials=options["trials"],
        repeats=options["repeats"],
        only=(only,) if isinstance(only, str) else tuple(only or ()),
        out=Path(options["out"] or folder),
        retry_failed=options["retry_failed"],
        accept_changed_code=options["accept_changed_code"],
        abreast=options["abreast"],
        keep_models=not options["no_model"],
        **vars(workforce_of(options, suite.workers)),
    )
    return suite, grid_options, settings


def _suite_of(suite: str | Path | Mapping[str, Any] | Suite, settings: Settings) -> Suite:
    if isinstance(suite, Suite):
        return suite
    if isinstance(suite, Mapping):
        content = dict(suite)
        name = str(content.pop("name", "suite"))
        return suite_from(name, content, f"suite {name}")
    return load_suite(suite, settings)
