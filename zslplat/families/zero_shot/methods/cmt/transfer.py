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

Cross-modal transfer: rows are mapped into the space of signatures, and take the class whose signature is nearest.

Socher, Ganjoo, Manning and Ng, "Zero-Shot Learning Through Cross-Modal Transfer", NIPS 2013. Symbols, the objective and
its units in :mod:`zslplat.families.zero_shot.methods.cmt.transfer`. Where the paper leaves something open this is done:

* Penalty of the biases, divergence of activations and start are those of the authors' code (mganjoo/zslearn), and
  ``variant="authors"`` has its constants: 200 hidden units, lambda 1e-4, sparsity 5, rho 0.035, 500 iterations. By
  default the divergence is off. ``variant="paper"`` is the squared error alone, as the paper prints it (from memory).
* All classes have the same isotropic variance, so that the likeliest class is the nearest signature.
* Rows are sorted by their product with one fixed vector first, so that their order does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.rows import blocks_of
from zslplat.families.zero_shot.methods.base import ZeroShotMethod, check_fit_inputs
from zslplat.methods.base import Arrays, Diagnostics, Prepared, Statistics
from zslplat.methods.quasi_newton import Iterate, minimise
from zslplat.methods.rows import row_keys
from zslplat.space import BOOLEAN, NON_NEGATIVE, POSITIVE, Choice, Integer, Real, parameter


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
        for where, rows in blocks_of(X):
            values[where] = layers.second(layers.first(rows))
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
        for where, X in blocks_of(self.X):
            first[where] = scaled.first(X)
        towards, divergence = self._sparsity(first)
        squares = 0.0
        dW1 = np.zeros_like(slopes.W1)
        for where, X in blocks_of(self.X):
            H = first[where]
            error = scaled.second(H) - self.targets[self.y[where]]
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
    squares = sum(float(np.square(rows, dtype=np.float64).sum()) for _, rows in blocks_of(X))
    counts, S = np.bincount(y, minlength=len(S)) / len(y), np.asarray(S, dtype=np.float64)
    scatter = float(counts @ np.square(S - counts @ S).mean(axis=1))
    return float(np.sqrt(squares / X.size)) or 1.0, float(np.sqrt(scatter)) or 1.0


ITERATIONS = 10  # of L-BFGS in a round


