"""Another package brings a published table by the hook ``zslplat_tables``, with a paper of its own."""

from __future__ import annotations

import json
import sys

import pytest
from support import install_distribution

from zslplat.errors import DataError
from zslplat.registry import registry
from zslplat_papers.published import load_table, read_table, table_ids

MODULE = """
from pathlib import Path

from zslplat.api import hookimpl


@hookimpl
def zslplat_tables():
    return {"birds-table-1": Path(__file__).parent / "birds_table.toml"}
"""
TABLE = """
paper = { code = "birds", name = "birds by name", title = "Birds", authors = "A. Wren", venue = "a workshop" }
label = "Table 1"
title = "Generalised recognition of birds"
where = "Section 4"
kind = "table"
status = "checked"
source = "the paper itself"
measures = "harmonic mean"
metric = "H"
unit = "%"
better = "higher"
split = "proposed splits"
features = "ResNet-101"
protocol = "generalised"

[[columns]]
id = "CUB"
data = "CUB"

[[rows]]
id = "nest"
label = "NEST"
method = "nested prototypes"
own = true
cells = ["61.5"]
"""


@pytest.fixture
def birds(tmp_path, monkeypatch):
    folder = install_distribution(tmp_path / "installed", "zslplat-birds", "zslplat_birds", MODULE)
    (folder / "birds_table.toml").write_text(TABLE)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "zslplat_birds", raising=False)  # it was another test's, whose files are removed
    registry.cache_clear()
    load_table.cache_clear()
    yield
    load_table.cache_clear()
    registry.cache_clear()


def test_a_table_of_another_package_is_listed_and_shown(call, birds):
    registry.cache_clear()
    assert "birds-table-1" in table_ids()
    listed = json.loads(call("published", "list", "--json").stdout)
    assert {"table": "birds-table-1", "paper": "birds", "name": "birds by name"}.items() <= next(
        entry for entry in listed if entry["table"] == "birds-table-1"
    ).items()
    shown = call("published", "show", "birds-table-1")
    assert (shown.returncode, "61.5" in shown.stdout, "status: checked" in shown.stdout) == (0, True, True)


def test_recorded_scores_stand_beside_published_ones_unpaired(call, birds):
    registry.cache_clear()
    done = call("run", "-m", "cosine-signatures", "-d", "shared-space", "-t", "gzsl", "--test", "--workers", 1)
    assert done.returncode == 0, done.stderr
    rows = json.loads(call("published", "beside", "shared-space", "gzsl", "--data", "cub", "--json").stdout)
    own = [row for row in rows if row["source"] == "here"]
    assert [row["method"] for row in own] == ["cosine-signatures"]
    assert 0 < own[0]["H"] < 100
    assert {"method": "NEST", "source": "birds-table-1", "status": "checked", "H": 61.5} in rows
    assert {"CADA-VAE", "CLIP", "DAP"} <= {row["method"] for row in rows}
    text = call("published", "beside", "shared-space", "gzsl", "--data", "CUB").stdout
    assert "nothing is paired and no verdict is given" in text
    missing = call("published", "beside", "shared-space", "gzsl")
    assert missing.returncode == 2
    assert "--data NAME says what the tables call it: AWA1, AWA2, CUB" in missing.stderr


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [("code =", "codes =", "codes"), (', venue = "a workshop"', "", "'venue' is missing")],
)
def test_a_paper_that_is_not_described_is_refused(tmp_path, old, new, why):
    path = tmp_path / "birds.toml"
    path.write_text(TABLE.replace(old, new, 1))
    with pytest.raises(DataError, match=rf"birds.toml: .*{why}"):
        read_table(path)
