"""Signatures whose directions are made more equally strong, for features that shall tell all classes apart.

| symbol  | here    | shape  | meaning                                                              |
|---------|---------|--------|----------------------------------------------------------------------|
| Phi     | phi     | (c, m) | signatures of the classes                                            |
| A, e, V |         |        | Phi - mean = A diag(e) V', without the e_j that are zero             |
| delta   | degree  |        | degree, in [0, 1]                                                    |
| T       | forward | (m, r) | V diag(e^-delta): the target becomes Phi T                           |
|         | back    | (r, m) | diag(e^delta) V', which turns weights for Phi T into weights for Phi |

A few strong directions carry most of the variance of signatures (attributes come in correlated bundles), and a
regression on them spends its features there. The kernel of the classes, (Phi - mean)(Phi - mean)', becomes
A diag(e^(2 - 2 delta)) A'. At degree 0 it is that of the signatures. At degree 1 it is the projection on their span:
where signatures tell all classes apart (r = c - 1) that is the kernel of one-hot labels, so that the degree leads from
signatures to labels; with fewer attributes than classes it stays within what the attributes say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Singular values below this share of the largest are rounding, which a power below 1 would blow up.
NEGLIGIBLE = 1e-8


@dataclass(frozen=True)
class Decorrelation:
    """``forward`` (m, r) makes the target, and ``back`` (r, m) turns weights for it into weights for the signatures."""

    forward: np.ndarray
    back: np.ndarray


def decorrelation(phi: np.ndarray, degree: float) -> Decorrelation | None:
    """Return the maps for class signatures phi (c, m); None where nothing changes (degree 0, equal classes)."""
    if degree == 0:
        return None
    _, e, Vt = np.linalg.svd(phi - phi.mean(axis=0), full_matrices=False)
    significant = e > NEGLIGIBLE * np.linalg.norm(phi)
    if not significant.any():
        return None
    strength = e[significant] ** degree
    return Decorrelation(Vt[significant].T / strength, strength[:, None] * Vt[significant])
