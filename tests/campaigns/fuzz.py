"""Strange inputs: whatever comes in is taken or refused in one clear error, and nothing is left behind.

    python tests/campaigns/fuzz.py --inputs 100000 --seed 0

A failure is an exception that is no error of zslplat, the death of the process, more than some seconds of processor
time, a message that floods the terminal, or a file left behind. The inputs follow from the seed. Ends with one table,
and with exit code 1 where there was a failure.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parent))

from strange_files import FILES
from strange_texts import TEXTS, Kind

from zslplat.errors import ZslplatError

KINDS = TEXTS | FILES
CHUNK = 250  # inputs for one process
MOST_SECONDS, MOST_TEXT = 10, 8000
SHOWN = 3000


class Hang(BaseException):
    """An input took more processor time than any may."""


def main() -> int:
    """Run the campaign and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--most-failures", type=int, default=5, help="failures of a kind that are shown")
    options = parser.parse_args()
    kinds = {name: KINDS[name] for name in options.kinds.split(",")}
    whole = sum(kind.share for kind in kinds.values())
    tally: dict[str, Counter[str]] = {name: Counter() for name in kinds}
    began = time.monotonic()
    for number, (name, kind) in enumerate(kinds.items()):
        wanted = max(1, round(options.inputs * kind.share / whole))
        failures: Counter[str] = Counter()
        for chunk in range(-(-wanted // CHUNK)):
            drawn = (options.seed * 1000 + list(KINDS).index(name)) * 100_000 + chunk
            found, failed = in_process(kind, min(CHUNK, wanted - chunk * CHUNK), drawn)
            tally[name].update(found)
            failures.update(failed)
        for failure, count in failures.most_common(options.most_failures):
            print(f"{name}: {count} x {failure}\n", flush=True)
        print(f"{number + 1}/{len(kinds)} {name}: {dict(tally[name])}", file=sys.stderr, flush=True)
    print(f"{'kind':10}{'inputs':>9}{'accepted':>10}{'refused':>9}{'failures':>10}")
    tally["all"] = sum(tally.values(), Counter())
    for name, counts in tally.items():
        taken = [counts[what] for what in ("accepted", "refused", "failures")]
        print(f"{name:10}{sum(taken):>9}{taken[0]:>10}{taken[1]:>9}{taken[2]:>10}")
    print(f"seed {options.seed}, {time.monotonic() - began:.0f} s")
    return 1 if tally["all"]["failures"] else 0


def in_process(kind: Kind, inputs: int, drawn: int) -> tuple[Counter[str], list[str]]:
    """Take inputs in a forked process; return how they were taken, and what failed."""
    told = mmap.mmap(-1, 1 << 16)  # the input at hand, for the case that the process dies of it
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    answers, writer = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(answers)
            try:
                result = taken(kind, inputs, drawn, folder, told)
            except Exception as error:
                # Inputs are made with pieces of the program, too.
                result = Counter(failures=1), [f"{type(error).__name__} while inputs were made: {str(error)[:200]!r}"]
            with os.fdopen(writer, "wb") as file:
                file.write(json.dumps(result).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(answers, "rb") as file:
        content = file.read()
    _, status = os.waitpid(process, 0)
    shutil.rmtree(folder, ignore_errors=True)
    if content:
        counts, failures = json.loads(content)
        return Counter(counts), failures
    done = int.from_bytes(told[:8], "little")
    shown = told[8:].rstrip(b"\0").decode(errors="replace")
    return Counter(refused=done, failures=1), [f"the process died (status {status}) after {done} inputs of {shown}"]


def taken(kind: Kind, inputs: int, drawn: int, folder: Path, told: mmap.mmap) -> tuple[Counter[str], list[str]]:
    """Take inputs here; the number of the draw alone says which."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    failures: list[str] = []
    temporary = folder / "tmp"
    temporary.mkdir()
    tempfile.tempdir = str(temporary)
    signal.signal(signal.SIGPROF, _hang)

    @seed(drawn)
    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(kind.inputs)
    def every(given_input: Any) -> None:
        if counts.total() >= inputs:
            return
        shown = repr(given_input)[:SHOWN].encode(errors="backslashreplace")
        told[:8] = counts.total().to_bytes(8, "little")
        told[8 : 8 + SHOWN * 4] = shown[: SHOWN * 4].ljust(SHOWN * 4, b"\0")
        place = folder / "input"
        place.mkdir()
        failure = one(kind, given_input, place)
        left = sorted(path.name for path in (*temporary.iterdir(), *folder.iterdir()))
        shutil.rmtree(place)
        if not failure and left != ["input", "tmp"]:
            failure = f"left behind: {left}"
            for path in temporary.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        what = failure if failure in ("accepted", "refused") else "failures"
        counts[what] += 1
        if what == "failures":
            failures.append(f"{failure}\n    input {shown.decode()[:400]}")

    every()
    # Where the inputs of a kind are few, the same ones come again.
    while 0 < counts.total() < inputs:
        drawn += 50_000_000
        every = seed(drawn)(every)
        every()
    return counts, failures


def one(kind: Kind, given_input: Any, place: Path) -> str:
    """Return how an input was taken: accepted, refused, or what failed."""
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        kind.take(given_input, place)
        return "accepted"
    except ZslplatError as error:
        if len(str(error)) > MOST_TEXT:
            return f"{type(error).__name__} of {len(str(error))} characters: {str(error)[:100]!r}"
        return "refused"
    except Hang:
        return f"more than {MOST_SECONDS} s of processor time, {_where(sys.exc_info()[2])}"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]!r}, {_where(error.__traceback__)}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _hang(number: int, frame: Any) -> None:
    raise Hang


def _where(trace: Any) -> str:
    frames = traceback.extract_tb(trace)
    own = [frame for frame in frames if "zslplat" in frame.filename] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}"


if __name__ == "__main__":
    sys.exit(main())
