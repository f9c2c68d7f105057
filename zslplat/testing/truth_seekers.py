"""Methods that look for the labels that are scored, and what they reach: proof that a task keeps the truth apart.

A method that merely looks around must find nothing. There are two attacks for every kind of method: ``memory`` goes
through all objects that the garbage collector knows and what they refer to, ``callers`` through the frames of its
callers, their locals and globals, and what these hold. Whatever has one entry per scored row (an array, a list, a mask
made from row numbers) is tried as labels. An attack that finds labels scores 1; one that finds nothing gives the same
score to everything, which is chance.

:func:`attack_outcomes` lets all attacks of a task's kind loose on a data set, in the processes in which trials and
final evaluations run. Data that tell most are those whose features say nothing of the classes: :func:`telling_nothing`.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zslplat import registry
from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.errors import UsageError, ZslplatError
from zslplat.evaluation.cache.problems import save_problem
from zslplat.evaluation.jobs import EvaluateJob, Limits, WorkerSettings
from zslplat.evaluation.scoring.evaluation import make_task
from zslplat.evaluation.workers.worker import Worker
from zslplat.methods.base import Diagnostics, Method
from zslplat.spec import Spec
from zslplat.tasks.base import Problem, Task
from zslplat.testing.kits import kit_of

INFORMATION_BOUND = 0.05  # of adjusted mutual information: two random labellings of some hundred rows stay below
_MOST_KEPT = 200
UNDER_ATTACK = "task-under-attack"
_REGISTRATION = """from zslplat.api import hookimpl


@hookimpl
def zslplat_methods():
    from {module} import {attack}
    from zslplat.testing.truth_seekers import seekers

    return seekers({attack})


@hookimpl
def zslplat_tasks():
    return {tasks}
