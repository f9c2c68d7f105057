"""The pages of documentation that show the kept results: an overview, a page a paper, and the suites.

They say nothing that the kept results do not say, and a test makes them again and compares. Their figures are drawn
when the site is built (:mod:`.figures`); the numbers stay in the CSV files, to which the pages link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from zslplat.data.store.atomic_files import WholeFile
from zslplat.names import counted
from zslplat.suites.cells import pieces_of
from zslplat.suites.suite import load_suite, suite_names
from zslplat_papers.published import PublishedTable, load_table
from zslplat_papers.reproduction.cells import every_cell
from zslplat_papers.reproduction.claims import Judged, recorded_claims
from zslplat_papers.reproduction.figures import SUITE, claim_forest, given_scores
from zslplat_papers.reproduction.orders import agreements, in_a_sentence
from zslplat_papers.reproduction.recipe import OURS, load_recipe
from zslplat_papers.reproduction.reproduce import CELL_KEY
from zslplat_papers.reproduction.results import Line, number, read_results, result_names
from zslplat_papers.reproduction.verdicts import CLAIM_VERDICTS

_CELLS, _GRID, _SCORES, _SUITES = "reproduce-", "bench-", "-scores", "suites"
_MARK = "Made by `zslplat claims --page`"  # what a page is known by
_PAGE = WholeFile("page of results", "--page", "results.md", _MARK, reach=400)
_MADE = f"<!-- {_MARK} from the kept results; do not edit it. -->"
_NUMBERS = "plugins/zslplat-papers/zslplat_papers/reproduction/results"  # below the root of the project
_HEAD = f"""# Results

{_MADE}

Which claims of the papers hold here, claim by claim, with the differences that were measured. `zslplat claims` and
`zslplat reproduce` say how a number came about and make it again.
"""
_READING = """
## How to read the figures

Each row of a figure is a difference on one data set, with its 95 % interval. The claim says that it lies to the right
of 0. The shaded band is the margin: what lies inside is of no consequence.

A claim is judged by the mean of a difference over its data sets. Data sets that show the same images count once.

- The claim *holds* where the mean lies above 0. A claim that two things are level holds above minus the margin.
- It *does not hold* where the mean lies below 0, or within the margin.
- It *differs between data sets* where they contradict each other: none of the above is sure, and they are not alike.
- Everything else is *not enough data*. The reason says what difference would have been seen.
- A claim about *all* its differences holds where each does. One that fails refutes it, with Bonferroni's correction.

P-values are corrected over the list of claims (Benjamini and Hochberg). A verdict is about these data sets: the error
of the mean is that of their classes, and its thick line. The thin line, *a new one* in words, says what another data
set would show, by random effects. It decides no verdict.

Differences of fewer than six classes have no part in a mean, and are hollow. Only the faces (Extended Yale B, paper
004) are a paper's own data set, in another random projection and with another half of the images. A verdict is about
the claim, not about a printed number.

