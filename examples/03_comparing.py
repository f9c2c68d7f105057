"""
Comparing methods honestly
==========================

Which of two methods is better, and would it be again on other classes? A table of two numbers answers neither. This
tutorial tunes three methods with the same budget and reads the comparison line by line.
"""

# %%
# The same budget for each
# ------------------------
# Every method gets the same number of trials on the same validation folds. The built-in data set ``digit-pairs`` has
# 100 classes of two real handwritten digits side by side, 20 of them unseen.

import tempfile
from pathlib import Path

import zslplat

studies = {name: zslplat.tune(name, trials=6, quiet=True) for name in ("eszsl", "sae", "mfmr-joint")}
studies["eszsl"]

# %%
# Each trial is a line, and stands in MLflow as well (``zslplat ui``):

studies["eszsl"].to_frame().round(4)

# %%
# Two intervals and a verdict
# ---------------------------
# *On these test rows* is what the score would be on other pictures of these 20 classes. *On new classes* is what it
# would be on 20 other classes. The second is what one wants to know, and it is wider. The verdict goes by it, after
# Holm's correction for several rivals.

table = zslplat.compare(*studies.values(), against=studies["eszsl"])
table

# %%
# Methods that score a batch *jointly* stand apart. ``mfmr-joint`` looks at all test rows at once, and takes the classes
# to be equally frequent. That is knowledge which the others do not have, and it is written beside it.
#
# What a prior costs where it is wrong
# ------------------------------------
# ``imbalance=10`` thins the unseen classes out, the rarest to a tenth. A method that counts on equal classes then
# pays.

for balance in (1, 0):
    found = zslplat.evaluate("mfmr-joint", task="zsl(imbalance=10)", set={"balance": balance}, quiet=True)
    print(f"balance={balance}: {found.value:.3f} on validation classes")

# %%
# Looks at the test split are counted
# -----------------------------------
# ``evaluate`` scores validation folds unless it is told ``test=True``; each look at the test split is counted and
# shown, as above. A table for a paper is one call away.

paper = Path(tempfile.mkdtemp()) / "comparison.tex"
table.export(paper)
print(paper.read_text())

# %%
# What each interval covers, and how often in simulation, is in :doc:`/statistics`; the columns are in
# :doc:`/compare`. The same on the command line: ``zslplat tune --method eszsl --trials 6``, and then ``zslplat
# compare --against eszsl --out comparison.tex``.
