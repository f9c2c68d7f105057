"""Scores as other software would make them, and those of a method of ours, for a small data set."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from zslplat.data.catalogue import parse_dataset
from zslplat.evaluation.cache.problems import load_problem
from zslplat.evaluation.components import build_component, open_dataset
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import Experiment
from zslplat.spec import Spec
from zslplat_outside.exported_split import export_split
from zslplat_outside.recording import score_outside
from zslplat_outside.request import OutsideScores

DATA = (
    "synthetic(rows_train=240, rows_test_seen=40, rows_test_unseen=60, dimensions=8, attributes=6, classes_seen=8, "
    "classes_unseen=4, classes_validation=3)"
)
ESZSL = Spec.parse("eszsl(gamma=1, alpha=1)")


def exported(settings, folder, task="zsl", dataset=DATA, **options):
    """Export a split into a folder; return its manifest."""
    spec, asked = parse_dataset(dataset), Spec.parse(task)
    data = open_dataset(spec, settings)
    names = {"dataset": str(spec), "task": str(asked)}
    return export_split(data, build_component("tasks", asked).suited(data), folder, names=names, **options)


def column(path, name):
    with path.open(newline="") as file:
        return [line[name] for line in csv.DictReader(file)]


def score(settings, task="zsl", dataset=DATA, **given):
    return score_outside(OutsideScores(**{"name": "net", **given}), parse_dataset(dataset), Spec.parse(task), settings)


def random_scores(folder, name="test", seed=0):
    """Write scores that mean nothing of an exported problem as ``NAME.npy`` beside it, and return the path."""
    shape = len(column(folder / name / "rows.csv", "row")), len(column(folder / name / "classes.csv", "class"))
    path = folder.parent / f"{folder.name}-{name}-{seed}.npy"
    np.save(path, np.random.default_rng(seed).standard_normal(shape))
    return path


def our_scores(settings, task, split):
    """Return (rows, classes, scores) of each problem of a split, as a method of ours gives them for all rows."""
    bench = ExperimentContext(Experiment(ESZSL, parse_dataset(DATA), Spec.parse(task)), settings)
    found = []
    for folder in bench.problems(split):
        problem, method = (
            load_problem(folder, blocks=bench.method_class.takes_blocks),
            bench.method_class.build(ESZSL.parameters),
        )
        statistics = bench.task.prepare(method, problem, {})
        ((_, outputs),) = bench.task.run(method, problem, statistics)
        whole = outputs["T" if "T" in outputs else "U->U"]
        found.append((problem.truth["row_pool"], problem.meta["classes"], whole))
    return found


def write_shuffled(path, found, folds=False):
    """Write scores as CSV or Parquet, rows and classes in an order of their own."""
    random = np.random.default_rng(7)
    lines = []
    for number, (rows, classes, scores) in enumerate(found, start=1):
        for place in random.permutation(len(rows)):
            values = {name: float(value) for name, value in zip(classes, scores[place], strict=True)}
            lines.append({"row": int(rows[place]), **({"fold": f"fold-{number}"} if folds else {}), **values})
    names = list({name: None for line in lines for name in line})
    random.shuffle(names)
    if path.suffix == ".parquet":
        types = {"row": pa.int64(), "fold": pa.string()}
        kind = pa.from_numpy_dtype(found[0][2].dtype)
        columns = {
            name: pa.array([line.get(name) for line in lines], types.get(name, kind), from_pandas=False)
            for name in names
        }
        pq.write_table(pa.table(columns), path)
        return path
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(lines)
    return path
