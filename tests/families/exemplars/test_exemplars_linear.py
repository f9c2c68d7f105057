"""Linear exemplar machines against minimisers of the cost, pools re-solved row by row, and plain loops."""

import numpy as np
import pytest
from scipy.optimize import minimize

from zslplat.errors import DataError, UsageError
from zslplat.families.exemplars.methods.baselines import ExemplarSVM
from zslplat.families.exemplars.methods.moments import accumulate, eigensystem, thin_eigensystem
from zslplat.families.exemplars.methods.slem import SLEM


def cost(parameters, positives, negatives, lam, theta):
    w, nu = parameters[:-1], parameters[-1]
    positive = ((1 - positives @ w - nu) ** 2).mean() / 2
    return theta * positive + ((1 + negatives @ w + nu) ** 2).mean() / 2 + lam / 2 * w @ w


def gradient(parameters, positives, negatives, lam, theta):
    w, nu = parameters[:-1], parameters[-1]
    p = theta * (positives @ w + nu - 1) / len(positives)
    q = (negatives @ w + nu + 1) / len(negatives)
    return np.append(positives.T @ p + negatives.T @ q + lam * w, p.sum() + q.sum())


def minimiser(positives, negatives, lam, theta):
    start = np.zeros(negatives.shape[1] + 1)
    found = minimize(
        cost, start, (positives, negatives, lam, theta), "BFGS", gradient, options={"gtol": 1e-11, "maxiter": 5000}
    )
    return found.x[:-1], found.x[-1]


@pytest.fixture(params=[(60, 7), (9, 14)], ids=["n>d", "n<d"])
def data(request):
    n, d = request.param
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(d, d))
    return rng.normal(size=(n, d)) @ mixing / d + 0.5, rng.normal(size=(5, d)) @ mixing / d + 0.4


@pytest.mark.parametrize("lam", [0.03, 1.0])
@pytest.mark.parametrize("theta", [0.2, 1.0, 3.0])
def test_closed_form_is_the_minimiser_found_by_bfgs(data, lam, theta):
    negatives, rows = data
    method = SLEM(lam=lam, theta=theta, scale="absolute").fit(negatives)
    weights, biases = method.machines(method.encode(rows))
    for row, w, nu in zip(rows, weights, biases, strict=True):
        expected, expected_bias = minimiser(row[None], negatives, lam, theta)
        assert np.allclose(w, expected, atol=1e-7)
        assert nu == pytest.approx(expected_bias, abs=1e-7)
        assert np.abs(gradient(np.append(w, nu), row[None], negatives, lam, theta)).max() < 1e-13


@pytest.mark.parametrize("theta", [0.2, 2.0])
def test_several_positives_share_theta_and_give_the_minimiser(data, theta):
    negatives, rows = data
    method = SLEM(lam=0.1, theta=theta, scale="absolute").fit(negatives)
    group = np.array([3, 1, 1, 3, 3])
    encoding = method.encode(rows, group=group)
    weights, biases = method.machines(encoding)
    assert encoding.exemplars == 2
    for w, nu, name in zip(weights, biases, (1, 3), strict=True):
        at = np.append(w, nu)
        assert np.abs(gradient(at, rows[group == name], negatives, 0.1, theta)).max() < 1e-13


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_members_get_the_machine_of_the_pool_without_them(data, theta):
    negatives, rows = data
    method = SLEM(lam=0.05, theta=theta, scale="absolute").fit(negatives)
    mixed = np.vstack([negatives[:4], rows])
    weights, biases = method.machines(method.encode(mixed, member=np.arange(len(mixed)) < 4))
    for i in range(len(mixed)):
        pool = np.delete(negatives, i, axis=0) if i < 4 else negatives
        at = np.append(weights[i], biases[i])
        assert np.abs(gradient(at, mixed[i][None], pool, 0.05, theta)).max() < 1e-13


@pytest.mark.parametrize("scores", ["cosine", "raw"])
@pytest.mark.parametrize("role", ["single", "member", "group"])
def test_similarity_is_the_product_of_the_weights(data, scores, role):
    negatives, rows = data
    method = SLEM(lam=0.05, theta=0.7, scores=scores, scale="absolute").fit(negatives)
    roles = {
        "single": {},
        "member": {"member": np.array([True, False, True, False, False])},
        "group": {"group": np.array([0, 0, 1, 2, 2])},
    }
    X = np.vstack([negatives[:1], rows[:1], negatives[2:3], rows[1:3]])
    A, B = method.encode(X, **roles[role]), method.encode(rows)
    a, b = method.machines(A)[0], method.machines(B)[0]
    if scores == "cosine":
        a, b = (w / np.linalg.norm(w, axis=1, keepdims=True) for w in (a, b))
    assert np.allclose(method.similarity(A, B), a @ b.T, rtol=1e-11, atol=1e-13)


def test_decision_values_are_weights_times_rows_plus_bias(data):
    negatives, rows = data
    method = SLEM(lam=0.05, theta=0.7, scale="absolute").fit(negatives)
    X = np.vstack([negatives[:2], rows])
    for A in (method.encode(X, member=np.arange(len(X)) < 2), method.encode(rows, group=np.array([0, 1, 1, 0, 0]))):
        weights, biases = method.machines(A)
        expected = weights @ X.T + biases[:, None]
        assert np.allclose(method.decision_function(A, X), expected, rtol=1e-11, atol=1e-13)


