"""An experiment: which method, on which data set, under which task; and the problems and statistics that it needs.

Everything that does not depend on searched hyperparameters is made once here, into the cache: problems (the rows and
classes of a fold, preprocessed with its own training rows) and the method's statistics for them.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from zslplat import registry
from zslplat.data.dataset import Dataset
from zslplat.data.preprocessing import Preprocessing, apply_steps
from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UnknownNameError, UsageError, ZslplatError
from zslplat.evaluation.cache import ArrayCache, key_of, read_arrays, write_arrays
from zslplat.evaluation.jobs import PrepareJob, load_problem, save_problem
from zslplat.evaluation.warned import MOST_TEXTS, Entries, collected, entries_of
from zslplat.methods.base import Method, require_kind
from zslplat.settings import Settings
from zslplat.space import ANY, Space, check_value
from zslplat.spec import Spec, format_value
from zslplat.tasks.base import Problem, Task

NOTHING = "nothing"  # what an inductive method knows of the batch that it scores


def build_component(kind: str, spec: Spec) -> Any:
    """Make a component from its spec; raises :class:`UsageError` for unknown options and illegal values."""
    component = registry.component(kind, spec.name)
    for name, value in spec.parameters.items():
        if name not in component.parameters:
            raise UnknownNameError(f"option of {registry.KINDS[kind]} {spec.name}", name, component.parameters)
        check_value(spec.name, name, value, component.parameters)
    return component(**spec.parameters)


def open_dataset(spec: Spec, settings: Settings) -> Dataset:
    """Load a data set by its spec: a registered name, or a folder or file under the data root."""
    from zslplat.data.catalogue import open_source

    places = DataPlaces(settings.data_root, settings.cache / "data")
    source = open_source(spec, places, registered_sources())
    try:
        return source.load(places)
    except (ZslplatError, MemoryError):
        raise
    except Exception as error:
        # A loader's own error says little to somebody who did not write the loader.
        text = " ".join(str(error).split())
        raise DataError(f"data set {spec} cannot be loaded: {type(error).__name__}: {text}") from error


def registered_sources() -> Mapping[str, Callable[[], Any]]:
    """Return the registered data sets, each imported when it is called for."""
    return registry.ByName("datasets")


@dataclass(frozen=True)
class Experiment:
    """What is evaluated. ``method`` holds the fixed hyperparameters, ``space`` the searched ones."""

    method: Spec
    dataset: Spec
    task: Spec
    space: Space = field(default_factory=dict)
    features: str | None = None
    signatures: str | None = None
    seed: int = 0

    @property
    def dataset_title(self) -> str:
        """What names call the data set: its own name, or that of the file or folder which a loader of files reads."""
        given = self.dataset.parameters
        if "file" in given:
            return Path(str(given["file"])).stem
        return Path(str(given["folder"])).name if "folder" in given else self.dataset.name

    def identity(self) -> dict[str, Any]:
        """Return the JSON-able description that tells two experiments apart."""
        return {
            "method": str(self.method),
            "dataset": str(self.dataset),
            "task": str(self.task),
            "space": {name: describe_range(self.space[name]) for name in sorted(self.space)},
            "features": self.features,
            "signatures": self.signatures,
            "seed": self.seed,
        }


def describe_range(dimension: Any) -> str:
    """Write a range with its conditions, for example ``0.001..1000:log if kernel=gaussian``."""
    conditions = [f"{n}={'|'.join(map(format_value, v))}" for n, v in dimension.when.items()]
    return str(dimension) + (f" if {' and '.join(conditions)}" if conditions else "")


class Workbench:
    """The data set, task and method of an experiment, and the cache of what was made for them.

    ``counts`` tells what was computed and what was found in the cache, for the log.
    """

    def __init__(
        self, experiment: Experiment, settings: Settings, *, on_stage: Callable[[str], None] = lambda stage: None
    ) -> None:
        self.experiment, self.settings, self.on_stage = experiment, settings, on_stage
        self.cache = ArrayCache(settings.cache / "prepared", settings.cache_gigabytes * 2**30)
        self.counts = {"problems": 0, "problems cached": 0, "statistics": 0, "statistics cached": 0}
        self.task: Task = build_component("tasks", experiment.task)
        self.method_class: type[Method] = registry.component("methods", experiment.method.name)
        require_kind(self.method_class, self.task.kind, self.task.name)
        # Building once checks names and values before any data is touched.
        self.template = self.method_class.build(experiment.method.parameters)
        self.preprocessing: Preprocessing = self.template.wanted_preprocessing.overridden(
            experiment.features, experiment.signatures
        )
        on_stage(f"loading {experiment.dataset}")
        with collected() as self._loaded:
            self.dataset = open_dataset(experiment.dataset, settings)

    @property
    def random(self) -> bool:
        """Whether repeats mean something: the method draws random numbers, and its seed is not fixed."""
        return self.template.is_random and "seed" not in self.experiment.method.parameters

    def validation_problems(self) -> list[Path]:
        """Return the folders of the preprocessed validation problems, made now or found in the cache."""
        index = self.cache.path(key_of("validation", *self._problem_parts()))
        if self.cache.has(index.name):
            folders = [self.cache.path(key) for key in read_arrays(index)[1]["problems"]]
            if all(self.cache.has(folder.name) for folder in folders):
                self.counts["problems cached"] += len(folders)
                return folders
        self.on_stage("building validation problems")
        with collected() as warned:
            problems = self.task.validation(self.dataset, seed=self.experiment.seed)
        folders = [self._store(problem, warned) for problem in problems]
        write_arrays(index, {}, {"problems": [folder.name for folder in folders]})
        return folders

    def warned(self, problems: Sequence[Path]) -> Entries:
        """Return what loading the data and building these problems warned of, whenever they were built."""
        built = [read_arrays(folder)[1] for folder in problems]
        loaded = [("", self._loaded)]
        return entries_of(loaded + [(entry["name"], entry.get("warned", [])) for entry in built])

    def test_problem(self) -> Path:
        """Return the folder of the preprocessed test problem; only final evaluations ask for it."""
        folder = self.cache.path(key_of("problem", "test", *self._problem_parts()))
        if self.cache.has(folder.name):
            self.counts["problems cached"] += 1
            return folder
        self.on_stage("building the test problem")
        with collected() as warned:
            problem = self.task.test(self.dataset, seed=self.experiment.seed)
        return self._store(problem, warned)

    def preparation(self, problem: Path, space: Space) -> PrepareJob:
        """Return the job that computes the statistics for a problem; its target may exist already."""
        fixed = dict(self.experiment.method.parameters)
        key = key_of(
            "statistics",
            problem.name,
            self.experiment.method.name,
            {name: format_value(value) for name, value in fixed.items()},
            {name: describe_range(space[name]) for name in sorted(space)},
            str(self.experiment.task),
            self._code(),
        )
        return PrepareJob(
            self.experiment.method.name, fixed, space, str(self.experiment.task), problem, self.cache.path(key)
        )

    def chance(self, problem: Path) -> float:
        """Return what guessing reaches on a problem."""
        return self.task.chance(load_problem(problem))

    def evict(self) -> int:
        """Keep the cache, loaded data included, within its bound; return how many entries were removed."""
        return self.cache.evict(self.settings.cache / "data")

    def _problem_parts(self) -> tuple[Any, ...]:
        experiment = self.experiment
        steps = {role: list(getattr(self.preprocessing, role)) for role in ("features", "signatures")}
        return (
            self.dataset.fingerprint,
            str(experiment.task),
            experiment.seed,
            steps,
            self._code(),
        )

    def _code(self) -> list[str]:
        """Return what tells whether the same inputs still give the same arrays: our code, plugins', the libraries'."""
        plugins = {getattr(plugin, "__name__", "") for plugin in registry.registry().manager.get_plugins()}
        modules = {"zslplat", type(self.task).__module__, self.method_class.__module__, *plugins}
        packages = sorted({module.partition(".")[0] for module in modules if module})
        return [code_version(package) for package in packages] + [version(name) for name in ("numpy", "scipy")]

    def _store(self, problem: Problem, warned: Sequence[str]) -> Path:
        folder = self.cache.path(key_of("problem", problem.name, *self._problem_parts()))
        # A damaged one would be in the way of its successor; a whole one needs none.
        if self.cache.has(folder.name):
            self.counts["problems cached"] += 1
            return folder
        self.on_stage(f"preprocessing {problem.name}")
        with collected() as further:
            made = preprocess(problem, self.task, self.preprocessing)
        save_problem(folder, made, [*warned, *further][:MOST_TEXTS])
        self.counts["problems"] += 1
        return folder


def preprocess(problem: Problem, task: Task, preprocessing: Preprocessing) -> Problem:
    """Apply the declared steps to a problem's inputs, with statistics from its training rows."""
    inputs = dict(problem.inputs)
    steps = {role: getattr(preprocessing, role, ()) for role in task.preprocessed}
    for role, wanted in steps.items():
        for group in task.preprocessing_groups(role):
            names = [name for name in group if name in inputs]
            if names and wanted:
                done = apply_steps(wanted, *(inputs[name] for name in names), every=task.whole(role, inputs))
                inputs.update(zip(names, done, strict=True))
    inputs.update(task.kept_preprocessing(problem.inputs, steps))
    return Problem(problem.name, inputs, problem.truth, problem.meta)


