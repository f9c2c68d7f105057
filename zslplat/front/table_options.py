"""The options of the commands and functions that have tables of many studies, ``bench`` and ``compare``."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

from zslplat.front.options import (
    CLI_LIST,
    Folder,
    Json,
    RecordOptions,
    SeveralTexts,
    SilenceOptions,
    StudyWorkOptions,
    TrackingOptions,
)
from zslplat.front.schema import REQUIRED, WORK, Option


class BenchOptions(StudyWorkOptions, RecordOptions, total=False):
    """The options of ``bench``."""

    only: Annotated[
        SeveralTexts | None, Option("A data set, a row, or DATA/ROW of the suite. May be repeated.", cli_type=CLI_LIST)
    ]
    trials: Annotated[int | None, Option("Trials of every search; default: the suite's.", short="-n", least=1)]
    metric: Annotated[str | None, Option("Metric that its searches select by, where the task has it: H.")]
    repeats: Annotated[int | None, Option("Repeats of random methods; default: the suite's.", least=1, advanced=True)]
    class_folds: Annotated[
        int | None,
        Option("Class cross-validation: so many folds of all classes, each class unseen in one.", least=2),
    ]
    until_decided: Annotated[
        bool, Option("Carry out class folds where a verdict is open, until none is or the budget is spent.", False)
    ]
    budget: Annotated[str | float | None, Option("Time for --until-decided: 2h, 90min.", cli_type=str | None)]
    draws: Annotated[
        int | None,
        Option(
            "Draw the seen and unseen classes of each data set anew, so many times; with --class-folds 5, 10 are two "
            "arrangements of folds.",
            least=2,
            advanced=True,
        ),
    ]
    out: Annotated[Folder | None, Option("Folder of the tables; default: suites/SUITE in the store.")]
    abreast: Annotated[
        int | None,
        Option("Studies carried out side by side; default: as many as keep the workers busy.", least=1, advanced=True),
    ]


class BenchArguments(TypedDict, total=False):
    """Which suite is carried out."""

    suite: Annotated[
        Any,
        Option(
            "Name of a suite (zslplat list suites), or a TOML file with such lines.",
            REQUIRED,
            complete="suites",
            metavar="SUITE",
            cli_type=str,
            positional=True,
        ),
    ]


class BenchCommand(BenchArguments, BenchOptions, total=False):
    """The options of the command ``bench``."""

    dry_run: Annotated[
        bool, Option("Say what is done already, and what time and memory the rest would take.", False, panel=WORK)
    ]
    probe: Annotated[
        float,
        Option(
            "Seconds that --dry-run may take to time methods of which nothing is recorded.", 60, least=0, advanced=True
        ),
    ]
    json: Json


class CompareOptions(TrackingOptions, SilenceOptions, total=False):
    """The options of ``compare``; those that may be repeated take a text or several in Python."""

    dataset: Annotated[
        SeveralTexts | None,
        Option(
            "Data set; may be repeated. Default: all that are recorded.",
            short="-d",
            complete="datasets",
            cli_type=CLI_LIST,
        ),
    ]
    task: Annotated[
        SeveralTexts | None,
        Option(
            "Task; may be repeated. Default: all that are recorded.", short="-t", complete="tasks", cli_type=CLI_LIST
        ),
    ]
    method: Annotated[
        SeveralTexts | None,
        Option(
            'These methods only: names, specs, patterns as "mfmr*".', short="-m", complete="methods", cli_type=CLI_LIST
        ),
    ]
    study: Annotated[
        SeveralTexts | None, Option("These studies only, by name or pattern.", complete="studies", cli_type=CLI_LIST)
    ]
    suite: Annotated[
        SeveralTexts | None, Option("Show what was recorded for this suite only.", cli_type=CLI_LIST, advanced=True)
    ]
    tag: Annotated[
        SeveralTexts | None,
        Option(
            "Show what was recorded with this tag only (tune --tag).",
            metavar="KEY[=VALUE]",
            cli_type=CLI_LIST,
            advanced=True,
        ),
    ]
    against: Annotated[
        Any, Option("What the others are compared with; default: the best on validation.", cli_type=str | None)
    ]
    metric: Annotated[
        SeveralTexts | None, Option("Metric; may be repeated. Default: the task's own.", cli_type=CLI_LIST)
    ]
    all: Annotated[bool, Option("A row per study and run, not one per experiment.", False)]


class CompareArguments(TypedDict, total=False):
    """What is compared."""

    names: Annotated[
        Any,
        Option(
            'Methods, studies, specs, runs, patterns as "mfmr*"; default: all.',
            metavar="NAME",
            cli_type=CLI_LIST,
            positional=True,
        ),
    ]


class CompareCommand(CompareArguments, CompareOptions, total=False):
    """The options of the command ``compare``, which names what the others are compared with by a text."""

    out: Annotated[
        Path | None,
        Option("File for the table: .md, .tex, .csv, .json; or .svg, .png for a plot of scores or differences."),
    ]
    wide: Annotated[bool, Option("Show every column, however wide the table is.", False)]
    json: Json
