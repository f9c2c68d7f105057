"""Digit pairs: a zero-shot data set of real images that needs no file to fetch.

A class is an ordered pair of digits. A row is two handwritten digits of scikit-learn's ``load_digits`` (8 x 8 pixels
each) side by side; a class signature is the strokes of the two digits on a seven-segment display. Every stroke
pattern of an unseen pair has been seen on each side, but never together.

How images are kept apart. The images of each digit value are dealt into disjoint pools, and both halves of a row come
from one pool; the pool is the row's *group*, so rows of different groups share no image.

* ``test_unseen`` and ``test_seen`` have pools of their own.
* The 80 seen classes form four blocks of 20. Each block draws its training rows from its own five pools. A validation
  fold holds out one of the first three blocks, so its training and validation classes share no image, whatever rows
  are taken.
* Whoever holds out rows of training classes (validation of the generalised protocol) holds out whole groups: every
  class has as many rows in each of its block's five groups, so one group per block is a fifth of every class.

The classes of a block are diagonals of the 10 x 10 table of pairs (value b = a + shift, after a random relabelling),
so each digit occurs equally often on each side of every block, and among the unseen classes.

Rows of one pool share images, so they are not independent: the 800 rows of ``test_unseen`` are pairs of 385 images.
Bootstrap intervals that draw rows would be too narrow there. Standard errors that let rows with a common image go
together are 1.7 (mfmr-joint) and 1.9 (eszsl) times as large for per-class accuracies, and 1.4 times for their
difference. So each row says which two images it is made of (``made_of``), and intervals draw images.
"""

from __future__ import annotations

import numpy as np

from zslplat.data.dataset import ClassFold, Dataset, SignatureSet
from zslplat.data.source import DataPlaces, DataSource
from zslplat.errors import UsageError
from zslplat.space import Integer, parameter

# Strokes in the usual order a..g: top, upper right, lower right, bottom, lower left, upper left, middle.
STROKES = ("top", "upper right", "lower right", "bottom", "lower left", "upper left", "middle")

SEVEN_SEGMENTS = np.array(
    [
        [1, 1, 1, 1, 1, 1, 0],
        [0, 1, 1, 0, 0, 0, 0],
        [1, 1, 0, 1, 1, 0, 1],
        [1, 1, 1, 1, 0, 0, 1],
        [0, 1, 1, 0, 0, 1, 1],
        [1, 0, 1, 1, 0, 1, 1],
        [1, 0, 1, 1, 1, 1, 1],
        [1, 1, 1, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 1, 1],
    ],
    dtype=np.float64,
)

BLOCKS = 4  # of 20 seen classes; the first three are held out in turn

POOLS_PER_BLOCK = 5

IMAGES_PER_POOL = 6  # of each digit value: 4 blocks x 5 pools x 6 images = 120 of the 174 to 183 that there are

TEST_SEEN_IMAGES = 20  # of each digit value; the remaining 34 to 43 make the unseen test rows

TEST_SEEN_POOL = BLOCKS * POOLS_PER_BLOCK

TEST_UNSEEN_POOL = TEST_SEEN_POOL + 1


