"""SynC with the multi-class hinge: margins of 1, or the distances of signatures (train_W_CS.m, train_W_struct.m)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from zslplat.methods.base import Arrays
from zslplat.methods.zero_shot.sync import multiclass_hinge
from zslplat.methods.zero_shot.sync.synthesis import LAM, SYNTHESIS, SynthesisedClassifiers, bounds


class SynCCrammerSinger(SynthesisedClassifiers):
    """Synthesised classifiers from the multi-class hinge of Crammer and Singer (Changpinyo et al., 2016).

    The mean over rows of max_c (1(c != y) + x w_c' - x w_y'), plus lam / 2 |W|^2, is minimised by coordinate ascent in
    the dual until the duality gap is ``gap`` of the value, or after ``passes`` over the rows: very small ``lam`` may
    need more, and ``relative_gap`` says what was reached. See :mod:`synthesis` for symbols, units, and what departs
    from the authors' code.
    """

    summary = "synthesised classifiers, multi-class hinge of the seen classes (Crammer-Singer)"
    tags = ("inductive", "linear", "convex")
    tolerance = 1e-2
    tolerance_reason = "training stops at a duality gap, where classifiers still differ by about its root"
    costly = ("lam", "gap", "passes")
    parameters = {"lam": LAM, **SYNTHESIS, **bounds(1e-3, "passes", 200)}
    gap: float
    passes: int

    def train(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, lam: float) -> Arrays:
        """Return the classifiers, with the value and the relative duality gaps of the training."""
        found = multiclass_hinge.solve(X, y, self.margins(S), lam, self.gap, self.passes)
        return {
            "W": found.W,
            "relative_gap": np.asarray(found.gaps),
            "value": np.asarray(found.value),
            "passes_made": np.asarray(found.passes),
        }

    def margins(self, S: np.ndarray) -> np.ndarray:
        """Return the margin (r, r) that each class keeps from rows of each other one."""
        return 1 - np.eye(len(S))


class SynCStructured(SynCCrammerSinger):
    """Synthesised classifiers from the multi-class hinge with margins |a_c - a_y| (Changpinyo et al., 2016).

    The Euclidean distance of the scaled signatures takes the place of 1(c != y); else as
    :class:`SynCCrammerSinger`.
    """

    summary = "synthesised classifiers, multi-class hinge with distances of signatures as margins"

    def margins(self, S: np.ndarray) -> np.ndarray:
        """Return the distances (r, r) between scaled signatures."""
        return np.asarray(cdist(S, S))
