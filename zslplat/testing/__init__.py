"""The conformance kit: what every kernel, method, data set and task promises, as checks that anybody can run.

    from zslplat.testing import parametrize_with_checks

    @parametrize_with_checks([MyKernel(), MyMethod()])
    def test_my_components_keep_their_promises(component, check):
        check(component)

or at once, :func:`check_kernel`, :func:`check_method`, :func:`check_dataset`, :func:`check_task`. Each check is a
function of one component whose docstring is the property. A check that a component cannot pass is named, with the
reason, in ``expected_failures`` (an argument, or an attribute of the component's class): it may then fail, and must.
"""

from zslplat.testing.checks import (
    check_dataset,
    check_kernel,
    check_method,
    check_task,
    checks_for,
    parametrize_with_checks,
    run_checks,
)
from zslplat.testing.kits import MethodKit, Player
from zslplat.testing.running import CheckResult, ConformanceError, Skipped

__all__ = [
    "CheckResult",
    "ConformanceError",
    "MethodKit",
    "Player",
    "Skipped",
    "check_dataset",
    "check_kernel",
    "check_method",
    "check_task",
    "checks_for",
    "parametrize_with_checks",
    "run_checks",
]
