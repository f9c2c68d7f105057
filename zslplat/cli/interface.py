"""``ui``: the MLflow UI on the right store."""

from __future__ import annotations

from typing import Annotated

import typer

from zslplat.cli import options as o


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(ui)


def ui(
    port: Annotated[int, typer.Option("--port", help="Port on this machine.", min=1, max=65535)] = 5000,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    store: o.Store = None,
    debug: o.Debug = False,
) -> None:
    """Start the MLflow UI on the store's runs and print its address; Ctrl-C ends it."""
    import os
    import signal
    import subprocess
    import sys

    from zslplat.errors import StoreError

    settings = o.settings_from(store=store)
    if not settings.tracking_is_local:
        typer.echo(f"runs are tracked at {settings.tracking_uri}; open that address in a browser")
        return
    if not (settings.store / "mlflow.db").exists():
        raise StoreError(f"no runs in {settings.store} yet; tune or run something first, or give --store")
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    typer.echo(f"MLflow UI on http://{host}:{port} for {settings.store} (Ctrl-C ends it)")
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", settings.tracking_uri]
    command += ["--default-artifact-root", settings.artifacts.as_uri(), "--host", host, "--port", str(port)]
    # A group of its own, so that Ctrl-C ends the server and all that it has started.
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        code = 0
    finally:
        _end_group(process.pid)
    if code != 0:
        raise StoreError(f"the MLflow UI ended with code {code}; is port {port} taken? choose another with --port")


def _end_group(group: int) -> None:
    """End all processes of a group, first kindly."""
    import contextlib
    import os
    import signal
    import time

    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
        time.sleep(0.5)
        os.killpg(group, signal.SIGKILL)
