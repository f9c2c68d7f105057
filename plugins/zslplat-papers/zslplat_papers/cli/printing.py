"""What ``reproduce`` prints: a line per cell, stand-ins apart, and how to get what is not at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table as Shown

from zslplat.cli.invocation import print_json
from zslplat.cli.output import stdout_console
from zslplat.names import duration
from zslplat.statistics import NOT_ENOUGH
from zslplat_papers.published import load_table
from zslplat_papers.reproduction.claim_plan import plans
from zslplat_papers.reproduction.claims import Judged, single_line
from zslplat_papers.reproduction.oracle import Oracle, gain_words
from zslplat_papers.reproduction.orders import agreements, in_a_sentence
from zslplat_papers.reproduction.recipe import OURS, PRINTED, load_recipe, recipe_ids
from zslplat_papers.reproduction.reproduce import Made, Reproduction
from zslplat_papers.reproduction.verdicts import CLAIM_VERDICTS


def list_tables(*, as_json: bool) -> None:
    """Print the tables that have a recipe."""
    recipes = [(name, load_table(name), load_recipe(name)) for name in recipe_ids()]
    if as_json:
        lines = [
            {"table": name, "title": table.title, "rows": list(recipe.rows), "columns": list(recipe.columns)}
            for name, table, recipe in recipes
        ]
        print_json(lines)
        return
    shown = Shown("table", "paper", "what it shows", "columns", "stand-ins")
    for name, table, recipe in recipes:
        shown.add_row(name, table.paper.name, table.title, ", ".join(recipe.columns), ", ".join(recipe.standins))
    stdout_console().print(shown, markup=False)


def print_reproduction(reproduction: Reproduction, settings: Any, *, dry_run: bool) -> None:
    """Print a table made again."""
    console = stdout_console()
    table, recipe = load_table(reproduction.table), load_recipe(reproduction.table)

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    say(f"{reproduction.table}: {table.paper.name}, {table.label}, {table.title}")
    for way in (PRINTED, OURS):
        say(f"  {way}: {' '.join(recipe.protocol[way].split())}")
    of_paper = [made for made in reproduction.made if made.cell.place.standin is None]
    others = [made for made in reproduction.made if made.cell.place.standin is not None]
    cells = _planned_cells if dry_run else _cells
    if of_paper:
        console.print(cells(of_paper), markup=False)
    if others:
        say("Stand-ins: other data, not to be compared with the paper's numbers, but for the order of methods.")
        console.print(cells(others), markup=False)
        if sentence := in_a_sentence(agreements(table, reproduction.on_standins())):
            say(sentence)
        for label, differs in dict.fromkeys((made.cell.place.id, made.cell.place.differs) for made in others):
            say(f"  {label}: {differs}")
    if reproduction.foresight:
        say(f"Estimate: {reproduction.foresight.line}")
    by_way: dict[str, list[str]] = {}
    for missing in reproduction.missing:
        by_way.setdefault(missing.how, []).append(missing.column)
    for how, columns in by_way.items():
        say(f"Data not at hand: {', '.join(columns)}. To get them: {how}")
    if reproduction.missing and settings.data_root is None:
        say("No data root is set (--data-root).")
    for row, why in recipe.left_out.items():
        say(f"Left out: {row}: {why}")
    for text in dict.fromkeys(made.cell.unsure for made in reproduction.made if made.cell.unsure):
        say(f"What the paper leaves open ({PRINTED}): {text}")


def print_claims(judgements: Sequence[Judged], *, details: bool, quiet: bool = False) -> None:
    """Print claims with their verdicts, paper by paper, and how many there are of each, which is all of it if quiet.

    With ``details`` every difference that a verdict rests on is shown.
    """
    console = stdout_console()
    for code in dict.fromkeys(judged.claim.paper.code for judged in judgements if not quiet):
        of_paper = [judged for judged in judgements if judged.claim.paper.code == code]
        paper = of_paper[0].claim.paper
        title = f"{code}: {paper.name} ({paper.authors}, {paper.venue} {paper.year})"
        console.print(title, highlight=False, markup=False, soft_wrap=True)
        longest = max(len(judged.claim.id) for judged in of_paper)
        shown = Shown(show_lines=True)
        # What is printed can be given again: ids are never cut, and on one line wherever there is room, as in a pipe.
        shown.add_column("claim", width=longest if 3 * longest <= console.width else None, overflow="fold")
        for column in ("printed", "tested by", "verdict", "why"):
            shown.add_column(column, overflow="fold")
        for judged in of_paper:
            claim = judged.claim
            by = "\n".join(part.rpartition("::")[2] for part in judged.experiment.split(", ") if part)
            lines = [single_line(line) for line in judged.lines if details]
            apart = [f"not the paper's: {judged.apart}"] if judged.apart else []
            why = "\n".join([judged.verdict.why, *lines, *apart])
            shown.add_row(f"{claim.id}\n{claim.text}", claim.printed, by, judged.verdict.verdict, why)
        console.print(shown, markup=False)
    counts = {name: sum(judged.verdict.verdict == name for judged in judgements) for name in CLAIM_VERDICTS}
    text = "; ".join(f"{name}: {count}" for name, count in counts.items())
    undecided = counts[NOT_ENOUGH] and not quiet
    text += "\nnext: zslplat claims --plan shows what would decide the open ones" if undecided else ""
    console.print(text, highlight=False, markup=False)


def print_plans(judgements: Sequence[Judged], *, as_json: bool) -> None:
    """Print what would decide the open claims, the cheapest first."""
    listed = plans(judgements)
    if as_json:
        print_json([plan.to_json() for plan in listed])
        return
    shown = Shown()
    shown.add_column("claim", no_wrap=True)
    for column in ("difference", "would have been seen", "precision needed", "what would decide", "core-seconds"):
        shown.add_column(column)
    for plan in listed:
        numbers = [f"{plan.difference:+.3f}", f"{plan.smallest:.3f}", f"x {plan.times:.1f}"]
        shown.add_row(plan.claim, *numbers, str(plan), f"{plan.seconds:.0f}" if plan.steps else "-")
    console = stdout_console()
    console.print(shown, markup=False)
    total = sum(plan.seconds for plan in listed if not plan.data_sets)
    lines = [f"{len(listed)} open claims; those that need no further data set take {total:.0f} core-seconds"]
    lines.append("what would have been seen counts from 0, or from the margin of a claim that two are close")
    lines += [f"next: {plan.command}" for plan in listed if plan.command][:1]
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def _planned_cells(planned: list[Made]) -> Shown:
    """Return the table of cells that would be carried out."""
    shown = Shown("row", "column", "way", "trials", "about", "method", "task")
    for made in planned:
        cell, about = made.cell, duration(made.seconds) if made.seconds else ""
        line = (cell.row, cell.place.id, cell.way, str(cell.trials), about)
        shown.add_row(*line, str(cell.experiment.method), str(cell.experiment.task))
    return shown


def _cells(results: list[Made]) -> Shown:
    """Return the table of cells; a column for the oracle where there is one."""
    with_oracle = any(made.oracle for made in results)
    heads = ["row", "column", "metric", "way", "paper", "ours", "these rows", "new classes", "verdict", "why"]
    shown = Shown(*heads[:-2], *(["oracle (by the test split)"] if with_oracle else []), *heads[-2:])
    for made in results:
        cell, place = made.cell, made.cell.place
        compared = not place.standin and not made.differs
        line = [cell.row, place.id, place.metric, cell.way, _number(cell.printed) if compared else ""]
        ours = [_number(made.ours), _ends(made.low, made.high), _ends(made.low_classes, made.high_classes)]
        priced = [_price(made.oracle) if made.oracle else ""] if with_oracle else []
        why = "stand-in" if place.standin and made.status == "done" else made.verdict.why
        shown.add_row(*line, *ours, *priced, made.verdict.verdict, why)
    return shown


def _price(oracle: Oracle) -> str:
    return f"{oracle.best:.4f} {gain_words(oracle.gain, oracle.gain_by_metric, oracle.metric)}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}" if abs(value) >= 10 else f"{value:.4f}"


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{_number(low)} .. {_number(high)}"
