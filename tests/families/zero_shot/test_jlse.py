"""Joint latent similarity embedding: the objective by plain loops, turns that never raise it, and scores by search."""

import numpy as np
import pytest
from scipy.optimize import minimize

from zslplat.errors import UsageError
from zslplat.families.zero_shot.methods.jlse import DELTA, JLSE, Alternation, Terms, match_and_slopes, rounded_hinge
from zslplat.families.zero_shot.methods.simplex import simplex_codes

TERMS = Terms(noise=0.7, match=3.0, lam=0.02, dictionary=0.05)


def problem(n=60, d=8, c=5, a=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % c)
    S = rng.normal(size=(c, a))
    return S[y] @ rng.normal(size=(a, d)) + 0.5 * rng.normal(size=(n, d)), y, S


def alternation(r=3, rounds=0):
    X, y, S = problem()
    rng = np.random.default_rng(1)
    turns = Alternation(X, y, simplex_codes(S, S, 0.3), rng.normal(size=(r, X.shape[1])), 1.7, TERMS)
    turns.W = 0.3 * rng.normal(size=turns.W.shape)
    for _ in range(rounds):
        turns.round()
    return turns


def objective_by_loops(turns):
    total = 0.0
    for x, label, z in zip(turns.X / turns.unit, turns.y, turns.Z, strict=True):
        total += 0.5 * z @ z + np.sum((x - turns.D.T @ z) ** 2) / (2 * TERMS.noise)
        for k, code in enumerate(turns.codes):
            margin = (1 if k == label else -1) * (code @ turns.W @ z)
            short = max(0.0, 1 - margin)
            loss = short**2 / (2 * DELTA) if short < DELTA else short - DELTA / 2
            total += TERMS.match * loss * (1 if k == label else 1 / (len(turns.codes) - 1))
    penalties = TERMS.lam / 2 * np.sum(turns.W**2) + TERMS.dictionary / 2 * np.sum(turns.D**2)
    return total / len(turns.X) + penalties


@pytest.mark.parametrize("rounds", [0, 2])
def test_objective_is_that_of_the_definition(rounds):
    turns = alternation(rounds=rounds)
    np.testing.assert_allclose(turns.value(), objective_by_loops(turns), rtol=1e-10)


def test_every_turn_lowers_the_objective():
    turns = alternation()
    value = turns.value()
    for _ in range(4):
        for move in (turns._move_codes, turns._move_match, turns._move_dictionary):
            move()
            before, value = value, turns.value()
            assert value < before


def test_codes_and_dictionary_end_where_the_objective_has_no_slope():
    turns = alternation()
    for _ in range(300):
        turns._move_codes()
    turns._move_dictionary()
    # After the dictionary has moved codes are no longer at their lowest point: they are looked at before it.
    codes = alternation()
    for _ in range(300):
        codes._move_codes()
    for learned, name in ((codes, "Z"), (turns, "D")):
        matrix = getattr(learned, name)
        for direction in np.random.default_rng(2).normal(size=(4, *matrix.shape)):
            values = []
            for step in (-1e-4, 1e-4):
                setattr(learned, name, matrix + step * direction)
                values.append(learned.value())
            setattr(learned, name, matrix)
            assert abs(values[1] - values[0]) / 2e-4 < 1e-6


def test_slope_of_the_match_agrees_with_finite_differences():
    turns = alternation(rounds=1)
    numeric = np.empty_like(turns.W)
    for index in np.ndindex(turns.W.shape):
        step = np.zeros_like(turns.W)
        step[index] = 1e-6
        numeric[index] = (turns._match(turns.W + step)[0] - turns._match(turns.W - step)[0]) / 2e-6
    np.testing.assert_allclose(turns._match(turns.W)[1], numeric, atol=1e-8)


def test_matches_of_rows_are_weighted_hinges_and_their_slopes():
    rng = np.random.default_rng(0)
    products, y = rng.normal(size=(40, 7)), rng.integers(0, 7, 40)
    right = y[:, None] == np.arange(7)
    t, weights = np.where(right, 1, -1), np.where(right, 1, 0.3)
    slopes = weights * (rounded_hinge(t * (products + 1e-6)) - rounded_hinge(t * (products - 1e-6))) / 2e-6
    pull = products.copy()
    value = match_and_slopes(pull, y, 0.3)
    np.testing.assert_allclose(value, (weights * rounded_hinge(t * products)).sum(), rtol=1e-12)
    np.testing.assert_allclose(pull, slopes, atol=1e-5)


def test_rounded_hinge_is_an_envelope_of_the_hinge():
    margins, shifts = np.linspace(-2, 2, 41), np.linspace(-4, 4, 80001)
    for delta in (DELTA, 1.3):
        envelope = [np.min(shifts**2 / (2 * delta) + np.maximum(0, 1 - m - shifts)) for m in margins]
        np.testing.assert_allclose(rounded_hinge(margins, delta), envelope, atol=1e-7)


def test_scores_are_those_of_codes_found_by_search():
    X, y, S = problem()
    new, candidates = X[:4] + 0.3, np.vstack([S, np.random.default_rng(3).normal(size=(2, 4))])
    cheap = JLSE(latent=3, match=2.0, rounds=4).fit(X, y, S)
    full = JLSE(latent=3, match=2.0, rounds=4, score="match").fit(X, y, S)
    V = simplex_codes(candidates, S, cheap.gamma) @ cheap.W_
    for x, plain, moved in zip(
        new, cheap.decision_function(new, candidates), full.decision_function(new, candidates), strict=True
    ):

        def reconstruction(z, x=x):
            return 0.5 * z @ z + np.sum((x / cheap.unit_ - cheap.D_.T @ z) ** 2) / (2 * cheap.noise)

        def lowest(function):
            return minimize(function, np.zeros(3), options={"gtol": 1e-9})

        alone = lowest(reconstruction)
        np.testing.assert_allclose(plain, V @ alone.x, atol=1e-6)
        gains = [
            (lowest(lambda z, v=v: reconstruction(z) + 2.0 * float(rounded_hinge(v @ z))).fun - alone.fun) / 2.0
            for v in V
        ]
        np.testing.assert_allclose(-moved, gains, atol=1e-6)


def test_code_of_a_seen_signature_is_its_own_class_where_the_ridge_is_small():
    X, y, S = problem()
    learned = JLSE(gamma=1e-4, rounds=1).fit(X, y, S)
    np.testing.assert_allclose(learned._codes(S), np.eye(5), atol=0.05)


def test_latent_codes_longer_than_the_features_are_as_long_as_those():
    X, y, S = problem()
    learned = JLSE(latent=50, rounds=2).fit(X, y, S)
    assert learned.D_.shape == (8, 8)
    assert np.isfinite(learned.decision_function(X, S)).all()


def test_a_dictionary_without_penalty_is_refused_because_directions_without_rows_leave_it_open():
    X, y, S = problem()
    twice = np.hstack([X, X])  # half of the directions have no row
    assert np.isfinite(JLSE(latent=16, dictionary=1e-9, rounds=2).fit(twice, y, S).D_).all()
    with pytest.raises(UsageError, match="dictionary"):
        JLSE.build({"dictionary": 0.0})
