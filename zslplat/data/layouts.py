"""The layouts that data sets under the data root, and those that people bring, may have; which loader reads which."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from zslplat.data.arrays import CsvSource, NpzSource, is_csv_folder
from zslplat.data.fields_source import FieldsSource
from zslplat.data.hdf5 import SUFFIXES as HDF5_SUFFIXES
from zslplat.data.hdf5 import Hdf5Source, is_hdf5_folder
from zslplat.data.npy_folder import NpySource, is_npy_folder
from zslplat.data.parquet import SUFFIXES as TABLE_SUFFIXES
from zslplat.data.parquet import ArrowSource, ParquetSource, is_folder_of, signature_files
from zslplat.data.source import DataPlaces, DataSource
from zslplat.data.torch_files import SUFFIXES as TORCH_SUFFIXES
from zslplat.data.torch_files import TorchSource, is_torch_folder
from zslplat.data.xlsa17 import Xlsa17, feature_files, is_xlsa17, source_files, splits_files


@dataclass(frozen=True)
class Layout:
    """A layout: ``kind`` is the name of its loader, ``option`` the loader's option that says where the data set lies.

    ``expected`` says, for errors, by what a data set of this layout is known; ``is_folder`` recognises a folder,
    ``suffixes`` are those of single files; ``summary`` is what lists show beside the name.
    """

    kind: str
    loader: type[DataSource]
    option: str
    expected: str
    summary: Callable[[Path], str]
    is_folder: Callable[[Path], bool] = lambda folder: False
    suffixes: tuple[str, ...] = ()

    def fits(self, path: Path) -> bool:
        """Tell whether the file or folder at a path has this layout."""
        if path.is_dir():
            return self.is_folder(path)
        return path.suffix in self.suffixes and path.is_file()


def layout_of(path: Path) -> Layout | None:
    """Return the layout of the file or folder at a path, None where it has none that is known."""
    return next((layout for layout in LAYOUTS if layout.fits(path)), None)


def named(root: Path, name: str) -> tuple[Path, Layout | None] | None:
    """Return what a name means under the data root, with its layout: a folder, or a file without its suffix.

    None where there is nothing of that name; a folder without a layout is passed over where there is a file.
    """
    folder = root / name
    if folder.is_dir() and (layout := layout_of(folder)):
        return folder, layout
    for suffix in FILE_SUFFIXES:
        file = root / f"{name}{suffix}"
        if file.is_file():
            return file, layout_of(file)
    return (folder, None) if folder.exists() else None


def under(root: Path) -> Iterator[tuple[str, Path, Layout]]:
    """Yield (name, path, layout) of all data sets of the data root, by name."""
    tables = (path for path in root.iterdir() if path.suffix in TABLE_SUFFIXES)
    beside = {file for path in tables for file in signature_files(path)}
    for path in sorted(root.iterdir()):
        layout = None if path.name.startswith(".") or path in beside else layout_of(path)
        if layout is not None:
            yield path.name if path.is_dir() else path.stem, path, layout


def roots_below(root: Path) -> list[Path]:
    """Return the folders one or two levels below a data root that hold data sets, as ``xlsa17/data`` does."""
    places = [place for folder in _folders(root) for place in (folder, *_folders(folder))]
    return [place for place in places if layout_of(place) is None and next(under(place), None) is not None]


def _folders(folder: Path) -> list[Path]:
    """Return the first folders inside one that is no data set itself."""
    with suppress(OSError):  # one that may not be read
        inside = (path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith("."))
        return [path for path in islice(inside, _MOST_FOLDERS) if layout_of(path) is None and os.access(path, os.R_OK)]
    return []


def files_of(loader: DataSource, path: Path) -> list[Path]:
    """Return the files that a loader reads at a path: what has to be copied."""
    if isinstance(loader, FieldsSource):
        return loader.files(path)
    return source_files(loader, DataPlaces()) if isinstance(loader, Xlsa17) else sorted(path.glob("*.csv"))


def _xlsa17_summary(path: Path) -> str:
    return f"features: {', '.join(feature_files(path)) or 'none'}; signatures: {', '.join(splits_files(path))}"


def _size(loader: type[FieldsSource]) -> Callable[[Path], str]:
    def summary(path: Path) -> str:
        files = loader.files(path)
        size = f"{sum(file.stat().st_size for file in files) / 1e6:.1f} MB"
        return size if len(files) == 1 else f"{len(files)} files, {size}"

    return summary


LAYOUTS = (
    Layout("xlsa17", Xlsa17, "folder", "att_splits.mat with res101.mat", _xlsa17_summary, is_xlsa17),
    Layout(
        "csv", CsvSource, "folder", "features.csv with labels.csv", lambda path: "folder of CSV files", is_csv_folder
    ),
    Layout("npy", NpySource, "folder", "features.npy with labels.npy", _size(NpySource), is_npy_folder),
    Layout(
        "parquet",
        ParquetSource,
        "path",
        "Parquet files",
        _size(ParquetSource),
        partial(is_folder_of, ParquetSource.suffixes),
        ParquetSource.suffixes,
    ),
    Layout(
        "arrow",
        ArrowSource,
        "path",
        "Arrow files",
        _size(ArrowSource),
        partial(is_folder_of, ArrowSource.suffixes),
        ArrowSource.suffixes,
    ),
    Layout("hdf5", Hdf5Source, "path", "HDF5 files", _size(Hdf5Source), is_hdf5_folder, HDF5_SUFFIXES),
    Layout("torch", TorchSource, "path", "files of PyTorch", _size(TorchSource), is_torch_folder, TORCH_SUFFIXES),
    Layout("npz", NpzSource, "file", "an .npz file", _size(NpzSource), suffixes=(".npz",)),
)
FILE_SUFFIXES = tuple(suffix for layout in LAYOUTS for suffix in layout.suffixes)
EXPECTED = ", ".join(layout.expected for layout in LAYOUTS[:-1]) + f", or {LAYOUTS[-1].expected}"
_MOST_FOLDERS = 200  # that are looked into for others, of each
OPTIONS = tuple(dict.fromkeys(layout.option for layout in LAYOUTS))
