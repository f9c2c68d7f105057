"""A grid says at its end what the checks of its studies found, as each of them would by itself."""

import pytest

import zslplat
from zslplat.checks.base import Finding
from zslplat.errors import UsageError
from zslplat.front.benches import Grid
from zslplat.settings import resolve_settings
from zslplat.suites.cells import DONE, Cell
from zslplat.suites.entries import Entry
from zslplat.suites.result import GridResult
from zslplat.suites.suite import suite_from

CONTENT = {
    "name": "made",
    "tasks": ["zsl"],
    "trials": 1,
    "data": [{"name": "digits", "dataset": "digit-pairs"}],
    "row": [{"name": "linear", "method": "eszsl"}, {"name": "ridge", "method": "ridge-prototypes"}],
}


def found(code, text):
    return Finding(code, text, "study", f"zslplat explain {code}")


@pytest.fixture(name="result")
def _result():
    """Two cells of which one check speaks in both, and another one in the second."""
    suite = suite_from("made", {name: value for name, value in CONTENT.items() if name != "name"})
    cells = tuple(Cell("digits", row, "zsl", status=DONE, value=0.5) for row in ("linear", "ridge"))
    chance, edge = found("ZSP103", "at chance"), found("ZSP101", "at the edge")
    findings = ([chance], [chance, edge])
    entries = {
        cell.key: Entry("study", {}, (0.5,), "per_class_accuracy", findings=one)
        for cell, one in zip(cells, findings, strict=True)
    }
    return GridResult(suite, cells, entries=entries)


def test_a_check_has_one_line_however_many_cells_it_speaks_of(result):
    told = result.messages()
    assert told.lines[-2:] == [
        "ZSP101 digits / ridge / zsl: at the edge",
        "ZSP103 digits / linear / zsl: at chance; also digits / ridge / zsl",
    ]
    own = [(one["code"], one["cell"]) for one in told.findings if "cell" in one]
    assert own == [
        ("ZSP101", "digits / ridge / zsl"),
        ("ZSP103", "digits / linear / zsl"),
        ("ZSP103", "digits / ridge / zsl"),
    ]


def test_silenced_findings_of_cells_are_counted(result):
    before, told = result.messages(), result.messages(["ZSP103"])
    assert told.silenced - before.silenced == 2
    assert not any("ZSP103" in line for line in told.lines)
    assert {one["code"] for one in told.findings if "cell" in one} == {"ZSP101"}


def test_the_summary_of_the_function_has_them_too(result):
    shown = str(Grid(result, resolve_settings({})))
    assert "warning: ZSP103 digits / linear / zsl: at chance; also digits / ridge / zsl" in shown


def test_a_cell_has_what_the_study_by_itself_would_say(tmp_path):
    """Also where the study was carried out before."""
    places = {"store": tmp_path / "store", "workers": 1, "quiet": True, "no_model": True}
    # Of two values one is best, and both are ends.
    row = {"name": "strict", "method": "eszsl(gamma=1.0)", "space": {"alpha": "1e3..1e4:log:2"}}
    content = CONTENT | {"row": [row], "tasks": ["zsl", "retrieval"], "only_tested": ["retrieval"]}
    grids = [zslplat.bench(content, **places) for _ in range(2)]
    told = [[(one["code"], one["text"]) for one in grid.result.messages().findings] for grid in grids]
    assert told[0] == told[1]
    study = zslplat.tune(row["method"], "digit-pairs", space=row["space"], trials=1, **places)
    alone = study.result.warnings
    assert any(line.startswith("ZSP101") for line in alone)
    assert set(alone) <= {f"{code} {text}" for code, text in told[0]}


def test_a_folder_that_is_none_is_refused_before_anything_is_computed(tmp_path):
    (tmp_path / "file").write_text("mine")
    store = tmp_path / "store"
    with pytest.raises(UsageError, match=r"file is not a folder; give --out another path"):
        zslplat.bench(CONTENT, store=store, workers=1, quiet=True, out=tmp_path / "file")
    assert not (store / "studies").exists()
    assert (tmp_path / "file").read_text() == "mine"
