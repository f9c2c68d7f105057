"""Kernel coding (Harandi and Salzmann, ACCV 2014): codes in a reproducing kernel Hilbert space, and competitors.

Methods carry their registered names; what computes codes is called ``..._codes``.

| of the paper | computed in | methods |
|---|---|---|
| (2): reconstruction plus a prior | ``schemes`` | |
| (4) to (6): bag of words | ``schemes`` | ``kbow`` |
| (8): sparse codes | ``sparse_codes``, ``active_set`` | ``ksc``, ``sc``, ``src`` |
| (9) to (13): local codes | ``schemes`` | ``kllc``, ``llc`` |
| (14), (15): loss and spread | ``alternation`` | |
| (16): bandwidth of a Gaussian kernel | ``dictionary`` | ``learn_kernel=bandwidth`` |
| (17): weights of a sum of kernels | ``alternation`` | ``learn_kernel=weights`` |
| (18): alternation over the blocks | ``alternation`` | |
| (19) to (22): dictionaries | ``dictionary`` | ``learning`` |
| (23), (24): classifiers and supervised codes | ``classifiers`` | ``l-sksc``, ``bi-sksc``, ``l-skllc``, ``bi-skllc`` |
| (27): classes by residual | ``classifiers`` | |

The methods are in ``kernel_coding``, what they share in ``estimator``; ``lc_ksvd`` is a competitor.
"""
