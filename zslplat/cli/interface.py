"""``ui``: the MLflow UI on the right store."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from zslplat.cli import options as o


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(ui)


def ui(
    port: Annotated[int, typer.Option("--port", help="Port on this machine.", min=1, max=65535)] = 5000,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    store: o.Store = None,
) -> None:
    """Start the MLflow UI on the store's runs and print its address; Ctrl-C ends it."""
    import os
    import signal
    import subprocess
    import sys

    from zslplat.errors import StoreError, UsageError
    from zslplat.tracking.stores import show_what_is_left

    settings = o.settings_from(store=store)
    if not settings.tracking_is_local:
        typer.echo(f"runs are tracked at {settings.shown_tracking_uri}; open that address in a browser")
        return
    if not (settings.store / "mlflow.db").exists():
        recorded = (settings.store / "optuna.db").exists()
        hint = "zslplat store rebuild makes them anew from the records" if recorded else "tune or run something first"
        raise StoreError(f"no runs in {settings.store} yet; {hint}, or give --store")
    show_what_is_left(settings, o.say)
    problem = _unusable(host, port)
    if problem:
        raise UsageError(f"the MLflow UI cannot listen on {host}:{port}: {problem}; choose another --port (or --host)")
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", settings.tracking_uri]
    command += ["--default-artifact-root", settings.artifacts.as_uri(), "--host", host, "--port", str(port)]
    # A group of its own, so that Ctrl-C ends the server and all that it has started.
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    stopped = answered = False
    try:
        answered = _wait_for_answer(process, host, port)
        if answered:
            # Only now is there something to open.
            typer.echo(f"MLflow UI on http://{host}:{port} for {settings.store} (Ctrl-C ends it)")
        process.wait()
    except KeyboardInterrupt:
        stopped = True
    finally:
        _end_group(process.pid)
    # Whatever its exit code says: the server is to run until somebody stops it.
    if not stopped:
        when = "" if answered else " before it answered"
        raise StoreError(
            f"the MLflow UI ended by itself{when}, with exit code {process.returncode}; its own messages are above; "
            f"if port {port} is taken choose another with --port"
        )


def _unusable(host: str, port: int) -> str:
    """Return why nothing can listen there, an empty text where it can."""
    import socket

    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in places:
            with socket.socket(family, kind, protocol) as probe:
                # As servers do: a connection that was closed just now is no obstacle.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        return str(error.strerror or error)
    return ""


def _wait_for_answer(process: Any, host: str, port: int) -> bool:
    """Wait until the server takes connections; False where its process ends before."""
    import socket
    import time

    there = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    while process.poll() is None:
        try:
            socket.create_connection((there, port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return True
    return False


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
