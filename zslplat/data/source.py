"""The base class of data set plugins, where their files are looked for, and ``about.json`` beside them.

``about.json`` says what a data set is, its licence, how to cite it, and which options to load it with:
``{"description": "...", "licence": "...", "citation": "...", "options": {"features": "mnv2"}}``. Every key may be left
out. Options of a spec win over those of the file.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from zslplat.data.dataset import Dataset
from zslplat.data.store.array_store import file_stamp
from zslplat.data.store.stored_sets import read_stored, stored_dataset
from zslplat.errors import DataError, MissingDataError, UnknownDataError, UsageError
from zslplat.keys import key_of
from zslplat.registry import known_as
from zslplat.space import NO_DEFAULT, Declared, Parameter, Text, check_value, parameter


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
        return cls.is_folder(path) if path.is_dir() else path.suffix in cls.suffixes and path.is_file()

    @classmethod
    def is_folder(cls, folder: Path) -> bool:
        """Tell whether a folder has this layout."""
        return False

    @classmethod
    def summary_of(cls, path: Path) -> str:
        """Return what lists show beside the name of a data set: by default how large it is."""
        files = cls().files(path)
        size = f"{sum(file.stat().st_size for file in files) / 1e6:.1f} MB"
        return size if len(files) == 1 else f"{len(files)} files, {size}"

    def load(self, places: DataPlaces) -> Dataset:
        """Read the files, or what an earlier load of them stored under ``places.cache``."""
        if "path" not in self.options:
            raise UsageError(f"{self.kind}: path is missing; write {self.kind}(path=mydata)")
        path = find_path(places, str(self.options["path"]), self.suffixes)
        about, options, key = self._reading(path)
        return stored_dataset(places.cache, key, lambda: self.read_files(places, path, about, options))

    def stored(self, places: DataPlaces) -> Dataset | None:
        """Return what an earlier load stored under ``places.cache``, None where there is nothing."""
        path = find_path(places, str(self.options["path"]), self.suffixes)
        return None if places.cache is None else read_stored(places.cache, self._reading(path)[2])

    def _reading(self, path: Path) -> tuple[About, dict[str, Any], str]:
        """Return what stands beside the files, the options of the reading, and the key of its result."""
        about = self.about(path)
        options = {**about.options, **{k: v for k, v in self.options.items() if k != "path"}}
        stamps = [file_stamp(p) for p in (*self.files(path), about_path(path)) if p.is_file()]
        return about, options, key_of(self.kind, self.version, stamps, options)

    def about(self, path: Path) -> About:
        """Return what is stated beside the files."""
        return read_about(path, self.parameters)

    @abstractmethod
    def files(self, path: Path) -> list[Path]:
        """Return the files that the data set at a path is made of; the first gives a single file its suffix."""

    @abstractmethod
    def read_files(self, places: DataPlaces, path: Path, about: About, options: Mapping[str, Any]) -> Dataset:
        """Read the files; ``options`` are those of the spec and, where it has none, of ``about``."""


HOW_TO_SET = "--data-root, ZSLPLAT_DATA_ROOT or data_root in zslplat.toml"


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


ABOUT_FILE = "about.json"

KEYS = ("description", "licence", "citation")


@dataclass(frozen=True)
class About:
    """Texts and options of one data set; empty where there is no file."""

    description: str = ""
    licence: str = ""
    citation: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the content of the file."""
        content = {key: getattr(self, key) for key in (*KEYS, "options") if getattr(self, key)}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def about_path(data: Path) -> Path:
    """Return where the file of a data set is: inside its folder, or beside its single file."""
    return data / ABOUT_FILE if data.is_dir() else data.with_suffix("." + ABOUT_FILE)


def read_about(data: Path, parameters: Mapping[str, Parameter]) -> About:
    """Return what is known of the data set at ``data``; raises DataError for a broken file or an illegal option."""
    path = about_path(data)
    if not path.is_file():
        return About()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        options = dict(content.get("options") or {})
        texts = {key: str(content[key]) for key in KEYS if content.get(key)}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as a JSON object ({error}); correct it or remove it") from error
    for name, value in options.items():
        if name not in parameters or name == "path":
            raise DataError(f"{path}: unknown option {name!r}; options: {', '.join(parameters)}")
        try:
            check_value(str(path), name, value, parameters)
        except UsageError as error:
            raise DataError(str(error)) from error
    return About(**texts, options=options)
