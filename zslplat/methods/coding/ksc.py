"""Kernel sparse coding, problem (8), and linear sparse coding, which is the same with the linear kernel.

Symbols in :mod:`.sparse_codes`.
"""

from __future__ import annotations

from zslplat.methods.coding.estimator import GAMMA, LearnedCoding
from zslplat.methods.coding.schemes import Scheme, SparseScheme


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
