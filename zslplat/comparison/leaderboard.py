"""The leaderboard of one task on one data set: every method's score, and how far it is from one of them.

Methods that score the rows of a batch jointly know more than those that see one row at a time. The two kinds are kept
apart: inductive entries first, each kind in the order of its scores and, unless one entry is requested, beside the best
of its own kind.

Two intervals stand beside every score and every difference, and two verdicts: over *these test rows* (bootstrap,
:mod:`zslplat.comparison.paired`) and over *new classes like these* (:mod:`zslplat.comparison.classes`). The verdict is
the second: a zero-shot test has few classes, and rows within a class are not independent.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from zslplat.checks.base import Finding, run_checks
from zslplat.checks.facts import ComparisonFacts, RowFacts
from zslplat.comparison.classes import (
    class_difference,
    class_verdict,
    count_comparisons,
    family_p_values,
    over_classes,
    score_ends,
)
from zslplat.comparison.paired import difference, interval, known_value
from zslplat.comparison.ranks import letters
from zslplat.errors import UnknownNameError, UsageError
from zslplat.evaluation.criteria import choices_of
from zslplat.evaluation.experiment import TEST
from zslplat.evidence.draws import same_rows, shared_draws
from zslplat.evidence.labels import quoted_in_list
from zslplat.evidence.matching import BASELINE, index_of
from zslplat.evidence.results import Result, ResultGroup
from zslplat.evidence.scores import Scored
from zslplat.keys import EXPERIMENT_CHOICES
from zslplat.kinds import CLASS_BALANCE, TRANSDUCTIVE, UNSEEN_SIGNATURES, kind_of
from zslplat.records.costs import full_seconds, mean_known, most_bytes
from zslplat.records.database import Records
from zslplat.records.overview import Overview
from zslplat.records.studies import RECALLED_FROM
from zslplat.spec import Spec
from zslplat.statistics import AHEAD, BEHIND, LEAST_CLASSES, LEVEL, MARGIN, NOT_ENOUGH, Estimate
from zslplat.tasks.base import Metric, Task

OTHER_ROWS, OTHER_DATA = NO_PAIR = ("other rows", "other data")
# How an entry's rows were scored, in the order in which a leaderboard shows them.
INDUCTIVE, JOINT, UNSAID = GROUPS = ("inductive", "transductive", "not recorded")
# How many of a group get letters; of 40 whose differences follow no order they take a tenth of a second, of 70 seven.
MOST_TIED = 40
# What an evaluation costs, as the tracking calls it: better when smaller, while other metrics are better when larger.
COSTS = frozenset({"seconds", "cpu_seconds", "peak_memory_bytes"})
# What methods report of themselves that is better when smaller.
_LESS = frozenset({"incoherence"})
OTHER_TEST_ROWS = "other test rows"
NOT_TUNED = "not tuned"
# By which metrics a generalised result may have been selected: what each would have chosen stands beside it.
REPORTED = ("AUSUC", "calibrated_H", "U_to_U")
LABELS_EXPORTED = "labels of the test rows were at hand"
LABELS_EXPORTED_CODE = "ZSP215"
# Prefixes of the owners of evaluations whose hyperparameters were not chosen on validation.
_NOT_VALIDATED = ("run:", "sweep:")


def leaderboard(
    scored: Sequence[Scored],
    metric: str,
    primary: Metric,
    baseline_name: str | None = None,
    preferred: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return a row per method, by group, best test score first: validation, test, spread, interval, difference.

    ``group`` is ``inductive``, ``transductive``, or ``not recorded`` in older records. ``baseline_name``: the
    method, label, study or run from which all differences are taken; by default each group has a ``baseline`` of its
    own, one of the ``preferred`` studies, else the one with the best validation value of the primary metric (the first
    of ``scored`` where none has one): to compare with the winner on test would favour the luckiest. Values are None
    where there is none; an entry that scored other rows than its baseline has a difference without an interval, and
    the verdict ``other rows``, or of other data ``other data``.

    Over these test rows: ``low``, ``high``, ``difference_low``, ``difference_high``, ``verdict_rows``. Over new
    classes: the same names with ``_classes``; ``classes``, how many there are; ``p_value`` of the difference and
    ``p_holm``, the same with Holm's correction over all rivals of one baseline; ``verdict``; ``smallest_difference``,
    the smallest that is seen with a power of 80 % among so many rivals; ``tied``, the letters of the entry within its
    group: two entries that share one do not differ significantly (Holm's correction over all pairs of the group: more
    comparisons than a verdict has. What is ``behind`` may share a letter with its baseline; what is neither ahead nor
    behind always does.) ``classes_to_decide``: where there is not enough data, about how many classes would do.

    Raises :class:`UnknownNameError` for an unknown metric or baseline, :class:`UsageError` for a metric that some of
    the entries lack, and for a name of a baseline that fits several entries.
    """
    _check_metric(scored, metric)
    sign = 1.0 if primary.maximise else -1.0
    direction = 1.0 if larger_is_better(metric, [primary]) else -1.0
    common = None if baseline_name is None else scored[index_of(baseline_name, scored, BASELINE)]
    groups: list[tuple[list[Scored], list[dict[str, Any]], Scored]] = []
    gaps: list[Estimate | None] = []
    for group in GROUPS:
        entries = [entry for entry in scored if group_of(entry.knows) == group]
        if not entries:
            continue
        baseline = common or next((entry for entry in entries if entry.study in preferred), None)
        baseline = baseline or _best_validated(entries, primary.name, sign)
        ordered = sorted(entries, key=lambda e: _sort_key(-direction * float(np.mean(e.values[metric]))))
        shared = {"group": group, "baseline": baseline.label}
        of_group = [{**_row(e, baseline, metric, direction), **shared} for e in ordered]
        gaps += [None if e is baseline else class_difference(e, baseline, metric) for e in ordered]
        groups.append((ordered, of_group, baseline))
    rows = [row for _, of_group, _ in groups for row in of_group]
    _judge(rows, gaps, direction)
    for ordered, of_group, baseline in groups:
        distinct = [
            entry is baseline or row["verdict"] in (AHEAD, BEHIND) for entry, row in zip(ordered, of_group, strict=True)
        ]
        for row, label in zip(of_group, _tied(ordered, baseline, distinct, metric), strict=True):
            row["tied"] = label
    return rows


