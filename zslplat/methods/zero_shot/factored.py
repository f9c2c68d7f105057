"""A learned matrix as the product of a large basis and a small core, multiplied out only where somebody asks for it.

A closed form in the eigenbasis Q (d, r) of X'X gives W = Q core. Scoring needs W times the few candidate signatures,
which is Q (core S'): forming W for every trial of a search would cost more than the rest of the trial.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from zslplat.methods.base import State
from zslplat.methods.zero_shot.base import ZeroShotMethod


class Factors:
    """The pair Q (d, r) and core (r, a); both stay as they are, so that copies of a method share them."""

    def __init__(self, Q: np.ndarray, core: np.ndarray) -> None:
        self.Q, self.core = Q, core

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def product(self) -> np.ndarray:
        """Return Q core (d, a)."""
        return np.asarray(self.Q @ self.core)

    def times(self, right: np.ndarray) -> np.ndarray:
        """Return Q core right (d, c) for right (a, c), the smaller product first."""
        return np.asarray(self.Q @ (self.core @ right))


class FactoredMethod(ZeroShotMethod):
    """A method that learns one matrix ``W_``, which may be held as factors until it is read."""

    _factors: Factors | None = None
    _W: np.ndarray | None = None
    # Whether W is the transpose of the product of the factors.
    _transposed: bool = False

    @property
    def W_(self) -> np.ndarray:
        """The learned matrix."""
        if self._W is None:
            if self._factors is None:
                raise AttributeError(f"{type(self).__name__} has no W_ yet; fit it first")
            product = self._factors.product()
            self._W = np.ascontiguousarray(product.T) if self._transposed else product
        return self._W

    @W_.setter
    def W_(self, value: np.ndarray) -> None:
        self._W, self._factors = value, None

    def learn(self, factors: Factors) -> None:
        """Take what a fit found in place of whatever was learned before."""
        self._factors, self._W = factors, None

    def state(self) -> State:
        """Return what was learned, W multiplied out."""
        learned = self._factors is not None or self._W is not None
        return super().state() | ({"W_": self.storable("W_", self.W_)} if learned else {})
