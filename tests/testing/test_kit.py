"""All registered components keep their promises; and the kit itself: what it runs, reports and lets fail."""

import numpy as np
import pytest

from zslplat.data.formats.npz import NpzSource
from zslplat.data.formats.xlsa17 import Xlsa17
from zslplat.data.sets.synthetic import Synthetic
from zslplat.errors import UnknownNameError, UsageError, ZslplatError
from zslplat.kernels import parse_kernel
from zslplat.kernels.forms import Gaussian, Sigmoid
from zslplat.registry import component, names
from zslplat.testing import (
    ConformanceError,
    check_dataset,
    check_kernel,
    check_method,
    checks_for,
    parametrize_with_checks,
    run_checks,
)
from zslplat.testing.running import EXPECTED, FAILED, PASSED, UNEXPECTED

EXPRESSIONS = [
    "0.5*gaussian(sigma=1) + 0.5*polynomial(r=2)",
    "gaussian(sigma=2)*linear",
    "polynomial^2",
    "normalised(polynomial)",
    "gaussian(sigma=1) + l1-laplacian(sigma=1)",
    "normalised(l1-laplacian(sigma=1))",
]
SMALL = Synthetic(
    rows_train=120,
    rows_test_seen=24,
    rows_test_unseen=24,
    dimensions=8,
    attributes=5,
    classes_seen=12,
    classes_unseen=4,
)


def built(kind):
    """Components that do not load or build are left to the test that says so, so that they hide no others."""
    found = []
    for name in names(kind):
        try:
            found.append(parse_kernel(name) if kind == "kernels" else component(kind, name)())
        except (ZslplatError, TypeError):
            continue
    return found


@parametrize_with_checks(built("kernels") + [parse_kernel(text) for text in EXPRESSIONS])
def test_kernels_keep_their_promises(component, check):
    check(component)


@parametrize_with_checks(built("methods"))
def test_methods_keep_their_promises(component, check):
    check(component)


@parametrize_with_checks([*built("datasets"), SMALL])
def test_data_sets_keep_their_promises(component, check):
    check(component)


def test_files_of_ones_own_keep_the_promises_of_data_sets(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 8)
    rows = np.arange(len(y))
    splits = {"train": rows[y < 4], "test_unseen": rows[y >= 4]}
    np.savez(tmp_path / "mine.npz", X=rng.normal(size=(len(y), 5)), y=y, S=rng.random((6, 3)), **splits)
    results = check_dataset(NpzSource(path=str(tmp_path / "mine.npz")))
    assert {r.state for r in results} == {PASSED}


@pytest.mark.long
def test_published_files_keep_the_promises_of_data_sets(real_data, monkeypatch):
    folder = real_data / "xlsa17"
    if not (folder / "ISOLET").is_dir():
        pytest.skip("no xlsa17/ISOLET in the folder of real data")
    monkeypatch.setenv("ZSLPLAT_DATA_ROOT", str(folder))
    assert {r.state for r in check_dataset(Xlsa17(path="ISOLET"))} == {PASSED}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, n) for kind in ("kernels", "methods", "datasets", "tasks") for n in names(kind)]
)
def test_component_loads_and_is_built_with_its_defaults(kind, name):
    built_one = component(kind, name)()
    assert checks_for(built_one)


class Slow(Gaussian):
    """A Gaussian without its constant in the slope."""

    def slope(self, d):
        return -self.g(d)


BROKEN_CHECKS = {"partials_agree_with_finite_differences", "values_and_partials_together_are_the_same"}
REASON = "the slope is that of another kernel"


def test_results_tell_which_checks_failed_and_why():
    results = {r.check: r for r in run_checks(Slow(sigma=2.0))}
    assert {name for name, r in results.items() if r.state == FAILED} == BROKEN_CHECKS
    failed = results["partials_agree_with_finite_differences"]
    assert "derivative by t is off" in failed.message
    assert failed.promise.startswith("The derivatives of f")
    assert results["gram_is_symmetric"].state == PASSED


def test_check_kernel_raises_with_every_failure():
    with pytest.raises(ConformanceError) as caught:
        check_kernel(Slow(sigma=2.0))
    assert "2 of 22 checks" in str(caught.value)
    assert all(name in str(caught.value) for name in BROKEN_CHECKS)
    assert len(check_kernel(Gaussian)) == 22


def test_expected_failures_carry_a_reason_and_must_fail():
    results = {
        r.check: r for r in check_kernel(Slow(sigma=2.0), expected_failures=dict.fromkeys(BROKEN_CHECKS, REASON))
    }
    assert {results[name].state for name in BROKEN_CHECKS} == {EXPECTED}
    assert results["partials_agree_with_finite_differences"].message == REASON
    with pytest.raises(ConformanceError, match="gram_is_symmetric: passed after all"):
        check_kernel(Gaussian(1.0), expected_failures={"gram_is_symmetric": "none"})
    assert UNEXPECTED in {r.state for r in run_checks(Gaussian(1.0), {"gram_is_symmetric": "none"})}


def test_expected_failures_may_be_declared_by_the_component():
    class Declared(Slow):
        expected_failures = dict.fromkeys(BROKEN_CHECKS, REASON)

    states = {r.check: r.state for r in run_checks(Declared(sigma=2.0))}
    assert {states[name] for name in BROKEN_CHECKS} == {EXPECTED}


def test_expected_failure_of_an_unknown_check_is_refused():
    with pytest.raises(UnknownNameError, match="gram_is_symmetric"):
        run_checks(Gaussian(1.0), {"gram_is_symetric": "a slip"})
    with pytest.raises(UsageError, match="no reason"):
        run_checks(Gaussian(1.0), {"gram_is_symmetric": " "})


def test_parametrize_names_every_test_and_marks_expected_failures():
    mark = parametrize_with_checks([Slow(sigma=2.0), Sigmoid()], dict.fromkeys(BROKEN_CHECKS, REASON))
    assert mark.mark.args[0] == ("component", "check")
    parameters = mark.mark.args[1]
    assert len(parameters) == 44
    assert parameters[0].id == "slow(sigma=2.0)-parameters_are_documented"
    marked = {p.id.split("-")[-1] for p in parameters if p.marks}
    assert marked == BROKEN_CHECKS
    assert all(p.marks[0].kwargs == {"reason": REASON, "strict": True} for p in parameters if p.marks)


@pytest.mark.parametrize(
    ("check", "wrong"), [(check_kernel, SMALL), (check_method, Gaussian), (check_dataset, Gaussian)]
)
def test_component_of_another_kind_is_refused(check, wrong):
    with pytest.raises(UsageError, match="expected a"):
        check(wrong)


def test_what_is_no_component_is_refused():
    with pytest.raises(UsageError, match="expected a kernel, a method, a data source, a task or a check"):
        checks_for(3)


@pytest.mark.parametrize(
    "example", [Gaussian(1.0), component("methods", "mfmr")(), SMALL], ids=["kernel", "method", "data"]
)
def test_every_check_states_its_promise_in_one_line(example):
    for check in checks_for(example):
        text = check.__doc__ or ""
        assert text.strip().endswith("."), check.__name__
        assert "\n" not in text.strip(), check.__name__