def _check_metric(scored: Sequence[Scored], metric: str) -> None:
    """Raise an error where some of the entries lack a metric."""
    shared = set.intersection(*(set(entry.values) for entry in scored))
    if metric in shared:
        return
    lacking = [entry.label for entry in scored if metric not in entry.values]
    if len(lacking) < len(scored):
        raise UsageError(
            f"metric {metric!r} is not recorded of {', '.join(lacking)}; it is of "
            f"{', '.join(entry.label for entry in scored if metric in entry.values)}: name these alone, or give a "
            f"metric that all have: {', '.join(sorted(shared))}"
        )
    raise UnknownNameError("metric", metric, shared)


def larger_is_better(metric: str, primaries: Iterable[Metric | None]) -> bool:
    """Tell whether larger values of a metric are better; the ``primaries`` of records say it of themselves."""
    maximise = (primary.maximise for primary in primaries if primary is not None and primary.name == metric)
    return next(maximise, metric not in COSTS | _LESS)


def group_of(knows: str | None) -> str:
    """Return the group of an entry by what its method knows of the batch, in words."""
    if knows is None:
        return UNSAID
    return JOINT if TRANSDUCTIVE in knows.split(", ") else INDUCTIVE


def _row(entry: Scored, baseline: Scored, metric: str, direction: float) -> dict[str, Any]:
    score, anew = interval(entry, metric), over_classes(entry, metric)
    gap = None if entry is baseline else difference(entry, baseline, metric)
    values = entry.values[metric]
    low_anew, high_anew = score_ends(anew, metric)
    return {
        "method": entry.label,
        "study": entry.study,
        "knows": entry.knows,
        "from_memory": entry.from_memory,
        "code": entry.code,
        "validation": entry.validation.get(metric),
        "test": score.estimate,
        "spread": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "low": known_value(score.low),
        "high": known_value(score.high),
        "low_classes": known_value(low_anew),
        "high_classes": known_value(high_anew),
        "classes": anew.classes if anew else None,
        "difference": gap.estimate if gap else None,
        "difference_low": known_value(gap.low) if gap else None,
        "difference_high": known_value(gap.high) if gap else None,
        "difference_low_classes": None,
        "difference_high_classes": None,
        "p_value": None,
        "p_holm": None,
        "smallest_difference": None,
        "classes_to_decide": None,
        "verdict": "",
        "verdict_rows": _unlike(entry, baseline) or turned(gap.verdict(metric) if gap else "", direction),
    }


