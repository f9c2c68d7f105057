"""Slow references of exemplar machines, coding and feature selection."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.decomposition import sparse_encode
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import Lasso, lars_path
from sklearn.neighbors import kneighbors_graph

from zslplat_papers.parity.cases import Pairs
from zslplat_papers.parity.closed_forms import cosines


@cache
def exemplar_data() -> tuple[np.ndarray, np.ndarray]:
    """Return negatives (60, 7) and rows (8, 7)."""
    random = np.random.default_rng(0)
    mixing = random.normal(size=(7, 7))
    return random.normal(size=(60, 7)) @ mixing / 7 + 0.5, random.normal(size=(8, 7)) @ mixing / 7 + 0.4


def _similar(method: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    negatives, rows = exemplar_data()
    method.fit(negatives)
    encoded = method.encode(rows)
    return method.similarity(encoded, encoded), negatives, rows


def cosine(method: Any) -> Pairs:
    """Cosines between rows."""
    ours, _, rows = _similar(method)
    return {"similarity": (ours, cosines(rows, rows))}


def whitening(method: Any) -> Pairs:
    """Cosines after the shrunk covariance of the negatives to the power -1/2, or -1."""
    ours, negatives, rows = _similar(method)
    covariance, s = np.cov(negatives.T, bias=True), method.shrinkage
    shrunk = (1 - s) * covariance + s * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    power = linalg.fractional_matrix_power(shrunk, -0.5 if method.form == "whiten" else -1.0)
    moved = (rows - negatives.mean(axis=0)) @ power
    return {"similarity": (ours, cosines(moved, moved))}


def exemplar_svm(method: Any) -> Pairs:
    """Cosines between machines whose offset is free, each by BFGS."""
    ours, negatives, rows = _similar(method)
    unit = np.sqrt(np.mean(np.sum(negatives**2, axis=1)))
    machines = []
    for row in rows:
        X = np.vstack([row, negatives]) / unit
        t, weights = np.append(1.0, -np.ones(len(negatives))), np.full(len(X), method.C)
        weights[0] *= method.positive_weight

        def loss(v: np.ndarray, X: np.ndarray = X, t: np.ndarray = t, weights: np.ndarray = weights) -> Any:
            short = np.maximum(0, 1 - t * (X @ v[:-1] + v[-1]))
            pull = -2 * weights * t * short
            return v[:-1] @ v[:-1] / 2 + weights @ short**2, np.append(v[:-1] + X.T @ pull, pull.sum())

        machines.append(minimize(loss, np.zeros(X.shape[1] + 1), jac=True, options={"gtol": 1e-10}).x[:-1])
    return {"similarity": (ours, cosines(np.array(machines), np.array(machines)))}


def machines_of(
    points: np.ndarray, negatives: np.ndarray, lam: float, theta: float, without: int | None = None
) -> np.ndarray:
    """Return (w, nu) of the square-loss machine of ``points`` (m, d) against negatives (n, d): normal equations."""
    pool = negatives if without is None else np.delete(negatives, without, axis=0)
    rows = np.vstack([points, pool])
    weights = np.append(np.full(len(points), theta / len(points)), np.full(len(pool), 1 / len(pool)))
    y = np.append(np.ones(len(points)), -np.ones(len(pool)))
    design = np.hstack([rows, np.ones((len(rows), 1))])
    penalty = lam * np.eye(design.shape[1])
    penalty[-1, -1] = 0
    return np.asarray(np.linalg.solve(design.T * weights @ design + penalty, design.T @ (weights * y)))


def slem(method: Any) -> Pairs:
    """The machines of the square loss by their normal equations, and the cosines between them."""
    ours, negatives, rows = _similar(method)
    expected = np.array([machines_of(row[None], negatives, method.lam, method.theta) for row in rows])
    weights, offsets = method.machines(method.encode(rows))
    machines = (np.column_stack([weights, offsets]), expected)
    return {"machines": machines, "similarity": (ours, cosines(expected[:, :-1], expected[:, :-1]))}


def kslem(method: Any) -> Pairs:
    """The machines in explicit coordinates of the kernel on all points, and the cosines between them."""
    ours, negatives, rows = _similar(method)
    K = method.kernel_(np.vstack([negatives, rows]))
    B = np.linalg.cholesky(K + 1e-13 * np.eye(len(K)))
    pool, points = B[: len(negatives)], B[len(negatives) :]
    h = np.array([machines_of(point[None], pool, method.lam, method.theta) for point in points])
    values = method.decision_function(method.encode(rows), rows)
    return {
        "decision values": (values, h[:, :-1] @ points.T + h[:, -1:]),
        "similarity": (ours, cosines(h[:, :-1], h[:, :-1])),
    }


@cache
def coding_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return training rows (30, 8) of unit length with their labels, and new rows (20, 8)."""
    random = np.random.default_rng(0)
    y = np.arange(50) % 3
    X = random.normal(size=(3, 8))[y] + 0.6 * random.normal(size=(50, 8))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:30], y[:30], X[30:]


