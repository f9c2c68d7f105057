"""Saved views of an experiment: which runs, columns, order and charts MLflow's pages open with.

MLflow keeps them as tags of the experiment, in a form that it does not document and that was found out by trying
(MLflow 3.17): where another version makes nothing of it, its pages open with their own columns and charts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from zslplat.tracking.run_view import FINAL_STAGE, STUDY_STAGE, SWEEP_STAGE, TRIAL_STAGE, parameter_name, work_name

RESULTS, STUDIES, TRIALS, SWEEPS = "results", "studies", "trials", "sweeps"
TAG = "mlflow.sharedViewState."
# What the tag of an experiment may hold: MLflow takes 20000 characters.
_MOST_CHARACTERS = 19_000
_SIZES = ((40, 20), (20, 10), (8, 4), (0, 0))  # columns of hyperparameters, methods with charts
# As the table calls the columns that it always has: the boxes to tick, names, when a run began, how long it took.
_ALWAYS = {"0": 73, "attributes.`Run Name`": 200}
_LAST = {"runDateAndNestInfo": 120, "duration": 90}
_WORK = work_name("")
_METRIC_WIDTH, _OTHER_WIDTH = 120, 100

Facts = Mapping[str, Any]


def merged(known: Facts, new: Facts) -> dict[str, Any]:
    """Return what an experiment holds, of what is known of it and what is new; the order of these does not matter.

    ``primaries``: {metric: whether larger is better}, ``methods``: {method: searched hyperparameters}, ``data``: {name:
    in words}, ``pairs``: [[data set, task]], ``stages`` and ``series`` (of sweeps): what there is of these, ``suite``:
    whose it is, ``began`` and ``ended``: seconds since 1970.
    """
    methods = {
        name: sorted({*known.get("methods", {}).get(name, ()), *new["methods"].get(name, ())})
        for name in sorted({*known.get("methods", {}), *new["methods"]})
    }
    return {
        "primaries": dict(sorted({**known.get("primaries", {}), **new["primaries"]}.items())),
        "methods": methods,
        "data": dict(sorted({**known.get("data", {}), **new["data"]}.items())),
        "pairs": sorted({*map(tuple, known.get("pairs", ())), *map(tuple, new["pairs"])}),
        "tasks": sorted({*known.get("tasks", ()), *new["tasks"]}),
        "stages": sorted({*known.get("stages", ()), *new["stages"]}),
        "series": sorted({*known.get("series", ()), *new["series"]}),
        "suite": new["suite"],
        "began": min(known.get("began", new["began"]), new["began"]),
        "ended": max(known.get("ended", 0.0), new["ended"]),
    }


def saved_views(facts: Facts) -> dict[str, str]:
    """Return the experiment's tags that hold its saved views; ``facts`` as :func:`merged` returns them."""
    views: dict[str, str] = {}
    makers = {
        (RESULTS, FINAL_STAGE): _results,
        (STUDIES, STUDY_STAGE): _studies,
        (TRIALS, TRIAL_STAGE): _trials,
        (SWEEPS, SWEEP_STAGE): _sweeps,
    }
    for (name, stage), make in makers.items():
        if stage in facts["stages"]:
            fitting = (_envelope(name, facts, make(facts, *size)) for size in _SIZES)
            views |= next(({TAG + name: text} for text in fitting if len(text) <= _MOST_CHARACTERS), {})
    return views


def _results(facts: Facts, columns: int, methods: int) -> dict[str, Any]:
    """Final evaluations, best first: which method, what it reached, what was chosen."""
    charts = []
    for metric in facts["primaries"]:
        val, test = f"val_{metric}", f"test_{metric}"
        charts += [
            _card("BAR", f"bar {metric}", metricKey=test),
            _card("SCATTER", f"scatter {metric}", xaxis=_metric_axis(val), yaxis=_metric_axis(test)),
            _card("PARALLEL", f"parallel {metric}", selectedParams=["method"], selectedMetrics=[val, test]),
        ]
    several = [name for name, key in (("dataset", "data"), ("task", "tasks")) if len(facts[key]) > 1]
    shown = ["method", *several, "chosen"]
    return _state(facts, FINAL_STAGE, "test_", _parameters(shown), {"Results": charts}, widths={"params.`chosen`": 300})


def _studies(facts: Facts, columns: int, methods: int) -> dict[str, Any]:
    """Searches: what was reached, in how many trials, what was chosen."""
    charts = [_card("BAR", f"bar {metric}", metricKey=f"test_{metric}") for metric in facts["primaries"]]
    shown = ["tags.`chosen`", *_parameters(["method", "study"])]
    widths = {"tags.`chosen`": 260, "params.`study`": 200}
    return _state(facts, STUDY_STAGE, "test_", shown, {"Studies": charts}, widths=widths)


