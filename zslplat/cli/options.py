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
    """Resolve places, silenced checks and tags from the options of a command."""
    from zslplat.front.requests import settings_of

    places = {"data_root": data_root, "store": store, "tracking_uri": tracking_uri, "storage_url": storage_url}
    return settings_of({**places, "silence": silence, "tag": tag})


def say(text: str) -> None:
    """Print a warning of a command that has no progress to show."""
    echo(f"warning: {text}", err=True)
