"""Build the site: ``python -m zslplat.documentation [FOLDER] [--pack]``, every warning an error."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from zslplat.documentation.site import PACKED, build, pack
from zslplat.errors import ZslplatError


def main(arguments: list[str] | None = None) -> int:
    """Build the site and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m zslplat.documentation", description="Build the documentation.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/_build"), help="default: docs/_build")
    parser.add_argument("--pack", action="store_true", help=f"also write {PACKED} there, which wheels then bring along")
    parser.add_argument("--no-tutorials", action="store_true", help="show tutorials without carrying them out")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    try:
        build(folder / "html", execute=not options.no_tutorials)
    except ZslplatError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if options.pack:
        pack(folder / "html", folder / PACKED)
    print(folder / "html" / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