def _trials(facts: Facts, columns: int, methods: int) -> dict[str, Any]:
    """What was tried on the validation folds: the course of each search, and what its hyperparameters did."""
    sections = {
        "Searches": [
            _card("SCATTER", f"course {m}", xaxis={"type": "PARAM", "key": "trial"}, yaxis=_metric_axis(f"val_{m}"))
            for m in facts["primaries"]
        ]
    }
    every = [parameter_name(method, name) for method, names in facts["methods"].items() for name in names]
    metrics = [f"val_{metric}" for metric in facts["primaries"]]
    for method, names in list(facts["methods"].items())[:methods]:
        own = [parameter_name(method, name) for name in names]
        cards = [
            _card("PARALLEL", f"{method} {metric}", selectedParams=own, selectedMetrics=[metric]) for metric in metrics
        ]
        if own:
            sections[method] = cards
    return _state(facts, TRIAL_STAGE, "val_", _parameters(["method", *every[:columns]]), sections, took=("seconds",))


def _sweeps(facts: Facts, columns: int, methods: int) -> dict[str, Any]:
    """Curves over one hyperparameter, or one option of the task."""
    charts, plain = [], {"lineSmoothness": 0, "useGlobalLineSmoothing": False}
    if facts["series"]:
        charts = [
            _card("LINE", "curves", metricKey=facts["series"][0], selectedMetricKeys=list(facts["series"]), **plain)
        ]
    return _state(facts, SWEEP_STAGE, "", _parameters(["method", "swept"]), {"Curves": charts}, took=())


def _state(
    facts: Facts,
    stage: str,
    prefix: str,
    columns: Sequence[str],
    sections: Mapping[str, Sequence[dict[str, Any]]],
    *,
    took: Sequence[str] = ("trials",),
    widths: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return a view as MLflow's pages keep it: runs of one stage, sorted by their primary metric."""
    first, maximise = next(iter(facts["primaries"].items()))
    splits = {"test_": ("test_", "val_"), "val_": ("val_",), "": ()}[prefix]
    metrics = [f"metrics.`{split}{metric}`" for metric in facts["primaries"] for split in splits]
    metrics += [f"metrics.`{work_name(name)}`" for name in took]
    of_metrics = {name: _OTHER_WIDTH if _WORK in name else _METRIC_WIDTH for name in metrics}
    of_columns = {**dict.fromkeys(columns, _OTHER_WIDTH), **(widths or {})}
    charts, groups = [], []
    for number, (title, cards) in enumerate(sections.items()):
        own = dict(uuid=f"s{number}", name=title, display=True, isReordered=True, deleted=False, isGenerated=False)
        groups.append({**own, "columns": 2 if len(cards) > 1 else 1, "cardHeight": 400})
        charts += [{**card, "metricSectionId": f"s{number}"} for card in cards]
    return {
        "searchFilter": f"tags.stage = '{stage}'",
        "orderByKey": f"metrics.`{prefix}{first}`" if prefix else "attributes.start_time",
        "orderByAsc": bool(prefix) and not maximise,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": [*metrics, *columns],
        "columnOrder": [*_ALWAYS, *metrics, *columns, *_LAST],
        "columnWidths": {**_ALWAYS, **of_metrics, **of_columns, **_LAST},
        "runsExpanded": {},
        "runsPinned": [],
        "runsHidden": [],
        "runsHiddenMode": "SHOWALL",
        "runsVisibilityMap": {},
        "runListHidden": False,
        "viewMaximized": False,
        "isAccordionReordered": True,
        "groupBy": None,
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "autoRefreshEnabled": False,
        "compareRunSections": groups,
        "compareRunCharts": charts,
    }


def _card(kind: str, name: str, **more: Any) -> dict[str, Any]:
    """Return a chart; its name tells it from the others of the view."""
    common = {"type": kind, "uuid": name, "runsCountToCompare": 100, "deleted": False, "isGenerated": False}
    return {**common, **more}


def _metric_axis(metric: str) -> dict[str, str]:
    return {"type": "METRIC", "key": metric}


def _parameters(names: Sequence[str]) -> list[str]:
    return [f"params.`{name}`" for name in names]


def _envelope(name: str, facts: Facts, state: Mapping[str, Any]) -> str:
    """Return a view with its name, by which the menu of views lists it; times are those of the runs that it shows."""
    times = {"createdAt": round(1000 * facts["began"]), "updatedAt": round(1000 * facts["ended"])}
    text = json.dumps(state, separators=(",", ":"))
    return json.dumps({"name": name.capitalize(), **times, "state": text}, separators=(",", ":"))
