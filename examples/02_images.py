"""
From images and class names
===========================

An *encoder* turns images and classes into rows of numbers. Here both encoders are small enough to run anywhere:
gradient histograms for images, a list of attributes for classes.
"""

# %%
# Image files in folders
# ----------------------
# Real handwritten digits as PNG files, one folder for each class.

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import image
from sklearn.datasets import load_digits

NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
folder = Path(tempfile.mkdtemp()) / "digits"
pixels, digits = load_digits(return_X_y=True)
for number, (picture, label) in enumerate(zip(pixels.reshape(-1, 8, 8), digits, strict=True)):
    path = folder / NAMES[label] / f"{number:04}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.imsave(path, np.kron(picture, np.ones((4, 4))), cmap="gray")
files = sorted(folder.glob("*/*.png"))
print(len(files), "files, such as", files[0].relative_to(folder))

# %%
# Features: any callable on images
# --------------------------------
# This encoder counts directions of edges in the cells of a grid.


def gradient_histograms(images, cells=4, directions=8):
    """Return (n, cells * cells * directions) histograms of edge directions of grey images (n, h, w)."""
    dy, dx = np.gradient(np.asarray(images, dtype=float), axis=(1, 2))
    strength, angle = np.hypot(dx, dy), np.arctan2(dy, dx) % (2 * np.pi)
    bins = np.minimum((angle / (2 * np.pi) * directions).astype(int), directions - 1)
    n, height, width = strength.shape
    found = np.zeros((n, cells, cells, directions))
    for row in range(cells):
        for column in range(cells):
            part = np.s_[
                :,
                row * height // cells : (row + 1) * height // cells,
                column * width // cells : (column + 1) * width // cells,
            ]
            for direction in range(directions):
                found[:, row, column, direction] = (strength[part] * (bins[part] == direction)).sum(axis=(1, 2))
    return found.reshape(n, -1)


def encoded(paths, encoder, batch=256):
    """Read images batch by batch and return the encoder's rows."""
    rows = []
    for start in range(0, len(paths), batch):
        images = [image.imread(path)[..., 0] for path in paths[start : start + batch]]
        rows.append(encoder(np.stack(images)))
    return np.vstack(rows)


X = encoded(files, gradient_histograms)
y = np.array([path.parent.name for path in files])
print(X.shape)

# %%
# A pretrained network without its last layer goes into the same place:
#
# .. code-block:: python
#
#     weights = torchvision.models.ResNet101_Weights.DEFAULT
#     network = torchvision.models.resnet101(weights=weights).eval()
#     network.fc = torch.nn.Identity()
#     prepare = weights.transforms()
#
#     def resnet(images):  # a list of PIL images
#         with torch.inference_mode():
#             return network(torch.stack([prepare(i) for i in images])).numpy()
#
# A backbone that was trained on your *unseen* classes has seen them.

# %%
# Signatures: what a class is like
# --------------------------------
# Here: the strokes of a seven-segment display, loops and open ends.

ATTRIBUTES = ["top", "upper left", "upper right", "middle", "lower left", "lower right", "bottom", "loops", "open ends"]
WRITTEN = {
    "zero": "1110111 1 0",
    "one": "0010010 0 2",
    "two": "1011101 0 2",
    "three": "1011011 0 2",
    "four": "0111010 1 2",
    "five": "1101011 0 2",
    "six": "1101111 1 1",
    "seven": "1010010 0 2",
    "eight": "1111111 2 0",
    "nine": "1111011 1 1",
}
S = np.array([[*map(float, bits), float(loops), float(ends)] for bits, loops, ends in map(str.split, WRITTEN.values())])
print(S.shape, "signatures of", len(ATTRIBUTES), "attributes")

# %%
# A text encoder goes into the same place: ``S = np.stack([encode_text(f"a photo of a {name}") for name in NAMES])``.

# %%
# Learned, and asked for classes that nobody has trained on
# ---------------------------------------------------------
# The method learns from rows of seven digits. Then it tells the three others apart by their signatures alone.

import zslplat

unseen = ["two", "three", "six"]
training = ~np.isin(y, unseen)
model = zslplat.make("ridge-prototypes")
model.fit(X[training], y[training], S, classes=NAMES)

candidates = [NAMES.index(name) for name in unseen]
predicted = model.predict(X[~training], S[candidates], classes=unseen)
for name in unseen:
    right = predicted[y[~training] == name] == name
    print(f"{name:6} {right.mean():.2f} of {len(right)} rows")

# %%
# Classes that differ in few attributes are mixed up. A test of three classes proves little.

import matplotlib.pyplot as plt

counts = np.array([[np.sum(predicted[y[~training] == true] == found) for found in unseen] for true in unseen])
figure, axes = plt.subplots(figsize=(4, 3.4), layout="constrained")
axes.imshow(counts, cmap="Blues")
axes.set(xticks=range(3), xticklabels=unseen, yticks=range(3), yticklabels=unseen, xlabel="predicted", ylabel="true")
for place, count in np.ndenumerate(counts):
    axes.text(
        place[1], place[0], count, ha="center", va="center", color="white" if count > counts.max() / 2 else "black"
    )

# %%
# Kept for the commands
# ---------------------
# One file of named arrays is a data set for every command: ``zslplat tune eszsl --dataset digits.npz``.

split = np.where(training, "train", "test_unseen")
np.savez(folder.parent / "digits.npz", X=X, y=y, S=S, class_names=NAMES, attribute_names=ATTRIBUTES, split=split)
data = zslplat.load_dataset(folder.parent / "digits.npz")
print(data.X.shape, {name: len(rows) for name, rows in data.splits.items()})
