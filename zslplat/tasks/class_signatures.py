"""A signature set as one row per class, for tasks that take any set."""

from __future__ import annotations

import numpy as np

from zslplat.data.dataset import Dataset


class ClassSignatures:
    """A signature set as one row per class: several rows of a class, or those of its images, are averaged."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        found = dataset.signature_set(name)
        self.values, self.per_row, self.y = np.asarray(found.values), found.per_row, dataset.y
        self.described = np.arange(len(found.values)) if found.classes is None else found.classes

    def of_classes(self, ids: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return (len(ids), a); for signatures by image, the means over those of ``rows``."""
        values, described = (self.values[rows], self.y[rows]) if self.per_row else (self.values, self.described)
        return np.stack([values[described == label].mean(axis=0, dtype=np.float64) for label in ids])
