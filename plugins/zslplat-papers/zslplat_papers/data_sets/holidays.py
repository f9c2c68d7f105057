"""INRIA Holidays: 1491 photographs in 500 groups, the first of each group asks for the others.

The name of an image says all: ``100002.jpg`` is the third of group 1000, and ``100000.jpg`` its query. A query is left
out of its own ranking, as ``holidays_map.py`` does it. Negatives come from another data set. What is read is
features by name (:mod:`zslplat_papers.data_sets.named_images`), in a folder with the official list
``holidays_images.dat`` if it has one.
"""

from __future__ import annotations

import numpy as np

from zslplat.data.dataset import Dataset, Queries
from zslplat.data.feature_card import FeatureCard
from zslplat.data.sets.retrieval import RawRetrieval, RetrievalSource
from zslplat.data.source import DataPlaces, find_path
from zslplat.data.store.stored_sets import stored_dataset
from zslplat.errors import DataError, UsageError
from zslplat.keys import key_of
from zslplat.space import Text, parameter
from zslplat_papers.data_sets.named_images import NamedImages, named_images

_VERSION = 1

_LIST = "holidays_images.dat"


class Holidays(RetrievalSource):
    """Features of the Holidays images by name; a query for each group, for which its other images are right.

    Equations
    ---------
    Reads features of the INRIA Holidays images by name: the first image of each group asks for the others.

    Symbols
    -------
    | part       | shape  | meaning                                                   |
    |------------|--------|-----------------------------------------------------------|
    | X          | (n, d) | features of the images, by name                           |
    | queries    |        | one for each group                                        |
    | splits     |        | ``train`` holds the negatives, of another data set        |

    Example
    -------
    >>> import numpy as np, zslplat
    >>> names = ["100000", "100001", "100100", "100101"]
    >>> np.savez("holidays.npz", X=np.random.default_rng(0).random((4, 64)), names=names)
    >>> data = zslplat.load_dataset("holidays(path=holidays.npz, negatives=digits, validation=0)")
    >>> data.X.shape, [len(part) for part in (data.splits["train"], data.splits["test"])]
    ((1801, 64), [1797, 4])

    Related
    -------
    ``oxford`` has junk as well; ``digit-retrieval`` is a small likeness that is built in.
    """

    summary = "INRIA Holidays: your features by image name (100000.jpg), one query per group"
    licence = "that of the photographs; see the site of the data set"
    citation = (
        "H. Jegou, M. Douze, C. Schmid: Hamming embedding and weak geometric consistency for large scale image search, "
        "ECCV 2008"
    )
    path = parameter("an .npz file or a folder: a name under the data root, or a path", Text())

    def load(self, places: DataPlaces) -> Dataset:
        """Read the features, or what an earlier load kept under ``places.cache``."""
        if "path" not in self.options:
            raise UsageError('holidays: path is missing; write holidays(path=holidays.npz, negatives="...")')
        images = named_images(find_path(places, str(self.options["path"]), (".npz",)), lists=(_LIST,))
        negatives = self.load_negatives(places)
        key = key_of("holidays", _VERSION, images.key(), {**self.options}, negatives and negatives.fingerprint)
        card = FeatureCard(self.summary, self.licence, self.citation)
        source = {"loader": "holidays", "path": str(images.where), **images.checksums()}
        return stored_dataset(places.cache, key, lambda: self.assembled(holidays_from(images), negatives, card, source))


def holidays_from(images: NamedImages) -> RawRetrieval:
    """Return the queries that the names of the images tell.

    Raises :class:`DataError` for a name that is no number of an image, and for a group without a query or without
    another image.
    """
    strange = next((name for name in images.names if not name.isdigit()), None)
    if strange is not None:
        raise DataError(
            f"{images.where}: image {strange!r} has no number for a name; expected names such as 100000.jpg"
        )
    numbers = np.array([int(name) for name in images.names], dtype=np.int64)
    groups, rows = numbers // 100, np.arange(len(numbers))
    asking = rows[numbers % 100 == 0]
    asking = asking[np.argsort(numbers[asking])]
    for what, lacking in (
        ("no query", np.setdiff1d(groups, groups[asking])),
        ("no image but its query", np.setdiff1d(groups[asking], groups[numbers % 100 > 0])),
    ):
        if len(lacking):
            raise DataError(
                f"{images.where}: {len(lacking)} groups have {what}, first group {lacking[0]}: the query of a group is "
                f"{lacking[0]}00.jpg, and others follow it ({lacking[0]}01.jpg)"
            )
    query_of_row = np.searchsorted(groups[asking], groups)
    answers = rows[numbers % 100 > 0]
    return RawRetrieval(
        name="holidays",
        X=images.X,
        names=images.names,
        classes=[str(group) for group in groups],
        queries=Queries(
            rows=asking,
            database=rows,
            positive=np.column_stack([query_of_row[answers], answers]),
            junk=np.column_stack([np.arange(len(asking)), asking]),
        ),
    )
