"""``data list``, ``info``, ``import`` and ``prepare``."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Data sets: list, describe, import your own, fetch the public archive.")
