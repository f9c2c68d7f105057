"""Which data sets of a suite are at hand: one that is not is left out, and said so, and is no failure."""

from __future__ import annotations

from zslplat.data.catalogue import parse_dataset
from zslplat.data.class_draws import drawn_from
from zslplat.errors import NotAtHand, ZslplatError
from zslplat.evaluation.components import source_of
from zslplat.settings import Settings


def reason_of_absence(dataset: str, settings: Settings) -> str:
    """Return why a data set is not at hand, an empty text where it is; nothing is loaded.

    Raises :class:`UsageError` for options that the data set does not have.
    """
    spec = parse_dataset(dataset)
    try:
        for part in (spec, drawn_from(spec)):
            source_of(part, settings)
    except ZslplatError as error:
        if isinstance(error, NotAtHand):
            return str(error)
        raise
    return ""
