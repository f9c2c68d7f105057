"""The commands of a report that take scores made elsewhere give the same numbers in another store, however the order
of rows and classes was said."""

import json
import shlex

import numpy as np
import pytest
from html_reader import read_html, table_called
from outside_toys import DATA, column, random_scores

pytestmark = pytest.mark.long


@pytest.fixture
def split(call, tmp_path):
    folder = tmp_path / "exported"
    assert call("export-split", "--to", folder, "-d", DATA, "-t", "zsl").returncode == 0
    return folder


def shuffled(split, seed, folder):
    """Write scores in an order of their own, with the files that say it; return the three names."""
    rows, classes = column(split / "test" / "rows.csv", "row"), column(split / "test" / "classes.csv", "class")
    scores, rng = np.load(random_scores(split, seed=seed)), np.random.default_rng(seed)
    lines, places = rng.permutation(len(rows)), rng.permutation(len(classes))
    np.save(folder / "own.npy", scores[np.ix_(lines, places)])
    (folder / "own-rows.csv").write_text("\n".join(["row", *(rows[i] for i in lines), ""]))
    (folder / "own-classes.csv").write_text("\n".join(["class", *(classes[i] for i in places), ""]))
    return "own.npy", "own-rows.csv", "own-classes.csv"


def scores_of(call, store):
    (row,) = json.loads(call("compare", "-d", DATA, "--store", store, "--json").stdout)["rows"]
    return row["test"], row["spread"]


def commands_of(call, tmp_path):
    assert call("report", "--out", "report.html").returncode == 0
    told = next(
        e.text for e in read_html((tmp_path / "report.html").read_text()).every("code") if "zslplat score" in e.text
    )
    return [shlex.split(f"zslplat {part}") for part in told.split("zslplat ")[1:]]


def again(call, tmp_path):
    found = commands_of(call, tmp_path)
    for words in found:
        done = call(*words[1:], "--store", "fresh", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert scores_of(call, "fresh") == scores_of(call, "mlruns")
    return found


def test_an_order_of_ones_own_is_given_again(call, split, tmp_path):
    scores, rows, classes = shuffled(split, 1, tmp_path)
    done = call("score", "--name", "own", "-d", DATA, "--scores", scores, "--rows", rows, "--classes", classes, "-q")
    assert done.returncode == 0, done.stderr
    (words,) = again(call, tmp_path)
    assert "--manifest" not in words


def test_repeats_in_other_orders_have_commands_of_their_own(call, split, tmp_path):
    scores, rows, classes = shuffled(split, 1, tmp_path)
    done = call("score", "--name", "own", "-d", DATA, "--scores", scores, "--rows", rows, "--classes", classes, "-q")
    assert done.returncode == 0, done.stderr
    second = random_scores(split, seed=2)
    done = call("score", "--name", "own", "--scores", second, "--manifest", split, "--repeat", 1, "-q")
    assert done.returncode == 0, done.stderr
    export, first, other = again(call, tmp_path)
    assert export[1] == "export-split"
    assert ("--rows" in first, "--rows" in other) == (True, False)
    assert other[other.index("--repeat") + 1] == "1"


def test_a_table_that_does_not_name_its_rows_has_them_from_the_split(call, split, tmp_path):
    classes = column(split / "test" / "classes.csv", "class")
    lines = [",".join(map(repr, line)) for line in np.load(random_scores(split)).tolist()]
    (tmp_path / "norow.csv").write_text("\n".join([",".join(classes), *lines, ""]))
    done = call("score", "--name", "norow", "--scores", "norow.csv", "--manifest", split, "-q")
    assert done.returncode == 0, done.stderr
    export, words = again(call, tmp_path)
    assert words[words.index("--manifest") + 1] == export[export.index("--to") + 1]


def reported(call, folder, *arguments):
    """Write a report and return its page."""
    done = call("report", "--out", "report.html", *arguments)
    assert done.returncode == 0, done.stderr
    return read_html((folder / "report.html").read_text())


def test_scores_made_elsewhere_are_shown_by_their_test_and_not_mixed_with_that_of_the_folds(call, tmp_path):
    split = tmp_path / "split"
    assert call("export-split", "--to", split, "-d", DATA, "-t", "gzsl").returncode == 0
    folds = [random_scores(split, f"fold-{i}") for i in (1, 2, 3)]
    given = ("score", "--name", "net", "--manifest", split, "-q")
    tests = [word for seed in (0, 1) for word in ("--scores", random_scores(split, "test", seed))]
    done = call(*given, *tests, *(word for fold in folds for word in ("--validation", fold)), "--knows", "transductive")
    assert done.returncode == 0, done.stderr
    result = json.loads(call("report", "--json").stdout)
    (row,) = json.loads(call("compare", "-d", DATA, "-t", "gzsl", "--json").stdout)["rows"]
    for names in ((), ("outside:net",)):
        page = reported(call, tmp_path, *names)
        headings, ((*line,),) = table_called(page, "of task gzsl on")
        cells = dict(zip([heading.strip() for heading in headings], line, strict=False))
        assert (cells["validation"][1], cells["test"][1]) == (row["validation"], row["test"])
        assert row["validation"] != row["test"]
        assert "scored on the test split, 2 times" in page.text
        assert "Seen and unseen classes" in page.text
        told = next(e.text for e in page.every("code") if "zslplat score" in e.text)
        again = shlex.split(told[told.index("zslplat score") :])
        assert again[again.index("--knows") + 1] == "transductive"
        assert again.count("--scores") == 2
        # It does what it says: the scores are those that are recorded.
        done = call(*again[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "recorded already" in done.stdout + done.stderr
    # In a store without these records, too, with what validation chose.
    export = shlex.split(told[told.index("zslplat export-split") :].partition("zslplat score")[0])
    for words in (export, again):
        done = call(*words[1:], "--store", "fresh")
        assert done.returncode == 0, done.stderr
    there = json.loads(call("report", "--store", "fresh", "--json").stdout)
    for before, after in zip(result["boards"], there["boards"], strict=True):
        numbers = [name for name, value in before["rows"][0].items() if isinstance(value, float)]
        numbers = [name for name in numbers if "seconds" not in name and name != "created"]
        assert [before["rows"][0][name] for name in numbers] == [after["rows"][0][name] for name in numbers]
    found = [
        json.loads(call("compare", "-d", DATA, "-t", "gzsl", "--metric", "calibrated_H", "--store", s, "--json").stdout)
        for s in ("mlruns", "fresh")
    ]
    assert found[0]["rows"][0]["test"] == found[1]["rows"][0]["test"] > 0
    # The folds alone are no test.
    alone = ("score", "--name", "folds", "--manifest", split, "--split", "validation", "-q")
    done = call(*alone, *(word for fold in folds for word in ("--scores", fold)))
    assert done.returncode == 0, done.stderr
    page = reported(call, tmp_path, "outside:folds")
    assert "scored on the validation split" in page.text
    assert "Nothing has been scored on a test split yet." in page.text
