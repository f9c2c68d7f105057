"""Paired intervals against what theory says, and ``zslplat compare`` over a real store."""

import csv
import json
import re
import shutil
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from zslplat.comparison.leaderboard import leaderboard
from zslplat.comparison.paired import difference, interval
from zslplat.errors import AmbiguousNameError, UnknownNameError, UsageError
from zslplat.evidence.matching import index_of, indices_of
from zslplat.evidence.scores import Scored
from zslplat.metrics.intervals import draws, resampled_means
from zslplat.tasks.base import Metric

M = 400


def scored(correct, label="a", validation=0.5, repeats=1, **more):
    """What a study leaves of a method that is right where ``correct`` (m,) says so."""
    counts = np.vstack(list(draws(np.arange(len(correct)), np.zeros(len(correct), dtype=int), 1000)))
    values = [float(np.mean(correct))] * repeats
    replicates = {"accuracy": np.tile(resampled_means(counts, correct), (repeats, 1))}
    content = {"method": f"{label}(x=1)", "values": {"accuracy": values}, "replicates": replicates, **more}
    return Scored(label, f"study {label}", validation={"accuracy": validation}, **content)


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    first = rng.random(M) < 0.7
    second = np.where(rng.random(M) < 0.1, ~first, first)
    return first, second


def test_interval_is_the_normal_one_for_many_rows(pair):
    first, _ = pair
    p = first.mean()
    found = interval(scored(first), "accuracy")
    half = 1.96 * np.sqrt(p * (1 - p) / M)
    # 1000 replicates know a 2.5% quantile to about 5% of the half width; 15% is three times that.
    assert (found.low, found.high) == pytest.approx((p - half, p + half), abs=0.15 * half)
    assert found.estimate == p


def test_paired_interval_is_that_of_the_rows_own_differences(pair):
    first, second = pair
    gap = first.astype(float) - second
    found = difference(scored(first), scored(second, "b"), "accuracy")
    half = 1.96 * gap.std() / np.sqrt(M)
    assert found.estimate == pytest.approx(gap.mean())
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.15)
    unpaired = 1.96 * np.sqrt((first.var() + second.var()) / M)
    assert (found.high - found.low) / 2 < 0.7 * unpaired


def test_a_method_equals_itself(pair):
    found = difference(scored(pair[0]), scored(pair[0], "b"), "accuracy")
    assert (found.estimate, found.low, found.high, found.verdict("accuracy")) == (0, 0, 0, "equal within 0.02")


def test_spread_between_repeats_widens_the_interval(pair):
    steady = scored(pair[0], repeats=5)
    jumping = Scored(
        "j",
        "j",
        "j",
        {"accuracy": [v + d for v, d in zip(steady.values["accuracy"], (-0.2, -0.1, 0, 0.1, 0.2), strict=True)]},
        {"accuracy": steady.replicates["accuracy"] + np.array([-0.2, -0.1, 0, 0.1, 0.2])[:, None]},
        {},
    )
    width = {
        name: interval(s, "accuracy").high - interval(s, "accuracy").low for name, s in (("s", steady), ("j", jumping))
    }
    assert width["j"] > 2 * width["s"]


def test_evaluations_of_other_rows_are_no_pair(pair):
    first, second = scored(pair[0], validation=0.9, rows="s"), scored(pair[1], "b", rows="t")
    found = difference(first, second, "accuracy")
    assert np.isnan([found.low, found.high]).all()
    third = scored(pair[1], "c", rows="s")
    unsaid = scored(pair[1], "d")
    rows = {row["method"]: row for row in leaderboard([first, second, third, unsaid], "accuracy", Metric("accuracy"))}
    assert rows["c"]["difference"] == rows["b"]["difference"] == rows["d"]["difference"]
    assert rows["c"]["difference_low"] is not None
    for other in ("b", "d"):
        assert rows[other]["verdict"] == "other rows"
        assert rows[other]["difference_low"] is None
        assert rows[other]["low"] is not None


@pytest.mark.parametrize("cost", ["seconds", "cpu_seconds", "peak_memory_bytes"])
def test_costs_are_better_when_smaller(pair, cost):
    slow, fast = scored(pair[0], "slow", 0.9), scored(pair[0], "fast")
    slow, fast = (
        replace(s, values={**s.values, cost: [v]}, replicates={cost: np.full((1, 1000), v)})
        for s, v in ((slow, 9.0), (fast, 1.0))
    )
    rows = leaderboard([slow, fast], cost, Metric("accuracy"))
    assert [(row["method"], row["verdict_rows"]) for row in rows] == [("fast", "ahead"), ("slow", "")]


