"""Matrix tri-factorisation with manifold regularisations (Xu et al., CVPR 2017): labels and projection as factors.

| of the paper | where |
|---|---|
| the common scheme: U learned, rows compared with classes (``mfmr``) | ``common_scheme`` |
| Eq. 7, 9 and 10, Algorithm 1: as printed, and as improved | ``forms`` |
| Eq. 11 to 14, Algorithm 2: labels of a batch (``mfmr-joint``) | ``joint_scheme`` |
| Eq. 6: the labels of the training rows free as well | ``multiplicative_updates`` |
| Eq. 9 and 13: the updates; Eq. 8 and 12: their constraint | ``multiplicative_updates`` |

The graphs are in :mod:`zslplat.methods.neighbours`.
"""
