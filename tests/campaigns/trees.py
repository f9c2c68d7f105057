"""Jobs that start processes in every way they can hide: none may outlive its job.

    python tests/campaigns/trees.py --trees 100 --seed 0

The ways come in turn, in an order that is drawn: children, grandchildren, double forks, new sessions, signals ignored,
processes that breed or hop from one to the next, joblib; and jobs that kill their parent, their group or themselves,
exit, hang until their deadline or hoard memory. After each job the whole machine is searched for what it started. It
ends with a table by way, and with code 1 where anything was left or a job ended otherwise than it must.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

import psutil  # noqa: E402
from breeding_toys import BREEDER, MARK, QUIET, STARTED, job, left  # noqa: E402
from support import install_distribution  # noqa: E402

from zslplat.evaluation.cache.problems import save_problem  # noqa: E402
from zslplat.evaluation.jobs import Limits, WorkerSettings  # noqa: E402
from zslplat.evaluation.workers.worker import Worker  # noqa: E402
from zslplat.families.zero_shot.unseen import ZeroShot  # noqa: E402
from zslplat.testing.truth_seekers import telling_nothing  # noqa: E402

_KILLED = "ended by SIGKILL"
# What the answer says, and within which limits.
ENDS: dict[str, tuple[str, Limits]] = {
    **dict.fromkeys((*QUIET, "joblib_inside"), (STARTED, Limits())),
    **dict.fromkeys(("kill_parent", "kill_group", "kill_itself"), (_KILLED, Limits())),
    "exits": ("exit code 3", Limits()),
    "hangs": ("deadline", Limits(seconds=2)),
    "hoard": ("above its", Limits(seconds=300, bytes=500_000_000)),
}


def campaign(folder: Path, trees: int, seed: int) -> dict[str, Counter[str]]:
    """Carry out so many jobs; return by way how many there were, left something, or ended otherwise."""
    install_distribution(folder, "zslplat-breeder", "zslplat_breeder", BREEDER)
    sys.path.insert(0, str(folder))
    os.environ[MARK] = str(folder)
    save_problem(folder / "problem", ZeroShot().test(telling_nothing()))
    draw = random.Random(seed)
    deck: list[str] = []
    found: dict[str, Counter[str]] = {}
    worker = Worker(WorkerSettings(folder))
    try:
        for number in range(trees):
            if not deck:
                deck = list(ENDS)
                draw.shuffle(deck)
            way = deck.pop()
            reason, limits = ENDS[way]
            answer = worker.run(job(way), limits)
            stayed = [*left(str(folder), worker), *pools()]
            counts = found.setdefault(way, Counter())
            counts.update(jobs=1, left=bool(stayed), otherwise=reason not in (answer.reason or ""))
            told = f"left {stayed}" if stayed else "nothing left"
            print(f"{number + 1:4d} {way:18s} {told}; {(answer.reason or '')[:70]}", flush=True)
            for process in stayed:
                process.kill()
    finally:
        worker.stop()
    return found


def pools() -> list[psutil.Process]:
    """Return the processes of pools of joblib."""
    return [p for p in psutil.process_iter(["cmdline"]) if "loky" in " ".join(p.info["cmdline"] or [])]


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; return 0 where nothing was left and every job ended as it must."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=100, help="jobs that start processes (100)")
    parser.add_argument("--seed", type=int, default=0, help="from which their order is drawn (0)")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="zslplat-trees-") as name:
        found = campaign(Path(name), asked.trees, asked.seed)
    print(f"{'way':20s} {'jobs':>5s} {'left something':>15s} {'ended otherwise':>16s}")
    for way, counts in [*sorted(found.items()), ("all", sum(found.values(), Counter()))]:
        print(f"{way:20s} {counts['jobs']:5d} {counts['left']:15d} {counts['otherwise']:16d}")
    return int(any(counts["left"] or counts["otherwise"] for counts in found.values()))


if __name__ == "__main__":
    sys.exit(main())
