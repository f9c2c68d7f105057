"""``docs``: the documentation of the installed version, read without a network."""

from __future__ import annotations

from typing import Annotated

import typer

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo


def register(app: Commands) -> None:
    """Add the command to the application."""
    app.command()(docs)


def docs(
    path: Annotated[bool, typer.Option("--path", help="Print where the first page is, and open nothing.")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build it anew, with the plugins installed now.")] = False,
) -> None:
    """Open the documentation of the installed version in the browser; it needs no network.

    Where the installation brings no built copy, the first call builds one into the user's cache, with the packages of
    ``zslplat[docs]``.
    """
    import webbrowser

    from zslplat.documentation_site import start_page

    page = start_page(rebuild=rebuild, report=lambda line: echo(line, err=True))
    # First the address: a machine without a browser has nothing to open it with.
    echo(str(page))
    if not path and not webbrowser.open(page.as_uri()):
        echo("no browser could be opened here; open that file in one", err=True)
