"""Methods that take blocks: how often they read the rows, and that sums over blocks are those over all rows."""

import numpy as np
import pytest

from zslplat.data.store.rows import Part, Rows, Stored, View
from zslplat.errors import DataError, MethodError
from zslplat.families.exemplars.methods.base import checked_blocks, row_blocks
from zslplat.families.selection.methods.baselines import column_variances
from zslplat.families.selection.methods.regression import regression_statistics
from zslplat.families.zero_shot.methods import feature_metric, spectral
from zslplat.families.zero_shot.methods.keszsl import KernelESZSL
from zslplat.methods.rows import row_keys
from zslplat.registry import component, names
from zslplat.space import Integer
from zslplat.testing.kits import kit_of
from zslplat.testing.rows import in_blocks

ROWS, CLASSES = 5000, 7  # three blocks, the last of them shorter


class Counted(Rows):
    """Rows that count how often they are gone through."""

    passes = 0

    def blocks(self):
        self.passes += 1
        return super().blocks()


class Closed(Rows):
    """Rows of known shape and precision that nobody may read."""

    def blocks(self):
        raise AssertionError("rows are read")

    def take(self, rows):
        raise AssertionError("some rows are read")

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("an array is made")


def problem(d=24, n=ROWS, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(CLASSES), rng.integers(0, CLASSES, n - CLASSES)])
    return (rng.standard_normal((n, d)) + rng.standard_normal((CLASSES, d))[y]).astype(dtype), y


def counted(X):
    lying = in_blocks(X)
    return Counted(lying.parts, lying.index)


def closed(X):
    return Closed([Part(View("", X.shape[1:]), X)], np.arange(len(X)))


@pytest.fixture
def in_a_file(tmp_path):
    def lay(X, order):
        path = tmp_path / "rows"
        stored = np.empty_like(X)
        stored[order] = X
        stored.tofile(path)
        return Rows([Part(View("", X.shape[1:]), Stored(str(path), X.dtype.name, X.shape, 0))], order)

    return lay


