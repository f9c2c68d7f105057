"""Methods as the scorer has them: proxies of methods that live in another process.

A task calls a proxy as it would call the method: arguments go to the method process, results come back. So a task reads
the same whether the method is here (in tests, in the conformance kit) or there, and its labels stay with it. Encodings
and trainings stay in the method process and have proxies, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np

from zslplat.data.store.array_store import file_of
from zslplat.data.store.row_sources import Stored
from zslplat.errors import MethodError, OutcomeWarning, ZslplatError
from zslplat.evaluation.workers import method_process
from zslplat.evaluation.workers.channel import Channel, open_files, pack
from zslplat.evaluation.workers.processes import describe_exit
from zslplat.registry import component

_BUILT_IN = frozenset({"complex", "set", "frozenset", "bytearray", "range", "slice", "dict", "list", "tuple"})


class MethodFailed(ZslplatError):
    """A method failed in its process; the text is the reason. ``fatal``: the platform failed and not the method."""

    def __init__(self, reason: str, *, fatal: bool = False) -> None:
        super().__init__(reason)
        self.fatal = fatal


class ProcessEnded(MethodFailed):
    """The method process has ended. ``killed``: it may have been ended from outside."""

    def __init__(self, reason: str, *, killed: bool) -> None:
        super().__init__(reason)
        self.killed = killed

    @classmethod
    def of(cls, process: Any) -> ProcessEnded:
        """Return the exception that says how a process has ended."""
        process.join(5)
        reason, killed = describe_exit(process.exitcode)
        return cls(reason, killed=killed)


class Methods(Protocol):
    """Where the methods of a job are built and run."""

    def step_parameter(self, name: str) -> str:
        """Return the parameter that bounds the steps of a method's training; empty where there is none."""

    def build(self, name: str, parameters: Mapping[str, Any], seed: int) -> Any:
        """Build a method; one with a ``seed`` parameter that was not fixed gets the seed of the job."""

    def begin(self, seed: int) -> None:
        """Start the count of :meth:`usage`, and seed the global generators of that process."""

    def usage(self) -> tuple[float, int]:
        """Return processor seconds and the largest memory in bytes, without those of this process."""


class LocalMethods:
    """Methods in this very process: for tests, and to measure what the separation costs."""

    def step_parameter(self, name: str) -> str:
        """Return the parameter that bounds the steps of a method's training; empty where there is none."""
        return str(component("methods", name).step_parameter)

    def build(self, name: str, parameters: Mapping[str, Any], seed: int) -> Any:
        """Build a method."""
        return method_process.make_method(name, parameters, seed)

    def begin(self, seed: int) -> None:
        """Do nothing: usage is counted with this process, and its generators are left alone."""

    def usage(self) -> tuple[float, int]:
        """Return zeros: this process counts everything."""
        return 0.0, 0


