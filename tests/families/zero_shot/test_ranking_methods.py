"""The ranking methods: batches of one row against plain loops, what they repeat, and what several maps are of one."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from zslplat.errors import MethodError
from zslplat.families.zero_shot.methods.ranking.estimator import Ordered, Schedule, Training
from zslplat.families.zero_shot.methods.ranking.methods import ALE, SJE, DeViSE, LatEm
from zslplat_papers.parity.training import one_row_at_a_time, streams

METHODS = [ALE, DeViSE, SJE, LatEm]
# Each with the loop that it is of one row at a time.
LOOPS = [
    (ALE(), "ale"),
    (ALE(variant="paper"), "ale-drawn"),
    (DeViSE(), "devise"),
    (DeViSE(variant="paper"), "devise-first"),
    (SJE(), "sje"),
    (LatEm(), "latem"),
    (LatEm(maps=4), "latem"),
]
VARIANTS = [model for model, _ in LOOPS]


def zero_shot(seen=8, unseen=4, n=180, d=12, a=5, seed=0):
    """Features that are a noisy linear image of the signature; rows of any length, signatures of unit length."""
    random = np.random.default_rng(seed)
    S = random.standard_normal((seen + unseen, a))
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    y = random.permutation(np.arange(n) % (seen + unseen))
    X = 3 * (S[y] @ random.standard_normal((a, d)) + 0.4 * random.standard_normal((n, d)))
    train = y < seen
    return X[train], y[train], S[:seen], X[~train], y[~train] - seen, S[seen:]


@pytest.mark.parametrize(("variant", "loop"), LOOPS, ids=str)
@pytest.mark.parametrize("attributes", [5, 20])  # fewer, and many more than classes
def test_batches_of_one_row_are_the_papers_loop(variant, loop, attributes):
    X, y, S, *_ = zero_shot(a=attributes)
    model = clone(variant).set_params(batch_size=1, epochs=3, rate=0.1, decay=0.5, precision="double", seed=3)
    expected = one_row_at_a_time(model, X, y, S, loop)
    model.fit(X, y, S)
    # The same sums in another order of terms, a few hundred times.
    np.testing.assert_allclose(maps(model.W_), expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    assert 0 < model.diagnostics_.series["violated"][-1] < 1


def maps(W):
    """W as (K, d, a)."""
    return W.reshape(-1, *W.shape[-2:])


def as_trained(model, X, y, S):
    """What a training loop is given, and the rows in the order of the first epoch with its generator of draws."""
    given = model.prepare_fit(X, y, S, space={})
    data = Ordered(X, given["order"], given["y"], given["S"])
    _, rate, order, draws = streams(model, X, S)
    return data, rate, given["order"][order.permutation(len(X))], draws


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("epochs", [0, 30])
def test_a_batch_is_a_step_against_the_slope_of_its_summed_losses(variant, epochs):
    X, y, S, *_ = zero_shot()
    model = clone(variant).set_params(batch_size=len(X), margin=0.5, rate=0.02, precision="double", seed=2)
    # After some epochs a part of the rows violates no more, and is left out of the products.
    W = clone(model).set_params(epochs=max(1, epochs), **({} if epochs else {"rate": 1e-300})).fit(X, y, S).W_
    data, rate, rows, _ = as_trained(model, X, y, S)

    def total(W):
        draws = as_trained(model, X, y, S)[-1]
        return model.row_loss()(X[rows] @ maps(W), data.y[rows], data.S, draws)[0].sum()

    moved = W.copy()
    told = Training(data, model.row_loss(), maps(moved), Schedule(rate, 0.0, len(X), model.seed)).epoch()
    assert 0 < told.violated < 0.75 if epochs else told.violated > 0.75
    np.testing.assert_allclose(told.loss * len(X), total(W), rtol=1e-12)
    random, step = np.random.default_rng(0), 1e-7
    for _ in range(5):
        direction = random.standard_normal(W.shape)
        slope = (total(W + step * direction) - total(W - step * direction)) / (2 * step)
        np.testing.assert_allclose(np.vdot((W - moved) / rate, direction), slope, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_nothing_moves_where_no_class_violates(variant):
    S = np.eye(6)
    y = np.arange(40) % len(S)
    model = clone(variant).set_params(batch_size=16, rate=1.0, margin=0.5, precision="double")
    learned, longer = (clone(model).set_params(epochs=epochs).fit(S[y], y, S) for epochs in (60, 61))
    assert learned.diagnostics_.series["violated"][0] > 0
    assert learned.diagnostics_.series["violated"][-1] == 0
    np.testing.assert_array_equal(longer.W_, learned.W_)


def test_one_map_is_the_bilinear_form():
    X, y, S, X_new, _, S_new = zero_shot()
    model = LatEm(maps=1, epochs=3, precision="double").fit(X, y, S)
    np.testing.assert_allclose(model.decision_function(X_new, S_new), X_new @ model.W_[0] @ S_new.T, rtol=1e-12)


def test_of_two_classes_all_losses_of_one_map_are_the_same():
    X, y, S, *_ = zero_shot()
    two = y < 2
    fits = [
        clone(variant)
        .set_params(epochs=4, rate=0.1, margin=1.0, batch_size=64, precision="double")
        .fit(X[two], y[two], S[:2])
        .W_
        for variant in [*VARIANTS, LatEm(maps=1)]
        if getattr(variant, "maps", 1) == 1
    ]
    for W in fits[1:]:
        np.testing.assert_allclose(maps(W), maps(fits[0]), rtol=1e-12)


@pytest.mark.parametrize("cls", METHODS)
def test_scale_of_features_and_signatures_does_not_matter(cls):
    X, y, S, X_new, _, S_new = zero_shot()
    one = cls(epochs=4, precision="double").fit(X, y, S)
    other = cls(epochs=4, precision="double").fit(8 * X, y, S / 4)
    np.testing.assert_allclose(
        other.decision_function(8 * X_new, S_new / 4), one.decision_function(X_new, S_new), rtol=1e-9
    )


@pytest.mark.parametrize("cls", METHODS)
def test_unseen_classes_are_recognised_and_the_loss_falls(cls):
    X, y, S, X_new, y_new, S_new = zero_shot(n=600)
    model = cls(rate=0.1).fit(X, y, S)
    assert np.mean(model.predict(X_new, S_new) == y_new) > 0.6  # chance is .25
    objective = model.diagnostics_.series["objective"]
    assert objective[-1] < 0.5 * objective[0]
    start = cls(rate=1e-9, epochs=1).fit(X, y, S)
    assert model.objective(X, y, S) < 0.5 * start.objective(X, y, S)


@pytest.mark.parametrize("cls", METHODS)
def test_mean_of_the_losses_is_the_objective(cls):
    X, y, S, *_ = zero_shot(n=1200)
    model = cls(rate=1e-15, epochs=1, precision="double").fit(X, y, S)
    # LatEm pays for one class a row: a mean of 800, each of a spread below the margin.
    exact = cls is not LatEm
    found, expected = model.diagnostics_.series["objective"][0], model.objective(X, y, S)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if exact else 0.1)


LEARNED = """
import hashlib
import numpy as np
from zslplat.registry import registry
random = np.random.default_rng(0)
X, S = random.standard_normal((90, 12)).astype(np.float32), random.standard_normal((9, 5))
y = np.arange(90) % 9
found = []
for name in ("ale", "devise", "sje", "latem"):
    model = registry().component("methods", name)(epochs=3, batch_size=7, seed={seed}).fit(X, y, S)
    found.append(hashlib.sha256(model.W_.tobytes()).hexdigest())
"""


@pytest.mark.long
def test_two_processes_learn_the_same_to_the_last_bit():
    here, other_seed = {}, {}
    exec(LEARNED.format(seed=5), here)
    exec(LEARNED.format(seed=6), other_seed)
    program = LEARNED.format(seed=5) + "print(*found)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=800)
    assert done.stdout.split() == here["found"]
    assert not set(here["found"]) & set(other_seed["found"])


def test_numbers_out_of_range_are_reported_with_their_epoch():
    X, y, S, *_ = zero_shot()
    with pytest.raises(MethodError, match="ale: W or the loss is not finite after epoch 1"):
        ALE(rate=1e39).fit(X, y, S)


@pytest.mark.parametrize("maps", [1, 3])
def test_matrices_are_the_maps(maps):
    X, y, S, *_ = zero_shot()
    model = LatEm(maps=maps, epochs=1).fit(X, y, S)
    found = list(model.matrices().values())
    assert len(found) == maps
    np.testing.assert_array_equal(np.stack(found), model.W_)
