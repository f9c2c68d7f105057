"""The kernel coding methods: a coding scheme each, with or without a classifier in the codes.

Symbols in :mod:`.sparse_codes`, :mod:`.schemes` (local codes, kernel bag of words) and :mod:`.classifiers`.
"""

from __future__ import annotations

from typing import Any

from zslplat.families.coding.methods.estimator import (
    EPSILON,
    GAMMA,
    NEIGHBOURS,
    KernelCodingMethod,
    LearnedCoding,
    SupervisedCoding,
)
from zslplat.families.coding.methods.schemes import BagScheme, FullLocalScheme, LocalScheme, Scheme, SparseScheme
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Real, parameter


class KernelSparseCoding(LearnedCoding):
    r"""min_y |phi(x) - Phi(D) y|^2 + gamma |y|_1, exact; classes by residual, by nearest code, or by a classifier.

    Equations
    ---------
    A row is reconstructed from few atoms in the space of a kernel, (8):

    $$\min_y \lVert \phi(x) - \Phi(D)\, y \rVert^2 + \gamma \lVert y \rVert_1$$

    which takes kernel values alone.

    Related
    -------
    ``sc`` is the linear form; ``kllc`` takes near atoms in place of few; ``l-sksc`` and ``bi-sksc`` learn a classifier
    along with it; ``src`` has the training rows for atoms.
    """

    summary = "kernel sparse coding"
    tags = ("kernel",)
    gamma = GAMMA

    def scheme(self) -> Scheme:
        """Return the sparse scheme."""
        return SparseScheme(self.gamma, self.threads)


class SparseCoding(KernelSparseCoding):
    r"""Sparse coding in feature space: kernel sparse coding with the linear kernel.

    Equations
    ---------
    A row is reconstructed from few atoms:

    $$\min_y \lVert x - D^\top y \rVert^2 + \gamma \lVert y \rVert_1$$

    Related
    -------
    ``ksc`` is the same in the space of a kernel; ``src`` has the training rows for atoms; ``lc-ksvd`` learns a
    classifier, too.
    """

    summary = "linear sparse coding"
    tags = ("baseline",)
    kernel = "linear"


class SRC(KernelCodingMethod):
    r"""Sparse codes over samples of unit length, class of the smallest residual (27).

    Equations
    ---------
    A row is reconstructed from few training rows, and takes the class whose rows leave the least residual, (27):

    $$\hat y = \arg\min_y \lVert x - D^\top y \rVert^2 + \gamma \lVert y \rVert_1, \qquad \hat s = \arg\min_s \lVert x -
    D^\top \hat y_{(s)} \rVert$$

    Related
    -------
    ``sc`` and ``ksc`` have fewer atoms, and a classifier on codes; ``lc-ksvd`` learns atoms of each class.
    """

    summary = "sparse representation-based classification"
    citation = "Wright et al., Robust Face Recognition via Sparse Representation (PAMI 2009)"
    tags = ("baseline",)
    kernel = "normalised(linear)"
    gamma = parameter("weight of the l1 norm", POSITIVE, Real(1e-4, 0.1, log=True), default=1e-2)

    def scheme(self) -> Scheme:
        """Return the sparse scheme."""
        return SparseScheme(self.gamma, self.threads)


class KernelLLC(LearnedCoding):
    r"""Codes that sum to 1 on the nearest atoms (approximate), or on all atoms with a price for far ones (full).

    Equations
    ---------
    A row is reconstructed from its nearest atoms B in the space of a kernel, with shares that sum to 1, (11); in the
    full form (9) from all atoms, far ones at a price:

    $$\min_y \lVert \phi(x) - \Phi(B)\, y \rVert^2 \quad \text{with } 1^\top y = 1 \qquad \text{or} \qquad \min_y \lVert
    \phi(x) - \Phi(D)\, y \rVert^2 + \gamma \lVert E y \rVert^2 \quad \text{with } 1^\top y = 1$$

    Related
    -------
    ``llc`` is the linear form; ``ksc`` takes few atoms in place of near ones; ``l-skllc`` and ``bi-skllc`` learn a
    classifier along with it.
    """

    summary = "locality-constrained kernel coding"
    tags = ("kernel",)
    variant = parameter("nearest atoms, or all with a price", Choice(("approximate", "full")), default="approximate")
    neighbours = NEIGHBOURS
    epsilon = EPSILON
    gamma = parameter("weight of the price, full variant", POSITIVE, default=1e-4)
    sigma = parameter("growth of the price with distance, full variant", NON_NEGATIVE, default=2.0)

    @property
    def space(self) -> dict[str, Any]:
        """The number of neighbours, or weight and growth of the price; and the kernel's ranges."""
        space = super().space
        if self.variant == "full":
            space.pop("neighbours", None)
            space |= {"gamma": Real(1e-6, 0.1, log=True), "sigma": Real(0.1, 10, log=True)}
        return space

    def scheme(self) -> Scheme:
        """Return the scheme of the chosen variant."""
        if self.variant == "full":
            return FullLocalScheme(self.gamma, self.sigma)
        return LocalScheme(self.neighbours, self.epsilon)


class LLC(KernelLLC):
    r"""Locality-constrained linear coding: the kernel form with the linear kernel.

    Equations
    ---------
    A row is reconstructed from its nearest atoms B, with shares that sum to 1:

    $$\min_y \lVert x - B^\top y \rVert^2 \quad \text{with } 1^\top y = 1$$

    Related
    -------
    ``kllc`` is the same in the space of a kernel; ``sc`` takes few atoms in place of near ones.
    """

    summary = "locality-constrained linear coding"
    tags = ("baseline",)
    citation = "Wang et al., Locality-constrained Linear Coding for Image Classification (CVPR 2010)"
    kernel = "linear"


class KernelBagOfWords(LearnedCoding):
    r"""Codes are memberships of the atoms, by distance in the Hilbert space.

    Equations
    ---------
    The code of a row says how near it is to each atom in the space of the kernel, (4) to (6); with hard assignment the
    nearest atom takes all:

    $$y_j = \frac{e^{-\sigma \lVert \phi(x) - \phi(d_j) \rVert^2}}{\sum_r e^{-\sigma \lVert \phi(x) - \phi(d_r)
    \rVert^2}}$$

    Related
    -------
    ``ksc`` and ``kllc`` reconstruct the row from the atoms; ``llc`` and ``sc`` are linear.
    """

    summary = "kernel bag of words"
    tags = ("kernel", "baseline")
    assignment = parameter("to all atoms by distance, or to the nearest", Choice(("soft", "hard")), default="soft")
    sigma = parameter("how fast membership falls with distance^2", POSITIVE, Real(0.1, 1000, log=True), default=10.0)

    @property
    def space(self) -> dict[str, Any]:
        """The bandwidth of soft assignments, and the kernel's ranges."""
        space = super().space
        if self.assignment == "hard":
            space.pop("sigma", None)
        return space

    def scheme(self) -> Scheme:
        """Return soft or hard assignment."""
        return BagScheme(self.sigma if self.assignment == "soft" else None)


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
