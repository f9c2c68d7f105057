"""Every check that all methods share catches a method that breaks its promise."""

import os
import threading
import warnings

import numpy as np
import pytest
from kit_toys import LAM, SEED, Plain
from scipy import linalg
from threadpoolctl import threadpool_info, threadpool_limits

from zslplat.errors import UsageError
from zslplat.families.zero_shot.kit import zero_shot_checks
from zslplat.methods.base import Diagnostics
from zslplat.space import POSITIVE, Parameter, Real
from zslplat.testing import checks_for, run_checks
from zslplat.testing.isolation import STATE_CHECKS
from zslplat.testing.rows import view_checks


class Undocumented(Plain):
    parameters = {"lam": Parameter(" ", POSITIVE)}


class Unreasoned(Plain):
    tolerance = 0.1


class Converts(Plain):
    def __init__(self, lam=0.1):
        self.lam = lam + 0.0


class BuildsTheDefault(Plain):
    @classmethod
    def build(cls, parameters):
        super().build(parameters)
        return cls()


class BuildsAnything(Plain):
    @classmethod
    def build(cls, parameters):
        return cls(**{k: v for k, v in parameters.items() if k == "lam"})


class DefaultOutside(Plain):
    parameters = {"lam": Parameter("ridge", POSITIVE, Real(1e-6, 1e-5, log=True))}


class IllegalRange(Plain):
    parameters = {"lam": Parameter("ridge", POSITIVE, Real(-1, 1))}


def local_method():
    class Local(Plain):
        """Defined in a function."""

    return Local()


class ReturnsNothing(Plain):
    def fit(self, X, y, S, *, statistics=None):
        super().fit(X, y, S, statistics=statistics)


class TunesItself(Plain):
    def fit(self, X, y, S, *, statistics=None):
        self.lam = 1.0
        return super().fit(X, y, S, statistics=statistics)


class GivesNaN(Plain):
    def decision_function(self, X, S, **_):
        return np.full((len(X), len(S)), np.nan)


class GlobalRandom(Plain):
    def decision_function(self, X, S, **_):
        return super().decision_function(X, S) + 1e-3 * np.random.normal(size=(len(X), len(S)))  # noqa: NPY002


class OwnRandom(Plain):
    def decision_function(self, X, S, **_):
        return super().decision_function(X, S) + 1e-3 * np.random.default_rng().normal(size=(len(X), len(S)))


class SeedWithoutEffect(Plain):
    random = True
    parameters = {"lam": LAM, "seed": SEED}

    def __init__(self, lam=0.1, seed=0):
        super().__init__(lam)
        self.seed = seed


class PreparesForOneTrial(Plain):
    """Puts a searched parameter into what all trials share."""

    def prepare_fit(self, X, y, S, *, space):
        found = super().prepare_fit(X, y, S, space=space)
        return {**found, "gram": found["gram"] + self.lam * np.eye(len(found["gram"]))}


class PreparesForItsValue(PreparesForOneTrial):
    """The same for a parameter that is declared as costly: sound."""

    parameters = {"lam": Parameter("ridge", POSITIVE, Real(1e-3, 10, log=True, steps=5))}
    costly = ("lam",)

    def fit(self, X, y, S, *, statistics=None):
        statistics = statistics or self.prepare_fit(X, y, S, space={})
        self.W_ = linalg.solve(statistics["gram"], statistics["cross"], assume_a="pos")
        return self


class CallsCostlyWhatIsNone(Plain):
    costly = ("gamma",)


class CostlyWithoutSteps(Plain):
    costly = ("lam",)


class CountsThreads(Plain):
    def decision_function(self, X, S, **_):
        return super().decision_function(X, S) * (1 + 1e-3 * sum(info["num_threads"] for info in threadpool_info()))


class MatrixOfObjects(Plain):
    def matrices(self):
        return {"W": self.W_, "note": np.array({"a": 1}, dtype=object)}


class BadDiagnostics(Plain):
    def fit(self, X, y, S, *, statistics=None):
        self.diagnostics_ = Diagnostics(numbers={"rank": float("nan")})
        return super().fit(X, y, S, statistics=statistics)


class Rises(Plain):
    tags = ("monotone",)

    def fit(self, X, y, S, *, statistics=None):
        self.diagnostics_ = Diagnostics(series={"objective": [3.0, 2.0, 2.001, 1.0]})
        return super().fit(X, y, S, statistics=statistics)


