"""MLflow's server as a process of its own: one worker, no jobs, and gone when its command ends."""

from __future__ import annotations

import errno
import http.client
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass

from zslplat.errors import UsageError
from zslplat.platforms import end_session
from zslplat.settings import Settings

FIRST_PORT, _PORTS = 5000, 100
# Ctrl-C leaves no more than 1.5 seconds for all of it (zslplat.cli.process).
_KIND_SECONDS = 0.6


def usable_port(host: str, requested: int | None) -> int:
    """Return the port to listen on: the one that is asked for, or else the first from 5000 on that is free.

    Raises :class:`UsageError` where the one asked for is taken, or the address is none of this machine's.
    """
    for port in [requested] if requested is not None else range(FIRST_PORT, FIRST_PORT + _PORTS):
        problem = _problem(host, port)
        if problem is None:
            return port
        if requested is not None or problem.errno != errno.EADDRINUSE:
            raise UsageError(
                f"the MLflow UI cannot listen on {host}:{port}: {problem.strerror or problem}; choose another --port "
                "(or --host)"
            )
    last = FIRST_PORT + _PORTS - 1
    raise UsageError(f"the MLflow UI finds no free port on {host} from {FIRST_PORT} to {last}; give one with --port")


def _problem(host: str, port: int) -> OSError | None:
    """Return why nothing can listen there, None where it can."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in places:
            with socket.socket(family, kind, protocol) as probe:
                # As servers do: a connection that was closed just now is no obstacle.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        return error
    return None


@dataclass
class Server:
    """A server that was started, on an address of this machine."""

    host: str
    port: int
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, settings: Settings, host: str, port: int) -> Server:
        """Start MLflow's server on a store's own database."""
        environment = {
            "PYTHONWARNINGS": "ignore",  # what its authors are told of their libraries
            **os.environ,
            "MLFLOW_DISABLE_TELEMETRY": "true",
            # Jobs are of its features for language models, and take eight processes.
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }
        # Modules that lie in the folder of the command are none of its own.
        command = [sys.executable, "-P", "-m", "mlflow", "server", "--workers", "1"]
        command += ["--host", host, "--port", str(port)]
        command += ["--backend-store-uri", settings.tracking_uri]
        command += ["--default-artifact-root", settings.artifacts.as_uri(), "--uvicorn-opts", "--log-level=warning"]
        # A group of its own, so that Ctrl-C ends the server and all that it has started.
        return cls(host, port, subprocess.Popen(command, env=environment, start_new_session=True))

    @property
    def address(self) -> str:
        """Its address for a browser on this machine."""
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}"

    def answers(self) -> bool:
        """Wait until it answers a request; False where its process ends before."""
        place = self.address.removeprefix("http://")
        while self.process.poll() is None:
            connection = http.client.HTTPConnection(place, timeout=1)
            try:
                connection.request("GET", "/health")
                connection.getresponse()
                return True
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            finally:
                connection.close()
        return False

    def end(self) -> None:
        """End it and all that it has started, first kindly."""
        end_session(self.process, _KIND_SECONDS)
