"""What a check is, how one is run, and how it ends; which checks there are stands in :mod:`zslplat.testing.checks`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zslplat.errors import UnknownNameError, UsageError

Check = Callable[[Any], None]
Expected = Mapping[str, str]

PASSED, FAILED, SKIPPED, EXPECTED, UNEXPECTED = "passed", "failed", "skipped", "failed as expected", "passed after all"


class ConformanceError(AssertionError):
    """A component breaks a promise of its kind; the message lists every check that failed, with the cause."""


class Skipped(Exception):
    """A check cannot be run here, for the reason given: a data set whose files are elsewhere, say."""


@dataclass(frozen=True)
class CheckResult:
    """How one check ended: ``state`` is one of passed, failed, skipped, failed as expected, passed after all.

    ``message`` is the cause, one line; ``promise`` what the check is about.
    """

    check: str
    state: str
    message: str = ""
    promise: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether the component must be changed, or its list of expected failures."""
        return self.state in (FAILED, UNEXPECTED)


@dataclass(frozen=True)
class Pending:
    """A check that is still to be run: its name, what it is about, and what runs it."""

    check: str
    promise: str
    run: Callable[[], CheckResult]


def as_instance(component: Any) -> Any:
    """Return an instance: the component itself, or one built with the defaults of the class."""
    return component() if isinstance(component, type) else component


def run_check(check: Check, instance: Any, reason: str | None = None) -> CheckResult:
    """Run one check and return how it ended; ``reason`` says why it is expected to fail.

    Whatever a component raises is a result, ``SystemExit`` included, so that one broken component hides no other.
    Raises :class:`UsageError` under ``python -O``, which leaves the assertions out.
    """
    if not __debug__:
        raise UsageError("the checks are assertions, which python -O leaves out; run without -O and PYTHONOPTIMIZE")
    promise = (check.__doc__ or "").strip()
    try:
        check(instance)
    except Skipped as skipped:
        return CheckResult(check.__name__, SKIPPED, str(skipped), promise)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if reason is not None:
            return CheckResult(check.__name__, EXPECTED, reason, promise)
        return CheckResult(check.__name__, FAILED, one_line(error), promise)
    if reason is not None:
        return CheckResult(check.__name__, UNEXPECTED, f"remove it from the expected failures ({reason})", promise)
    return CheckResult(check.__name__, PASSED, "", promise)


def pending_check(check: Check, instance: Any, reason: str | None = None) -> Pending:
    """Return what :func:`run_check` would run, to be run later."""
    return Pending(check.__name__, (check.__doc__ or "").strip(), functools.partial(run_check, check, instance, reason))


def under_pytest(check: Check) -> Check:
    """Return the check with what it skips told to pytest."""

    @functools.wraps(check)
    def run(component: Any) -> None:
        import pytest

        try:
            check(component)
        except Skipped as skipped:
            pytest.skip(str(skipped))

    return run


def expected_of(instance: Any, expected: Expected | None, named: set[str]) -> Expected:
    """Return the expected failures of a component, its own and the given ones.

    Raises UnknownNameError where one names no check of ``named``, :class:`UsageError` where one has no reason.
    """
    every = {**getattr(instance, "expected_failures", {}), **(expected or {})}
    for name, reason in every.items():
        if name not in named:
            raise UnknownNameError("check among the expected failures", name, named)
        if not reason.strip():
            raise UsageError(f"expected failure {name!r} has no reason; say why the component cannot pass it")
    return every


def one_line(error: BaseException) -> str:
    """Return an error in one line, with its type unless it is a failed assertion."""
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, AssertionError) else f"{type(error).__name__}: {text}"
