"""Files of scores that do not fit are refused in one line that says what was given, what is expected, what to do."""

import json

import numpy as np
import pytest
from outside_toys import DATA, column, exported, our_scores, random_scores, score, write_shuffled
from support import one_line

from zslplat.errors import DataError
from zslplat.evaluation.experiment import VALIDATION
from zslplat.settings import resolve_settings
from zslplat_outside.exported_split import Manifest
from zslplat_outside.score_files import read_scores


@pytest.fixture
def settings(new_store):
    return resolve_settings({"store": new_store()})


def numbers(m, c):
    return np.random.default_rng(0).standard_normal((m, c))


WRONG_ARRAYS = {
    "too few rows": (
        lambda s: s[:-1],
        r"59 rows, but 60 rows are said to be scored; expected scores of shape \(60, 4\) .*every row of rows\.csv",
    ),
    "too many columns": (
        lambda s: np.c_[s, s[:, 0]],
        r"5 columns, but 4 classes are said to be scored; .* give a score for every class of classes\.csv, or of the",
    ),
    "transposed": (lambda s: s.T, r"shape \(4, 60\) is the wrong way round; .*transpose it"),
    "labels": (lambda s: s.argmax(axis=1), r"one number for each of 60 rows, as predicted labels are"),
    "a column of labels": (lambda s: s.argmax(axis=1)[:, None], r"one number for each of 60 rows, as predicted labels"),
    "complex": (lambda s: s + 1j, r"complex numbers \(complex128\); expected scores of shape \(60, 4\)"),
    "booleans": (lambda s: s > 0, r"values of type bool; expected"),
    "a cube": (lambda s: s[None], r"an array of shape \(1, 60, 4\); expected"),
    "NaN": (lambda s: np.where(np.arange(240).reshape(60, 4) == 5, np.nan, s), r"1 of 240 scores are NaN or infinite"),
    "infinite": (
        lambda s: np.where(s > 1, np.inf, s),
        r"42 of 240 scores are NaN or infinite, the first inf for row \d+",
    ),
    "the lowest number": (
        lambda s: np.nan_to_num(np.where(s > 1, -np.inf, s)),
        r"42 of 240 scores are beyond 1e\+100, .* the first -1\.79\d+e\+308 .*give smaller .*the smallest score less 1",
    ),
    "beyond float64": (
        lambda s: np.where(s > 1, np.longdouble("1e400"), s.astype(np.longdouble)),
        r"42 of 240 scores are NaN or infinite",
    ),
}


@pytest.mark.parametrize("case", WRONG_ARRAYS)
def test_an_array_that_does_not_fit_is_one_clear_line(call, settings, tmp_path, case):
    change, message = WRONG_ARRAYS[case]
    exported(settings, tmp_path / "split", split="test")
    np.save(tmp_path / "s.npy", change(numbers(60, 4)))
    one_line(call("score", "--name", "net", "--scores", "s.npy", "--manifest", "split"), 2, r"s\.npy: " + message)
    assert not list((tmp_path / "mlruns" / "evaluations").glob("*"))


def test_seconds_without_end_are_no_seconds_and_suffixes_may_be_capitals(call, settings, tmp_path):
    exported(settings, tmp_path / "split", split="test")
    (tmp_path / "s.NPY").write_bytes(random_scores(tmp_path / "split").read_bytes())
    given = ("score", "--name", "net", "--scores", "s.NPY", "--manifest", "split", "-q")
    one_line(call(*given, "--seconds", "inf"), 2, r"seconds=inf: expected a number, at least 0")
    done = call(*given, "--seconds", "1.5")
    assert done.returncode == 0, done.stderr


