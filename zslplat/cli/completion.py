"""Completion in bash, zsh and fish: names of components, suites, checks and studies, and the scripts for the shells.

The functions are given to the declarations of options and arguments (``autocompletion=``); each takes what was written
of a word and returns the words that it may become. A key is waiting for them, so they load nothing but the registry:
no component, no database library. What cannot be had at once completes to nothing, and never to an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

COMPLETING = "_ZSLPLAT_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
# Those of zslplat.data.catalogue, which takes longer to load than a key may wait.
_DATA_SUFFIXES = (".csv", ".parquet", ".h5", ".hdf5", ".npz")
Completer = Callable[[str], list[str]]


def script(shell: str) -> str:
    """Return the script that a shell reads once, to ask this program from then on.

    Raises :class:`UnknownNameError` for a shell that is none of :data:`SHELLS`.
    """
    from typer._completion_shared import get_completion_script

    from zslplat.errors import UnknownNameError

    if shell not in SHELLS:
        raise UnknownNameError("shell", shell, SHELLS)
    return get_completion_script(prog_name="zslplat", complete_var=COMPLETING, shell=shell)


def complete(root: Any) -> int:
    """Print what the line of a shell may go on with; the shell has put it into the environment."""
    from typer._completion_classes import completion_init

    completion_init()
    try:
        root([], standalone_mode=False, prog_name="zslplat", complete_var=COMPLETING)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def of(*names: str) -> Completer:
    """Return what completes to one of a few words."""
    return lambda incomplete: _begun(names, incomplete)


def registered(*kinds: str) -> Completer:
    """Return what completes to the names of components, or suites, of these kinds."""

    def named(incomplete: str) -> list[str]:
        from zslplat.registry import registry

        installed = registry()
        return _begun((name for kind in kinds for name in installed.spellings(kind)), incomplete)

    return named


methods, kernels, tasks = registered("methods"), registered("kernels"), registered("tasks")
checks, suites, kinds = registered("checks"), registered("suites"), registered("kinds")
components = registered("methods", "kernels", "datasets", "encoders", "tasks")


def datasets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the registered data sets, and the folders and files under the data root, these without their suffixes."""
    names = registered("datasets")(incomplete)
    with suppress(Exception):  # a settings file that cannot be read, a root that is not there
        root = _settings(ctx).data_root
        names += _begun((name for path in root.iterdir() if (name := _name_of(path))), incomplete)
    return names


def _name_of(path: Path) -> str:
    if path.name.startswith("."):
        return ""
    if path.is_dir():
        return path.name
    return path.stem if path.suffix in _DATA_SUFFIXES else ""


def studies(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the studies of the store, where it is a file on this machine."""
    with suppress(Exception):  # no store, or one that is damaged: the command says so
        from zslplat.records.folders import study_names

        settings = _settings(ctx)
        return _begun(study_names(settings.store) if settings.storage_is_local else (), incomplete)
    return []


def distributions(incomplete: str) -> list[str]:
    """Return the installed packages with components."""
    from zslplat.registry import registry

    return _begun({plugin.distribution for plugin in registry().plugins}, incomplete)


def _settings(ctx: typer.Context) -> Any:
    """Return the places that the line names so far, or the usual ones."""
    from zslplat.settings import resolve_settings

    places = {name: ctx.params.get(name) for name in ("data_root", "store", "storage_url")}
    return resolve_settings(places)


def _begun(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})
