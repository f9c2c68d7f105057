"""A small data set as arrays and as CSV files."""

from __future__ import annotations

import numpy as np

from zslplat.data.source import DataPlaces

NAMES = ["ox", "mole", "ant", "bat", "cow", "dog"]


def toy():
    """Six classes of five rows; the last two are unseen."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(6), 5))
    rows = [np.flatnonzero(y == c) for c in range(6)]
    return {
        "X": rng.random((30, 4), dtype=np.float32),
        "y": y,
        "S": rng.random((6, 3)).round(3),
        "class_names": np.array(NAMES),
        "train": np.concatenate([r[:3] for r in rows[:4]]),
        "test_seen": np.concatenate([r[3:] for r in rows[:4]]),
        "test_unseen": np.concatenate(rows[4:]),
        "folds": np.array([[0, 0, 1, 1, -1, -1], [1, 1, 0, 0, -1, -1]]),
        "groups": np.arange(30) // 2 * 10,
    }


def save(folder, drop=(), **changes):
    arrays = {k: v for k, v in {**toy(), **changes}.items() if k not in drop}
    np.savez(folder / "toy.npz", **arrays)
    return DataPlaces(folder, folder / "cache")


def write_csv(path):
    """Write the toy data as one table, with one of signatures beside it; rows have no place for folds."""
    arrays = toy()
    split = np.full(30, "", dtype="U12")
    for name in ("train", "test_seen", "test_unseen"):
        split[arrays[name]] = name
    rows = zip(arrays["y"], split, arrays["groups"], arrays["X"], strict=True)
    lines = ["label,split,group,a,b,c,d"]
    lines += [f"{NAMES[c]},{part},{group},{','.join(repr(float(v)) for v in row)}" for c, part, group, row in rows]
    signatures = [f"{n},{','.join(map(str, row))}" for n, row in zip(NAMES, arrays["S"], strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    path.with_suffix(".signatures.csv").write_text("\n".join(signatures) + "\n")
    return DataPlaces(path.parent, path.parent / "cache")
