"""How data are read, and what the checks find in them, is said before anything is computed."""

import json

import numpy as np
import pytest

ROWS, CLASSES = 60, 6


def saved(folder, **changes):
    """Write toy data whose second column is the class, nearly."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(CLASSES), ROWS // CLASSES))
    S = rng.random((CLASSES, 4))
    X = S[y] @ rng.normal(size=(4, 5)) + rng.normal(size=(ROWS, 5))
    X[:, 1] = 100 * y + rng.random(ROWS)
    arrays = {"X": X, "y": np.eye(CLASSES)[y], "S": S, "train": (y < 4).astype(int), "test_unseen": y >= 4, **changes}
    np.savez(folder / "mine.npz", **{name: array for name, array in arrays.items() if array is not None})
    return folder / "mine.npz"


def test_the_whole_reading_is_shown(tmp_path, call):
    done = call("data", "info", saved(tmp_path, more=np.ones(3), groups=np.arange(ROWS) // 2))
    assert done.returncode == 0
    for line in (
        "features      60 x 5 float64 (from X)",
        "labels        6 classes: 0, 1, 2, 3, ... (from y)",
        "signatures    S: 6 x 4, rows of classes (from S)",
        "split         train: 40 rows of 4 seen classes: 0, 1, 2, 3 (from train)",
        "split         test_unseen: 20 rows of 2 unseen classes: 4, 5 (from test_unseen)",
        "groups        30 (from groups)",
        "not read      more",
        "note          labels of shape (60, 6): one 1 in every row, so they are taken for one class per row",
        "note          train: 60 entries of 0 and 1 are taken for a mask of the rows",
        "warning: ZSP501 mine: column 1 alone tells the class",
    ):
        assert line in done.stdout


def test_a_card_says_what_is_there_and_what_to_do_next(tmp_path, call):
    card = call("data", "check", saved(tmp_path, X=np.random.default_rng(1).random((ROWS, 5))))
    assert card.returncode == 0, card.stderr
    for line in (
        "  split         train: 40 rows of 4 seen classes: 0, 1, 2, 3 (from train)",
        "  split         test_unseen: 20 rows of 2 unseen classes: 4, 5 (from test_unseen)",
        "  note          no test rows of seen classes: the generalised task is --task 'gzsl(protocol=paper)'",
    ):
        assert line in card.stdout.splitlines()


def test_what_is_wrong_has_the_line_that_mends_it(tmp_path, call):
    done = call("data", "check", saved(tmp_path, S=None, train=None, test_unseen=None))
    assert done.returncode == 1
    card = done.stdout.splitlines()
    wrong = [place for place, line in enumerate(card) if line.startswith("wrong: ")]
    assert [card[place].partition(",")[0] for place in wrong[:2]] == [
        "wrong: no signatures of classes",
        "wrong: no split",
    ]
    assert all(card[place + 1].startswith("  fix: ") for place in wrong)
    assert "wrong: ZSP501 mine: column 1 alone tells the class" in "\n".join(card)
    mended = card[wrong[1] + 1].partition("--dataset '")[2].partition("'")[0]
    assert call("data", "check", mended).stdout.count("wrong: no split") == 0
    done = call("data", "check", tmp_path / "mine.npz", "--json")
    assert done.returncode == 1
    content = json.loads(done.stdout)
    assert [one["what"].partition(",")[0] for one in content["missing"]] == ["no signatures of classes", "no split"]


def test_checks_and_notes_speak_wherever_the_data_are_described(tmp_path, call):
    root = tmp_path
    saved(root)
    described = json.loads(call("data", "info", "mine", "--data-root", root, "--json").stdout)
    assert [finding["code"] for finding in described["findings"]] == ["ZSP501"]
    assert [note.partition(":")[0] for note in described["notes"]] == ["labels of shape (60, 6)", "train"]
    silent = call("data", "info", "mine", "--data-root", root, "--silence", "ZSP501").stdout
    assert "ZSP501 mine" not in silent
    assert "1 silenced" in silent


@pytest.mark.parametrize("rehearsed", [False, True])
def test_checks_and_notes_speak_before_the_first_trial(tmp_path, call, rehearsed):
    file = saved(tmp_path)
    asked = ["tune", "-m", "eszsl", "--dataset", f'npz(path="{file}")', "--trials", 2, "--store", tmp_path / "store"]
    done = call(*asked, *(["--dry-run"] if rehearsed else []))
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    found = next(place for place, line in enumerate(lines) if "ZSP501" in line)
    noted = next(place for place, line in enumerate(lines) if "one 1 in every row" in line)
    first = next(
        place for place, line in enumerate(lines) if ("timing a trial" if rehearsed else "tuning eszsl") in line
    )
    assert noted < found < first
