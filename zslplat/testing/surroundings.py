"""What a component may not touch: settings that all code of a process shares, and the standard streams.

:func:`watched` sets every one of them to a value that no component would choose, so that one which sets what it sets
again and again is caught at any time, not only the first time.
"""

from __future__ import annotations

import io
import os
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Variables that others set since are taken away while a component is watched.
_ENVIRONMENT = dict(os.environ)
_ERRORS: dict[str, Any] = {"divide": "ignore", "over": "warn", "under": "ignore", "invalid": "warn"}
_SEED, _THREADS = 975318642, 2


@dataclass
class Traces:
    """What a component left behind: the names of shared settings that it changed, and what it printed."""

    changed: list[str] = field(default_factory=list)
    printed: str = ""


def assert_no_traces(use: Callable[[], object], *, elsewhere: bool = True) -> None:
    """Call ``use`` twice, the second time watched; raise AssertionError for what it prints or changes."""
    use()
    with watched(elsewhere=elsewhere) as traces:
        use()
    assert not traces.changed, f"changed: {', '.join(traces.changed)}; restore it, or pass the value along"
    printed = " ".join(traces.printed.split())
    assert not printed, f"prints {printed[:80]!r}; warn (OutcomeWarning) of what should be looked at"


@contextmanager
def watched(*, elsewhere: bool = True) -> Iterator[Traces]:
    """Watch the code inside the context; the traces are complete once it has ended, and everything is restored.

    Libraries set some of these when they are imported: use a component once before it is watched. ``elsewhere``: in
    another folder, and without variables that were set lately; not for code that reads files of the user.
    """
    from threadpoolctl import threadpool_limits

    traces, printed = Traces(), io.StringIO()
    kept_environment, kept_folder, kept_path = dict(os.environ), os.getcwd(), list(sys.path)
    kept_numpy, kept_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    with (
        tempfile.TemporaryDirectory(prefix="zslplat-kit-", ignore_cleanup_errors=True) as folder,
        threadpool_limits(_THREADS),
        np.errstate(**_ERRORS),
        warnings.catch_warnings(record=True),
    ):
        try:
            if elsewhere:
                os.chdir(folder)
                _set_environment(_ENVIRONMENT)
            np.random.seed(_SEED)  # noqa: NPY002
            random.seed(_SEED)
            warnings.resetwarnings()
            warnings.simplefilter("always")
            before = _settings()
            with redirect_stdout(printed), redirect_stderr(printed), _descriptors(traces):
                yield traces
            after = _settings()
        finally:
            os.chdir(kept_folder)
            _set_environment(kept_environment)
            sys.path[:] = kept_path
            np.random.set_state(kept_numpy)  # noqa: NPY002
            random.setstate(kept_python)
    traces.changed = [name for name in before if before[name] != after[name]]
    traces.printed = printed.getvalue() + traces.printed


def _settings() -> dict[str, Any]:
    from threadpoolctl import threadpool_info

    return {
        "the current folder": os.getcwd(),
        "the environment (os.environ)": dict(os.environ),
        "NumPy's error handling (np.seterr)": np.geterr(),
        "NumPy's global random state (pass a numpy.random.Generator)": repr(np.random.get_state()),  # noqa: NPY002
        "Python's global random state": random.getstate(),
        "the filters of warnings": list(warnings.filters),
        "the number of threads": sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info()),
        "the module search path": list(sys.path),
    }


def _set_environment(values: dict[str, str]) -> None:
    for name in set(os.environ) - set(values):
        del os.environ[name]
    os.environ.update({name: value for name, value in values.items() if os.environ.get(name) != value})


@contextmanager
def _descriptors(traces: Traces) -> Iterator[None]:
    """Catch what compiled code writes to the descriptors 1 and 2 themselves."""
    numbers = {number: os.dup(number) for number in (1, 2)}
    with tempfile.TemporaryFile() as file:
        try:
            for number in numbers:
                os.dup2(file.fileno(), number)
            yield
        finally:
            for number, copy in numbers.items():
                os.dup2(copy, number)
                os.close(copy)
        file.seek(0)
        traces.printed = file.read().decode(errors="replace")
