"""Zero-shot kernel learning as one inner product, for any nearest-neighbour index.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018, Eq. 13: Nystrom features of both terms of the score,

    k(W'x, y) + k(x, W y) ~ <phi(W'x), phi(y)> + <phi'(x), phi'(W y)>

with phi on the side of the signatures and phi' on the side of the features. The landmarks are signatures y (for phi)
and W y (for phi'), by pivoted incomplete Cholesky, so that classes among the landmarks are scored exactly (their
feature lies in the span of the landmarks) and others approximately.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zslplat.kernels.base import require_psd
from zslplat.kernels.low_rank import LowRank, incomplete_cholesky
from zslplat.methods.zero_shot.zskl.objective import is_dot_product
from zslplat.methods.zero_shot.zskl.zskl import ZSKL


@dataclass(frozen=True)
class Linearised:
    """Features of rows and of classes whose inner product is the score; ``W`` (d, a)."""

    W: np.ndarray
    signature_side: LowRank
    feature_side: LowRank | None

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Return [phi(W'x), phi'(x)] (n, r) for rows X (n, d)."""
        parts = [self.signature_side.transform(X @ self.W)]
        if self.feature_side is not None:
            parts.append(self.feature_side.transform(X))
        return np.hstack(parts)

    def classes(self, S: np.ndarray) -> np.ndarray:
        """Return [phi(y), phi'(W y)] (m, r) for signatures S (m, a)."""
        parts = [self.signature_side.transform(S)]
        if self.feature_side is not None:
            parts.append(self.feature_side.transform(S @ self.W.T))
        return np.hstack(parts)


def linearise(model: ZSKL, S: np.ndarray, *, rank: int | None = None, tolerance: float = 0.0) -> Linearised:
    """Return the linearised form of a fitted model with landmarks out of the signatures S (m, a).

    ``rank`` and ``tolerance`` limit the landmarks of each side as in :func:`incomplete_cholesky`; with neither, all
    rows of S that are independent in feature space serve. Raises :class:`UsageError` for an indefinite kernel.
    """
    kernel = model.kernel_
    require_psd(kernel, "the linearised form")
    W, S = np.asarray(model.W_, dtype=np.float64), np.asarray(S, dtype=np.float64)
    signature_side = incomplete_cholesky(kernel, S, rank=rank, tolerance=tolerance)
    feature_side = None
    if model.both_projections and not is_dot_product(kernel):
        feature_side = incomplete_cholesky(kernel, S @ W.T, rank=rank, tolerance=tolerance)
    return Linearised(W, signature_side, feature_side)
