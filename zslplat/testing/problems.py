"""Small problems that methods are checked on, preprocessed as the method declares, float32 as data sets mostly are.

Classes are bit patterns of attributes; a row is max(0, attributes of its class, noisy, times a random map, plus an
offset), so that features are non-negative and about half of them zero, like those of a rectified layer. Classes lie
far enough apart for any sensible method to do better than guessing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from zslplat.data.store.preprocessing import Preprocessing, apply_steps


@dataclass(frozen=True)
class Sizes:
    """Rows to fit on, rows to score, features, attributes, classes."""

    rows: int = 96
    pool: int = 60
    dimensions: int = 12
    attributes: int = 6
    seen: int = 8
    unseen: int = 4
    # Attributes beside the others in which the seen classes do not differ.
    shared: int = 0


SMALL = Sizes()
# Enough rows for methods that learn in small steps, and for graphs over the rows of a batch.
# More attributes than seen classes, and some that these share: much of their space is empty but for rounding.
WITH_SHARED = Sizes(attributes=12, seen=7, shared=2)
PLENTY = Sizes(rows=800, pool=360)
# Large enough for BLAS to share the products out to threads.
WIDE = Sizes(rows=144, pool=60, dimensions=48, attributes=12, seen=12, unseen=6)


@dataclass(frozen=True)
class ClassProblem:
    """Rows X (n, d) with labels y (n,) in 0..c-1 and signatures S (c, a), and a pool of unseen classes to score."""

    X: np.ndarray
    y: np.ndarray
    S: np.ndarray
    X_pool: np.ndarray
    y_pool: np.ndarray
    S_pool: np.ndarray
    seen: np.ndarray


def class_problem(preprocessing: Preprocessing, sizes: Sizes = SMALL, *, seed: int = 0) -> ClassProblem:
    """Return a zero-shot problem: the pool holds rows of seen and of unseen classes, candidates are all classes.

    ``S_pool`` lists the seen classes first; ``seen`` marks them; ``y_pool`` are rows of ``S_pool``. Rows come in no
    order.
    """
    rng = np.random.default_rng([seed, 21])
    classes = sizes.seen + sizes.unseen
    attributes = _with_shared(_patterns(classes, sizes.attributes, rng), sizes, seed)
    count = attributes.shape[1]
    mapping = rng.normal(size=(count, sizes.dimensions))
    offset = rng.normal(size=sizes.dimensions)
    y = rng.permutation(np.arange(sizes.rows) % sizes.seen)
    y_pool = rng.permutation(np.arange(sizes.pool) % classes)

    def rows(labels: np.ndarray) -> np.ndarray:
        shown = attributes[labels] - 0.5 + 0.1 * rng.normal(size=(len(labels), count))
        noise = 0.05 * rng.normal(size=(len(labels), sizes.dimensions))
        return np.asarray(np.maximum(shown @ mapping + offset + noise, 0), dtype=np.float32)

    X, X_pool = apply_steps(preprocessing.features, rows(y), rows(y_pool))
    S, S_pool = apply_steps(preprocessing.signatures, attributes[: sizes.seen], attributes, every=attributes)
    return ClassProblem(X, y, S, X_pool, y_pool, S_pool, np.arange(classes) < sizes.seen)


def classification_problem(preprocessing: Preprocessing, sizes: Sizes = SMALL, *, seed: int = 0) -> ClassProblem:
    """Return the same kind of problem with rows to score from the classes that were trained on."""
    return class_problem(preprocessing, replace(sizes, unseen=0), seed=seed)


def _with_shared(attributes: np.ndarray, sizes: Sizes, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 22])
    shared = rng.random((len(attributes), sizes.shared))
    shared[: sizes.seen] = 0.3
    return np.insert(attributes, rng.integers(0, attributes.shape[1] + 1, sizes.shared), shared, axis=1)


def _patterns(count: int, attributes: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct 0/1 rows with a little variation, every attribute present in some and absent in others."""
    while True:
        distinct = np.unique(rng.integers(0, 2, size=(8 * count, attributes)), axis=0)
        rng.shuffle(distinct)
        patterns = distinct[:count]
        shares = patterns[: max(2, count // 2)].mean(axis=0)
        if len(patterns) == count and (shares > 0).all() and (shares < 1).all():
            return np.asarray(0.9 * patterns + 0.1 * rng.random(patterns.shape))
