"""Studies of data that are larger than the memory they may take: seconds, memory and disk by number of rows.

    python benchmarks/beyond_memory.py --rows 10000 100000 --methods eszsl sae --memory 2 --scratch /big/folder

For each number of rows a data set of several parts is drawn (100 classes, 85 signatures, rows x dimensions float32, not
negative, as the features of networks are; written block by block) and imported under its name, and each method is tuned
on it in processes of its own. Columns:

rows, GB          the data set, and the bytes of its features
step              ``import``, ``prepare`` (the first load, which keeps the rows in the store), or a method: ``tune``
wall s, cpu s     seconds by the clock, and processor seconds of all processes
peak GB           the most memory of all processes together: the sum of their proportional set sizes, sampled
disk x            the most that data root and store took beside the original, in units of the data, sampled
value             what the study found: the primary metric of its best trial

``--cold`` evicts the files of the data root and the store from the page cache before each step.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

CLASSES, SIGNATURES, BLOCK = 100, 85, 10000
UNSEEN = 20
# Similarities are an array of queries x gallery, and rows that are clustered are one of rows x features.
TASKS = {"slem": "exemplar-retrieval(queries=200)", "semfs": "feature-selection(rows=5000)"}


def drawn_blocks(rows: int, dimensions: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield features (b, d), labels (b,) and names of splits (b,) of so many rows in all, the same for the same seed.

    The last classes are unseen; a fifth of the others' rows is for the test.
    """
    rng = np.random.default_rng([seed, 0])
    signatures = class_signatures(seed)
    means = (signatures - signatures.mean(axis=0)) @ rng.standard_normal((SIGNATURES, dimensions)) * 0.25
    mixing = rng.standard_normal((64, dimensions)).astype(np.float32) * 0.5
    for start in range(0, rows, BLOCK):
        own = np.random.default_rng([seed, 1, start])
        count = min(BLOCK, rows - start)
        y = own.integers(0, CLASSES, count)
        X = own.standard_normal((count, dimensions), dtype=np.float32)
        X += own.standard_normal((count, 64), dtype=np.float32) @ mixing
        X += means[y].astype(np.float32)
        split = np.where(own.random(count) < 0.2, "test_seen", "train")
        yield np.maximum(X, 0, out=X), y, np.where(y >= CLASSES - UNSEEN, "test_unseen", split)


def class_signatures(seed: int) -> np.ndarray:
    """Return the signatures (c, a) of all classes."""
    return np.random.default_rng([seed, 2]).random((CLASSES, SIGNATURES))


def write_data(folder: Path, rows: int, dimensions: int, layout: str, parts: int, seed: int) -> int:
    """Write the data set as a folder of so many parts; return the bytes of its features."""
    folder.mkdir(parents=True)
    per_part = -(-rows // parts)
    labels, splits = [], []
    number, written, part = 0, 0, None
    for X, y, split in drawn_blocks(rows, dimensions, seed):
        labels.append(y)
        splits.append(split)
        while len(X):
            if part is None:
                part = PARTS[layout](folder, number + 1, min(per_part, rows - number * per_part), dimensions)
                number, written = number + 1, 0
            count = min(len(X), per_part - written)
            part.write(X[:count], y[:count], split[:count])
            X, y, split, written = X[count:], y[count:], split[count:], written + count
            if written == min(per_part, rows - (number - 1) * per_part):
                part.close()
                part = None
    _write_classes(folder, layout, np.concatenate(labels), class_signatures(seed), np.concatenate(splits))
    return rows * dimensions * 4


class NpyPart:
    """A part of the features as an ``.npy`` file."""

    def __init__(self, folder: Path, number: int, rows: int, dimensions: int) -> None:
        (folder / "features").mkdir(exist_ok=True)
        self.file = (folder / "features" / f"part-{number}.npy").open("wb")
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, dimensions)}
        np.lib.format.write_array_header_2_0(self.file, header)

    def write(self, X: np.ndarray, y: np.ndarray, split: np.ndarray) -> None:
        """Add rows."""
        self.file.write(np.ascontiguousarray(X).data)

    def close(self) -> None:
        """End the part."""
        self.file.close()


