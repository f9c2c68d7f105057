"""
Serving a model
===============

A tuned model answers for rows that come tomorrow, and for classes that its data never held. Then a server answers with
it.
"""

# %%
# A model, by tuning
# ------------------
# Ten of the hundred pairs of digits are taken out altogether: they will be the new classes.

import csv
import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import mlflow.pyfunc
import numpy as np

import zslplat

work = Path(tempfile.mkdtemp())
store = work / "mlruns"

pairs = zslplat.load_dataset("digit-pairs(rows=10)", store=store)
strokes = pairs.signatures[pairs.default_signatures]
X, names = np.asarray(pairs.X), np.array(pairs.class_names)
new = [3, 14, 25, 36, 47, 58, 69, 70, 81, 92]
old = [number for number in range(100) if number not in new]

known = np.isin(pairs.y, old)
y = np.searchsorted(old, pairs.y[known])
np.savez(
    work / "ninety-pairs.npz",
    X=X[known],
    y=y,
    S=strokes.values[old],
    class_names=names[old],
    attribute_names=np.array(strokes.names),
    split=np.where(y % 5 == 2, "test_unseen", "train"),
)
study = zslplat.tune("eszsl", "ninety-pairs", trials=6, data_root=work, store=store, quiet=True)
study

# %%
# The evaluation on the test split kept its model, with the fitted preprocessing.


def command(line):
    """Give a command as one types it, show what it prints, and return that."""
    print(f"$ {line}")
    environment = {**os.environ, "ZSLPLAT_STORE": "mlruns"}
    done = subprocess.run(shlex.split(line), cwd=work, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    print(done.stdout)
    return done.stdout


RUN = command("zslplat models list").splitlines()[-1].split()[0]

# %%
# Predicted: rows of new classes
# ------------------------------
# Rows are given without any preprocessing. The new classes are a table: the name, then the attributes.

asked = np.flatnonzero(np.isin(pairs.y, new))
np.save(work / "rows.npy", X[asked])
with (work / "new.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["class", *strokes.names])
    table.writerows([f"{names[c][0]} and {names[c][1]}", *strokes.values[c].astype(int)] for c in new)
print(*(work / "new.csv").read_text().splitlines()[:3], sep="\n")

# %%
command(f"zslplat predict rows.npy --run {RUN} --signatures new.csv --output found.csv --top 2")
with (work / "found.csv").open(newline="") as file:
    found = list(csv.DictReader(file))
for line in found[::30]:
    print(line)

truth = [f"{names[c][0]} and {names[c][1]}" for c in pairs.y[asked]]
right = np.mean([line["class"] == name for line, name in zip(found, truth, strict=True)])
print(f"{right:.0%} of {len(found)} rows get their class, of {len(new)} new ones")

# %%
# Ten classes by name, and where the answers go wrong:

import matplotlib.pyplot as plt

called = [f"{names[c][0]} and {names[c][1]}" for c in new]
counts = np.zeros((10, 10), dtype=int)
for name, line in zip(truth, found, strict=True):
    counts[called.index(name), called.index(line["class"])] += 1
figure, axes = plt.subplots(figsize=(4.6, 4), layout="constrained")
axes.imshow(counts, cmap="Blues")
axes.set(xticks=range(10), yticks=range(10), yticklabels=called, xlabel="predicted", ylabel="true")
axes.set_xticklabels(called, rotation=90)

# %%
# Exported: an MLflow model
# -------------------------
# The folder holds arrays, JSON and one source file, no pickle. It needs no store.

command(f"zslplat export --run {RUN} --to pairs-model")

# %%
# MLflow loads it like any other. Options of ``predict`` are ``params`` here.

model = mlflow.pyfunc.load_model(str(work / "pairs-model"))
params = {
    "classes": [f"{names[c][0]} and {names[c][1]}" for c in new],
    "signatures": strokes.values[new].ravel().tolist(),
    "top": 2,
}
answer = model.predict(X[asked], params=params)
answer.head(3)

# %%
# Each row gets the class that the command found.

print("the same classes:", list(answer["class"]) == [line["class"] for line in found])

# %%
# Served
# ------
# ``export`` printed the command that serves the model::
#
#     mlflow models serve --model-uri pairs-model --env-manager local --port 5001
#
# A request holds rows and parameters in JSON:

request = json.dumps({"inputs": X[asked[:1]].tolist(), "params": params})
(work / "request.json").write_text(request)
print(request[:60], "...", request[-60:])

# %%
# From a shell::
#
#     curl http://127.0.0.1:5001/invocations --header "Content-Type: application/json" --data @request.json
#
# What does not fit is answered with status 400 and the reason. MLflow's server asks nobody for a password. More is in
# :doc:`/models`.
