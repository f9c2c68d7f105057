"""One verdict, whoever shows it: the command, exports, the report, Python and claims have the same digits."""

import csv
import json
import re
from contextlib import closing

import numpy as np
import pytest

import zslplat
from zslplat.comparison.classes import class_difference
from zslplat.comparison.sheets import ends
from zslplat.evaluation.components import build_component
from zslplat.evidence.scores import scores_of, with_outcomes
from zslplat.evidence.table import ResultTable
from zslplat.records.opening import existing_records
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.statistics import verdict_of

SHOWN = ("difference", "difference_low_classes", "difference_high_classes", "p_value", "p_holm", "verdict")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verdict") / "mlruns"
    for method in ("eszsl", "ridge-prototypes"):
        zslplat.tune(method, "digit-pairs", trials=1, workers=1, quiet=True, no_model=True, store=folder)
    return folder


@pytest.fixture(scope="module")
def row(store):
    """What Python has of the rival of the baseline."""
    (comparison,) = zslplat.compare(store=store).tables
    return next(row for row in comparison.rows if row["difference"] is not None)


def rows_of(text):
    """The rows of a comparison in JSON."""
    return [row for table in json.loads(text) for row in table["rows"]]


def test_the_command_and_its_exports_have_the_digits_of_python(store, row, call, tmp_path):
    (shown,) = (r for r in rows_of(call("compare", "--store", store, "--json").stdout) if r["method"] == row["method"])
    assert {name: shown[name] for name in SHOWN} == {name: row[name] for name in SHOWN}
    for ending in (".json", ".csv"):
        path = tmp_path / f"table{ending}"
        zslplat.compare(store=store).export(path)
        lines = list(csv.DictReader(path.open())) if ending == ".csv" else rows_of(path.read_text())
        (line,) = (one for one in lines if one["method"] == row["method"])
        assert {name: type(row[name])(line[name]) for name in SHOWN} == {name: row[name] for name in SHOWN}


def test_the_report_shows_them(store, row, call, tmp_path):
    call("report", "--store", store, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    (line,) = (
        one for one in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if "data-value" in one and row["verdict"] in one
    )
    assert row["short"] in line
    for name in ("difference", "difference_low_classes", "p_holm"):
        assert f'data-value="{row[name]!r}"' in line
    assert ends(row, "difference_low_classes", "difference_high_classes", sign=True) in line


def test_they_are_those_of_the_statistics_and_of_claims(store, row):
    contrasts = pytest.importorskip("zslplat_papers.reproduction.contrasts")
    from zslplat_papers.reproduction.claim_tests import Term
    from zslplat_papers.reproduction.verdicts import HOLDS, HOLDS_NOT, contrast_verdict

    task = build_component("tasks", Spec.parse("zsl"))
    with closing(existing_records(resolve_settings({"store": str(store)}), pytest.fail)) as records:
        results = ResultTable(records, pytest.fail).tested("digit-pairs", "zsl")
        scored = {
            one.label: with_outcomes(one, result, task, pytest.fail)
            for one, result in zip(scores_of(results), results, strict=True)
        }
    ours, theirs = scored[row["method"]], scored[row["baseline"]]
    metric = row["metric"]
    gap = class_difference(ours, theirs, metric)
    wanted = (row["difference"], row["difference_low_classes"], row["difference_high_classes"], row["p_holm"])
    assert (gap.estimate, *gap.ends, gap.p_value) == wanted
    assert verdict_of(gap.estimate, gap.p_value, gap.ends, classes=gap.classes) == row["verdict"]
    side = [Term("ours", "zsl", metric, 1), Term("theirs", "zsl", metric, -1)]
    claimed = contrasts.contrast("digit-pairs", side, [ours, theirs])
    assert (claimed.difference, *claimed.ends) == pytest.approx(wanted[:3], rel=1e-15)
    decided = {"ahead": HOLDS, "behind": HOLDS_NOT}.get(row["verdict"])
    assert decided is None or contrast_verdict(claimed) == decided
    assert np.isfinite(gap.error)