In tables that were made again, the thick line says what the number would be on other rows of the same classes, the
thin one what it would be on other classes. *printed* is the paper's variant and protocol; the other rows are the
default form. *Stand-ins* are other data than the paper's, and say nothing about its number. The order of methods on
them can be compared: by Spearman's rank correlation and by the pairs of methods in the same order. Their intervals say
what other methods would show (bootstrap over methods).
"""


def write_page(path: Path, folder: Path | None = None) -> None:
    """Write the overview of the results in a folder (default: the project's own, with ``./results`` over them).

    The pages of papers and suites go beside it, into the folder of its name without the ending. Raises like
    :func:`check_page`, and :class:`StoreError` where one cannot be written.
    """
    check_page(path)
    for name, text in pages(folder, path.stem).items():
        _PAGE.write(_place(path, name), text)


def check_page(path: Path) -> None:
    """Raise :class:`UsageError` where something else than an earlier page lies in the place of a page."""
    for name in ("", *_papers(recorded_claims((), None)), _SUITES):
        _PAGE.is_there(_place(path, name))


def _place(path: Path, name: str) -> Path:
    return path.with_suffix("") / f"{name}.md" if name else path


def pages(folder: Path | None = None, below: str = "results") -> dict[str, str]:
    """Return the text of each page by its name: that of the paper, ``suites``, and nothing for the overview.

    ``below`` is the folder of the others, as the overview links to them.
    """
    papers = _papers(recorded_claims((), folder))
    tables: dict[str, list[str]] = {}
    for name in result_names(folder):
        if name.startswith(_CELLS):
            table = name.removeprefix(_CELLS)
            tables.setdefault(load_table(table).paper.code, []).append(table)
    texts = {
        code: "\n".join([*_paper(code, papers.get(code, ()), tables.get(code, ()), folder), ""])
        for code in sorted({*papers, *tables})
    }
    grids = [n[len(_GRID) : -len(_SCORES)] for n in result_names(folder) if n.startswith(_GRID) and n.endswith(_SCORES)]
    scores = {suite: lines for suite in grids if (lines := given_scores(suite, folder))}
    if scores:
        texts[_SUITES] = "\n".join([*_suites(scores), ""])
    return {"": "\n".join([*_overview(papers, tables, texts, below), ""]), **texts}


def _papers(judgements: Sequence[Judged]) -> dict[str, list[Judged]]:
    papers: dict[str, list[Judged]] = {}
    for judged in judgements:
        papers.setdefault(judged.claim.paper.code, []).append(judged)
    return papers


def _overview(
    papers: Mapping[str, Sequence[Judged]], tables: Mapping[str, Sequence[str]], texts: Mapping[str, str], below: str
) -> Iterator[str]:
    yield _HEAD
    yield f"| paper | claims | {' | '.join(CLAIM_VERDICTS)} | tables made again |"
    yield "|---|---|" + "---|" * (len(CLAIM_VERDICTS) + 1)
    for code, text in texts.items():
        if code == _SUITES:
            continue
        counts = Counter(judged.verdict.verdict for judged in papers.get(code, ()))
        title = text.partition("\n")[0].removeprefix("# ")
        cells = [str(counts[verdict] or "") for verdict in CLAIM_VERDICTS]
        yield (
            f"| [{title}]({below}/{code}.md) | {counts.total() or ''} | {' | '.join(cells)} "
            f"| {len(tables.get(code, ())) or ''} |"
        )
    if _SUITES in texts:
        yield f"\nMethods beside each other, without a paper's claim: [suites]({below}/{_SUITES}.md)."
    yield _READING


def _paper(code: str, claims: Sequence[Judged], tables: Sequence[str], folder: Path | None) -> Iterator[str]:
    paper = claims[0].claim.paper if claims else load_table(tables[0]).paper
    yield f"# {code}: {paper.title}\n"
    yield f"{_MADE}\n"
    counts = Counter(judged.verdict.verdict for judged in claims)
    said = ", ".join(f"{verdict}: {counts[verdict]}" for verdict in CLAIM_VERDICTS if counts[verdict])
    reading = "[How to read the figures](../results.md#how-to-read-the-figures)."
    claimed = f" {counted(len(claims), 'claim')}; {said}." if claims else ""
    yield f"{paper.authors}, {paper.venue} {paper.year}.{claimed} {reading}"
    for judged in claims:
        yield from _claim(judged)
    if tables:
        yield "\n## Tables made again"
    for name in tables:
        yield from _table(load_table(name), read_results(f"{_CELLS}{name}", folder, CELL_KEY))


def _claim(judged: Judged) -> Iterator[str]:
    yield f"\n## {judged.claim.id}\n"
    why = _inline(judged.verdict.why)
    yield f"{_inline(judged.claim.text)}\n"
    yield f"**{_capital(judged.verdict.verdict)}**" + (f": {why}." if why else ".")
    if judged.lines:
        _, note = claim_forest(judged)
        apart = f"Not the paper's: {_inline(judged.apart)}." if judged.apart else ""
        yield " ".join(filter(None, [apart, note, f"[Numbers]({_csv('claims')})."]))
        yield from _figure(judged.claim.id)
    elif judged.experiment:
        yield "Shown by " + ", ".join(f"`{part.rpartition('::')[2]}`" for part in judged.experiment.split(", ")) + "."


def _figure(name: str) -> Iterator[str]:
    yield f"\n```{{forest}} {name}\n```"


def _folded(title: str, name: str) -> Iterator[str]:
    yield f"\n<details><summary>{title}</summary>"
    yield from _figure(name)
    yield "\n</details>"


def _csv(name: str) -> str:
    return f"../../{_NUMBERS}/{name}.csv"


def _table(table: PublishedTable, lines: Sequence[Line]) -> Iterator[str]:
    yield f"\n### {table.label} (`{table.id}`)\n"
    yield f"{_inline(table.title)}. {_how_many(table, lines)} [Numbers]({_csv(_CELLS + table.id)})."
    why = {line["column"]: line["why"] for line in lines if line["stand_in"] == "yes"}
    of_standins = [line for line in lines if line["stand_in"] == "yes" and line["way"] == OURS]
    places = [(line["column"].partition(" ")[0], line.get("stand_in_for", ""), line["metric"]) for line in of_standins]
    rows = [(line["row"], float(line["ours"])) for line in of_standins]
    if sentence := in_a_sentence(agreements(table, [(*p, *r) for p, r in zip(places, rows, strict=True)])):
        yield f"\n{sentence}"
    for column in dict.fromkeys(line["column"] for line in lines):
        title = f"{column}: stand-in, {_inline(why[column])}" if column in why else column
        yield from _folded(title, f"{table.id}/{column}")


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


def _suites(scores: Mapping[str, Sequence[Line]]) -> Iterator[str]:
    yield "# Suites\n"
    yield f"{_MADE}\n"
    yield (
        "Scores on the test split, with what validation chose. The thick line is the 95 % interval over these test "
        "rows. `zslplat compare` shows what new classes would do. A `*` marks a method that was written down without "
        "its source at hand."
    )
    for suite, lines in scores.items():
        yield f"\n## Suite {suite}\n"
        yield f"{_origin(suite, lines)} [Numbers]({_csv(_GRID + suite + _SCORES)})."
        for data in dict.fromkeys(line["data"] for line in lines):
            yield from _folded(_inline(data), f"{SUITE}{suite}/{data}")


def _origin(suite: str, lines: Sequence[Line]) -> str:
    """Return how much of a suite is kept, and the hours of the commands that kept it."""
    cells = {(line["data"], line["row"], line["task"]) for line in lines}
    # A suite that is a file of its own is not known by its name.
    whole = sum(len(piece.cells) for piece in pieces_of(load_suite(suite))) if suite in suite_names() else None
    count = f"{len(cells)} cells" if whole in (None, len(cells)) else f"{len(cells)} of {whole} cells"
    commands = {(line["commit"], line["kept"], line["hours"]) for line in lines}
    return f"{count}, {sum(number(hours) or 0.0 for *_, hours in commands):.2f} hours."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _inline(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
