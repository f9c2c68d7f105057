"""The critical-difference diagram: mean ranks on a line, bars over methods that are not told apart."""

from __future__ import annotations

import textwrap
from pathlib import Path

from zslplat.comparison.across import Across


def draw_ranks(across: Across, path: Path | str, title: str = "") -> None:
    """Draw mean ranks as a PNG or SVG file, by the ending of ``path``; the best is on the left.

    Thin lines are bootstrap intervals over data sets, thick bars join methods that share a letter, the line with end
    marks on top is as long as the critical difference, and what so few data sets cannot carry stands below.
    """
    from matplotlib.figure import Figure as Canvas

    from zslplat.drawing import INK, LINE, PALETTE, TITLE, save, written

    rows = across.standings
    bars = {
        letter: [s.mean_rank for s in rows if letter in _letters(s.tied)]
        for letter in dict.fromkeys(letter for s in rows for letter in _letters(s.tied))
    }
    bars = {letter: ranks for letter, ranks in bars.items() if len(ranks) > 1}
    note = (
        f"{across.sets} data set{'s' if across.sets > 1 else ''}, critical difference {across.critical_difference:.2f}"
    )
    note += f" (Nemenyi, .05); Friedman p = {across.p_value:.3g}" if across.sets > 1 else ""
    if across.reservation:
        note += ". " + across.reservation[0].upper() + across.reservation[1:] + "."
    height = 1.5 + 0.26 * len(rows) + 0.16 * len(bars)
    canvas = Canvas(figsize=(7.2, height), layout="constrained", facecolor="white")
    axes = canvas.add_subplot()
    k, level = len(rows), len(bars)
    # Where it is longer than all ranks are apart, it ends at the edge without a mark.
    reach = min(1 + across.critical_difference, k + 0.2)
    ends = [0, 1] if reach < k + 0.2 else [0]
    axes.plot([1, reach], [level + 1, level + 1], color=INK, linewidth=1.2, marker="|", markevery=ends)
    axes.annotate("critical difference", (1, level + 1), (0, 3), textcoords="offset points", fontsize=7, color=INK)
    for number, (letter, ranks) in enumerate(bars.items()):
        y = level - number
        axes.plot([min(ranks), max(ranks)], [y, y], color=PALETTE[0], linewidth=4, solid_capstyle="butt")
        axes.annotate(letter, (max(ranks), y), (4, 0), textcoords="offset points", va="center", fontsize=8, color=INK)
    for number, standing in enumerate(rows):
        y = -number - 1
        axes.plot([standing.rank_low, standing.rank_high], [y, y], color=INK, linewidth=0.8)
        axes.plot(standing.mean_rank, y, "o", color=PALETTE[1], markersize=5)
    axes.set_yticks([-n - 1 for n in range(k)], [f"{written(s.method, LINE)}  {s.tied}" for s in rows])
    axes.tick_params(axis="y", length=0, labelsize=8, labelcolor=INK)
    axes.tick_params(axis="x", labelsize=8, labelcolor=INK)
    axes.set_xlim(0.8, k + 0.2)
    axes.set_ylim(-k - 0.6, level + 1.9)
    axes.set_xlabel("mean rank, 1 is best\n" + textwrap.fill(note, 100), fontsize=8, color=INK)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    if title:
        axes.set_title(written(title, TITLE), fontsize=10, color=INK)
    save(canvas, path)


def _letters(tied: str) -> list[str]:
    """Return the letters of an entry, each with the number that follows it."""
    found: list[str] = []
    for sign in tied:
        if sign.isdigit() and found:
            found[-1] += sign
        else:
            found.append(sign)
    return found
