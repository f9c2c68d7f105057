"""Ctrl-C at any moment: in good order without waiting for what is under way, and the same command continues."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from support import evaluations_of, runs_of, trials_of

from zslplat.cli.process import CONTINUE, GRACE_SECONDS

COMMAND = ("tune", "--method", "plain", "--dataset", "marked", "--trials", 6, "--workers", 1, "--repeats", 2)
# Where the command lingers, and what it has printed when it is stopped there.
MOMENTS = [
    ("loading", "loading marked"),
    ("preparation", "preparing statistics"),
    ("batch", "tuning plain"),
    ("final", "refitting trial"),
]


def check_stopped(done):
    assert done.returncode == 130, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("stopped"), done.stderr
    assert "give the same command again" in last
    assert "Traceback" not in done.stderr
    assert "error:" not in done.stderr
    assert "leaked" not in done.stderr


@pytest.mark.long
def test_a_study_stopped_at_four_moments_ends_like_one_that_was_not(leader, call, tmp_path):
    for place, text in MOMENTS:
        running = leader(*COMMAND, TROUBLE_LINGERS=place)
        running.wait_for(text)
        # The children of the later moments have to come to where they linger.
        time.sleep(0.0 if place == "loading" else 0.5)
        began = time.monotonic()
        running.interrupt()  # what lingers would linger for an hour
        done = running.wait()
        took = time.monotonic() - began
        check_stopped(done)
        # Where the machine has so much to do that the grace was over, it could not be counted any more.
        if place == "preparation":
            assert " began; what is prepared is kept; give the same command again" in done.stderr
        elif place != "loading" and not (took > GRACE_SECONDS and done.stderr.endswith(f"{CONTINUE}\n")):
            expected = 6 if place == "final" else 0
            assert f"{expected} of 6 trials" in done.stderr.splitlines()[-1]
    assert runs_of(tmp_path / "mlruns")["study"][0] == "KILLED"
    assert call(*COMMAND).returncode == 0
    (tmp_path / "other").mkdir()
    assert call(*COMMAND, cwd=tmp_path / "other").returncode == 0
    for read in (trials_of, evaluations_of, runs_of):
        assert read(tmp_path / "mlruns") == read(tmp_path / "other" / "mlruns")


@pytest.mark.long
def test_code_that_hears_no_signal_does_not_hold_it_up(leader):
    running = leader(*COMMAND, TROUBLE_LINGERS="loading, deaf")
    running.wait_for("loading marked")
    time.sleep(0.2)
    running.interrupt()
    check_stopped(running.wait())


@pytest.mark.long
def test_a_request_of_the_system_to_end_is_heard_like_ctrl_c(leader):
    running = leader(*COMMAND, TROUBLE_LINGERS="loading, deaf")
    running.wait_for("loading marked")
    running.process.terminate()
    check_stopped(running.wait())


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("run", "--method", "plain", "--dataset", "marked"), "evaluating plain"),
        (("sweep", "--method", "plain", "--dataset", "marked", "--param", "mix"), "sweeping mix"),
    ],
)
def test_other_long_commands_stop_in_good_order(leader, arguments, text):
    running = leader(*arguments, "--workers", 1, TROUBLE_LINGERS="batch")
    running.wait_for(text)
    running.interrupt()
    check_stopped(running.wait())


@pytest.mark.long
def test_a_program_that_has_only_just_started_stops_in_good_order(start_program):
    process = start_program(*COMMAND)
    # The first line comes when the imports of the command are under way or done, and no worker is there yet.
    process.stderr.readline()
    os.killpg(process.pid, 2)
    _, err = process.communicate(timeout=800)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("stopped")
    assert "Traceback" not in err


def test_an_interrupt_inside_code_made_from_text_has_its_exit_code(tmp_path):
    # Of a module that is run by -m, Python ends itself by the signal here, after everything was handled.
    (tmp_path / "interrupted.py").write_text(
        """
import zslplat.cli, zslplat.cli.app

def run(_):
    exec("raise KeyboardInterrupt")

zslplat.cli.app.run_app = run
zslplat.cli.main()
"""
    )
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 130
    assert done.stderr.startswith("stopped")


@pytest.mark.parametrize(("seconds", "shown"), [(3600, f"{CONTINUE}\n"), (0, "")])
def test_an_interrupt_that_a_callback_cannot_pass_on_ends_the_program(seconds, shown):
    text = f"""
import signal, time
from zslplat.cli.process import limit_interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have their background jobs ignore it
limit_interrupts()
class Callback:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
callback = Callback()
del callback
time.sleep({seconds})
print('ended')
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=800)
    assert (done.returncode, done.stdout, done.stderr) == (130, "" if seconds else "ended\n", shown)
