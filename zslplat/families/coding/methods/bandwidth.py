"""Learning the parameter of a kernel from the codes: reconstruction error over spread of the atoms.

| paper | here      | shape  | meaning                                                                            |
|-------|-----------|--------|------------------------------------------------------------------------------------|
| beta  | beta      |        | Gaussian: exp(-beta |x - x'|^2), beta = 1 / (2 sigma^2); polynomial: (1 + beta x'x)^p |
|       | family    |        | beta -> K(X, X) and its derivative by beta, (M, M) each                            |
|       | distances | (M, M) | squared distances between training samples                                         |
|       | inner     | (M, M) | inner products between training samples                                            |
|       | B, C      | (M, M) | L = sum(B * K), J = sum(C * K)                                                     |
|       | prior     |        | mean of gamma r(y), added to L where it is asked for                               |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", (16): minimise L / J over beta with a
gradient and a trust region. Two things to know. The prior does not depend on beta but the ratio does on it: leaving it
out, as the paper does, gives another optimum. And where codes sum to 1 (bag of words, LLC), L and J both vanish in
proportion to beta: the ratio has a finite limit at 0, which is its minimum, so that the kernel silently becomes the
linear one. For such codes the search therefore stays inside a narrow box around 1 / median squared distance (Gaussian)
or 1 / mean squared length (polynomial), for others inside a wide one; it says when it ends at the box's edge.

The polynomial kernel (x'x + c)^p here is (1 + beta x'x)^p with beta = 1 / c, but for the factor c^p, which L / J does
not see. Unlike the Gaussian one it has no fixed k(x, x): where weights and prices are relative to the mean of k(x, x),
the family is divided by it, its derivative along with it, so that a prior means the same for every beta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from zslplat.families.coding.methods.schemes import soft_codes, soft_codes_slope

# Beta times the median squared distance (mean squared length) stays in here. Below 0.05 the kernel is linear to two
# digits, above 20 nearly diagonal (homogeneous); codes that do not sum to 1 hold the criterion up at 0 by themselves.
NARROW, WIDE = (0.05, 20.0), (1e-5, 1e3)
Family = Callable[[float], tuple[np.ndarray, np.ndarray]]


def gaussian_family(distances: np.ndarray) -> Family:
    """Return beta -> exp(-beta |x - x'|^2) and its derivative."""

    def grams(beta: float) -> tuple[np.ndarray, np.ndarray]:
        K = np.exp(-beta * distances)
        return K, -distances * K

    return grams


def polynomial_family(inner: np.ndarray, degree: int, *, relative: bool) -> Family:
    """Return beta -> (x'x + 1 / beta)^p and its derivative; ``relative``: divided by the mean of k(x, x)."""

    def grams(beta: float) -> tuple[np.ndarray, np.ndarray]:
        base = inner + 1 / beta
        lower = base ** (degree - 1)
        K, slope = base * lower, (-degree / beta**2) * lower
        if not relative:
            return K, slope
        unit, unit_slope = float(np.diagonal(K).mean()), float(np.diagonal(slope).mean())
        return K / unit, slope / unit - K * (unit_slope / unit**2)

    return grams


@dataclass(frozen=True)
class Bandwidth:
    """A learned bandwidth: ``beta``, the criterion there, and whether the box held it (``clamped``)."""

    beta: float
    criterion: float
    clamped: bool


def ratio_and_slope(
    beta: float, family: Family, B: np.ndarray, C: np.ndarray, prior: float = 0.0
) -> tuple[float, float]:
    """Return f = (L + prior) / J and df/dbeta for codes and atoms that stay as they are."""
    K, slope = family(beta)
    L, J = float(np.vdot(B, K)) + prior, float(np.vdot(C, K))
    dL, dJ = float(np.vdot(B, slope)), float(np.vdot(C, slope))
    return L / J, (dL * J - L * dJ) / J**2


def soft_ratio_and_slope(
    beta: float,
    family: Family,
    projected: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    sigma: float,
    C: np.ndarray,
) -> tuple[float, float]:
    """Return f and df/dbeta for soft assignment, whose codes are functions of beta, too.

    ``projected`` takes K(X, X) (M, M) to k(X, D) (M, N) and K(D, D) (N, N), linearly: it serves the slopes as well.
    """
    K, slope = family(beta)
    (k, K_D), (dk, dK_D) = projected(K), projected(slope)
    # What is the same for all atoms of a query, its k(x, x), has no part in the code.
    y = soft_codes(1 - 2 * k + np.diagonal(K_D)[None, :], sigma)
    dy = soft_codes_slope(y, np.diagonal(dK_D)[None, :] - 2 * dk, sigma)
    M = len(K)
    L = float(np.diagonal(K).mean()) + float((y * (y @ K_D - 2 * k)).sum()) / M
    dL = float(np.diagonal(slope).mean())
    dL += float((y * (y @ dK_D - 2 * dk)).sum() + 2 * (dy * (y @ K_D - k)).sum()) / M
    J, dJ = float(np.vdot(C, K)), float(np.vdot(C, slope))
    return L / J, (dL * J - L * dJ) / J**2


def learn_bandwidth(
    beta: float,
    median: float,
    criterion: Callable[[float], tuple[float, float]],
    *,
    box: tuple[float, float] = NARROW,
    limit: int = 50,
) -> Bandwidth:
    """Minimise ``criterion`` (value and slope by beta) over log beta, from ``beta``, inside ``box`` / ``median``.

    ``median``: median squared distance, mean squared length for polynomials. A trust region in one dimension: the
    curvature comes from the last two slopes, a step that does not lower the criterion is refused and the radius shrunk,
    so the criterion never rises.
    """
    low, high = np.log(box[0] / median), np.log(box[1] / median)
    t = float(np.clip(np.log(beta), low, high))
    value, slope = _in_log(criterion, t)
    radius, curvature = 0.5, 0.0
    for _ in range(limit):
        move = -slope / curvature if curvature > 0 else -np.sign(slope) * radius
        new = float(np.clip(t + np.clip(move, -radius, radius), low, high))
        if abs(new - t) < 1e-9:
            break
        new_value, new_slope = _in_log(criterion, new)
        secant = (new_slope - slope) / (new - t)
        if new_value <= value:
            radius = min(2 * radius, 2.0) if abs(new - t) > 0.99 * radius else radius
            t, value, slope = new, new_value, new_slope
        else:
            radius = 0.25 * abs(new - t)
        curvature = secant
    clamped = t <= low + 1e-6 or t >= high - 1e-6
    return Bandwidth(float(np.exp(t)), value, clamped)


def _in_log(criterion: Callable[[float], tuple[float, float]], t: float) -> tuple[float, float]:
    beta = float(np.exp(t))
    value, slope = criterion(beta)
    return value, slope * beta
