"""What measures stand on: data sets at hand, methods fitted in this process, and differences with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zslplat import registry
from zslplat.data.dataset import Dataset
from zslplat.evaluation.cache.problems import preprocess
from zslplat.evaluation.components import open_dataset
from zslplat.families.zero_shot.unseen import REQUEST, ZeroShot
from zslplat.metrics.accuracy import class_accuracies
from zslplat.settings import Settings
from zslplat.spec import Spec
from zslplat.statistics import estimate_mean
from zslplat.suites.suite import absence_of
from zslplat.tasks.base import Problem, Task
from zslplat_papers.repeated_tasks import overlap
from zslplat_papers.reproduction.verdicts import CLASSES, Contrast

# The data sets of the suites that are small enough to fit a method some hundred times.
DATA = {"digit-pairs": "digit-pairs", "ISOLET": "ISOLET(features=isolet)"}
DRAWN = "drawn rows"


@dataclass(frozen=True)
class Ground:
    """Where measures find data; ``only`` restricts the data sets, ``say`` is told what is done and what is left out.

    ``draws`` is how often whatever is drawn is drawn.
    """

    settings: Settings
    only: Sequence[str] = ()
    draws: int = 10
    say: Callable[[str], None] = field(default=lambda text: None)

    def wants(self, name: str) -> bool:
        """Tell whether a data set is wanted."""
        return not self.only or name in self.only

    def data(self) -> Iterator[tuple[str, Dataset]]:
        """Yield the data sets that are wanted and at hand, by their names in suites."""
        for name, text in DATA.items():
            if not self.wants(name):
                continue
            absent = absence_of(text, self.settings)
            if absent:
                self.say(f"{name}: left out: {absent}")
            else:
                yield name, open_dataset(Spec.parse(text), self.settings)


def build(text: str, **parameters: Any) -> Any:
    """Return a method by its spec, with further parameters."""
    spec = Spec.parse(text)
    return registry.component("methods", spec.name).build({**spec.parameters, **parameters})


def steps(method: Any, task: Task, problem: Problem) -> Iterator[dict[str, np.ndarray]]:
    """Yield the outputs of a method on a problem, after every step that it tells of; the method is fitted in place."""
    view = preprocess(problem, task, method.effective_preprocessing)
    for _, outputs in task.run(method, view, task.prepare(method, view, {})):
        yield dict(outputs)


def accuracies(method: Any, task: Task, problem: Problem) -> np.ndarray:
    """Return the accuracy of every unseen class after every step (steps, c)."""
    y, classes = problem.truth["y_pool"], len(problem.meta["classes"])
    return np.array(
        [class_accuracies(y, outputs[REQUEST].argmax(axis=1), classes)[0] for outputs in steps(method, task, problem)]
    )


def held_out_accuracies(make: Callable[[], Any], dataset: Dataset) -> np.ndarray:
    """Return accuracies (steps, c) of the classes that validation holds out, means over the folds that do.

    ``make`` builds a method for each fold.
    """
    task, by_class = ZeroShot(), dict[str, list[np.ndarray]]()
    for problem in task.validation(dataset):
        path = accuracies(make(), task, problem)
        for name, column in zip(problem.meta["classes"], path.T, strict=True):
            by_class.setdefault(name, []).append(column)
    return np.array([np.mean(columns, axis=0) for columns in by_class.values()]).T


def seen_rows(dataset: Dataset, share: float, draws: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield centred rows X (n, d) of a share of the training classes, drawn so often, their labels y and S (c, a)."""
    rows = dataset.rows("train")
    X, y = np.asarray(dataset.X[rows], dtype=np.float64), dataset.y[rows]
    signatures = np.asarray(dataset.class_signatures("")[0], dtype=np.float64)
    for classes in seen_classes(dataset, share, draws):
        taken = np.isin(y, classes)
        S = signatures[classes] - signatures[classes].mean(axis=0)
        yield X[taken] - X[taken].mean(axis=0), np.searchsorted(classes, y[taken]), S


def seen_classes(dataset: Dataset, share: float, draws: int) -> list[np.ndarray]:
    """Return the training classes, sorted, of each draw of :func:`seen_rows`."""
    classes = np.unique(dataset.y[dataset.rows("train")])
    count = max(2, round(share * len(classes)))
    drawn = (np.random.default_rng([number, 17]).choice(classes, count, replace=False) for number in range(draws))
    return [np.sort(one) for one in drawn]


def over_classes(of: str, values: np.ndarray) -> Contrast:
    """Return the mean of values of classes (c,) with its interval over new classes; classes without rows are out."""
    finite = values[np.isfinite(values)]
    return Contrast(of, float(finite.mean()), *estimate_mean(finite, bounds=None).ends, CLASSES, len(finite))


def over_draws(
    of: str, values: Iterable[float], what: str, classes: Sequence[Sequence[Any] | np.ndarray] = ()
) -> Contrast:
    """Return the mean of values, one for each draw, with its interval; ``what`` says in words what was drawn.

    ``classes`` are those of each draw, where classes were drawn: the interval is the wider the more the draws have in
    common (:func:`zslplat_papers.repeated_tasks.overlap`). Values that are all the same say nothing of further
    draws, and have none, nor have draws that are all the same.
    """
    contrasts = np.array(list(values), dtype=float)
    mean, ratio = float(contrasts.mean()), 1.0
    if classes:
        finite = sorted({name for drawn in classes for name in drawn})
        ratio = overlap(np.array([np.isin(finite, list(drawn)) for drawn in classes]))
    spread = mean + np.sqrt(ratio) * (contrasts - mean) if np.isfinite(ratio) else np.zeros(0)
    return Contrast(of, mean, *estimate_mean(spread, bounds=None).ends, f"{len(contrasts)} {what}")
