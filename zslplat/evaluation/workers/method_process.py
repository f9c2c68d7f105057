"""The process that runs methods: it is sent inputs and sends back outputs, and never holds a label that is scored.

It serves one scorer (:mod:`zslplat.evaluation.workers.proxies`), whose task calls the methods here: build one, call it,
take the next step of its training. Inputs that lie in the cache come as open files; their paths, beside which the
labels lie, are not known here. Other arrays come through shared memory. Methods, encodings and running trainings stay
here and are known to the scorer by number; arrays, numbers, texts and figures go back.
"""

from __future__ import annotations

import contextlib
import copy
import mmap
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from functools import cache
from multiprocessing.connection import Connection
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from zslplat.data.store.row_sources import Stored
from zslplat.errors import MethodError, StoreError, ZslplatError
from zslplat.evaluation.scoring.messages import collect_warnings, message_of, printable
from zslplat.evaluation.workers.channel import Channel, File, pack
from zslplat.evaluation.workers.processes import seed_generators
from zslplat.methods.base import Method, Resident
from zslplat.platforms import peak_bytes, reset_peak
from zslplat.registry import component, known_as

METHOD, RESIDENT, TRAINING = "method", "encoding", "training"
# An answer may consist of built-in types, arrays and the plain data of these modules.
ANSWER_MODULES = ("zslplat.figures", "zslplat.methods.base", "zslplat.data.store.preprocessing")


_MOST_SHOWN = 20_000  # characters of a traceback in the log


def make_method(name: str, parameters: Mapping[str, Any], seed: int) -> Any:
    """Build a method; one with a ``seed`` parameter that is not fixed gets the seed of the job."""
    method_class = component("methods", name)
    values = dict(parameters)
    if "seed" in method_class._get_param_names() and "seed" not in values:
        values["seed"] = seed
    return method_class.build(values)


def learned_by(method: Any, matrices: bool, figures: bool) -> tuple[Any, Any, Any]:
    """Return a method's matrices, diagnostics and figures; matrices and figures are empty unless requested."""
    return method.matrices() if matrices else {}, method.diagnostics, method.figures() if figures else {}


def failure(error: BaseException) -> dict[str, Any]:
    """Return what is reported of an exception: ``reason``, and ``fatal`` if the platform failed and not the job."""
    text = message_of(error)
    if isinstance(error, StoreError):
        # Not the method's fault: recording a failed trial would make the trials depend on the disk.
        return {"reason": text, "fatal": True}
    if isinstance(error, ZslplatError):
        return {"reason": text}
    if isinstance(error, MemoryError):
        return {"reason": f"out of memory: {text}"}
    # Formatting an exception may fail, and its text may have any length.
    with contextlib.suppress(Exception):
        lines = "".join(traceback.format_exception(error))
        print(lines if len(lines) < _MOST_SHOWN else f"{lines[:_MOST_SHOWN]}...", file=sys.stderr)
    return {"reason": f"{printable(type(error).__name__, 100)}: {text}"}


def serve(connection: Connection) -> bool:
    """Answer requests until the evaluation ends; return False if the connection closes before.

    The exception of a method is an answer and does not end the process.
    """
    server = _MethodServer()
    channel = Channel(connection)
    while True:
        try:
            request = channel.receive(server.find_class, server.files)
        except EOFError:
            return False
        except StoreError as error:
            channel.send(pack((False, failure(error), [])))
            continue
        if request[2] == "end":
            channel.detach()
            server.close()
            return True
        packed = server.answer(*request)
        # Free the request before the next one is served.
        del request
        channel.send(packed)
        del packed


