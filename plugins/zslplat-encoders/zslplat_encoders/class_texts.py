"""Names of classes, what is said of each, and the signatures that a text encoder makes of that."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zslplat.errors import DataError, MissingDataError, UsageError, near_names
from zslplat_encoders.encoder import Encoder

# Templates by name; those of ``ensemble`` are seven that serve for natural images (Radford et al. 2021).
PROMPTS: Mapping[str, tuple[str, ...]] = {
    "name": ("{}",),
    "photo": ("a photo of a {}.",),
    "ensemble": (
        "itap of a {}.",
        "a bad photo of the {}.",
        "a origami {}.",
        "a photo of the large {}.",
        "a {} in a video game.",
        "art of the {}.",
        "a photo of the small {}.",
    ),
}
_MOST_NAMES = 5


@dataclass(frozen=True)
class ClassNames:
    """Names of classes in the order of their numbers, and the class of each label of the images."""

    names: tuple[str, ...]
    class_of_label: Mapping[str, int]

    def without_images(self) -> list[str]:
        """Return the names that no label has."""
        labelled = set(self.class_of_label.values())
        return [name for number, name in enumerate(self.names) if number not in labelled]


def read_names(path: Path | None, labels: Sequence[str]) -> ClassNames:
    """Return the names of classes: those of a file, or the labels of the images in plain words.

    A ``.txt`` file has one name a line, or a label, a tab and the name; a ``.csv`` file has label and name. A label is
    the class whose name is the same but for case, ``_`` and a number in front. Raises :class:`DataError` for labels
    without a name, and names that stand there twice.
    """
    present = sorted(set(labels))
    pairs = [(label, _plain(label)) for label in present] if path is None else _read_pairs(path)
    names = tuple(name for _, name in pairs)
    where = "names of the folders" if path is None else str(path)
    if len(set(names)) < len(names):
        raise DataError(
            f"{where}: name {next(n for n in names if names.count(n) > 1)!r} twice; give each class its own"
        )
    forms = {_form(label): number for number, (label, _) in enumerate(pairs)}
    class_of_label = {label: forms[_form(label)] for label in present if _form(label) in forms}
    lost = [label for label in present if label not in class_of_label]
    if lost:
        near = near_names(lost[0], ClassNames(names, class_of_label).without_images(), most=1)
        hint = f"; did you mean {near[0]!r} for {lost[0]!r}?" if near else ""
        raise DataError(
            f"{where}: no name for {len(lost)} of {len(present)} labels: {_shown(lost)}{hint}; add a line "
            f"'{lost[0]}<tab>its name'"
        )
    return ClassNames(names, class_of_label)


def _read_pairs(path: Path) -> list[tuple[str, str]]:
    lines = _read_lines(path)
    if path.suffix == ".csv":
        rows = [row for row in csv.reader(lines) if row]
        bad = next((row for row in rows if len(row) != 2), None)
        if bad is not None:
            raise DataError(f"{path}: {','.join(bad)!r} has {len(bad)} cells; expected label,name in each line")
        header = [cell.strip().lower() for cell in rows[0]] in (["label", "name"], ["class", "name"])
        return [(label.strip(), name.strip()) for label, name in rows[header:]]
    pairs = [line.partition("\t") for line in lines]
    return [(label.strip(), (name or label).strip()) for label, _, name in pairs]


def _read_lines(path: Path) -> list[str]:
    try:
        lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise DataError(f"{path}: is no text in UTF-8; save it again as one") from error
    if not lines:
        raise DataError(f"{path}: is empty")
    return lines


def _plain(label: str) -> str:
    words = re.sub(r"[\s_]+", " ", re.sub(r"^\d+[._-]", "", label)).strip()
    return words or label


def _form(label: str) -> str:
    return re.sub(r"[\s_-]+", " ", _plain(label)).lower()


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")


def read_prompts(text: str) -> tuple[str, ...]:
    """Return templates: those of a name in :data:`PROMPTS`, or the lines of a file, each with ``{}`` for the name."""
    if text in PROMPTS:
        return PROMPTS[text]
    path = Path(text).expanduser()
    if not path.is_file():
        raise UsageError(f"--prompts {text}: expected {', '.join(PROMPTS)}, or a file with a template in each line")
    prompts = tuple(line.strip() for line in _read_lines(path))
    bad = next((prompt for prompt in prompts if prompt.count("{}") != 1), None)
    if bad is not None:
        raise DataError(f"{path}: {bad!r} does not hold {{}} once, which stands for the name of the class")
    return prompts


def read_descriptions(path: Path, names: Sequence[str]) -> list[list[str]]:
    """Return the texts of each class, of a file with lines of class,text; several lines of a class are several texts.

    Raises :class:`DataError` for a class without a text.
    """
    texts: dict[str, list[str]] = {_form(name): [] for name in names}
    for row in csv.reader(_read_lines(path)):
        label, text = (row[0], ",".join(row[1:])) if len(row) > 1 else row[0].partition(":")[::2]
        if text.strip() and _form(label) in texts:
            texts[_form(label)].append(text.strip())
    lost = [name for name in names if not texts[_form(name)]]
    if lost:
        raise DataError(
            f"{path}: no line of {len(lost)} of {len(names)} classes: {_shown(lost)}; add '{lost[0]},its text'"
        )
    return [texts[_form(name)] for name in names]


def texts_of(names: Sequence[str], prompts: Sequence[str], descriptions: Path | None) -> list[list[str]]:
    """Return what is said of each class: its descriptions, or its name in each of the prompts."""
    if descriptions is not None:
        return read_descriptions(descriptions, names)
    return [[prompt.replace("{}", name) for prompt in prompts] for name in names]


def encode_classes(encoder: Encoder, texts: Sequence[Sequence[str]], names: Sequence[str]) -> np.ndarray:
    """Return signatures (c, a): the mean of the unit vectors of a class's texts, of length 1, float64.

    Texts without a known word have no vector and are left out. Raises :class:`DataError` for a class none of whose
    texts has one.
    """
    rows = np.asarray(encoder.encode_texts([text for several in texts for text in several]), dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    ends = np.cumsum([len(several) for several in texts])
    means = np.stack([part.sum(axis=0) for part in np.split(rows, ends[:-1])])
    lengths = np.linalg.norm(means, axis=1)
    _require_words(names, lengths)
    return np.asarray(means / lengths[:, None])


def require_names_in_vocabulary(encoder: Encoder, names: Sequence[str]) -> None:
    """Raise :class:`DataError` for names without a word in the vocabulary, whatever a prompt says around them."""
    if encoder.has_vocabulary:
        _require_words(names, np.abs(encoder.encode_texts(names)).sum(axis=1))


def _require_words(names: Sequence[str], lengths: np.ndarray) -> None:
    lost = [name for name, length in zip(names, lengths, strict=True) if length == 0]
    if lost:
        raise DataError(
            f"{len(lost)} classes have no word that the encoder knows: {_shown(lost)}; give other names, or "
            "--descriptions"
        )


def words_unknown(encoder: Encoder, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the words out of vocabulary of each class name that has some."""
    unknown = {name: encoder.unknown_words(name) for name in names}
    return {name: words for name, words in unknown.items() if words}
