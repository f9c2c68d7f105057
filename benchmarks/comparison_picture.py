"""Draw the comparison that README and site begin with: six methods with equal budgets, with both intervals of each.

    python benchmarks/comparison_picture.py [PICTURE]

It tunes them on the data set that is built in, which takes a minute.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import zslplat

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "comparison.png"
CONTROL = "ridge-prototypes"
METHODS = (CONTROL, "eszsl", "dap", "sae", "sync-ovo", "conse")

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as store:
        studies = {name: zslplat.tune(name, trials=20, quiet=True, store=store) for name in METHODS}
        table = zslplat.compare(*studies.values(), against=studies[CONTROL], store=store)
        table.plot().savefig(sys.argv[1] if len(sys.argv) > 1 else PICTURE, dpi=120)