class OtherObjective(Plain):
    tags = ("stationary",)

    def objective(self, X, y, S):
        return float(((X @ self.W_ - S[y]) ** 2).sum() + 2 * self.lam * (self.W_**2).sum())


class ChangesInput(Plain):
    def fit(self, X, y, S, *, statistics=None):
        X -= X.mean(axis=0)
        return super().fit(X, y, S, statistics=statistics)


class ChangesStatistics(Plain):
    def fit(self, X, y, S, *, statistics=None):
        statistics = statistics or self.prepare_fit(X, y, S, space={})
        if statistics["gram"].flags.writeable:
            statistics["gram"] += 1e-3 * np.eye(len(statistics["gram"]))
        return super().fit(X, y, S, statistics=statistics)


class NeedsWritable(Plain):
    def fit(self, X, y, S, *, statistics=None):
        X *= 1.0
        return super().fit(X, y, S, statistics=statistics)


class LooksAround(Plain):
    """Takes the mean from all rows of the array that its training rows are a slice of: the test rows among them."""

    def fit(self, X, y, S, *, statistics=None):
        everything = X if X.base is None else X.base
        self.mean_ = everything.mean(axis=0)
        return super().fit(X, y, S, statistics=statistics)

    def decision_function(self, X, S, **_):
        return super().decision_function(X - self.mean_.astype(X.dtype), S)


class WarmStart(Plain):
    def fit(self, X, y, S, *, statistics=None):
        earlier = getattr(self, "W_", 0)
        super().fit(X, y, S, statistics=statistics)
        self.W_ = self.W_ + 0.1 * earlier
        return self


class SharesItsState(Plain):
    learned = {}

    def fit(self, X, y, S, *, statistics=None):
        super().fit(X, y, S, statistics=statistics)
        self.learned["W"] = self.W_
        return self

    def decision_function(self, X, S, **_):
        self.W_ = self.learned["W"]
        return super().decision_function(X, S)


class LeavesInFit(Plain):
    def fit(self, X, y, S, *, statistics=None):
        raise SystemExit(0)


class Prints(Plain):
    def fit(self, X, y, S, *, statistics=None):
        print("fitting", len(X), "rows")
        return super().fit(X, y, S, statistics=statistics)


class PrintsFromCompiledCode(Plain):
    def decision_function(self, X, S, **_):
        os.write(2, b"low-level note")
        return super().decision_function(X, S)


class HoldsALock(Plain):
    def fit(self, X, y, S, *, statistics=None):
        self.lock_ = threading.Lock()
        return super().fit(X, y, S, statistics=statistics)


class PicklesAPart(Plain):
    def __setstate__(self, state):
        self.__dict__.update({**state, "W_": state["W_"].round(1)} if "W_" in state else state)


def that_does(what):
    """Return a method that does something to its process, every time, and keeps it so."""

    class Meddles(Plain):
        def fit(self, X, y, S, *, statistics=None):
            what()
            return super().fit(X, y, S, statistics=statistics)

    return Meddles


def sets_folder():
    os.chdir("/")


def sets_variable():
    os.environ["ZSLPLAT_KIT_TEST"] = "1"


def silences_numpy():
    np.seterr(all="ignore")


def draws_global_numbers():
    np.random.rand()  # noqa: NPY002


def silences_warnings():
    warnings.filterwarnings("ignore", category=DeprecationWarning)


def limits_threads():
    threadpool_limits(1)


