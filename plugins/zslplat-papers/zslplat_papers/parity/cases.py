"""Parity: the equations of a paper, written out slowly, beside the method that has them.

A :class:`Case` names a method, the equation, and a reference: a function that fits the method on a small problem and
returns, for each quantity, what the method has and what the equation gives. The tests of the methods use the same
references.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from zslplat.registry import component
from zslplat.spec import Spec

# By quantity: what the method has, and what the equation gives.
Pairs = Mapping[str, tuple[Any, Any]]
# The quantity by which classes are compared: the shares of rows that change their class are shown beside it.
SCORES = "scores"
EXACT = 1e-15


@dataclass(frozen=True)
class Case:
    """A method beside an equation.

    ``method``: a spec, such as ``exem-1nn(variant=paper)``, and ``parameters`` that make the problem small;
    ``tolerance``: what rounding and the stated precision of a solver explain; ``why``: why the method departs from the
    equation, empty where it does not, or why there is no ``reference``.
    """

    method: str
    equation: str
    reference: Callable[[Any], Pairs] | None = None
    why: str = ""
    tolerance: float = 1e-6
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the method."""
        return Spec.parse(self.method).name

    @property
    def variant(self) -> str:
        """What of the method is meant: the parameters in its spec, ``default`` where there are none."""
        parameters = Spec.parse(self.method).parameters
        if set(parameters) == {"variant"}:
            return str(parameters["variant"])
        return ", ".join(f"{name}={value}" for name, value in parameters.items()) or "default"

    def build(self) -> Any:
        """Return the method, not fitted."""
        spec = Spec.parse(self.method)
        return component("methods", spec.name).build({**self.parameters, **spec.parameters})

    def run(self) -> Parity:
        """Fit the method beside its reference."""
        if self.reference is None:
            return Parity(self, {})
        differences: dict[str, float] = {}
        for quantity, (ours, expected) in self.reference(self.build()).items():
            differences[quantity] = difference(ours, expected)
            if quantity == SCORES:
                differences["labels"] = float(np.mean(np.argmax(ours, axis=1) != np.argmax(expected, axis=1)))
        return Parity(self, differences)


@dataclass(frozen=True)
class Parity:
    """What came of a case: by quantity the largest difference, relative to the largest entry of the reference."""

    case: Case
    differences: Mapping[str, float]

    @property
    def equal(self) -> bool:
        """Whether there is a reference, and the method agrees with it."""
        return bool(self.differences) and max(self.differences.values()) <= self.case.tolerance

    @property
    def verdict(self) -> str:
        """``equal to within 1e-9``, ``departs``, or ``no reference``."""
        if not self.differences:
            return "no reference"
        if not self.equal:
            return "departs"
        largest = max(max(self.differences.values()), EXACT)
        return f"equal to within 1e{math.ceil(math.log10(largest))}"

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain values."""
        case = self.case
        return {
            "method": case.name,
            "variant": case.variant,
            "verdict": self.verdict,
            "differences": dict(self.differences),
            "equation": case.equation,
            "why": case.why,
        }


def difference(ours: Any, expected: Any) -> float:
    """Return the largest difference of two arrays or numbers, relative to the largest entry of the second."""
    ours, expected = np.asarray(ours, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if ours.shape != expected.shape:
        return math.inf
    apart, largest = np.abs(ours - expected).max(initial=0.0), np.abs(expected).max(initial=0.0)
    return float(apart / largest) if largest > 0 else float(apart)


@dataclass(frozen=True)
class Data:
    """A small zero-shot problem: rows X (n, d), labels y (n,), signatures S (c, a), rows and signatures of a pool."""

    X: np.ndarray
    y: np.ndarray
    S: np.ndarray
    pool: np.ndarray
    candidates: np.ndarray

    def fit(self, method: Any) -> Any:
        """Return the method, fitted."""
        return method.fit(self.X, self.y, self.S)

    def scores(self, method: Any) -> np.ndarray:
        """Return the scores of the pool."""
        return np.asarray(method.decision_function(self.pool, self.candidates))


@cache
def non_negative(n: int = 90, d: int = 12, c: int = 6, a: int = 5, unseen: int = 4, seed: int = 0) -> Data:
    """Rows of unit length and signatures, all non-negative."""
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), np.arange(c), random.integers(0, c, n - 2 * c)])
    S = random.uniform(0, 1, (c + unseen, a))
    rows = np.concatenate([y, c + random.integers(0, unseen, 40)])
    X = S[rows] @ random.gamma(0.5, 1, (a, d)) + 0.1 * random.gamma(1, 1, (len(rows), d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Data(X[:n], y, S[:c], X[n:], S[c:])


@cache
def centred() -> Data:
    """The same rows and signatures about their means over the training rows and seen classes."""
    data = non_negative()
    mean, middle = data.X.mean(axis=0), data.S.mean(axis=0)
    X, pool, S, candidates = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (data.X - mean, data.pool - mean, data.S - middle, data.candidates - middle)
    )
    return Data(X, data.y, S, pool, candidates)