def entry(label, study, method, *names):
    return Scored(label, study, method, {"accuracy": [0.5]}, {}, {"accuracy": 0.5}, names=frozenset(names))


def test_of_several_the_one_that_was_validated_is_the_baseline():
    tuned, single = entry("eszsl [tuned]", "tuned", "eszsl(alpha=1)"), entry("eszsl [run 1]", "run 1", "eszsl(alpha=2)")
    for entries in ([tuned, replace(single, validation={})], [replace(single, validation={}), tuned]):
        assert entries[index_of("eszsl", entries, "method")].study == "tuned"
    with pytest.raises(AmbiguousNameError, match="fits 2 entries") as caught:
        index_of("eszsl", [tuned, single], "method")
    assert list(caught.value.candidates) == [tuned.label, single.label]


def test_the_closest_name_is_the_one_that_is_meant():
    entries = [
        entry("eszsl(alpha=1, gamma=1) [run 12345678]", "run 12345678", "eszsl(alpha=1, gamma=1)", "12345678abc"),
        entry("eszsl", "eszsl-study", "eszsl", "parent", "repeat"),
        entry("eszsl(alpha=1, gamma=1) [second]", "second", "eszsl(alpha=1, gamma=1)"),
        entry("sae", "third", "sae"),
    ]

    def baseline(against):
        rows = leaderboard(entries, "accuracy", Metric("accuracy"), against)
        return next(row["method"] for row in rows if row["difference"] is None)

    for number, names in enumerate(
        [
            (entries[0].label, "run 12345678", "12345678abc"),
            ("eszsl", "eszsl-study", "parent", "repeat"),
            (entries[2].label, "second"),
            ("sae", "third"),
        ]
    ):
        for name in names:
            assert baseline(name) == entries[number].label, name
            assert number in indices_of(name, entries)
    assert indices_of("eszsl", entries) == [0, 1, 2]
    for several in ("eszsl(alpha=1, gamma=1)", "eszsl(gamma=1,alpha=1)"):
        with pytest.raises(UsageError, match=r"fits 2 entries.*run 12345678.*second"):
            baseline(several)
    del entries[1]
    with pytest.raises(UsageError, match="'eszsl' fits 2 entries"):
        baseline("eszsl")


def test_differences_are_from_the_best_on_validation_not_on_test(pair):
    first, _ = pair
    lucky = scored(np.ones(M, dtype=bool), "lucky", validation=0.1)
    rows = leaderboard([scored(first, "a", 0.9), lucky], "accuracy", Metric("accuracy"))
    assert [row["method"] for row in rows] == ["lucky", "a"]
    assert rows[1]["difference"] is None
    assert rows[0]["verdict_rows"] == "ahead"
    with pytest.raises(UnknownNameError):
        leaderboard([lucky], "accuracy", Metric("accuracy"), baseline_name="nobody")
    with pytest.raises(UnknownNameError):
        leaderboard([lucky], "speed", Metric("accuracy"))


def test_entries_that_lack_a_metric_are_named(pair):
    first, second = (scored(one, label) for one, label in zip(pair, ("sae", "conse"), strict=True))
    metric = next(iter(first.values))
    more = replace(first, values={**first.values, "H": [0.5]})
    with pytest.raises(UsageError, match=rf"metric 'H' is not recorded of conse; it is of sae: .*{metric}"):
        leaderboard([more, second], "H", Metric(metric))
    with pytest.raises(UnknownNameError, match="unknown metric 'I'"):
        leaderboard([more, second], "I", Metric(metric))


def test_inductive_and_transductive_entries_are_compared_among_themselves(pair):
    first, second = pair
    joint = [
        replace(scored(first, name, value), knows=knows)
        for name, value, knows in (("x", 0.9, "transductive"), ("y", 0.99, "transductive, class balance"))
    ]
    alone = [
        replace(scored(second, name, value), knows="nothing", from_memory=name == "b")
        for name, value in (("a", 0.5), ("b", 0.7))
    ]
    rows = leaderboard([*joint, *alone], "accuracy", Metric("accuracy"))
    assert [row["group"] for row in rows] == ["inductive"] * 2 + ["transductive"] * 2
    assert [row["baseline"] for row in rows] == ["b", "b", "y", "y"]
    assert {row["method"]: row["from_memory"] for row in rows} == {"a": False, "b": True, "x": False, "y": False}
    # Whoever is asked for is the baseline of all.
    assert {row["baseline"] for row in leaderboard([*joint, *alone], "accuracy", Metric("accuracy"), "a")} == {"a"}


