"""Three built-in sets of handwritten digits, made of scikit-learn's 1797 images of 8 x 8 pixels.

**Digits** are the images themselves, for classification.

**Digit sets** are rows with several labels. A row is a strip of three places, 8 x 8 pixels each, in which one to three
handwritten digits of scikit-learn's ``load_digits`` lie, of different values, at places drawn for each; its labels are
the values of its digits. About one digit in ten is *faint*, at a third of its intensity, and not counted as a label:
present, but too hard to ask for, as the objects that PASCAL VOC marks "difficult".

How images are kept apart: the images of each value are dealt to the parts of the data first, so that no image is in two
of them. With ``parts=train-val-test`` these are ``train``, ``val`` and ``test`` (a quarter, a quarter, and half of the
rows, as in VOC2007); with ``parts=folds`` they are five folds ``fold-1`` to ``fold-5`` for cross-validation.

**Digit retrieval**: which pictures show the very same written digit? The 1797 images of scikit-learn's digits are dealt
to three parts, so that no written digit is in two of them. Each of 300 makes a group of five pictures of its own: one
asks, three show the digit a little turned and moved and are right, one shows a quarter of it, too little to judge by,
and is junk. The pictures of 700 more are searched, too, and show other digits, many of the same numeral. The remaining
797 are unlabelled negatives. Each picture is taken under a light of its own, which falls off in some direction: what
all pictures vary in, and the negatives tell of. So it is a small likeness of INRIA Holidays (groups, a query left out
of its own ranking) with the junk of the Oxford buildings.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from zslplat.data.dataset import Dataset, Queries
from zslplat.data.feature_card import FeatureCard
from zslplat.data.sets.retrieval import OTHERS, UNLABELLED, RawRetrieval, RetrievalSource
from zslplat.data.source import DataPlaces, DataSource
from zslplat.space import Choice, Integer, Real, parameter


class Digits(DataSource):
    """1797 x 64 in [0, 1], ten classes, no splits of its own; ``unit`` rows of length 1 by default.

    Equations
    ---------
    A classification data set that is there after the installation, for the methods of kind coding.

    Symbols
    -------
    | part       | shape           | meaning                                                   |
    |------------|-----------------|-----------------------------------------------------------|
    | X          | (1797, 64)      | pixels in [0, 1], 8 x 8                                   |
    | y          | (1797,)         | the digit, 0 to 9                                         |

    Related
    -------
    ``digit-sets`` has several labels for a row; ``digit-pairs`` is zero-shot.
    """

    summary = "1797 handwritten digits, 64 pixels, ten classes; built in, nothing to fetch"
    licence = "CC BY 4.0 (Optical Recognition of Handwritten Digits, UCI Machine Learning Repository)"
    citation = (
        "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998; "
        "test part as distributed with scikit-learn (load_digits)"
    )
    scale = parameter("rows of unit length, or pixels in [0, 1]", Choice(("unit", "pixels")), default="unit")

    def load(self, places: DataPlaces) -> Dataset:
        """Build the data set."""
        from sklearn.datasets import load_digits

        bunch = load_digits()
        X = (bunch.data / 16).astype(np.float32)
        if self.scale == "unit":
            X /= np.linalg.norm(X, axis=1, keepdims=True)
        return Dataset(
            name="digits",
            X=X,
            y=np.asarray(bunch.target, dtype=np.int64),
            class_names=tuple(str(digit) for digit in range(10)),
            description=self.summary,
            licence=self.licence,
            citation=self.citation,
            source={"loader": "digits", **self.options},
        )


PLACES = 3

FAINT = 1 / 3

PARTS = {
    "train-val-test": {"train": 0.25, "val": 0.25, "test": 0.5},
    "folds": {f"fold-{number}": 0.2 for number in range(1, 6)},
}


class DigitSets(DataSource):
    """Ten labels, one to three of them per row; 192 pixels in [0, 1]; a tenth of the digits faint and not counted.

    Equations
    ---------
    Rows with several labels, some of which are not counted, as in PASCAL VOC.

    Symbols
    -------
    | part       | shape           | meaning                                                   |
    |------------|-----------------|-----------------------------------------------------------|
    | X          | (n, 192)        | three places of 8 x 8 pixels                              |
    | y          | (n, 10)         | 1 present, 0 absent, -1 faint: not counted                |
    | splits     |                 | ``train``, ``val``, ``test``, or five folds               |

    Related
    -------
    ``voc07`` is the real one; ``digits`` has one label for a row.
    """

    summary = "strips of one to three real handwritten digits, ten labels; built in, nothing to fetch"
    licence = Digits.licence
    citation = Digits.citation
    seed = parameter("which images, sets and places are drawn", Integer(0), default=0)
    rows = parameter("number of rows", Integer(200, 20000), default=1200)
    parts = parameter(
        "train, val and test, or five folds of cross-validation", Choice(tuple(PARTS)), default="train-val-test"
    )
    faint = parameter("share of the digits that are faint and not counted", Real(0.0, 0.5), default=0.1)

    def load(self, places: DataPlaces) -> Dataset:
        """Build the data set; the same options give the same rows anywhere."""
        options = {name: getattr(self, name) for name in self.parameters}
        X, y, splits = _draw_rows(**options)
        return Dataset(
            name="digit-sets",
            X=X,
            y=y,
            class_names=tuple(str(digit) for digit in range(10)),
            splits=splits,
            description=self.summary,
            licence=self.licence,
            citation=self.citation,
            source={"loader": "digit-sets", **options},
        )


def _draw_rows(
    *, seed: int, rows: int, parts: str, faint: float
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return X (n, 192) float32, labels y (n, 10) of 1, 0 and -1, and the rows of every part."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = (bunch.images / 16).astype(np.float32)
    rng = np.random.default_rng([seed, 41])
    shares = PARTS[parts]
    ends = np.cumsum(list(shares.values()))
    by_digit = []
    for digit in range(10):
        images_of_digit = rng.permutation(np.flatnonzero(bunch.target == digit))
        by_digit.append(np.split(images_of_digit, np.round(ends[:-1] * len(images_of_digit)).astype(np.int64)))
    X: list[np.ndarray] = []
    y: list[np.ndarray] = []
    splits = {}
    for part, (name, share) in enumerate(shares.items()):
        count = round(share * rows)
        splits[name] = len(y) + np.arange(count)
        for _ in range(count):
            strip = np.zeros((SIDE, PLACES, SIDE), dtype=np.float32)
            labels = np.zeros(10, dtype=np.int64)
            size = int(rng.integers(1, PLACES + 1))
            for digit, place in zip(rng.permutation(10)[:size], rng.permutation(PLACES)[:size], strict=True):
                is_faint = bool(rng.random() < faint)
                strip[:, place] = images[rng.choice(by_digit[digit][part])] * (FAINT if is_faint else 1.0)
                labels[digit] = -1 if is_faint else 1
            X.append(strip.reshape(-1))
            y.append(labels)
    return np.stack(X), np.stack(y), splits


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
    | queries    |                 | what asks, what is searched, what is right, what is junk  |
    | splits     |                 | ``train`` holds the negatives                             |

    Related
    -------
    ``holidays`` and ``oxford`` are the real ones.
    """

    summary = "300 queries for pictures of the same written digit, with junk and unlabelled negatives; built in"
    licence = Digits.licence
    citation = Digits.citation
    default_validation = 1 / 3
    features = parameter("pixels, or the pyramid of directions", Choice(("pixels", "pyramid")), default="pixels")
    seed = parameter("draws parts and pictures", Integer(0), default=0)

    def load(self, places: DataPlaces) -> Dataset:
        """Build the data set."""
        pyramid = self.features == "pyramid"
        raw = digit_retrieval(pyramid=pyramid, seed=self.seed)
        card = FeatureCard(self.summary, self.licence, self.citation)
        source = {"loader": "digit-retrieval", **{n: v for n, v in self.options.items() if n != "negatives"}}
        return self.assembled(raw, self.load_negatives(places), card, source)


