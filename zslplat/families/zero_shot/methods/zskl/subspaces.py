"""Zero-shot kernel learning with a projection of its own for every class.

Zhang and Koniusz, Zero-Shot Kernel Learning, CVPR 2018, leave class-wise subspaces for later. Here

    W_c = W + sum_r sim(c, r) D_r        r over the seen classes,

so that an unseen class has a subspace, too: that of the seen classes whose signatures are near its own. Other symbols
as in :mod:`zslplat.families.zero_shot.methods.zskl.objective`.

| here | shape | meaning |
|---|---|---|
| D | (c, d, a) | deviation of each seen class, 0 at the start |
| sim | (m, c) | similarity of classes to the seen ones: softmax of -|s - s_r|^2 / width^2 over the nearest ones |
| z_ic | (a,) | W_c' x_i |
| p_c | (d,) | W_c s_c |

The objective is Eq. 9 with W_c in place of W, plus ridge sum_r ||D_r||_F^2, without which D would take over. A step
scores every row against its own class and against classes drawn for the whole batch, as W_c must be formed for each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import get_blas_funcs

from zslplat.families.zero_shot.methods.zskl.draws import ordered_data
from zslplat.families.zero_shot.methods.zskl.objective import Objective
from zslplat.families.zero_shot.methods.zskl.training import RMSprop
from zslplat.families.zero_shot.methods.zskl.zskl import KernelAlignment
from zslplat.kernels.inner_product import InnerProductKernel, squared_norms
from zslplat.kernels.scales import median_distance
from zslplat.methods.base import Arrays, Diagnostics, Prepared
from zslplat.multiples import absolute
from zslplat.space import NON_NEGATIVE, POSITIVE, Integer, Real, Scaled, parameter


class ZSKLSubspaces(KernelAlignment):
    r"""Eq. 9 with class-wise subspaces W_c = W + sum_r sim(c, r) D_r.

    Learned: ``W_`` (d, a), ``D_`` (c, d, a), ``seen_signatures_`` (c, a), ``width_``. Memory: twice the size of D. A
    step takes two passes over D, and products of all rows of the mini-batch with W_c of every drawn class.

    Equations
    ---------
    Eq. 9 of the paper with a projection for each class, that of the seen classes near it:

    $$W_c = W + \sum_r \mathrm{sim}(c, r)\, D_r, \qquad \mathrm{sim}(c, r) \propto e^{-\lVert s_c - s_r \rVert^2 /
    \omega^2}$$

    and a ridge on all D. omega is ``width``.

    Related
    -------
    ``zskl-ort`` has one projection for all classes; ``latem`` has several, of which the best counts.
    """

    summary = "zero-shot kernel learning with class-wise subspaces"
    epochs = 5
    batch_size = 256
    drawn_classes = parameter("wrong classes drawn for each mini-batch", Integer(1), default=8)
    neighbours = parameter("seen classes that a class takes its deviation from", Integer(1), Integer(1, 10), default=4)
    width: float | str = parameter(
        "width of the similarity of signatures; median: of the distance between those of seen classes",
        Scaled(POSITIVE, "*median"),
        Real(0.05, 1.5, log=True, unit="*median"),
        default="0.35*median",
    )
    ridge = parameter("weight of the deviations' square", NON_NEGATIVE, Real(1e-5, 1, log=True), default=1e-3)
    both_projections = True

    def _fit_steps(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Fit epoch by epoch, yielding 1, 2, ...; one signature per class."""
        data = ordered_data(X, y, S, None)
        X = np.ascontiguousarray(X, dtype=self._dtype)
        self.seen_signatures_: np.ndarray = np.ascontiguousarray(data.S, dtype=self._dtype)
        self.kernel_ = self._inner_product(self.parsed_kernel().resolved(data.S))
        self.width_ = float(absolute(self.width, median_distance(data.S)))
        d, a, c = X.shape[1], data.S.shape[1], data.classes
        start, order, classes = (np.random.default_rng(s) for s in np.random.SeedSequence(self.seed).spawn(3))
        self.W_ = (start.random((d, a)) * (2 / d)).astype(self._dtype)
        self.D_: np.ndarray = np.zeros((c, d, a), dtype=self._dtype)
        objective = self._objective(self.kernel_, np.bincount(data.y), len(X))
        gradient = SubspaceGradient(self.kernel_, objective, self.similarity(self.seen_signatures_))
        for_W = RMSprop(self.W_, gamma=self.gamma, epsilon=self.epsilon)
        for_D = RMSprop(self.D_, gamma=self.gamma, epsilon=self.epsilon, ridge=2 * self.ridge)
        numbers = self.resolved_numbers(self.kernel_) | {"width resolved": self.width_}
        self.diagnostics_ = Diagnostics({"objective": [], "incoherence": []}, numbers)
        for epoch in range(self.epochs):
            rows, total = data.order[order.permutation(len(X))], 0.0
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                for first in range(0, len(rows), self.batch_size):
                    batch = rows[first : first + self.batch_size]
                    drawn = np.sort(classes.choice(c, min(self.drawn_classes, c), replace=False))
                    loss, dW, dD = gradient(X[batch], data.y[batch], self.seen_signatures_, self.W_, self.D_, drawn)
                    rate = self.rate / (1 + self.decay * (epoch + first / len(rows)))
                    for_W.step(dW, rate)
                    for r, g in dD:
                        for_D.step(g, rate, rows=slice(r, r + 1))
                    total += loss * len(batch)
            # The loss of each batch is taken before its step, the ridge after the last.
            self._report(epoch + 1, total / len(rows) + self.ridge * sum(float(np.vdot(D_r, D_r)) for D_r in self.D_))
            yield epoch + 1

    def similarity(self, S: np.ndarray) -> np.ndarray:
        """Return sim (m, c) of signatures S to the seen ones; rows sum to 1, ``neighbours`` entries are not 0."""
        seen = self.seen_signatures_
        d = squared_norms(S)[:, None] + squared_norms(seen)[None, :] - 2 * (S @ seen.T)
        count = min(self.neighbours, len(seen))
        far = np.argpartition(d, count - 1, axis=1)[:, count:]
        raised = np.exp((d.min(axis=1, keepdims=True) - d) / self.width_**2)
        np.put_along_axis(raised, far, 0, axis=1)
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def _kernels(self, X: np.ndarray, S: np.ndarray) -> list[np.ndarray]:
        kernel, sim = self.kernel_, self.similarity(S)
        both = not kernel.of_inner_product_alone
        scores: np.ndarray = np.empty((1 + both, len(X), len(S)), dtype=self._dtype)
        norms = squared_norms(X)
        for c in range(len(S)):
            W_c = class_projection(self.W_, self.D_, sim[c])
            z, s = X @ W_c, S[c]
            t = z @ s
            scores[0, :, c] = kernel.f(t, squared_norms(z), np.full_like(t, s @ s))
            if both:
                p = W_c @ s
                scores[1, :, c] = kernel.f(t, norms, np.full_like(t, p @ p))
        return list(scores)

    def matrices(self) -> Arrays:
        """Return W (d, a), the cosines between its columns, and D (c, d, a) with the signatures it belongs to."""
        return {**super().matrices(), "D": self.D_, "seen_signatures": self.seen_signatures_}


