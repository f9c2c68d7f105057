"""The contract between protocols and the rest of the platform.

Tasks and methods exchange arrays. Scores are real numbers. Prepared statistics are named ``fit/...`` and
``score/...``.

A task turns a data set into *problems*: one per validation fold, and one for the test split. A problem keeps what a
method may see (``inputs``) apart from what only scoring may see (``truth``). The core stores problems, prepares
statistics for them, runs methods on them and scores the outputs, without knowing which task it serves.

Which calls run where:

- the leader of a study, which never runs a method, builds problems: ``validation``, ``test``, the preprocessing, and
  asks for ``chance``;
- a *scorer* opens them, truth included, and calls everything else: ``prepare``, ``run``, ``score``, ``units``,
  ``resampled``, ``class_values``, ``maps``, ``export``, ``validation_choices``;
- methods run in a process of their own, which holds no label that is scored. The ``method`` that a task is handed is a
  stand-in: what it is called with goes there, arrays that are whole inputs as paths of their files, others through
  shared memory; what comes back is arrays, numbers, texts and figures. ``copy.deepcopy(method)`` copies it there.

So a task hands on nothing that tells of the truth: rows in an order that means nothing, no rows of the data set, no
mask of the rows that are scored apart (it slices what a method returns), and a batch that is scored jointly only to a
copy of the method that has seen no other batch. A method that is here, as in tests, is driven by the same calls.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from zslplat.data.dataset import Dataset
from zslplat.data.store.preprocessing import FrozenFeatures
from zslplat.errors import MethodError, UnknownNameError
from zslplat.figures import Figure, Table
from zslplat.kinds import kind_of
from zslplat.metrics.intervals import ClassValues
from zslplat.space import Parameterised, Space, check_value
from zslplat.tasks.row_outcomes import RowOutcomes


def prefixed(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays with longer names."""
    return {prefix + name: array for name, array in arrays.items()}


