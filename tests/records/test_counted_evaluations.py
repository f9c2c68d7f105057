"""Looks at a test split are counted by the data that were looked at."""

from zslplat.records.database import Records
from zslplat.settings import resolve_settings


def test_each_data_set_has_a_count_of_its_own_and_validation_is_none(tmp_path):
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    records = Records(settings)
    for place, (split, fingerprint, content) in enumerate(
        [
            ("test", "b", {}),
            ("test", "b", {"known_from": "another"}),
            ("test", "a", {}),
            ("test", "c", {}),
            ("test", "c", {"experiment": {"dataset": "first name", "seed": 0}}),
            ("test", "c", {"experiment": {"dataset": "other name", "seed": 0}}),
            ("validation", "b", {}),
        ]
    ):
        content = {"experiment": {"dataset": "birds", "seed": place}, **content}
        records.add_evaluation("run:x", f"repeat-{place}", split, fingerprint, content)
    assert {name: records.test_evaluations(name) for name in "abcd"} == {"a": 1, "b": 1, "c": 2, "d": 0}
    records.close()


def test_owners_are_asked_for_by_their_beginnings(tmp_path):
    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    records = Records(settings)
    for owner in ("run:a", "study:run:b", "sweep:c", "run_d", "oracle:e"):
        records.add_evaluation(owner, "key", "test", "data", {"winner": 0, "folds": [], "metrics": {}})

    def owners(found):
        return [owner for owner, _, _ in found]

    assert owners(records.all_evaluations(["run:"])) == ["run:a"]
    assert owners(records.all_evaluations(["run_"])) == ["run_d"]
    assert owners(records.evaluations_on("data", ["run:", "sweep:"])) == ["run:a", "sweep:c"]
    assert owners(records.all_evaluations()) == ["run:a", "study:run:b", "sweep:c", "run_d", "oracle:e"]
    assert owners(records.evaluations_on("other")) == []
    records.close()
