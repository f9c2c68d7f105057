"""
From images and class names
===========================

A folder of images and a list of class names are enough. ``zslplat encode``, a command of the package zslplat-encoders,
makes a data set of them. Here the encoders are small enough to run anywhere.
"""

# %%
# Image files in folders
# ----------------------
# Drawn shapes as PNG files, one folder for each class. The names of classes say what is drawn.

import shlex
import subprocess
import tempfile
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import image

COLOURS = {"red": (0.8, 0.2, 0.2), "green": (0.2, 0.6, 0.3), "blue": (0.2, 0.3, 0.8), "yellow": (0.9, 0.8, 0.2)}
SHAPES, TEXTURES = ("circle", "square", "triangle", "cross"), ("plain", "striped")
SIZE, IMAGES = 48, 16


def drawn(colour, shape, texture, rng):
    """Return an image (48, 48, 3) of a shape at a random place, with noise."""
    y, x = np.mgrid[:SIZE, :SIZE] - SIZE / 2 - rng.integers(-4, 5, (2, 1, 1))
    radius, angle = rng.uniform(10, 17), rng.uniform(-0.3, 0.3)
    u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    inside = {
        "circle": np.hypot(u, v) < radius,
        "square": np.maximum(abs(u), abs(v)) < 0.9 * radius,
        "triangle": (v < 0.7 * radius) & (v > 2 * abs(u) - radius),
        "cross": (np.minimum(abs(u), abs(v)) < radius / 4) & (np.maximum(abs(u), abs(v)) < radius),
    }[shape]
    if texture == "striped":
        inside = inside & (np.floor(u / 2) % 2 == 0)
    picture = np.where(inside[..., None], COLOURS[colour], rng.uniform(0.75, 1)) + rng.normal(0, 0.06, (SIZE, SIZE, 3))
    return picture.clip(0, 1)


work, rng = Path(tempfile.mkdtemp()), np.random.default_rng(0)
names = []
for colour, texture, shape in product(COLOURS, TEXTURES, SHAPES):
    names.append(f"{colour} {texture} {shape}")
    folder = work / "shapes" / names[-1].replace(" ", "_")
    folder.mkdir(parents=True)
    for number in range(IMAGES):
        image.imsave(folder / f"{number:02}.png", drawn(colour, shape, texture, rng))
(work / "names.txt").write_text("\n".join(names))

figure, axes = plt.subplots(2, 8, figsize=(8, 2.3), layout="constrained")
for ax, name in zip(axes.flat, names[::2], strict=True):
    ax.imshow(image.imread(work / "shapes" / name.replace(" ", "_") / "00.png"))
    ax.set_title(name.replace(" ", "\n", 1), fontsize=7)
    ax.axis("off")

# %%
# Encoded
# -------
# ``hog`` and ``colours`` are computed and not learned: directions of edges, and histograms of colours. ``minilm`` is a
# real text encoder. Its weights come in a Python package, and it needs no torch.


def command(line):
    """Give a command as one types it, and show what it prints."""
    print(f"$ {line}")
    done = subprocess.run(shlex.split(line), cwd=work, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    print(done.stdout)


command(
    "zslplat encode shapes --names names.txt --image-encoder hog --image-encoder colours --text-encoder minilm "
    "--unseen 0.25 --to data"
)

# %%
# The card says what made the numbers: encoders, digests of weights, preprocessing, prompts.

print((work / "data" / "card.toml").read_text())

# %%
# Tuned and compared
# ------------------
# Methods learn from the rows of seen classes. Then they tell the unseen ones apart by what the text encoder makes of
# their names.

command("zslplat tune eszsl --dataset data --trials 8 --quiet")
command("zslplat tune ridge-prototypes --dataset data --trials 8 --quiet")
command("zslplat compare")

# %%
# Which signatures serve best
# ---------------------------
# A table of attributes is a second signature set, and a sweep asks the validation folds for the weights.

WORDS = [*COLOURS, *SHAPES, "striped"]
lines = [",".join([name, *(str(int(word in name.split())) for word in WORDS)]) for name in names]
(work / "att.csv").write_text("\n".join([",".join(["class", *WORDS]), *lines]))
command("zslplat encode --attributes att.csv --to data")
command('zslplat sweep eszsl signatures data --range "minilm|att|0.3*att+0.7*minilm" --quiet')

# %%
# Other encoders
# --------------
# A backbone of torchvision, timm or open_clip goes into the same place, and so does a model in an ONNX file:
# ``--image-encoder "timm(model=resnet50.a1_in1k)" --download``. A backbone that was trained on your *unseen* classes
# has seen them: ``zslplat data info data`` says which. ``zslplat list encoders`` shows what there is.
