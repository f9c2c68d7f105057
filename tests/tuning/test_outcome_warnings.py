"""Outcomes that should be looked at: warned of where they arise, recorded, shown at the end, in JSON and in MLflow."""

from __future__ import annotations

import json
import sqlite3
import warnings

import numpy as np
import pytest
from support import records_of

from zslplat.checks.facts import StudyFacts, TrainingSteps
from zslplat.checks.search import EdgeOfRange, LastStep, is_at_chance
from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.errors import OutcomeWarning, split_code
from zslplat.evaluation.scoring.messages import collect_warnings, warning_entries
from zslplat.families.coding.task import Coding
from zslplat.families.exemplars.task import ExemplarRetrieval
from zslplat.families.selection.task import FeatureSelection
from zslplat.families.zero_shot.gzsl import GeneralizedZeroShot
from zslplat.families.zero_shot.unseen import Retrieval, ZeroShot
from zslplat.space import NON_NEGATIVE, POSITIVE, Choice, Integer, Optional, Parameter, Real, Scaled
from zslplat.tuning.study_facts import searched_facts


def tags_of(store):
    """Return {key: text of the warnings} of the MLflow runs that have some."""
    query = (
        "select k.value, w.value from tags k join tags w on w.run_uuid = k.run_uuid "
        "where k.key = 'zslplat.key' and w.key = 'zslplat.warnings'"
    )
    return dict(sqlite3.connect(store / "mlflow.db").execute(query).fetchall())


@pytest.mark.long
def test_a_search_at_chance_with_empty_codes_is_said_everywhere(call, tmp_path):
    def tune(scale, *options):
        search = ("-m", "ksc(kernel=gaussian(sigma=1.0))", "-d", f"rows(scale={scale})", "-t", "coding(folds=2)")
        done = call("tune", *search, "--trials", 1, "--workers", 1, "--repeats", 1, *options)
        assert done.returncode == 0, done.stderr
        return done

    result = json.loads(tune(100.0, "--json").stdout)
    assert result["validation"]["accuracy"] == pytest.approx(0.2, abs=0.02)
    said = "\n".join(result["warnings"])
    for text in (
        "ZSP103 the best of the search is at chance: accuracy 0.1999, guessing 0.2000",
        "ZSP212 best trial, 0: all codes are empty",
        "ZSP202 best trial, 0: all scores are equal",
        "ZSP212 test: all codes are empty",
        "ZSP104 test is at chance",
    ):
        assert text in said, said
    (record,) = records_of(tmp_path / "mlruns")
    texts = {entry["text"].partition(":")[0]: entry["where"] for entry in record["warnings"]}
    assert texts == {"all codes are empty": ["fold-1", "fold-2"], "all scores are equal": ["fold-1", "fold-2"]}
    tags = tags_of(tmp_path / "mlruns")
    assert set(tags) == {"study", "trial-0", "trial-0/repeat-0"}
    assert "at chance" in tags["study"]
    assert all("all codes are empty" in text for text in tags.values())
    stored = sqlite3.connect(tmp_path / "mlruns" / "optuna.db").execute(
        "select value_json from study_user_attributes where key = 'finished'"
    )
    findings = json.loads(stored.fetchone()[0])["findings"]
    assert findings == result["findings"]
    assert [f"{one['code']} {one['text']}" for one in findings] == result["warnings"]
    shown = tune(100.0)
    assert [line for line in shown.stdout.splitlines() if line.startswith("warning: ZSP103 the best of the search")]
    sound = tune(1.0, "--json")
    assert json.loads(sound.stdout)["warnings"] == []


