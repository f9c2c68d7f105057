"""The architecture that an evaluation ran on: equal numbers are promised on one."""

from __future__ import annotations

import platform
from functools import cache


@cache
def processor() -> str:
    """Return the architecture of the machine and those that BLAS chose its code for: ``x86_64 SkylakeX``, say."""
    from threadpoolctl import threadpool_info

    found = {str(one["architecture"]) for one in threadpool_info() if one.get("architecture")}
    return " ".join([platform.machine(), *sorted(found)])
