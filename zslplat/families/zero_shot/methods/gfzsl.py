"""GFZSL: every class is a Gaussian with a diagonal covariance, predicted from its signature by kernel ridge regression.

Verma and Rai, "A simple exponential family framework for zero-shot learning", ECML PKDD 2017, as its authors' code has
it (``awa1.m``, ``awa2.m``, ``cub.m``, ``sun.m``, ``Inductive_setting.m`` of vkverma01/Zero-Shot). Rows are samples.

| paper, code      | here         | shape     | meaning                                                      |
|------------------|--------------|-----------|--------------------------------------------------------------|
| mu_c             | M            | (c, d)    | mean of the rows of each seen class                          |
| sigma_c^2        | V            | (c, d)    | their variance (unbiased)                                    |
| A_mu             | M_coefficients | (c, d)  | (K + l1 I)^-1 M                                              |
| A_sigma          | V_coefficients | (c, d)  | (K + l2 I)^-1 log(V + e)                                     |
| k                | kernel       |           | on signatures; K (c, c) of the seen ones, k_u (c_u, c)       |
| lambda_1, lambda_2 | mean_ridge, variance_ridge | scalars | l1, l2                                     |
| epsilon          | floor        | scalar    | e, under the logarithm                                       |
| 0.05             | reg          | scalar    | added to predicted variances                                 |

    mean_u = k_u A_mu      v_u = exp(k_u A_sigma) + reg      score = log N(x; mean_u, diag(v_u))

The default regresses on what differs from the mean over the seen classes, of means and of log-variances, so that a
large l2 leads to variances that all classes share rather than to 1. It has l1, l2 in units of the mean eigenvalue of K,
and e and reg in units of the mean variance. ``variant="paper"`` has neither: absolute numbers, nothing centred,
signatures of unit length only. With l2 of 1e7 to 1e8 as in the authors' scripts its variances are 1 (plus reg) for
every class and dimension, and the score is the distance from the predicted mean. (The scale of signatures in their
files could not be looked at.) The scripts have l1 of 0.01 to 1, l2 of 1e7 or 1e8, e of 1e-4 or 1e-3:
``variant="paper"`` begins at 0.1, 1e8 and 1e-3, with the kernel (1 + a'b)^2 and 0.05 for reg.

The log-density is two matrix products, x^2 (1/v)' and x (m/v)', and a constant for each class.

GFZSL, transductive: the predicted Gaussians are where expectation maximisation on the scored batch begins.

Verma and Rai, "A simple exponential family framework for zero-shot learning", ECML PKDD 2017, as the authors' code has
it (``Transductive_setting.m`` of vkverma01/Zero-Shot, which calls ``vl_gmm``). Symbols as above, and

| code           | here       | shape  | meaning                                            |
|----------------|------------|--------|----------------------------------------------------|
| x of the test  | X          | (n, d) | the rows of the batch, without labels              |
| posterior      | R          | (n, c) | probability of each candidate class for each row   |
| priors         | weights    | (c,)   | shares of the classes, equal at first              |
| CovarianceBound | bound     | scalar | least variance                                     |

    R_ic ~ weights_c N(x_i; m_c, diag(v_c))
    weights_c = mean_i R_ic    m_c = sum_i R_ic x_i / sum_i R_ic
    v_c = max(bound, sum_i R_ic (x_i - m_c)^2 / sum_i R_ic)

Afterwards the score is log N(x; m_c, diag(v_c + reg)); the shares are left out, as there. The code adds its 0.05 to all
entries of the covariance where it means the diagonal; here it is the diagonal. It has a bound of 0.4 and up to 1000
iterations, as ``variant="paper"`` has; by default the bound is in units of the mean variance, and the number of
iterations is chosen on validation. A class that no row is likely to be of keeps its Gaussian. By default variances at
the start are those above with reg, so that such a class has reg twice in the end; ``variant="paper"`` starts without.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import blocks_of, rowwise
from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods import spectral
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.families.zero_shot.methods.spectral import gathered
from zslplat.kernels.base import Kernel
from zslplat.kernels.expression import parse_kernel
from zslplat.methods.base import Arrays, Diagnostics, Features, Prepared
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.methods.rows import add_by_class
from zslplat.space import POSITIVE, Choice, Integer, Real, Space, Text, parameter

# The values of ``variant="paper"``, which are those of the authors' scripts, and absolute ridges around theirs.
_PAPER = {
    "kernel": "polynomial(r=2, c=1)",
    "mean_ridge": 0.1,
    "variance_ridge": 1e8,
    "reg": 0.05,
    "floor": 1e-3,
}
_PAPER_RANGES: Space = {"mean_ridge": Real(1e-3, 1e1, log=True), "variance_ridge": Real(1e-1, 1e9, log=True)}

_CHUNK = 64


def class_moments(X: Features, y: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return means M (c, d) and unbiased variances V (c, d) of the rows of each class, in float64, from two passes.

    A class of one row has the mean variance of the others. Raises :class:`DataError` where X holds NaN or infinity.
    """
    counts = spectral.class_counts(y, classes)[:, None]
    M = spectral.class_sums(X, y, classes) / counts
    squares = np.zeros_like(M)
    for where, block in blocks_of(X):
        labels = y[where]
        add_by_class(squares, (block - M[labels]) ** 2, labels)
    several = counts[:, 0] > 1
    V = squares / np.maximum(counts - 1, 1)
    if several.any():
        V[~several] = V[several].mean(axis=0)
    return M, V