@pytest.mark.long
def test_compare_shows_what_is_recorded(call, tmp_path):
    for method in ("eszsl(gamma=1, alpha=1)", "gfhf(k=5)"):
        done = call("tune", "-m", method, "-n", 2, "--workers", 1, "-q")
        assert done.returncode == 0, done.stderr
    done = call("run", "-m", "eszsl(gamma=1, alpha=1000)", "--test", "-q")
    assert done.returncode == 0, done.stderr
    shown = call("compare", "--json")
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(shown.stdout)[0]["rows"]
    assert len(rows) == 3
    assert [row["group"] for row in rows] == ["inductive", "inductive", "transductive"]
    assert rows[0]["test"] >= rows[1]["test"]
    assert {row["baseline"] for row in rows[:2]} < {row["method"] for row in rows[:2]}
    assert rows[2]["baseline"] == rows[2]["method"]
    by_group, called = call("compare").stdout, {row["method"]: row["short"] for row in rows}
    origins = f"{called[rows[0]['baseline']]} (inductive), {rows[2]['short']} (transductive)"
    assert origins in by_group.replace("\n", " ")
    for row in rows:
        assert row["low"] < row["test"] < row["high"]
        assert row["low_classes"] < row["low"] < row["high"] < row["high_classes"]
        assert row["classes"] == 20
        assert (row["difference"] is None) or row["difference_low"] <= row["difference"] <= row["difference_high"]
    table = call("compare", "eszsl", "--against", "gfhf", "--out", tmp_path / "table.csv")
    assert table.returncode == 0, table.stderr
    assert "differences from gfhf(k=5)" in table.stdout
    with open(tmp_path / "table.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 3
    assert call("compare", "nothing").returncode == 2
    assert call("compare", "--metric", "nothing").returncode == 2
    empty = call("compare", "--task", "gzsl")
    assert empty.returncode == 1
    assert "tune it first" in empty.stderr
    # Whatever is printed of an entry is a name of it, for NAME and --against alike.
    printed = re.search(r"run ([0-9a-f]{16})", done.stdout).group(1)
    study = next(row["study"] for row in rows if row["study"].startswith("eszsl@"))
    labels = [row["method"] for row in rows]
    for name in (*labels, *(row["study"] for row in rows), printed, "eszsl(gamma=1,alpha=1000)"):
        for arguments in ((name,), ("--against", name), ("gfhf", "--against", name)):
            found = call("compare", *arguments, "--json")
            assert found.returncode == 0, found.stderr
            assert {row["method"] for row in json.loads(found.stdout)[0]["rows"]} <= set(labels)
    assert f"differences from {called[labels[0]]}" in call("compare", "--against", labels[0]).stdout
    # Of a study and single runs of a method the study is compared with.
    several = call("compare", "gfhf", "--against", "eszsl", "--json")
    assert several.returncode == 0, several.stderr
    assert study in {row["study"] for row in json.loads(several.stdout)[0]["rows"]}
    assert study in {row["study"] for row in json.loads(call("compare", study, "--json").stdout)[0]["rows"]}
    seconds = call("compare", "--metric", "seconds")
    assert "seconds has no intervals" in seconds.stdout
    assert "has no intervals" not in table.stdout
    # A database elsewhere, by its address.
    copy = shutil.copy(tmp_path / "mlruns" / "optuna.db", tmp_path / "copy.db")
    assert call("compare", "--storage-url", f"sqlite:///{copy}").stdout == call("compare").stdout


@pytest.mark.long
def test_runs_on_other_test_rows_are_marked(call, tmp_path):
    task = ("-d", "digits", "-t", "coding(train_per_class=5)")
    for method, seed in (("llc(atoms=20)", 0), ("llc(atoms=20)", 1), ("llc(atoms=10)", 0)):
        done = call("run", "--test", "-m", method, "--seed", seed, "-q", *task)
        assert done.returncode == 0, done.stderr
    shown = call("compare", *task, "--against", "llc(atoms=10)", "--json")
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(shown.stdout)[0]["rows"]
    ends = {row["verdict_rows"]: row["difference_low"] for row in rows if row["difference"] is not None}
    assert all((row["verdict"] == "other rows") == (row["verdict_rows"] == "other rows") for row in rows)
    assert len(ends) == 2
    assert ends.pop("other rows") is None
    assert None not in ends.values()
    table = call("compare", *task, "--against", "llc(atoms=10)").stdout
    assert table.count("other rows: scored on other test rows than llc(atoms=10); ") == 1
    assert "or recorded" not in table
    # Records of before the rows were recorded agree among themselves alone.
    connection = sqlite3.connect(tmp_path / "mlruns" / "optuna.db")
    for number, text in connection.execute("select id, content from zslplat_evaluations").fetchall():
        record = json.loads(text)
        for fold in record["folds"]:
            fold.pop("rows")
        connection.execute("update zslplat_evaluations set content = ? where id = ?", (json.dumps(record), number))
    connection.commit()
    connection.close()
    rows = json.loads(call("compare", *task, "--json").stdout)[0]["rows"]
    assert "other rows" not in {row["verdict"] for row in rows}


@pytest.mark.long
def test_exemplar_methods_are_compared_on_a_drawn_half_with_intervals(call):
    # The seed of a run draws neither the halves nor the queries, so that all runs are pairs.
    task = ("-d", "digits", "-t", "exemplar-retrieval(queries=60)")
    for method, seed in (("slem", 0), ("cosine", 1)):
        done = call("run", "--test", "-m", method, "--seed", seed, "-q", *task)
        assert done.returncode == 0, done.stderr
    shown = call("compare", *task, "--against", "cosine", "--json")
    assert shown.returncode == 0, shown.stderr
    first, second = json.loads(shown.stdout)[0]["rows"]
    for row in (first, second):
        assert row["low"] < row["test"] < row["high"]
    gap = first if first["difference"] is not None else second
    assert gap["difference_low"] < gap["difference"] < gap["difference_high"]
    assert {gap["verdict"], gap["verdict_rows"]} <= {"ahead", "behind", "equal within 0.02", "not enough data"}
    assert gap["difference_low_classes"] < gap["difference"] < gap["difference_high_classes"]
    assert gap["classes"] == 5  # half of the digits


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-t", "zsl(nope=1)"), "unknown option of task zsl 'nope'"),
        (("-t", "zsl(top_k=0)"), "top_k=0 is out of range"),
        (("-t", "nope"), "unknown task 'nope'"),
        (("-d", "digit-pear"), "unknown data set .* 'digit-pear'; did you mean digit-pairs"),
    ],
)
def test_a_request_that_makes_no_sense_is_a_wrong_request(call, arguments, message):
    done = call("compare", *arguments)
    assert done.returncode == 2, done.stderr
    assert re.match(f"error: .*{message}", done.stderr), done.stderr


