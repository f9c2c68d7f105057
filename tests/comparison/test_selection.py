"""What is compared: one row per experiment, filters, short names, what is unequal, and several data sets."""

import json

import numpy as np
import pytest
from store_toys import BOTH, CLASSES, ROWS

from zslplat.comparison.compare import compare
from zslplat.comparison.sheets import sheets
from zslplat.errors import StoreError, UnknownNameError, UsageError
from zslplat.evidence.matching import Filters
from zslplat.evidence.table import ResultTable


@pytest.fixture
def show(settings):
    """Return the comparison of a store; every warning is an error."""

    def of(*datasets, **more):
        return compare(settings, datasets or ["made"], warn=pytest.fail, **more)

    return of


def studies(found):
    return [row["study"] for row in found.rows]


def test_an_experiment_is_one_row_however_often_it_was_evaluated(made, show):
    short = made.study("eszsl", 0.9, trials=3, name="short", validation=0.7)
    long = made.study("eszsl", 0.7, trials=9, name="long")
    last = made.study("eszsl", 0.8, trials=3, name="last", repeats=2, validation=0.7)
    rerun = made.run("eszsl(alpha=1.0)", 0.7)
    other = made.study("sae", 0.6)
    found = show()
    assert studies(found) == [long, other]
    first = found.rows[0]
    assert (first["trials"], first["folded"]) == (9, 3)
    assert {*first["others"].split(", ")} == {short, last, f"run {rerun[:8]}"}
    assert first["method"] == "eszsl"  # no study is needed to tell it from another
    assert len(show(every=True).rows) == 5


def test_names_with_commas_behind_a_row_are_told_apart(made, show):
    for name in ("a: (b), c=d", "plain"):
        made.study("eszsl", 0.7, trials=3, name=name)
    made.study("eszsl", 0.7, trials=9, name="p, q")
    found = show()
    assert {name: sorted(names) for name, names in found.hidden_results.items()} == {"p, q": ["a: (b), c=d", "plain"]}
    assert sorted(found.rows[0]["others"].split('", ')) == ['"a: (b), c=d', "plain"]  # in quotes, as tags are
    assert show(every=True).hidden_results == {}


def test_what_stands_for_an_experiment_is_not_chosen_by_its_test_score(made, show):
    made.study("eszsl", 0.9, trials=5, name="lucky", validation=0.6)
    made.study("eszsl", 0.5, trials=5, name="newer", validation=0.6)
    assert studies(show()) == ["newer"]


@pytest.mark.parametrize("maximise", [True, False])
def test_the_best_validation_stands_before_more_trials(made, show, maximise):
    made.study("eszsl", 0.9, trials=9, name="long", validation=0.7, maximise=maximise)
    made.study("eszsl", 0.6, trials=3, name="short", validation=0.8, maximise=maximise)
    assert studies(show()) == ["short" if maximise else "long"]


def test_a_row_of_several_data_sets_is_not_called_after_the_study_of_one(made, show):
    wide = {name: "1e-05..100000:log" for name in ("alpha", "gamma")}
    for dataset, name in (("birds", "killed"), ("trees", "second")):
        made.study("eszsl", 0.8, name=name, dataset=dataset, data=2 * dataset)
        made.study("eszsl", 0.7, name=f"{name}-wide", dataset=dataset, data=2 * dataset, space=wide)
    found = show("birds", "trees")
    names = [[row["short"] for row in found.on(dataset)] for dataset in ("birds", "trees")]
    assert names[0] == names[1]
    assert len(set(names[0])) == 2
    assert not any("killed" in name or "second" in name for name in names[0])
    for name, row in zip(names[0], found.on("birds"), strict=True):  # they are said in full, and are names
        assert name not in found.names or "alpha=" in found.names[name]
        assert studies(show("birds", filters=Filters(names=[name]))) == [row["study"]]


