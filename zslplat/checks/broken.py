"""The code under which checks are reported that fail themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from zslplat.checks.base import BROKEN, Check


class FailedCheck(Check):
    """Stands for checks that do not load or raise an error; :func:`~zslplat.checks.base.run_checks` says so itself."""

    code, title, scope = BROKEN, "a check failed", "study"

    def found(self, facts: Any) -> Iterable[str]:
        """Find nothing: what fails is known to whoever carries checks out."""
        return ()