def solve(values: np.ndarray, directions: np.ndarray, targets: np.ndarray, ridge: float) -> np.ndarray:
    """Return (K + ridge I)^-1 targets (c, d) for K = U diag(values) U', U the directions."""
    return np.asarray(directions @ ((directions.T @ targets) / (values + ridge)[:, None]))


def log_densities(X: np.ndarray, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return log N(x; m, diag(v)) (n, c) for rows X (n, d), means and variances (c, d), in float64."""
    # Distances are free of what all means have in common, which would cost digits of the squares.
    middle = means.mean(axis=0)
    means = means - middle
    weighted = means / variances
    constants = (means * weighted).sum(axis=1) + np.log(variances).sum(axis=1) + X.shape[1] * math.log(2 * math.pi)
    factors = np.concatenate([weighted.T, -0.5 / variances.T])
    densities = np.empty((len(X), len(means)))
    for where, powers in first_and_second_powers(X, middle):
        densities[where] = powers @ factors
    return np.asarray(densities - 0.5 * constants)


def first_and_second_powers(X: np.ndarray, middle: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the slice of some rows x of X (n, d) and [x - m, (x - m)^2] (rows, 2 d) in float64, m being the middle.

    A chunk fits the processor's cache. Its array is used again for the next one.
    """
    d = X.shape[1]
    room = np.empty((_CHUNK, 2 * d))
    for start in range(0, len(X), _CHUNK):
        where = slice(start, min(start + _CHUNK, len(X)))
        powers = room[: where.stop - start]
        np.subtract(X[where], middle, out=powers[:, :d])
        np.multiply(powers[:, :d], powers[:, :d], out=powers[:, d:])
        yield where, powers


class GFZSL(KernelMethod, ZeroShotMethod):
    r"""Class-conditional Gaussians from signatures (Verma and Rai, 2017), in closed form.

    ``kernel`` compares signatures; ``mean_ridge``, ``variance_ridge``, ``reg`` and ``floor`` are relative to the data
    or absolute (``variant="paper"``, with the values of the authors' scripts). ``seen_classes``: candidates
    that were trained on have a predicted Gaussian like all others, or that of their own rows (with ``reg``). Learned:
    ``M_coefficients_``, ``V_coefficients_`` (c, d), ``M_mean_``, ``V_mean_`` (d,), ``reg_``, ``unit_``, ``kernel_`` and
    ``signatures_`` (c, a), and with ``seen_classes="own"`` ``means_``, ``variances_`` (c, d). Everything in float64.

    Equations
    ---------
    Every class is a Gaussian whose mean and log-variances are predicted from its signature by kernel ridge regression:

    $$\mu_u = k_u (K + \lambda_1 I)^{-1} M, \qquad \sigma_u^2 = \exp\left( k_u (K + \lambda_2 I)^{-1} \log(V + \epsilon)
    \right)$$

    $$\hat c = \arg\max_c \log N(x; \mu_c, \operatorname{diag}(\sigma_c^2 + r))$$

    Related
    -------
    ``gfzsl-em`` refines the Gaussians on the scored batch; ``exem-1nns`` predicts means alone; ``ridge-prototypes`` is
    linear with one metric for all classes.
    """

    summary = "class-conditional Gaussians predicted from signatures by kernel ridge regression"
    citation = "Verma, Rai: A simple exponential family framework for zero-shot learning. ECML PKDD 2017"
    tags = ("inductive", "generative", "kernel", "closed form", "stationary")
    preprocessing = Preprocessing(signatures=("center", "l2"))
    tolerance = 1e-5
    tolerance_reason = "small eigenvalues of K are known to rounding only, and are divided by"
    takes_blocks = True
    kernel_on = "signatures"
    kernel = parameter("kernel on signatures, or any (all that fit)", Text(), default="polynomial(r=2, c=1.0*square)")
    mean_ridge = parameter("ridge of the regression of means", POSITIVE, Real(1e-4, 1e1, log=True), default=0.05)
    variance_ridge = parameter("ridge of the log-variances", POSITIVE, Real(1e-1, 1e3, log=True), default=1.0)
    reg = parameter("added to predicted variances", POSITIVE, Real(1e-2, 1e1, log=True), default=0.5)
    floor = parameter("added to variances under the logarithm", POSITIVE, default=1e-3)
    variant = parameter(
        "default: relative to the data; paper: as printed", Choice(("default", "paper")), default="default"
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": _PAPER}
    seen_classes = parameter(
        "Gaussian of candidates that were trained on: predicted, or their own",
        Choice(("predicted", "own")),
        default="predicted",
    )

    @property
    def effective_preprocessing(self) -> Preprocessing:
        """Signatures of unit length, and unless ``variant="paper"`` centred before; features as they are."""
        return Preprocessing(signatures=("l2",)) if self.variant == "paper" else self.preprocessing

    @property
    def space(self) -> Space:
        """The ranges that tuning searches; of ``variant="paper"`` absolute ridges alone."""
        return super().space | (_PAPER_RANGES if self.variant == "paper" else {})

    def prepare_fit(self, X: Features, y: np.ndarray, S: np.ndarray, *, space: Space) -> Arrays:
        """Return means and variances of the classes, and the eigendecomposition of K unless the kernel is searched."""
        check_fit_inputs(X, y, S, read=False)
        M, V = class_moments(X, y, len(S))
        moments = {"M": M, "V": V}
        if any(name == "kernel" or name.startswith("kernel.") for name in space):
            return moments
        return moments | self._decomposed(S)

    def _fit(self, X: Features, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> None:
        """Fit on rows X (n, d), labels y (n,) in 0..c-1 and signatures S (c, a)."""
        of_kernel = statistics if "values" in statistics else self._decomposed(S)
        values, directions = np.asarray(of_kernel["values"]), np.asarray(of_kernel["directions"])
        self.kernel_: Kernel = self.parsed_kernel().replaced(parse_kernel(str(of_kernel["kernel"])).values)
        self.signatures_ = np.array(S, dtype=np.float64)
        M, V = np.asarray(statistics["M"]), np.asarray(statistics["V"])
        self.unit_, floor, l1, l2, self.reg_ = self._absolute(V, values)
        L = np.log(V + floor)
        centred = self.variant != "paper"
        self.M_mean_ = M.mean(axis=0) if centred else np.zeros(M.shape[1])
        self.V_mean_ = L.mean(axis=0) if centred else np.zeros(M.shape[1])
        self.M_coefficients_ = solve(values, directions, M - self.M_mean_, l1)
        self.V_coefficients_ = solve(values, directions, L - self.V_mean_, l2)
        count = len(M) if self.seen_classes == "own" else 0
        self.means_, self.variances_ = M[:count], V[:count]
        numbers = {
            "mean_variance": self.unit_,
            "mean_ridge_absolute": l1,
            "variance_ridge_absolute": l2,
            "reg": self.reg_,
        }
        self.diagnostics_ = Diagnostics(numbers=numbers | self.resolved_numbers(self.kernel_))

    def gaussians(self, S: np.ndarray, seen: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return means and variances (c, d) of classes with signatures S (c, a); ``seen`` (c,) marks trained ones."""
        S = np.asarray(S, dtype=np.float64)
        K = self.kernel_(S, self.signatures_)
        means = self.M_mean_ + K @ self.M_coefficients_
        with np.errstate(over="ignore"):
            variances = np.exp(self.V_mean_ + K @ self.V_coefficients_) + self.reg_
        if self.seen_classes == "own" and seen is not None and np.any(seen):
            candidates = np.flatnonzero(seen)
            apart = ((S[candidates, None] - self.signatures_) ** 2).sum(axis=2)
            which = apart.argmin(axis=1)
            means[candidates], variances[candidates] = self.means_[which], self.variances_[which] + self.reg_
        if not np.isfinite(variances).all():
            raise MethodError("predicted variances overflow; use a larger variance_ridge, or scaled features")
        return means, variances

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the log-densities (n, c) of rows X (n, d) under the classes with signatures S (c, a)."""
        means, variances = self.gaussians(S, seen)
        return rowwise(X, lambda rows: log_densities(rows, means, variances))

    def objective(self, X: Features, y: np.ndarray, S: np.ndarray) -> float:
        """Return |K A - T|^2 + ridge tr(A'KA), summed over means and log-variances, which the coefficients minimise."""
        K = self.kernel_(np.asarray(S, dtype=np.float64))
        M, V = class_moments(X, y, len(S))
        _, floor, l1, l2, _ = self._absolute(V, linalg.eigvalsh(K))
        total = 0.0
        for A, T, ridge in (
            (self.M_coefficients_, M - self.M_mean_, l1),
            (self.V_coefficients_, np.log(V + floor) - self.V_mean_, l2),
        ):
            total += float(((K @ A - T) ** 2).sum() + ridge * (A * (K @ A)).sum())
        return total

    def matrices(self) -> Arrays:
        """Return the coefficients (c, d) of the two regressions."""
        return {"M_coefficients": self.M_coefficients_, "V_coefficients": self.V_coefficients_}

    def _absolute(self, V: np.ndarray, values: np.ndarray) -> tuple[float, float, float, float, float]:
        """Return the mean variance, and floor, both ridges and reg as absolute numbers."""
        # Rows that never differ from their class mean give no unit.
        unit = float(V.mean()) or 1.0
        if self.variant == "paper":
            return unit, self.floor, self.mean_ridge, self.variance_ridge, self.reg
        scale = float(values.mean())
        return unit, self.floor * unit, self.mean_ridge * scale, self.variance_ridge * scale, self.reg * unit

    def _decomposed(self, S: np.ndarray) -> Arrays:
        S = np.asarray(S, dtype=np.float64)
        kernel = self.parsed_kernel().resolved(S)
        values, directions = linalg.eigh(kernel(S))
        if not values.max() > 0:
            raise MethodError(f"kernel {kernel} is zero on all seen signatures; use another kernel or other signatures")
        return {"kernel": np.array(str(kernel)), "values": np.maximum(values, 0), "directions": directions}


# Rows that a class needs to be estimated from, and the least gain of a row's log-likelihood to go on for.
LEAST_MASS = 1e-6
LEAST_GAIN = 1e-6


def refined(
    X: np.ndarray, means: np.ndarray, variances: np.ndarray, bound: float, iterations: int
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Return means and variances (c, d) after EM on rows X (n, d), and the mean negative log-likelihood by iteration.

    The series begins with the given Gaussians, whose variances are raised to the bound, at equal shares.
    """
    middle, means, variances = means.mean(axis=0), means.astype(np.float64), np.maximum(variances, bound)
    weights = np.full(len(means), 1 / len(means))
    series: list[float] = []
    for left in range(iterations, -1, -1):
        with np.errstate(divide="ignore"):
            joint = log_densities(X, means, variances) + np.log(weights)
        totals = logsumexp(joint, axis=1, keepdims=True)
        series.append(float(-totals.mean()))
        if not left or (len(series) > 1 and series[-2] - series[-1] < LEAST_GAIN):
            break
        R = np.exp(joint - totals)
        mass = R.sum(axis=0)
        weights, present = mass / len(X), mass > LEAST_MASS
        sums = np.zeros((len(means), 2 * X.shape[1]))
        for where, powers in first_and_second_powers(X, middle):
            sums += R[where].T @ powers
        first, second = np.split(sums[present] / mass[present, None], 2, axis=1)
        means[present], variances[present] = first + middle, np.maximum(second - first**2, bound)
    return means, variances, series


class TransductiveGFZSL(GFZSL):
    r"""GFZSL with expectation maximisation on the batch (Verma and Rai, 2017).

    Parameters of :class:`~zslplat.families.zero_shot.methods.gfzsl.GFZSL`, and ``iterations`` of EM at most, ``bound``:
    the least variance, in units of the mean variance of the training rows. ``variant="paper"``: a bound of 0.4,
    absolute, 1000 iterations, and a start from the predicted variances without ``reg``. What is learned of a batch is
    forgotten with it. ``objective`` is that of the regressions. In float64.

    Equations
    ---------
    The Gaussians of ``gfzsl`` are where expectation maximisation on the batch begins:

    $$R_{ic} \propto \pi_c N(x_i; m_c, \operatorname{diag}(v_c)), \qquad m_c = \frac{\sum_i R_{ic} x_i}{\sum_i R_{ic}},
    \qquad v_c = \max\left(b, \frac{\sum_i R_{ic} (x_i - m_c)^2}{\sum_i R_{ic}}\right)$$

    Related
    -------
    ``gfzsl`` is the inductive form; ``mfmr-joint``, ``gfhf`` and ``tmv-hlp`` score a batch jointly by graphs.
    """

    summary = "GFZSL with its Gaussians refined by expectation maximisation on the scored batch"
    tags = ("transductive", "generative", "kernel", "stationary", "monotone")
    transductive = True
    takes_blocks = False
    tolerance = 1e-2
    tolerance_reason = "rows halfway between two classes go either way with the last digits, and take others along"
    iterations = parameter("most iterations of maximisation", Integer(1), Integer(1, 100, log=True), default=20)
    bound = parameter("least variance in expectation maximisation", POSITIVE, Real(5e-2, 5, log=True), default=1.0)
    variants = {"paper": {**_PAPER, "bound": 0.4, "iterations": 1000}}

    def _scores(self, X: Features, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return the log-densities (n, c) of the batch X (n, d) under the refined Gaussians of signatures S (c, a)."""
        X = gathered(X)
        means, variances = self.gaussians(S, seen)
        bound = self.bound * self.unit_
        if self.variant == "paper":
            variances, bound = variances - self.reg_, self.bound
        means, variances, series = refined(X, means, variances, bound, self.iterations)
        diagnostics = self.diagnostics
        self.diagnostics_ = Diagnostics({**diagnostics.series, "objective": series}, diagnostics.numbers)
        return log_densities(X, means, variances + self.reg_)
