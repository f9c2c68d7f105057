"""What exemplar retrieval shows of its queries: metrics of each, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from zslplat.figures import Curve, Table
from zslplat.metrics.ranking import Answers
from zslplat.tasks.array_names import suffixes_of
from zslplat.tasks.base import Outcome, Problem
from zslplat.tasks.predictions import confusion, predictions_table


def metrics_of_queries(answers: Sequence[Answers], k: int) -> dict[str, list[np.ndarray]]:
    """Return every metric of every query (q,), a list over draws; their means are the metrics."""
    return {
        "mAP": [a.precision for a in answers],
        f"recall_at_{k}": [a.recall_at_k for a in answers],
        f"precision_at_{k}": [a.precision_at_k for a in answers],
        "nearest_accuracy": [a.right for a in answers],
    }


def described(
    outcome: Outcome, problem: Problem, answers: Sequence[Answers], by_query: Mapping[str, list[np.ndarray]]
) -> None:
    """Add the tables (per class, predictions, confusion) and figures to an outcome.

    ``predicted`` is the class of the nearest row that counts, ``queries`` and the rest of a class those of its queries.
    """
    names, several = problem.meta["classes"], len(answers) > 1
    suffixes = suffixes_of(len(answers))
    ys = [np.asarray(problem.truth[f"y{s}"]) for s in suffixes]
    queries = [np.asarray(problem.truth[f"queries{s}"]) for s in suffixes]
    rows = [np.asarray(problem.truth[f"row{s}"])[q] for s, q in zip(suffixes, queries, strict=True)]
    own = np.concatenate([y[q] for y, q in zip(ys, queries, strict=True)])
    predicted = np.concatenate([y[a.nearest] for y, a in zip(ys, answers, strict=True)])
    precision, recall = (np.concatenate(v) for v in list(by_query.values())[:2])
    present = np.unique(own)
    sizes = np.max([np.bincount(y, minlength=len(names)) for y in ys], axis=0)
    outcome.tables["per_class"] = Table(
        {
            "class": [names[c] for c in present],
            "rows": sizes[present].tolist(),
            "queries": [int((own == c).sum()) for c in present],
            "average_precision": [float(precision[own == c].mean()) for c in present],
            list(by_query)[1]: [float(recall[own == c].mean()) for c in present],
        }
    )
    draw = np.repeat(np.arange(1, len(answers) + 1), [len(q) for q in queries])
    score = np.concatenate([a.score for a in answers])
    more = {"average_precision": precision} | ({"draw": draw} if several else {})
    outcome.tables["predictions"] = predictions_table(names, np.concatenate(rows), own, predicted, score, **more)
    title = f"{problem.meta['dataset']}, {problem.name}"
    table, figure = confusion(own, predicted, names, f"{title}: class of the nearest row")
    outcome.tables["confusion"], outcome.figures["confusion"] = table, figure
    lines = {
        f"draw {number}" if several else "mean over queries": (a.ranks.tolist(), a.recall_by_rank.tolist())
        for number, a in enumerate(answers, start=1)
    }
    outcome.figures["recall_by_rank"] = Curve(lines, "rows retrieved", "recall", title, logx=True)
