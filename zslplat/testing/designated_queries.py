"""What tasks for exemplar methods promise of designated queries: everything that they promise of other data."""

from __future__ import annotations

import copy

from zslplat.errors import DataError, UsageError
from zslplat.registry import registered_name
from zslplat.tasks.base import Task
from zslplat.testing import tasks
from zslplat.testing.running import Check, Skipped
from zslplat.testing.task_samples import designated, more_noise
from zslplat.testing.truth_seekers import INFORMATION_BOUND, UNDER_ATTACK, attack_outcomes

_ON_DATA: tuple[Check, ...] = (
    tasks.validation_is_built_from_training_rows_only,
    tasks.test_problem_holds_all_rows,
    tasks.rows_that_are_scored_are_not_trained_on,
    tasks.folds_hold_out_whole_classes,
    tasks.problems_hold_copies,
    tasks.same_seed_gives_the_same_problems,
    tasks.missing_data_is_refused,
    tasks.scoring_gives_the_primary_metric,
    tasks.a_method_that_works_beats_chance,
    tasks.chance_is_what_guesses_reach,
    tasks.metrics_do_not_depend_on_any_order,
    tasks.drawing_every_unit_once_changes_nothing,
    tasks.unusable_outputs_are_refused,
)


def designated_checks() -> tuple[Check, ...]:
    """Return the checks of a task on data with designated queries."""
    return (*map(_on_designated, _ON_DATA), truth_of_designated_queries_is_out_of_reach)


def truth_of_designated_queries_is_out_of_reach(task: Task) -> None:
    """Methods that go through their memory, or their callers' frames, find neither classes nor what is right."""
    _with_designated(task)
    name = registered_name(type(task), "tasks")
    attacked, unregistered = (name, None) if name else (UNDER_ATTACK, type(task))
    for outcome in attack_outcomes(attacked, more_noise(designated()), unregistered=unregistered):
        who = f"{outcome.attack} on {outcome.problem}"
        gain = (outcome.value - outcome.chance) * (1 if task.primary.maximise else -1)
        assert gain <= 0.05, f"{who} reaches {outcome.value:.3f}, chance {outcome.chance:.3f}"
        assert outcome.information <= INFORMATION_BOUND, (
            f"{who} holds an array that tells of the truth, by adjusted mutual information {outcome.information:.3f}"
        )


def _on_designated(check: Check) -> Check:
    """Return the check made on data with designated queries, under a name of its own."""

    def promised(task: Task) -> None:
        check(_with_designated(task))

    promised.__name__ = f"{check.__name__}_of_designated_queries"
    promised.__doc__ = f"On data that name queries, positives and junk: {check.__doc__}"
    return promised


def _with_designated(task: Task) -> Task:
    """Return the task with such data for its example; raises :class:`Skipped` where it does not take them."""
    try:
        task.test(designated())
    except (DataError, UsageError) as error:
        raise Skipped(f"takes no designated queries: {error}") from error
    other = copy.copy(task)
    other.example_dataset = designated  # type: ignore[attr-defined]
    return other
