"""Which classes of a data set the encoder of its features has been trained on.

A feature card names the classes of the pre-training, or a list of them (:data:`LISTS`). A class whose name holds a
WordNet id is compared by it where the list has ids, any other by its normalised names: without numbers, marks and
plurals, in small letters.
Some matches are *uncertain* and counted apart: a name that several classes have (``crane``), one that is the end of
another (``wolf`` and ``timber wolf``), and a place without ``indoor`` or ``outdoor``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from zslplat.data.dataset import Dataset

# The lists of classes by name, each a file of this package.
LISTS = {"imagenet-1k": "imagenet-1k.tsv"}

_WORDNET_ID = re.compile(r"(?<![A-Za-z0-9])n\d{8}(?!\d)")
_LEADING_NUMBER = re.compile(r"^\d+[\s._-]+")
_PLACE = ("indoor", "outdoor", "interior", "exterior")


@dataclass(frozen=True)
class Exposure:
    """What an encoder has seen of the classes of a data set that are unseen in training.

    ``features`` names the features, ``classes`` the pre-training in words. ``seen`` are the unseen classes of the data
    set that were in it, each with its name there, ``uncertain`` those that may have been. None in place of both where
    the classes of the pre-training are not known.
    """

    features: str
    classes: str
    unseen: int
    seen: Mapping[str, str] | None = field(default_factory=dict)
    uncertain: Mapping[str, str] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """``6 of 10 unseen classes were in the pre-training of res101 (imagenet-1k): lion, ...``, and what may be."""
        of = f"of {self.unseen} unseen classes"
        where = f"the pre-training of {self.features} ({self.classes})"
        if self.seen is None:
            return f"how many {of} were in {where} is not known: no list of its classes"
        names = f": {', '.join(self.seen)}" if self.seen else ""
        pairs = ", ".join(f"{name} ({there})" for name, there in self.uncertain.items())
        uncertain = f"; {len(self.uncertain)} uncertain: {pairs}" if pairs else ""
        return f"{len(self.seen)} {of} were in {where}{names}{uncertain}"


def exposures_of(dataset: Dataset) -> list[Exposure]:
    """Return what the encoder of each feature set has seen, where the card of a zero-shot data set says something."""
    if dataset.y.ndim != 1 or not len(dataset.splits.get("test_unseen", ())):
        return []
    numbers = sorted(set(dataset.y[dataset.rows("test_unseen")].tolist()))
    names = [dataset.class_names[number] for number in numbers]
    exposures = []
    for features, encoding in dataset.source.get("encodings", {}).get("features", {}).items():
        pretraining = encoding["pretraining"]
        if pretraining:
            classes = pretraining if isinstance(pretraining, str) else f"{len(pretraining)} classes"
            listed = not isinstance(pretraining, str) or pretraining in LISTS
            seen, uncertain = match_classes(names, pretraining) if listed else (None, {})
            exposures.append(Exposure(features, classes, len(names), seen, uncertain))
    return exposures


def match_classes(names: Sequence[str], pretraining: str | Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return {class: its name in the pre-training} of those classes that are in it, and of those that may be.

    ``pretraining`` is the name of one of :data:`LISTS` or the names of classes, each several names with commas or one.

    >>> match_classes(["killer+whale", "wolves", "giraffe", "n02129604"], "imagenet-1k")
    ({'killer+whale': 'killer whale', 'n02129604': 'tiger'}, {'wolves': 'timber wolf'})
    """
    catalogue = _listed(pretraining) if isinstance(pretraining, str) else _catalogue(pretraining)
    seen: dict[str, str] = {}
    uncertain: dict[str, str] = {}
    for name in names:
        identifier = _WORDNET_ID.search(name)
        if identifier and catalogue.by_id:
            if identifier[0] in catalogue.by_id:
                seen[name] = catalogue.by_id[identifier[0]]
            continue
        words = _WORDNET_ID.sub(" ", name)
        for where, there in ((seen, catalogue.certain(words)), (uncertain, catalogue.possible(words))):
            if there:
                where[name] = there
                break
    return seen, uncertain


@dataclass(frozen=True)
class _Catalogue:
    """The classes of a pre-training: by WordNet id, by name in one word, and by the words of a name."""

    by_id: dict[str, str]
    by_name: dict[str, str]
    shared: dict[str, str]
    by_end: dict[tuple[str, ...], str]

    def add(self, name: str, title: str, forms: Iterable[tuple[str, ...]]) -> None:
        """Add a name of a class that messages call ``title``."""
        for words in forms:
            (self.shared if name.endswith("?") else self.by_name).setdefault("".join(words), title)
            for start in range(1, len(words)):
                self.by_end.setdefault(words[start:], title)

    def certain(self, name: str) -> str:
        """Return the name of a class that has this one alone."""
        return next((self.by_name[key] for key in map("".join, _forms(name)) if key in self.by_name), "")

    def possible(self, name: str) -> str:
        """Return the name of a class that may be meant."""
        for words in _forms(name):
            bare = words[:-1] if words[-1] in _PLACE else words
            key = "".join(bare)
            # The class is a kind of one that was seen, or one that was seen is a kind of it.
            ends = (self.by_name.get("".join(bare[start:])) for start in range(len(bare)))
            there = self.shared.get(key) or next(filter(None, ends), "") or self.by_end.get(bare, "")
            if there:
                return there
        return ""


def _catalogue(entries: Sequence[str]) -> _Catalogue:
    """Read entries: a WordNet id or none, and names with commas between; ``?`` marks what several classes are called.

    The first name of a class counts before the further names of any other, and alone in its plural, too.
    """
    catalogue = _Catalogue({}, {}, {}, {})
    further = []
    for entry in entries:
        identifier = _WORDNET_ID.search(entry)
        first, *others = [part.strip() for part in _WORDNET_ID.sub("", entry).split(",")]
        title = first.removesuffix("?") or (identifier[0] if identifier else "")
        if identifier:
            catalogue.by_id[identifier[0]] = title
        catalogue.add(first, title, _forms(title))
        further += [(name, title) for name in others]
    for name, title in further:
        catalogue.add(name, f"{title}, {name.removesuffix('?')}", list(_forms(name.removesuffix("?")))[:1])
    return catalogue


@cache
def _listed(name: str) -> _Catalogue:
    text = files("zslplat.data").joinpath(LISTS[name]).read_text(encoding="utf-8")
    return _catalogue([line for line in text.splitlines() if not line.startswith("#")])


def _forms(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a name, and with the singulars of its last word."""
    words = tuple(re.findall(r"\w+", _LEADING_NUMBER.sub("", name).replace("_", " ").replace("'", "").lower()))
    if words:
        yield words
        yield from ((*words[:-1], last) for last in _singulars(words[-1]))


def _singulars(word: str) -> Iterator[str]:
    for ending, singular in (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("men", "man"), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 2 and not word.endswith("ss"):
            yield word.removesuffix(ending) + singular
