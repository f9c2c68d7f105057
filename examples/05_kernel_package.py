"""
A kernel as a package
=====================

A kernel is a dozen lines, and works at once in every kernel method, with its gradient, its search space and its
tests. This tutorial writes one as a package of its own, which others can install.
"""

# %%
# A package that works as it stands
# ---------------------------------
# ``plugins new`` writes packaging, an example kernel and tests that call the conformance kit.

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


run("zslplat plugins new kernel quartic")

# %%
# What is to be written
# ---------------------
# The example inside is replaced by a kernel of our own: 1 / (1 + d^4 / scale^2) of the distance d between two rows. A
# radial kernel is a function ``g`` of the squared distance and its slope. Gram matrices, gradients with respect to a
# projection and low-rank features are derived from these two lines. ``scale`` is searched in units of the data.

KERNEL = '''"""The quartic kernel."""

from __future__ import annotations

import numpy as np
from zslplat.api import POSITIVE, RadialKernel, Real, Scaled, parameter


class Quartic(RadialKernel):
    """1 / (1 + d^4 / scale^2) for the distance d between two rows."""

    summary = "quartic, 1 / (1 + d^4 / scale^2); indefinite"
    citation = ""
    psd = False
    scale = parameter(
        "squared length",
        Scaled(POSITIVE, "*median^2"),
        Real(0.1, 10, log=True, unit="*median^2"),
        default="1.0*median^2",
    )

    def g(self, d: np.ndarray) -> np.ndarray:
        """Return the kernel as a function of the squared distance."""
        return 1 / (1 + (d / self.scale) ** 2)

    def slope(self, d: np.ndarray) -> np.ndarray:
        """Return its derivative with respect to the squared distance."""
        return -2 * d / self.scale**2 * self.g(d) ** 2
'''
(work / "zslplat-quartic" / "zslplat_quartic" / "quartic.py").write_text(KERNEL)

# %%
# Installed and checked
# ---------------------
# Installed as anybody would, here into a folder of its own. (``pip install ./zslplat-quartic`` is what you would
# type.)

run("python -m pip install --quiet --no-deps --no-build-isolation --no-index --target site ./zslplat-quartic")
SITE = os.pathsep.join(filter(None, [str(work / "site"), os.environ.get("PYTHONPATH", "")]))
run("zslplat plugins check zslplat-quartic", PYTHONPATH=SITE)

# %%
# The kernel and its slope, over distance:

sys.path.insert(0, str(work / "site"))

import matplotlib.pyplot as plt
import numpy as np
from zslplat_quartic.quartic import Quartic

distances = np.linspace(0, 3, 200)
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
for scale in (0.5, 1, 2):
    axes.plot(distances, Quartic(scale=scale).g(distances**2), label=f"scale {scale}")
axes.set(xlabel="distance", ylabel="kernel")
axes.legend()

# %%
# The kit compares the slope with differences, the Gram matrix with single values, blocks with the whole, and more. A
# kernel that is not positive semidefinite says so (``psd = False``) and is refused where that is needed.
#
# Used by name
# ------------

run('zslplat run --method zskl --kernel quartic --dataset "digit-pairs(rows=10)"', PYTHONPATH=SITE)