def _coded(method: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the codes of new rows, the Gram matrix K of the atoms, k (n, N) and kappa (n,); atoms are all rows."""
    X, y, new = coding_data()
    method.fit(X, y)
    kernel = method.kernel_
    return method.transform(new), kernel(X), kernel(new, X), kernel.diag(new)


def kbow(method: Any) -> Pairs:
    """Memberships by distance in the space of the kernel, (4) to (6)."""
    codes, K, k, kappa = _coded(method)
    distances = kappa[:, None] - 2 * k + np.diag(K)
    return {"codes": (codes, softmax(-method.sigma * distances, axis=1))}


def sparse(method: Any) -> Pairs:
    """Codes by LARS on explicit coordinates of the kernel, (7), and residuals of each class, (27)."""
    codes, K, k, kappa = _coded(method)
    values, vectors = np.linalg.eigh(K)
    values, vectors = values[values > 1e-12 * values[-1]], vectors[:, values > 1e-12 * values[-1]]
    atoms, rows = vectors * np.sqrt(values), k @ vectors / np.sqrt(values)
    expected = sparse_encode(rows, atoms, algorithm="lasso_lars", alpha=method.gamma / 2)

    def cost(Y: np.ndarray) -> np.ndarray:
        quadratic = np.einsum("ij,jk,ik->i", Y, K, Y) - 2 * np.einsum("ij,ij->i", Y, k)
        return np.asarray(kappa + quadratic + method.gamma * np.abs(Y).sum(axis=1))

    _, y, new = coding_data()
    scores = np.empty((len(new), 3))
    for s in range(3):
        part = np.where(y == s, expected, 0)
        scores[:, s] = 2 * np.einsum("ij,ij->i", part, k) - np.einsum("ij,jk,ik->i", part, K, part)
    return {"objective": (cost(codes), cost(expected)), "scores": (method.decision_function(new), scores)}


def local(method: Any) -> Pairs:
    """Codes that sum to 1 on the nearest atoms, (11), by the covariance form with its ridge."""
    codes, K, k, kappa = _coded(method)
    expected = np.zeros_like(codes)
    for i, (query, square) in enumerate(zip(k, kappa, strict=True)):
        B = np.argsort(square - 2 * query + np.diag(K))[: method.neighbours]
        C = K[np.ix_(B, B)] - query[B][:, None] - query[B][None, :] + square
        y = np.linalg.solve(C + method.epsilon * np.diagonal(C).mean() * np.eye(len(B)), np.ones(len(B)))
        expected[i, B] = y / y.sum()
    return {"codes": (codes, expected)}


def full_local(method: Any) -> Pairs:
    """Codes that sum to 1 on all atoms with the price of (9), from the optimality conditions."""
    codes, K, k, kappa = _coded(method)
    expected = np.empty_like(codes)
    for i, (query, square) in enumerate(zip(k, kappa, strict=True)):
        price = np.exp(2 * method.sigma * np.sqrt(np.maximum(square - 2 * query + np.diag(K), 0)))
        n = len(K)
        conditions = np.block(
            [[K + method.gamma * np.diag(price), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
        )
        expected[i] = np.linalg.solve(conditions, np.append(query, 1.0))[:n]
    return {"codes": (codes, expected)}


def lc_ksvd(method: Any) -> Pairs:
    """Codes by matching pursuit with least squares in every step, on the learned atoms."""
    X, y, new = coding_data()
    method.fit(X, y)
    D, expected = method.dictionary_, []
    for x in new / method.unit_:
        chosen: list[int] = []
        code, values = np.zeros(len(D)), np.zeros(0)
        for _ in range(method.nonzeros):
            residual = x - (D[chosen].T @ values if chosen else 0)
            chosen.append(int(np.argmax(np.abs(D @ residual))))
            values = np.linalg.lstsq(D[chosen].T, x, rcond=None)[0]
        code[chosen] = values
        expected.append(code)
    codes = np.array(expected)
    return {
        "codes": (method.transform(new), codes),
        "scores": (method.decision_function(new), codes @ method.classifier_.T),
    }


def supervised(method: Any) -> Pairs:
    """The classifier on the codes of the training rows, (23) or (24), by its normal equations; scores by (26)."""
    X, y, new = coding_data()
    method.fit(X, y)
    Y, L, K, k = method.codes_, np.eye(3)[y], method.kernel_(X), method.kernel_(new, X)
    codes, M = method.transform(new), len(X)
    if method.supervision == "linear":
        W = method.eta * L.T @ Y @ np.linalg.inv(method.eta * Y.T @ Y + M * method.rho * np.eye(Y.shape[1]))
        return {"classifier": (method.classifier_, W), "scores": (method.decision_function(new), codes @ W.T)}
    C = np.linalg.solve(K * (Y @ Y.T) + M * method.rho / (method.eta * L.shape[1]) * np.eye(M), L)
    scores = np.array(
        [[sum(C[m, j] * k[i, m] * (Y[m] @ z) for m in range(M)) for j in range(3)] for i, z in enumerate(codes)]
    )
    return {"classifier": (method.classifier_, C), "scores": (method.decision_function(new), scores)}


@cache
def selection_data(n: int = 90, d: int = 20, c: int = 6, m: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return standardised rows X (n, d), labels y (n,) and signatures S (c, m)."""
    random = np.random.default_rng(0)
    y = np.concatenate([np.arange(c), random.integers(0, c, n - c)])
    S = random.standard_normal((c, m))
    X = random.standard_normal((n, d)) + (S @ random.standard_normal((m, d)))[y] * (np.arange(d) < d // 2)
    return (X - X.mean(axis=0)) / X.std(axis=0), y, S


def centres(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the mean row of the class of each row (n, d)."""
    return np.stack([X[y == k].mean(axis=0) for k in y])


def printed_objective(
    X: np.ndarray, Y: np.ndarray, y: np.ndarray, s: np.ndarray, W: np.ndarray, alpha: float, gamma: float
) -> float:
    """Eq. 5 of SemFS, on the rows."""
    fit = np.sum((Y - X @ (s[:, None] * W)) ** 2)
    fit += alpha * np.sum((Y - centres(X, y) @ (s[:, None] * W)) ** 2)
    return float(fit + gamma * np.sum(W**2))


def printed_weights(
    X: np.ndarray, Y: np.ndarray, y: np.ndarray, s: np.ndarray, alpha: float, gamma: float
) -> np.ndarray:
    """Eq. 8 of SemFS, on the rows."""
    A, C = X * s, centres(X, y) * s
    return np.asarray(np.linalg.solve(A.T @ A + alpha * C.T @ C + gamma * np.eye(len(s)), (A + alpha * C).T @ Y))


def semfs(method: Any) -> Pairs:
    """Algorithm 1 from s = 1 on the rows: Eq. 8, then one projected step of Eq. 10 and 11."""
    X, y, S = selection_data()
    method.fit(X, y, S)
    Y, alpha, gamma, means = S[y], method.alpha, method.gamma, centres(X, y)
    G, s = X.T @ X + alpha * means.T @ means, np.ones(X.shape[1])
    H = (X + alpha * means).T @ Y
    for _ in range(method.iterations):
        W = printed_weights(X, Y, y, s, alpha, gamma)
        Q = G * (W @ W.T)
        gradient = 2 * (Q @ s - np.sum(H * W, axis=1))
        s = np.maximum(0, s - gradient / (2.02 * np.linalg.eigvalsh(Q)[-1]))
    W = printed_weights(X, Y, y, s, alpha, gamma)
    objective = printed_objective(X, Y, y, s, W, alpha, gamma)
    ranks = (np.argsort(method.ranking_), np.argsort(np.argsort(-s, kind="stable")))
    return {
        "objective": (method.diagnostics_.series["objective"][-1], objective),
        "importance": (method.scores_, s),
        "ranks": ranks,
    }


def lasso(method: Any) -> Pairs:
    """LASSO by scikit-learn, target by target."""
    X, y, S = selection_data()
    method.fit(X, y, S)
    Y = np.eye(len(S))[y] if "labels" in method.summary else S[y]
    largest = np.abs((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0))).max() / len(X)
    model = Lasso(alpha=method.strength * largest, tol=1e-12, max_iter=100000)
    return {"W": (method.W_, np.column_stack([model.fit(X, column).coef_ for column in Y.T]))}


def mcfs(method: Any) -> Pairs:
    """Eigenvectors of the graph by a dense solve, each regressed by LARS; the largest coefficients."""
    X, y, S = selection_data()
    method.fit(X, y, S)
    near = kneighbors_graph(X, method.neighbours, mode="connectivity").toarray()
    W = np.maximum(near, near.T)
    D = np.diag(W.sum(axis=1))
    vectors = linalg.eigh(D - W, D)[1][:, 1 : method.clusters + 1]
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    paths = [lars_path(X, v, method="lar", max_iter=method.cardinality)[2][:, -1] for v in vectors.T]
    return {"scores of features": (np.maximum(method.scores_, 0), np.abs(np.column_stack(paths)).max(axis=1))}


def variance(method: Any) -> Pairs:
    """Variances of columns of different units, scaled to [0, 1] each: all are ranked by what is left."""
    X, y, S = selection_data()
    scaled = X * np.arange(1, X.shape[1] + 1)
    return {"scores of features": (method.fit(scaled, y, S).scores_, scaled.var(axis=0))}


def mutual_information(method: Any) -> Pairs:
    """Mutual information by scikit-learn."""
    X, y, S = selection_data()
    expected = mutual_info_classif(X, y, random_state=method.seed)
    return {"scores of features": (method.fit(X, y, S).scores_, expected)}


def wknn(method: Any) -> Pairs:
    """The loss of the leave-one-out rule at the learned weights, row by row."""
    X, y, S = selection_data(n=40)
    method.fit(X, y, S)
    Y, w, predicted = np.eye(len(S))[y], method.scores_, []
    for i, x in enumerate(X):
        similar = np.array([np.exp(-w @ (x - other) ** 2) if j != i else 0.0 for j, other in enumerate(X)])
        predicted.append(similar @ Y / similar.sum())
    value = np.sum((Y - np.array(predicted)) ** 2) / len(X) + method.l1 * w.sum()
    return {"objective": (method.diagnostics_.series["objective"][-1], value)}