def test_the_scores_of_one_seed_given_as_two_are_refused(call, settings, tmp_path):
    exported(settings, tmp_path / "split", split="test")
    for name, seed in (("a", 1), ("b", 2)):
        np.save(tmp_path / f"{name}.npy", np.random.default_rng(seed).standard_normal((60, 4)))
    (tmp_path / "copy.npy").write_bytes((tmp_path / "a.npy").read_bytes())
    given = ("score", "--name", "net", "--manifest", "split", "--scores")
    said = r"copy\.npy: its scores are those of repeat 0, to the last digit"
    one_line(call(*given, "a.npy", "--scores", "copy.npy"), 2, said)
    assert not list((tmp_path / "mlruns" / "evaluations").glob("*"))
    done = call(*given, "a.npy", "--scores", "b.npy", "--json")
    assert done.returncode == 0, done.stderr
    one_line(call(*given, "copy.npy", "--repeat", "2"), 2, said)
    again = call(*given, "a.npy", "--scores", "b.npy", "--json")
    assert again.returncode == 0, again.stderr


def with_column(name):
    return lambda text: "\n".join(
        [f"{text[0]},{name}", *(f"{line},0.5" for line in text[1:])],
    )


WRONG_TABLES = {
    "an unknown class": (
        lambda t: "\n".join([t[0].replace("unseen-11", "unsen-11"), *t[1:]]),
        "did you mean unseen-11",
    ),
    "a column more": (with_column("extra"), r"1 of its 5 columns \(extra\) are no classes that are scored"),
    "a class twice": (with_column("unseen-11"), r"unseen-11 more than once among the classes"),
    "no header": (
        lambda t: "\n".join(t[1:]),
        r"first line of a CSV file, .* is taken for the names of the classes, and here it holds numbers: put the names",
    ),
    "a missing class": (
        lambda t: "\n".join(line.rpartition(",")[0] for line in t),
        r"no scores for 1 classes \(unseen-",
    ),
    "a missing row": (lambda t: "\n".join(t[:-1]), r"1 rows are missing \(\d+\); test scores 60 rows, each once"),
    "a row twice": (lambda t: "\n".join([*t, t[1]]), r"1 rows more than once \(\d+\); test scores 60 rows, each once"),
    "a row to train on": (lambda t: "\n".join([*t[:-1], "0" + t[-1][t[-1].index(",") :]]), r"1 of its 60 rows \(0\)"),
    "a row of no number": (lambda t: "\n".join([*t[:-1], "a" + t[-1][t[-1].index(",") :]]), r"column 'row' holds 'a'"),
    "no row": (lambda t: "\n".join([*t[:-1], t[-1][t[-1].index(",") :]]), r"column 'row' is empty; give"),
    "half a row": (lambda t: "\n".join([*t[:-1], "0.5" + t[-1][t[-1].index(",") :]]), r"column 'row' holds 0\.5"),
    "a word": (lambda t: "\n".join([*t[:-1], t[-1].rpartition(",")[0] + ",high"]), r"holds 'high'; expected a score"),
    "nothing": (lambda t: "\n".join([*t[:-1], t[-1].rpartition(",")[0] + ","]), r"column 'unseen-\d+' is empty; give"),
    "NaN": (lambda t: "\n".join([*t[:-1], t[-1].rpartition(",")[0] + ",nan"]), r"1 of 240 scores are NaN or infinite"),
    "a ragged line": (lambda t: "\n".join([*t, "1,2"]), r"cannot be read as a CSV file .*write it again"),
    "semicolons": (lambda t: "\n".join(t).replace(",", ";"), r"separated by semicolons; write commas between cells"),
    "tabs": (lambda t: "\n".join(t).replace(",", "\t"), r"separated by tabs; write commas between cells"),
    "semicolons and commas in names": (
        lambda t: "\n".join(t).replace(",", ";").replace("unseen-11", "unseen, 11"),
        r"separated by semicolons; write commas between cells, as .*; put a name that holds a comma in quotes",
    ),
    "folds": (lambda t: "\n".join([t[0] + ",fold", *(line + ",1" for line in t[1:])]), r"'fold' is for --validation"),
    "no lines": (lambda t: t[0], r"cannot be read as a CSV file .*Empty CSV file"),
}


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_a_table_that_does_not_fit_is_one_clear_line(call, settings, tmp_path, case):
    change, message = WRONG_TABLES[case]
    exported(settings, tmp_path / "split", split="test")
    rows, classes = (
        column(tmp_path / "split" / "test" / f"{n}.csv", c) for n, c in (("rows", "row"), ("classes", "class"))
    )
    text = [",".join(["row", *classes])]
    text += [",".join([row, *map(repr, line)]) for row, line in zip(rows, numbers(60, 4).tolist(), strict=True)]
    (tmp_path / "s.csv").write_text(change(text))
    unread = ("a word", "nothing", "a ragged line", "no lines", "no row", "a row of no number", "half a row")
    unread += ("semicolons", "tabs", "semicolons and commas in names")
    code = 1 if case in unread else 2
    done = call("score", "--name", "net", "--scores", "s.csv", "--dataset", DATA)
    one_line(done, code, message)


