"""DAP and IAP: classes by their attributes, each attribute present or absent.

One calibrated classifier per attribute
---------------------------------------
The log-odds of attribute m are x w_m + b_m; with a kernel, of the similarities of x to the training rows in place of x.

| here | shape        | meaning                                                    |
|------|--------------|------------------------------------------------------------|
| X    | (n, d)       | training rows, brought to mean squared length 1            |
| B    | (c, a)       | binary signatures; the label of a row is that of its class |
| W, b | (d, a), (a,) | weights and offsets of the log-odds                        |

``logistic``: logistic regression, which is calibrated by itself, all attributes at once. ``svm``: a
linear support vector machine (squared hinge) and Platt's sigmoid, fitted to decision values of rows that were held out
in turns; the sigmoid of a linear decision value is again linear in the log-odds. Machines and sigmoids are
scikit-learn's, one attribute after the other, which on tens of thousands of rows takes minutes for each. C as in
:mod:`.conse`. ``chi-squared``: a support vector machine with the exponential chi-squared kernel of non-negative rows,
its width 5 / median of the distances, trained on nine tenths of the rows, and Platt's sigmoid from the other tenth. All
attributes share one Gram matrix (n, n); rows that support no attribute are dropped.

Attributes that are alike, or opposite, in all seen classes share one classifier. Those that all seen classes have, or
none, have no classifier and log-odds of 0.

Logistic regressions that share their rows
------------------------------------------
One for each of several binary targets, solved together.

| here | shape  | meaning                                                      |
|------|--------|--------------------------------------------------------------|
| X    | (n, d) | training rows, less their mean; X'X = Q diag(f) Q', Q (d, r) |
| T    | (n, k) | targets, 0 or 1                                              |
| q    | (k,)   | mean of each target                                          |
| V    | (r, k) | weights along the directions Q, W = Q V                      |
| b    | (k,)   | offsets, without penalty                                     |

The losses summed over rows, plus |w|^2 / 2C, are what scikit-learn's ``LogisticRegression`` minimises for one target;
there is one minimum, and the tests compare. Here every pass over the rows is a product of X with the weights of all
targets, and the variables are divided by the root of the curvature at V = 0 with offsets logit(q), which is
q (1 - q) f + 1 / C. In these variables L-BFGS needs some tens of passes, whatever the spread of f. Of 40000 rows, 1280
features and 100 targets a pass is 20 GFlop, X'X with its eigendecomposition some 70, and all of it half a minute of one
core. One target after the other it would be products with single vectors, and more passes.

Products run in the precision of X, sums over rows in float64.

Binary signatures, their priors, and the score of a class
---------------------------------------------------------
Lampert, Nickisch and Harmeling, "Attribute-based classification for zero-shot visual object categorization", TPAMI
2014; what the published code does was read in ports of it (``DAP_eval.py`` of chcorbi/AttributeBasedTransferLearning,
``Fu_DAP.m`` of yanweifu/embedding_zero-shot-learning).

| paper      | here     | shape  | meaning                                                            |
|------------|----------|--------|--------------------------------------------------------------------|
| a_m^z      | B        | (c, a) | binary signatures                                                  |
| p(a_m | x) | P        | (n, a) | probability that attribute m holds for a row                       |
| p(a_m)     | q        | (a,)   | prior: share of the seen classes (not rows) that have the attribute |
| p(z | x)   | score    | (n, c) | its logarithm: sum_m log p(a_m = a_m^z | x) - log p(a_m = a_m^z)   |

An attribute that all seen classes have, or none, has the prior 1/2.

DAP
---
One calibrated classifier per attribute, above, then the class by its attributes.

| paper      | here  | shape  | meaning                                    |
|------------|-------|--------|--------------------------------------------|
| a_m^y      | B     | (c, a) | binary signatures of the seen classes      |
|            | W, b  | (d, a), (a,) | log-odds of attribute m: x w_m + b_m |
| p(a_m | x) | P     | (n, a) | the sigmoid of the log-odds                |

The paper takes support vector machines with a chi-squared kernel on histograms, C = 10, and Platt's sigmoid, which is
``variant="paper"`` (its constants are from memory; a port takes a linear machine on random features of that kernel).
The default is logistic regression.

IAP
---
Attributes by way of the seen classes, then the class by its attributes.

| paper      | here | shape    | meaning                                       |
|------------|------|----------|-----------------------------------------------|
| p(y | x)   | P    | (n, c_s) | probabilities of the seen classes             |
| a_m^y      | B    | (c_s, a) | binary signatures of the seen classes         |
| p(a_m | x) | P B  | (n, a)   | sum over the seen classes that have attribute m |

``product``: what DAP makes of probabilities of attributes, as ports of the method have it.
``linear``: what the authors' first code does. Each row of B is divided by its sum, R; each attribute's column of the
candidates' binary signatures by its sum over the candidates, C; the score is P R C'. That code does not guard against
an attribute which no candidate has and answers with NaN; such columns, and classes without attribute, are 0 here. The
scores of ``linear`` depend on which candidates there are: a task with several requests scores all of its candidates
once. Whether the authors' signatures were binary there could not be found out.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.errors import DataError, OutcomeWarning
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.probabilistic.conse import (
    PENALTY,
    PRECISION,
    SeenClassMethod,
    rows_of_unit_size,
)
from zslplat.kernels.expression import parse_kernel
from zslplat.methods.base import Arrays, Diagnostics, Prepared, Statistics
from zslplat.methods.rows import row_keys
from zslplat.space import BOOLEAN, Choice, Real, Space, parameter

# Of the gradient in the scaled variables, times the root of n: what remains moves log-odds by some 1e-4.
LOGISTIC_PRECISION = 1e-5
LOGISTIC_ITERATIONS = 500


def fit_logistic(X: np.ndarray, T: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Return W (d, k) and b (k,) for rows X (n, d) and boolean targets T (n, k).

    The mean of every target lies strictly between 0 and 1. Warns where the iterations did not suffice.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    X = X - mean.astype(X.dtype)
    Q, f = spectral.row_space(X)
    q = T.mean(axis=0, dtype=np.float64)
    curvature = q * (1 - q)
    start = np.log(q) - np.log1p(-q)
    # The last row is for the offsets.
    scale = 1 / np.sqrt(np.vstack([f[:, None] * curvature + 1 / C, len(X) * curvature]))
    directions = Q.astype(X.dtype)

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        scaled = scale * u.reshape(scale.shape)
        V, b = scaled[:-1], scaled[-1] + start
        Z = (X @ (directions @ V.astype(X.dtype))).astype(np.float64) + b
        value = float(np.logaddexp(0, Z).sum() - Z[T].sum())
        P = expit(Z)
        P -= T
        slope = directions.T @ (X.T @ P.astype(X.dtype)) + V / C
        return value + float((V * V).sum()) / (2 * C), (scale * np.vstack([slope, P.sum(axis=0)])).ravel()

    # Rounding of single-precision products ends the search before the gradient does, at worst.
    options = {
        "maxiter": LOGISTIC_ITERATIONS,
        "gtol": LOGISTIC_PRECISION * np.sqrt(len(X)),
        "ftol": 1e-13,
        "maxcor": 10,
    }
    result = minimize(loss, np.zeros(scale.size), jac=True, method="L-BFGS-B", options=options)
    if result.status == 1:
        text = f"logistic regression: not converged after {result.nit} iterations"
        warnings.warn(OutcomeWarning(text, "ZSP213"), stacklevel=2)
    scaled = scale * result.x.reshape(scale.shape)
    W = Q @ scaled[:-1]
    return W, scaled[-1] + start - mean @ W


# Parts of the rows that Platt's sigmoid holds out in turns.
HELD_OUT = 3
# Of variant="paper": parts of the rows, one of which is held out, and the kernel.
PARTS = 10
CHI_SQUARED = "chi-squared"
ITERATIONS = 10_000


def solve(X: np.ndarray, y: np.ndarray, B: np.ndarray, C: float, classifier: str) -> tuple[np.ndarray, np.ndarray]:
    """Return W (d, a) and b (a,) for rows X (n, d), labels y (n,) and binary signatures B (c, a).

    For ``chi-squared`` X is the Gram matrix (n, n) of rows in an order of their own, and W (n, a).
    """
    B = np.asarray(B, dtype=bool)
    X, length = (X, 1.0) if classifier == CHI_SQUARED else rows_of_unit_size(X)
    if classifier == "svm":
        # Which rows are held out together goes by their place.
        order = np.argsort(row_keys("X", X), kind="stable")
        X, y = X[order], y[order]
    # Of opposite attributes: the one that the first class does not have. p(not a) = 1 - p(a).
    sign = np.where(B[0], -1.0, 1.0)
    patterns, which = np.unique(B ^ B[0], axis=1, return_inverse=True)
    W, b = np.zeros((X.shape[1], patterns.shape[1])), np.zeros(patterns.shape[1])
    vary = patterns.any(axis=0)
    if vary.any():
        targets = patterns[:, vary][y]
        if classifier == "logistic":
            W[:, vary], b[vary] = fit_logistic(X, targets, C)
        else:
            one = _platt_of_gram if classifier == CHI_SQUARED else _platt_of_one
            machines = [one(np.asarray(X, dtype=np.float64), labels, C) for labels in targets.T]
            W[:, vary], b[vary] = np.transpose([w for w, _ in machines]), [offset for _, offset in machines]
    return W[:, which.ravel()] * sign / length, b[which.ravel()] * sign


def _folds(labels: np.ndarray, most: int) -> StratifiedKFold:
    """Return a division of rows into ``most`` parts, fewer where an attribute has fewer rows; each part has both."""
    fewest = int(min(labels.sum(), (~labels).sum()))
    if fewest < 2:
        raise DataError(
            f"an attribute is told by {fewest} training row, and Platt's sigmoid holds rows out; "
            "use classifier=logistic, or more rows"
        )
    return StratifiedKFold(min(most, fewest))


def _platt_of_one(X: np.ndarray, labels: np.ndarray, C: float) -> tuple[np.ndarray, float]:
    """Return weights (d,) and offset of the log-odds of boolean labels (n,)."""
    folds = _folds(labels, HELD_OUT)
    # Its solver of the dual draws coordinates.
    machine = LinearSVC(C=C, tol=PRECISION, max_iter=ITERATIONS, random_state=0)
    calibration = CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False).fit(X, labels)
    calibrated = calibration.calibrated_classifiers_[0]
    (platt,) = calibrated.calibrators  # p = 1 / (1 + exp(a f + b)) of the decision value f
    inner = calibrated.estimator
    return -platt.a_ * inner.coef_[0], float(-platt.a_ * inner.intercept_[0] - platt.b_)


def _platt_of_gram(K: np.ndarray, labels: np.ndarray, C: float) -> tuple[np.ndarray, float]:
    """Return dual weights (n,) and offset of the log-odds of boolean labels (n,) for a Gram matrix K (n, n)."""
    trained, held_out = next(iter(_folds(labels, PARTS).split(K, labels)))
    machine = SVC(kernel="precomputed", C=C, tol=PRECISION, random_state=0).fit(
        K[np.ix_(trained, trained)], labels[trained]
    )
    f, positive = machine.decision_function(K[np.ix_(held_out, trained)]), labels[held_out]
    # Platt's sigmoid: a logistic regression on f whose targets stay off 0 and 1.
    target = np.where(positive, (positive.sum() + 1) / (positive.sum() + 2), 1 / ((~positive).sum() + 2))
    platt = LogisticRegression(C=np.inf, tol=PRECISION)
    platt.fit(np.r_[f, f][:, None], np.repeat([1, 0], len(f)), sample_weight=np.r_[target, 1 - target])
    slope, weights = float(platt.coef_[0, 0]), np.zeros(len(K))
    weights[trained[machine.support_]] = slope * machine.dual_coef_[0]
    return weights, slope * float(machine.intercept_[0]) + float(platt.intercept_[0])


CITATION = "Lampert et al.: Attribute-based classification for zero-shot visual object categorization. TPAMI 2014"


class AttributeMethod(ZeroShotMethod, listed_last=True):
    """Base of the methods that score a class by the probabilities of its attributes."""

    threshold = parameter(
        "signatures that are not binary are cut at the mean over all of the seen table, or of each attribute",
        Choice(("overall", "attribute")),
        default="overall",
    )
    prior = parameter("divide by the prior of the attributes", BOOLEAN, Choice((True, False)), default=True)
    clip = parameter("least distance of probabilities to 0 and 1", Real(0, 0.5, open_low=True), default=1e-6)


def thresholds(S: np.ndarray, how: str) -> np.ndarray:
    """Return what each attribute (a,) of the seen signatures S (c, a) is compared with: it holds where it is above.

    ``overall``: the mean of the whole table, as the binary table of Animals with Attributes was made (its readme);
    ``attribute``: the mean of each attribute. A table of two values is binary already and is cut between them, whatever
    ``how`` says.
    """
    S = np.asarray(S, dtype=np.float64)
    values = np.unique(S)
    if len(values) == 2:
        return np.full(S.shape[1], values.mean())
    if how == "overall":
        return np.full(S.shape[1], S.mean())
    # The mean of equal numbers may differ from them in the last digit.
    return np.asarray(np.where(np.ptp(S, axis=0) > 0, S.mean(axis=0), S[0]))


def priors(B: np.ndarray) -> np.ndarray:
    """Return p(a_m) (a,) from binary signatures B (c, a) of the seen classes; 1/2 where it would be 0 or 1."""
    q = np.asarray(B, dtype=np.float64).mean(axis=0)
    return np.where((q > 0) & (q < 1), q, 0.5)


def attribute_scores(P: np.ndarray, B: np.ndarray, q: np.ndarray | None, clip: float) -> np.ndarray:
    """Return the logarithm of the class score (n, c); ``P`` (n, a), ``B`` (c, a), without prior where ``q`` is None.

    Two matrix products, and a constant of each class for the prior.
    """
    P = np.clip(P, clip, 1 - clip)
    B = np.asarray(B, dtype=np.float64)
    scores = np.log(P) @ B.T + np.log1p(-P) @ (1 - B).T
    if q is not None:
        scores -= B @ np.log(q) + (1 - B) @ np.log1p(-q)
    return np.asarray(scores)


class DAP(AttributeMethod):
    r"""Direct attribute prediction (Lampert et al., 2014).

    ``C`` is the inverse penalty of the classifiers, ``classifier`` their kind; ``threshold`` makes signatures binary
    (:func:`thresholds`); without ``prior`` the score is the plain product of probabilities, and ``clip``
    keeps each this far from 0 and 1. The classifiers are prepared once per value of ``C``, and of what else
    they depend on where that is searched. ``variant="paper"`` takes chi-squared support vector machines with C = 10, of
    non-negative rows that sum to 1. Learned: ``W_`` (d, a), ``offset_`` (a,), ``thresholds_`` (a,), ``priors_`` (a,);
    with the kernel ``W_`` (m, a) for ``rows_`` (m, d), and its text ``kernel_``. In float64.

    Equations
    ---------
    A classifier for each attribute m, and a class by its binary attributes:

    $$\log p(c \mid x) = \sum_m \log p(a_m = a_m^c \mid x) - \log p(a_m = a_m^c)$$

    With ``variant="paper"`` the classifier of attribute m is a support vector machine f of the chi-squared kernel:

    $$p(a_m \mid x) = \frac{1}{1 + e^{A f_m(x) + B}}, \qquad k(x, z) = \exp\left( - \sigma \sum_j \frac{(x_j -
    z_j)^2}{x_j + z_j} \right)$$

    Related
    -------
    ``iap`` finds the attributes by way of the seen classes; ``conse`` skips them; ``eszsl`` learns all attributes
    jointly.
    """

    summary = "a calibrated classifier for every attribute, and the class by its attributes"
    citation = CITATION
    tags = ("inductive", "probabilistic", "linear")
    preprocessing = Preprocessing(features=("standardise", "l2"))
    tolerance = 1e-3
    tolerance_reason = "the solver stops at a small gradient, which depends on the order of the rows"
    costly = ("C", "classifier", "threshold")  # what the classifiers depend on
    C = PENALTY
    classifier = parameter(
        "logistic regression, or calibrated SVMs: linear, or with the chi-squared kernel",
        Choice(("logistic", "svm", CHI_SQUARED)),
        default="logistic",
    )
    variant = parameter(
        "default: logistic regressions; paper: chi-squared SVMs", Choice(("default", "paper")), default="default"
    )
    variants = {"paper": {"classifier": CHI_SQUARED, "C": 10.0}}

    rows_: np.ndarray | None = None
    kernel_: str = ""

    @property
    def effective_preprocessing(self) -> Preprocessing:
        """Histograms for the chi-squared kernel: non-negative rows that sum to 1."""
        return Preprocessing(features=("split", "l1")) if self.classifier == CHI_SQUARED else self.preprocessing

    def prepare_fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return the classifiers for these values of what is costly."""
        check_fit_inputs(X, y, S)
        B = thresholds(S, self.threshold) < S
        if self.classifier != CHI_SQUARED:
            W, offset = solve(X, y, B, self.C, self.classifier)
            return {"W": W, "offset": offset}
        order = np.argsort(row_keys("X", X), kind="stable")
        rows = np.asarray(X, dtype=np.float64)[order]
        kernel = parse_kernel("chi-squared(sigma=5/median)").resolved(rows)
        W, offset = solve(kernel(rows), y[order], B, self.C, self.classifier)
        support = W.any(axis=1) | (np.arange(len(W)) == 0)
        return {"W": W[support], "offset": offset, "rows": rows[support], "kernel": np.array(str(kernel))}

    def prepare_score(self, X: np.ndarray, S: np.ndarray, *, space: Space, statistics: Statistics = None) -> Arrays:
        """Return the probabilities (n, a) of the attributes; nothing where there are no classifiers yet."""
        return {"P": _probabilities(X, statistics)} if statistics else {}

    def _fit(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        self.W_, self.offset_ = np.asarray(statistics["W"]), np.asarray(statistics["offset"])
        self.rows_, self.kernel_ = statistics.get("rows"), str(statistics.get("kernel", ""))
        self.thresholds_ = thresholds(S, self.threshold)
        B = self.thresholds_ < S
        self.priors_ = priors(B)
        told_apart = int((B.any(axis=0) & ~B.all(axis=0)).sum())
        self.diagnostics_ = Diagnostics(
            numbers={"attributes_that_vary": float(told_apart), "patterns": float(len(np.unique(B, axis=0)))}
        )

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return log-scores (n, c) of rows X (n, d) for signatures S (c, a)."""
        learned = {"W": self.W_, "offset": self.offset_}
        if self.rows_ is not None:
            learned |= {"rows": self.rows_, "kernel": np.array(self.kernel_)}
        P = np.asarray(statistics["P"]) if statistics else _probabilities(X, learned)
        return attribute_scores(P, self.thresholds_ < S, self.priors_ if self.prior else None, self.clip)

    def matrices(self) -> Arrays:
        """Return the classifiers, W (d, a) and their offsets (a,)."""
        return {"W": self.W_, "offset": self.offset_}


def _probabilities(X: np.ndarray, learned: Prepared) -> np.ndarray:
    X = np.asarray(X, dtype=np.float64)
    if "rows" in learned:
        X = parse_kernel(str(learned["kernel"]))(X, np.asarray(learned["rows"], dtype=np.float64))
    return np.asarray(expit(X @ learned["W"] + learned["offset"]))


def linear_scores(P: np.ndarray, B_seen: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return P R C' (n, c) for probabilities P (n, c_s) and binary signatures B_seen (c_s, a), B (c, a)."""
    rows, columns = B_seen.sum(axis=1, keepdims=True), B.sum(axis=0)
    R = B_seen / np.where(rows > 0, rows, 1)
    return np.asarray((P @ R) @ (B / np.where(columns > 0, columns, 1)).T)


class IAP(SeenClassMethod, AttributeMethod):
    r"""Indirect attribute prediction (Lampert et al., 2014).

    ``C`` is the inverse penalty of the classifier of the seen classes (:mod:`.conse`). ``score``: ``product``, the
    class score of DAP, with ``prior`` and ``clip``; or ``linear``, that of the authors' first code, which takes
    neither, as ``variant="authors"`` has it. ``threshold`` makes signatures binary (:func:`thresholds`). Learned:
    ``W_`` (d, c), ``offset_`` (c,), ``signatures_`` (c, a).

    Equations
    ---------
    Probabilities of the seen classes give those of the attributes, and these the class, as in ``dap``:

    $$p(a_m \mid x) = \sum_{y\, \mathrm{seen}} p(y \mid x)\, a_m^y$$

    With ``variant="authors"`` rows of the seen table and columns of the candidates' table sum to 1:

    $$f(x, c) = \sum_m \sum_{y\, \mathrm{seen}} p(y \mid x)\, \frac{a_m^y}{\sum_l a_l^y} \cdot
    \frac{a_m^c}{\sum_k a_m^k}$$

    Related
    -------
    ``dap`` has a classifier for each attribute; ``conse`` uses the same probabilities without attributes in between.
    """

    summary = "probabilities of attributes by way of the seen classes"
    citation = CITATION
    tags = ("inductive", "probabilistic")
    preprocessing = Preprocessing(features=("standardise", "l2"))
    score = parameter("class score: DAP's, or the linear one", Choice(("product", "linear")), default="product")
    variant = parameter(
        "default: the class score of DAP; authors: that of their first code",
        Choice(("default", "authors")),
        default="default",
    )
    variants = {"authors": {"score": "linear"}}
    # It is searched: no classifier depends on it, unlike DAP's.
    threshold = parameter(
        "signatures that are not binary are cut at the mean over all of the seen table, or of each attribute",
        Choice(("overall", "attribute")),
        Choice(("overall", "attribute")),
        default="overall",
    )

    def uses_unseen_signatures(self, steps: Sequence[str]) -> bool:
        """Whether other candidates change how two classes compare: by ``linear`` they do, through the column sums."""
        return self.score == "linear" or super().uses_unseen_signatures(steps)

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return log-scores (n, c), or linear ones, of rows X (n, d) for signatures S (c, a)."""
        P = self.seen_probabilities(X, statistics)
        cut = thresholds(self.signatures_, self.threshold)
        B_seen, B = (np.asarray(table > cut, dtype=np.float64) for table in (self.signatures_, np.asarray(S)))
        if self.score == "linear":
            return linear_scores(P, B_seen, B)
        return attribute_scores(P @ B_seen, B, priors(B_seen) if self.prior else None, self.clip)
