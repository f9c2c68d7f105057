"""Which of the searched hyperparameters mattered: the share of the variation of the values that each explains.

Source: functional ANOVA over a forest of regression trees (Hutter, Hoos and Leyton-Brown, ICML 2014), as Optuna
computes it; its trees are drawn from one seed, so that the same trials give the same shares.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

LEAST_TRIALS = 10
_SEED, _TREES, _DEPTH = 0, 64, 64


@dataclass(frozen=True)
class Importance:
    """Shares by hyperparameter, the largest first, of so many complete trials; or ``why_not`` there are none.

    Only what all these trials tried has a share: a parameter under a condition has none.
    """

    trials: int
    shares: dict[str, float] = field(default_factory=dict)
    why_not: str = ""

    @property
    def in_words(self) -> str:
        """What is shown in one line."""
        if self.why_not:
            return self.why_not
        listed = ", ".join(f"{name} {share:.2f}" for name, share in self.shares.items())
        return f"{listed} (shares of the variation, by {self.trials} trials)"


def importance_of(trials: list[Any]) -> Importance:
    """Return the shares of hyperparameters by finished trials of Optuna's."""
    import optuna
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances
    from optuna.trial import TrialState

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    complete = [t for t in trials if t.state == TrialState.COMPLETE and t.params]
    count = len(complete)
    if count < LEAST_TRIALS:
        return Importance(count, why_not=f"{count} complete trials are too few; {LEAST_TRIALS} are needed")
    common = set.intersection(*(set(t.params) for t in complete))
    varied = sorted(name for name in common if len({str(t.params[name]) for t in complete}) > 1)
    if len({t.values[0] for t in complete}) < 2 or not varied:
        return Importance(count, why_not=f"{count} trials gave the same value, so nothing mattered")
    if len(varied) < 2:
        return Importance(count, why_not=f"{varied[0]} is all that was searched in every trial")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is experimental there
        study = optuna.create_study(directions=["minimize"] * len(complete[0].values))
        study.add_trials(complete)
        evaluator = FanovaImportanceEvaluator(n_trees=_TREES, max_depth=_DEPTH, seed=_SEED)
        shares = get_param_importances(study, evaluator=evaluator, params=varied, target=lambda trial: trial.values[0])
    ordered = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return Importance(count, {name: round(float(share), 6) for name, share in ordered})
