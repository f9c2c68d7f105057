"""
From Python
===========

A few lines of Python do what the commands do, on the same engine and in the same store. Load a data set, tune two
methods, compare them, and keep the winner as a scikit-learn estimator.
"""

# %%
# Data
# ----
# A data set goes by its name, by a spec, or as arrays (``zslplat.make_dataset``). ``digit-pairs`` is built in: 100
# classes of two handwritten digits side by side, 20 of them unseen.

import tempfile

import numpy as np

import zslplat

store = tempfile.mkdtemp()
data = zslplat.load_dataset("digit-pairs", store=store)
{split: f"{len(rows)} rows, {len(np.unique(data.y[rows]))} classes" for split, rows in data.splits.items()}

# %%
# Two studies
# -----------
# Each method gets the same number of trials on validation folds, and its winner is scored once on the test split. The
# same call, or ``zslplat tune --method eszsl --trials 6`` in the same store, would continue the study.

eszsl = zslplat.tune("eszsl", trials=6, store=store, quiet=True)
eszsl

# %%
# The trials are a table of pandas, and a figure.

eszsl.to_frame().round(4)

# %%
eszsl.plot()

# %%
ridge = zslplat.tune("ridge-prototypes", trials=6, store=store, quiet=True)
ridge.best_params

# %%
# The comparison
# --------------
# Results say themselves where they are recorded. The verdict is over new classes, after Holm's correction.

table = zslplat.compare(eszsl, ridge)
table.to_frame()[["method", "validation", "test", "low_classes", "high_classes", "verdict"]].round(4)

# %%
table.plot()

# %%
# The winner in one's own process
# -------------------------------
# ``make()`` of a study gives what it chose with its preprocessing, as a scikit-learn estimator. Fitted on the training
# rows it reaches on the unseen ones what the study reached: ``score`` tells them apart among the unseen classes.

train, test = data.rows("train"), data.rows("test_unseen")
signatures = data.class_signatures()[0]

pipeline = eszsl.make().fit(data.X[train], data.y[train], signatures)
reached = pipeline.score(data.X[test], data.y[test])
print(f"study {eszsl.test_value:.4f}, pipeline {reached:.4f}")

# %%
# More is on the page :doc:`From Python </python>`: arrays and tables in memory, sweeps, suites, pipelines of every
# kind of method.
