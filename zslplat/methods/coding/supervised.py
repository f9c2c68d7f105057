"""Supervised kernel coding: codes, dictionary and classifier learned together, (23) and (24).

Symbols in :mod:`.code_classifiers`.
"""

from __future__ import annotations

from zslplat.methods.coding.estimator import (
    EPSILON,
    GAMMA,
    NEIGHBOURS,
    SupervisedCoding,
)
from zslplat.methods.coding.schemes import LocalScheme, Scheme, SparseScheme


class LinearSupervisedSparseCoding(SupervisedCoding):
    r"""Kernel sparse coding with a linear classifier on the codes, (23).

    Equations
    ---------
    Codes, dictionary and a linear classifier are learned in turns; the codes of training rows feel the loss, (23):

    $$\min_{Y, D, W} \sum_i \left[ \lVert \phi(x_i) - \Phi(D)\, y_i \rVert^2 + \gamma \lVert y_i \rVert_1 + \eta\,
    \lVert l_i - W y_i \rVert^2 \right] + \rho\, \lVert W \rVert^2 $$

    Related
    -------
    ``ksc`` has no classifier in its codes; ``bi-sksc`` a bilinear one; ``l-skllc`` takes near atoms; ``lc-ksvd`` is its
    rival on vectors.
    """

    summary = "supervised kernel sparse coding, linear classifier"
    tags = ("kernel", "supervised", "monotone")
    supervision = "linear"
    gamma = GAMMA

    def scheme(self) -> Scheme:
        """Return the sparse scheme."""
        return SparseScheme(self.gamma, self.threads)


class LinearSupervisedLLC(SupervisedCoding):
    r"""Locality-constrained kernel coding with a linear classifier on the codes, (23).

    Equations
    ---------
    Codes, dictionary and a linear classifier are learned in turns; the codes of training rows feel the loss, (23):

    $$\min_{Y, D, W} \sum_i \left[ \lVert \phi(x_i) - \Phi(D)\, y_i \rVert^2 + p(y_i) + \eta\, \lVert l_i - W y_i
    \rVert^2 \right] + \rho\, \lVert W \rVert^2 \quad \text{with } 1^\top y_i = 1$$

    Related
    -------
    ``kllc`` has no classifier in its codes; ``bi-skllc`` a bilinear one; ``l-sksc`` takes few atoms in place of near
    ones.
    """

    summary = "supervised locality-constrained kernel coding, linear classifier"
    tags = ("kernel", "supervised", "monotone")
    supervision = "linear"
    learning = "free"
    neighbours = NEIGHBOURS
    epsilon = EPSILON

    def scheme(self) -> Scheme:
        """Return the approximate local scheme."""
        return LocalScheme(self.neighbours, self.epsilon)


class BilinearSupervisedSparseCoding(LinearSupervisedSparseCoding):
    r"""Kernel sparse coding with a classifier that is bilinear in sample and code, (24).

    Equations
    ---------
    Codes, dictionary and a bilinear classifier are learned in turns; the codes of training rows feel the loss, (24):

    $$\min_{Y, D, W} \sum_i \left[ \lVert \phi(x_i) - \Phi(D)\, y_i \rVert^2 + \gamma \lVert y_i \rVert_1 + \eta\,
    \lVert l_i - W(x_i)\, y_i \rVert^2 \right] + \rho\, \lVert W \rVert^2 $$

    Row j of W(x) is k(x, X) A_j, so that the classifier reads the row as well as its code.

    Related
    -------
    ``ksc`` has no classifier in its codes; ``l-sksc`` a linear one; ``bi-skllc`` takes near atoms.
    """

    summary = "supervised kernel sparse coding, bilinear classifier"
    supervision = "bilinear"


class BilinearSupervisedLLC(LinearSupervisedLLC):
    r"""Locality-constrained kernel coding with a classifier that is bilinear in sample and code, (24).

    Equations
    ---------
    Codes, dictionary and a bilinear classifier are learned in turns; the codes of training rows feel the loss, (24):

    $$\min_{Y, D, W} \sum_i \left[ \lVert \phi(x_i) - \Phi(D)\, y_i \rVert^2 + p(y_i) + \eta\, \lVert l_i - W(x_i)\, y_i
    \rVert^2 \right] + \rho\, \lVert W \rVert^2 \quad \text{with } 1^\top y_i = 1$$

    Row j of W(x) is k(x, X) A_j, so that the classifier reads the row as well as its code.

    Related
    -------
    ``kllc`` has no classifier in its codes; ``l-skllc`` a linear one; ``bi-sksc`` takes few atoms in place of near
    ones.
    """

    summary = "supervised locality-constrained kernel coding, bilinear classifier"
    supervision = "bilinear"
