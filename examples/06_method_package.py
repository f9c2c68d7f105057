"""
A method as a package
=====================

A method is a scikit-learn estimator that says what its hyperparameters are. Here one is written as a package, checked
and tuned.
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
    print(done.stdout)


run("zslplat plugins new zero-shot my-ridge")

# %%
# The maths first
# ---------------
# The file opens with its symbols. Then comes a pure function, with all of the maths, and then the estimator over it.

source = (work / "zslplat-my-ridge" / "zslplat_my_ridge" / "my_ridge.py").read_text()
print(source[source.index("def solve") :])

# %%
# * ``parameters`` declares each hyperparameter once: what it means, what is legal, what is searched.
# * ``preprocessing`` is applied by the platform, with statistics of the training rows alone.
# * ``prepare_fit`` returns what no searched hyperparameter changes: it is computed once for all trials. Here that is
#   all of the work, and a trial is one small system (:doc:`/preparation`).
# * ``objective`` lets the kit try whether what was learned is a minimum.
#
# Installed and checked
# ---------------------

run("python -m pip install --quiet --no-deps --no-build-isolation --no-index --target site ./zslplat-my-ridge")
SITE = os.pathsep.join(filter(None, [str(work / "site"), os.environ.get("PYTHONPATH", "")]))
run("zslplat plugins check zslplat-my-ridge", PYTHONPATH=SITE)

# %%
# The kit reorders rows and classes, refits on other data and compares blocks with arrays. It checks the learned state,
# and tries to find labels in memory.
#
# Tuned like any other
# --------------------

run("zslplat tune my-ridge --trials 6 -q --store mlruns", PYTHONPATH=SITE)
run("zslplat tune eszsl --trials 6 -q --store mlruns")

# %%
# Compared with another method, over these rows (thick) and over new classes (thin):

import zslplat

zslplat.compare("my-ridge", "eszsl", store=work / "mlruns").plot()
