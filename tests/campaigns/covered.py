"""What share of lines and of branches the tests have run, by package: one table of a report of coverage.py.

    python -m pytest -n 2 --all --cov=zslplat --cov-report=json:.coverage.json
    python tests/campaigns/covered.py .coverage.json

Counted is what the processes of the tests run themselves. Workers, programs in interpreters of their own and compiled
functions are not, so that the files that hold these stand lowest; the five with most lines not run are named.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

_COUNTED = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def table(report: dict) -> list[str]:
    """Return the lines of the table: a row per package, one for all, and the files with most lines not run."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(_COUNTED))
    for path, file in report["files"].items():
        inside = path.split("/")[1:]
        for name in (inside[0] if len(inside) > 1 else "(top)", "all"):
            sums[name] = [total + file["summary"][key] for total, key in zip(sums[name], _COUNTED, strict=True)]
    lines = [f"{'package':16s} {'lines':>7s} {'run %':>7s} {'branches':>9s} {'taken %':>8s}"]
    for name in [*sorted(set(sums) - {"all"}), "all"]:
        statements, run, branches, taken = sums[name]
        lines_run, branches_taken = 100 * run / max(statements, 1), 100 * taken / max(branches, 1)
        lines.append(f"{name:16s} {statements:7d} {lines_run:7.1f} {branches:9d} {branches_taken:8.1f}")
    missing = sorted(report["files"], key=lambda path: -report["files"][path]["summary"]["missing_lines"])[:5]
    told = (f"{path} {report['files'][path]['summary']['missing_lines']}" for path in missing)
    return [*lines, "most lines not run: " + ", ".join(told)]


if __name__ == "__main__":
    print("\n".join(table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
