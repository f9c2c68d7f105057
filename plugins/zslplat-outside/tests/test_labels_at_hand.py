"""Scores that came with the labels of the test rows are flagged wherever they stand beside others."""

import csv
import json

import pytest
from outside_toys import exported, random_scores, score

from zslplat.comparison.compare import compare
from zslplat.comparison.exports import export_each, latex, markdown
from zslplat.settings import resolve_settings
from zslplat_outside.exported_split import Manifest

SAID = "labels of the test rows were at hand"


@pytest.fixture
def settings(tmp_path):
    settings = resolve_settings({"store": tmp_path / "store"})
    for name, seed, with_labels in (("blind", 0, False), ("told", 1, True)):
        folder = tmp_path / name
        exported(settings, folder, with_labels=with_labels)
        given = {"scores": [random_scores(folder, seed=seed)], "manifest": Manifest.read(folder)}
        score(settings, name=name, **given)
    return settings


def test_a_comparison_flags_labels_that_were_exported(settings, call, tmp_path):
    found = compare(settings, warn=pytest.fail)
    rows = {row["short"].partition("(")[0]: row for row in found.rows}
    assert {name: row["labels_exported"] for name, row in rows.items()} == {
        "outside:blind": False,
        "outside:told": True,
    }
    assert SAID in rows["outside:told"]["unequal"]
    assert SAID not in rows["outside:blind"]["unequal"]
    (finding,) = [one for one in found.findings if one.code == "ZSP215"]
    assert finding.text.startswith(f"{rows['outside:told']['short']}: the labels of the test rows were exported")
    for text in (markdown(found), latex(found)):
        assert SAID in text
    for ending in (".csv", ".json"):
        export_each([found], tmp_path / f"table{ending}")
    with open(tmp_path / "table.csv", newline="") as file:
        assert sorted(line["labels_exported"] for line in csv.DictReader(file)) == ["False", "True"]
    (table,) = json.loads((tmp_path / "table.json").read_text())
    assert "ZSP215" in [one["code"] for one in table["findings"]]
    asked = ("compare", "--store", settings.store)
    shown = call(*asked)
    assert f"unequal: {SAID}: outside:told" in shown.stdout
    assert "warning: ZSP215 " in shown.stdout + shown.stderr
    silenced = call(*asked, "--silence", "ZSP215")
    assert "warning: ZSP215" not in silenced.stdout + silenced.stderr
