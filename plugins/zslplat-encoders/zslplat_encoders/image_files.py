"""Labelled images: folders by class, a CSV of paths and labels, or Parquet files that hold them; and how one is read.

A folder holds a folder for each class. Folders ``train``, ``val`` and ``test`` above those of the classes are splits. A
CSV file has the columns ``path`` (from where the file lies) and ``label``, and may have ``split``. A Parquet file has
the columns ``image``, bytes or a record with ``bytes``, and ``label``, and may have ``split``.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from zslplat.data.splits import OF_ROWS, split_of
from zslplat.errors import DataError, MissingDataError

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
_COLUMNS = {"image": ("path", "image", "file", "filename"), "label": ("label", "class"), "split": ("split",)}


class UnreadableImage(Exception):
    """An image that cannot be decoded; the text says why."""


@dataclass(frozen=True)
class ImageList:
    """Images in their order: names, labels and splits (empty: none), and what returns the bytes of image i."""

    names: Sequence[str]
    labels: Sequence[str]
    splits: Sequence[str]
    read: Callable[[int], bytes]

    @property
    def digest(self) -> str:
        """SHA-256 over names, labels and splits."""
        lines = "".join(f"{line}\n" for line in zip(self.names, self.labels, self.splits, strict=True))
        return hashlib.sha256(lines.encode()).hexdigest()


def list_images(path: Path) -> ImageList:
    """Return the images at a path; raises :class:`DataError` with what was expected for what is none of the forms."""
    if path.is_dir():
        parquet = sorted(path.glob("*.parquet"))
        images = _of_parquet(parquet) if parquet else _of_folder(path)
    elif path.suffix == ".parquet" and path.is_file():
        images = _of_parquet([path])
    elif path.is_file():
        images = _of_table(path)
    else:
        raise MissingDataError(f"{path}: no such file or folder of images")
    if not images.names:
        raise DataError(f"{path}: holds no image; expected a folder of files ({', '.join(SUFFIXES)}) for each class")
    return images


def _of_folder(folder: Path) -> ImageList:
    def subfolders(parent: Path) -> list[Path]:
        return sorted(one for one in parent.iterdir() if one.is_dir() and not one.name.startswith("."))

    tops = subfolders(folder)
    split = bool(tops) and all(split_of(one.name) in OF_ROWS for one in tops)
    classes = (
        [(split_of(top.name), one) for top in tops for one in subfolders(top)] if split else [("", t) for t in tops]
    )
    files = [
        (of_split, one.name, file)
        for of_split, one in classes
        for file in sorted(one.rglob("*"))
        if file.suffix.lower() in SUFFIXES and file.is_file() and not file.name.startswith(".")
    ]
    return ImageList(
        [file.relative_to(folder).as_posix() for _, _, file in files],
        [label for _, label, _ in files],
        [of_split for of_split, _, _ in files],
        lambda index: files[index][2].read_bytes(),
    )


def _of_table(path: Path) -> ImageList:
    import csv

    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *lines = [line for line in csv.reader(file) if line]
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(
            f"{path}: cannot be read as a CSV of paths and labels ({error}); give a folder by class"
        ) from error
    column = _columns(path, header)
    short = next((number for number, line in enumerate(lines, 2) if len(line) != len(header)), None)
    if short is not None:
        raise DataError(f"{path}, line {short}: has another number of cells than the first line; fix it")
    names = [line[column["image"]] for line in lines]
    return ImageList(
        names,
        [line[column["label"]].strip() for line in lines],
        [split_of(line[column["split"]]) if "split" in column else "" for line in lines],
        lambda index: (path.parent / names[index]).read_bytes(),
    )


def _columns(path: Path, names: Sequence[str]) -> dict[str, int]:
    lower = [name.strip().lower() for name in names]
    column = {part: lower.index(a) for part, aliases in _COLUMNS.items() for a in reversed(aliases) if a in lower}
    for part in ("image", "label"):
        if part not in column:
            raise DataError(f"{path}: no column {' or '.join(_COLUMNS[part])}; its columns are {', '.join(names[:8])}")
    return column


def _of_parquet(files: Sequence[Path]) -> ImageList:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    try:
        tables = [pq.ParquetFile(file) for file in files]
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{files[len(tables)]}: cannot be read as Parquet ({error})") from error
    schema = tables[0].schema_arrow
    column = {part: schema.names[index] for part, index in _columns(files[0], schema.names).items()}
    names: list[str] = []
    labels: list[str] = []
    splits: list[str] = []
    groups: list[tuple[int, int, int]] = []  # first image, file, row group
    for number, table in enumerate(tables):
        small = table.read(columns=[name for part, name in column.items() if part != "image"])
        for group in range(table.num_row_groups):
            groups.append((len(names), number, group))
            rows = table.metadata.row_group(group).num_rows
            names += [f"{files[number].name}[{group}:{row}]" for row in range(rows)]
        labels += [str(label) for label in small[column["label"]].to_pylist()]
        of_split = small[column["split"]].to_pylist() if "split" in column else [""] * small.num_rows
        splits += [split_of(str(one or "")) for one in of_split]
    named = _names_of_labels(schema, column["label"])
    if named and all(label.isdigit() and int(label) < len(named) for label in labels):
        labels = [named[int(label)] for label in labels]

    @lru_cache(maxsize=1)
    def pictures(number: int, group: int) -> list[Any]:
        content: list[Any] = (
            tables[number].read_row_group(group, columns=[column["image"]])[column["image"]].to_pylist()
        )
        return content

    starts = np.array([first for first, _, _ in groups])

    def read(index: int) -> bytes:
        first, number, group = groups[int(np.searchsorted(starts, index, side="right")) - 1]
        picture = pictures(number, group)[index - first]
        content = picture.get("bytes") if isinstance(picture, dict) else picture
        if not isinstance(content, bytes):
            raise UnreadableImage("holds no bytes")
        return content

    return ImageList(names, labels, splits, read)


def _names_of_labels(schema: Any, column: str) -> list[str]:
    """Return the names of labels that are numbers, as the library ``datasets`` writes them beside the columns."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return [str(name) for name in features[column]["names"]]
    except (KeyError, ValueError, TypeError):
        return []


def decode(content: bytes) -> np.ndarray:
    """Return an image as upright RGB (h, w, 3), uint8, on white where it is transparent; the first of several frames.

    Raises :class:`UnreadableImage` for bytes that are no whole image.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image: Image.Image = Image.open(io.BytesIO(content))
            image.load()
        image = ImageOps.exif_transpose(image)
        if image.mode in ("I", "I;16", "I;16B", "I;16L"):  # 16 bits of grey
            image = Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).clip(0, 255).astype(np.uint8))
        if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
            above = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", above.size, "white"), above)
        return np.asarray(image.convert("RGB"))
    except UnidentifiedImageError as error:
        raise UnreadableImage("is empty" if not content else "is no image of a known format") from error
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError, Warning) as error:
        raise UnreadableImage(" ".join(str(error).split())) from error