def test_class_sums_are_those_over_all_rows_to_the_last_bit_wherever_blocks_end(in_a_file):
    X, y = problem()
    expected = np.stack([X[y == label].sum(axis=0, dtype=np.float64) for label in range(CLASSES)])
    np.testing.assert_array_equal(spectral.class_sums(X, y, CLASSES), expected)
    np.testing.assert_array_equal(spectral.class_sums(in_a_file(X, np.arange(ROWS)), y, CLASSES), expected)
    shuffled = in_a_file(X, np.random.default_rng(1).permutation(ROWS))
    np.testing.assert_allclose(spectral.class_sums(shuffled, y, CLASSES), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n", [ROWS, 60])
def test_statistics_of_stored_rows_are_those_of_the_matrix(in_a_file, n):
    X, y = problem(n=n, d=24 if n == ROWS else 90)
    rows = in_a_file(X, np.random.default_rng(1).permutation(n))
    found, exact = spectral.prepare(rows, y, CLASSES), X.astype(np.float64)
    Q, values = found["feature_directions"], found["feature_values"]
    square = exact.T @ exact
    np.testing.assert_allclose((Q * values) @ Q.T, square, atol=2e-6 * np.abs(square).max())
    np.testing.assert_allclose(found["class_sums"], np.eye(CLASSES)[y].T @ exact, atol=1e-9)
    counts = spectral.class_counts(y, CLASSES)
    metric = feature_metric.prepare(rows, y, found["class_sums"], counts)
    centred = exact - (np.eye(CLASSES)[y].T @ exact / counts[:, None])[y]
    Q, values = metric["within_directions"], metric["within_values"]
    within = centred.T @ centred
    np.testing.assert_allclose((Q * values) @ Q.T, within, atol=2e-6 * np.abs(within).max())


@pytest.mark.parametrize("d", [24, 6000])
def test_regression_statistics_of_stored_rows_are_those_of_the_array(in_a_file, d):
    n = ROWS if d == 24 else 40
    X, y = problem(d=d, n=n)
    of_rows = np.random.default_rng(2).standard_normal((n, 3))
    expected = regression_statistics(X, y, CLASSES, of_rows)
    found = regression_statistics(in_a_file(X, np.random.default_rng(1).permutation(n)), y, CLASSES, of_rows)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=2e-6 * np.abs(values).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_variances_are_those_of_numpy_also_far_from_zero(in_a_file, dtype):
    X, _ = problem(dtype=dtype)
    X += 1000
    expected = X.var(axis=0, dtype=np.float64)
    np.testing.assert_array_equal(column_variances(X), expected)
    shuffled = in_a_file(X, np.random.default_rng(1).permutation(ROWS))
    np.testing.assert_allclose(column_variances(shuffled), expected, rtol=1e-9)


PREPARED = {
    "eszsl": 1,
    "exem-1nn": 2,
    "exem-1nns": 3,  # the deviations in the principal directions, once these are known
    "sae": 1,
    "ridge-prototypes": 2,
    "mfmr": 2,  # the residual metric, once the means of the classes are known
    "semfs": 1,
    "semfs-c": 1,
    "lasso-labels": 1,
    "lasso-attributes": 1,
    "l20alm": 1,
    "wknn": 1,
    "fsasl": 1,
    "mutual-information": 1,
    "mcfs": 1,
    "cosine": 1,
    "whitening": 1,
    "slem": 2,  # one block for the width
    "keszsl": 2,  # few rows: looked at, then gathered
    "kslem": 1,
}


def prepared(name):
    """Return a method without a search, its kit, inputs with counted training rows, and what it prepares."""
    method = component("methods", name)()
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    given = {**arrays, "X": counted(arrays["X"])}
    return method, kit, arrays, given, kit.prepare(method, given, {})


@pytest.mark.parametrize("name", PREPARED)
def test_preparation_goes_through_the_rows_as_often_as_it_must_and_a_fit_not_at_all(name):
    method, kit, arrays, given, statistics = prepared(name)
    assert given["X"].passes == PREPARED[name]
    kit.fit(type(method)(), {**arrays, "X": closed(arrays["X"])}, statistics)


@pytest.mark.parametrize("name", ["eszsl", "sae", "ridge-prototypes", "mfmr", "keszsl", "exem-1nn", "exem-1nns"])
def test_scoring_goes_through_the_rows_once(name):
    method, _, arrays, _, _ = prepared(name)
    method.fit(arrays["X"], arrays["y"], arrays["S"])
    pool = counted(arrays["X_pool"])
    found = method.decision_function(pool, arrays["S_pool"])
    assert pool.passes == 1
    assert found.dtype == method.decision_function(arrays["X_pool"], arrays["S_pool"]).dtype


def test_methods_that_compare_rows_with_one_another_ask_for_arrays():
    taking = {name for name in names("methods") if component("methods", name).takes_blocks}
    assert {*PREPARED, "variance", "random-features", "exemplar-svm"} <= taking
    assert not taking & {"eszsl-smoothed", "gfhf", "mfmr-joint"}


def test_kernel_eszsl_with_low_rank_features_reads_few_rows_at_a_time():
    X, y = problem(n=300)
    S = np.random.default_rng(3).standard_normal((CLASSES, 5))
    method = KernelESZSL("gaussian(sigma=0.7*median)", exact_rows=0, rank=40)
    expected = method.fit(X, y, S).decision_function(X[:50], S)
    found = method.fit(in_blocks(X), y, S).decision_function(in_blocks(X[:50]), S)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("exact_rows", [0, 1000])
def test_a_kernel_that_is_zero_on_all_rows_is_told(exact_rows):
    X, y = problem(n=40)
    with pytest.raises(MethodError, match="zero on all training rows"):
        KernelESZSL("0*gaussian(sigma=1)", exact_rows=exact_rows).fit(X, y, np.eye(CLASSES))


def test_keys_are_those_of_the_rows_whatever_their_order():
    X, _ = problem(n=100)
    np.testing.assert_allclose(row_keys("X", in_blocks(X)), row_keys("X", X), rtol=1e-12)


def test_a_row_that_is_not_finite_is_named_by_its_number_among_the_rows(in_a_file):
    X, _ = problem()
    X[4321, 3] = np.nan
    rows = in_a_file(X, np.random.default_rng(1).permutation(ROWS))
    for read in (lambda: list(row_blocks(rows)), lambda: list(checked_blocks(rows, 24)), lambda: row_keys("X", rows)):
        with pytest.raises(DataError, match="row 4321"):
            read()


@pytest.mark.parametrize("name", ["l20alm", "wknn", "fsasl", "mutual-information", "mcfs"])
def test_drawn_rows_are_prepared_unless_their_number_is_searched(name):
    X, y = problem(n=200)
    S = np.eye(CLASSES)
    method, other = (component("methods", name)(rows=rows) for rows in (50, 60))
    statistics = method.prepare_fit(X, y, S, space=method.space)
    assert not any(len(array) == len(X) for array in statistics.values())
    direct = {rows: one.fit(X, y, S).scores_ for rows, one in ((50, method), (60, other))}
    np.testing.assert_allclose(method.fit(closed(X), y, S, statistics=statistics).scores_, direct[50], rtol=1e-9)
    assert not np.allclose(direct[50], direct[60])
    open_number = method.prepare_fit(X, y, S, space={"rows": Integer(50, 60)})
    np.testing.assert_allclose(other.fit(X, y, S, statistics=open_number).scores_, direct[60], rtol=1e-9)
