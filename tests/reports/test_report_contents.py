"""``zslplat report`` over a real store: what it holds, what it leaves out, and what it does to files."""

import json
import os
import shlex
import shutil
import sqlite3
from itertools import pairwise

import pytest
from html_reader import read_html, table_called
from support import ESZSL

pytestmark = pytest.mark.long

GAUSSIAN = "mfmr-joint(iterations=5, k=5)"
MARKUP = "<script>alert(1)</script>"
kept = {}


@pytest.fixture
def store(call, tmp_path, tmp_path_factory):
    """A folder with a store: two tasks, tuned and single methods, a sweep, a map; filled once and copied."""
    if not kept:
        folder = tmp_path_factory.mktemp("filled")
        for arguments in (
            ("tune", "-m", "eszsl", "-n", 4),
            ("tune", "-m", ESZSL, "-t", "gzsl", "--study", "joint"),
            ("tune", "-m", "gfhf", "-n", 3, "-t", "gzsl"),
            ("sweep", "-m", "eszsl", "--param", "gamma", "--points", 3),
            ("run", "-m", GAUSSIAN, "--test"),
        ):
            done = call(*arguments, "--workers", 1, *(["-q"] if arguments[0] != "sweep" else []), cwd=folder)
            assert done.returncode == 0, done.stderr
        for path in (folder / "mlruns" / "evaluations").glob("*/artifacts/*.csv"):  # a class may be called anything
            path.write_text(path.read_text().replace("\n05,", f"\n{MARKUP},").replace(",05,", f",{MARKUP},"))
        kept["folder"] = folder
    shutil.copytree(kept["folder"] / "mlruns", tmp_path / "mlruns", dirs_exist_ok=True)
    return tmp_path / "mlruns"


def reported(call, *arguments):
    """Write a report; return its page, and what the command said."""
    done = call("report", "--out", "report.html", *arguments)
    assert done.returncode == 0, done.stderr
    return done


def page_of(folder):
    return read_html((folder / "report.html").read_text())


@pytest.fixture
def whole(call, store, tmp_path):
    """The HTML of a report of the whole store, written once."""
    if "whole" not in kept:
        reported(call)
        kept["whole"] = (tmp_path / "report.html").read_text()
    return kept["whole"]


def test_numbers_are_those_of_compare_to_the_last_bit(call, store, whole):
    page = read_html(whole)
    for task in ("zsl", "gzsl"):
        rows = json.loads(call("compare", "-t", task, "--json").stdout)[0]["rows"]
        headings, shown = table_called(page, f"of task {task} on digit-pairs")
        headings = [heading.strip() for heading in headings]
        assert len(shown) == len(rows) >= 2
        for line, row in zip(shown, rows, strict=True):
            cells = dict(zip(headings, line, strict=False))
            assert line[0][0] == row["short"]
            for heading, key in (("validation", "validation"), ("test", "test"), ("difference", "difference")):
                # Columns that no row fills are left out.
                assert cells.get(heading, ("–", None))[1] == row[key], (task, row["short"], key)
            assert line[headings.index("score on these rows")][1] == row["low"]
            assert line[headings.index("score on new classes")][1] == row["low_classes"]
            assert cells.get("verdict", ("–",))[0] == (row["verdict"] or "–")


def test_json_has_the_rows_of_compare(call, store):
    done = call("report", "--json", "--task", "gzsl", "--out", "report.html")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (compared,) = json.loads(call("compare", "-t", "gzsl", "--json").stdout)
    assert [chapter["rows"] for chapter in found["boards"]] == [compared["rows"]]
    assert found["bytes"] > 10_000
    assert found["replaced"] is False


def test_every_part_that_the_records_have_is_there(whole):
    page = read_html(whole)
    headings = [e.text for e in page.every("h2", "h3", "h4")]
    for wanted in (
        "At a glance",
        "zsl on digit-pairs",
        "gzsl on digit-pairs",
        "Leaderboard",
        "Seen and unseen classes",
        "Budget",
        "Sensitivity",
        "Cost",
        "How to read this",
    ):
        assert wanted in headings
    captions = [e.text for e in page.every("figcaption")]
    for wanted in (
        "Seen-unseen curves on digit-pairs",
        "Best validation score by trials",
        "Best validation score by seconds of computing",
        "Sensitivity of eszsl to gamma",
        "accuracy by alpha",
    ):
        assert any(wanted in caption for caption in captions), wanted
    text = page.text
    assert "was scored" in text  # how often somebody looked at the test split
    assert "zslplat rerun" in text
    assert "numpy 2" in text


