"""Tasks that take rows with several labels promise for these what they promise for rows with one class."""

from __future__ import annotations

import copy

from zslplat.errors import DataError, UsageError
from zslplat.registry import registered_name
from zslplat.spec import Spec
from zslplat.tasks.base import Task
from zslplat.testing import tasks
from zslplat.testing.kits import kit_for_task
from zslplat.testing.running import Check
from zslplat.testing.task_samples import label_sets, more_noise
from zslplat.testing.truth_seekers import INFORMATION_BOUND, attack_outcomes

_PROMISED: tuple[Check, ...] = (
    tasks.validation_is_built_from_training_rows_only,
    tasks.test_problem_holds_all_rows,
    tasks.rows_that_are_scored_are_not_trained_on,
    tasks.problems_hold_copies,
    tasks.same_seed_gives_the_same_problems,
    tasks.scoring_gives_the_primary_metric,
    tasks.a_method_that_works_beats_chance,
    tasks.chance_is_what_guesses_reach,
    tasks.metrics_do_not_depend_on_any_order,
    tasks.drawing_every_unit_once_changes_nothing,
    tasks.unusable_outputs_are_refused,
)


def rows_with_several_labels_are_judged_alike(task: Task) -> None:
    """Where a task takes several labels per row, its other promises hold for these, attacks on the truth included."""
    dataset = label_sets()
    try:
        problem = task.test(dataset)
    except (DataError, UsageError):
        return  # it takes one class per row
    form = copy.copy(task.suited(problem))
    form.example_dataset = lambda: dataset  # type: ignore[attr-defined]
    for check in _PROMISED:
        try:
            check(form)
        except AssertionError as error:
            raise AssertionError(f"with several labels per row, {check.__name__}: {error}") from error
    name = registered_name(type(task), "tasks")
    if not name or kit_for_task(task).attack is None:
        return
    few = {option: value for option, value in tasks.FEW.items() if option in type(task).parameters}
    for outcome in attack_outcomes(str(Spec(name, few)), more_noise(dataset, 8)):
        gain = (outcome.value - outcome.chance) * (1 if form.primary.maximise else -1)
        who = f"with several labels per row: {outcome.attack} on {outcome.problem}"
        assert gain <= 0.05, f"{who} reaches {outcome.value:.3f}, chance {outcome.chance:.3f}"
        assert outcome.information <= INFORMATION_BOUND, f"{who} holds an array that tells of the truth"
