"""What linear and kernel exemplar machines share: from coordinates of rows to scores and decision values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing
from zslplat.errors import UsageError
from zslplat.methods.base import Arrays, Features
from zslplat.methods.exemplars import machine
from zslplat.methods.exemplars.base import Encoding, ExemplarMethod
from zslplat.methods.exemplars.moments import Spectrum
from zslplat.space import POSITIVE, Choice, Real, parameter


class SquareLossMethod(ExemplarMethod):
    """Base of the methods whose machines have the closed form of :mod:`zslplat.methods.exemplars.machine`.

    ``lam`` is in units of the variance of the negatives, their mean squared distance from their mean (in the space of
    the kernel, where there is one), so that one range serves features of any length and kernels of any bandwidth; or
    absolute (``scale="absolute"``). What it comes to is ``lam_``.
    """

    citation = (
        "Rezende, Zepeda, Ponce, Bach, Perez: Kernel square-loss exemplar machines for image retrieval. CVPR 2017"
    )
    preprocessing = Preprocessing(features=("l2",))
    lam = parameter(
        "ridge lambda of every machine, in the unit that scale names", POSITIVE, Real(1e-6, 10, log=True), default=1e-2
    )
    scale = parameter(
        "unit of lam: variance of the negatives, or absolute", Choice(("variance", "absolute")), default="variance"
    )
    theta = parameter(
        "weight of the positives against the negatives; cosines of single ones ignore it", POSITIVE, default=1.0
    )
    scores = parameter(
        "cosine between machines, or their raw inner product", Choice(("cosine", "raw")), default="cosine"
    )
    lam_: float
    values_: np.ndarray
    offset_: np.ndarray
    count_: int

    @abstractmethod
    def _coordinates(self, X: Features) -> Arrays:
        """Return ``vectors`` (n, r), and ``squares`` (n,) where rows have a part outside the span."""

    @abstractmethod
    def _points(self, X: Features) -> np.ndarray:
        """Return the rows as :meth:`_outside` takes them."""

    @abstractmethod
    def _outside(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the kernel values (n_a, n_b) of points."""

    def encode(
        self,
        X: Features,
        *,
        statistics: Mapping[str, np.ndarray] | None = None,
        member: np.ndarray | None = None,
        group: np.ndarray | None = None,
    ) -> Encoding:
        """Encode rows X (n, ...).

        ``member`` (n,) marks rows that are among the negatives: their machines are those of the pool without them.
        ``group`` (n,) names the exemplar that each row is a positive of; exemplars come in the sorted order of names.
        """
        if statistics is None:
            statistics = self._coordinates(X)
        vectors, squares = np.asarray(statistics["vectors"]), statistics.get("squares")
        for name, array in (("member", member), ("group", group)):
            if array is not None and np.shape(array) != (len(vectors),):
                raise UsageError(f"{name} has shape {np.shape(array)}; expected one entry for each of {len(X)} rows")
        marks = None if member is None else np.asarray(member, dtype=bool)
        numbers = None if group is None else np.unique(np.asarray(group), return_inverse=True)[1]
        points = None if squares is None else self._points(X)
        return Encoding(vectors, points, squares, marks, numbers)

    def similarity(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return the scores (n_a, n_b) between the machines of two encodings."""
        both = self._machines(A), self._machines(B)
        raw = self.scores == "raw"
        return machine.similarity(*both, self._spectrum(), self.theta, self._outside, raw=raw)

    def decision_function(self, A: Encoding, X: np.ndarray) -> np.ndarray:
        """Return the value (n_a, n) of every machine of A on rows X (n, ...), bias included."""
        machines, rows = self._machines(A), self.encode(X)
        return machine.decision_values(machines, rows, self._spectrum(), self.theta, self._outside)

    def restore(self, state: Mapping[str, Any]) -> Self:
        """Set what :meth:`state` returned; a state without ``lam_`` is older than units, so that lam was absolute."""
        return super().restore({"lam_": self.lam, **state})

    def _settle(self, variance: float, square: float) -> None:
        """Turn lam into an absolute number: ``variance`` of the negatives, ``square`` the mean of their k(x, x)."""
        # Negatives that are all alike have no scale, and no penalty changes the direction of a machine against them.
        relative = self.scale == "variance" and variance > np.finfo(float).eps * square
        self.lam_ = self.lam * variance if relative else self.lam

    def _spectrum(self) -> Spectrum:
        return Spectrum(self.values_, self.offset_, self.count_)

    def _machines(self, encoding: Encoding) -> machine.Machines:
        return machine.build(encoding, self._spectrum(), self.lam_, self.theta, self._outside)
