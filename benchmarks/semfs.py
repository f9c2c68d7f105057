"""SemFS beside its baselines: agreement of clusters with unseen classes, and time and memory at the paper's scale.

    python benchmarks/semfs.py speed
    python benchmarks/semfs.py curves --data FOLDER --sets isolet digit-pairs --splits 3 --out results
    python benchmarks/semfs.py pairs --data FOLDER --out results

``curves`` writes one CSV and one figure per data set: accuracy and NMI against the number of features for all methods,
means over seen/unseen splits. Hyperparameters come from a small grid on class-disjoint validation folds of the seen
classes; the unseen rows are scored once per method and split. ``pairs`` takes every pair of ten classes as the seen
ones, with fixed hyperparameters, since two classes leave none to validate on. ``--rows`` bounds the rows clustered.
FOLDER holds data sets in the xlsa17 layout. Run with OPENBLAS_NUM_THREADS=1 for one core.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat import registry
from zslplat.data.dataset import Dataset
from zslplat.data.source import DataPlaces
from zslplat.experiment import preprocess
from zslplat.selection.mcfs import MCFS
from zslplat.selection.semfs import SemFS
from zslplat.tasks.feature_selection import FeatureSelection

# label: (registered name, fixed parameters, grid searched on the validation folds)
METHODS: dict[str, tuple[str, dict[str, Any], dict[str, list[Any]]]] = {
    "semfs": ("semfs", {}, {"gamma": [1.0, 3.0, 10.0, 30.0]}),
    "semfs default": ("semfs", {}, {}),
    "semfs-c": ("semfs-c", {}, {"gamma": [1.0, 3.0, 10.0, 30.0]}),
    "semfs sum": ("semfs", {"variant": "sum"}, {"gamma": [0.1, 0.3, 1.0, 3.0]}),
    "semfs labels": ("semfs", {"target": "labels"}, {"gamma": [1.0, 3.0, 10.0, 30.0]}),
    "semfs as printed": ("semfs", {"variant": "paper", "gamma": 0.1, "scale": "absolute"}, {}),
    "lasso-attributes": ("lasso-attributes", {}, {"strength": [0.05, 0.1, 0.2, 0.4]}),
    "lasso-labels": ("lasso-labels", {}, {"strength": [0.05, 0.1, 0.2, 0.4]}),
    "mutual-information": ("mutual-information", {"rows": 1000}, {}),
    "l20alm": ("l20alm", {"rows": 1000}, {}),
    "mcfs": ("mcfs", {"rows": 2000}, {"neighbours": [5, 10]}),
    "fsasl": ("fsasl", {"rows": 400}, {}),
    "wknn": ("wknn", {"rows": 400}, {}),
    "variance": ("variance", {}, {}),
    "random": ("random-features", {}, {}),
}
RANDOM_SEEDS = 5


def evaluate(
    task: FeatureSelection, problem: Any, name: str, parameters: dict[str, Any], shared: dict[str, Any]
) -> Any:
    """Score one method on one problem, with its own preprocessing; statistics are shared between settings."""
    method = registry.component("methods", name).build(parameters)
    steps = method.preprocessing
    key = (problem.name, steps)
    if key not in shared:
        shared[key] = preprocess(problem, task, steps)
    prepared = (problem.name, name, parameters.get("target"), parameters.get("neighbours"))
    if prepared not in shared:
        shared[prepared] = task.prepare(method, shared[key], {})
    ((_, outputs),) = task.run(method, shared[key], shared[prepared])
    return task.score(problem, outputs, {}, full=True)


def tuned(task: FeatureSelection, folds: list[Any], label: str, shared: dict[str, Any]) -> dict[str, Any]:
    """Return the grid point with the highest mean accuracy over the validation folds."""
    name, fixed, grid = METHODS[label]
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    if len(points) == 1:
        return {**fixed, **points[0]}

    def mean(point: dict[str, Any]) -> float:
        return float(
            np.mean(
                [
                    evaluate(task, fold, name, {**fixed, **point}, shared).metrics["clustering_accuracy"]
                    for fold in folds
                ]
            )
        )

    return {**fixed, **max(points, key=mean)}


def split_curves(
    dataset: Dataset, options: dict[str, Any], labels: list[str]
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield (method, hyperparameters, curve table) for one seen/unseen split."""
    task = FeatureSelection(**options)
    folds, test = task.validation(dataset)[:2], task.test(dataset)
    shared: dict[str, Any] = {}
    for label in labels:
        name = METHODS[label][0]
        parameters = tuned(task, folds, label, shared)
        seeds = range(RANDOM_SEEDS) if label == "random" else [None]
        outcomes = [
            evaluate(task, test, name, parameters | ({} if seed is None else {"seed": seed}), shared) for seed in seeds
        ]
        columns = outcomes[0].tables["curve"].columns
        yield (
            label,
            parameters,
            {key: np.mean([o.tables["curve"].columns[key] for o in outcomes], axis=0) for key in columns},
        )


