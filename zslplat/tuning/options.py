"""How a study is carried out, how it may be called, and what it gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zslplat.errors import UsageError, quoted
from zslplat.keys import METRIC
from zslplat.names import MOST_BYTES, unfit

if TYPE_CHECKING:
    from zslplat.evaluation.experiment import Experiment

TRIALS, REPEATS, BATCH_SIZE, SAMPLER, PRUNER = 20, 5, 4, "tpe", "median"
SAMPLER_OF_TWO = "nsga2"  # of a study that selects by two metrics
ARTIFACT_MIB = 64
_UNFIT_IN_NAMES = re.compile(r"[^\w.@ +=:,()/-]")


@dataclass(frozen=True)
class StudyOptions:
    """How a study is carried out.

    Part of its identity: ``batch_size``, ``sampler`` (none: tpe, and nsga2 for two metrics), ``pruner`` (for two
    metrics always ``none``), and the experiment with its seed and the metrics that it selects by. Free to change
    between calls: ``trials`` (total; none: 20, or all points of a grid, if these are not too many), ``patience``
    (trials without a better one after which the search ends, at the end of a batch, so that it ends at the same one
    with any number of workers), ``workers``, ``cluster``, ``timeout`` seconds for the whole search, ``trial_timeout``
    seconds per trial (neither holds for the final evaluation), ``memory_bytes`` per trial, ``repeats`` of the final
    evaluation, ``artifact_bytes`` for the matrices of all trials together; ``accept_changed_code`` continues a study
    whose code has changed, ``retry_failed`` tries failed trials again; ``keep_models`` of the final evaluations, for
    predictions. ``part_of``: what it is carried out for,
    ``suite``, ``data``, ``row`` and ``split`` (see :meth:`~zslplat.evaluation.context.ExperimentContext.about`), noted
    when a study begins. ``of_table``: for a cell of a published table, which takes no study of changed code.
    """

    name: str | None = None
    trials: int | None = None
    patience: int | None = None
    batch_size: int = BATCH_SIZE
    sampler: str | None = None
    pruner: str = PRUNER
    workers: int = 2
    cluster: str | None = None
    timeout: float | None = None
    trial_timeout: float | None = None
    memory_bytes: int | None = None
    repeats: int = REPEATS
    artifact_bytes: int = ARTIFACT_MIB * 2**20
    accept_changed_code: bool = False
    retry_failed: bool = False
    part_of: Mapping[str, str] = field(default_factory=dict)
    keep_models: bool = True
    of_table: bool = False

    def for_search_of(self, experiment: Experiment) -> StudyOptions:
        """Return the options with what follows from the number of metrics that an experiment selects by."""
        if "," in experiment.search.get(METRIC, ""):
            return replace(self, sampler=self.sampler or SAMPLER_OF_TWO, pruner="none")
        return replace(self, sampler=self.sampler or SAMPLER)

    @property
    def remedy_for_changed_code(self) -> str:
        """What to give where the trials of a study are of other code than the next would be; suites name their own."""
        anew = "another --store" if self.part_of or self.of_table else "--study NAME"
        accept = "" if self.of_table else ", or --accept-changed-code to continue and have the mixture marked"
        return f"{anew} to start anew with the code as it is{accept}"

    def __post_init__(self) -> None:
        for name in ("trials", "patience", "batch_size", "workers", "repeats"):
            value = getattr(self, name)
            if value is not None and value < (least := int(name != "repeats")):
                raise UsageError(f"{name}={value}: expected at least {least}")
        if self.sampler == "grid" and self.patience:
            raise UsageError("--patience means nothing to a grid, which tries all its points; take another --sampler")
        if self.name is not None and (not self.name.strip() or _UNFIT_IN_NAMES.search(self.name)):
            raise UsageError(f"--study {quoted(self.name)}: use letters, digits, spaces and . _ - @ + = : , ( ) /")
        if self.name is not None and (why := unfit(self.name)):
            raise UsageError(f"--study {quoted(self.name)} cannot be the name of a study: {why}")


def fitting(text: str) -> str:
    """Return the text as a beginning of a study's name."""
    plain = _UNFIT_IN_NAMES.sub("_", text).encode()[: MOST_BYTES - 9]
    return plain.decode(errors="ignore")


@dataclass(frozen=True)
class EvaluationOptions:
    """How a single experiment is evaluated, or each point of a sweep: on the validation folds, or on the test split.

    ``repeats`` mean something for random methods only; others are evaluated once. ``workers``, ``cluster``,
    ``trial_timeout``, ``memory_bytes`` and ``part_of`` are as :class:`StudyOptions` has them. For single experiments:
    ``validation_choices``, what an earlier validation handed to the refit; ``method_seed``, the seed of the first
    repeat where it is not the experiment's; ``recall``: an evaluation that is recorded already is not computed again;
    ``kind``: ``run``, or ``rerun`` for one that repeats another and is no entry of comparisons; ``save_model``: of a
    test evaluation, for predictions; one of kind ``rerun`` keeps none.
    """

    test: bool = False
    repeats: int = 1
    workers: int = 2
    cluster: str | None = None
    trial_timeout: float | None = None
    memory_bytes: int | None = None
    part_of: Mapping[str, str] | None = None
    validation_choices: Mapping[str, Any] = field(default_factory=dict)
    method_seed: int | None = None
    recall: bool = True
    kind: str = "run"
    save_model: bool = True


@dataclass
class StudyResult:
    """What a study gives: the winner, its validation record, the test metrics of each repeat, where things are.

    ``findings`` are what checks found, ``warnings`` the lines of those that are not silenced, ``silenced`` the number
    of those that are. ``chance`` is what guessing reaches on validation, the mean over the folds, ``test_chance`` on
    the test split. ``criteria`` are the metrics that selected the winner; of two, ``front`` has the numbers of the
    trials that no other trial dominates. ``control`` is the recorded study of the control of its kind, if there is one,
    ``recalled`` counts the trials of this call that were taken from records, ``recalled_tests`` the test evaluations,
    and ``code`` says where trials of several codes are mixed.
    """

    name: str
    winner: int
    parameters: dict[str, Any]
    validation: dict[str, Any]
    test: list[dict[str, float]]
    primary: str
    chance: float
    test_chance: float
    trials: dict[str, int]
    test_evaluations: int
    run_id: str
    counts: dict[str, int]
    seconds: float
    warnings: list[str] = field(default_factory=list)
    findings: list[dict[str, str]] = field(default_factory=list)
    silenced: int = 0
    complete: bool = True
    config: Path | None = None
    final_run_ids: list[str] = field(default_factory=list)
    recalled: int = 0
    recalled_tests: int = 0
    code: str = ""
    criteria: list[str] = field(default_factory=list)
    front: list[int] = field(default_factory=list)
    control: str = ""
