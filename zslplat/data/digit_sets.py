"""Digit sets: rows with several labels, made of real images, that need no file to fetch.

A row is a strip of three places, 8 x 8 pixels each, in which one to three handwritten digits of scikit-learn's
``load_digits`` lie, of different values, at places drawn for each; its labels are the values of its digits. About one
digit in ten is *faint*, at a third of its intensity, and not counted as a label: present, but too hard to ask for, as
the objects that PASCAL VOC marks "difficult".

How images are kept apart: the images of each value are dealt to the parts of the data first, so that no image is in two
of them. With ``parts=train-val-test`` these are ``train``, ``val`` and ``test`` (a quarter, a quarter, and half of the
rows, as in VOC2007); with ``parts=folds`` they are five folds ``fold-1`` to ``fold-5`` for cross-validation.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.digits import Digits
from zslplat.data.source import DataPlaces, DataSource
from zslplat.space import Choice, Integer, Parameter, Real

PLACES, SIDE = 3, 8
FAINT = 1 / 3
PARTS = {
    "train-val-test": {"train": 0.25, "val": 0.25, "test": 0.5},
    "folds": {f"fold-{number}": 0.2 for number in range(1, 6)},
}


class DigitSets(DataSource):
    """Ten labels, one to three of them per row; 192 pixels in [0, 1]; a tenth of the digits faint and not counted.

    Equations
    ---------
    Rows with several labels, some of which are not counted, as in PASCAL VOC.

    Symbols
    -------
    | part       | shape           | meaning                                                   |
    |------------|-----------------|-----------------------------------------------------------|
    | X          | (n, 192)        | three places of 8 x 8 pixels                              |
    | y          | (n, 10)         | 1 present, 0 absent, -1 faint: not counted                |
    | splits     |                 | ``train``, ``val``, ``test``, or five folds               |

    Related
    -------
    ``voc07`` is the real one; ``digits`` has one label for a row.
    """

    summary = "strips of one to three real handwritten digits, ten labels; built in, nothing to fetch"
    licence = Digits.licence
    citation = Digits.citation
    parameters: ClassVar = {
        "seed": Parameter("which images, sets and places are drawn", Integer(0)),
        "rows": Parameter("number of rows", Integer(200, 20000)),
        "parts": Parameter("train, val and test, or five folds of cross-validation", Choice(tuple(PARTS))),
        "faint": Parameter("share of the digits that are faint and not counted", Real(0.0, 0.5)),
    }

    def load(self, places: DataPlaces) -> Dataset:
        """Build the data set; the same options give the same rows anywhere."""
        options = {"seed": 0, "rows": 1200, "parts": "train-val-test", "faint": 0.1, **self.options}
        X, y, splits = _drawn(**options)
        return Dataset(
            name="digit-sets",
            X=X,
            y=y,
            class_names=tuple(str(digit) for digit in range(10)),
            splits=splits,
            description=self.summary,
            licence=self.licence,
            citation=self.citation,
            source={"loader": "digit-sets", **options},
        )


def _drawn(*, seed: int, rows: int, parts: str, faint: float) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return X (n, 192) float32, labels y (n, 10) of 1, 0 and -1, and the rows of every part."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = (bunch.images / 16).astype(np.float32)
    rng = np.random.default_rng([seed, 41])
    shares = PARTS[parts]
    ends = np.cumsum(list(shares.values()))
    by_digit = []
    for digit in range(10):
        own = rng.permutation(np.flatnonzero(bunch.target == digit))
        by_digit.append(np.split(own, np.round(ends[:-1] * len(own)).astype(np.int64)))
    X: list[np.ndarray] = []
    y: list[np.ndarray] = []
    splits = {}
    for part, (name, share) in enumerate(shares.items()):
        count = round(share * rows)
        splits[name] = len(y) + np.arange(count)
        for _ in range(count):
            strip = np.zeros((SIDE, PLACES, SIDE), dtype=np.float32)
            labels = np.zeros(10, dtype=np.int64)
            size = int(rng.integers(1, PLACES + 1))
            for digit, place in zip(rng.permutation(10)[:size], rng.permutation(PLACES)[:size], strict=True):
                is_faint = bool(rng.random() < faint)
                strip[:, place] = images[rng.choice(by_digit[digit][part])] * (FAINT if is_faint else 1.0)
                labels[digit] = -1 if is_faint else 1
            X.append(strip.reshape(-1))
            y.append(labels)
    return np.stack(X), np.stack(y), splits
