"""An experiment: what is evaluated, in one frozen object with one JSON form.

Study identity, ``best.toml``, MLflow tag, job and record are this form. The experiment asks a *question*: which method
with which fixed and searched hyperparameters, on which data, under which task, preprocessing and seed. The code that
answers it is recorded with each answer (:mod:`zslplat.evaluation.code`) and is no part of the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from zslplat.data.catalogue import title_of
from zslplat.data.class_draws import NAME as REDRAWN
from zslplat.data.formats.in_memory import NAME as IN_MEMORY
from zslplat.keys import EXPERIMENT_CHOICES, METRIC, key_of
from zslplat.space import Space
from zslplat.spec import Spec, format_value

VALIDATION, TEST = "validation", "test"
# The entries that say how a search proposes.
_SEARCH = ("batch_size", "sampler", "pruner", METRIC, "step")


@dataclass(frozen=True)
class Experiment:
    """What is evaluated.

    ``method`` holds the fixed hyperparameters, ``space`` the searched ones with their ranges; ``features`` and
    ``signatures`` are preprocessing steps in place of the method's own; ``seed`` draws folds, row order and proposals;
    ``data`` is the fingerprint of the data set, empty while it is not known. ``search`` says how a search proposes. A
    single evaluation has no space; it has its ``split`` (``validation`` or ``test``), the ``method_seed`` of the
    method's random numbers, and in ``validation_choices`` what validation passes on to the refit.
    """

    method: Spec
    dataset: Spec
    task: Spec
    space: Space = field(default_factory=dict)
    features: str | None = None
    signatures: str | None = None
    seed: int = 0
    data: str = ""
    search: Mapping[str, Any] = field(default_factory=dict)
    split: str = ""
    method_seed: int | None = None
    validation_choices: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dataset_title(self) -> str:
        """The title of the data set: its name, or that of the file or folder that a loader reads."""
        parameters = self.dataset.parameters
        if self.dataset.name == REDRAWN:
            other = replace(self, dataset=Spec.parse(str(parameters.get("of", "digit-pairs"))))
            return f"{other.dataset_title} draw {parameters.get('draw', 1)}"
        return title_of(self.dataset)

    @property
    def dataset_text(self) -> str:
        """The data set as messages have it: its spec, or a title of data in memory and of drawn classes."""
        return title_of(self.dataset) if self.dataset.name in (IN_MEMORY, REDRAWN) else str(self.dataset)

    def evaluation(
        self,
        parameters: Mapping[str, Any],
        split: str,
        method_seed: int,
        validation_choices: Mapping[str, Any] | None = None,
    ) -> Experiment:
        """Return the experiment of one evaluation: these values in place of the search."""
        method = self.method.with_parameters(parameters)
        # Which metric is optimised matters to an evaluation where it chooses the step of an iterative method.
        metric = self.search.get(METRIC, "").partition(",")[0]
        of_steps = "step" in self.search or set(self.search) == {METRIC}
        search = {METRIC: metric} if metric and split == VALIDATION and of_steps else {}
        changed = {"method": method, "space": {}, "search": search, "split": split}
        return replace(self, **changed, method_seed=method_seed, validation_choices=dict(validation_choices or {}))  # type: ignore[arg-type]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; what does not apply is left out."""
        content: dict[str, Any] = {
            "method": str(self.method),
            "dataset": str(self.dataset),
            "task": str(self.task),
            "space": {name: describe_range(self.space[name]) for name in sorted(self.space)},
            "features": self.features,
            "signatures": self.signatures,
            "seed": self.seed,
            **{name: self.search[name] for name in _SEARCH if name in self.search},
            **({"data": self.data} if self.data else {}),
        }
        if self.split:
            del content["space"]
            content |= {
                "split": self.split,
                "method_seed": self.method_seed,
                EXPERIMENT_CHOICES: dict(self.validation_choices),
            }
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Experiment:
        """Return the experiment of a JSON form, a search without its ranges, which the form holds as text only."""
        return cls(
            Spec.parse(content["method"]),
            Spec.parse(content["dataset"]),
            Spec.parse(content["task"]),
            {},
            content.get("features"),
            content.get("signatures"),
            int(content.get("seed", 0)),
            content.get("data", ""),
            {name: content[name] for name in _SEARCH if name in content},
            content.get("split", ""),
            content.get("method_seed"),
            dict(content.get(EXPERIMENT_CHOICES, {})),
        )

    @property
    def question(self) -> str:
        """A 32-digit key of the JSON form: equal experiments have equal keys, in every process."""
        return key_of(self.to_json())


def describe_range(dimension: Any) -> str:
    """Write a range with its conditions, for example ``0.001..1000:log if kernel=gaussian``."""
    conditions = [f"{n}={'|'.join(map(format_value, v))}" for n, v in dimension.when.items()]
    return str(dimension) + (f" if {' and '.join(conditions)}" if conditions else "")


def repeat_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repeat; repeat 0 uses the study's own."""
    import numpy as np

    return seed if repeat == 0 else int(np.random.SeedSequence([seed, 7919, repeat]).generate_state(1)[0] >> 1)
