"""A method that starts processes in every way they can hide, for those who look whether any outlives its job."""

from __future__ import annotations

import psutil

from zslplat.evaluation.jobs import PrepareJob

BREEDER = """
import os, signal, subprocess, sys, time
import numpy as np
from zslplat.api import Choice, MethodError, Parameter, ZeroShotMethod, hookimpl

SLEEP = "import time, sys; sys.argv; time.sleep(600)"
HOARD = "import time; hoard = b'x' * 600_000_000; time.sleep(600)"


def busy(*names):
    return subprocess.Popen([sys.executable, "-c", SLEEP, *names])


def plain(mark):
    busy(mark)


def session(mark):
    subprocess.Popen([sys.executable, "-c", SLEEP, mark], start_new_session=True)


def grandchild(mark):
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}, {mark!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)


def double_fork(mark):
    first = os.fork()
    if first == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.execv(sys.executable, [sys.executable, "-c", SLEEP, mark])
        os._exit(0)
    os.waitpid(first, 0)


def double_fork_alone(mark):
    first = os.fork()
    if first == 0:
        os.setsid()
        if os.fork() == 0:
            os.environ.clear()
            time.sleep(600)
        os._exit(0)
    os.waitpid(first, 0)


def deaf(mark):
    code = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; " + SLEEP
    subprocess.Popen([sys.executable, "-c", code, mark], start_new_session=True)


def breeding(mark):
    # Each process leaves its session and has two successors: 256 of them when nobody stops it.
    code = (
        "import os, sys, time\\n"
        "for _ in range(8):\\n"
        "    if os.fork() == 0:\\n"
        "        os.setsid()\\n"
        "    time.sleep(0.001)\\n"
        "time.sleep(600)\\n"
    )
    subprocess.Popen([sys.executable, "-c", code, mark])


def hopping(mark):
    # Whoever looks finds a process that ends, and misses its successor.
    code = (
        "import os, sys, time\\n"
        "for _ in range(5000):\\n"
        "    time.sleep(0.001)\\n"
        "    if os.fork(): os._exit(0)\\n"
        "    os.setsid()\\n"
        "time.sleep(600)\\n"
    )
    for _ in range(2):
        subprocess.Popen([sys.executable, "-c", code, mark])


def joblib_inside(mark):
    from joblib import Parallel, delayed
    found = Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(4))
    assert os.getpid() not in found


def hoard(mark):
    subprocess.Popen([sys.executable, "-c", HOARD, mark], start_new_session=True)
    time.sleep(600)


def kill_parent(mark):
    session(mark)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


def kill_group(mark):
    session(mark)
    os.killpg(0, signal.SIGKILL)


def kill_itself(mark):
    session(mark)
    os.kill(os.getpid(), signal.SIGKILL)


def exits(mark):
    session(mark)
    os._exit(3)


def hangs(mark):
    session(mark)
    time.sleep(600)


WAYS = {f.__name__: f for f in (plain, session, grandchild, double_fork, double_fork_alone, deaf, breeding,
        hopping, joblib_inside, hoard, kill_parent, kill_group, kill_itself, exits, hangs)}


class Breeder(ZeroShotMethod):
    parameters = {"way": Parameter("how it starts processes", Choice(tuple(WAYS)))}

    def __init__(self, way="plain"):
        self.way = way

    def prepare_fit(self, X, y, S, *, space):
        WAYS[self.way](os.environ["ZSLPLAT_TEST_MARK"])
        raise MethodError("it has started them")

    def fit(self, X, y, S, *, statistics=None):
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return X @ X[: len(S)].T


@hookimpl
def zslplat_methods():
    return {"breeder": Breeder}
"""
# What the job of each of these ways is told to have ended with; the others end themselves, hang or hoard memory.
STARTED = "it has started them"
QUIET = ("plain", "session", "grandchild", "double_fork", "double_fork_alone", "deaf", "breeding", "hopping")
MARK = "ZSLPLAT_TEST_MARK"


def job(way):
    return PrepareJob("breeder", {"way": way}, {}, "zsl", "problem", "nowhere")


def left(mark, worker):
    """Return what runs and was started by a job: by the mark on its command line, or below a worker that is idle."""
    found = [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or [])]
    if worker._child is not None:
        guardian = psutil.Process(worker._child.process.pid)
        found += [p for p in guardian.children(recursive=True) if p not in known(worker)]
    return found


def known(worker):
    return [psutil.Process(pid) for pid in (worker._child.memory._scorer, worker._child.memory._host)]
