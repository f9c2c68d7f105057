"""The section of a task over several data sets: scores, mean ranks, and what so few data sets cannot carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zslplat.comparison.columns import draw_notes, ends, p_value
from zslplat.comparison.compare import Comparison
from zslplat.comparison.over_datasets import draws_words
from zslplat.names import counted
from zslplat.reports.blocks import Block, Cell, Chart, Column, Section, TableBlock
from zslplat.reports.charts.dots import Dot, dot_chart
from zslplat.reports.charts.swatches import Swatch
from zslplat.reports.sections.easel import Easel
from zslplat.reports.sections.words import NOTHING, cell, metric_words, number, sentence


def across_section(found: Comparison, titles: Mapping[str, str], anchor: str, easel: Easel) -> Section:
    """Return the section of a comparison on several data sets, which are called by their ``titles``."""
    blocks: list[Block] = []
    for table in found.across:
        blocks.append(_table(found, titles, table))
        ranked = [method for method in table["methods"] if method["mean_rank"] is not None]
        if len(ranked) > 1:
            blocks.append(_chart(found, table, ranked, easel))
        blocks += [_draws(found, table, drawn) for drawn in table["over_draws"]]
    return Section(f"{found.task} over {len(found.datasets)} data sets", anchor, blocks)


def rank_words(table: Mapping[str, Any]) -> str:
    """Return in words how far mean ranks must be apart, and what so many data sets cannot carry."""
    if table["sets"] is None:
        return "No ranks: fewer than two methods have a score on every data set."
    text = (
        f"Rank 1 is best. Mean ranks less than {table['critical_difference']:.2f} apart are not told apart (Nemenyi, "
        f"level .05, {counted(table['sets'], 'data set')}) and share a letter"
    )
    text += f"; that all are alike has p = {table['p_value']:.2g} (Friedman)." if table["p_value"] is not None else "."
    return " ".join([text, *(sentence(words) for words in (draws_words(table), table["reservation"]) if words)])


def _table(found: Comparison, titles: Mapping[str, str], table: Mapping[str, Any]) -> TableBlock:
    columns = [Column("method"), *(Column(titles[name], True) for name in found.datasets)]
    ranked = any(method["mean_rank"] is not None for method in table["methods"])
    if ranked:
        columns += [Column("mean rank", True), Column("95% of the rank", True, "bootstrap over data sets")]
        columns += [Column("mean difference", True, "from the best mean rank"), Column("tied")]
    rows = []
    for method in table["methods"]:
        rank, low, high = (method[name] for name in ("mean_rank", "rank_low", "rank_high"))
        ends = NOTHING if low is None or high is None else f"{low:.2f} to {high:.2f}"
        standing = [
            Cell(NOTHING if rank is None else f"{rank:.2f}", rank),
            Cell(ends, low),
            cell(method["difference"], sign=True),
            Cell(str(method["tied"] or NOTHING)),
        ]
        scores = [cell(method["scores"][name]) for name in found.datasets]
        rows.append([Cell(str(method["method"])), *scores, *(standing if ranked else [])])
    caption = f"{metric_words(found.metric)} of {table['group']} methods over data sets"
    return TableBlock(caption[:1].upper() + caption[1:], columns, rows, rank_words(table))


def _draws(found: Comparison, table: Mapping[str, Any], drawn: Mapping[str, Any]) -> TableBlock:
    """Return the means over draws of the classes of one data set, with what they say of further draws."""
    columns = [Column("method"), Column("mean", True), Column("95% over further draws", True)]
    columns += [
        Column("difference", True, f"from {drawn['baseline']}" if drawn["baseline"] else ""),
        Column("95% of the difference", True),
    ]
    columns += [Column("p (Holm)", True), Column("verdict"), Column("draws", True)]
    rows = []
    for row in drawn["methods"]:
        numbers = [cell(row["mean"]), Cell(ends(row["low"], row["high"]) or NOTHING, row["low"])]
        gap = ends(row["difference_low"], row["difference_high"], sign=True) or NOTHING
        numbers += [cell(row["difference"], sign=True), Cell(gap, row["difference_low"])]
        p = Cell(p_value(row["p_holm"]) or NOTHING, row["p_holm"])
        told = [p, Cell(row["verdict"] or NOTHING), Cell(str(row["draws"]), row["draws"])]
        rows.append([Cell(str(row["method"])), *numbers, *told])
    caption = f"{metric_words(found.metric)} of {table['group']} methods over {drawn['draws']} draws of the classes of "
    caption += str(drawn["dataset"])
    note = " ".join(map(sentence, draw_notes(drawn)))
    return TableBlock(caption[:1].upper() + caption[1:], columns, rows, note)


def _chart(found: Comparison, table: Mapping[str, Any], ranked: Sequence[Mapping[str, Any]], easel: Easel) -> Block:
    dots, legend = [], []
    ranked, others = easel.first(ranked)
    for method in ranked:
        name, style = str(method["method"]), easel.style(str(method["method"]))
        low, high = method["rank_low"], method["rank_high"]
        wide = None if low is None or high is None else (float(low), float(high))
        dots.append(Dot(f"{name}  {method['tied'] or ''}".strip(), float(method["mean_rank"]), style, wide=wide))
        legend.append((Swatch(style, line=False), name))
    title = f"Mean ranks of {table['group']} methods, task {found.task}"
    told = "; ".join(f"{m['method']} {number(m['mean_rank'], digits=2)}" for m in ranked)
    description = f"{told}. {rank_words(table)}"
    svg = dot_chart(dots, "mean rank, 1 is best", easel.key(), title, description)
    note = "Lines with end marks: bootstrap over data sets. Two that share a letter are not told apart."
    return Chart(svg, title, description, legend, note=note + others)