def test_a_data_set_of_the_data_root_is_known(call, tmp_path, monkeypatch):
    (tmp_path / "data" / "mine").mkdir(parents=True)
    monkeypatch.setenv("ZSLPLAT_DATA_ROOT", str(tmp_path / "data"))
    done = call("compare", "-d", "mine(features=a)")
    assert (done.returncode, "tune it first" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize("command", [("compare",), ("rerun", "abc")])
def test_reading_makes_no_database_and_tells_what_is_none(call, tmp_path, command):
    def told(path, words):
        done = call(*command, "--storage-url", f"sqlite:///{path}")
        assert done.returncode == 1, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert words in done.stderr, done.stderr

    missing = tmp_path / "none.db"
    told(missing, f"no runs in {missing}")
    assert not missing.exists()
    (tmp_path / "text.db").write_text("this is no database" * 100)
    told(tmp_path / "text.db", "cannot be read: file is not a database")
    (tmp_path / "empty.db").write_text("")
    told(tmp_path / "empty.db", "holds no records")
    assert (tmp_path / "empty.db").stat().st_size == 0
    (tmp_path / "mlruns" / "optuna.db").write_text("this is no database" * 100)
    done = call(*command)
    assert (done.returncode, "file is not a database" in done.stderr) == (1, True), done.stderr
