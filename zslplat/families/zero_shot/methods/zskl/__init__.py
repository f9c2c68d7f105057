"""Zero-shot kernel learning (Zhang and Koniusz, CVPR 2018): a projection that aligns a kernel with the labels.

| of the paper | where |
|---|---|
| Eq. 9, 10 and 11: objectives and gradients, written out | ``objective`` |
| their mini-batch gradients, in a few matrix products | ``fast_gradient`` |
| what lies between those products, compiled | ``fast_passes`` |
| RMSprop, its average A_t below Eq. 9 and its rate | ``training`` |
| epochs, mini-batches, learned weights of kernels | ``training`` |
| the draw of a signature (Rnd in Eq. 9) and of wrong classes | ``draws`` |
| what the estimators share, scores by Eq. 12 | ``zskl`` |
| the estimator of Eq. 10 (``zskl``) | ``zskl`` |
| the estimator of Eq. 9 and 11 (``zskl-ort``) | ``zskl`` |
| the constants of the authors' code (``zskl-ort(variant=authors)``) | ``zskl`` |
| subspaces of classes, left for later there (``zskl-subspaces``) | ``subspaces`` |
| Table 4 (incoherence), Tables 5 and 6 (cosines) | ``objective`` |

Table 1 (kernels) is in :mod:`zslplat.kernels`, Eq. 13 (one inner product) in the tests, over
:mod:`zslplat.kernels.low_rank`.
"""
