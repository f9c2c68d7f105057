"""Mini-batch gradients of zero-shot kernel learning, in place: a few matrix products a step.

Symbols as in :mod:`zslplat.families.zero_shot.methods.zskl.objective`; b rows in the batch.

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
it stays in the cache. Everything between the products is in :mod:`~zslplat.families.zero_shot.methods.zskl.fast_passes`
for radial kernels, and in NumPy for others, where a step allocates arrays of the size of (b, c). A kernel that declares
its form (:class:`~zslplat.kernels.inner_product.RadialForm`) takes one compiled call.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zslplat.families.zero_shot.methods.zskl import fast_passes
from zslplat.families.zero_shot.methods.zskl.objective import Objective
from zslplat.kernels.composition import InnerProductSum
from zslplat.kernels.inner_product import InnerProductKernel, Partial, RadialKernel, squared_norms

# Entries of one block of the gradient: 256 KiB in single precision, so that its block of W, of the moving average and
# of both parts of the gradient fit into a second-level cache of 1 MiB.
BLOCK_ENTRIES = 1 << 16


class Engine:
    """Loss and gradient of Eq. 9, 10 or 11 on batches of rows; works in the dtype of W, float32 or float64.

    ``X`` (n, d) C-contiguous, ``y`` (n,), ``W`` (d, a) C-contiguous, changed by its owner
    between calls; ``batch`` the most rows of one call. :meth:`forward` takes a batch and returns its loss;
    :meth:`blocks` then yields the gradient piece by piece, and the owner may move the rows of W that belong to a piece
    at once.
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
        self.row_norms = np.zeros(0, dtype)
        if objective.both:
            self.row_norms = squared_norms(X)
        # A full product W Q and the symmetric W'W, at two thirds of its time, against two products of c columns.
        self.uses_gram = objective.alpha != 0 or 5 * a <= 6 * c
        self.radial = kernel if isinstance(kernel, RadialKernel) else None
        self.form, factor = fast_passes.known_form(kernel)
        self.form_and_factor = (self.form, self.dtype(factor), self.dtype is np.float32)
        self.wrong = self.dtype(objective.wrong)
        self.of_rows = [np.empty((b, width), dtype) for width in (d, a, a, c, c)]
        self.of_row = np.empty(b, dtype)
        pairs = ((2 if objective.both else 1) * b if self.radial is not None else 0, c)
        self.of_pairs = [np.empty(pairs, kind) for kind in (dtype, dtype, np.int32)]
        self.by_column, self.norms = np.empty(c, dtype), np.empty(c, dtype)
        self.M = np.empty((a, a) if self.through_w and self.uses_gram else (0, 0), dtype)
        self.P = np.empty((c, d) if self.through_w and not self.uses_gram else (0, 0), dtype)
        self.Q = np.empty((a, a) if self.uses_gram else (c, a), dtype)
        self.S_M, self.scaled = np.empty((c, a), dtype), np.empty((c, a), dtype)
        count = -(-d // max(1, BLOCK_ENTRIES // a))
        step = -(-d // count)
        self.pieces = [slice(start, min(start + step, d)) for start in range(0, d, step)]
        self.G, self.H = np.empty((step, a), dtype), np.empty((step, a), dtype)
        self.no_negatives = np.empty((0, 0), dtype)
        self.first = np.arange(b)
        self.b = b
        self.use_signatures(S)

    def use_signatures(self, S: np.ndarray) -> None:
        """Take other signatures (c, a), one per class, for the next steps."""
        self.S = np.ascontiguousarray(S, dtype=self.dtype)
        self.S_T = np.ascontiguousarray(self.S.T)
        self.S_norms = squared_norms(self.S)
        self._take_buffers(self.b)

    def forward(self, rows: np.ndarray, negatives: np.ndarray | None = None) -> float:
        """Return the mean loss over ``rows`` (b,) of X, and keep what :meth:`blocks` needs.

        ``negatives`` (b, c): weights of the wrong classes relative to lambda / N_l (0 for those not drawn).
        """
        if len(rows) != self.b:
            self._take_buffers(len(rows))
        self.X.take(rows, axis=0, out=self.X_b, mode="clip")
        y = self.y[rows]
        np.matmul(self.X_b, self.W, out=self.Z)
        np.matmul(self.Z, self.S_T, out=self.t)
        if self.through_w and self.uses_gram:
            np.matmul(self.W.T, self.W, out=self.M)
        elif self.through_w:
            np.matmul(self.S, self.W.T, out=self.P)
        if self.radial is None:
            loss = self._general(rows, y, negatives)
        else:
            loss = self._radial(self.radial, rows, y, negatives)
        alpha = self.objective.alpha
        if alpha:
            # Eq. 11: alpha (||W'W||_F^2 - tr W'W), gradient W (4 alpha W'W - 2 alpha I).
            loss += self.b * alpha * float(np.vdot(self.M, self.M) - np.trace(self.M))
            if not self.objective.both:
                self.Q[:] = 0
            self.Q += self.dtype(4 * alpha) * self.M
            self.Q[np.diag_indices_from(self.Q)] -= self.dtype(2 * alpha)
        return loss / self.b

    def blocks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray | None]]:
        """Yield (rows of W, X_b'R there, what W or P adds to it or None); both arrays are overwritten by the next."""
        outer = np.multiply if self.b == 1 else np.matmul  # of one row, matmul makes a plain loop
        for piece, X_T, G, left, H in self.views:
            outer(X_T, self.R, out=G)
            if H is not None:
                np.matmul(left, self.Q, out=H)
            yield piece, G, H

    def gradient(self, rows: np.ndarray, negatives: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """Return loss and gradient (d, a) of a batch, as new arrays."""
        loss, gradient = self.forward(rows, negatives), np.empty_like(self.W)
        for piece, G, H in self.blocks():
            gradient[piece] = G if H is None else G + H
        return loss, gradient

    def _take_buffers(self, b: int) -> None:
        """Lay out the views and arguments of a batch of b rows once, since a step is short enough for them to count."""
        self.b = b
        self.X_b, self.Z, self.R, self.t, self.A = (whole[:b] for whole in self.of_rows)
        self.by_row = self.of_row[:b]
        self.d, slopes, bits = (whole[: 2 * b if self.objective.both else b] for whole in self.of_pairs)
        # |W s|^2 is the product of a row of S M with one of S, or of a row of P with itself.
        left, right = (self.S_M, self.S) if self.uses_gram else (self.P, self.P)
        self.at_w = (self.row_norms, left, right, self.norms)
        weights = (self.right, self.wrong, self.objective.squared, self.dtype(1 / b))
        self.weights_and_sums = (*weights, self.A, self.by_row, self.by_column)
        room = (slopes, bits, self.t, self.Z, self.S_norms, self.d)
        self.all_arguments = (self.form_and_factor, room, self.at_w, self.weights_and_sums)
        self.views = []
        for piece in self.pieces:
            size = piece.stop - piece.start
            left = self.W[piece] if self.uses_gram else self.P[:, piece].T
            H = self.H[:size] if self.through_w else None
            self.views.append((piece, self.X_b[:, piece].T, self.G[:size], left, H))

    def _radial(self, kernel: RadialKernel, rows: np.ndarray, y: np.ndarray, negatives: np.ndarray | None) -> float:
        """Return the summed loss of a radial kernel; R and Q take what X_b' and W (or P) multiply in the gradient.

        Both kernels of Eq. 9 are evaluated in one call, on distances of which the first b rows are those of k(W'x, s)
        and the next b rows those of k(x, W s).
        """
        both = self.objective.both
        drawn = self.no_negatives if negatives is None else negatives
        if both and self.uses_gram:
            np.matmul(self.S, self.M, out=self.S_M)
        if self.form != fast_passes.NO_FORM:
            loss = fast_passes.terms_of_known_form(rows, y, drawn, *self.all_arguments)
        else:
            fast_passes.distances(self.t, self.Z, self.S_norms, self.d)
            if both:
                fast_passes.distances_through_w(rows, self.t, *self.at_w, self.d)
            k, slope = map(fast_passes.writable, kernel.g_and_slope(self.d))
            loss = fast_passes.terms(k, slope, y, drawn, *self.weights_and_sums)
        np.matmul(self.A, self.S, out=self.R)
        fast_passes.add_rows(self.R, self.by_row, self.Z)
        if both:
            self._scale_signatures(self.by_column)
        return float(loss)

    def _general(self, rows: np.ndarray, y: np.ndarray, negatives: np.ndarray | None) -> float:
        """Return the summed loss of any kernel of inner products; R and Q as in :meth:`_radial`."""
        self.weight_gradient[:] = 0
        loss, A, by_row, _ = self._side(squared_norms(self.Z), self.S_norms, y, negatives)
        np.matmul(A, self.S, out=self.R)
        if by_row is not None:
            self.R += (2 * by_row)[:, None] * self.Z
        if self.objective.both:
            norms = np.einsum("ij,ij->i", self.S @ self.M, self.S) if self.uses_gram else squared_norms(self.P)
            other, A, _, by_column = self._side(self.row_norms[rows], norms, y, negatives)
            loss += other
            self.R += A @ self.S
            self._scale_signatures(
                np.zeros(len(self.S), self.dtype) if by_column is None else by_column * self.dtype(2 / self.b)
            )
        self.R *= self.dtype(1 / self.b)
        return loss

    def _scale_signatures(self, weights: np.ndarray) -> None:
        """Write S' diag(weights) S to Q, or diag(weights) S where W s comes from P = S W'."""
        if self.uses_gram:
            fast_passes.scale_rows(self.S, weights, self.scaled)
            np.matmul(self.S_T, self.scaled, out=self.Q)
        else:
            fast_passes.scale_rows(self.S, weights, self.Q)

    def _side(
        self, u: np.ndarray, v: np.ndarray, y: np.ndarray, negatives: np.ndarray | None
    ) -> tuple[float, np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return the summed loss of one kernel matrix, dL/dt (b, c), and the sums of dL/du and dL/dv (None: zero).

        ``u`` (b,), ``v`` (c,).
        """
        k, f_t, f_u, f_v, parts = self._values(self.t, u[:, None], v[None, :])
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
        values = [part.f_and_partials(t, u, v) for part in self.kernel.parts]
        k, f_t, f_u, f_v = (
            sum(self.dtype(w) * one[j] for w, one in zip(self.weights, values, strict=True)) for j in range(4)
        )
        return np.asarray(k), f_t, f_u, f_v, [one[0] for one in values]

    def _loss(self, k: np.ndarray, y: np.ndarray, negatives: np.ndarray | None) -> tuple[float, np.ndarray]:
        """Return the summed loss and its derivative by k (b, c), a new array."""
        rows = self.first[: len(y)]
        k_right, share = k[rows, y], self.right[y]
        weight = self.wrong if negatives is None else negatives * self.wrong
        if self.objective.squared:
            G = 2 * weight * k
            terms, own_terms, slopes = G * k / 2, (1 - k_right) ** 2, 2 * (k_right - 1)
        else:
            G = weight * np.ones_like(k)
            terms, own_terms, slopes = G * k, -k_right, np.full_like(k_right, -1)
        terms[rows, y] = share * own_terms
        G[rows, y] = share * slopes
        return float(terms.sum()), G


def _sum(G: np.ndarray, partial: Partial, axis: int) -> np.ndarray | None:
    """Return the sum of G times a derivative along an axis, None where that derivative is identically 0."""
    if not isinstance(partial, np.ndarray):
        return None if partial == 0 else G.sum(axis=axis) * G.dtype.type(partial)
    return np.asarray((G * partial).sum(axis=axis))
