"""Slow references of methods that are trained step by step, and of those that score a batch over graphs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from zslplat.families.zero_shot.methods.jlse import rounded_hinge
from zslplat.families.zero_shot.methods.simplex import simplex_codes
from zslplat.families.zero_shot.methods.tmv_hlp.graphs import propagate
from zslplat_papers.parity.cases import Data, Pairs, centred, non_negative

# The number of steps of all references that are compared step by step.
EPOCHS, UPDATES = 3, 25


def streams(model: Any, X: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, float, Any, Any]:
    """The start of W, the absolute step, and the generators of orders and of draws, as the estimators document them."""
    shape = getattr(model, "maps", 1), X.shape[1], S.shape[1]
    unit = (X**2).sum(axis=1).mean() * (S**2).sum(axis=1).mean()
    if model.variant == "authors":
        unit = 1.0
    first = np.random.default_rng(np.random.SeedSequence([model.seed, 0])).standard_normal(shape)
    order, draws = map(np.random.default_rng, np.random.SeedSequence([model.seed, 1]).spawn(2))
    return first * model.start / np.sqrt(X.shape[1] * unit), model.rate * model.margin / unit, order, draws


def one_row_at_a_time(model: Any, X: np.ndarray, y: np.ndarray, S: np.ndarray, kind: str) -> np.ndarray:
    """W (K, d, a) after training as the papers' codes do it: row by row, class by class, with the same draws.

    ``kind``: ``ale`` and ``devise`` on all violators, ``ale-drawn`` and ``devise-first`` on one, ``sje``, ``latem``.
    """
    statistics = model.prepare_fit(X, y, S, space={})
    rows, y, S = statistics["order"], statistics["y"], statistics["S"]
    if model.variant == "authors":
        X = X / X.max()
    W, rate, order, draws = streams(model, X, S)
    for epoch in range(model.epochs):
        eta = rate / (1 + model.decay * epoch)
        for i in rows[order.permutation(len(rows))]:
            x, label = X[i], int(y[i])
            if kind == "latem":
                _latent_step(W, x, label, S, draws, model.margin, eta)
                continue
            weights = _weights(kind, x @ W[0] @ S.T, label, model.margin, draws)
            step = sum((w * (S[label] - S[k]) for k, w in weights.items()), np.zeros(S.shape[1]))
            W[0] += eta * np.outer(x, step)
    return W


def _latent_step(
    W: np.ndarray, x: np.ndarray, label: int, S: np.ndarray, draws: Any, margin: float, eta: float
) -> None:
    wrong = [k for k in range(len(S)) if k != label]
    drawn = wrong[int(draws.integers(0, len(S) - 1, size=1)[0])]
    k_c = max(range(len(W)), key=lambda k: x @ W[k] @ S[drawn])
    k_y = max(range(len(W)), key=lambda k: x @ W[k] @ S[label])
    if margin + x @ W[k_c] @ S[drawn] > x @ W[k_y] @ S[label]:
        W[k_c] -= eta * np.outer(x, S[drawn])
        W[k_y] += eta * np.outer(x, S[label])


def _weights(kind: str, F: np.ndarray, label: int, margin: float, draws: Any) -> dict[int, float]:
    """Return the weight of each wrong class that a row takes a step on."""
    c = len(F)
    wrong = [k for k in range(c) if k != label]
    over = {k: margin + F[k] - F[label] for k in wrong}
    violators = [k for k in wrong if over[k] > 0]
    if kind == "sje":
        worst = max(wrong, key=lambda k: over[k])
        return {worst: 1.0} if over[worst] > 0 else {}
    if kind == "devise":
        return dict.fromkeys(violators, 1.0)
    if kind == "devise-first":
        return next(({k: 1.0} for k in np.argsort(draws.random((1, c))[0]) if k in violators), {})
    if kind == "ale-drawn":
        for n, k in enumerate((wrong[j] for j in draws.integers(0, c - 1, size=(1, c - 1))[0]), start=1):
            if over[k] > 0:
                return {k: sum(1 / j for j in range(1, (c - 1) // n + 1))}
        return {}
    r = len(violators)
    return dict.fromkeys(violators, sum(1 / j for j in range(1, r + 1)) / max(r, 1))


def _ranking(method: Any, kind: str) -> Pairs:
    data = centred()
    method.set_params(precision="double", epochs=EPOCHS)
    data.fit(method)
    W = one_row_at_a_time(method, data.X, data.y, data.S, kind)
    if method.variant == "authors":
        W = W / data.X.max()
    F = np.max([data.pool @ W_k @ data.candidates.T for W_k in W], axis=0)
    return {"W": (method.W_.reshape(W.shape), W), "scores": (data.scores(method), F)}


def ale(method: Any) -> Pairs:
    """ALE by its sampled step, one row at a time."""
    return _ranking(method, "ale-drawn")


def devise(method: Any) -> Pairs:
    """DeViSE by the first violator, one row at a time."""
    return _ranking(method, "devise-first")


def sje(method: Any) -> Pairs:
    """SJE by the worst violator, one row at a time."""
    return _ranking(method, "sje")


def latem(method: Any) -> Pairs:
    """LatEm by one drawn class, one row at a time."""
    return _ranking(method, "latem")


def cmt(method: Any) -> Pairs:
    """The squared error alone, at the learned layers, in the units of the method; squared distances in loops."""
    return _cmt(method, 0.0, 0.0)


def cmt_authors(method: Any) -> Pairs:
    """The objective of the authors' code: squared error, penalties 1e-4, divergence 5 from 0.035."""
    return _cmt(method, 1e-4, 5.0)


