"""Images become rows of features, batch by batch, so that a run that was killed continues with the next batch.

Each encoder writes a view, ``features-LABEL.npy``. After every batch its rows are on disk, and ``.encoding.json`` says
how far all views are. Batches have the size, and encoders the threads, with which the run began, so that a run that was
interrupted ends with the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from threadpoolctl import threadpool_limits

from zslplat.data.feature_card import EncoderFacts
from zslplat.data.store.atomic_files import replacing
from zslplat.errors import DataError, UsageError
from zslplat_encoders.encoder import Encoder
from zslplat_encoders.image_files import ImageList, UnreadableImage, decode

STATE = ".encoding.json"
_MOST_IMAGES = 64
# Of the free memory, what a batch may take.
_SHARE = 0.25
_OF_A_PASS = ("batch", "threads", "read", "rows", "unreadable", "content")
Progress = Callable[[int, int], None]


@dataclass
class State:
    """What is encoded: the images, the finished views with what encoded them, and the views that are under way.

    ``read`` images are done of ``pending``; ``rows`` could be read, and ``unreadable`` says why others could not.
    ``content`` is a digest over the bytes of the images: that of the images before and the SHA-256 of each, in turn.
    ``finished`` are these fields as the finished views have them, while another is under way.
    """

    images: str
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    pending: dict[str, dict[str, Any]] = field(default_factory=dict)
    batch: int = 0
    threads: int = 1
    read: int = 0
    rows: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)
    content: str = ""
    finished: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write it into the folder in one step."""
        with replacing(folder / STATE) as new:
            new.write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_state(folder: Path) -> State | None:
    """Return what an earlier run left in a folder, None for none."""
    path = folder / STATE
    if not path.is_file():
        return None
    try:
        return State(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); begin anew with --restart") from error


