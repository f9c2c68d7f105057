"""The base class of data set plugins, and where their files are looked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from zslplat.data.dataset import Dataset
from zslplat.data.feature_card import FeatureCard, card_path, lone_file, read_card
from zslplat.data.store.array_store import file_stamp
from zslplat.data.store.stored_sets import read_stored, stored_dataset
from zslplat.errors import MissingDataError, UnknownDataError, UsageError
from zslplat.keys import key_of
from zslplat.registry import known_as
from zslplat.space import NO_DEFAULT, Declared, Text, check_value, parameter


@dataclass(frozen=True)
class DataPlaces:
    """Where a source may read and write: the data root (may not exist), a cache folder of its own, and ``arrays``.

    ``arrays``: the folder of data sets that come from Python as arrays; they stay there.
    """

    root: Path | None = None
    cache: Path | None = None
    arrays: Path | None = None


class DataSource(Declared, ABC):
    """A data set plugin: options in the constructor, :meth:`load` reads from disk, nothing else touches the disk.

    Options are declared in the body of the class (:func:`~zslplat.space.parameter`). One with a default is an
    attribute; ``options`` holds the values that were passed. ``summary``, ``licence`` and ``citation`` are shown by
    ``zslplat show``.
    ``drawn_by`` names the option, a seed, that draws which classes are seen and unseen, where the data set does so;
    ``folded_by`` the option, from 0, that chooses which of its class folds is unseen, and how many there are.
    """

    summary: ClassVar[str] = ""
    licence: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    drawn_by: ClassVar[str] = ""
    folded_by: ClassVar[tuple[str, int]] = ("", 0)

    def __init__(self, **options: Any) -> None:
        for name, value in options.items():
            if name not in self.parameters:
                options_text = ", ".join(self.parameters) or "none"
                raise UsageError(f"{known_as(type(self))}: unknown option {name!r}; options: {options_text}")
            check_value(type(self), name, value, self.parameters)
            if self.parameters[name].default is not NO_DEFAULT:
                setattr(self, name, value)
        self.options = options

    @abstractmethod
    def load(self, places: DataPlaces) -> Dataset:
        """Return the data set; raises :class:`~zslplat.errors.DataError` with the file or field that is at fault."""


class FileSource(DataSource):
    """A data set in files of the user's own, in a layout of :mod:`zslplat.data.catalogue`.

    ``kind`` is the name of the loader; ``suffixes`` are those of single files; ``expected`` says, for errors, by what a
    data set of this layout is known. ``version`` counts what is made of the same files.
    """

    licence = "that of the data in the files"
    kind: ClassVar[str]
    expected: ClassVar[str] = ""
    suffixes: ClassVar[tuple[str, ...]] = ()
    version: ClassVar[int] = 1
    path = parameter("the file or folder: a path, or a name under the data root", Text())

    @classmethod
    def fits(cls, path: Path) -> bool:
        """Tell whether the file or folder at a path has this layout."""
        if path.is_dir():
            return cls.is_folder(path) or cls.place_of(path) != path
        return path.suffix in cls.suffixes and path.is_file()

    @classmethod
    def is_folder(cls, folder: Path) -> bool:
        """Tell whether a folder has this layout."""
        return False

    @classmethod
    def place_of(cls, path: Path) -> Path:
        """Return the file of this layout that is alone in a folder with its card, else the path."""
        file = lone_file(path) if path.is_dir() and not cls.is_folder(path) else None
        return file if file is not None and file.suffix in cls.suffixes else path

    @classmethod
    def summary_of(cls, path: Path) -> str:
        """Return what lists show beside the name of a data set: by default how large it is."""
        files = cls().files(cls.place_of(path))
        size = f"{sum(file.stat().st_size for file in files) / 1e6:.1f} MB"
        return size if len(files) == 1 else f"{len(files)} files, {size}"

    def load(self, places: DataPlaces) -> Dataset:
        """Read the files, or what an earlier load of them stored under ``places.cache``."""
        if "path" not in self.options:
            raise UsageError(f"{self.kind}: path is missing; write {self.kind}(path=mydata)")
        path = self.place_of(find_path(places, str(self.options["path"]), self.suffixes))
        card, options, key = self._reading(path)
        return stored_dataset(
            places.cache, key, lambda: _with_encodings(self.read_files(places, path, card, options), card, options)
        )

    def stored(self, places: DataPlaces) -> Dataset | None:
        """Return what an earlier load stored under ``places.cache``, None where there is nothing."""
        path = self.place_of(find_path(places, str(self.options["path"]), self.suffixes))
        return None if places.cache is None else read_stored(places.cache, self._reading(path)[2])

    def _reading(self, path: Path) -> tuple[FeatureCard, dict[str, Any], str]:
        """Return what stands beside the files, the options of the reading, and the key of its result."""
        card = self.card(path)
        options = {**card.options, **{k: v for k, v in self.options.items() if k != "path"}}
        stamps = [file_stamp(p) for p in (*self.files(path), card_path(path)) if p.is_file()]
        return card, options, key_of(self.kind, self.version, stamps, options)

    def card(self, path: Path) -> FeatureCard:
        """Return what is stated beside the files."""
        return read_card(path, self.parameters)

    @abstractmethod
    def files(self, path: Path) -> list[Path]:
        """Return the files that the data set at a path is made of; the first gives a single file its suffix."""

    @abstractmethod
    def read_files(self, places: DataPlaces, path: Path, card: FeatureCard, options: Mapping[str, Any]) -> Dataset:
        """Read the files; ``options`` are those of the spec and, where it has none, of ``about``."""


def _with_encodings(dataset: Dataset, card: FeatureCard, options: Mapping[str, Any]) -> Dataset:
    """Return a data set with what its card says of how its features and signatures were made.

    Where neither options nor views name features, the only ones on a card are those of the data set.
    """
    chosen = "+".join([view.name for view in dataset.views if view.name] or [str(options.get("features") or "")])
    stems = [one.removesuffix(".mat") for one in f"{chosen}+{dataset.source.get('features', '')}".split("+")]
    single = not chosen and len(card.features) == 1
    encodings = {
        "features": {name: asdict(one) for name, one in card.features.items() if single or name in stems},
        "signatures": {name: asdict(one) for name, one in card.signatures.items() if name in dataset.signatures},
    }
    return replace(dataset, source={**dataset.source, "encodings": encodings}) if any(encodings.values()) else dataset


HOW_TO_SET = "--data-root (in Python data_root=...), ZSLPLAT_DATA_ROOT or data_root in zslplat.toml"


def find_path(places: DataPlaces, name: str, suffixes: Sequence[str] = ()) -> Path:
    """Return the folder of a name or path, or the file, with one of the suffixes where it has none.

    It lies under the data root, or in the working directory. Raises :class:`MissingDataError` where it does not.
    """
    what = f"folder or {' or '.join(suffixes)} file" if suffixes else "folder"
    for suffix in ("", *suffixes):
        named = Path(name + suffix).expanduser()
        for path in ([] if places.root is None else [places.root / named]) + [named]:
            if path.is_dir() or (path.is_file() and path.suffix in suffixes):
                return path
    named = Path(name).expanduser()
    if named.is_file():
        raise MissingDataError(f"{named}: is a file; expected a {what}")
    if named.is_absolute():
        raise MissingDataError(f"{named}: no such {what}")
    if places.root is None:
        raise MissingDataError(f"{name}: no data root is set; name the folder of your data sets with {HOW_TO_SET}")
    if not places.root.is_dir():
        raise MissingDataError(f"{name}: data root {places.root} is no folder; set it with {HOW_TO_SET}")
    present = [path for path in places.root.iterdir() if not path.name.startswith(".")]
    names = [path.name if path.is_dir() else path.stem for path in present if path.is_dir() or path.suffix in suffixes]
    raise UnknownDataError(f"{what} in data root {places.root}", name, names)
