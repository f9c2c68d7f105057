"""The record of what a run ran on: software, BLAS, machine, git state, plugins."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import zslplat
from zslplat.registry import registry

_PACKAGES = ("zslplat", "numpy", "scipy", "scikit-learn", "optuna", "mlflow-skinny", "pluggy", "sqlalchemy", "numba")


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


def git_state(package: Path = Path(zslplat.__file__).parent) -> dict[str, Any]:
    """Return commit and cleanliness of zslplat's own sources; empty where they are an installed copy.

    Empty also where the package merely lies inside another repository, in a virtual environment, say, without being
    part of it. ``package``: folder of the sources.
    """
    try:
        # Fails where the repository around the package does not hold it.
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(package, "rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_git(package, "status", "--porcelain", "--untracked-files=no", "."))}
    except (OSError, subprocess.SubprocessError):
        return {}


def _git(folder: Path, *arguments: str) -> str:
    # Git's own variables, which are set inside a hook, would lead to another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(folder), *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True, env=environment)
    return completed.stdout.strip()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


@cache
def processor() -> str:
    """Return the architecture of the machine and those that BLAS chose its code for: ``x86_64 SkylakeX``, say."""
    from threadpoolctl import threadpool_info

    architectures = {str(one["architecture"]) for one in threadpool_info() if one.get("architecture")}
    return " ".join([platform.machine(), *sorted(architectures)])