class MethodClient:
    """The scorer's side of a method process.

    ``shared_bytes`` is the memory that it shares with other processes.
    """

    def __init__(self, process: Any, connection: Any, shared_bytes: int = 0) -> None:
        self.process, self.shared_bytes = process, shared_bytes
        self._channel = Channel(connection)
        self._known: WeakValueDictionary[int, Proxy] = WeakValueDictionary()
        self._released: list[int] = []
        self._seed: int | None = None
        self._usage: tuple[float, int] | None = None
        self._step_parameters: dict[str, str] = {}
        self._pending: PendingAnswer | None = None

    def step_parameter(self, name: str) -> str:
        """Return the parameter that bounds the steps of a method's training; empty where there is none."""
        if name not in self._step_parameters:
            self._step_parameters[name] = str(self.ask("step_parameter", name))
        return self._step_parameters[name]

    def build(self, name: str, parameters: Mapping[str, Any], seed: int) -> Any:
        """Return the proxy of a method that is built in the method process."""
        return self.ask("build", name, dict(parameters), seed)

    def begin(self, seed: int) -> None:
        """Seed the global generators there and start the count of :meth:`usage`, with the next request."""
        self._seed = seed

    def end(self) -> None:
        """End the evaluation there; no request can follow. Raises :class:`ProcessEnded` if the process has ended."""
        self.send("end")
        self._channel.detach()

    def usage(self) -> tuple[float, int]:
        """Return processor seconds and the largest memory in bytes there, without what both processes share."""
        seconds, peak = self.ask("usage") if self._usage is None else self._usage
        return seconds, max(0, peak - self.shared_bytes)

    def ask(self, request: str, *arguments: Any) -> Any:
        """Send a request and return its answer; raises :class:`MethodFailed`, or :class:`ProcessEnded`."""
        return self.send(request, *arguments).get()

    def send(self, request: str, *arguments: Any) -> PendingAnswer:
        """Send a request and return at once; raises :class:`ProcessEnded` if the process has ended."""
        if self._pending is not None:
            # The two ends take turns.
            self._pending.wait()
        released, self._released = self._released, []
        seed, self._seed = self._seed, None
        self._usage = None
        paths: list[str] = []
        packed = pack((released, seed, request, *arguments), partial(_reduced, paths=paths))
        files = open_files(paths)
        try:
            self._channel.send(packed, files)
        except EOFError:
            raise ProcessEnded.of(self.process) from None
        self._pending = PendingAnswer(self)
        return self._pending

    def receive(self) -> Any:
        """Return the answer to the pending request; raises like :meth:`ask`."""
        self._pending = None
        try:
            success, content, warned = self._channel.receive(self._find_class)
        except EOFError:
            raise ProcessEnded.of(self.process) from None
        for text in warned:
            warnings.warn(text, OutcomeWarning, stacklevel=5)
        if success:
            return content
        if content.get("attribute"):
            raise AttributeError(content["reason"])
        raise MethodFailed(content["reason"], fatal=content.get("fatal", False))

    def note_usage(self, usage: tuple[float, int]) -> None:
        """Remember the usage that came with an answer; the next request makes it outdated."""
        self._usage = usage

    def release(self, number: int) -> None:
        """Have an object removed with the next request."""
        self._released.append(number)

    def _find_class(self, module: str, name: str) -> Any:
        if (module, name) == (method_process.__name__, "object_elsewhere"):
            return self._proxy
        allowed = name in _BUILT_IN if module == "builtins" else module.partition(".")[0] == "numpy"
        if not allowed and module not in method_process.ANSWER_MODULES:
            raise MethodError(f"a method's process answered with {module}.{name}, which is no plain data")
        target: Any = __import__(module, fromlist=[name])
        for part in name.split("."):
            target = getattr(target, part)
        return target

    def _proxy(self, kind: str, number: int, facts: Any) -> Proxy:
        proxy = self._known.get(number)
        if proxy is None:
            kinds = {method_process.RESIDENT: ResidentProxy, method_process.TRAINING: TrainingProxy}
            proxy = (_method_class(facts) if kind == method_process.METHOD else kinds[kind])(self, number)
            self._known[number] = proxy
        return proxy