def digit_retrieval(*, pyramid: bool = False, seed: int = 0) -> RawRetrieval:
    """Return the pictures and queries, with the rows that are kept for negatives."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng([seed, 19])
    images = rng.permutation(load_digits().images) / 16
    asking, others, negatives = np.split(images, [GROUPS, GROUPS + SEARCHED])
    shown = [asking, *(np.stack([_disturb(image, rng) for image in asking]) for _ in range(COPIES))]
    shown.append(np.stack([_keep_quarter(image, rng) for image in asking]))
    pictures = _light(np.concatenate([*shown, others, negatives]), rng)
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


def _light(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return pictures (n, 8, 8) of digits, each with a light of its own that falls off in some direction, and noise."""
    along = np.linspace(-1, 1, SIDE)
    slope = LIGHT * rng.normal(size=(2, len(images), 1, 1))
    light = 0.5 + slope[0] * along[:, None] + slope[1] * along[None, :]
    return np.asarray(np.clip(0.7 * images + 0.3 * light + NOISE * rng.normal(size=images.shape), 0, 1))


def _disturb(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the same digit (8, 8), a little turned and moved."""
    turned = ndimage.rotate(image, rng.uniform(-TURN, TURN), reshape=False, order=1)
    return np.asarray(ndimage.shift(turned, rng.uniform(-MOVE, MOVE, size=2), order=1))


def _keep_quarter(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
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
