"""The commands of a report that take scores made elsewhere give the same numbers in another store, however the order
of rows and classes was said."""

import json
import shlex

import numpy as np
import pytest
from html_reader import read_html
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
