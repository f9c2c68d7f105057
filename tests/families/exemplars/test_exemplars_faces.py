"""Exemplar machines on real faces: Extended Yale B, negatives from one half of the people."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from zslplat.data.dataset import Dataset
from zslplat.families.exemplars.methods.baselines import Cosine
from zslplat.families.exemplars.methods.kslem import KernelSLEM
from zslplat.families.exemplars.methods.slem import SLEM
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.kernels.scales import median_distance

PLACE = Path(os.environ.get("ZSLPLAT_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))
FACES = PLACE / "coding" / "extyaleb.npz"
pytestmark = pytest.mark.skipif(not FACES.exists(), reason=f"the faces {FACES} are not at hand")


@pytest.fixture(scope="module")
def faces():
    with np.load(FACES) as archive:
        X, labels = archive["rf504"], archive["label"]
    names, y = np.unique(labels, return_inverse=True)
    return Dataset("extyaleb", X, y, tuple(map(str, names)))


def found(method, problem, task, statistics=None):
    output = next(iter(task.run(method, problem, statistics or {})))[1]
    return task.score(problem, output, {}, full=False).metrics["mAP"]


@pytest.fixture(scope="module")
def first_half(faces):
    """The order of the file as a split of the data: negatives from its first 19 people."""
    negatives = faces.y < 19
    splits = {"train": np.flatnonzero(negatives), "test_unseen": np.flatnonzero(~negatives)}
    return replace(faces, splits=splits)


@pytest.mark.long
def test_linear_machines_chosen_on_validation_people_triple_the_cosine(faces):
    task = ExemplarRetrieval()
    folds = [(fold, task.prepare(SLEM(), fold, SLEM().space)) for fold in task.validation(faces)]

    def validated(lam):
        return np.mean([found(SLEM(lam=lam), fold, task, statistics) for fold, statistics in folds])

    lam = max((1e-5, 1e-4, 1e-3, 1e-2), key=validated)
    test = task.test(faces)
    assert len(test.inputs["X"]) + len(test.inputs["gallery"]) == 2414
    assert len(test.meta["classes"]) == 19
    assert found(SLEM(lam=lam), test, task) >= 3 * found(Cosine(), test, task)


@pytest.mark.long
def test_wide_kernels_are_level_with_linear_machines_at_the_same_penalty(faces):
    # With an absolute penalty the wide kernel needs a hundredth of it, at the edge of what was searched.
    task = ExemplarRetrieval(queries=200)
    test = task.test(faces)
    sigma = 8 * median_distance(test.inputs["X"])
    kernel = found(KernelSLEM(f"gaussian(sigma={sigma!r})", lam=3e-4, rank=500), test, task)
    assert kernel == pytest.approx(found(SLEM(lam=3e-4), test, task), abs=0.02)


@pytest.mark.long
def test_machines_reach_the_known_values(first_half):
    task = ExemplarRetrieval(queries=400)
    test = task.test(first_half)
    assert len(test.inputs["X"]) == 1198
    assert found(Cosine(), test, task) == pytest.approx(0.160, abs=0.01)
    assert found(SLEM(lam=1e-4, scale="absolute"), test, task) == pytest.approx(0.49, abs=0.02)
    squared = np.median(((first_half.X[:500, None] - first_half.X[None, 500:700]) ** 2).sum(axis=2))
    kernel = f"gaussian(sigma={float(np.sqrt(squared / 0.2))!r})"
    # Measured once by other code: .315 and .411 at rank 50 and 200, with other pivots and all 1216 queries.
    few, more = (KernelSLEM(kernel, lam=1e-4, scale="absolute", rank=rank) for rank in (50, 200))
    assert found(few, test, task) == pytest.approx(0.32, abs=0.04)
    assert found(more, test, task) == pytest.approx(0.42, abs=0.03)
