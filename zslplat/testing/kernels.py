"""What every kernel promises, on small fixed inputs.

``general``: rows in general position, at distances from near to far, of about unit length. ``special``: among them
rows that are equal, and a row of zeros, where square roots and angles lose half of their digits.

What kernels of inner products promise beside: k(a, b) = f(t, u, v) with t = <a, b>, u = |a|^2, v = |b|^2.

Derivatives are compared with central differences of fourth order with the relative step h = 1e-4 of the scale of each
argument: the truncation is h^4 f^(5) / 30, the rounding about 1e-16 / h of the values.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from zslplat.errors import DataError, UsageError
from zslplat.kernels.base import Kernel, require_psd, rounding_of_eigenvalues
from zslplat.kernels.composition import Composite
from zslplat.kernels.inner_product import InnerProductKernel, Partial, squared_norms
from zslplat.space import Scaled
from zslplat.testing.running import (
    assert_raises,
    assert_refused,
    check_declared,
    check_ranges,
    class_is_importable,
    points,
)


def parameters_are_documented(kernel: Kernel) -> None:
    """Class and every parameter say what they mean; the constructor has the same parameters, with defaults."""
    assert (inspect.getdoc(type(kernel)) or "").strip(), f"{type(kernel).__name__} has no docstring"
    assert kernel.summary.strip(), f"{type(kernel).__name__} has no summary, which lists show beside its name"
    check_declared(kernel.domains)
    if isinstance(kernel, Composite):
        return
    signature = inspect.signature(type(kernel)).parameters
    taken = {name: p for name, p in signature.items() if p.kind is not inspect.Parameter.VAR_KEYWORD}
    assert set(taken) == set(kernel.parameters), (
        f"constructor takes {sorted(taken)}, declared {sorted(kernel.parameters)}"
    )
    required = [name for name, parameter in taken.items() if parameter.default is inspect.Parameter.empty]
    assert not required, f"no default for {', '.join(required)}; give one, such as 1.0*median"


def search_ranges_are_legal(kernel: Kernel) -> None:
    """Every search range has two ends, inside the legal values."""
    check_ranges(kernel.space, kernel.domains)


def illegal_values_are_refused(kernel: Kernel) -> None:
    """A value outside the legal domain and an unknown parameter raise UsageError."""
    assert_refused(lambda **values: kernel.replaced(values), kernel.domains, "no_such_parameter")


def every_point_of_the_space_gives_a_finite_gram(kernel: Kernel) -> None:
    """Every point of the search space constructs, keeps its values and gives finite kernel values."""
    X = general(kernel)
    for name, other in variants(kernel):
        assert other == other.replaced(other.values), f"{name} does not come back from its own parameter values"
        assert np.isfinite(other(X)).all(), f"{name} gives NaN or infinity"


def gram_has_a_row_per_input(kernel: Kernel) -> None:
    """k(X, Y) is a finite matrix (rows of X, rows of Y), for special rows, one row and no row, too."""
    kernel = ready(kernel)
    X, Y = special(kernel), general(kernel)
    for left, right in ((X, Y), (X[:1], Y), (X[:0], Y), (X, Y[:1])):
        K = kernel(left, right)
        assert isinstance(K, np.ndarray), f"k(X, Y) is {type(K).__name__}, expected an array"
        assert K.shape == (len(left), len(right)), f"k(X, Y) has shape {K.shape}, expected {len(left), len(right)}"
        assert np.isfinite(K).all(), "k(X, Y) holds NaN or infinity"
    assert kernel(X).shape == (len(X), len(X)), f"k(X) has shape {kernel(X).shape}, expected {len(X), len(X)}"


def gram_is_symmetric(kernel: Kernel) -> None:
    """k(X) is exactly symmetric, and is k(X, X), which is symmetric up to rounding."""
    for name, other in variants(kernel):
        for X, tolerance in ((general(other), TIGHT), (special(other), LOOSE)):
            K, full = other(X), other(X, X.copy())
            assert (K == K.T).all(), f"{name}: k(X) is not symmetric"
            assert_same(full, full.T, tolerance, f"{name}: k(X, X) against its transpose")
            # The distance of a row to itself is rounding, of which a kernel may take the root.
            assert_same(K, full, LOOSE, f"{name}: k(X) against k(X, X)")


def exchanging_inputs_transposes_the_gram(kernel: Kernel) -> None:
    """k(X, Y) is the transpose of k(Y, X)."""
    for name, other in variants(kernel):
        X, Y = general(other), general(other, 17, seed=2)
        assert_same(other(X, Y), other(Y, X).T, TIGHT, f"{name}: k(X, Y) against k(Y, X)'")


def gram_is_positive_semidefinite_as_declared(kernel: Kernel) -> None:
    """No eigenvalue of k(X) is negative beyond rounding, at any point of the space, unless psd is False."""
    refused = False
    try:
        require_psd(kernel, "this check")
    except UsageError:
        refused = True
    assert refused == (not kernel.psd), f"psd={kernel.psd} but the kernel is {'' if refused else 'not '}refused"
    for name, other in variants(kernel):
        if not other.psd:
            continue
        for dimensions in (1, 2, 6):
            X = general(other, 40, seed=3, dimensions=dimensions)
            values = np.linalg.eigvalsh(other(3 * X if other.input == "vectors" else X))
            rounding = rounding_of_eigenvalues(len(X), float(np.abs(values).max()), np.float64)
            assert values[0] >= -rounding, (
                f"{name}: eigenvalue {values[0]:.2e} of k(X), the largest is {values[-1]:.2e}; declare psd = False, or "
                "narrow the legal values"
            )


def diagonal_is_that_of_the_gram(kernel: Kernel) -> None:
    """diag(X) has one value per row, those on the diagonal of k(X, X) and, exactly, of k(X)."""
    for name, other in variants(kernel):
        for X in (general(other), special(other)):
            diagonal, K = other.diag(X), other(X, X.copy())
            scale = max(float(np.abs(K).max()), np.finfo(np.float64).tiny)
            assert np.shape(diagonal) == (len(X),), f"{name}: diag has shape {np.shape(diagonal)}, expected ({len(X)},)"
            actual = float(np.abs(diagonal - np.diag(K)).max()) / scale
            assert actual <= LOOSE, f"{name}: diag is off the diagonal of k(X, X) by {actual:.1e}"
            assert (np.diag(other(X)) == diagonal).all(), f"{name}: diag(X) is not exactly the diagonal of k(X)"


def blocks_make_up_the_gram(kernel: Kernel) -> None:
    """Blocks of rows, together, are k(X, Y); a value depends on its two rows alone."""
    kernel = ready(kernel)
    X, Y = general(kernel), general(kernel, 17, seed=2)
    whole = kernel(X, Y)
    for rows in (1, 5, 100):
        covered = np.zeros(len(X), dtype=int)
        for part, block in kernel.blocks(X, Y, rows=rows):
            assert_same(block, whole[part], TIGHT, f"block {part.start}:{part.stop} of {rows} rows against k(X, Y)")
            covered[part] += 1
        assert (covered == 1).all(), f"blocks of {rows} rows leave out or repeat rows of X"
    chosen, others = [11, 2, 7], [4, 0]
    small = kernel(X[chosen], Y[others])
    assert_same(small, whole[np.ix_(chosen, others)], TIGHT, "k of a few rows against the same entries of k(X, Y)")


def precision_is_kept(kernel: Kernel) -> None:
    """float32 inputs give float32 values close to those of float64; anything else gives float64."""
    kernel = ready(kernel)
    X, Y = general(kernel), general(kernel, 17, seed=2)
    X32, Y32 = X.astype(np.float32), Y.astype(np.float32)
    cases: list[tuple[str, np.ndarray, np.ndarray]] = [
        ("k(X, Y)", kernel(X32, Y32), kernel(X, Y)),
        ("k(X)", kernel(X32), kernel(X)),
        ("diag(X)", kernel.diag(X32), kernel.diag(X)),
        ("blocks", next(kernel.blocks(X32, Y32))[1], kernel(X, Y)),
    ]
    for name, single, double in cases:
        assert single.dtype == np.float32, f"{name} of float32 rows is {single.dtype}"
        assert double.dtype == np.float64, f"{name} of float64 rows is {double.dtype}"
        # A squared distance keeps 1e-7 of the squared norms; its root, where rows nearly agree, 3e-4 of the norms.
        assert_same(single, double, 2e-3, f"{name} of float32 rows against float64")
    assert kernel(X32, Y).dtype == np.float64, "k of float32 and float64 rows must be float64"


def inputs_are_not_changed(kernel: Kernel) -> None:
    """Inputs keep their values, read-only inputs are accepted, and the result is no view of an input."""
    kernel = ready(kernel)
    X, Y = general(kernel), general(kernel, 17, seed=2)
    originals = {"X": X, "Y": Y}
    before = {name: rows.copy() for name, rows in originals.items()}
    results = [kernel(X, Y), kernel(X), kernel.diag(X)]
    for name, rows in originals.items():
        assert np.array_equal(rows, before[name]), f"{name} was changed"
        shared = any(np.shares_memory(result, rows) for result in results)
        assert not shared, f"the result shares memory with {name}"
    X.setflags(write=False)
    Y.setflags(write=False)
    for now, then in zip([kernel(X, Y), kernel(X), kernel.diag(X)], results, strict=True):
        assert (now == then).all(), "read-only inputs give other values"


def kernel_remembers_nothing(kernel: Kernel) -> None:
    """Values depend on the inputs alone, not on others of the same shape before; evaluation changes no attribute."""
    kernel = ready(kernel)
    X, Y = general(kernel), general(kernel, 17, seed=2)
    other, before = copy.deepcopy(kernel), pickle.dumps(vars(kernel))
    first, diagonal = kernel(X, Y), kernel.diag(X)
    assert pickle.dumps(vars(kernel)) == before, "evaluation changed an attribute of the kernel"
    other(2 * Y)
    other.resolved(2 * Y)
    assert (other(X, Y) == first).all(), "k(X, Y) is another one after the kernel has seen other rows"
    assert (other.diag(X) == diagonal).all(), "diag(X) is another one after the kernel has seen other rows"
    near, far = general(kernel, seed=3), general(kernel, 17, seed=4)
    actual, alone = kernel(near, far), [kernel(near[i : i + 1], far)[0] for i in range(len(near))]
    assert_same(actual, np.array(alone), TIGHT, "k(A, B) after other rows of the same shape against one row at a time")
    beside, unused = kernel.diag(near), [kernel.diag(near[i : i + 1])[0] for i in range(len(near))]
    assert_same(beside, np.array(unused), TIGHT, "diag(A) after other rows of the same shape against one row at a time")


def kernel_travels_to_other_processes(kernel: Kernel) -> None:
    """The class is importable by module and name, and a pickled copy is equal and gives the same values."""
    class_is_importable(kernel)
    kernel = ready(kernel)
    sent = pickle.loads(pickle.dumps(kernel))
    X = general(kernel)
    assert sent == kernel, f"a pickled copy of {kernel} is {sent}"
    assert (sent(X) == kernel(X)).all(), "a pickled copy gives other values"


def open_parameters_come_from_data(kernel: Kernel) -> None:
    """A multiple of a scale becomes a legal number by resolved(X); until then evaluation is refused."""
    X = general(kernel)
    filled = kernel.resolved(X)
    for path, value in filled.values.items():
        legal = kernel.domains[path].legal
        assert legal.contains(value), f"resolved(X) gives {path}={value!r}, which is no legal value"
        assert not (isinstance(legal, Scaled) and isinstance(value, str)), f"resolved(X) leaves {path}={value} open"
    for path, value in kernel.values.items():
        scaled = isinstance(kernel.domains[path].legal, Scaled) and isinstance(value, str)
        assert scaled or filled.values[path] == value, f"resolved(X) changed {path} from {value!r}"
    if not kernel.is_resolved:
        assert_raises(UsageError, lambda: kernel(X), "evaluation with an open parameter")


def search_does_not_depend_on_the_units_of_the_data(kernel: Kernel) -> None:
    """Rows multiplied by 128 give the same kernel values, up to one factor, all over the space."""
    if isinstance(kernel, Composite):
        return  # terms of a sum grow each in its own way; weights are numbers on purpose
    X = general(kernel)
    for point in points(kernel.space, kernel.values):
        at = kernel.replaced(point)
        inputs, larger = at.resolved(X)(X), at.resolved(128 * X)(128 * X)
        factor = float(np.abs(larger).max() / max(float(np.abs(inputs).max()), np.finfo(np.float64).tiny))
        assert_same(larger, factor * inputs, 1e-6, f"values of {at} for 128 times the rows, which no factor explains")


def unsuitable_inputs_are_refused(kernel: Kernel) -> None:
    """Rows of another shape or width, and negative values where none may be, raise DataError."""
    kernel = ready(kernel)
    X = general(kernel)
    assert_raises(DataError, lambda: kernel(X[0]), f"an input of shape {X[0].shape}")
    narrow = X[:, :-1, :-1] if kernel.input == "spd" else X[:, :-1]
    assert_raises(DataError, lambda: kernel(X, narrow), f"a pair of inputs of shapes {X.shape} and {narrow.shape}")
    if kernel.non_negative:
        assert_raises(DataError, lambda: kernel(-X), "a negative input of a kernel that declares non_negative")


KERNEL_CHECKS = (
    parameters_are_documented,
    search_ranges_are_legal,
    illegal_values_are_refused,
    every_point_of_the_space_gives_a_finite_gram,
    gram_has_a_row_per_input,
    gram_is_symmetric,
    exchanging_inputs_transposes_the_gram,
    gram_is_positive_semidefinite_as_declared,
    diagonal_is_that_of_the_gram,
    blocks_make_up_the_gram,
    precision_is_kept,
    inputs_are_not_changed,
    kernel_remembers_nothing,
    kernel_travels_to_other_processes,
    open_parameters_come_from_data,
    search_does_not_depend_on_the_units_of_the_data,
    unsuitable_inputs_are_refused,
)


ROWS, OTHERS, DIMENSIONS = 23, 17, 6
# Relative accuracy that is asked for in general position, and where half of the digits are lost.
TIGHT, LOOSE = 1e-10, 1e-6


def general(kernel: Kernel, rows: int = ROWS, *, seed: int = 0, dimensions: int = DIMENSIONS) -> np.ndarray:
    """Return rows (n, d), or (n, p, p) for kernels on matrices, float64, in general position."""
    rng = np.random.default_rng([seed, 11])
    if kernel.input == "spd":
        factors = rng.normal(size=(rows, 4, 8))
        return np.asarray(factors @ factors.transpose(0, 2, 1) / 8 + 0.1 * np.eye(4))
    dimensions = -(-dimensions // kernel.width_multiple) * kernel.width_multiple
    centres = rng.normal(size=(4, dimensions)) / np.sqrt(dimensions)
    spread = rng.choice([0.02, 0.2, 1.0], size=(rows, 1))
    X = centres[rng.integers(4, size=rows)] + spread * rng.normal(size=(rows, dimensions)) / np.sqrt(dimensions)
    return np.asarray(np.abs(X) if kernel.non_negative else X)


def special(kernel: Kernel) -> np.ndarray:
    """Return rows of which two are equal, and one is zero where the kernel takes vectors."""
    X = general(kernel, 9, seed=1)
    X[3] = X[5]
    if kernel.input != "spd":
        X[6] = 0
    return X


def ready(kernel: Kernel) -> Kernel:
    """Return the kernel with its open parameters taken from the general rows."""
    return kernel.resolved(general(kernel))


def variants(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Yield the kernel as it is and at points of its search space, each with a word on which one it is."""
    base = ready(kernel)
    yield str(base), base
    for point in points(base.space, base.values):
        other = ready(base.replaced(point))
        yield str(other), other