class SubspaceGradient:
    """Loss and gradients by W and D of one batch, without the ridge; ``sim`` (c, c) is that of the seen classes."""

    def __init__(self, kernel: InnerProductKernel, objective: Objective, sim: np.ndarray) -> None:
        self.kernel, self.objective, self.sim = kernel, objective, sim

    def __call__(
        self, X: np.ndarray, y: np.ndarray, S: np.ndarray, W: np.ndarray, D: np.ndarray, drawn: np.ndarray
    ) -> tuple[float, np.ndarray, Iterator[tuple[int, np.ndarray]]]:
        """Return the loss, dL/dW, and (r, dL/dD_r) of each seen class in turn.

        Rows X (b, d) are of classes y. The classes ``drawn`` are their wrong ones, weighted so that their sum has the
        same mean as over all. Each dL/dD_r is written to the same array; D_r may be moved as soon as its own is there.
        """
        b, c = len(X), len(S)
        share, right = self.objective.wrong * c / len(drawn), self.objective.right_weights(c)
        norms, loss = squared_norms(X), 0.0
        # A class that is drawn meets all rows: its W_k is formed.
        G: np.ndarray = np.empty((len(drawn), *W.shape), dtype=W.dtype)
        for k, g in zip(drawn, G, strict=True):
            class_projection(W, D, self.sim[k], out=g)
            p, is_right = g @ S[k], y == k
            weights = np.where(is_right, right[k], share) / b
            value, R, slope_of_norm = self._slopes(X @ g, S[[k]], norms, p[None, :], is_right, weights)
            np.matmul(X.T, R, out=g)
            get_blas_funcs("ger", (g,))(slope_of_norm.sum(), S[k], p, a=g.T, overwrite_a=True)  # += sum p s'
            loss += value
        # Any other meets its rows alone: z = W'x + sum_r sim_r D_r'x, each D_r with the rows of all classes near r.
        rest = np.flatnonzero(~np.isin(y, drawn))
        classes, of_class = np.unique(y[rest], return_inverse=True)
        x, s, sim, sim_of_rows = X[rest], S[classes], self.sim[classes], self.sim[y[rest]]
        Z, P = x @ W, s @ W.T
        for r, (rows, near) in enumerate(zip(nonzero_by_column(sim_of_rows), nonzero_by_column(sim), strict=True)):
            Z[rows] += sim_of_rows[rows, r, None] * (x[rows] @ D[r])
            P[near] += sim[near, r, None] * (D[r] @ s[near].T).T
        value, R, slope_of_norm = self._slopes(
            Z, s[of_class], norms[rest], P[of_class], np.ones(len(rest), dtype=bool), right[y[rest]] / b
        )
        P *= np.bincount(of_class, slope_of_norm, len(classes)).astype(P.dtype)[:, None]
        left, right_side, weights = np.vstack([x, P]), np.vstack([R, s]), np.vstack([sim_of_rows, sim])
        dW = G.sum(axis=0) + left.T @ right_side

        def deviations() -> Iterator[tuple[int, np.ndarray]]:
            g, product = np.zeros(W.shape, W.dtype), get_blas_funcs("gemm", (W,))
            for r, near in enumerate(nonzero_by_column(weights)):
                weighted = weights[near, r, None] * right_side[near]
                # g = left' weighted; np.matmul is slow where one row is near.
                product(1, weighted.T, left[near].T, trans_b=True, c=g.T, overwrite_c=True)
                for i in np.flatnonzero(self.sim[drawn, r]):
                    add(g, self.sim[drawn[i], r], G[i])
                yield r, g

        return loss + value, dW, deviations()

    def _slopes(
        self, Z: np.ndarray, S: np.ndarray, norms: np.ndarray, P: np.ndarray, is_right: np.ndarray, weights: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss of rows z (b, a) with signatures S and P = W S, R = dL/dz, and 2 dL/dv (b,).

        S and P have a row for each z, or one for all.
        """
        t = np.einsum("ij,ij->i", Z, np.broadcast_to(S, Z.shape))
        loss, A, f_u, f_v = self._terms(t, squared_norms(Z), squared_norms(S), is_right, weights)
        R = 2 * f_u[:, None] * Z
        if self.objective.both:
            value, more, _, f_v = self._terms(t, norms, squared_norms(P), is_right, weights)
            loss, A = loss + value, A + more
        R += A[:, None] * S
        return loss, R, 2 * f_v if self.objective.both else np.zeros_like(t)

    def _terms(
        self, t: np.ndarray, u: np.ndarray, v: np.ndarray, is_right: np.ndarray, weights: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        k, f_t, f_u, f_v = self.kernel.f_and_partials(t, u, np.array(np.broadcast_to(v, t.shape)))
        if self.objective.squared:
            loss, slope = np.where(is_right, 1 - k, k) ** 2, np.where(is_right, 2 * (k - 1), 2 * k)
        else:
            loss, slope = np.where(is_right, -k, k), np.where(is_right, -1.0, 1.0)
        G = (weights * slope).astype(t.dtype)
        return float(np.sum(weights * loss)), G * f_t, np.asarray(G * f_u), np.asarray(G * f_v)


def nonzero_by_column(A: np.ndarray) -> list[np.ndarray]:
    """Return the rows of the entries that are not 0, for each column of A."""
    columns, rows = np.nonzero(A.T)
    return np.split(rows, np.searchsorted(columns, np.arange(1, A.shape[1])))


def class_projection(W: np.ndarray, D: np.ndarray, sim: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return W + sum_r sim_r D_r (d, a), written to ``out`` where that is given."""
    W_c = np.empty_like(W) if out is None else out
    np.copyto(W_c, W)
    for r in np.flatnonzero(sim):
        add(W_c, sim[r], D[r])
    return W_c


def add(total: np.ndarray, weight: float, M: np.ndarray) -> None:
    """Add ``weight`` times M to ``total`` where it is, both contiguous and of one type."""
    get_blas_funcs("axpy", (total,))(M.reshape(-1), total.reshape(-1), a=weight)
