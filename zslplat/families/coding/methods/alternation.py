"""Alternating minimisation over codes, classifier, dictionary and kernel: one variable at a time, the others fixed.

| paper   | here      | shape  | meaning                                                          |
|---------|-----------|--------|------------------------------------------------------------------|
| K(X, X) | K_X       | (M, M) | Gram matrix of the training samples                              |
| A       | A         | (M, N) | atoms as weighted sums of training samples, one per column       |
| Y       | codes     | (M, N) | training codes, one per row                                      |
| W, A_j  | classifier|        | (c, N) linear, (M, c) bilinear                                   |
| l_i     | L         | (M, c) | class indicators                                                 |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", section 3. The objective is that of (18),
(23) or (24), all with the mean over training samples. Exact code, classifier and dictionary steps do not raise it; two
steps are not exact and may: the neighbourhoods of local codes move with the atoms, and the normalisation of the
unconstrained dictionary of sparse codes, a step of its own, changes their prior and the ridge. A round that ends above
the one before is therefore undone and the alternation ends there. The kernel step minimises another function, (16) or
(17), so that the objective is not comparable across it, and no round is undone where the kernel is learned.

The kernel learning criterion: reconstruction against the spread of the atoms, as linear functions of K(X, X).

| paper     | here   | shape  | meaning                                                           |
|-----------|--------|--------|-------------------------------------------------------------------|
| L_phi     | loss   |        | mean reconstruction error, tr(K B) with B = (I - Y A')'(I - Y A')/M |
| J_phi     | spread |        | mean squared distance between atoms, tr(K C)                      |
| A         | A      | (M, N) | phi(d_r) = sum_i a_ri phi(x_i)                                    |
| Y         | Y      | (M, N) | codes, one per row                                                |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (14) to (17). For codes and atom weights
that stay as they are, both terms are linear in the kernel matrix of the training samples, whatever the kernel; so is
their derivative by any kernel parameter.

Learning the weights of a sum of kernels from the codes.

| paper   | here    | shape | meaning                                                              |
|---------|---------|-------|----------------------------------------------------------------------|
| alpha_l | weights | (p,)  | weight of base kernel l                                              |
| L_l     | losses  | (p,)  | reconstruction error in base kernel l                                |
| J_l     | spreads | (p,)  | spread of the atoms in base kernel l                                 |
|         | rho     |       | how strongly the weights are held together                           |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (17). Loss and spread are linear in the
weights, so that the printed ratio is lowest at a single kernel, the one of least L_l / J_l, for weights that are not
negative; without a sign it has no bound. The well-posed form scales every kernel to J_l = 1 and minimises
alpha'L + rho |alpha|^2 over the simplex: the projection of -L / (2 rho), between one kernel (rho -> 0) and the average
(rho -> infinity).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from zslplat.errors import MethodError, UsageError
from zslplat.families.coding.methods import dictionary as atoms
from zslplat.families.coding.methods.base import counted, indicators
from zslplat.families.coding.methods.classifiers import (
    BilinearTerm,
    LinearTerm,
    bilinear_loss,
    fit_bilinear,
    fit_linear,
    linear_extra,
    linear_loss,
)
from zslplat.families.coding.methods.dictionary import (
    NARROW,
    WIDE,
    gaussian_family,
    learn_bandwidth,
    polynomial_family,
    ratio_and_slope,
    soft_ratio_and_slope,
)
from zslplat.families.coding.methods.kernel_rows import (
    PairValues,
    mean_diagonal,
    rows_kernel,
    with_bandwidth,
    with_bias,
)
from zslplat.families.coding.methods.schemes import BagScheme, Queries, Scheme
from zslplat.kernels.base import Kernel
from zslplat.kernels.composition import Sum
from zslplat.kernels.forms import Polynomial
from zslplat.kernels.inner_product import declared_form


def loss_weights(A: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return B (M, M) with L = sum(B * K)."""
    residual = -Y @ A.T
    residual[np.diag_indices_from(residual)] += 1.0
    return np.asarray(residual.T @ residual / len(Y))


