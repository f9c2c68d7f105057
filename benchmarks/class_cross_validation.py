"""One split of digit-pairs against its five class folds: widths of intervals, verdicts and seconds of three methods.

    python benchmarks/class_cross_validation.py [--store mlruns] [--keep]

``--keep`` keeps the figures with their provenance, from where ``docs/suites.md`` has its own. A minute of two cores.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

import zslplat
from zslplat_papers.reproduction.results import keep_results

RESULTS = Path(__file__).parents[1] / "plugins/zslplat-papers/zslplat_papers/reproduction/results"
METHODS = {"eszsl": "eszsl", "sae": "sae", "ridge": "ridge-prototypes"}
SUITE = {
    "name": "q",
    "trials": 4,
    "repeats": 1,
    "tasks": ["gzsl"],
    "differences": [["sae", "eszsl"], ["ridge", "eszsl"], ["ridge", "sae"]],
    "data": [{"name": "pairs", "dataset": "digit-pairs"}],
    "row": [{"name": name, "method": method} for name, method in METHODS.items()],
}


def main() -> None:
    """Carry both out, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", default="mlruns")
    parser.add_argument("--keep", action="store_true", help="keep the figures among the results of the project")
    options = parser.parse_args()
    lines = []
    for design, folds in (("one split", None), ("five class folds", 5)):
        with tempfile.TemporaryDirectory() as folder:
            grid = zslplat.bench(SUITE, class_folds=folds, store=options.store, out=folder, workers=2, quiet=True)
            seconds = sum(entry.seconds for entry in grid.result.entries.values())
            for row in csv.DictReader((Path(folder) / "differences.csv").read_text(encoding="utf-8").splitlines()):
                if row["data"] == "pairs":
                    width = float(row["high_classes"]) - float(row["low_classes"])
                    pair = f"{row['ahead']} - {row['behind']}"
                    line = {"design": design, "pair": pair, "difference": float(row["difference"]), "width": width}
                    lines.append({**line, "verdict": row["verdict"], "seconds": round(seconds, 1)})
    for line in lines:
        print(line)
    if options.keep:
        keep_results("class-folds", lines, ("design", "pair"), RESULTS, hours=0.0)


if __name__ == "__main__":
    main()
