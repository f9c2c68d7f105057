"""Sparse representation-based classification: linear sparse codes over training samples of unit length.

Symbols in :mod:`.sparse_codes` and :mod:`.rules`.
"""

from __future__ import annotations

from zslplat.methods.coding.estimator import KernelCodingMethod
from zslplat.methods.coding.schemes import Scheme, SparseScheme
from zslplat.space import POSITIVE, Real, parameter


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