@pytest.mark.long
def test_a_best_value_at_the_edge_is_said(call, tmp_path):
    search = ("tune", "-m", "plain(mix=0.5)", "-d", "marked", "--space", "ridge=1e2..1e9:log", "--sampler", "grid")
    done = call(*search, "--workers", 1, "--repeats", 1, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["parameters"]["ridge"] == 100
    (line,) = [warning for warning in result["warnings"] if "end of the range" in warning]
    assert line.startswith("ZSP101 the best value of ridge, 100.0, lies at the low end of the range searched, 100..1e")
    assert tags_of(tmp_path / "mlruns")["study"] == "; ".join(result["warnings"])
    swept = call(
        "sweep", "-m", "plain", "-d", "marked", "-p", "ridge", "--range", "1e2..1e9:log", "--points", 3, "--json"
    )
    assert swept.returncode == 0, swept.stderr
    assert any("lies at the low end" in warning for warning in json.loads(swept.stdout)["warnings"])


@pytest.mark.long
@pytest.mark.parametrize(
    ("mix", "text"), [(0.5, "ZSP201 all rows are given one class"), (0.0, "ZSP202 all scores are equal")]
)
def test_one_predicted_class_is_said_of_a_run(call, tmp_path, mix, text):
    done = call("run", "-m", f"idle(mix={mix})", "-d", "marked", "--workers", 1, "--json")
    assert done.returncode == 0, done.stderr
    warned = json.loads(done.stdout)["warnings"]
    assert any(line.startswith(text) and line.endswith("(fold-1, fold-2, fold-3)") for line in warned), warned
    assert any(line.startswith("ZSP103 the result on validation is at chance") for line in warned)
    assert tags_of(tmp_path / "mlruns") == {"repeat-0": "; ".join(warned)}


def test_what_methods_warn_of_is_recorded_even_where_statistics_are_found_in_the_cache(call, tmp_path):
    for seed in (0, 0):
        done = call("run", "-m", f"warner(seed={seed})", "-d", "marked", "--workers", 1, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["warnings"] == [
            "ZSP200 preparation should be looked at (fold-1, fold-2, fold-3)",
            "ZSP200 the fit should be looked at (fold-1, fold-2, fold-3)",
        ]


def test_what_building_problems_warns_of_is_kept_with_them(tmp_path, monkeypatch):
    from zslplat.evaluation.context import ExperimentContext
    from zslplat.evaluation.experiment import Experiment
    from zslplat.settings import resolve_settings
    from zslplat.spec import Spec

    settings = resolve_settings({"store": tmp_path / "mlruns"})
    settings.make_store()
    build = ZeroShot.validation

    def warning(self, dataset, *, seed=0):
        warnings.warn("folds cannot resemble the test split", OutcomeWarning, stacklevel=2)
        return build(self, dataset, seed=seed)

    monkeypatch.setattr(ZeroShot, "validation", warning)
    for _ in range(2):  # built, then found
        context = ExperimentContext(Experiment(Spec("eszsl"), Spec("digit-pairs"), Spec("zsl", {"folds": 2})), settings)
        (entry,) = context.problem_warnings(context.validation_problems())
        assert entry == {
            "text": "folds cannot resemble the test split",
            "where": ["fold-1", "fold-2"],
            "count": 2,
        }


def test_other_warnings_go_their_usual_way():
    def work():
        with collect_warnings() as found:
            warnings.warn("look\n at this", OutcomeWarning, stacklevel=1)
            warnings.warn("another matter", RuntimeWarning, stacklevel=1)
            warnings.warn("look\n at this", OutcomeWarning, stacklevel=1)
        return found

    with pytest.warns(RuntimeWarning, match="another matter"):
        assert work() == ["look at this", "look at this"]


def test_records_hold_each_text_once_and_not_too_many():
    entries = warning_entries([("fold-1", ["a", "a"]), ("fold-2", ["a", *(f"text {i}" for i in range(30))])])
    assert entries[0] == {"text": "a", "where": ["fold-1", "fold-2"], "count": 3}
    assert len(entries) == 21
    assert entries[-1]["text"] == "11 further warnings"


@pytest.fixture(scope="module")
def dataset():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 12)
    position = np.tile(np.arange(12), 8)
    splits = {
        "train": np.flatnonzero((y < 5) & (position < 9)),
        "test_seen": np.flatnonzero((y < 5) & (position >= 9)),
        "test_unseen": np.flatnonzero(y >= 5),
    }
    X, S = rng.normal(size=(96, 6)), SignatureSet(rng.normal(size=(8, 4)))
    return Dataset("toy", X, y, tuple("abcdefgh"), signatures={"att": S}, splits=splits)


def warned_by(task, problem, outputs):
    with collect_warnings() as found:
        task.score(problem, outputs, {}, full=False)
    return [split_code(text)[0].partition(":")[0] for text in found]


def test_zero_shot_tasks_look_at_their_scores(dataset):
    rng = np.random.default_rng(1)
    tasks = {
        ZeroShot(): "all rows are given one class",
        Retrieval(): "all scores are equal",
        GeneralizedZeroShot(): "all rows are given one class (T)",
    }
    for task, expected in tasks.items():
        problem = task.test(dataset)
        shapes = {
            request: (len(problem.truth[f"rows:{request}"]), len(problem.inputs[f"classes:{request}"]))
            for request in problem.meta["requests"]
        }
        assert warned_by(task, problem, {r: rng.normal(size=shape) for r, shape in shapes.items()}) == []
        same = {r: np.broadcast_to(rng.normal(size=shape[1]), shape) for r, shape in shapes.items()}
        assert expected in warned_by(task, problem, same)
        equal = warned_by(task, problem, {r: np.zeros(shape) for r, shape in shapes.items()})
        assert equal
        assert all(text.startswith("all scores are equal") for text in equal)


def test_other_tasks_look_at_their_scores(dataset):
    rng = np.random.default_rng(1)
    labelled = Dataset("labelled", dataset.X, dataset.y, dataset.class_names)
    task = Coding()
    problem = task.test(labelled)
    shape = (len(problem.truth["y_pool"]), 8)
    assert warned_by(task, problem, {"scores": rng.normal(size=shape)}) == []
    assert warned_by(task, problem, {"scores": np.eye(8)[np.full(shape[0], 3)]}) == ["all rows are given one class"]
    exemplars = ExemplarRetrieval()
    problem = exemplars.test(labelled)
    queries = problem.truth["queries"]
    similar = np.zeros((len(queries), len(problem.truth["y"])))
    similar[np.arange(len(queries)), queries] = 1  # each like itself, and like nothing else
    assert warned_by(exemplars, problem, {"similarity": similar}) == ["all scores are equal"]
    assert warned_by(exemplars, problem, {"similarity": rng.normal(size=similar.shape)}) == []
    selection = FeatureSelection(first=2, last=4, step=2, repeats=1)
    problem = selection.test(dataset)
    clusters = rng.integers(0, 3, size=(2, 1, len(problem.truth["y_unseen"])))
    outputs = {"scores": np.zeros(6), "ranking": np.arange(6), "clusters": clusters}
    assert warned_by(selection, problem, outputs) == ["all features have the same score"]
    assert warned_by(selection, problem, {**outputs, "scores": np.arange(6.0)}) == []


def test_edges_are_of_the_search_and_not_of_what_is_legal():
    space = {
        "a": Real(1e-3, 1e3, log=True),
        "share": Real(0, 1),
        "k": Integer(1, 64, log=True),
        "sigma": Real(0.1, 10),
        "width": Real(0.1, 10, log=True, unit="/median"),
        "kind": Choice(("x", "y")),
        "left_out": Real(0, 1, when={"kind": ("x",)}),
    }
    domains = {
        "a": Parameter("", POSITIVE),
        "share": Parameter("", Real(0, 1)),
        "k": Parameter("", Optional(Integer(1))),
        "sigma": Parameter("", NON_NEGATIVE),
        "width": Parameter("", Scaled(POSITIVE, "/median")),
        "kind": Parameter("", Choice(("x", "y"))),
    }

    def at_edge(**values):
        facts = StudyFacts("a study", searched=searched_facts(space, values, domains))
        return [line.split(",")[0].split()[-1] for line in EdgeOfRange().find(facts)]

    assert at_edge(a=1.0, share=0.5, k=8, sigma=5.0, kind="x") == []
    assert at_edge(a=1.2e-3, share=0.0, k=64, sigma=9.9, kind="x") == ["a", "k", "sigma"]
    assert at_edge(a=950.0, share=1.0, k=1, sigma=0.3, kind="y") == ["a"]
    assert at_edge(a=2e-3, share=1.0, k=1, sigma=5.0, width="0.1/median", kind="y") == ["width"]
    assert at_edge(a=1.0, share=0.5, k=8, sigma=5.0, width="1.0/median", kind="x") == []


def test_a_step_that_is_the_last_allowed_is_told():
    def told(steps):
        return list(LastStep().find(StudyFacts("a study", steps=steps)))

    assert "last of 5 epochs" in told(TrainingSteps("epochs", 5, 5.0))[0]
    assert told(TrainingSteps("epochs", 5, 4.0)) == told(None) == []


def test_chance_is_told_from_better_by_the_noise_of_the_folds():
    assert is_at_chance([0.1, 0.1, 0.1], [0.1] * 3)
    assert is_at_chance([0.09, 0.13, 0.1], [0.1] * 3)
    assert not is_at_chance([0.14, 0.15, 0.14], [0.1] * 3)
    # What folds differ by among themselves does not hide more than twice the chance.
    assert not is_at_chance([0.9, 0.2, 0.3], [0.1] * 3)
    assert is_at_chance([0.51], [0.5])
    assert not is_at_chance([0.56], [0.5])
    # Chance may differ from fold to fold, and the best of many is expected to be better by chance.
    assert not is_at_chance([0.6, 0.3], [0.5, 0.2])
    noisy = [0.13, 0.10, 0.15, 0.12]
    assert not is_at_chance(noisy, [0.1] * 4)
    assert is_at_chance(noisy, [0.1] * 4, tried=1000)
    assert is_at_chance([2.0, 2.0], [2.0] * 2, maximise=False)
    assert not is_at_chance([1.0, 1.1], [2.0] * 2, maximise=False)


def test_random_scores_are_at_chance_mostly():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 10
    found = []
    for _ in range(200):
        folds = [float(np.mean(rng.integers(0, 10, size=200) == y)) for _ in range(5)]
        found.append(is_at_chance(folds, [0.1] * 5))
    assert np.mean(found) > 0.9


def test_a_range_of_one_value_has_no_edge():
    (found,) = searched_facts({"k": Integer(3, 3)}, {"k": 3}, {"k": Parameter("", Integer(1))})
    assert found.position == 0.5
    assert list(EdgeOfRange().find(StudyFacts("a study", searched=(found,)))) == []
