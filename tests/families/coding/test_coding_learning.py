"""Learning of dictionary, classifier and kernel: closed forms against brute force, objectives that do not rise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.decomposition import DictionaryLearning

from zslplat.errors import UsageError
from zslplat.families.coding.methods import dictionary as atoms
from zslplat.families.coding.methods.alternation import (
    Learned,
    Plan,
    alternate,
    loss_weights,
    objective,
    project_to_simplex,
    single_kernel_weights,
    spread_weights,
    spread_weights_of_kernels,
)
from zslplat.families.coding.methods.base import indicators
from zslplat.families.coding.methods.classifiers import (
    BilinearTerm,
    bilinear_loss,
    bilinear_scores,
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
    ratio_and_slope,
    soft_ratio_and_slope,
)
from zslplat.families.coding.methods.kernel_rows import PairValues
from zslplat.families.coding.methods.schemes import BagScheme, LocalScheme, Queries, SparseScheme, soft_codes
from zslplat.families.coding.methods.sparse_codes import sparse_codes
from zslplat.kernels import parse_kernel


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 20)
    X = rng.normal(size=(4, 6))[y] + 0.7 * rng.normal(size=(80, 6))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.fixture(scope="module")
def coded(data):
    X, _ = data
    K = parse_kernel("gaussian(sigma=0.7)")(X)
    rows = np.arange(0, 80, 4)
    return K, rows, sparse_codes(K[np.ix_(rows, rows)], K[:, rows], 0.05)


def reconstruction(A, Y, K):
    B = np.eye(len(K)) - Y @ A.T
    return np.trace(B @ K @ B.T)


def test_least_squares_atoms_solve_the_normal_equations(coded):
    K, _, Y = coded
    A = atoms.least_squares_atoms(Y)
    np.testing.assert_allclose(A @ (Y.T @ Y), Y, atol=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(5):
        assert reconstruction(A, Y, K) <= reconstruction(A + 0.01 * rng.normal(size=A.shape), Y, K)


def test_bounded_atoms_descend_inside_the_ball_and_reach_the_free_minimum_where_it_is_inside(coded):
    K, rows, Y = coded
    A = atoms.selection(rows, len(K))
    values = [reconstruction(A, Y, K)]
    for _ in range(5):
        A = atoms.bounded_atoms(A, Y, K, 1.0)
        values.append(reconstruction(A, Y, K))
        assert atoms.atom_norms(A, K).max() <= 1 + 1e-9
    assert all(after <= before + 1e-12 for before, after in itertools.pairwise(values))
    free = atoms.bounded_atoms(A, Y, K, 1e6, sweeps=3000)
    best = reconstruction(atoms.least_squares_atoms(Y), Y, K)
    assert reconstruction(free, Y, K) <= best * (1 + 1e-3)


def test_unused_atoms_become_the_worst_reconstructed_samples(coded):
    K, rows, Y = coded
    Y = Y.copy()
    Y[:, [2, 5]] = 0
    A = atoms.selection(rows, len(K))
    before = reconstruction(A, Y, K)
    changed, count = atoms.replace_unused(A, Y, K, 1.0)
    assert count == 2
    worst = np.argsort(-atoms.reconstruction_errors(A, Y, K), kind="stable")[:2]
    np.testing.assert_array_equal(changed[:, [2, 5]].argmax(axis=0), worst)
    assert reconstruction(changed, Y, K) == pytest.approx(before, abs=1e-9)


def test_soft_assignment_step_follows_the_gradient(data):
    X, _ = data
    X = X[:12]
    K = parse_kernel("gaussian(sigma=0.7)")(X)
    rng = np.random.default_rng(0)
    A, sigma = rng.uniform(size=(12, 3)), 2.0
    A /= A.sum(axis=0)

    def loss(flat):
        A = flat.reshape(12, 3)
        k = K @ A
        Y = soft_codes(1 - 2 * k + np.diagonal(A.T @ k)[None, :], sigma)
        return reconstruction(A, Y, K)

    k = K @ A
    Y = soft_codes(1 - 2 * k + np.diagonal(A.T @ k)[None, :], sigma)
    step = atoms.soft_assignment_step(A, Y, K, sigma, 1.0) - A
    gradient = -K @ (step * 2 * np.einsum("ij,ij->j", Y, Y))
    np.testing.assert_allclose(gradient, approx_fprime(A.ravel(), loss, 1e-7).reshape(12, 3), atol=1e-4)


@pytest.mark.parametrize("kind", ["samples", "class-samples", "k-means", "class-k-means"])
def test_chosen_atoms_are_different_samples_and_classes_share_them(coded, data, kind):
    K, _, _ = coded
    _, y = data
    rows = atoms.choose_rows(kind, K, y, 22, seed=1)
    assert len(np.unique(rows)) == 22
    np.testing.assert_array_equal(rows, atoms.choose_rows(kind, K, y, 22, seed=1))
    if kind.startswith("class"):
        assert sorted(np.bincount(y[rows])) == [5, 5, 6, 6]
    assert len(atoms.choose_rows(kind, K, y, None, seed=1)) == 80
    with pytest.raises(UsageError, match="80 training samples"):
        atoms.choose_rows(kind, K, y, 81, seed=1)


def test_k_means_atoms_cover_the_data_better_than_random_ones(coded, data):
    K, _, _ = coded
    _, y = data

    def spread(rows):
        return (2 - 2 * K[:, rows]).min(axis=1).sum()

    means = spread(atoms.choose_rows("k-means", K, y, 10, seed=0))
    assert all(means < spread(atoms.choose_rows("samples", K, y, 10, seed=s)) for s in range(5))
    order = np.random.default_rng(0).permutation(80)
    shuffled = atoms.choose_rows("k-means", K[np.ix_(order, order)], y[order], 10, seed=5)
    np.testing.assert_array_equal(np.sort(order[shuffled]), atoms.choose_rows("k-means", K, y, 10, seed=0))


def test_linear_classifier_minimises_its_loss(coded, data):
    _, _, Y = coded
    L = indicators(data[1], 4)
    W = fit_linear(Y, L, 0.5, 1e-3)
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = W + 1e-3 * rng.normal(size=W.shape)
        assert linear_loss(W, Y, L, 0.5, 1e-3) < linear_loss(other, Y, L, 0.5, 1e-3)
    T, t = linear_extra(W, L, 0.5)
    y = rng.normal(size=Y.shape[1])
    direct = 0.5 * ((L[3] - W @ y) ** 2).sum()
    assert y @ T @ y - 2 * t[3] @ y + 0.5 * (L[3] ** 2).sum() == pytest.approx(direct)


def test_bilinear_classifier_is_the_minimum_over_all_matrices(data):
    X, y = data
    X, y = X[::5], y[::5]
    K = parse_kernel("gaussian(sigma=0.7)")(X)
    rng = np.random.default_rng(0)
    Y, L, eta, rho = rng.normal(size=(16, 3)), indicators(y, 4), 0.5, 1e-2
    C = fit_bilinear(K, Y, L, eta, rho)
    M, c = L.shape

    def loss(A):  # (24) over free A_j (M, N): W_j = Phi(X) A_j
        fitted = np.einsum("im,jmn,in->ij", K, A, Y)
        norm = np.einsum("jmn,mk,jkn->", A, K, A)
        return eta / M * ((L - fitted) ** 2).sum() + rho / c * norm

    A = np.einsum("mj,mn->jmn", C, Y)
    assert loss(A) == pytest.approx(bilinear_loss(K, Y, Y, C, L, eta, rho))
    gradient = approx_fprime(A.ravel(), lambda flat: loss(flat.reshape(A.shape)), 1e-6)
    assert np.abs(gradient).max() < 1e-5
    new = rng.normal(size=(1, 3))
    term = BilinearTerm(K, L, Y, C, eta)
    T, t = term.block(2, np.arange(3))
    np.testing.assert_allclose(term.slope(2, new[0]), t - T @ new[0], atol=1e-12)
    error = eta * ((L[2] - bilinear_scores(K[2:3], new, Y, C)[0]) ** 2).sum()
    assert new[0] @ T @ new[0] - 2 * t @ new[0] + eta * (L[2] ** 2).sum() == pytest.approx(error)


def test_discrepancy_weights_give_loss_and_spread(coded):
    K, rows, Y = coded
    A = atoms.selection(rows, len(K))
    K_D = K[np.ix_(rows, rows)]
    loss = np.mean(1 - 2 * (Y * K[:, rows]).sum(axis=1) + np.einsum("ij,jk,ik->i", Y, K_D, Y))
    assert np.vdot(loss_weights(A, Y), K) == pytest.approx(loss)
    assert np.vdot(spread_weights(A), K) == pytest.approx(2 - 2 * K_D.mean())


def test_bandwidth_slopes_are_derivatives(coded, data):
    X, _ = data
    _, rows, Y = coded
    kernel = parse_kernel("gaussian")
    distances = gaussian_family(((X[:, None] - X[None]) ** 2).sum(axis=2))
    A = atoms.selection(rows, len(X))
    B, C = loss_weights(A, Y), spread_weights(A)
    # A dictionary of means of samples, whose norms change with the bandwidth.
    means = np.random.default_rng(0).dirichlet(np.ones(len(X)), size=6).T
    fixed, learned = Learned(kernel, np.eye(len(X)), A, rows), Learned(kernel, np.eye(len(X)), means, None)
    for f in (
        lambda beta: ratio_and_slope(beta, distances, B, C, 0.01),
        lambda beta: soft_ratio_and_slope(beta, distances, fixed.projected, 3.0, C),
        lambda beta: soft_ratio_and_slope(beta, distances, learned.projected, 3.0, spread_weights(means)),
    ):
        slope = (f(0.8 + 1e-6)[0] - f(0.8 - 1e-6)[0]) / 2e-6
        assert f(0.8)[1] == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("learned", [False, True])
def test_the_soft_ratio_is_that_of_codes_made_anew(data, learned):
    X, _ = data
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    rows = np.arange(0, len(X), 5)
    A = atoms.selection(rows, len(X))
    if learned:
        A = np.random.default_rng(0).dirichlet(np.ones(len(X)), size=6).T
    beta, sigma = 0.8, 3.0
    kernel = parse_kernel(f"gaussian(sigma={np.sqrt(0.5 / beta)})")
    state = Learned(kernel, np.exp(-beta * distances), A, None if learned else rows)
    Y = BagScheme(sigma).encode(state.K_D, state.k, state.kappa)
    B, C = loss_weights(A, Y), spread_weights(A)
    expected = ratio_and_slope(beta, gaussian_family(distances), B, C)[0]
    assert soft_ratio_and_slope(beta, gaussian_family(distances), state.projected, sigma, C)[0] == pytest.approx(
        expected, rel=1e-9
    )


def test_bandwidth_search_ends_at_the_minimum_or_says_that_it_was_held(coded, data):
    X, _ = data
    _, rows, Y = coded
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    median = float(np.median(distances))
    distances = gaussian_family(distances)
    A = atoms.selection(rows, len(X))
    B, C = loss_weights(A, Y), spread_weights(A)
    found = [learn_bandwidth(b, median, lambda b: ratio_and_slope(b, distances, B, C), box=WIDE) for b in (0.1, 1, 9)]
    grid = [ratio_and_slope(b, distances, B, C)[0] for b in np.geomspace(1e-4, 100, 400)]
    for one in found:
        assert not one.clamped
        assert one.criterion <= min(grid) + 1e-9
    # Codes that sum to 1: the criterion falls all the way to beta = 0, and the box stops it.
    affine = Y / Y.sum(axis=1, keepdims=True)
    B = loss_weights(A, affine)
    held = learn_bandwidth(1.0, median, lambda b: ratio_and_slope(b, distances, B, C))
    assert held.clamped
    assert held.beta * median == pytest.approx(NARROW[0]) or held.beta * median == pytest.approx(NARROW[1])


def test_printed_kernel_combination_is_always_a_single_kernel():
    rng = np.random.default_rng(0)
    losses, spreads = rng.uniform(size=5), rng.uniform(0.5, 2, size=5)
    best = single_kernel_weights(losses, spreads)
    mixtures = rng.dirichlet(np.ones(5), size=2000)
    assert ((mixtures @ losses) / (mixtures @ spreads)).min() >= best @ losses / (best @ spreads)


def test_well_posed_combination_runs_from_the_best_kernel_to_the_average():
    losses, spreads = np.array([0.3, 0.1, 0.2]), np.array([1.0, 2.0, 0.5])
    near_vertex = spread_weights_of_kernels(losses, spreads, 1e-3) * spreads
    near_average = spread_weights_of_kernels(losses, spreads, 1e3) * spreads
    np.testing.assert_allclose(near_vertex, [0, 1, 0], atol=1e-9)
    np.testing.assert_allclose(near_average, 1 / 3, atol=1e-2)


def test_simplex_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    v = rng.normal(size=6)
    p = project_to_simplex(v)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1)
    others = rng.dirichlet(np.ones(6), size=500)
    assert ((others - v) ** 2).sum(axis=1).min() >= ((p - v) ** 2).sum()


def history(data, plan, kernel="gaussian(sigma=0.7)", rows=None):
    X, y = data
    kernel = parse_kernel(kernel)
    rows = np.arange(0, 80, 3) if rows is None else rows
    return alternate(plan, kernel, PairValues(kernel, X, None, None), rows, y, 4)


@pytest.mark.parametrize(
    ("scheme", "learning"),
    [
        (SparseScheme(0.05), "constrained"),
        (BagScheme(None), "free"),
        (BagScheme(8.0), "free"),
    ],
)
def test_unsupervised_objective_never_rises(data, scheme, learning):
    values = [v for _, v in history(data, Plan(scheme, learning=learning, iterations=5)).history]
    assert len(values) > 5
    assert all(after <= before + 1e-9 for before, after in itertools.pairwise(values))


@pytest.mark.parametrize("scheme", [SparseScheme(0.05), SparseScheme(2.5), LocalScheme(5)])
def test_codes_with_a_quadratic_for_each_query_are_those_of_the_whole_problem(data, coded, scheme):
    K, rows, Y = coded
    L, own = indicators(data[1], 4), np.full(80, -1)
    own[rows] = np.arange(20)
    C = fit_bilinear(K, Y, L, 0.5, 1e-3)
    K_D, k = K[np.ix_(rows, rows)], K[:, rows]
    found = scheme.encode_each(Queries(K_D, k, np.ones(80), Y, own), BilinearTerm(K, L, Y, C, 0.5))
    for i in range(80):
        Q = (C * K[i][:, None]).T @ Y
        extra = 0.5 * Q.T @ Q, 0.5 * (L[i] @ Q)[None, :]
        one = slice(i, i + 1)
        whole = scheme.encode(K_D, k[one], np.ones(1), excluded=own[one], extra=extra)
        np.testing.assert_allclose(found[one], whole, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("supervision", ["none", "linear", "bilinear"])
@pytest.mark.parametrize(
    ("scheme", "learning"),
    [(SparseScheme(0.05), "free"), (LocalScheme(5), "free"), (LocalScheme(12), "constrained")],
)
def test_recorded_objective_never_rises_from_round_to_round(seed, supervision, scheme, learning):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), 15)
    X = rng.normal(size=(4, 6))[y] + 0.7 * rng.normal(size=(60, 6))
    plan = Plan(scheme, learning=learning, iterations=12, supervision=supervision, eta=0.5, rho=1e-3)
    kernel = parse_kernel("gaussian(sigma=2)")
    state = alternate(plan, kernel, PairValues(kernel, X, None, None), np.arange(0, 60, 4), y, 4)
    assert len(state.rounds) > 1
    assert np.diff(state.rounds).max() <= 0
    assert objective(plan, state, indicators(y, 4)) == pytest.approx(state.rounds[-1])


@pytest.mark.parametrize("supervision", ["linear", "bilinear"])
def test_supervised_objective_never_rises(data, supervision):
    plan = Plan(SparseScheme(0.05), learning="constrained", iterations=4, supervision=supervision, eta=0.2, rho=1e-3)
    state = history(data, plan)
    values = [v for _, v in state.history]
    assert all(after <= before + 1e-9 for before, after in itertools.pairwise(values))
    assert objective(plan, state, indicators(data[1], 4)) == pytest.approx(values[-1])


@pytest.mark.parametrize("scheme", [SparseScheme(0.05), LocalScheme(5)])
def test_free_dictionary_step_never_raises_the_reconstruction(data, scheme):
    state = history(data, Plan(scheme, learning="free", iterations=3))
    steps = state.history
    for (_, before), (step, after) in itertools.pairwise(steps):
        # The neighbourhoods of local codes change with the atoms, and normalisation sees the prior: other steps.
        if step == "dictionary":
            assert after <= before + 1e-9


def test_rescaling_changes_neither_reconstruction_nor_scores(data):
    X, y = data
    K = parse_kernel("gaussian(sigma=0.7)")(X)
    rng = np.random.default_rng(0)
    state = Learned(parse_kernel("gaussian(sigma=0.7)"), K, rng.uniform(size=(80, 6)), None)
    state.codes = rng.normal(size=(80, 6))
    state.classifier = fit_linear(state.codes, indicators(y, 4), 1.0, 1e-3)
    scores = state.codes @ state.classifier.T
    errors = atoms.reconstruction_errors(state.A, state.codes, K)
    state.rescale(rng.uniform(0.5, 2, size=6))
    np.testing.assert_allclose(state.codes @ state.classifier.T, scores, atol=1e-12)
    np.testing.assert_allclose(atoms.reconstruction_errors(state.A, state.codes, K), errors, atol=1e-12)


def test_final_objective_beats_scikit_learn_on_the_linear_kernel(data):
    X, _y = data
    gamma, rows = 0.1, np.arange(0, 80, 4)
    reference = DictionaryLearning(
        n_components=20, alpha=gamma / 2, max_iter=20, fit_algorithm="lars", transform_algorithm="lasso_lars",
        dict_init=X[rows], code_init=np.zeros((80, 20)), tol=0, random_state=0,
    ).fit(X)  # fmt: skip
    D = reference.components_
    D = D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1)
    codes = sparse_codes(D @ D.T, X @ D.T, gamma)
    theirs = np.mean(((X - codes @ D) ** 2).sum(axis=1) + gamma * np.abs(codes).sum(axis=1))
    plan = Plan(SparseScheme(gamma), learning="constrained", iterations=20)
    ours = history(data, plan, kernel="linear", rows=rows).history[-1][1]
    # As many rounds of the same alternation; two sweeps over the atoms per round make the difference.
    assert ours < theirs
