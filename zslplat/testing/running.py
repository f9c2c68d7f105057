"""Which checks a component has to pass, and how they are run: one by one, all at once, or under pytest."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zslplat.data.source import DataSource
from zslplat.errors import UnknownNameError, UsageError
from zslplat.kernels.base import Kernel
from zslplat.methods.base import Method

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


def checks_for(component: Any) -> tuple[Check, ...]:
    """Return the checks that apply to a component (an instance, or a class that is built with its defaults).

    Raises :class:`UsageError` for what is neither kernel, method nor data set.
    """
    instance = as_instance(component)
    if isinstance(instance, Kernel):
        from zslplat.testing.derivatives import DERIVATIVE_CHECKS
        from zslplat.testing.kernels import KERNEL_CHECKS, InnerProductKernel

        return KERNEL_CHECKS + (DERIVATIVE_CHECKS if isinstance(instance, InnerProductKernel) else ())
    if isinstance(instance, Method):
        from zslplat.testing.method_checks import method_checks

        return method_checks(instance)
    if isinstance(instance, DataSource):
        from zslplat.testing.datasets import DATASET_CHECKS

        return DATASET_CHECKS
    raise UsageError(f"{component!r} is {type(instance).__name__}; expected a kernel, a method or a data source")


def as_instance(component: Any) -> Any:
    """Return an instance: the component itself, or one built with the defaults of the class."""
    return component() if isinstance(component, type) else component


def run_checks(component: Any, expected_failures: Expected | None = None) -> list[CheckResult]:
    """Run all checks that apply and return how each ended; raises UnknownNameError for an expected failure of none."""
    instance = as_instance(component)
    checks = checks_for(instance)
    expected = _expected(instance, expected_failures, {check.__name__ for check in checks})
    return [_run(check, instance, expected.get(check.__name__)) for check in checks]


def check_kernel(kernel: Any, *, expected_failures: Expected | None = None) -> list[CheckResult]:
    """Check a kernel (instance or class); raises :class:`ConformanceError` with every failure."""
    return _checked(kernel, Kernel, "a kernel", expected_failures)


def check_method(method: Any, *, expected_failures: Expected | None = None) -> list[CheckResult]:
    """Check a method of any kind (instance or class); raises :class:`ConformanceError` with every failure."""
    return _checked(method, Method, "a method", expected_failures)


def check_dataset(source: Any, *, expected_failures: Expected | None = None) -> list[CheckResult]:
    """Check a data source (instance or class); raises :class:`ConformanceError` with every failure.

    A source that needs files, built without options, is skipped: look at the results, or give it its options.
    """
    return _checked(source, DataSource, "a data source", expected_failures)


def parametrize_with_checks(components: Iterable[Any], expected_failures: Expected | None = None) -> Any:
    """Return a ``pytest.mark.parametrize`` over ``component, check``: every component with every check that applies.

    ``expected_failures`` maps names of checks to reasons, for all of the components; these tests are marked
    ``xfail(strict=True)``, so that a check that passes after all is reported. A test calls ``check(component)``.
    """
    import pytest

    instances = [as_instance(component) for component in components]
    named = {check.__name__ for instance in instances for check in checks_for(instance)}
    parameters: list[Any] = []
    for instance in instances:
        expected = _expected(instance, expected_failures, named)
        for check in checks_for(instance):
            reason = expected.get(check.__name__)
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
            identity = f"{describe(instance)}-{check.__name__}"
            parameters.append(pytest.param(instance, _under_pytest(check), marks=marks, id=identity))
    return pytest.mark.parametrize(("component", "check"), parameters)


def describe(component: Any) -> str:
    """Return the component in one short line, for ids and tables."""
    if isinstance(component, DataSource):
        options = ",".join(f"{name}={value}" for name, value in component.options.items())
        return f"{type(component).__name__}({options})"
    return "".join(str(component).split())


def _checked(component: Any, kind: type, what: str, expected_failures: Expected | None) -> list[CheckResult]:
    instance = as_instance(component)
    if not isinstance(instance, kind):
        raise UsageError(f"{component!r} is {type(instance).__name__}; expected {what}")
    results = run_checks(instance, expected_failures)
    bad = [r for r in results if r.is_failure]
    if bad:
        lines = "\n".join(f"  {r.check}: {r.state}: {r.message}" for r in bad)
        raise ConformanceError(f"{describe(instance)}: {len(bad)} of {len(results)} checks:\n{lines}")
    return results


def _run(check: Check, instance: Any, reason: str | None) -> CheckResult:
    if not __debug__:
        raise UsageError("the checks are assertions, which python -O leaves out; run without -O and PYTHONOPTIMIZE")
    promise = (check.__doc__ or "").strip()
    try:
        check(instance)
    except Skipped as skipped:
        return CheckResult(check.__name__, SKIPPED, str(skipped), promise)
    except Exception as error:
        if reason is not None:
            return CheckResult(check.__name__, EXPECTED, reason, promise)
        return CheckResult(check.__name__, FAILED, _one_line(error), promise)
    if reason is not None:
        return CheckResult(check.__name__, UNEXPECTED, f"remove it from the expected failures ({reason})", promise)
    return CheckResult(check.__name__, PASSED, "", promise)


def _under_pytest(check: Check) -> Check:
    @functools.wraps(check)
    def run(component: Any) -> None:
        import pytest

        try:
            check(component)
        except Skipped as skipped:
            pytest.skip(str(skipped))

    return run


def _expected(instance: Any, expected: Expected | None, named: set[str]) -> Expected:
    every = {**getattr(instance, "expected_failures", {}), **(expected or {})}
    _refuse_unknown(every, named)
    return every


def _refuse_unknown(expected: Expected, named: set[str]) -> None:
    for name, reason in expected.items():
        if name not in named:
            raise UnknownNameError("check among the expected failures", name, named)
        if not reason.strip():
            raise UsageError(f"expected failure {name!r} has no reason; say why the component cannot pass it")


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, AssertionError) else f"{type(error).__name__}: {text}"
