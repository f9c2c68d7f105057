"""The checks of views catch methods that break their promise, and let sound ones pass."""

from __future__ import annotations

import pytest
from kit_toys import Plain

from zslplat.families.zero_shot.methods.keszsl import KernelESZSL
from zslplat.families.zero_shot.methods.zskl.zskl import ZSKL
from zslplat.registry import component
from zslplat.testing.rows import (
    a_kernel_on_a_view_sees_that_view_alone,
    a_view_of_matrices_without_a_kernel_is_refused,
    view_checks,
    views_side_by_side_are_one_feature_set,
)
from zslplat.testing.running import FAILED, run_check


class TakesAnything(Plain):
    def take_views(self, views):
        self.views = tuple(views)


class LeavesOutAView(Plain):
    """Fits the first view alone."""

    def fit(self, X, y, S, *, statistics=None):
        X = X.copy()
        X[:, self.views[0].width if self.views else X.shape[1] :] = 0
        return super().fit(X, y, S, statistics=statistics)


class SeesAllViews(KernelESZSL):
    """Adds what lies beside the view."""

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return super().decision_function(X, S) + 1e-3 * X[:, :1]


class NeedsTheViewsAgain(KernelESZSL):
    def decision_function(self, X, S, *, seen=None, statistics=None):
        self.kernel_ = self.parsed_kernel().resolved(X)
        return super().decision_function(X, S)


class MeasuresAllColumns(KernelESZSL):
    """Takes the units of the data from the rows as a whole."""

    def parsed_kernel(self):
        kernel = super().parsed_kernel()
        if not self.views:
            return kernel
        return kernel.replaced({"sigma": 0.7 * sum(view.width for view in self.views)})


class TakesKernelsOnViews(ZSKL):
    @classmethod
    def _misfit(cls, kernel):
        return ""


BROKEN = [
    (a_view_of_matrices_without_a_kernel_is_refused, TakesAnything, "is accepted"),
    (views_side_by_side_are_one_feature_set, LeavesOutAView, "told of two views"),
    (a_kernel_on_a_view_sees_that_view_alone, SeesAllViews, "kernel on one of two views"),
    (a_kernel_on_a_view_sees_that_view_alone, NeedsTheViewsAgain, "no named views"),
    (a_kernel_on_a_view_sees_that_view_alone, MeasuresAllColumns, "kernel on one of two views"),
    (a_kernel_on_a_view_sees_that_view_alone, TakesKernelsOnViews, "is accepted"),
]


@pytest.mark.parametrize(("check", "broken", "message"), BROKEN, ids=[broken.__name__ for _, broken, _ in BROKEN])
def test_check_catches_the_method_that_breaks_it(check, broken, message):
    result = run_check(check, broken())
    assert result.state == FAILED
    assert message in result.message


def test_only_methods_with_a_kernel_are_asked_for_a_kernel_on_a_view():
    assert a_kernel_on_a_view_sees_that_view_alone not in view_checks(Plain())
    assert a_kernel_on_a_view_sees_that_view_alone in view_checks(component("methods", "keszsl")())
