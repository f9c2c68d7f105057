"""Square-loss exemplar machines in closed form, every penalty from one eigendecomposition.

Rezende, Zepeda, Ponce, Bach and Perez, "Kernel square-loss exemplar machines for image retrieval", CVPR 2017. Rows
are samples here. One convention of cost throughout, with l(y, f) = (y - f)^2 / 2:

    J(h, nu) = theta l(1, <h, x_0> + nu) + (1/n) sum_i l(-1, <h, x_i> + nu) + (lam/2) |h|^2.

| paper  | here       | shape   | meaning                                                              |
|--------|------------|---------|----------------------------------------------------------------------|
| lambda | lam        | scalar  | ridge                                                                |
| theta  | theta      | scalar  | weight of the positive, or of all positives of one exemplar together |
| b_i, v | v          | (n, r)  | coordinates of a row in the span of the factor, K = B B'             |
| u^2    | squares    | (n,)    | squared length of the part outside the span, k(x, x) - |v|^2         |
|        | vectors, t | (n, r)  | E'(v - mu), with E the eigenvectors of the covariance of the b_i     |
|        | values, w  | (r,)    | eigenvalues of that covariance                                       |
|        | offset, m  | (r,)    | E' mu                                                                |
|        | rho        | (n, n') | <x, x'> outside the span: k(x, x') - v v'                            |
| beta   | h          | (n, r)  | the machine, up to its length c                                      |

With A = Sigma + lam I and delta = x_0 - mu the minimiser is h = c A^-1 delta, where q = <delta, A^-1 delta> and
c = 2 theta / (theta q + theta + 1). In the basis E, A is the diagonal w + lam on the span and lam outside it, so that
encoding is one rotation that no penalty enters, and for machines of length c = 1

    lam^2 <h, h'> = k(x, x') + sum_j [(lam / (w_j + lam))^2 - 1] t_j t'_j - m't - m't' - m'm.

Two rows alike leave nearly equal terms here: everything is float64, and u^2 is clipped at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from zslplat.errors import UsageError
from zslplat.families.exemplars.methods.base import Encoding
from zslplat.families.exemplars.methods.moments import Spectrum

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
# Scores in one block. Larger ones leave the cache between products, smaller ones make the products slower.
BLOCK_SCORES = 1 << 20


@dataclass(frozen=True)
class Machines:
    """The machines of an encoding for one penalty, each of length c = 1.

    ``vectors`` (n, r): the positive (its weighted mean where there are several); ``damping`` (r,): lam / (w + lam), so
    that lam h is vectors times damping on the span; ``squares`` (n,): u^2; ``points`` the rows for kernel values
    outside the span, None where nothing is left outside; ``mix`` (n, rows): how positives make up exemplars, None for
    one each. Where they differ from the plain case: ``span`` (n, r) lam h itself, ``quadratic`` (n,) the number
    q = <delta, A^-1 delta>, ``shift`` (n,) what h adds to every decision value beside the bias.
    """

    vectors: np.ndarray
    damping: np.ndarray
    lam: float
    squares: np.ndarray
    points: np.ndarray | None = None
    mix: np.ndarray | None = None
    span: np.ndarray | None = None
    quadratic: np.ndarray | None = None
    shift: np.ndarray | None = None

    def spans(self) -> np.ndarray:
        """Return lam h (n, r) on the span."""
        return self.vectors * self.damping if self.span is None else self.span

    def squared_lengths(self) -> np.ndarray:
        """Return lam^2 |h|^2 (n,)."""
        if self.span is None:
            return np.asarray(weighted_squares(self.vectors, self.damping**2) + self.squares)
        return np.asarray(np.einsum("ij,ij->i", self.span, self.span) + self.squares)

    def quadratics(self) -> np.ndarray:
        """Return q = <delta, A^-1 delta> (n,)."""
        if self.quadratic is not None:
            return self.quadratic
        return np.asarray((weighted_squares(self.vectors, self.damping) + self.squares) / self.lam)

    def cut(self, part: slice) -> Machines:
        """Return the machines of a range of exemplars; where positives are mixed there is no cutting."""
        parts = {name: _part(getattr(self, name), part) for name in ("points", "span", "quadratic", "shift")}
        return Machines(self.vectors[part], self.damping, self.lam, self.squares[part], **parts)


def weighted_squares(t: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return sum_j weights_j t_ij^2 (n,), a few rows at a time so that temporaries stay in the cache."""
    out = np.empty(len(t))
    step = max(1, (1 << 15) // max(1, t.shape[1]))
    for start in range(0, len(t), step):
        part = t[start : start + step]
        np.einsum("ij,ij->i", part * weights, part, out=out[start : start + step])
    return out


def build(encoding: Encoding, spectrum: Spectrum, lam: float, theta: float, kernel: Kernel | None) -> Machines:
    """Return the machines of an encoding; ``kernel`` is needed where rows have a part outside the span."""
    if encoding.group is not None:
        return _several_positives(encoding, spectrum, lam, theta, kernel)
    t = encoding.vectors
    squares = np.zeros(len(t)) if encoding.squares is None else encoding.squares
    machines = Machines(t, lam / (spectrum.values + lam), lam, squares, encoding.points)
    member = encoding.member
    if member is None or not member.any():
        return machines
    span, quadratic, shift = machines.spans(), machines.quadratics(), np.zeros(len(t))
    span[member], quadratic[member], shift[member] = _left_out(t[member], squares[member], spectrum, lam)
    return replace(machines, span=span, quadratic=quadratic, shift=shift)


def _left_out(
    t: np.ndarray, squares: np.ndarray, spectrum: Spectrum, lam: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Machines of rows that are negatives themselves, against the pool without them.

    Without row i the pool has the covariance a Sigma - b d d', d = b_i - mu, a = n/(n-1), b = n/(n-1)^2, and the mean
    mu - d/(n-1): the direction is that of (a Sigma + lam)^-1 d, of a length that Sherman and Morrison's formula gives.
    """
    n = spectrum.count
    if n < 2:
        raise UsageError("an exemplar inside the pool needs at least 2 negatives; the pool has 1")
    a, b = n / (n - 1), n / (n - 1) ** 2
    direction = t / (a * spectrum.values + lam)
    overlap = np.einsum("ij,ij->i", t, direction)
    span = direction * (a / (1 - b * overlap))[:, None]
    along = np.einsum("ij,ij->i", t, span)
    # <delta, A^-1 delta> with delta = a d in the span; h (mu - mu without i) = <h, d> / (n - 1).
    return lam * span, a * along + squares / lam, along / (n - 1)


def _several_positives(
    encoding: Encoding, spectrum: Spectrum, lam: float, theta: float, kernel: Kernel | None
) -> Machines:
    """Machines with several positives, which share the weight theta.

    A gains theta Sigma_+, of rank m - 1. By Woodbury's formula h = A^-1 (sum_p a_p x_p - mu) with sum_p a_p = 1: the
    machine of one virtual positive, an affine combination of the real ones.
    """
    if encoding.member is not None and encoding.member.any():
        raise UsageError("several positives per exemplar cannot be members of the pool; give one or the other")
    group = np.asarray(encoding.group)
    t, w, exemplars = encoding.vectors, spectrum.values, encoding.exemplars
    mix = np.zeros((exemplars, len(t)))
    quadratic, squares = np.zeros(exemplars), np.zeros(exemplars)
    for g in range(exemplars):
        rows = np.flatnonzero(group == g)
        outside = np.zeros((len(rows), len(rows)))
        if encoding.points is not None and kernel is not None:
            v = t[rows] + spectrum.offset
            outside = kernel(encoding.points[rows], encoding.points[rows]) - v @ v.T
        form = (t[rows] / (w + lam)) @ t[rows].T + outside / lam
        weights = positive_weights(form, theta)
        mix[g, rows] = weights
        quadratic[g] = (form @ weights).mean()
        squares[g] = max(0.0, float(weights @ outside @ weights))
    mixed = mix @ t
    return Machines(mixed, lam / (w + lam), lam, squares, encoding.points, mix, quadratic=quadratic)


def positive_weights(form: np.ndarray, theta: float) -> np.ndarray:
    """Return a (m,), the virtual positive, from F_pq = <x_p - mu, A^-1 (x_q - mu)> (m, m).

    With C = I - 11'/m and F seen from the positives' own mean: z = (m/theta I + C F C)^-1 C F 1/m, a = 1/m - C z.
    """
    m = len(form)
    rows = form - form.mean(axis=0)
    centred = rows - rows.mean(axis=1, keepdims=True)
    z = linalg.solve(centred + np.eye(m) * (m / theta), rows.mean(axis=1), assume_a="pos")
    return np.asarray(1 / m - (z - z.mean()))


def lengths(machines: Machines, theta: float) -> np.ndarray:
    """Return c (n,), the factor that makes a machine of length 1 the minimiser of the cost."""
    return np.asarray(2 * theta / (theta * machines.quadratics() + theta + 1))


def inner_products(A: Machines, B: Machines, spectrum: Spectrum, kernel: Kernel | None) -> np.ndarray:
    """Return lam^2 <h, h'> (n_a, n_b) for machines of length 1."""
    plain = A.span is None and B.span is None
    if A.points is None or B.points is None or kernel is None:
        return np.asarray((A.vectors * A.damping**2) @ B.vectors.T if plain else A.spans() @ B.spans().T)
    out = np.asarray(kernel(A.points, B.points), dtype=np.float64)
    out = out if A.mix is None else A.mix @ out
    out = out if B.mix is None else out @ B.mix.T
    m = spectrum.offset
    if plain:
        # Both spans are t times one diagonal: a single product over r serves the span and the kernel's remainder.
        out += (A.vectors * (A.damping**2 - 1) - m) @ B.vectors.T
        out -= (A.vectors @ m + m @ m)[:, None]
    else:
        out += A.spans() @ B.spans().T
        out -= (A.vectors + m) @ (B.vectors + m).T
    return np.asarray(out)


def similarity(
    A: Machines, B: Machines, spectrum: Spectrum, theta: float, kernel: Kernel | None, *, raw: bool
) -> np.ndarray:
    """Return cosines between machines, or with ``raw`` their inner products <h, h'>, (n_a, n_b)."""
    if raw:
        scale_a, scale_b = lengths(A, theta) / A.lam, lengths(B, theta) / B.lam
    else:
        scale_a, scale_b = _inverse_roots(A.squared_lengths()), _inverse_roots(B.squared_lengths())
    step = len(scale_b) if B.mix is not None else max(64, BLOCK_SCORES // max(1, len(scale_a)))
    out = np.empty((len(scale_a), len(scale_b)))
    for start in range(0, len(scale_b), step):
        part = slice(start, start + step)
        block = inner_products(A, B if step >= len(scale_b) else B.cut(part), spectrum, kernel)
        block *= scale_b[part]
        np.multiply(block, scale_a[:, None], out=out[:, part])
    return out


def decision_values(
    machines: Machines, rows: Encoding, spectrum: Spectrum, theta: float, kernel: Kernel | None
) -> np.ndarray:
    """Return <h, z> + nu (n, rows) of every machine, at its proper length, on the rows of another encoding.

    Seen from the mean of the negatives the bias is (theta - 1 - theta c q) / (theta + 1).
    """
    c = lengths(machines, theta)
    out = machines.spans() @ rows.vectors.T / machines.lam
    if machines.points is not None and rows.points is not None and kernel is not None:
        outside = kernel(machines.points, rows.points)
        outside = outside if machines.mix is None else machines.mix @ outside
        outside -= (machines.vectors + spectrum.offset) @ (rows.vectors + spectrum.offset).T
        out += outside / machines.lam
    out *= c[:, None]
    out += biases_about_mean(machines, theta)[:, None]
    return np.asarray(out)


def biases_about_mean(machines: Machines, theta: float) -> np.ndarray:
    """Return <h, mu> + nu (n,): the value of every machine, at its proper length, at the mean of the negatives."""
    c = lengths(machines, theta)
    biases = (theta - 1 - theta * c * machines.quadratics()) / (theta + 1)
    return np.asarray(biases if machines.shift is None else biases + c * machines.shift)


def _part(array: np.ndarray | None, part: slice) -> Any:
    return None if array is None else array[part]


def _inverse_roots(squares: np.ndarray) -> np.ndarray:
    # A row at the mean of the negatives has no direction; its cosine with anything is 0.
    return np.asarray(1 / np.sqrt(np.where(squares > 0, squares, np.inf)))