def test_every_lambda_from_one_preparation_equals_solving_again(data):
    negatives, rows = data
    first = SLEM(lam=1.0)
    prepared = first.prepare_fit(negatives, space=first.space)
    scored = first.prepare_score(rows, space=first.space, statistics=prepared)
    for lam in np.logspace(-4, 1, 6):
        method = SLEM(lam=lam, scale="absolute").fit(negatives, statistics=prepared)
        swept = method.encode(rows, statistics=scored)
        centred = negatives - negatives.mean(axis=0)
        A = centred.T @ centred / len(negatives) + lam * np.eye(negatives.shape[1])
        w = np.linalg.solve(A, (rows - negatives.mean(axis=0)).T).T
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        assert np.allclose(method.similarity(swept, swept), w @ w.T, rtol=1e-9, atol=1e-11)


def test_few_rows_of_many_dimensions_never_form_the_covariance(data):
    negatives, _ = data
    n, d = negatives.shape
    assert SLEM().fit(negatives).directions_.shape == (d, d if n > d else n - 1)


def test_theta_changes_raw_scores_and_no_cosine(data):
    negatives, rows = data

    def scores(theta, kind):
        method = SLEM(theta=theta, scores=kind).fit(negatives)
        return method.similarity(method.encode(rows), method.encode(rows))

    assert np.allclose(scores(0.01, "cosine"), scores(5.0, "cosine"), rtol=1e-14)
    assert not np.allclose(scores(0.01, "raw"), scores(5.0, "raw"), rtol=1e-2)


def test_blocks_and_memory_maps_give_the_same_machines(data, tmp_path):
    negatives, rows = data
    np.save(tmp_path / "negatives.npy", negatives)
    mapped = np.load(tmp_path / "negatives.npy", mmap_mode="r")
    expected = None
    for pool in (negatives, mapped, [negatives[:4], negatives[4:5], negatives[5:]]):
        method = SLEM().fit(pool)
        scores = method.similarity(method.encode(rows), method.encode(rows))
        expected = scores if expected is None else expected
        assert np.allclose(scores, expected, rtol=1e-10, atol=1e-12)


def test_moments_far_from_the_origin_keep_their_digits():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 6))
    pool = accumulate(X[i : i + 70] + 1e6 for i in range(0, 500, 70))
    # Adding 1e6 costs the rows themselves 1e-10; textbook E[xx'] - mu mu' would leave an error of 1e-4.
    assert np.allclose(pool.covariance, np.cov(X, rowvar=False, bias=True), atol=1e-8)
    assert pool.count == 500


def test_thin_eigensystem_equals_the_full_one():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 30)) * np.logspace(0, -5, 30)
    X -= X.mean(axis=0)
    values, vectors = thin_eigensystem(X)
    full, _ = eigensystem(X.T @ X / 12)
    assert len(values) == 11
    assert np.allclose(values, full[:11], rtol=1e-8, atol=1e-18)
    assert np.allclose(vectors.T @ vectors, np.eye(11), atol=1e-13)


def test_a_row_at_the_mean_of_the_negatives_has_cosine_zero():
    negatives = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    method = SLEM().fit(negatives)
    scores = method.similarity(method.encode(np.zeros((1, 2))), method.encode(negatives))
    assert np.array_equal(scores, np.zeros((1, 4)))


def test_wrong_input_is_one_clear_line(data):
    negatives, rows = data
    method = SLEM().fit(negatives)
    with pytest.raises(DataError, match="the width of the negatives"):
        method.encode(rows[:, :-1])
    with pytest.raises(DataError, match="row 3 holds NaN"):
        SLEM().fit(np.where(np.arange(len(negatives))[:, None] == 3, np.nan, negatives))
    with pytest.raises(DataError, match="at least one row"):
        SLEM().fit(negatives[:0])
    with pytest.raises(DataError, match=r"\(n, d\)"):
        SLEM().fit(np.ones((4, 3, 3)))
    with pytest.raises(UsageError, match="lam=0"):
        SLEM(lam=0).fit(negatives)
    with pytest.raises(UsageError, match="one entry for each"):
        method.encode(rows, member=np.array([True]))
    with pytest.raises(UsageError, match="generator"):
        SLEM().fit(block for block in [negatives])
    both = method.encode(rows, group=np.zeros(5), member=np.ones(5))
    with pytest.raises(UsageError, match="cannot be members"):
        method.similarity(both, both)
    single = SLEM().fit(negatives[:1])
    alone = single.encode(negatives[:1], member=np.array([True]))
    with pytest.raises(UsageError, match="at least 2 negatives"):
        single.similarity(alone, alone)


def test_exemplar_svms_do_not_depend_on_the_units_of_the_features():
    # A penalty of margin violations would mean another thing for features 128 times as long.
    rng = np.random.default_rng(0)
    negatives, rows = rng.normal(size=(40, 6)), rng.normal(size=(5, 6)) + 1
    found = []
    for scale in (1.0, 128.0, 1 / 128):
        method = ExemplarSVM(C=0.05).fit(scale * negatives)
        encoding = method.encode(scale * rows)
        found.append(method.similarity(encoding, encoding))
    assert np.allclose(found[0], found[1], atol=1e-9)
    assert np.allclose(found[0], found[2], atol=1e-9)
