"""From the spec of a method, or the method itself, to its pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat import registry
from zslplat.errors import UsageError
from zslplat.kinds import load_part
from zslplat.methods.base import Method
from zslplat.pipelines.base import Pipeline
from zslplat.spec import Spec


def make(
    method: str | Spec | Method | type[Method],
    *,
    features: str | None = None,
    signatures: str | None = None,
    **parameters: Any,
) -> Pipeline:
    """Return a method with its preprocessing, as a scikit-learn estimator that is not fitted yet.

    ``method`` is a spec as ``--method`` takes it (``"eszsl(alpha=.01, gamma=.01)"``), an estimator or its class;
    ``parameters`` are further hyperparameters, ``features`` and ``signatures`` preprocessing steps in place of the
    method's own (``"center,l2"``, ``"none"``). The result is the pipeline of the method's kind, for instance a
    :class:`~zslplat.pipelines.zero_shot.ZeroShotPipeline`.

    Raises :class:`~zslplat.errors.UnknownNameError` for an unknown method or hyperparameter, and
    :class:`~zslplat.errors.UsageError` for illegal values and for a kind of methods without a pipeline.

    >>> pipeline = make("eszsl(alpha=.01)", gamma=.1)
    >>> pipeline.get_params()["method__gamma"]
    0.1
    >>> pipeline.preprocessing.text_of("features")
    'split,l2'
    """
    for what, steps in (("features", features), ("signatures", signatures)):
        if not isinstance(steps, str | None):
            raise UsageError(f"{what}={steps!r}: expected steps as a text, such as 'center,l2'")
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
    built = method_of(method, plain)
    pipeline: Pipeline = load_part(built.kind, "pipeline")(built, features=features, signatures=signatures)
    pipeline.preprocessing  # noqa: B018 - raises for steps that are unknown
    return pipeline


def method_of(method: str | Spec | Method | type[Method], parameters: dict[str, Any]) -> Method:
    """Return a method with further hyperparameters; raises :class:`UsageError` for one that is given twice."""
    if isinstance(method, Method):
        built = method
        return type(built).build({**built.get_params(deep=False), **parameters}) if parameters else built
    if isinstance(method, type) and issubclass(method, Method):
        return method.build(parameters)
    if not isinstance(method, str | Spec):
        raise UsageError(f"method={method!r}: expected a spec such as 'eszsl(alpha=.01)', a method or its class")
    spec = Spec.parse(method) if isinstance(method, str) else method
    twice = sorted(set(parameters) & set(spec.parameters))
    if twice:
        raise UsageError(f"{twice[0]} is given twice, in {spec} and as {twice[0]}={parameters[twice[0]]!r}")
    given = {name: str(value) if isinstance(value, Spec) else value for name, value in spec.parameters.items()}
    found: Method = registry.component("methods", spec.name).build({**given, **parameters})
    return found
