"""What evaluations cost: their own seconds, and those of what was prepared for them.

What a method prepares for a problem is made once and shared: by all trials, or by those of one value, and by later
studies, which find it in the cache. The record of an evaluation names what it used (``prepared``, by the key of the
statistics) with the time and memory that making it took, in whichever process. One evaluation, shown as what a method
costs, counts all of it; of many evaluations each preparation counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

SECONDS, CPU_SECONDS, PEAK_BYTES, PREPARED = "seconds", "cpu_seconds", "peak_bytes", "prepared"


def prepared_seconds(record: Mapping[str, Any], name: str = SECONDS) -> float:
    """Return the seconds (``name``: or those of the processor) of what an evaluation had prepared for it."""
    return _seconds_of(record.get(PREPARED, {}), name)


def full_seconds(record: Mapping[str, Any], name: str = SECONDS) -> float | None:
    """Return what an evaluation would have taken with nothing prepared beforehand; None where no time is recorded."""
    if record.get(name) is None:
        return None
    return float(record[name]) + prepared_seconds(record, name)


def evaluation_seconds(record: Mapping[str, Any], name: str = SECONDS) -> float:
    """Return the seconds of an evaluation; of one that failed or was stopped, how long it was under way.

    Where no time of the processor is recorded, that on the clock counts; 0 where nothing is known.
    """
    seconds = float(record.get(name) or record.get(SECONDS) or 0.0)
    if seconds or not {"started", "ended"} <= set(record):
        return seconds
    return max(0.0, float(record["ended"]) - float(record["started"]))


def total_seconds(records: Iterable[Mapping[str, Any]], name: str = SECONDS) -> float:
    """Return what evaluations took one after the other: the seconds of each, and each preparation once."""
    evaluated, prepared = 0.0, dict[str, Mapping[str, float]]()
    for record in records:
        evaluated += evaluation_seconds(record, name)
        prepared |= record.get(PREPARED, {})
    return evaluated + _seconds_of(prepared, name)


def most_bytes(record: Mapping[str, Any]) -> int | None:
    """Return the most memory that an evaluation, or preparing for it, held; None where none is recorded."""
    if record.get(PEAK_BYTES) is None:
        return None
    return max(int(entry.get(PEAK_BYTES, 0)) for entry in (record, *record.get(PREPARED, {}).values()))


def costs(record: Mapping[str, Any], *, alone: bool = False) -> dict[str, float]:
    """Return seconds, processor seconds and most bytes of an evaluation under the names they are shown by.

    ``alone``: without what was prepared for it, as for one of the trials that share it.
    """
    counted = {**record, PREPARED: {}} if alone else record
    values: dict[str, float | None] = {name: full_seconds(counted, name) for name in (SECONDS, CPU_SECONDS)}
    values["peak_memory_bytes"] = most_bytes(counted)
    return {name: float(value) for name, value in values.items() if value is not None}


def mean_known(values: Iterable[float | None]) -> float | None:
    """Return the mean of what is recorded; None where nothing is."""
    numbers = [float(value) for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def _seconds_of(prepared: Mapping[str, Mapping[str, float]], name: str) -> float:
    return float(sum(entry[name] for entry in prepared.values()))
