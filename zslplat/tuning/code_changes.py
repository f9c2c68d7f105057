"""Whether recorded trials were computed by the code that would compute the next ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zslplat.errors import StoreError
from zslplat.evaluation.code import LIBRARIES
from zslplat.evaluation.reporter import Reporter

if TYPE_CHECKING:
    from zslplat.evaluation.context import ExperimentContext

MIXED, EARLIER = "mixed", "winner of earlier code"
# What a mark says of a study's numbers.
MEANING = {
    MIXED: "trials of several versions of its code",
    EARLIER: "its numbers are not those of the code with which the study was continued",
}
_WORDS = {"method": "method", "kernel": "kernel", "task": "task", "data": "data set", "scoring": "scoring"}


def check_code(
    context: ExperimentContext,
    records: Sequence[Mapping[str, Any]],
    study: str,
    reporter: Reporter,
    *,
    accept: bool,
    remedy: str,
) -> None:
    """Raise :class:`StoreError` where recorded trials of a study come from other code, unless that is accepted.

    Other versions of numpy, scipy or numba are worth a warning. Trials that failed have no numbers, and no code.
    ``remedy``: what can be given then.
    """
    changed: dict[str, list[int]] = {}
    other: set[str] = set()
    for record in records:
        now, before = context.code(record["parameters"]), record.get("code", {})
        for role in before:
            if before[role] != now.get(role):
                if role in LIBRARIES:
                    other.add(f"{role} {before[role]} (now {now[role]})")
                else:
                    changed.setdefault(role, []).append(record["number"])
    if other:
        reporter.warn(f"trials of study {study!r} were computed with {', '.join(sorted(other))}")
    if not changed:
        return
    roles = ", ".join(_WORDS.get(role, role) for role in changed)
    numbers = sorted({number for listed in changed.values() for number in listed})
    text = f"{len(numbers)} of {len(records)} trials of study {study!r} were computed by other code of its {roles}"
    if not accept:
        raise StoreError(f"{text}; give {remedy}")
    reporter.warn(f"{text}; continuing, as asked, and the mixture is marked")


def code_mark(
    context: ExperimentContext,
    records: Sequence[Mapping[str, Any]],
    winner: Mapping[str, Any],
    test: Sequence[Mapping[str, Any]],
) -> str:
    """Return how a study's code is marked: empty where all was computed by one code, ``mixed``, or that the winner is.

    A winner of earlier code is one that the code as it is now did not compute, whether or not later trials did. Records
    without code, as failed trials are, are of no other code.
    """
    now = context.code(winner["parameters"])
    if any(now.get(role) != text for role, text in winner.get("code", {}).items() if role not in LIBRARIES):
        return EARLIER
    codes = [_comparable(record) for record in (*records, *test) if record.get("code")]
    kernels: dict[str, set[str]] = {}
    for record in records:
        if record.get("code"):
            kernels.setdefault(_kernel(context.code(record["parameters"])), set()).add(_kernel(record["code"]))
    mixed = any(code != codes[0] for code in codes) or any(len(digests) > 1 for digests in kernels.values())
    return MIXED if mixed else ""


def _kernel(code: Mapping[str, str]) -> str:
    return code.get("kernel", "")


def _comparable(record: Mapping[str, Any]) -> dict[str, str]:
    # Kernels differ from trial to trial where they are searched; those of one name are compared by themselves.
    return {k: v for k, v in record["code"].items() if k not in (*LIBRARIES, "kernel")}
