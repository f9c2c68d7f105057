"""The record of what a run ran on: software, BLAS, machine, git state, plugins."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from zslplat.registry import registry

_PACKAGES = ("zslplat", "numpy", "scipy", "scikit-learn", "optuna", "mlflow", "pluggy", "sqlalchemy", "numba")


@cache
def environment_record() -> dict[str, Any]:
    """Return a JSON-able description of this process's environment."""
    from threadpoolctl import threadpool_info

    blas = [
        {key: library.get(key) for key in ("internal_api", "version", "architecture", "threading_layer")}
        for library in threadpool_info()
        if library.get("user_api") == "blas"
    ]
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "plugins": {f"{p.distribution}:{p.name}": p.version for p in registry().plugins},
        "blas": blas,
        "git": git_state(),
    }


def git_state() -> dict[str, Any]:
    """Return commit and cleanliness of the repository around the working directory; empty outside one."""
    try:
        commit = _git("rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.SubprocessError):
        return {}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=5, check=True)
    return done.stdout.strip()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
