"""``zslplat.tune(..., class_folds=5)``: a study for every class fold, and one score over all classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from zslplat.checks.base import lines_of_places
from zslplat.comparison.compare import compare
from zslplat.comparison.forests import score_forest
from zslplat.data.class_draws import drawn_spec
from zslplat.drawing import draw_forest
from zslplat.evaluation.experiment import Experiment
from zslplat.evidence.matching import Filters
from zslplat.front.options import TuneCommand
from zslplat.front.progress import QuietReporter, progress
from zslplat.front.results import Result, warning_lines
from zslplat.front.studies import Study, study_request
from zslplat.settings import Settings
from zslplat.summary import Summary
from zslplat.tuning.study import run_study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class FoldedStudies(Result):
    """The studies of the class folds of a data set, in order; ``row`` is what ``compare`` shows of all together."""

    studies: Sequence[Study]
    row: dict[str, Any]
    experiment: Experiment = field(repr=False)
    settings: Settings = field(repr=False)

    @property
    def test_value(self) -> float:
        """The score over all classes, each unseen in one fold."""
        return float(self.row["test"])

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The ends of its 95 % interval over new classes, None where there is none."""
        return self.row["low_classes"], self.row["high_classes"]

    @property
    def headline(self) -> str:
        """The score over all classes in words."""
        row = self.row
        ends = "" if row["low_classes"] is None else f" [{row['low_classes']:.4f}, {row['high_classes']:.4f}]"
        classes = "" if row["classes"] is None else f" over {row['classes']} classes"
        return f"{self.title}: test {row['metric']} {row['test']:.4f}{ends}{classes}"

    @property
    def title(self) -> str:
        """The method, the data and the folds in words."""
        experiment = self.experiment
        subject = f"{experiment.method.name} on {experiment.dataset_title}, task {experiment.task}"
        return f"{subject}, {len(self.studies)} class folds"

    def to_dict(self) -> dict[str, Any]:
        """Return the row of all folds and what ``tune`` gives of each, as JSON holds it."""
        return {**self.row, "studies": [vars(study.result) for study in self.studies]}

    def to_frame(self) -> pd.DataFrame:
        """Return a row per fold: its study, and the metrics on its test classes."""
        import pandas as pd

        lines = [{"fold": k, "study": study.name, **study.test} for k, study in enumerate(self.studies, start=1)]
        return pd.DataFrame(lines).set_index("fold")

    def plot(self) -> Figure:
        """Return the score over all classes with its interval."""
        from zslplat.pictures import Picture

        figure = Picture(figsize=(7.6, 1.2), layout="constrained", facecolor="white")
        draw_forest(figure.add_subplot(), score_forest([self.row], f"{self.row['metric']}, test", self.title))
        return figure

    def _summary(self) -> Summary:
        frame = self.to_frame()
        pairs = ((f"fold {k}", line) for k, one in enumerate(self.studies, 1) for line in one.result.warnings)
        silenced = sum(study.result.silenced for study in self.studies)
        return Summary(
            f"{self.title}, a study each",
            [{"fold": frame.index.tolist(), **{name: frame[name].tolist() for name in frame.columns}}],
            [self.headline, *warning_lines(lines_of_places(pairs), silenced)],
        )


def carry_out_folds(options: TuneCommand) -> FoldedStudies:
    """Tune and test every class fold by itself, and score all classes together; what is recorded is not done again."""
    experiment, study_options, settings = study_request(options)
    folds = options["class_folds"] or 0
    studies = []
    with progress(quiet=options["quiet"]) as reporter:
        for fold in range(1, folds + 1):
            named = None if study_options.name is None else f"{study_options.name}, fold {fold}"
            of_fold = replace(experiment, dataset=drawn_spec(experiment.dataset, fold, folds))
            result = run_study(of_fold, replace(study_options, name=named), settings, reporter)
            studies.append(Study(result, of_fold, settings))
    datasets = [str(study.experiment.dataset) for study in studies]
    filters = Filters(studies=[study.name for study in studies])
    table = compare(settings, datasets, str(experiment.task), filters, warn=QuietReporter().warn)
    return FoldedStudies(studies, table.rows[0], experiment, settings)
