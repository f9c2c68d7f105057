"""The papers' tables and claims as data, with their source.

A table is one TOML file in ``data/`` (``docs/published.md`` has the format), its cells in a CSV file beside it where
they are many. Numbers stand as they are printed, slips included: what is wrong with one is said in a note beside it.
"""

from zslplat_papers.published.claims import Claim, Comparison, Effect, load_claims
from zslplat_papers.published.reading import load_table, read_table, table_ids
from zslplat_papers.published.table import Cell, Column, Paper, PublishedTable, Row, parse_printed

__all__ = [
    "Cell",
    "Claim",
    "Column",
    "Comparison",
    "Effect",
    "Paper",
    "PublishedTable",
    "Row",
    "load_claims",
    "load_table",
    "parse_printed",
    "read_table",
    "table_ids",
]
