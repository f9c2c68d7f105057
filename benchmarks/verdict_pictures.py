"""Draw the two figures of ``docs/statistics.md``: the verdicts by their intervals, and what designs decide.

    python benchmarks/verdict_pictures.py [FOLDER]

The second is of the kept results of ``benchmarks/verdicts.py --keep``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

from zslplat.statistics import AHEAD, BEHIND, DIFFERS, MARGIN, NOT_ENOUGH, equal_within
from zslplat_papers.reproduction.results import PACKAGED, read_file

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
COLOURS = {"one split": "#7a8794", "ten draws": "#c7762c", "five folds": "#1f6f8b"}
EXAMPLES = (
    (AHEAD, (0.03, 0.09)),
    (AHEAD, (0.004, 0.018)),
    (BEHIND, (-0.08, -0.01)),
    (equal_within(MARGIN), (-0.014, 0.012)),
    (NOT_ENOUGH, (-0.03, 0.07)),
    (DIFFERS, (-0.05, 0.08)),
)


def draw_verdicts(path: Path) -> None:
    """Draw an interval for each verdict, and the margin."""
    figure, axes = plt.subplots(figsize=(6.4, 2.6))
    axes.axvspan(-MARGIN, MARGIN, color="#e6ecef")
    axes.axvline(0, color="#7a8794", linewidth=1)
    for line, (verdict, (low, high)) in enumerate(EXAMPLES):
        axes.plot([low, high], [-line, -line], color="#1f6f8b", linewidth=3, solid_capstyle="butt")
        axes.plot([(low + high) / 2], [-line], "o", color="#1f6f8b")
        if verdict == DIFFERS:
            axes.plot([-0.045, -0.035, 0.06, 0.075], [-line - 0.3] * 4, "x", color="#c7762c", markersize=5)
        axes.text(0.105, -line, verdict, va="center")
    axes.set(xlim=(-0.1, 0.1), ylim=(-len(EXAMPLES) + 0.3, 0.6), yticks=[], xlabel="difference over new classes, 95 %")
    axes.spines[["top", "right", "left"]].set_visible(False)
    save(figure, path)


def draw_designs(path: Path) -> None:
    """Draw by the number of classes how often a lead is seen, and equality shown."""
    lines = [line for line in read_file(PACKAGED / "verdicts.csv") if line["law"] == "heavy-tailed"]
    figure, both = plt.subplots(1, 2, figsize=(7.2, 2.8), sharey=True)
    for axes, (of, title) in zip(
        both, (("power", "a lead of .05 is seen"), ("equal at 0", "equality is shown")), strict=True
    ):
        for design, colour in COLOURS.items():
            chosen = [line for line in lines if line["design"] == design and line["of"] == of]
            points = sorted((int(line["classes"]), float(line["share"])) for line in chosen)
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=design)
        axes.set(
            title=title, xscale="log", xlabel="classes that one split tests", xticks=[10, 20, 50, 100], ylim=(0, 1.02)
        )
        axes.set_xticks([10, 20, 50, 100], ["10", "20", "50", "100"])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    both[0].set_ylabel("share of simulations")
    both[1].legend(frameon=False, loc="lower right")
    save(figure, path)


def save(figure: plt.Figure, path: Path) -> None:
    """Write a figure, the same bytes whenever it is drawn."""
    with plt.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    draw_verdicts(folder / "verdicts.svg")
    draw_designs(folder / "power.svg")
