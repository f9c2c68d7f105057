"""
Data of your own
================

From two tables to a tuned and compared method. One has a line per row: its class, its split, its features. The other
has a line per class, which describes it: here the strokes of a digit on a seven-segment display.
"""

# %%
# Two tables
# ----------
# ``digits.csv`` has the rows, ``digits.signatures.csv`` beside it the classes.

import shlex
import subprocess
import tempfile
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_digits

work = Path(tempfile.mkdtemp())

images, labels = load_digits(return_X_y=True)
strokes = {
    "zero": "1110111",
    "one": "0010010",
    "two": "1011101",
    "three": "1011011",
    "four": "0111010",
    "five": "1101011",
    "six": "1101111",
    "seven": "1010010",
    "eight": "1111111",
    "nine": "1111011",
}
names, unseen = list(strokes), {"three", "six", "nine"}

rows = pd.DataFrame(images).add_prefix("pixel").assign(label=[names[label] for label in labels])
rows["split"] = ["test_unseen" if name in unseen else "train" for name in rows["label"]]
rows.to_csv(work / "digits.csv", index=False)
signatures = pd.DataFrame([[int(bit) for bit in bits] for bits in strokes.values()], index=names)
signatures.add_prefix("stroke").rename_axis("class").to_csv(work / "digits.signatures.csv")

# %%
# Checked
# -------
# ``data check`` shows what was taken for what, and says what looks wrong.


def command(line):
    """Give a command as one types it, and show what it prints."""
    print(f"$ {line}")
    done = subprocess.run(shlex.split(line), cwd=work, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    print(done.stdout)


command("zslplat data check digits.csv")

# %%
# Tuned and compared
# ------------------
# ``ridge-prototypes`` is the plain control that a cleverer method has to beat. On the command line:
# ``zslplat tune ridge-prototypes --dataset digits.csv --trials 8``.

import zslplat

control = zslplat.tune("ridge-prototypes", work / "digits.csv", trials=8, quiet=True)
control

# %%
study = zslplat.tune("eszsl", work / "digits.csv", trials=8, quiet=True)
study

# %%
# Three test classes cannot tell two methods apart, and the verdict says so.

table = zslplat.compare(control, study, against=control)
table.plot()

# %%
table

# %%
# The winner is an estimator, with its preprocessing and what was chosen:

data = zslplat.load_dataset(work / "digits.csv")
model = study.make().fit(data.X[data.rows("train")], data.y[data.rows("train")], data.S)
few = data.rows("test_unseen")[:8]
candidates = sorted(unseen)
places = [data.class_names.index(name) for name in candidates]
print("asked for: ", *(data.class_names[c] for c in data.y[few]))
print("said to be:", *model.predict(data.X[few], data.S[places], classes=candidates))

# %%
# The same from memory: ``zslplat.tune(rows, "label", signatures, split="split", method="eszsl")``. Other formats are in
# :doc:`/formats`.
