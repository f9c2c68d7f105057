"""numba's compiler, met when a loop is first called, with the types of what it compiles kept for other processes.

Most methods and commands call no loop, so they do without numba, which takes its time to import. Processes compile one
after another: the second takes the code that the first has left on disk. Calls of loops are type-checked like others.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from zslplat.data.store.atomic_files import folder_lock

Loops = TypeVar("Loops", bound=Callable[..., Any])
_written: dict[str, tuple[Any, dict[str, Any]]] = {}
_functions: dict[str, Any] = {}
_one_thread = threading.RLock()
_depth = 0


def compiled(**options: Any) -> Callable[[Loops], Loops]:
    """Return a decorator that compiles a function of a module on its first call and keeps the code on disk.

    ``options`` are those of ``numba.njit``. The function may call others that are compiled, by their plain names.
    """

    def decorate(loops: Loops) -> Loops:
        name = f"{loops.__module__}.{loops.__qualname__}"

        @functools.wraps(loops)
        def call(*arguments: Any) -> Any:
            return _function(name)(*arguments)

        call.compiled_name = name  # type: ignore[attr-defined]
        _written[name] = loops, options
        return call  # type: ignore[return-value]

    return decorate


def _function(name: str) -> Any:
    """Return numba's function, which takes the place of the written one in its module; so do those that it calls."""
    if name not in _functions:
        from numba import njit

        loops, options = _written[name]
        module = loops.__globals__
        for called in loops.__code__.co_names:
            if other := getattr(module.get(called), "compiled_name", ""):
                module[called] = _function(other)
        function = njit(cache=True, **options)(loops)
        function.compile = _alone(function.compile)
        _functions[name] = module[loops.__name__] = function
    return _functions[name]


def _alone(compile_for: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def compile_alone(signature: Any) -> Any:
        with _compiling():
            return compile_for(signature)

    return compile_alone


@contextmanager
def _compiling() -> Iterator[None]:
    """Keep other processes and threads from compiling; a loop that is compiled may have others compiled."""
    global _depth
    with _one_thread:
        if _depth:
            yield
            return
        _depth = 1
        try:
            with folder_lock(Path(__file__).parent):
                yield
        finally:
            _depth = 0


def signatures() -> dict[str, list[Any]]:
    """Return the types of arguments that each function is compiled for in this process, by its name."""
    return {name: list(function.signatures) for name, function in _functions.items()}


def load(signatures: Mapping[str, Sequence[Any]]) -> None:
    """Have the functions ready for these types of arguments, as :func:`signatures` of another process has them."""
    for name in signatures.keys() & _written.keys():
        function = _function(name)
        for signature in signatures[name]:
            if signature not in function.signatures:
                function.compile(signature)
