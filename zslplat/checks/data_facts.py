"""The facts of a data set that checks look at, read from its rows once, block by block, and kept in a cache."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from zslplat.checks.base import Finding, run_checks
from zslplat.checks.facts import ColumnScore, ConstantDimensions, DataFacts, Sentinel
from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.data.exposure import exposures_of
from zslplat.data.store.precision import Narrowing
from zslplat.data.store.rows import blocks_of
from zslplat.keys import key_of

# The size of the sample in which single columns are examined: sorting it takes about a second.
SAMPLED_NUMBERS, FEWEST_ROWS, MOST_ROWS = 6_000_000, 300, 3000
REVEALING_SHARE, FEWEST_CLASSES = 0.9, 4
TRAIN, VALIDATION, SEEN, UNSEEN = "train", "val", "test_seen", "test_unseen"
# A number is far from all others of its column where it is so many times their range away.
FAR = 100
# A row of this many equal numbers or more was not measured.
FEWEST_EQUAL = 8
# Numbers that files write for missing ones.
SENTINELS = (-1, -9, -99, -999, -9999, 99, 999, 9999)
# Signatures are equal if they agree in six digits of the largest number.
DIGITS = 6


def data_facts(dataset: Dataset) -> DataFacts:
    """Return the facts of a data set."""
    side, sample = _sides(dataset), _Sample(dataset)
    facts: dict[str, Any] = {"rows": len(dataset.X), "classes": len(dataset.class_names)}
    facts |= _read(dataset, side, sample) | _single_columns(dataset, sample)
    unseen = _unseen(dataset)
    by_set: dict[str, Any] = {
        "equal_within": {},
        "equal_across": {},
        "constant_dimensions": {},
        "zero_signatures": {},
        "sentinels": {},
    }
    for name, signature in dataset.signatures.items():
        owners = _owners(dataset, signature)
        blank = flat_rows(signature.values, all_zero=True)
        if blank.any():
            by_set["zero_signatures"][name] = tuple(dict.fromkeys(owners[k] for k in np.flatnonzero(blank)))
        if (sentinel := find_sentinel(signature.values, owners)) is not None:
            by_set["sentinels"][name] = sentinel
        if signature.per_row:
            continue
        groups = same_signatures(signature.values, signature.classes)
        for kind, pairs in zip(("equal_within", "equal_across"), _pairs(groups, unseen), strict=True):
            if pairs:
                by_set[kind][name] = tuple((dataset.class_names[a], dataset.class_names[b]) for a, b in pairs)
        if (unshown := _unshown(signature.values, signature.classes, unseen)) is not None:
            by_set["constant_dimensions"][name] = unshown
    if dataset.signatures and unseen is not None:
        facts["classes_without_rows"] = tuple(
            name for number, name in enumerate(dataset.class_names) if number not in unseen
        )
    facts |= {"rows_in_no_split": _unsplit(dataset, unseen), "disagreements": disagreements_of(dataset)}
    facts["exposures"] = tuple(exposures_of(dataset))
    return DataFacts(dataset.name, **facts, **by_set)


def disagreements_of(dataset: Dataset) -> tuple[str, ...]:
    """Return what the files of a data set state in two ways, as its loader noticed."""
    return tuple(dataset.source.get("disagreements", ()))


def facts_from_json(content: Mapping[str, Any]) -> DataFacts:
    """Return the facts that ``dataclasses.asdict`` wrote as JSON, without exposures, which the card states."""
    pairs = {
        name: {key: tuple((str(a), str(b)) for a, b in entries) for key, entries in content[name].items()}
        for name in ("equal_within", "equal_across")
    }
    columns = {
        "revealing": tuple(ColumnScore(**one) for one in content["revealing"]),
        **{
            name: tuple(content[name])
            for name in ("row_numbering", "far_values", "disagreements", "classes_without_rows")
        },
    }
    by_set = {
        "constant_dimensions": {
            name: ConstantDimensions(**one) for name, one in content["constant_dimensions"].items()
        },
        "zero_signatures": {name: tuple(one) for name, one in content["zero_signatures"].items()},
        "sentinels": {name: Sentinel(**one) for name, one in content["sentinels"].items()},
    }
    return DataFacts(**{**content, **pairs, **columns, **by_set, "exposures": ()})


def _owners(dataset: Dataset, signature: SignatureSet) -> list[str]:
    """Return the owner of each signature of a set: a class, or a row where rows have several labels."""
    if signature.per_row and dataset.y.ndim > 1:
        return [f"row {number}" for number in range(len(signature.values))]
    classes = dataset.y if signature.per_row else signature.classes
    return [dataset.class_names[k] for k in (range(len(signature.values)) if classes is None else classes)]


def flat_rows(values: np.ndarray, *, all_zero: bool = False) -> np.ndarray:
    """Return which rows (n,) of values (n, d) have one number throughout, if d is 8 or more or ``all_zero`` is set."""
    flat = np.zeros(len(values), dtype=bool)
    if all_zero or values.shape[1] >= FEWEST_EQUAL:
        # Fast: few rows begin and end with the same number.
        rows = np.flatnonzero(values[:, 0] == (0 if all_zero else values[:, -1]))
        flat[rows] = (values[rows] == values[rows, :1]).all(axis=1)
    return flat


def find_sentinel(values: np.ndarray, owners: Sequence[str]) -> Sentinel | None:
    """Return the number that stands for missing ones in signatures (m, a), None where there is none.

    That is a usual one (:data:`SENTINELS`) that is the only negative number, in less than a quarter of the entries, or
    that lies further from the next number than the others lie apart. Rows may have been divided by their norm since:
    then it is negative, up to one number in a hundred is, and each row has one such number.
    """
    numbers, counts = np.unique(values, return_counts=True)
    if len(numbers) < 3:
        return None
    negative = values < 0
    for end, following, others in ((0, 1, numbers[1:]), (-1, -2, numbers[:-1])):
        far = abs(numbers[end] - numbers[following]) > others[-1] - others[0]
        only = end == 0 and numbers[0] < 0 <= numbers[1] and 4 * counts[0] < values.size
        if numbers[end] in SENTINELS and (far or only):
            row = int(np.argmax((values == numbers[end]).any(axis=1)))
            return Sentinel(float(numbers[end]), int(counts[end]), int(values.size), owners[row])
    rows = np.flatnonzero(negative.any(axis=1))
    if not 0 < negative.sum() <= 0.01 * values.size:
        return None
    least = values[rows].min(axis=1, keepdims=True)
    if (negative[rows] & (values[rows] != least)).any():
        return None
    return Sentinel(float(least[0, 0]), int(negative.sum()), int(values.size), owners[rows[0]])


def same_signatures(values: np.ndarray, classes: np.ndarray | None = None) -> list[list[int]]:
    """Return the groups of different classes whose signatures (m, a) are equal, to six digits of the largest number."""
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    _, groups = np.unique(np.round(values / scale, DIGITS) + 0.0, axis=0, return_inverse=True)
    described = np.arange(len(values)) if classes is None else np.asarray(classes)
    members: dict[int, set[int]] = {}
    for group, number in zip(groups.ravel().tolist(), described.tolist(), strict=True):
        members.setdefault(group, set()).add(number)
    return sorted(sorted(group) for group in members.values() if len(group) > 1)


def _pairs(groups: list[list[int]], unseen: dict[int, bool] | None) -> tuple[list[Any], list[Any]]:
    """Return the pairs within a side, and those of a seen and an unseen class, each class with the first of a side.

    Classes that ``unseen`` does not name have no rows: no task tells them from others.
    """
    alike, across = set(), set()
    for group in groups:
        sides: dict[bool, list[int]] = {}
        for number in group:
            if unseen is None or number in unseen:
                sides.setdefault(bool(unseen and unseen[number]), []).append(number)
        for members in sides.values():
            alike |= {(members[0], other) for other in members[1:]}
        if len(sides) == 2:
            across |= {(sides[False][0], other) for other in sides[True]}
    return sorted(alike), sorted(across)


def _unshown(
    values: np.ndarray, classes: np.ndarray | None, unseen: dict[int, bool] | None
) -> ConstantDimensions | None:
    """Return the dimensions of signatures (m, a) that do not vary over seen classes and differ in an unseen one."""
    described = np.arange(len(values)) if classes is None else np.asarray(classes)
    seen, others = (
        values[[unseen is not None and unseen.get(number) is side for number in described.tolist()]].astype(np.float64)
        for side in (False, True)
    )
    if not len(seen) or not len(others):
        return None
    shared = (seen == seen[0]).all(axis=0) & (others != seen[0]).any(axis=0)
    if not shared.any():
        return None
    deviation = np.square(others - seen.mean(axis=0)).sum(axis=0)
    return ConstantDimensions(int(shared.sum()), values.shape[1], float(deviation[shared].sum() / deviation.sum()))


def class_share_of_column(values: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rows, averaged over classes, whose nearest other row in a column (n,) is of their class.

    Rows of equal values are taken in their order, which should be random.
    """
    order = np.argsort(values, kind="stable")
    labels, sorted_values = y[order], values[order]
    gaps = np.diff(sorted_values)
    before, after = np.concatenate([[np.inf], gaps]), np.concatenate([gaps, [np.inf]])
    nearest = np.where(before <= after, np.arange(-1, len(labels) - 1), np.arange(1, len(labels) + 1))
    right = labels[nearest] == labels
    counts = np.bincount(labels)
    shares = np.bincount(labels, weights=right, minlength=len(counts))[counts > 1] / counts[counts > 1]
    return float(shares.mean()) if len(shares) else 0.0


