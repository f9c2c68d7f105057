"""What selected features are worth to a zero-shot method: rows of unseen classes recognised from them alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from zslplat import registry
from zslplat.data.store.preprocessing import apply_steps
from zslplat.kinds import require_kind
from zslplat.spec import Spec
from zslplat.tasks.base import Problem


def checked_spec(text: str, task: str) -> Spec:
    """Return the spec of a registered zero-shot method; raises :class:`UsageError` for a method of another kind."""
    spec = Spec.parse(text)
    require_kind(registry.component("methods", spec.name), "zero-shot", f"{task}, option zero_shot,")
    return spec


def recognised(selector: Any, spec: Spec, problem: Problem, selected: np.ndarray) -> np.ndarray:
    """Return the unseen class (m,) that a zero-shot method gives each row from the selected features alone.

    The method is built beside the ``selector``, wherever that is.
    """
    inputs, method = problem.inputs, selector.beside(spec.name, spec.parameters)
    steps = method.preprocessing
    # In the order of the data set, where a row stands would tell its class.
    order = np.random.default_rng([problem.meta["seed"], 11]).permutation(len(inputs["raw_unseen"]))
    unseen = inputs["raw_unseen"][:, selected][order]
    X, X_unseen = apply_steps(steps.features, inputs["raw"][:, selected], unseen)
    everything = np.vstack([inputs["S_raw"], inputs["S_unseen"]])
    S, S_unseen = apply_steps(steps.signatures, inputs["S_raw"], inputs["S_unseen"], every=everything)
    method.fit(X, inputs["y"], S)
    scores = method.decision_function(X_unseen, S_unseen, seen=np.zeros(len(S_unseen), dtype=bool))
    predicted = np.empty(len(order), dtype=np.int64)
    predicted[order] = np.argmax(scores, axis=1)
    return predicted
