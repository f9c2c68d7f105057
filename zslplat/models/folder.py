"""A saved model on disk: one JSON file and one ``.npy`` file for every array. No pickle.

    model.json            format, version, and the content, with a digest of it
    arrays/DIGEST.npy     every array of the content, called by the SHA-256 of its file

A large array that several models of a store have in common, such as the training rows of kernel methods, is on disk
once: their files are names of one file (:func:`share`).

An evaluation saves state, preprocessing and names of a fitted method where its outcomes are. The state is
read where the method runs (:func:`state_within`), the model is written by the scoring process.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from zslplat.data.store.atomic_files import draft
from zslplat.errors import StoreError, ZslplatError
from zslplat.registry import known_as
from zslplat.tasks.base import Problem, Task

FORMAT = 1
MODEL = "model"  # the folder of a model inside that of its evaluation
SHARED = "models"  # the folder of a store that has a name of every large array of its models
SHARED_BYTES = 1 << 20
_INDEX, _ARRAYS = "model.json", "arrays"
_ARRAY, _KINDS = "array", "biufcUS"

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Model:
    """The content of a model as it was written, its arrays read back: see :func:`write_model`."""

    folder: Path
    content: Mapping[str, Any]
    zslplat: str
    digest: str


def write_model(folder: Path, content: Mapping[str, Any]) -> tuple[str, int]:
    """Write a model, whole or not at all; return the digest of its content, and the bytes of its arrays.

    ``content``: what JSON holds, with arrays of numbers or texts anywhere inside. What was there before goes. Raises
    OSError where the folder cannot be written, and TypeError for content that is neither array nor JSON.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with draft(folder.parent) as temporary:
        (temporary / _ARRAYS).mkdir()
        sizes: dict[str, int] = {}
        plain = _with_files(content, temporary / _ARRAYS, sizes)
        digest = _digest(plain)
        whole = {"format": FORMAT, "zslplat": _version(), "digest": digest, "content": plain}
        (temporary / _INDEX).write_text(json.dumps(whole, indent=1))
        os.chmod(temporary, 0o755)  # that of a temporary folder is for its owner alone
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(temporary, folder)
    return digest, sum(sizes.values())


def read_model(folder: Path) -> Model:
    """Read a model; every array is compared with its digest.

    Raises :class:`StoreError` for what is missing, damaged, changed by hand, or written in a newer format.
    """
    whole = _read_index(folder)
    try:
        content = _with_arrays(whole["content"], partial(read_array, folder))
    except (KeyError, TypeError, RecursionError) as error:
        raise _damaged(folder, error) from error
    return Model(folder, content, str(whole.get("zslplat", "")), str(whole["digest"]))


def read_content(folder: Path) -> dict[str, Any]:
    """Return the content of a model without its arrays, of which it has shapes, types and digests; raises as above."""
    content: dict[str, Any] = _read_index(folder)["content"]
    return content


def read_array(folder: Path, digest: str) -> np.ndarray:
    """Return an array of a model; raises :class:`StoreError` where it is gone or is not what was written."""
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise _damaged(folder / _INDEX, ValueError("an array without a name"))
    path = folder / _ARRAYS / f"{digest}.npy"
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise ValueError("it is not what was written")
        # Mapped first: a header that declares more than the file holds is an error there, and takes no memory.
        content: np.ndarray = np.array(np.lib.format.open_memmap(path, mode="r"))
        if content.dtype.kind not in _KINDS:
            raise ValueError(f"an array of {content.dtype}")
    except FileNotFoundError as error:
        raise StoreError(
            f"the model {folder} is not whole: {path.name} is missing; restore it from a copy, or evaluate again"
        ) from error
    except (OSError, ValueError, EOFError) as error:
        raise _damaged(path, error) from error
    return content


def bytes_of(folder: Path) -> int:
    """Return the bytes that the arrays of a model take, those that it has in common with others included."""
    return sum(path.stat().st_size for path in (folder / _ARRAYS).glob("*.npy"))