def deviation(values: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference relative to the largest expected value; infinite for shapes that differ."""
    values, expected = np.asarray(values), np.asarray(expected)
    if values.shape != expected.shape or not (np.isfinite(values).all() and np.isfinite(expected).all()):
        return np.inf
    if not expected.size:
        return 0.0
    scale = max(float(np.abs(expected).max()), np.finfo(np.float64).tiny)
    return float(np.abs(values.astype(np.float64) - expected.astype(np.float64)).max()) / scale


def assert_same(values: np.ndarray, expected: np.ndarray, tolerance: float, what: str) -> None:
    """Fail with ``what`` unless both agree within a tolerance relative to the largest value."""
    if np.shape(values) != np.shape(expected):
        raise AssertionError(f"{what}: shape {np.shape(values)}, expected {np.shape(expected)}")
    actual = deviation(values, expected)
    assert actual <= tolerance, f"{what}: off by {actual:.1e} of the largest value, allowed {tolerance:.0e}"


STEP = 1e-4
# Relative to the largest derivative, and to the largest value (which rounds).
ACCURACY, ROUNDING = 1e-6, 1e-10


def arguments(kernel: InnerProductKernel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return t (n, m), u (n, 1), v (1, m) of pairs of rows in general position, none of them equal."""
    A, B = general(kernel, seed=4), general(kernel, 17, seed=5)
    return A @ B.T, squared_norms(A)[:, None], squared_norms(B)[None, :]


def values_follow_from_inner_products(kernel: InnerProductKernel) -> None:
    """The Gram matrix is f of inner products and squared norms, symmetric under the exchange of u and v."""
    for name, other in _variants(kernel):
        A, B = general(other, seed=4), general(other, 17, seed=5)
        t, u, v = arguments(other)
        f = other.f(t, u, v)
        assert_same(np.broadcast_to(f, t.shape), other(A, B), TIGHT, f"{name}: f(t, u, v) against k(A, B)")
        exchanged = np.broadcast_to(other.f(t.T, v.T, u.T), t.T.shape)
        assert_same(exchanged, np.broadcast_to(f, t.shape).T, TIGHT, f"{name}: f(t, v, u) against f(t, u, v)")


def partials_agree_with_finite_differences(kernel: InnerProductKernel) -> None:
    """The derivatives of f by t, u and v are those of f, to 1e-6 of the largest, at every point of the space."""
    for name, other in _variants(kernel):
        products = arguments(other)
        largest = float(np.abs(other.f(*products)).max())
        partials = other.partials(*products)
        assert len(partials) == 3, f"{name}: {len(partials)} partials, expected those by t, u and v"
        for position, letter in enumerate("tuv"):
            step = STEP * np.sqrt(products[1] * products[2])  # each pair has a scale of its own
            numeric = _difference(partial(_moved, other, products, position), step)
            claimed = np.broadcast_to(np.asarray(partials[position], dtype=np.float64), products[0].shape)
            _agree(claimed, numeric, largest / float(step.min()) * STEP, f"{name}: derivative by {letter}")


def values_and_partials_together_are_the_same(kernel: InnerProductKernel) -> None:
    """f_and_partials gives what f and partials give."""
    for name, other in _variants(kernel):
        products = arguments(other)
        together = other.f_and_partials(*products)
        apart = (other.f(*products), *other.partials(*products))
        for letter, one, two in zip(("f", "df/dt", "df/du", "df/dv"), together, apart, strict=True):
            both = [np.broadcast_to(np.asarray(x, dtype=np.float64), products[0].shape) for x in (one, two)]
            assert_same(both[0], both[1], TIGHT, f"{name}: {letter} of f_and_partials")


def derivatives_keep_precision_and_inputs(kernel: InnerProductKernel) -> None:
    """f and its partials keep float32, and accept read-only arguments."""
    filled = ready(kernel)
    assert isinstance(filled, InnerProductKernel), f"resolved(X) turned {kernel} into one without derivatives"
    t, u, v = products = [np.asarray(x, dtype=np.float32) for x in arguments(kernel)]
    before = [x.copy() for x in products]
    for x in products:
        x.setflags(write=False)
    results: dict[str, Partial] = {"f": filled.f(t, u, v)}
    results |= dict(zip(("df/dt", "df/du", "df/dv"), filled.partials(t, u, v), strict=True))
    for name, result in results.items():
        if isinstance(result, np.ndarray):
            assert result.dtype == np.float32, f"{name} of float32 arguments is {result.dtype}"
            assert not any(np.shares_memory(result, x) for x in products), f"{name} shares memory with an argument"
            assert np.isfinite(result).all(), f"{name} holds NaN or infinity"
    assert all((x == y).all() for x, y in zip(products, before, strict=True)), "an argument was changed"


def _variants(kernel: InnerProductKernel) -> Iterator[tuple[str, InnerProductKernel]]:
    for name, other in variants(kernel):
        assert isinstance(other, InnerProductKernel), f"{name} has no derivatives, unlike {kernel}"
        yield name, other


def _moved(
    kernel: InnerProductKernel, products: tuple[np.ndarray, np.ndarray, np.ndarray], position: int, h: np.ndarray
) -> np.ndarray:
    t, u, v = (x + h if p == position else np.broadcast_to(x, h.shape) for p, x in enumerate(products))
    return kernel.f(t, u, v)


def _difference(values: Callable[..., np.ndarray], step: np.ndarray | float) -> np.ndarray:
    """Return (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h."""
    near = values(step) - values(-step)
    far = values(2 * step) - values(-2 * step)
    return np.asarray((8 * near - far) / (12 * step))


def _agree(claimed: np.ndarray, numeric: np.ndarray, largest: float, what: str) -> None:
    assert np.shape(claimed) == np.shape(numeric), f"{what}: shape {np.shape(claimed)}, expected {np.shape(numeric)}"
    assert np.isfinite(claimed).all(), f"{what} holds NaN or infinity"
    allowed = ACCURACY * float(np.abs(numeric).max()) + ROUNDING * largest
    off = float(np.abs(claimed - numeric).max())
    assert off <= allowed, f"{what} is off by {off:.1e} from finite differences, allowed {allowed:.1e}"


DERIVATIVE_CHECKS = (
    values_follow_from_inner_products,
    partials_agree_with_finite_differences,
    values_and_partials_together_are_the_same,
    derivatives_keep_precision_and_inputs,
)
