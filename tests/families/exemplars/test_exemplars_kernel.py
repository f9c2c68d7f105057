"""Kernel exemplar machines against the kernel problem itself, and low rank against explicit coordinates."""

import numpy as np
import pytest
from scipy.linalg import cholesky
from scipy.optimize import minimize
from sklearn.base import clone

from zslplat.errors import DataError, UnknownNameError, UsageError
from zslplat.families.exemplars.methods.kslem import KernelSLEM
from zslplat.families.exemplars.methods.slem import SLEM
from zslplat.kernels import parse_kernel
from zslplat.space import Choice, Real
from zslplat_papers.parity.other_kinds import machines_of


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal(size=(6, 3)) + 0.3


def full(kernel, lam, theta=1.0, **options):
    return KernelSLEM(kernel, lam=lam, theta=theta, rank=None, scale="absolute", **options)


@pytest.mark.parametrize(
    "kernel", ["gaussian(sigma=1)", "gaussian(sigma=3)", "polynomial(r=3, c=1)", "0.5*gaussian(sigma=2) + 0.3*linear"]
)
@pytest.mark.parametrize(("lam", "theta"), [(1e-3, 1.0), (0.1, 0.2)])
def test_full_rank_satisfies_the_optimality_conditions_of_the_kernel_problem(kernel, lam, theta):
    # Ten dimensions keep the Gram matrix of 40 rows well conditioned (below 1e3), so that rounding stays at 1e-14.
    rng = np.random.default_rng(5)
    negatives, rows = rng.normal(size=(40, 10)), rng.normal(size=(6, 10)) + 0.3
    k = parse_kernel(kernel)
    method = full(kernel, lam, theta).fit(negatives)
    for row in rows:
        points = np.vstack([row[None], negatives])
        f = method.decision_function(method.encode(row[None]), points)[0]
        # Stationarity in nu: the slopes of the loss cancel; in h: lam h + sum of slopes times phi(x) = 0, seen here
        # through its inner products with all points, up to the bias that f contains.
        slopes = np.append(theta * (f[0] - 1), (f[1:] + 1) / len(negatives))
        assert abs(slopes.sum()) < 1e-12
        gram = k(points)
        assert np.ptp(lam * f + gram @ slopes) < 1e-12 * max(1.0, gram.max())


def test_full_rank_is_the_minimiser_found_by_bfgs(data):
    negatives, rows = data
    lam, theta, k = 0.05, 0.7, parse_kernel("gaussian(sigma=1.5)")
    method = full(str(k), lam, theta).fit(negatives)
    for row in rows[:3]:
        points = np.vstack([row[None], negatives])
        B = cholesky(k(points) + 1e-13 * np.eye(len(points)), lower=True)
        weights = np.append(theta, np.full(len(negatives), 1 / len(negatives)))
        y = np.append(1.0, -np.ones(len(negatives)))

        def cost(p, B=B, weights=weights, y=y):
            error = B @ p[:-1] + p[-1] - y
            slopes = weights * error
            value = slopes @ error / 2 + lam / 2 * p[:-1] @ p[:-1]
            return value, np.append(B.T @ slopes + lam * p[:-1], slopes.sum())

        start = np.zeros(len(points) + 1)
        found = minimize(cost, start, method="BFGS", jac=True, options={"gtol": 1e-10, "maxiter": 5000}).x
        f = method.decision_function(method.encode(row[None]), points)[0]
        assert np.allclose(f, B @ found[:-1] + found[-1], atol=1e-7)


@pytest.mark.parametrize("shape", [(60, 5), (7, 12)], ids=["n>d", "n<d"])
@pytest.mark.parametrize("scores", ["cosine", "raw"])
def test_linear_kernel_is_the_linear_method(shape, scores):
    rng = np.random.default_rng(1)
    negatives, rows = rng.normal(size=shape), rng.normal(size=(8, shape[1]))
    member = np.arange(10) >= 8
    rows = np.vstack([rows, negatives[:2]])
    results = []
    for method in (
        SLEM(lam=0.02, theta=0.4, scores=scores, scale="absolute"),
        full("linear", 0.02, 0.4, scores=scores),
    ):
        method.fit(negatives)
        A, B = method.encode(rows, member=member), method.encode(rows, group=np.arange(10) % 3)
        results.append((method.similarity(A, B), method.similarity(A, A), method.decision_function(A, rows)))
    for linear, kernel in zip(*results, strict=True):
        assert np.allclose(linear, kernel, rtol=1e-9, atol=1e-11 * np.abs(linear).max())


