"""Which checks a component has to pass, by its kind, and how they are run: one by one, all at once, or under pytest.

Here, too: that a coded check of a plugin says what it is and expects facts of which nothing is known, and that
kernels, data sources and tasks print nothing and leave what a process shares as it is (for methods:
:mod:`zslplat.testing.isolation`).
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterable
from pkgutil import resolve_name
from typing import Any

from zslplat.checks.base import SCOPES
from zslplat.checks.base import Check as CodedCheck
from zslplat.data.source import DataPlaces, DataSource
from zslplat.errors import UsageError
from zslplat.kernels.base import Kernel
from zslplat.kernels.inner_product import InnerProductKernel
from zslplat.methods.base import Method
from zslplat.space import Parameterised
from zslplat.tasks.base import Task
from zslplat.testing.datasets import DATASET_CHECKS, data_root, loaded
from zslplat.testing.isolation import ISOLATION_CHECKS, STATE_CHECKS, assert_no_traces
from zslplat.testing.kernels import DERIVATIVE_CHECKS, KERNEL_CHECKS, general, ready
from zslplat.testing.kits import kit_for_task, kit_of, player
from zslplat.testing.method_checks import (
    COMMON_CHECKS,
    another_seed_gives_another_result,
    learned_matrices_are_stationary,
    objective_never_rises,
)
from zslplat.testing.problems import data_for
from zslplat.testing.rows import BLOCK_CHECKS, view_checks
from zslplat.testing.running import (
    Check,
    CheckResult,
    ConformanceError,
    Expected,
    as_instance,
    expected_of,
    run_check,
    under_pytest,
)
from zslplat.testing.tasks import (
    TASK_CHECKS,
    rows_with_several_labels_are_judged_alike,
    values_per_class_are_those_of_the_metrics,
)


def method_checks(method: Method) -> tuple[Check, ...]:
    """Return the checks for a method: the common ones, then those of its kind and of what it declares."""
    kit = kit_of(method.kind)
    declared: tuple[Check, ...] = (objective_never_rises,) if "monotone" in method.tags else ()
    declared += (learned_matrices_are_stationary,) if "stationary" in method.tags else ()
    declared += (another_seed_gives_another_result,) if method.is_random else ()
    declared += BLOCK_CHECKS if method.takes_blocks else ()
    common = COMMON_CHECKS + ISOLATION_CHECKS + STATE_CHECKS + view_checks(method)
    return common + declared + kit.checks(method)


def kernel_checks(kernel: Kernel) -> tuple[Check, ...]:
    """Return the checks for a kernel, with those of derivatives where it offers them."""
    derived = DERIVATIVE_CHECKS if isinstance(kernel, InnerProductKernel) else ()
    return (*KERNEL_CHECKS, evaluation_leaves_no_traces, *derived)


# Base class, what messages call such a component, and its checks.
_KINDS: tuple[tuple[type, str, Callable[[Any], tuple[Check, ...]]], ...] = (
    (Kernel, "a kernel", kernel_checks),
    (Method, "a method", method_checks),
    (DataSource, "a data source", lambda source: (*DATASET_CHECKS, loading_leaves_no_traces)),
    (
        Task,
        "a task",
        lambda task: (
            *TASK_CHECKS,
            values_per_class_are_those_of_the_metrics,
            rows_with_several_labels_are_judged_alike,
            *kit_for_task(task).task_checks(task),
            protocol_leaves_no_traces,
        ),
    ),
    (CodedCheck, "a check", lambda check: CODED_CHECKS),
)


def checks_for(component: Any) -> tuple[Check, ...]:
    """Return the checks that apply to a component (an instance, or a class that is built with its defaults).

    Raises :class:`UsageError` for what is of no kind that has checks.
    """
    instance = as_instance(component)
    for base, _, checks in _KINDS:
        if isinstance(instance, base):
            return checks(instance)
    if promises := getattr(instance, "promises", ""):  # of a kind that a plugin brings
        checks_of_kind: tuple[Check, ...] = resolve_name(promises)
        return checks_of_kind
    *kinds, last = (what for _, what, _ in _KINDS)
    expected = f"{', '.join(kinds)} or {last}"
    raise UsageError(f"{component!r} is {type(instance).__name__}; expected {expected}")


def run_checks(component: Any, expected_failures: Expected | None = None) -> list[CheckResult]:
    """Run all checks that apply and return how each ended; raises UnknownNameError for an expected failure of none."""
    instance = as_instance(component)
    checks = checks_for(instance)
    expected = expected_of(instance, expected_failures, {check.__name__ for check in checks})
    return [run_check(check, instance, expected.get(check.__name__)) for check in checks]


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


def check_task(task: Any, *, expected_failures: Expected | None = None) -> list[CheckResult]:
    """Check a task (instance or class); raises :class:`ConformanceError` with every failure.

    A task that takes none of the kit's small data sets offers one of its own in a method ``example_dataset()``.
    """
    return _checked(task, Task, "a task", expected_failures)


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
        expected = expected_of(instance, expected_failures, named)
        for check in checks_for(instance):
            reason = expected.get(check.__name__)
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
            identity = f"{describe(instance)}-{check.__name__}"
            parameters.append(pytest.param(instance, under_pytest(check), marks=marks, id=identity))
    return pytest.mark.parametrize(("component", "check"), parameters)


def describe(component: Any) -> str:
    """Return the component in one short line, for ids and tables."""
    if isinstance(component, DataSource):
        options = ",".join(f"{name}={value}" for name, value in component.options.items())
        return f"{type(component).__name__}({options})"
    if isinstance(component, Parameterised) and str(component) == object.__repr__(component):  # no text of its own
        options = ",".join(f"{n}={getattr(component, n, None)!r}" for n in component.parameters)
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


_CODE = re.compile(r"[A-Z]+[0-9]+")


def check_says_what_it_is(check: CodedCheck) -> None:
    """A check has a code of capital letters and digits, a title, a scope, and a page or a docstring."""
    for name in ("code", "title", "scope"):
        assert isinstance(getattr(check, name, None), str), f"{name} is {getattr(check, name, None)!r}, expected a text"
    assert _CODE.fullmatch(check.code), f"the code is {check.code!r}, expected capital letters and digits: LAB101"
    assert check.title.strip(), "the title is empty; say in a few words what is found"
    assert check.scope in SCOPES, f"the scope is {check.scope!r}, expected one of {', '.join(SCOPES)}"
    page = inspect.cleandoc(check.page) or inspect.getdoc(type(check)) or ""
    assert page.strip(), "there is neither a page nor a docstring, which `zslplat explain` shows"


def nothing_is_said_of_what_is_not_known(check: CodedCheck) -> None:
    """Facts that are None or empty give no finding and no error."""
    lines = list(check.find(SCOPES[check.scope]("nothing known")))
    assert lines == [], f"of facts of which nothing is known it says {lines[0]!r}"


def the_same_facts_give_the_same_lines(check: CodedCheck) -> None:
    """A check keeps no state: asked twice, and after a copy, it says the same."""
    facts = SCOPES[check.scope]("nothing known")
    before = copy.deepcopy(vars(check))
    first = list(check.find(facts))
    assert list(check.find(facts)) == first == list(type(check)().find(facts)), "asked again it says something else"
    assert vars(check) == before, f"it keeps something of what it saw: {sorted(vars(check))}"


CODED_CHECKS: tuple[Check, ...] = (
    check_says_what_it_is,
    nothing_is_said_of_what_is_not_known,
    the_same_facts_give_the_same_lines,
)


def evaluation_leaves_no_traces(kernel: Kernel) -> None:
    """Evaluation prints nothing, and leaves folder, environment, np.seterr, global random states and the like alone."""
    X, Y = general(kernel), general(kernel, 17, seed=2)

    def use() -> None:
        made = ready(kernel)
        made(X, Y), made.diag(X)

    assert_no_traces(use)


def loading_leaves_no_traces(source: DataSource) -> None:
    """Loading prints nothing, and leaves np.seterr, global random states, filters of warnings and the like alone."""
    # Skipped where its files are not there. They may lie beside the current folder, which therefore stays what it is.
    loaded(source)
    places = DataPlaces(root=data_root())
    assert_no_traces(lambda: source.load(places), elsewhere=False)


def protocol_leaves_no_traces(task: Task) -> None:
    """Building, running and scoring a problem prints nothing, and leaves what all code of a process shares alone."""
    dataset = data_for(task)

    def use() -> None:
        problems = [*task.validation(dataset)[:1], task.test(dataset)]
        for problem in problems:
            method = player(task, "works")
            task.chance(problem)
            for _, outputs in task.run(method, problem, task.prepare(method, problem, {})):
                task.score(problem, outputs, {}, full=True)

    assert_no_traces(use)
