"""zslplat: a plugin-based experiment platform with tracking for zero-shot learning and kernel methods.

Plugin authors import from :mod:`zslplat.api`; importing this package alone loads nothing heavy.
"""


def __getattr__(name: str) -> str:
    """Return ``__version__``, that of the installed distribution: it is written in pyproject.toml and nowhere else."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("zslplat")
    except PackageNotFoundError:
        return "unknown (zslplat is not installed)"
