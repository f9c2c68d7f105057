"""Static word vectors: a text is the mean of the vectors of its words, from a text file of GloVe or word2vec."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from zslplat.data.feature_card import EncoderFacts
from zslplat.errors import DataError
from zslplat.space import Text, parameter
from zslplat_encoders.encoder import TEXTS, Encoder
from zslplat_encoders.libraries import digest_of, require_file, versions_of

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


class WordVectors(Encoder):
    """The mean of the vectors of a text's words; words are looked up as they are written, then in lower case.

    Each line of the file is a word and its numbers, separated by spaces; a first line with two numbers, as word2vec
    writes it, is passed over. The file is read line by line, and the vectors of the words that are asked for stay.
    """

    summary = "mean of static word vectors (GloVe, word2vec as text)"
    citation = "Pennington, Socher and Manning, GloVe, EMNLP 2014"
    licence = "that of the vectors"
    encodes = (TEXTS,)
    weights = parameter("text file of word vectors, or .gz of one", Text(), default="")

    def open(self, *, download: bool = False) -> EncoderFacts:
        """Look at the file and return what the card says; raises :class:`MissingDataError` where there is none."""
        self._file = require_file(self.weights, "word vectors")
        self._vectors: dict[str, np.ndarray | None] = {}
        first = next((numbers for _, numbers in self._lines()), None)
        if first is None:
            raise DataError(f"{self._file}: holds no line of a word and its numbers; expected the text form of GloVe")
        self._width = len(first.split())
        return EncoderFacts(
            encoder=f"word vectors, {self._width} dimensions",
            weights=self._file.name,
            weights_sha256=digest_of([self._file]),
            preprocessing="mean of the vectors of all known words",
            packages=versions_of("numpy"),
        )

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return mean vectors (n, a), float32; zeros for a text without a known word."""
        self._look_up(form for text in texts for word in _WORD.findall(text) for form in (word, word.lower()))
        return np.stack([self._mean(text) for text in texts])

    def unknown_words(self, text: str) -> list[str]:
        """Return the words of a text that the file does not have."""
        words = _WORD.findall(text)
        self._look_up(form for word in words for form in (word, word.lower()))
        return [word for word in words if self._vector(word) is None]

    def _vector(self, word: str) -> np.ndarray | None:
        vector = self._vectors[word]
        return self._vectors[word.lower()] if vector is None else vector

    def _mean(self, text: str) -> np.ndarray:
        vectors = [vector for word in _WORD.findall(text) if (vector := self._vector(word)) is not None]
        return np.asarray(np.mean(vectors, axis=0)) if vectors else np.zeros(self._width, dtype=np.float32)

    def _look_up(self, words: Iterable[str]) -> None:
        wanted_words = set(words) - self._vectors.keys()
        if not wanted_words:
            return
        self._vectors |= dict.fromkeys(wanted_words)
        for word, numbers in self._lines():
            if word in wanted_words and self._vectors[word] is None:
                try:
                    vector = np.array(numbers.split(), dtype=np.float32)
                except ValueError:
                    vector = np.empty(0, dtype=np.float32)
                if len(vector) != self._width or not np.isfinite(vector).all():
                    raise DataError(f"{self._file}: the line of {word!r} has no {self._width} numbers; fix the file")
                self._vectors[word] = vector

    def _lines(self) -> Iterator[tuple[str, str]]:
        opened = gzip.open if self._file.suffix == ".gz" else open
        with opened(self._file, "rt", encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file):
                word, _, numbers = line.rstrip().partition(" ")
                if numbers and not (number == 0 and len(numbers.split()) == 1):
                    yield word, numbers
