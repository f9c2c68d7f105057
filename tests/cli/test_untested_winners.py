"""A study whose winner was not evaluated on the test split: every command that is given its name says so."""

import pytest

PLACE = ("-d", "marked", "--workers", 1, "-q")
REFUSAL = "has no test evaluation of its winner; give its command without --repeats 0"


def tune(call, *words):
    done = call("tune", *words, *PLACE)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def untested(call):
    tune(call, "-m", "eszsl(gamma=1)", "--trials", 1, "--repeats", 0)


@pytest.mark.parametrize(
    "command",
    [
        ("rerun", "eszsl"),
        ("predict", "rows.csv", "--run", "eszsl"),
        ("compare",),
        ("compare", "-d", "marked"),
        ("compare", "eszsl"),
    ],
)
def test_a_study_without_a_test_is_known(call, untested, command):
    done = call(*command)
    assert (done.returncode, REFUSAL in done.stderr) == (1, True), done.stderr
    assert "unknown" not in done.stderr


def test_a_later_winner_is_not_answered_by_the_one_before(call):
    for more in (("--trials", 1), ("--trials", 6, "--repeats", 0)):
        tune(call, "-m", "eszsl(gamma=1)", *more)
    refused = call("rerun", "eszsl")
    assert (refused.returncode, REFUSAL in refused.stderr) == (1, True), refused.stderr
    former = refused.stderr.partition("or run ")[2].partition(",")[0]
    assert call("rerun", former).returncode == 0
    assert call("rerun", "latest").returncode == 1


def test_a_comparison_names_what_it_leaves_out(call, untested):
    tune(call, "-m", "plain", "--trials", 1)
    shown = call("compare").stdout
    assert "left out, without a test evaluation of the winner: eszsl" in shown
    assert "left out" not in call("compare", "plain").stdout
    assert REFUSAL in call("compare", "plain", "eszsl").stderr


def test_what_to_do_next_is_the_test_and_no_repetition(call):
    done = call("tune", "-m", "eszsl(gamma=1)", "--trials", 1, "--repeats", 0, *PLACE[:-1])
    assert "test: the same command without --repeats 0" in done.stdout
    assert "again:" not in done.stdout


def test_class_folds_without_tests_are_refused_in_a_dry_run_too(call):
    done = call("tune", "-m", "eszsl", *PLACE, "--class-folds", 5, "--repeats", 0, "--dry-run")
    assert (done.returncode, "--repeats 0 tests nothing" in done.stderr) == (2, True), done.stderr
