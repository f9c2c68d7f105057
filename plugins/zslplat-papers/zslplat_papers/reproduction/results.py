"""Kept results of the papers' tables and claims: their columns, and where this package has its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from zslplat.suites import result_files
from zslplat.suites.result_files import BOTH_ENDS, ORIGIN, Columns

PACKAGED = Path(__file__).parent / "results"
SCHEMAS = {
    **result_files.SCHEMAS,
    "claims": Columns(
        needed=(
            *("claim", "suite", "contrast", "difference", "low", "high", "over", "classes", "trials", "repeats"),
            *ORIGIN,
        ),
        filled=("claim", "suite", "contrast", "difference"),
        numbers=("difference",),
        ends=BOTH_ENDS[:1],
        counts={"classes": 1, "trials": 0, "repeats": 0},
        may_be_nan=False,
    ),
    "reproduce-*": Columns(
        needed=("row", "column", "stand_in", "way", "metric", "ours", "verdict", "why", "trials", "hours", *ORIGIN),
        filled=("row", "column", "way", "metric", "ours"),
        numbers=("ours", "paper", "oracle", "oracle_gain", "oracle_gain_by_metric", "hours"),
        ends=BOTH_ENDS,
        counts={"trials": 0},
    ),
}

check_files = partial(result_files.check_files, schemas=SCHEMAS)
keep_results = partial(result_files.keep_results, schemas=SCHEMAS)
read_file = partial(result_files.read_file, schemas=SCHEMAS)
read_results = partial(result_files.read_results, schemas=SCHEMAS)
