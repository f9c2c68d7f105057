"""numba's compiler with the types of what it compiles kept, so that calls of compiled loops are checked like others.

Import it where loops are compiled, since numba takes its time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from numba import njit

Loops = TypeVar("Loops", bound=Callable[..., Any])
_functions: dict[str, Any] = {}


def compiled(**options: Any) -> Callable[[Loops], Loops]:
    """Return a decorator that compiles a function on its first call and keeps the code on disk beside its file.

    ``options`` are those of ``numba.njit``. numba hands out its compiled function for the written one, which takes
    the same arguments.
    """

    def decorate(loops: Loops) -> Loops:
        function: Any = njit(cache=True, **options)(loops)
        _functions[f"{loops.__module__}.{loops.__qualname__}"] = function
        return function  # type: ignore[no-any-return]

    return decorate


def signatures() -> dict[str, list[Any]]:
    """Return the types of arguments that each function is compiled for in this process, by its name."""
    return {name: list(function.signatures) for name, function in _functions.items()}


def load(signatures: Mapping[str, Sequence[Any]]) -> None:
    """Have the functions ready for these types of arguments, as :func:`signatures` of another process has them."""
    for name, function in _functions.items():
        for signature in signatures.get(name, ()):
            if signature not in function.signatures:
                function.compile(signature)