@cache
def code_version(package: str) -> str:
    """Return a hash of the sources of a package or top-level module, so that new code makes new statistics."""
    digest = hashlib.sha256(package.encode())
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        found = None
    places = list(found.submodule_search_locations or []) if found else []
    files = [f for place in places for f in sorted(Path(place).rglob("*.py"))]
    if found and found.origin and not files:
        files = [Path(found.origin)]
    for file in files:
        with suppress(OSError):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def searched_space(template: Method, fixed: Mapping[str, Any], ranges: Mapping[str, str]) -> Space:
    """Combine a method's own space with ranges given on the command line; fixed parameters are not searched.

    A parameter fixed to ``any`` is one that its method searches for that very reason (``kernel=any``).
    """
    from zslplat.space import parse_range

    space = {name: dimension for name, dimension in template.space.items() if fixed.get(name, ANY) == ANY}
    known = template.domains
    for name, text in ranges.items():
        if name not in known and name not in template.space:
            raise UnknownNameError(f"parameter of {registry.known_as(type(template))}", name, {*known, *template.space})
        legal = known[name].legal if name in known else None
        if name in fixed:
            raise UsageError(f"{name} is both fixed and searched; give it either a value or a range")
        space[name] = parse_range(text, legal)
    return space


def knowledge(method: Spec) -> str:
    """Return in words what a method with these parameters knows of the batch that it scores (``knows_of_batch``)."""
    known = registry.component("methods", method.name).build(method.parameters).knows_of_batch
    return ", ".join(known) or NOTHING


def defaults_of(template: Method, space: Space) -> dict[str, Any]:
    """Return the default values of the searched parameters that have one."""
    values = template.defaults
    return {
        name: values[name]
        for name in space
        if name in values and (values[name] is None or isinstance(values[name], int | float | str | bool | np.number))
    }
