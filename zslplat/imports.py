"""Imports of plugins' modules, of which none can stop, hold up or spoil the program.

Before a module of another distribution is imported here, a process of its own imports it: a crash, ``os._exit``, a
thread that never ends or a loop is noticed from outside. What did no harm there is remembered in the user's cache
folder, with size and time of the files that it imported, and is not tried again before one of them changes.
zslplat's own modules are imported at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zslplat.errors import PluginError

IMPORT_SECONDS, EXIT_SECONDS, UNUSED_DAYS = 30.0, 5.0, 90
# Verdicts of this command, for the processes that it starts: {module and file: harm, empty for none}.
VARIABLE = "ZSLPLAT_IMPORTS"
_CODE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from zslplat.imports import _try; _try(*sys.argv[2:])"
_trying = False
_keeping = threading.RLock()  # the streams and variables are those of all threads


def load(point: EntryPoint) -> Any:
    """Import what an entry point names; raises :class:`PluginError` for a module that harms a program.

    Whatever else the import raises is raised.
    """
    if point.module.partition(".")[0] == "zslplat":
        return point.load()
    if harm := harm_of(point):
        raise PluginError(f"module {point.module} {harm}")
    with program_kept():
        return point.load()


@contextlib.contextmanager
def program_kept() -> Iterator[None]:
    """Undo what a plugin's code does to the program: folder, variables, signal handlers, standard streams.

    What it prints goes to standard error. Variables that it adds stay, for libraries that read them later, unless they
    are settings of zslplat.
    """
    with _keeping:
        yield from _kept_program()


def _kept_program() -> Iterator[None]:
    streams = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr", "excepthook")}
    variables, folder = dict(os.environ), None
    with contextlib.suppress(OSError):
        folder = os.getcwd()
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    _flush()
    output = None
    with contextlib.suppress(OSError):
        output = os.dup(1)
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        with open(os.devnull, encoding="utf-8") as sys.stdin:
            yield
    finally:
        for name, value in streams.items():
            setattr(sys, name, value)
        _flush(compiled=True)
        if output is not None:
            os.dup2(output, 1)
            os.close(output)
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        for name in os.environ.keys() - variables.keys():
            if name.startswith("ZSLPLAT_") and name != VARIABLE:
                del os.environ[name]
        os.environ.update({name: value for name, value in variables.items() if name != VARIABLE})
        if folder is not None:
            with contextlib.suppress(OSError):
                os.chdir(folder)


def _flush(*, compiled: bool = False) -> None:
    """Write what streams hold, those of compiled libraries as well."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    if compiled:
        import ctypes

        with contextlib.suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)


def harm_of(point: EntryPoint) -> str:
    """Return what the import of a module does to a program, in words; empty for no harm, and where it only raises."""
    if _trying or point.module in sys.modules:
        return ""
    key = _key(point)
    verdicts: dict[str, str] = json.loads(os.environ.get(VARIABLE) or "{}")
    if key not in verdicts:
        path = _place(key)
        verdicts[key] = "" if path is not None and _is_unchanged(path) else _tried(point, path)
        os.environ[VARIABLE] = json.dumps(verdicts)
    return verdicts[key]


def _key(point: EntryPoint) -> str:
    """Return what tells a module from others of its name: its file, as it is, and the Python that imports it."""
    origin = None
    with contextlib.suppress(Exception):  # a finder of another package
        spec = find_spec(point.module.partition(".")[0])
        origin = spec.origin if spec is not None else None
    return f"{point.group} {point.value} {sys.prefix} {sys.version_info[:2]} {origin} {_state(origin)}"


def _state(path: str | None) -> list[int] | None:
    if path is None:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]


def _place(key: str) -> Path | None:
    """Return the file that remembers a harmless import; None where no folder of the user's is known."""
    import platformdirs

    with contextlib.suppress(OSError, RuntimeError):
        name = hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()[:16]
        return Path(platformdirs.user_cache_dir("zslplat")) / "imports" / f"{name}.json"
    return None


