"""Every method with its preprocessing, as a scikit-learn estimator: ``from zslplat.estimators import ESZSL``.

A class per registered method, called as the method's class is, with the hyperparameters of the method. What it can do
is that of its kind: ``fit(X, y, S)`` and ``predict(X, S)`` of zero-shot methods, for instance. ``estimators.pyi`` tells
editors and type checkers the same; ``python tests/front/estimator_stub.py`` writes it.
"""

from __future__ import annotations

from typing import Any

from zslplat.errors import near_names
from zslplat.pipelines.base import estimator_of
from zslplat.registry import component, registry


def methods_by_class_name() -> dict[str, str]:
    """Return the name of each registered method by that of its class."""
    methods = registry().names("methods")
    targets = {name: registry().entries["methods"][name][0].target for name in methods}
    return {t.rpartition(":")[2] if isinstance(t, str) else t.__name__: name for name, t in targets.items()}


def __getattr__(name: str) -> Any:
    methods = {} if name.startswith("_") else methods_by_class_name()
    if name in methods:
        return estimator_of(component("methods", methods[name]))
    near = near_names(name, methods)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted(methods_by_class_name())
