"""What tasks promise of their values per class, of which intervals over new classes are made."""

from __future__ import annotations

import warnings

import numpy as np

from zslplat.errors import OutcomeWarning
from zslplat.tasks.base import Task
from zslplat.testing.task_samples import data_for, player


def values_per_class_are_those_of_the_metrics(task: Task) -> None:
    """Values per class have one entry per class, NaN for no say, and lie around the metric that they are of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutcomeWarning)
        problem = task.test(data_for(task))
        *_, (_, outputs) = task.run(player(task, "works"), problem, {})
        outcomes = task.outcomes(problem, outputs, {})
        found = None if outcomes is None else task.class_values(outcomes)
        if found is None:
            return
        metrics = task.score(problem, outputs, {}, full=False).metrics
    for name, values in found.values.items():
        assert name in metrics, f"{name} has values per class but is no metric"
        assert values.shape == found.kinds.shape, f"{name} has {values.shape} values for {found.kinds.shape} classes"
        for kind in np.unique(found.kinds):
            own = values[(found.kinds == kind) & np.isfinite(values)]
            # Pseudo-values of a metric that is no mean are off by its bias, which is well inside their spread.
            allowed = 3 * float(own.std()) / np.sqrt(len(own)) + 1e-9 if len(own) else 0.0
            assert not len(own) or abs(own.mean() - metrics[name]) <= allowed, (
                f"{name} is {metrics[name]:.6f}; its values per class lie around {own.mean():.6f}"
            )
