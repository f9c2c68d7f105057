"""Kernels, data sources and tasks that print, or change what all code shares, are caught at any time."""

import os
import random

import numpy as np
import pytest

from zslplat.data.sets.synthetic import Synthetic
from zslplat.families.zero_shot.unseen import ZeroShot
from zslplat.kernels.forms import Linear
from zslplat.testing import checks_for
from zslplat.testing.checks import (
    evaluation_leaves_no_traces,
    loading_leaves_no_traces,
    protocol_leaves_no_traces,
)

SMALL = {"rows_train": 60, "rows_test_seen": 12, "rows_test_unseen": 12, "dimensions": 6, "attributes": 4}
SMALL |= {"classes_seen": 6, "classes_unseen": 3}


def kernel_that(does):
    class Meddling(Linear):
        def evaluate(self, A, B):
            does()
            return super().evaluate(A, B)

    return Meddling()


def source_that(does):
    class Meddling(Synthetic):
        def load(self, places):
            does()
            return super().load(places)

    return Meddling(**SMALL)


def task_that(does):
    class Meddling(ZeroShot):
        def score(self, problem, outputs, validation_choices, *, full):
            does()
            return super().score(problem, outputs, validation_choices, full=full)

    return Meddling()


CASES = [
    (evaluation_leaves_no_traces, kernel_that),
    (loading_leaves_no_traces, source_that),
    (protocol_leaves_no_traces, task_that),
]
ANYWHERE = [
    (lambda: print("computing"), "prints 'computing"),
    (lambda: os.write(1, b"from below"), "prints 'from below"),
    (lambda: np.seterr(all="raise"), "NumPy's error handling"),
    (lambda: random.seed(3), "Python's global random state"),
]
# A source is loaded where its files are, in the folder and with the variables that there are.
ELSEWHERE = [
    (lambda: os.environ.update(ZSLPLAT_KIT_TEST="1"), "the environment"),
    (lambda: os.chdir("/"), "the current folder"),
]


@pytest.fixture(autouse=True)
def nothing_stays_changed():
    """Undo what the components of these tests do to their process."""
    folder, errors = os.getcwd(), np.geterr()
    yield
    os.chdir(folder)
    os.environ.pop("ZSLPLAT_KIT_TEST", None)
    np.seterr(**errors)


@pytest.mark.parametrize(
    ("check", "make", "does", "message"),
    [(*case, *trace) for case in CASES for trace in ANYWHERE + (ELSEWHERE if case[1] is not source_that else [])],
)
def test_a_trace_is_caught(check, make, does, message):
    with pytest.raises(AssertionError, match=message):
        check(make(does))


@pytest.mark.parametrize(("check", "make"), CASES, ids=["kernel", "source", "task"])
def test_who_leaves_nothing_passes_and_is_asked(check, make):
    sound = make(lambda: None)
    assert check in checks_for(sound)
    check(sound)
