"""Learning the bias of a polynomial kernel from the codes, (16): against the definition and by finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.families.coding.methods import dictionary as atoms
from zslplat.families.coding.methods.alternation import Learned, loss_weights, spread_weights
from zslplat.families.coding.methods.dictionary import NARROW, polynomial_family, ratio_and_slope, soft_ratio_and_slope
from zslplat.families.coding.methods.kernel_coding import KernelLLC, KernelSparseCoding
from zslplat.families.coding.methods.schemes import BagScheme
from zslplat.families.coding.methods.sparse_codes import sparse_codes
from zslplat.kernels import parse_kernel


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 20)
    X = rng.normal(size=(4, 6))[y] + 0.7 * rng.normal(size=(80, 6))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.fixture(scope="module")
def codes(data):
    X, _ = data
    K = parse_kernel("gaussian(sigma=0.7)")(X)
    rows = np.arange(0, 80, 4)
    return sparse_codes(K[np.ix_(rows, rows)], K[:, rows], 0.05)


def reconstruction_over_spread(X, rows, Y, beta, p, prior=0.0):
    """(16) from its definition, sample by sample and pair by pair, with the kernel (1 + beta x'x)^p."""

    def k(a, b):
        return (1 + beta * float(a @ b)) ** p

    D = X[rows]
    loss = 0.0
    for x, y in zip(X, Y, strict=True):
        loss += k(x, x) - 2 * sum(y[j] * k(x, D[j]) for j in range(len(D)))
        loss += sum(y[i] * y[j] * k(D[i], D[j]) for i in range(len(D)) for j in range(len(D)))
    spread = sum(k(a, a) - 2 * k(a, b) + k(b, b) for a in D for b in D) / len(D) ** 2
    return (loss / len(X) + prior * np.mean([k(x, x) for x in X])) / spread


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("relative", [False, True])
def test_the_ratio_of_a_polynomial_kernel_is_that_of_its_definition(data, codes, p, relative):
    X, _ = data
    X = 1.7 * X[:24] + 0.2
    rows, Y = np.arange(0, 24, 4), codes[:24, :6]
    A = atoms.selection(rows, len(X))
    B, C = loss_weights(A, Y), spread_weights(A)
    family = polynomial_family(X @ X.T, p, relative=relative)
    # A prior counts relative to the mean of k(x, x): there it is the definition's, too.
    prior = 0.01 if relative else 0.0
    for beta in (0.3, 2.0):
        value, slope = ratio_and_slope(beta, family, B, C, prior)
        assert value == pytest.approx(reconstruction_over_spread(X, rows, Y, beta, p, prior), rel=1e-9)
        h = 1e-5
        ends = [reconstruction_over_spread(X, rows, Y, beta + s * h, p, prior) for s in (1, -1)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("relative", [False, True])
def test_slopes_of_soft_assignment_are_derivatives_for_polynomial_kernels(data, relative):
    X, _ = data
    family = polynomial_family(2.0 * X @ X.T, 3, relative=relative)
    A = atoms.selection(np.arange(0, 80, 5), 80)
    fixed = Learned(parse_kernel("polynomial"), np.eye(80), A, np.arange(0, 80, 5))
    means = np.random.default_rng(0).dirichlet(np.ones(80), size=6).T
    learned = Learned(parse_kernel("polynomial"), np.eye(80), means, None)
    for state, weights in ((fixed, A), (learned, means)):
        value, slope = soft_ratio_and_slope(0.8, family, state.projected, 3.0, spread_weights(weights))
        h = 1e-6
        ends = [
            soft_ratio_and_slope(0.8 + s * h, family, state.projected, 3.0, spread_weights(weights))[0] for s in (1, -1)
        ]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5)
        # The value is that of codes made anew at this beta.
        K = family(0.8)[0]
        made = Learned(parse_kernel("polynomial"), K, weights, state.rows)
        Y = BagScheme(3.0).encode(made.K_D, made.k, made.kappa)
        assert value == pytest.approx(np.vdot(loss_weights(weights, Y), K) / np.vdot(spread_weights(weights), K))


def test_the_learned_bias_of_a_polynomial_kernel_is_a_minimum(data):
    X, y = data
    X = 1.5 * X + 0.3
    fitted = KernelSparseCoding(
        kernel="polynomial(r=2, c=0.7)", gamma=0.02, learn_kernel="bandwidth", iterations=30, atoms=20, rule="nearest"
    ).fit(X, y)
    numbers = fitted.diagnostics.numbers
    assert numbers["bandwidth clamped"] == 0.0
    assert fitted.kernel_.c == pytest.approx(1 / numbers["bandwidth beta"])
    # Everything counts relative to the mean of k(x, x) of the kernel that was learned.
    assert fitted.unit_ == pytest.approx(fitted.kernel_.diag(X).mean())
    A = atoms.selection(fitted.atoms_.rows, len(X))
    family = polynomial_family(X @ X.T, 2, relative=True)
    B, C = loss_weights(A, fitted.codes_), spread_weights(A)
    here = ratio_and_slope(numbers["bandwidth beta"], family, B, C)[0]
    grid = [ratio_and_slope(b, family, B, C)[0] for b in np.geomspace(1e-3, 100, 300)]
    # Codes have moved a little since the last step of the kernel.
    assert here <= min(grid) * (1 + 1e-3)


def test_local_codes_hold_the_bias_of_a_polynomial_kernel_and_say_so(data):
    X, y = data
    fitted = KernelLLC(
        kernel="polynomial(r=2, c=1.0)", neighbours=8, atoms=30, learn_kernel="bandwidth", iterations=4, rule="nearest"
    ).fit(X, y)
    beta = fitted.diagnostics.numbers["bandwidth beta"]
    assert fitted.diagnostics.numbers["bandwidth clamped"] == 1.0
    assert min(abs(beta - edge) for edge in NARROW) < 1e-6
