"""What is said beside what is wrong with files: how to see files in the right form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from zslplat.errors import DataError

# By loader, the format that `zslplat data template` writes.
FORMATS: Mapping[str, str] = {
    "npz": "npz",
    "npy": "npy",
    "csv": "csv",
    "xlsa17": "mat",
    "hdf5": "hdf5",
    "parquet": "parquet",
    "arrow": "arrow",
    "torch": "torch",
}


@contextmanager
def with_right_form(loader: str) -> Iterator[None]:
    """Let an error about the files of a loader say, too, which command writes an example of their format.

    What says that files are not here is left as it is.
    """
    try:
        yield
    except DataError as error:
        if loader in FORMATS and type(error) is DataError:
            told = f"`zslplat data template {FORMATS[loader]}` writes an example of the right form"
            error.args = (f"{error}; {told}",)
        raise
