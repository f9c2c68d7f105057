"""The protocol of zero-shot feature selection in full, for ``semfs.py curves``; see there.

Every method ranks the features on the seen classes of a split; k-means clusters the unseen rows on the best 5, 10, ...,
50 of them. Results are kept after every finished curve, one file replacement at a time.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import entropy
from scipy.stats import t as student
from sklearn.metrics import mutual_info_score

from zslplat import registry
from zslplat.data.dataset import Dataset
from zslplat.data.source import DataPlaces
from zslplat.data.store.preprocessing import apply_steps
from zslplat.evaluation.context import preprocess
from zslplat.families.selection.task import FeatureSelection
from zslplat.metrics.accuracy import cluster_counts, matched_classes

COUNTS = range(5, 51, 5)


@dataclass(frozen=True)
class Contender:
    """A registered method with fixed parameters and the grid searched on validation folds.

    ``features`` are steps of preprocessing; in the grid they are searched like a parameter. ``signatures`` tells
    whether the method reads class signatures: without them its results on two signature sets of the same classes are
    the same. ``seeds`` random repeats share the starts of k-means.
    """

    name: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    features: str = "center"
    signatures: bool = False
    seeds: int = 1


SCALES = ["center", "standardise"]
LASSO = {"strength": [0.1, 0.05, 0.3], "features": SCALES}
# Unless tuned, everything sees the features in one scale, centred. Fixed parameters of the baselines are the best of a
# few on held-out classes of the seen part of isolet, digit-pairs and cifar100-att; rows are bounded where cost is.
METHODS: dict[str, Contender] = {
    "semfs": Contender("semfs", grid={"gamma": [0.03, 0.3, 3.0], "features": SCALES}, signatures=True),
    "semfs, untuned": Contender("semfs", signatures=True),
    "semfs-c": Contender("semfs-c", signatures=True),
    "semfs convex": Contender("semfs", {"variant": "convex", "gamma": 3.0}, signatures=True),
    "semfs sum": Contender("semfs", {"variant": "sum", "gamma": 0.3}, signatures=True),
    "semfs, signatures as they are": Contender("semfs", {"decorrelation": 0.0}, signatures=True),
    "semfs, labels": Contender("semfs", {"target": "labels"}),
    "semfs, standardised": Contender("semfs", features="standardise", signatures=True),
    # The printed algorithm ranks exactly as one ridge regression does, in a twentieth of the time. Standardised: in
    # features of unequal scale it picks the weakest, whose weights are the largest.
    "as printed": Contender(
        "semfs", {"variant": "ridge", "gamma": 0.1, "scale": "absolute"}, features="standardise", signatures=True
    ),
    "lasso-attributes": Contender("lasso-attributes", {"strength": 0.1}, LASSO, signatures=True),
    "lasso-labels": Contender("lasso-labels", {"strength": 0.1}, LASSO),
    "mutual-information": Contender("mutual-information", {"rows": 2000}),
    "l20alm": Contender("l20alm", {"rows": 1500, "penalty": 1.0}, {"features": SCALES}),
    "mcfs": Contender("mcfs", {"rows": 2000, "neighbours": 10}, {"features": SCALES}),
    "fsasl": Contender("fsasl", {"rows": 400, "sparsity": 0.5}),
    "wknn": Contender("wknn", {"rows": 600, "l1": 1e-4}, {"features": SCALES}),
    "variance": Contender("variance"),
    "random": Contender("random-features", seeds=2),
}
OURS = "semfs"


class Bench:
    """One task on one data set: problems, and the statistics that settings of a method share."""

    def __init__(self, dataset: Dataset, options: dict[str, Any], *, folds: int) -> None:
        self.task = FeatureSelection(**options)
        self.test = self.task.test(dataset)
        self.folds = self.task.validation(dataset)[:folds] if folds else []
        self._shared: dict[Any, Any] = {}

    def evaluate(self, problem: Any, contender: Contender, parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the curve of one experiment: means over starts for each number of features."""
        parameters = dict(parameters)
        steps = parameters.pop("features", contender.features)
        method = registry.component("methods", contender.name).build(parameters)
        preprocessing = method.preprocessing.overridden(steps, None)
        view = self._kept((problem.name, preprocessing), lambda: preprocess(problem, self.task, preprocessing))
        of_data = tuple((key, parameters.get(key)) for key in ("target", "neighbours", "rows"))
        statistics = self._kept(
            (problem.name, preprocessing, contender.name, of_data), lambda: self.task.prepare(method, view, {})
        )
        ((_, outputs),) = self.task.run(method, view, statistics)
        return scored(problem.truth["y_unseen"], outputs["clusters"])

    def tuned(self, contender: Contender) -> dict[str, Any]:
        """Return the fixed parameters with the grid point of the highest mean accuracy over the folds."""
        points = [
            dict(zip(contender.grid, values, strict=True)) for values in itertools.product(*contender.grid.values())
        ]
        settings = [{**contender.fixed, **point} for point in points]
        if len(settings) == 1 or not self.folds:
            # Without folds to tune on: what is fixed, not the first point of the grid.
            return settings[0] if len(settings) == 1 else dict(contender.fixed)

        def mean(experiment: dict[str, Any]) -> float:
            return float(
                np.mean([self.evaluate(fold, contender, experiment)["accuracy"].mean() for fold in self.folds])
            )

        return max(settings, key=mean)

    def curve(self, contender: Contender) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the parameters and the curve on the unseen rows."""
        parameters = self.tuned(contender)
        repeats = [{"seed": seed} for seed in range(contender.seeds)] if contender.seeds > 1 else [{}]
        curves = [self.evaluate(self.test, contender, {**parameters, **one}) for one in repeats]
        return parameters, {key: np.mean([curve[key] for curve in curves], axis=0) for key in curves[0]}

    def _kept(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]


def scored(y: np.ndarray, clusters: np.ndarray) -> dict[str, np.ndarray]:
    """Return accuracy and NMI by number of features, means over starts, from one table of counts per clustering."""
    classes = int(y.max()) + 1
    values = np.zeros((3, *clusters.shape[:2]))
    for place in np.ndindex(clusters.shape[:2]):
        counts = cluster_counts(y, clusters[place], classes)
        matched = matched_classes(counts)
        paired = np.flatnonzero(matched >= 0)
        shared = mutual_info_score(None, None, contingency=counts)
        entropies = [entropy(counts.sum(axis=axis)) for axis in (0, 1)]
        values[(slice(None), *place)] = (
            counts[paired, matched[paired]].sum() / len(y),
            shared / max(entropies),
            shared / np.mean(entropies),
        )
    return dict(zip(("accuracy", "nmi", "nmi_arithmetic"), values.mean(axis=2), strict=True))


@dataclass(frozen=True)
class Experiment:
    """A data set of the benchmark: ``load(split)`` gives data and options of the task; ``splits`` by default."""

    load: Callable[[int], tuple[Dataset, dict[str, Any]]]
    splits: int
    folds: int = 2
    same_classes: str = ""


def settings(folder: Path) -> dict[str, Experiment]:
    """Return the data sets by name."""

    def xlsa17(name: str, features: str, signatures: str = "att", steps: tuple[str, ...] = ()) -> Any:
        source = registry.component("datasets", "xlsa17")
        options = {"path": str((folder / name).resolve()), "features": features, "signatures": signatures}
        kept: list[Dataset] = []

        def load(split: int) -> tuple[Dataset, dict[str, Any]]:
            if not kept:
                dataset = source(**options).load(DataPlaces(folder))
                kept.append(replace(dataset, X=apply_steps(steps, dataset.X)[0]) if steps else dataset)
            return kept[0], {"seen": "random", "draw": split} if split else {}

        return load

    def digits(split: int) -> tuple[Dataset, dict[str, Any]]:
        return registry.component("datasets", "digit-pairs")(seed=split).load(DataPlaces()), {}

    def letter_pairs(split: int) -> tuple[Dataset, dict[str, Any]]:
        return ten_classes(isolet(0)[0]), {"seen": "pairs", "draw": split + 1}

    isolet = xlsa17("ISOLET", "isolet")
    return {
        "isolet": Experiment(isolet, 6),
        "digit-pairs": Experiment(digits, 4),
        "isolet-pairs": Experiment(letter_pairs, 45, folds=0),
        "awa1": Experiment(xlsa17("AWA1", "surf", steps=("hellinger",)), 3),
        "cifar100-att": Experiment(xlsa17("CIFAR100", "mnv2"), 3),
        "cifar100-hier": Experiment(xlsa17("CIFAR100", "mnv2", "hier"), 3, same_classes="cifar100-att"),
    }


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


HEADER = ("method", "split", "features", "acc", "nmi_max", "nmi_arithmetic", "parameters", "seconds")
Rows = dict[tuple[str, int], list[list[str]]]


def read_rows(path: Path) -> Rows:
    """Return the finished curves of a CSV by method and split; a curve cut off by a kill is left out."""
    found: Rows = {}
    if path.exists():
        with path.open(newline="") as file:
            for row in itertools.islice(csv.reader(file), 1, None):
                if len(row) == len(HEADER):
                    found.setdefault((row[0], int(row[1])), []).append(row)
    return {key: rows for key, rows in found.items() if len(rows) == len(COUNTS)}


def write_rows(path: Path, rows: Rows) -> None:
    """Write all curves, and put the file in its place at once."""
    partial = path.with_suffix(".partial")
    with partial.open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *(row for found in rows.values() for row in found)])
    partial.replace(path)


def curves(arguments: argparse.Namespace) -> None:
    """Run what is missing of the curves of all methods on the sets asked for; then figures and the summary."""
    available = settings(Path(arguments.data))
    chosen = arguments.sets or list(available)
    unknown = [name for name in chosen if name not in available]
    if unknown:
        raise SystemExit(f"unknown set {unknown[0]!r}; sets: {', '.join(available)}")
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    check_protocol(folder, arguments)
    for name in chosen:
        run_set(folder, name, available[name], arguments)
        figure(folder, name)
        summarise(folder, available)


def check_protocol(folder: Path, arguments: argparse.Namespace) -> None:
    """Refuse to mix results of two protocols in one folder."""
    protocol = {key: getattr(arguments, key) for key in ("rows", "repeats", "scaling")}
    path = folder / "protocol.json"
    if path.exists() and json.loads(path.read_text()) != protocol:
        raise SystemExit(f"{folder} holds results of {path.read_text().strip()}, not of {protocol}; give another --out")
    path.write_text(json.dumps(protocol) + "\n")


def run_set(folder: Path, name: str, experiment: Experiment, arguments: argparse.Namespace) -> None:
    """Add every missing curve to the CSV of the set, one at a time."""
    path = folder / f"{name}.csv"
    rows = read_rows(path)
    limits = {"rows": arguments.rows, "repeats": arguments.repeats, "scaling": arguments.scaling}
    limits |= {"validation_rows": 1000, "validation_repeats": 4}
    labels = arguments.methods or list(METHODS)
    for split in range(arguments.splits or experiment.splits):
        missing = [label for label in labels if (label, split) not in rows]
        if experiment.same_classes:
            others = read_rows(folder / f"{experiment.same_classes}.csv")
            for label in missing:
                if not METHODS[label].signatures and (label, split) in others:
                    rows[label, split] = others[label, split]
            missing = [label for label in missing if (label, split) not in rows]
        if not missing:
            continue
        dataset, options = experiment.load(split)
        bench = Bench(dataset, {**limits, **options}, folds=experiment.folds)
        for label in missing:
            start = time.process_time()
            parameters, curve = bench.curve(METHODS[label])
            seconds = time.process_time() - start
            values = zip(*(curve[key] for key in ("accuracy", "nmi", "nmi_arithmetic")), strict=True)
            said = " ".join(f"{key}={value}" for key, value in parameters.items())
            rows[label, split] = [
                [label, str(split), str(count), *(f"{value:.5f}" for value in found), said, f"{seconds:.1f}"]
                for count, found in zip(COUNTS, values, strict=True)
            ]
            write_rows(path, rows)
            accuracy, nmi = curve["accuracy"].mean(), curve["nmi"].mean()
            print(f"{name} {split} {label:20s} {accuracy:.4f} {nmi:.4f} {seconds:6.1f} s  {said}", flush=True)
    write_rows(path, rows)


def means(rows: Rows, column: str) -> dict[str, dict[int, np.ndarray]]:
    """Return for each method and split the values by number of features."""
    place = HEADER.index(column)
    found: dict[str, dict[int, np.ndarray]] = {}
    for (label, split), curve in rows.items():
        found.setdefault(label, {})[split] = np.array([float(row[place]) for row in curve])
    return found


def figure(folder: Path, name: str) -> None:
    """Draw accuracy and NMI against the number of features, means over splits."""
    from matplotlib.figure import Figure

    rows = read_rows(folder / f"{name}.csv")
    drawn = Figure(figsize=(12, 5), layout="constrained")
    for position, column in enumerate(("acc", "nmi_max"), start=1):
        axes = drawn.add_subplot(1, 2, position, xlabel="number of features", ylabel=column)
        for number, (label, splits) in enumerate(means(rows, column).items()):
            style = {"linewidth": 2.5, "color": "black"} if label == OURS else {"color": f"C{number % 10}"}
            axes.plot(
                COUNTS, np.mean(list(splits.values()), axis=0), ("-", "--", ":")[number // 10], label=label, **style
            )
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    drawn.suptitle(f"{name}, mean over {len({split for _, split in rows})} splits")
    drawn.savefig(folder / f"{name}.png", dpi=110)


def summarise(folder: Path, available: Mapping[str, Experiment]) -> None:
    """Write ``summary.md``: means over 5..50 features, and how far the default is ahead, with 95% intervals."""
    lines = ["Means over 5..50 features and splits. Difference: semfs less the method, mean over splits and 95%"]
    lines += [
        "t-interval. Splits share rows (pairs share classes), so the intervals are rough, and too narrow if anything.",
        "",
    ]
    for name in available:
        rows = read_rows(folder / f"{name}.csv")
        if not rows:
            continue
        accuracy, nmi = means(rows, "acc"), means(rows, "nmi_max")
        arithmetic = means(rows, "nmi_arithmetic")
        lines += [f"## {name}, {len({split for _, split in rows})} splits", ""]
        lines += [
            "| method | ACC | NMI max | NMI arithmetic | ACC difference | NMI difference |",
            "|---|---|---|---|---|---|",
        ]
        for label in sorted(accuracy, key=lambda label: -np.mean(list(accuracy[label].values()))):
            cells = [f"{np.mean(list(found[label].values())):.3f}" for found in (accuracy, nmi, arithmetic)]
            for found in (accuracy, nmi):
                shared = sorted(set(found.get(OURS, {})) & set(found[label]))
                gaps = np.array([found[OURS][split].mean() - found[label][split].mean() for split in shared])
                if label == OURS or len(gaps) < 2:
                    cells.append("")
                    continue
                half = student.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
                cells.append(f"{gaps.mean():+.3f} [{gaps.mean() - half:+.3f}, {gaps.mean() + half:+.3f}]")
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
        lines.append("")
    (folder / "summary.md").write_text("\n".join(lines))
