"""What checks find in a table of test evaluations, and what is recorded that such a table does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zslplat.checks.base import Finding, run_checks
from zslplat.checks.facts import ComparisonFacts, RowFacts
from zslplat.evaluation.experiment import TEST
from zslplat.records.database import Records

# Owners of evaluations that no validation has chosen.
_CHOSEN_BY_NOBODY = ("run:", "sweep:")
_LABELS_EXPORTED = "ZSP215"


def comparison_findings(
    records: Records, rows: Sequence[Mapping[str, Any]], *, task: str, dataset: str, metric: str
) -> list[Finding]:
    """Return what checks find in the rows of a comparison on one data set and task; nothing is silenced here.

    ``rows`` are those of :func:`~zslplat.comparison.leaderboard.leaderboard`, or of a comparison of which they are a
    part: the keys ``method``, ``baseline``, ``verdict``, ``knows``, ``from_memory`` and ``code``, and where they are
    there ``short``, ``trials``, ``test_seconds``, ``data``, ``test_rows`` and ``labels_exported``. Show findings with
    :func:`~zslplat.checks.base.drop_silenced` and ``settings.silenced``.
    """
    fingerprints = {str(row["data"]) for row in rows if row.get("data")}
    looks = sum(unchosen_looks(records, fingerprint, task) for fingerprint in fingerprints)
    names = {row["method"]: row.get("short") or row["method"] for row in rows}
    facts = ComparisonFacts(f"task {task} on {dataset}", metric, tuple(row_facts(row, names) for row in rows), looks)
    labels = [_labels_exported(names[row["method"]], facts.subject) for row in rows if row.get("labels_exported")]
    return [*labels, *run_checks("comparison", facts)]


def _labels_exported(name: str, subject: str) -> Finding:
    """Return what is recorded of scores that came with the labels of the test rows, beside the name of the row."""
    text = f"{name}: the labels of the test rows were exported with the split that its scores are of"
    return Finding(_LABELS_EXPORTED, text, subject, f"zslplat explain {_LABELS_EXPORTED}")


def row_facts(row: Mapping[str, Any], names: Mapping[str, str] | None = None) -> RowFacts:
    """Return the facts of a row of a comparison; ``names`` are what its methods are called, by label."""
    called, baseline = names or {}, row.get("baseline") or ""
    return RowFacts(
        label=called.get(row["method"], row["method"]),
        trials=row.get("trials"),
        rows=row.get("test_rows"),
        data=row.get("data") or "",
        code=row.get("code") or "",
        seconds=row.get("test_seconds"),
        verdict=row.get("verdict") or "",
        knows=row.get("knows"),
        from_memory=bool(row.get("from_memory")),
        baseline=called.get(baseline, baseline),
    )


def unchosen_looks(records: Records, fingerprint: str, task: str) -> int:
    """Return how often the test split of these data was scored under a task with settings that no study had chosen.

    Those are of single runs and of the points of sweeps, each counted once for every seed that was given, however often
    it was repeated; what was taken from another's record scored nothing.
    """
    asked = set()
    for _, _, content in records.evaluations_on(fingerprint, _CHOSEN_BY_NOBODY):
        experiment = content.get("experiment", {})
        tested = experiment.get("split") == TEST and experiment.get("task") == task and "known_from" not in content
        if tested:
            asked.add(tuple(str(experiment.get(name)) for name in ("method", "features", "signatures", "seed")))
    return len(asked)