class DigitPairs(DataSource):
    r"""100 classes of two real digits side by side; 80 seen, 20 unseen; three class-disjoint folds; d=128, a=14.

    Equations
    ---------
    Real images whose classes are put together: seen and unseen pairs share their parts, as seen and unseen animals
    share attributes. The signature of a pair is the seven strokes of either digit:

    $$s(a, b) = (\mathrm{strokes}(a), \mathrm{strokes}(b)) \in \{0, 1\}^{14}$$

    Symbols
    -------
    | part       | shape           | meaning                                                   |
    |------------|-----------------|-----------------------------------------------------------|
    | X          | (4800, 128)     | two images of 8 x 8 pixels side by side                   |
    | S          | (100, 14)       | strokes of a seven-segment display                        |
    | splits     |                 | 80 seen classes in ``train`` and ``test_seen``, 20 unseen |

    Related
    -------
    ``digit-sets`` has several labels for a row; ``digits`` has ten classes; ``synthetic`` has any size.
    """

    summary = "100 pairs of real handwritten digits, described by seven-segment strokes; built in, nothing to fetch"
    licence = "CC BY 4.0 (Optical Recognition of Handwritten Digits, UCI Machine Learning Repository)"
    citation = (
        "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998; "
        "test part as distributed with scikit-learn (load_digits)"
    )
    drawn_by = "seed"
    folded_by = ("fold", BLOCKS + 1)
    seed = parameter("which images, pairs and classes are drawn", Integer(0), default=0)
    rows = parameter("training rows per class, a multiple of 5", Integer(5, 180), default=40)
    fold = parameter("which fifth of the classes is unseen", Integer(0, BLOCKS), default=0)

    def load(self, places: DataPlaces) -> Dataset:
        """Build the data set; the same seed gives the same rows anywhere."""
        seed, rows = self.seed, self.rows
        if rows % POOLS_PER_BLOCK:
            raise UsageError(f"digit-pairs: rows={rows} is no multiple of {POOLS_PER_BLOCK}, the pools of a class")
        return digit_pairs(seed=seed, rows_per_pool=rows // POOLS_PER_BLOCK, fold=self.fold)


def digit_pairs(*, seed: int = 0, rows_per_pool: int = 8, fold: int = 0) -> Dataset:
    """Return the data set: X (4800, 128) float32 in [0, 1] by default, classes named ``00`` to ``99``.

    ``rows_per_pool``: rows of each seen class in each of its block's five pools. There are 10 test rows for each seen
    class and 40 for each unseen one. In each ``fold``, 0 to 4, other 20 classes are unseen.
    """
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(seed)
    bunch = load_digits()
    pixels = (bunch.data / 16).astype(np.float32)
    pools = _deal_pools(bunch.target, rng)
    diagonals = np.roll(_diagonals(rng), -2 * fold, axis=0)
    unseen, blocks = diagonals[:2], [diagonals[2 * b + 2 : 2 * b + 4] for b in range(BLOCKS)]

    left: list[np.ndarray] = []
    right: list[np.ndarray] = []
    y: list[np.ndarray] = []
    groups: list[np.ndarray] = []
    made_of: list[np.ndarray] = []
    splits: dict[str, list[np.ndarray]] = {"train": [], "test_seen": [], "test_unseen": []}
    total = 0

    def add(split: str, classes: np.ndarray, pool: int, count: int) -> None:
        nonlocal total
        for label in classes:
            a, b = _draw_pairs(pools[pool][label // 10], pools[pool][label % 10], count, rng)
            left.append(a)
            right.append(b)
            y.append(np.full(len(a), label))
            groups.append(np.full(len(a), pool))
            made_of.append(np.column_stack([a, b]))
            splits[split].append(np.arange(total, total + len(a)))
            total += len(a)

    for b, block in enumerate(blocks):
        for p in range(POOLS_PER_BLOCK):
            add("train", block.ravel(), b * POOLS_PER_BLOCK + p, rows_per_pool)
    for block in blocks:
        add("test_seen", block.ravel(), TEST_SEEN_POOL, 10)
    add("test_unseen", unseen.ravel(), TEST_UNSEEN_POOL, 40)

    held_out = [tuple(sorted(int(c) for c in block.ravel())) for block in blocks]
    seen = sorted(c for block in held_out for c in block)
    folds = tuple(
        ClassFold(f"fold-{b + 1}", tuple(c for c in seen if c not in held_out[b]), held_out[b])
        for b in range(BLOCKS - 1)
    )
    strokes = np.hstack([np.repeat(SEVEN_SEGMENTS, 10, axis=0), np.tile(SEVEN_SEGMENTS, (10, 1))])
    names = tuple(f"{side} {stroke}" for side in ("left", "right") for stroke in STROKES)
    return Dataset(
        name="digit-pairs",
        X=np.hstack([pixels[np.concatenate(left)], pixels[np.concatenate(right)]]),
        y=np.concatenate(y).astype(np.int64),
        class_names=tuple(f"{a}{b}" for a in range(10) for b in range(10)),
        signatures={"strokes": SignatureSet(strokes, names=names)},
        default_signatures="strokes",
        splits={key: np.concatenate(parts) for key, parts in splits.items()},
        folds=folds,
        groups=np.concatenate(groups).astype(np.int64),
        made_of=np.concatenate(made_of).astype(np.int64),
        description=DigitPairs.summary,
        licence=DigitPairs.licence,
        citation=DigitPairs.citation,
        source={"loader": "digit-pairs", "seed": seed, "rows_per_pool": rows_per_pool, "fold": fold},
    )


def _deal_pools(target: np.ndarray, rng: np.random.Generator) -> list[list[np.ndarray]]:
    """Return, for every pool and digit value, the indices of its images; every image is in one pool only."""
    ends = np.cumsum([IMAGES_PER_POOL] * BLOCKS * POOLS_PER_BLOCK + [TEST_SEEN_IMAGES])
    by_digit = [np.split(rng.permutation(np.flatnonzero(target == digit)), ends) for digit in range(10)]
    return [[by_digit[digit][pool] for digit in range(10)] for pool in range(len(ends) + 1)]


def _diagonals(rng: np.random.Generator) -> np.ndarray:
    """Return the ten diagonals (10, 10) of a randomly relabelled table of pairs, in random order, as class ids."""
    first, second = rng.permutation(10), rng.permutation(10)
    shifts = rng.permutation(10)
    index = np.arange(10)
    return np.array([10 * first + second[(index + shift) % 10] for shift in shifts])


def _draw_pairs(
    left: np.ndarray, right: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``count`` different pairs of images, one from each side (all of them where there are fewer)."""
    chosen = rng.permutation(len(left) * len(right))[:count]
    return left[chosen // len(right)], right[chosen % len(right)]
