"""What written pages show: their commands, and the table of the user that they speak of."""

from __future__ import annotations

import os
import re
import shlex

import numpy as np
from support import lay_out, run


def commands(page):
    """Return the commands of a page, in order."""
    blocks = re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def write_birds(folder):
    """Write the table of the pages' user, the classes of its rows, and new rows with new classes."""
    rng = np.random.default_rng(0)
    S = rng.random((24, 6))
    names = [f"bird {i}" for i in range(24)]
    y = np.repeat(np.arange(20), 12)
    X = S[y] @ rng.normal(size=(6, 9)) + 0.1 * rng.normal(size=(len(y), 9))
    splits = np.where(y < 15, "train", "test_unseen")
    rows = [[names[c], split, *map(str, x)] for c, split, x in zip(y, splits, X, strict=True)]
    _write_table(folder / "birds.csv", ["label", "split", *(f"f{i}" for i in range(9))], rows)
    attributes = ["class", *(f"a{i}" for i in range(6))]
    described = [[name, *map(str, row)] for name, row in zip(names, S, strict=True)]
    _write_table(folder / "signatures.csv", attributes, described[:20])
    _write_table(folder / "new.csv", attributes, described[20:])
    np.save(folder / "X.npy", X[:5])


def _write_table(path, head, rows):
    path.write_text("".join(",".join(row) + "\n" for row in [head, *rows]))


def carry_out(skill, folder):
    """Carry out the commands of a skill with few trials, in a folder; return [(words, finished process)].

    Packages are laid out as installed ones, not installed.
    """
    path, finished = [], []
    for command in commands(skill.read_text(encoding="utf-8")):
        words = shlex.split(command)
        if "--trials" in words:
            words[words.index("--trials") + 1] = "3"
        if words[:2] == ["pip", "install"]:
            package = folder / words[-1].partition("[")[0]
            path.append(lay_out(package, folder / f"site-{package.name}"))
            continue
        words = words[2:] if words[:2] == ["python", "-m"] else words
        finished.append((words, run(words, os.pathsep.join(path), folder)))
    return finished
