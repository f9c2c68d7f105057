"""Kernel coding on real data, each row tuned on validation folds of its training half and scored on the test rows once.

Used by ``benchmarks/coding.py``: ``table`` for Extended Yale B beside the paper's Table 2 and for covariance matrices,
``digits`` for accuracy against the number of atoms. Studies are kept in a store inside the output folder, so that the
same command goes on where it was stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.comparison.paired import difference, interval
from zslplat.drawing import render
from zslplat.evaluation.components import searched_space
from zslplat.evaluation.experiment import Experiment
from zslplat.evidence.scores import Scored
from zslplat.figures import Curve, Table, write_table
from zslplat.kernels import parse_kernel
from zslplat.registry import component
from zslplat.settings import Settings, resolve_settings
from zslplat.space import Choice
from zslplat.spec import Spec, format_value
from zslplat.tuning.options import EvaluationOptions, StudyOptions
from zslplat.tuning.study import StudyResult, run_study
from zslplat.tuning.sweep import run_sweep
from zslplat_papers.reproduction.reproduce import read_study_scores

FACES = "extyaleb(X=rf504, y=label, train=train32)"
FACE_COVARIANCES = 'region-covariance(path="extyaleb.npz", X=img48x42, y=label, train=train32)'
OBJECTS = "coil20_rcm25(X=P, y=y)"


@dataclass(frozen=True)
class Row:
    """One study: ``fixed`` parameters, ``ranges`` beside or instead of the method's own, the paper's figure."""

    label: str
    method: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    ranges: Mapping[str, str] = field(default_factory=dict)
    trials: int = 12
    paper: float | None = None
    dataset: str = FACES
    task: str = "coding(folds=4)"


# The ranges hold what did best on validation folds of wider ones; codes of many atoms at a small gamma with
# a narrow kernel would take minutes.
SPARSE = {"gamma": "3e-4..3e-2:log"}
SPARSE_SIGMA = {"gamma": "3e-4..1e-2:log", "kernel.sigma": "1..8:log"}
LOCAL = {"neighbours": "50..300:log"}
NARROW = {"neighbours": "50..200:log"}
LOCAL_SIGMA, NARROW_SIGMA = ({**nearest, "kernel.sigma": "0.8..12:log"} for nearest in (LOCAL, NARROW))
CHOSEN = {"dictionary": "class-samples|class-k-means|k-means"}
CLASSIFIER = {"rule": "linear|bilinear", "rho": "1e-6..1e-3:log"}
LEARNED = {"atoms": 570, "dictionary": "class-k-means", "learning": "free", "iterations": 4}
NEAREST = {**LEARNED, "rule": "nearest"}

TABLE = [
    Row("SRC, 570", "src", {"atoms": 570}, {**SPARSE, **CHOSEN}, 16, paper=0.805),
    Row("LC-KSVD, 570", "lc-ksvd", {"atoms": 570, "iterations": 4}, {}, 6, paper=0.950),
    Row("kSC, 570", "ksc", NEAREST, SPARSE_SIGMA, 12, paper=0.969),
    Row("kLLC, 570", "kllc", NEAREST, LOCAL_SIGMA, 12, paper=0.972),
    Row("SRC, all", "src", {}, SPARSE, 8, paper=0.972),
    Row("LC-KSVD, all", "lc-ksvd", {"iterations": 4}, {}, 4, paper=0.967),
    Row("kSC, all", "ksc", {}, SPARSE_SIGMA, 12, paper=0.982),
    Row("kLLC, all", "kllc", {}, LOCAL_SIGMA, 20, paper=0.984),
    Row("SC, all", "sc", {}, SPARSE, 8),
    Row("LLC, all", "llc", {}, LOCAL, 8),
    Row("SC, 570", "sc", NEAREST, SPARSE, 12),
    Row("LLC, 570", "llc", NEAREST, LOCAL, 12),
    Row("l-SkSC, 570", "l-sksc", LEARNED, SPARSE_SIGMA, 8),
    Row("l-SkLLC, 570", "l-skllc", LEARNED, NARROW_SIGMA, 8),
    Row("kSC, 570, classifier", "ksc", LEARNED, {**SPARSE_SIGMA, **CLASSIFIER}, 12),
    Row("kLLC, 570, classifier", "kllc", LEARNED, {**LOCAL_SIGMA, **CLASSIFIER}, 12),
    Row("kSC, all, polynomial", "ksc", {"kernel": "polynomial", "kernel.r": 2}, {**SPARSE, "kernel.c": "0..2"}, 8),
    Row("kSC, all, sigmoid", "ksc", {"kernel": "sigmoid", "indefinite": "clip"}, SPARSE, 8),
    Row("bi-SkSC, 570", "bi-sksc", {**LEARNED, "iterations": 2}, SPARSE_SIGMA, 4),
    Row("bi-SkLLC, 570", "bi-skllc", {**LEARNED, "iterations": 2}, NARROW_SIGMA, 4),
]
"""The eight rows of Table 2, then what its findings are checked with.

