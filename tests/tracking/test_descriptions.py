"""What a description in MLflow says of a study and of an evaluation, and what it leaves out."""

import pytest

from zslplat.tracking.descriptions import evaluation_note, study_note

ABOUT = {
    "primary": {"name": "accuracy"},
    "preprocessing": "features: l2; signatures: none",
    "data": {"name": "birds", "profile": {"rows": 90, "shape": [90, 4], "classes": 6}},
}
IDENTITY = {"method": "eszsl", "dataset": "birds", "task": "zsl", "seed": 3, "space": {"gamma": "0.1..10:log"}}
WINNER = {"metrics": {"accuracy": 0.75}, "parameters": {"gamma": 2.0}}


def note_of(tests=1, **identity):
    values = {"identity": {**IDENTITY, **identity}, "about": ABOUT}
    return study_note(values, "s", {"winner": 4, "trials": 9}, WINNER, [{"run": "r1"}] * tests, 0.5, None)


def test_a_study_says_how_often_it_was_tested():
    assert "on the test split (once)." in note_of(1)
    assert "on the test split (2 repeats)." in note_of(2)


def test_a_study_has_a_table_of_what_it_searched_where_it_searched():
    assert "\n| gamma | 0.1..10:log | 2 |\n" in note_of()
    assert "hyperparameter" not in note_of(space={})


@pytest.mark.parametrize(("validation", "said"), [(0.75, "accuracy .500, validation .750."), (None, "accuracy .500.")])
def test_an_evaluation_tells_the_validation_of_what_validation_chose(validation, said):
    experiment = {"method": "eszsl(gamma=2)", "dataset": "birds", "task": "zsl", "split": "test"}
    record = {"metrics": {"accuracy": 0.5}, "folds": [{}]}
    assert said in evaluation_note(experiment, ABOUT, record, validation=validation).splitlines()[0]
