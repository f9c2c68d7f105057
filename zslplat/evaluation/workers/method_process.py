"""The process that runs methods: it is given inputs and returns outputs, and never holds a label that is scored.

It serves one scorer (:mod:`zslplat.evaluation.workers.proxies`), whose task calls methods that live here: build one,
call it, take the next step of its training. Inputs that lie in the cache come as open files: their paths, beside which
the truth lies, are not known here. Other arrays come through shared memory. Methods, encodings and running trainings
stay here and are known outside by number; what goes back is arrays, numbers, texts and figures.
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
from inspect import getattr_static
from multiprocessing.connection import Connection
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from zslplat.data.store.row_sources import Stored
from zslplat.errors import MethodError, StoreError, ZslplatError
from zslplat.evaluation.scoring.messages import collect_warnings, message_of, printable
from zslplat.evaluation.workers.channel import Channel, pack
from zslplat.evaluation.workers.memory import peak_bytes, reset_peak
from zslplat.evaluation.workers.processes import seed_generators
from zslplat.methods.base import Method
from zslplat.methods.exemplars.base import Encoding
from zslplat.methods.zero_shot.base import ZeroShotMethod
from zslplat.registry import component, known_as

METHOD, ENCODING, TRAINING = "method", "encoding", "training"
# What an answer may consist of, beside what Python has built in: arrays, and the plain data of these modules.
ANSWER_MODULES = ("zslplat.figures", "zslplat.methods.base", "zslplat.data.store.preprocessing")


_MOST_SHOWN = 20_000  # characters of a traceback in the log


def make_method(name: str, parameters: Mapping[str, Any], seed: int) -> Any:
    """Build a method; methods with a ``seed`` parameter that was not fixed get the seed of the job."""
    method_class = component("methods", name)
    values = dict(parameters)
    if "seed" in method_class._get_param_names() and "seed" not in values:
        values["seed"] = seed
    return method_class.build(values)


def learned_by(method: Any, matrices: bool, figures: bool) -> tuple[Any, Any, Any]:
    """Return a method's matrices and figures, each empty where not wanted, and its diagnostics between them."""
    return method.matrices() if matrices else {}, method.diagnostics, method.figures() if figures else {}


def failure(error: BaseException) -> dict[str, Any]:
    """Return what is told of an exception: ``reason``, and whether the platform failed and not the job (``fatal``)."""
    text = message_of(error)
    if isinstance(error, StoreError):
        # Not the method's doing: recording it as a failed trial would make the trials depend on the disk.
        return {"reason": text, "fatal": True}
    if isinstance(error, ZslplatError):
        return {"reason": text}
    if isinstance(error, MemoryError):
        return {"reason": f"out of memory: {text}"}
    # An exception may do anything as it is shown, and be of any length.
    with contextlib.suppress(Exception):
        shown = "".join(traceback.format_exception(error))
        print(shown if len(shown) < _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}...", file=sys.stderr)
    return {"reason": f"{printable(type(error).__name__, 100)}: {text}"}


def serve(connection: Connection) -> bool:
    """Answer requests until the evaluation ends; False where the connection closes before.

    The exception of a method is an answer, not an end.
    """
    served = _MethodServer()
    channel = Channel(connection)
    while True:
        try:
            request = channel.receive(served.find_class, served.files)
        except (EOFError, OSError):
            return False
        if request[2] == "end":
            channel.detach()
            served.close()
            return True
        packed = served.answer(*request)
        # Nothing of a request may be lying about while the next one is served.
        del request
        channel.send(packed)
        del packed


