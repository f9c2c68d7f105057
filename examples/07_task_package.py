"""
A task as a package
===================

A task owns a protocol: which rows a method is shown, what it is asked, and how its answers are measured. This one says
that *the worst class counts*.
"""

# %%
# A package that works as it stands
# ---------------------------------

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

work = Path(tempfile.mkdtemp())


def run(line, **variables):
    """Give a command as one types it, and show what it prints."""
    print(f"$ {line}")
    words = [sys.executable if word == "python" else word for word in shlex.split(line)]
    done = subprocess.run(words, cwd=work, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    print(*done.stdout.splitlines()[:20], sep="\n")
    return done.stdout


run("zslplat plugins new task worst-class")

# %%
# What a task says
# ----------------
# ``validation`` and ``test`` make *problems*: ``inputs`` are all that a method may see, ``truth`` is read in
# ``score`` only, in another process. Nothing in a problem may refer to the arrays of the data set, so rows are copied
# out.

source = (work / "zslplat-worst-class" / "zslplat_worst_class" / "worst_class.py").read_text()
print(source[source.index("    def score") : source.index("    def _rows")])

# %%
# ``chance`` says what guessing would give. For the minimum over classes it is well below one in ten.
#
# Installed, checked and used
# ---------------------------
# The kit tries, among other things, that truth and inputs share no memory and that validation holds no test row.

run("python -m pip install --quiet --no-deps --no-build-isolation --no-index --target site ./zslplat-worst-class")
SITE = os.pathsep.join(filter(None, [str(work / "site"), os.environ.get("PYTHONPATH", "")]))
run("zslplat plugins check zslplat-worst-class", PYTHONPATH=SITE)

# %%
# The task needs a data set with the splits ``train`` and ``test``: here digits, written as one file.

import numpy as np
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
drawn = np.random.default_rng(0).permutation(len(y))
np.savez(work / "digits.npz", X=X, y=y, train=drawn[:900], test=drawn[900:])
worst = {}
for method in ("llc", "sc", "src"):
    line = run(f"zslplat run {method} digits.npz worst-class -q", PYTHONPATH=SITE)
    worst[method] = float(line.partition("validation ")[2].partition(",")[0])

# %%
# The class that each method recognises worst, beside chance:

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(5, 2.4), layout="constrained")
axes.barh(list(worst), list(worst.values()))
axes.axvline(0.1, color="black", linestyle=":")
axes.set(xlabel="accuracy of the worst class", xlim=(0, 1), title="dotted: one in ten")
