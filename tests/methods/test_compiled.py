"""Compiled loops run wherever they are called, also where their code cannot be kept."""

from __future__ import annotations

from numba.core import caching

from zslplat.methods.compiled import compiled, load, signatures


@compiled()
def square(x: float) -> float:
    return x * x


@compiled()
def hypotenuse(x: float, y: float) -> float:
    return (square(x) + square(y)) ** 0.5


def test_loops_that_call_others_run_where_no_folder_can_be_written(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert hypotenuse(3.0, 4.0) == 5.0
    compiled_for = signatures()
    load(compiled_for)
    assert signatures() == compiled_for
    assert len(compiled_for[f"{__name__}.square"]) == 1
