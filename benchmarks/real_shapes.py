"""Zero-shot methods at the shapes of AWA2, CUB, SUN and aPY: one fit and its scores, beside the machine's floor.

    python benchmarks/real_shapes.py                                   all cells: two hours
    python benchmarks/real_shapes.py --method eszsl --shape CUB        one cell: seconds
    python benchmarks/real_shapes.py --method eszsl --shape AWA2 --trials 20

A cell is one method with its default hyperparameters on the first validation fold of a data set: it is trained on the
fold's training classes and scores the rows of its validation classes. Sizes are those of the true splits, with the rows
spread evenly over their classes; features (2048 rectified dimensions) and signatures are drawn. Each cell has a process
of its own with one BLAS thread, and is warm: loops are compiled beforehand.

prepare   processor seconds of what the trials of a search share (``prepare_fit``, ``prepare_score``)
trial     of ``fit`` and ``decision_function`` with that at hand; preprocessing is not counted
MB        what both add to the memory of a process that holds the preprocessed arrays, at most
floor     seconds of the products, decompositions and passes that the mathematics of both needs, by bare NumPy and SciPy
          in the same process (``real_floors.py``, a function for each method)
ratio     seconds of both / floor

A cell that takes more than ``--limit`` processor seconds is stopped, and its row says so. ``--trials N`` times a whole
``zslplat tune`` of N trials with three folds, for which the data are written as public files first. It prints seconds
on the clock, and processor seconds of the leading process, of ``zslplat data info``, which loads the files, and of the
trials with what was prepared for them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from real_floors import FLOORS, Calls, Cell, Machine
from threadpoolctl import threadpool_limits
from xlsa17_archive import rectified_rows

from zslplat.data.store.preprocessing import apply_steps
from zslplat.kinds import SHARED_SPACE
from zslplat.platforms import peak_bytes, reset_peak
from zslplat.records.costs import CPU_SECONDS, total_seconds
from zslplat.records.database import Records
from zslplat.registry import component, names
from zslplat.settings import resolve_settings

LIMIT = 240
MEMORY_AT_HAND = 1 << 30


@dataclass(frozen=True)
class Shape:
    """A data set: rows of ``trainval`` and of the test, seen and unseen, classes of each, those of the first fold."""

    trainval: int
    test_seen: int
    test_unseen: int
    seen: int
    unseen: int
    fold: int
    attributes: int

    @property
    def rows(self) -> int:
        """Training rows of the fold."""
        return self.trainval * self.fold // self.seen

    @property
    def scored(self) -> int:
        """Scored rows of the fold."""
        return self.trainval - self.rows

    @property
    def classes(self) -> int:
        """Training classes of the fold."""
        return self.fold

    @property
    def scored_classes(self) -> int:
        """Scored classes of the fold."""
        return self.seen - self.fold


SHAPES = {
    "APY": Shape(5932, 1483, 7924, 20, 12, 15, 64),
    "CUB": Shape(7057, 1764, 2967, 150, 50, 100, 312),
    "AWA2": Shape(23527, 5882, 7913, 40, 10, 27, 85),
    "SUN": Shape(10320, 2580, 1440, 645, 72, 580, 102),
}
SMALL = Shape(400, 0, 0, 12, 0, 9, 16)


def drawn_signatures(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Return signatures (classes, attributes) in [0, 1], half of them 0."""
    size = (shape.seen + shape.unseen, shape.attributes)
    return rng.uniform(size=size) * (rng.uniform(size=size) < 0.5)


def drawn_fold(shape: Shape, method: Any) -> tuple[np.ndarray, ...]:
    """Return X (n, d), y (n,) and S (c, a) of the fold, X (m, d) and S (u, a) to be scored, as a method takes them."""
    rng = np.random.default_rng(0)
    signatures = drawn_signatures(shape, rng)
    y = rng.permutation(np.resize(np.arange(shape.fold), shape.rows))
    scored = np.resize(np.arange(shape.fold, shape.seen), shape.scored)
    X = rectified_rows(np.concatenate([y, scored]), signatures, rng)
    steps = method.effective_preprocessing
    rows = apply_steps(steps.features, X[: shape.rows], X[shape.rows :])
    classes = apply_steps(steps.signatures, signatures[: shape.fold], signatures[shape.fold : shape.seen])
    return rows[0], y, classes[0], rows[1], classes[1]


def measure(name: str, shape: Shape, limit: int) -> dict[str, Any]:
    """Return the seconds, the memory and the floor of a method; this process ends where it takes too long."""
    with threadpool_limits(limits=1):
        method = component("methods", name).build({})
        X, y, S, U, T = drawn_fold(SMALL, method)
        method.fit(X, y, S).decision_function(U, T)
        method = component("methods", name).build({})
        X, y, S, U, T = drawn_fold(shape, method)
        calls = Calls(name)
        # A virtual machine's host gives memory on first use, which can take longer than what is computed in it.
        np.ones(MEMORY_AT_HAND if sys.platform == "linux" else 0, dtype=np.uint8)  # elsewhere the peak would stay
        reset_peak()
        before, start = peak_bytes(), time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (int(start) + limit, resource.RLIM_INFINITY))
        # As in a search: statistics hold for all values of what is searched, but one of what is costly.
        fixed, space = method.prepared_with(method.space, method.defaults)
        method.set_params(**fixed)
        statistics = method.prepare_fit(X, y, S, space=space)
        batch = method.prepare_score(U, T, space=space, statistics=statistics)
        prepared = time.process_time()
        method.fit(X, y, S, statistics=statistics)
        scores = method.decision_function(U, T, statistics=batch)
        done, memory = time.process_time(), (peak_bytes() - before) / 2**20
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert scores.shape == (shape.scored, shape.scored_classes)
        cell: dict[str, Any] = {"prepare": prepared - start, "trial": done - prepared, "memory": memory}
        del X, U, scores
        floor = FLOORS.get(name)
        return cell | {"floor": floor(Cell(shape, method, calls, Machine())) if floor else None}


