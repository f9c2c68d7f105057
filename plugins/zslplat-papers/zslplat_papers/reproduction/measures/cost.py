"""What a fit costs: processor time by the number of rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from zslplat_papers.reproduction.measures.ground import DRAWN, Ground, build, over_draws
from zslplat_papers.reproduction.verdicts import Contrast

ROWS = (4000, 8000, 16000, 32000)
CLASSES, FEATURES, SIGNATURES = 40, 128, 40


def power_of_rows(ground: Ground, options: Mapping[str, Any]) -> Iterator[Contrast]:
    """Fit ``method`` to nested parts of drawn rows; the difference is ``at_most`` less the power of rows in the time.

    The power is the slope of the line through the logarithms of processor time and rows, on one thread.
    """
    if not ground.wants(DRAWN):
        return
    powers: list[float] = []
    with threadpool_limits(1):
        for number in range(ground.draws):
            X, y, S = drawn(ROWS[-1], number)
            if not powers:
                build(options["method"]).fit(X[: ROWS[0]], y[: ROWS[0]], S)  # compiles, and imports what is late
            spent = [_seconds(options["method"], X[:rows], y[:rows], S) for rows in ROWS]
            powers.append(float(np.polyfit(np.log(ROWS), np.log(spent), 1)[0]))
    limit = float(options["at_most"])
    what = f"{limit} - power of the rows in the time of {options['method']}"
    yield over_draws(f"{DRAWN}: {what}", limit - np.array(powers), "draws")


def drawn(rows: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features (n, d), labels (n,) in a random order, and signatures (c, a), both not negative."""
    rng = np.random.default_rng([number, 23])
    S = rng.random((CLASSES, SIGNATURES))
    y = rng.permutation(np.arange(rows) % CLASSES)
    means = S @ rng.standard_normal((SIGNATURES, FEATURES)) / SIGNATURES**0.5
    X = np.maximum(means[y] + rng.standard_normal((rows, FEATURES)), 0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X.astype(np.float32), y, S


def _seconds(method: str, X: np.ndarray, y: np.ndarray, S: np.ndarray) -> float:
    """Return the least processor time of two fits: other work on the machine only adds."""
    seconds = []
    for _ in range(2):
        one = build(method)
        begun = time.process_time()
        one.fit(X, y, S)
        seconds.append(time.process_time() - begun)
    return min(seconds)