def test_all_that_is_told_is_well_formed_and_within_bounds(whole):
    page = read_html(whole)
    assert len(whole) < 2_000_000
    assert "<script>alert" not in whole
    assert len(list(page.every("script"))) == 1
    assert "alert(1)" in page.text
    levels = [int(e.tag[1]) for e in page.every("h1", "h2", "h3", "h4")]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    names = [e.attributes["id"] for e in page.every() if "id" in e.attributes]
    assert len(names) == len(set(names))
    svgs = [e for e in page.every("svg") if e.attributes.get("role") == "img"]
    assert svgs
    for figure in (f for f in page.every("figure") if f.attributes.get("class") == "chart"):
        assert next(figure.every("details", "img"), None) is not None  # words or numbers beside every chart


def test_a_named_study_is_reported_alone(call, store, tmp_path):
    reported(call, "joint")
    page = page_of(tmp_path)
    _, rows = table_called(page, "of task gzsl on digit-pairs")
    assert len(rows) == 1
    assert "zsl on digit-pairs" not in [e.text for e in page.every("h2")]
    assert "Seen-unseen curves on digit-pairs" in [e.text for e in page.every("figcaption")]


def test_the_command_that_is_shown_continues_the_very_study(call, store, tmp_path):
    before = sqlite3.connect(store / "optuna.db").execute("select count(*) from trials").fetchone()
    reported(call, "joint")
    commands = next(e for e in page_of(tmp_path).every("code") if "zslplat tune" in e.text)
    line = next(text for text in "".join(commands.content).splitlines() if text.startswith("zslplat tune"))
    done = call(*shlex.split(line)[1:], "--json", "--workers", 1)
    assert done.returncode == 0, done.stderr
    connection = sqlite3.connect(store / "optuna.db")
    assert connection.execute("select count(*) from studies").fetchone() == (3,)
    assert connection.execute("select count(*) from trials").fetchone() == before


def test_commands_lead_to_a_store_that_is_not_the_usual_one(call, store, tmp_path):
    elsewhere = store.rename(tmp_path / "their store")
    assert call("report", "joint", "--store", elsewhere, "--out", "r.html").returncode == 0
    shown = [e for e in read_html((tmp_path / "r.html").read_text()).every("code") if "zslplat " in e.text]
    lines = [line for e in shown for line in "".join(e.content).splitlines() if line.startswith("zslplat ")]
    assert {shlex.split(line)[1] for line in lines} == {"tune", "run", "rerun", "report"}
    for line in lines:
        assert shlex.split(line)[-2:] == ["--store", str(elsewhere)]
    again = next(line for line in lines if line.startswith("zslplat rerun"))
    assert call(*shlex.split(again)[1:]).returncode == 0


def test_an_unknown_name_is_refused_with_those_that_are_near(call, store):
    done = call("report", "joimt")
    assert done.returncode == 2
    assert "joint" in done.stderr


def test_an_empty_store_is_a_clear_error(call, tmp_path):
    done = call("report", "--out", "report.html")
    assert done.returncode == 1
    assert "nothing to report" in done.stderr
    assert not (tmp_path / "report.html").exists()
    done = call("report", "--store", tmp_path / "nowhere")
    assert done.returncode == 1
    assert "no runs in" in done.stderr


def test_what_fits_no_filter_is_an_error_that_says_what_is_recorded(call, store):
    done = call("report", "--task", "retrieval")
    assert done.returncode == 1
    assert "zsl on digit-pairs" in done.stderr


def test_a_study_without_test_evaluations_is_shown_as_unfinished(call, store, tmp_path):
    connection = sqlite3.connect(store / "optuna.db")
    with connection:
        study = connection.execute("select study_id from studies where study_name = 'joint'").fetchone()[0]
        connection.execute("delete from study_user_attributes where key = 'finished' and study_id = ?", (study,))
        connection.execute("delete from zslplat_evaluations where owner = 'study:joint'")
    connection.close()
    reported(call, "--task", "gzsl")
    page = page_of(tmp_path)
    headings = [e.text for e in page.every("h2", "h3")]
    assert headings[headings.index("Not finished") + 1] == "joint"
    assert "zslplat tune" in page.text
    _, rows = table_called(page, "of task gzsl on digit-pairs")
    assert [row[0][0] for row in rows] == ["gfhf"]
    reported(call, "joint")
    assert "no test evaluation yet" in page_of(tmp_path).text


