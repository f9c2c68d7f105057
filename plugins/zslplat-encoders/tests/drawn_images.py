"""Drawn images of named classes, and images that are odd."""

import io

import numpy as np
from PIL import Image

COLOURS = {"red": (200, 30, 30), "green": (30, 150, 50), "blue": (40, 60, 200)}
SHAPES = ("circle", "square")


def drawn(colour, shape, rng, size=40):
    y, x = np.mgrid[:size, :size] - size / 2
    radius = rng.integers(9, 15)
    inside = x**2 + y**2 < radius**2 if shape == "circle" else np.maximum(abs(x), abs(y)) < radius
    pixels = np.where(inside[..., None], COLOURS[colour], 255) + rng.normal(0, 6, (size, size, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def draw_folder(folder, rows=4):
    """Write a folder of drawn images for each colour and shape, and return the names of the classes."""
    rng = np.random.default_rng(0)
    names = []
    for colour in COLOURS:
        for shape in SHAPES:
            names.append(f"{colour} {shape}")
            (folder / f"{colour}_{shape}").mkdir(parents=True)
            for row in range(rows):
                drawn(colour, shape, rng).save(folder / f"{colour}_{shape}" / f"{row}.png")
    return names


def png(image, **options):
    buffer = io.BytesIO()
    image.save(buffer, "PNG", **options)
    return buffer.getvalue()
