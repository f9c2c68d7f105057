"""Every method beside the equations of its paper: equal, or apart for a stated reason."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from zslplat.errors import UnknownNameError
from zslplat.registry import component, names, registry
from zslplat_papers.parity.cases import Case, Parity, difference
from zslplat_papers.parity.table import CASES, cases_of

PAGE = Path(__file__).parents[3] / "docs" / "parity.md"
SLOW = ("sync-cs", "sync-struct", "lc-ksvd", "zskl", "jlse")


def built_in():
    return [name for name in names("methods") if str(registry().entry("methods", name).target).startswith("zslplat.")]


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.method, marks=[pytest.mark.long] if c.name in SLOW else []) for c in CASES]
)
def test_a_method_agrees_with_its_paper_or_says_why_not(case):
    result = case.run()
    assert result.equal == (not case.why), result.to_json()
    assert case.equation or not case.reference


def test_every_method_and_every_variant_is_compared():
    for name in built_in():
        specs = {case.variant for case in cases_of([name])}
        variants = component("methods", name).variants
        assert specs >= {"default", *variants}, name


def test_a_wrong_equation_departs():
    (case,) = (case for case in CASES if case.method == "sae")

    def twice(method):
        return {name: (ours, 2 * expected) for name, (ours, expected) in case.reference(method).items()}

    result = replace(case, reference=twice).run()
    assert (result.verdict, result.equal) == ("departs", False)
    assert result.differences["W"] == pytest.approx(0.5)
    assert result.differences["labels"] == 0


def test_differences_are_relative_to_the_largest_entry_and_infinite_between_shapes():
    assert difference([1.0, 10.5], [1.0, 10.0]) == pytest.approx(0.05)
    assert difference(np.zeros(2), np.zeros(2)) == 0
    assert difference(np.zeros(2), np.zeros(3)) == np.inf
    case = Case("sae", "an equation", lambda _: {})
    assert Parity(case, {"W": 3e-10}).verdict == "equal to within 1e-9"
    assert Parity(case, {"W": 0.0}).verdict == "equal to within 1e-15"
    assert Parity(replace(case, reference=None), {}).verdict == "no reference"


def test_the_command_prints_one_row_for_each_variant(call, tmp_path):
    rows = json.loads(call("parity", "eszsl", "--json").stdout)
    assert [(row["variant"], row["verdict"] == "departs") for row in rows] == [("default", True), ("paper", False)]
    done = call("parity", "cosine", "random-features", "--out", tmp_path / "table.md")
    assert "no reference" in done.stdout
    assert "| random-features | default | no reference |" in (tmp_path / "table.md").read_text()
    assert call("parity", "sae", "--out", tmp_path / "table.csv").returncode == 0
    assert (tmp_path / "table.csv").read_text().startswith("method,variant,verdict")
    assert call("parity", "sae", "--out", tmp_path / "table.txt").returncode == 2
    done = call("parity", "nothing")
    assert done.returncode == 2
    assert "unknown method of a paper 'nothing'" in done.stderr
    with pytest.raises(UnknownNameError):
        cases_of(["nothing"])


def test_the_page_shows_the_table_of_the_command():
    row = r"^\| (\S+) \| (.+?) \| (equal|departs|no reference).*? \|.*\| (.*?) ?\|$"
    verdicts = ["no reference" if not case.reference else "departs" if case.why else "equal" for case in CASES]
    expected = [(case.name, case.variant, verdict, case.why) for case, verdict in zip(CASES, verdicts, strict=True)]
    assert re.findall(row, PAGE.read_text(), re.MULTILINE) == expected