"""


# Where an attack looks.


def in_memory() -> Iterator[Any]:
    """Yield every object that the garbage collector knows, and what it refers to."""
    for thing in gc.get_objects():
        yield thing
        yield from gc.get_referents(thing)


def of_callers() -> Iterator[Any]:
    """Yield what the locals and globals of all calling frames hold, four levels deep."""
    frame: Any = sys._getframe(1)
    visited: set[int] = set()
    while frame is not None:
        waiting = [(frame.f_locals, 0), (frame.f_globals, 1)]
        while waiting:
            thing, depth = waiting.pop()
            if id(thing) in visited:
                continue
            visited.add(id(thing))
            yield thing
            if depth < 4:
                waiting += [(inner, depth + 1) for inner in _contents(thing)]
        frame = frame.f_back


def _contents(thing: Any) -> list[Any]:
    if isinstance(thing, Mapping | list | tuple):
        return list(thing.values() if isinstance(thing, Mapping) else thing[:1000])
    try:
        return list(vars(thing).values()) if not isinstance(thing, type) else []
    except TypeError:
        return []


WALKS: dict[str, Callable[[], Iterator[Any]]] = {"memory": in_memory, "callers": of_callers}


# What it takes for labels.


def labellings(things: Iterable[Any], rows: int) -> list[np.ndarray]:
    """Return whatever tells ``rows`` rows apart, as numbers 0, 1, ... (rows,); each labelling once."""
    distinct: dict[bytes, np.ndarray] = {}
    visited: set[int] = set()
    for thing in things:
        if not isinstance(thing, np.ndarray | list | tuple) or id(thing) in visited:
            continue
        visited.add(id(thing))
        for values in _columns(thing, rows):
            labels = np.unique(values, return_inverse=True)[1].reshape(-1)
            if 1 <= labels.max() < rows // 2 and len(distinct) < _MOST_KEPT:
                distinct.setdefault(labels.astype(np.int64).tobytes(), labels)
    return list(distinct.values())


def _columns(thing: Any, rows: int) -> Iterator[np.ndarray]:
    if isinstance(thing, list | tuple):
        if len(thing) != rows or type(thing[0]) not in (int, str, bool):
            return
        thing = np.array(thing) if len({type(value) for value in thing}) == 1 else np.zeros(0)
    if thing.dtype.kind not in "iubUS" or not 1 <= thing.ndim <= 2 or not thing.size:
        return
    if len(thing) == rows:
        yield from (thing if thing.ndim == 2 else thing[:, None])[:, :64].T
    elif thing.ndim == 1 and rows // 10 <= len(thing) < rows and _are_rows(thing, rows):
        # Numbers of rows, as a mask of a request has them.
        yield np.isin(np.arange(rows), thing)


def _are_rows(values: np.ndarray, rows: int) -> bool:
    if values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= rows:
        return False
    return len(np.unique(values)) == len(values)


class Seeker(Method):
    """What the attacks share: ``walk`` says where to look, ``matrices`` shows what was found."""

    walk = "memory"
    summary = "looks for the labels that are scored"
    # Further forms of the attack: attributes by a part of its name.
    forms: ClassVar[Mapping[str, Mapping[str, Any]]] = {"": {}}

    def reachable(self) -> Iterator[Any]:
        """Yield all objects where it looks."""
        return WALKS[self.walk]()

    def seek(self, rows: int, classes: int | None = None) -> np.ndarray:
        """Return labels (rows,) if there are any that fit, all zero otherwise."""
        self.labellings_ = labellings(self.reachable(), rows)
        self.diagnostics_ = Diagnostics(numbers={"labellings": float(len(self.labellings_))})
        fitting = [labels for labels in self.labellings_ if classes is None or labels.max() == classes - 1]
        # Of several, those that tell most classes apart.
        return max(fitting, key=lambda labels: labels.max(), default=np.zeros(rows, dtype=np.int64))

    def matrices(self) -> dict[str, np.ndarray]:
        """Return every labelling that was found."""
        return {f"labelling-{i}": labels for i, labels in enumerate(getattr(self, "labellings_", []))}


def indicators(labels: np.ndarray, classes: int) -> np.ndarray:
    """Return 1 for the label of every row (n, classes), 0 everywhere where no label was found."""
    return np.eye(classes)[labels] if labels.any() else np.zeros((len(labels), classes))


def seekers(attack: type[Seeker]) -> dict[str, type[Method]]:
    """Return an attack in all its forms, with every walk, by the names under which it is registered."""
    return {
        f"seeker-{form}{walk}": type(attack.__name__, (attack,), {"walk": walk, **attributes})
        for form, attributes in attack.forms.items()
        for walk in WALKS
    }


@contextmanager
def registered_seekers(attack: type[Seeker], task: type[Task] | None = None) -> Iterator[Path]:
    """Register an attack as methods, here and in processes that start meanwhile; yields the folder that does it.

    ``task``: a task that no plugin registers, to be registered as ``task-under-attack``.
    """
    with tempfile.TemporaryDirectory(prefix="zslplat-seekers-") as name:
        folder = Path(name)
        info = folder / "zslplat_truth_seekers-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zslplat-truth-seekers\nVersion: 1.0\n")
        # A name of its own: a process may still have the module of what was registered before.
        module = f"{folder.name.replace('-', '_')}_registration"
        tasks = {} if task is None else {UNDER_ATTACK: f"{task.__module__}:{task.__qualname__}"}
        (folder / f"{module}.py").write_text(
            _REGISTRATION.format(module=attack.__module__, attack=attack.__qualname__, tasks=tasks)
        )
        (info / "entry_points.txt").write_text(f"[zslplat]\ntruth_seekers = {module}\n")
        sys.path.insert(0, name)
        registry.registry.cache_clear()
        try:
            yield folder
        finally:
            sys.path.remove(name)
            registry.registry.cache_clear()


# How far it gets.


@dataclass(frozen=True)
class AttackOutcome:
    """What an attack reached on a problem: the primary metric, what guessing reaches, and what it got hold of.

    ``information`` is the largest adjusted mutual information of anything that it found, or of the order of the rows,
    with the classes of the scored rows or with which of them are seen.
    """

    attack: str
    problem: str
    value: float
    chance: float
    information: float


def attack_outcomes(
    task: str, dataset: Dataset, *, seed: int = 0, unregistered: type[Task] | None = None
) -> list[AttackOutcome]:
    """Let all attacks of the task's kind loose on its validation problems and on its test problem.

    ``task`` is a spec, for example ``gzsl(folds=3)``; ``unregistered`` is the class where no plugin registers it, which
    is then called :data:`UNDER_ATTACK`. Attacks run as trials do; raises :class:`ZslplatError` where one fails.
    """
    outcomes = []
    kind = unregistered.kind if unregistered else registry.component("tasks", Spec.parse(task).name).kind
    attack_class = kit_of(kind).attack
    if attack_class is None:
        raise UsageError(f"there is no attack for methods of kind {kind!r}")
    with tempfile.TemporaryDirectory(prefix="zslplat-attacks-") as name, registered_seekers(attack_class, unregistered):
        protocol = make_task(task)
        problems = [*protocol.validation(dataset, seed=seed), protocol.test(dataset, seed=seed)]
        for problem in problems:
            save_problem(Path(name) / problem.name, problem)
        worker = Worker(WorkerSettings(Path(name)))
        try:
            for attack in seekers(attack_class):
                for problem in problems:
                    artifacts = Path(name) / f"{attack}-{problem.name}"
                    job = EvaluateJob(
                        label=attack,
                        method=attack,
                        parameters={},
                        seed=seed,
                        task=task,
                        problems=((problem.name, None),),
                        artifacts=artifacts,
                        matrices_bytes=2**30,
                        test=problem is problems[-1],
                    )
                    answer = worker.run(job, Limits())
                    if answer.result is None:
                        raise ZslplatError(f"{attack} on {problem.name} failed: {answer.reason}")
                    labels = [np.load(path) for path in sorted((artifacts / "matrices").glob("labelling-*.npy"))]
                    value, chance = answer.result["value"], protocol.chance(problem)
                    outcomes.append(AttackOutcome(attack, problem.name, value, chance, information(problem, labels)))
        finally:
            worker.stop()
    return outcomes


def assert_nothing_leaks(task: Task, outcomes: Iterable[AttackOutcome], where: str = "") -> None:
    """Fail where an attack is better than chance, or holds an array that tells of the truth."""
    for outcome in outcomes:
        gain = (outcome.value - outcome.chance) * (1 if task.primary.maximise else -1)
        attack = f"{where}{outcome.attack} on {outcome.problem}"
        assert gain <= 0.05, f"{attack} reaches {outcome.value:.3f}, chance {outcome.chance:.3f}"
        assert outcome.information <= INFORMATION_BOUND, (
            f"{attack} holds an array that tells of the truth, by adjusted mutual information "
            f"{outcome.information:.3f}; leave it out of the problem's inputs"
        )


def information(problem: Problem, labels_found: Sequence[np.ndarray]) -> float:
    """Return the largest adjusted mutual information of labellings, or of the rows' order, with a problem's truth.

    The truth is every array of truth whose name begins with ``y``, and where the problem has a mask of seen classes
    (``seen``), which rows belong to one.
    """
    from sklearn.metrics import adjusted_mutual_info_score

    largest = 0.0
    for name, values in problem.truth.items():
        if not name.startswith("y"):
            continue
        for y in np.atleast_2d(np.asarray(values).T):  # several labels per row are as many columns
            seen = problem.inputs.get("seen")
            truths = [y] if seen is None or seen.all() or not seen.any() else [y, seen[y]]
            # The selector is shown no unseen row, so their order tells it nothing.
            order = [] if name == "y_unseen" else [np.arange(len(y)) * len(np.unique(y)) // len(y)]
            for labels in [*labels_found, *order]:
                if len(labels) == len(y):
                    largest = max(largest, *(float(adjusted_mutual_info_score(truth, labels)) for truth in truths))
    return largest


def telling_nothing(*, zero_shot: bool = True, seed: int = 0) -> Dataset:
    """Return a small data set whose features say nothing of the classes.

    With ``zero_shot`` there are 10 seen and 5 unseen classes with signatures; without, 8 classes and no splits.
    The last of 60 features does say which unseen class a row is of, and nothing of the seen ones, so that a feature
    selector could profit from what it must not know.
    """
    rng = np.random.default_rng([seed, 31])
    classes, seen, per_class = (15, 10, 60) if zero_shot else (8, 8, 60)
    y = np.repeat(np.arange(classes), per_class)
    X = rng.normal(size=(len(y), 60))
    names = tuple(f"class {label}" for label in range(classes))
    if not zero_shot:
        return Dataset("telling nothing", X, y, names)
    unseen = y >= seen
    X[unseen, -1] += 10 * y[unseen]
    return Dataset(
        "telling nothing",
        X,
        y,
        names,
        signatures={"random": SignatureSet(rng.normal(size=(classes, 12)))},
        splits={
            "train": np.flatnonzero(~unseen & (np.arange(len(y)) % per_class < 40)),
            "test_seen": np.flatnonzero(~unseen & (np.arange(len(y)) % per_class >= 40)),
            "test_unseen": np.flatnonzero(unseen),
        },
    )
