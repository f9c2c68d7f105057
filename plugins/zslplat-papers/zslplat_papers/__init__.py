"""The papers' tables and claims as data, and their reproduction: what this package registers."""

from pathlib import Path

from zslplat.hookspecs import hookimpl

ZSLPLAT_API = "1.4"


@hookimpl
def zslplat_tables() -> dict[str, str]:
    """Return the kept results by name, with which ``zslplat bench`` compares its scores."""
    folder = Path(__file__).parent / "reproduction" / "results"
    return {path.stem: str(path) for path in sorted(folder.glob("*.csv"))}
