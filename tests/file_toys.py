"""The small data set of ``array_toys`` as ``.npy``, Parquet and HDF5 files."""

from __future__ import annotations

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from array_toys import NAMES, toy

SPLITS = ("train", "test_seen", "test_unseen")


def split_names(arrays):
    """Return the split of each row, an empty text for rows of none."""
    names = np.full(len(arrays["y"]), "", dtype="U12")
    for split in SPLITS:
        names[arrays[split]] = split
    return names


def write_npy(folder, drop=(), **changes):
    """Write each array as a file."""
    folder.mkdir(parents=True)
    arrays = {**toy(), **changes}
    names = {"X": "features", "y": "labels", "S": "signatures"}
    for key, values in arrays.items():
        if key in drop:
            continue
        np.save(folder / f"{names.get(key, key)}.npy", values)
    return folder


def lists_of(X, **types):
    """Return a column of lists of equal length."""
    return pa.FixedSizeListArray.from_arrays(pa.array(X.reshape(-1)), X.shape[1])


def table(arrays, rows=slice(None), *, features="lists", labels="names"):
    """Return rows as a table: features as lists (of fixed length, or not) or as one column per dimension."""
    X = arrays["X"][rows]
    if features == "lists":
        columns = {"features": lists_of(X)}
    elif features == "ragged type":
        columns = {"features": pa.array(X.tolist(), pa.list_(pa.float32()))}
    else:
        columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
    y = arrays["y"][rows]
    columns["label"] = np.array(NAMES)[y] if labels == "names" else y
    split = split_names(arrays)[rows]
    columns["split"] = pa.array([name or None for name in split])
    columns["group"] = arrays["groups"][rows]
    columns["path"] = [f"{i}.jpg" for i in np.arange(len(arrays["y"]))[rows]]
    folds = np.where(arrays["folds"] == 1)
    fold_of = {label: fold for fold, label in zip(*folds, strict=True)}
    columns["fold"] = pa.array([fold_of.get(label) for label in y], pa.int64())
    return pa.table(columns)


def signature_table(arrays):
    """Return the signatures, one row per class."""
    S = arrays["S"]
    return pa.table({"class": NAMES, **{f"a{j}": S[:, j] for j in range(S.shape[1])}})


def write_parquet(folder, parts=1, *, row_group_size=7, **how):
    """Write the toy data as a folder of several Parquet files, numbered without leading zeros, and the signatures."""
    folder.mkdir(parents=True)
    arrays = toy()
    for number, rows in enumerate(np.array_split(np.arange(len(arrays["y"])), parts)):
        pq.write_table(table(arrays, rows, **how), folder / f"part-{number}.parquet", row_group_size=row_group_size)
    pq.write_table(signature_table(arrays), folder / "signatures.parquet")
    return folder


def write_hdf5(path, arrays=None, rows=slice(None), *, chunks=None, shared=True, **more):
    """Write rows of the toy data as one file; ``shared``: also what describes the classes, and the splits."""
    arrays = arrays or toy()
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        compression = {"compression": "gzip"} if chunks else {}
        file.create_dataset("features", data=arrays["X"][rows], chunks=chunks, **compression)
        file["labels"] = arrays["y"][rows]
        file["groups"] = arrays["groups"][rows]
        if shared:
            write_shared(file, arrays)
        for name, values in more.items():
            file[name] = values
    return path


def write_shared(file, arrays):
    """Write signatures, names, folds and splits into an open file."""
    file["signatures"] = arrays["S"]
    file["class_names"] = [str(name) for name in arrays["class_names"]]
    file["folds"] = arrays["folds"]
    for split in SPLITS:
        file[f"splits/{split}"] = arrays[split]
