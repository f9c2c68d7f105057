"""Arguments of functions are refused as the options of commands are, and may be numbers of NumPy."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

import zslplat
from zslplat.errors import UsageError
from zslplat.front.grid_progress import grid_progress
from zslplat.front.options import TuneCommand
from zslplat.front.progress import progress
from zslplat.front.requests import combine_spec, range_text, spec_of
from zslplat.front.schema import complete_options


def test_numbers_have_the_bounds_of_the_options():
    numbers = {"method": "eszsl", "trials": np.int64(3), "memory": np.float32(0.5), "workers": 2.0}
    options = complete_options(TuneCommand, numbers, "tune")
    assert {name: options[name] for name in ("trials", "memory", "seed", "workers")} == {
        "trials": 3,
        "memory": 0.5,
        "seed": 0,
        "workers": 2,
    }
    assert isinstance(options["trials"], int)
    for wrong in (0, -1, 1.5, "3", True, float("nan"), float("inf"), [1]):
        with pytest.raises(UsageError, match=r"workers=.*expected a whole number, at least 1"):
            zslplat.evaluate("eszsl", workers=wrong)
        with pytest.raises(UsageError, match=r"workers=.*expected a whole number, at least 1"):
            zslplat.bench("zero-shot", workers=wrong)
    with pytest.raises(UsageError, match=r"seed=-1"):
        zslplat.tune("eszsl", seed=-1)
    with pytest.raises(UsageError, match=r"points=1"):
        zslplat.sweep("eszsl", "alpha", points=1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"set": ["alpha=1"]}, "expected a dictionary"),
        ({"space": ["alpha=1..2"]}, "expected a dictionary"),
        ({"task": None}, "task=None"),
        ({"dataset": 3}, "dataset=3"),
    ],
)
def test_what_is_no_such_argument_is_one_clear_error(given, told, tmp_path):
    with pytest.raises(UsageError, match=told):
        zslplat.tune("eszsl", **{"store": tmp_path / "mlruns", **given})
    with pytest.raises(UsageError, match="dataset="):
        zslplat.load_dataset(None)


def test_numbers_of_numpy_are_numbers():
    assert range_text((np.int64(1), np.int64(9))) == range_text((1, 9))
    assert range_text((np.float64(0.1), np.float32(8), "log")) == "0.1..8.0:log"
    assert range_text(np.array([1.0, 2.0])) == range_text([1.0, 2.0])
    spec = combine_spec(spec_of("eszsl"), {"alpha": np.float32(0.5)}, None)
    assert str(spec) == "eszsl(alpha=0.5)"


@pytest.mark.long
@pytest.mark.parametrize("shown", [progress, grid_progress])
def test_a_package_whose_import_was_stopped_can_be_imported_again(shown, tmp_path, monkeypatch):
    name = f"halfway_{shown.__name__}"
    package = tmp_path / name
    package.mkdir()
    (package / "part.py").write_text("VALUE = 1\n")
    (package / "__init__.py").write_text(f"import {name}.part\nimport {name}_stops\nhere = {name}.part.VALUE\n")
    (tmp_path / f"{name}_stops.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(KeyboardInterrupt), shown(quiet=True):
        importlib.import_module(name)
    (tmp_path / f"{name}_stops.py").write_text("")
    importlib.invalidate_caches()
    assert f"{name}.part" not in sys.modules
    assert importlib.import_module(name).here == 1


def test_what_is_no_result_and_no_name_is_refused(tmp_path):
    for names, options, told in (
        ([None], {}, "None: expected a study, method, spec or run"),
        ([], {"dataset": 3}, "dataset=3: expected a text"),
        ([], {"metric": [3]}, "metric=.*expected a text"),
        ([], {"against": 3}, "3: expected a study"),
    ):
        with pytest.raises(UsageError, match=told):
            zslplat.compare(*names, store=tmp_path, **options)
    with pytest.raises(UsageError, match="give at least one method"):
        zslplat.sweep([], "alpha", store=tmp_path)
    with pytest.raises(UsageError, match=r"features=\['center'\]: expected steps"):
        zslplat.evaluate("eszsl", features=["center"], store=tmp_path)
    with pytest.raises(UsageError, match="signatures=3: expected steps"):
        zslplat.make("eszsl", signatures=3)
    with pytest.raises(UsageError, match=r"its name '\.\./elsewhere'"):
        zslplat.bench({"name": "../elsewhere", "tasks": ["zsl"]}, store=tmp_path)
    assert zslplat.make("eszsl", alpha=np.float32(2)).get_params()["alpha"] == 2
