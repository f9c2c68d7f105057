"""Data sets and classes by any name are tuned on, evaluated, scored, compared and reported."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.spec import Spec

CLASSES = (
    r"a$\frac{$b",
    "$x$",
    "price $5 and $6",
    "one $",
    r"\$already\$",
    "_underscore",
    r"back\slash_{2}^%#&~",
    "שלום",
    "😀👩‍🔬",
    "word " * 30,
    "w" * 300,
)
NAMES = (r"a$\frac{$b", "price $5 and $6")


@pytest.fixture
def odd(tmp_path):
    """Data sets by odd names with classes by odd names; returns their specs."""
    generator = np.random.default_rng(0)
    y = np.repeat(np.arange(len(CLASSES)), 8)
    signatures = generator.random((len(CLASSES), 6))
    for name in NAMES:
        X = signatures[y] @ generator.normal(size=(6, 10)) + 0.3 * generator.normal(size=(len(y), 10))
        # Those that break a drawing are among the classes of the test.
        train = np.flatnonzero(y >= 6)
        np.savez(tmp_path / f"{name}.npz", X=X, y=y, S=signatures, class_names=np.array(CLASSES), train=train)
    return [str(Spec("npz", {"path": f"{name}.npz"})) for name in NAMES]


@pytest.mark.long
def test_what_has_odd_names_is_tuned_evaluated_scored_compared_and_reported(call, odd, tmp_path):
    def sound(*arguments):
        done = call(*arguments)
        assert done.returncode == 0, done.stderr
        assert "not drawn" not in done.stdout + done.stderr
        assert "UserWarning" not in done.stderr
        return done

    sound("tune", "-m", "eszsl", "-d", odd[0], "--trials", 2, "--workers", 1)
    sound("run", "-m", "mfmr-joint(iterations=5)", "-d", odd[0], "--test", "--workers", 1)
    for dataset in odd:
        for method in ("eszsl(alpha=1, gamma=1)", "sae(lam=1)"):
            sound("run", "-m", method, "-d", dataset, "--test", "--workers", 1)
    drawn = {path.name for path in (tmp_path / "mlruns" / "evaluations").rglob("*.png")}
    assert {"confusion.png", "projection.png"} <= drawn
    sound("sweep", "-m", "eszsl(gamma=1)", "-d", odd[0], "-p", "alpha", "--points", 2, "--workers", 1)
    sound("compare", "--out", "plot.svg")
    sound("compare", "--out", "plot.png")
    sound("report", "--out", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert [name for name in CLASSES[:6] if name not in page] == []
