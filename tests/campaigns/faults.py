"""Studies that are struck at points drawn over all their phases, and must end as if nothing had happened.

    python tests/campaigns/faults.py --kills 200 --seed 0 [--minutes M] [--modes "leader killed,disk full"] [--keep]

Each study is struck in one mode (a process killed, the disk full, the store moved, ...), then the same command is given
again, and what it leaves is compared with an undisturbed study: trials, test scores and MLflow's runs are equal,
nothing is there twice, no run is left RUNNING, no process runs on, no file is left behind, no traceback was shown. It
ends with a table of all modes, and with code 1 where anything differed. Strikes and modes follow from the seed; the
moment at which one meets the command follows from the machine, too.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]

import service_modes  # noqa: E402, F401
from disturbed import Case, Ground  # noqa: E402
from fault_modes import MODES, WEIGHTS  # noqa: E402


def campaign(folder: Path, kills: int, seed: int, minutes: float | None, chosen: list[str]) -> dict[str, list[Case]]:
    """Strike studies until there were so many strikes, or the time is over; return them by mode."""
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    ground = Ground(folder)
    print(f"undisturbed: {ground.seconds:.1f} s, {ground.lines} lines of progress", flush=True)
    draw = random.Random(seed)
    cases: dict[str, list[Case]] = defaultdict(list)
    deck: list[str] = []
    strikes = number = 0
    while strikes < kills and time.monotonic() < end:
        if not deck:
            # All modes come in turn, in an order that is drawn.
            deck = [name for name in chosen for _ in range(WEIGHTS[name])]
            draw.shuffle(deck)
        name = deck.pop()
        number += 1
        case = Case(ground, f"case-{number:04d}", random.Random(f"{seed} {number}"))
        MODES[name](case)
        case.compare()
        cases[name].append(case)
        strikes += case.strikes
        told = "; ".join(case.wrong) or "equal"
        phases = ", ".join(f"{phase} {count}" for phase, count in case.phases.items())
        print(f"{number:4d} {name:22s} {case.strikes} strikes ({phases}): {told}", flush=True)
        if not case.wrong:
            shutil.rmtree(case.folder)
    return cases


def table(cases: dict[str, list[Case]]) -> list[str]:
    """Return the lines of the table: a row per mode, and one for all."""
    lines = [f"{'mode':24s} {'studies':>8s} {'strikes':>8s} {'equal':>6s} {'wrong':>6s}"]
    every = [case for found in cases.values() for case in found]
    for name, found in [*sorted(cases.items()), ("all", every)]:
        wrong = sum(bool(case.wrong) for case in found)
        strikes = sum(case.strikes for case in found)
        lines.append(f"{name:24s} {len(found):8d} {strikes:8d} {len(found) - wrong:6d} {wrong:6d}")
    phases: Counter[str] = Counter()
    for case in every:
        phases += case.phases
    lines.append("struck while: " + ", ".join(f"{phase} {count}" for phase, count in phases.most_common()))
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; return 0 where every study ended as the undisturbed one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="strikes in all (200)")
    parser.add_argument("--seed", type=int, default=0, help="from which modes and strikes are drawn (0)")
    parser.add_argument("--minutes", type=float, help="begin no further study after so many minutes")
    parser.add_argument("--modes", default=",".join(MODES), help="modes, separated by commas (all)")
    parser.add_argument("--keep", action="store_true", help="keep the folders of studies that differ")
    asked = parser.parse_args(arguments)
    chosen = [name.strip() for name in asked.modes.split(",")]
    unknown = [name for name in chosen if name not in MODES]
    if unknown:
        parser.error(f"unknown modes {', '.join(unknown)}; known: {', '.join(MODES)}")
    folder = Path(tempfile.mkdtemp(prefix="zslplat-faults-"))
    try:
        start = time.monotonic()
        cases = campaign(folder, asked.kills, asked.seed, asked.minutes, chosen)
        print("\n".join(table(cases)))
        print(f"{time.monotonic() - start:.0f} s, seed {asked.seed}")
    finally:
        if asked.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return int(any(case.wrong for found in cases.values() for case in found))


if __name__ == "__main__":
    sys.exit(main())
