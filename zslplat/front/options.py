"""The options of the main commands and functions, each declared here alone.

``tune``, ``run`` (in Python ``evaluate``), ``sweep``, and in :mod:`zslplat.front.table_options` ``bench`` and
``compare``, exist as commands and as functions: their ``...Options`` are the keywords of the function, their
``...Command`` adds what the function takes by position and what only a command line has. See
:mod:`zslplat.front.schema` for how a declaration is written.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypedDict

from zslplat.front.schema import EXPERIMENT, OUTPUT, PLACES, REQUIRED, SEARCH, WORK, Option
from zslplat.tuning.options import ARTIFACT_MIB, BATCH_SIZE, PRUNER, REPEATS

if TYPE_CHECKING:
    from zslplat.front.datasets import DatasetLike
    from zslplat.front.requests import MethodLike

DEFAULT_DATASET, DEFAULT_TASK = "digit-pairs", "zsl"
# Tags by name, or as texts KEY=VALUE.
Tags: TypeAlias = Mapping[str, str] | Sequence[str]
# A text, or several.
SeveralTexts: TypeAlias = str | Sequence[str]
Folder: TypeAlias = str | Path
CLI_LIST = list[str] | None


def read_assignments(texts: Sequence[str] | None) -> dict[str, Any] | None:
    """Read ``--set name=value`` options; raises :class:`UsageError` for a name that is given twice."""
    from zslplat.errors import UsageError
    from zslplat.spec import parse_assignment

    values: dict[str, Any] = {}
    for text in texts or ():
        name, value = parse_assignment(text)
        if name in values:
            raise UsageError(f"--set gives {name} twice, the second time as {text!r}; leave one out")
        values[name] = value
    return values or None


def read_ranges(texts: Sequence[str] | None) -> dict[str, str] | None:
    """Read ``--space name=range`` options; raises :class:`UsageError` for one that cannot be read."""
    from zslplat.errors import UsageError

    ranges: dict[str, str] = {}
    for text in texts or ():
        name, separator, value = (part.strip() for part in text.partition("="))
        if not separator or not name or not value:
            raise UsageError(f"--space {text!r}: write name=low..high, name=low..high:log or name=a|b|c")
        if name in ranges:
            raise UsageError(f"--space gives {name} twice, the second time as {text!r}; leave one out")
        ranges[name] = value
    return ranges or None


METHOD_HELP = 'Method, as eszsl or "mfmr(lam=1,k=10)".'
_SEVERAL_METHODS_HELP = "Method; several (-m A -m B) for an option of the task."
Method = Annotated[
    "MethodLike | None",
    Option(
        METHOD_HELP, short="-m", complete="methods", cli_type=str | None, write_even_if_default=True, by_position=True
    ),
]
Dataset = Annotated[
    "DatasetLike",
    Option(
        "Data set: a name or a path.",
        DEFAULT_DATASET,
        short="-d",
        complete="datasets",
        cli_type=str,
        write_even_if_default=True,
        by_position=True,
    ),
]
Task = Annotated[
    str,
    Option(
        "Protocol (zslplat list tasks).",
        DEFAULT_TASK,
        short="-t",
        complete="tasks",
        write_even_if_default=True,
        by_position=True,
    ),
]
Seed = Annotated[int, Option("Seed of everything random.", 0, least=0, panel=EXPERIMENT, write_even_if_default=True)]
Repeats = Annotated[int, Option("Repeats of random methods.", 1, least=1, panel=EXPERIMENT, advanced=True)]
Workers = Annotated[
    int | None, Option("Worker processes; default: the cores, at most 4.", short="-w", least=1, panel=WORK)
]
Json = Annotated[bool, Option("Print the result as JSON, nothing else.", False, panel=OUTPUT, not_in_study_file=True)]
Quiet = Annotated[bool, Option("Show no progress, and the result in one line.", False, short="-q", panel=OUTPUT)]
DataRoot = Annotated[Folder | None, Option("Folder of data sets [ZSLPLAT_DATA_ROOT].", panel=PLACES, metavar="FOLDER")]
Store = Annotated[
    Folder | None, Option("Folder of everything recorded; default mlruns.", panel=PLACES, metavar="FOLDER")
]
TrackingUri = Annotated[
    str | None, Option("MLflow server instead of the store's own file.", panel=PLACES, advanced=True)
]


class StoreOptions(TypedDict, total=False):
    """Where things are recorded."""

    store: Store
    storage_url: Annotated[
        str | None, Option("Database of studies (SQLAlchemy URL), e.g. PostgreSQL.", panel=PLACES, advanced=True)
    ]


class TrackingOptions(StoreOptions, total=False):
    """Where things are recorded and shown."""

    tracking_uri: TrackingUri


class DataRootOptions(TypedDict, total=False):
    """Where data sets are."""

    data_root: DataRoot


class PlaceOptions(DataRootOptions, TrackingOptions, total=False):
    """Where data sets are, and where things are recorded and shown."""


class SilenceOptions(TypedDict, total=False):
    """Which findings are not shown."""

    silence: Annotated[
        Sequence[str] | None,
        Option(
            "Code of a check whose findings are counted, not shown: ZSP101. May be repeated [ZSLPLAT_SILENCE].",
            complete="checks",
            panel=OUTPUT,
            cli_type=CLI_LIST,
            advanced=True,
        ),
    ]


class RecordOptions(PlaceOptions, SilenceOptions, total=False):
    """Places, and how what is recorded is tagged and shown."""

    tag: Annotated[
        Tags | None,
        Option(
            "Tag of what is recorded, to find it by (compare --tag) and in MLflow. May be repeated [ZSLPLAT_TAGS].",
            metavar="KEY=VALUE",
            panel=OUTPUT,
            cli_type=CLI_LIST,
            advanced=True,
        ),
    ]
    quiet: Quiet


class WorkOptions(TypedDict, total=False):
    """Who does the work, and what each evaluation may take."""

    workers: Workers
    cluster: Annotated[str | None, Option("Address of a Dask scheduler.", panel=WORK, advanced=True)]
    trial_timeout: Annotated[
        float | None,
        Option(
            "Seconds after which one evaluation is stopped; not the final one of a study.",
            least=0.1,
            panel=WORK,
            advanced=True,
        ),
    ]
    memory: Annotated[
        float | None,
        Option(
            "GiB of memory of all processes together; default: 80% of the machine's.",
            least=0.1,
            panel=WORK,
            advanced=True,
        ),
    ]


class ResumeOptions(TypedDict, total=False):
    """What happens to trials that failed, and to studies of other code."""

    retry_failed: Annotated[
        bool,
        Option("Try failed trials again (also happens when a limit was raised).", False, panel=WORK, advanced=True),
    ]
    accept_changed_code: Annotated[
        bool, Option("Continue although code has changed; the mixture is marked.", False, panel=WORK, advanced=True)
    ]


class ModelOptions(TypedDict, total=False):
    """Whether the model of a final evaluation is kept."""

    no_model: Annotated[
        bool,
        Option(
            "Keep no model of the final evaluation for predict, export and the like.", False, panel=WORK, advanced=True
        ),
    ]


class MethodOptions(TypedDict, total=False):
    """What is fixed of a method."""

    set: Annotated[
        Mapping[str, Any] | None,
        Option(
            "Fix a hyperparameter: lam=1.",
            cli_type=CLI_LIST,
            parse_cli=read_assignments,
            panel=EXPERIMENT,
            metavar="NAME=VALUE",
        ),
    ]
    kernel: Annotated[
        str | None,
        Option("Kernel of a kernel method; short for --set kernel=...", complete="kernels", panel=EXPERIMENT),
    ]
    features: Annotated[
        str | None,
        Option(
            "Preprocessing of features instead of the method's own: hellinger,center,l2.",
            metavar="A[,B]",
            panel=EXPERIMENT,
            advanced=True,
        ),
    ]
    signatures: Annotated[
        str | None,
        Option("Preprocessing of signatures, in the same way.", metavar="A[,B]", panel=EXPERIMENT, advanced=True),
    ]


class SearchOptions(TypedDict, total=False):
    """How hyperparameters are searched in every study."""

    metric: Annotated[
        SeveralTexts | None,
        Option(
            "Metric to select by: H, AUSUC, mAP; two give a front.",
            cli_type=str | None,
            metavar="A[,B]",
            panel=EXPERIMENT,
        ),
    ]
    space: Annotated[
        Mapping[str, Any] | None,
        Option(
            "Search range: lam=1e-3..1e3:log or kernel=a|b.",
            cli_type=CLI_LIST,
            parse_cli=read_ranges,
            panel=SEARCH,
            metavar="NAME=RANGE",
        ),
    ]
    trials: Annotated[
        int | None,
        Option(
            "Trials in all; more extend a study. Default: 20; with the sampler grid, all points.",
            short="-n",
            least=1,
            panel=SEARCH,
        ),
    ]
    seed: Seed
    repeats: Annotated[
        int,
        Option(
            "Final evaluations of random methods; 0 leaves the test split alone.",
            REPEATS,
            least=0,
            write_even_if_default=True,
            panel=SEARCH,
            advanced=True,
        ),
    ]


class ProposalOptions(TypedDict, total=False):
    """How a study is called, and how its trials are proposed."""

    study: Annotated[
        str | None, Option("Name of the study; default: made from the request.", complete="studies", panel=SEARCH)
    ]
    sampler: Annotated[
        str | None,
        Option(
            "How trials are proposed: tpe (default), random, qmc, gp, grid or nsga2.",
            complete=("tpe", "random", "grid", "qmc", "gp", "nsga2"),
            panel=SEARCH,
        ),
    ]
    patience: Annotated[
        int | None,
        Option("End the search after so many trials without a better one.", least=1, panel=SEARCH, advanced=True),
    ]
    pruner: Annotated[
        str,
        Option(
            "median or none; acts on methods that train in epochs.",
            PRUNER,
            complete=("median", "none"),
            write_even_if_default=True,
            panel=SEARCH,
            study_file_only=True,
        ),
    ]
    batch_size: Annotated[
        int,
        Option(
            "Trials proposed together, whatever --workers.",
            BATCH_SIZE,
            least=1,
            write_even_if_default=True,
            panel=SEARCH,
            study_file_only=True,
        ),
    ]


class StudyWorkOptions(WorkOptions, ResumeOptions, ModelOptions, total=False):
    """How the work of studies is done, and whether the model is kept."""


class TuneOptions(MethodOptions, SearchOptions, ProposalOptions, StudyWorkOptions, RecordOptions, total=False):
    """The options of ``tune``."""

    timeout: Annotated[float | None, Option("Seconds after which the search ends.", least=1, panel=SEARCH)]
    trial_artifacts: Annotated[
        float,
        Option(
            "MiB of learned matrices logged over all trials.", ARTIFACT_MIB, least=0, panel=SEARCH, study_file_only=True
        ),
    ]
    config: Annotated[
        Folder | None,
        Option(
            "Study file: these options and more by name, in TOML.",
            study_file=True,
            not_in_study_file=True,
            panel=EXPERIMENT,
        ),
    ]


class TuneArguments(TypedDict, total=False):
    """What is evaluated: in Python given by position."""

    method: Method
    dataset: Dataset
    task: Task


class TuneCommand(TuneArguments, TuneOptions, total=False):
    """The options of the command ``tune``."""

    class_folds: Annotated[
        int | None,
        Option("So many folds of all classes, each unseen in one: a study each.", least=2, panel=EXPERIMENT),
    ]
    dry_run: Annotated[
        bool, Option("Say what would be done, and how long it takes.", False, not_in_study_file=True, panel=WORK)
    ]
    write_config: Annotated[
        Path | None,
        Option(
            "Write these options to a study file (for --config) and stop.",
            not_in_study_file=True,
            panel=WORK,
            advanced=True,
        ),
    ]
    json: Json


class RunOptions(MethodOptions, WorkOptions, ModelOptions, RecordOptions, total=False):
    """The options of ``evaluate``, which is the command ``run``."""

    config: Annotated[Folder | None, Option("A best.toml or run.toml instead of --method.", panel=EXPERIMENT)]
    test: Annotated[bool, Option("Score the test split instead of the validation folds.", False, panel=EXPERIMENT)]
    seed: Annotated[int | None, Option("Seed of everything random; default 0.", least=0, panel=EXPERIMENT)]
    repeats: Repeats


class RunArguments(TypedDict, total=False):
    """What a run evaluates, unless --config says it."""

    method: Annotated[
        "MethodLike | None",
        Option("Method with its parameters.", short="-m", complete="methods", cli_type=str | None, by_position=True),
    ]
    dataset: Annotated[
        "DatasetLike | None",
        Option(
            f"Data set; default {DEFAULT_DATASET}.",
            short="-d",
            complete="datasets",
            cli_type=str | None,
            by_position=True,
        ),
    ]
    task: Annotated[
        str | None, Option(f"Protocol; default {DEFAULT_TASK}.", short="-t", complete="tasks", by_position=True)
    ]


class RunCommand(RunArguments, RunOptions, total=False):
    """The options of the command ``run``."""

    json: Json


class SweepOptions(MethodOptions, WorkOptions, RecordOptions, total=False):
    """The options of ``sweep``."""

    points: Annotated[int, Option("Values in a numeric range.", 9, least=2, panel=EXPERIMENT)]
    test: Annotated[
        bool,
        Option("Score the test split, too, for analysis; each point counts as a look at it.", False, panel=EXPERIMENT),
    ]
    repeats: Repeats
    seed: Seed
    metric: Annotated[str | None, Option("Metric of the curve; default: the task's.", panel=EXPERIMENT)]


class SweepArguments(TypedDict, total=False):
    """What a sweep varies, and of what."""

    method: Annotated[
        "MethodLike | Sequence[MethodLike]",
        Option(_SEVERAL_METHODS_HELP, REQUIRED, short="-m", complete="methods", cli_type=list[str], by_position=True),
    ]
    param: Annotated[
        str, Option("What varies: a hyperparameter, or an option of the task.", REQUIRED, short="-p", by_position=True)
    ]
    range: Annotated[
        Any,
        Option("low..high, low..high:log or a|b|c; default: its search range.", cli_type=str | None, panel=EXPERIMENT),
    ]
    dataset: Dataset
    task: Task


class SweepCommand(SweepArguments, SweepOptions, total=False):
    """The options of the command ``sweep``."""

    json: Json