def data_sets(folder: Path) -> dict[str, tuple[Callable[[int], Dataset], dict[str, Any]]]:
    """Return the data sets by name: a loader by split number, and the options of the task."""

    def xlsa17(name: str, features: str, signatures: str = "att") -> Callable[[int], Dataset]:
        source = registry.component("datasets", "xlsa17")
        options = {"folder": str((folder / name).resolve()), "features": features, "signatures": signatures}
        return lambda split: source(**options).load(DataPlaces(folder))

    def digits(split: int) -> Dataset:
        return registry.component("datasets", "digit-pairs")(seed=split).load(DataPlaces())

    return {
        "isolet": (xlsa17("ISOLET", "isolet"), {}),
        "digit-pairs": (digits, {"seen": "files"}),
        "cifar100-att": (xlsa17("CIFAR100", "mnv2"), {}),
        "cifar100-hier": (xlsa17("CIFAR100", "mnv2", "hier"), {}),
        "awa1": (xlsa17("AWA1", "surf"), {"scaling": "hellinger,standardise"}),
    }


def curves(arguments: argparse.Namespace) -> None:
    """Write the curves of every method on the data sets asked for."""
    available = data_sets(Path(arguments.data))
    for set_name in arguments.sets:
        load, options = available[set_name]
        gathered: dict[str, list[dict[str, Any]]] = {}
        for split in range(arguments.splits):
            # The first split is the data set's own; digit-pairs draws another one by its own seed.
            own = split == 0 or options.get("seen") == "files"
            chosen = {**options, "seen": "files" if own else "random", "draw": max(1, split)}
            limits = {
                "rows": arguments.rows,
                "validation_rows": 1000,
                "repeats": arguments.repeats,
                "validation_repeats": 4,
            }
            dataset = load(split)
            for label, parameters, curve in split_curves(dataset, chosen | limits, arguments.methods or list(METHODS)):
                gathered.setdefault(label, []).append(curve)
                accuracy, nmi = np.mean(curve["accuracy"]), np.mean(curve["nmi"])
                print(f"{set_name} {split} {label:20s} {accuracy:.4f} {nmi:.4f} {parameters}", flush=True)
        write(Path(arguments.out), set_name, gathered)


def ten_classes(dataset: Dataset) -> Dataset:
    """Return the rows of the first ten classes of ``test_unseen``, without splits."""
    labels = np.unique(dataset.y[dataset.rows("test_unseen")])[:10]
    rows = np.flatnonzero(np.isin(dataset.y, labels))
    signatures = {
        name: replace(found, values=found.values[labels])
        for name, found in dataset.signatures.items()
        if found.classes is None
    }
    return Dataset(
        f"ten classes of {dataset.name}",
        dataset.X[rows],
        np.searchsorted(labels, dataset.y[rows]),
        tuple(dataset.class_names[i] for i in labels),
        signatures,
        dataset.default_signatures,
    )


def pairs(arguments: argparse.Namespace) -> None:
    """Write the curves with two seen classes, means over all 45 pairs of ten classes."""
    available = data_sets(Path(arguments.data))
    for set_name in arguments.sets:
        load, options = available[set_name]
        dataset = ten_classes(load(0))
        gathered: dict[str, list[dict[str, Any]]] = {}
        for draw in range(1, 46):
            task = FeatureSelection(
                **{**options, "seen": "pairs", "draw": draw, "rows": arguments.rows, "repeats": arguments.repeats}
            )
            test = task.test(dataset)
            shared: dict[str, Any] = {}
            for label in arguments.methods or [label for label in METHODS if "default" not in label]:
                name, fixed, _ = METHODS[label]
                outcome = evaluate(task, test, name, fixed | ({"seed": draw} if label == "random" else {}), shared)
                gathered.setdefault(label, []).append(outcome.tables["curve"].columns)
        write(Path(arguments.out), f"{set_name}-pairs", gathered)


