"""How new a mapped row is by the density of the seen classes, as in cross-modal transfer's Gaussian form.

Socher, Ganjoo, Manning and Ng, "Zero-Shot Learning Through Cross-Modal Transfer", NIPS 2013.

| paper   | here       | shape  | meaning                                                          |
|---------|------------|--------|------------------------------------------------------------------|
| f       | F          | (n, a) | mapped rows                                                      |
| w_y     | S          | (c, a) | signatures of the seen classes, the centres                      |
| sigma_y | variances  | (c,)   | mean square by dimension of f - w_y over the rows of a class     |
| P(y)    | log_priors | (c,)   | log share of each class among the rows                           |

The authors' code (mganjoo/zslearn) divides the squares of a class by all rows, takes the number of classes for the
dimension, and adds up densities that vanish in high dimension. Here each class has its own n_y, the dimension is a,
and the sum is made of logarithms.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from zslplat.methods.zero_shot.cmt.transfer import minus_squared_distances


def class_variances(F: np.ndarray, y: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return sigma_y^2 (c,) in float64; classes whose rows all lie on their centre get a billionth of the mean."""
    squares = np.square(np.asarray(F, dtype=np.float64) - S[y]).mean(axis=1)
    variances = np.bincount(y, squares, len(S)) / np.bincount(y, minlength=len(S))
    return np.asarray(np.maximum(variances, 1e-9 * variances.mean() or 1.0))


def log_densities(F: np.ndarray, S: np.ndarray, variances: np.ndarray, log_priors: np.ndarray) -> np.ndarray:
    """Return log sum_y P(y) N(f; w_y, sigma_y^2 I) (n,) for the rows of F (n, a), in float64."""
    exponents = minus_squared_distances(F, S) / (2 * variances)
    return np.asarray(logsumexp(exponents + log_priors - S.shape[1] / 2 * np.log(2 * np.pi * variances), axis=1))