class _MethodServer:
    """The methods, encodings and trainings of this process by number, and what can be asked of them."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._made = 0
        self.files: list[int] = []  # that came with the latest request
        # One file, one array, for as long as anything holds it: a method may recognise its training rows.
        self._arrays: WeakValueDictionary[tuple[int, int], np.ndarray] = WeakValueDictionary()
        self._rows: dict[tuple[int, int], int] = {}
        self._cpu_start = 0.0
        # What building a method gave as a message about it was read.
        self._failed: BaseException | None = None
        self._warned_early: list[str] = []

    def answer(self, released: list[int], seed: int | None, wish: str, *arguments: Any) -> Any:
        for number in released:
            # One that could not be built is not there.
            self._numbers.pop(id(self._objects.pop(number, None)), None)
        if seed is not None:
            seed_generators(seed)
            reset_peak()
            self._cpu_start = time.process_time()
        early, self._warned_early = self._warned_early, []
        failed, self._failed = self._failed, None
        with collect_warnings() as warned:
            warned += early
            try:
                if failed is not None:
                    raise failed
                return pack((True, getattr(self, wish)(*arguments), warned), self._reduced)
            except AttributeError as error:
                # A task may ask for what only some methods offer.
                content = {"reason": message_of(error)} if wish == "value" else failure(error)
                return pack((False, {**content, "attribute": wish == "value"}, warned))
            except BaseException as error:
                return pack((False, failure(error), warned))

    # What may be asked.

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
        # The contract's own training has one step and nothing to do after it.
        only = type(target).fit_steps is ZeroShotMethod.fit_steps
        return *self.advance(training), None if only else training

    def learned(self, target: Any, matrices: bool, figures: bool) -> tuple[Any, tuple[float, int]]:
        return learned_by(target, matrices, figures), self.usage()

    def state_within(self, target: Any, most: int) -> dict[str, Any]:
        from zslplat.models.state import state_within

        return state_within(target, most)

    def length(self, target: Any) -> int:
        return len(target)

    def duplicate(self, target: Any) -> Any:
        # Rows of a file are read-only, so copies of a method share them.
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

    # How things travel.

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, "numbered"):
            return self._objects.__getitem__
        if (module, name) == (__name__, "opened"):
            return self._opened
        if (module, name) == (__name__, "stored"):
            return self._stored
        if (module, name) == (__name__, "built"):
            return self._build
        __import__(module)
        target: Any = sys.modules[module]
        for part in name.split("."):
            target = getattr(target, part)
        return target

    def _build(self, number: int, name: str, parameters: Mapping[str, Any], seed: int) -> Any:
        with collect_warnings() as warned:
            try:
                method = make_method(name, parameters, seed)
            except BaseException as error:
                self._failed = error
                return None
            finally:
                self._warned_early += warned
        self._objects[number], self._numbers[id(method)] = method, number
        return method

    def _opened(self, number: int, dtype: str, shape: tuple[int, ...], offset: int, order: Any) -> np.ndarray:
        with open(self.files[number], "rb", buffering=0) as file:
            key = _file_key(file.fileno())
            array = self._arrays.get(key)
            if array is None:
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                array = np.ndarray(shape, dtype, content, offset, order=order)
                self._arrays[key] = array
        return array

    def _stored(self, number: int, dtype: str, shape: tuple[int, ...], offset: int) -> Stored:
        descriptor = self.files[number]
        shared = self._rows.setdefault(_file_key(descriptor), descriptor)
        if shared != descriptor:
            os.close(descriptor)
        return Stored(shared, dtype, shape, offset)

    def close(self) -> None:
        """Close the files of rows."""
        for descriptor in self._rows.values():
            os.close(descriptor)

    def _reduced(self, value: Any) -> Any:
        if isinstance(value, Method):
            return registered, (METHOD, self._number(value), _facts(value))
        if isinstance(value, Encoding):
            return registered, (ENCODING, self._number(value), None)
        if isinstance(value, Iterator):
            return registered, (TRAINING, self._number(value), None)
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
    """Return what a scorer knows of a method without asking: name, declarations, what can be called, what looked up."""
    method_class: Any = type(method)
    name, called, of_class = _class_facts(method_class)
    declarations = (
        method.kind,
        tuple(method.tags),
        bool(method.transductive),
        str(method.step_parameter),
        bool(method.takes_blocks),
    )
    return (
        name,
        *declarations,
        called,
        of_class and declarations == tuple(getattr(method_class, fact) for fact in DECLARATIONS),
    )


DECLARATIONS = ("kind", "tags", "transductive", "step_parameter", "takes_blocks")


@cache
def _class_facts(method_class: type) -> tuple[str, frozenset[str], bool]:
    """Return the name, what can be called, and whether what is told is the same for all methods of the class."""
    offered = [name for name in dir(method_class) if not name.startswith("_")]
    called = frozenset(name for name in offered if callable(getattr(method_class, name, None)))
    plain = all(type(getattr_static(method_class, fact)) in (str, bool, tuple) for fact in DECLARATIONS)
    return known_as(method_class), called, plain


def registered(kind: str, number: int, facts: Any) -> Any:
    """Stand for an object of a method process in a message; the scorer makes a stand-in of it."""
    raise TypeError("only a scorer reads this")


_TRAVELS = (registered, complex, dict, list, tuple)


def numbered(number: int) -> Any:
    """Stand for an object of the method process in a message to it."""
    raise TypeError("only a method process reads this")


def built(number: int, name: str, parameters: Mapping[str, Any], seed: int) -> Any:
    """Stand for a method that is to be built, and known by its number from then on."""
    raise TypeError("only a method process reads this")


def opened(number: int, dtype: str, shape: tuple[int, ...], offset: int, order: str) -> Any:
    """Stand for a read-only array in a file that comes with the message, which the method process maps for itself."""
    raise TypeError("only a method process reads this")


def stored(number: int, dtype: str, shape: tuple[int, ...], offset: int) -> Any:
    """Stand for rows in a file that comes with the message, from which the method process reads blocks."""
    raise TypeError("only a method process reads this")


def _file_key(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
