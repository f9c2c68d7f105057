"""Features that are computed and not learned: gradient histograms and colour histograms, by scikit-image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from zslplat.data.feature_card import EncoderFacts
from zslplat.space import Integer, parameter
from zslplat_encoders.encoder import IMAGES, Encoder
from zslplat_encoders.libraries import load_library, versions_of


class _Handcrafted(Encoder):
    """What both share: the images are resized to a square, and the library is scikit-image."""

    licence = "none needed: nothing is learned"
    encodes = (IMAGES,)
    size = parameter("side of the square to which images are resized, in pixels", Integer(16, 1024), default=64)
    bytes_per_image = 1 << 21

    def open(self, *, download: bool = False) -> EncoderFacts:
        """Import scikit-image and return what the card says; raises :class:`UsageError` where it is missing."""
        self._library: Any = load_library(self._module, "handcrafted")
        values = [f"{name} {getattr(self, name)}" for name in self.parameters if name != "size"]
        return EncoderFacts(
            encoder=", ".join([self.summary, *values]),
            preprocessing=f"resized to {self.size} x {self.size}, bilinear",
            packages=versions_of("scikit-image", "numpy", "pillow"),
        )

    _module = "skimage"

    def _square(self, image: np.ndarray) -> np.ndarray:
        resized = Image.fromarray(image).resize((self.size, self.size), Image.Resampling.BILINEAR)
        return np.asarray(resized)


class Hog(_Handcrafted):
    """Histograms of oriented gradients: shapes and textures, in blocks of 2 x 2 cells.

    With ``size`` 64, ``cell`` 8 and ``orientations`` 9 a row has 7 * 7 * 4 * 9 = 1764 numbers, none negative.
    """

    summary = "histograms of oriented gradients"
    citation = "Dalal and Triggs, Histograms of oriented gradients for human detection, CVPR 2005"
    cell = parameter("side of a cell, in pixels", Integer(4, 64), default=8)
    orientations = parameter("bins of directions", Integer(2, 36), default=9)
    _module = "skimage.feature"

    def encode_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Return features (n, d), float32."""
        return np.stack([self._gradients(self._square(image)) for image in images])

    def _gradients(self, image: np.ndarray) -> np.ndarray:
        features = self._library.hog(
            image, self.orientations, (self.cell, self.cell), (2, 2), "L2-Hys", channel_axis=-1
        )
        return np.asarray(features, dtype=np.float32)


class Colours(_Handcrafted):
    """Histograms of hue, saturation and value in the cells of a grid; the shares of a cell add up to 1."""

    summary = "histograms of hue, saturation and value"
    grid = parameter("cells along each side", Integer(1, 16), default=2)
    hues = parameter("bins of hue", Integer(2, 64), default=12)
    levels = parameter("bins of saturation, and of value", Integer(1, 16), default=3)
    _module = "skimage.color"

    def encode_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Return features (n, grid ** 2 * hues * levels ** 2), float32."""
        return np.stack([self._histograms(self._square(image)) for image in images])

    def _histograms(self, image: np.ndarray) -> np.ndarray:
        hsv = self._library.rgb2hsv(image)
        bins = np.array([self.hues, self.levels, self.levels])
        number = np.minimum((hsv * bins).astype(np.int64), bins - 1)
        code = (number[..., 0] * self.levels + number[..., 1]) * self.levels + number[..., 2]
        width = self.hues * self.levels**2
        rows = [part for half in np.array_split(code, self.grid) for part in np.array_split(half, self.grid, axis=1)]
        shares = [np.bincount(part.ravel(), minlength=width) / part.size for part in rows]
        return np.concatenate(shares).astype(np.float32)
