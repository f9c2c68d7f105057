"""The estimators of zero-shot kernel learning: what they learn, repeat, refuse and report."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from zslplat.errors import DataError, MethodError, UnknownNameError, UsageError
from zslplat.families.zero_shot.methods.zskl.draws import draw_negatives
from zslplat.families.zero_shot.methods.zskl.objective import column_cosines, cosine_figure, incoherence
from zslplat.families.zero_shot.methods.zskl.subspaces import ZSKLSubspaces
from zslplat.families.zero_shot.methods.zskl.training import RMSprop
from zslplat.families.zero_shot.methods.zskl.zskl import ZSKL, ZSKLOrt
from zslplat.kernels import parse_kernel
from zslplat.space import Choice, is_active

METHODS = [ZSKL, ZSKLOrt, ZSKLSubspaces]


def zero_shot(seen=12, unseen=4, n=240, d=20, a=6, seed=0):
    """Features that are a linear image of the signature plus noise; rows and signatures centred and of unit length."""
    random = np.random.default_rng(seed)
    S = random.standard_normal((seen + unseen, a))
    B = random.standard_normal((a, d))
    y = random.permutation(np.arange(n) % (seen + unseen))
    X = S[y] @ B + 0.5 * random.standard_normal((n, d))
    X, S = X - X[y < seen].mean(axis=0), S - S[:seen].mean(axis=0)
    X, S = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (X, S))
    train = y < seen
    return X[train].astype(np.float32), y[train], S[:seen], X[~train].astype(np.float32), y[~train] - seen, S[seen:]


def accuracy(model, X, y, S):
    return float(np.mean(model.predict(X, S) == y))


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.parametrize("kernel", ["gaussian(sigma=1)", "cauchy(sigma=1)", "polynomial(r=2, c=1)", "gaussian+linear"])
def test_unseen_classes_are_recognised(cls, kernel):
    X, y, S, X_new, y_new, S_new = zero_shot()
    model = cls(kernel=kernel, epochs=15, rate=3e-3, lam=5.0, batch_size=32)
    model.fit(X, y, S)
    assert model.decision_function(X_new, S_new).shape == (len(X_new), 4)
    assert accuracy(model, X_new, y_new, S_new) > 0.6  # chance is .25
    objective = model.diagnostics_.series["objective"]
    assert len(objective) == 15
    assert objective[-1] < objective[0]


@pytest.mark.parametrize("cls", METHODS)
def test_order_of_rows_and_classes_does_not_matter(cls):
    X, y, S, X_new, _, S_new = zero_shot()
    random = np.random.default_rng(5)
    rows, classes = random.permutation(len(X)), random.permutation(len(S))
    rank = np.argsort(classes)
    one = cls(epochs=2).fit(X, y, S)
    other = cls(epochs=2).fit(X[rows], rank[y][rows], S[classes])
    np.testing.assert_array_equal(one.W_, other.W_)
    scores = one.decision_function(X_new, S_new)
    back = other.decision_function(X_new[::-1], S_new[::-1])[::-1, ::-1]
    np.testing.assert_allclose(back, scores, rtol=1e-5)


@pytest.mark.parametrize("cls", METHODS)
def test_seed_decides_and_clone_repeats(cls):
    X, y, S, *_ = zero_shot()
    model = cls(epochs=2, seed=3).fit(X, y, S)
    np.testing.assert_array_equal(clone(model).fit(X, y, S).W_, model.W_)
    assert not np.array_equal(cls(epochs=2, seed=4).fit(X, y, S).W_, model.W_)


def test_steps_of_epochs_are_the_fit():
    X, y, S, X_new, _, S_new = zero_shot()
    model = ZSKLOrt(epochs=3)
    scores = [model.decision_function(X_new, S_new) for _ in model.fit_steps(X, y, S)]
    assert len(scores) == 3
    assert not np.allclose(scores[0], scores[2])
    np.testing.assert_array_equal(ZSKLOrt(epochs=3).fit(X, y, S).decision_function(X_new, S_new), scores[2])


def test_incoherence_falls_with_both_projections():
    # Correlated attributes: a projection fitted on one side only copies their correlation into its columns.
    random = np.random.default_rng(0)
    S = random.standard_normal((30, 3)) @ random.standard_normal((3, 10)) + 0.3 * random.standard_normal((30, 10))
    y = random.permutation(np.arange(900) % 30)
    X = S[y] @ random.standard_normal((10, 40)) + random.standard_normal((900, 40))
    X, S = (m - m.mean(axis=0) for m in (X, S))
    X, S = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (X, S))
    plain, ort = (cls("gaussian(sigma=0.5)", epochs=20, rate=3e-3, lam=5.0).fit(X, y, S) for cls in (ZSKL, ZSKLOrt))
    assert ort.diagnostics_.numbers["incoherence"] < 0.8 * plain.diagnostics_.numbers["incoherence"]
    np.testing.assert_allclose(ort.diagnostics_.numbers["incoherence"], incoherence(ort.W_))


def test_penalty_draws_a_dot_product_kernel_to_incoherence():
    X, y, S, *_ = zero_shot()
    values = [
        ZSKLOrt("polynomial(r=2)", alpha=alpha, epochs=10, rate=3e-3, lam=5.0).fit(X, y, S).diagnostics_.numbers
        for alpha in (0.0, 1.0)
    ]
    assert values[1]["incoherence"] < 0.7 * values[0]["incoherence"]


def test_loss_is_plain_for_dot_product_kernels_unless_asked():
    def squared(kernel, loss):
        model = ZSKLOrt(kernel, loss=loss)
        return model._objective(parse_kernel(kernel), np.full(3, 5), 15).squared

    assert squared("gaussian(sigma=1)", "auto")
    assert not squared("polynomial", "auto")
    assert squared("polynomial", "squared")
    assert not squared("gaussian(sigma=1)", "plain")


def test_incoherence_of_orthogonal_columns_is_zero():
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 3)))[0] * [1, 2, 3]
    assert incoherence(Q) == pytest.approx(0, abs=1e-20)
    assert incoherence(np.ones((5, 3))) == pytest.approx(6)
    assert cosine_figure(np.random.default_rng(0).standard_normal((20, 15))).values.shape == (10, 10)
    np.testing.assert_allclose(np.diag(column_cosines(Q)), 1)


def test_several_signatures_per_class_are_drawn_and_the_best_counts():
    X, y, S, X_new, y_new, S_new = zero_shot()
    random = np.random.default_rng(0)
    several = np.vstack([S + 0.02 * random.standard_normal(S.shape) for _ in range(3)])
    owner = np.tile(np.arange(len(S)), 3)
    model = ZSKLOrt(epochs=15, rate=3e-3, lam=5.0).fit(X, y, several, signature_class=owner)
    assert accuracy(model, X_new, y_new, S_new) > 0.6
    pool, pool_owner = np.vstack([S_new, S_new * 0.9]), np.tile(np.arange(4), 2)
    scores = model.decision_function(X_new, pool, signature_class=pool_owner)
    each = model.decision_function(X_new, pool)
    np.testing.assert_array_equal(scores, np.maximum(each[:, :4], each[:, 4:]))
    # One signature per class, named in another order, is the same as none named.
    shuffled = random.permutation(len(S))
    one = ZSKL(epochs=1).fit(X, y, S)
    other = ZSKL(epochs=1).fit(X, y, S[shuffled], signature_class=shuffled)
    np.testing.assert_array_equal(one.W_, other.W_)


def test_drawn_negatives_are_wrong_classes_with_the_right_expectation():
    random = np.random.default_rng(0)
    y = np.arange(2000) % 7
    weights = draw_negatives(random, y, 7, 2)
    rows = np.arange(2000)
    assert np.all(weights[rows, y] == 0)
    assert np.all((weights > 0).sum(axis=1) == 2)
    assert np.all(weights[weights > 0] == 3)
    mean = weights[y == 0].mean(axis=0)[1:]
    np.testing.assert_allclose(mean, 1, atol=0.35)  # 286 rows: five standard errors of 0.084 are 0.42
    X, y, S, X_new, y_new, S_new = zero_shot()
    model = ZSKLOrt(epochs=15, rate=3e-3, lam=5.0, negatives=3).fit(X, y, S)
    assert accuracy(model, X_new, y_new, S_new) > 0.6


@pytest.mark.long
@pytest.mark.parametrize("name", ["mean-class-size", "class-size", "wrong-classes"])
def test_weights_of_the_right_class_are_multiples_of_lambda_on_balanced_classes(name):
    X, y, S, *_ = zero_shot(n=240)  # 15 rows in each of 12 classes
    factor = {"mean-class-size": 15, "class-size": 15, "wrong-classes": 11}[name]
    one = ZSKLOrt(right_weight=name, lam=0.1 * factor, epochs=2, precision="double").fit(X, y, S)
    other = ZSKLOrt(right_weight="mean-class-size", lam=1.5, epochs=2, precision="double").fit(X, y, S)
    np.testing.assert_allclose(one.W_, other.W_, rtol=1e-6)


def test_published_variant_follows_the_loop_over_classes():
    path = Path(__file__).parents[3] / "benchmarks" / "zskl.py"
    spec = importlib.util.spec_from_file_location("benchmark_zskl", path)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    X, y, S, *_ = zero_shot()
    X = X.astype(np.float64)
    model = ZSKLOrt(variant="authors", precision="double", steps=60)
    from zslplat.families.zero_shot.methods.zskl.draws import ordered_data
    from zslplat.families.zero_shot.methods.zskl.training import Training

    seen = []
    step = Training._step
    Training._step = lambda self, batch, rate: (seen.append((int(batch[0]), rate)), step(self, batch, rate))[1]
    try:
        model.fit(X, y, S)
    finally:
        Training._step = step
    assert len(seen) == 60
    assert {rate for _, rate in seen} == {8e-4}
    start = np.random.default_rng(np.random.SeedSequence([0, 0]))
    W = start.random(model.W_.shape) * (2 / X.shape[1])
    v, data = np.zeros_like(W), ordered_data(X, y, S, None)
    for row, _ in seen:
        benchmark.published_step(W, v, X[row], int(data.y[row]), data.S)
    np.testing.assert_allclose(model.W_, W, rtol=1e-9)
    rule = model.decision_function(X, S)
    assert rule.max() <= 0
    assert model.effective_preprocessing.signatures == ("center_all", "l2")


def test_rmsprop_is_its_formula():
    random = np.random.default_rng(0)
    W, g, h = random.standard_normal((3, 5, 4))
    expected, average = W.copy(), np.zeros_like(W)
    solver = RMSprop(W, gamma=0.9, epsilon=1e-3)
    for rate in (0.1, 0.05):
        average = 0.9 * average + 0.1 * (g + h) ** 2
        expected -= rate * (g + h) / (np.sqrt(average) + 1e-3)
        solver.step(g[:2], rate, plus=h[:2], rows=slice(0, 2))
        solver.step(g[2:] + h[2:], rate, rows=slice(2, 5))
    np.testing.assert_allclose(W, expected, rtol=1e-12)
    q = random.random(W.shape)
    average = 0.9 * average + 0.1 * q
    expected -= 0.1 * g / (np.sqrt(average) + 1e-3)
    solver.step(g, 0.1, moment=q)
    np.testing.assert_allclose(W, expected, rtol=1e-12)
    shrunk = RMSprop(W, gamma=0.9, epsilon=1e-3, ridge=0.5)
    slope = h + 0.5 * W
    expected = W - 0.1 * slope / (np.sqrt(0.1 * slope**2) + 1e-3)
    shrunk.step(h, 0.1)
    np.testing.assert_allclose(W, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="C-contiguous"):
        RMSprop(W.T)


def test_row_moment_of_single_rows_is_the_batch_moment():
    X, y, S, *_ = zero_shot()
    one, other = (ZSKLOrt(moment=m, batch_size=1, epochs=1, precision="double").fit(X, y, S) for m in ("batch", "row"))
    np.testing.assert_allclose(one.W_, other.W_, rtol=1e-9)
    wider = [ZSKLOrt(moment=m, batch_size=10, epochs=1).fit(X, y, S).W_ for m in ("batch", "row")]
    assert not np.allclose(*wider)


def test_learned_weights_stay_on_their_simplex_and_lower_the_objective():
    X, y, S, *_ = zero_shot()
    text = "0.5*gaussian(sigma=0.3) + 0.5*gaussian(sigma=1.5)"
    fixed, learned = (ZSKLOrt(text, learn_weights=w, epochs=10, rate=3e-3, lam=5.0).fit(X, y, S) for w in (0, 1))
    weights = learned.matrices()["kernel_weights"]
    assert weights.sum() == pytest.approx(1)
    assert np.all(weights > 0)
    assert not np.allclose(weights, 0.5)
    assert learned.diagnostics_.series["objective"][-1] < fixed.diagnostics_.series["objective"][-1]
    with pytest.raises(UsageError, match="needs a weighted sum"):
        ZSKLOrt("gaussian", learn_weights=True).fit(X, y, S)


def test_objective_of_the_fitted_model_is_what_training_reports():
    X, y, S, *_ = zero_shot()
    before, after = (
        ZSKLOrt(epochs=epochs, batch_size=1000, precision="double").fit(X.astype(float), y, S) for epochs in (9, 10)
    )
    # The report is taken before each step, so that the tenth is the objective after nine (one batch an epoch).
    assert before.objective(X, y, S) == pytest.approx(after.diagnostics_.series["objective"][-1], rel=1e-9)


def test_training_that_leaves_the_finite_numbers_says_so():
    X, y, S, *_ = zero_shot()
    with pytest.raises(MethodError, match=r"not finite after epoch \d+ .*lower the rate"):
        ZSKL("polynomial(r=6)", loss="plain", rate=1e8, epochs=5).fit(X, y, S)


def test_bad_inputs_are_refused():
    X, y, S, *_ = zero_shot()
    with pytest.raises(DataError, match="expected X"):
        ZSKL().fit(X, y[:-1], S)
    with pytest.raises(DataError, match="0 rows"):
        ZSKL().fit(X[:0], y[:0], S)
    with pytest.raises(DataError, match="each with a row"):
        ZSKL().fit(X, y, S[:-1])
    bad = X.copy()
    bad[7, 0] = np.nan
    with pytest.raises(DataError, match="X holds NaN or infinity, first in row 7"):
        ZSKL().fit(bad, y, S)
    with pytest.raises(UsageError, match="kernel=any is a search space"):
        ZSKL("any").fit(X, y, S)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "l1-laplacian"}, "offers its Gram matrix only; l1-laplacian.* does not fit, choose one of cauchy"),
        ({"kernel": "log-euclidean"}, "needs a kernel on vectors"),
        ({"kernel": "gaussian(sigma=0)"}, "sigma=0 is out of range"),
        ({"kernel.sigma": -1.0}, "sigma=-1.0 is out of range"),
        ({"lam": -1.0}, "lam=-1.0 is out of range"),
        ({"kernel": "any", "kernel.sigma": 1.0}, "leaves the kernel open"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_before_any_data(parameters, message):
    with pytest.raises(UsageError, match=message):
        ZSKLOrt.build(parameters)


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match="parameter of zskl-ort"):
        ZSKLOrt.build({"lambda": 1.0})
    with pytest.raises(UnknownNameError, match="parameter of kernel"):
        ZSKLOrt.build({"kernel.r": 2})


def test_kernel_parameters_are_built_in_by_name():
    model = ZSKLOrt.build({"kernel": "cauchy", "kernel.sigma": 2.0, "lam": 3.0})
    assert model.kernel == "cauchy(sigma=2.0)"
    assert ZSKLOrt.build({"kernel": "cauchy", "kernel.cauchy.sigma": 2.0}).kernel == model.kernel
    assert ZSKLOrt.build({"kernel": parse_kernel("linear")}).kernel == parse_kernel("linear")
    text = "0.5*gaussian(sigma=1) + 0.5*polynomial(r=2)"
    model = ZSKLOrt.build({"kernel": text, "kernel.gaussian.sigma": 2.0, "kernel.weight.2": 0.1})
    assert parse_kernel(model.kernel).values["gaussian.sigma"] == 2.0
    assert parse_kernel(model.kernel).values["weight.2"] == 0.1
    assert set(model.domains) > {"kernel.gaussian.sigma", "lam"}
    assert model.defaults["kernel.gaussian.sigma"] == 2.0
    assert model.defaults["lam"] == 1.0


def test_search_space_travels_with_the_kernel():
    assert {"lam", "rate", "kernel.sigma"} <= set(ZSKLOrt("cauchy").space)
    assert "alpha" not in ZSKLOrt("cauchy").space
    assert {"alpha", "kernel.r", "kernel.c"} <= set(ZSKLOrt("polynomial").space)
    assert "alpha" not in ZSKL("polynomial").space


def test_any_kernel_is_a_conditional_space_of_kernels_that_fit():
    space = ZSKLOrt("any").space
    kernels = space["kernel"]
    assert isinstance(kernels, Choice)
    assert {"gaussian", "cauchy", "polynomial", "linear", "l2-laplacian"} <= set(kernels.values)
    assert not {"l1-laplacian", "chi-squared", "log-euclidean"} & set(kernels.values)
    for name in kernels.values:
        values = {"kernel": name}
        active = [n for n, r in space.items() if n != "kernel" and is_active(r, values)]
        nested = [n for n in active if n.startswith("kernel.")]
        assert all(n.startswith(f"kernel.{name}.") for n in nested)
        assert ("alpha" in active) == (name in ("linear", "polynomial", "sigmoid"))
        chosen = {n: getattr(space[n], "low", None) for n in nested}
        model = ZSKLOrt.build({"kernel": "any", **values, **chosen})
        assert str(model.kernel).startswith(name)


def test_objective_of_subspaces_has_the_ridge():
    X, y, S, *_ = zero_shot()
    # From D = 0 the first step is the same with any ridge.
    fitted = [ZSKLSubspaces(epochs=1, batch_size=len(X), ridge=ridge).fit(X, y, S) for ridge in (0.0, 2.0)]
    np.testing.assert_array_equal(fitted[0].D_, fitted[1].D_)
    without, with_it = (model.diagnostics.series["objective"][0] for model in fitted)
    assert with_it - without == pytest.approx(2 * np.square(fitted[0].D_, dtype=np.float64).sum(), rel=1e-4)
    far = [ZSKLSubspaces(epochs=10, batch_size=32, ridge=ridge).fit(X, y, S).D_ for ridge in (0.0, 20.0)]
    assert np.linalg.norm(far[1]) < 0.5 * np.linalg.norm(far[0])


def test_matrices_hold_what_was_learned():
    X, y, S, *_ = zero_shot()
    model = ZSKLSubspaces(epochs=1).fit(X, y, S)
    found = model.matrices()
    assert found["W"].shape == (20, 6)
    assert found["cosines"].shape == (6, 6)
    assert found["D"].shape == (12, 20, 6)
    np.testing.assert_allclose(model.similarity(S).sum(axis=1), 1, rtol=1e-5)
    with pytest.raises(UsageError, match="one signature per class"):
        model.fit(X, y, S, signature_class=np.arange(len(S)))
