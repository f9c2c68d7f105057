"""What a docstring shows after a Python prompt is what comes out."""

import doctest
import importlib
from pathlib import Path

import pytest

import zslplat

PACKAGE = Path(zslplat.__file__).parent
SHOWING = [
    ".".join(("zslplat", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if "    >>> " in path.read_text(encoding="utf-8")
]
EXAMPLES = [
    pytest.param(test, id=test.name)
    for name in SHOWING
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
    if test.examples
]


def test_there_are_examples():
    assert len(EXAMPLES) > 10


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_shows_what_comes_out(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZSLPLAT_STORE", str(tmp_path / "store"))
    monkeypatch.delenv("ZSLPLAT_DATA_ROOT", raising=False)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    example.globs.setdefault("make", zslplat.make)  # the examples of pipelines begin with it
    runner.run(example, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
