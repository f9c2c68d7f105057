"""What ``import zslplat`` offers: names that are loaded when they are asked for, known to editors and type checkers."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import zslplat

STUB = Path(zslplat.__file__).with_suffix(".pyi")
HEAVY = ("numpy", "scipy", "sklearn", "pandas", "optuna", "mlflow", "matplotlib", "sqlalchemy", "numba", "typer")


def test_importing_the_package_and_listing_its_names_loads_no_heavy_library():
    code = (
        "import sys, zslplat; dir(zslplat); zslplat.__all__; "
        f"print([name for name in {HEAVY} if name in sys.modules], "
        "[name for name in sys.modules if name.startswith('zslplat.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=800)
    assert done.stdout.strip() == "[] []", done.stderr


def test_every_public_name_is_found_listed_and_documented():
    assert set(zslplat.__all__) == {"__version__", *zslplat._EXPORTED, *zslplat._LISTED}
    assert set(zslplat.__all__) <= set(dir(zslplat))
    for name, module in zslplat._EXPORTED.items():
        found = getattr(zslplat, name)
        assert found is getattr(importlib.import_module(module), name)
        assert found.__doc__


def test_the_stub_names_what_the_table_names_and_where():
    told = {
        alias.name: node.module
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert told == zslplat._EXPORTED | dict.fromkeys(zslplat._LISTED, "zslplat.listing")


def test_what_is_registered_is_a_table():
    methods = zslplat.methods()
    assert methods.loc["eszsl", ["kind", "estimator"]].tolist() == ["zero-shot", "ESZSL"]
    assert set(zslplat.kernels().columns) == {"summary", "psd", "paper"}
    assert zslplat.tasks().loc["zsl", "metric"] == "per_class_accuracy"
    kinds = zslplat.datasets()["kind"].tolist()
    assert kinds == sorted(kinds, key=lambda kind: kind == "format")
    # They are packages all the same.
    assert importlib.import_module("zslplat.methods.base").Method
    assert not methods["summary"].str.startswith("does not load").any()


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        zslplat.nothing_of_the_kind  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean load_dataset"):
        zslplat.load_datasets  # noqa: B018