def share(folder: Path, store: Path) -> None:
    """Make the large arrays of a model names of the files that other models of the store have of them.

    Nothing changes on a file system without hard links. Raises OSError where the store cannot be written.
    """
    for path in sorted((folder / _ARRAYS).glob("*.npy")):
        if path.stat().st_size < SHARED_BYTES:
            continue
        common = store / SHARED / path.name
        common.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            if not common.exists():
                os.link(path, common)
            elif not common.samefile(path):  # equal names are equal content
                link = path.with_suffix(".link")
                os.link(common, link)
                os.replace(link, path)


def exists(folder: Path) -> bool:
    """Tell whether a folder holds a model, whole or damaged."""
    return (folder / _INDEX).is_file()


def using_content(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make a method of what has a ``folder`` raise :class:`StoreError` where the content of that is not as written.

    What a method makes of numbers of another shape or meaning than it learned may fail in any way.
    """

    @wraps(method)
    def used(self: Any, /, *values: P.args, **options: P.kwargs) -> R:
        try:
            return method(self, *values, **options)
        except ZslplatError:
            raise
        except Exception as error:
            raise unfit(self.folder, error) from error

    return used


def unfit(folder: Path, error: Exception) -> StoreError:
    """Return what to raise where the content of a model is not what one of its kind has."""
    text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return StoreError(
        f"the model in {folder} is not as it was written ({text}); restore it from a copy, or evaluate the experiment "
        "again"
    )


def _read_index(folder: Path) -> dict[str, Any]:
    try:
        whole = json.loads((folder / _INDEX).read_text())
    except FileNotFoundError as error:
        raise StoreError(f"{folder} holds no model; expected {_INDEX} there") from error
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(folder / _INDEX, error) from error
    version = whole.get("format") if isinstance(whole, dict) else None
    if isinstance(version, int) and version > FORMAT:
        writer = whole.get("zslplat", "of a later version")
        raise StoreError(
            f"the model {folder} has format {version}, written by zslplat {writer}; "
            f"this version reads format {FORMAT}: update zslplat"
        )
    if version != FORMAT or not isinstance(whole.get("content"), dict):
        raise _damaged(folder / _INDEX, ValueError("it is no model"))
    if _digest(whole["content"]) != whole.get("digest"):
        raise _damaged(folder / _INDEX, ValueError("it is not what was written"))
    index: dict[str, Any] = whole
    return index


def _damaged(path: Path, error: Exception) -> StoreError:
    text = " ".join(str(error).split()) or type(error).__name__
    return StoreError(f"the model in {path} cannot be read: {text}; restore it from a copy, or evaluate again")


def _with_files(value: Any, folder: Path, sizes: dict[str, int]) -> Any:
    """Return a value with what names its arrays in their place, and write these."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _KINDS:
            raise TypeError(f"an array of {value.dtype} cannot be kept")
        digest = _write_array(folder, value)
        sizes[digest] = (folder / f"{digest}.npy").stat().st_size
        return {_ARRAY: digest, "shape": list(value.shape), "type": value.dtype.str}
    if isinstance(value, Mapping):
        return {str(name): _with_files(one, folder, sizes) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_with_files(one, folder, sizes) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} is neither an array nor JSON")


def _with_arrays(value: Any, read: Any) -> Any:
    if isinstance(value, dict):
        if _ARRAY in value:
            return read(str(value[_ARRAY]))
        return {name: _with_arrays(one, read) for name, one in value.items()}
    return [_with_arrays(one, read) for one in value] if isinstance(value, list) else value


class _Digesting:
    """A file that knows the digest of what was written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest = file, hashlib.sha256()

    def write(self, content: Any) -> int:
        self.digest.update(content)
        return self.file.write(content)


def _write_array(folder: Path, array: np.ndarray) -> str:
    place = folder / ".writing"
    with place.open("wb") as file:
        into = _Digesting(file)
        np.lib.format.write_array(into, array, allow_pickle=False)
    name = into.digest.hexdigest()
    os.replace(place, folder / f"{name}.npy")
    return name


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _version() -> str:
    try:
        return version("zslplat")
    except PackageNotFoundError:
        return "unknown"


def unneeded(store: Path, but: Collection[Path] = ()) -> list[Path]:
    """Return the names that are left of arrays that no model of a store has, those of the evaluations ``but`` aside."""
    return [
        path
        for path in sorted((store / SHARED).glob("*.npy"))
        if path.stat().st_nlink - 1 <= sum((folder / MODEL / _ARRAYS / path.name).exists() for folder in but)
    ]


def free(store: Path) -> int:
    """Remove the arrays that no model has; return their bytes. Nobody may be at work in the store."""
    size = 0
    for path in unneeded(store):
        with suppress(FileNotFoundError):
            size += path.stat().st_size
            path.unlink()
    return size


PREPROCESSING = ("features", "signatures")


def save_model(
    folder: Path,
    method_state: Mapping[str, Any],
    task: Task,
    problem: Problem,
    method: Any,
    validation_choices: Mapping[str, Any],
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Write a model of a method that was fitted on a test problem; return what its record says of it.

    ``method_state`` is what :func:`state_within` returned of the method, ``about`` are facts to be stored with it. What
    cannot be saved is no error of the evaluation: the record says why (``left_out``). Raises OSError where the folder
    cannot be written.
    """
    if "left_out" in method_state:
        return {"left_out": str(method_state["left_out"])}
    try:
        content_for_use = task.model_content(method, problem, validation_choices)
    except Exception as error:
        return {"left_out": f"task {task.name} fails to say what a model needs: {type(error).__name__}: {error}"}
    if content_for_use.left_out:
        return {"left_out": content_for_use.left_out}
    if "features" not in problem.frozen:
        return {"left_out": "nothing is known of how its features were preprocessed"}
    content = {
        **about,
        **method_state,
        "task": task.name,
        "dataset": problem.meta.get("dataset", ""),
        "preprocessing": {
            role: {"steps": one.facts(), "arrays": one.arrays()}
            for role, one in problem.frozen.items()
            if role in PREPROCESSING
        },
        "arrays": {name: np.asarray(array) for name, array in content_for_use.arrays.items()},
        "facts": dict(content_for_use.facts),
    }
    try:
        digest, size = write_model(folder, content)
    except TypeError as error:
        return {"left_out": f"its state cannot be kept: {error}"}
    return {"digest": digest, "bytes": size}


def state_within(method: Any, most: int) -> dict[str, Any]:
    """Return what a fitted method tells of itself for a model; why it is ``left_out``, where it takes too many bytes.

    Raises nothing: what a method cannot tell is no error
    of what it learned.
    """
    name = known_as(type(method))
    try:
        facts = {
            "method": name,
            "kind": str(method.kind),
            "transductive": bool(method.transductive),
            "tolerance": float(method.tolerance),
            "views": [[view.name, list(view.shape)] for view in method.views],
        }
        parameters = {key: _plain(value) for key, value in method.get_params(deep=False).items()}
        size = sum(_bytes(value) for key, value in vars(method).items() if key.endswith("_"))
        if size > most:
            return {"left_out": _too_large(size, most)}
        state = dict(method.state())
        size = sum(_bytes(value) for value in state.values())
    except Exception as error:
        text = " ".join(str(error).split())[:300]
        return {"left_out": f"{name} cannot tell what it learned: {type(error).__name__}: {text}"}
    if size > most:
        return {"left_out": _too_large(size, most)}
    return {**facts, "parameters": parameters, "state": state}


def _too_large(size: int, most: int) -> str:
    return (
        f"its state takes {size / 2**20:.0f} MiB, above the {most / 2**20:.0f} MiB that are kept (model_gigabytes, or "
        "a quarter of the memory of a worker)"
    )


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, Mapping | list | tuple):
        return sum(_bytes(one) for one in (value.values() if isinstance(value, Mapping) else value))
    return 8


def _plain(value: Any) -> Any:
    """Return a parameter as JSON holds it: a component as the text that names it."""
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