def test_test_scores_of_an_earlier_winner_are_history(made, show):
    name = made.study("eszsl", 0.6, repeats=2)
    (before,) = show().rows
    made.earlier_winner(name, 0.95, repeats=3)  # the newest of all
    (row,) = show().rows
    assert row == before
    assert (row["repeats"], row["tested"]) == (2, "eszsl(alpha=1.0)")
    reported = ResultTable(made.records, pytest.fail).studies()
    assert {run for entry in reported for run in entry.runs} == set(row["runs"].split(", "))


def test_newer_code_stands_before_more_trials(made, show):
    made.study("eszsl", 0.9, trials=50, name="old")
    made.study("eszsl", 0.8, trials=5, name="mended", code={"method": "m2"})
    assert studies(show()) == ["mended"]
    made.study("eszsl", 0.8, trials=9, name="longer", code={"method": "m2", "numpy": "3"})
    assert studies(show()) == ["longer"]  # another version of a library is no other code


def test_what_newer_code_replaces_is_said(made, show):
    made.study("eszsl", 0.9, trials=50, name="old")
    assert show().notes == []
    made.study("eszsl", 0.8, trials=5, name="mended", code={"method": "m2"})
    (note,) = show().notes
    assert note.startswith("eszsl on made: mended (5 trials, validation 0.8000) is by newer code")
    assert "is shown in place of old (50 trials, validation 0.9000)" in note
    run = made.run("eszsl(alpha=1.0)", 0.7, code={"method": "m3"})
    (note,) = show().notes
    assert f"run {run[:8]} (evaluated again) is by newer code" in note
    assert "old (50 trials" in note
    assert "mended (5 trials" in note


def test_more_trials_by_the_same_code_replace_nothing_silently(made, show):
    made.study("eszsl", 0.9, trials=50, name="long")
    made.study("eszsl", 0.8, trials=5, name="short")
    assert show().notes == []


def test_rows_that_are_recorded_as_one_group_are_said_to_have_no_interval(made, settings):
    made.study("eszsl", 0.8)
    made.study("sae", 0.7, name="old", group=np.zeros(CLASSES * ROWS, dtype=np.int32))
    said = []
    rows = {row["method"]: row for row in compare(settings, ["made"], warn=said.append).rows}
    (line,) = said
    assert line.startswith("old: no interval over these test rows: its rows are recorded as one group")
    assert rows["sae"]["low"] is None
    assert rows["eszsl"]["low"] is not None


def test_other_seeds_ranges_and_preprocessing_are_other_settings(made, show):
    made.study("eszsl", 0.8)
    made.study("eszsl", 0.8, seed=1)
    made.study("eszsl(alpha=1)", 0.8, trials=1)
    names = [row["short"] for row in show().rows]
    assert sorted(names) == ["eszsl [seed 0]", "eszsl [seed 1]", "eszsl(alpha=1)"]


def test_other_test_rows_are_never_folded(made, show):
    made.run("eszsl(alpha=1)", 0.8, rows="some")
    made.run("eszsl(alpha=1)", 0.7, rows="others")
    found = show()
    assert len(found.rows) == 2
    assert [row["unequal"] for row in found.rows] == ["", "other test rows"]


def test_a_study_that_is_named_is_shown_itself(made, show):
    made.study("eszsl", 0.7, trials=9, name="long")
    made.study("eszsl", 0.9, trials=3, name="short")
    assert studies(show(filters=Filters(["short"]))) == ["short"]
    assert studies(show(filters=Filters(studies=["short"]))) == ["short"]
    both = show(filters=Filters(["long"]), against="short")
    assert {row["study"]: row["baseline"].partition("[")[2] for row in both.rows} == {
        "long": "short]",
        "short": "short]",
    }


