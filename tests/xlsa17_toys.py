"""A small data set in the layout of Xian et al., and writers of MATLAB files."""

from __future__ import annotations

import h5py
import numpy as np
import scipy.io
import scipy.sparse

from zslplat.data.source import DataPlaces


def write_v73(path, variables):
    """Write a file as MATLAB 7.3 does: HDF5 behind a header of 512 bytes, matrices transposed, cells as references."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if isinstance(value, list):
                references = np.empty((1, len(value)), dtype=h5py.ref_dtype)
                for number, text in enumerate(value):
                    if text:
                        codes = np.array([[ord(character)] for character in text], dtype=np.uint16)
                        cell = file.create_dataset(f"#refs#/{name}{number}", data=codes)
                    else:
                        cell = file.create_dataset(f"#refs#/{name}{number}", data=np.zeros(2, dtype=np.uint64))
                        cell.attrs["MATLAB_empty"] = np.uint8(1)
                    cell.attrs["MATLAB_class"] = np.bytes_("char")
                    references[0, number] = cell.ref
                file.create_dataset(name, data=references, dtype=h5py.ref_dtype)
                file[name].attrs["MATLAB_class"] = np.bytes_("cell")
            elif scipy.sparse.issparse(value):
                columns = scipy.sparse.csc_matrix(value)
                group = file.create_group(name)
                group.attrs["MATLAB_sparse"] = np.uint64(columns.shape[0])
                group["data"], group["ir"], group["jc"] = columns.data, columns.indices, columns.indptr
            else:
                file.create_dataset(name, data=np.asarray(value).T)
                file[name].attrs["MATLAB_class"] = np.bytes_(str(np.asarray(value).dtype))
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(128))


def write_v5(path, variables):
    cells = {
        k: np.array([[text] for text in v], dtype=object) if isinstance(v, list) else v for k, v in variables.items()
    }
    scipy.io.savemat(path, cells, do_compression=True)


WRITERS = {"v5": write_v5, "v7.3": write_v73}


SEEN, UNSEEN = [0, 1, 2, 4, 5, 7], [3, 6]
NAMES = ["ox", "mole", "ant", "bat", "cow", "dog", "elk", "fox"]  # not sorted, on purpose


LISTS = {
    "trainclasses1.txt": ["ox", "mole", "ant", "cow"],
    "valclasses1.txt": ["dog", "fox"],
    "trainclasses2.txt": ["dog", "fox", "ant", "cow"],
    "valclasses2.txt": ["ox", "mole"],
}


def toy_arrays():
    """Eight classes of ten rows each, shuffled; six seen classes with 7 training and 3 test rows each."""
    rng = np.random.default_rng(5)
    y = rng.permutation(np.repeat(np.arange(8), 10))
    X = rng.integers(0, 200, (80, 6))
    parts = {"trainval_loc": [], "test_seen_loc": [], "test_unseen_loc": []}
    for label in range(8):
        rows = np.flatnonzero(y == label) + 1
        if label in UNSEEN:
            parts["test_unseen_loc"] += rows.tolist()
        else:
            parts["trainval_loc"] += rows[:7].tolist()
            parts["test_seen_loc"] += rows[7:].tolist()
    return X, y, rng.random((8, 5)), {key: np.array([rows]).T for key, rows in parts.items()}


def write_folder(
    folder, *, kind="v5", index_type=np.uint16, label_type=np.uint8, lists=LISTS, features=None, splits=None, drop=()
):
    """Write a toy data set; ``features`` and ``splits`` replace variables, ``drop`` leaves some out."""
    X, y, S, parts = toy_arrays()
    folder.mkdir(parents=True, exist_ok=True)
    content = {"features": X.T.astype(np.uint8), "labels": (y[:, None] + 1).astype(label_type), **(features or {})}
    WRITERS[kind](folder / "res101.mat", content)
    content = {
        "att": S.T,
        "original_att": 100 * S.T,
        "allclasses_names": NAMES,
        **{key: rows.astype(index_type) for key, rows in parts.items()},
        **(splits or {}),
    }
    WRITERS[kind](folder / "att_splits.mat", {k: v for k, v in content.items() if k not in drop})
    for name, classes in lists.items():
        (folder / name).write_text("\n".join(classes) + "\n")
    return DataPlaces(folder.parent, folder.parent / "cache")