def _sides(dataset: Dataset) -> np.ndarray:
    """Return the side of each row: 0 for training, other numbers for validation and tests, -1 for none.

    Where rows are divided into folds, each fold is a side; where nothing is divided, each row is one.
    """
    splits = {name: np.asarray(index) for name, index in dataset.splits.items()}
    if not splits:
        return np.arange(len(dataset.X))
    side = np.full(len(dataset.X), -1)
    for number, name in enumerate(sorted(splits)):
        side[splits[name]] = 0 if name == TRAIN else 1 if name.startswith("test") else 2 + number
    return side


class _Sample:
    """Rows drawn from a data set, collected while all of it is read: ``rows`` are their numbers, ``X`` their values.

    Rows in a stream can be read in no other way.
    """

    def __init__(self, dataset: Dataset) -> None:
        size = int(np.prod(dataset.X.shape[1:]))
        count = min(len(dataset.X), max(FEWEST_ROWS, min(MOST_ROWS, SAMPLED_NUMBERS // max(size, 1))))
        self.generator = np.random.default_rng(5)
        self.rows = np.sort(self.generator.choice(len(dataset.X), count, replace=False))
        self.X = np.empty((count, size), dtype=dataset.X.dtype)
        self._place = np.full(len(dataset.X), -1)
        self._place[self.rows] = np.arange(count)

    def collect(self, where: Any, flat: np.ndarray) -> None:
        """Copy the rows of a block (m, d) that belong to the sample; ``where`` says which rows the block has."""
        place = self._place[where]
        self.X[place[place >= 0]] = flat[place >= 0]


def _read(dataset: Dataset, side: np.ndarray, sample: _Sample) -> dict[str, Any]:
    """Read all rows once: constant and tiny columns, rows of one number, and test rows that are training rows, too."""
    digests, narrowing = np.zeros(len(side), dtype=np.int64), Narrowing()
    flat, zero = np.zeros(len(side), dtype=bool), np.zeros(len(side), dtype=bool)
    shift = None
    extremes: dict[bool, tuple[np.ndarray, np.ndarray]] = {}
    sums: dict[bool, np.ndarray] = {}
    squares: dict[bool, np.ndarray] = {}
    # Without a training split, every row is trained on in some fold; validation rows are trained on by the refit.
    train, tests = np.ones(len(side), dtype=bool), side >= 1
    if TRAIN in dataset.splits:
        train = side == 0
        train[dataset.splits.get(VALIDATION, [])] = True
        tests &= ~train
    for where, block in blocks_of(dataset.X):
        values = np.ascontiguousarray(block.reshape(len(block), -1))
        sample.collect(where, values)
        if values.dtype == np.float64 and not narrowing.seen:
            narrowing.add(values)
        digests[where] = [hash(row.tobytes()) for row in values + 0]  # -0.0 equals 0.0
        flat[where] = flat_rows(values)
        zero[where] = flat[where] & (values[:, 0] == 0)
        if shift is None:
            shift = values[0].astype(np.float64)
        for tested, chosen in ((False, values[train[where]]), (True, values[tests[where]])):
            if len(chosen):
                low, high = chosen.min(axis=0), chosen.max(axis=0)
                before = extremes.get(tested, (low, high))
                extremes[tested] = np.minimum(low, before[0]), np.maximum(high, before[1])
            moved = chosen.astype(np.float64) - shift
            sums[tested] = sums.get(tested, 0.0) + moved.sum(axis=0)
            squares[tested] = squares.get(tested, 0.0) + np.square(moved).sum(axis=0)
    facts: dict[str, Any] = {
        "columns": 0 if shift is None else len(shift),
        "test_rows": int((side >= 1).sum()),
        # Rows of one number are equal because nothing was measured.
        "repeated_rows": _repeated(digests, np.where(flat, -1, side)),
        "uniform_rows": int(flat.sum()),
        "zero_rows": int(zero.sum()),
        "float32_loss": narrowing.loss,
    }
    if extremes:
        largest = np.abs([*extremes.values()]).max(axis=(0, 1))
        kind = largest.dtype if largest.dtype.kind == "f" else np.dtype(np.float64)
        facts["tiny_columns"] = int(((largest > 0) & (largest < np.sqrt(np.finfo(kind).tiny))).sum())
        facts["far_values"] = _far_values(dataset, sample, extremes)
    if False in extremes:
        constant = extremes[False][0] == extremes[False][1]
        mean = sums[False] / max(int(train.sum()), 1)
        deviation = np.maximum(squares[True] - 2 * mean * sums[True] + tests.sum() * np.square(mean), 0.0)
        total = float(deviation.sum())
        facts["constant_columns"] = int(constant.sum())
        facts["deviation_share"] = float(deviation[constant].sum()) / total if total > 0 else 0.0
    return facts


def _far_values(dataset: Dataset, sample: _Sample, extremes: Mapping[bool, Sequence[np.ndarray]]) -> tuple[str, ...]:
    """Return in words the number of each column that is far from all others, with its row.

    ``extremes``: least and largest numbers of columns, of training rows and of others.
    """
    count = len(sample.X)
    if count < FEWEST_ROWS // 10:
        return ()
    places = [1, count // 4, 3 * count // 4, count - 2]
    least, quarter, half, most = np.partition(sample.X, places, axis=0)[places].astype(np.float64)
    low = np.min([ends[0] for ends in extremes.values()], axis=0).astype(np.float64)
    high = np.max([ends[1] for ends in extremes.values()], axis=0).astype(np.float64)
    texts = []
    for column in np.flatnonzero((half > quarter) & (np.maximum(high - most, least - low) > FAR * (most - least))):
        value = high[column] if high[column] - most[column] > least[column] - low[column] else low[column]
        row = next(
            int(np.arange(len(dataset.X))[where][hit[0]])
            for where, block in blocks_of(dataset.X)
            if len(hit := np.flatnonzero(block.reshape(len(block), -1)[:, column] == value))
        )
        others = f"from {least[column]:.3g} to {most[column]:.3g}"
        texts.append(f"row {row} has {value:.6g} in column {column} (both from 0), the others lie {others}")
    return tuple(texts)


def _repeated(digests: np.ndarray, side: np.ndarray) -> int:
    """Return the number of rows outside of training that are equal to a row of another side."""
    first: dict[int, int] = {}
    several: set[int] = set()
    for digest, row_side in zip(digests.tolist(), side.tolist(), strict=True):
        if row_side >= 0 and first.setdefault(digest, row_side) != row_side:
            several.add(digest)
    if not several:
        return 0
    return int(
        sum(
            row_side >= 1 and digest in several
            for digest, row_side in zip(digests.tolist(), side.tolist(), strict=True)
        )
    )


def _single_columns(dataset: Dataset, sample: _Sample) -> dict[str, Any]:
    """Return the columns that alone tell the class, and those that number the rows, in a sample of the rows."""
    if dataset.y.ndim != 1 or len(np.unique(dataset.y)) < FEWEST_CLASSES:
        return {}
    X, count = sample.X, len(sample.X)
    shuffled = sample.generator.permutation(count)
    y = np.unique(dataset.y[sample.rows], return_inverse=True)[1]
    revealing, numbering = [], []
    for column in range(X.shape[1]):
        values = X[:, column].astype(np.float64)
        steps = np.diff(values)
        if count > 2 and ((steps > 0).all() or (steps < 0).all()):
            numbering.append(f"column {column}")
            continue
        share = class_share_of_column(values[shuffled], y[shuffled])
        if share >= REVEALING_SHARE:
            revealing.append(ColumnScore(f"column {column}", share))
    return {"revealing": tuple(revealing), "row_numbering": tuple(numbering)}


def _unseen(dataset: Dataset) -> dict[int, bool] | None:
    """Return of each class with rows whether it is unseen; None where rows have several labels."""
    if dataset.y.ndim != 1:
        return None
    unseen = set(dataset.y[dataset.rows(UNSEEN)].tolist()) if UNSEEN in dataset.splits else set()
    return {int(number): int(number) in unseen for number in np.unique(dataset.y)}


def _unsplit(dataset: Dataset, unseen: Mapping[int, bool] | None) -> dict[str, int]:
    """Return how many rows are in no split, by the kind of their class.

    Rows of classes that are trained on count where others of them are tested: a split without such a test leaves them
    out on purpose. Query rows are in no split, and rows of several labels are not counted.
    """
    if unseen is None or TRAIN not in dataset.splits or dataset.queries:
        return {}
    rest = np.ones(len(dataset.y), dtype=bool)
    for rows in dataset.splits.values():
        rest[rows] = False
    trained = np.isin(dataset.y, dataset.y[dataset.rows(TRAIN)])
    tested = np.isin(dataset.y, [number for number, one in unseen.items() if one])
    kinds = {"unseen": tested & ~trained, "in no split": ~tested & ~trained}
    if {SEEN, "test"} & set(dataset.splits):
        kinds["seen"] = trained
    return {kind: int((rest & rows).sum()) for kind, rows in kinds.items() if (rest & rows).any()}


# Raised when the facts change, so that they are read again.
_DATA_FACTS = 6


def data_findings(dataset: Dataset, cache: Path | None = None) -> list[Finding]:
    """Return what the checks find in a data set, none silenced; the facts are kept in the folder ``cache``, if given.

    Rows that were not read before are read once.
    """
    return run_checks("data", data_facts(dataset) if cache is None else known_data_facts(dataset, cache))


def known_data_facts(dataset: Dataset, cache: Path) -> DataFacts:
    """Return the facts of a data set, from the cache if they were read before, under any name."""
    path = cache / f"data-facts-{key_of(dataset.fingerprint, _DATA_FACTS)}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        facts = facts_from_json(json.loads(path.read_text()))
        stated: dict[str, Any] = {"disagreements": disagreements_of(dataset), "exposures": tuple(exposures_of(dataset))}
        return dataclasses.replace(facts, subject=dataset.name, **stated)
    facts = data_facts(dataset)
    with suppress(OSError):  # nothing is lost: the rows are read again next time
        path.write_text(json.dumps(dataclasses.asdict(facts)))
    return facts
