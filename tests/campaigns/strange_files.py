"""Strange files for the fuzz campaign: data sets in every format, made and damaged.

They are taken as :mod:`strange_texts` says.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strange_texts import CUTS, HUGE, SEEDS, WORDS, Kind, bent, chars, damaged

from zslplat.data.formats.hdf5 import Hdf5Source
from zslplat.data.formats.npy_folder import NpySource
from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.parquet import CsvSource, ParquetSource
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.source import DataPlaces

NOWHERE = DataPlaces()

SHAPES = st.sampled_from(((8, 3), (3, 8), (8,), (8, 1), (), (0, 3), (8, 2, 2), (4, 3), (1, 8), (8, 0), (2, 2, 2, 2)))

TYPES = st.sampled_from(("f8", "f4", "f2", "i8", "u1", "?", ">f8", "c16", "U5", "S4", "M8[s]", "O", "f8", "i8"))

ROLES = (
    "X", "y", "S", "features", "labels", "signatures", "class_names", "train", "test", "test_seen", "test_unseen",
    "split", "folds", "groups", "row_signatures", "signature_classes", "attribute_names", "splits/train", "X_a", "X_b",
    "S_words", "train_loc", "att", "label",
)  # fmt: skip


@st.composite
def arrays(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """Return a data set that is sound, with some of its fields replaced, left out or added."""
    rows = np.random.default_rng(draw(SEEDS))
    found: dict[str, np.ndarray] = {
        "X": rows.normal(size=(8, 3)),
        "y": np.arange(8) % 4,
        "S": rows.normal(size=(4, 2)),
        "train": np.array([0, 1, 4, 5]),
    }
    if draw(st.booleans()):
        found["class_names"] = np.array(["ox", "mole", "bat", "b\u202ea\nd"])
    for name in draw(st.lists(st.one_of(*[st.sampled_from(ROLES)] * 9, WORDS), max_size=3)):
        found[name] = draw(odd_arrays())
    for name in draw(st.lists(st.sampled_from(list(found)), max_size=1)):
        del found[name]
    return found


@st.composite
def odd_arrays(draw: st.DrawFn) -> np.ndarray:
    """Return an array of any type and shape, of whatever is in reach of the type."""
    shape, kind, rows = draw(SHAPES), np.dtype(draw(TYPES)), np.random.default_rng(draw(SEEDS))
    values = rows.choice(
        draw(st.sampled_from(((0, 1), (0, 1, 2, 3), (np.nan, 1), (1e300, -1e300, 0.5), (-1, 2**40)))), shape
    )
    with np.errstate(all="ignore"):
        if kind.kind == "O":
            return np.array([None, {}, "a"], dtype=object)
        return (
            np.asarray(values)
            .astype(np.int64 if kind.kind == "M" and not np.isnan(values).any() else "f8")
            .astype(kind)
        )


def npz_bytes(held: dict[str, np.ndarray]) -> bytes:
    """Return the file that NumPy writes of some arrays."""
    file = io.BytesIO()
    np.savez(
        file,
        **{
            name.replace("\0", "").encode(errors="replace").decode() or "x": a
            for name, a in held.items()
            if name != "file"
        },
    )
    return file.getvalue()


def take_npz(given: tuple[dict[str, np.ndarray], int, int], folder: Path) -> None:
    held, seed, cuts = given
    (folder / "d.npz").write_bytes(damaged(npz_bytes(held), seed, cuts))
    NpzSource(path=str(folder / "d.npz")).load(NOWHERE)


def take_npy(given: tuple[dict[str, np.ndarray], int, int], folder: Path) -> None:
    held, seed, cuts = given
    for number, (name, array) in enumerate(held.items()):
        file = io.BytesIO()
        np.save(file, array)
        name = "".join(c for c in name if c.isalnum() or c in "_-") or "x"
        (folder / f"{name}.npy").write_bytes(damaged(file.getvalue(), seed + number, cuts if number == seed % 3 else 0))
    NpySource(path=str(folder)).load(NOWHERE)


def take_csv(given: tuple[dict[str, str], int, int], folder: Path) -> None:
    files, seed, cuts = given
    for number, (name, text) in enumerate(files.items()):
        content = text.encode("utf-8", "surrogatepass") if seed % 5 else text.encode("utf-16", "surrogatepass")
        (folder / name).write_bytes(damaged(content, seed, cuts if number == seed % len(files) else 0))
    CsvSource(path=str(folder / "d.csv")).load(NOWHERE)


def take_mat(given: tuple[dict[str, np.ndarray], bool, int, int, int], folder: Path) -> None:
    import scipy.io

    odd, compressed, seed, cuts, which = given
    rows = np.random.default_rng(seed)
    files: list[dict[str, Any]] = [
        {"features": rows.normal(size=(3, 8)), "labels": np.arange(8)[:, None] % 4 + 1.0},
        {
            "att": rows.normal(size=(2, 4)),
            "allclasses_names": np.array([["ox"], ["mole"], ["bat"], ["b\u202ead"]], dtype=object),
            "trainval_loc": np.array([[1, 2, 5]]),
            "test_seen_loc": np.array([[6]]),
            "test_unseen_loc": np.array([[3, 4, 7, 8]]),
        },
    ]
    files[which] |= {
        name: a
        for name, a in odd.items()
        if a.dtype.kind in "biuf" and a.size and name.isascii() and name.isidentifier()
    }
    for number, name in enumerate(("res101.mat", "att_splits.mat")):
        file = io.BytesIO()
        scipy.io.savemat(file, files[number], do_compression=compressed)
        (folder / name).write_bytes(damaged(file.getvalue(), seed, cuts if number == which else 0))
    Xlsa17(path=str(folder)).load(NOWHERE)


def take_parquet(given: tuple[dict[str, np.ndarray], str, int, int], folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    held, compression, seed, cuts = given
    rows = np.random.default_rng(seed)
    columns: dict[str, Any] = {"X": list(rows.normal(size=(8, 3))), "y": [f"c{k % 4}" for k in range(8)]}
    for name, a in held.items():
        if a.ndim in (1, 2) and len(a) == 8 and a.dtype.kind in "biufUM":
            columns[name.replace("\0", "").encode(errors="replace").decode()] = list(
                a.astype(a.dtype.newbyteorder("="))
            )
    pq.write_table(pa.table(columns), folder / "d.parquet", compression=compression, row_group_size=5)
    (folder / "d.parquet").write_bytes(damaged((folder / "d.parquet").read_bytes(), seed, cuts))
    ParquetSource(path=str(folder / "d.parquet")).load(NOWHERE)


def take_hdf5(given: tuple[dict[str, np.ndarray], bool, int, int], folder: Path) -> None:
    import h5py

    held, chunked, seed, cuts = given
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        for name, a in held.items():
            name = name.strip("/.\0").encode(errors="replace").decode()
            if name and name not in opened and a.dtype.kind in "biufcS":
                chunks = {"chunks": True, "compression": "gzip"} if chunked and a.size and a.ndim else {}
                opened.create_dataset(name.replace("/", "_"), data=a, **chunks)
    (folder / "d.h5").write_bytes(damaged(file.getvalue(), seed, cuts))
    Hdf5Source(path=str(folder / "d.h5")).load(NOWHERE)


CSV_NAMES = ("d.csv", "d.signatures.csv", "d.card.toml")

SOUND_CSV = {
    "d.csv": "label,split,a,b\n"
    + "".join(f"c{k % 4},{'train' if k % 4 < 2 else 'test_unseen'},{k},{k / 3}\n" for k in range(8)),
    "d.signatures.csv": "".join(f"c{k},{k},{k * k}\n" for k in range(4)),
}


@st.composite
def csv_folders(draw: st.DrawFn) -> dict[str, str]:
    """Return the files of a folder."""
    files = dict(SOUND_CSV)
    for name in draw(st.lists(st.sampled_from(CSV_NAMES), max_size=2)):
        files[name] = draw(
            st.one_of(
                bent(st.just(files.get(name, "c0,train\nc1,validation\n")), ',"\n1e'),
                chars(',"\n1e.-'),
                st.sampled_from(HUGE),
            )
        )
    return files


MEMBERS = st.lists(
    st.one_of(
        st.sampled_from(("a/b_splits.mat", "a/res101.mat", "../x", "/etc/x", "a/../../x", "c/d/e_splits.mat", "a\\b")),
        st.sampled_from(("C:x", "a/b_splits.mat/c", "n" * 300 + "/a_splits.mat", "CON/a_splits.mat")),
        st.text("ab/._\x1b\n\u202e", max_size=9).map(lambda text: text + "/q_splits.mat"),
    ),
    max_size=4,
)

FILES = {
    "npz": Kind(st.tuples(arrays(), SEEDS, CUTS), take_npz, 80),
    "npy": Kind(st.tuples(arrays(), SEEDS, CUTS), take_npy, 30),
    "csv": Kind(st.tuples(csv_folders(), SEEDS, CUTS), take_csv, 70),
    "mat": Kind(st.tuples(arrays(), st.booleans(), SEEDS, CUTS, st.sampled_from((0, 1))), take_mat, 30),
    "parquet": Kind(st.tuples(arrays(), st.sampled_from(("none", "snappy", "zstd")), SEEDS, CUTS), take_parquet, 30),
    "hdf5": Kind(st.tuples(arrays(), st.booleans(), SEEDS, CUTS), take_hdf5, 20),
}
