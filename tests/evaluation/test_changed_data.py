"""Data that have changed under their name are other data: for problems, settings, studies and their names."""

from dataclasses import replace

import numpy as np
import pytest
from array_toys import toy

from zslplat.errors import StoreError
from zslplat.evaluation.cache.problems import load_problem
from zslplat.evaluation.context import ExperimentContext
from zslplat.evaluation.experiment import VALIDATION, Experiment
from zslplat.families.zero_shot.methods.eszsl import ESZSL
from zslplat.records.database import Records
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.tuning.identity import study_name, with_search_settings
from zslplat.tuning.options import StudyOptions


def experiment_of(path):
    return Experiment(Spec("eszsl"), Spec("npz", {"path": str(path)}), Spec("zsl", {"folds": 2}))


def test_problems_of_changed_data_are_made_anew(tmp_path):
    settings, path, found = resolve_settings({"store": str(tmp_path / "mlruns")}), tmp_path / "data.npz", []
    settings.make_store()
    arrays = toy()
    for scale in (1.0, 1.0, 3.0):
        np.savez(path, **{**arrays, "X": arrays["X"] * np.linspace(1, scale, arrays["X"].shape[1])})
        context = ExperimentContext(experiment_of(path), settings)
        problems = [*context.problems(VALIDATION), context.test_problem()]
        assert context.counts["problems"] == (0 if found and scale == 1.0 else len(problems))
        found.append(problems)
    first, again, changed = found
    assert first == again
    assert not set(first) & set(changed)
    for old, new in zip(first, changed, strict=True):
        X, other = (np.asarray(load_problem(folder).inputs["X"]) for folder in (old, new))
        assert X.shape == other.shape
        assert not np.allclose(X, other)


def test_problems_of_a_copy_name_the_copy(tmp_path):
    settings = resolve_settings({"store": str(tmp_path / "mlruns")})
    settings.make_store()
    arrays = {name: array for name, array in toy().items() if name not in ("folds", "groups")}
    for name in ("first", "second"):
        np.savez(tmp_path / f"{name}.npz", **arrays)
        context = ExperimentContext(replace(experiment_of(tmp_path / f"{name}.npz"), task=Spec("zsl")), settings)
        problems = context.problems(VALIDATION)
        assert {load_problem(folder).meta["dataset"] for folder in [*problems, context.test_problem()]} == {name}
        (entry,) = context.problem_warnings(problems)
        assert entry["text"].startswith(f"{name}: validation is a mean over ")


@pytest.mark.parametrize("changed", [{"data": "b" * 64}, {"seed": 1}, {"features": "l2"}])
def test_what_is_asked_of_other_data_is_another_question_and_another_study(tmp_path, changed):
    options = StudyOptions()
    experiment = with_search_settings(replace(experiment_of("data.npz"), data="a" * 64), options, ESZSL)
    other = replace(experiment, **changed)
    assert other.to_json() != experiment.to_json()
    assert other.question != experiment.question
    assert study_name(other, options) != study_name(experiment, options)
    settings = resolve_settings({"store": str(tmp_path / "mlruns")})
    settings.make_store()
    records = Records(settings)
    records.open_study("mine", experiment.to_json(), [True])
    with pytest.raises(StoreError, match=next(iter(changed))):
        records.open_study("mine", other.to_json(), [True])
    records.close()
