"""Named views: a method takes them side by side, or through kernels that are on one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from zslplat.data.store.rows import View
from zslplat.errors import UsageError
from zslplat.methods.base import Arrays, Method
from zslplat.methods.kernel_parameter import KernelMethod
from zslplat.space import ANY
from zslplat.testing.kits import direct_outputs, kit_of
from zslplat.testing.method_checks import SAME, assert_close
from zslplat.testing.running import Check
from zslplat.testing.state import parameters_of

# The inputs that are rows of features, by the names that the exercises give them.
ROWS = ("X", "X_pool", "gallery")


def views_side_by_side_are_one_feature_set(method: Method) -> None:
    """Told of two vector views, the method gives what it gives on the same columns without views."""
    kit = kit_of(method.kind)
    arrays = kit.arrays(method)
    told = clone(method)
    told.take_views(_two_views(arrays["X"].shape[1]))
    assert_close(method, kit.apply(told, arrays), direct_outputs(method), "once it was told of two views")


def a_kernel_on_a_view_sees_that_view_alone(method: KernelMethod) -> None:
    """With its kernel on one view of two, a method gives what that view alone gives, or refuses kernels on views."""
    parameters = {**parameters_of(method), "kernel": f"({method.kernel})@own"}
    if method.kernel_gradients or method.kernel_on != "features":  # in a projection of all features, or on signatures
        _refuses(lambda: type(method).build(parameters), f"kernel={parameters['kernel']}")
        return
    kit, own = kit_of(method.kind), kit_of(method.kind).arrays(method)
    beside: Arrays = {name: _beside(values) if name in ROWS else values for name, values in own.items()}
    told: Any = type(method).build(parameters)
    width = own["X"].shape[1]
    told.take_views((View("other", (beside["X"].shape[1] - width,)), View("own", (width,))))
    direct, when = direct_outputs(method), "with the kernel on one of two views"
    assert_close(method, kit.apply(told, beside), direct, when, at_least=SAME)
    restored = type(method).from_state(parameters, told.state())
    found = kit.outputs(restored, beside, {})
    assert_close(method, found, direct, f"{when}, restored from the state", at_least=SAME)


def a_view_of_matrices_without_a_kernel_is_refused(method: Method) -> None:
    """A view that holds matrices, and that no kernel of the method is on, is refused with UsageError."""
    views = (View("vectors", (4,)), View("matrices", (3, 3)))
    _refuses(lambda: clone(method).take_views(views), "a view of matrices")


def _two_views(width: int) -> tuple[View, View]:
    return View("first", (width // 2,)), View("second", (width - width // 2,))


def _beside(X: np.ndarray) -> np.ndarray:
    """Return the rows with columns of noise in front."""
    noise = np.random.default_rng(len(X)).normal(size=(len(X), 5))
    return np.hstack([noise.astype(X.dtype), X])


def _refuses(call: Any, what: str) -> None:
    try:
        call()
    except UsageError:
        return
    raise AssertionError(f"{what} is accepted; expected UsageError")


def view_checks(method: Method) -> tuple[Check, ...]:
    """Return the checks of a method: kernels on views where it has a kernel."""
    plain: tuple[Check, ...] = (views_side_by_side_are_one_feature_set, a_view_of_matrices_without_a_kernel_is_refused)
    has_kernel = isinstance(method, KernelMethod) and str(method.kernel) != ANY
    return (*plain, a_kernel_on_a_view_sees_that_view_alone) if has_kernel else plain
