"""The spatial pyramid kernel: the sum over cells, its weights, the parameters of its base, and what it demands."""

import numpy as np
import pytest

from zslplat.errors import DataError, UsageError
from zslplat.families.exemplars.methods.kslem import KernelSLEM
from zslplat.kernels import parse_kernel
from zslplat.kernels.scales import median_distance


def pyramids(levels, width=5, rows=7, seed=0):
    """Return rows of cells, level by level, and for each level the cells (rows, cells, width)."""
    rng = np.random.default_rng(seed)
    cells = [rng.random((rows, 4**level, width)) for level in range(levels)]
    return np.concatenate([one.reshape(rows, -1) for one in cells], axis=1), cells


@pytest.mark.parametrize("base", ["histogram-intersection", "gaussian(sigma=0.7)", "chi-squared(sigma=2.0)", "linear"])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_gram_is_the_weighted_sum_over_all_cells(levels, base):
    X, left = pyramids(levels)
    Y, right = pyramids(levels, rows=4, seed=1)
    kappa, finest = parse_kernel(base), levels - 1
    K = np.zeros((7, 4))
    for level, (A, B) in enumerate(zip(left, right, strict=True)):
        weight = 1 / 2**finest if level == 0 else 1 / 2 ** (finest - level + 1)
        for cell in range(4**level):
            for i in range(7):
                for j in range(4):
                    K[i, j] += weight * kappa(A[i : i + 1, cell], B[j : j + 1, cell])[0, 0]
    kernel = parse_kernel(f'spatial-pyramid(levels={levels}, base="{base}")')
    np.testing.assert_allclose(kernel(X, Y), K, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X, X.copy())), rtol=1e-12)


def test_intersections_count_new_matches_at_each_level():
    # Lazebnik et al., Eq. 3: matches of the finest level in full, those that are new at coarser ones by halves.
    X, cells = pyramids(3)
    matches = [np.minimum(one[:, None], one[None]).sum(axis=(2, 3)) for one in cells]
    expected = matches[2] + (matches[1] - matches[2]) / 2 + (matches[0] - matches[1]) / 4
    np.testing.assert_allclose(parse_kernel("spatial-pyramid")(X), expected, rtol=1e-12)


def test_scales_are_measured_over_all_cells_and_parameters_of_the_base_are_searched():
    X, cells = pyramids(2)
    kernel = parse_kernel("spatial-pyramid(levels=2, base=gaussian)")
    assert set(kernel.space) == {"base.sigma"}
    assert kernel.values["base.sigma"] == "1.0*median"
    every = np.concatenate([one.transpose(1, 0, 2).reshape(-1, 5) for one in cells])
    assert kernel.resolved(X).values["base.sigma"] == pytest.approx(median_distance(every), rel=1e-12)
    other = kernel.replaced({"base.sigma": 0.25})
    assert str(other) == 'spatial-pyramid(base="gaussian(sigma=0.25)", levels=2)'
    assert parse_kernel(str(other)) == other
    assert other.replaced({"base": "linear"}) == parse_kernel("spatial-pyramid(levels=2, base=linear)")
    with pytest.raises(UsageError, match="units of the data"):
        kernel(X)


def test_parameters_that_a_text_gives_are_not_searched():
    given = KernelSLEM("spatial-pyramid(levels=2, base=gaussian(sigma=0.5))")
    assert not [name for name in parse_kernel(given.kernel, fix_given=True).space if "sigma" in name]
    assert "base.sigma" in parse_kernel("spatial-pyramid(levels=2, base=gaussian)", fix_given=True).space


def test_kernels_on_rows_of_any_layout_stay_what_they_were():
    # A kernel that needs a layout fits no row at random, and would change what kernel=any has always searched.
    assert "spatial-pyramid" not in KernelSLEM.fitting_kernels()
    assert "histogram-intersection" in KernelSLEM.fitting_kernels()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('spatial-pyramid(base="gaussian + linear")', "no single kernel"),
        ('spatial-pyramid(base="gaussian@cq")', "no single kernel"),
        ("spatial-pyramid(base=log-euclidean)", "takes matrices"),
        ("spatial-pyramid(base=gausian)", "did you mean gaussian"),
        ("spatial-pyramid(levels=0)", "levels"),
    ],
)
def test_bases_and_levels_that_do_not_fit_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_kernel(text)


def test_rows_that_do_not_hold_all_cells_are_refused():
    with pytest.raises(DataError, match="rows have 40 values, which is no multiple of 21, the cells of 3 levels"):
        parse_kernel("spatial-pyramid")(np.ones((3, 40)))
    with pytest.raises(DataError, match="non-negative"):
        parse_kernel("spatial-pyramid")(-np.ones((3, 42)))


def test_it_says_whether_it_is_positive_semidefinite_by_its_base():
    assert parse_kernel("spatial-pyramid").psd
    assert not parse_kernel("spatial-pyramid(base=sigmoid)").psd


def test_a_sum_takes_rows_of_whole_cells():
    X, _ = pyramids(2)
    pyramid = parse_kernel("spatial-pyramid(levels=2, base=chi-squared(sigma=1))")
    joined = pyramid + parse_kernel("linear")
    np.testing.assert_allclose(joined(X), pyramid(X) + X @ X.T, rtol=1e-12)
    assert joined.width_multiple == 5
    with pytest.raises(DataError, match="no multiple of 5"):
        joined(np.ones((3, 7)))
