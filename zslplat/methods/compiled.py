"""Loops compiled by numba, which is imported when the first of them is called: most commands and methods call none.

The types of arguments that a loop was compiled for can be handed to other processes. Type checkers see the written
functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

Loops = TypeVar("Loops", bound=Callable[..., Any])
_written: dict[str, tuple[Any, dict[str, Any]]] = {}
_functions: dict[str, Any] = {}


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
        try:
            function = njit(cache=True, **options)(loops)
        except RuntimeError:  # no folder can be written where numba would keep the code
            function = njit(**options)(loops)
        _functions[name] = module[loops.__name__] = function
    return _functions[name]


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
