"""The command line. Importing it loads Typer and nothing heavier; commands import what they need when they run."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code: 2 for a wrong request, 1 for a failure, 130 for Ctrl-C."""
    from zslplat.cli.app import run_app

    sys.exit(run_app(sys.argv[1:]))