A row beside a figure of the paper follows the paper's rule: the residual (27) where atoms are samples, the nearest code
where the dictionary is learned without labels, the method's own classifier in LC-KSVD. The paper learns the width of
the Gaussian kernel by (16); here validation chooses it.
"""

PARTS = {
    "SC, all": "linear",
    "kSC, all": "gaussian",
    "kSC, all, polynomial": "polynomial",
    "kSC, all, sigmoid": "sigmoid",
}
COMBINED = "kSC, all, four kernels"


def combination(results: Mapping[str, StudyResult]) -> Row:
    """Return the row of the sum (17) of the four kernels, each with the parameters that it was tuned to alone.

    The sum starts from equal parts, each scaled to k(x, x) = 1 at unit rows, so that gamma means what it does there.
    """
    terms = []
    for label, kernel in PARTS.items():
        (row,) = (row for row in TABLE if row.label == label)
        values = {**row.fixed, **results[label].parameters}
        own = [f"{k.removeprefix('kernel.')}={format_value(v)}" for k, v in values.items() if k.startswith("kernel.")]
        term = kernel + (f"({', '.join(own)})" if own else "")
        share = 1 / len(PARTS) / float(parse_kernel(term).diag(np.ones((1, 1)))[0])
        terms.append(f"{share:.6g}*{term}")
    settings = {"kernel": " + ".join(terms), "indefinite": "clip", "learn_kernel": "weights", "iterations": 2}
    template = component("methods", "ksc").build(settings)
    known = {name: value for name, value in template.defaults.items() if name.startswith("kernel.")}
    return Row(COMBINED, "ksc", {**settings, **known}, {"gamma": "6e-4..1e-2:log", "togetherness": "0.03..10:log"}, 6)


MANIFOLD = [
    Row(f"{label}, {data}, {name}", method, {"kernel": kernel}, {**ranges, "kernel.sigma": sigma}, 6, None, spec, task)
    for data, spec, task in (
        ("faces", FACE_COVARIANCES, "coding(folds=4)"),
        ("objects", OBJECTS, "coding(folds=5, train_per_class=10)"),
    )
    for label, method, ranges in (("kSC", "ksc", SPARSE), ("kLLC", "kllc", {"neighbours": "5..150:log"}))
    for name, kernel, sigma in (
        ("log-Euclidean", "log-euclidean", "1..50:log"),
        ("Euclidean", "gaussian", "0.03..10:log"),
    )
]
FINDINGS = [
    ("kernel against linear", "kSC, all", "SC, all"),
    ("kernel against linear", "kLLC, all", "LLC, all"),
    ("kernel against linear", "kSC, 570", "SC, 570"),
    ("kernel against linear", "kLLC, 570", "LLC, 570"),
    ("supervised against nearest code", "l-SkSC, 570", "kSC, 570"),
    ("supervised against nearest code", "l-SkLLC, 570", "kLLC, 570"),
    ("supervised against nearest code", "bi-SkSC, 570", "kSC, 570"),
    ("supervised against nearest code", "bi-SkLLC, 570", "kLLC, 570"),
    ("supervised against a classifier afterwards", "l-SkSC, 570", "kSC, 570, classifier"),
    ("supervised against a classifier afterwards", "l-SkLLC, 570", "kLLC, 570, classifier"),
    ("supervised against a classifier afterwards", "bi-SkSC, 570", "kSC, 570, classifier"),
    ("supervised against a classifier afterwards", "bi-SkLLC, 570", "kLLC, 570, classifier"),
    *(("four kernels against one", COMBINED, part) for part in PARTS),
    *(
        ("manifold against Euclidean", first.label, second.label)
        for first, second in zip(MANIFOLD[::2], MANIFOLD[1::2], strict=True)
    ),
]


def tuned(row: Row, settings: Settings) -> StudyResult:
    """Carry out the study of a row, or what is left of it; its winner is refitted and scored on the test rows once."""
    template = component("methods", row.method).build(dict(row.fixed))
    experiment = Experiment(
        Spec(row.method, dict(row.fixed)),
        Spec.parse(row.dataset),
        Spec.parse(row.task),
        searched_space(template, row.fixed, row.ranges),
    )
    return run_study(experiment, StudyOptions(trials=row.trials, workers=1, repeats=1), settings)


def table(out: Path, data: Path) -> None:
    """Write ``table.csv`` (all rows) and ``findings.csv`` (paired differences with their 95% intervals)."""
    out.mkdir(parents=True, exist_ok=True)
    settings = resolve_settings({"data_root": data.absolute(), "store": (out / "store").absolute()})
    found: dict[str, Scored] = {}
    lines: list[dict[str, Any]] = []
    print(f"{'':40s} {'paper':>6s} {'validation':>10s} {'test':>6s}  95% interval")
    results: dict[str, StudyResult] = {}
    for planned in [*TABLE, None, *MANIFOLD]:
        row = combination(results) if planned is None else planned
        results[row.label] = result = tuned(row, settings)
        found[row.label] = one = read_study_scores(settings, result.name, warn=print)
        ends = interval(one, "accuracy")
        best = ", ".join(f"{k}={format_value(v)}" for k, v in sorted(result.parameters.items()))
        lines.append(
            {
                "row": row.label,
                "paper": row.paper,
                "validation": one.validation["accuracy"],
                "test": ends.estimate,
                "low": ends.low,
                "high": ends.high,
                "trials": sum(result.trials.values()),
                "chosen by validation": best,
            }
        )
        _write(lines, out / "table.csv")
        paper = "" if row.paper is None else f"{row.paper:.3f}"
        print(
            f"{row.label:40s} {paper:>6s} {one.validation['accuracy']:10.4f} {ends.estimate:6.4f}  "
            f"[{ends.low:.4f}, {ends.high:.4f}]  {result.seconds:5.0f} s  {best}",
            flush=True,
        )
    compared: list[dict[str, Any]] = []
    best_part = max(PARTS, key=lambda label: found[label].validation["accuracy"])
    for finding, first, second in FINDINGS:
        apart = difference(found[first], found[second], "accuracy")
        note = " (the best one by validation)" if second == best_part else ""
        compared.append(
            {
                "finding": finding,
                "first": first,
                "second": second + note,
                "difference": apart.estimate,
                "low": apart.low,
                "high": apart.high,
                "verdict": apart.verdict,
            }
        )
        print(f"{finding}: {first} - {second}{note} {apart.estimate:+.4f} [{apart.low:+.4f}, {apart.high:+.4f}]")
    _write(compared, out / "findings.csv")


ATOMS = (20, 50, 100, 200, 400)
TUNED_AT = 100
UNSUPERVISED = {"dictionary": "class-k-means", "learning": "free", "iterations": 4}
SUPERVISED = {"learning": "free", "iterations": 3}
# In this order a kernel method and its linear form, or a rival, share a colour.
CURVES: dict[str, tuple[str, dict[str, Any]]] = {
    "kbow soft": ("kbow", {**UNSUPERVISED, "assignment": "soft"}),
    "ksc": ("ksc", UNSUPERVISED),
    "kllc": ("kllc", UNSUPERVISED),
    "l-sksc": ("l-sksc", SUPERVISED),
    "l-skllc": ("l-skllc", SUPERVISED),
    "bi-sksc": ("bi-sksc", SUPERVISED),
    "bi-skllc": ("bi-skllc", SUPERVISED),
    "kbow hard": ("kbow", {**UNSUPERVISED, "assignment": "hard"}),
    "sc": ("sc", UNSUPERVISED),
    "llc": ("llc", UNSUPERVISED),
    "src": ("src", {"dictionary": "class-k-means"}),
    "lc-ksvd": ("lc-ksvd", {}),
}


def digits(out: Path, splits: int, trials: int, per_class: int) -> None:
    """Write ``digits.csv`` and ``digits.png``: accuracy against the number of atoms, mean and spread over splits.

    Every method is tuned at 100 atoms on validation folds of the training rows of each split; the parameters found
    serve the other numbers of atoms of that split, too, in a sweep. Learned dictionaries without labels are judged by
    the nearest code, the paper's rule.
    """
    out.mkdir(parents=True, exist_ok=True)
    settings = resolve_settings({"store": (out / "store").absolute()})
    test: dict[str, list[list[float]]] = {label: [] for label in CURVES}
    lines: list[dict[str, Any]] = []
    for split in range(1, splits + 1):
        task = f"coding(folds=3, train_per_class={per_class}, split={split})"
        for label, (method, fixed) in CURVES.items():
            row = Row(label, method, {**fixed, "atoms": TUNED_AT}, {}, trials, dataset="digits", task=task)
            best = tuned(row, settings).parameters
            experiment = Experiment(Spec(method, {**fixed, **best}), Spec.parse("digits"), Spec.parse(task))
            swept = run_sweep(experiment, "atoms", Choice(ATOMS), EvaluationOptions(test=True, workers=1), settings)
            accuracies = [np.nan if value is None else value for value in next(iter(swept.test.values()))]
            test[label].append(accuracies)
            print(f"split {split} {label:10s} " + "  ".join(f"{a:.4f}" for a in accuracies), flush=True)
            tuned_to = ", ".join(f"{k}={format_value(v)}" for k, v in sorted(best.items()))
            lines += [
                {"split": split, "method": label, "atoms": n, "accuracy": a, "chosen by validation": tuned_to}
                for n, a in zip(ATOMS, accuracies, strict=True)
            ]
            _write(lines, out / "digits.csv")
    means = {label: np.mean(values, axis=0) for label, values in test.items()}
    spread = {label: np.std(values, axis=0, ddof=min(1, splits - 1)) for label, values in test.items()}
    figure = Curve(
        {label: (list(ATOMS), mean.tolist()) for label, mean in means.items()},
        "atoms",
        "accuracy",
        f"digits, {per_class} training rows per class, mean of {splits} split{'s' if splits > 1 else ''}",
        bands={label: ((m - spread[label]).tolist(), (m + spread[label]).tolist()) for label, m in means.items()},
    )
    render(figure, out / "digits.png")


def _write(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    write_table(Table({name: [line[name] for line in lines] for name in lines[0]}), path)