def _cmt(method: Any, lam: float, beta: float) -> Pairs:
    data = centred()
    method.set_params(rounds=EPOCHS)
    data.fit(method)
    rows = data.S[data.y]
    of_x, of_s = np.sqrt(np.mean(data.X**2)), np.sqrt(np.mean((rows - rows.mean(axis=0)) ** 2))
    W1, b1, W2, b2 = method.W1_ * of_x, method.b1_, method.W2_ / of_s, method.b2_ / of_s
    H = np.tanh(data.X / of_x @ W1 + b1)
    value = np.sum((rows / of_s - H @ W2 - b2) ** 2) / (2 * len(rows))
    value += lam / 2 * sum(np.sum(part**2) for part in (W1, b1, W2, b2))
    q, rho = (H.mean(axis=0) + 1) / 2, 0.035
    value += beta * np.sum(rho * np.log(rho / q) + (1 - rho) * np.log((1 - rho) / (1 - q)))
    mapped = np.tanh(data.pool @ method.W1_ + method.b1_) @ method.W2_ + method.b2_
    scores = np.array([[-sum((f - s) ** 2) for s in data.candidates] for f in mapped])
    return {"objective": (method.objective(data.X, data.y, data.S), value), "scores": (data.scores(method), scores)}


def loop_by_loops(point: Sequence[float], points: Sequence[Sequence[float]], k: int, lam: float) -> float:
    """Local outlier probability of a new point among reference points, by the formulas of Kriegel et al. (2009)."""

    def context(o: Any, others: Any) -> tuple[Any, float]:
        near = sorted(others, key=lambda s: math.dist(o, s))[:k]
        return near, lam * math.sqrt(sum(math.dist(o, s) ** 2 for s in near) / len(near))

    others = [[s for j, s in enumerate(points) if j != i] for i in range(len(points))]
    pdist = {tuple(o): context(o, rest)[1] for o, rest in zip(points, others, strict=True)}

    def plof(o: Any, rest: Any) -> float:
        near, distance = context(o, rest)
        return distance / (sum(pdist[tuple(s)] for s in near) / len(near)) - 1

    npl = lam * math.sqrt(sum(plof(o, rest) ** 2 for o, rest in zip(points, others, strict=True)) / len(points))
    return max(0.0, math.erf(plof(point, points) / (npl * math.sqrt(2))))


def cmt_gaussian(method: Any) -> Pairs:
    """The mixture of seen and unseen classes, rows of low density among Gaussians of the seen classes being new."""
    data = centred()

    def new(mapped: np.ndarray, training: np.ndarray) -> np.ndarray:
        counts = np.bincount(data.y)
        spreads = [np.mean((training[data.y == c] - s) ** 2) for c, s in enumerate(data.S)]

        def density(F: np.ndarray) -> np.ndarray:
            parts = (
                n / counts.sum() * multivariate_normal(s, v * np.eye(len(s))).pdf(F)
                for n, s, v in zip(counts, data.S, spreads, strict=True)
            )
            return np.asarray(sum(parts))

        return np.asarray(density(mapped) < np.quantile(density(training), method.quantile))

    return _gated(method, data, new)


def cmt_loop(method: Any) -> Pairs:
    """The mixture of seen and unseen classes, weighed by local outlier probabilities."""
    data = centred()

    def new(mapped: np.ndarray, training: np.ndarray) -> np.ndarray:
        by_class = [[tuple(f) for f in training[data.y == c]] for c in range(len(data.S))]
        k, lam = method.neighbours, method.significance
        return np.array([min(loop_by_loops(tuple(f), points, k, lam) for points in by_class) for f in mapped])

    return _gated(method, data, new)


