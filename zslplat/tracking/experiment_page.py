"""The page of an experiment in MLflow: its description, its saved views, and the link that a browser is to open.

What the runs are is kept in a tag of the experiment and completed with each study, run and sweep that is shown there.
The page is an extra: where it cannot be made the runs are shown all the same. Saved views say with which runs, columns,
order and charts MLflow's pages open; MLflow keeps them as tags, in a form that it does not document and that was
determined by experiment (MLflow 3.17): where another version makes nothing of it, its pages open with their own columns
and charts. The link is needed since MLflow opens an experiment on an empty page for language models otherwise.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from zslplat.records.locks import file_lock
from zslplat.settings import Settings
from zslplat.tracking.descriptions import data_in_words, experiment_note, in_json
from zslplat.tracking.projection import Projection
from zslplat.tracking.run_view import (
    FINAL_STAGE,
    NOTE,
    OUR_NOTE,
    STUDY_STAGE,
    SWEEP_STAGE,
    TRIAL_STAGE,
    note_mark,
    parameter_name,
    work_name,
)
from zslplat.tracking.views import method_of

FACTS = "zslplat.shown"
_MOST_TAG = 19_000
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
_TRAINING = "workflowType=machine_learning"
_LIST = f"#/experiments?{_TRAINING}"
_VIEWS = (RESULTS, TRIALS, STUDIES, SWEEPS)  # the first that there is
_MOST_EXPERIMENTS = 1000


def page_facts(
    experiment: Mapping[str, Any],
    about: Mapping[str, Any],
    *,
    stages: tuple[str, ...],
    began: float,
    ended: float,
    series: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return what one study, run or sweep adds to the page of its experiment; see :func:`saved_views.merged`."""
    return {
        "primaries": {about["primary"]["name"]: about["primary"]["maximise"]},
        "methods": {method_of(experiment): sorted(experiment.get("space", {}))},
        "data": {about["data"]["name"]: data_in_words(about)},
        "pairs": [(str(experiment["dataset"]), str(experiment["task"]))],
        "tasks": [str(experiment["task"])],
        "stages": list(stages),
        "series": list(series),
        "suite": about.get("part_of", {}).get("suite", ""),
        "began": began,
        "ended": ended,
    }


def arrange(projection: Projection, new: Mapping[str, Any]) -> None:
    """Complete the page of a projection's experiment; a warning where that fails, whatever the reason."""
    if projection.away:
        return
    try:
        # Two commands may be about to complete the same page.
        with file_lock(projection.settings.studies / "mlflow.lock"):
            _write(projection, new)
    except Exception as error:
        text = projection.settings.masked(" ".join(str(error).split()))[:300]
        projection.on_away(
            f"the views of experiment {projection.mlflow_experiment!r} could not be saved in MLflow "
            f"({type(error).__name__}: {text}); its runs are all there"
        )


def _write(projection: Projection, new: Mapping[str, Any]) -> None:
    current = projection.tags_of_experiment()
    facts = merged(_stored_facts(current), new)
    note = experiment_note(facts)[:_MOST_TAG]
    tags = {**saved_views(facts), FACTS: in_json(facts)}
    if NOTE not in current or current.get(OUR_NOTE) == note_mark(current[NOTE]):
        tags |= {NOTE: note, OUR_NOTE: note_mark(note)}
    projection.set_tags_of_experiment({name: value for name, value in tags.items() if current.get(name) != value})


def _stored_facts(tags: Mapping[str, str]) -> dict[str, Any]:
    """Return what an experiment's page was made of; nothing where a user has made the tag unreadable."""
    with suppress(ValueError):
        facts = json.loads(tags.get(FACTS, "{}"))
        if isinstance(facts, dict):
            return facts
    return {}


