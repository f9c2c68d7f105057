"""Slow references of methods with a closed form or one minimum: solves, and other libraries' estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from scipy.special import expit, softmax
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, LinearSVC, NuSVR

from zslplat.families.zero_shot.methods.simplex import project_on_simplex
from zslplat.methods.rows import row_keys
from zslplat_papers.parity.cases import Data, Pairs, centred, non_negative


def eszsl_projection(X: np.ndarray, Y: np.ndarray, S: np.ndarray, alpha: float, gamma: float) -> np.ndarray:
    """Return W (d, a) = (X'X + alpha I)^-1 X'Y S (S'S + gamma I)^-1."""
    left = np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T @ Y @ S)
    return np.asarray(np.linalg.solve(S.T @ S + gamma * np.eye(S.shape[1]), left.T).T)


def eszsl(method: Any) -> Pairs:
    """W and scores of ESZSL with labels -1 and 1 and absolute ridges, as printed."""
    data = centred()
    data.fit(method)
    W = eszsl_projection(data.X, 2 * np.eye(len(data.S))[data.y] - 1, data.S, method.alpha, method.gamma)
    return {"W": (method.W_, W), "scores": (data.scores(method), data.pool @ W @ data.candidates.T)}


def keszsl(method: Any) -> Pairs:
    """Scores of ESZSL with a kernel: k(x, X) (K + alpha I)^-1 Y S (S'S + gamma I)^-1 s'."""
    data = centred()
    data.fit(method)
    K, S = method.kernel_(data.X), data.S
    A = np.linalg.solve(K + method.alpha * np.eye(len(K)), (2 * np.eye(len(S))[data.y] - 1) @ S)
    A = A @ np.linalg.inv(S.T @ S + method.gamma * np.eye(S.shape[1]))
    return {"scores": (data.scores(method), method.kernel_(data.pool, data.X) @ A @ data.candidates.T)}


def sae(method: Any) -> Pairs:
    """W by the Sylvester equation, and cosines after its rows are brought to length 1."""
    data = centred()
    data.fit(method)
    codes, lam = data.S[data.y], method.lam
    W = linalg.solve_sylvester(codes.T @ codes, lam * data.X.T @ data.X, (1 + lam) * codes.T @ data.X)
    unit = W / np.linalg.norm(W, axis=1, keepdims=True)
    decoded = data.candidates @ unit
    return {"W": (method.W_, W), "scores": (data.scores(method), cosines(data.pool, decoded))}


def cosines(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the cosines (n, c) of rows of A (n, d) and B (c, d)."""
    return np.asarray(A @ B.T / np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1)))


def _in_one_space() -> Data:
    """Rows, and signatures that lie among them: the same ones, mapped by a fixed matrix and moved."""
    data = non_negative()
    places = np.random.default_rng(1).normal(size=(data.S.shape[1] + 1, data.X.shape[1]))
    S, candidates = (np.column_stack([rows, np.ones(len(rows))]) @ places for rows in (data.S, data.candidates))
    return Data(data.X, data.y, S, data.pool, candidates)


def cosine_signatures(method: Any) -> Pairs:
    """Cosines of rows and signatures."""
    data = _in_one_space()
    data.fit(method)
    return {"scores": (data.scores(method), cosines(data.pool, data.candidates))}


def cosine_adapter(method: Any) -> Pairs:
    """The map (d, d) of the ridge regression whose penalty draws it to the identity, over unit class means."""
    data = _in_one_space()
    data.fit(method)
    T, d = data.S / np.linalg.norm(data.S, axis=1, keepdims=True), data.X.shape[1]
    left, right = np.zeros((d, d)), np.zeros((d, d))
    for c, text in enumerate(T):
        rows = data.X[data.y == c]
        mean = rows.mean(axis=0)
        left += len(rows) * np.outer(text, text)
        right += len(rows) * np.outer(text, mean / np.linalg.norm(mean))
    ridge = method.alpha * np.trace(left) / d
    W = np.linalg.solve(left + ridge * np.eye(d), right + ridge * np.eye(d))
    return {
        "W": (np.eye(d) + method.signatures_.T @ method.C_, W),
        "scores": (data.scores(method), cosines(data.pool, data.candidates @ W)),
    }


def _about_the_mean(A: np.ndarray) -> np.ndarray:
    unit = np.array([row / np.linalg.norm(row) for row in A])
    return np.array([(row - unit.mean(axis=0)) / np.linalg.norm(row - unit.mean(axis=0)) for row in unit])


def cosine_centred(method: Any) -> Pairs:
    """Cosines of unit rows and signatures, each about their mean."""
    data = _in_one_space()
    data.fit(method)
    rows, texts = _about_the_mean(data.pool), _about_the_mean(data.candidates)
    return {"scores": (data.scores(method), cosines(rows, texts))}


def cosine_em(method: Any) -> Pairs:
    """Expectation and maximisation, row by row and class by class."""
    data = _in_one_space()
    data.fit(method)
    rows, texts, kappa = _about_the_mean(data.pool), _about_the_mean(data.candidates), method.concentration
    n, c = len(rows), len(texts)
    means, weights = texts.copy(), np.full(c, 1 / c)
    for _ in range(method.iterations):
        shares = np.array([[weights[k] * np.exp(kappa * row @ means[k]) for k in range(c)] for row in rows])
        shares /= shares.sum(axis=1, keepdims=True)
        for k in range(c):
            total = sum(shares[i, k] * rows[i] for i in range(n)) + method.prior * n / c * texts[k]
            means[k] = total / np.linalg.norm(total)
        if method.weights == "learned":
            weights = np.array([(shares[:, k].sum() + 1) / (n + c) for k in range(c)])
    return {"scores": (data.scores(method), rows @ means.T + np.log(weights) / kappa)}


def ridge_prototypes(method: Any) -> Pairs:
    """Prototypes of the ridge regression over all rows, whose offset is not penalised."""
    data = non_negative()
    data.fit(method)
    M, offset = regression_over_rows(data.X, data.y, data.S, method.alpha)
    prototypes = method.mean_ + (data.S - method.signature_mean_) @ method.M_
    return {"M": (method.M_, M), "prototypes": (prototypes, data.S @ M + offset)}


def regression_over_rows(X: np.ndarray, y: np.ndarray, S: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return M (a, d) and offset (d,) of the ridge regression over all rows whose offset is not penalised."""
    rows = S[y]
    ridge = alpha * np.mean(np.linalg.eigvalsh((rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))))
    design = np.hstack([rows, np.ones((len(rows), 1))])
    penalty = np.diag([ridge] * S.shape[1] + [0.0])
    solution = np.linalg.solve(design.T @ design + penalty, design.T @ X)
    return solution[:-1], solution[-1]


def attribute_score(P: np.ndarray, signatures: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Return sum_m log p(a_m = s_m | x) - log p(a_m = s_m) (n, c), in loops."""
    scores = np.zeros((len(P), len(signatures)))
    for z, signature in enumerate(signatures):
        for m, holds in enumerate(signature):
            scores[:, z] += np.log(P[:, m] if holds else 1 - P[:, m])
            scores[:, z] -= np.log(priors[m] if holds else 1 - priors[m])
    return scores


def dap(method: Any) -> Pairs:
    """Scores from support vector machines of the chi-squared kernel, C = 10, and Platt's sigmoid."""
    data = non_negative()
    cut = data.S.mean()
    data.fit(method)
    order = np.argsort(row_keys("X", data.X), kind="stable")
    X, y, B = data.X[order], data.y[order], cut < data.S
    distances = -additive_chi2_kernel(X)
    sigma = 5 / np.median(distances[np.triu_indices(len(X), 1)])
    K, k = np.exp(-sigma * distances), np.exp(sigma * additive_chi2_kernel(data.pool, X))
    q = np.where(B.all(axis=0) | ~B.any(axis=0), 0.5, B.mean(axis=0))
    P = np.full((len(k), B.shape[1]), 0.5)
    for m in np.flatnonzero(B.any(axis=0) & ~B.all(axis=0)):
        P[:, m] = _platt(K, k, B[y, m])
    P = np.clip(P, method.clip, 1 - method.clip)
    return {"scores": (data.scores(method), attribute_score(P, data.candidates > cut, q))}


def _platt(K: np.ndarray, k: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the probabilities (n,) of new rows k (n, m): a machine on nine tenths, Platt's sigmoid on the rest."""
    trained, rest = next(iter(StratifiedKFold(10).split(K, labels)))
    machine = SVC(kernel="precomputed", C=10.0, tol=1e-8).fit(K[np.ix_(trained, trained)], labels[trained])
    f, positive = machine.decision_function(K[np.ix_(rest, trained)]), labels[rest]
    n1, n0 = positive.sum(), (~positive).sum()
    t = np.where(positive, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))

    def loss(v: np.ndarray) -> float:
        return float(np.sum(np.logaddexp(0, v[0] * f + v[1]) - (1 - t) * (v[0] * f + v[1])))

    A, B = minimize(loss, [0.0, np.log((n0 + 1) / (n1 + 1))], method="BFGS", options={"gtol": 1e-9}).x
    return np.asarray(expit(-(A * machine.decision_function(k[:, trained]) + B)))


def seen_probabilities(data: Data, C: float) -> np.ndarray:
    """Return the probabilities (n, c) of the seen classes for the pool, by scikit-learn; rows have length 1."""
    machine = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(data.X, data.y)
    return np.asarray(machine.predict_proba(data.pool))


def iap(method: Any) -> Pairs:
    """Attributes by way of the seen classes, then the score of DAP."""
    data = non_negative()
    data.fit(method)
    B = data.S.mean() < data.S
    q = np.where(B.all(axis=0) | ~B.any(axis=0), 0.5, B.mean(axis=0))
    P = np.clip(seen_probabilities(data, method.C) @ B, method.clip, 1 - method.clip)
    return {"scores": (data.scores(method), attribute_score(P, data.candidates > data.S.mean(), q))}


def iap_linear(method: Any) -> Pairs:
    """The score of the authors' first code: a sum over classes and attributes, each divided by its sum."""
    data = non_negative()
    data.fit(method)
    P, seen, B = seen_probabilities(data, method.C), data.S.mean() < data.S, data.candidates > data.S.mean()
    scores = np.zeros((len(P), len(B)))
    for i, z, m in np.ndindex(len(P), *B.shape):
        if B[z, m]:
            share = sum(P[i, k] * seen[k, m] / seen[k].sum() for k in range(len(seen)) if seen[k].any())
            scores[i, z] += share / B[:, m].sum()
    return {"scores": (data.scores(method), scores)}


def conse(method: Any) -> Pairs:
    """The cosine of a class with the mean signature of the T likeliest seen classes."""
    data = centred()
    data.fit(method)
    P = seen_probabilities(data, method.C)
    F = []
    for p in P:
        top = np.argsort(-p, kind="stable")[: method.T]
        F.append(p[top] @ data.S[top] / p[top].sum())
    return {"scores": (data.scores(method), cosines(np.array(F), data.candidates))}


def slow_statistics(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, PCA]:
    """Return projected rows (n, k), class means, the mean deviation inside a class, and scikit-learn's components."""
    components = PCA(svd_solver="full").fit(X)
    Z, classes = components.transform(X), range(int(y.max()) + 1)
    deviation = np.mean([Z[y == k].std(axis=0, ddof=1) for k in classes], axis=0)
    return Z, np.array([Z[y == k].mean(axis=0) for k in classes]), deviation, components


def exem(method: Any) -> Pairs:
    """Distances from exemplars by a nu-support vector regression for each principal direction."""
    data = non_negative()
    data.fit(method)
    _, means, deviation, components = slow_statistics(data.X, data.y)
    unit = np.median(pdist(data.S))
    exemplars = np.empty((len(data.candidates), means.shape[1]))
    for j in range(means.shape[1]):
        machine = NuSVR(kernel="rbf", gamma=method.gamma, C=method.C, nu=method.nu, tol=1e-9)
        exemplars[:, j] = machine.fit(data.S / unit, means[:, j]).predict(data.candidates / unit)
    scale = deviation if method.standardised else 1.0
    return {"scores": (data.scores(method), -cdist(components.transform(data.pool) / scale, exemplars / scale))}


def gaussians(data: Data, method: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances (c, d) of the candidates by kernel ridge regression, as printed, without reg."""
    rows = [data.X[data.y == k] for k in range(len(data.S))]
    M, V = np.array([r.mean(axis=0) for r in rows]), np.array([r.var(axis=0, ddof=1) for r in rows])
    kernel = {"kernel": "polynomial", "degree": 2, "gamma": 1, "coef0": 1}
    means = KernelRidge(alpha=method.mean_ridge, **kernel).fit(data.S, M).predict(data.candidates)
    logs = KernelRidge(alpha=method.variance_ridge, **kernel).fit(data.S, np.log(V + method.floor))
    return means, np.exp(logs.predict(data.candidates))


def log_normal(X: np.ndarray, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return log N(x; m, diag v) (n, c), class by class."""
    columns = [multivariate_normal(m, np.diag(v)).logpdf(X) for m, v in zip(means, variances, strict=True)]
    return np.transpose(columns)


def gfzsl(method: Any) -> Pairs:
    """Log-densities of the predicted Gaussians."""
    data = centred()
    data.fit(method)
    means, variances = gaussians(data, method)
    return {"scores": (data.scores(method), log_normal(data.pool, means, variances + method.reg))}


def gfzsl_em(method: Any) -> Pairs:
    """Log-densities after expectation maximisation on the batch, row by row and class by class."""
    data = centred()
    data.fit(method)
    scores, X = data.scores(method), data.pool
    means, variances = gaussians(data, method)
    variances, shares = np.maximum(variances, method.bound), np.full(len(means), 1 / len(means))
    for _ in range(len(method.diagnostics_.series["objective"]) - 1):
        R = softmax(log_normal(X, means, variances) + np.log(shares), axis=1)
        for c, r in enumerate(R.T):
            shares[c] = r.mean()
            means[c] = sum(p * x for p, x in zip(r, X, strict=True)) / r.sum()
            spread = sum(p * (x - means[c]) ** 2 for p, x in zip(r, X, strict=True)) / r.sum()
            variances[c] = np.maximum(spread, method.bound)
    return {"scores": (scores, log_normal(X, means, variances + method.reg))}


def multiclass_value(W: np.ndarray, X: np.ndarray, y: np.ndarray, margins: np.ndarray, lam: float) -> float:
    """Return the mean over rows of max_c (x w_c + margin - x w_y), plus lam / 2 |W|^2."""
    F = X @ W.T
    losses = [max(F[i, c] + margins[y[i], c] - F[i, y[i]] for c in range(len(W))) for i in range(len(X))]
    return float(np.mean(losses) + lam / 2 * (W**2).sum())


def sync(method: Any) -> Pairs:
    """Classifiers of least loss, by liblinear or on the dual, and their mixtures with a pseudo-inverse."""
    data = non_negative(n=40)
    data.fit(method)
    unit = np.median(pdist(data.S))
    phantoms, classes = data.S / unit, data.candidates / unit
    n, c, lam = len(data.X), len(phantoms), method.lam
    if hasattr(method, "margins"):
        margins = 1 - np.eye(c) if method.summary.endswith("(Crammer-Singer)") else cdist(phantoms, phantoms)
        W = least_multiclass_hinge(data.X, data.y, margins, lam)
        ours, least = (multiclass_value(V, data.X, data.y, margins, lam) for V in (method.W_, W))
    else:
        peer = LinearSVC(C=1 / (lam * n * c), dual=False, fit_intercept=False, tol=1e-12, max_iter=100000)
        W = peer.fit(data.X, data.y).coef_
        T = 2 * np.eye(c)[data.y] - 1
        ours, least = (
            float(np.mean(np.maximum(0, 1 - T * (data.X @ V.T)) ** 2) + lam / 2 * (V**2).sum()) for V in (method.W_, W)
        )

    def similar(A: np.ndarray) -> np.ndarray:
        weights = np.array([[np.exp(-method.scale * ((p - q) ** 2).sum()) for q in phantoms] for p in A])
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    mixed = similar(classes) @ np.linalg.pinv(similar(phantoms)) @ W
    return {"objective": (ours, least), "W": (method.W_, W), "scores": (data.scores(method), data.pool @ mixed.T)}


def least_multiclass_hinge(X: np.ndarray, y: np.ndarray, margins: np.ndarray, lam: float) -> np.ndarray:
    """Return W (c, d) that minimises :func:`multiclass_value`: accelerated steps on its dual."""
    n, Y = len(X), np.eye(len(margins))[y]
    K = X @ X.T / (lam * n)
    step = 1 / np.linalg.eigvalsh(K)[-1]
    P, ahead, momentum = Y, Y, 1.0
    for _ in range(20000):
        moved = project_on_simplex(ahead + step * (margins[y] + K @ (Y - ahead)))
        if np.vdot(ahead - moved, moved - P) > 0:
            momentum = 1.0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, P, momentum = moved + (momentum - 1) / faster * (moved - P), moved, faster
    return np.asarray((Y - P).T @ X / (lam * n))


def gfhf(method: Any) -> Pairs:
    """The harmonic extension of prototypes through the graph of the batch, by a dense solve."""
    data = centred()
    data.fit(method)
    Y = np.eye(len(data.S))[data.y] @ data.S
    mean = data.X.mean(axis=0)
    gram = Y.T @ Y
    ridge = method.alpha * np.trace(gram) / len(gram) * np.eye(len(gram))
    M = np.linalg.solve(gram + ridge, Y.T @ (data.X - mean))
    return {"M": (method.M_, M)}
