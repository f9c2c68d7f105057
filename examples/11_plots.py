"""
Plots
=====

What results look like. Each picture is one call, and ``plot`` returns a figure of matplotlib to change or to save.
"""

# %%
# A study: its trials
# -------------------

import matplotlib.pyplot as plt

import zslplat

studies = {name: zslplat.tune(name, trials=8, quiet=True) for name in ("ridge-prototypes", "eszsl", "sae")}
studies["eszsl"].plot()

# %%
# A comparison: differences from a control
# ----------------------------------------

zslplat.compare(*studies.values(), against=studies["ridge-prototypes"]).plot()

# %%
# A sweep: one hyperparameter over a range
# ----------------------------------------

zslplat.sweep("eszsl", "alpha", "1e-4..1e2:log", points=6, quiet=True).plot()

# %%
# A generalised run: the folds of its validation
# ----------------------------------------------

zslplat.evaluate("eszsl", task="gzsl", quiet=True).plot()

# %%
# What a method learned: a matrix
# -------------------------------
# A fitted method has its matrices by name. Here rows are pixels and columns are strokes.

data = zslplat.load_dataset("digit-pairs")
train = data.rows("train")
model = zslplat.make("eszsl").fit(data.X[train], data.y[train], data.S)
for name, matrix in model.method_.matrices().items():
    figure, ax = plt.subplots(figsize=(3, 4), layout="constrained")
    ax.imshow(matrix, cmap="RdBu", aspect="auto")
    ax.set(title=name, xlabel="signature", ylabel="feature")

# %%
# More pictures are in MLflow (``zslplat ui``) and in every report (``zslplat report``).
