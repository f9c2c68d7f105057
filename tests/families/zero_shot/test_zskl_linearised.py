"""Eq. 13 of zero-shot kernel learning: with Nystrom features of both terms, the score is one inner product.

    k(W'x, y) + k(x, W y) ~ <phi(W'x), phi(y)> + <phi'(x), phi'(W y)>

with phi on the side of the signatures and phi' on the side of the features. The landmarks are signatures y (for phi)
and W y (for phi'), by pivoted incomplete Cholesky, so that classes among the landmarks are scored exactly (their
feature lies in the span of the landmarks) and others approximately.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from zslplat.families.zero_shot.methods.zskl.zskl import ZSKL, ZSKLOrt
from zslplat.kernels.base import require_psd
from zslplat.kernels.low_rank import LowRank, incomplete_cholesky


def zero_shot(seen=12, unseen=4, n=240, d=20, a=6, seed=0):
    """Features that are a linear image of the signature plus noise; rows and signatures of unit length."""
    random = np.random.default_rng(seed)
    S = random.standard_normal((seen + unseen, a))
    y = random.permutation(np.arange(n) % (seen + unseen))
    X = S[y] @ random.standard_normal((a, d)) + 0.5 * random.standard_normal((n, d))
    X, S = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (X, S))
    train = y < seen
    return X[train].astype(np.float32), y[train], S[:seen], X[~train].astype(np.float32), S[seen:]


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
    if model.both_projections and not kernel.of_inner_product_alone:
        feature_side = incomplete_cholesky(kernel, S @ W.T, rank=rank, tolerance=tolerance)
    return Linearised(W, signature_side, feature_side)


@pytest.mark.parametrize("kernel", ["gaussian(sigma=1)", "polynomial(r=2)", "0.5*cauchy(sigma=1)+0.5*linear"])
@pytest.mark.parametrize("cls", [ZSKL, ZSKLOrt])
def test_linearised_form_is_exact_on_its_landmarks(cls, kernel):
    X, y, S, X_new, S_new = zero_shot()
    model = cls(kernel, epochs=3, lam=5.0).fit(X, y, S)
    pool = np.vstack([S, S_new])
    form = linearise(model, pool)
    scores = form.rows(X_new) @ form.classes(pool).T
    np.testing.assert_allclose(scores, model.decision_function(X_new, pool), atol=2e-5)
    # Classes that are no landmarks are approximated, the better the more landmarks there are.
    errors = []
    for rank in (3, len(S)):
        form = linearise(model, S, rank=rank)
        found = form.rows(X_new) @ form.classes(S_new).T
        errors.append(np.abs(found - model.decision_function(X_new, S_new)).max())
    assert errors[1] <= errors[0] + 1e-5
