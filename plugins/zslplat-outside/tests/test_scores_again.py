"""A report shows scores made elsewhere by their test, and the command that takes them."""

import json
import shlex

import pytest
from html_reader import read_html, table_called
from outside_toys import DATA, random_scores

pytestmark = pytest.mark.long


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
    (row,) = json.loads(call("compare", "-d", DATA, "-t", "gzsl", "--json").stdout)[0]["rows"]
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
    # The folds alone are no test.
    alone = ("score", "--name", "folds", "--manifest", split, "--split", "validation", "-q")
    done = call(*alone, *(word for fold in folds for word in ("--scores", fold)))
    assert done.returncode == 0, done.stderr
    page = reported(call, tmp_path, "outside:folds")
    assert "scored on the validation split" in page.text
    assert "Nothing has been scored on a test split yet." in page.text
