"""The options that several commands share, defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from zslplat.cli import completion
from zslplat.cli.invocation import echo, json_callback
from zslplat.evaluation.workers.memory import memory_limit as memory_limit
from zslplat.evaluation.workers.memory import worker_count as worker_count

_PLACES, _OUTPUT, _WORK = "Places", "Output", "Work"

Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        autocompletion=completion.methods,
        help='Method, for example mfmr-joint or "mfmr(lam=1,k=10)".',
    ),
]
DatasetSpec = Annotated[
    str,
    typer.Option(
        "--dataset",
        "-d",
        autocompletion=completion.datasets,
        help='Data set: a registered name or a folder of the data root, "CIFAR100(features=mnv2)".',
    ),
]
TaskSpec = Annotated[
    str,
    typer.Option(
        "--task",
        "-t",
        autocompletion=completion.tasks,
        help="Protocol: zsl, gzsl, retrieval, ... (zslplat list tasks).",
    ),
]
Set = Annotated[list[str] | None, typer.Option("--set", help="Fix a hyperparameter: lam=1. May be repeated.")]
Kernel = Annotated[
    str | None,
    typer.Option(
        "--kernel", autocompletion=completion.kernels, help="Kernel of a kernel method; short for --set kernel=..."
    ),
]
Features = Annotated[
    str | None,
    typer.Option("--features", help="Preprocessing of features instead of the method's own: hellinger,center,l2."),
]
Signatures = Annotated[
    str | None, typer.Option("--signatures", help="Preprocessing of signatures instead of the method's own.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.", min=0)]
Workers = Annotated[
    int | None, typer.Option("--workers", "-w", help="Worker processes; default: the cores, at most 4.", min=1)
]
Cluster = Annotated[str | None, typer.Option("--cluster", help="Address of a Dask scheduler.")]
Repeats = Annotated[int, typer.Option("--repeats", help="Repeats of the final evaluation of random methods.", min=1)]
TrialTimeout = Annotated[
    float | None, typer.Option("--trial-timeout", help="Seconds after which one evaluation is stopped.", min=0.1)
]
Memory = Annotated[
    float | None,
    typer.Option("--memory", help="GiB of memory of all processes together; default: 80% of the machine's.", min=0.1),
]
DataRoot = Annotated[
    Path | None, typer.Option("--data-root", help="Folder of data sets [ZSLPLAT_DATA_ROOT].", rich_help_panel=_PLACES)
]
Store = Annotated[
    Path | None,
    typer.Option(
        "--store", help="Folder of everything recorded [ZSLPLAT_STORE]; default mlruns.", rich_help_panel=_PLACES
    ),
]
TrackingUri = Annotated[
    str | None,
    typer.Option("--tracking-uri", help="MLflow server instead of the store's own file.", rich_help_panel=_PLACES),
]
StorageUrl = Annotated[
    str | None,
    typer.Option(
        "--storage-url", help="Database of studies (SQLAlchemy URL), e.g. PostgreSQL.", rich_help_panel=_PLACES
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the result as JSON, nothing else.",
        rich_help_panel=_OUTPUT,
        callback=json_callback,
        is_eager=True,
    ),
]
Silence = Annotated[
    list[str] | None,
    typer.Option(
        "--silence",
        autocompletion=completion.checks,
        help="Code of a check whose findings are counted, not shown: ZSP101. May be repeated [ZSLPLAT_SILENCE].",
        rich_help_panel=_OUTPUT,
    ),
]
Tag = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="KEY=VALUE",
        help="Tag of what is recorded, to find it by (compare --tag) and in MLflow. May be repeated [ZSLPLAT_TAGS].",
        rich_help_panel=_OUTPUT,
    ),
]
NoModel = Annotated[
    bool,
    typer.Option("--no-model", help="Keep no model of the final evaluation for predict, export and the like."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.", rich_help_panel=_OUTPUT)]


def settings_from(
    data_root: Path | None = None,
    store: Path | None = None,
    tracking_uri: str | None = None,
    storage_url: str | None = None,
    silence: list[str] | None = None,
    tag: list[str] | None = None,
) -> Any:
    """Resolve places, silenced checks and tags from the options of a command; see :func:`front.asking.places`."""
    from zslplat.front.asking import places

    return places(data_root, store, tracking_uri, storage_url, silence, tag)


def method_spec(method: str, assignments: list[str] | None, kernel: str | None, *, recorded: bool = False) -> Any:
    """Combine ``--method``, ``--set`` and ``--kernel`` into one spec; see :func:`zslplat.front.asking.combined`."""
    from zslplat.front.asking import combined
    from zslplat.spec import Spec

    return combined(Spec.parse(method), assigned(assignments), kernel, recorded=recorded)


def assigned(assignments: list[str] | None) -> dict[str, Any]:
    """Read ``--set name=value`` options; raises :class:`UsageError` for a name that is given twice."""
    from zslplat.errors import UsageError
    from zslplat.spec import parse_assignment

    values: dict[str, Any] = {}
    for text in assignments or []:
        name, value = parse_assignment(text)
        if name in values:
            raise UsageError(f"--set gives {name} twice, the second time as {text!r}; leave one out")
        values[name] = value
    return values


def places_given(settings: Any) -> str:
    """Return the options, ready to be appended to a command, that lead to these places where nothing else would.

    A password is masked, so that such a command asks for it again.
    """
    import shlex

    usual = settings_from()
    options = {
        "--data-root": (settings.data_root, usual.data_root),
        "--store": (settings.store, usual.store),
        "--tracking-uri": (
            settings.shown_tracking_uri,
            None if settings.tracking_is_local else usual.shown_tracking_uri,
        ),
        "--storage-url": (settings.masked(settings.storage_url), usual.masked(usual.storage_url)),
    }
    if settings.tracking_is_local:
        del options["--tracking-uri"]
    if settings.storage_is_local:
        del options["--storage-url"]
    return "".join(
        f" {option} {shlex.quote(str(value))}"
        for option, (value, known) in options.items()
        if value not in (known, None)
    )


def ranges_from(spaces: list[str] | None) -> dict[str, str]:
    """Read ``--space name=range`` options."""
    from zslplat.errors import UsageError

    ranges: dict[str, str] = {}
    for text in spaces or []:
        name, separator, value = text.partition("=")
        if not separator or not name.strip() or not value.strip():
            raise UsageError(f"--space {text!r}: write name=low..high, name=low..high:log or name=a|b|c")
        if name.strip() in ranges:
            raise UsageError(f"--space gives {name.strip()} twice, the second time as {text!r}; leave one out")
        ranges[name.strip()] = value.strip()
    return ranges


def say(text: str) -> None:
    """Print a warning of a command that has no progress to show."""
    echo(f"warning: {text}", err=True)
