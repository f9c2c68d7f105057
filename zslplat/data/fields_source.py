"""Data sets of named fields: found by an option, opened as fields, kept by their files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from zslplat.data.about import About, about_path, read_about
from zslplat.data.array_store import file_stamp
from zslplat.data.assembly import assemble
from zslplat.data.dataset import Dataset
from zslplat.data.fields import ALIASES, Fields, raw_arrays
from zslplat.data.kept import kept_dataset
from zslplat.data.source import DataPlaces, DataSource
from zslplat.errors import UsageError
from zslplat.keys import key_of
from zslplat.space import Choice, Optional, Parameter, Text


def field_parameters(thing: str) -> dict[str, Parameter]:
    """Return the options that every format of named fields has; ``thing`` is what it calls a field."""
    return {
        **{
            key: Parameter(
                f"{thing} that holds {key}; default: {' or '.join(names)}; none leaves it out", Optional(Text())
            )
            for key, names in ALIASES.items()
        },
        "features": Parameter("feature sets to read, in this order: cq+phog; default: all that there are", Text()),
        "signatures": Parameter("the signature set that is used when nothing is said", Text()),
        "base": Parameter("number of the first class in the labels", Choice((0, 1))),
        "index_base": Parameter("number of the first row in the index vectors of the splits", Choice((0, 1))),
    }


class FieldsSource(DataSource):
    """A data set of named fields: found by the option ``located``, opened by a :class:`Fields`, kept by the files."""

    kind: ClassVar[str]
    located: ClassVar[str]
    version: ClassVar[int] = 1

    def load(self, places: DataPlaces) -> Dataset:
        """Read the files, or what an earlier load of them kept under ``places.cache``."""
        if self.located not in self.options:
            raise UsageError(f"{self.kind}: {self.located} is missing; write {self.kind}({self.located}=mydata)")
        path = self.find(places, str(self.options[self.located]))
        about = read_about(path, self.parameters)
        options = {**about.options, **{k: v for k, v in self.options.items() if k != self.located}}
        stamps = [file_stamp(p) for p in (*self.files(path), about_path(path)) if p.is_file()]
        key = key_of(self.kind, self.version, stamps, options)
        return kept_dataset(places.cache, key, lambda: self._build(path, about, options))

    @abstractmethod
    def find(self, places: DataPlaces, name: str) -> Path:
        """Return where the data set lies."""

    @classmethod
    @abstractmethod
    def files(cls, path: Path) -> list[Path]:
        """Return the files that the data set at a path is made of; the first gives a single file its suffix."""

    @abstractmethod
    def open(self, path: Path, options: Mapping[str, Any]) -> Fields:
        """Return the fields of the data set at a path."""

    def told(self, path: Path) -> dict[str, Any]:
        """Return what is recorded of where the data came from."""
        return {self.located: str(path), "files": [file.name for file in self.files(path)][:8]}

    def _build(self, path: Path, about: About, options: Mapping[str, Any]) -> Dataset:
        fields = self.open(path, options)
        raw, found = raw_arrays(fields, options)
        raw.name = path.name if path.is_dir() else path.stem
        said: dict[str, Any] = {key: text for key, text in fields.texts().items() if not getattr(about, key)}
        about = replace(about, **said)
        return assemble(raw, about, {"loader": self.kind, **self.told(path), "keys": found})