BROKEN = {
    "parameters_are_documented": (Undocumented, "no description for lam"),
    "tolerance_has_a_reason": (Unreasoned, "without tolerance_reason"),
    "constructor_only_stores": (Converts, "is kept as"),
    "build_takes_what_get_params_gives": (lambda: BuildsTheDefault(0.5), "has the parameters"),
    "build_refuses_what_is_not_legal": (BuildsAnything, "is accepted"),
    "search_ranges_are_legal": (IllegalRange, "searched but not legal"),
    "class_is_importable": (local_method, "cannot be imported"),
    "fit_returns_self_and_keeps_parameters": (ReturnsNothing, "fit returns NoneType"),
    "outputs_are_finite": (GivesNaN, "holds NaN"),
    "same_seed_gives_the_same_result": (GlobalRandom, "differ between two fits"),
    "another_seed_gives_another_result": (SeedWithoutEffect, "two seeds give the same"),
    "prepared_path_equals_direct_path": (PreparesForOneTrial, "with prepared statistics"),
    "number_of_threads_does_not_matter": (CountsThreads, "with two threads"),
    "matrices_survive_storage": (MatrixOfObjects, "of type object"),
    "diagnostics_are_finite_numbers": (BadDiagnostics, "rank=nan"),
    "objective_never_rises": (Rises, "rises from 2 to 2.001 at iteration 2"),
    "learned_matrices_are_stationary": (OtherObjective, "objective is lower"),
    "inputs_are_not_changed": (ChangesInput, "X was changed"),
    "read_only_memory_maps_are_accepted": (NeedsWritable, "read-only"),
    "rows_around_the_inputs_are_not_seen": (LooksAround, "other rows around"),
    "earlier_fits_are_forgotten": (WarmStart, "after a fit on other data"),
    "other_instances_do_not_interfere": (SharesItsState, "after another instance was fitted"),
    "shared_settings_are_left_alone": (GlobalRandom, "NumPy's global random state"),
    "nothing_is_printed": (Prints, "prints 'fitting 96 rows"),
    "fitted_state_can_be_copied": (HoldsALock, "copy of the fitted method: TypeError"),
}
FURTHER = [
    ("search_ranges_are_legal", DefaultOutside, "outside of what is searched"),
    ("search_ranges_are_legal", CostlyWithoutSteps, "no two trials share a value; give it steps"),
    ("parameters_are_documented", CallsCostlyWhatIsNone, "gamma is called costly and is no parameter"),
    ("fit_returns_self_and_keeps_parameters", TunesItself, "changed the parameters lam"),
    ("same_seed_gives_the_same_result", OwnRandom, "differ between two fits"),
    ("shared_settings_are_left_alone", that_does(sets_folder), "changed: the current folder;"),
    ("shared_settings_are_left_alone", that_does(sets_variable), "changed: the environment"),
    ("shared_settings_are_left_alone", that_does(silences_numpy), "changed: NumPy's error handling"),
    ("shared_settings_are_left_alone", that_does(draws_global_numbers), "changed: NumPy's global random state"),
    ("shared_settings_are_left_alone", that_does(silences_warnings), "changed: the filters of warnings"),
    ("shared_settings_are_left_alone", that_does(limits_threads), "changed: the number of threads"),
    ("nothing_is_printed", PrintsFromCompiledCode, "low-level note"),
    ("fitted_state_can_be_copied", PicklesAPart, "of a copy of the fitted method"),
    ("inputs_are_not_changed", ChangesStatistics, "prepared statistic fit/gram"),
    ("diagnostics_are_finite_numbers", type("Unmeasured", (Plain,), {"measures": ("rank",)}), "measures names rank,"),
]


class Everything(SeedWithoutEffect):
    """Declares all that brings further checks."""

    tags = ("monotone", "stationary")


OF_ITS_KIND = zero_shot_checks(Everything())
ELSEWHERE = (*OF_ITS_KIND, *STATE_CHECKS, *view_checks(Everything()))
ALL = {check.__name__: check for check in checks_for(Everything()) if check not in ELSEWHERE}


def test_every_check_has_a_method_that_breaks_it():
    assert set(BROKEN) == set(ALL)


@pytest.mark.parametrize(("name", "broken", "message"), [(n, *b) for n, b in BROKEN.items()] + FURTHER)
def test_check_catches_the_method_that_breaks_it(name, broken, message):
    with pytest.raises((AssertionError, ValueError), match=message):
        ALL[name](broken())


def test_what_is_costly_is_prepared_for_each_of_its_values():
    ALL["prepared_path_equals_direct_path"](PreparesForItsValue())
    ALL["search_ranges_are_legal"](PreparesForItsValue())


@pytest.fixture(autouse=True)
def nothing_stays_changed():
    """Undo what the methods of these tests do to their process."""
    folder, environment, errors, filters = os.getcwd(), dict(os.environ), np.geterr(), list(warnings.filters)
    with threadpool_limits():
        yield
    os.chdir(folder)
    os.environ.pop("ZSLPLAT_KIT_TEST", None)
    assert dict(os.environ).keys() - {"PYTEST_CURRENT_TEST"} == environment.keys() - {"PYTEST_CURRENT_TEST"}
    np.seterr(**errors)
    warnings.filters[:] = filters


def test_a_method_that_leaves_in_fit_fails_check_by_check_and_ends_nothing():
    results = {result.check: result for result in run_checks(LeavesInFit())}
    assert results["outputs_are_finite"].message == "SystemExit: 0"
    assert results["parameters_are_documented"].state == "passed"


def test_kind_without_checks_is_refused():
    class Other(Plain):
        kind = "juggling"

    with pytest.raises(UsageError, match="juggling"):
        checks_for(Other())
