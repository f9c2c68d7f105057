"""Arrays as the platform hands them to methods: written to disk and mapped back, read-only."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from zslplat.evaluation.cache.arrays import read_arrays, write_arrays
from zslplat.methods.base import Arrays


@contextmanager
def stored(arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[Arrays, Path]]:
    """Yield the arrays as read-only memory maps of files in a folder that lives as long as the context."""
    with tempfile.TemporaryDirectory(prefix="zslplat-kit-", ignore_cleanup_errors=True) as folder:
        entry = Path(folder) / "entry"
        write_arrays(entry, arrays, {})
        yield read_arrays(entry)[0], entry
