"""A guardian ends all that its scorer has started."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="guardians are Linux'")

SWEEPER = """
import os, subprocess, sys, time
import psutil
from zslplat.evaluation.workers.guardian import end_descendants
from zslplat.platforms import adopt_orphans
adopt_orphans()
hop = "import os, time\\nwhile True:\\n    time.sleep(0.002)\\n    if os.fork(): os._exit(0)\\n    os.setsid()\\n"
many = "import os, time\\nfor _ in range(5):\\n    if os.fork() == 0: os.setsid()\\ntime.sleep(600)\\n"
for code in (hop, many):
    subprocess.Popen([sys.executable, "-c", code])
time.sleep(0.2)
end_descendants()
print(len(psutil.Process().children(recursive=True)))
"""


def test_a_guardian_ends_what_hops_from_process_to_process():
    told = subprocess.run([sys.executable, "-c", SWEEPER], capture_output=True, text=True, check=True)
    assert told.stdout == "0\n"