def _unlike(entry: Scored, baseline: Scored) -> str:
    """Return what makes two no pair, in words; empty where they are one."""
    if same_rows(*shared_draws(entry, baseline)):
        return ""
    return OTHER_DATA if entry.data != baseline.data else OTHER_ROWS


def _judge(rows: list[dict[str, Any]], gaps: Sequence[Estimate | None], direction: float) -> None:
    """Set the verdicts of rows over new classes, and what belongs to these; ``gaps`` are their differences.

    The rivals of one baseline are corrected together, whatever groups they stand in.
    """
    for baseline in dict.fromkeys(row["baseline"] for row in rows):
        rivals = [place for place, row in enumerate(rows) if row["baseline"] == baseline]
        moderated, values, adjusted = family_p_values([gaps[place] for place in rivals])
        comparisons = count_comparisons(values)
        for place, gap, p, p_holm in zip(rivals, moderated, values.tolist(), adjusted.tolist(), strict=True):
            row = rows[place]
            row["p_value"], row["p_holm"] = known_value(p), known_value(p_holm)
            row["smallest_difference"] = known_value(gap.smallest_difference(comparisons)) if gap else None
            low, high = gap.ends if gap else (np.nan, np.nan)
            row["difference_low_classes"], row["difference_high_classes"] = known_value(low), known_value(high)
            verdict = class_verdict(gap, p_holm)
            if gap and verdict == NOT_ENOUGH:
                row["classes_to_decide"] = gap.classes_to_decide(MARGIN if gap.bounds else 0.0, comparisons)
            row["verdict"] = row["verdict_rows"] if row["verdict_rows"] in NO_PAIR else turned(verdict, direction)


def _tied(entries: Sequence[Scored], baseline: Scored, distinct: Sequence[bool], metric: str) -> list[str | None]:
    """Return the letters of the entries (n,), best first; None for those that cannot be compared over classes.

    Whatever the pairs say, entries whose verdict does not separate them from the baseline (``distinct`` (n,)) are tied:
    a verdict may rest on more rivals than the group has.
    Those that scored other rows than the best entry with values per class are not compared with it. Of many entries
    the best :data:`MOST_TIED` have letters: pairs grow with the square of the entries, and letters much faster.
    """
    able = [i for i, entry in enumerate(entries) if metric in entry.classes]
    able = [i for i in able if same_rows(*shared_draws(entries[i], entries[able[0]]))][:MOST_TIED]
    pairs = [(a, b) for a in range(len(able)) for b in range(a + 1, len(able))]
    gaps = [class_difference(entries[able[a]], entries[able[b]], metric) for a, b in pairs]
    _, _, adjusted = family_p_values(gaps)
    different = np.zeros((len(able), len(able)), dtype=bool)
    for (a, b), gap, p in zip(pairs, gaps, adjusted.tolist(), strict=True):
        enough = gap is not None and gap.classes >= LEAST_CLASSES
        with_baseline = any(entries[able[i]] is baseline for i in (a, b))
        agreed = not with_baseline or (distinct[able[a]] and distinct[able[b]])
        different[a, b] = different[b, a] = enough and p <= 1 - LEVEL and agreed
    labels: list[str | None] = [None] * len(entries)
    for i, label in zip(able, letters(different), strict=True):
        labels[i] = label
    return labels


def _best_validated(entries: Sequence[Scored], primary: str, sign: float) -> Scored:
    validated = [entry for entry in entries if primary in entry.validation]
    return max(validated or entries, key=lambda entry: sign * entry.validation.get(primary, 0.0))


def turned(verdict: str, direction: float) -> str:
    """Return a verdict as it reads for a metric that is better when larger (``direction`` 1), or smaller (-1)."""
    return verdict if direction > 0 else {AHEAD: BEHIND, BEHIND: AHEAD}.get(verdict, verdict)


