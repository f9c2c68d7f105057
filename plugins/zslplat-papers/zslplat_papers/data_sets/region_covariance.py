"""Region covariances: one symmetric positive definite matrix per image, from 25 features at every pixel.

| paper   | here       | shape        | meaning                                                               |
|---------|------------|--------------|-----------------------------------------------------------------------|
| I       | images     | (n, h, w)    | intensities                                                           |
| x_{u,v} | features   | (25, h w)    | I, |I_u|, |I_v|, |I_uu|, |I_vv|, |G^{o,s}| for 4 orientations, 5 scales |
| G       |            | (h, w)       | response of a complex Gabor wavelet                                   |
|         | epsilon    |              | ridge, as a part of the mean diagonal                                 |

Harandi and Salzmann, "Kernel Coding: General Formulation and Special Cases", section 4.5. Wavelets of Lee, "Image
Representation Using 2D Gabor Wavelets": frequency w, envelope exp(-w^2 (4 x^2 + y^2) / (8 k^2)), carrier
exp(i w x) - exp(-k^2 / 2), with k = pi (one octave); frequencies pi / 2 falling by sqrt(2) from scale to scale.
Outside the image the pixels next to the edge are mirrored.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zslplat.data.assembly import RawArrays, assemble
from zslplat.data.dataset import Dataset
from zslplat.data.feature_card import FeatureCard, read_card
from zslplat.data.formats.array_likes import names_of
from zslplat.data.formats.npz import NpzFile, NpzSource
from zslplat.data.source import DataPlaces, FileSource
from zslplat.data.store.array_store import sha256_of
from zslplat.errors import DataError, UsageError
from zslplat.space import NON_NEGATIVE, Parameter

ORIENTATIONS, SCALES = 4, 5

OCTAVE = np.pi

FEATURES = 5 + ORIENTATIONS * SCALES

# What is read from a file beside the images; as in zslplat.data.formats.fields.
KEYS = ("y", "class_names", "train", "test", "folds", "groups")


def region_covariances(images: np.ndarray, *, epsilon: float = 1e-3) -> np.ndarray:
    """Return the covariances (n, 25, 25) of the pixel features of images (n, h, w), in float64.

    Intensities are taken as they are; integer images are divided by 255. Raises :class:`DataError` for another shape,
    images below 8 x 8, and images of one colour.
    """
    if images.ndim != 3 or min(images.shape[1:]) < 8:
        raise DataError(f"region covariances need images (n, h, w) of 8 x 8 pixels or more, got {images.shape}")
    integer = np.issubdtype(images.dtype, np.integer)
    height, width = images.shape[1:]
    margin = min(height, width) - 1
    shape = (height + 2 * margin, width + 2 * margin)
    transforms = [np.fft.fft2(wavelet) for wavelet in gabor_wavelets(shape)]
    result = np.empty((len(images), FEATURES, FEATURES))
    for i, image in enumerate(images):
        intensity = image.astype(np.float64) / (255.0 if integer else 1.0)
        if np.ptp(intensity) == 0:
            raise DataError(f"image {i} is of one colour; it has no covariance to speak of, leave it out")
        features = _pixel_features(intensity, margin, transforms)
        covariance = np.cov(features)
        scale = float(np.trace(covariance)) / FEATURES
        covariance[np.diag_indices(FEATURES)] += epsilon * scale
        result[i] = (covariance + covariance.T) / 2
    return result


def gabor_wavelets(shape: tuple[int, int]) -> list[np.ndarray]:
    """Return the 20 wavelets, complex (shape), centred at the corner for circular convolution; orientations first."""
    v, u = np.meshgrid(np.fft.fftfreq(shape[0]) * shape[0], np.fft.fftfreq(shape[1]) * shape[1], indexing="ij")
    wavelets = []
    for o in range(ORIENTATIONS):
        angle = np.pi * o / ORIENTATIONS
        x = u * np.cos(angle) + v * np.sin(angle)
        y = -u * np.sin(angle) + v * np.cos(angle)
        for s in range(SCALES):
            w = np.pi / 2 * 2 ** (-s / 2)
            envelope = w / (np.sqrt(2 * np.pi) * OCTAVE) * np.exp(-(w**2) * (4 * x**2 + y**2) / (8 * OCTAVE**2))
            wavelets.append(envelope * (np.exp(1j * w * x) - np.exp(-(OCTAVE**2) / 2)))
    return wavelets


def _pixel_features(image: np.ndarray, margin: int, transforms: list[np.ndarray]) -> np.ndarray:
    height, width = image.shape
    I_v, I_u = np.gradient(image)
    I_vv, I_uu = np.gradient(I_v, axis=0), np.gradient(I_u, axis=1)
    spectrum = np.fft.fft2(np.pad(image, margin, mode="reflect"))
    window = (slice(margin, margin + height), slice(margin, margin + width))
    responses = [np.abs(np.fft.ifft2(spectrum * transform)[window]) for transform in transforms]
    planes = [image, np.abs(I_u), np.abs(I_v), np.abs(I_uu), np.abs(I_vv), *responses]
    return np.stack([plane.ravel() for plane in planes])


class RegionCovariance(FileSource):
    r"""Region covariances (n, 25, 25) of the images (n, h, w) in an ``.npz`` file, with its labels and splits.

    Equations
    ---------
    Describes an image by how features of its pixels vary together:

    $$C = \frac{1}{h w - 1} \sum_{u, v} (x_{uv} - \bar x)(x_{uv} - \bar x)^\top + \epsilon\, \bar c\, I$$

    where the last term is a part epsilon of the mean diagonal entry.

    Example
    -------
    >>> import numpy as np, zslplat
    >>> np.savez("images.npz", images=np.random.default_rng(0).random((6, 16, 16)), y=np.arange(6) % 2)
    >>> data = zslplat.load_dataset("region-covariance(path=images.npz, X=images)")
    >>> data.X.shape
    (6, 25, 25)

    Related
    -------
    Kernel ``log-euclidean`` compares such matrices; methods ``ksc`` and ``kllc`` code them.
    """

    summary = "25 x 25 region covariances of the images in an .npz file of your own"
    licence = "that of the images in the file"
    citation = "Harandi and Salzmann, Kernel Coding: General Formulation and Special Cases (ACCV 2014)"
    parameters: ClassVar = {
        **{name: p for name, p in NpzSource.parameters.items() if name in ("path", "X", "base", *KEYS)},
        "epsilon": Parameter("ridge, as a part of the mean diagonal", NON_NEGATIVE),
    }

    kind, suffixes = "region-covariance", (".npz",)

    def load(self, places: DataPlaces) -> Dataset:
        """Read the file and compute the covariances, or take what an earlier load stored under ``places.cache``."""
        if "path" not in self.options or "X" not in self.options:
            raise UsageError("region-covariance: give the file, and which key holds the images: path=..., X=images")
        return super().load(places)

    def card(self, path: Path) -> FeatureCard:
        """Return what is stated beside the file, with any options of ``npz``."""
        return read_card(path, NpzSource.parameters)

    def files(self, path: Path) -> list[Path]:
        """Return the file alone."""
        return [path]

    def read_files(self, places: DataPlaces, path: Path, card: FeatureCard, options: Mapping[str, Any]) -> Dataset:
        """Compute the covariances."""
        file = NpzFile(path)
        keys = {role: file.key_of(role, options) for role in ("X", *KEYS)}
        arrays = {role: file.read(key) for role, key in keys.items() if key}
        if "y" not in arrays:
            raise DataError(f"{path}: no labels; the file holds {', '.join(file.names)}; say which with y=...")
        epsilon = float(options.get("epsilon", 1e-3))
        names = arrays.get("class_names")
        raw = RawArrays(
            name=f"{path.stem}-covariances",
            where=str(path),
            X=region_covariances(arrays["X"], epsilon=epsilon),
            y=arrays["y"],
            class_names=None if names is None else names_of(names, f"{path}, class_names"),
            splits={split: arrays[split] for split in ("train", "test") if split in arrays},
            folds=arrays.get("folds"),
            groups=arrays.get("groups"),
            base=int(options.get("base", 0)),
        )
        source = {"loader": "region-covariance", "path": str(path), "sha256": sha256_of(path), "keys": keys}
        return assemble(raw, card, {**source, "epsilon": epsilon})
