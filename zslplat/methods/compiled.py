"""numba's compiler with the types of what it compiles kept, so that calls of compiled loops are checked like others.

Import it where loops are compiled, since numba takes its time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Loops = TypeVar("Loops", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Loops], Loops]:
    """Return a decorator that compiles a function on its first call and keeps the code on disk beside its file.

    ``options`` are those of ``numba.njit``. numba hands out its compiled function for the written one, which takes
    the same arguments.
    """
    decorate: Callable[[Loops], Loops] = njit(cache=True, **options)
    return decorate
