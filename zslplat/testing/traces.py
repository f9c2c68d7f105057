"""Kernels, data sources and tasks print nothing and leave what all code of a process shares as it is.

For methods there are checks of their own (:mod:`zslplat.testing.isolation`).
"""

from __future__ import annotations

from zslplat.data.source import DataPlaces, DataSource
from zslplat.kernels.base import Kernel
from zslplat.tasks.base import Task
from zslplat.testing.datasets import data_root, loaded
from zslplat.testing.kernel_samples import general, ready
from zslplat.testing.surroundings import assert_no_traces
from zslplat.testing.task_samples import data_for, player


def evaluation_leaves_no_traces(kernel: Kernel) -> None:
    """Evaluation prints nothing, and leaves folder, environment, np.seterr, global random states and the like alone."""
    X, Y = general(kernel), general(kernel, 17, seed=2)

    def use() -> None:
        made = ready(kernel)
        made(X, Y), made.diag(X)

    assert_no_traces(use)


def loading_leaves_no_traces(source: DataSource) -> None:
    """Loading prints nothing, and leaves np.seterr, global random states, filters of warnings and the like alone."""
    # Skipped where its files are not there. They may lie beside the current folder, which therefore stays what it is.
    loaded(source)
    places = DataPlaces(root=data_root())
    assert_no_traces(lambda: source.load(places), elsewhere=False)


def protocol_leaves_no_traces(task: Task) -> None:
    """Building, running and scoring a problem prints nothing, and leaves what all code of a process shares alone."""
    dataset = data_for(task)

    def use() -> None:
        problems = [*task.validation(dataset)[:1], task.test(dataset)]
        for problem in problems:
            method = player(task, "works")
            task.chance(problem)
            for _, outputs in task.run(method, problem, task.prepare(method, problem, {})):
                task.score(problem, outputs, {}, full=True)

    assert_no_traces(use)
