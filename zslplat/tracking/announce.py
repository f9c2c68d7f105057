"""Telling plugins of finished runs (the hook ``zslplat_run_finished``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zslplat.registry import registry


def announce(record: Mapping[str, Any], warn: Callable[[str], None]) -> None:
    """Call the hook of every plugin; one that fails is reported and stops neither the others nor the command."""
    for implementation in registry().manager.hook.zslplat_run_finished.get_hookimpls():
        try:
            implementation.function(**dict.fromkeys(implementation.argnames, record))
        except (Exception, SystemExit) as error:
            text = " ".join(str(error).split())
            warn(f"plugin {implementation.plugin_name} failed on a finished run: {type(error).__name__}: {text}")