class _MethodServer:
    """The methods, encodings and trainings of this process by number, and the requests that are served."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._made = 0
        self.files: list[File] = []  # came with the latest request
        # A file is mapped once while its array is in use: a method may recognise its training rows by identity.
        self._arrays: WeakValueDictionary[tuple[int, int], np.ndarray] = WeakValueDictionary()
        self._rows: dict[tuple[int, int], Any] = {}
        self._cpu_start = 0.0

    def answer(self, released: list[int], seed: int | None, request: str, *arguments: Any) -> Any:
        for number in released:
            self._numbers.pop(id(self._objects.pop(number)))
        if seed is not None:
            seed_generators(seed)
            reset_peak()
            self._cpu_start = time.process_time()
        with collect_warnings() as warned:
            try:
                return pack((True, getattr(self, request)(*arguments), warned), self._reduced)
            except AttributeError as error:
                # A task may ask for an attribute that only some methods have.
                content = {"reason": message_of(error)} if request == "value" else failure(error)
                return pack((False, {**content, "attribute": request == "value"}, warned))
            except BaseException as error:
                return pack((False, failure(error), warned))

    # Requests, by their names.

    def step_parameter(self, name: str) -> str:
        return str(component("methods", name).step_parameter)

    def build(self, name: str, parameters: Mapping[str, Any], seed: int) -> Any:
        return make_method(name, parameters, seed)

    def call(self, target: Any, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        return getattr(target, name)(*arguments, **named)

    def value(self, target: Any, name: str) -> Any:
        return getattr(target, name)

    def assign(self, target: Any, name: str, value: Any) -> None:
        setattr(target, name, value)

    def advance(self, training: Iterator[Any]) -> tuple[bool, Any]:
        for step in training:
            return True, step
        return False, None

    def start(
        self, target: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[bool, Any, Iterator[Any] | None]:
        training = iter(target.fit_steps(*arguments, **named))
        # The default training has one step and nothing to do after it.
        return *self.advance(training), training if type(target).has_steps() else None

    def learned(self, target: Any, matrices: bool, figures: bool) -> tuple[Any, tuple[float, int]]:
        return learned_by(target, matrices, figures), self.usage()

    def state_within(self, target: Any, most: int) -> dict[str, Any]:
        from zslplat.models.folder import state_within

        return state_within(target, most)

    def length(self, target: Any) -> int:
        return len(target)

    def duplicate(self, target: Any) -> Any:
        # Arrays of files are read-only, so copies of a method share them.
        shared = {id(array): array for array in self._arrays.values()}
        try:
            return copy.deepcopy(target, shared)
        except Exception as error:
            raise MethodError(
                f"{known_as(type(target))} cannot be copied, so that each batch could be scored by a fresh copy of "
                f"what it learned: {type(error).__name__}: {message_of(error)}"
            ) from error

    def usage(self) -> tuple[float, int]:
        return time.process_time() - self._cpu_start, peak_bytes()

    # How objects are sent.

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name in _RESOLVERS:
            return getattr(self, _RESOLVERS[name])
        __import__(module)
        target: Any = sys.modules[module]
        for part in name.split("."):
            target = getattr(target, part)
        return target

    def _find_object(self, number: int) -> Any:
        return self._objects[number]

    def _open_array(self, number: int, dtype: str, shape: tuple[int, ...], offset: int, order: Any) -> np.ndarray:
        with open(self.files[number], "rb", buffering=0) as file:
            key = _file_key(file.fileno())
            array = self._arrays.get(key)
            if array is None:
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                array = np.ndarray(shape, dtype, content, offset, order=order)
                self._arrays[key] = array
        return array

    def _open_rows(self, number: int, dtype: str, shape: tuple[int, ...], offset: int) -> Stored:
        file = self.files[number]
        shared: File = self._rows.setdefault(_file_key(file), file)
        if shared != file and isinstance(file, int):
            os.close(file)
        return Stored(shared, dtype, shape, offset)

    def close(self) -> None:
        """Close the files of rows."""
        for file in self._rows.values():
            if isinstance(file, int):
                os.close(file)

    def _reduced(self, value: Any) -> Any:
        if isinstance(value, Method):
            return object_elsewhere, (METHOD, self._number(value), _facts(value))
        if isinstance(value, Resident):
            return object_elsewhere, (RESIDENT, self._number(value), None)
        if isinstance(value, Iterator):
            return object_elsewhere, (TRAINING, self._number(value), None)
        if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
            return np.array(value, subok=False).__reduce_ex__(5)
        for plain in (dict, list, tuple):
            if isinstance(value, plain):
                return plain, (plain(value),)
        if any(value is allowed for allowed in _TRAVELS):
            return NotImplemented
        module = getattr(value if callable(value) else type(value), "__module__", "") or ""
        if module.partition(".")[0] == "numpy" or module in ANSWER_MODULES:
            return NotImplemented
        raise MethodError(f"{value!r} of type {type(value).__name__} is no number, text or list that can be recorded")

    def _number(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._made
            self._made += 1
            self._objects[number], self._numbers[id(value)] = value, number
        return number


def _facts(method: Any) -> tuple[Any, ...]:
    """Return what a proxy knows of a method without a request: name, declarations and the names of its callables."""
    method_class: Any = type(method)
    name, called = _class_facts(method_class)
    declarations = method.kind, tuple(method.tags), bool(method.transductive)
    return name, *declarations, str(method.step_parameter), bool(method.takes_blocks), called


DECLARATIONS = ("kind", "tags", "transductive", "step_parameter", "takes_blocks")


@cache
def _class_facts(method_class: type) -> tuple[str, frozenset[str]]:
    """Return the name of a class and the names of its callables."""
    offered = [name for name in dir(method_class) if not name.startswith("_")]
    return known_as(method_class), frozenset(name for name in offered if callable(getattr(method_class, name, None)))


def object_elsewhere(kind: str, number: int, facts: Any) -> Any:
    """Stand for an object of a method process in a message to the scorer, which makes a proxy of it."""
    raise TypeError("only a scorer reads this")


_TRAVELS = (object_elsewhere, complex, dict, list, tuple)


def existing_object(number: int) -> Any:
    """Stand for an object of the method process in a message to it."""
    raise TypeError("only a method process reads this")


def array_in_file(number: int, dtype: str, shape: tuple[int, ...], offset: int, order: str) -> Any:
    """Stand for a read-only array in a file that is sent with the message; the method process maps it into memory."""
    raise TypeError("only a method process reads this")


def rows_in_file(number: int, dtype: str, shape: tuple[int, ...], offset: int) -> Any:
    """Stand for rows in a file that is sent with the message, and from which the method process reads blocks."""
    raise TypeError("only a method process reads this")


# What replaces these references in a message to a method process: methods of its server.
_RESOLVERS = {
    existing_object.__name__: "_find_object",
    array_in_file.__name__: "_open_array",
    rows_in_file.__name__: "_open_rows",
}


def _file_key(file: int | str) -> tuple[int, int]:
    status = os.stat(file)
    return status.st_dev, status.st_ino
