"""The campaign of faults runs: studies are struck, continued, and end as an undisturbed one; a difference is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parent.parent / "campaigns" / "faults.py"


@pytest.mark.long
def test_a_slice_of_the_campaign(program_environment):
    slice_of = ("--kills", "2", "--seed", "1", "--minutes", "2", "--modes", "group killed,method process killed")
    done = subprocess.run(
        [sys.executable, str(CAMPAIGN), *slice_of], env=program_environment, capture_output=True, text=True, timeout=800
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()
    (all_of_them,) = [line.split() for line in last if line.startswith("all ")]
    assert int(all_of_them[2]) >= 1
    assert all_of_them[4] == "0"
