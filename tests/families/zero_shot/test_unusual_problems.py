"""Zero-shot methods on problems as data sets seldom are, and in searches of what they do not search by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat.errors import DataError
from zslplat.registry import component
from zslplat.space import Choice

METHODS = (
    *("ale", "devise", "latem", "sje"),
    *("cmt", "cmt-gaussian", "cmt-loop"),
    *("conse", "dap", "iap"),
    *("exem-1nn", "exem-1nns"),
    *("gfzsl", "gfzsl-em"),
    *("jlse", "sse-int", "sse-relu"),
    *("sync-cs", "sync-ovo", "sync-struct"),
    "tmv-hlp",
)
# Their features are whole numbers here in direct use alone: the platform hands on floating-point rows.
EARLIER = ("eszsl", "sae", "ridge-prototypes", "gfhf", "eszsl-smoothed", "mfmr", "mfmr-joint", "keszsl")
# Few steps: what is looked at does not depend on how far training went.
FEW = {"rounds": 2, "epochs": 2, "hidden": 5, "latent": 6}
QUIET = pytest.mark.filterwarnings("ignore::zslplat.errors.OutcomeWarning")


def problem(seen=6, unseen=3, n=60, d=8, a=5):
    """Return X, y, S of seen classes, rows of unseen ones, and signatures of all classes; features are whole numbers.

    Rows belong to their class's signature, and no two of them are alike.
    """
    rng = np.random.default_rng(3)
    S, M = rng.random((seen + unseen, a)), rng.standard_normal((a, d))
    y = np.arange(n) % seen
    labels = seen + np.arange(12) % unseen
    X, rows = (np.rint(20 * (S[k] @ M + 0.3 * rng.standard_normal((len(k), d)) + 5)) for k in (y, labels))
    return X, y, S[:seen], rows, S


def built(name, **parameters):
    few = {key: value for key, value in FEW.items() if key in component("methods", name).parameters}
    return component("methods", name).build({**few, **parameters})


def scores(method, X, rows):
    _, y, S, _, candidates = problem()
    method.fit(X, y, S)
    return method.decision_function(rows, candidates, seen=np.arange(len(candidates)) < len(S))


@QUIET
@pytest.mark.parametrize("name", [*METHODS, *EARLIER])
def test_whole_numbers_score_as_the_same_numbers_in_floating_point(name):
    X, _, _, rows, _ = problem()
    found = scores(built(name), X.astype(np.int64), rows.astype(np.int64))
    expected = scores(built(name), X, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


OTHER_CHOICES = [
    (name, parameter, value)
    for name in METHODS
    for parameter, declared in component("methods", name).parameters.items()
    if isinstance(declared.legal, Choice)
    for value in declared.legal.values
    if value != declared.default
] + [("mfmr", "labels", "free"), ("mfmr-joint", "labels", "free")]


@QUIET
@pytest.mark.parametrize(("name", "parameter", "value"), OTHER_CHOICES)
def test_any_choice_may_be_searched_whatever_is_prepared(name, parameter, value):
    X, y, S, rows, candidates = problem()
    of_all, trial = built(name), built(name, **{parameter: value})
    space = {parameter: Choice((getattr(of_all, parameter), value))}
    told, left = type(of_all).prepared_with(space, {parameter: value})
    preparing = built(name, **told)
    prepared = preparing.prepare_fit(X, y, S, space=left)
    batch = preparing.prepare_score(rows, candidates, space=left, statistics=prepared or None)
    trial.fit(X, y, S, statistics=prepared or None)
    seen = np.arange(len(candidates)) < len(S)
    found = trial.decision_function(rows, candidates, seen=seen, statistics=batch or None)
    expected = scores(built(name, **{parameter: value}), X, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


ONE_CLASS = [(name, {}) for name in METHODS] + [
    ("ale", {"variant": "paper"}),
    ("devise", {"variant": "paper"}),
    ("jlse", {"score": "match"}),
    ("exem-1nn", {"variant": "paper"}),
]


@QUIET
@pytest.mark.parametrize(("name", "parameters"), ONE_CLASS)
def test_one_seen_class_is_fitted_or_refused_with_the_reason(name, parameters):
    X, y, S, rows, candidates = problem()
    method = built(name, **parameters)
    try:
        method.fit(X[y == 0], y[y == 0], S[:1])
    except DataError:
        return
    assert np.isfinite(method.decision_function(rows, candidates[6:])).all()