def merged(former: Facts, new: Facts) -> dict[str, Any]:
    """Return what an experiment holds, of what is known of it and what is new; the order of these does not matter.

    ``primaries``: {metric: whether larger is better}, ``methods``: {method: searched hyperparameters}, ``data``: {name:
    in words}, ``pairs``: [[data set, task]], ``stages`` and ``series`` (of sweeps): what there is of these, ``suite``:
    whose it is, ``began`` and ``ended``: seconds since 1970.
    """
    methods = {
        name: sorted({*former.get("methods", {}).get(name, ()), *new["methods"].get(name, ())})
        for name in sorted({*former.get("methods", {}), *new["methods"]})
    }
    return {
        "primaries": dict(sorted({**former.get("primaries", {}), **new["primaries"]}.items())),
        "methods": methods,
        "data": dict(sorted({**former.get("data", {}), **new["data"]}.items())),
        "pairs": sorted({*map(tuple, former.get("pairs", ())), *map(tuple, new["pairs"])}),
        "tasks": sorted({*former.get("tasks", ()), *new["tasks"]}),
        "stages": sorted({*former.get("stages", ()), *new["stages"]}),
        "series": sorted({*former.get("series", ()), *new["series"]}),
        "suite": new["suite"],
        "began": min(former.get("began", new["began"]), new["began"]),
        "ended": max(former.get("ended", 0.0), new["ended"]),
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
    several = [name for name, key in (("dataset", "data"), ("task", "tasks")) if len(facts[key]) > 1]
    for metric in facts["primaries"]:
        val, test = f"val_{metric}", f"test_{metric}"
        charts += [
            _card("BAR", f"bar {metric}", metricKey=test),
            _card("SCATTER", f"scatter {metric}", xaxis=_metric_axis(val), yaxis=_metric_axis(test)),
            _card("PARALLEL", f"parallel {metric}", selectedParams=["method", *several], selectedMetrics=[val, test]),
        ]
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
        searched = [parameter_name(method, name) for name in names]
        cards = [
            _card("PARALLEL", f"{method} {metric}", selectedParams=searched, selectedMetrics=[metric])
            for metric in metrics
        ]
        if searched:
            sections[method] = cards
    return _state(facts, TRIAL_STAGE, "val_", _parameters(["method", *every[:columns]]), sections, costs=("seconds",))


def _sweeps(facts: Facts, columns: int, methods: int) -> dict[str, Any]:
    """Curves over one hyperparameter, or one option of the task."""
    charts, plain = [], {"lineSmoothness": 0, "useGlobalLineSmoothing": False}
    if facts["series"]:
        charts = [
            _card("LINE", "curves", metricKey=facts["series"][0], selectedMetricKeys=list(facts["series"]), **plain)
        ]
    return _state(facts, SWEEP_STAGE, "", _parameters(["method", "swept"]), {"Curves": charts}, costs=())


def _state(
    facts: Facts,
    stage: str,
    prefix: str,
    columns: Sequence[str],
    sections: Mapping[str, Sequence[dict[str, Any]]],
    *,
    costs: Sequence[str] = ("trials",),
    widths: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return a view as MLflow's pages keep it: runs of one stage, sorted by their primary metric."""
    first, maximise = next(iter(facts["primaries"].items()))
    splits = {"test_": ("test_", "val_"), "val_": ("val_",), "": ()}[prefix]
    metrics = [f"metrics.`{split}{metric}`" for metric in facts["primaries"] for split in splits]
    metrics += [f"metrics.`{work_name(name)}`" for name in costs]
    of_metrics = {name: _OTHER_WIDTH if _WORK in name else _METRIC_WIDTH for name in metrics}
    of_columns = {**dict.fromkeys(columns, _OTHER_WIDTH), **(widths or {})}
    charts, groups = [], []
    for number, (title, cards) in enumerate(sections.items()):
        section = dict(uuid=f"s{number}", name=title, display=True, isReordered=True, deleted=False, isGenerated=False)
        groups.append({**section, "columns": 2 if len(cards) > 1 else 1, "cardHeight": 400})
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


def local_start(settings: Settings) -> str:
    """Return the path of the page to open of a store's own database, which is only read, and without MLflow's help."""
    with closing(sqlite3.connect(settings.store / "mlflow.db", timeout=30)) as connection:
        rows = connection.execute(
            "select e.experiment_id, t.key, t.value from experiments e left join experiment_tags t "
            "on t.experiment_id = e.experiment_id where e.lifecycle_stage = 'active'"
        ).fetchall()
        newest = connection.execute(
            "select experiment_id from runs where lifecycle_stage = 'active' order by start_time desc limit 1"
        ).fetchone()
    tags: dict[str, dict[str, str]] = {}
    for mlflow_experiment, name, value in rows:
        tags.setdefault(str(mlflow_experiment), {})[name] = value
    fallback = str(newest[0]) if newest and str(newest[0]) in tags else ""
    return _newest(tags, fallback)


def server_start(settings: Settings) -> str:
    """Return the path of the page to open on a server: the list of experiments where it does not answer or has no run
    of ours.
    """
    from zslplat.errors import StoreError
    from zslplat.tracking.server import reading

    with suppress(StoreError), reading(settings, "the experiments") as client:
        listed = client.search_experiments(max_results=_MOST_EXPERIMENTS, order_by=["last_update_time DESC"])
        return _newest({str(e.experiment_id): dict(e.tags) for e in listed}, "")
    return _LIST


def _newest(tags: Mapping[str, Mapping[str, str]], otherwise: str) -> str:
    """Return the path of the experiment to which something was added last, by its tags, with its first saved view."""
    ended: dict[str, float] = {}
    for mlflow_experiment, values in tags.items():
        with suppress(ValueError, KeyError, TypeError):
            ended[mlflow_experiment] = float(json.loads(values[FACTS])["ended"])
    mlflow_experiment = max(ended, key=lambda name: (ended[name], name), default=otherwise)
    if not mlflow_experiment:
        return _LIST
    view = next((name for name in _VIEWS if TAG + name in tags[mlflow_experiment]), "")
    return f"#/experiments/{mlflow_experiment}/runs?{_TRAINING}" + (f"&viewStateShareKey={view}" if view else "")
