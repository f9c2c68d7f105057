"""The promises of every kernel, checked by the kit of zslplat, for each degree and inside expressions."""

from zslplat.api import parse_kernel
from zslplat.testing import parametrize_with_checks
from zslplat_arccos.arc_cosine import ArcCosine

KERNELS = [ArcCosine(degree) for degree in (0, 1, 2)]
EXPRESSIONS = [0.5 * ArcCosine(1) + ArcCosine(2), ArcCosine(1) ** 2, ArcCosine(0) * parse_kernel("gaussian(sigma=1)")]


@parametrize_with_checks(KERNELS + EXPRESSIONS)
def test_arc_cosine_kernels_keep_their_promises(component, check):
    check(component)