def spread_weights(A: np.ndarray) -> np.ndarray:
    """Return C (M, M) with J = (1/N^2) sum_rs |phi(d_r) - phi(d_s)|^2 = sum(C * K), equation (15)."""
    n_atoms = A.shape[1]
    total = A.sum(axis=1)
    return np.asarray((2 * n_atoms * (A @ A.T) - 2 * np.outer(total, total)) / n_atoms**2)


def project_to_simplex(v: np.ndarray) -> np.ndarray:
    """Return the point of {alpha >= 0, sum alpha = 1} nearest to v (p,)."""
    descending = np.sort(v)[::-1]
    surplus = np.cumsum(descending) - 1
    count = np.arange(1, len(v) + 1)
    last = int(np.flatnonzero(descending > surplus / count)[-1])
    return np.asarray(np.maximum(v - surplus[last] / (last + 1), 0))


def spread_weights_of_kernels(losses: np.ndarray, spreads: np.ndarray, rho: float) -> np.ndarray:
    """Return the weights (p,) of the kernels as given, well-posed form; the scaled kernels' weights sum to 1.

    ``rho`` counts in units of the range of the scaled losses, so that it means the same on any data. Raises
    :class:`MethodError` where the atoms coincide in a kernel.
    """
    _check(spreads)
    scaled = losses / spreads
    width = float(scaled.max() - scaled.min())
    alpha = np.full(len(losses), 1 / len(losses)) if width <= 0 else project_to_simplex(-scaled / (2 * rho * width))
    return np.asarray(alpha / spreads)


