"""Kernel bag of words: each query goes to its nearest atom, or to all of them with weights that fall with distance.

| paper   | here      | shape  | meaning                                                  |
|---------|-----------|--------|----------------------------------------------------------|
| y       | codes     | (n, N) | one code per row, non-negative, summing to 1             |
| sigma   | sigma     |        | how fast the weight falls with the squared distance      |
|         | distances | (n, N) | |phi(x) - phi(d_j)|^2                                    |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (4) to (6).
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax


def hard_codes(distances: np.ndarray) -> np.ndarray:
    """Return 1 at the nearest atom of each row and 0 elsewhere (n, N), equation (4); the first of equals."""
    codes = np.zeros(distances.shape)
    codes[np.arange(len(distances)), distances.argmin(axis=1)] = 1.0
    return codes


def soft_codes(distances: np.ndarray, sigma: float) -> np.ndarray:
    """Return exp(-sigma d_j) / sum_l exp(-sigma d_l) (n, N), equations (5) and (6)."""
    return np.asarray(softmax(-sigma * distances, axis=1))


def soft_codes_slope(codes: np.ndarray, distance_slopes: np.ndarray, sigma: float) -> np.ndarray:
    """Return the derivative (n, N) of the soft codes when the squared distances change at ``distance_slopes``."""
    inner = -sigma * distance_slopes
    return np.asarray(codes * (inner - np.einsum("ij,ij->i", codes, inner)[:, None]))
