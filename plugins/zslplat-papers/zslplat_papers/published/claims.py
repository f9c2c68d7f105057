"""What the papers claim, in words, with the two sides that are compared and what would confirm or refute it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from zslplat.errors import DataError
from zslplat_papers.published.reading import DATA, load_papers, load_table, one_of, only, read_toml, unique
from zslplat_papers.published.table import Paper

# What the first side is said to be, or how a curve is said to run: higher or lower than the second side, level with
# it or over the range, rising or falling along the range, or with its best value inside the range.
CLAIMED = ("higher", "lower", "level", "rises", "falls", "peaks")
KINDS = ("comparison", "sensitivity", "behaviour")
_CLAIM = (
    "id",
    "paper",
    "text",
    "where",
    "kind",
    "first",
    "second",
    "data",
    "metric",
    "direction",
    "printed",
    "confirms",
    "refutes",
    "notes",
    "comparisons",
)
_COMPARISON = ("table", "first", "second", "columns", "second_table")


@dataclass(frozen=True)
class Effect:
    """What a table prints about a claim in one column: first minus second, and whether that is as claimed.

    ``as_claimed`` is None where the claim says nothing of the sign: level sides, the run of a curve.
    """

    table: str
    column: str
    first: str
    second: str
    difference: float
    as_claimed: bool | None


@dataclass(frozen=True)
class Comparison:
    """Two rows that bear on a claim, and the columns in which to compare them.

    The second row is in ``second_table`` where that is given, in the same table otherwise.
    """

    table: str
    first: str
    second: str
    columns: tuple[str, ...]
    second_table: str = ""

    def effects(self, direction: str) -> tuple[Effect, ...]:
        """Return first minus second in each column; raises :class:`UsageError` for rows or columns not in the table."""
        table = load_table(self.table)
        other = load_table(self.second_table or self.table)
        results = []
        for name in self.columns:
            first, second = table.cell(self.first, name).value, other.cell(self.second, name).value
            if first is None or second is None:
                raise DataError(f"{self.table} has no value of {self.first} or {self.second} in {name}")
            # Decimal fractions: without rounding 0.3 - 0.1 would carry binary dust that nobody printed.
            difference = round(first - second, 6)
            as_claimed = {"higher": difference > 0, "lower": difference < 0}.get(direction)
            results.append(Effect(self.table, name, self.first, self.second, difference, as_claimed))
        return tuple(results)


@dataclass(frozen=True)
class Claim:
    """A paper's claim: ``text`` in words, ``first`` and ``second`` side, on which data, by which metric, which way.

    ``kind`` is "comparison" (one side against the other), "sensitivity" (a curve over a parameter) or "behaviour"
    (what a method does: converges, becomes incoherent). ``printed`` is the effect as the paper prints or states it,
    ``where`` the place, ``notes`` what is known against it: slips, tables that say otherwise, errors in the maths.
    """

    id: str
    paper: Paper
    text: str
    where: str
    kind: str
    first: str
    second: str
    data: tuple[str, ...]
    metric: str
    direction: str
    printed: str
    confirms: str
    refutes: str
    notes: tuple[str, ...]
    comparisons: tuple[Comparison, ...]

    def effects(self) -> tuple[Effect, ...]:
        """Return what the paper's own tables say about it, cell by cell; nothing where it rests on curves or text."""
        return tuple(effect for comparison in self.comparisons for effect in comparison.effects(self.direction))


@cache
def load_claims() -> tuple[Claim, ...]:
    """Return all claims of all papers, in order of paper and place."""
    return read_claims(DATA / "claims.toml")


def read_claims(path: Path) -> tuple[Claim, ...]:
    """Read a file of claims; raises :class:`DataError` for keys that nobody reads, missing ones, and ids said twice."""
    try:
        claims = tuple(_claim(entry) for entry in read_toml(path)["claims"])
    except KeyError as error:
        raise DataError(f"{path.name}: a claim lacks {error.args[0]!r}") from error
    unique((claim.id for claim in claims), "claim")
    return claims


def _claim(entry: dict[str, Any]) -> Claim:
    name = entry["id"]
    only(entry, _CLAIM, f"claim {name}")
    papers = load_papers()
    comparisons = []
    for comparison in entry.get("comparisons", ()):
        only(comparison, _COMPARISON, f"a comparison of claim {name}")
        comparisons.append(Comparison(**{**comparison, "columns": tuple(comparison["columns"])}))
    return Claim(
        id=name,
        paper=papers[one_of(entry["paper"], tuple(papers), f"paper of claim {name}")],
        text=entry["text"],
        where=entry["where"],
        kind=one_of(entry["kind"], KINDS, f"kind of claim {name}"),
        first=entry["first"],
        second=entry["second"],
        data=tuple(entry["data"]),
        metric=entry["metric"],
        direction=one_of(entry["direction"], CLAIMED, f"direction of claim {name}"),
        printed=entry["printed"],
        confirms=entry["confirms"],
        refutes=entry["refutes"],
        notes=tuple(entry.get("notes", ())),
        comparisons=tuple(comparisons),
    )