class CMT(ZeroShotMethod):
    r"""Cross-modal transfer: a network with tanh units from features to signatures, trained by L-BFGS on all rows.

    ``layers=1`` is the linear map, without tanh. Learned: ``W1_`` (d, h), ``b1_`` (h,), ``W2_`` (h, a), ``b2_`` (a,);
    of one layer ``W1_`` (d, a), ``b1_`` (a,). Scores are minus the squared distance of the mapped row and the
    signature. ``diagnostics_`` lists objective and length of the gradient by iteration; ``converged`` is 1 where the
    gradient fell below ``stop`` times its first length, else 0. Not tagged ``stationary``: validation stops the rounds
    before the lowest point.

    Equations
    ---------
    A network maps a row next to the signature of its class:

    $$f(x) = W_2^\top \tanh(W_1^\top x + b_1) + b_2, \qquad \min_{W, b} \frac{1}{2n} \sum_i \lVert s_{y_i} - f(x_i)
    \rVert^2 + \frac{\lambda}{2} \left( \lVert W_1 \rVert^2 + \lVert W_2 \rVert^2 \right)$$

    The score of a class is minus the squared distance of f(x) from its signature. ``penalise_biases`` adds the biases
    to the penalty, ``sparsity`` a divergence of the mean activations q from ``rho``, as ``variant="authors"`` has it;
    ``variant="paper"`` has neither penalty:

    $$\beta \sum_j \left( \rho \log \frac{\rho}{q_j} + (1 - \rho) \log \frac{1 - \rho}{1 - q_j} \right), \qquad
    q_j = \frac{1}{2n} \sum_i (1 + h_{ij})$$

    Related
    -------
    ``cmt-gaussian`` and ``cmt-loop`` add a gate that tells new rows from seen ones; ``sae`` is a linear map that goes
    both ways; ``ridge-prototypes`` maps signatures to features.
    """

    summary = "cross-modal transfer: two tanh layers from features to signatures, nearest signature"
    citation = "Socher, Ganjoo, Manning, Ng: Zero-Shot Learning Through Cross-Modal Transfer. NIPS 2013"
    tags: ClassVar[tuple[str, ...]] = ("inductive", "network", "monotone")
    preprocessing = Preprocessing(features=("standardise",), signatures=("center", "l2"))
    random = True
    step_parameter = "rounds"
    tolerance = 1e-2
    tolerance_reason = "hundreds of iterations of an objective that is not convex amplify rounding in single precision"
    hidden = parameter("hidden units (200 in the authors' code)", Integer(1), Integer(25, 400, log=True), default=100)
    lam = parameter(
        "penalty of squared weights, for features and signatures of unit variance (1e-4 in the authors' code)",
        NON_NEGATIVE,
        Real(1e-5, 1.0, log=True),
        default=1e-2,
    )
    layers = parameter("two layers with tanh between, or one, which is linear", Choice((2, 1)), default=2)
    sparsity = parameter("weight of the divergence of mean activations from rho", NON_NEGATIVE, default=0.0)
    rho = parameter("mean activation that sparsity asks for", Real(1e-6, 1 - 1e-6), default=0.035)
    penalise_biases = parameter("biases are penalised like weights", BOOLEAN, default=True)
    rounds = parameter(f"rounds of {ITERATIONS} iterations of L-BFGS", Integer(1), default=20)
    stop = parameter("stop below this share of the first gradient's length", POSITIVE, default=1e-5)
    seed = parameter("seed of the start", Integer(0), default=0)
    variant = parameter(
        "default; paper: the squared error alone; authors: the constants of their code, sparsity among them",
        Choice(("default", "paper", "authors")),
        default="default",
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"hidden": 200, "lam": 0.0, "sparsity": 0.0},
        "authors": {"hidden": 200, "lam": 1e-4, "sparsity": 5.0, "rho": 0.035, "rounds": 50},
    }

    def _fit_steps(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Prepared) -> Iterator[int]:
        """Fit round by round, yielding 1, 2, ..., until the gradient is small or the rounds are spent."""
        check_fit_inputs(X, y, S)
        order = np.argsort(row_keys("X", X), kind="stable")
        X, y = X[order], y[order]
        X = X if np.issubdtype(X.dtype, np.floating) else X.astype(np.float64)
        objective = self._objective(X, y, S)
        start = objective.start(np.random.default_rng(self.seed))
        iterates = minimise(objective, start, tolerance=self.stop)
        self.diagnostics_ = Diagnostics({"objective": [], "gradient": []})
        self._report(next(iterates))
        self._begin(X, y, S, statistics)
        for number in range(1, self.rounds + 1):
            iterate = None
            for iterate in islice(iterates, ITERATIONS):
                self._report(iterate)
            if iterate is None and number > 1:
                return
            self._take(objective.in_units_of_data(start if iterate is None else iterate.point), X, y)
            yield number

    def _scores(self, X: np.ndarray, S: np.ndarray, seen: np.ndarray | None, statistics: Prepared) -> np.ndarray:
        """Return minus the squared distance of every mapped row of X (n, d) and every signature of S (c, a)."""
        return minus_squared_distances(self.mapped(X), S)

    def mapped(self, X: np.ndarray) -> np.ndarray:
        """Return rows X (n, d) in the space of signatures (n, a), in the precision of X."""
        return self._layers.outputs(X if np.issubdtype(X.dtype, np.floating) else X.astype(np.float64))

    def objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
        """Return J of rows X (n, d) with labels y and signatures S (c, a) at the learned layers, in float64."""
        objective = self._objective(np.asarray(X, dtype=np.float64), y, S)
        return objective(objective.vector_of(self._layers))[0]

    def matrices(self) -> Arrays:
        """Return the weights and biases."""
        parts = {"W1": self.W1_, "b1": self.b1_, "W2": self.W2_, "b2": self.b2_}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def _layers(self) -> Layers:
        return Layers(self.W1_, self.b1_, self.W2_, self.b2_)

    def _objective(self, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> Objective:
        penalties = Penalties(self.lam, self.sparsity, self.rho, self.penalise_biases)
        return Objective(X, y, S, hidden=self.hidden if self.layers == 2 else None, penalties=penalties)

    def _begin(self, X: np.ndarray, y: np.ndarray, S: np.ndarray, statistics: Statistics) -> None:
        """Learn what no round changes, of rows in their own order; nothing here."""

    def _take(self, layers: Layers, X: np.ndarray, y: np.ndarray) -> None:
        """Keep what was learned by now; the rows of the fit come in their own order."""
        self.W1_, self.b1_, self.W2_, self.b2_ = layers

    def _report(self, iterate: Iterate) -> None:
        series, numbers = self.diagnostics_.series, self.diagnostics_.numbers
        series["objective"].append(iterate.value)
        series["gradient"].append(iterate.slope)
        numbers["iterations"] = float(len(series["objective"]) - 1)
        numbers["gradient"] = iterate.slope
        numbers["converged"] = float(iterate.converged)


def minus_squared_distances(F: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return -|f - s|^2 (n, c) for rows of F (n, a) and S (c, a), in float64."""
    F, S = np.asarray(F, dtype=np.float64), np.asarray(S, dtype=np.float64)
    crossed = 2 * F @ S.T
    crossed -= np.einsum("ij,ij->i", F, F)[:, None]
    crossed -= np.einsum("ij,ij->i", S, S)
    return np.asarray(crossed)
