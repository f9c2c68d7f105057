"""Zero-shot kernel learning: Eq. 6 to 11 as literal sums, gradients against differences, engine against both."""

from __future__ import annotations

import numpy as np
import pytest
from projection_gradients import objective_gradient

from zslplat.families.zero_shot.methods.zskl import fast_passes
from zslplat.families.zero_shot.methods.zskl.fast_gradient import Engine
from zslplat.families.zero_shot.methods.zskl.objective import Objective, objective_value, projected_gram
from zslplat.families.zero_shot.methods.zskl.subspaces import SubspaceGradient
from zslplat.kernels import InnerProductKernel, parse_kernel
from zslplat.registry import names

KERNELS = [n for n in names("kernels") if isinstance(parse_kernel(n), InnerProductKernel)] + [
    "polynomial(r=4, c=1)",
    "0.5*gaussian(sigma=1) + 0.5*polynomial(r=2, c=1)",
    "gaussian(sigma=1)*cauchy(sigma=2)",
    "normalised(polynomial(r=3))",
    "(gaussian(sigma=1) + linear)^2",
]
# A tall and a wide set of signatures, so that both forms of |W s|^2 are taken (by W'W, and by W S').
CLASSES = [6, 2]


def problem(classes=6, n=30, d=7, a=4, seed=0):
    random = np.random.default_rng(seed)
    X, S = random.standard_normal((n, d)), random.standard_normal((classes, a))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    return X, random.permutation(np.arange(n) % classes), S, 0.4 * random.standard_normal((d, a))


def differences(f, W, h=1e-5):
    numeric = np.empty_like(W)
    for i in np.ndindex(*W.shape):
        E = np.zeros_like(W)
        E[i] = h
        numeric[i] = (f(W + E) - f(W - E)) / (2 * h)
    return numeric


def relative(one, other):
    return np.linalg.norm(one - other) / np.linalg.norm(other)


def label_matrix(y, lam):
    """Return L_lambda (n, n) of Eq. 7."""
    return np.where(y[:, None] == y[None, :], 1.0, -lam)


def alignment(kernel, X, y, S, W, lam):
    """Return <K(W) + K'(W), L_lambda> of Eq. 6, the full objective over all pairs of rows; to be maximised."""
    replicated = S[y]
    K = projected_gram(kernel, X, replicated, W, "features")
    K_prime = projected_gram(kernel, X, replicated, W, "signatures")
    return float(np.sum((K + K_prime) * label_matrix(y, lam)))


def expanded_alignment(kernel, X, y, S, W, lam):
    """Return the same by Eq. 8: N_l times the right class less lambda N_c times each wrong one, over classes."""
    size = np.bincount(y, minlength=len(S)).astype(np.float64)
    K = projected_gram(kernel, X, S, W, "features") + projected_gram(kernel, X, S, W, "signatures")
    rows = np.arange(len(y))
    right = K[rows, y]
    return float(np.sum(size[y] * right) - lam * (np.sum(K @ size) - np.sum(size[y] * right)))