def write(folder: Path, name: str, gathered: dict[str, list[dict[str, Any]]]) -> None:
    """Write the means over splits as a CSV and a figure, and print the means over the numbers of features."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    means = {
        label: {key: np.mean([c[key] for c in found], axis=0) for key in found[0]} for label, found in gathered.items()
    }
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["method", "splits", "features", "accuracy", "nmi", "nmi_arithmetic"])
        for label, curve in means.items():
            for i, count in enumerate(curve["features"]):
                row = [f"{curve[key][i]:.4f}" for key in ("accuracy", "nmi", "nmi_arithmetic")]
                writer.writerow([label, len(gathered[label]), int(count), *row])
    figure = Figure(figsize=(11, 4.5))
    for position, key in enumerate(("accuracy", "nmi"), start=1):
        axes = figure.add_subplot(1, 2, position, xlabel="number of features", ylabel=key)
        for number, (label, curve) in enumerate(means.items()):
            axes.plot(curve["features"], curve[key], label=label, linestyle=("-", "--", ":")[number // 10])
    axes.legend(fontsize=6)
    figure.suptitle(name)
    figure.savefig(folder / f"{name}.png", dpi=120)
    print(f"\n{name}: mean over the numbers of features")
    for label in sorted(means, key=lambda label: -float(np.mean(means[label]["accuracy"]))):
        print(f"  {label:20s} ACC {np.mean(means[label]['accuracy']):.3f}  NMI {np.mean(means[label]['nmi']):.3f}")


@contextmanager
def measured(what: str) -> Iterator[dict[str, float]]:
    """Print process seconds and the highest memory above the start, watched every 5 ms."""
    result: dict[str, float] = {}
    stop, start = threading.Event(), _resident()
    highest = [start]

    def watch() -> None:
        while not stop.wait(0.005):
            highest[0] = max(highest[0], _resident())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    before = time.process_time()
    yield result
    result["seconds"] = time.process_time() - before
    stop.set()
    watcher.join()
    result["megabytes"] = (highest[0] - start) / 2**20
    print(f"{what:58s} {result['seconds']:7.2f} s  {result['megabytes']:7.0f} MiB above the start", flush=True)


def _resident() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


def speed(arguments: argparse.Namespace) -> None:
    """Time one fit and 20 further settings on synthetic rows, beside MCFS and scikit-learn's LASSO path."""
    from sklearn.linear_model import lasso_path

    n, d, m, c = arguments.n, arguments.d, arguments.attributes, arguments.classes
    generator = np.random.default_rng(0)
    S = (generator.random((c, m)) < 0.3).astype(np.float64)
    y = np.sort(np.r_[np.arange(c), generator.integers(0, c, n - c)])
    loadings = generator.normal(size=(m, d)).astype(np.float32)
    loadings[:, d // 4 :] = 0
    X = 0.1 * (S.astype(np.float32) @ loadings)[y] + generator.standard_normal((n, d), dtype=np.float32)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    small = slice(0, 200)
    SemFS().fit(X[small, :50], np.arange(200) % 5, S[:5])  # compiles, before the clock starts
    print(f"n={n} d={d} attributes={m} classes={c}; Gram matrix {d * d * 8 / 2**20:.0f} MiB")
    with measured("statistics, one pass") as first:
        statistics = SemFS().prepare_fit(X, y, S, space={})
    with measured("semfs, first setting, from the statistics") as fit:
        selector = SemFS().fit(X, y, S, statistics=statistics)
    found = float(np.mean(selector.ranking_[:50] < d // 4))
    print(
        f"  informative among the best 50: {found:.2f}; first fit altogether {first['seconds'] + fit['seconds']:.2f} s"
    )
    settings = [
        (alpha, gamma, k) for alpha in (0.1, 1.0) for k in (20.0, 50.0) for gamma in (100.0, 30.0, 10.0, 5.0, 3.0)
    ]
    with measured(f"semfs, {len(settings)} further settings, cold"):
        for alpha, gamma, k in settings:
            SemFS(alpha=alpha, gamma=gamma, k=k).fit(X, y, S, statistics=statistics)
    warm = SemFS(warm_start=True)
    with measured(f"semfs, {len(settings)} further settings, warm starts"):
        for alpha, gamma, k in settings:
            warm.set_params(alpha=alpha, gamma=gamma, k=k).fit(X, y, S, statistics=statistics)
    with measured("semfs sum, from the statistics"):
        SemFS(variant="sum", gamma=0.1).fit(X, y, S, statistics=statistics)
    with measured("semfs ridge, from the statistics"):
        SemFS(variant="ridge").fit(X, y, S, statistics=statistics)
    del statistics
    rows = np.sort(generator.permutation(n)[: arguments.rows_of_others])
    with measured(f"mcfs on {len(rows)} rows"):
        MCFS(rows=None, clusters=min(c, 100)).fit(
            X[rows], np.unique(y[rows], return_inverse=True)[1], S[np.unique(y[rows])]
        )
    with measured(f"scikit-learn lasso_path, 1 of {m} attributes, {len(rows)} rows"):
        lasso_path(X[rows].astype(np.float64), S[y[rows], 0] - S[y[rows], 0].mean(), alphas=21, eps=1e-2)


def main() -> None:
    """Read the command line and run one of the three parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    part = commands.add_parser("speed")
    part.add_argument("--n", type=int, default=14000)
    part.add_argument("--d", type=int, default=4096)
    part.add_argument("--attributes", type=int, default=102)
    part.add_argument("--classes", type=int, default=707)
    part.add_argument("--rows-of-others", type=int, default=4000)
    part.set_defaults(run=speed)
    for name, run in (("curves", curves), ("pairs", pairs)):
        part = commands.add_parser(name)
        part.add_argument("--data", default="../shared/data/xlsa17")
        part.add_argument("--sets", nargs="+", default=["isolet"])
        part.add_argument("--methods", nargs="+")
        part.add_argument("--splits", type=int, default=3)
        part.add_argument("--rows", type=int, default=2000)
        part.add_argument("--repeats", type=int, default=20)
        part.add_argument("--out", default="semfs-results")
        part.set_defaults(run=run)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