def test_other_data_another_task_and_another_seed_are_refused(call, settings, tmp_path):
    exported(settings, tmp_path / "split", split="test")
    np.save(tmp_path / "s.npy", numbers(60, 4))
    given = ("score", "--name", "net", "--scores", "s.npy", "--manifest", "split")
    one_line(
        call(*given, "--dataset", DATA.replace(")", ", seed=1)")), 2, r"the fingerprint of the data is \w{16} there"
    )
    one_line(call(*given, "--task", "retrieval"), 2, r"the task is zsl there, and retrieval here")
    one_line(call(*given, "--seed", 3), 2, r"the seed is 0 there, and 3 here")
    content = json.loads((tmp_path / "split" / "manifest.json").read_text())
    content["problems"][0]["rows_digest"] = "0" * 32
    (tmp_path / "split" / "manifest.json").write_text(json.dumps(content))
    one_line(call(*given), 2, r"test was exported with other rows or classes than the task has now")


def rewritten(path, change, newline="\n"):
    head, *lines = path.read_text().splitlines()
    path.write_text(newline.join([head, *change(lines)]) + newline, newline="")


def test_scores_in_the_order_of_a_file_that_was_sorted_since_the_export_are_refused(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    rows, classes = (tmp_path / "split" / "test" / f"{name}.csv" for name in ("rows", "classes"))
    np.save(tmp_path / "s.npy", numbers(60, 4))
    given = ("score", "--name", "net", "--scores", "s.npy", "--manifest", "split")
    for path in (rows, classes):
        whole = path.read_bytes()
        rewritten(path, sorted)
        message = rf"{path.name}: the {path.stem} stand in another order than the export: line \d+ has \S+ in place"
        one_line(call(*given), 2, message + rf".* export again .*say so: --{path.stem} \S+{path.name}")
        rewritten(path, lambda lines: lines[:-1])
        count = len(whole.splitlines()) - 1
        one_line(
            call(*given), 2, rf"lists {count - 1} {path.stem}, and {count} were exported; scores in its order would"
        )
        path.unlink()
        one_line(call(*given), 2, rf"{path.name}: no such file; it says in which order scores stand that do not name")
        path.write_bytes(whole)
    rewritten(rows, lambda lines: ["0", *lines[1:]])
    one_line(call(*given), 2, r"rows\.csv: it lists other rows than the export: line 2 has 0 in place of \d+")
    fold = tmp_path / "split" / "fold-2" / "rows.csv"
    rewritten(fold, sorted)
    files = [word for n in (1, 2, 3) for word in ("--scores", random_scores(tmp_path / "split", f"fold-{n}"))]
    done = call("score", "--name", "net", "--split", "validation", *files, "--manifest", "split")
    one_line(done, 2, r"fold-2/rows\.csv: the rows stand in another order")


def test_what_was_only_saved_again_or_is_not_relied_on_is_no_matter(settings, tmp_path):
    exported(settings, tmp_path / "split", split="test")
    folder = tmp_path / "split" / "test"
    rows, classes = np.array(column(folder / "rows.csv", "row"), dtype=int), column(folder / "classes.csv", "class")
    scores, manifest = numbers(60, 4), Manifest.read(tmp_path / "split")
    np.save(tmp_path / "s.npy", scores)
    rewritten(folder / "rows.csv", list, newline="\r\n")
    first = score(settings, scores=[tmp_path / "s.npy"], manifest=manifest)
    # In the order of a sorted file, which is said.
    rewritten(folder / "rows.csv", sorted)
    order = [rows.tolist().index(int(row)) for row in column(folder / "rows.csv", "row")]
    np.save(tmp_path / "sorted.npy", scores[order])
    again = score(settings, scores=[tmp_path / "sorted.npy"], manifest=manifest, rows=folder / "rows.csv")
    for path in (folder / "rows.csv", folder / "classes.csv"):
        path.unlink()
    table = write_shuffled(tmp_path / "s.csv", [(rows, classes, scores)])
    named = score(settings, scores=[table], manifest=manifest)
    assert (first.recalled, again.recalled, named.recalled) == (0, 1, 1)


def test_what_does_not_say_its_rows_or_cannot_be_read_is_refused(call, settings, tmp_path):
    exported(settings, tmp_path / "split", split="test")
    np.save(tmp_path / "s.npy", numbers(60, 4))
    np.savez(tmp_path / "s.npz", s=numbers(60, 4))
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "s.txt").write_text("1")
    given = ("score", "--name", "net", "--dataset", DATA, "--scores")
    rows, classes = ("--rows", "split/test/rows.csv"), ("--classes", "split/test/classes.csv")
    one_line(call(*given, "s.npy"), 2, r"s\.npy does not say which rows it scores; give --manifest FOLDER")
    one_line(call(*given, "s.npy", *rows), 2, r"does not say which classes it scores; .*--classes FILE")
    one_line(call(*given, "s.npy", *rows, "--classes", "split/test/rows.csv"), 1, r"no column 'class' but 'row'")
    one_line(call(*given, "s.npz"), 1, r"s\.npz: expected a \.npy, \.csv or \.parquet file .*numpy\.save")
    one_line(call(*given, "s.txt"), 1, r"s\.txt: expected a \.npy, \.csv or \.parquet file")
    one_line(call(*given, "none.npy"), 2, r"none\.npy: no such file")
    one_line(call(*given, "o.npy"), 1, r"o\.npy: cannot be read as a \.npy file of numbers")
    one_line(call(*given, "s.npy", "--manifest", "s.npy"), 1, r"no manifest of an exported split")
    one_line(call("score", "--name", "7 nets", "--scores", "s.npy"), 2, r"--name '7 nets': expected a letter")
    one_line(
        call("score", "--name", "שלום", "--scores", "s.npy"),
        2,
        r"--name 'שלום': expected a letter from a to z or A to Z",
    )
    done = call(*given, "s.npy", *rows, *classes)
    assert done.returncode == 0, done.stderr


