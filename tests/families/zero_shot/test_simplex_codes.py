"""Projections onto the simplex, and codes of signatures over others, against slow references."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from zslplat.errors import DataError
from zslplat.families.zero_shot.methods.simplex import frank_wolfe_gaps, project_on_simplex, simplex_codes


def _signatures(seed: int, count: int, attributes: int) -> np.ndarray:
    return np.random.default_rng(seed).random((count, attributes))


def test_projection_is_the_nearest_point_of_the_simplex() -> None:
    """theta, found by bisection, is what is subtracted from every entry that stays above 0."""
    V = np.random.default_rng(0).normal(size=(30, 7)) * np.logspace(-2, 2, 30)[:, None]
    found = project_on_simplex(V)
    for v, z in zip(V, found, strict=True):
        theta = optimize.brentq(lambda t, v=v: np.maximum(v - t, 0).sum() - 1, v.min() - 1, v.max(), xtol=1e-13)
        np.testing.assert_allclose(z, np.maximum(v - theta, 0), atol=1e-9)


def test_projection_leaves_points_of_the_simplex_and_common_shifts_alone() -> None:
    Z = np.random.default_rng(1).dirichlet(np.ones(5), size=8)
    np.testing.assert_allclose(project_on_simplex(Z), Z, atol=1e-12)
    np.testing.assert_allclose(project_on_simplex(Z + 1e6), Z, atol=1e-9)
    np.testing.assert_array_equal(project_on_simplex(np.full((2, 1), -3.0)), np.ones((2, 1)))


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize(("classes", "attributes"), [(6, 15), (9, 4)])
def test_codes_agree_with_sequential_quadratic_programming(gamma: float, classes: int, attributes: int) -> None:
    basis, S = _signatures(2, classes, attributes), _signatures(3, 4, attributes)
    unit = np.trace(basis @ basis.T) / classes
    found = simplex_codes(S, basis, gamma)

    for s, z in zip(S, found, strict=True):

        def value(a: np.ndarray, s: np.ndarray = s) -> float:
            return float(gamma * (a @ a) / 2 + ((s - a @ basis) ** 2).sum() / (2 * unit))

        def slope(a: np.ndarray, s: np.ndarray = s) -> np.ndarray:
            return np.asarray(gamma * a + basis @ (a @ basis - s) / unit)

        reference = optimize.minimize(
            value,
            np.full(classes, 1 / classes),
            jac=slope,
            method="SLSQP",
            bounds=[(0, None)] * classes,
            constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": np.ones_like},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert value(z) <= value(reference.x) + 1e-10
        np.testing.assert_allclose(z, reference.x, atol=1e-4)


@pytest.mark.parametrize("gamma", [1e-4, 1e-2, 1.0])
def test_codes_meet_the_conditions_of_the_optimum(gamma: float) -> None:
    """On the simplex; where an entry is positive the slope is the smallest of all entries."""
    basis, S = _signatures(4, 40, 30), _signatures(5, 25, 30)
    Z = simplex_codes(S, basis, gamma)
    gram = basis @ basis.T
    unit = np.trace(gram) / len(gram)
    g = Z @ (gram / unit + gamma * np.eye(40)) - S @ basis.T / unit
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1e-12)
    lowest = g.min(axis=1, keepdims=True)
    assert (((g - lowest) < 1e-6) | (Z < 1e-6)).all()
    assert np.count_nonzero(Z > 1e-6, axis=1).mean() > 1


def test_gap_bounds_what_is_left_to_gain() -> None:
    basis, S = _signatures(6, 8, 5), _signatures(7, 3, 5)
    H, linear = basis @ basis.T + 0.5 * np.eye(8), S @ basis.T
    best = simplex_codes(S, basis, 0.5 / (np.trace(basis @ basis.T) / 8))

    def values(Z: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("ij,ij->i", Z @ H / 2 - linear, Z))

    for seed in range(5):
        Z = np.random.default_rng(seed).dirichlet(np.ones(8), size=3)
        assert (frank_wolfe_gaps(Z, H, linear) >= values(Z) - values(best) - 1e-12).all()
    assert (np.abs(frank_wolfe_gaps(best, H, linear)) < 1e-8).all()


def test_codes_of_the_basis_are_itself_for_small_gamma_and_even_for_large() -> None:
    basis = _signatures(8, 10, 30)
    np.testing.assert_allclose(simplex_codes(basis, basis, 1e-7), np.eye(10), atol=1e-4)
    np.testing.assert_allclose(simplex_codes(basis, basis, 1e7), np.full((10, 10), 0.1), atol=1e-4)


def test_codes_do_not_depend_on_units_or_on_the_order_of_classes() -> None:
    basis, S = _signatures(9, 12, 6), _signatures(10, 5, 6)
    Z = simplex_codes(S, basis, 0.03)
    np.testing.assert_allclose(simplex_codes(S * 250, basis * 250, 0.03), Z, atol=1e-9)
    order = np.random.default_rng(0).permutation(12)
    np.testing.assert_allclose(simplex_codes(S[::-1], basis[order], 0.03), Z[::-1][:, order], atol=1e-9)


def test_codes_exist_without_ridge_and_for_a_basis_of_zeros() -> None:
    twice = np.vstack([_signatures(11, 4, 3)] * 2)  # dependent: the Hessian is singular without a ridge
    Z = simplex_codes(twice, twice, 0.0, tolerance=1e-8)
    np.testing.assert_allclose(Z @ twice, twice, atol=1e-3)
    np.testing.assert_allclose(simplex_codes(np.ones((2, 3)), np.zeros((4, 3)), 1.0), np.full((2, 4), 0.25))


def test_shapes_and_values_that_do_not_fit_are_named() -> None:
    with pytest.raises(DataError, match=r"\(2, 3\) and \(4, 5\)"):
        simplex_codes(np.ones((2, 3)), np.ones((4, 5)), 1.0)
    with pytest.raises(DataError, match="NaN"):
        simplex_codes(np.full((2, 3), np.nan), np.ones((4, 3)), 1.0)
