"""Feature cards: a TOML file beside the arrays says where they come from and how they were made.

``card.toml`` lies in the folder of a data set, ``birds.card.toml`` beside ``birds.npz``. A file of a data set that is
alone in a folder with ``card.toml`` is the data set of that folder. Every key may be left out::

    description = "Animals with Attributes 2, proposed split"
    licence = "..."
    citation = "..."
    made_by = "Y. Xian and others, 2017"

    [options]                       # how the files are loaded; options of a spec win
    features = "res101"

    [[files]]                       # what `zslplat data fetch` downloads; a zip archive is unpacked
    addresses = ["https://example.org/xlsa17.zip", "https://mirror.example.org/xlsa17.zip"]
    sha256 = "..."
    size = 918000000
    folder = "xlsa17/data/AWA2"     # of the data set in the archive

    [features.res101]               # by the name of the features, or of the view
    encoder = "ResNet-101"
    weights = "torchvision IMAGENET1K_V1"
    weights_sha256 = "..."
    preprocessing = "resize 224, no crop"
    pretraining = "imagenet-1k"     # or the names of the classes

    [signatures.clip]               # texts have encoders, too
    encoder = "ViT-B-32"
    preprocessing = "a photo of a {}"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PureWindowsPath
from typing import Any, TypeVar, cast, get_type_hints

from zslplat.config import toml_content
from zslplat.errors import DataError, UnknownNameError, UsageError, quoted
from zslplat.names import unfit
from zslplat.space import Parameter, check_value

CARD_FILE = "card.toml"
DATA_SUFFIXES = (".parquet", ".csv", ".h5", ".hdf5", ".npz")  # of files that are data sets

_SHA256 = re.compile(r"[0-9a-f]{64}")

_Entry = TypeVar("_Entry")


@dataclass(frozen=True)
class EncoderFacts:
    """How features or signatures were made.

    ``weights_sha256`` is the digest of the weights, ``packages`` the versions of what computed them. ``pretraining``
    names the classes that the encoder was trained on: a list of names, or the name of a list in
    :mod:`zslplat.data.exposure`, such as ``imagenet-1k``.
    """

    encoder: str = ""
    weights: str = ""
    weights_sha256: str = ""
    preprocessing: str = ""
    pretraining: str | tuple[str, ...] = ()
    packages: str = ""


@dataclass(frozen=True)
class Download:
    """A file of the data set: its addresses in the order in which they are tried, its SHA-256, its size in bytes.

    ``name`` is the file to write, by default the last part of the first address: a bare name, never a path, as cards
    come from elsewhere. A zip archive is unpacked; ``folder`` is that of the data set in it. ``features`` are those
    that the file brings, where others can do without it.
    """

    addresses: tuple[str, ...]
    sha256: str = ""
    size: int = 0
    name: str = ""
    folder: str = ""
    features: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """The name of the file."""
        return self.name or self.addresses[0].partition("?")[0].rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class FeatureCard:
    """What is stated of a data set beside its arrays; empty where there is no file."""

    description: str = ""
    licence: str = ""
    citation: str = ""
    made_by: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Download, ...] = ()
    features: Mapping[str, EncoderFacts] = field(default_factory=dict)
    signatures: Mapping[str, EncoderFacts] = field(default_factory=dict)

    def to_toml(self) -> str:
        """Return the content of the file, without empty values."""
        import tomli_w

        return tomli_w.dumps(self.to_json(), multiline_strings=True)

    def to_json(self) -> dict[str, Any]:
        """Return the card as JSON values, without empty ones."""
        return cast(dict[str, Any], _without_empty(asdict(self)))


def card_of(content: Mapping[str, Any], where: str) -> FeatureCard:
    """Return a card of its JSON form; raises :class:`DataError`, with the key, for what it cannot hold.

    >>> card_of({"licence": "CC0", "features": {"mnv2": {"pretraining": "imagenet-1k"}}}, "card").features["mnv2"]
    EncoderFacts(encoder='', weights='', weights_sha256='', preprocessing='', pretraining='imagenet-1k', packages='')
    """
    card = _entry(FeatureCard, content, where)
    encodings = {
        part: {
            name: _entry(EncoderFacts, one, f"{where}, {part}.{name}") for name, one in content.get(part, {}).items()
        }
        for part in ("features", "signatures")
    }
    files = tuple(
        _entry(Download, one, f"{where}, files[{number}]") for number, one in enumerate(content.get("files", ()))
    )
    return replace(card, files=files, features=encodings["features"], signatures=encodings["signatures"])


def card_path(data: Path) -> Path:
    """Return where the card of a data set is: inside its folder, or beside its single file."""
    if data.is_dir():
        return data / CARD_FILE
    beside = data.with_suffix("." + CARD_FILE)
    return data.parent / CARD_FILE if not beside.is_file() and lone_file(data.parent) == data else beside


def lone_file(folder: Path) -> Path | None:
    """Return the file of a data set that lies alone in a folder with a card; None where there is none, or several."""
    if not (folder / CARD_FILE).is_file():
        return None
    files = [file for file in folder.iterdir() if file.suffix in DATA_SUFFIXES and not file.name.startswith(".")]
    # Files of signatures lie beside tables, and are no data sets.
    files = [file for file in files if not re.search(r"(^|\.)signatures[._-]", file.name)]
    return files[0] if len(files) == 1 else None


def unfit_for_file(name: str) -> str:
    """Return why a name cannot be that of one file or folder inside another folder; an empty text where it can.

    >>> [unfit_for_file(name) for name in ("rows.npy", "a/b", "C:x")]
    ['', 'it is a path', 'it is a path']
    """
    return unfit(name) or ("it is a path" if PureWindowsPath(name).name != name else "")


def read_card(data: Path, parameters: Mapping[str, Parameter]) -> FeatureCard:
    """Return the card of the data set at ``data``, an empty one where there is none.

    Raises :class:`DataError` for a broken file, or an option that is none of ``parameters``.
    """
    path = card_path(data)
    if not path.is_file():
        return FeatureCard()
    card = load_card(path)
    for name, value in card.options.items():
        if name not in parameters or name == "path":
            raise DataError(f"{path}: unknown option {name!r}; options: {', '.join(parameters)}")
        try:
            check_value(str(path), name, value, parameters)
        except UsageError as error:
            raise DataError(str(error)) from error
    return card


def load_card(path: Path) -> FeatureCard:
    """Return the card in a TOML file; raises :class:`DataError` for a file that is none."""
    try:
        return card_of(toml_content(path), str(path))
    except (OSError, tomllib.TOMLDecodeError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a feature card ({error}); correct it or remove it") from error


def _entry(kind: type[_Entry], content: Any, where: str) -> _Entry:
    """Return a part of a card, of which each value has the type that its class states."""
    if not isinstance(content, Mapping):
        raise DataError(f"{where}: {quoted(content)}; expected a table")
    types = get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in types:
            raise DataError(str(UnknownNameError(f"key of {where}", key, types)))
        several = isinstance(value, list | tuple)
        is_table = isinstance(value, Mapping) or (several and all(isinstance(one, Mapping) for one in value))
        texts = several and all(isinstance(one, str) for one in value)
        expected = {
            str: ("a text", isinstance(value, str)),
            int: ("a number of bytes", type(value) is int and value >= 0),
            tuple[str, ...]: ("a list of texts", texts and bool(value)),
            str | tuple[str, ...]: ("a text or a list of texts", isinstance(value, str) or texts),
        }.get(types[key], ("tables" if key == "files" else "a table", is_table and several == (key == "files")))
        if not expected[1]:
            raise DataError(f"{where}: {key} is {quoted(value)}; expected {expected[0]}")
        if key.endswith("sha256") and value and not _SHA256.fullmatch(value):
            raise DataError(f"{where}: {key} is {quoted(value)}; expected 64 hex digits in small letters")
        values[key] = tuple(value) if several else value
    if kind is Download and "addresses" not in values:
        raise DataError(f'{where}: addresses are missing; write addresses = ["https://..."]')
    entry = kind(**values)
    if isinstance(entry, Download) and (wrong := unfit_for_file(entry.file_name)):
        raise DataError(f"{where}: file {quoted(entry.file_name, 80)}: {wrong}; expected a bare name such as rows.npy")
    return entry


def _without_empty(value: Any) -> Any:
    if isinstance(value, Mapping):
        cleaned = {key: _without_empty(one) for key, one in value.items()}
        return {key: one for key, one in cleaned.items() if one not in ("", 0, (), [], {})}
    return [_without_empty(one) for one in value] if isinstance(value, list | tuple) else value
