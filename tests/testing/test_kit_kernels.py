"""Every check of kernels catches a kernel that breaks just that promise."""

import numpy as np
import pytest

from zslplat.kernels import InnerProductKernel, Kernel, RadialKernel
from zslplat.kernels.forms import Gaussian
from zslplat.space import POSITIVE, Parameter, Real, Scaled
from zslplat.testing import run_checks
from zslplat.testing.kernels import DERIVATIVE_CHECKS, KERNEL_CHECKS

SIGMA = Parameter("inverse squared radius", Scaled(POSITIVE, "/median^2"), Real(0.1, 10, log=True, unit="/median^2"))


class Sound(RadialKernel):
    """exp(-sigma d)."""

    summary = "sound"
    parameters = {"sigma": SIGMA}

    def __init__(self, sigma="1.0/median^2"):
        super().__init__(sigma=sigma)

    def g(self, d):
        return np.exp(-self.sigma * d)

    def slope(self, d):
        return -self.sigma * self.g(d)


class GramOnly(Kernel):
    """The inner product, without derivatives."""

    summary = "gram only"

    def evaluate(self, A, B):
        return A @ B.T


class Undocumented(Sound):
    parameters = {"sigma": Parameter("", SIGMA.legal)}


class IllegalRange(Sound):
    parameters = {"sigma": Parameter("radius", SIGMA.legal, Real(-1, 1, unit="/median^2"))}


class AcceptsAnything(Sound):
    def __init__(self, sigma=1.0):
        self.label, self.sigma = "accepts-anything", sigma


class Explodes(Sound):
    parameters = {"sigma": Parameter("radius", SIGMA.legal, Real(1, 1e6, log=True, unit="/median^2"))}

    def g(self, d):
        return np.exp(self.sigma * d)


class NoZeroRow(InnerProductKernel):
    """The cosine, which divides by the norms."""

    summary = "cosine"

    def f(self, t, u, v):
        return t / np.sqrt(u * v)

    def partials(self, t, u, v):
        k = self.f(t, u, v)
        return 1 / np.sqrt(u * v), -k / (2 * u), -k / (2 * v)


class Asymmetric(GramOnly):
    def evaluate(self, A, B):
        return (A @ B.T) * (1 + (A * A).sum(axis=1))[:, None]


class SuperGaussian(Sound):
    """exp(-sigma d^2) with d the squared distance, which is no positive semidefinite function."""

    def g(self, d):
        return np.exp(-self.sigma * d**2)


class WrongDiagonal(GramOnly):
    def diag(self, X):
        return np.ones(len(X), dtype=X.dtype)


class CentresOnItsBatch(GramOnly):
    def embed(self, X):
        return X - X.mean(axis=0) if len(X) else X


class AlwaysDouble(GramOnly):
    def evaluate(self, A, B):
        return A.astype(np.float64) @ B.T

    def __call__(self, X, Y=None):
        return self.evaluate(X, X if Y is None else Y)


class ChangesInput(GramOnly):
    def evaluate(self, A, B):
        A *= 0.5
        return 2 * A @ B.T


class Remembers(GramOnly):
    scale = None

    def evaluate(self, A, B):
        self.scale = self.scale or float(np.abs(B).max())
        return A @ B.T / self.scale


class KeepsGramsByShape(GramOnly):
    grams = {}

    def evaluate(self, A, B):
        return self.grams.setdefault((A.shape, B.shape, A.dtype, B.dtype), A @ B.T)


class KeepsDiagonalsByShape(GramOnly):
    diagonals = {}

    def diag(self, X):
        return self.diagonals.setdefault((X.shape, X.dtype), super().diag(X))


class LeavesOpen(Sound):
    parameters = {"sigma": Parameter("radius", Scaled(POSITIVE, "*median"))}

    def __init__(self, sigma="1.0*median"):
        super().__init__(sigma=sigma)

    def resolved(self, X):
        return self


class AbsoluteRange(Gaussian):
    """Gaussian kernel with a bandwidth that is searched in the units of one data set."""

    parameters = {"sigma": Parameter("radius", POSITIVE, Real(0.1, 10, log=True))}

    def __init__(self, sigma=1.0):
        super().__init__(sigma=sigma)


class ChecksNothing(GramOnly):
    def _checked(self, X, *, resolving=False):
        return X


