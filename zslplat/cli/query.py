"""``query``: ask the index of an exemplar run for the rows most similar to new ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zslplat.cli import options as o


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(query)


def query(
    run: Annotated[str, typer.Option("--run", help="RUN of task exemplar-retrieval, or an index folder.")],
    input_: Annotated[
        Path, typer.Option("--input", help="Rows to look up: a .npy file (q, d), as data sets hold them.")
    ],
    top: Annotated[int, typer.Option("--top", help="How many rows of the gallery to show for each.", min=1)] = 10,
    store: o.Store = None,
    tracking_uri: o.TrackingUri = None,
    storage_url: o.StorageUrl = None,
    as_json: o.Json = False,
) -> None:
    """Find the rows of a run's gallery that are most similar to the given ones."""
    import numpy as np
    from rich.table import Table

    from zslplat.cli.reporting import print_json, stdout_console
    from zslplat.data.formats.npz import load_npy
    from zslplat.errors import DataError
    from zslplat.methods.exemplars.index import ExemplarIndex
    from zslplat.records.opening import existing_records
    from zslplat.tuning.rerun import artifact_folder

    folder = Path(run)
    if not (folder / "index.json").is_file():
        settings = o.settings_from(store=store, tracking_uri=tracking_uri, storage_url=storage_url)
        folder = artifact_folder(settings, existing_records(settings, o.say), run, "index")
    try:
        X = load_npy(Path(input_))
    except (OSError, ValueError) as error:
        raise DataError(f"{input_} cannot be read: {error}; give a .npy file of rows (q, d)") from error
    columns = ExemplarIndex.load(folder).query(np.atleast_2d(X), top).columns()
    if as_json:
        print_json(columns)
        return
    table = Table(*columns)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(f"{v:.6g}" if isinstance(v, float) else str(v) for v in row))
    stdout_console().print(table)
