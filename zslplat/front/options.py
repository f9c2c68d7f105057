"""The options of the main commands and functions, each declared here alone.

``tune``, ``run`` (in Python ``evaluate``), ``sweep``, ``bench`` and ``compare`` exist as commands and as functions:
their ``...Options`` are the keywords of the function, their ``...Command`` adds what the function takes by position and
what only a command line has. See :mod:`zslplat.front.schema` for how a declaration is written.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypedDict

from zslplat.front.schema import OUTPUT, PLACES, REQUIRED, Option
from zslplat.tuning.options import ARTIFACT_MIB, BATCH_SIZE, PRUNER, REPEATS

if TYPE_CHECKING:
    from zslplat.front.datasets import DatasetLike
    from zslplat.front.requests import MethodLike

DEFAULT_DATASET, DEFAULT_TASK = "digit-pairs", "zsl"
# Tags by name, or as texts KEY=VALUE.
Tags: TypeAlias = Mapping[str, str] | Sequence[str]
# A text, or several.
Texts: TypeAlias = str | Sequence[str]
Folder: TypeAlias = str | Path
_TEXTS = list[str] | None


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


METHOD_HELP = 'Method, for example mfmr-joint or "mfmr(lam=1,k=10)".'
_SEVERAL_METHODS_HELP = 'Method, for example mfmr-joint or "mfmr(lam=1,k=10)"; several for an option of the task.'
Method = Annotated[
    "MethodLike | None",
    Option(METHOD_HELP, short="-m", complete="methods", cli_type=str | None, write_even_if_default=True),
]
Dataset = Annotated[
    "DatasetLike",
    Option(
        'Data set: a registered name or a folder of the data root, "CIFAR100(features=mnv2)".',
        DEFAULT_DATASET,
        short="-d",
        complete="datasets",
        cli_type=str,
        write_even_if_default=True,
    ),
]
Task = Annotated[
    str,
    Option(
        "Protocol: zsl, gzsl, retrieval, ... (zslplat list tasks).",
        DEFAULT_TASK,
        short="-t",
        complete="tasks",
        write_even_if_default=True,
    ),
]
Seed = Annotated[int, Option("Seed of everything random.", 0, least=0, write_even_if_default=True)]
Repeats = Annotated[int, Option("Repeats of random methods.", 1, least=1)]
Workers = Annotated[int | None, Option("Worker processes; default: the cores, at most 4.", short="-w", least=1)]
Json = Annotated[bool, Option("Print the result as JSON, nothing else.", False, panel=OUTPUT, not_in_study_file=True)]
Quiet = Annotated[bool, Option("Print the result only.", False, short="-q", panel=OUTPUT)]
DataRoot = Annotated[Folder | None, Option("Folder of data sets [ZSLPLAT_DATA_ROOT].", panel=PLACES)]
Store = Annotated[Folder | None, Option("Folder of everything recorded [ZSLPLAT_STORE]; default mlruns.", panel=PLACES)]
TrackingUri = Annotated[str | None, Option("MLflow server instead of the store's own file.", panel=PLACES)]


class StoreOptions(TypedDict, total=False):
    """Where things are recorded."""

    store: Store
    storage_url: Annotated[str | None, Option("Database of studies (SQLAlchemy URL), e.g. PostgreSQL.", panel=PLACES)]


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
            cli_type=_TEXTS,
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
            cli_type=_TEXTS,
        ),
    ]
    quiet: Quiet


class WorkOptions(TypedDict, total=False):
    """Who does the work, and what each evaluation may take."""

    workers: Workers
    cluster: Annotated[str | None, Option("Address of a Dask scheduler.")]
    trial_timeout: Annotated[
        float | None,
        Option("Seconds after which one evaluation is stopped; not the final one of a study.", least=0.1),
    ]
    memory: Annotated[
        float | None,
        Option("GiB of memory of all processes together; default: 80% of the machine's.", least=0.1),
    ]


class ResumeOptions(TypedDict, total=False):
    """What happens to trials that failed, and to studies of other code."""

    retry_failed: Annotated[bool, Option("Try failed trials again (also happens when a limit was raised).", False)]
    accept_changed_code: Annotated[bool, Option("Continue although code has changed; the mixture is marked.", False)]


class ModelOptions(TypedDict, total=False):
    """What is left of a final evaluation."""

    no_model: Annotated[bool, Option("Keep no model of the final evaluation for predict, export and the like.", False)]


class MethodOptions(TypedDict, total=False):
    """What is fixed of a method."""

    set: Annotated[
        Mapping[str, Any] | None,
        Option("Fix a hyperparameter: lam=1. May be repeated.", cli_type=_TEXTS, parse_cli=read_assignments),
    ]
    kernel: Annotated[str | None, Option("Kernel of a kernel method; short for --set kernel=...", complete="kernels")]
    features: Annotated[
        str | None, Option("Preprocessing of features instead of the method's own: hellinger,center,l2.")
    ]
    signatures: Annotated[str | None, Option("Preprocessing of signatures instead of the method's own.")]


class SearchOptions(TypedDict, total=False):
    """How hyperparameters are searched in every study."""

    metric: Annotated[
        Texts | None,
        Option("Metric to select by: H, AUSUC, mAP, ...; two, H,seconds, give a front.", cli_type=str | None),
    ]

    space: Annotated[
        Mapping[str, Any] | None,
        Option(
            "Search range: lam=1e-3..1e3:log or kernel=a|b. May be repeated.", cli_type=_TEXTS, parse_cli=read_ranges
        ),
    ]
    trials: Annotated[
        int | None,
        Option(
            "Trials in all; more extend a study. Default: 20, all points of a grid, or 1 where nothing is searched.",
            short="-n",
            least=1,
        ),
    ]
    seed: Seed
    repeats: Annotated[
        int, Option("Repeats of the final evaluation of random methods.", REPEATS, least=1, write_even_if_default=True)
    ]


class ProposalOptions(TypedDict, total=False):
    """How a study is called, and how its trials are proposed."""

    study: Annotated[str | None, Option("Name of the study; default: made from the request.", complete="studies")]
    sampler: Annotated[
        str | None,
        Option(
            "tpe (default), nsga2 (for two metrics), random, qmc (Sobol), gp (needs torch), cmaes (needs cmaes), "
            "or grid: 7 values of each range. A grid of more than 1000 points needs --yes.",
            complete=("tpe", "random", "grid", "qmc", "gp", "cmaes", "nsga2"),
        ),
    ]
    yes: Annotated[bool, Option("Search a grid of more than 1000 points.", False)]
    patience: Annotated[int | None, Option("End the search after so many trials without a better one.", least=1)]
    warm_start: Annotated[
        str | None,
        Option(
            "Try the best trials of another study of the store first: STUDY, or STUDY:K for the K best (4).",
            complete="studies",
            metavar="STUDY[:K]",
        ),
    ]
    pruner: Annotated[
        str,
        Option(
            "median or none; acts on methods that train in epochs.",
            PRUNER,
            complete=("median", "none"),
            write_even_if_default=True,
        ),
    ]
    batch_size: Annotated[
        int, Option("Trials proposed together, whatever --workers.", BATCH_SIZE, least=1, write_even_if_default=True)
    ]


class StudyWorkOptions(WorkOptions, ResumeOptions, ModelOptions, total=False):
    """How the work of studies is done, and what is left of it."""


class TuneOptions(MethodOptions, SearchOptions, ProposalOptions, StudyWorkOptions, RecordOptions, total=False):
    """The options of ``tune``."""

    timeout: Annotated[float | None, Option("Seconds after which the search ends.", least=1)]
    trial_artifacts: Annotated[float, Option("MiB of learned matrices logged over all trials.", ARTIFACT_MIB, least=0)]
    config: Annotated[
        Folder | None,
        Option(
            "TOML file with these options by name (trials = 40, set = {lam = 1}); the command line overrules it.",
            study_file=True,
            not_in_study_file=True,
        ),
    ]


class TuneArguments(TypedDict, total=False):
    """What is evaluated: in Python given by position."""

    method: Method
    dataset: Dataset
    task: Task


class TuneCommand(TuneArguments, TuneOptions, total=False):
    """The options of the command ``tune``."""

    dry_run: Annotated[
        bool,
        Option(
            "Say what would be done and about how long it takes, after timing one trial; record nothing.",
            False,
            not_in_study_file=True,
        ),
    ]
    write_config: Annotated[
        Path | None, Option("Write the options as such a file, and do nothing else.", not_in_study_file=True)
    ]
    json: Json


class RunOptions(MethodOptions, WorkOptions, ModelOptions, RecordOptions, total=False):
    """The options of ``evaluate``, which is the command ``run``."""

    config: Annotated[Folder | None, Option("A best.toml or run.toml instead of --method.")]
    test: Annotated[bool, Option("Score the test split instead of the validation folds.", False)]
    seed: Annotated[int | None, Option("Seed of everything random; default 0.", least=0)]
    repeats: Repeats
    export: Annotated[
        Folder | None,
        Option("Folder for copies of the artifacts; or one of them, by its name: features.csv."),
    ]


class RunArguments(TypedDict, total=False):
    """What a run evaluates; its configuration says it otherwise."""

    method: Annotated[
        "MethodLike | None", Option("Method with its parameters.", short="-m", complete="methods", cli_type=str | None)
    ]
    dataset: Annotated[
        "DatasetLike | None",
        Option(f"Data set; default {DEFAULT_DATASET}.", short="-d", complete="datasets", cli_type=str | None),
    ]
    task: Annotated[str | None, Option(f"Protocol; default {DEFAULT_TASK}.", short="-t", complete="tasks")]


class RunCommand(RunArguments, RunOptions, total=False):
    """The options of the command ``run``."""

    json: Json


class SweepOptions(MethodOptions, WorkOptions, RecordOptions, total=False):
    """The options of ``sweep``."""

    points: Annotated[int, Option("Values in a numeric range.", 9, least=2)]
    test: Annotated[bool, Option("Score the test split, too, for analysis; each point counts as a look at it.", False)]
    repeats: Repeats
    seed: Seed
    metric: Annotated[str | None, Option("Metric of the curve; default: the task's.")]


class SweepArguments(TypedDict, total=False):
    """What a sweep varies, and of what."""

    method: Annotated[
        "MethodLike | Sequence[MethodLike]",
        Option(_SEVERAL_METHODS_HELP, REQUIRED, short="-m", complete="methods", cli_type=list[str]),
    ]
    param: Annotated[str, Option("The hyperparameter, or the option of the task, that varies.", REQUIRED, short="-p")]
    range: Annotated[Any, Option("low..high, low..high:log or a|b|c; default: its search range.", cli_type=str | None)]
    dataset: Dataset
    task: Task


class SweepCommand(SweepArguments, SweepOptions, total=False):
    """The options of the command ``sweep``."""

    json: Json


class BenchOptions(StudyWorkOptions, RecordOptions, total=False):
    """The options of ``bench``."""

    only: Annotated[
        Texts | None, Option("A data set, a row, or DATA/ROW of the suite. May be repeated.", cli_type=_TEXTS)
    ]
    trials: Annotated[int | None, Option("Trials of every search; default: the suite's.", short="-n", least=1)]
    repeats: Annotated[int | None, Option("Repeats of random methods; default: the suite's.", least=1)]
    splits: Annotated[
        int | None,
        Option(
            "Draw the seen and unseen classes of each data set anew, so many times, in place of the given ones.",
            least=2,
        ),
    ]
    out: Annotated[Folder | None, Option("Folder of the tables; default: suites/SUITE in the store.")]
    keep: Annotated[bool, Option("Keep scores and differences with their provenance among the results.", False)]
    results: Annotated[Folder | None, Option("Folder of kept results; default: ./results.")]
    abreast: Annotated[
        int | None,
        Option("Studies carried out side by side; default: as many as keep the workers busy.", least=1),
    ]


class BenchArguments(TypedDict, total=False):
    """Which suite is carried out."""

    suite: Annotated[
        Any,
        Option(
            "Name of a suite (zslplat list suites), or a TOML file.",
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
        bool, Option("Say what is done already, and what time, memory and disk the rest would take.", False)
    ]
    probe: Annotated[
        float, Option("Seconds that --dry-run may take to time methods of which nothing is recorded.", 60, least=0)
    ]
    json: Json


class CompareOptions(TrackingOptions, SilenceOptions, total=False):
    """The options of ``compare``; those that may be repeated take a text or several in Python."""

    dataset: Annotated[
        Texts | None,
        Option(
            "Data set; may be repeated. Default: all that are recorded; several make a table methods x data sets.",
            short="-d",
            complete="datasets",
            cli_type=_TEXTS,
        ),
    ]
    task: Annotated[
        Texts | None,
        Option(
            "Task; may be repeated. Default: all that are recorded on the data sets, a table each.",
            short="-t",
            complete="tasks",
            cli_type=_TEXTS,
        ),
    ]
    method: Annotated[
        Texts | None,
        Option(
            'Show these methods only: a name or spec, or a pattern, "mfmr*".',
            short="-m",
            complete="methods",
            cli_type=_TEXTS,
        ),
    ]
    study: Annotated[
        Texts | None,
        Option("Show these studies only, by name or pattern.", complete="studies", cli_type=_TEXTS),
    ]
    mlflow_experiment: Annotated[
        Texts | None,
        Option('Show what one MLflow experiment holds only, "zsl: digit-pairs".', cli_type=_TEXTS),
    ]
    suite: Annotated[Texts | None, Option("Show what was recorded for this suite only.", cli_type=_TEXTS)]
    tag: Annotated[
        Texts | None,
        Option("Show what was recorded with this tag only (tune --tag).", metavar="KEY[=VALUE]", cli_type=_TEXTS),
    ]
    against: Annotated[
        Any,
        Option(
            "What the others are compared with. Default: the best on validation; over data sets, the best mean rank.",
            cli_type=str | None,
        ),
    ]
    metric: Annotated[
        Texts | None,
        Option("Metric; may be repeated, for a table each. Default: the task's own.", cli_type=_TEXTS),
    ]
    all: Annotated[bool, Option("A row per study and single run; default: one per experiment.", False)]


class CompareArguments(TypedDict, total=False):
    """What is compared."""

    names: Annotated[
        Any,
        Option(
            'Studies, methods, specs, run ids or rows of suites, patterns as "mfmr*" among them; default: all.',
            metavar="[NAME]...",
            cli_type=_TEXTS,
            positional=True,
        ),
    ]


class CompareCommand(CompareArguments, CompareOptions, total=False):
    """The options of the command ``compare``, which names what the others are compared with by a text."""

    out: Annotated[
        Path | None,
        Option(
            "File that gets the table, by its ending: .md, .tex, .csv, .parquet or .json. "
            "Of several data sets .svg or .png draws mean ranks with their critical difference."
        ),
    ]
    wide: Annotated[bool, Option("Show every column, however wide the table is.", False)]
    json: Json