class OtherGram(Sound):
    def evaluate(self, A, B):
        return 2 * super().evaluate(A, B)


class HalfSlope(Sound):
    def slope(self, d):
        return 0.5 * super().slope(d)


class StaleTogether(Sound):
    def g_and_slope(self, d):
        return self.g(d), 2 * self.slope(d)


class DoubleValues(Sound):
    def g(self, d):
        return np.exp(d * -np.float64(self.sigma))


def local_kernel():
    class Local(Sound):
        """Defined in a function, where no other process finds it."""

    return Local()


BROKEN = {
    "parameters_are_documented": (Undocumented, "no description for sigma"),
    "search_ranges_are_legal": (IllegalRange, "searched but not legal"),
    "illegal_values_are_refused": (AcceptsAnything, "is accepted"),
    "every_point_of_the_space_gives_a_finite_gram": (Explodes, "gives NaN or infinity"),
    "gram_has_a_row_per_input": (NoZeroRow, "holds NaN"),
    "gram_is_symmetric": (Asymmetric, "against its transpose"),
    "exchanging_inputs_transposes_the_gram": (Asymmetric, "against k\\(Y, X\\)'"),
    "gram_is_positive_semidefinite_as_declared": (SuperGaussian, "eigenvalue -"),
    "diagonal_is_that_of_the_gram": (WrongDiagonal, "off the diagonal"),
    "blocks_make_up_the_gram": (CentresOnItsBatch, "block 0:1"),
    "precision_is_kept": (AlwaysDouble, "is float64"),
    "inputs_are_not_changed": (ChangesInput, "was changed"),
    "kernel_remembers_nothing": (Remembers, "changed"),
    "kernel_travels_to_other_processes": (local_kernel, "cannot be imported"),
    "open_parameters_come_from_data": (LeavesOpen, "leaves sigma=1.0\\*median open"),
    "search_does_not_depend_on_the_units_of_the_data": (AbsoluteRange, "which no factor explains"),
    "unsuitable_inputs_are_refused": (ChecksNothing, "expected DataError"),
    "values_follow_from_inner_products": (OtherGram, "against k\\(A, B\\)"),
    "partials_agree_with_finite_differences": (HalfSlope, "derivative by t is off"),
    "values_and_partials_together_are_the_same": (StaleTogether, "df/dt of f_and_partials"),
    "derivatives_keep_precision_and_inputs": (DoubleValues, "is float64"),
}
ALL = {check.__name__: check for check in KERNEL_CHECKS + DERIVATIVE_CHECKS}


def test_every_check_has_a_kernel_that_breaks_it():
    assert set(BROKEN) == set(ALL)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BROKEN)
def test_check_catches_the_kernel_that_breaks_it(name):
    broken, message = BROKEN[name]
    with pytest.raises(AssertionError, match=message):
        ALL[name](broken())


@pytest.mark.parametrize("kernel", [Sound(), Sound(0.3), GramOnly()], ids=str)
def test_sound_kernels_pass_every_check(kernel):
    assert [r for r in run_checks(kernel) if r.state != "passed"] == []


@pytest.mark.parametrize(
    ("kernel", "what"), [(KeepsGramsByShape, "k\\(A, B\\)"), (KeepsDiagonalsByShape, "diag\\(A\\)")]
)
def test_a_kernel_that_takes_equal_shapes_for_equal_data_is_caught(kernel, what):
    with pytest.raises(AssertionError, match=what + " after other rows of the same shape"):
        ALL["kernel_remembers_nothing"](kernel())


def test_batch_dependent_kernel_breaks_no_promise_about_itself_alone():
    """The centring kernel is symmetric and semidefinite: only the blocks give it away."""
    failed = {result.check for result in run_checks(CentresOnItsBatch()) if result.is_failure}
    assert "blocks_make_up_the_gram" in failed
    assert "gram_is_positive_semidefinite_as_declared" not in failed


def test_gaussian_with_a_wrong_constant_passes_nothing_but_the_partials():
    """Gradients are compared with the values of the kernel, not with what its name says."""

    class Wrong(Gaussian):
        def slope(self, d):
            return super().slope(d) * (1 + 1e-5)

    with pytest.raises(AssertionError, match="derivative by t"):
        ALL["partials_agree_with_finite_differences"](Wrong(1.0))