def test_filters_take_patterns_and_all_of_them_have_to_fit(made, show):
    made.study("eszsl", 0.8, name="one")
    made.study("sae", 0.7, name="two", mlflow_experiment="suite: quick", part_of={"suite": "quick", "row": "sae"})
    made.study("mfmr-joint", 0.9, name="three", knows=BOTH)
    made.run("mfmr", 0.6)

    def methods(**filters):
        return sorted(row["method"] for row in show(filters=Filters(**filters)).rows)

    assert methods(methods=["mfmr*"]) == ["mfmr", "mfmr-joint"]
    assert methods(methods=["mfmr*", "sae"]) == ["mfmr", "mfmr-joint", "sae"]
    assert methods(names=["?a*"]) == ["sae"]
    assert methods(studies=["t*"]) == ["mfmr-joint", "sae"]
    assert methods(studies=["t*"], methods=["mfmr*"]) == ["mfmr-joint"]
    assert methods(suites=["quick"]) == ["sae"]
    with pytest.raises(UnknownNameError, match="unknown method 'eszls'; did you mean eszsl"):
        methods(methods=["eszls"])
    with pytest.raises(StoreError, match="leave one out"):
        methods(studies=["one"], methods=["sae"])


def test_what_was_recorded_for_a_suite_is_shown_whatever_stands_for_its_experiment_elsewhere(made, show):
    quick = {"mlflow_experiment": "suite: quick", "part_of": {"suite": "quick", "row": "eszsl"}}
    made.study("eszsl", 0.8, trials=3, name="quick-1", **quick)
    made.study("sae", 0.7, trials=3, name="quick-2", **quick)
    made.study("eszsl", 0.9, trials=30, name="mine")
    assert studies(show()) == ["mine", "quick-2"]
    for asked in ({"suites": ["quick"]}, {"studies": ["quick-*"]}):
        assert sorted(studies(show(filters=Filters(**asked)))) == ["quick-1", "quick-2"], asked
    beside = show(filters=Filters(suites=["quick"]), against="mine")
    assert sorted(studies(beside)) == ["mine", "quick-1", "quick-2"]
    assert {row["baseline"] for row in beside.rows} == {"eszsl [mine]"}
    own = show(filters=Filters(suites=["quick"]), against="eszsl")
    assert sorted(studies(own)) == ["quick-1", "quick-2"]


def test_parameters_that_a_suite_found_for_another_task_have_the_trials_of_that_search(made, show):
    part_of = {"suite": "quick", "row": "sae", "searched": "gzsl", "trials": "20"}
    made.study("sae(alpha=2)", 0.7, trials=1, part_of=part_of)
    made.study("eszsl", 0.8, trials=20)
    made.study("gfhf(k=5)", 0.6, trials=1)
    found = {row["study"]: (row["trials"], row["unequal"]) for row in show().rows}
    assert sorted(found.values()) == [(1, "1 trials, not 20"), (20, ""), (20, "")]


def test_a_method_is_filtered_by_some_of_its_parameters_in_any_order(made, show):
    made.study("zskl(alpha=1, rank=2)", 0.8)
    made.study("zskl(alpha=1, rank=4)", 0.7)
    for name, count in (("zskl(rank=4)", 1), ("zskl(rank=4, alpha=1)", 1), ("zskl(alpha=1)", 2), ("zskl(*rank=4*", 1)):
        assert len(show(filters=Filters(methods=[name])).rows) == count, name


def test_short_names_hold_what_differs_and_are_names(made, show):
    long = "kernel-of-many-words-that-fill-a-line"
    made.study(f"zskl(alpha=1, kernel={long}, rank=2)", 0.8)
    made.study(f"zskl(alpha=1, kernel={long}, rank=4)", 0.7)
    made.study("gfhf(k=5)", 0.6, knows=BOTH)
    made.study(f"sae(alpha=2, kernel={long})", 0.5)
    found = show()
    names = {row["short"]: row["study"] for row in found.rows}
    assert {"zskl(rank=2)", "zskl(rank=4)", "gfhf(k=5)", "sae"} == set(names)
    assert found.names == {"zskl, everywhere": f"alpha=1, kernel={long}", "sae, everywhere": f"alpha=2, kernel={long}"}
    for name, study in names.items():
        assert studies(show(filters=Filters([name]))) == [study]
        assert studies(show(against=name, filters=Filters([name]))) == [study]