def _sort_key(value: float) -> tuple[bool, float]:
    """Return what entries are sorted by, smallest first: those without a value come last."""
    return (True, 0.0) if np.isnan(value) else (False, value)


def row_details(group: ResultGroup, knows: str | None, seconds: float | None) -> dict[str, Any]:
    """Return what a row says beside its scores; None is what was not recorded or does not apply.

    ``tested`` is the method as it was evaluated, ``trials`` those of the search that chose its parameters, in a suite
    that of another task, ``selected_by`` the metrics that chose among them, ``trial_seconds`` what its own took,
    ``epochs`` what validation chose for a method of steps, ``test_seconds`` and ``peak_memory_bytes`` what a final
    evaluation took, a mean over ``repeats``, with its preparation, cached or not; ``draws`` of classes that the scores
    are of, None where they are of one split; ``labels_exported`` whether scores
    made elsewhere are of a split whose test labels were exported, too; ``data`` and ``test_rows`` are the fingerprints
    of data set and scored rows, ``labels`` that of what these were given; ``others`` are the other studies and runs
    of the same experiment, ``folded`` how many these are; a name with a comma stands in quotes, as values of tags
    do (:attr:`zslplat.comparison.compare.Comparison.hidden_results` has the names themselves).
    """
    result = group.shown
    records = [evaluation.record for evaluation in result.tested]
    steps = result.experiment.get(EXPERIMENT_CHOICES, {}).get("best_step")
    knowledge = None if knows is None else set(knows.split(", "))
    return {
        "kind": "study" if result.is_study else "run",
        "tested": str(result.experiment["method"]),
        "trials": result.search_trials,
        "selected_by": result.selected_by,
        "trial_seconds": seconds,
        "epochs": None if steps is None else float(steps),
        "draws": len(result.draws) or None,
        "repeats": len(records) // max(1, len(result.draws)),
        "test_seconds": mean_known(map(full_seconds, records)),
        "peak_memory_bytes": mean_known(map(most_bytes, records)),
        "transductive": None if knowledge is None else TRANSDUCTIVE in knowledge,
        "class_balance": None if knowledge is None else CLASS_BALANCE in knowledge,
        "unseen_signatures": None if knowledge is None else UNSEEN_SIGNATURES in knowledge,
        "labels_exported": any(record.get("outside", {}).get("labels_exported") for record in records),
        "features": result.identity.get("features"),
        "signatures": result.identity.get("signatures"),
        "seed": result.identity.get("seed"),
        "mlflow_experiment": result.about.get("mlflow_experiment"),
        "suite": ", ".join(result.suites) or None,
        "tags": ", ".join(f"{name}={quoted_in_list(value)}" for name, value in result.tags.items()) or None,
        "data": result.data,
        "test_rows": result.rows,
        "labels": result.labels,
        "created": result.created,
        "runs": ", ".join(str(record["run"]) for record in records),
        "folded": len(group.others),
        "others": ", ".join(quoted_in_list(other.name) for other in group.others),
    }


def data_notes(results: Sequence[Result], dataset: str, task: Task, against: str | None) -> list[str]:
    """Return what the encoder of a data set has seen, and its control where that is not the usual one of the kind."""
    seen_before = (line for one in results for line in one.about.get("data", {}).get("exposures", ()))
    notes = [f"{dataset}: {line}" for line in dict.fromkeys(seen_before)]
    controls = {str(one.about.get("control", "")) for one in results} - {"", kind_of(task.kind).control}
    for control in sorted(controls) if against is None else ():
        command = shlex.join(["zslplat", "tune", "-m", control, "-d", dataset, "-t", results[0].task])
        here = any(Spec.parse(str(one.identity["method"])).name == control for one in results)
        mend = f"--against {control}" + ("" if here else f", once it is recorded ({command})")
        notes.append(f"{dataset}: differences from the control, {control}: {mend}")
    return notes