def _gated(method: Any, data: Data, new_of: Any) -> Pairs:
    method.set_params(rounds=EPOCHS)
    data.fit(method)
    candidates = np.vstack([data.S, data.candidates])
    seen = np.arange(len(candidates)) < len(data.S)
    mapped, training = (method.mapped(rows).astype(float) for rows in (data.pool, data.X))
    variance = np.mean((training - data.S[data.y]) ** 2)
    new = np.asarray(new_of(mapped, training), dtype=float)[:, None]
    softmax = np.exp(data.pool @ method.coefficients_ + method.offsets_)
    softmax /= softmax.sum(axis=1, keepdims=True)
    unseen = np.array([multivariate_normal(s, variance * np.eye(len(s))).pdf(mapped) for s in data.candidates]).T
    unseen /= unseen.sum(axis=1, keepdims=True)
    ours = np.exp(method.decision_function(data.pool, candidates, seen=seen) / (2 * variance))
    return {"scores": (ours, np.hstack([softmax * (1 - new), unseen * new]))}


def sse(method: Any) -> Pairs:
    """The sum over constraints at the learned weights and references, and the triple sum of the scores."""
    data = non_negative()
    method.set_params(rounds=EPOCHS)
    data.fit(method)
    w, V = method.w_, method.V_
    signatures = method.seen_signatures_
    classes = [int(np.argmin(((data.S - s) ** 2).sum(axis=1))) for s in signatures]
    y = np.array([classes.index(label) for label in data.y])
    Z, C = simplex_codes(signatures, signatures, method.gamma), simplex_codes(data.candidates, signatures, method.gamma)

    def similar(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.asarray(np.minimum(x, v) if method.sign == 1 else np.maximum(0, x - v))

    f = np.array([[w @ similar(x, v) for v in V] for x in data.X])
    pairs = [(i, c) for i in range(len(y)) for c in range(len(Z)) if c != y[i]]
    rows = [max(0.0, 1 - Z[y[i]] @ Z[c] - f[i] @ Z[y[i]] + f[i] @ Z[c]) for i, c in pairs]
    averages = [
        max(0.0, 1 - Z[c] @ Z[r] - np.mean(f[y == c, c] - f[y == c, r]))
        for c in range(len(Z))
        for r in range(len(Z))
        if r != c
    ]
    means = np.array([data.X[y == c].mean(axis=0) for c in range(len(Z))])
    variance = np.sum((means - means.mean(axis=0)) ** 2) / (len(means) - 1)
    value = np.mean(rows) + method.align * np.mean(averages) + method.ridge * variance / 2 * w @ w
    value += method.shrink / np.sum(means**2) / 2 * np.sum(V**2)
    scores = np.array([[sum(z[r] * (w @ similar(x, v)) for r, v in enumerate(V)) for z in C] for x in data.pool])
    return {"objective": (method.objective(data.X, data.y, data.S), value), "scores": (data.scores(method), scores)}


def jlse(method: Any) -> Pairs:
    """The cost of a match with each class, every code found by search."""
    data = centred()
    method.set_params(rounds=EPOCHS)
    data.fit(method)
    V = simplex_codes(data.candidates, data.S, method.gamma) @ method.W_
    scores = np.empty((len(data.pool), len(V)))
    for i, x in enumerate(data.pool):

        def reconstruction(z: np.ndarray, x: np.ndarray = x) -> float:
            return float(z @ z / 2 + np.sum((x / method.unit_ - method.D_.T @ z) ** 2) / (2 * method.noise))

        def least(function: Any) -> float:
            return float(minimize(function, np.zeros(len(method.D_)), options={"gtol": 1e-9}).fun)

        alone = least(reconstruction)
        for c, v in enumerate(V):
            cost = least(lambda z, v=v: reconstruction(z) + method.match * float(rounded_hinge(v @ z)))
            scores[i, c] = -(cost - alone) / method.match
    return {"scores": (data.scores(method), scores)}


def dense_graph(vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine graph of the k nearest (n, n), and its degrees on a diagonal."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    near = np.zeros(cosine.shape, dtype=bool)
    for i, row in enumerate(cosine):
        near[i, [j for j in np.argsort(-row, kind="stable") if j != i][:k]] = True
    W = np.where(near | near.T, cosine, 0)
    return W, np.diag(W.sum(axis=1))


def dense_updates(
    F: np.ndarray, X: np.ndarray, B: np.ndarray, graph: tuple[np.ndarray, np.ndarray], weight: float, steps: int
) -> tuple[np.ndarray, list[float]]:
    """Eqs. 9 and 13 for |X - F B|^2 + weight tr(F'(Q - W)F) as printed, with the full matrices and its objective."""
    W, Q = graph
    values = []
    F = F / F.sum(axis=0)
    for step in range(steps + 1):
        values.append(float(((X - F @ B) ** 2).sum() + weight * np.trace(F.T @ (Q - W) @ F)))
        if step < steps:
            F = F * np.sqrt((X @ B.T + weight * W @ F) / (F @ B @ B.T + weight * Q @ F))
            F = F / F.sum(axis=0)
    return F, values


def mfmr(method: Any) -> Pairs:
    """Algorithm 1 with dense matrices, and cosines after the pseudo-inverse."""
    data = non_negative()
    data.fit(method.set_params(iterations=UPDATES, converged_at=0.0))
    U, values = _printed_projection(method, data)
    P = data.pool @ np.linalg.pinv(U).T
    lengths = np.outer(np.linalg.norm(P, axis=1), np.linalg.norm(data.candidates, axis=1))
    return {
        "objective": (method.diagnostics_.series["objective"][-1], values[-1]),
        "U": (method.U_, U),
        "scores": (data.scores(method), P @ data.candidates.T / lengths),
    }


def mfmr_joint(method: Any) -> Pairs:
    """Algorithms 1 and 2 with dense matrices."""
    data = non_negative()
    data.fit(method.set_params(iterations=UPDATES, converged_at=0.0))
    U, _ = _printed_projection(method, data)
    scores = data.scores(method)
    start = np.random.default_rng([method.seed, 1]).uniform(0.1, 1.0, (len(data.pool), len(data.candidates)))
    graph = dense_graph(data.pool, method.k)
    V, values = dense_updates(start, data.pool, data.candidates @ U.T, graph, method.gamma, UPDATES)
    return {
        "objective": (method.diagnostics_.series["objective_joint"][-1], values[-1]),
        "U": (method.U_, U),
        "scores": (scores, V),
    }


def _printed_projection(method: Any, data: Data) -> tuple[np.ndarray, list[float]]:
    start = np.random.default_rng([method.seed, 0]).uniform(0.1, 1.0, (data.X.shape[1], data.S.shape[1]))
    graph = dense_graph(data.X.T, method.k)
    return dense_updates(start, data.X.T, data.S[data.y].T, graph, method.lam, UPDATES)


def tmv_hlp(method: Any) -> Pairs:
    """Ten steps of label propagation, each by the dense inverse; no clamping."""
    random = np.random.default_rng(0)
    graph = np.abs(random.normal(size=(30, 30))) * (random.random((30, 30)) < 0.3)
    graph, edges = graph + graph.T, np.abs(random.normal(size=(50, 30))) * (random.random((50, 30)) < 0.2)
    W = (1 - method.hypergraph) * graph + method.hypergraph * edges.T @ edges
    root = np.sqrt(W.sum(axis=1))
    labelled = np.array([3, 11, 28])
    L = np.zeros((30, 3))
    L[labelled, np.arange(3)] = 1
    for _ in range(10):
        L = np.linalg.inv(np.eye(30) - method.alpha * W / np.outer(root, root)) @ L
    sides = sparse.csr_array(graph), sparse.csr_array(edges)
    return {"propagation": (propagate(*sides, method.hypergraph, method.alpha, labelled, method.steps), L)}


def zskl(method: Any) -> Pairs:
    """Eq. 9 or 10 row by row and class by class at the learned W, and the scores of Eq. 12."""
    data = centred()
    method.set_params(precision="double", epochs=EPOCHS)
    data.fit(method)
    W, kernel = method.W_, method.kernel_

    def kernels(x: np.ndarray, s: np.ndarray) -> Iterator[float]:
        sides = [(W.T @ x, s)] + ([(x, W @ s)] if method.both_projections else [])
        for p, q in sides:
            yield float(kernel(p[None], q[None])[0, 0])

    mean = len(data.X) / len(data.S) if method.right_weight == "mean-class-size" else len(data.S) - 1
    value = 0.0
    for x, label in zip(data.X, data.y, strict=True):
        for c, s in enumerate(data.S):
            value += sum((1 - k) ** 2 if c == label else method.lam / mean * k**2 for k in kernels(x, s))
    scores = np.array(
        [
            [sum(-((1 - k) ** 2) if method.rule == "loss" else k for k in kernels(x, s)) for s in data.candidates]
            for x in data.pool
        ]
    )
    ours = method.objective(data.X, data.y, data.S)
    return {"objective": (ours, value / len(data.X)), "scores": (data.scores(method), scores)}
