"""Sections made of plain facts: what is told when parts are missing, large or many."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from zslplat.comparison.compare import Comparison
from zslplat.evidence.results import Evaluation, Result, Sweep
from zslplat.names import duration
from zslplat.records.costs import total_seconds
from zslplat.reports.artifacts import class_scores, table_of
from zslplat.reports.blocks import Folded
from zslplat.reports.contents import Chapter, Contents
from zslplat.reports.context import PageContext
from zslplat.reports.curves import best_so_far, feature_curves, sweep_chart
from zslplat.reports.leaderboard import across_section, leaderboard_table, left_out_of_names
from zslplat.reports.overview import headline, page_of
from zslplat.reports.provenance import commands_of, tune_command
from zslplat.reports.study import confused_pairs, front_chart, study_section, trial_table
from zslplat.reports.wording import listed, number, size
from zslplat.tasks.base import Metric

IDENTITY = {"method": "eszsl", "dataset": "digit-pairs", "task": "zsl", "seed": 0, "space": {}}


def evaluation(folder, **tables):
    """An evaluation that left these tables, {name: CSV text}."""
    evaluation = Evaluation({"run": "0123456789abcdef", "metrics": {}, "folds": []}, folder)
    evaluation.artifacts.mkdir(parents=True, exist_ok=True)
    for name, text in tables.items():
        (evaluation.artifacts / f"{name}.csv").write_text(text)
    return evaluation


def study(trials=(), identity=IDENTITY, name="s", **more):
    """A study with these trials, of which the first is the best."""
    winner = trials[0] if trials and more.get("finished") else {}
    return Result(name, identity, is_study=True, trials=trials, trial_count=len(trials), winner=winner, **more)


def run_of(*tested, name="run 0", **more):
    """A single run on the test split."""
    return Result(name, IDENTITY | {"split": "test"}, tested, **more)


def trial(value, seconds=1.0, state="complete", **parameters):
    return {"state": state, "value": value, "seconds": seconds, "parameters": parameters, "number": 0}


def test_the_best_so_far_never_gets_worse_and_pays_for_failures():
    trials = [trial(None, 2.0, "failed"), trial(0.5), trial(0.4), trial(0.7, 3.0), trial(0.9, 1.0, "pruned")]
    entry = study(trials)
    numbers, seconds, best = best_so_far(entry, maximise=True)
    assert numbers == [1, 2, 3, 4, 5]
    assert seconds == [2, 3, 4, 7, 8]
    assert np.isnan(best[0])
    assert best[1:] == [0.5, 0.5, 0.7, 0.7]  # what was pruned is no result
    assert best_so_far(entry, maximise=False)[2][1:] == [0.5, 0.4, 0.4, 0.4]


def test_what_failed_without_a_time_counts_as_long_as_it_was_under_way():
    failed = {**trial(None, 0.0, "failed"), "started": 100.0, "ended": 106.5}
    trials = [failed, trial(0.5, 2.0)]
    entry = study(trials)
    assert best_so_far(entry, maximise=True)[1] == [6.5, 8.5]
    assert [row[-1].value for row in trial_table(entry).rows] == [6.5, 2.0]
    assert total_seconds(trials) == 8.5


def test_the_pairs_confused_most_come_first(tmp_path):
    lines = ["true,predicted,rows,share", "c1,c1,9,0.9", "c2,c1,2,0.2", "c7,c8,3,0.3", "c8,c7,0,0.0"]
    (table,) = confused_pairs([evaluation(tmp_path, confusion="\n".join(lines))], PageContext())
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["c7", "c8", "3", "30.0%"],
        ["c2", "c1", "2", "20.0%"],
    ]


def test_tables_that_are_damaged_or_missing_are_none_and_noted(tmp_path):
    notes = []
    broken = evaluation(tmp_path, per_class="class,accuracy\na,0.5,3\n")
    assert table_of(broken, "per_class", notes.append) == {}
    assert "differ in length" in notes[0]
    assert table_of(broken, "nothing", notes.append) == {}
    assert len(notes) == 1
    assert class_scores([broken]) is None


def test_files_that_cannot_be_read_are_noted_once_whatever_needed_them(tmp_path):
    broken = evaluation(tmp_path)
    for name in ("per_class", "confusion"):
        (broken.artifacts / f"{name}.csv").write_bytes(b"\xff\xfe")
    context = PageContext()
    entry = run_of(broken)
    assert "Per class" not in [
        getattr(block, "summary", "") for block in study_section(entry, "a", "here", context).blocks
    ]
    assert all(f"{name}.csv cannot be read" in " ".join(context.notes) for name in ("per_class", "confusion"))
    found = Comparison("zsl", ("digit-pairs",), "per_class_accuracy", True, [row("a", ""), row("b", "")])
    entries = {"a": entry, "b": replace(entry, tested=[evaluation(tmp_path / "b", per_class=PER_CLASS.format(0.5))])}
    chapter = Chapter("digit-pairs", "zsl", Metric("per_class_accuracy"), found, entries)
    page = page_of(Contents("all", tmp_path, "0", [chapter], notes=["a study is left out"]), "1.0", "today")
    assert page.notes[0] == "a study is left out"
    assert len(page.notes) == len(set(page.notes)) == 3


def test_what_is_shown_of_the_first_of_several_repeats_says_so(tmp_path):
    tables = {
        "confusion": "true,predicted,rows,share\nx,x,2,0.5\nx,y,2,0.5\n",
    }
    tables |= {"curve": "features,accuracy\n1,0.5\n2,0.6\n"}
    tested = [evaluation(tmp_path / str(number), **tables) for number in range(3)]
    found = Comparison("zsl", ("digit-pairs",), "per_class_accuracy", True, [row("a", "")])
    for repeats in (1, 3):
        entry = run_of(*tested[:repeats])
        blocks = study_section(entry, "a", "here", PageContext()).blocks
        shown = {block.summary: block.blocks for block in blocks if isinstance(block, Folded)}
        (confusion,) = shown["Confusion"]
        assert ("the first of 3 repeats" in confusion.caption) == (repeats == 3)
        (chart,) = feature_curves(Chapter("digit-pairs", "zsl", Metric("accuracy"), found, {"a": entry}), PageContext())
        assert ("First repeat" in chart.note) == (repeats == 3)


def test_scores_per_class_are_means_over_repeats(tmp_path):
    first = evaluation(tmp_path / "a", per_class="class,rows,accuracy\nx,2,0.5\ny,2,1.0\n")
    second = evaluation(tmp_path / "b", per_class="class,rows,accuracy\nx,2,1.0\ny,2,1.0\n")
    assert class_scores([first, second]).scores.tolist() == [0.75, 1.0]


def test_values_of_a_sweep_may_be_words_and_points_may_be_missing():
    sweep = Sweep(IDENTITY, "kernel", ["gaussian", "linear"], {"validation": [0.5, None]}, "per_class_accuracy", ())
    chart = sweep_chart(sweep, PageContext())
    assert "gaussian" in chart.svg
    assert "1 points failed" in chart.note
    assert chart.table.rows[1][1].text == "–"


def row(name, verdict, **more):
    content = {"method": name, "short": name, "study": name, "group": "inductive", "baseline": "a", "validation": 0.8}
    content |= {"test": 0.8, "low": 0.7, "high": 0.9, "low_classes": 0.6, "high_classes": 1.0}
    content |= dict.fromkeys(("spread", "p_holm", "smallest_difference", "tied", "difference_low", "difference_high"))
    content |= dict.fromkeys(("difference_low_classes", "difference_high_classes"))
    content |= {"knows": "nothing", "from_memory": False, "unequal": "", "verdict_rows": ""}
    return content | {"difference": 0.1, "verdict": verdict, "others": ""} | more


def test_the_headline_names_the_best_on_validation_and_both_intervals():
    rows = [row("b", "ahead"), row("a", ""), row("c", "not enough data")]
    found = Comparison("zsl", ("digit-pairs",), "per_class_accuracy", True, rows)
    told = headline(Chapter("digit-pairs", "zsl", Metric("per_class_accuracy"), found, {}))
    assert told[0].startswith("a was best on validation and reaches a mean per-class accuracy of 0.800")
    assert "over these test rows 0.700 to 0.900, over new classes 0.600 to 1.000" in told[0]
    assert told[1:] == [
        "Beside a, over new classes: 1 ahead and 1 not enough data.",
        "Ahead of it: b (+0.100).",
    ]


def test_where_there_is_no_interval_of_a_difference_the_headline_says_it_once():
    rows = [row("a", ""), row("b", "", low=None), row("c", "", low=None)]
    found = Comparison("zsl", ("digit-pairs",), "per_class_accuracy", True, rows)
    _, told = headline(Chapter("digit-pairs", "zsl", Metric("per_class_accuracy"), found, {}))
    assert told == "Beside a, over new classes: 2 without an interval."


def test_where_nothing_was_validated_the_headline_says_what_is_reached_and_names_no_best():
    rows = [row("b", "ahead", test=0.9), row("a", ""), row("c", "behind", test=0.2)]
    rows = [one | {"validation": None} for one in rows]
    found = Comparison("retrieval", ("digit-pairs",), "mAP", True, rows)
    told = headline(Chapter("digit-pairs", "retrieval", Metric("mAP"), found, {}))
    assert told[0].startswith("The 3 methods reach a mean average precision (mAP) of 0.200 (c) to 0.900 (b)")
    assert "no score on validation" in told[0]
    assert told[1].startswith("a reaches a mean average precision (mAP) of 0.800")
    assert not any("best" in text for text in told)


def test_only_a_baseline_that_was_validated_is_called_the_best_on_validation():
    rows = [row("b", "ahead"), row("a", "")]
    for given, wanted in ((0.8, "the best on validation (a)"), (None, "nothing has a score on validation (a)")):
        own = [one | {"validation": given} for one in rows]
        found = Comparison("zsl", ("digit-pairs",), "per_class_accuracy", True, own)
        table = leaderboard_table(Chapter("digit-pairs", "zsl", Metric("per_class_accuracy"), found, {}))
        assert wanted in table.note


PER_CLASS = "class,rows,accuracy\nx,2,{}\ny,2,1.0\n"


def test_what_names_leave_out_is_folded_away():
    found = Comparison(
        "zsl", ("digit-pairs",), "per_class_accuracy", True, [row("a", "")], {"a, everywhere": "alpha=2"}
    )
    (folded,) = left_out_of_names(Chapter("digit-pairs", "zsl", Metric("per_class_accuracy"), found, {}))
    assert [cell.text for cell in folded.blocks[0].rows[0]] == ["a, everywhere", "alpha=2"]


def test_methods_over_data_sets_have_mean_ranks():
    methods = [
        {"method": name, "scores": {"x": 0.5, "y": 0.6}, "mean_rank": rank, "difference": None, "verdict": None}
        for name, rank in (("one", 1.0), ("two", 2.0))
    ]
    families = {"x": "x", "y": "y"}
    table = {"group": "inductive", "methods": methods, "baseline": None, "sets": 2, "families": families}
    found = Comparison("zsl", ("x", "y"), "per_class_accuracy", True, [], over_datasets=[table])
    (shown,) = across_section(found, "here", PageContext()).blocks
    assert [cell.text for cell in shown.rows[0]] == ["one", "0.5000", "0.6000", "1.00"]
    assert "means over 2 data sets" in shown.note


def test_the_command_of_a_study_gives_what_is_not_the_default():
    identity = IDENTITY | {"seed": 3, "sampler": "random", "space": {"gamma": "1..10:log", "alpha": "0.001..1000:log"}}
    entry = study([trial(0.5)] * 4, identity, "mine", finished={"winner": 0}, about={"own_ranges": ["gamma"]})
    command = tune_command(entry)
    assert "--space gamma=1..10:log" in command
    assert "alpha" not in command  # the method's own range
    assert "--sampler random" in command
    assert "--seed 3" in command
    assert "--trials 4" in command
    assert command.endswith("--study mine")
    # How often the winner was scored is part of what it gave, and not everywhere the default.
    tested = [Evaluation({"run": str(number)}, Path()) for number in range(3)]
    assert "--repeats 1 " in tune_command(replace(entry, tested=tested[:1]))
    assert commands_of(run_of(*tested))[0].endswith("--test --repeats 3")
    # What is recorded of ranges counts, so that the method need not be installed.
    gone = study([trial(0.5)], identity | {"method": "gone"}, about={"own_ranges": ["alpha"]})
    assert "--space alpha=0.001..1000:log --sampler" in tune_command(gone)
    assert "gamma" not in tune_command(gone)


def test_a_study_that_goes_on_is_continued_to_the_usual_number_of_trials():
    for trials in (0, 3, 20):
        entry = study([trial(0.5)] * trials)
        assert "--trials" not in tune_command(entry)  # fewer would end it here, and 0 are refused
        assert "--trials" not in tune_command(replace(entry, identity=IDENTITY | {"sampler": "grid"}))
    assert "--trials 21 " in tune_command(replace(entry, trials=[trial(0.5)] * 21))


def test_files_of_scores_made_elsewhere_are_told_as_they_are_given(tmp_path):
    test = {"run": "r", "metrics": {}, "folds": [{"name": "test"}], "outside": {"name": "net", "files": {"t.csv": ""}}}
    beside = Evaluation({"folds": [], "outside": {"name": "net", "files": {"a/v.csv": "", "b/v.csv": ""}}}, tmp_path)
    (command,) = commands_of(run_of(Evaluation(test, tmp_path), validated=[beside]))
    assert command.partition("--task zsl ")[2] == "--scores t.csv --validation a/v.csv --validation b/v.csv"


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (duration(0.012), "12 ms"),
        (duration(75), "75 s"),
        (duration(7200), "2 h"),
        (duration(None), "–"),
        (size(3 * 2**20), "3 MiB"),
        (number(float("nan")), "–"),
        (number(0.5, sign=True), "+0.5000"),
        (listed(["a", "b", "c"]), "a, b and c"),
    ],
)
def test_numbers_are_told_in_units_that_fit(shown, text):
    assert shown == text


def flat(sections):
    return [one for section in sections for one in (section, *flat(section.sections))]


def test_several_comparisons_begin_with_who_leads_by_how_much_how_sure_and_at_what_cost(tmp_path):
    more = {"difference_low_classes": -0.2, "difference_high_classes": -0.01, "trial_seconds": 8.0, "test_seconds": 2.0}
    rows = [row("b", "behind", difference=-0.1, test=0.7, **more), row("a", "", difference=None, **more)]
    found = [Comparison(task, ("digit-pairs",), "per_class_accuracy", True, rows) for task in ("zsl", "gzsl")]
    chapters = [Chapter("digit-pairs", one.task, Metric("per_class_accuracy"), one, {}) for one in found]
    page = page_of(Contents("all", tmp_path, "0", chapters), "1.0", "today")
    glance, *others = page.sections
    table = glance.blocks[0]
    first, second = ([cell.text for cell in line] for line in table.rows)
    assert first == [
        *("zsl on digit-pairs", "a", "0.8000", "0.600 to 1.000", "b", "+0.1000", "+0.010 to +0.200", "ahead", "10 s")
    ]
    assert second[0] == "gzsl on digit-pairs"
    anchors = {section.anchor for section in flat(page.sections)}
    assert all(line[0].link in anchors for line in table.rows)
    assert not glance.folded
    assert all(section.folded for section in others)


def test_where_nothing_was_validated_nobody_leads_by_validation(tmp_path):
    rows = [row("b", "ahead", test=0.9), row("a", "")]
    found = Comparison("retrieval", ("x",), "mAP", True, [{**one, "validation": None} for one in rows])
    chapters = [Chapter("x", "retrieval", Metric("mAP"), found, {})] * 2
    line = page_of(Contents("all", tmp_path, "0", chapters), "1.0", "today").sections[0].blocks[0].rows[0]
    assert [cell.text for cell in line][1] == "b (on test)"
    assert "no score on validation" in [cell.text for cell in line]


def test_a_report_of_one_study_begins_with_the_study(tmp_path):
    entry = study([trial(0.5)], tested=[evaluation(tmp_path / "e", per_class=PER_CLASS.format(0.5))], name="a")
    found = Comparison("zsl", ("digit-pairs",), "per_class_accuracy", True, [row("a", "", study="a")])
    chapter = Chapter("digit-pairs", "zsl", Metric("per_class_accuracy"), found, {"a": entry})
    page = page_of(Contents("a", tmp_path, "0", [chapter]), "1.0", "today")
    assert page.title == "a: zsl on digit-pairs"
    first, sure = page.sections[0].blocks[:2]
    assert first.text.startswith("A study of eszsl")
    assert sure.text.endswith("over these test rows 0.700 to 0.900, over new classes 0.600 to 1.000.")
    assert "Studies and runs" not in [section.title for section in flat(page.sections)]


def test_two_criteria_have_a_chart_of_the_trials_that_no_other_beats():
    folds = [[{"seconds": {"fit_and_score": seconds}}] for seconds in (1.0, 2.0, 30.0)]
    trials = [
        {**trial(value), "number": number, "metrics": {"H": value}, "folds": folds[number]}
        for number, value in enumerate((0.3, 0.5, 0.4))
    ]
    identity = IDENTITY | {"task": "gzsl", "metric": "H,seconds"}
    (chart,) = front_chart(study(trials, identity, finished={"front": [1, 0]}), PageContext())
    assert [[cell.text for cell in line] for line in chart.table.rows] == [["0", "0.3000", "1"], ["1", "0.5000", "2"]]
    assert list(front_chart(study(trials, identity, finished={}), PageContext())) == []
