"""Data sets with named views are tuned: side by side, or by kernels on single views, learned and searched weights."""

from __future__ import annotations

import json

import pytest
from support import install_distribution, trials_of

# Classes 0 and 1 differ in the left view alone, 2 and 3 in the covariances alone; the noise view tells nothing.
VIEWED = '''
import numpy as np
from zslplat.api import Dataset, DataSource, Rows, hookimpl


class Viewed(DataSource):
    """Three views of 160 rows, one of them matrices."""

    summary = "views"
    licence = "none"

    def load(self, places):
        rng = np.random.default_rng(0)
        y = np.arange(160) % 4
        left = rng.normal(size=(160, 5)).astype(np.float32)
        left[:, 0] += np.where(y == 0, 6, np.where(y == 1, -6, 0))
        scale = np.where(y == 2, 3.0, np.where(y == 3, 0.3, 1.0))
        A = rng.normal(size=(160, 3, 12)) * np.sqrt(scale)[:, None, None]
        covariances = A @ A.transpose(0, 2, 1) / 12 + 1e-3 * np.eye(3)
        noise = np.abs(rng.normal(size=(160, 7)))
        names = tuple("abcd")
        return Dataset("viewed", Rows.of({"left": left, "cov": covariances, "noise": noise}), y, names)


class Vectors(Viewed):
    """The vectors among them."""

    def load(self, places):
        found = super().load(places)
        return Dataset("vectors", found.X.select_views(["noise", "left"]), found.y, found.class_names)


class Plain(Viewed):
    """The vectors as one array."""

    def load(self, places):
        found = super().load(places)
        X = np.asarray(found.X.select_views(["noise", "left"]))
        return Dataset("vectors", X, found.y, found.class_names)


@hookimpl
def zslplat_datasets():
    return {"viewed": Viewed, "vectors": Vectors, "plain": Plain}
'''
BOTH = "0.5*gaussian@left + 0.5*log-euclidean@cov"


@pytest.fixture
def tune(call, tmp_path_factory, monkeypatch, tmp_path):
    folder = install_distribution(tmp_path_factory.mktemp("views"), "zslplat-viewed", "zslplat_viewed", VIEWED)
    monkeypatch.syspath_prepend(str(folder))

    def tuned(*arguments, data="viewed", method="ksc", trials="2", store=tmp_path / "store"):
        return call(
            *("tune", "--method", method, "--dataset", data, "--task", "coding(folds=2)", "--trials", trials),
            *("--store", store, "--json", *arguments),
        )

    return tuned


def accuracy(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["test"][0]["accuracy"]


@pytest.mark.long
def test_kernels_on_two_views_see_what_one_does_not(tune):
    left, covariances = (accuracy(tune("--kernel", kernel)) for kernel in ("gaussian@left", "log-euclidean@cov"))
    assert accuracy(tune("--kernel", BOTH)) > max(left, covariances) + 0.2


@pytest.mark.long
@pytest.mark.parametrize("more", [("--set", "learn_kernel=weights"), ("--space", "kernel.weight.1=0.1..1")])
def test_weights_are_learned_or_searched(tune, tmp_path, more):
    done = tune("--kernel", BOTH, *more)
    assert accuracy(done) > 0.8
    searched = {name for trial in trials_of(tmp_path / "store") for name in trial[2]}
    assert ("kernel.weight.1" in searched) == (more[0] == "--space")


@pytest.mark.long
def test_a_method_that_knows_no_views_has_them_side_by_side(tune, tmp_path):
    trials = []
    for data in ("vectors", "plain"):
        accuracy(tune("--features", "none", data=data, method="lc-ksvd", store=tmp_path / data))
        trials.append([trial[2:] for trial in trials_of(tmp_path / data)])
    assert trials[0] == trials[1]


@pytest.mark.long
def test_a_view_has_steps_of_its_own(tune, tmp_path):
    kernel = ("--kernel", "0.5*gaussian@left + 0.5*chi-squared@noise")
    refused = tune(*kernel, "--features", "noise:center", data="vectors")
    assert "non-negative" in refused.stderr + refused.stdout
    assert (
        accuracy(tune(*kernel, "--features", "noise:l1;left:standardise", data="vectors", store=tmp_path / "own")) > 0.4
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"method": "lc-ksvd"}, "view 'cov' holds matrices"),
        ({"kernel": "gaussian@lift"}, "did you mean left"),
        ({"kernel": "gaussian@cov"}, "view 'cov' holds matrices"),
        ({"kernel": "gaussian@left", "data": "plain"}, "no named views"),
        ({"kernel": "gaussian@left", "features": "up:l2"}, "its views: left, cov, noise"),
    ],
)
def test_what_does_not_fit_the_views_is_told_before_anything_is_computed(tune, tmp_path, arguments, told):
    options = [part for name in ("kernel", "features") if name in arguments for part in (f"--{name}", arguments[name])]
    done = tune(*options, **{name: value for name, value in arguments.items() if name in ("method", "data")})
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
