"""
Data of your own
================

From four tables, as any spreadsheet writes them, to a tuned and compared method. The tables hold the rows, their
classes, what describes a class, and which rows are held back for the test.

Here the rows are real: 8 x 8 pixels of handwritten digits. What describes a class are the strokes of a seven-segment
display, so that a digit nobody has trained on can be told by its strokes.
"""

# %%
# Four tables
# -----------
# A folder holds one file for each part. The names are all that zslplat goes by; a header line is recognised.

import shlex
import subprocess
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits

work = Path(tempfile.mkdtemp())
mine = work / "mine"
mine.mkdir()

images, labels = load_digits(return_X_y=True)
names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
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
unseen = {"three", "six", "nine"}

(mine / "features.csv").write_text("\n".join(",".join(f"{v:g}" for v in row) for row in images))
(mine / "labels.csv").write_text("\n".join(names[label] for label in labels))
(mine / "signatures.csv").write_text("\n".join(f"{name},{','.join(bits)}" for name, bits in strokes.items()))
(mine / "splits.csv").write_text("\n".join("test_unseen" if names[y] in unseen else "train" for y in labels))
for file in sorted(mine.iterdir()):
    print(f"{file.name:16}", file.read_text().splitlines()[0][:60])

# %%
# Checked and kept
# ----------------
# ``data import`` reads all of it, says what does not fit, and copies it under a data root. From then on the data set
# has a name.


def command(line):
    """Give a command as one types it, and show what it prints."""
    print(f"$ {line}")
    done = subprocess.run(shlex.split(line), cwd=work, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    print(done.stdout)


command("zslplat data import mine --name strokes --data-root data")

# %%
# Tuned and compared
# ------------------
# Hyperparameters are searched on held-out *seen* classes; the three unseen digits are scored once, at the end.
# ``ridge-prototypes`` is the plain control that a cleverer method has to beat. The same on the command line:
# ``zslplat tune --method ridge-prototypes --dataset strokes --data-root data --trials 8``.

import zslplat

control = zslplat.tune("ridge-prototypes", "strokes", trials=8, data_root=work / "data", quiet=True)
control

# %%
study = zslplat.tune("eszsl", "strokes", trials=8, data_root=work / "data", quiet=True)
study

# %%
# Three test classes cannot tell two methods apart, and the table says so. The interval over new classes is wide,
# whatever the rows say.

zslplat.compare(control, study, against=control)

# %%
# The winner, with its preprocessing and the hyperparameters that were chosen, is an estimator that learns of any
# rows:

data = zslplat.load_dataset("strokes", data_root=work / "data")
signatures = data.signatures[data.default_signatures].values
model = study.make().fit(data.X[data.rows("train")], data.y[data.rows("train")], signatures)
few = data.rows("test_unseen")[:8]
candidates = sorted(unseen)
rows = [data.class_names.index(name) for name in candidates]
print("asked for: ", *(data.class_names[c] for c in data.y[few]))
print("said to be:", *model.predict(data.X[few], signatures[rows], classes=candidates))

# %%
# Among all ten digits, seen ones included, the choice is harder: :doc:`04_generalised` is about that. What else a
# folder may hold, and the other formats (one ``.npz`` file, Parquet, HDF5, data larger than the memory), is in
# :doc:`/formats`.