def test_a_name_too_long_for_a_table_is_cut_and_said_in_full(made, show):
    words = ("one-value-of-a-parameter-that-is-long", "another-value-of-a-parameter-as-long")
    for word in words:
        made.study(f"sae(kernel={word})", 0.5)
    found = show()
    for row in found.rows:
        assert len(row["short"]) < 30
        assert found.names[row["short"]] == row["method"].removeprefix("sae")
        assert studies(show(filters=Filters([row["short"]]))) == [row["study"]]


def test_budgets_knowledge_and_what_is_unequal_are_said(made, show):
    made.study("eszsl", 0.8, trials=20)
    made.study("sae", 0.7, trials=5, mark="mixed")
    made.study("gfhf", 0.75, trials=20, knows=BOTH, steps=7.0)
    made.run("ridge-prototypes", 0.6, knows="unseen signatures")
    rows = {row["method"]: row for row in show().rows}
    assert rows["eszsl"]["unequal"] == ""
    assert rows["sae"]["unequal"] == "5 trials, not 20; mixed"
    assert rows["ridge-prototypes"]["unequal"] == "not tuned"
    assert [rows["sae"][key] for key in ("trials", "trial_seconds", "epochs", "repeats")] == [5, 10.0, None, 1]
    assert rows["gfhf"]["epochs"] == 7
    assert rows["ridge-prototypes"]["trials"] is rows["ridge-prototypes"]["trial_seconds"] is None
    known = ("transductive", "class_balance", "unseen_signatures")
    assert [rows["gfhf"][key] for key in known] == [True, True, False]
    assert [rows["ridge-prototypes"][key] for key in known] == [False, False, True]


def test_a_method_without_anything_to_search_needs_no_trials(made, show):
    made.study("eszsl", 0.8, trials=20)
    made.study("cosine-signatures", 0.7, trials=1, space={})
    assert {row["method"]: row["unequal"] for row in show().rows} == {"eszsl": "", "cosine-signatures": ""}


def test_older_versions_of_the_data_are_left_out_and_counted(made, show):
    made.study("eszsl", 0.8, data="b" * 64)
    made.study("sae", 0.7)
    found = show()
    assert [row["method"] for row in found.rows] == ["sae"]
    assert found.notes == ["made: 1 left out, of other data than the newest (fingerprint aaaaaaaa); --all shows them"]
    rows = show(every=True).rows
    assert {row["method"]: row["unequal"] for row in rows} == {"sae": "", "eszsl": "other data"}
    # The same places of rows in other data are no pair.
    assert all(row["difference_low"] is None and row["difference_low_classes"] is None for row in rows)


def test_a_study_of_older_data_is_shown_where_it_is_named(made, show):
    older = made.study("eszsl", 0.8, data="b" * 64)
    newer = made.study("sae", 0.7)
    for filters in (Filters(studies=[older]), Filters([older])):
        found = show(filters=filters)
        assert [(row["study"], row["unequal"]) for row in found.rows] == [(older, "other data")]
        assert found.notes == []
    both = {row["study"]: row for row in show(filters=Filters([older, newer])).rows}
    assert set(both) == {older, newer}
    assert all(row["difference_low"] is None for row in both.values())
    assert [row["verdict"] for row in both.values() if row["difference"] is not None] == ["other data"]
    said = [note for sheet in sheets(show(filters=Filters([older, newer]))) for note in sheet.notes]
    assert any(note.startswith("other data: another version of the data than") for note in said)


def test_several_data_sets_give_a_table_with_mean_ranks(made, show):
    for place, dataset in enumerate(("made", "made(seed=1)", "made(seed=2)")):
        for method, share in (("eszsl(alpha=1)", 0.9), ("sae", 0.7), ("eszsl(alpha=3)", 0.5)):
            made.study(method, share + 0.01 * place, dataset=dataset, rows=f"rows {place}")
    made.study("conse", 0.95)
    found = show("made", "made(seed=1)", "made(seed=2)")
    assert len(found.rows) == 10
    (table,) = found.over_datasets
    ranks = {method["method"]: method["mean_rank"] for method in table["methods"]}
    assert list(ranks.items()) == [("eszsl(alpha=1)", 1), ("sae", 2), ("eszsl(alpha=3)", 3), ("conse", None)]
    assert table["sets"] == 3
    scores = {(row["short"], row["dataset"]): row["test"] for row in found.rows}
    for method in table["methods"]:
        for dataset, score in method["scores"].items():
            assert score == scores.get((method["method"], dataset))
    everything = compare(show.__closure__[0].cell_contents, [], warn=pytest.fail)
    assert everything.to_json() == found.to_json()


