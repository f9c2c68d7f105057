"""A method is handed its rows without a path: the truth lies in files near to them."""

import numpy as np
import pytest
from support import install_distribution

from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.jobs import EvaluateJob, Limits, WorkerSettings
from zslplat.evaluation.workers.worker import Worker
from zslplat.registry import registry
from zslplat.settings import resolve_settings
from zslplat.spec import Spec

# Looks through what it is given, and through all that this holds, for texts that name a file.
PRYING = """
import pathlib
from zslplat.api import Diagnostics, ZeroShotMethod, hookimpl


def texts(thing, depth=6):
    if isinstance(thing, (str, pathlib.Path)):
        yield str(thing)
    elif depth:
        held = list(thing) if isinstance(thing, (list, tuple)) else list(getattr(thing, "__dict__", {}).values())
        for attribute in ("base", "filename", "obj"):
            held.append(getattr(thing, attribute, None))
        for one in held:
            yield from texts(one, depth - 1)


class Prying(ZeroShotMethod):
    summary = "looks where its rows lie"
    takes_blocks = True

    def fit(self, X, y, S, *, statistics=None):
        paths = [text for given in (X, y, S) for text in texts(given) if "/" in text]
        blocks = hasattr(X, "parts")
        total = sum(float(block.sum()) for _, block in X.blocks()) if blocks else float(X.sum())
        numbers = {"sum": total, "paths": float(len(paths)), "blocks": float(blocks)}
        self.diagnostics_ = Diagnostics(numbers=numbers)
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return X[:, :1] * S[:, :1].T


@hookimpl
def zslplat_methods():
    return {"prying": Prying}
"""


@pytest.mark.parametrize("blocks", [False, True])
def test_what_a_method_is_given_names_no_file(tmp_path, monkeypatch, blocks):
    monkeypatch.syspath_prepend(str(install_distribution(tmp_path / "site", "zslplat-prying", "prying", PRYING)))
    registry.cache_clear()
    settings = resolve_settings({"store": tmp_path / "store"})
    settings.make_store()
    context = ExperimentContext(Experiment(Spec("prying"), Spec("digit-pairs"), Spec("zsl", {"folds": 2})), settings)
    assert context.blocks
    problems = tuple((path.name, None) for path in context.problems("validation"))
    worker = Worker(WorkerSettings(context.cache.root))
    answer = worker.run(EvaluateJob("trial", "prying", {}, 0, "zsl", problems, blocks=blocks), Limits())
    worker.stop()
    registry.cache_clear()
    assert answer.result is not None, answer.reason
    numbers = [fold["numbers"] for fold in answer.result["folds"]]
    assert [(found["paths"], found["blocks"]) for found in numbers] == [(0.0, float(blocks))] * 2
    assert all(np.isfinite(found["sum"]) and found["sum"] != 0 for found in numbers)