class ParquetPart:
    """A part as a Parquet file with a column of lists."""

    def __init__(self, folder: Path, number: int, rows: int, dimensions: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.arrow = pa
        row = pa.list_(pa.float32(), dimensions)
        self.schema = pa.schema([("features", row), ("label", pa.int64()), ("split", pa.string())])
        self.file = pq.ParquetWriter(folder / f"part-{number}.parquet", self.schema, compression="none")

    def write(self, X: np.ndarray, y: np.ndarray, split: np.ndarray) -> None:
        """Add rows, as row groups."""
        pa = self.arrow
        for i in range(0, len(X), 2048):
            block = X[i : i + 2048]
            lists = pa.FixedSizeListArray.from_arrays(pa.array(block.reshape(-1)), block.shape[1])
            columns = [lists, pa.array(y[i : i + 2048]), pa.array(split[i : i + 2048])]
            self.file.write_table(pa.table(columns, schema=self.schema))

    def close(self) -> None:
        """End the part."""
        self.file.close()


class Hdf5Part:
    """A part as an HDF5 file."""

    def __init__(self, folder: Path, number: int, rows: int, dimensions: int) -> None:
        import h5py

        self.file = h5py.File(folder / f"part-{number}.h5", "w")
        self.X = self.file.create_dataset("features", (rows, dimensions), "f4", chunks=(min(rows, 256), dimensions))
        self.y = self.file.create_dataset("labels", (rows,), "i8")
        self.start = 0

    def write(self, X: np.ndarray, y: np.ndarray, split: np.ndarray) -> None:
        """Add rows."""
        self.X[self.start : self.start + len(X)], self.y[self.start : self.start + len(X)] = X, y
        self.start += len(X)

    def close(self) -> None:
        """End the part."""
        self.file.close()


PARTS: dict[str, Callable[[Path, int, int, int], Any]] = {"npy": NpyPart, "parquet": ParquetPart, "hdf5": Hdf5Part}


def _write_classes(folder: Path, layout: str, y: np.ndarray, signatures: np.ndarray, split: np.ndarray) -> None:
    rows = {name: np.flatnonzero(split == name) for name in np.unique(split).tolist()}
    if layout == "npy":
        np.save(folder / "labels.npy", y)
        np.save(folder / "signatures.npy", signatures)
        np.savez(folder / "splits.npz", **rows)
    elif layout == "hdf5":
        import h5py

        with h5py.File(folder / "classes.h5", "w") as file:
            file["signatures"] = signatures
            for name, index in rows.items():
                file[f"splits/{name}"] = index
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({"class": pa.array(np.arange(CLASSES)), "signature": list(signatures)})
        pq.write_table(table, folder / "signatures.parquet")


@dataclass
class Measured:
    """What a command took: seconds, processor seconds, most bytes of memory and of disk, and what it printed."""

    wall: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    disk: int = 0
    output: str = ""
    by_process: dict[str, int] = field(default_factory=dict)


def measured(command: list[str], environment: dict[str, str], folders: list[Path], original: Path) -> Measured:
    """Run a command and watch it."""
    found = Measured()
    known = {path.stat().st_ino for path in original.rglob("*")}
    ended = threading.Event()
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    seconds: dict[int, float] = {}

    def watch() -> None:
        while not ended.wait(0.25):
            sizes = tree_bytes(process.pid, seconds)
            if sum(sizes.values()) > found.memory:
                found.memory, found.by_process = sum(sizes.values()), sizes

    def watch_disk() -> None:
        while not ended.wait(0.5):
            found.disk = max(found.disk, disk_bytes(folders, known))

    watchers = [threading.Thread(target=watch), threading.Thread(target=watch_disk)]
    for watcher in watchers:
        watcher.start()
    output, errors = process.communicate()
    ended.set()
    for watcher in watchers:
        watcher.join()
    found.wall = time.perf_counter() - start
    # As they were last seen: what a killed process took is counted nowhere else.
    found.cpu = sum(seconds.values())
    found.disk = max(found.disk, disk_bytes(folders, known))
    found.output = output
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{output}\n{errors}")
    return found


def tree_bytes(pid: int, seconds: dict[int, float]) -> dict[str, int]:
    """Return the proportional set size of a process and of each of its descendants; note their processor seconds."""
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return {}
    found = {}
    for number, process in enumerate(processes):
        try:
            # A process that has ended meanwhile has no file.
            times = process.cpu_times()
            seconds[process.pid] = times.user + times.system
            for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    found[f"{process.name()} {number}"] = int(line.split()[1]) * 1024
        except (OSError, psutil.Error):
            continue
    return found


def disk_bytes(folders: list[Path], known: set[int]) -> int:
    """Return what files take on disk, those of the original not counted where they are linked."""
    counted: dict[int, int] = {}
    for folder in folders:
        for path, _, names in os.walk(folder):
            for name in names:
                try:
                    status = os.stat(os.path.join(path, name))
                except OSError:
                    continue
                if status.st_ino not in known:
                    counted[status.st_ino] = status.st_blocks * 512
    return sum(counted.values())


def evict(folders: list[Path]) -> None:
    """Drop the files of folders from the page cache."""
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10000, 100000])
    parser.add_argument("--methods", nargs="+", default=["eszsl", "sae", "ridge-prototypes", "mfmr", "slem", "semfs"])
    parser.add_argument("--dimensions", type=int, default=2048)
    parser.add_argument("--layout", choices=sorted(PARTS), default="npy")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--memory", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--set", nargs="*", default=[], help="what is fixed in every study: k=10")
    parser.add_argument("--scratch", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--processes", action="store_true", help="say what each process held at the peak")
    asked = parser.parse_args()
    table = Table(title=f"{asked.layout}, --memory {asked.memory:g} --workers {asked.workers} --trials {asked.trials}")
    for column in ("rows", "GB", "step", "wall s", "cpu s", "peak GB", "disk x", "value"):
        table.add_column(column, justify="left" if column == "step" else "right")
    for rows in asked.rows:
        with tempfile.TemporaryDirectory(dir=asked.scratch) as name:
            for row in measured_at(rows, Path(name), asked):
                table.add_row(*row)
                print("\t".join(row), file=sys.stderr, flush=True)
    Console(width=110).print(table)


def measured_at(rows: int, folder: Path, asked: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table for one number of rows."""
    original, root = folder / "original", folder / "root"
    size = write_data(original, rows, asked.dimensions, asked.layout, asked.parts, asked.seed)
    program = [sys.executable, "-m", "zslplat"]
    stores = [root, folder / "store"]

    def line(step: str, found: Measured, value: str = "") -> tuple[str, ...]:
        cells = f"{found.wall:.1f}", f"{found.cpu:.1f}", f"{found.memory / 1e9:.2f}", f"{found.disk / size:.2f}"
        return str(rows), f"{size / 1e9:.2f}", step, *cells, value

    environment = {**os.environ, "ZSLPLAT_DATA_ROOT": str(root), "ZSLPLAT_STORE": str(folder / "store")}
    steps: list[tuple[str, list[str]]] = [
        ("import", ["data", "import", str(original), "--name", "large", "--link"]),
        ("prepare", ["data", "info", "large"]),
    ]
    limits = ["--memory", str(asked.memory), "--workers", str(asked.workers), "--trials", str(asked.trials)]
    fixed = [word for value in asked.set for word in ("--set", value)]
    for method in asked.methods:
        wanted = ["--method", method, "--dataset", "large", "--task", TASKS.get(method, "zsl"), "--json"]
        steps.append((method, ["tune", *wanted, *limits, *fixed]))
    for step, words in steps:
        if asked.cold:
            evict([original, *stores])
        found = measured([*program, *words], environment, stores, original)
        value = _value(found.output) if step in asked.methods else ""
        if asked.processes:
            shares = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in found.by_process.items())
            print(f"  {step}, MB at the peak: {shares}", file=sys.stderr, flush=True)
        yield line(step, found, value)
        if step in asked.methods:
            _forget(folder / "store")


def _value(output: str) -> str:
    told = json.loads(output)
    value = told["validation"].get(told["primary"])
    return f"{value:.4f}" if isinstance(value, float) else ""


def _forget(store: Path) -> None:
    """Remove what studies left, so that every method starts from the kept rows alone."""
    for path in store.iterdir():
        if path.name != "cache":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(store / "cache" / "prepared", ignore_errors=True)


if __name__ == "__main__":
    main()
