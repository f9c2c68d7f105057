"""A sound zero-shot method, the base of those that break a promise of the test kit."""

import numpy as np
from scipy import linalg

from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.space import POSITIVE, Integer, Parameter, Real

LAM = Parameter("ridge", POSITIVE, Real(1e-3, 10, log=True))
SEED = Parameter("seed", Integer(0))


class Sound(ZeroShotMethod):
    """Ridge regression to signatures."""

    summary = "sound"
    tags = ("stationary", "several-signatures")
    parameters = {"lam": LAM}

    def __init__(self, lam=0.1):
        self.lam = lam

    def prepare_fit(self, X, y, S, *, space):
        check_fit_inputs(X, y, S)
        X = np.asarray(X, dtype=np.float64)
        return {"gram": X.T @ X, "cross": X.T @ S[y]}

    def fit(self, X, y, S, *, signature_class=None, statistics=None):
        statistics = statistics or self.prepare_fit(X, y, S, space={})
        gram, cross = statistics["gram"], statistics["cross"]
        self.W_ = linalg.solve(gram + self.lam * np.eye(len(gram)), cross, assume_a="pos")
        return self

    def decision_function(self, X, S, *, seen=None, signature_class=None, statistics=None):
        Z = X @ self.W_
        scores = Z @ S.T - 0.5 * (S * S).sum(axis=1)
        if signature_class is None:
            return scores
        return np.stack([scores[:, signature_class == c].max(axis=1) for c in np.unique(signature_class)], axis=1)

    def objective(self, X, y, S):
        return float(((X @ self.W_ - S[y]) ** 2).sum() + self.lam * (self.W_**2).sum())

    def matrices(self):
        return {"W": self.W_}


class Plain(Sound):
    """The same without tags, the base of those that break something."""

    tags = ()