class PendingAnswer:
    """An answer that has not been read; the next request waits for it."""

    def __init__(self, process: MethodClient) -> None:
        self._process: MethodClient | None = process
        self._answer: Any = None
        self._error: Exception | None = None

    def wait(self) -> None:
        """Wait for the answer."""
        if self._process is not None:
            process, self._process = self._process, None
            try:
                self._answer = process.receive()
            except Exception as error:
                self._error = error

    def get(self) -> Any:
        """Return the answer; raises like :meth:`MethodClient.ask`."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._answer


def _reduced(value: Any, paths: list[str]) -> Any:
    """Reduce what the method process has or can open; files are added to ``paths`` and sent by position."""
    if isinstance(value, Proxy):
        return method_process.existing_object, (value._number,)
    if isinstance(value, np.memmap):
        file = file_of(value)
        if file is None:
            return np.array(value, subok=False).__reduce_ex__(5)
        paths.append(file[0])
        return method_process.array_in_file, (len(paths) - 1, *file[1:])
    if isinstance(value, Stored):
        paths.append(str(value.file))
        return method_process.rows_in_file, (len(paths) - 1, value.dtype, value.shape, value.offset)
    return NotImplemented


class Proxy:
    """An object of a method process, known by its number."""

    def __init__(self, process: MethodClient, number: int) -> None:
        object.__setattr__(self, "_process", process)
        object.__setattr__(self, "_number", number)

    _process: MethodClient
    _number: int

    def __del__(self) -> None:
        """Have the object removed there, too."""
        self._process.release(self._number)


class TrainingProxy(Proxy):
    """A running training: its steps, one by one."""

    def __iter__(self) -> TrainingProxy:
        """Return itself."""
        return self

    def __next__(self) -> Any:
        """Take the next step method_process."""
        continues, value = self._process.ask("advance", self)
        if not continues:
            raise StopIteration
        return value


class StartingTraining:
    """A training that has not begun: its start and its first step are one request."""

    def __init__(self, method: MethodProxy, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        self._request: tuple[Any, ...] | None = (method, arguments, named)
        self._training: TrainingProxy | None = None

    def __iter__(self) -> StartingTraining:
        """Return itself."""
        return self

    def __next__(self) -> Any:
        """Take the next step method_process."""
        if self._request is not None:
            # The inputs are released before the first step is scored.
            (method, *arguments), self._request = self._request, None
            continues, value, self._training = method._process.ask("start", method, *arguments)
            if not continues:
                raise StopIteration
            return value
        if self._training is None:
            raise StopIteration  # it failed, or its first step was the last
        return next(self._training)


class ResidentProxy(Proxy):
    """An object that stays with its method, such as encoded rows."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self._process.ask("length", self))

    def take(self, rows: np.ndarray | slice) -> ResidentProxy:
        """Return the part of these rows."""
        encoding: ResidentProxy = self._process.ask("call", self, "take", (rows,), {})
        return encoding

    def arrays(self) -> dict[str, np.ndarray]:
        """Return its arrays, by name."""
        arrays: dict[str, np.ndarray] = self._process.ask("call", self, "arrays", (), {})
        return arrays


class MethodProxy(Proxy):
    """A method: its class's declarations are known here, everything else is requested method_process."""

    registered_as = ""
    called: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Any:
        """Return a function that calls the method there, or the value of its attribute method_process."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "fit_steps" and name in self.called:
            return lambda *arguments, **named: StartingTraining(self, arguments, named)
        if name in self.called:
            return lambda *arguments, **named: self._process.ask("call", self, name, arguments, named)
        return self._process.ask("value", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the method method_process."""
        self._process.ask("assign", self, name, value)

    def __deepcopy__(self, memo: Any) -> Any:
        """Return the proxy of a deep copy that is made method_process."""
        return self._process.ask("duplicate", self)


def learned(method: Any, *, matrices: bool, figures: bool) -> Callable[[], tuple[Any, Any, Any]]:
    """Return a function that returns what a method has learned: matrices, diagnostics and figures.

    A method process collects it until the function is called, and reports its usage with it.
    """
    if not isinstance(method, MethodProxy):
        return lambda: method_process.learned_by(method, matrices, figures)
    process: MethodClient = method._process
    later = process.send("learned", method, matrices, figures)

    def receive() -> tuple[Any, Any, Any]:
        answer: tuple[Any, Any, Any]
        answer, usage = later.get()
        process.note_usage(usage)
        return answer

    return receive


def state_within(method: Any, most: int) -> dict[str, Any]:
    """Return the state of a fitted method for a model (:func:`zslplat.models.folder.state_within`)."""
    if isinstance(method, MethodProxy):
        try:
            state: dict[str, Any] = method._process.ask("state_within", method, most)
        except ProcessEnded:
            raise
        except MethodFailed as error:  # the state has neither arrays nor JSON values only
            return {"left_out": f"what it learned cannot be stored: {error}"}
        return state
    from zslplat.models.folder import state_within as here

    return here(method, most)


@cache
def _method_class(facts: tuple[Any, ...]) -> type[MethodProxy]:
    """Return a class with the name and declarations of a method, so that messages and checks read the same."""
    name, *declarations, called = facts
    declared = dict(zip(method_process.DECLARATIONS, declarations, strict=True))
    return type(name, (MethodProxy,), {**declared, "called": called, "registered_as": name})
