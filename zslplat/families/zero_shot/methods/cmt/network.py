"""The objective of cross-modal transfer and its gradient, over all rows at once.

Socher, Ganjoo, Manning and Ng, "Zero-Shot Learning Through Cross-Modal Transfer", NIPS 2013. Rows are samples here.

| paper   | here         | shape          | meaning                                                            |
|---------|--------------|----------------|--------------------------------------------------------------------|
| x_i     | X            | (n, d)         | features, in units of ``feature_unit``, their root mean square     |
| w_y     | S[y]         | (n, a)         | signature of each row's class, in units of ``signature_unit``      |
| theta_1 | W1, b1       | (d, h), (h,)   | first layer; H = tanh(X W1 + 1 b1')                                |
| theta_2 | W2, b2       | (h, a), (a,)   | second layer; F = H W2 + 1 b2'                                     |
| lambda  | lam          | scalar         | penalty of squared weights                                         |
| beta    | sparsity     | scalar         | weight of the divergence of mean activations q from rho; 0: none   |
| q_j     | q            | (h,)           | (mean of H_j over rows + 1) / 2, in [0, 1]                         |

    J = 1/2n |S[y] - F|^2 + lam/2 (|W1|^2 + |b1|^2 + |W2|^2 + |b2|^2) + sparsity sum_j KL(rho || q_j)

With one layer F = X W1 + 1 b1', which makes J convex. ``signature_unit`` is the root mean square of the signatures
about their mean over rows, so that penalties mean the same whatever units the data are in.

Products run in the precision of X, over blocks of rows whose sums are added up in float64: four products with X or H
a call, two of which (n d h) count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from zslplat.data.store.rows import BLOCK


class Layers(NamedTuple):
    """Weights and biases; of a network of one layer the second is empty."""

    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray | None = None
    b2: np.ndarray | None = None

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """Return F (n, a) for rows X (n, d), block by block in the precision of X."""
        layers = self.of_type(X.dtype)
        values = np.empty((len(X), len(self.b1 if self.b2 is None else self.b2)), dtype=X.dtype)
        for rows in _blocks(len(X)):
            values[rows] = layers.second(layers.first(X[rows]))
        return values

    def first(self, X: np.ndarray) -> np.ndarray:
        """Return H (n, h), or F of a network of one layer."""
        Z: np.ndarray = X @ self.W1
        Z += self.b1
        return Z if self.W2 is None else np.asarray(np.tanh(Z, out=Z))

    def second(self, H: np.ndarray) -> np.ndarray:
        """Return F (n, a) for what :meth:`first` gives."""
        return H if self.W2 is None or self.b2 is None else np.asarray(H @ self.W2 + self.b2)

    def of_type(self, dtype: np.dtype) -> Layers:
        """Return the same layers in another precision."""
        return Layers(*(None if part is None else part.astype(dtype, copy=False) for part in self))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Penalties:
    """What is added to the squared error."""

    lam: float
    sparsity: float = 0.0
    rho: float = 0.035
    biases: bool = True


class Objective:
    """J over rows X (n, d) with labels y (n,) and signatures S (c, a), as a function of one vector of parameters.

    ``hidden`` is h; None for a network of one layer.
    """

    def __init__(
        self, X: np.ndarray, y: np.ndarray, S: np.ndarray, *, hidden: int | None, penalties: Penalties
    ) -> None:
        self.X, self.y, self.penalties = X, y, penalties
        self.feature_unit, self.signature_unit = units(X, y, S)
        self.targets = (np.asarray(S, dtype=np.float64) / self.signature_unit).astype(X.dtype)
        d, a = X.shape[1], S.shape[1]
        self.shapes: list[tuple[int, ...]] = [(d, a), (a,)]
        if hidden is not None:
            self.shapes = [(d, hidden), (hidden,), (hidden, a), (a,)]

    def start(self, random: np.random.Generator) -> np.ndarray:
        """Return weights uniform in [-r, r], r = sqrt(6 / sum of all layers' sizes), and biases of 0, as one vector."""
        sizes = self.shapes[0][0] + sum(shape[0] for shape in self.shapes if len(shape) == 1)
        r = np.sqrt(6 / sizes)
        drawn = [random.uniform(-r, r, shape) if len(shape) == 2 else np.zeros(shape) for shape in self.shapes]
        return np.concatenate([part.ravel() for part in drawn])

    def split(self, vector: np.ndarray) -> Layers:
        """Return the layers that a vector of parameters holds, as views."""
        ends = np.cumsum([np.prod(shape) for shape in self.shapes])[:-1]
        return Layers(*(part.reshape(shape) for part, shape in zip(np.split(vector, ends), self.shapes, strict=True)))

    def in_units_of_data(self, vector: np.ndarray) -> Layers:
        """Return the layers that map features as they are to signatures as they are."""
        W1, b1, W2, b2 = self.split(vector)
        if W2 is None or b2 is None:
            return Layers(W1 * (self.signature_unit / self.feature_unit), b1 * self.signature_unit)
        return Layers(W1 / self.feature_unit, b1.copy(), W2 * self.signature_unit, b2 * self.signature_unit)

    def vector_of(self, layers: Layers) -> np.ndarray:
        """Return the vector of layers in units of the data: the inverse of :meth:`in_units_of_data`."""
        if layers.W2 is None or layers.b2 is None:
            parts = [layers.W1 * (self.feature_unit / self.signature_unit), layers.b1 / self.signature_unit]
        else:
            parts = [layers.W1 * self.feature_unit, layers.b1]
            parts += [layers.W2 / self.signature_unit, layers.b2 / self.signature_unit]
        return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J and its gradient, both in float64."""
        layers, n = self.split(vector), len(self.X)
        value, gradient = self._penalty(vector)
        slopes = self.split(gradient)
        scaled = Layers(layers.W1 / self.feature_unit, *layers[1:]).of_type(self.X.dtype)
        first = np.empty((n, len(layers.b1)), dtype=self.X.dtype)
        for rows in _blocks(n):
            first[rows] = scaled.first(self.X[rows])
        towards, divergence = self._sparsity(first)
        squares = 0.0
        dW1 = np.zeros_like(slopes.W1)
        for rows in _blocks(n):
            X, H = self.X[rows], first[rows]
            error = scaled.second(H) - self.targets[self.y[rows]]
            squares += float(np.square(error, dtype=np.float64).sum())
            back = error
            if scaled.W2 is not None and slopes.W2 is not None and slopes.b2 is not None:
                slopes.W2[:] += (H.T @ error) / n
                slopes.b2[:] += error.sum(axis=0, dtype=np.float64) / n
                back = error @ scaled.W2.T
                back += towards
                H *= H
                back *= np.subtract(1, H, out=H)
            dW1 += X.T @ back
            slopes.b1[:] += back.sum(axis=0, dtype=np.float64) / n
        slopes.W1[:] += dW1 / (n * self.feature_unit)
        return value + divergence + squares / (2 * n), gradient

    def _penalty(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the penalty of weights, and of biases where these are penalised, with its gradient."""
        gradient = self.penalties.lam * vector
        if not self.penalties.biases:
            for part in self.split(gradient):
                if part is not None and part.ndim == 1:
                    part[:] = 0
        return 0.5 * float(gradient @ vector), gradient

    def _sparsity(self, H: np.ndarray) -> tuple[np.ndarray, float]:
        """Return n times the derivative of the divergence by each entry of a row of H (h,), and its value."""
        beta, rho = self.penalties.sparsity, self.penalties.rho
        if not beta or len(self.shapes) == 2:
            return np.zeros(H.shape[1], dtype=H.dtype), 0.0
        q = np.clip((H.mean(axis=0, dtype=np.float64) + 1) / 2, 1e-9, 1 - 1e-9)
        value = rho * np.log(rho / q) + (1 - rho) * np.log((1 - rho) / (1 - q))
        slope = (1 - rho) / (1 - q) - rho / q
        return (beta / 2 * slope).astype(H.dtype), beta * float(value.sum())


def units(X: np.ndarray, y: np.ndarray, S: np.ndarray) -> tuple[float, float]:
    """Return the root mean square of X (n, d), and that of S[y] (n, a) about its mean over rows; 1 in place of 0."""
    squares = sum(float(np.square(X[rows], dtype=np.float64).sum()) for rows in _blocks(len(X)))
    counts, S = np.bincount(y, minlength=len(S)) / len(y), np.asarray(S, dtype=np.float64)
    scatter = float(counts @ np.square(S - counts @ S).mean(axis=1))
    return float(np.sqrt(squares / X.size)) or 1.0, float(np.sqrt(scatter)) or 1.0


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, BLOCK):
        yield slice(start, start + BLOCK)