def measured_apart(name: str, shape: str, limit: int) -> dict[str, Any] | str:
    """Return what :func:`measure` does, from a process of its own, or why there is none."""
    arguments = [sys.executable, __file__, "--cell", "--method", name, "--shape", shape, "--limit", str(limit)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode == -signal.SIGXCPU:
        return f"over {limit}"
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return f"failed with exit code {done.returncode}"
    cell: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return cell


def line(name: str, shape: str, cell: dict[str, Any] | str) -> str:
    """Return a row of the table."""
    if isinstance(cell, str):
        return f"| {name} | {shape} | {cell} | | | | |"
    took, floor = cell["prepare"] + cell["trial"], cell["floor"]
    bound = f"{floor:.2f} | {took / floor:.2f}" if floor else "none given | "
    return f"| {name} | {shape} | {cell['prepare']:.2f} | {cell['trial']:.2f} | {cell['memory']:.0f} | {bound} |"


def write_files(folder: Path, shape: Shape) -> None:
    """Write drawn data as public files: features, splits, and the classes of three folds."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    signatures, classes = drawn_signatures(shape, rng), [f"class{i:03}" for i in range(shape.seen + shape.unseen)]
    sizes = {"trainval": shape.trainval, "test_seen": shape.test_seen, "test_unseen": shape.test_unseen}
    y = np.concatenate(
        [
            np.resize(np.arange(shape.seen), shape.trainval + shape.test_seen),
            np.resize(np.arange(shape.seen, len(classes)), shape.test_unseen),
        ]
    )
    places, start = {}, 1
    for key, size in sizes.items():
        places[f"{key}_loc"] = np.arange(start, start + size)[:, None]
        start += size
    described = {"att": signatures.T, "original_att": signatures.T}
    names_of_classes = np.array([[name] for name in classes], dtype=object)
    scipy.io.savemat(folder / "att_splits.mat", described | places | {"allclasses_names": names_of_classes})
    features = rectified_rows(y, signatures, rng)
    scipy.io.savemat(folder / "res101.mat", {"features": features.T, "labels": y[:, None] + 1})
    for number in (1, 2, 3):
        drawn = rng.permutation(shape.seen)
        for kind, part in (("train", drawn[: shape.fold]), ("val", drawn[shape.fold :])):
            (folder / f"{kind}classes{number}.txt").write_text("\n".join(classes[i] for i in sorted(part)) + "\n")


def children() -> float:
    """Return the processor seconds of all processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def whole_command(name: str, shape: str, root: Path, trials: int) -> str:
    """Return a row: seconds of a whole search, of its trials, and of loading the data by itself."""
    zslplat = [sys.executable, "-m", "zslplat"]
    data = [f"{shape}(features=res101)", "--data-root", str(root)]
    with tempfile.TemporaryDirectory() as store:
        start = children()
        subprocess.run([*zslplat, "data", "info", *data, "--store", store], check=True, capture_output=True, cwd=root)
        loaded = children() - start
    with tempfile.TemporaryDirectory() as store:
        command = [*zslplat, "tune", "--method", name, "--trials", str(trials), "--dataset", *data, "--store", store]
        start, wall = children(), time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=root)
        took, wall = children() - start, time.perf_counter() - wall
        records = Records(resolve_settings({"store": store}))
        trials_of = [record for study in records.study_names() for _, record in records.study(study).finished()]
        inside = total_seconds(trials_of, CPU_SECONDS)
        records.close()
    return f"| {name} | {shape} | {wall:.0f} | {took:.1f} | {loaded:.1f} | {inside:.1f} |"


def main() -> None:
    """Print a table, each row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    methods = [name for name in names("methods") if name in FLOORS or _fits(name)]
    parser.add_argument("--method", nargs="*", choices=methods, default=methods, metavar="METHOD")
    parser.add_argument("--shape", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--limit", type=int, default=LIMIT, help="processor seconds of a cell at most")
    parser.add_argument("--trials", type=int, help="time the whole command with so many trials")
    parser.add_argument("--cell", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(measure(options.method[0], SHAPES[options.shape[0]], options.limit)))
        return
    if options.trials:
        print("| method | shape | wall s | leader s | loading s | trials s |\n|---|---|---|---|---|---|")
        with tempfile.TemporaryDirectory() as root:
            for shape in options.shape:
                write_files(Path(root) / shape, SHAPES[shape])
                for name in options.method:
                    print(whole_command(name, shape, Path(root), options.trials), flush=True)
        return
    print("| method | shape | prepare s | trial s | MB | floor s | ratio |\n|---|---|---|---|---|---|---|")
    for shape in options.shape:
        for name in options.method:
            print(line(name, shape, measured_apart(name, shape, options.limit)), flush=True)


def _fits(name: str) -> bool:
    """Whether a method is for zero-shot tasks whose features and signatures lie in spaces of their own."""
    method = component("methods", name)
    return method.kind == "zero-shot" and SHARED_SPACE not in method.tags


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
