"""A search that begins at the best trials of another study: which they are, and what of them fits.

The values themselves are part of the new study's identity, with where they are from. So the study is what it is however
the other one goes on; the same command continues it with the values that it began with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zslplat.errors import UnknownNameError, UsageError
from zslplat.records.database import Records
from zslplat.space import Space
from zslplat.spec import format_value

KEY = "warm_start"
BEST = 4  # trials that are taken where nobody says how many


def warm_start_of(
    records: Records, source: str, space: Space, identity: Mapping[str, Any], note: Callable[[str], None]
) -> dict[str, Any]:
    """Return where a search begins: ``from``, the study and how many of its trials, and ``trials``, their values.

    ``source``: ``STUDY`` or ``STUDY:K``, the K best of its complete trials; ``identity``: the JSON form of the search
    without this. A search that is recorded already begins where it did, also where the other study is gone. Values that
    are not searched here, or lie outside the ranges, are left out, and ``note`` is told so. Raises :class:`UsageError`
    where nothing is left, and :class:`UnknownNameError` for a study that is not in the store.
    """
    try:
        study, best = _parsed(source, records.study_names())
    except UnknownNameError:
        begun = _begun(records, identity, source) or _begun(records, identity, f"{source}:{BEST}")
        if begun is None:
            raise
        return begun
    told = f"{study}:{best}"
    if (begun := _begun(records, identity, told)) is not None:
        return begun
    trials: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for number, values in _best(records, study, best):
        fitting = {}
        for name, value in values.items():
            if name not in space:
                left_out[name] = f"{name} is not searched here"
            elif not space[name].contains(value):
                left_out.setdefault(name, f"{name}={format_value(value)} lies outside {space[name]}")
            else:
                fitting[name] = value
        if fitting and fitting not in [trial["parameters"] for trial in trials]:
            trials.append({"trial": number, "parameters": fitting})
    reasons = "; ".join(left_out.values())
    if not trials:
        raise UsageError(
            f"--warm-start {source}: nothing of these trials can be tried ({reasons or 'none has any values'}); give a "
            "study that searched the same parameters, or wider ranges (--space)"
        )
    if reasons:
        note(f"warm start from {study}: {reasons}; the search proposes values in their place")
    return {"from": told, "trials": trials}


def _begun(records: Records, identity: Mapping[str, Any], told: str) -> dict[str, Any] | None:
    """Return where a search that is recorded already began, None where none of this identity began there."""
    for other in records.identities().values():
        begun = other.get(KEY)
        if begun and begun["from"] == told and {k: v for k, v in other.items() if k != KEY} == dict(identity):
            return dict(begun)
    return None


def first_values(search: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the values that the first trials after the default try."""
    return [dict(trial["parameters"]) for trial in search.get(KEY, {}).get("trials", ())]


def _parsed(source: str, names: list[str]) -> tuple[str, int]:
    """Return the study and the number of its trials; a name may hold a colon itself."""
    if source in names:
        return source, BEST
    study, separator, count = source.rpartition(":")
    if not separator or not count.isascii() or not count.isdecimal():
        study, count = source, str(BEST)
    if study not in names:
        raise UnknownNameError("study to start from", study, names)
    if int(count) < 1:
        raise UsageError(f"--warm-start {source}: give one trial or more, {study}:{BEST}")
    return study, int(count)


def _best(records: Records, study: str, count: int) -> list[tuple[int, dict[str, Any]]]:
    """Return number and values of the best complete trials of a study, the first of equals first."""
    opened = records.study(study)
    sign = -1.0 if opened.maximise else 1.0
    complete = [t for t, _ in opened.finished() if t.state == "complete" and t.value is not None]
    if not complete:
        raise UsageError(f"--warm-start {study}: it has no complete trial yet; tune it first, or give another study")
    ordered = sorted(complete, key=lambda t: (sign * float(t.value or 0.0), t.number))
    return [(trial.number, dict(trial.parameters)) for trial in ordered[:count]]