def test_damaged_outcomes_of_one_run_leave_the_others_with_a_note(call, store, tmp_path):
    run = json.loads(call("compare", "joint", "-t", "gzsl", "--json").stdout)[0]["rows"][0]["runs"]
    folder = store / "evaluations" / run
    for path in folder.rglob("*"):
        if path.suffix in (".npz", ".csv", ".json"):
            path.write_bytes(b"\x00damaged\xff")
    done = reported(call, "--task", "gzsl")
    assert "cannot be read" in done.stderr
    # What is damaged beside a record is told where notes are told, too.
    told = json.loads(call("report", "--task", "gzsl", "--json").stdout)["notes"]
    for name in ("per_class", "confusion", "seen_unseen_curve"):
        (note,) = (note for note in told if f"{name}.csv cannot be read" in note)
        assert note in done.stderr
    page = page_of(tmp_path)
    warned = [e.text for e in page.every("ul") if "warning" in (e.attributes.get("class") or "")]
    assert any(run in text and "cannot be read" in text for text in warned)
    headings, rows = table_called(page, "of task gzsl on digit-pairs")
    place = headings.index("score on these rows")
    by_name = {row[0][0]: row for row in rows}
    assert by_name["gfhf"][place][1] is not None
    damaged = next(row for name, row in by_name.items() if name.startswith("eszsl"))
    assert damaged[place][1] is None
    assert damaged[headings.index("test")][1] is not None


def test_an_earlier_report_is_replaced_and_nothing_else_is(call, store, tmp_path):
    assert "wrote the report" in reported(call, "joint").stdout
    assert "replaced the earlier report" in reported(call, "joint").stdout
    mine = tmp_path / "mine.html"
    mine.write_text("<p>my own page")
    done = call("report", "joint", "--out", mine)
    assert done.returncode == 2
    assert "is no report" in done.stderr
    assert mine.read_text() == "<p>my own page"
    done = call("report", "joint", "--out", tmp_path)
    assert done.returncode == 2
    done = call("report", "joint", "--out", tmp_path / "joint.pdf")
    assert (done.returncode, "ends in .html" in done.stderr) == (2, True)
    os.mkfifo(tmp_path / "pipe")
    done = call("report", "joint", "--out", tmp_path / "pipe")
    assert (done.returncode, "is no ordinary file" in done.stderr) == (2, True)
    assert call("report", "joint").returncode == 0
    assert (store / "reports" / "joint.html").is_file()
    assert call("store", "check").returncode == 0


def test_findings_of_checks_are_told_by_code_with_the_way_to_their_page(whole):
    page = read_html(whole)
    warned = " ".join(e.text for e in page.every("ul") if "warning" in (e.attributes.get("class") or ""))
    assert "ZSP108" in warned  # few trials
    assert "zslplat explain ZSP108" in warned


def test_silenced_findings_are_counted_and_not_told(call, store, tmp_path, monkeypatch):
    monkeypatch.setenv("ZSLPLAT_SILENCE", "ZSP108")
    reported(call, "gfhf", "--task", "gzsl")
    text = page_of(tmp_path).text
    assert "zslplat explain ZSP108" not in text
    assert "silenced" in text


def test_a_suite_is_reported_by_itself(call, store, tmp_path):
    connection = sqlite3.connect(store / "optuna.db")
    found = connection.execute(
        "select a.study_user_attribute_id, a.value_json from study_user_attributes a join studies s on "
        "a.study_id = s.study_id where s.study_name = 'joint' and a.key = 'about'"
    ).fetchone()
    about = json.loads(found[1]) | {"part_of": {"suite": "small", "data": "pairs", "row": "first"}}
    with connection:
        connection.execute(
            "update study_user_attributes set value_json = ? where study_user_attribute_id = ?",
            (json.dumps(about), found[0]),
        )
    connection.close()
    reported(call, "--suite", "small")
    page = page_of(tmp_path)
    assert "Report of suite small" in page.text
    _, rows = table_called(page, "of task gzsl on digit-pairs")
    assert len(rows) == 1
    assert "zsl on digit-pairs" not in [e.text for e in page.every("h2")]
    done = call("report", "--suite", "smal")
    assert done.returncode == 2
    assert "small" in done.stderr
