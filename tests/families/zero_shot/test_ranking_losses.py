"""The ranking losses: their slopes, their sampled forms, and what rows without or with one violator cost."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.families.zero_shot.methods.ranking import estimator
from zslplat.families.zero_shot.methods.ranking.estimator import Latent, RowSpace, latent_scores

EXACT = [estimator.weighted_approximate_rank, estimator.summed_hinge, estimator.largest_violation]
SAMPLED = [estimator.sampled_rank, estimator.first_violation]
ALL = [*EXACT, *SAMPLED]
MARGIN = 0.7


def compatibilities(b=40, c=7, seed=0):
    """Compatibilities with rows of all numbers of violators, and labels."""
    random = np.random.default_rng(seed)
    return random.standard_normal((b, c)), random.integers(0, c, b)


def evaluated(loss, F, y, seed=1):
    arguments = (np.random.default_rng(seed),) if loss in SAMPLED else ()
    return loss(F, y, MARGIN, *arguments)


def by_definition(loss, F, y):
    """The exact losses, one row and one class at a time."""
    found = []
    for f, label in zip(F, y, strict=True):
        hinges = [MARGIN + f[c] - f[label] for c in range(len(f)) if c != label and MARGIN + f[c] - f[label] > 0]
        r = len(hinges)
        if loss is estimator.weighted_approximate_rank:
            found.append(sum(1 / i for i in range(1, r + 1)) / max(r, 1) * sum(hinges))
        elif loss is estimator.summed_hinge:
            found.append(sum(hinges))
        else:
            found.append(max(hinges, default=0))
    return np.array(found)


@pytest.mark.parametrize("loss", EXACT)
def test_losses_are_those_of_the_papers(loss):
    F, y = compatibilities()
    found, _ = evaluated(loss, F, y)
    np.testing.assert_allclose(found, by_definition(loss, F, y), rtol=1e-12)


@pytest.mark.parametrize("loss", ALL)
def test_slope_is_that_of_the_loss(loss):
    F, y = compatibilities()
    _, G = evaluated(loss, F, y)
    step = 1e-6  # small enough that no class of these rows becomes a violator or ceases to be one
    for c in range(F.shape[1]):
        up, down = F.copy(), F.copy()
        up[:, c] += step
        down[:, c] -= step
        slope = (evaluated(loss, up, y)[0] - evaluated(loss, down, y)[0]) / (2 * step)
        np.testing.assert_allclose(G[:, c], slope, atol=1e-8)


@pytest.mark.parametrize("loss", ALL)
def test_a_row_that_leads_by_the_margin_costs_nothing(loss):
    F, y = compatibilities()
    F[np.arange(len(y)), y] = F.max(axis=1) + MARGIN + 1e-9
    found, G = evaluated(loss, F, y)
    assert not found.any()
    assert not G.any()


@pytest.mark.parametrize("loss", [*EXACT, estimator.first_violation])
def test_one_violator_is_a_plain_hinge(loss):
    F, y = compatibilities()
    F -= 10
    rows = np.arange(len(y))
    wrong = (y + 2) % F.shape[1]
    F[rows, y], F[rows, wrong] = 0.0, -0.2
    found, G = evaluated(loss, F, y)
    expected = np.zeros_like(F)
    expected[rows, wrong], expected[rows, y] = 1, -1
    np.testing.assert_allclose(found, MARGIN - 0.2)
    np.testing.assert_array_equal(G, expected)


def test_sampled_rank_is_the_objective_on_average_but_for_the_estimate_of_the_rank():
    F, y = compatibilities(b=6, c=9, seed=4)
    c, draws = F.shape[1], 20000
    _, exact = estimator.weighted_approximate_rank(F, y, MARGIN)
    random = np.random.default_rng(0)
    many, labels = np.repeat(F, draws, axis=0), np.repeat(y, draws)
    mean = estimator.sampled_rank(many, labels, MARGIN, random)[1].reshape(len(y), draws, c).mean(axis=1)
    beta = estimator.harmonic(c)
    for i, label in enumerate(y):
        r = int(sum(MARGIN + F[i, k] - F[i, label] > 0 for k in range(c) if k != label))
        p = r / (c - 1)
        # Draw N is the first violator with probability (1 - p)^(N - 1) p.
        estimate = sum((1 - p) ** (n - 1) * p * beta[(c - 1) // n] for n in range(1, c))
        expected = exact[i] * (estimate / beta[r] if r else 0)
        # Weights are at most beta[c - 1] < 3: four deviations of a mean of so many.
        np.testing.assert_allclose(mean[i], expected, atol=4 * 3 / np.sqrt(draws))


def test_first_violator_is_any_of_them_alike():
    F, y = compatibilities(b=5, c=6, seed=2)
    draws = 20000
    _, exact = estimator.summed_hinge(F, y, MARGIN)
    many, labels = np.repeat(F, draws, axis=0), np.repeat(y, draws)
    mean = (
        estimator.first_violation(many, labels, MARGIN, np.random.default_rng(0))[1].reshape(5, draws, 6).mean(axis=1)
    )
    violators = np.maximum(-exact[np.arange(5), y], 1)
    np.testing.assert_allclose(mean, exact / violators[:, None], atol=4 / np.sqrt(draws))


def test_latent_slope_is_that_of_the_loss():
    random = np.random.default_rng(3)
    b, c, a, K = 30, 6, 4, 3
    P, S, y = random.standard_normal((K, b, a)), random.standard_normal((c, a)), random.integers(0, c, b)
    loss = Latent(MARGIN)
    found, moves = loss(P, y, S, np.random.default_rng(1))
    R = np.zeros_like(P)
    for k, (rows, part) in enumerate(moves):
        R[k, rows] = part
    assert 0 < np.count_nonzero(found) < b
    step = 1e-6
    for k, j in np.ndindex(K, a):
        up, down = P.copy(), P.copy()
        up[k, :, j] += step
        down[k, :, j] -= step
        slope = (loss(up, y, S, np.random.default_rng(1))[0] - loss(down, y, S, np.random.default_rng(1))[0]) / 2 / step
        np.testing.assert_allclose(R[k, :, j], slope, atol=1e-8)


def test_latent_draws_every_wrong_class_alike_and_never_the_right_one():
    c, a, draws = 5, 3, 20000
    random = np.random.default_rng(0)
    S, x, W = (random.standard_normal(shape) for shape in ((c, a), (1, 4), (2, 4, a)))
    scores = latent_scores(x, S, W)[0]
    F, y = np.repeat(scores[None], draws, axis=0), np.full(draws, 2)
    found, _ = Latent(5.0)(np.repeat(x @ W, draws, axis=1), y, S, random)
    hinges = 5 + np.delete(scores - scores[2], 2)
    assert (hinges > 0).all()
    shares = [np.isclose(found, h).mean() for h in hinges]
    np.testing.assert_allclose(shares, 1 / (c - 1), atol=4 * 0.5 / np.sqrt(draws))
    np.testing.assert_allclose(estimator.summed_hinge(F[:1], y[:1], 5.0)[0], hinges.sum())


@pytest.mark.parametrize(("classes", "attributes", "width"), [(9, 40, 16), (20, 40, 32), (60, 40, 40), (9, 12, 12)])
def test_coordinates_of_signatures_keep_products_and_maps(classes, attributes, width):
    random = np.random.default_rng(0)
    S, W = random.standard_normal((classes, attributes)), random.standard_normal((2, 7, attributes))
    S -= S.mean(axis=0)
    space = RowSpace(S)
    V = space.inside(W)
    assert V.shape == (2, 7, width)
    np.testing.assert_allclose(V @ space.T.T, W @ S.T, atol=1e-12)
    np.testing.assert_allclose(space.maps(V, space.outside(W)), W, atol=1e-12)
    # A step on V is that step on W.
    R = random.standard_normal((7, classes))
    moved = space.maps(V + R @ space.T, space.outside(W))
    np.testing.assert_allclose(moved, W + R @ S, atol=1e-12)


def test_signatures_that_say_nothing_have_coordinates():
    space = RowSpace(np.zeros((3, 40)))
    W = np.ones((1, 2, 40))
    np.testing.assert_array_equal(space.maps(space.inside(W), space.outside(W)), W)
