"""Scores that were made elsewhere count as those of a method of ours, once, and say what they are."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from json_documents import checked
from outside_toys import DATA, ESZSL, column, exported, our_scores, random_scores, score, write_shuffled
from support import one_line

from zslplat.data.catalogue import parse_dataset
from zslplat.data.store.stored_sets import in_files
from zslplat.errors import OutcomeWarning
from zslplat.evaluation.components import open_dataset
from zslplat.evaluation.experiment import TEST, VALIDATION, Experiment
from zslplat.records.database import Records
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.tuning.options import EvaluationOptions
from zslplat.tuning.single import run_experiment
from zslplat_outside.exported_split import Manifest


@pytest.fixture
def settings(new_store):
    return resolve_settings({"store": new_store()})


@pytest.mark.long
@pytest.mark.parametrize("task", ["zsl", "gzsl", "retrieval"])
def test_scores_of_our_own_method_give_the_numbers_of_its_run_to_the_last_bit(settings, tmp_path, task):
    exported(settings, tmp_path / "split", task)
    ((rows, classes, scores),) = our_scores(settings, task, TEST)
    # The exported rows and classes are what the matrix is put in order by.
    place = {row: i for i, row in enumerate(rows.tolist())}
    order = [place[int(row)] for row in column(tmp_path / "split" / "test" / "rows.csv", "row")]
    columns = [classes.index(name) for name in column(tmp_path / "split" / "test" / "classes.csv", "class")]
    np.save(tmp_path / "test.npy", scores[np.ix_(order, columns)])
    experiment = Experiment(ESZSL, parse_dataset(DATA), Spec.parse(task))
    validated = run_experiment(experiment, EvaluationOptions(workers=1), settings)
    options = EvaluationOptions(test=True, validation_choices=validated.validation_choices, workers=1)
    ours = run_experiment(experiment, options, settings)
    theirs = score(
        settings,
        task,
        scores=[tmp_path / "test.npy"],
        manifest=Manifest.read(tmp_path / "split"),
        validation=[write_shuffled(tmp_path / "folds.parquet", our_scores(settings, task, VALIDATION), folds=True)],
    )
    assert theirs.metrics == ours.metrics
    assert theirs.validation == validated.metrics[0]
    assert theirs.chance == ours.chance
    # The outcomes of every row are the same, too, and so is what the intervals are made of.
    for told in ("outcomes", "rows"):
        assert theirs.folds[0][0][told] == ours.folds[0][0][told]
    assert ("calibrated_H" in theirs.metrics[0]) == (task == "gzsl")
    assert theirs.test_evaluations == 2


def test_scores_that_give_nearly_all_rows_one_class_are_told_by_their_outcomes(settings, tmp_path):
    exported(settings, tmp_path / "split")
    path = random_scores(tmp_path / "split")
    scores = np.load(path)
    scores[2:] -= 9 * np.eye(scores.shape[1])[1:].sum(axis=0)
    np.save(path, scores)
    found = score(settings, scores=[path], manifest=Manifest.read(tmp_path / "split"))
    assert any("predictions concentrate on few classes" in json.dumps(finding) for finding in found.findings)


def test_the_same_scores_are_known_whatever_file_holds_them_and_others_are_a_new_entry(settings, tmp_path):
    exported(settings, tmp_path / "split")
    manifest, folder = Manifest.read(tmp_path / "split"), tmp_path / "split" / "test"
    path = random_scores(tmp_path / "split")
    first = score(settings, scores=[path], manifest=manifest)
    assert (first.recalled, first.test_evaluations, first.notes) == (0, 1, [])
    table = (
        np.array(column(folder / "rows.csv", "row"), dtype=int),
        column(folder / "classes.csv", "class"),
        np.load(path),
    )
    again = score(settings, scores=[write_shuffled(tmp_path / "test.csv", [table])])
    assert (again.recalled, again.test_evaluations, again.run_ids) == (1, 1, first.run_ids)
    assert again.metrics == first.metrics
    assert again.notes == ["these scores are recorded already; they were not evaluated again"]
    other = score(settings, scores=[random_scores(tmp_path / "split", seed=1)], manifest=manifest)
    assert (other.recalled, other.test_evaluations) == (0, 2)
    assert other.method != first.method
    assert other.notes == ["outside:net is recorded with other scores; this is a new entry"]


def test_parquet_is_read_and_float32_stays_what_it_is(settings, tmp_path):
    exported(settings, tmp_path / "split")
    folder = tmp_path / "split" / "test"
    scores = np.load(random_scores(tmp_path / "split")).astype(np.float32)
    columns = dict(zip(column(folder / "classes.csv", "class"), scores.T, strict=True))
    rows = np.array(column(folder / "rows.csv", "row"), dtype=float)  # as tables have it that once missed a value
    pq.write_table(pa.table({**columns, "row": rows}), tmp_path / "test.parquet")
    np.save(tmp_path / "test.npy", scores)
    first = score(settings, scores=[tmp_path / "test.parquet"])
    assert score(settings, scores=[tmp_path / "test.npy"], manifest=Manifest.read(tmp_path / "split")).recalled == 1
    np.save(tmp_path / "wide.npy", scores.astype(np.float64))
    assert score(settings, scores=[tmp_path / "wide.npy"], manifest=Manifest.read(tmp_path / "split")).recalled == 0
    assert first.recalled == 0


@pytest.mark.long
@pytest.mark.parametrize("task", ["zsl", "gzsl", "retrieval"])
def test_metrics_are_the_same_to_the_last_bit_whatever_file_holds_the_scores(settings, tmp_path, task):
    exported(settings, tmp_path / "split", task)
    found = our_scores(settings, task, TEST), our_scores(settings, task, VALIDATION)
    for _, _, scores in (*found[0], *found[1]):  # ties, and numbers next to whole ones
        scores[:20] = np.round(scores[:20])
        scores[:5] = np.nextafter(scores[:5], np.inf)
    told, arrays, names = [], [], ["test", "fold-1", "fold-2", "fold-3"]
    for kind in ("csv", "parquet"):
        test, folds = write_shuffled(tmp_path / f"t.{kind}", found[0]), tmp_path / f"v.{kind}"
        given = {"scores": [test], "validation": [write_shuffled(folds, found[1], folds=True)]}
        told.append(score(settings, task, name=kind, **given))
    for name, (rows, classes, scores) in zip(names, [*found[0], *found[1]], strict=True):
        folder = tmp_path / "split" / name
        order = [rows.tolist().index(int(row)) for row in column(folder / "rows.csv", "row")]
        columns = [classes.index(one) for one in column(folder / "classes.csv", "class")]
        arrays.append(tmp_path / f"{name}.npy")
        np.save(arrays[-1], scores[np.ix_(order, columns)])
    manifest = Manifest.read(tmp_path / "split")
    told.append(score(settings, task, name="npy", scores=arrays[:1], validation=arrays[1:], manifest=manifest))
    assert told[0].metrics == told[1].metrics == told[2].metrics
    assert told[0].validation == told[1].validation == told[2].validation


def test_without_validation_the_bias_is_left_out_and_it_is_said(settings, tmp_path):
    exported(settings, tmp_path / "split", "gzsl")
    found = score(
        settings, "gzsl", scores=[random_scores(tmp_path / "split")], manifest=Manifest.read(tmp_path / "split")
    )
    assert "oracle_H" in found.metrics[0]
    assert not {"bias", "calibrated_H"} & set(found.metrics[0])
    assert any(
        line.startswith("ZSP214 metrics that need the bias that validation chooses")
        for line in found.warnings
        for line in found.warnings
    )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_placeholders_beside_which_other_scores_are_lost_are_told(settings, tmp_path, dtype):
    exported(settings, tmp_path / "split", "retrieval")
    manifest, file = Manifest.read(tmp_path / "split"), random_scores(tmp_path / "split")
    scores = np.load(file).astype(dtype)
    for low, lost in ((-1e30, True), (scores.min() - 1, False)):
        scores[:, 0] = low
        np.save(file, scores)
        found = score(settings, "retrieval", name=f"low{lost}", scores=[file], manifest=manifest)
        told = [line for line in found.warnings if line.startswith("ZSP219 ")]
        assert bool(told) == lost
        assert not lost or "beside others as far off as 1e+30: centred_mAP is of little use" in told[0]


def test_validation_alone_does_not_look_at_the_test(settings, tmp_path):
    exported(settings, tmp_path / "split")
    files = [random_scores(tmp_path / "split", f"fold-{n}") for n in (1, 2, 3)]
    found = score(settings, validation=files, manifest=Manifest.read(tmp_path / "split"))
    assert (found.split, found.test_evaluations) == (VALIDATION, 0)
    assert set(found.validation) >= {"per_class_accuracy"}
    assert score(settings, validation=files, manifest=Manifest.read(tmp_path / "split")).recalled == 1


def test_what_is_found_in_validation_is_told_beside_the_test(settings, tmp_path):
    exported(settings, tmp_path / "split")
    folds = our_scores(settings, "zsl", VALIDATION)
    constant = [(rows, classes, np.zeros_like(scores)) for rows, classes, scores in folds]
    given = {
        "scores": [random_scores(tmp_path / "split")],
        "manifest": Manifest.read(tmp_path / "split"),
        "validation": [write_shuffled(tmp_path / "folds.csv", constant, folds=True)],
    }
    for _ in range(2):  # scored now, and taken from the record
        result = score(settings, **given)
        assert sum(line.startswith("ZSP103 the result on validation is at chance") for line in result.warnings) == 1
        assert "ZSP103" in [finding["code"] for finding in result.findings]


@pytest.mark.long
def test_what_choosing_on_validation_warns_of_is_recorded_and_not_printed_raw(settings, tmp_path):
    exported(settings, tmp_path / "split", "gzsl")
    folds = [
        (rows, classes, np.zeros_like(scores)) for rows, classes, scores in our_scores(settings, "gzsl", VALIDATION)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutcomeWarning)
        result = score(
            settings,
            "gzsl",
            scores=[random_scores(tmp_path / "split")],
            manifest=Manifest.read(tmp_path / "split"),
            validation=[write_shuffled(tmp_path / "folds.csv", folds, folds=True)],
        )
    told = [line for line in result.warnings if "all scores are equal" in line]
    assert len(told) == len(set(told)) > 0


def test_files_of_one_name_are_told_apart_by_their_folders(settings, tmp_path):
    exported(settings, tmp_path / "split")
    paths = {}
    for name in ("test", "fold-1", "fold-2", "fold-3"):
        (tmp_path / name).mkdir()
        paths[name] = random_scores(tmp_path / "split", name).rename(tmp_path / name / "scores.npy")
    test = paths.pop("test")
    score(settings, scores=[test], validation=[*paths.values()], manifest=Manifest.read(tmp_path / "split"))
    found = {key: record["outside"]["files"] for _, key, record in Records(settings).all_evaluations(["run:"])}
    assert [*found["repeat-0"]] == ["test/scores.npy"]
    assert [*found["validation"]] == [f"fold-{n}/scores.npy" for n in (1, 2, 3)]


def test_validation_that_comes_later_is_added_and_other_validation_is_refused(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    given = ("score", "--name", "net", "--manifest", "split", "--scores", random_scores(tmp_path / "split"), "--json")
    folds = [random_scores(tmp_path / "split", f"fold-{n}") for n in (1, 2, 3)]
    assert call(*given).returncode == 0

    def row():
        done = call("compare", "--dataset", DATA, "--json")
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)[0]["rows"]
        return found

    assert row()["validation"] is None
    done = call(*given, *(word for path in folds for word in ("--validation", path)))
    assert done.returncode == 0, done.stderr
    told = checked("score", done.stdout)
    assert (told["recalled"], told["test_evaluations"]) == (1, 1)
    assert row()["validation"] == told["validation"]["per_class_accuracy"]
    assert row()["method"] == told["method"]
    folds[0] = random_scores(tmp_path / "split", "fold-1", seed=5)
    done = call(*given, *(word for path in folds for word in ("--validation", path)))
    one_line(done, 2, r"recorded with other scores of the validation folds; give another --name")


@pytest.mark.long
def test_a_new_entry_of_known_scores_says_what_is_new(settings, tmp_path, monkeypatch):
    exported(settings, tmp_path / "split", "gzsl")
    given = {"scores": [random_scores(tmp_path / "split")], "manifest": Manifest.read(tmp_path / "split")}
    folds = [random_scores(tmp_path / "split", f"fold-{n}") for n in (1, 2, 3)]
    score(settings, "gzsl", **given)
    calibrated = score(settings, "gzsl", **given, validation=folds)
    assert calibrated.notes == ["outside:net is recorded without what validation chooses now; this is a new entry"]
    assert calibrated.metrics[0]["bias"] == pytest.approx(calibrated.folds[0][0]["metrics"]["bias"])
    # What was recorded last is what is meant where nothing is said of validation.
    again = score(settings, "gzsl", **given)
    assert (again.recalled, again.run_ids) == (1, calibrated.run_ids)
    declared = score(settings, "gzsl", **given, knows=["transductive"])
    assert declared.notes == ["outside:net is recorded with another --knows; this is a new entry"]
    libraries = "zslplat_outside.recording.libraries"
    monkeypatch.setattr(libraries, lambda: {"numpy": "of later"})
    later = score(settings, "gzsl", **given)
    assert later.notes == ["outside:net is recorded as an earlier version scored it; this is a new entry"]
    assert later.test_evaluations == 4


@pytest.mark.long
def test_scores_of_several_seeds_are_one_entry_with_a_spread(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    paths = [random_scores(tmp_path / "split", seed=seed) for seed in range(4)]
    given = ("score", "--name", "net", "--manifest", "split", "--json")

    def told(*more):
        done = call(*given, *more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first = told("--scores", paths[0], "--scores", paths[1])
    later = told("--scores", paths[2], "--repeat", 2)
    assert later["method"] == first["method"]
    again = told("--scores", paths[0], "--scores", paths[1], "--scores", paths[2])
    assert (again["recalled"], again["test_evaluations"]) == (3, 3)
    (row,) = json.loads(call("compare", "--dataset", DATA, "--json").stdout)[0]["rows"]
    values = [metrics["per_class_accuracy"] for metrics in again["metrics"]]
    assert row["test"] == pytest.approx(np.mean(values), abs=1e-15)
    assert row["spread"] == pytest.approx(np.std(values, ddof=1), abs=1e-15)
    done = call(*given, "--scores", paths[3], "--repeat", 1)
    one_line(done, 2, r"repeat 1 of outside:net\(scores=\w+\) is recorded with other scores; give the next number")
    done = call("score", "--name", "other", "--manifest", "split", "--scores", paths[0], "--repeat", 1)
    one_line(done, 2, r"--repeat 1: nothing is recorded of outside:other .* without --repeat")


@pytest.mark.long
def test_what_was_known_of_the_batch_is_declared_and_sorts_the_entry(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    given = ("score", "--name", "net", "--manifest", "split", "--scores", random_scores(tmp_path / "split"))
    done = call(*given, "--knows", "trained on the web,transductive", "--seconds", 12.5, "--json")
    assert json.loads(done.stdout)["knows"] == "transductive, trained on the web"
    (row,) = json.loads(call("compare", "--dataset", DATA, "--json").stdout)[0]["rows"]
    assert (row["group"], row["knows"]) == ("transductive", "transductive, trained on the web")
    assert row["test_seconds"] == 12.5
    for word, meant in (("transductiv", "transductive"), ("unseen", "unseen signatures")):
        one_line(call(*given, "--knows", word), 2, rf"--knows '{word}': did you mean '{meant}'\?")


def test_an_entry_is_shown_in_mlflow_made_again_there_and_not_evaluated_again(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    done = call(
        *("score", "--name", "net", "--manifest", "split", "--scores", random_scores(tmp_path / "split")),
        *("--description", "a network", "--json"),
    )
    told = json.loads(done.stdout)

    def shown():
        from mlflow.tracking import MlflowClient

        client = MlflowClient(f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}")
        (experiment,) = [e for e in client.search_experiments() if e.name.startswith("zsl: synthetic")]
        (run,) = client.search_runs([experiment.experiment_id])
        return run.data.metrics, {
            name: run.data.tags[name] for name in ("zslplat.outside", "zslplat.rows", "zslplat.knows")
        }

    metrics, tags = shown()
    assert metrics == {f"test_{name}": value for name, value in told["metrics"][0].items()}
    assert json.loads(tags["zslplat.outside"])["description"] == "a network"
    assert call("store", "rebuild").returncode == 0
    assert shown() == (metrics, tags)
    assert call("store", "check").returncode == 0
    one_line(call("rerun", told["run_ids"][0]), 1, r"is of scores that were made elsewhere, .*give their file")


def test_coding_takes_scores_of_classes_and_of_labels(settings, tmp_path):
    for dataset in ("digits", "digit-sets"):
        folder = tmp_path / dataset
        exported(settings, folder, "coding", dataset, split="test")
        labels = column(folder / "test" / "classes.csv", "class")
        heads = (folder / "test" / "train.csv").read_text().splitlines()[0].split(",")
        assert heads[:2] == (["row", "class"] if dataset == "digits" else ["row", f"label {labels[0]}"])
        found = score(settings, "coding", dataset, scores=[random_scores(folder)], manifest=Manifest.read(folder))
        assert found.primary == ("accuracy" if dataset == "digits" else "mAP")
        assert 0 <= found.metrics[0][found.primary] < 0.5


def test_records_hold_no_truth_in_the_hash_of_a_method_but_the_digest_of_the_scores(settings, tmp_path):
    exported(settings, tmp_path / "split")
    score(settings, scores=[random_scores(tmp_path / "split")], manifest=Manifest.read(tmp_path / "split"))
    records = Records(settings)
    ((owner, key, record),) = list(records.all_evaluations())
    records.close()
    assert owner.startswith("run:")
    assert key == "repeat-0"
    assert record["experiment"]["method"] == f"outside:net(scores={record['code']['method'][:12]})"
    assert set(record["code"]) >= {"method", "task", "data", "scoring", "numpy"}
    assert record["outside"]["labels_exported"] is False


def test_features_of_a_data_set_in_files_are_those_that_are_exported(settings, tmp_path):
    data = open_dataset(parse_dataset(DATA), settings)
    exported(settings, tmp_path / "split", features=True)
    stored = in_files(data, tmp_path / "cache")
    np.testing.assert_array_equal(np.load(tmp_path / "split" / "features.npy"), np.asarray(stored.X))
