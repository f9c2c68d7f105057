"""Which data sets count as one where data sets are counted: those that show the same images, or samples.

Equal features (rows, their order, their type) tell that, whatever splits and signatures come with them. Other features
of the same images are told by the data set, where it names its features in a parameter: it is the same but for that,
and the same rows are scored. Which rows are scored tells nothing by itself, as two data sets of one layout have rows of
the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain

from zslplat.errors import UsageError
from zslplat.spec import Spec

# The parameters of data sets that say how images are described, and not which they are.
DESCRIBED_BY = ("features", "signatures")


def images_of(dataset: str, rows: str | None, features_digest: str | None) -> frozenset[str]:
    """Return what tells the images of an evaluation from those of others: two share images that share one of these.

    ``dataset``: its spec; ``rows``: the hash of the scored rows (:func:`zslplat.metrics.resampling.rows_digest`);
    ``features_digest``: that of :class:`~zslplat.data.dataset.Dataset`. None where a record does not say; nothing is
    told without the first of them.
    """
    if rows is None:
        return frozenset()
    with suppress(UsageError):
        spec = Spec.parse(dataset)
        dataset = str(Spec(spec.name, {k: v for k, v in spec.parameters.items() if k not in DESCRIBED_BY}))
    return frozenset({f"{dataset}: {rows}", *([f"features {features_digest}"] if features_digest else ())})


def families(marks: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return, for each data set in turn, the first of those that it shares marks with, directly or through others.

    ``marks``, by data set: what tells its images from those of others (:func:`images_of`), or the name of what its
    classes are drawn from.
    """
    groups: list[tuple[list[str], set[str]]] = []
    for name, own in ((name, set(found)) for name, found in marks.items()):
        near = [group for group in groups if group[1] & own]
        groups = [group for group in groups if not group[1] & own]
        groups.append(
            ([*chain.from_iterable(names for names, _ in near), name], own.union(*(found for _, found in near)))
        )
    first = {name: names[0] for names, _ in groups for name in names}
    return {name: first[name] for name in marks}
