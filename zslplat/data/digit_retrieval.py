"""A small retrieval set of real digits: which pictures show the very same written digit?

The 1797 images of scikit-learn's digits are dealt to three parts, so that no written digit is in two of them. Each of
300 makes a group of five pictures of its own: one asks, three show the digit a little turned and moved and are right,
one shows a quarter of it, too little to judge by, and is junk. The pictures of 700 more are searched, too, and show
other digits, many of the same numeral. The remaining 797 are unlabelled negatives. Each picture is taken under a light
of its own, which falls off in some direction: what all pictures vary in, and the negatives tell of. So it is a small
likeness of INRIA Holidays (groups, a query left out of its own ranking) with the junk of the Oxford buildings.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import ndimage

from zslplat.data.about import About
from zslplat.data.dataset import Dataset
from zslplat.data.digits import Digits
from zslplat.data.queries import Queries
from zslplat.data.retrieval_sets import OTHERS, RETRIEVAL_OPTIONS, UNLABELLED, RawRetrieval, RetrievalSource
from zslplat.data.source import DataPlaces
from zslplat.space import Choice, Integer, Parameter

SIDE, GROUPS, SEARCHED, COPIES = 8, 300, 700, 3
# Degrees, pixels, and parts of the range of an image.
TURN, MOVE, LIGHT, NOISE = 3.0, 0.2, 0.5, 0.03
DIRECTIONS, LEVELS = 4, (1, 2, 4)


class DigitRetrieval(RetrievalSource):
    """300 queries for pictures of the same written digit, a third of them set apart for validation; built in.

    ``features``: 64 ``pixels`` in [0, 1], or the ``pyramid`` of how much ink runs in each of four directions, in cells
    of the image at three levels (1, 2 x 2 and 4 x 4 cells, 84 values), which the kernel ``spatial-pyramid(levels=3)``
    reads. Groups and pictures are drawn with ``seed``.

    Equations
    ---------
    Queries with right answers, junk and unlabelled negatives, as in Holidays and the Oxford buildings.

    Symbols
    -------
    | part       | shape           | meaning                                                   |
    |------------|-----------------|-----------------------------------------------------------|
    | X          | (n, 64)         | pixels, or 84 values of a pyramid of directions           |
    | queries    |                 | who asks, what is searched, what is right, what is junk   |
    | splits     |                 | ``train`` holds the negatives                             |

    Related
    -------
    ``holidays`` and ``oxford`` are the real ones.
    """

    summary = "300 queries for pictures of the same written digit, with junk and unlabelled negatives; built in"
    licence = Digits.licence
    citation = Digits.citation
    default_validation = 1 / 3
    parameters: ClassVar = {
        "features": Parameter("pixels, or the pyramid of directions", Choice(("pixels", "pyramid"))),
        "seed": Parameter("draws parts and pictures", Integer(0)),
        **RETRIEVAL_OPTIONS,
    }

    def load(self, places: DataPlaces) -> Dataset:
        """Build the data set."""
        pyramid = self.options.get("features", "pixels") == "pyramid"
        raw = digit_retrieval(pyramid=pyramid, seed=int(self.options.get("seed", 0)))
        about = About(self.summary, self.licence, self.citation)
        source = {"loader": "digit-retrieval", **{n: v for n, v in self.options.items() if n != "negatives"}}
        return self.assembled(raw, self.negatives(places), about, source)


def digit_retrieval(*, pyramid: bool = False, seed: int = 0) -> RawRetrieval:
    """Return the pictures and queries, with the rows that are kept for negatives."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng([seed, 19])
    images = rng.permutation(load_digits().images) / 16
    own, others, negatives = np.split(images, [GROUPS, GROUPS + SEARCHED])
    shown = [own, *(np.stack([_again(image, rng) for image in own]) for _ in range(COPIES))]
    shown.append(np.stack([_quarter(image, rng) for image in own]))
    pictures = _lit(np.concatenate([*shown, others, negatives]), rng)
    group, rows = np.arange(GROUPS), np.arange(len(pictures) - len(negatives))
    copies = len(shown) - 1
    names = [f"{kind}-{number}" for kind in ("query", "a", "b", "c", "quarter") for number in group]
    names += [f"other-{number}" for number in range(len(others))]
    names += [f"negative-{number}" for number in range(len(negatives))]
    return RawRetrieval(
        name="digit-retrieval",
        X=pyramid_of(pictures) if pyramid else pictures.reshape(len(pictures), -1).astype(np.float32),
        names=names,
        classes=[f"digit {number}" for _ in shown for number in group]
        + [OTHERS] * len(others)
        + [UNLABELLED] * len(negatives),
        queries=Queries(
            rows=group,
            database=rows,
            positive=np.concatenate([np.column_stack([group, k * GROUPS + group]) for k in range(1, copies)]),
            junk=np.concatenate([np.column_stack([group, k * GROUPS + group]) for k in (0, copies)]),
        ),
        negatives=np.arange(len(rows), len(pictures)),
    )


def _lit(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return pictures (n, 8, 8) of digits, each with a light of its own that falls off in some direction, and noise."""
    along = np.linspace(-1, 1, SIDE)
    slope = LIGHT * rng.normal(size=(2, len(images), 1, 1))
    light = 0.5 + slope[0] * along[:, None] + slope[1] * along[None, :]
    return np.asarray(np.clip(0.7 * images + 0.3 * light + NOISE * rng.normal(size=images.shape), 0, 1))


def _again(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the same digit (8, 8), a little turned and moved."""
    turned = ndimage.rotate(image, rng.uniform(-TURN, TURN), reshape=False, order=1)
    return np.asarray(ndimage.shift(turned, rng.uniform(-MOVE, MOVE, size=2), order=1))


def _quarter(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the image with all but one quarter blank."""
    half = SIDE // 2
    shown = np.zeros_like(image)
    part = tuple(slice(half * i, half * (i + 1)) for i in rng.integers(0, 2, size=2))
    shown[part] = image[part]
    return np.asarray(shown)


def pyramid_of(images: np.ndarray) -> np.ndarray:
    """Return (n, 84) float32: level by level, cell by cell from top left, the ink of the cell by direction of its edge.

    The values of an image at each level sum to 1, or to 0 for an image of one colour.
    """
    down, across = np.gradient(images, axis=(1, 2))
    strength = np.hypot(down, across)
    direction = (np.arctan2(down, across) % np.pi / np.pi * DIRECTIONS).astype(np.int64) % DIRECTIONS
    by_direction = np.stack([np.where(direction == one, strength, 0) for one in range(DIRECTIONS)], axis=-1)
    total = strength.sum(axis=(1, 2))[:, None]
    levels = []
    for cells in LEVELS:
        width = SIDE // cells
        parts = by_direction.reshape(len(images), cells, width, cells, width, DIRECTIONS).sum(axis=(2, 4))
        levels.append(parts.reshape(len(images), -1) / np.maximum(total, 1e-12))
    return np.concatenate(levels, axis=1).astype(np.float32)
