"""A small problem of feature selection, and its regression."""

import numpy as np

from zslplat.families.selection.methods.regression import Regression, regression_statistics


def problem(n=90, d=20, c=6, m=9, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    S = rng.standard_normal((c, m))
    X = rng.standard_normal((n, d)) + (S @ rng.standard_normal((m, d)))[y] * (np.arange(d) < d // 2)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.astype(dtype), y, S, S[y] + 0.3 * rng.standard_normal((n, m))


def regression(X, y, S, alpha, rows=None, keep_rows=False):
    statistics = regression_statistics(X, y, len(S), rows)
    if keep_rows:
        wide = np.hstack([X, np.zeros((len(X), len(X) + len(S)))])
        statistics = regression_statistics(wide, y, len(S), rows)
    return Regression.build(statistics, S, alpha)
