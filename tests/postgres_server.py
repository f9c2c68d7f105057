"""A real PostgreSQL for tests: a cluster of its own in a temporary folder, on a free port, gone when the tests end.

Nothing is mocked, and no server of the machine is touched. PostgreSQL refuses to run as root, so root starts it as
another user.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

_USERS = ("postgres", "nobody")
# Nobody needs these data after a loss of power; a crash of the server alone loses nothing that was committed.
_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
shared_buffers = 16MB
max_connections = 60
"""


def missing() -> str:
    """Return why no server can be started here, or an empty string."""
    if _programs() is None:
        return "no PostgreSQL here: pg_ctl is neither on the PATH nor under /usr/lib/postgresql (Debian: postgresql)"
    if os.geteuid() == 0 and _other_user() is None:
        return f"PostgreSQL refuses root, and there is none of the users {', '.join(_USERS)} to run it"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'zslplat[postgres]'"
    return ""


class PostgresServer:
    """A server that can be stopped, killed and started again; ``url`` is that of one of its databases."""

    def __init__(self) -> None:
        programs = _programs()
        assert programs is not None, missing()
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="zslplat-postgres-"))
        self._user = _other_user() if os.geteuid() == 0 else None
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self._data, self._log = self.folder / "data", self.folder / "log"
        self._call("initdb", "-D", self._data, "-U", "me", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        with open(self._data / "postgresql.conf", "a") as file:
            file.write(f"{_SETTINGS}port = {self.port}\n")
        self._numbers = itertools.count()

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        self._call("pg_ctl", "-D", self._data, "-l", self._log, "-w", "-t", 120, "start")

    def stop(self, how: str = "immediate") -> None:
        """Stop the server: ``immediate`` is like a crash, after which it recovers; ``fast`` says goodbye."""
        self._call("pg_ctl", "-D", self._data, "-m", how, "-w", "-t", 120, "stop")

    def restart(self, how: str = "immediate") -> None:
        """Stop the server and start it again."""
        self.stop(how)
        self.start()

    @property
    def runs(self) -> bool:
        """Whether the server is running."""
        return (self._data / "postmaster.pid").exists()

    def new_database(self) -> str:
        """Make an empty database and return its URL."""
        import psycopg

        name = f"test_{next(self._numbers)}"
        with psycopg.connect(host="127.0.0.1", port=self.port, user="me", dbname="postgres", autocommit=True) as c:
            c.execute(f"create database {name}")
        return self.url(name)

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgresql+psycopg://me@127.0.0.1:{self.port}/{database}"

    def remove(self) -> None:
        """Stop the server and remove its files."""
        if self.runs:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, program: str, *arguments: object) -> None:
        # What the server prints goes to its log: it would keep a pipe open for as long as it runs.
        with open(self.folder / "calls.log", "a+") as log:
            done = subprocess.run(
                [str(self.programs / program), *map(str, arguments)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                user=self._user.pw_uid if self._user else None,
                group=self._user.pw_gid if self._user else None,
                extra_groups=[] if self._user else None,
                start_new_session=True,
                timeout=800,
            )
        assert done.returncode == 0, (self.folder / "calls.log").read_text()


def _programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, those of the newest version; None where there are none."""
    found = shutil.which("pg_ctl")
    if found is not None:
        return Path(found).resolve().parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")]
    return max(folders, key=lambda folder: float(folder.parent.name), default=None)


def _other_user() -> pwd.struct_passwd | None:
    for name in _USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None
