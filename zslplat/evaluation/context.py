"""What an experiment needs: its data set, task and method, and the problems and statistics that are made for them.

Everything that does not depend on searched hyperparameters is made once and put into the cache: problems (the rows and
classes of a fold, preprocessed with its own training rows) and the method's statistics for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zslplat import registry
from zslplat.data.dataset import Dataset
from zslplat.data.exposure import exposures_of
from zslplat.data.store.preprocessing import Preprocessing
from zslplat.data.store.stored_sets import in_files
from zslplat.evaluation.cache.arrays import ArrayCache, read_arrays, write_arrays
from zslplat.evaluation.cache.problems import data_of, folds_of, load_problem, save_problem
from zslplat.evaluation.cache.problems import preprocess as preprocess
from zslplat.evaluation.code import CodeReader, code_of, libraries, roots_of
from zslplat.evaluation.components import build_component, describe_knowledge, open_dataset, source_of
from zslplat.evaluation.criteria import criteria_of
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment, describe_range
from zslplat.evaluation.jobs import PrepareJob
from zslplat.evaluation.scoring.messages import MOST_TEXTS, Entries, collect_warnings, warning_entries
from zslplat.keys import COLUMNS, METRIC, key_of
from zslplat.kinds import FROM_MEMORY, require_kind
from zslplat.methods.base import Method
from zslplat.settings import Settings
from zslplat.space import Space
from zslplat.spec import format_value
from zslplat.tasks.base import Problem, Task


class ExperimentContext:
    """The data set, task and method of an experiment, and the cache of what was made for them.

    ``experiment`` is the one that was passed, with the fingerprint of its data; ``criteria`` are the metrics that its
    search selects by, of which the first is the primary metric of ``task``. ``counts`` says, for the log, how many
    problems and statistics were computed and how many were found in the cache.
    """

    def __init__(
        self, experiment: Experiment, settings: Settings, *, on_stage: Callable[[str], None] = lambda stage: None
    ) -> None:
        self.settings, self.on_stage = settings, on_stage
        self.cache = ArrayCache(settings.cache / "prepared", settings.cache_gigabytes * 2**30)
        self.counts = {"problems": 0, "problems cached": 0, "statistics": 0, "statistics cached": 0}
        self.task: Task = build_component("tasks", experiment.task)
        self.method_class: type[Method] = registry.component("methods", experiment.method.name)
        require_kind(self.method_class, self.task.kind, self.task.name)
        # Building once checks names and values before any data is touched.
        self.template = self.method_class.build(experiment.method.parameters)
        self.preprocessing: Preprocessing = self.template.effective_preprocessing.overridden(
            experiment.features, experiment.signatures
        )
        self._source = source_of(experiment.dataset, settings)
        settings.make_store()
        file = Path(getattr(self._source, "path", "")).name
        is_said = file in ("", Path(experiment.dataset.name).name)
        on_stage(f"loading {experiment.dataset_text}{'' if is_said else f' from {file}'}")
        with collect_warnings() as self._loading_warnings:
            self.dataset = in_files(open_dataset(experiment.dataset, settings), settings.cache / "data")
        self.task = self.task.suited(self.dataset)
        self.criteria = criteria_of(self.task, experiment.search.get(METRIC))
        self.task = self.task.optimising(self.criteria[0])
        # A method that cannot use these views says so before anything is computed.
        self.method_class.build(experiment.method.parameters).take_views(self.dataset.views)
        self.experiment = replace(experiment, data=self.dataset.fingerprint)
        self.code_file = settings.cache / "code.json"
        self._reader = CodeReader(self.code_file)
        self._codes: dict[str, dict[str, str]] = {}
        # Validation problems that are built but not stored, with the warnings of building them.
        self._validation: tuple[list[Problem], list[str]] | None = None

    @property
    def random(self) -> bool:
        """Whether repeats make sense: the method draws random numbers, and its seed is not fixed."""
        return self.template.is_random and "seed" not in self.experiment.method.parameters

    @property
    def blocks(self) -> bool:
        """Whether the method gets the features in blocks."""
        return bool(self.method_class.takes_blocks)

    def code(self, parameters: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Return the hashes of the code that evaluates these parameters, by role, and the versions of the libraries.

        Roles are ``method``, ``kernel`` (where the parameters name any), ``task``, ``data`` and ``scoring``.
        """
        roots = self._roots(parameters)
        key = key_of(sorted(roots["kernel"]))
        if key not in self._codes:
            self._codes[key] = code_of(roots, self._reader)
        return self._codes[key]

    def sources(self, space: Space, parameters: Mapping[str, Any]) -> dict[str, str]:
        """Return the modules that a worker imports, by role and separated by blanks, with their hashes.

        They are those of these parameters and of all values in the space. See
        :func:`zslplat.evaluation.code.require_unchanged`.
        """
        values = _all_values(space, parameters)
        code, roots = self.code(values), self._roots(values)
        # The main module is a different one in every process.
        imported = {role: roots[role] for role in ("method", "kernel", "task") if "__main__" not in roots[role]}
        return {" ".join(sorted(modules)): code[role] for role, modules in imported.items() if modules}

    def _roots(self, parameters: Mapping[str, Any] | None) -> dict[str, set[str]]:
        return roots_of(self.experiment, parameters or {}, self.method_class, self.task, self._source)

    def about(self, part_of: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return what records hold of the surroundings, so that a result can be shown and compared without the data.

        ``part_of``: see :func:`describe_surroundings`.
        """
        steps = {role: self.preprocessing.text_of(role) for role in ("features", "signatures")}
        description = "; ".join(f"{role}={text}" for role, text in steps.items())
        usual = self.template.space
        searched = self.experiment.space.items()
        ranges = [n for n, d in searched if n not in usual or describe_range(usual[n]) != describe_range(d)]
        tags = self.settings.tags
        return describe_surroundings(
            self.experiment, self.dataset, self.task, description, part_of, self.method_class, ranges, tags
        )

    def knowledge(self, parameters: Mapping[str, Any]) -> str:
        """Return in words what the method with these parameters knows of the batch that it scores."""
        return describe_knowledge(self.experiment.method.with_parameters(parameters), self.experiment.signatures)

    def require_problems(self, *splits: str) -> None:
        """Raise the error that keeps the task from building its problems of these splits, before anything is recorded.

        Nothing is stored, and the test problem is not kept.
        """
        self.task.require(self.method_class, self.dataset)
        if VALIDATION in splits and not self.has_problems(VALIDATION):
            self._validation = self._build_validation()
        if TEST in splits and not self.has_problems(TEST):
            with collect_warnings():
                self.task.test(self.dataset, seed=self.experiment.seed)

    def problems(self, split: str) -> list[Path]:
        """Return the folders of the preprocessed problems of a split; those that are not in the cache are made."""
        folders = self.validation_problems() if split == VALIDATION else [self.test_problem()]
        for folder in folders:
            self._make_folds(folder)
        return folders

    def has_problems(self, split: str) -> bool:
        """Tell whether the problems of a split are in the cache."""
        return (self._index() if split == VALIDATION else self._test_folder()).exists()

    def validation_problems(self) -> list[Path]:
        """Return the folders of the preprocessed validation problems, made now or found in the cache."""
        index = self._index()
        if self.cache.has(index.name):
            folders = [self.cache.path(key) for key in read_arrays(index)[1]["problems"]]
            if all(self.cache.has(folder.name) for folder in folders):
                self.counts["problems cached"] += len(folders)
                return folders
        problems, warned = self._validation or self._build_validation()
        self._validation = None
        folders = [self._store(problem, warned) for problem in problems]
        write_arrays(index, {}, {"problems": [folder.name for folder in folders]})
        return folders

    def _build_validation(self) -> tuple[list[Problem], list[str]]:
        self.on_stage("building validation problems")
        with collect_warnings() as warned:
            return self.task.validation(self.dataset, seed=self.experiment.seed), warned

    def test_problem(self) -> Path:
        """Return the folder of the preprocessed test problem; only final evaluations use it."""
        folder = self._test_folder()
        if self.cache.has(folder.name):
            self.counts["problems cached"] += 1
            return folder
        self.on_stage("building the test problem")
        with collect_warnings() as warned:
            problem = self.task.test(self.dataset, seed=self.experiment.seed)
        return self._store(problem, warned)

    def problem_warnings(self, problems: Sequence[Path]) -> Entries:
        """Return the warnings of loading the data and of building these problems, whenever they were built."""
        entries = [read_arrays(folder)[1] for folder in problems]
        loaded = [("", self._loading_warnings)]
        return warning_entries(loaded + [(entry["name"], entry.get("warned", [])) for entry in entries])

    def preparation(self, problem: Path, space: Space, values: Mapping[str, Any] | None = None) -> PrepareJob:
        """Return the job that computes the statistics for a problem; its target may exist already.

        ``values`` of a trial matter if some of them are costly: see :class:`~zslplat.methods.base.Method`.
        """
        costly_values, space = self.method_class.prepared_with(space, values or {})
        fixed = {**self.experiment.method.parameters, **costly_values}
        key = key_of(
            "statistics",
            problem.name,
            self.experiment.method.name,
            {name: format_value(value) for name, value in fixed.items()},
            {name: describe_range(space[name]) for name in sorted(space)},
            str(self.experiment.task),
            self.code(_all_values(space, costly_values)),  # searched kernels take part in preparation
        )
        sources = self.sources(space, costly_values)
        name, task = self.experiment.method.name, str(self.experiment.task)
        return PrepareJob(name, fixed, space, task, problem.name, key, self.blocks, sources=sources)

    def chance(self, problem: Path) -> float:
        """Return the chance level of a problem."""
        return self.task.chance(load_problem(problem, blocks=True))

    def evict(self) -> int:
        """Keep the cache, with loaded data, within its limit; return how many entries were removed."""
        return self.cache.evict(self.settings.cache / "data")

    def _make_folds(self, problem: Path) -> None:
        """Protect what a problem needs from eviction, and make its folds for a method that takes arrays."""
        self.cache.used |= data_of(problem)
        if self.blocks:
            return
        if not all(self.cache.has(fold.name) for fold in folds_of(problem)):
            self.on_stage("copying the rows of the folds")
            load_problem(problem)

    def _index(self) -> Path:
        return self.cache.path(key_of(VALIDATION, *self._problem_parts()))

    def _test_folder(self) -> Path:
        return self.cache.path(key_of("problem", TEST, *self._problem_parts()))

    def _problem_parts(self) -> tuple[Any, ...]:
        experiment, code = self.experiment, self.code()
        steps = {role: self.preprocessing.text_of(role) for role in ("features", "signatures")}
        makers = self._reader.digest({__name__, preprocess.__module__, type(self.task).__module__})
        # The entries hold warnings and titles that name the data set, so equal data under two names are two entries.
        named = (experiment.data, self.dataset.name)
        return (*named, str(experiment.task), experiment.seed, steps, makers, {n: code[n] for n in libraries()})

    def _store(self, problem: Problem, warned: Sequence[str]) -> Path:
        folder = self.cache.path(key_of("problem", problem.name, *self._problem_parts()))
        # Checks the entry, and removes it if it is damaged.
        if self.cache.has(folder.name):
            self.counts["problems cached"] += 1
            return folder
        self.on_stage(f"preprocessing {problem.name}")
        with collect_warnings() as further:
            preprocessed = preprocess(problem, self.task, self.preprocessing)
        save_problem(folder, preprocessed, [*warned, *further][:MOST_TEXTS])
        self.counts["problems"] += 1
        return folder


def _all_values(space: Space, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return, as one text per parameter, its value and the values that a space has for it."""
    return {
        name: " ".join(
            map(
                format_value,
                [*getattr(space.get(name), "values", ()), *([parameters[name]] if name in parameters else [])],
            )
        )
        for name in {**space, **parameters}
    }


def describe_surroundings(
    experiment: Experiment,
    data: Dataset,
    task: Task,
    preprocessing: str,
    part_of: Mapping[str, str] | None = None,
    method: type[Method] | None = None,
    own_ranges: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the experiment, the primary metric, the preprocessing in words, and where the data come from.

    ``method``: None for scores that were made elsewhere. ``own_ranges``: the parameters that are searched in
    another range than their method's. ``tags``: those of the user. ``part_of``: the ``suite`` that the experiment
    belongs to, with its names for ``data`` and ``row`` and the number of the ``split``; and, where the parameters were
    ``searched`` for another task, that task and the number of ``trials``. The suite is the MLflow experiment then.
    """
    primary = task.primary
    profile = {
        "rows": len(data.X),
        "shape": list(data.X.shape),
        "classes": len(data.class_names),
        "splits": {name: len(index) for name, index in data.splits.items()},
        "classes_of_splits": _classes(data),
        "fingerprint": data.fingerprint,
    }
    content: dict[str, Any] = {
        "mlflow_experiment": f"suite: {part_of['suite']}"
        if part_of
        else f"{experiment.task.name}: {experiment.dataset_text}",
        **({"part_of": dict(part_of)} if part_of else {}),
        **({"tags": dict(tags)} if tags else {}),
        "primary": {"name": primary.name, "maximise": primary.maximise},
        "preprocessing": preprocessing,
        "control": task.control_on(data),
        "from_memory": method is not None and FROM_MEMORY in method.tags,
        "own_ranges": list(own_ranges),
        "data": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "features_digest": data.features_digest,
            "source": {"spec": str(experiment.dataset), **{k: str(v) for k, v in data.source.items() if k != COLUMNS}},
            "profile": profile,
            "exposures": [exposure.line for exposure in exposures_of(data)],
        },
    }
    return dict(json.loads(json.dumps(content)))


def _classes(data: Dataset) -> dict[str, int]:
    """Return how many classes each split has rows of; nothing where rows have several labels."""
    if data.y.ndim > 1:
        return {}
    return {name: len(np.unique(data.y[index])) for name, index in data.splits.items()}
