"""Every check of methods that take blocks catches one that does it wrong."""

import numpy as np
import pytest
from kit_toys import Plain

from zslplat.api import blocks_of, check_fit_inputs, rowwise
from zslplat.testing import checks_for, run_checks
from zslplat.testing.rows import BLOCK_CHECKS


class Streams(Plain):
    """Works through blocks; the base of those that do it wrong."""

    takes_blocks = True
    checks_rows = True

    def prepare_fit(self, X, y, S, *, space):
        check_fit_inputs(X, y, S, read=self.checks_rows)
        gram, cross = np.zeros((X.shape[1], X.shape[1])), np.zeros((X.shape[1], S.shape[1]))
        for where, block in blocks_of(X):
            rows = np.asarray(block, dtype=np.float64)
            gram += rows.T @ rows
            cross += rows.T @ S[self.labels_of(y, where)]
        return {"gram": gram, "cross": cross}

    def labels_of(self, y, where):
        return y[where]

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return rowwise(X, lambda rows: super(Streams, self).decision_function(rows, S))


class MakesAnArray(Streams):
    def decision_function(self, X, S, *, seen=None, statistics=None):
        return super().decision_function(np.asarray(X), S)


class IndexesFeatures(Streams):
    def prepare_fit(self, X, y, S, *, space):
        order = np.argsort(y, kind="stable")
        return super().prepare_fit(X[order], y[order], S, space=space)


class AsksForTheMean(Streams):
    def prepare_fit(self, X, y, S, *, space):
        self.mean_ = X.mean(axis=0)
        return super().prepare_fit(X, y, S, space=space)


class TakesLabelsInOrder(Streams):
    """Takes blocks for rows that follow each other."""

    def labels_of(self, y, where):
        self.at_ = 0 if self.at_ >= len(y) else self.at_
        count = len(y[where])
        self.at_ += count
        return y[self.at_ - count : self.at_]

    def prepare_fit(self, X, y, S, *, space):
        self.at_ = 0
        return super().prepare_fit(X, y, S, space=space)


class WritesIntoBlocks(Streams):
    def prepare_fit(self, X, y, S, *, space):
        for _, block in blocks_of(X):
            block *= 1
        return super().prepare_fit(X, y, S, space=space)


class TakesNaN(Streams):
    checks_rows = False


BROKEN = [
    ("blocks_give_what_an_array_gives", TakesLabelsInOrder, "from blocks deviate"),
    ("blocks_give_what_an_array_gives", MakesAnArray, "an array of all features is made"),
    ("blocks_give_what_an_array_gives", IndexesFeatures, "features are indexed"),
    ("blocks_give_what_an_array_gives", AsksForTheMean, "asked for 'mean'"),
    ("blocks_give_what_an_array_gives", WritesIntoBlocks, "read-only"),
    ("nan_in_a_block_is_refused", TakesNaN, "expected DataError"),
]
ALL = {check.__name__: check for check in BLOCK_CHECKS}


def test_every_check_has_a_method_that_breaks_it():
    assert {name for name, _, _ in BROKEN} == set(ALL)


@pytest.mark.parametrize(("name", "broken", "message"), BROKEN)
def test_check_catches_the_method_that_breaks_it(name, broken, message):
    with pytest.raises((AssertionError, ValueError), match=message):
        ALL[name](broken())


def test_a_method_that_works_through_blocks_passes_and_one_without_is_not_asked():
    assert {r.check: r.state for r in run_checks(Streams()) if r.check in ALL} == dict.fromkeys(ALL, "passed")
    assert not set(ALL) & {check.__name__ for check in checks_for(Plain())}
