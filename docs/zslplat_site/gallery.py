"""What surrounds a tutorial while it is carried out."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import Any

# Folders, each with the process that made it: processes that are forked off end, too, and must leave it alone.
_made: list[tuple[int, str]] = []


def with_a_store_of_its_own(settings: Any, name: str) -> None:
    """Give the tutorial that comes next an empty store, which goes with the process.

    Nothing of a reader's own records is read or written, and no tutorial sees what another has recorded.
    """
    _forget()
    folder = tempfile.mkdtemp(prefix="zslplat-tutorial-")
    _made.append((os.getpid(), folder))
    os.environ["ZSLPLAT_STORE"] = os.path.join(folder, "mlruns")
    os.environ.pop("ZSLPLAT_DATA_ROOT", None)


@atexit.register
def _forget() -> None:
    while _made:
        process, folder = _made.pop()
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)