def test_validation_needs_every_fold(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    files = [random_scores(tmp_path / "split", f"fold-{n}") for n in (1, 2)]
    given = ("score", "--name", "net", "--manifest", "split", "--scores", random_scores(tmp_path / "split"))
    done = call(*given, "--validation", files[0], "--validation", files[1])
    one_line(
        done, 2, r"--validation: 2 files; there are 3 validation folds: fold-1, fold-2, fold-3; give a file for each"
    )
    found = our_scores(settings, "zsl", VALIDATION)
    write_shuffled(tmp_path / "two.csv", found[:2], folds=True)
    one_line(call(*given, "--validation", "two.csv"), 2, r"column 'fold' has no rows of fold-3")
    write_shuffled(tmp_path / "four.csv", [*found, found[0]], folds=True)
    one_line(call(*given, "--validation", "four.csv"), 2, r"column 'fold' has fold fold-4")
    done = call(
        "score", "--name", "net", "--manifest", "split", "--scores", files[0], "--split", "validation", "--repeat", 1
    )
    one_line(done, 2, r"--split validation takes the files of the folds as --scores")


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("feature-selection", "task feature-selection takes no scores that were made elsewhere"),
        ("exemplar-retrieval", "task exemplar-retrieval takes no scores that were made elsewhere"),
    ],
)
def test_tasks_that_want_more_than_scores_refuse(call, tmp_path, task, message):
    dataset = {"feature-selection": DATA, "exemplar-retrieval": "digit-retrieval"}.get(task, "digits")
    np.save(tmp_path / "s.npy", numbers(60, 4))
    one_line(call("export-split", "-d", dataset, "-t", task, "--to", "split"), 2, message)
    assert not (tmp_path / "split").exists()
    one_line(call("score", "--name", "net", "-d", dataset, "-t", task, "--scores", "s.npy"), 2, message)


