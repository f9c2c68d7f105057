"""The functions of ``import zslplat``: what they take, and what they raise.

Nothing heavy is imported here: what a function does is loaded when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from zslplat.errors import UsageError, quoted
from zslplat.front.options import (
    DEFAULT_DATASET,
    DEFAULT_TASK,
    RunCommand,
    RunOptions,
    SweepCommand,
    SweepOptions,
    TuneCommand,
    TuneOptions,
)
from zslplat.front.schema import complete_options, takes_arrays, with_options
from zslplat.front.table_options import BenchCommand, BenchOptions, CompareOptions

if TYPE_CHECKING:
    import pandas as pd

    from zslplat.front.benches import Grid
    from zslplat.front.class_folds import FoldedStudies
    from zslplat.front.comparisons import Comparisons
    from zslplat.front.datasets import DatasetLike
    from zslplat.front.evaluations import Evaluation
    from zslplat.front.requests import MethodLike
    from zslplat.front.studies import Study, StudyPlan
    from zslplat.front.sweeps import Sweep
    from zslplat.suites.suite import Suite


@overload
def tune(
    method: MethodLike | None = ...,
    dataset: DatasetLike = ...,
    task: str = ...,
    *,
    dry_run: Literal[True],
    **options: Unpack[TuneOptions],
) -> StudyPlan: ...


@overload
def tune(
    method: MethodLike | None = ...,
    dataset: DatasetLike = ...,
    task: str = ...,
    *,
    class_folds: int,
    **options: Unpack[TuneOptions],
) -> FoldedStudies: ...


@overload
def tune(
    method: MethodLike | None = ...,
    dataset: DatasetLike = ...,
    task: str = ...,
    *,
    dry_run: Literal[False] = ...,
    **options: Unpack[TuneOptions],
) -> Study: ...


@overload
def tune(
    X: Any,
    y: Any,
    S: Any = ...,
    /,
    *,
    method: MethodLike,
    unseen: Any = ...,
    split: Any = ...,
    name: str = ...,
    class_names: Sequence[str] = ...,
    task: str = ...,
    **options: Unpack[TuneOptions],
) -> Study: ...


@takes_arrays
@with_options(TuneOptions)
def tune(
    method: MethodLike | None = None,
    dataset: DatasetLike = DEFAULT_DATASET,
    task: str = DEFAULT_TASK,
    *,
    class_folds: int | None = None,
    dry_run: bool = False,
    **options: Unpack[TuneOptions],
) -> Study | StudyPlan | FoldedStudies:
    """Search hyperparameters on validation folds, then refit the best and score the test split, as ``zslplat tune``.

    The arguments are the options of the command, with its defaults; the same request continues a study that the command
    began, and the reverse. ``method`` is a spec, an estimator or its class; ``dataset`` a spec, a data set of
    :func:`~zslplat.load_dataset` or :func:`~zslplat.make_dataset`, or a dictionary of
    what the latter takes. Arrays or frames may come first, ``tune(X, y, S, unseen=[...], method="eszsl")``, with what
    else :func:`~zslplat.make_dataset` takes. ``set`` fixes hyperparameters, ``space`` gives ranges: ``(low, high)``,
    ``(low, high, "log")``, a list of values or a text such as ``"1e-3..1e3:log"``. ``config`` is a study file, as
    ``zslplat tune --write-config`` writes one: it holds for every argument that is left at its default. ``dry_run``
    times one fold, records nothing, and says what would be done and about how long it takes. With ``class_folds``
    there is a study for every fold, and one score over all classes.

    Raises :class:`~zslplat.errors.UsageError` for a request that makes no sense, :class:`~zslplat.errors.DataError` and
    :class:`~zslplat.errors.StoreError` where data or store cannot be used, and
    :class:`~zslplat.evaluation.reporter.Interrupted` on Ctrl-C: finished trials are kept, and the same call continues.

    >>> study = tune("eszsl", trials=4, workers=1, quiet=True)
    >>> sorted(study.best_params), study.to_frame().shape
    (['alpha', 'gamma'], (4, 6))
    """
    from zslplat.front.studies import carry_out_study

    values = {**options, "class_folds": class_folds, "dry_run": dry_run}
    values |= {} if method is None else {"method": method}
    values |= {} if dataset is DEFAULT_DATASET else {"dataset": dataset}
    values |= {} if task is DEFAULT_TASK else {"task": task}
    request = complete_options(TuneCommand, values, "tune")
    if request["class_folds"] is not None and not request["dry_run"]:
        from zslplat.front.class_folds import carry_out_folds

        return carry_out_folds(request)
    return carry_out_study(request)


@overload
def evaluate(
    method: MethodLike | None = ...,
    dataset: DatasetLike | None = ...,
    task: str | None = ...,
    **options: Unpack[RunOptions],
) -> Evaluation: ...


@overload
def evaluate(
    X: Any,
    y: Any,
    S: Any = ...,
    /,
    *,
    method: MethodLike,
    unseen: Any = ...,
    split: Any = ...,
    name: str = ...,
    class_names: Sequence[str] = ...,
    task: str = ...,
    **options: Unpack[RunOptions],
) -> Evaluation: ...


@takes_arrays
@with_options(RunOptions)
def evaluate(
    method: MethodLike | None = None,
    dataset: DatasetLike | None = None,
    task: str | None = None,
    **options: Unpack[RunOptions],
) -> Evaluation:
    """Evaluate one experiment on the validation folds, or with ``test=True`` on the test split, as ``zslplat run``.

    The arguments are the options of the command, with its defaults: ``method`` and ``dataset``, or arrays, as
    :func:`~zslplat.tune` takes them, or ``config``, a ``best.toml`` or ``run.toml`` that holds them.
    Every look at the test split is counted. Raises like ``tune``.

    >>> result = evaluate("eszsl(alpha=.01, gamma=.01)", workers=1, quiet=True)
    >>> result.split, result.to_frame().shape[0]
    ('validation', 3)
    """
    from zslplat.front.evaluations import carry_out_run

    values = {"method": method, "dataset": dataset, "task": task, **options}
    return carry_out_run(complete_options(RunCommand, values, "evaluate"))


@with_options(SweepOptions)
def sweep(
    method: MethodLike | Sequence[MethodLike],
    param: str,
    range: Any = None,
    dataset: DatasetLike = DEFAULT_DATASET,
    task: str = DEFAULT_TASK,
    **options: Unpack[SweepOptions],
) -> Sweep:
    """Vary one hyperparameter, or one option of the task, the others fixed, as ``zslplat sweep``.

    The arguments are the options of the command, with its defaults. ``range`` is ``(low, high)``,
    ``(low, high, "log")``, a list of values or a text; by default the range that tuning searches. Several methods may
    be given where an option of the task varies. ``test=True`` scores the test split at every point, too, for analysis:
    nothing ever selects by it, and each point counts as a look at it. Raises like :func:`~zslplat.tune`.

    >>> curve = sweep("eszsl(gamma=.01)", "alpha", (1e-3, 10, "log"), points=3, workers=1, quiet=True)
    >>> curve.to_frame().columns.tolist(), [f"{value:g}" for value in curve.result.values]
    (['alpha', 'validation'], ['0.001', '0.1', '10'])
    """
    from zslplat.front.sweeps import carry_out_sweep

    values = {"method": method, "param": param, "range": range, "dataset": dataset, "task": task, **options}
    return carry_out_sweep(complete_options(SweepCommand, values, "sweep"))


@with_options(CompareOptions)
def compare(*names: str | Study | Sequence[str | Study], **options: Unpack[CompareOptions]) -> Comparisons:
    """Compare recorded test scores, with intervals of their differences, as ``zslplat compare``.

    The arguments are the options of the command, with its defaults; those that may be repeated take a text or several.
    ``names`` are studies, methods, specs or runs, or results of :func:`~zslplat.tune`, whose data set,
    task and store are the ones that are meant where nothing else is said. ``all=True`` shows a row per study and run.

    Nothing is computed: what is compared was evaluated before. Raises :class:`~zslplat.errors.StoreError` where nothing
    is recorded and :class:`~zslplat.errors.UnknownNameError` for a name that fits nothing.

    >>> ridge, bilinear = (tune(name, trials=1, workers=1, quiet=True) for name in ("ridge-prototypes", "eszsl"))
    >>> compare(ridge, bilinear).to_frame()["method"].sort_values().tolist()
    ['eszsl', 'ridge-prototypes']
    """
    from zslplat.front.comparisons import compare_results

    return compare_results(names, options)


@with_options(BenchOptions)
def bench(suite: str | Path | Mapping[str, Any] | Suite, **options: Unpack[BenchOptions]) -> Grid:
    """Carry out a suite, methods x data sets x tasks with equal budgets, as ``zslplat bench``.

    The arguments are the options of the command, with its defaults. ``suite`` is a name, the path of a TOML file, or
    the content of one as a dictionary, whose ``name`` it goes by. The same call goes on where it was stopped. A cell
    that fails leaves the others alone: see ``failed`` of the result.

    Raises :class:`~zslplat.errors.UsageError` for what is wrong in the suite, and like :func:`~zslplat.tune`.

    >>> content = {"name": "two", "tasks": ["zsl"], "trials": 1,
    ...            "data": [{"name": "digits", "dataset": "digit-pairs"}],
    ...            "row": [{"name": "linear", "method": "eszsl"}, {"name": "ridge", "method": "ridge-prototypes"}]}
    >>> grid = bench(content, workers=1, quiet=True)
    >>> grid.to_frame()[["row", "status"]].values.tolist(), grid.failed
    ([['linear', 'done'], ['ridge', 'done']], [])
    """
    from zslplat.front.benches import carry_out_suite

    return carry_out_suite(complete_options(BenchCommand, {"suite": suite, **options}, "bench"))


def load_model(model: str | Path | Study | Evaluation, *, store: str | Path | None = None) -> Any:
    """Return the fitted model of a study, of a run, or of a folder: an export, an MLflow model, or one of a store.

    ``model``: what :func:`~zslplat.tune` or ``evaluate(test=True)`` gave, a RUN as commands print it, or a path.
    ``store``: folder of the store, by default that of the study, or the one that commands use. The result has
    ``predict(X)``, ``decision_function(X)``, ``classes`` and ``describe()``; zero-shot ones take the ``signatures`` of
    new classes and ``generalised`` (:class:`zslplat.families.zero_shot.model.ZeroShotModel`).

    Raises :class:`~zslplat.errors.UsageError` for what is none of these and for an unknown run, and
    :class:`~zslplat.errors.StoreError` for a run without a model, and a model that is damaged, changed by hand, or of
    a newer version.

    >>> study = tune("eszsl", trials=1, workers=1, quiet=True)
    >>> model = load_model(study)
    >>> len(model.classes), model.describe()["task"]
    (20, 'zsl')
    """
    from zslplat.serving.runs import load_model as load_run_or_folder

    if isinstance(model, str | Path):
        return load_run_or_folder(model, store=store)
    run = getattr(model, "run", None)
    if not run:
        raise UsageError(
            f"model={quoted(model, 80)}: expected a RUN or a folder, as a text, or what tune or evaluate(test=True) "
            "gave"
        )
    settings = model.settings if store is None else None
    return load_run_or_folder(run, store=store, settings=settings)


def datasets(*, data_root: str | Path | None = None) -> pd.DataFrame:
    """Return a row per data set by name, as ``zslplat data list``: kind, path, size, summary; formats come last.

    ``data_root``: folder of data sets, by default the one that commands use.

    >>> datasets().loc["digit-pairs", "kind"]
    'registered'
    """
    import pandas as pd

    from zslplat.data.catalogue import available
    from zslplat.evaluation.components import places_of, registered_sources
    from zslplat.settings import resolve_settings

    entries = available(places_of(resolve_settings({"data_root": data_root})), registered_sources())
    entries.sort(key=lambda entry: entry.kind == "format")
    return pd.DataFrame([vars(entry) for entry in entries]).set_index("name")
