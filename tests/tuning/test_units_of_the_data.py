"""Searches do not depend on the units of the features: the same values for features times 128 and 1/128."""

from __future__ import annotations

import numpy as np
import pytest

from zslplat import registry
from zslplat.errors import UsageError
from zslplat.evaluation.components import defaults_of
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import Experiment
from zslplat.evaluation.jobs import EvaluateJob
from zslplat.evaluation.scoring.evaluation import evaluate
from zslplat.kernels.expression import parse_kernel
from zslplat.kernels.scales import spread_rows
from zslplat.kinds import SHARED_SPACE
from zslplat.multiples import absolute, read_multiple, write_multiple
from zslplat.settings import resolve_settings
from zslplat.space import POSITIVE, Choice, Real, Scaled, parse_range
from zslplat.spec import Spec, parse_value
from zslplat.tuning.proposals import Proposer

TASKS = {
    "zero-shot": "zsl",
    "coding": "coding",
    "exemplar": "exemplar-retrieval",
    "feature-selection": "feature-selection(first=4, last=8, step=4, validation_repeats=1)",
}
# Powers of two, so that the features keep every digit.
SCALES = (1.0, 128.0, 1 / 128)
METHODS = registry.names("methods")
# Without preprocessing by row length, what cannot be free of units, and why.
BOUND_TO_UNITS = {
    "sae": "one W for both directions: X scaled by c asks it to be c times as large for decoding, 1/c for encoding",
    "zskl": "steps on W have a length of their own; rows are of unit length by its preprocessing",
    "zskl-ort": "as zskl",
    "zskl-subspaces": "as zskl",
}
UNPREPROCESSED = [
    name
    for name in METHODS
    if registry.component("methods", name).kind in ("zero-shot", "exemplar") and name not in BOUND_TO_UNITS
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Data sets of the same rows in three units, with splits by class (``classes``) and without (``rows``).

    Signatures ``texts`` lie in the space of the features.
    """
    folder = tmp_path_factory.mktemp("units")
    rng = np.random.default_rng(0)
    S, y = rng.random((12, 6)), np.repeat(np.arange(12), 14)
    texts = S @ rng.normal(size=(6, 16))
    X = 3 * np.abs(texts[y] + 0.7 * rng.normal(size=(len(y), 16)) + 1)
    splits = {"train": np.flatnonzero(y < 9), "test_unseen": np.flatnonzero(y >= 9)}
    for scale in SCALES:
        np.savez(folder / f"classes-{scale}.npz", X=X * scale, y=y, S=S, S_texts=texts, **splits)
        np.savez(folder / f"rows-{scale}.npz", X=X * scale, y=y)
    return folder


def values_of(name, folder, scale, features, store):
    """Return the validation values of the default setting and of a drawn one."""
    method = registry.component("methods", name)
    fixed = {k: v for k, v in {"epochs": 2, "steps": 20, "iterations": 2}.items() if k in method.parameters}
    template = method.build(fixed)
    space = {k: r for k, r in template.space.items() if k not in fixed}
    kind = "rows" if method.kind == "coding" else "classes"
    task = Spec.parse("zsl(signatures=texts)" if SHARED_SPACE in method.tags else TASKS[method.kind])
    data = Spec("npz", {"path": str(folder / f"{kind}-{scale}.npz")})
    experiment = Experiment(Spec(name, fixed), data, task, space, features=features)
    settings = resolve_settings({"store": store})
    settings.make_store()
    context = ExperimentContext(experiment, settings)
    problems = tuple((problem.name, None) for problem in context.validation_problems()[:2])
    proposals = Proposer(
        seed=0,
        batch_size=2,
        space=space,
        fixed=template.get_params(deep=False),
        defaults=defaults_of(template, space),
        sampler="random",
        maximise=[True],
    ).batch(0, [])
    return [
        evaluate(EvaluateJob("trial", name, {**fixed, **p}, 0, str(experiment.task), problems), context.cache.root)[
            "value"
        ]
        for p in proposals
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "features"), [*((name, None) for name in METHODS), *((name, "none") for name in UNPREPROCESSED)]
)
def test_tuned_values_do_not_depend_on_the_units_of_the_features(name, features, files, tmp_path):
    first, *others = [values_of(name, files, scale, features, tmp_path) for scale in SCALES]
    for values in others:
        assert values == pytest.approx(first, abs=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_the_default_setting_lies_inside_the_space(name):
    template = registry.component("methods", name).build({})
    defaults = defaults_of(template, template.space)
    outside = {
        parameter: (defaults.get(parameter), str(dimension))
        for parameter, dimension in template.space.items()
        if not dimension.contains(defaults.get(parameter))
    }
    assert not outside


def test_the_kernel_of_a_search_over_all_kernels_begins_with_the_default():
    template = registry.component("methods", "keszsl").build({"kernel": "any"})
    defaults = defaults_of(template, template.space)
    assert defaults["kernel"] == "gaussian"
    assert defaults["kernel.gaussian.sigma"] == "0.7*median"


def test_multiples_are_read_as_they_are_written():
    for factor, unit in [(0.7, "*median"), (2.0, "/median^2"), (1e-3, "*square"), (-0.5, "/median")]:
        text = write_multiple(factor, unit)
        assert read_multiple(text) == (factor, unit)
        assert parse_value(text) == text
        assert Spec.parse(f"m(sigma={text}, k=3)") == Spec("m", {"sigma": text, "k": 3})
    assert read_multiple("median") == (1.0, "*median")
    for other in (0.7, None, "0.7", "a b", "0.7*", "*median"):
        assert read_multiple(other) is None
    assert [absolute(v, 4.0) for v in ("0.5*s", "2/s", "3/s^2", "0.5*s^2", 7)] == [2, 0.5, 3 / 16, 8, 7]


def test_ranges_in_units_hold_multiples_and_no_numbers():
    legal = Scaled(POSITIVE, "*median")
    dimension = parse_range("0.1*median..10*median:log", legal)
    assert dimension == Real(0.1, 10, log=True, unit="*median")
    assert parse_range(str(dimension), legal) == dimension
    assert dimension.contains("0.7*median")
    assert not any(dimension.contains(v) for v in (0.7, "0.7/median", "11*median", "text"))
    assert [legal.contains(v) for v in (0.7, "median", "0.7*median", -1, "-1*median", "0.7/median")] == [
        *[True] * 3,
        *[False] * 3,
    ]
    assert parse_range("0.1..10:log", legal) == Real(0.1, 10, log=True)
    assert parse_range("median|0.3", legal) == Choice(("median", 0.3))
    for text in ("0.1*median..10", "0.1*median..10/median", "0.1/median..10/median"):
        with pytest.raises(UsageError, match=r"same unit|leaves the legal"):
            parse_range(text, legal)


def test_a_multiple_is_resolved_by_what_the_kernel_sees_and_a_number_is_kept():
    X = np.random.default_rng(0).normal(size=(50, 3))
    for text, number in [("gaussian(sigma=0.5*median)", 0.5), ("gaussian(sigma=2*median)", 2.0)]:
        resolved = parse_kernel(text).resolved(X)
        assert resolved.sigma == pytest.approx(number * parse_kernel("gaussian").resolved(X).sigma)
        assert parse_kernel(text).resolved(8 * X).sigma == pytest.approx(8 * resolved.sigma)
    assert parse_kernel("gaussian(sigma=0.5)").resolved(8 * X).sigma == 0.5


def test_rows_that_give_a_scale_do_not_depend_on_the_order_of_the_rows():
    X = np.random.default_rng(0).normal(size=(3000, 4))
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(spread_rows(X), spread_rows(X[order]))
    assert len(spread_rows(X)) == 1000


@pytest.mark.filterwarnings("ignore")
def test_a_fit_records_what_a_multiple_became(files, tmp_path):
    with np.load(files / "rows-128.0.npz") as data:
        X, y = data["X"], data["y"]
    method = registry.component("methods", "ksc").build({"kernel": "gaussian(sigma=0.5*median)"}).fit(X, y)
    sigma = parse_kernel("gaussian").resolved(X).sigma
    assert method.diagnostics_.numbers["kernel.sigma resolved"] == pytest.approx(0.5 * sigma)
    fixed = registry.component("methods", "ksc").build({"kernel": "gaussian(sigma=7.5)"}).fit(X, y)
    assert "kernel.sigma resolved" not in fixed.diagnostics_.numbers
