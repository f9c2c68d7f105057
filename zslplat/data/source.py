"""Where data sets come from: the base class of data set plugins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from zslplat.data.dataset import Dataset
from zslplat.errors import UsageError
from zslplat.registry import known_as
from zslplat.space import Parameter, check_value


@dataclass(frozen=True)
class DataPlaces:
    """Where a source may read and write: the data root (may not exist), a cache folder of its own, and ``kept``.

    ``kept``: the folder of data sets that were given as arrays and are there to stay.
    """

    root: Path | None = None
    cache: Path | None = None
    kept: Path | None = None


class DataSource(ABC):
    """A data set plugin: options in the constructor, :meth:`load` reads from disk, nothing else touches the disk.

    ``parameters`` describes the options; ``summary``, ``licence`` and ``citation`` are shown by ``zslplat show``.
    ``drawn_by`` names the option, a seed, that draws which classes are seen and unseen, where the data set does so.
    """

    summary: ClassVar[str] = ""
    licence: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    drawn_by: ClassVar[str] = ""

    def __init__(self, **options: Any) -> None:
        for name, value in options.items():
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise UsageError(f"{known_as(type(self))}: unknown option {name!r}; options: {known}")
            check_value(type(self), name, value, self.parameters)
        self.options = options

    @abstractmethod
    def load(self, places: DataPlaces) -> Dataset:
        """Return the data set; raises :class:`~zslplat.errors.DataError` with the file or field that is at fault."""
