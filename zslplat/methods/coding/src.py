"""Sparse representation-based classification: linear sparse codes over training samples of unit length.

Symbols in :mod:`.sparse_codes` and :mod:`.rules`.
"""

from __future__ import annotations

from zslplat.methods.coding.estimator import COMMON, GAMMA, KernelCodingMethod, in_order
from zslplat.methods.coding.schemes import Scheme, SparseScheme
from zslplat.space import with_defaults

OPTIONS = ("kernel", "dictionary", "atoms", "threads", "seed")


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
    parameters = with_defaults(
        in_order({"gamma": GAMMA}, {name: COMMON[name] for name in OPTIONS}), gamma=1e-2, kernel="normalised(linear)"
    )
    gamma: float
    # What SRC does not leave open.
    learning, learn_kernel, rule, indefinite = "fixed", "fixed", "residual", "refuse"
    code_scaling, scale = "raw", "mean"
    iterations, rho, include_prior, togetherness = 1, 1.0, False, 1.0

    def scheme(self) -> Scheme:
        """Return the sparse scheme."""
        return SparseScheme(self.gamma, self.threads)
