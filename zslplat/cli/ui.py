"""``ui`` and ``docs``: what opens in a browser, the MLflow UI on its newest results, and the documentation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

from zslplat.cli.commands import Commands
from zslplat.cli.invocation import echo
from zslplat.front.options import Store, TrackingUri
from zslplat.front.schema import Option

if TYPE_CHECKING:
    from zslplat.settings import Settings


def register(app: Commands) -> None:
    """Add the commands to the application."""
    app.command()(ui)
    app.command()(docs)


class UiOptions(TypedDict, total=False):
    """The options of ``ui``."""

    port: Annotated[
        int | None, Option("Port on this machine; default: 5000, or the next that is free.", least=1, most=65535)
    ]
    host: Annotated[str, Option("Address to listen on.", "127.0.0.1")]
    open: Annotated[
        bool, Option("Open a browser, where there is a screen.", True, flag="--open/--no-open", show_default=False)
    ]
    store: Store
    tracking_uri: TrackingUri


def ui(options: UiOptions) -> None:
    """Open the MLflow UI on the newest results; Ctrl-C ends it.

    With a tracking server the link leads there, and nothing is started.
    """
    from zslplat.front.requests import settings_of

    settings = settings_of(options)
    if settings.tracking_is_local:
        _serve(settings, options["host"], options["port"], opened=options["open"])
    else:
        _lead_to_server(settings, opened=options["open"])


def _lead_to_server(settings: "Settings", *, opened: bool) -> None:
    from zslplat.tracking.experiment_page import server_start

    shown = settings.shown_tracking_uri
    echo(f"runs are tracked at {shown}; open that address in a browser")
    if shown.startswith("http"):
        link = f"{shown.rstrip('/')}/{server_start(settings)}"
        echo(link)
        if opened and shown == settings.tracking_uri:
            _open(link)


def _serve(settings: "Settings", host: str, port: int | None, *, opened: bool) -> None:
    """Start a server on the store's own database, and stay until it ends or somebody ends it."""
    import signal

    from zslplat.cli.mlflow_server import Server, usable_port
    from zslplat.cli.output import warn
    from zslplat.errors import StoreError, require_package
    from zslplat.listeners import catch_up
    from zslplat.tracking.experiment_page import local_start

    if not (settings.store / "mlflow.db").exists():
        recorded = (settings.store / "optuna.db").exists()
        hint = "zslplat store rebuild makes them anew from the records" if recorded else "tune or run something first"
        raise StoreError(f"no runs in {settings.store} yet; {hint}, or give --store")
    require_package("flask", "ui", "the MLflow UI")
    catch_up(settings, warn)
    free = usable_port(host, port)
    signal.signal(getattr(signal, "SIGHUP", signal.SIGTERM), signal.default_int_handler)
    stopped = answered = False
    server = Server.start(settings, host, free)
    try:
        path = local_start(settings)
        answered = server.answers()
        if answered:
            # Only now is there something to open.
            link = f"{server.address}/{path}"
            echo(f"MLflow UI on {server.address} for {settings.store} (Ctrl-C ends it)")
            echo(f"newest results: {link}")
            if opened:
                _open(link)
        server.process.wait()
    except KeyboardInterrupt:
        stopped = True
    finally:
        server.end()
    # Whatever its exit code says: the server is to run until somebody stops it.
    if not stopped:
        when = "" if answered else " before it answered"
        raise StoreError(
            f"the MLflow UI ended by itself{when}, with exit code {server.process.returncode}; its own messages are "
            f"above; if port {server.port} is taken choose another with --port"
        )


def _open(link: str) -> None:
    """Open a browser of somebody who sits before a screen; whatever comes of it, the link is printed."""
    import os
    import sys
    import webbrowser
    from contextlib import suppress

    elsewhere = sys.platform.startswith("linux") or "SSH_CONNECTION" in os.environ
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if sys.stdout.isatty() and (screen or not elsewhere):
        with suppress(Exception):
            webbrowser.open(link)


class DocsOptions(TypedDict, total=False):
    """The options of ``docs``."""

    path: Annotated[bool, Option("Print where the first page is, and open nothing.", False)]
    skills: Annotated[
        Path | None,
        Option("Write step-by-step instructions for programs into this folder, and open nothing.", metavar="FOLDER"),
    ]


def docs(options: DocsOptions) -> None:
    """Open the documentation in the browser; it needs no network.

    Where the installation brings no built site, the written pages are shown as plain HTML.
    """
    import webbrowser

    from zslplat.documentation_site import start_page, write_skills

    if options["skills"] is not None:
        echo("\n".join(str(path) for path in write_skills(options["skills"])))
        return
    page = start_page()
    # First the address: a machine without a browser has nothing to open it with.
    echo(str(page))
    if not options["path"] and not webbrowser.open(page.as_uri()):
        echo("no browser could be opened here; open that file in one", err=True)