@pytest.mark.parametrize("row", ["inf", "99999999999999999999"])
def test_what_is_no_row_is_named_as_it_stands(tmp_path, row, recwarn):
    path = tmp_path / "s.csv"
    path.write_text(f"row,a,b\n{row},1,2\n3,1,2\n")
    with pytest.raises(DataError, match=r"row 0 of column 'row' holds (inf|1e\+20); expected rows of the data set"):
        read_scores(path)
    assert not recwarn.list


@pytest.mark.parametrize(("name", "value"), [("fingerprint", None), ("problems", None), ("seed", "none")])
def test_a_manifest_that_lacks_something_is_no_manifest(settings, tmp_path, name, value):
    path = exported(settings, tmp_path / "split", split="test").path
    content = json.loads(path.read_text())
    content.pop(name)
    path.write_text(json.dumps(content | ({name: value} if value else {})))
    with pytest.raises(DataError, match=rf"no manifest of an exported split \(.*{name}"):
        Manifest.read(path)


def test_an_order_that_the_scores_do_not_have_is_refused(call, settings, tmp_path):
    exported(settings, tmp_path / "split", split="test")
    rows, classes = (
        column(tmp_path / "split" / "test" / f"{name}.csv", of) for name, of in (("rows", "row"), ("classes", "class"))
    )
    scores = np.load(random_scores(tmp_path / "split"))
    lines = [",".join([row, *map(repr, line)]) for row, line in zip(rows, scores.tolist(), strict=True)]
    (tmp_path / "named.csv").write_text("\n".join([",".join(["row", *classes]), *lines, ""]))
    (tmp_path / "few.csv").write_text("\n".join(["row", *rows[:5], ""]))
    (tmp_path / "others.csv").write_text("\n".join(["class", *classes[::-1], ""]))
    (tmp_path / "same.csv").write_text("\n".join(["row", *rows, ""]))
    given = ("score", "--name", "net", "-d", DATA, "--scores", "named.csv", "-q")
    one_line(call(*given, "--rows", "few.csv"), 2, r"--rows .*few\.csv: the scores name their rows themselves")
    one_line(call(*given, "--classes", "others.csv"), 2, r"--classes .*: the scores name their classes themselves")
    done = call(*given, "--rows", "same.csv")
    assert done.returncode == 0, done.stderr


def test_what_folds_do_not_take_is_refused_and_what_they_need_is_told(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    folds = [word for i in (1, 2, 3) for word in ("--scores", random_scores(tmp_path / "split", f"fold-{i}"))]
    given = ("score", "--name", "net", "--split", "validation", *folds, "-q")
    one_line(
        call(*given, "--manifest", "split", "--seconds", "7"), 2, "--seconds are those of scores of the test split"
    )
    done = call(*given, "-d", DATA)
    one_line(
        done, 2, r"fold-1-0\.npy does not say which rows it scores; give --manifest FOLDER .*, or a file that names"
    )
    assert "--rows" not in done.stderr


def test_a_header_of_classes_that_are_numbers_is_no_row_of_numbers(call, settings, tmp_path):
    names = column_of_digit_pairs(call, tmp_path)
    line = ",".join(["0.5"] * len(names))
    (tmp_path / "s.csv").write_text("\n".join([",".join(names), line, line, ""]))
    done = call("score", "--name", "net", "-d", "digit-pairs", "--scores", "s.csv", "-q")
    one_line(done, 2, r"s\.csv does not say which rows it scores; give --manifest FOLDER")
    assert "here it holds numbers" not in done.stderr


def column_of_digit_pairs(call, tmp_path):
    assert call("export-split", "--to", "pairs", "-d", "digit-pairs", "-t", "zsl").returncode == 0
    return column(tmp_path / "pairs" / "test" / "classes.csv", "class")
