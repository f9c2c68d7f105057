"""The page of documentation that shows the kept results: claims with their verdicts, tables made again, and suites.

It says nothing that the kept results do not say, and a test makes it again and compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from zslplat.data.store.atomic_files import WholeFile
from zslplat.suites.cells import pieces_of
from zslplat.suites.earlier_results import SCORE_KEY
from zslplat.suites.result_files import Line, number, result_names
from zslplat.suites.suite import load_suite, suite_names
from zslplat.suites.tables import GIVEN
from zslplat_papers.published import PublishedTable, load_table
from zslplat_papers.reproduction.cells import every_cell
from zslplat_papers.reproduction.claims import Judged, recorded_claims
from zslplat_papers.reproduction.oracle import gain_words
from zslplat_papers.reproduction.recipe import load_recipe
from zslplat_papers.reproduction.reproduce import CELL_KEY
from zslplat_papers.reproduction.results import read_results
from zslplat_papers.reproduction.verdicts import CLAIM_VERDICTS, CLASSES, LEAST_LEAD

_CELLS, _GRID, _SCORES = "reproduce-", "bench-", "-scores"
_MARK = "# Results\n\nMade by `zslplat claims --page"  # what a page is known by
_PAGE = WholeFile("page of results", "--page", "results.md", _MARK, reach=len(_MARK))
_HEAD = f"""{_MARK} docs/results.md` from the kept results; do not edit it. `zslplat claims` and
`zslplat reproduce` say how a number came about and make it again.
"""
_CLAIMS = """
## Claims of the papers

A claim *holds* where the intervals (95 %) of most of its differences lie above 0 and none refutes it. A difference
refutes it that leaves no room for a lead, of a point (0.01) unless a margin is said; for a claim that two things are
*level* it holds above minus the margin, and below 0 refutes it. A claim about *all* its differences holds where all
do, and does not hold where one refutes it with Bonferroni's correction over all; other claims do not hold where most
are refuted and none holds. Everything else *cannot tell*, and so does every difference of fewer than six classes, or
of values all the same. Intervals are over new classes where there are values per class, else over what is named; the
number of classes stands beside them. Of the data sets only the faces (Extended Yale B, paper 004) are a paper's own,
in another random projection and with another half of the images: a verdict is about the claim, not about a printed
number.
"""
_TABLES = """
## Tables made again

*printed*: the paper's variant and protocol; *ours*: the default form. Intervals (95 %) say what the number would be
on other rows of the same classes (*these rows*; of several seeds where a metric has no value per row), and on other
classes of the kind (*new classes*, Student's t, which with few classes reaches beyond 0 or 1). *oracle*: the best of
the same trials by the test split, which no search here may see, and in parentheses its gain over what validation
chose. It is one evaluation with one seed, like the one it is compared with, where *ours* is the mean over all
repeats: with a gain of 0 the two columns may still differ. A search may go by another metric than a row shows
(generalised tables: by AUSUC), and the gain then holds the change of metric, too: a number *by H* behind it is the gain
over what validation would have chosen by H itself. Where none stands, the two are one, or the row was kept before they
were told apart (it has no `oracle_gain_by_metric` among the kept results).
Of incoherence, which is a measure of W and no score, the oracle is the least. A *stand-in* is other data than the
paper's, and says nothing about its number. *Cells* counts a row on a data set in one way and one metric; rows of one
table may have other trials where they are of different commands.
"""

_SUITES = """
## Suites

Scores on the test split, with what validation chose, and their intervals (95 %) over these test rows; what new classes
would do is another question, which `zslplat compare` answers. A `*` marks a method that was written down without its
source at hand.
"""


def write_page(path: Path, folder: Path | None = None) -> None:
    """Write the page of the results in a folder (default: the project's own, with ``./results`` over them).

    Raises like :func:`check_page`, and :class:`StoreError` where it cannot be written.
    """
    check_page(path)
    _PAGE.write(path, page(folder))


def check_page(path: Path) -> None:
    """Raise :class:`UsageError` where something else than an earlier page lies in the place of a page."""
    _PAGE.is_there(path)


def page(folder: Path | None = None) -> str:
    """Return the page."""
    parts = [_HEAD, _CLAIMS, *_claims(recorded_claims((), folder))]
    tables = [name for name in result_names(folder) if name.startswith(_CELLS)]
    parts += [_TABLES] if tables else []
    for name in tables:
        parts += _table(name.removeprefix(_CELLS), read_results(name, folder, CELL_KEY))
    grids: dict[str, list[Line]] = {}
    for name in result_names(folder):
        if name.startswith(_GRID) and name.endswith(_SCORES):
            lines = [line for line in read_results(name, folder, SCORE_KEY) if line["split"] == GIVEN]
            # Where classes were drawn anew, nothing is of the given split.
            grids |= {name.removeprefix(_GRID).removesuffix(_SCORES): lines} if lines else {}
    parts += [_SUITES] if grids else []
    for suite, lines in grids.items():
        parts += [*_grid(suite, lines), _origin(suite, lines)]
    return "\n".join(parts).replace("\n\n\n", "\n\n")


def _claims(judgements: Sequence[Judged]) -> Iterable[str]:
    counts = {name: sum(judged.verdict.verdict == name for judged in judgements) for name in CLAIM_VERDICTS}
    yield "Of {} claims: {}.\n".format(len(judgements), ", ".join(f"{count} {name}" for name, count in counts.items()))
    for code in dict.fromkeys(judged.claim.paper.code for judged in judgements):
        of_paper = [judged for judged in judgements if judged.claim.paper.code == code]
        yield f"\n### {code}: {of_paper[0].claim.paper.title}\n"
        yield "| claim | tested by | verdict | differences | not the paper's |"
        yield "|---|---|---|---|---|"
        for judged in of_paper:
            by = ", ".join(f"`{part.rpartition('::')[2]}`" for part in judged.experiment.split(", ") if part)
            # What is not tested says what is missing; the rest says its differences.
            why = "<br>".join(_short(line) for line in judged.lines) or _inline(judged.verdict.why)
            text = _inline(judged.claim.text)
            verdict = judged.verdict.verdict + (f": {_inline(judged.verdict.why)}" if judged.lines else "")
            yield f"| `{judged.claim.id}`: {text} | {by} | {verdict} | {why} | {_apart(judged)} |"
        if lines := [line for judged in of_paper for line in judged.lines if line.get("commit")]:
            commits = sorted({f"{line['commit']} ({line['kept']})" for line in lines})
            yield f"\nCommits: {', '.join(commits)}."


def _apart(judged: Judged) -> str:
    """Return in what the experiments are not the paper's, and what is not as usual in their verdict."""
    level = {f"level, margin {line['least']:g}" for line in judged.lines if line["direction"] == "level"}
    margins = {f"margin {line['least']:g}" for line in judged.lines if line["least"] not in (0, LEAST_LEAD)}
    how = {"all differences" for line in judged.lines if line["joined"] == "all"}
    return _inline("; ".join([judged.apart, *sorted(level or margins), *how] if judged.lines else [judged.apart]))


def _short(line: dict[str, object]) -> str:
    low, high = line["low"], line["high"]
    trials = f", {line['trials']} trials" if line["trials"] not in (0, "0") else ""  # measures search nothing
    classes = f"{line['classes']} " if line["over"] == CLASSES and line["classes"] else ""
    ends = f" [{low:+.3f}, {high:+.3f}] ({classes}{line['over']}{trials}): {line['verdict']}" if low is not None else ""
    return _inline(f"{line['contrast']}: {line['difference']:+.3f}{ends}")


def _table(name: str, lines: Sequence[Line]) -> Iterable[str]:
    table = load_table(name)
    yield f"\n### {table.paper.name}, {table.label} (`{name}`)\n"
    yield "| row | data | way | trials | metric | paper | ours | these rows | new classes | oracle | verdict |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for line in lines:
        ends = [_ends(line, ""), _ends(line, "_classes")]
        gain, by_metric = (number(line.get(f"oracle_gain{end}")) for end in ("", "_by_metric"))
        oracle = f"{_number(line.get('oracle'))} {gain_words(gain, by_metric, line['metric'])}".strip()
        numbers = [_number(line.get("paper")), _number(line["ours"]), *ends, oracle]
        verdict = _inline(f"{line['verdict']}: {line['why']}" if line["why"] else line["verdict"])
        verdict = "stand-in" if line["stand_in"] == "yes" else verdict
        how = f"{line['row']} | {line['column']} | {line['way']} | {line['trials']} | {line['metric']}"
        yield f"| {how} | {' | '.join(numbers)} | {verdict} |"
    others = {line["column"]: line["why"] for line in lines if line["stand_in"] == "yes"}
    if others:
        yield f"\nStand-ins: {_inline('; '.join(f'{name}: {why}' for name, why in others.items()))}."
    commits = sorted({f"{line['commit']} ({line['kept']})" for line in lines})
    hours = sum(number(line["hours"]) or 0.0 for line in lines)
    yield f"\n{_how_many(table, lines)} Commits: {', '.join(commits)}; {hours:.2f} hours."


def _how_many(table: PublishedTable, lines: Sequence[Line]) -> str:
    """Return how many cells of a table are kept, and of which stand-ins it is not all."""
    oracles = {(line["row"], line["column"], line["way"], line["metric"]): line.get("oracle") for line in lines}
    by_column: dict[str, list[bool]] = {}
    for row, place, way in every_cell(table, load_recipe(table.id)):
        column = place.standin.id if place.standin else ""
        by_column.setdefault(column, []).append((row, place.id, way, place.metric) in oracles)
    on_own_data = by_column.pop("", [])
    others = [cell for cells in by_column.values() for cell in cells]
    short = [f"{column} {sum(cells)} of {len(cells)}" for column, cells in by_column.items() if not all(cells)]
    without = sum(not oracle for oracle in oracles.values())
    text = f"Cells: {sum(others)} of {len(others)} on stand-ins"
    text += f" ({', '.join(short)})" if short else ""
    text += f", {sum(on_own_data)} of {len(on_own_data)} on the paper's own data"
    return text + (f"; {without} without an oracle" if without else "") + "."


def _grid(suite: str, lines: Sequence[Line]) -> Iterable[str]:
    for data in dict.fromkeys(line["data"] for line in lines):
        of_data = [line for line in lines if line["data"] == data]
        kinds = dict.fromkeys((line["task"], line["metric"]) for line in sorted(of_data, key=lambda line: line["task"]))
        yield f"\n### Suite {suite}: {_inline(data)}\n"
        yield f"| row | knows of the batch | trials | {' | '.join(f'{task}: {metric}' for task, metric in kinds)} |"
        yield "|---" * (3 + len(kinds)) + "|"
        for row in dict.fromkeys(line["row"] for line in of_data):
            cells = {(line["task"], line["metric"]): line for line in of_data if line["row"] == row}
            first = next(iter(cells.values()))
            name = f"{_inline(row)}{' *' if first['from_memory'] == 'yes' else ''}"
            lines_of_kinds = (cells.get(kind) for kind in kinds)
            scores = [_with_ends(line) if line else "" for line in lines_of_kinds]
            yield f"| {name} | {first['knows_of_batch']} | {first['trials']} | {' | '.join(scores)} |"


def _origin(suite: str, lines: Sequence[Line]) -> str:
    """Return how much of a suite is kept, and the commits and hours of the commands that kept it."""
    cells = {(line["data"], line["row"], line["task"]) for line in lines}
    # A suite that is a file of its own is not known by its name.
    whole = sum(len(piece.cells) for piece in pieces_of(load_suite(suite))) if suite in suite_names() else None
    count = f"{len(cells)} cells" if whole in (None, len(cells)) else f"{len(cells)} of {whole} cells"
    commands = sorted({(line["commit"], line["kept"], line["hours"]) for line in lines})
    commits = dict.fromkeys(f"{commit} ({day})" for commit, day, _ in commands)
    hours = sum(number(hours) or 0.0 for *_, hours in commands)
    return f"\nSuite {suite}: {count}. Commits: {', '.join(commits)}; {hours:.2f} hours."


def _ends(line: Line, kind: str) -> str:
    low, high = line.get(f"low{kind}"), line.get(f"high{kind}")
    return f"{_number(low)} .. {_number(high)}" if low and high and "nan" not in (low, high) else ""


def _with_ends(line: Line) -> str:
    ends = _ends(line, "")
    return f"{_number(line['test'])} ({ends})" if ends else _number(line["test"])


def _number(text: str | None) -> str:
    value = number(text)
    return "" if value is None else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def _inline(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
