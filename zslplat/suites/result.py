"""How a grid ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from zslplat.checks.base import Finding, drop_silenced, lines_of_places, run_checks
from zslplat.checks.facts import CellFacts, SuiteFacts
from zslplat.evidence.draws import join_draws
from zslplat.evidence.scores import Scored
from zslplat.suites.cells import FAILED, NOT_CARRIED_OUT, SKIPPED, WAITING, Cell, Key
from zslplat.suites.entries import Entry
from zslplat.suites.suite import Suite


class Messages(NamedTuple):
    """What checks found: a line of each check for people, all findings in JSON form, and how many are silenced."""

    lines: list[str]
    findings: list[dict[str, str]]
    silenced: int


@dataclass(frozen=True)
class GridResult:
    """How a grid ended: its cells, and what is recorded of those that are done.

    By the key of a cell: ``entries`` (what its study found and cost) and ``scores`` (its test evaluations with their
    replicates). ``trials`` and ``repeats`` are those that were asked for, ``trials`` None where the suite says it.
    ``out``: folder of the tables. ``of_suite``: all cells of the suite, with what the store holds of those that were
    not asked for.
    """

    suite: Suite
    cells: tuple[Cell, ...]
    entries: Mapping[Key, Entry] = field(default_factory=dict)
    scores: Mapping[Key, Scored] = field(default_factory=dict)
    trials: int | None = None
    repeats: int = 5
    seconds: float = 0.0
    out: Path | None = None
    of_suite: GridResult | None = None

    @property
    def whole(self) -> GridResult:
        """All cells of the suite, which are those of the tables in ``out``."""
        return self.of_suite or self

    @property
    def filled_cells(self) -> tuple[int, int]:
        """How many cells of the suite the tables hold, and how many it has."""
        return sum(self.whole._has_a_line(cell.key) for cell in self.whole.cells), len(self.whole.cells)

    def metrics_of(self, key: Key) -> tuple[str, ...]:
        """Return the metrics that are reported of a cell: those of the suite, or what its records say it is tuned by.

        A task may have another primary metric on a data set than on others: of rows with several labels it ranks.
        """
        task = key[2]
        scored = self.scores.get(key) or (self.comparable.get(key) if key[3] is None else None)
        if scored is None or scored.primary is None or _bare(task) in self.suite.metrics:
            return self.suite.metrics_of(task)
        return (scored.primary.name,)

    def _has_a_line(self, key: Key) -> bool:
        return key in self.scores and any(metric in self.scores[key].values for metric in self.metrics_of(key))

    @cached_property
    def comparable(self) -> Mapping[Key, Scored]:
        """The scores that are put side by side: of drawn classes one entry of all draws, with the number of none."""
        single = {key: scored for key, scored in self.scores.items() if key[3] is None}
        drawn: dict[Key, dict[int, Scored]] = {}
        for (data, row, task, draw), scored in self.scores.items():
            if draw is not None:
                drawn.setdefault((data, row, task, None), {})[draw] = scored
        return {**single, **{key: join_draws(draws) for key, draws in drawn.items()}}

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """Under which name the scores of each task are put side by side and averaged over data sets.

        That is its bare name, as data sets and rows may need options of their own; the whole task where one row is
        scored on one data set under several options of it, which are different questions.
        """
        tasks: dict[tuple[str, str, int | None, str], set[str]] = {}
        for cell in self.cells:
            tasks.setdefault((cell.data, cell.row, cell.draw, _bare(cell.task)), set()).add(cell.task)
        several = {place[3] for place, variants in tasks.items() if len(variants) > 1}
        return {cell.task: cell.task if _bare(cell.task) in several else _bare(cell.task) for cell in self.cells}

    def having(self, status: str) -> list[Cell]:
        """Return the cells that ended so."""
        return [cell for cell in self.cells if cell.status == status]

    def missing_metrics(self) -> list[str]:
        """Return a line for every metric that the suite asks for and that no test evaluation of its task has.

        And one for a data set of which none of those asked for is recorded, which has no line in the tables.
        """
        measured: dict[str, dict[str, set[str]]] = {}
        reported: dict[str, dict[str, None]] = {}
        for key, scored in self.scores.items():
            task = _bare(key[2])
            measured.setdefault(task, {}).setdefault(key[0], set()).update(scored.values)
            reported.setdefault(task, {}).update(dict.fromkeys(self.metrics_of(key)))
        lines = []
        for task, by_data in measured.items():
            every = set().union(*by_data.values())
            nowhere = [metric for metric in reported[task] if metric not in every]
            text = f"of task {task} is recorded of no row"
            lines += [f"metric {metric!r} {text}; recorded are {', '.join(sorted(every))}" for metric in nowhere]
            present = [metric for metric in reported[task] if metric in every]
            lines += [
                f"metric {' or '.join(map(repr, present))} {text} of {data}; recorded are {', '.join(sorted(names))}"
                for data, names in by_data.items()
                if present and not names & set(present)
            ]
        return lines

    @property
    def facts(self) -> SuiteFacts:
        """What checks know of these cells; those whose data are not at hand do not count as missing."""
        cells = tuple(
            CellFacts(
                cell.data if cell.draw is None else f"{cell.data} #{cell.draw}",
                cell.row,
                cell.task,
                cell.status,
                self.entries[cell.key].trials if cell.key in self.entries else None,
                NOT_CARRIED_OUT if cell.status == WAITING else cell.reason,
            )
            for cell in self.cells
            if cell.status != SKIPPED
        )
        return SuiteFacts(self.suite.name, cells)

    def findings(self) -> list[Finding]:
        """Return what the checks of suites find in all cells of the suite, as a report of the store does."""
        return run_checks("suite", self.whole.facts)

    def messages(self, silenced: Collection[str] = ()) -> Messages:
        """Return what all checks have to say at the end: those of the suite, and those of the cells asked for."""
        of_suite, hidden = drop_silenced(self.findings(), silenced)
        pairs: list[tuple[Cell, Finding]] = []
        for cell in self.cells:
            entry = self.entries.get(cell.key)
            visible, more = drop_silenced(() if entry is None else entry.findings, silenced)
            hidden += more
            pairs += [(cell, finding) for finding in visible]
        pairs.sort(key=lambda pair: pair[1].code)
        lines = lines_of_places((cell.title, finding.line) for cell, finding in pairs)
        return Messages(
            [*(finding.line for finding in of_suite), *lines],
            [*(f.to_json() for f in of_suite), *({**f.to_json(), "cell": cell.title} for cell, f in pairs)],
            hidden,
        )

    @property
    def exit_code(self) -> int:
        """1 where a cell failed or a metric is nowhere to be found, 0 otherwise; what was skipped is no failure."""
        return 1 if self.having(FAILED) or self.missing_metrics() else 0


def _bare(task: str) -> str:
    return task.partition("(")[0]
