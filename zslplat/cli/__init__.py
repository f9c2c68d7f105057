"""The command line. Importing it loads Typer and nothing heavier; commands import what they need when they run."""

from __future__ import annotations

import gc
import sys

# Modules and records are many objects that live to the end of a command: to look through them after every 700 new ones,
# as Python does, is a seventh of the time of a report.
OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main() -> None:
    """Run the command line and leave with its exit code: 2 for a wrong request, 1 for a failure, 130 for Ctrl-C."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    from zslplat.cli.process import CONTINUE, EXIT_CODE, leave, limit_interrupts, open_streams

    open_streams()
    try:
        limit_interrupts()
        from zslplat.cli.app import run_app

        code = run_app(sys.argv[1:])
    except KeyboardInterrupt:
        print(CONTINUE, file=sys.stderr)
        code = EXIT_CODE
    if code == EXIT_CODE:
        leave()
    gc.freeze()  # else Python looks through all modules again before it ends: half a second
    sys.exit(code)