def encode_images(
    images: ImageList,
    encoders: Mapping[str, tuple[Encoder, EncoderFacts]],
    folder: Path,
    *,
    batch: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> State:
    """Write the views of encoders {label: (opened encoder, its facts)} that are not there yet, and return the state.

    ``batch``: images at a time, 0 for as many as fit a quarter of the free memory, at most 64. A folder that was begun
    keeps the batch and the threads that it was begun with. Raises :class:`UsageError` where the folder is of images of
    other names, labels or bytes, or has a view of other weights, and :class:`DataError` where no image can be read.
    """
    state = _begun(images, encoders, folder, batch, threads)
    if state.pending:
        with threadpool_limits(state.threads), ThreadPoolExecutor(state.threads) as pool, ExitStack() as stack:
            files = _open_views(state, folder, stack)
            for start in range(state.read, len(images.names), state.batch):
                _encode_batch(
                    images, range(start, min(start + state.batch, len(images.names))), state, pool, files, encoders
                )
                for file, _ in files.values():
                    file.flush()
                    os.fsync(file.fileno())
                state.write(folder)
                if progress is not None:
                    progress(state.read, len(images.names))
            if not state.rows:
                name, reason = next(iter(state.unreadable.items()))
                what = f"none of {len(images.names)} images can be read"
                raise DataError(f"{what}, first {name}: {reason}; fix them and add --restart")
            for file, width in files.values():
                file.seek(0)
                file.write(_header(state.rows, width[0]))
        _require_same_bytes(state, folder)
        state.views, state.pending, state.finished = {**state.views, **state.pending}, {}, {}
        state.write(folder)
    return state


def _begun(images: ImageList, encoders: Any, folder: Path, batch: int, threads: int) -> State:
    state = read_state(folder) or State(images.digest)
    if state.images != images.digest:
        raise _other_images(folder, "names, labels or splits", state.images, images.digest)
    facts = {label: asdict(of_encoder) for label, (_, of_encoder) in encoders.items()}
    for label, earlier in {**state.views, **state.pending}.items():
        _require_same(folder, label, earlier, facts.get(label, earlier))
    missing = {label: of_encoder for label, of_encoder in facts.items() if label not in state.views}
    if state.pending and set(state.pending) != set(missing):
        raise UsageError(
            f"{folder}: {', '.join(state.pending)} is not finished, {state.read} of {len(images.names)} images; "
            "finish it with the same encoders first, or add --restart"
        )
    if missing and not state.pending:
        if state.views:
            state.finished = {key: value for key, value in asdict(state).items() if key in _OF_A_PASS}
        state.pending, state.read, state.rows, state.content = missing, 0, 0, ""
        state.unreadable = {} if not state.views else state.unreadable
        state.batch, state.threads = batch or _fitting_batch([one for one, _ in encoders.values()]), threads
    return state


def _other_images(folder: Path, what: str, before: str, now: str) -> UsageError:
    digests = f"SHA-256 of their {what} is {now}, and was {before}"
    return UsageError(f"{folder} was encoded from other images: {digests}; give another --to, or add --restart")


def _require_same_bytes(state: State, folder: Path) -> None:
    """Raise :class:`UsageError` where a new view is of other bytes than the finished ones, which stay as they are."""
    now = state.content
    if state.finished.get("content", now) == now:
        return
    for label in state.pending:
        (folder / f"features-{label}.npy").unlink()
    for key, value in state.finished.items():
        setattr(state, key, value)
    state.pending, state.finished = {}, {}
    state.write(folder)
    raise _other_images(folder, "bytes", state.content, now)


def _require_same(folder: Path, label: str, earlier: Mapping[str, str], now: Mapping[str, str]) -> None:
    changed = [
        key for key in ("encoder", "weights_sha256", "packages", "preprocessing") if earlier.get(key) != now.get(key)
    ]
    if changed and changed != ["packages"]:
        key = next(key for key in changed if key != "packages")
        what = "the weights have changed" if key == "weights_sha256" else f"{key} has changed"
        raise UsageError(
            f"{folder}: view {label}: {what}, from {earlier.get(key, 'none')} to {now.get(key, 'none')}; give a label "
            f"of its own (--image-encoder '{label}-2=...'), another --to, or --restart"
        )


def _fitting_batch(encoders: list[Encoder]) -> int:
    import psutil

    free = psutil.virtual_memory().available * _SHARE
    return max(1, min(_MOST_IMAGES, int(free // max(encoder.bytes_per_image for encoder in encoders))))


def _open_views(state: State, folder: Path, stack: ExitStack) -> dict[str, tuple[BinaryIO, list[int]]]:
    """Return the file of each view, cut off behind the rows that the state counts, and a list for its width."""
    files: dict[str, tuple[BinaryIO, list[int]]] = {}
    for label in state.pending:
        path = folder / f"features-{label}.npy"
        width = [_width_of(path)] if state.rows else []
        file = stack.enter_context(path.open("r+b" if state.rows else "w+b"))
        if state.rows:
            file.truncate(len(_header(0, width[0])) + state.rows * width[0] * 4)
            file.seek(0, os.SEEK_END)
        files[label] = (file, width)
    return files


def _width_of(path: Path) -> int:
    try:
        with path.open("rb") as file:
            np.lib.format.read_magic(file)
            return int(np.lib.format.read_array_header_1_0(file)[0][1])
    except (OSError, ValueError, IndexError) as error:
        raise DataError(f"{path}: cannot be continued ({error}); begin anew with --restart") from error


def _header(rows: int, width: int) -> bytes:
    """Return the head of an ``.npy`` file; it leaves room for more rows, so its length is always the same."""
    import io

    buffer = io.BytesIO()
    description = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(buffer, description)
    return buffer.getvalue()


def _encode_batch(
    images: ImageList, numbers: range, state: State, pool: ThreadPoolExecutor, files: Any, encoders: Any
) -> None:
    contents = [_content(images, number) for number in numbers]
    digest = state.content
    pictures = []
    for number, content, picture in zip(numbers, contents, pool.map(_decoded, contents), strict=True):
        of_image = hashlib.sha256(content if isinstance(content, bytes) else b"").hexdigest()
        digest = hashlib.sha256(f"{digest}{of_image}".encode()).hexdigest()
        if isinstance(picture, UnreadableImage):
            state.unreadable[images.names[number]] = str(picture)
        elif images.names[number] not in state.unreadable:
            pictures.append(picture)
    for label in state.pending if pictures else ():
        file, width = files[label]
        rows = np.ascontiguousarray(encoders[label][0].encode_images(pictures), dtype="<f4")
        if rows.ndim != 2 or len(rows) != len(pictures) or not np.isfinite(rows).all():
            raise DataError(f"encoder {label} gave rows {rows.shape} for {len(pictures)} images, or NaN; it is broken")
        if not width:
            width.append(rows.shape[1])
            file.write(_header(0, rows.shape[1]))
        file.write(rows.data)
    state.read, state.rows, state.content = numbers.stop, state.rows + len(pictures), digest


def _content(images: ImageList, number: int) -> bytes | UnreadableImage:
    try:
        return images.read(number)
    except OSError as error:
        return UnreadableImage(error.strerror or str(error))
    except UnreadableImage as error:
        return error


def _decoded(content: bytes | UnreadableImage) -> np.ndarray | UnreadableImage:
    if isinstance(content, UnreadableImage):
        return content
    try:
        return decode(content)
    except UnreadableImage as error:
        return error


def readable(images: ImageList, state: State) -> Iterator[int]:
    """Yield the numbers of the images that have a row."""
    return (number for number, name in enumerate(images.names) if name not in state.unreadable)