class Explicit:
    """The low-rank model with coordinates written out: negatives lie in the span of the landmarks, rows need not."""

    def __init__(self, method, negatives, points):
        Z, self.r = method.landmarks_, len(method.landmarks_)
        both = method.kernel_(np.vstack([Z, points]))
        L = cholesky(both + 1e-14 * np.eye(len(both)), lower=True)
        span = np.linalg.solve(L[: self.r, : self.r], method.kernel_(Z, negatives)).T
        self.negatives = np.hstack([span, np.zeros((len(negatives), len(points)))])
        self.points = L[self.r :]
        self.lam, self.theta = method.lam, method.theta

    def machine(self, positives, without=None):
        return machines_of(positives, self.negatives, self.lam, self.theta, without)


@pytest.mark.parametrize("landmarks", ["cholesky", "nystrom", "kmeans"])
@pytest.mark.parametrize("scores", ["cosine", "raw"])
def test_low_rank_equals_explicit_coordinates_in_every_role(data, landmarks, scores):
    negatives, rows = data
    X = np.vstack([rows, negatives[[5, 9]]])
    member, group = np.arange(8) >= 6, np.array([0, 1, 1, 2, 0, 2, 2, 0])
    options = {"rank": 7, "landmarks": landmarks, "scores": scores, "scale": "absolute"}
    method = KernelSLEM("gaussian(sigma=1)", lam=0.01, theta=0.6, **options).fit(negatives)
    explicit = Explicit(method, negatives, X)
    singles = [explicit.machine(explicit.points[[i]], {6: 5, 7: 9}.get(i)) for i in range(8)]
    grouped = [explicit.machine(explicit.points[group == g]) for g in range(3)]
    A, B = method.encode(X, member=member), method.encode(X, group=group)
    h, g = np.array(singles), np.array(grouped)
    for (one, reference), (other, against) in (((A, h), (A, h)), ((A, h), (B, g)), ((B, g), (B, g))):
        expected = reference[:, :-1] @ against[:, :-1].T
        if scores == "cosine":
            expected /= np.linalg.norm(reference[:, :-1], axis=1)[:, None] * np.linalg.norm(against[:, :-1], axis=1)
        assert np.allclose(method.similarity(one, other), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
    for encoding, reference in ((A, h), (B, g)):
        expected = reference[:, :-1] @ explicit.points.T + reference[:, -1:]
        assert np.allclose(method.decision_function(encoding, X), expected, atol=1e-8)


@pytest.mark.parametrize("rank", [1, 5, 20, 40])
def test_squared_residual_is_the_schur_complement_and_never_negative(data, rank):
    negatives, rows = data
    method = KernelSLEM("gaussian(sigma=1)", rank=rank).fit(negatives)
    X = np.vstack([rows, negatives, negatives[:3] + 1e-9])
    encoding = method.encode(X)
    v = encoding.vectors + method.offset_
    squares = 1 - np.einsum("ij,ij->i", v, v)
    Z, k = method.landmarks_, method.kernel_
    schur = 1 - np.einsum("ij,ij->i", k(X, Z) @ np.linalg.inv(k(Z)), k(X, Z))
    # 40 landmarks in three dimensions have a Gram matrix of condition 1e8 or so: rounding, before it is clipped.
    assert squares.min() > -1e-9
    assert np.allclose(squares, schur, atol=1e-7)
    assert encoding.squares.min() >= 0


def test_least_squares_coordinates_would_give_negative_squares():
    rng = np.random.default_rng(1)
    negatives, rows = rng.normal(size=(40, 3)), 0.3 * rng.normal(size=(6, 3))
    method = KernelSLEM("gaussian(sigma=1)", rank=5).fit(negatives)
    k, Z = method.kernel_, method.landmarks_
    B = np.linalg.solve(np.linalg.cholesky(k(Z)), k(Z, negatives)).T
    v = k(rows, negatives) @ np.linalg.pinv(B).T
    assert (1 - (v**2).sum(axis=1)).min() < -0.1


def test_every_lambda_and_rank_from_one_preparation_equals_fitting_again(data):
    negatives, rows = data
    space = {"lam": Real(1e-4, 1, log=True), "rank": Choice((3, 10, 25))}
    template = KernelSLEM("gaussian")
    for searched, ranks in (({"lam": space["lam"]}, [10]), (space, [3, 10, 25])):
        template.rank = 10
        fitted = template.prepare_fit(negatives, space=searched)
        scored = template.prepare_score(rows, space=searched, statistics=fitted)
        assert fitted
        assert scored
        for rank in ranks:
            for lam in (1e-4, 1e-2, 1.0):
                swept = KernelSLEM("gaussian", lam=lam, rank=rank).fit(negatives, statistics=fitted)
                direct = KernelSLEM("gaussian", lam=lam, rank=rank).fit(negatives)
                a, b = swept.encode(rows, statistics=scored), direct.encode(rows)
                assert a.vectors.shape == (6, rank)
                assert np.allclose(swept.similarity(a, a), direct.similarity(b, b), rtol=1e-8, atol=1e-9)
                assert swept.diagnostics.numbers["residual"] == pytest.approx(direct.diagnostics.numbers["residual"])


def test_nothing_is_prepared_where_the_kernel_is_searched(data):
    negatives, rows = data
    method = KernelSLEM("gaussian")
    assert set(method.space) == {"lam", "kernel.sigma"}
    prepared = method.prepare_fit(negatives, space=method.space)
    assert prepared == {}
    assert method.prepare_score(rows, space=method.space, statistics=prepared) == {}


def test_pool_in_blocks_gives_the_same_machines(data, tmp_path):
    negatives, rows = data
    np.save(tmp_path / "pool.npy", negatives)
    scores = []
    for pool in (
        negatives,
        np.load(tmp_path / "pool.npy", mmap_mode="r"),
        [negatives[:7], negatives[7:30], negatives[30:]],
    ):
        for landmarks in ("cholesky", "nystrom", "kmeans"):
            method = KernelSLEM("gaussian", rank=6, landmarks=landmarks, candidates=30).fit(pool)
            encoding = method.encode(rows)
            scores.append(method.similarity(encoding, encoding))
    for i in range(3):
        assert np.allclose(scores[i], scores[i + 3], rtol=1e-9, atol=1e-11)
        assert np.allclose(scores[i], scores[i + 6], rtol=1e-9, atol=1e-11)


def test_parameters_of_the_kernel_are_parameters_of_the_method(data):
    method = KernelSLEM.build({"kernel": "gaussian", "kernel.sigma": 2.0, "rank": 5})
    assert method.kernel == "gaussian(sigma=2.0)"
    mixed = KernelSLEM.build({"kernel": "0.5*gaussian + 0.5*linear", "kernel.gaussian.sigma": 0.7})
    assert parse_kernel(mixed.kernel).values["gaussian.sigma"] == 0.7
    with pytest.raises(UnknownNameError, match="did you mean sigma"):
        KernelSLEM.build({"kernel.sigmas": 2.0})


def test_state_restores_the_method(data):
    negatives, rows = data
    method = KernelSLEM("gaussian", rank=9).fit(negatives)
    other = KernelSLEM("gaussian", rank=9).restore(method.state())
    assert np.array_equal(
        other.similarity(other.encode(rows), other.encode(rows)),
        method.similarity(method.encode(rows), method.encode(rows)),
    )


def test_covariance_matrices_are_exemplars_too():
    rng = np.random.default_rng(3)
    factors = rng.normal(size=(25, 4, 4))
    matrices = factors @ factors.transpose(0, 2, 1) + np.eye(4)
    method = KernelSLEM("log-euclidean", rank=8).fit(matrices[:20])
    encoding = method.encode(matrices)
    scores = method.similarity(encoding, encoding)
    assert np.allclose(np.diag(scores), 1, atol=1e-9)
    assert scores.max() <= 1 + 1e-9
    with pytest.raises(UsageError, match="no centres"):
        KernelSLEM("log-euclidean", rank=8, landmarks="kmeans").fit(matrices)


def test_wrong_requests_are_one_clear_line(data):
    negatives, rows = data
    with pytest.raises(UsageError, match="indefinite"):
        KernelSLEM("sigmoid").fit(negatives)
    with pytest.raises(UsageError, match="needs a rank"):
        KernelSLEM("gaussian", rank=None, landmarks="nystrom").fit(negatives)
    with pytest.raises(UsageError, match="candidates=40"):
        KernelSLEM("gaussian", rank=None, candidates=20).fit(negatives)
    with pytest.raises(UsageError, match="rank=0"):
        KernelSLEM("gaussian", rank=0).fit(negatives)
    with pytest.raises(DataError, match="do not fit together"):
        KernelSLEM("gaussian").fit(negatives).encode(rows[:, :2])


@pytest.mark.parametrize("method", [SLEM(lam=1e-2), KernelSLEM("linear", lam=1e-2, rank=3)], ids=["slem", "kslem"])
def test_penalty_is_relative_to_the_variance_so_that_units_of_the_features_do_not_matter(data, method):
    negatives, rows = data
    found = []
    for scale in (1.0, 128.0, 1 / 128.0):
        fitted = clone(method).fit(scale * negatives)
        encoding = fitted.encode(scale * rows)
        found.append(fitted.similarity(encoding, encoding))
        assert fitted.lam_ == pytest.approx(1e-2 * scale**2 * negatives.var(axis=0).sum(), rel=1e-9)
    assert np.allclose(found[0], found[1], atol=1e-9)
    assert np.allclose(found[0], found[2], atol=1e-9)


def test_one_penalty_serves_every_bandwidth(data):
    # A wide Gaussian kernel is 1 - |a - b|^2 / (2 sigma^2), a linear one: the machines must not fade as it widens.
    negatives, rows = data
    linear = SLEM(lam=1e-2).fit(negatives)
    wide = KernelSLEM("gaussian(sigma=3000.0)", lam=1e-2, rank=None).fit(negatives)
    expected, found = (m.similarity(m.encode(rows), m.encode(rows)) for m in (linear, wide))
    assert np.allclose(expected, found, atol=1e-3)


@pytest.mark.parametrize("method", [SLEM(), KernelSLEM("gaussian(sigma=1.0)")], ids=["slem", "kslem"])
def test_negatives_without_variance_give_the_direction_from_them(data, method):
    rows = data[1]
    fitted = clone(method).fit(np.ones((5, 3)))
    encoding = fitted.encode(rows)
    scores = fitted.similarity(encoding, encoding)
    assert np.isfinite(scores).all()
    assert np.allclose(np.diag(scores), 1)


def test_a_rank_above_the_number_of_negatives_is_full_rank(data):
    negatives, rows = data
    every, above = (KernelSLEM("gaussian(sigma=1.0)", rank=rank).fit(negatives) for rank in (None, 2048))
    assert above.diagnostics.numbers["rank"] == every.diagnostics.numbers["rank"] <= len(negatives)
    assert np.allclose(*(m.similarity(m.encode(rows), m.encode(rows)) for m in (every, above)), atol=1e-6)


def test_wide_kernels_are_searched_whatever_form_their_width_has():
    ends = {"gaussian": 32.0, "l2-laplacian": 1 / 32, "cauchy": 1 / 1024}
    for kernel, end in ends.items():
        dimension = KernelSLEM.build({"kernel": kernel}).space["kernel.sigma"]
        assert end in (dimension.low, dimension.high)
    assert "kernel.sigma" not in KernelSLEM.build({"kernel": "gaussian(sigma=2)"}).space
