"""The entrywise part of a step of zero-shot kernel learning with a radial kernel, fused into a few passes.

Between the matrix products of a step lie some twenty operations on (b, c) and (b, a) entries; as single NumPy calls
they cost as much as the products themselves, not least because the code of each is out of the cache by the time that
the next step comes to it. Here they are two calls around the kernel's own code, or one call where the kernel is one of
those whose declared form :func:`known_form` knows. Compiled on first use and kept on disk.

| symbol | shape | meaning |
|---|---|---|
| t | (b, c) | <z_i, s_j> = <x_i, W s_j> |
| d | (b, c) or (2 b, c) | squared distances of k(W'x, s), and below them those of k(x, W s) |
| k, slope | as d | kernel values and dk/dd |
| A | (b, c) | scale dL/dt |

These passes take their output as arguments and allocate nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat.kernels.inner_product import InnerProductKernel, declared_form
from zslplat.methods.compiled import compiled

NO_FORM, EXPONENTIAL, RATIONAL = range(3)

# exp(x) = 2^m exp(r) with r in [-log(2) / 2, log(2) / 2], log(2) in two parts and a polynomial for exp(r) (Moshier's
# Cephes library, expf.c); relative error below 1e-7. Below -87 the result is no normal number and is held there.
_LOWEST, _LOG2_E, _HALF, _ONE = np.float32(-87), np.float32(1.44269504088896341), np.float32(0.5), np.float32(1)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_C6, _C5, _C4 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
_C3, _C2, _C1 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)


def known_form(kernel: InnerProductKernel) -> tuple[int, float]:
    """Return the form that a kernel declares, as the passes below know it, and its factor f; NO_FORM for none.

    EXPONENTIAL is exp(f d), RATIONAL 1 / (1 + f d).
    """
    form = declared_form(kernel)
    if form is None:
        return NO_FORM, 0.0
    return (EXPONENTIAL, -form.rate) if form.name == "exponential" else (RATIONAL, form.rate)


def writable(values: np.ndarray) -> np.ndarray:
    """Return the array itself, or a copy where it is read-only or not in C order."""
    return values if values.flags.carray else np.array(values, order="C")


# Reassociation lets the sums become vector instructions; NaN and infinity are kept as they are.
_with_sums = compiled(fastmath={"contract", "reassoc"}, error_model="numpy")
_exact = compiled(fastmath={"contract"}, error_model="numpy")


@_with_sums
def distances(t: np.ndarray, Z: np.ndarray, v: np.ndarray, d: np.ndarray) -> None:
    """Write max(|z_i|^2 + v_j - 2 t_ij, 0) to the first b rows of d; Z (b, a), v (c,). NaN stays."""
    for i in range(t.shape[0]):
        u = Z.dtype.type(0)
        for m in range(Z.shape[1]):
            u += Z[i, m] * Z[i, m]
        for j in range(t.shape[1]):
            x = u + v[j] - 2 * t[i, j]
            d[i, j] = 0 if x < 0 else x


@_with_sums
def distances_through_w(
    rows: np.ndarray, t: np.ndarray, u: np.ndarray, P: np.ndarray, Q: np.ndarray, v: np.ndarray, d: np.ndarray
) -> None:
    """Write max(u_i + <p_j, q_j> - 2 t_ij, 0) to the next b rows of d; u (n,) by ``rows`` (b,), P and Q (c, .).

    v (c,) takes <p_j, q_j> = |W s_j|^2.
    """
    b = t.shape[0]
    for j in range(P.shape[0]):
        product = P.dtype.type(0)
        for m in range(P.shape[1]):
            product += P[j, m] * Q[j, m]
        v[j] = product
    for i in range(b):
        of_row = u[rows[i]]
        for j in range(t.shape[1]):
            x = of_row + v[j] - 2 * t[i, j]
            d[b + i, j] = 0 if x < 0 else x


@_with_sums
def terms(
    k: np.ndarray,
    slope: np.ndarray,
    y: np.ndarray,
    negatives: np.ndarray,
    right: np.ndarray,
    wrong: float,
    squared: bool,
    scale: float,
    A: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
) -> float:
    """Return the summed loss; write scale dL/dt to A, twice the sums of scale dL/dd to ``rows`` (b,), ``columns`` (c,).

    ``rows`` sums over the first b rows of k, ``columns`` over the others: k(W'x, s) has a norm that depends on W for
    each row, k(x, W s) one for each class. ``negatives`` (b, c) may be empty. k and slope are used up.
    """
    one, two, b = k.dtype.type(1), k.dtype.type(2), A.shape[0]
    total = 0.0
    columns[:] = 0
    for row in range(k.shape[0]):
        i = row if row < b else row - b
        label = y[i]
        k_own, slope_own = k[row, label], slope[row, label]
        k[row, label] = 0
        slope[row, label] = 0
        loss = k.dtype.type(0)
        # From here on ``slope`` holds scale dL/dd.
        if negatives.size == 0:
            for j in range(k.shape[1]):
                value = k[row, j]
                loss += wrong * (value * value if squared else value)
                slope[row, j] *= scale * wrong * (two * value if squared else one)
        else:
            for j in range(k.shape[1]):
                value, weight = k[row, j], wrong * negatives[i, j]
                loss += weight * (value * value if squared else value)
                slope[row, j] *= scale * weight * (two * value if squared else one)
        if squared:
            total += loss + right[label] * (one - k_own) * (one - k_own)
            slope[row, label] = scale * two * right[label] * (k_own - one) * slope_own
        else:
            total += loss - right[label] * k_own
            slope[row, label] = -scale * right[label] * slope_own
        if row < b:
            by_row = k.dtype.type(0)
            for j in range(k.shape[1]):
                by_row += slope[row, j]
                A[i, j] = -two * slope[row, j]
            rows[i] = two * by_row
        else:
            for j in range(k.shape[1]):
                columns[j] += two * slope[row, j]
                A[i, j] -= two * slope[row, j]
    return total


@_exact
def exponential_single(k: np.ndarray, slope: np.ndarray, bits: np.ndarray, factor: float) -> None:
    """Replace distances k (m,) by exp(factor k), and write its slope; ``bits`` (m,) int32; float32, factor < 0."""
    for i in range(k.size):
        x = factor * k[i]
        x = _LOWEST if x < _LOWEST else x  # NaN stays
        m = np.floor(x * _LOG2_E + _HALF)
        r = x - m * _LN2_HIGH
        r = r - m * _LN2_LOW
        polynomial = ((((_C6 * r + _C5) * r + _C4) * r + _C3) * r + _C2) * r + _C1
        k[i] = polynomial * r * r + r + _ONE
        bits[i] = (np.int32(m) + np.int32(127)) << np.int32(23)  # 2^m, as the number that has these bits
    power = bits.view(np.float32)
    for i in range(k.size):
        k[i] *= power[i]
        slope[i] = factor * k[i]


@_exact
def exponential_double(k: np.ndarray, slope: np.ndarray, factor: float) -> None:
    """Replace distances k (m,) by exp(factor k), and write its slope."""
    for i in range(k.size):
        k[i] = np.exp(factor * k[i])
        slope[i] = factor * k[i]


@_exact
def rational(k: np.ndarray, slope: np.ndarray, factor: float) -> None:
    """Replace distances k (m,) by 1 / (1 + factor k), and write its slope."""
    one = k.dtype.type(1)
    for i in range(k.size):
        k[i] = one / (one + factor * k[i])
        slope[i] = -factor * k[i] * k[i]


@_with_sums
def terms_of_known_form(
    rows: np.ndarray, y: np.ndarray, negatives: np.ndarray, form: Any, room: Any, at_w: Any, weights_and_sums: Any
) -> float:
    """Do all of the above in one call.

    ``form``: kind, factor, whether in single precision; ``room``: slope and bits, of the shape of k, the t, Z and v of
    :func:`distances`, and k; ``at_w``: the u, P, Q and v of :func:`distances_through_w`; ``weights_and_sums``: what
    :func:`terms` takes after ``negatives``.
    """
    kind, factor, single = form
    slope, bits, t, Z, v, k = room
    distances(t, Z, v, k)
    if k.shape[0] > t.shape[0]:
        u, P, Q, w = at_w
        distances_through_w(rows, t, u, P, Q, w, k)
    if kind == RATIONAL:
        rational(k.reshape(-1), slope.reshape(-1), factor)
    elif single:
        exponential_single(k.reshape(-1), slope.reshape(-1), bits.reshape(-1), factor)
    else:
        exponential_double(k.reshape(-1), slope.reshape(-1), factor)
    return terms(k, slope, y, negatives, *weights_and_sums)


@_exact
def add_rows(R: np.ndarray, weights: np.ndarray, Z: np.ndarray) -> None:
    """Add diag(weights) Z to R; R and Z (b, a)."""
    for i in range(R.shape[0]):
        for m in range(R.shape[1]):
            R[i, m] += weights[i] * Z[i, m]


@_exact
def scale_rows(S: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Write diag(weights) S to ``out``; S (c, a)."""
    for i in range(S.shape[0]):
        for m in range(S.shape[1]):
            out[i, m] = weights[i] * S[i, m]


# The updates of RMSprop (:mod:`zslplat.families.zero_shot.methods.zskl.training`): no reassociation and no approximate
# reciprocals, and a NaN in the gradient stays a NaN in W.


@_exact
def rmsprop(W: Any, A: Any, g: Any, ridge: Any, gamma: Any, rest: Any, rate: Any, eps: Any) -> None:
    """Move W by the gradient g + ridge W, all flat."""
    for i in range(W.size):
        slope = g[i] + ridge * W[i]
        a = gamma * A[i] + rest * slope * slope
        A[i] = a
        W[i] -= rate * slope / (np.sqrt(a) + eps)


@_exact
def rmsprop_two_parts(W: Any, A: Any, g: Any, h: Any, gamma: Any, rest: Any, rate: Any, eps: Any) -> None:
    """Move W by the gradient g + h, all flat."""
    for i in range(W.size):
        slope = g[i] + h[i]
        a = gamma * A[i] + rest * slope * slope
        A[i] = a
        W[i] -= rate * slope / (np.sqrt(a) + eps)


@_exact
def rmsprop_given_moment(W: Any, A: Any, g: Any, q: Any, gamma: Any, rest: Any, rate: Any, eps: Any) -> None:
    """Move W by the gradient g, with q in place of its squares, all flat."""
    for i in range(W.size):
        a = gamma * A[i] + rest * q[i]
        A[i] = a
        W[i] -= rate * g[i] / (np.sqrt(a) + eps)
