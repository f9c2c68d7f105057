"""Python runs this at its start where this folder is on PYTHONPATH: zslplat then sees another system than the one here.

``SIMULATED_SYSTEM``: ``macos`` has no fork and no memory without a name; ``windows`` lacks what POSIX alone has, too,
opens no folders, renames and removes nothing that one of its processes has open, and has characters that no name of a
file may have. What other packages use is left to them. Locks of Windows are made of those that Linux has for ranges of
bytes.
"""

import builtins
import contextlib
import errno
import fcntl
import importlib
import multiprocessing.resource_tracker
import os
import select
import shutil
import signal
import socket
import struct
import sys
import types

_MACOS = {
    os: "fork memfd_create MFD_CLOEXEC sched_getaffinity posix_fadvise POSIX_FADV_WILLNEED waitid",
}
_WINDOWS = {
    os: f"{_MACOS[os]} setsid setpgid getpgrp getpgid getsid killpg preadv pread pwrite sched_yield"
    " WNOHANG WEXITED WNOWAIT P_ALL P_PGID O_CLOEXEC O_NOFOLLOW O_DIRECTORY O_NONBLOCK getuid geteuid getgid uname"
    " sysconf statvfs getloadavg nice mkfifo chown fchown fchmod fdatasync register_at_fork",
    signal: "SIGKILL SIGSTOP SIGCONT SIGCHLD SIGHUP SIGUSR1 SIGUSR2 SIGALRM SIGPIPE SIGQUIT SIG_BLOCK SIG_UNBLOCK"
    " SIG_SETMASK pthread_sigmask pthread_kill setitimer alarm siginterrupt sigwait",
    select: "poll epoll",
    socket: "AF_UNIX send_fds recv_fds",
    multiprocessing.resource_tracker: "ensure_running",
}
_NO_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "_posixshmem"}
_ROOT = os.environ.get("SIMULATED_ROOT", "")
_UNFIT = set('<>:"|?*\\')


def _inside(name):
    return str(name).partition(".")[0].startswith("zslplat")


def _hide(module, names):
    hidden = frozenset(names)

    class Partial(types.ModuleType):
        def __getattribute__(self, name):
            if name in hidden and _inside(sys._getframe(1).f_globals.get("__name__")):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r} on this system")
            return super().__getattribute__(name)

    module.__class__ = Partial


def _refuse_modules():
    importing = builtins.__import__

    def import_module(name, globals=None, locals=None, fromlist=(), level=0):
        if name in _NO_MODULES and _inside((globals or {}).get("__name__")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return importing(name, globals, locals, fromlist, level)

    builtins.__import__ = import_module


def _offer_msvcrt():
    ranges = set()

    def locking(descriptor, mode, length):
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        if mode == msvcrt.LK_UNLCK and (descriptor, place, length) not in ranges:
            raise PermissionError(errno.EACCES, "Permission denied")  # not locked, or not as one range
        kind = fcntl.F_UNLCK if mode == msvcrt.LK_UNLCK else fcntl.F_WRLCK
        request = struct.pack("hhqqi4x", kind, os.SEEK_SET, place, length, 0)
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None
        (ranges.discard if mode == msvcrt.LK_UNLCK else ranges.add)((descriptor, place, length))

    msvcrt = types.SimpleNamespace(LK_UNLCK=0, LK_NBLCK=2, locking=locking)
    importing = importlib.import_module
    importlib.import_module = lambda name, package=None: msvcrt if name == "msvcrt" else importing(name, package)


def _open_files():
    """Return the files that this process and those around it on the same system have open or mapped."""
    paths = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ", "rb") as environment:
                if f"\0SIMULATED_ROOT={_ROOT}\0".encode() not in b"\0" + environment.read():
                    continue
            for number in os.listdir(f"/proc/{process}/fd"):
                with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
                    paths.add(os.readlink(f"/proc/{process}/fd/{number}"))
            with open(f"/proc/{process}/maps") as maps:
                paths |= {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if line.count("/")}
        except OSError:
            continue  # it has ended
    return {path for path in paths if path.startswith(_ROOT) and not os.path.isdir(path)}


def _refuse(number, path, why):
    raise PermissionError(number, f"{why} on this system", path)


def _check_names(path):
    if _UNFIT & set(path) or any(part.endswith((".", " ")) for part in path.split("/") if part != "."):
        raise OSError(errno.EINVAL, f"no name of a file on this system: {path}", path)


def _watch_files(event, arguments):
    if event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"):
        return
    paths = [os.path.abspath(os.fsdecode(p)) for p in arguments[:2] if isinstance(p, str | bytes | os.PathLike)]
    paths = [path for path in paths if path.startswith(_ROOT)]
    if event in ("open", "os.mkdir"):
        for path in paths[:1]:
            _check_names(os.path.relpath(path, _ROOT))
            if os.path.isdir(path) and event == "open":
                _refuse(errno.EACCES, path, "a folder is not opened")
    elif paths:
        busy = [used for used in _open_files() for path in paths if used == path or used.startswith(f"{path}/")]
        if busy:
            _refuse(errno.EACCES, busy[0], "an open file is neither renamed nor removed")


_system = os.environ.get("SIMULATED_SYSTEM")
if _system == "macos":
    for _module, _names in _MACOS.items():
        _hide(_module, _names.split())
elif _system == "windows":
    _refuse_modules()
    _offer_msvcrt()
    shutil._use_fd_functions = False  # removes folders by their paths, as there
    for _module, _names in _WINDOWS.items():
        _hide(_module, _names.split())
    if _ROOT:
        sys.addaudithook(_watch_files)
