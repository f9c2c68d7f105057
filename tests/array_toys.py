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


def write_csv(folder, drop=(), **texts):
    """The toy data as CSV files; ``texts`` replaces files (``labels="..."`` for labels.csv)."""
    arrays = toy()
    split = np.full(30, "", dtype="U12")
    for name in ("train", "test_seen", "test_unseen"):
        split[arrays[name]] = name
    side = {1: "validation", 0: "train", -1: ""}
    files = {
        "features": "\n".join(",".join(repr(float(v)) for v in row) for row in arrays["X"]),
        "labels": "\n".join(NAMES[c] for c in arrays["y"]),
        "signatures": "\n".join([f"{n}," + ",".join(map(str, r)) for n, r in zip(NAMES, arrays["S"], strict=True)]),
        "splits": "\n".join(split),
        "folds": "\n".join(f"{n},{side[a]},{side[b]}" for n, a, b in zip(NAMES, *arrays["folds"], strict=True)),
        "groups": "\n".join(map(str, arrays["groups"])),
        **texts,
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if name not in drop:
            (folder / f"{name}.csv").write_text(text + "\n")
    return DataPlaces(folder.parent, folder.parent / "cache")
