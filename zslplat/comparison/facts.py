"""What stands beside a score: how it was searched for, what its method knows beforehand, on which data it was taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zslplat.comparison.folding import Folded
from zslplat.comparison.leaderboard import OTHER_DATA
from zslplat.comparison.listed import unmistakable
from zslplat.methods.knowledge import CLASS_BALANCE, TRANSDUCTIVE, UNSEEN_SIGNATURES
from zslplat.records.took import mean_known, most_bytes, took

OTHER_TEST_ROWS = "other test rows"
NOT_TUNED = "not tuned"
LABELS_EXPORTED = "labels of the test rows were at hand"


def facts(entry: Folded, knows: str | None, seconds: float | None) -> dict[str, Any]:
    """Return what is said of an entry beside its scores; None is what was not recorded or does not apply.

    ``tested`` is the method as it was evaluated, ``trials`` those of the search that found its parameters, in a suite
    that of another task, ``trial_seconds`` what its own took, ``epochs`` what validation chose for a method of steps,
    ``test_seconds`` and ``peak_memory_bytes`` what a final evaluation took, a mean over ``repeats``, its preparation
    counted as if nothing had been at hand;
    ``labels_exported`` whether scores made elsewhere are of a split whose test labels were exported, too; ``data`` and
    ``test_rows`` are the fingerprints of data set and scored rows; ``others`` are the studies and runs of the same
    experiment that the entry stands for as well, ``folded`` how many these are; a name with a comma stands in quotes,
    as values of tags do (:attr:`zslplat.comparison.selection.Comparison.behind` has the names themselves).
    """
    group = entry.shown
    first = group.tested[0]
    steps = first["experiment"].get("carried", {}).get("best_step")
    known = None if knows is None else set(knows.split(", "))
    return {
        "kind": "study" if group.is_study else "run",
        "tested": str(first["experiment"]["method"]),
        "trials": group.searched,
        "trial_seconds": seconds,
        "epochs": None if steps is None else float(steps),
        "repeats": len(group.tested),
        "test_seconds": mean_known(map(took, group.tested)),
        "peak_memory_bytes": mean_known(map(most_bytes, group.tested)),
        "transductive": None if known is None else TRANSDUCTIVE in known,
        "class_balance": None if known is None else CLASS_BALANCE in known,
        "unseen_signatures": None if known is None else UNSEEN_SIGNATURES in known,
        "labels_exported": any(record.get("outside", {}).get("labels_exported") for record in group.tested),
        "features": group.asked.get("features"),
        "signatures": group.asked.get("signatures"),
        "seed": group.asked.get("seed"),
        "mlflow_experiment": group.about.get("mlflow_experiment"),
        "suite": ", ".join(group.suites) or None,
        "tags": ", ".join(f"{name}={unmistakable(value)}" for name, value in group.tags.items()) or None,
        "data": group.data,
        "test_rows": group.rows,
        "created": group.created,
        "runs": ", ".join(str(record["run"]) for record in group.tested),
        "folded": len(entry.others),
        "others": ", ".join(unmistakable(other.name) for other in entry.others),
    }


def unequal(rows: Sequence[dict[str, Any]], newest: str) -> list[str]:
    """Return in words, for each row of one data set, what makes it less than a fair match for the others.

    ``newest``: the fingerprint of the data that the others are measured by; of its test rows, those that most have
    scored are the usual ones. Empty where there is nothing to say.
    """
    most = max((row["trials"] or 0 for row in rows), default=0)
    tested = [row["test_rows"] for row in rows if row["data"] == newest and row["test_rows"] is not None]
    usual = max(dict.fromkeys(tested), key=tested.count, default=None)
    found = []
    for row in rows:
        words = [OTHER_DATA] if row["data"] != newest else []
        words += [OTHER_TEST_ROWS] if not words and row["test_rows"] not in (None, usual) else []
        if most and row["trials"] is None:
            words.append(NOT_TUNED)
        elif row["trials"] is not None and row["trials"] < most:
            words.append(f"{row['trials']} trials, not {most}")
        words += [LABELS_EXPORTED] if row["labels_exported"] else []
        words += [row["code"]] if row["code"] else []
        found.append("; ".join(words))
    return found
