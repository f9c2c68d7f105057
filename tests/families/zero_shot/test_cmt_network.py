"""The network of cross-modal transfer: its gradient and minimiser, with a closed form and scikit-learn as peers."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der
from sklearn.neural_network import MLPRegressor

from zslplat.families.zero_shot.methods.cmt.transfer import CMT, Objective, Penalties
from zslplat.methods.quasi_newton import minimise


def problem(n=60, d=7, c=6, a=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % c)
    S = rng.normal(size=(c, a))
    return S[y] @ rng.normal(size=(a, d)) + 0.5 * rng.normal(size=(n, d)), y, S


def last(iterates):
    found = list(iterates)
    return found[-1], found


@pytest.mark.parametrize("hidden", [None, 5])
@pytest.mark.parametrize("penalties", [Penalties(0.03, 0.7, 0.1), Penalties(0.2, biases=False)])
def test_gradient_agrees_with_finite_differences(hidden, penalties, monkeypatch):
    monkeypatch.setattr("zslplat.data.store.rows.BLOCK", 16)
    X, y, S = problem()
    objective = Objective(3 * X, y, 0.2 * S, hidden=hidden, penalties=penalties)
    rng = np.random.default_rng(1)
    point = objective.start(rng)
    point += 0.3 * rng.normal(size=len(point))
    steps = 1e-5 * np.eye(len(point))
    numeric = [(objective(point + step)[0] - objective(point - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(objective(point)[1], numeric, atol=1e-8)


def test_objective_is_that_of_the_definition_and_single_precision_agrees():
    X, y, S = problem()
    penalties = Penalties(0.03, 0.7, 0.1)
    objective = Objective(X, y, S, hidden=5, penalties=penalties)
    point = objective.start(np.random.default_rng(1)) + 0.1
    W1, b1, W2, b2 = objective.split(point)
    x = X / np.sqrt(np.mean(X**2))
    rows = S[y]
    unit = np.sqrt(np.mean((rows - rows.mean(axis=0)) ** 2))
    H = np.tanh(x @ W1 + b1)
    q = (H.mean(axis=0) + 1) / 2
    value = np.sum((rows / unit - H @ W2 - b2) ** 2) / (2 * len(X)) + 0.015 * np.sum(point**2)
    value += 0.7 * np.sum(0.1 * np.log(0.1 / q) + 0.9 * np.log(0.9 / (1 - q)))
    np.testing.assert_allclose(objective(point)[0], value, rtol=1e-12)
    single = Objective(X.astype(np.float32), y, S, hidden=5, penalties=penalties)
    np.testing.assert_allclose(single(point)[0], value, rtol=1e-5)
    np.testing.assert_allclose(single(point)[1], objective(point)[1], atol=1e-5)


def test_minimiser_ends_at_the_lowest_point_and_never_rises():
    found, way = last(minimise(lambda x: (rosen(x), rosen_der(x)), np.full(6, -1.5), tolerance=1e-10))
    np.testing.assert_allclose(found.point, 1, atol=1e-6)
    assert found.converged
    assert (np.diff([iterate.value for iterate in way]) < 0).all()


def test_minimiser_starts_from_a_lowest_point_and_stays():
    found, way = last(minimise(lambda x: (float(x @ x), 2 * x), np.zeros(3), tolerance=1e-5))
    assert len(way) == 1
    assert found.converged


@pytest.mark.parametrize("hidden", [None, 5])
def test_minimiser_reaches_what_scipy_reaches(hidden):
    X, y, S = problem()
    objective = Objective(X, y, S, hidden=hidden, penalties=Penalties(0.3))
    start = objective.start(np.random.default_rng(3))
    theirs = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 0, "gtol": 1e-9})
    ours, way = last(minimise(objective, start, tolerance=1e-8))
    assert ours.converged
    np.testing.assert_allclose(ours.value, theirs.fun, rtol=1e-8)
    assert len(way) < 2 * theirs.nit


def test_one_layer_is_ridge_regression():
    X, y, S = problem()
    learned = CMT(layers=1, lam=0.1, penalise_biases=False, stop=1e-10).fit(X, y, S)
    unit, centred, rows = np.mean(X**2), X - X.mean(axis=0), S[y]
    ridge = 0.1 * len(X) * unit * np.eye(X.shape[1])
    W = np.linalg.solve(centred.T @ centred + ridge, centred.T @ rows)
    np.testing.assert_allclose(learned.W1_, W, atol=1e-7)
    np.testing.assert_allclose(learned.mapped(X), centred @ W + rows.mean(axis=0), atol=1e-7)
    assert set(learned.matrices()) == {"W1", "b1"}


def test_network_of_scikit_learn_has_the_same_loss_and_ends_no_lower():
    # One output: with more, their gradient is not that of their loss, which is a mean over outputs.
    X, y, S = problem(n=120, a=1)
    objective = Objective(X, y, S, hidden=5, penalties=Penalties(0.05, biases=False))
    x, rows = X / objective.feature_unit, S[y, 0] / objective.signature_unit
    peer = MLPRegressor(hidden_layer_sizes=(5,), activation="tanh", solver="lbfgs", warm_start=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = parameters_of(peer.set_params(alpha=0.05 * len(X), max_iter=1).fit(x, rows))
        theirs = parameters_of(peer.set_params(max_iter=5000, tol=1e-10).fit(x, rows))
    value, gradient = objective(theirs)
    np.testing.assert_allclose(value, peer.loss_, rtol=1e-6)
    assert np.linalg.norm(gradient) < 1e-3
    ours, _ = last(minimise(objective, start, tolerance=1e-7))
    assert ours.value <= value * (1 + 1e-6)


def parameters_of(peer):
    (W1, W2), (b1, b2) = peer.coefs_, peer.intercepts_
    return np.concatenate([part.ravel() for part in (W1, b1, W2, b2)])


def test_units_of_features_and_signatures_change_nothing():
    X, y, S = problem()
    plain = CMT(hidden=5, lam=0.1).fit(X, y, S)
    scaled = CMT(hidden=5, lam=0.1).fit(8 * X, y, 4 * S)
    np.testing.assert_allclose(scaled.mapped(8 * X), 4 * plain.mapped(X), rtol=1e-6)
    np.testing.assert_allclose(scaled.decision_function(8 * X, 4 * S), 16 * plain.decision_function(X, S), rtol=1e-6)


def test_scores_are_minus_squared_distances_of_mapped_rows():
    X, y, S = problem()
    learned = CMT(hidden=5).fit(X, y, S)
    mapped = np.tanh(X @ learned.W1_ + learned.b1_) @ learned.W2_ + learned.b2_
    slow = [[-sum((f - s) ** 2) for s in S] for f in mapped]
    np.testing.assert_allclose(learned.decision_function(X, S), slow, atol=1e-10)


def test_convergence_is_reported_as_it_is():
    X, y, S = problem()
    short, long = CMT(hidden=5, lam=0.1, rounds=1).fit(X, y, S), CMT(hidden=5, lam=0.1, rounds=200).fit(X, y, S)
    for learned in (short, long):
        numbers = learned.diagnostics_.numbers
        objective = learned._objective(X, y, S)
        value, gradient = objective(objective.vector_of(learned._layers))
        np.testing.assert_allclose(value, learned.diagnostics_.series["objective"][-1], rtol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(gradient), numbers["gradient"], atol=1e-9)
        np.testing.assert_allclose(learned.objective(X, y, S), value)
    assert short.diagnostics_.numbers["iterations"] == 10
    assert not short.diagnostics_.numbers["converged"]
    assert long.diagnostics_.numbers["converged"]
    assert long.diagnostics_.numbers["gradient"] <= 1e-5 * long.diagnostics_.series["gradient"][0]


def test_sparsity_draws_mean_activations_to_rho():
    X, y, S = problem()
    means = []
    for sparsity in (0.0, 5.0):
        learned = CMT(hidden=5, sparsity=sparsity, rho=0.1).fit(X, y, S)
        means.append(np.abs((np.tanh(X @ learned.W1_ + learned.b1_).mean(axis=0) + 1) / 2 - 0.1).max())
    assert means[1] < 0.05 < means[0]
