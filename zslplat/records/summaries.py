"""A line per study: what it asks, how far it is, what it reached. Read in a few queries, however many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zslplat.errors import StoreError
from zslplat.records.database import Records
from zslplat.records.membership import suites_of
from zslplat.records.overview import Overview
from zslplat.records.studies import STUDY

FINISHED, STOPPED, UNFINISHED = "finished", "stopped by its time limit", "unfinished"
DAMAGED, FOREIGN = "damaged", "of another program"


@dataclass(frozen=True)
class Summary:
    """What is recorded of one study.

    ``metric`` is what was optimised, ``validation`` its value at the best trial and ``test`` its mean over the
    evaluations of that trial's refit; ``trials`` counts failed and pruned ones, too. ``began`` and ``ended`` are
    seconds since 1970. None where nothing is recorded.
    """

    study: str
    state: str
    method: str | None = None
    dataset: str | None = None
    task: str | None = None
    seed: int | None = None
    trials: int = 0
    metric: str | None = None
    validation: float | None = None
    test: float | None = None
    evaluations: int = 0
    began: float | None = None
    ended: float | None = None
    suite: str | None = None


def summaries(records: Records) -> list[Summary]:
    """Return what is recorded of all studies, oldest first; what is damaged of one is left out of its line."""
    known = Overview(records, ("identity", "about", "finished", "began"))
    best = known.best()
    scored: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for owner, _, record in records.evaluations_on_split("test"):
        if owner.startswith(STUDY):
            scored.setdefault((owner.removeprefix(STUDY), int(record["winner"])), []).append(record["metrics"])
    return [_summary(name, known, best.get(name), scored) for name in records.study_names()]


def _summary(
    name: str, known: Overview, best: float | None, scored: dict[tuple[str, int], list[dict[str, Any]]]
) -> Summary:
    trials = known.trials(name)
    try:
        values = known.values(name)
    except StoreError:
        return Summary(name, DAMAGED, trials=trials)
    asked, about, finished = (values.get(key) or {} for key in ("identity", "about", "finished"))
    if not asked:
        return Summary(name, FOREIGN, trials=trials)
    metric = about.get("primary", {}).get("name")
    found = scored.get((name, int(finished["winner"])), []) if "winner" in finished else []
    tested = [float(metrics[metric]) for metrics in found if metric in metrics]
    state = UNFINISHED if not finished else FINISHED if finished.get("complete", True) else STOPPED
    return Summary(
        study=name,
        state=state,
        method=asked.get("method"),
        dataset=asked.get("dataset"),
        task=asked.get("task"),
        seed=asked.get("seed"),
        trials=trials,
        metric=metric,
        validation=best,
        test=sum(tested) / len(tested) if tested else None,
        evaluations=len(found),
        began=values.get("began"),
        ended=finished.get("ended"),
        suite=", ".join(suites_of(about)) or None,
    )
