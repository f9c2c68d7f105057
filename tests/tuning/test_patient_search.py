"""Searches that end when nothing better comes."""

from __future__ import annotations

import pytest
from support import trials_of

from zslplat.records.folders import study_names

pytestmark = pytest.mark.long


def trials_by_study(store):
    """Return the parameters of the trials of each study, by its name; trials_of gives them study after study."""
    studies, names = [], study_names(store)
    for number, _, parameters, *_ in trials_of(store):
        if number == 0:
            studies.append([])
        studies[-1].append(parameters)
    return dict(zip(names, studies, strict=True))


def test_patience_ends_a_study_and_without_it_the_same_goes_on(call, tmp_path):
    store = tmp_path / "mlruns"
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