def single_kernel_weights(losses: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Return the minimiser of the printed ratio (17) over weights >= 0: all weight on the least L_l / J_l."""
    _check(spreads)
    alpha = np.zeros(len(losses))
    alpha[int(np.argmin(losses / spreads))] = 1.0
    return alpha


def _check(spreads: np.ndarray) -> None:
    if not (spreads > 0).all():
        raise MethodError(
            f"kernel weights: in kernel {int(np.argmin(spreads)) + 1} of the sum all atoms coincide; leave it out"
        )


@dataclass(frozen=True)
class Plan:
    """What is learned, and how. See the parameters of
    :class:`zslplat.families.coding.methods.estimator.KernelCodingMethod`."""

    scheme: Scheme
    learning: str = "fixed"
    iterations: int = 8
    supervision: str = "none"
    eta: float = 1.0
    rho: float = 1e-4
    kernel_learning: str = "fixed"
    include_prior: bool = False
    togetherness: float = 1.0


@dataclass(frozen=True)
class Atoms:
    """The atoms that new samples are coded with: samples ``rows`` (N,), or weighted sums A (M, N) of all samples.

    ``K_D`` (N, N): the Gram matrix of the atoms.
    """

    rows: np.ndarray | None
    A: np.ndarray | None
    K_D: np.ndarray

    def state(self) -> dict[str, np.ndarray | None]:
        """Return the fields, by name."""
        return {"rows": self.rows, "A": self.A, "K_D": self.K_D}

    def towards(self, K: np.ndarray) -> np.ndarray:
        """Return k(x, D) (n, N) from k(x, X) (n, M)."""
        return np.asarray(K[:, self.rows] if self.A is None else K @ self.A)


class Learned:
    """The state of the alternation.

    ``history`` names each step and the objective after it, ``rounds`` holds the objective at the start and after each
    round that was kept; ``numbers`` are diagnostics. ``fitted`` (M, N) are the
    codes that a bilinear classifier was fitted with; they are part of it. ``known`` (M, c) masks the indicators that
    count, None where all do.
    """

    def __init__(self, kernel: Kernel, K_X: np.ndarray, A: np.ndarray, rows: np.ndarray | None) -> None:
        self.codes = np.zeros(A.shape)
        self.classifier: np.ndarray | None = None
        self.fitted: np.ndarray | None = None
        self.counted: np.ndarray | None = None
        self.history: list[tuple[str, float]] = []
        self.rounds: list[float] = []
        self.numbers: dict[str, float] = {}
        self.kernel, self.K_X, self.A, self.rows = kernel, K_X, A, rows
        self.refresh()

    def atoms(self) -> Atoms:
        """Return the atoms as they are now."""
        return Atoms(self.rows, self.A if self.rows is None else None, self.K_D)

    def refresh(self) -> None:
        """Recompute the Gram matrix of the atoms and their kernel with the samples, after A or K_X changed."""
        self.k, self.K_D = self.projected(self.K_X)

    @property
    def kappa(self) -> np.ndarray:
        """k(x, x) of the training samples (M,)."""
        return np.diagonal(self.K_X)

    @property
    def radius(self) -> float:
        """The norm that atoms are held to: the root mean square norm of the samples, 1 for a Gaussian kernel."""
        return float(np.sqrt(self.kappa.mean()))

    def towards_atoms(self, K: np.ndarray) -> np.ndarray:
        """Return k(x, D) (n, N) from k(x, X) (n, M)."""
        return np.asarray(K[:, self.rows] if self.rows is not None else K @ self.A)

    def projected(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return k(X, D) (M, N) and K(D, D) (N, N) from a kernel matrix K (M, M) of the training samples."""
        k = self.towards_atoms(K)
        K_D = k[self.rows] if self.rows is not None else self.A.T @ k
        return k, (K_D + K_D.T) / 2

    def atoms_of_rows(self) -> np.ndarray | None:
        """Return the atom (M,) that each training sample is itself, -1 for none; None for a learned dictionary."""
        if self.rows is None:
            return None
        atoms = np.full(len(self.K_X), -1, dtype=np.int64)
        atoms[self.rows] = np.arange(len(self.rows))
        return atoms

    def rescale(self, norms: np.ndarray) -> None:
        """Divide the atoms by ``norms`` (N,); codes and classifier change so that reconstruction and scores stay."""
        norms = np.where(norms > 0, norms, 1.0)
        self.A, self.codes = self.A / norms, self.codes * norms
        if self.fitted is not None:
            self.fitted = self.fitted / norms
        elif self.classifier is not None:
            self.classifier = self.classifier / norms
        self.refresh()


def alternate(
    plan: Plan, kernel: Kernel, values: PairValues, rows: np.ndarray, y: np.ndarray, c: int, *, needs_codes: bool = True
) -> Learned:
    """Learn from the samples ``rows`` as first atoms; ``needs_codes``: whether training codes serve a purpose.

    Samples that stay atoms are coded without themselves: their codes would say nothing otherwise. Raises
    :class:`UsageError` for a kernel that the chosen kind of kernel learning cannot change.
    """
    learned = plan.learning != "fixed"
    state = Learned(kernel, values.gram(kernel), atoms.selection(rows, len(y)), None if learned else rows)
    L, state.counted = indicators(y, c), counted(y)
    learns = learned or plan.kernel_learning != "fixed" or plan.supervision != "none"
    if not learns and not needs_codes:
        return state
    if plan.supervision != "none":
        # A classifier of zeros leaves the first codes as they are, and the objective is the same sum from the start.
        state.classifier = np.zeros((c, len(rows)) if plan.supervision == "linear" else L.shape)
        state.fitted = None if plan.supervision == "linear" else state.codes
    _code(plan, state, L)
    if plan.supervision != "none":
        _classify(plan, state, L)
    state.rounds.append(state.history[-1][1])
    for _ in range(plan.iterations if learns else 0):
        before = copy(state)
        if learned:
            _update_dictionary(plan, state, L)
        if plan.kernel_learning != "fixed":
            _update_kernel(plan, state, values)
        _code(plan, state, L)
        if plan.supervision != "none":
            _classify(plan, state, L)
        reached = state.history[-1][1]
        if plan.kernel_learning == "fixed" and reached > state.rounds[-1]:
            before.numbers["stopped by a rise"] = 1.0
            return before
        state.rounds.append(reached)
    return state


def objective(plan: Plan, state: Learned, L: np.ndarray) -> float:
    """Return the mean objective (18), with the terms of (23) or (24) where there is a classifier."""
    value = float(plan.scheme.objective(state.K_D, state.k, state.kappa, state.codes).mean())
    if state.classifier is None:
        return value
    if state.fitted is None:
        return value + linear_loss(state.classifier, state.codes, L, plan.eta, plan.rho, state.counted)
    return value + bilinear_loss(
        state.K_X, state.codes, state.fitted, state.classifier, L, plan.eta, plan.rho, state.counted
    )


def plain_codes(plan: Plan, state: Learned) -> np.ndarray:
    """Return the training codes (M, N) without any label term, as new samples get them."""
    return plan.scheme.encode(state.K_D, state.k, state.kappa, start=state.codes, excluded=state.atoms_of_rows())


def _note(plan: Plan, state: Learned, L: np.ndarray, step: str) -> None:
    state.history.append((step, objective(plan, state, L)))


def _code(plan: Plan, state: Learned, L: np.ndarray) -> None:
    skipped, encode = state.atoms_of_rows(), plan.scheme.encode
    queries = Queries(state.K_D, state.k, state.kappa, state.codes, skipped)
    if state.classifier is None or not state.classifier.any():
        state.codes = encode(state.K_D, state.k, state.kappa, start=state.codes, excluded=skipped)
    elif state.fitted is None and state.counted is not None:
        each = LinearTerm(state.classifier, L, state.counted, plan.eta)
        state.codes = plan.scheme.encode_each(queries, each)
    elif state.fitted is None:
        extra = linear_extra(state.classifier, L, plan.eta)
        state.codes = encode(state.K_D, state.k, state.kappa, start=state.codes, excluded=skipped, extra=extra)
    else:
        term = BilinearTerm(state.K_X, L, state.fitted, state.classifier, plan.eta, state.counted)
        state.codes = plan.scheme.encode_each(queries, term)
    _note(plan, state, L, "codes")


def _classify(plan: Plan, state: Learned, L: np.ndarray) -> None:
    if plan.supervision == "linear":
        state.classifier = fit_linear(state.codes, L, plan.eta, plan.rho, state.counted)
    else:
        state.classifier = fit_bilinear(state.K_X, state.codes, L, plan.eta, plan.rho, state.counted)
        state.fitted = state.codes
    _note(plan, state, L, "classifier")


def _update_dictionary(plan: Plan, state: Learned, L: np.ndarray) -> None:
    scheme, K_X, Y = plan.scheme, state.K_X, state.codes
    if isinstance(scheme, BagScheme) and scheme.sigma is not None:
        _soft_dictionary(plan, state, scheme.sigma)
    elif plan.learning == "constrained":
        state.A = atoms.bounded_atoms(state.A, Y, K_X, state.radius)
    else:
        state.A = atoms.least_squares_atoms(Y)
    state.A, count = atoms.replace_unused(state.A, state.codes, K_X, state.radius)
    state.numbers["replaced atoms"] = state.numbers.get("replaced atoms", 0.0) + count
    state.refresh()
    _note(plan, state, L, "dictionary")
    if scheme.bounded and plan.learning == "free":
        state.rescale(atoms.atom_norms(state.A, K_X) / state.radius)
        _note(plan, state, L, "normalisation")


def _soft_dictionary(plan: Plan, state: Learned, sigma: float) -> None:
    """One gradient step with the codes moving along, halved until the reconstruction does not get worse."""
    scheme = plan.scheme
    before = float(scheme.objective(state.K_D, state.k, state.kappa, state.codes).mean())
    step = 1.0
    for _ in range(20):
        A = atoms.soft_assignment_step(state.A, state.codes, state.K_X, sigma, step)
        trial = Learned(state.kernel, state.K_X, A, None)
        trial.codes = scheme.encode(trial.K_D, trial.k, trial.kappa)
        if float(scheme.objective(trial.K_D, trial.k, trial.kappa, trial.codes).mean()) <= before:
            state.A, state.codes = trial.A, trial.codes
            return
        step /= 2


def _update_kernel(plan: Plan, state: Learned, values: PairValues) -> None:
    if plan.kernel_learning == "bandwidth":
        _update_bandwidth(plan, state, values)
    else:
        _update_weights(plan, state, values)
    state.K_X = values.gram(state.kernel)
    state.refresh()
    if plan.scheme.bounded and state.rows is None:
        state.rescale(atoms.atom_norms(state.A, state.K_X) / state.radius)


def _update_bandwidth(plan: Plan, state: Learned, values: PairValues) -> None:
    on_rows = rows_kernel(state.kernel)
    form = declared_form(on_rows)
    if isinstance(on_rows, Polynomial):
        inner = values.inner_products(state.kernel)
        family = polynomial_family(inner, on_rows.r, relative=values.relative)
        beta, unit = 1 / max(on_rows.c, np.finfo(np.float64).tiny), mean_diagonal(np.diagonal(inner))
    elif form is not None and form.name == "exponential":
        distances = values.distances(state.kernel)
        family = gaussian_family(distances)
        beta, unit = form.rate, float(np.median(distances[np.triu_indices_from(distances, 1)]))
    else:
        raise UsageError(
            "learn_kernel=bandwidth works with gaussian, log-euclidean and other kernels that declare an exponential "
            f"form, and with polynomial, not with {state.kernel}"
        )
    C = spread_weights(state.A)
    scheme = plan.scheme
    if isinstance(scheme, BagScheme) and scheme.sigma is not None:
        sigma = scheme.sigma
        optimum = learn_bandwidth(beta, unit, lambda b: soft_ratio_and_slope(b, family, state.projected, sigma, C))
    else:
        B = loss_weights(state.A, state.codes)
        prior = 0.0
        if plan.include_prior:
            prior = float(scheme.prior(state.K_D, state.k, state.kappa, state.codes).mean())
        box = NARROW if scheme.affine else WIDE
        optimum = learn_bandwidth(beta, unit, lambda b: ratio_and_slope(b, family, B, C, prior), box=box)
    if isinstance(on_rows, Polynomial):
        state.kernel = with_bias(state.kernel, 1 / optimum.beta)
        values.take_unit_of(state.kernel)
    else:
        state.kernel = with_bandwidth(state.kernel, float(np.sqrt(0.5 / optimum.beta)))
    state.numbers |= {
        "bandwidth beta": optimum.beta,
        "bandwidth criterion": optimum.criterion,
        "bandwidth clamped": float(optimum.clamped),
    }


def _update_weights(plan: Plan, state: Learned, values: PairValues) -> None:
    kernel = state.kernel
    if not isinstance(kernel, Sum):
        raise UsageError(
            f"learn_kernel=weights works with a sum of kernels, such as linear + gaussian, not with {kernel}"
        )
    B, C = loss_weights(state.A, state.codes), spread_weights(state.A)
    grams = [values.gram(part) for part in kernel.parts]
    losses = np.array([float(np.vdot(B, K)) for K in grams])
    spreads = np.array([float(np.vdot(C, K)) for K in grams])
    if plan.kernel_learning == "weights-paper":
        weights = single_kernel_weights(losses, spreads)
    else:
        weights = spread_weights_of_kernels(losses, spreads, plan.togetherness)
    # The mean of k(x, x) stays 1, so that gamma means the same for every mixture.
    weights = weights / sum(w * float(np.diagonal(K).mean()) for w, K in zip(weights, grams, strict=True))
    state.kernel = type(kernel)(kernel.parts, [float(w) for w in weights])
    state.numbers |= {f"kernel weight {i + 1}": float(w) for i, w in enumerate(weights)}
