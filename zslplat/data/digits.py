"""Handwritten digits for classification: scikit-learn's 1797 images of 8 x 8 pixels, built in."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.source import DataPlaces, DataSource
from zslplat.space import Choice, Parameter


class Digits(DataSource):
    """1797 x 64 in [0, 1], ten classes, no splits of its own; ``unit`` rows of length 1 by default.

    Equations
    ---------
    A classification data set that is there after the installation, for the methods of kind coding.

    Symbols
    -------
    | part       | shape           | meaning                                                   |
    |------------|-----------------|-----------------------------------------------------------|
    | X          | (1797, 64)      | pixels in [0, 1], 8 x 8                                   |
    | y          | (1797,)         | the digit, 0 to 9                                         |

    Related
    -------
    ``digit-sets`` has several labels for a row; ``digit-pairs`` is zero-shot.
    """

    summary = "1797 handwritten digits, 64 pixels, ten classes; built in, nothing to fetch"
    licence = "CC BY 4.0 (Optical Recognition of Handwritten Digits, UCI Machine Learning Repository)"
    citation = (
        "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998; "
        "test part as distributed with scikit-learn (load_digits)"
    )
    parameters: ClassVar = {
        "scale": Parameter("rows of unit length, or pixels in [0, 1]", Choice(("unit", "pixels"))),
    }

    def load(self, places: DataPlaces) -> Dataset:
        """Build the data set."""
        from sklearn.datasets import load_digits

        bunch = load_digits()
        X = (bunch.data / 16).astype(np.float32)
        if self.options.get("scale", "unit") == "unit":
            X /= np.linalg.norm(X, axis=1, keepdims=True)
        return Dataset(
            name="digits",
            X=X,
            y=np.asarray(bunch.target, dtype=np.int64),
            class_names=tuple(str(digit) for digit in range(10)),
            description=self.summary,
            licence=self.licence,
            citation=self.citation,
            source={"loader": "digits", **self.options},
        )