def test_data_sets_of_the_same_rows_count_as_one(made, show):
    for dataset in ("made", "made(signatures=words)", "made(seed=1)"):
        for method in ("eszsl", "sae"):
            made.study(method, 0.8, dataset=dataset, rows="the same" if "seed" not in dataset else "others")
    assert show("made", "made(signatures=words)", "made(seed=1)").over_datasets[0]["sets"] == 2


def test_what_is_not_on_a_data_set_is_said(made, show):
    made.study("eszsl", 0.8)
    made.study("sae", 0.7)
    made.study("sae", 0.7, dataset="made(seed=1)")
    found = show("made", "made(seed=1)", filters=Filters(methods=["eszsl"]))
    assert found.datasets == ("made",)
    assert found.notes == ["made(seed=1): no recorded result fits"]
    both = show("made", "made(seed=1)", against="eszsl")
    assert both.notes == ["made(seed=1): eszsl is not recorded; differences are as without it"]
    with pytest.raises(UnknownNameError):
        show("made", "made(seed=1)", against="nobody")
    for alpha in (1, 2):
        made.study(f"sae(alpha={alpha})", 0.7, trials=1)
    with pytest.raises(UsageError, match="fits 2 entries"):
        show(against="sae(*")


def test_the_command_shows_the_rows_of_the_function(made, show, call):
    made.study("eszsl", 0.8)
    made.study("gfhf", 0.75, knows=BOTH)
    made.study("sae", 0.7, dataset="made(seed=1)")
    for arguments, found in (
        (("-d", "made"), show()),
        ((), show("made", "made(seed=1)")),
        (("-d", "made", "--method", "g*"), show(filters=Filters(methods=["g*"]))),
        (("--study", "sae*"), show("made(seed=1)", filters=Filters(studies=["sae*"]))),
    ):
        done = call("compare", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == json.loads(json.dumps([found.to_json()])), arguments


def test_the_table_fits_a_page_and_says_what_it_leaves_out(made, call):
    for rank in range(4):
        made.study(f"eszsl(alpha=1, kernel=a-kernel-with-a-name, rank={rank})", 0.8 - 0.1 * rank, trials=1 + rank)
    made.study("gfhf", 0.75, knows=BOTH)
    page = call("compare", "-d", "made").stdout.splitlines()
    table = [line for line in page[1:] if ":" not in line]
    assert max(len(line) for line in table) <= 120
    (said,) = (line for line in page if line.startswith("--wide shows also: "))
    assert "seconds of search" in said
    text = "\n".join(page)
    assert "these test rows:" in text
    assert "new classes" in text
    assert "knows of the scored batch: transductive, class balance: gfhf" in text
    assert "unequal: 1 trials, not 4: eszsl(rank=0)" in text
    assert "epochs" not in text  # no method has any
    wide = call("compare", "-d", "made", "--wide").stdout
    assert "of search" in wide
    assert "of search" not in "\n".join(table)
    assert "--wide shows" not in wide


def test_where_nothing_is_recorded_the_error_names_the_data_sets_that_are(made, show):
    with pytest.raises(StoreError, match=r"no test evaluation of task zsl on digit-pairs in .*; tune it first$"):
        show("digit-pairs")
    made.study("eszsl", 0.8)
    with pytest.raises(StoreError, match=r"on digit-pairs in .*; recorded is made: choose with --dataset$"):
        show("digit-pairs")


def test_names_with_blanks_and_brackets_are_near_to_what_is_recorded(made, show):
    made.study("eszsl", 0.8, dataset='"my data (1)"')
    with pytest.raises(UnknownNameError, match=r"'my dat'; did you mean my data \(1\)\?"):
        show('"my dat"')
