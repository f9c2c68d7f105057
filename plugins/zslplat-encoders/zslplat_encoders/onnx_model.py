"""Image features of a model in an ONNX file, computed by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from zslplat.data.feature_card import EncoderFacts
from zslplat.errors import DataError, UsageError
from zslplat.space import Domain, Integer, Text, parameter
from zslplat_encoders.encoder import IMAGES, Encoder, pretraining_of
from zslplat_encoders.libraries import digest_of, load_library, require_file, versions_of


class _Channels(Domain[Any]):
    """A number for all channels, or three joined by ``+``."""

    def contains(self, value: Any) -> bool:
        """Tell whether a value is a text or a number; which texts are legal is seen when the model is opened."""
        return isinstance(value, str | int | float) and not isinstance(value, bool)

    def __str__(self) -> str:
        return "number|r+g+b"


class OnnxModel(Encoder):
    """The output of an ONNX model of images (n, 3, h, w) or (n, h, w, 3).

    Images are scaled so that the shorter side is ``size``, cropped to the middle, divided by 255, centred by ``mean``
    and divided by ``std``. An output (n, tokens, d) is averaged over tokens. One with four axes is averaged over
    places, and has its channels where the images have theirs.
    """

    summary = "an image model in an .onnx file"
    licence = "that of the weights"
    encodes = (IMAGES,)
    weights = parameter("the .onnx file", Text(), default="")
    output = parameter("name of the output; empty for the first", Text(), default="")
    size = parameter("side of the image, where the model takes any", Integer(1, 4096), default=224)
    mean = parameter("mean of each channel, joined by +", _Channels(), default="0.485+0.456+0.406")
    pretraining = parameter("list of classes that it was trained on, such as imagenet-1k", Text(), default="")
    std = parameter("spread of each channel, joined by +", _Channels(), default="0.229+0.224+0.225")

    def open(self, *, download: bool = False) -> EncoderFacts:
        """Open the model and return what the card says; raises for a missing library, file or output."""
        file = require_file(self.weights, "ONNX model")
        self._mean, self._std = _channels("mean", self.mean), _channels("std", self.std)
        runtime = load_library("onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = self.threads, 3
        try:
            self._session: Any = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise DataError(f"{file}: cannot be read as an ONNX model ({' '.join(str(error).split())})") from error
        (image, *others), outputs = self._session.get_inputs(), [one.name for one in self._session.get_outputs()]
        if others or len(image.shape) != 4 or 3 not in (image.shape[1], image.shape[3]):
            raise DataError(f"{file}: takes {image.name} {image.shape}; expected images (n, 3, h, w) or (n, h, w, 3)")
        if self.output and self.output not in outputs:
            raise UsageError(f"{file}: has no output {self.output!r}; outputs: {', '.join(outputs)}")
        self._channels_first = image.shape[1] == 3
        fixed = image.shape[2]
        self._side = fixed if isinstance(fixed, int) else self.size
        self._input, self._output = image.name, self.output or outputs[0]
        # A model with a batch of its own is given that many images at a time.
        self._batch = image.shape[0] if isinstance(image.shape[0], int) else 0
        return EncoderFacts(
            encoder=f"{file.stem}, output {self._output}",
            weights=file.name,
            weights_sha256=digest_of([file]),
            preprocessing=f"shorter side {self._side}, middle crop, mean {self.mean}, spread {self.std}",
            packages=versions_of("onnxruntime", "numpy", "pillow"),
            pretraining=self.pretraining or pretraining_of(file.name),
        )

    def encode_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Return features (n, d), float32."""
        pixels = np.stack([self._pixels(image) for image in images])
        size = self._batch or len(pixels)
        rows = [self._run(pixels[start : start + size], size) for start in range(0, len(pixels), size)]
        return np.concatenate(rows)

    def _run(self, pixels: np.ndarray, size: int) -> np.ndarray:
        missing = size - len(pixels)
        batch = np.concatenate([pixels, np.repeat(pixels[-1:], missing, axis=0)]) if missing else pixels
        (values,) = self._session.run([self._output], {self._input: batch})
        rows = np.asarray(values, dtype=np.float32)[: len(pixels)]
        if rows.ndim not in (2, 3, 4):
            raise DataError(
                f"{self.weights}: output {self._output} is {values.shape}; expected rows (n, d), tokens (n, t, d) or "
                "places; choose another one with output="
            )
        if rows.ndim == 4:
            return np.asarray(rows.mean(axis=(2, 3) if self._channels_first else (1, 2)))
        return np.asarray(rows.mean(axis=1)) if rows.ndim == 3 else rows

    def _pixels(self, image: np.ndarray) -> np.ndarray:
        scaled = (middle_square(image, self._side).astype(np.float32) / 255 - self._mean) / self._std
        return np.asarray(scaled.transpose(2, 0, 1) if self._channels_first else scaled)


def middle_square(image: np.ndarray, side: int) -> np.ndarray:
    """Return the middle of an image (side, side, 3), scaled so that its shorter side fits."""
    height, width = image.shape[:2]
    short = min(height, width)
    left, top = (width - short) / 2, (height - short) / 2
    box = (left, top, left + short, top + short)
    return np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BICUBIC, box=box))


def _channels(name: str, text: str) -> np.ndarray:
    try:
        values = np.array([float(part) for part in str(text).split("+")], dtype=np.float32)
    except ValueError:
        values = np.empty(0, dtype=np.float32)
    if len(values) not in (1, 3) or (name == "std" and not (values > 0).all()):
        raise UsageError(f"onnx: {name}={text}; expected one number or three, joined by +, as in 0.5+0.5+0.5")
    return values
