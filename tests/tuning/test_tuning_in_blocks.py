"""A method that takes blocks is tuned without a copy of any fold, to the values that arrays give."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from support import install_distribution, trials_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "data.md"
# The example of the documentation, and the same method on arrays.
BESIDE = '''
class OnArrays(LinearPrototypes):
    """The same, given arrays."""

    takes_blocks = False

    def fit(self, X, y, S, *, statistics=None):
        assert type(X) is np.ndarray and not X.flags.writeable and not X.flags.owndata  # mapped, not copied
        return super().fit(X, y, S, statistics=statistics)

class OnBlocks(LinearPrototypes):
    """The same, which looks what it is given."""

    def decision_function(self, X, S, *, seen=None, statistics=None):
        from zslplat.api import Rows
        assert isinstance(X, Rows)
        return super().decision_function(X, S, seen=seen, statistics=statistics)

@hookimpl
def zslplat_methods():
    return {"on-blocks": OnBlocks, "on-arrays": OnArrays, "linear-prototypes": LinearPrototypes}
'''


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A folder with the distribution ``zslplat-linear-prototypes``."""
    (source,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    folder = tmp_path_factory.mktemp("blocks")
    return install_distribution(folder, "zslplat-linear-prototypes", "zslplat_linear_prototypes", source + BESIDE)


def tuned(call, store, method, *more):
    done = call(
        "tune", "--method", method, "--dataset", "digit-pairs", "--trials", "3", "--json", "--store", store, *more
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), trials_of(store)


@pytest.mark.long
@pytest.mark.parametrize("task", ["zsl", "gzsl"])
def test_blocks_and_arrays_give_the_same_study(call, example, tmp_path, monkeypatch, task):
    monkeypatch.syspath_prepend(str(example))
    found = {}
    for method in ("on-blocks", "on-arrays"):
        store = tmp_path / method
        found[method] = tuned(call, store, method, "--task", task, "--workers", "1")
        folds = list((store / "cache" / "prepared").glob("fold-*"))
        assert bool(folds) == (method == "on-arrays")
    (blocks, trials), (arrays, others) = found.values()
    for one, other in zip(trials, others, strict=True):
        assert one[2] == other[2]
        assert one[3] == pytest.approx(other[3], abs=1e-9)
    for one, other in zip(blocks["test"], arrays["test"], strict=True):
        assert one == pytest.approx(other, abs=1e-6)


@pytest.mark.long
def test_two_workers_give_the_values_of_one(call, example, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(example))
    one, two = (tuned(call, tmp_path / w, "on-blocks", "--workers", w)[1] for w in ("1", "2"))
    assert one == two


@pytest.mark.long
def test_a_study_in_blocks_that_is_killed_ends_the_same(call, leader, tmp_path):
    arguments = ("tune", "--method", "eszsl", "--dataset", "digit-pairs", "--trials", "8", "--workers", "1")
    whole = call(*arguments, "--json", "--store", tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    killed = 0
    for lines, pause in ((1, 0.0), (1, 0.2), (3, 0.1), (5, 0.2)):  # while data are loaded, folds made, trials run
        running = leader(*arguments)
        running.wait_for_lines(lines)
        time.sleep(pause)
        killed += running.process.is_alive()
        running.kill()
    assert killed >= 3
    done = call(*arguments[:-1], "2", "--json")
    assert done.returncode == 0, done.stderr
    assert trials_of(tmp_path / "mlruns") == trials_of(tmp_path / "whole")
    assert json.loads(done.stdout)["test"] == json.loads(whole.stdout)["test"]


def test_the_conformance_kit_passes_the_example(call, tmp_path, monkeypatch):
    (source,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    folder = install_distribution(tmp_path / "as-written", "zslplat-as-written", "zslplat_as_written", source)
    monkeypatch.syspath_prepend(str(folder))
    done = call("plugins", "check", "zslplat-as-written")
    assert done.returncode == 0, done.stdout + done.stderr
