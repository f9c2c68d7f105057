"""
Comparing methods honestly
==========================

Which of two methods is better, and would it be again on other classes?
"""

# %%
# The same budget for each
# ------------------------
# Every method gets the same number of trials on the same validation folds.

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
# Thick: what the score would be on other pictures of these 20 classes. Thin: on 20 other classes. The verdict goes by
# the second, after Holm's correction for several rivals.

table = zslplat.compare(*studies.values(), against=studies["eszsl"])
table.plot()

# %%
table

# %%
# ``mfmr-joint`` stands apart: it looks at all test rows at once, and takes the classes to be equally frequent.
#
# What a prior costs where it is wrong
# ------------------------------------
# ``imbalance=10`` thins the unseen classes out, the rarest to a tenth.

for balance in (1, 0):
    found = zslplat.evaluate("mfmr-joint", task="zsl(imbalance=10)", set={"balance": balance}, quiet=True)
    print(f"balance={balance}: {found.value:.3f} on validation classes")

# %%
# Looks at the test split are counted
# -----------------------------------
# ``evaluate`` scores validation folds unless ``test=True`` is given. A table for a paper is one call away.

paper = Path(tempfile.mkdtemp()) / "comparison.tex"
table.export(paper)
print(paper.read_text())

# %%
# On the command line: ``zslplat tune eszsl --trials 6``, then ``zslplat compare --against eszsl --out comparison.tex``.
# What each interval covers is in :doc:`/statistics`.
