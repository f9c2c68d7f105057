"""The programs that try the tests themselves: which changes count, which tests are asked, and what the tables say."""

import sys
from pathlib import Path

import pytest

NAMING = "tests/tasks/test_naming.py"
CAMPAIGNS = Path(__file__).parent / "campaigns"


@pytest.fixture
def mutants(monkeypatch):
    monkeypatch.syspath_prepend(str(CAMPAIGNS))
    import mutants

    # Its dataclass looks for its module.
    monkeypatch.setitem(sys.modules, "mutants", mutants)
    return mutants


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("def f(a: int | None) -> int:\n    return 1", "def f(a: int + None) -> str:\n    return 1", True),
        ("def f():\n    '''One.'''\n    return 1", "def f():\n    '''Two.'''\n    return 1", True),
        ("x: int = 1", "x: str = 1", True),
        ("x: int = 1", "x: int = 2", False),
        ("def f(a=1):\n    return a", "def f(a=2):\n    return a", False),
    ],
)
def test_annotations_and_docstrings_do_not_count_as_changes(mutants, before, after, same):
    assert (mutants.meaning(before) == mutants.meaning(after)) == same


def test_mutants_are_the_same_for_the_same_seed_and_each_changes_what_runs(mutants, tmp_path):
    pytest.importorskip("cosmic_ray", reason="the extra mutation is not installed")
    package = tmp_path / "zslplat" / "metrics"
    package.mkdir(parents=True)
    (package / "some.py").write_text(
        "def f(a: int | None, b):\n    if a < b and not b:\n        return a + 1\n    return b\n"
    )
    first, again = (mutants.drawn_mutants(tmp_path, ["metrics"], 5, 3) for _ in range(2))
    assert [(m.line, m.operator, m.after) for m in first] == [(m.line, m.operator, m.after) for m in again]
    assert len(first) == len({m.source for m in first}) == 5
    assert all(m.before != m.after and m.line > 1 for m in first)


def test_the_tests_of_a_mutant_are_those_that_ran_its_line_and_its_own_file_comes_first(mutants, tmp_path):
    coverage = pytest.importorskip("coverage")
    data = coverage.CoverageData(basename=str(tmp_path / ".coverage"))
    for test, lines in [
        ("tests/cli/test_far.py::test_a", {3}),
        ("tests/metrics/test_slow.py::test_b", {3, 4}),
        ("tests/metrics/test_some.py::test_c", {3}),
        ("tests/metrics/test_some.py::test_d", {4}),
        ("tests/metrics/test_failed.py::test_e", {3}),
    ]:
        data.set_context(f"{test}|run")
        data.add_lines({str(tmp_path / "zslplat" / "metrics" / "some.py"): lines})
    data.write()
    cases = "".join(
        f'<testcase classname="tests.{place}" name="{name}" time="{seconds}">{told}</testcase>'
        for place, name, seconds, told in [
            ("cli.test_far", "test_a", 1, ""),
            ("metrics.test_slow", "test_b", 9, ""),
            ("metrics.test_some", "test_c", 5, ""),
            ("metrics.test_some", "test_d", 2, ""),
            ("metrics.test_failed", "test_e", 1, "<failure/>"),
        ]
    )
    (tmp_path / "tests.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    naming = tmp_path / "tests" / "tasks" / "test_naming.py"
    naming.parent.mkdir(parents=True)
    naming.write_text("from zslplat.metrics.some import f")
    covering = mutants.Covering(tmp_path, tmp_path)

    def tests(line):
        found = covering.tests(mutants.Mutant("zslplat/metrics/some.py", "", line, ""))
        return [name.rpartition("::")[2] for name in found]

    assert tests(3) == ["test_c", "test_b", "test_a", NAMING]
    assert tests(4) == ["test_d", "test_b", NAMING]
    # No test ran it by itself: those of the folder.
    assert tests(7) == ["test_d", "test_c", "test_b", NAMING]


def test_a_few_tests_are_tried_first_and_none_beyond_the_seconds(mutants):
    seconds = {f"test_{i}": 10.0 for i in range(20)}
    found = list(mutants.batches(list(seconds), seconds.get, most=125))
    assert [len(some) for some in found] == [3, 5, 4]
    assert [test for some in found for test in some] == list(seconds)[:12]
