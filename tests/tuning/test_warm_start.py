"""Searches that begin at another study's best trials, and searches that end when nothing better comes."""

from __future__ import annotations

import json
import shutil

import pytest
from support import trials_of

from zslplat.records.folders import study_names

pytestmark = pytest.mark.long

SOURCE = ("tune", "--method", "eszsl", "--study", "source", "--json")
WARM = ("tune", "--method", "eszsl", "--study", "warm", "--seed", 1, "--sampler", "qmc", "--json")


def trials_by_study(store):
    """Return the parameters of the trials of each study, by its name; trials_of gives them study after study."""
    studies, names = [], study_names(store)
    for number, _, parameters, *_ in trials_of(store):
        if number == 0:
            studies.append([])
        studies[-1].append(parameters)
    return dict(zip(names, studies, strict=True))


@pytest.fixture
def source(arranged, tmp_path):
    (done,) = arranged((*SOURCE, "--trials", "6", "--workers", "1"))
    return tmp_path / "mlruns", json.loads(done.stdout)


def test_a_warm_start_is_recorded_and_goes_on_as_it_began(source, call, tmp_path):
    store, printed = source
    other = tmp_path / "other"
    shutil.copytree(store, other / "mlruns")
    command = (*WARM, "--warm-start", "source:2")
    assert call(*command, "--trials", 10, "--workers", 2).returncode == 0
    whole = trials_by_study(store)["warm"]
    assert len(whole) == 10
    assert whole[1] == printed["parameters"]  # the best of the source comes right after the default
    begun = json.loads(call("studies", "show", "warm", "--json").stdout)["experiment"]["warm_start"]
    assert begun["from"] == "source:2"
    assert begun["trials"][0]["trial"] == printed["winner"]
    assert [trial["parameters"] for trial in begun["trials"]] == whole[1:3]

    # Stopped after 5 trials, another number of workers, and the source goes on meanwhile: the same trials.
    for words in ((*command, "--trials", 5), (*SOURCE, "--trials", 9), (*command, "--trials", 10)):
        done = call(*words, "--workers", 1, cwd=other)
        assert done.returncode == 0, done.stderr
    assert trials_by_study(other / "mlruns")["warm"] == whole


def test_patience_ends_a_study_and_without_it_the_same_goes_on(source, call):
    store, _ = source
    command = ("tune", "--method", "eszsl", "--study", "patient", "--sampler", "qmc", "--workers", 1)
    done = call(*command, "--trials", 40, "--patience", 4)
    assert (done.returncode, "no better trial among the last 4" in done.stderr) == (0, True), done.stderr
    trials = trials_by_study(store)["patient"]
    assert len(trials) < 40
    assert len(trials) % 4 == 0
    again = call(*command, "--trials", 40, "--patience", 4)
    assert again.returncode == 0, again.stderr
    assert trials_by_study(store)["patient"] == trials
    assert call(*command, "--trials", len(trials) + 2).returncode == 0
    assert trials_by_study(store)["patient"][: len(trials)] == trials
    assert len(trials_by_study(store)["patient"]) == len(trials) + 2


def test_a_study_goes_on_as_it_began_where_the_other_study_is_gone(source, call):
    store, _ = source
    command = (*WARM, "--warm-start", "source:2", "--workers", 1)
    assert call(*command, "--trials", 3).returncode == 0
    before = trials_by_study(store)["warm"]
    assert call("studies", "delete", "source", "--yes").returncode == 0
    done = call(*command, "--trials", 5)
    assert done.returncode == 0, done.stderr
    assert trials_by_study(store)["warm"][:3] == before
    done = call(*WARM, "--warm-start", "source:3", "--trials", 5)
    assert (done.returncode, "unknown study to start from" in done.stderr) == (2, True), done.stderr


def test_a_warm_start_that_cannot_be_is_one_clear_error(source, call):
    for begin, said in (
        ("sorce", "did you mean source?"),
        ("source:0", "give one trial or more, source:4"),
        ("source:x", "unknown study to start from"),
    ):
        done = call(*WARM, "--warm-start", begin)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    done = call("tune", "--method", "sae", "--warm-start", "source")
    assert (done.returncode, "is not searched here" in done.stderr) == (2, True), done.stderr
