"""zslplat: a plugin-based experiment platform with tracking for zero-shot learning and kernel methods.

The functions of :mod:`zslplat.front` are here under their names (``zslplat.tune``, ...), each loaded when it is first
asked for; importing this package alone loads nothing heavy. Plugin authors import from :mod:`zslplat.api`.
"""

from __future__ import annotations

# Where each public name is written; ``__init__.pyi`` tells editors and type checkers the same.
_EXPORTED = {
    "bench": "zslplat.front.functions",
    "compare": "zslplat.front.functions",
    "datasets": "zslplat.front.functions",
    "evaluate": "zslplat.front.functions",
    "load_dataset": "zslplat.front.datasets",
    "load_model": "zslplat.front.functions",
    "make": "zslplat.pipelines.base",
    "make_dataset": "zslplat.front.datasets",
    "sweep": "zslplat.front.functions",
    "tune": "zslplat.front.functions",
}
# Packages that list what is registered when they are called.
_LISTED = ("kernels", "methods", "tasks")
__all__ = ["__version__", *sorted([*_EXPORTED, *_LISTED])]


def __getattr__(name: str) -> object:
    """Return a public name from its module, and ``__version__``, which only pyproject.toml holds."""
    from importlib import import_module

    if name in _LISTED:
        return import_module(f"{__name__}.{name}")
    if name in _EXPORTED:
        return getattr(import_module(_EXPORTED[name]), name)
    if name != "__version__":
        from zslplat.errors import near_names

        near = [] if name.startswith("_") else near_names(name, __all__)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("zslplat")
    except PackageNotFoundError:
        return "unknown (zslplat is not installed)"


def __dir__() -> list[str]:
    """Return the public names beside those that the module has."""
    return sorted({*globals(), *__all__})