def selected(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Return the arrays below a prefix, None where there are none, so that a method prepares for itself."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)} or None


def real_numbers(method: str, returned: Any, what: str = "scores") -> np.ndarray:
    """Return an array of what a method returned; raises :class:`MethodError` where these are no real numbers.

    Complex numbers have no order, and one that is only made from real parts would hide a mistake.
    """
    values = np.asarray(returned)
    if values.dtype.kind not in "buif":
        raise MethodError(f"{method} returned {what} of type {values.dtype}; expected real numbers")
    return values


Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """One fitting and scoring job: a validation fold, or the test split.

    ``inputs`` are the arrays that a task may hand to a method; rows of the data set are
    :class:`~zslplat.data.store.rows.Rows`, which a method that wants arrays is given as such. ``truth`` are the arrays
    that never leave the scorer, ``meta``
    small JSON values (names of classes, of requests), which stay there, too. ``name`` is ``fold-1`` ... or ``test``.
    ``frozen`` is the preprocessing that was applied, by role, for rows and signatures that come later.
    """

    name: str
    inputs: Mapping[str, Any]
    truth: Mapping[str, np.ndarray]
    meta: Mapping[str, Any] = field(default_factory=dict)
    frozen: Mapping[str, FrozenFeatures] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelContent:
    """What a saved model needs of its problem beside what the method learned: arrays, and facts that JSON holds.

    ``left_out`` says why there can be no model, where that is so.
    """

    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    left_out: str = ""


@dataclass(frozen=True)
class Metric:
    """A metric that tuning optimises, and whether larger values are better."""

    name: str
    maximise: bool = True

    def signed(self, value: float) -> float:
        """Return a value so that larger is better."""
        return value if self.maximise else -value


@dataclass
class Outcome:
    """What scoring gives: metrics, tables (per class, predictions), figures, and what this fold hands to the refit.

    ``with_choices`` returns the metrics of this fold that depend on what all folds together hand to the refit.
    """

    metrics: dict[str, float]
    tables: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    validation_choices: dict[str, Any] = field(default_factory=dict)
    with_choices: Callable[[Mapping[str, Any]], dict[str, float]] | None = None


class Task(Parameterised, ABC):
    """Base class of task plugins.

    Options are declared in the body of the class (:func:`~zslplat.space.parameter`), and the constructor follows from
    them; values are checked as they are taken.
    ``takes_scores``: a score for every row and class is all that the task wants of a method, so that scores which were
    made elsewhere can be judged (:meth:`batch`, :meth:`outputs_of`).
    ``kind`` names the kind of methods that the task runs; a method says in its own ``kind`` which it is.
    ``preprocessed`` maps each role of preprocessing (``features``, ``signatures``) to the names of the input arrays it
    applies to, the first of which is the one whose rows give the statistics.
    ``primary`` is the metric that a study optimises by default. ``aliases`` maps other names of metrics to those of
    :meth:`metric_names`; ``minimised`` names the metrics of which smaller values are better.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    kind: ClassVar[str]
    primary: Metric
    aliases: ClassVar[Mapping[str, str]] = {}
    minimised: ClassVar[frozenset[str]] = frozenset()
    takes_scores: ClassVar[bool] = False
    preprocessed: ClassVar[Mapping[str, tuple[str, ...]]] = {"features": ("X",)}

    def take_parameters(self, values: Mapping[str, Any]) -> None:
        """Store the values of all options; raises :class:`UsageError` for one outside its legal domain."""
        for name, value in values.items():
            check_value(f"task {self.name}", name, value, self.parameters)
        super().take_parameters(values)

    def suited(self, data: Dataset | Problem) -> Task:
        """Return the task as it judges a data set, or a problem that it made of one: itself, mostly.

        Where the primary metric depends on the data (on how many labels a row has, say), a copy with its own
        ``primary`` is returned, to be used in place of the task as it was built.
        """
        return self

    def metric_names(self) -> tuple[str, ...]:
        """Return the names of all metrics that :meth:`score` may give under these options, on whatever data.

        A suite that asks for another one is refused before anything is computed; none: the task does not say.
        """
        return ()

    def control_on(self, dataset: Dataset) -> str:
        """Return the method that others are compared with on a data set, an empty text where there is none."""
        return kind_of(self.kind).control

    def require(self, method: Any, dataset: Dataset) -> None:
        """Raise :class:`DataError` where a data set is not what a method (a class) is for; nothing here."""
        return

    def criteria(self) -> tuple[str, ...]:
        """Return the metrics by which validation may select: all but standard deviations."""
        return tuple(name for name in self.metric_names() if not name.endswith("_std")) or (self.primary.name,)

    def metric(self, name: str) -> Metric:
        """Return the metric of a name or an alias, in whatever case; raises :class:`UnknownNameError` for another."""
        by_name = {one.lower(): one for one in self.criteria()}
        by_name |= {alias.lower(): one for alias, one in self.aliases.items()}
        if name.lower() not in by_name:
            names, lister = [*self.criteria(), *self.aliases], f"show {self.name}"
            raise UnknownNameError(f"metric of task {self.name}", name, names, lister=lister)
        metric = by_name[name.lower()]
        return self.primary if metric == self.primary.name else Metric(metric, metric not in self.minimised)

    def optimising(self, metric: Metric) -> Self:
        """Return the task with another metric for its primary one."""
        if metric == self.primary:
            return self
        task = copy.copy(self)
        task.primary = metric
        return task

    @abstractmethod
    def validation(self, dataset: Dataset, *, seed: int = 0) -> list[Problem]:
        """Build the validation problems from training rows only; raises DataError where the data does not serve."""

    @abstractmethod
    def test(self, dataset: Dataset, *, seed: int = 0) -> Problem:
        """Build the test problem: all rows that validation trained on or held out, against the test rows."""

    def preprocessing_groups(self, role: str) -> tuple[tuple[str, ...], ...]:
        """Return the groups of arrays that are preprocessed together, each by the rows of its first array."""
        return (self.preprocessed[role],)

    def whole(self, role: str, inputs: Mapping[str, Any]) -> np.ndarray | None:
        """Return the rows whose mean the step ``center_all`` subtracts for a role; None for the training rows."""
        return None

    def export(self, method: Any, problem: Problem, folder: Path) -> None:
        """Write what a fitted method can be used with later (an index, say) as further artifacts; nothing here."""
        return

    def model_content(self, method: Any, problem: Problem, validation_choices: Mapping[str, Any]) -> ModelContent:
        """Return what a saved model of this test problem needs to score new rows: names and signatures of classes, say.

        Nothing of the truth may be in it. What each kind of method reads there: :mod:`zslplat.models.model`.
        """
        return ModelContent(left_out=f"task {self.name} does not say what a saved model needs of its problems")

    def prepare(self, method: Any, problem: Problem, space: Space) -> Arrays:
        """Compute what does not depend on the searched parameters, once per problem; may be empty."""
        return {}

    @abstractmethod
    def run(self, method: Any, problem: Problem, statistics: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Arrays]]:
        """Fit and apply the method; yield (step, outputs), once for direct methods, per epoch for iterative ones.

        Steps count 1, 2, ...; where validation chooses one, it is the best of the mean over all folds.
        """

    def batch(self, problem: Problem) -> tuple[np.ndarray, Sequence[str]]:
        """Return the rows (m,) of the data set and the names of the classes (c,) that scores made elsewhere are of.

        Both in the order of the problem; asked of tasks that take such scores (``takes_scores``).
        """
        return problem.truth["row_pool"], problem.meta["classes"]

    def outputs_of(self, problem: Problem, scores: np.ndarray) -> Arrays:
        """Return the outputs of a method with these scores (m, c) of the batch (see :meth:`batch`)."""
        return {"scores": scores}

    @abstractmethod
    def score(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any], *, full: bool) -> Outcome:
        """Score outputs against the truth; ``full`` adds tables and figures to the metrics."""

    @abstractmethod
    def chance(self, problem: Problem) -> float:
        """Return the value of the primary metric that guessing reaches; NaN where that is not known."""

    def scored_rows(self, problem: Problem) -> Mapping[str, np.ndarray]:
        """Return arrays that tell what is scored, an entry per row in any order; all of the truth, where not told.

        Evaluations are compared in pairs only where these agree; what the seed draws for the test must be in them.
        """
        return problem.truth

    def outcomes(self, problem: Problem, outputs: Arrays, validation_choices: Mapping[str, Any]) -> RowOutcomes | None:
        """Return what is kept of every scored row of a test evaluation; None for a task that keeps nothing.

        It must be enough for :meth:`units` and :meth:`resampled`, without outputs, problem or data set: an interval
        is made from it long after these are gone. At most 32 bytes a row, or the docstring states how many.
        """
        return None

    def units(self, outcomes: RowOutcomes) -> tuple[np.ndarray, np.ndarray] | None:
        """Return ids (m,) and strata (m,) of what a bootstrap of the scores draws; None where nothing is drawn.

        Ids tell the units apart whatever their order, so that draws are the same for every method; each stratum (a
        class, mostly) keeps its size.
        """
        return None

    def things(self, outcomes: RowOutcomes) -> np.ndarray | None:
        """Return ids (m, k) of what the :meth:`units` are made of, where some belong together; None where none do.

        What a row is made of (``Dataset.made_of``), its group where nothing finer is known. Things are drawn in place
        of units (:func:`zslplat.metrics.intervals.draws_of_things`).
        """
        if "made_of" in outcomes.columns:
            return outcomes.columns["made_of"]
        return outcomes.columns["group"][:, None] if "group" in outcomes.columns else None

    def resampled(self, outcomes: RowOutcomes, counts: np.ndarray) -> dict[str, np.ndarray]:
        """Return metrics (b,) of each line of ``counts`` (b, m): how often each unit is drawn.

        Of strata, and of classes, any number may be drawn: things run through them, and a class is left out.
        """
        return {}

    def class_values(self, outcomes: RowOutcomes) -> ClassValues | None:
        """Return values per class for an interval over new classes; None where classes are no draw of anything.

        For a mean over classes they are the values of the classes, for other metrics the pseudo-values of leaving one
        class out (:func:`zslplat.metrics.intervals.jackknifed`).
        """
        return None

    def maps(self, method: Any, problem: Problem) -> dict[str, Figure]:
        """Return figures of where a fitted method puts the scored rows; only single runs ask for them."""
        return {}

    def validation_choices(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """Combine what the folds choose for the refit: the mean of every number."""
        chosen = [outcome.validation_choices for outcome in outcomes]
        keys = sorted(set().union(*chosen))
        return {key: float(np.mean([choices[key] for choices in chosen if key in choices])) for key in keys}

    def settle(self, outcomes: Sequence[Outcome]) -> None:
        """Add to the metrics of each validation fold those that depend on what all folds choose together."""
        choices = self.validation_choices(outcomes)
        for outcome in outcomes:
            if outcome.with_choices is not None:
                outcome.metrics |= outcome.with_choices(choices)
