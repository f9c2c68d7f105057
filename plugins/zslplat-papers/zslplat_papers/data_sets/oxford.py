"""Oxford buildings: 5062 images, 55 queries, five views of each of 11 landmarks.

The ground truth is the folder of text files as it is distributed (``gt_files_170407``): for every query
``<landmark>_<number>_query.txt`` (image and the box that is cut out of it) and three lists of images, ``good``, ``ok``
and ``junk``. Good and ok images are right, junk is ignored, as ``compute_ap.cpp`` does it. The image that a query
is cut from stays in the database and counts, since the lists name it among the good ones.

Features are those of images by name (:mod:`zslplat_papers.data_sets.named_images`), and of the queries: a row that has
the name of a query (``all_souls_1``) holds the features of its box and is not searched; without one a query asks with
the features of its whole image.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zslplat.data.class_lists import read_lines
from zslplat.data.dataset import Dataset, Queries
from zslplat.data.feature_card import FeatureCard
from zslplat.data.sets.retrieval import OTHERS, RawRetrieval, RetrievalSource
from zslplat.data.source import DataPlaces, find_path
from zslplat.data.store.array_store import file_stamp
from zslplat.data.store.stored_sets import stored_dataset
from zslplat.errors import DataError, UsageError
from zslplat.keys import key_of
from zslplat.space import Text, parameter
from zslplat_papers.data_sets.named_images import NamedImages, named_images, stem

_VERSION = 1

_GROUND_TRUTH = "gt_files_170407"

_PREFIX = "oxc1_"  # of the images in the query files, and nowhere else

_RIGHT, _JUNK = ("good", "ok"), ("junk",)


class Oxford(RetrievalSource):
    """Features of the Oxford images by name, with the ground truth as distributed; good and ok are right.

    Equations
    ---------
    Reads features of the Oxford buildings by name, and the official lists of what is good, ok and junk for each query.

    Symbols
    -------
    | part       | shape  | meaning                                                   |
    |------------|--------|-----------------------------------------------------------|
    | X          | (n, d) | features of the images, by name                           |
    | queries    |        | 55, five for each landmark                                |
    | splits     |        | ``train`` holds the negatives, of another data set        |

    Example
    -------
    >>> import pathlib, numpy as np, zslplat
    >>> lists = pathlib.Path("gt_files_170407")
    >>> lists.mkdir()
    >>> _ = (lists / "all_souls_1_query.txt").write_text("oxc1_all_souls_000013 136.5 34.1 648.5 955.7")
    >>> for name, images in {"good": "all_souls_000013", "ok": "all_souls_000026", "junk": "radcliffe_000001"}.items():
    ...     _ = (lists / f"all_souls_1_{name}.txt").write_text(images)
    >>> names = ["all_souls_000013", "all_souls_000026", "radcliffe_000001", "oxford_000317"]
    >>> np.savez("oxford.npz", X=np.random.default_rng(0).random((4, 64)), names=names)
    >>> data = zslplat.load_dataset("oxford(path=oxford.npz, ground_truth=gt_files_170407, negatives=digits)")
    >>> data.X.shape, [len(part) for part in (data.splits["train"], data.splits["test"])]
    ((1801, 64), [1797, 4])

    Related
    -------
    ``holidays`` has no junk; ``digit-retrieval`` is a small likeness that is built in.
    """

    summary = "Oxford buildings: your features by image name, with the files of gt_files_170407"
    licence = "that of the photographs; see the site of the data set"
    citation = (
        "J. Philbin, O. Chum, M. Isard, J. Sivic, A. Zisserman: Object retrieval with large vocabularies and fast "
        "spatial matching, CVPR 2007"
    )
    path = parameter("an .npz file or a folder of features: a name under the data root, or a path", Text())
    ground_truth = parameter(
        f"folder of the *_query.txt, *_good.txt, *_ok.txt, *_junk.txt; default: {_GROUND_TRUTH} in the folder of "
        "the features, or beside their file",
        Text(),
    )

    def load(self, places: DataPlaces) -> Dataset:
        """Read features and ground truth, or what an earlier load kept under ``places.cache``."""
        if "path" not in self.options:
            raise UsageError('oxford: path is missing; write oxford(path=oxford.npz, negatives="...")')
        path = find_path(places, str(self.options["path"]), (".npz",))
        beside = (path if path.is_dir() else path.parent) / _GROUND_TRUTH
        named = self.options.get("ground_truth")
        truth = beside if named is None and beside.is_dir() else find_path(places, str(named or _GROUND_TRUTH))
        images, negatives = named_images(path), self.load_negatives(places)
        stamps = [file_stamp(file) for file in sorted(truth.glob("*.txt"))]
        key = key_of("oxford", _VERSION, images.key(), stamps, {**self.options}, negatives and negatives.fingerprint)
        card = FeatureCard(self.summary, self.licence, self.citation)
        source = {"loader": "oxford", "path": str(path), "ground_truth": str(truth), **images.checksums()}
        return stored_dataset(
            places.cache, key, lambda: self.assembled(oxford_from(images, truth), negatives, card, source)
        )


def oxford_from(images: NamedImages, truth: Path) -> RawRetrieval:
    """Return the queries of a folder of ground truth over named images.

    Raises :class:`DataError` where there is no query, a file is missing, or a file names an image without features.
    """
    files = sorted(truth.glob("*_query.txt"))
    if not files:
        raise DataError(f"{truth}: no file *_query.txt; expected the files of {_GROUND_TRUTH}.tgz")
    row_of = {name: row for row, name in enumerate(images.names)}
    names = [file.name.removesuffix("_query.txt") for file in files]
    searched = np.array([name not in names for name in images.names])
    classes = [OTHERS] * len(images.names)
    asking: list[int] = []
    pairs: dict[str, list[tuple[int, int]]] = {"positive": [], "junk": []}
    for number, (file, name) in enumerate(zip(files, names, strict=True)):
        landmark, image = _landmark(name), _image_of(file)
        asking.append(row_of[name] if name in row_of else _row(row_of, image, file))
        for part, kinds in (("positive", _RIGHT), ("junk", _JUNK)):
            listed: dict[int, None] = {}
            for kind in kinds:
                path = truth / f"{name}_{kind}.txt"
                listed |= dict.fromkeys(_row(row_of, stem(one), path) for one in read_lines(path))
            pairs[part] += [(number, row) for row in listed]
            for row in listed if part == "positive" else ():
                classes[row] = landmark
    # An image may show two landmarks; that of a query is the one that is asked for.
    for row, name in zip(asking, names, strict=True):
        classes[row] = _landmark(name)
    return RawRetrieval(
        name="oxford",
        X=images.X,
        names=images.names,
        classes=classes,
        queries=Queries(
            rows=np.array(asking, dtype=np.int64),
            database=np.flatnonzero(searched),
            positive=np.array(pairs["positive"], dtype=np.int64).reshape(-1, 2),
            junk=np.array(pairs["junk"], dtype=np.int64).reshape(-1, 2),
        ),
    )


def _landmark(query: str) -> str:
    """Return what a query shows: ``all_souls`` of ``all_souls_1``."""
    return query.rpartition("_")[0] or query


def _image_of(file: Path) -> str:
    """Return the image of a query file: ``oxc1_all_souls_000013 136.5 34.1 648.5 955.7``."""
    lines = read_lines(file)
    cells = lines[0].split() if lines else []
    if len(lines) != 1 or len(cells) != 5:
        raise DataError(f"{file}: expected one line with the name of an image and the four numbers of its box")
    return stem(cells[0]).removeprefix(_PREFIX)


def _row(row_of: dict[str, int], image: str, file: Path) -> int:
    if image not in row_of:
        raise DataError(f"{file}: image {image!r} has no features; give every image of the ground truth a row")
    return row_of[image]