def _is_unchanged(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        files = json.loads(path.read_text(encoding="utf-8"))
        os.utime(path)  # it is in use
        return all(_state(file) == state for file, state in files.items())
    return False


def _remember(path: Path, files: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(files), encoding="utf-8")
        draft.replace(path)
        for other in path.parent.iterdir():
            if other.stat().st_mtime < time.time() - UNUSED_DAYS * 86400:
                other.unlink()


def _tried(point: EntryPoint, path: Path | None) -> str:
    """Import a module in a process of its own; return the harm that it does, and remember that it does none."""
    ours, theirs = os.pipe()
    search_path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
    arguments = [search_path, point.name, point.value, point.group, str(theirs)]
    nowhere = subprocess.DEVNULL
    with open(ours, "rb", buffering=0) as answers:
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE, *arguments],
                stdin=nowhere,
                stdout=nowhere,
                stderr=nowhere,
                pass_fds=(theirs,),
                start_new_session=True,
            )
        except OSError:
            return ""  # as where nothing is remembered, and nothing could be tried
        finally:
            os.close(theirs)
        try:
            text, code = _answer(answers.fileno(), process)
        finally:
            # Ctrl-C is for this process; whatever the other one has started ends with it.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    replies = [json.loads(line) for line in text.splitlines()]
    harm = _harm(replies, code)
    if not harm and path is not None and "files" in replies[0]:
        _remember(path, replies[0]["files"])
    return harm


def _answer(descriptor: int, process: subprocess.Popen[bytes]) -> tuple[bytes, int | None]:
    """Return what the process writes until it ends, and its exit code: None for one that does not end in time."""
    text, end = b"", time.monotonic() + IMPORT_SECONDS
    while select.select([descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            break
        text += piece
        if text.endswith(b"\n"):
            end = time.monotonic() + EXIT_SECONDS
    try:
        return text, process.wait(max(0.1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return text, None


def _harm(replies: list[dict[str, Any]], code: int | None) -> str:
    if any("forked" in reply for reply in replies):
        return "forks as it is imported, and the copy goes on as this program"
    reply = replies[0] if replies else {}
    if "harm" in reply:
        return str(reply["harm"])
    if code == 0 and reply:
        return ""
    if code is None and not reply:
        return f"is not imported within {IMPORT_SECONDS:g} s"
    if code is None:
        threads = ", ".join(map(repr, reply["threads"]))
        cause = f"it starts the thread {threads}, which is no daemon" if threads else "it leaves code that never ends"
        return f"keeps the program from ending: {cause}"
    how = signal.Signals(-code).name if -code in list(signal.Signals) else f"exit code {code}"
    return f"ends the program {'at its exit' if reply else 'as it is imported'} ({how})"


def _try(name: str, value: str, group: str, descriptor: str) -> None:
    """Import what an entry point names, call its hooks, and write what came of it: one line of JSON."""
    global _trying
    _trying = True
    number, pid, point = int(descriptor), os.getpid(), EntryPoint(name, value, group)
    os.set_inheritable(number, False)
    try:
        plugin = point.load()
        for attribute in dir(plugin):
            hook: Any = getattr(plugin, attribute, None)
            if hasattr(hook, "zslplat_impl"):
                with contextlib.suppress(Exception, SystemExit, GeneratorExit):
                    hook()
        reply: dict[str, Any] = {"files": _files(point.module)}
    except KeyboardInterrupt:
        reply = {"harm": "raises KeyboardInterrupt as it is imported"}
    except BaseException:
        reply = {}  # what it raises is caught where it is imported
    if os.getpid() != pid:
        os.write(number, b'{"forked": true}\n')
        os._exit(0)
    if signal.getitimer(signal.ITIMER_REAL)[0]:
        reply["harm"] = "sets an alarm, which would end the program"
    if not all(map(_is_open, (sys.__stdin__, sys.__stdout__, sys.__stderr__))):
        reply["harm"] = "closes standard input, output or error"
    threads = [t.name for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    os.write(number, json.dumps({"threads": threads, **reply}).encode() + b"\n")


def _is_open(stream: Any) -> bool:
    with contextlib.suppress(OSError, ValueError):
        os.fstat(stream.fileno())
        return True
    return False


def _files(module: str) -> dict[str, Any]:
    """Return size and time of a plugin's files that are imported, and of the first file of each package beside it."""
    root = module.partition(".")[0]
    names = [name for name in list(sys.modules) if "." not in name or name.startswith(f"{root}.")]
    files = [getattr(sys.modules[name], "__file__", None) for name in names]
    return {file: _state(file) for file in files if isinstance(file, str)}