def literal_objective(kernel, X, y, S, W, both, squared, wrong, alpha, right):
    """Eq. 9, 10 and 11, row by row and class by class."""
    total = 0.0
    for x, label in zip(X, y, strict=True):
        for c, s in enumerate(S):
            pairs = [(W.T @ x, s)] + ([(x, W @ s)] if both else [])
            for p, q in pairs:
                k = kernel(p[None], q[None])[0, 0]
                if c == label:
                    total += right[c] * ((1 - k) ** 2 if squared else -k)
                else:
                    total += wrong * (k**2 if squared else k)
    M = W.T @ W
    return total / len(X) + alpha * (np.linalg.norm(M) ** 2 - np.trace(M))


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize(("both", "alpha"), [(True, 0.0), (False, 0.0), (False, 0.3), (True, 0.3)])
@pytest.mark.parametrize("text", KERNELS)
def test_gradients_agree_with_differences(text, both, alpha, squared, classes):
    X, y, S, W = problem(classes)
    kernel = parse_kernel(text).resolved(np.vstack([S, 2 * S]))
    objective = Objective(both, 0.2, squared, alpha, np.linspace(0.5, 1.5, classes))
    numeric = differences(lambda V: objective_value(kernel, X, y, S, V, objective), W)
    assert relative(objective_gradient(kernel, X, y, S, W, objective), numeric) < 1e-6
    engine = Engine(kernel, objective, X, y, S, W, batch=len(X))
    loss, gradient = engine.gradient(np.arange(len(X)))
    assert relative(gradient, numeric) < 1e-6
    assert loss == pytest.approx(objective_value(kernel, X, y, S, W, objective), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("squared", [True, False])
def test_value_is_the_sum_over_rows_and_classes(both, squared):
    X, y, S, W = problem()
    kernel = parse_kernel("0.5*cauchy(sigma=1) + linear")
    right = np.linspace(0.5, 1.5, 6)
    expected = literal_objective(kernel, X, y, S, W, both, squared, 0.2, 0.3, right)
    value = objective_value(kernel, X, y, S, W, Objective(both, 0.2, squared, 0.3, right))
    assert value == pytest.approx(expected, rel=1e-12)


def test_full_objective_is_its_expansion_over_classes():
    X, y, S, W = problem()
    for text in ("gaussian(sigma=0.8)", "cauchy(sigma=1)", "polynomial(r=2, c=1)"):
        kernel = parse_kernel(text)
        whole = alignment(kernel, X, y, S, W, lam=0.7)
        assert expanded_alignment(kernel, X, y, S, W, lam=0.7) == pytest.approx(whole, rel=1e-12)
    L = label_matrix(y, 0.2)
    assert L[0, 0] == 1
    assert L[0, y != y[0]].max() == -0.2


def test_balanced_plain_objective_is_the_full_one_up_to_its_scale():
    # With N_c = N / C rows in every class, Eq. 8 is -N N/C times the mean of Eq. 9 with one lambda per wrong class.
    X, y, S, W = problem(classes=6, n=30)
    kernel, n, c, lam = parse_kernel("gaussian(sigma=0.8)"), 30, 6, 0.7
    mean = objective_value(kernel, X, y, S, W, Objective(True, lam, squared=False))
    assert alignment(kernel, X, y, S, W, lam) == pytest.approx(-mean * n * n / c, rel=1e-12)


def test_polynomial_has_equal_kernels_on_both_sides():
    X, y, S, W = problem()
    kernel = parse_kernel("polynomial(r=2, c=1)")
    one, both = (objective_value(kernel, X, y, S, W, Objective(b, 0.2)) for b in (False, True))
    assert both == pytest.approx(2 * one, rel=1e-12)
    assert kernel.of_inner_product_alone
    assert parse_kernel("linear + polynomial*sigmoid").of_inner_product_alone
    assert not parse_kernel("linear + gaussian").of_inner_product_alone
    assert not parse_kernel("normalised(linear)").of_inner_product_alone


@pytest.mark.parametrize("text", ["gaussian(sigma=0.8)", "polynomial(r=2, c=1)", "0.5*gaussian(sigma=1)+0.5*linear"])
@pytest.mark.parametrize("classes", CLASSES)
def test_minibatches_average_to_the_whole(text, classes):
    X, y, S, W = problem(classes)
    kernel, objective = parse_kernel(text), Objective(True, 0.2)
    engine = Engine(kernel, objective, X, y, S, W, batch=10)
    parts = [engine.gradient(np.arange(start, start + 10)) for start in (0, 10, 20)]
    whole = objective_gradient(kernel, X, y, S, W, objective)
    np.testing.assert_allclose(np.mean([g for _, g in parts], axis=0), whole, rtol=1e-9, atol=1e-12)
    for count in (4, 1):
        short = engine.gradient(np.arange(count))[1]
        expected = objective_gradient(kernel, X[:count], y[:count], S, W, objective)
        np.testing.assert_allclose(short, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("text", ["cauchy(sigma=1)", "polynomial(r=2, c=1)"])
def test_weights_of_drawn_classes_enter_loss_and_gradient(text, squared):
    X, y, S, W = problem()
    kernel, objective = parse_kernel(text), Objective(True, 0.2, squared)
    engine = Engine(kernel, objective, X, y, S, W, batch=len(X))
    rows = np.arange(len(X))
    ones = np.ones((len(X), 6))
    ones[rows, y] = 0
    loss, gradient = engine.gradient(rows)
    loss_of_ones, gradient_of_ones = engine.gradient(rows, ones)
    assert loss_of_ones == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(gradient_of_ones, gradient, rtol=1e-10, atol=1e-13)
    # Linear in the weights: one class at a time adds up to all of them.
    single = [engine.gradient(rows, ones * (np.arange(6) == c)) for c in range(6)]
    none = engine.gradient(rows, 0 * ones)
    assert sum(v for v, _ in single) - 5 * none[0] == pytest.approx(loss, rel=1e-10)
    np.testing.assert_allclose(sum(g for _, g in single) - 5 * none[1], gradient, rtol=1e-8, atol=1e-11)


def test_single_precision_is_near_double():
    X, y, S, W = problem()
    kernel, objective = parse_kernel("gaussian(sigma=0.8)"), Objective(True, 0.2)
    X32, S32, W32 = (m.astype(np.float32) for m in (X, S, W))
    engine = Engine(kernel, objective, X32, y, S32, W32, batch=30)
    gradient = engine.gradient(np.arange(30))[1]
    assert gradient.dtype == np.float32
    assert relative(gradient, objective_gradient(kernel, X, y, S, W, objective)) < 1e-5


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("text", ["gaussian(sigma=0.8)", "cauchy(sigma=1.3)"])
def test_known_forms_are_what_the_kernel_itself_gives(text, both, monkeypatch):
    X, y, S, W = problem()
    for dtype, tolerance in ((np.float32, 2e-6), (np.float64, 1e-13)):  # some units in the last place
        data = [m.astype(dtype) for m in (X, S, W)]
        results = []
        for form in (fast_passes.known_form, lambda kernel: (fast_passes.NO_FORM, 0.0)):
            with monkeypatch.context() as patch:
                patch.setattr(fast_passes, "known_form", form)
                engine = Engine(parse_kernel(text), Objective(both, 0.2), data[0], y, *data[1:], 30)
            results.append(engine.gradient(np.arange(30)))
        (loss, gradient), (expected, expected_gradient) = results
        assert loss == pytest.approx(expected, rel=tolerance)
        assert relative(gradient, expected_gradient) < tolerance


def test_exponential_in_single_precision():
    distances = np.concatenate([[0, np.nan, np.inf], np.linspace(1e-6, 170, 100001)]).astype(np.float32)
    k, slope, bits = distances.copy(), np.empty_like(distances), np.empty(len(distances), np.int32)
    factor = np.float32(-0.5)
    fast_passes.exponential_single(k, slope, bits, factor)
    assert k[0] == 1
    assert np.isnan(k[1])
    assert 0 <= k[2] < 2e-38
    expected = np.exp(-0.5 * distances[3:].astype(np.float64))
    # Two units in the last place, 2^-23 each at worst.
    np.testing.assert_allclose(k[3:], expected, rtol=2.4e-7)
    np.testing.assert_array_equal(slope, factor * k)


def test_gradient_is_the_same_for_any_blocks(monkeypatch):
    X, y, S, W = problem()
    kernel, objective = parse_kernel("gaussian(sigma=0.8)"), Objective(True, 0.2)
    whole = Engine(kernel, objective, X, y, S, W, batch=30).gradient(np.arange(30))[1]
    monkeypatch.setattr("zslplat.families.zero_shot.methods.zskl.fast_gradient.BLOCK_ENTRIES", 8)
    engine = Engine(kernel, objective, X, y, S, W, batch=30)
    assert len(engine.pieces) == 4
    np.testing.assert_allclose(engine.gradient(np.arange(30))[1], whole, rtol=1e-12)


def test_not_a_number_is_not_hidden():
    X, y, S, W = problem()
    X[3, 2] = np.nan
    for text in ("gaussian(sigma=1)", "polynomial(r=2, c=1)"):
        loss, gradient = Engine(parse_kernel(text), Objective(True, 0.2), X, y, S, W, 30).gradient(np.arange(30))
        assert np.isnan(loss)
        assert np.isnan(gradient).any()


def test_weight_gradient_of_a_sum_agrees_with_differences():
    X, y, S, W = problem()
    objective = Objective(True, 0.2)
    kernel = parse_kernel("0.6*gaussian(sigma=1) + 0.4*cauchy(sigma=2) + 0.3*linear")
    engine = Engine(kernel, objective, X, y, S, W, batch=30, learn_weights=True)
    loss, gradient = engine.gradient(np.arange(30))
    assert loss == pytest.approx(objective_value(kernel, X, y, S, W, objective))
    np.testing.assert_allclose(gradient, objective_gradient(kernel, X, y, S, W, objective), rtol=1e-9)
    for i in range(3):
        path, h = f"weight.{i + 1}", 1e-6
        w = kernel.values[path]
        upper, lower = (objective_value(kernel.replaced({path: w + e}), X, y, S, W, objective) for e in (h, -h))
        assert engine.weight_gradient[i] == pytest.approx((upper - lower) / (2 * h), rel=1e-6)


def loss_of_subspaces(kernel, X, y, S, W, D, sim, drawn, objective):
    """Return Eq. 9 with W_c for the class of each row and the drawn ones, term by term."""
    total = 0.0
    share = objective.wrong * len(S) / len(drawn)
    for x, label in zip(X, y, strict=True):
        for c in {label, *drawn}:
            W_c = W + np.tensordot(sim[c], D, axes=1)
            for side in ("features", "signatures") if objective.both else ("features",):
                k = projected_gram(kernel, x[None], S[[c]], W_c, side).item()
                total += ((1 - k) ** 2 if c == label else share * k**2) / len(X)
    return total


@pytest.mark.parametrize("text", ["gaussian(sigma=0.8)", "polynomial(r=2, c=1)", "0.5*cauchy(sigma=1) + linear"])
@pytest.mark.parametrize("both", [True, False])
def test_subspace_gradients_agree_with_differences(text, both):
    X, y, S, W = problem()
    random = np.random.default_rng(1)
    D, sim = 0.1 * random.standard_normal((6, 7, 4)), random.random((6, 6)) * (random.random((6, 6)) > 0.5)
    drawn, kernel, objective = np.array([0, 3, 4]), parse_kernel(text), Objective(both, 0.2)

    def loss_at(V, E):
        return loss_of_subspaces(kernel, X, y, S, V, E, sim, drawn, objective)

    loss, dW, dD = SubspaceGradient(kernel, objective, sim)(X, y, S, W, D, drawn)
    assert loss == pytest.approx(loss_at(W, D), rel=1e-12)
    assert relative(dW, differences(lambda V: loss_at(V, D), W)) < 1e-6
    assert relative(np.stack([g.copy() for _, g in dD]), differences(lambda E: loss_at(W, E), D)) < 1e-6


def test_subspaces_without_deviation_are_the_plain_objective():
    X, y, S, W = problem()
    kernel, objective = parse_kernel("gaussian(sigma=0.8)"), Objective(True, 0.2)
    step = SubspaceGradient(kernel, objective, np.eye(6))
    loss, dW, dD = step(X, y, S, W, np.zeros((6, 7, 4)), np.arange(6))
    assert loss == pytest.approx(objective_value(kernel, X, y, S, W, objective), rel=1e-12)
    np.testing.assert_allclose(dW, objective_gradient(kernel, X, y, S, W, objective), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sum(g.copy() for _, g in dD), dW, rtol=1e-9, atol=1e-12)
