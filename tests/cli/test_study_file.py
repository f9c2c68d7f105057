"""A study as a file: every option of tune has a key, the command line wins, what is wrong is one clear error."""

from __future__ import annotations

import json
import tomllib

import pytest
from support import evaluations_of, runs_of

from zslplat.errors import UnknownNameError
from zslplat.front.options import TuneCommand
from zslplat.front.schema import options_of, read_study_file, write_study_file
from zslplat.records.folders import study_names

NOTHING_SEARCHED = ("--dry-run", "--json")


@pytest.fixture
def study_file(tmp_path):
    def write(text):
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return write


def test_a_file_may_hold_every_option_that_is_not_of_one_call(tmp_path):
    options = options_of(TuneCommand)
    path = tmp_path / "study.toml"
    write_study_file(path, {**{name: option.default for name, option in options.items()}, "method": "a"}, TuneCommand)
    assert set(read_study_file(path, TuneCommand)) == {
        name for name, option in options.items() if option.write_even_if_default
    }
    not_in_file = {name for name, option in options.items() if option.not_in_study_file}
    assert not_in_file == {"config", "write_config", "dry_run", "json"}
    for name in not_in_file:
        path.write_text(f"{name} = true")
        with pytest.raises(UnknownNameError, match=name):
            read_study_file(path, TuneCommand)


@pytest.mark.long
def test_a_file_says_what_options_say_and_the_command_line_wins(call, study_file, tmp_path):
    path = study_file(
        'method = "eszsl"\ntrials = 12\nsampler = "qmc"\nbatch-size = 6\npatience = 5\ntrial_timeout = 30\n'
        'set = {gamma = 2}\n[space]\nalpha = "0.01..1:log"\n'
    )
    (tmp_path / "batches.toml").write_text("batch_size = 6")
    options = ("-m", "eszsl", "--sampler", "qmc", "--set", "gamma=2", "--patience", 5)
    options += ("--config", tmp_path / "batches.toml")
    by_file = call("tune", "--config", path, *NOTHING_SEARCHED)
    assert by_file.returncode == 0, by_file.stderr
    by_hand = call("tune", *options, "--space", "alpha=0.01..1:log", "-n", 12, *NOTHING_SEARCHED)
    found, known = json.loads(by_file.stdout), json.loads(by_hand.stdout)
    for key in ("study", "method", "searched", "search", "trials", "defaults"):
        assert found[key] == known[key], key
    over = json.loads(call("tune", "--config", path, "-n", 3, "--seed", 7, *NOTHING_SEARCHED).stdout)
    assert (over["trials"], over["search"]["seed"], over["search"]["sampler"]) == (3, 7, "qmc")


def test_a_written_file_asks_for_the_same_study(call, tmp_path):
    path = tmp_path / "written.toml"
    options = ("-m", "eszsl", "--set", "gamma=0.5", "--space", "alpha=1e-3..1:log", "-n", 7, "--trial-timeout", 9.5)
    done = call("tune", *options, "--write-config", path)
    assert (done.returncode, "carries it out" in done.stdout) == (0, True), done.stderr
    content = tomllib.loads(path.read_text())
    assert content["set"] == {"gamma": 0.5}
    assert content["space"] == {"alpha": "1e-3..1:log"}
    assert (content["trials"], content["sampler"], content["trial_timeout"]) == (7, "tpe", 9.5)
    assert not {"silence", "quiet", "store"} & set(content)
    again = tmp_path / "again.toml"
    assert call("tune", "--config", path, "--write-config", again).returncode == 0
    assert again.read_text() == path.read_text()
    assert "is there already" in call("tune", "--config", path, "--write-config", again).stderr
    assert not (tmp_path / "mlruns" / "studies").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('method = "eszsl"\ntrails = 3', "unknown key of a study file (study.toml) 'trails'; did you mean"),
        ('method = "eszsl"\ndry_run = true', "unknown key of a study file"),
        ('method = "eszsl"\ntrials = "many"', "study file study.toml: trials='many'"),
        ('method = "eszsl"\ntrials = 0', "study file study.toml: trials=0"),
        ('method = "eszsl"\ntrials = true', "study file study.toml: trials=True"),
        ('method = "eszsl"\nno_model = "yes"', "expected true or false"),
        ('method = ["eszsl"]', "expected one value"),
        ('method = "eszsl"\nset = [["lam", 1]]', "expected a list of texts or a table"),
        ("method = eszsl", "study file study.toml is no TOML"),
        ("trials = 3", "zslplat tune eszsl"),
        ('method = "eszsl"\nsampler = "tqe"', "did you mean tpe?"),
        ('method = "eszsl"\n[set]\nlam = 1', "lam"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_clear_error(call, study_file, text, said):
    study_file(text)
    done = call("tune", "--config", "study.toml", "--write-config", "other.toml")
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_is_not_there_is_one_clear_error(call):
    done = call("tune", "--config", "nowhere.toml")
    assert (done.returncode, "study file nowhere.toml cannot be read" in done.stderr) == (2, True)


def test_a_dry_run_says_what_would_be_done_and_records_nothing(call, tmp_path, new_store):
    store = new_store()
    done = call("tune", "-m", "eszsl", "--space", "alpha=0.01..10:log", "-n", 9, "--dry-run", "--workers", 1)
    assert done.returncode == 0, done.stderr
    for words in (
        "4800 rows",
        "3 validation folds",
        "alpha: 0.01..10:log",
        "trials: 9, 0 recorded;",
        "time: about",
        "memory:",
    ):
        assert words in done.stdout, words
    assert "nothing is recorded" in done.stdout
    assert (study_names(store), evaluations_of(store), runs_of(store)) == ([], {}, {})
    assert {path.name for path in store.iterdir()} <= {"mlflow.db", "optuna.db", "working.lock", "studies", "cache"}
    assert not any((store / "studies").rglob("*.toml"))


def test_a_dry_run_of_what_cannot_run_is_the_error_of_the_run(call):
    done = call("tune", "-m", "eszsl", "--set", "alpha=1", "--space", "alpha=1..2", "--dry-run")
    assert (done.returncode, "both fixed" in done.stderr) == (2, True)
