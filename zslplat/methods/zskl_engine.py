"""Mini-batch gradients of zero-shot kernel learning, in place: a few matrix products a step.

Symbols as in :mod:`zslplat.methods.zskl_objective`; b rows in the batch.

| symbol | shape | meaning |
|---|---|---|
| Z | (b, a) | X_b W, shared by both kernels |
| t | (b, c) | Z S', the inner products of both: <W'x, s> = <x, W s> |
| M | (a, a) | W'W |
| P | (c, d) | S W' |
| R | (b, a) | what X_b' multiplies in the gradient |
| Q | (a, a) | what W multiplies in the gradient |

Distances are expanded, |x - W s|^2 = |x|^2 - 2 t + |W s|^2, with |W s|^2 from s'M s (2 d a^2 operations with the
gradient's W Q; M is symmetric and costs half) or from P (4 d c a with the gradient's P diag(.) S), whichever is
cheaper. The gradient X_b'R + W Q is written in blocks of rows of W, each of which is used up before the next, so that
it stays in the cache; what a step allocates is of the size of (b, c).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zslplat.kernels.composition import InnerProductSum
from zslplat.kernels.inner_product import InnerProductKernel, Partial, RadialKernel, squared_norms
from zslplat.methods import zskl_fused
from zslplat.methods.zskl_objective import Objective

# Entries of one block of the gradient: 256 KiB in single precision, so that its block of W, of the moving average and
# of both parts of the gradient fit into a second-level cache of 1 MiB.
BLOCK_ENTRIES = 1 << 16


class Engine:
    """Loss and gradient of Eq. 9, 10 or 11 on batches of rows; works in the dtype of W, float32 or float64.

    ``X`` (n, d) C-contiguous, ``y`` (n,), ``W`` (d, a) C-contiguous, changed by whoever owns it between calls;
    ``batch`` the most rows of one call. :meth:`forward` takes a batch and returns its loss; :meth:`blocks` then yields
    the gradient piece by piece, and the owner may move the rows of W that belong to a piece at once.
    """

    def __init__(
        self,
        kernel: InnerProductKernel,
        objective: Objective,
        X: np.ndarray,
        y: np.ndarray,
        S: np.ndarray,
        W: np.ndarray,
        batch: int,
        *,
        learn_weights: bool = False,
    ) -> None:
        d, a = W.shape
        c, b = len(S), min(batch, len(X))
        dtype = W.dtype
        self.kernel, self.X, self.y, self.W, self.dtype = kernel, X, y, W, dtype.type
        self.objective = objective
        self.right = np.ascontiguousarray(objective.right_weights(c), dtype=dtype)
        self.weights = np.array(kernel.numbers) if learn_weights and isinstance(kernel, InnerProductSum) else None
        self.weight_gradient = np.zeros(0 if self.weights is None else len(self.weights))
        self.through_w = objective.both or objective.alpha != 0
        self.row_norms = squared_norms(X) if objective.both else np.zeros(0, dtype)
        # 3 d a^2 (a symmetric product and a full one) against 4 d c a.
        self.uses_gram = objective.alpha != 0 or 3 * a <= 4 * c
        self.X_b, self.Z, self.R = np.empty((b, d), dtype), np.empty((b, a), dtype), np.empty((b, a), dtype)
        self.t, self.A = np.empty((b, c), dtype), np.empty((b, c), dtype)
        self.by_row, self.by_column = np.empty(b, dtype), np.empty(c, dtype)
        self.M = np.empty((a, a) if self.through_w and self.uses_gram else (0, 0), dtype)
        self.P = np.empty((c, d) if self.through_w and not self.uses_gram else (0, 0), dtype)
        self.Q = np.empty((a, a) if self.uses_gram else (c, a), dtype)
        step = max(1, min(d, BLOCK_ENTRIES // a))
        self.pieces = [slice(start, min(start + step, d)) for start in range(0, d, step)]
        self.G, self.H = np.empty((step, a), dtype), np.empty((step, a), dtype)
        self.no_negatives = np.empty((0, 0), dtype)
        self.first = np.arange(b)
        self.b = 0
        self.use_signatures(S)

    def use_signatures(self, S: np.ndarray) -> None:
        """Take other signatures (c, a), one per class, for the next steps."""
        self.S = np.ascontiguousarray(S, dtype=self.dtype)
        self.S_norms = squared_norms(self.S)

    def forward(self, rows: np.ndarray, negatives: np.ndarray | None = None) -> float:
        """Return the mean loss over ``rows`` (b,) of X, and keep what :meth:`blocks` needs.

        ``negatives`` (b, c): weights of the wrong classes relative to lambda / N_l (0 for those not drawn).
        """
        b = self.b = len(rows)
        X, Z, t, R = self.X_b[:b], self.Z[:b], self.t[:b], self.R[:b]
        np.take(self.X, rows, axis=0, out=X, mode="clip")
        y = self.y[rows]
        np.matmul(X, self.W, out=Z)
        np.matmul(Z, self.S.T, out=t)
        self.weight_gradient[:] = 0
        loss, A, by_row, _ = self._side(t, squared_norms(Z), self.S_norms, y, negatives)
        np.matmul(A, self.S, out=R)
        if by_row is not None:
            Z *= (2 * by_row)[:, None]
            R += Z
        if self.through_w:
            loss += self._forward_through_w(t, rows, y, negatives)
        R *= self.dtype(1 / b)
        return loss / b

    def blocks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray | None]]:
        """Yield (rows of W, X_b'R there, what W or P adds to it or None); both arrays are overwritten by the next."""
        X, R = self.X_b[: self.b], self.R[: self.b]
        for piece in self.pieces:
            size = piece.stop - piece.start
            G = self.G[:size]
            np.matmul(X[:, piece].T, R, out=G)
            if not self.through_w:
                yield piece, G, None
                continue
            H = self.H[:size]
            np.matmul(self.W[piece] if self.uses_gram else self.P[:, piece].T, self.Q, out=H)
            yield piece, G, H

    def gradient(self, rows: np.ndarray, negatives: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """Return loss and gradient (d, a) of a batch, as new arrays."""
        loss, gradient = self.forward(rows, negatives), np.empty_like(self.W)
        for piece, G, H in self.blocks():
            gradient[piece] = G if H is None else G + H
        return loss, gradient

    def _forward_through_w(self, t: np.ndarray, rows: np.ndarray, y: np.ndarray, negatives: np.ndarray | None) -> float:
        """Add k(x, W s) of Eq. 9 and the penalty of Eq. 11; Q is what W (or P) multiplies in the gradient."""
        b, loss, Q = len(rows), 0.0, self.Q
        if self.uses_gram:
            np.matmul(self.W.T, self.W, out=self.M)
        else:
            np.matmul(self.S, self.W.T, out=self.P)
        if self.objective.both:
            norms = np.einsum("ij,ij->i", self.S @ self.M, self.S) if self.uses_gram else squared_norms(self.P)
            loss, A, _, by_column = self._side(t, self.row_norms[rows], norms, y, negatives)
            self.R[:b] += A @ self.S
            columns = np.zeros(len(self.S), self.dtype) if by_column is None else by_column * self.dtype(2 / b)
            scaled = self.S * columns[:, None]
            if self.uses_gram:
                np.matmul(self.S.T, scaled, out=Q)
            else:
                Q[:] = scaled
        alpha = self.objective.alpha
        if alpha:
            # Eq. 11: alpha (||W'W||_F^2 - tr W'W), gradient W (4 alpha W'W - 2 alpha I).
            loss += b * alpha * float(np.vdot(self.M, self.M) - np.trace(self.M))
            if not self.objective.both:
                Q[:] = 0
            Q += self.dtype(4 * alpha) * self.M
            Q[np.diag_indices_from(Q)] -= self.dtype(2 * alpha)
        return loss

    def _side(
        self, t: np.ndarray, u: np.ndarray, v: np.ndarray, y: np.ndarray, negatives: np.ndarray | None
    ) -> tuple[float, np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return the summed loss of one kernel matrix, dL/dt (b, c), and the sums of dL/du and dL/dv (None: zero).

        ``t`` (b, c), ``u`` (b,), ``v`` (c,).
        """
        if self.weights is None and isinstance(self.kernel, RadialKernel):
            distances, terms = zskl_fused.compiled()
            A = self.A[: len(y)]
            distances(t, u, v, A)
            k, slope = map(zskl_fused.writable, self.kernel.g_and_slope(A))
            drawn = self.no_negatives if negatives is None else negatives
            wrong = self.dtype(self.objective.wrong)
            by_row = self.by_row[: len(y)]
            squared = self.objective.squared
            loss = terms(k, slope, y, self.right, wrong, drawn, squared, A, by_row, self.by_column)
            return loss, A, by_row, self.by_column
        k, f_t, f_u, f_v, parts = self._values(t, u[:, None], v[None, :])
        loss, G = self._loss(k, y, negatives)
        if parts:
            self.weight_gradient += [float(np.vdot(G, part)) / len(y) for part in parts]
        return loss, G * f_t, _sum(G, f_u, axis=1), _sum(G, f_v, axis=0)

    def _values(
        self, t: np.ndarray, u: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, Partial, Partial, Partial, list[np.ndarray]]:
        """Return k, its partials, and the values of the terms where their weights are learned."""
        if self.weights is None or not isinstance(self.kernel, InnerProductSum):
            return (*self.kernel.f_and_partials(t, u, v), [])
        found = [part.f_and_partials(t, u, v) for part in self.kernel.parts]
        k, f_t, f_u, f_v = (
            sum(self.dtype(w) * one[j] for w, one in zip(self.weights, found, strict=True)) for j in range(4)
        )
        return np.asarray(k), f_t, f_u, f_v, [one[0] for one in found]

    def _loss(self, k: np.ndarray, y: np.ndarray, negatives: np.ndarray | None) -> tuple[float, np.ndarray]:
        """Return the summed loss and its derivative by k (b, c), a new array."""
        rows = self.first[: len(y)]
        own, share = k[rows, y], self.right[y]
        weight = self.dtype(self.objective.wrong) if negatives is None else negatives * self.dtype(self.objective.wrong)
        if self.objective.squared:
            G = 2 * weight * k
            terms, own_terms, slopes = G * k / 2, (1 - own) ** 2, 2 * (own - 1)
        else:
            G = weight * np.ones_like(k)
            terms, own_terms, slopes = G * k, -own, np.full_like(own, -1)
        terms[rows, y] = share * own_terms
        G[rows, y] = share * slopes
        return float(terms.sum()), G


def _sum(G: np.ndarray, partial: Partial, axis: int) -> np.ndarray | None:
    """Return the sum of G times a derivative along an axis, None where that derivative is identically 0."""
    if not isinstance(partial, np.ndarray):
        return None if partial == 0 else G.sum(axis=axis) * G.dtype.type(partial)
    return np.asarray((G * partial).sum(axis=axis))
