"""What the documentation shows and users write is correct for type checkers, and a misspelt name is an error."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# As users have it: the settings of a new installation, with zslplat as an installed package.
SETTINGS = "[mypy]\nignore_missing_imports = true\n[mypy-zslplat.*]\nfollow_imports = silent\n"
ARRAYS = "from typing import Any\ndef arrays() -> Any: ...\nX = y = S = X_new = S_new = arrays()\n"

SCRIPT = """
import numpy as np
import zslplat
from zslplat.estimators import ESZSL, MFMRJoint

study = zslplat.tune("eszsl", trials=4, seed=1, space={"alpha": (1e-3, 1e3, "log")}, store="mlruns", workers=1)
print(study.best_params, study.best_value + study.test_value, study.best_trial.params["alpha"])
plan = zslplat.tune(ESZSL(alpha=0.5), "digit-pairs", dry_run=True)
print(plan.seconds)
data = zslplat.load_dataset("digit-pairs")
S = data.class_signatures()[0]
labels: np.ndarray = ESZSL(alpha=0.1, labels="signed").fit(data.X, data.y, S).predict(data.X, S)
score: float = zslplat.make("eszsl(alpha=.01)", gamma=1.0).fit(data.X, data.y, S).score(data.X, data.y)
parameters = MFMRJoint(k=5).get_params()
table = zslplat.compare(study, "ridge-prototypes", metric="per_class_accuracy").to_frame()
predicted = zslplat.load_model(study).predict(data.X)
"""
WRONG = """
import zslplat
from zslplat.estimators import ESZSL

zslplat.tune("eszsl", trails=4)
zslplat.tune("eszsl", trials="4")
zslplat.evaluate("eszsl", tst=True)
zslplat.sweep("eszsl", "alpha", point=3)
zslplat.bench("small", tirals=3)
zslplat.compare("eszsl", agianst="sae")
ESZSL(alfa=0.1)
ESZSL(labels="sgned")
ESZSL().fitt
ESZSL().fit([[1.0]], [0])
zslplat.tune("eszsl").best_vlue
zslplat.tune("eszsl", dry_run=True).best_value
zslplat.make("eszsl").predit([[1.0]])
zslplat.tunes("eszsl")
"""


def code_of(page):
    """The lines of Python that a page shows."""
    blocks = re.findall(r"^```(python|pycon)\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    shown = [b if kind == "python" else "\n".join(e.source for e in examples(b)) for kind, b in blocks]
    return ARRAYS + "\n".join(shown)


def examples(block):
    """The examples of a session of Python."""
    return doctest.DocTestParser().get_examples(block)


def errors(folder, files):
    """What mypy says of these files, {name: content}."""
    (folder / "mypy.ini").write_text(SETTINGS)
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content)
    call = [sys.executable, "-m", "mypy", *(f"{name}.py" for name in files)]
    done = subprocess.run(call, cwd=folder, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return [line for line in done.stdout.splitlines() if ": error:" in line]


@pytest.mark.long
def test_pages_tutorials_and_a_script_are_correct_and_misspelt_names_are_not(tmp_path):
    pages = {page.stem: code_of(page) for page in (ROOT / "README.md", ROOT / "docs/python.md", ROOT / "docs/start.md")}
    tutorials = {f"tutorial_{page.stem}": page.read_text() for page in (ROOT / "examples").glob("*.py")}
    said = errors(tmp_path, {"script": SCRIPT, "wrong": WRONG, **pages, **tutorials})
    assert [line for line in said if not line.startswith("wrong.py")] == []
    expected = [number for number, line in enumerate(WRONG.splitlines(), 1) if number > 4 and line]
    assert sorted({int(line.split(":")[1]) for line in said}) == expected
