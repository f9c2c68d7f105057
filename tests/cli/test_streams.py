"""Commands whose standard streams are closed end as with open ones, without an error of their own."""

import os
import subprocess
import sys

import pytest

PROGRAM = [sys.executable, "-m", "zslplat"]


def carried_out(tmp_path, arguments, redirection):
    line = f'exec "$@" {redirection}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--version"], 0), (["explain", "ZSP304", "--json"], 0), (["no-such-command"], 2)]
)
def test_closed_streams_change_no_exit_code(tmp_path, arguments, code):
    for redirection in (">&-", "2>&-", "<&- >&- 2>&-"):
        got, out, err = carried_out(tmp_path, arguments, redirection)
        assert got == code, redirection
        assert "NoneType" not in out + err
        if redirection == "2>&-":
            assert bool(out) == (code == 0), "what is for standard error is not to be on standard output"


def test_messages_that_nobody_reads_stop_nothing_and_lost_results_do(tmp_path):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as broken:
        options = {"cwd": tmp_path, "timeout": 120, "text": True}
        warned = subprocess.run([*PROGRAM, "nothing"], stderr=broken, stdout=subprocess.PIPE, **options)
        assert (warned.returncode, warned.stdout) == (2, "")
        result = subprocess.run([*PROGRAM, "--version"], stdout=broken, stderr=subprocess.PIPE, **options)
        assert (result.returncode, result.stderr) == (1, "")