def choices_notes(results: Mapping[str, Result], overview: Overview, task: Task) -> list[str]:
    """Say which trial of a study each of :data:`REPORTED` would have chosen, where that is not one trial.

    ``results`` are those of one data set by their short names; nothing for a task that lacks one of these metrics.
    """
    notes = []
    for short, result in results.items() if set(REPORTED) <= set(task.criteria()) else ():
        if result.primary is None or not result.is_study or result.draws:
            continue
        trials = [record for _, record in overview.finished(result.name)]
        choices = choices_of(trials, task, result.primary.name, [one.record for one in result.tested])
        choices = [choice for choice in choices if choice["metric"] in REPORTED]
        words = [
            f"{c['metric']} {c['value']:.4f} of trial {c['trial']}"
            + (", not tested" if c["test"] is None else f", test {c['test']:.4f}")
            for c in choices
        ]
        if len({choice["trial"] for choice in choices}) > 1:
            what = "what each metric would have chosen on validation"
            notes.append(f"{result.dataset}: {short}: {what}: {'; '.join(words)} (tune --metric)")
    return notes


def unequal(rows: Sequence[dict[str, Any]], newest: str, tunable: Sequence[bool]) -> list[str]:
    """Return in words, for each row of one data set, what makes it less than a fair match for the others.

    ``newest``: the fingerprint of the data that the others are measured by; of its test rows, those that most have
    scored are the usual ones. ``tunable``: which rows have hyperparameters; where there are none, one trial is as
    good as many. Empty where there is nothing to say.
    """
    several_metrics = len({row.get("selected_by") for row in rows} - {None}) > 1
    most = max((row["trials"] or 0 for row in rows), default=0)
    most_draws = max((row["draws"] or 0 for row in rows), default=0)
    tested = [row["test_rows"] for row in rows if row["data"] == newest and row["test_rows"] is not None]
    usual = max(dict.fromkeys(tested), key=tested.count, default=None)
    texts = []
    for row, has_hyperparameters in zip(rows, tunable, strict=True):
        # Draws of classes are data of their own: methods are compared on those that they share.
        words = [OTHER_DATA] if row["draws"] is None and row["data"] != newest else []
        other_rows = row["draws"] is None and row["test_rows"] not in (None, usual)
        words += [OTHER_TEST_ROWS] if not words and other_rows else []
        words += [f"{row['draws']} draws, not {most_draws}"] if row["draws"] not in (None, most_draws) else []
        if most and row["trials"] is None:
            words.append(NOT_TUNED)
        elif row["trials"] is not None and row["trials"] < most and has_hyperparameters:
            words.append(f"{row['trials']} trials, not {most}")
        words += [f"selected by {row['selected_by']}"] if several_metrics and row.get("selected_by") else []
        words += [LABELS_EXPORTED] if row["labels_exported"] else []
        words += [row["code"]] if row["code"] else []
        texts.append("; ".join(words))
    return texts


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
    return Finding(LABELS_EXPORTED_CODE, text, subject, f"zslplat explain {LABELS_EXPORTED_CODE}")


def row_facts(row: Mapping[str, Any], names: Mapping[str, str] | None = None) -> RowFacts:
    """Return the facts of a row of a comparison; ``names`` are what its methods are called, by label."""
    labels, baseline = names or {}, row.get("baseline") or ""
    return RowFacts(
        label=labels.get(row["method"], row["method"]),
        trials=row.get("trials"),
        rows=None if row.get("draws") else row.get("test_rows"),
        labels=row.get("labels") or "",
        data="" if row.get("draws") else row.get("data") or "",
        code=row.get("code") or "",
        seconds=row.get("test_seconds"),
        verdict=row.get("verdict") or "",
        knows=row.get("knows"),
        from_memory=bool(row.get("from_memory")),
        baseline=labels.get(baseline, baseline),
    )


def unchosen_looks(records: Records, fingerprint: str, task: str) -> int:
    """Return how often a task scored the test split of these data with hyperparameters that no study had chosen.

    Those are of single runs and of the points of sweeps, each counted once for every seed, however often it was
    repeated; what was copied from another record scored nothing.
    """
    looks = set()
    for _, _, content in records.evaluations_on(fingerprint, _NOT_VALIDATED):
        experiment = content.get("experiment", {})
        tested = experiment.get("split") == TEST and experiment.get("task") == task and RECALLED_FROM not in content
        if tested:
            looks.add(tuple(str(experiment.get(name)) for name in ("method", "features", "signatures", "seed")))
    return len(looks)
