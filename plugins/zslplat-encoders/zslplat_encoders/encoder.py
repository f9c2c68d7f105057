"""The contract of encoders: images become features, texts become signatures, or both become points of one space."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from zslplat.data.feature_card import EncoderFacts
from zslplat.space import Parameterised

IMAGES, TEXTS = "images", "texts"
# What names of weights hold that were trained on ImageNet-1k, and what they hold that have seen other data, too.
_IMAGENET = ("imagenet1k", "in1k")
_OTHER_DATA = re.compile(
    r"ft|(in|imagenet)\d+k|laion\w*|openai|clip|swag|swsl|jft|ig\d\w*|yfcc\w*|webli|datacomp\w*|dfn\w*|lvd\w*|\w*\d+m"
)


class Encoder(Parameterised, ABC):
    """Base of every encoder plugin; its parameters are declared in the body of the class.

    ``encodes`` says what it takes: ``images``, ``texts``, or both, whose vectors then lie in one space. ``tolerance``
    is the largest difference, relative to the largest value, between batches of other sizes or other numbers of
    threads. ``bytes_per_image`` is about what one image takes while it is encoded, from which batches get their size;
    ``threads`` how many threads it may use, set before :meth:`open`.
    """

    summary: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    licence: ClassVar[str] = ""
    encodes: ClassVar[tuple[str, ...]] = ()
    promises: ClassVar[str] = "zslplat_encoders.promises:ENCODER_CHECKS"  # what the conformance kit runs
    tolerance: ClassVar[float] = 1e-5
    bytes_per_image: int = 1 << 24
    threads: int = 1

    @abstractmethod
    def open(self, *, download: bool = False) -> EncoderFacts:
        """Load libraries and weights, and return what a card says of them.

        ``encoder`` and ``preprocessing`` name all that shapes the vectors beside the weights, whose digest is there
        where there are any. Nothing is fetched without ``download``. Raises :class:`~zslplat.errors.UsageError` for a
        missing library and :class:`~zslplat.errors.MissingDataError` for missing weights, with the line that mends it.
        """

    def encode_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Return features (n, d), float32, of n upright RGB images (h, w, 3), uint8, each of a size of its own."""
        raise NotImplementedError

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return a vector (n, a), float32, for each of n texts; a text without a known word has zeros."""
        raise NotImplementedError

    def unknown_words(self, text: str) -> list[str]:
        """Return the words of a text that are out of vocabulary; none for encoders that spell unknown words."""
        return []

    @property
    def has_vocabulary(self) -> bool:
        """Whether words can be out of vocabulary."""
        return type(self).unknown_words is not Encoder.unknown_words


def pretraining_of(weights: str) -> str:
    """Return what a card says of the data behind weights, by their name: a list of classes, else that very name.

    >>> pretraining_of("resnet50.a1_in1k"), pretraining_of("augreg_in21k_ft_in1k")
    ('imagenet-1k', 'the data of augreg_in21k_ft_in1k')
    """
    marks = re.split(r"[^a-z0-9]+", weights.lower())
    others = [mark for mark in marks if mark not in _IMAGENET and _OTHER_DATA.fullmatch(mark)]
    return f"the data of {weights}" if others or not set(marks) & set(_IMAGENET) else "imagenet-1k"
