"""Scores that were made elsewhere count as those of a method of ours, once, and wrong ones are refused."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import one_line

from zslplat.data.catalogue import parse_dataset
from zslplat.data.kept import in_files
from zslplat.evaluation.components import build_component, open_dataset
from zslplat.evaluation.exported_split import Manifest, export_split
from zslplat.evaluation.jobs import load_problem
from zslplat.evaluation.setting import TEST, VALIDATION, Setting
from zslplat.evaluation.workbench import Workbench
from zslplat.records.database import Records
from zslplat.settings import resolve_settings
from zslplat.spec import Spec
from zslplat.tuning.outside import score_outside
from zslplat.tuning.outside_scores import OutsideScores
from zslplat.tuning.single import run_setting

DATA = (
    "synthetic(rows_train=240, rows_test_seen=40, rows_test_unseen=60, dimensions=8, attributes=6, classes_seen=8, "
    "classes_unseen=4, classes_validation=3)"
)
ESZSL = Spec.parse("eszsl(gamma=1, alpha=1)")


@pytest.fixture
def settings(new_store):
    return resolve_settings({"store": new_store()})


def exported(settings, folder, task="zsl", dataset=DATA, **options):
    """Export a split into a folder; return its manifest."""
    spec, asked = parse_dataset(dataset), Spec.parse(task)
    data = open_dataset(spec, settings)
    names = {"dataset": str(spec), "task": str(asked)}
    return export_split(data, build_component("tasks", asked).suited(data), folder, names=names, **options)


def column(path, name):
    with path.open(newline="") as file:
        return [line[name] for line in csv.DictReader(file)]


def score(settings, task="zsl", dataset=DATA, **given):
    return score_outside(OutsideScores(**{"name": "net", **given}), parse_dataset(dataset), Spec.parse(task), settings)


def random_scores(folder, name="test", seed=0):
    """Write scores that mean nothing of an exported problem as ``NAME.npy`` beside it, and return the path."""
    shape = len(column(folder / name / "rows.csv", "row")), len(column(folder / name / "classes.csv", "class"))
    path = folder.parent / f"{folder.name}-{name}-{seed}.npy"
    np.save(path, np.random.default_rng(seed).standard_normal(shape))
    return path


def our_scores(settings, task, split):
    """Return (rows, classes, scores) of each problem of a split, as a method of ours gives them for all rows."""
    bench = Workbench(Setting(ESZSL, parse_dataset(DATA), Spec.parse(task)), settings)
    found = []
    for folder in bench.problems(split):
        problem, method = (
            load_problem(folder, blocks=bench.method_class.takes_blocks),
            bench.method_class.build(ESZSL.parameters),
        )
        statistics = bench.task.prepare(method, problem, {})
        ((_, outputs),) = bench.task.run(method, problem, statistics)
        whole = outputs["T" if "T" in outputs else "U->U"]
        found.append((problem.truth["row_pool"], problem.meta["classes"], whole))
    return found


def write_shuffled(path, found, folds=False):
    """Write scores as CSV or Parquet, rows and classes in an order of their own."""
    random = np.random.default_rng(7)
    lines = []
    for number, (rows, classes, scores) in enumerate(found, start=1):
        for place in random.permutation(len(rows)):
            values = {name: float(value) for name, value in zip(classes, scores[place], strict=True)}
            lines.append({"row": int(rows[place]), **({"fold": f"fold-{number}"} if folds else {}), **values})
    names = list({name: None for line in lines for name in line})
    random.shuffle(names)
    if path.suffix == ".parquet":
        types = {"row": pa.int64(), "fold": pa.string()}
        kind = pa.from_numpy_dtype(found[0][2].dtype)
        columns = {
            name: pa.array([line.get(name) for line in lines], types.get(name, kind), from_pandas=False)
            for name in names
        }
        pq.write_table(pa.table(columns), path)
        return path
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(lines)
    return path


@pytest.mark.parametrize("task", ["zsl", "gzsl", "retrieval"])
def test_scores_of_our_own_method_give_the_numbers_of_its_run_to_the_last_bit(settings, tmp_path, task):
    exported(settings, tmp_path / "split", task)
    ((rows, classes, scores),) = our_scores(settings, task, TEST)
    # The exported rows and classes are what the matrix is put in order by.
    place = {row: i for i, row in enumerate(rows.tolist())}
    order = [place[int(row)] for row in column(tmp_path / "split" / "test" / "rows.csv", "row")]
    columns = [classes.index(name) for name in column(tmp_path / "split" / "test" / "classes.csv", "class")]
    np.save(tmp_path / "test.npy", scores[np.ix_(order, columns)])
    setting = Setting(ESZSL, parse_dataset(DATA), Spec.parse(task))
    validated = run_setting(setting, settings, workers=1)
    ours = run_setting(setting, settings, test=True, validation_choices=validated.validation_choices, workers=1)
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


def test_the_same_scores_are_known_whatever_file_holds_them_and_others_are_a_new_entry(settings, tmp_path):
    exported(settings, tmp_path / "split")
    manifest, folder = Manifest.read(tmp_path / "split"), tmp_path / "split" / "test"
    path = random_scores(tmp_path / "split")
    first = score(settings, scores=[path], manifest=manifest)
    assert (first.known, first.test_evaluations, first.notes) == (0, 1, [])
    table = (
        np.array(column(folder / "rows.csv", "row"), dtype=int),
        column(folder / "classes.csv", "class"),
        np.load(path),
    )
    again = score(settings, scores=[write_shuffled(tmp_path / "test.csv", [table])])
    assert (again.known, again.test_evaluations, again.run_ids) == (1, 1, first.run_ids)
    assert again.metrics == first.metrics
    assert again.notes == ["these scores are recorded already; they were not evaluated again"]
    other = score(settings, scores=[random_scores(tmp_path / "split", seed=1)], manifest=manifest)
    assert (other.known, other.test_evaluations) == (0, 2)
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
    assert score(settings, scores=[tmp_path / "test.npy"], manifest=Manifest.read(tmp_path / "split")).known == 1
    np.save(tmp_path / "wide.npy", scores.astype(np.float64))
    assert score(settings, scores=[tmp_path / "wide.npy"], manifest=Manifest.read(tmp_path / "split")).known == 0
    assert first.known == 0


def test_without_validation_the_bias_is_left_out_and_it_is_said(settings, tmp_path):
    exported(settings, tmp_path / "split", "gzsl")
    found = score(
        settings, "gzsl", scores=[random_scores(tmp_path / "split")], manifest=Manifest.read(tmp_path / "split")
    )
    assert "oracle_H" in found.metrics[0]
    assert not {"bias", "calibrated_H"} & set(found.metrics[0])
    assert any(
        line.startswith("metrics that need the bias that validation chooses are left out") for line in found.warnings
    )


def test_validation_alone_does_not_look_at_the_test(settings, tmp_path):
    exported(settings, tmp_path / "split")
    files = [random_scores(tmp_path / "split", f"fold-{n}") for n in (1, 2, 3)]
    found = score(settings, validation=files, manifest=Manifest.read(tmp_path / "split"))
    assert (found.split, found.test_evaluations) == (VALIDATION, 0)
    assert set(found.validation) >= {"per_class_accuracy"}
    assert score(settings, validation=files, manifest=Manifest.read(tmp_path / "split")).known == 1


def test_validation_that_comes_later_is_added_and_other_validation_is_refused(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    given = ("score", "--name", "net", "--manifest", "split", "--scores", random_scores(tmp_path / "split"), "--json")
    folds = [random_scores(tmp_path / "split", f"fold-{n}") for n in (1, 2, 3)]
    assert call(*given).returncode == 0

    def row():
        done = call("compare", "--dataset", DATA, "--json")
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)["rows"]
        return found

    assert row()["validation"] is None
    done = call(*given, *(word for path in folds for word in ("--validation", path)))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["known"], told["test_evaluations"]) == (1, 1)
    assert row()["validation"] == told["validation"]["per_class_accuracy"]
    assert row()["method"] == told["method"]
    folds[0] = random_scores(tmp_path / "split", "fold-1", seed=5)
    done = call(*given, *(word for path in folds for word in ("--validation", path)))
    one_line(done, 2, r"recorded with other scores of the validation folds; give another --name")


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
    assert (again["known"], again["test_evaluations"]) == (3, 3)
    (row,) = json.loads(call("compare", "--dataset", DATA, "--json").stdout)["rows"]
    values = [metrics["per_class_accuracy"] for metrics in again["metrics"]]
    assert row["test"] == pytest.approx(np.mean(values), abs=1e-15)
    assert row["spread"] == pytest.approx(np.std(values, ddof=1), abs=1e-15)
    done = call(*given, "--scores", paths[3], "--repeat", 1)
    one_line(done, 2, r"repeat 1 of outside:net\(scores=\w+\) is recorded with other scores; give the next number")
    done = call("score", "--name", "other", "--manifest", "split", "--scores", paths[0], "--repeat", 1)
    one_line(done, 2, r"--repeat 1: nothing is recorded of outside:other .* without --repeat")


def test_what_was_known_of_the_batch_is_declared_and_sorts_the_entry(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    given = ("score", "--name", "net", "--manifest", "split", "--scores", random_scores(tmp_path / "split"))
    done = call(*given, "--knows", "trained on the web,transductive", "--seconds", 12.5, "--json")
    assert json.loads(done.stdout)["knows"] == "transductive, trained on the web"
    (row,) = json.loads(call("compare", "--dataset", DATA, "--json").stdout)["rows"]
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
    assert record["setting"]["method"] == f"outside:net(scores={record['code']['method'][:12]})"
    assert set(record["code"]) >= {"method", "task", "data", "scoring", "numpy"}
    assert record["outside"]["labels_exported"] is False


# -- files that do not fit --------------------------------------------------------------------------------------------


def numbers(m, c):
    return np.random.default_rng(0).standard_normal((m, c))


WRONG_ARRAYS = {
    "too few rows": (
        lambda s: s[:-1],
        r"59 rows, but 60 rows are said to be scored; expected scores of shape \(60, 4\)",
    ),
    "too many columns": (lambda s: np.c_[s, s[:, 0]], r"5 columns, but 4 classes are said to be scored"),
    "transposed": (lambda s: s.T, r"shape \(4, 60\) is the wrong way round; .*transpose it"),
    "labels": (lambda s: s.argmax(axis=1), r"one number for each of 60 rows, as predicted labels are"),
    "a column of labels": (lambda s: s.argmax(axis=1)[:, None], r"one number for each of 60 rows, as predicted labels"),
    "complex": (lambda s: s + 1j, r"complex numbers \(complex128\); expected scores of shape \(60, 4\)"),
    "booleans": (lambda s: s > 0, r"values of type bool; expected"),
    "a cube": (lambda s: s[None], r"an array of shape \(1, 60, 4\); expected"),
    "NaN": (lambda s: np.where(np.arange(240).reshape(60, 4) == 5, np.nan, s), r"1 of 240 scores are NaN or infinite"),
    "infinite": (
        lambda s: np.where(s > 1, np.inf, s),
        r"42 of 240 scores are NaN or infinite, the first inf for row \d+",
    ),
}


@pytest.mark.parametrize("case", WRONG_ARRAYS)
def test_an_array_that_does_not_fit_is_one_clear_line(call, settings, tmp_path, case):
    change, message = WRONG_ARRAYS[case]
    exported(settings, tmp_path / "split", split="test")
    np.save(tmp_path / "s.npy", change(numbers(60, 4)))
    one_line(call("score", "--name", "net", "--scores", "s.npy", "--manifest", "split"), 2, r"s\.npy: " + message)
    assert not list((tmp_path / "mlruns" / "evaluations").glob("*"))


def with_column(name):
    return lambda text: "\n".join(
        [f"{text[0]},{name}", *(f"{line},0.5" for line in text[1:])],
    )


WRONG_TABLES = {
    "an unknown class": (
        lambda t: "\n".join([t[0].replace("unseen-11", "unsen-11"), *t[1:]]),
        "did you mean unseen-11",
    ),
    "a column more": (with_column("extra"), r"1 of its 5 columns \(extra\) are no classes that are scored"),
    "a class twice": (with_column("unseen-11"), r"unseen-11 more than once among the classes"),
    "a missing class": (
        lambda t: "\n".join(line.rpartition(",")[0] for line in t),
        r"no scores for 1 classes \(unseen-",
    ),
    "a missing row": (lambda t: "\n".join(t[:-1]), r"1 rows are missing \(\d+\); test scores 60 rows, each once"),
    "a row twice": (lambda t: "\n".join([*t, t[1]]), r"1 rows more than once \(\d+\); test scores 60 rows, each once"),
    "a row to train on": (lambda t: "\n".join([*t[:-1], "0" + t[-1][t[-1].index(",") :]]), r"1 of its 60 rows \(0\)"),
    "a row of no number": (lambda t: "\n".join([*t[:-1], "a" + t[-1][t[-1].index(",") :]]), r"column 'row' holds 'a'"),
    "half a row": (lambda t: "\n".join([*t[:-1], "0.5" + t[-1][t[-1].index(",") :]]), r"column 'row' holds 0\.5"),
    "a word": (lambda t: "\n".join([*t[:-1], t[-1].rpartition(",")[0] + ",high"]), r"holds 'high'; expected a score"),
    "nothing": (lambda t: "\n".join([*t[:-1], t[-1].rpartition(",")[0] + ","]), r"column 'unseen-\d+' is empty; give"),
    "NaN": (lambda t: "\n".join([*t[:-1], t[-1].rpartition(",")[0] + ",nan"]), r"1 of 240 scores are NaN or infinite"),
    "a ragged line": (lambda t: "\n".join([*t, "1,2"]), r"cannot be read as a CSV file .*write it again"),
    "semicolons": (lambda t: "\n".join(t).replace(",", ";"), r"expected a score|columns of scores; expected a column"),
    "folds": (lambda t: "\n".join([t[0] + ",fold", *(line + ",1" for line in t[1:])]), r"'fold' is for --validation"),
    "no lines": (lambda t: t[0], r"cannot be read as a CSV file .*Empty CSV file"),
}


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_a_table_that_does_not_fit_is_one_clear_line(call, settings, tmp_path, case):
    change, message = WRONG_TABLES[case]
    exported(settings, tmp_path / "split", split="test")
    rows, classes = (
        column(tmp_path / "split" / "test" / f"{n}.csv", c) for n, c in (("rows", "row"), ("classes", "class"))
    )
    text = [",".join(["row", *classes])]
    text += [",".join([row, *map(repr, line)]) for row, line in zip(rows, numbers(60, 4).tolist(), strict=True)]
    (tmp_path / "s.csv").write_text(change(text))
    code = 1 if case in ("a word", "nothing", "a ragged line", "no lines", "a row of no number", "half a row") else 2
    done = call("score", "--name", "net", "--scores", "s.csv", "--dataset", DATA)
    one_line(done, 1 if case == "semicolons" else code, message)


def test_other_data_another_task_and_another_seed_are_refused(call, settings, tmp_path):
    exported(settings, tmp_path / "split", split="test")
    np.save(tmp_path / "s.npy", numbers(60, 4))
    given = ("score", "--name", "net", "--scores", "s.npy", "--manifest", "split")
    one_line(
        call(*given, "--dataset", DATA.replace(")", ", seed=1)")), 2, r"the fingerprint of the data is \w{16} there"
    )
    one_line(call(*given, "--task", "retrieval"), 2, r"the task is zsl there, and retrieval here")
    one_line(call(*given, "--seed", 3), 2, r"the seed is 0 there, and 3 here")
    content = json.loads((tmp_path / "split" / "manifest.json").read_text())
    content["problems"][0]["rows_digest"] = "0" * 32
    (tmp_path / "split" / "manifest.json").write_text(json.dumps(content))
    one_line(call(*given), 2, r"test was exported with other rows or classes than the task has now")


def test_what_does_not_say_its_rows_or_cannot_be_read_is_refused(call, settings, tmp_path):
    exported(settings, tmp_path / "split", split="test")
    np.save(tmp_path / "s.npy", numbers(60, 4))
    np.savez(tmp_path / "s.npz", s=numbers(60, 4))
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "s.txt").write_text("1")
    given = ("score", "--name", "net", "--dataset", DATA, "--scores")
    rows, classes = ("--rows", "split/test/rows.csv"), ("--classes", "split/test/classes.csv")
    one_line(call(*given, "s.npy"), 2, r"s\.npy does not say which rows it scores; give --manifest FOLDER")
    one_line(call(*given, "s.npy", *rows), 2, r"does not say which classes it scores; .*--classes FILE")
    one_line(call(*given, "s.npy", *rows, "--classes", "split/test/rows.csv"), 1, r"no column 'class' but 'row'")
    one_line(call(*given, "s.npz"), 1, r"s\.npz: expected a \.npy, \.csv or \.parquet file .*numpy\.save")
    one_line(call(*given, "s.txt"), 1, r"s\.txt: expected a \.npy, \.csv or \.parquet file")
    one_line(call(*given, "none.npy"), 1, r"none\.npy: no such file")
    one_line(call(*given, "o.npy"), 1, r"o\.npy: cannot be read as a \.npy file of numbers")
    one_line(call(*given, "s.npy", "--manifest", "s.npy"), 1, r"no manifest of an exported split")
    one_line(call("score", "--name", "7 nets", "--scores", "s.npy"), 2, r"--name '7 nets': expected a letter")
    done = call(*given, "s.npy", *rows, *classes)
    assert done.returncode == 0, done.stderr


def test_validation_needs_every_fold(call, settings, tmp_path):
    exported(settings, tmp_path / "split")
    files = [random_scores(tmp_path / "split", f"fold-{n}") for n in (1, 2)]
    given = ("score", "--name", "net", "--manifest", "split", "--scores", random_scores(tmp_path / "split"))
    done = call(*given, "--validation", files[0], "--validation", files[1])
    one_line(
        done, 2, r"--validation: 2 files; there are 3 validation folds: fold-1, fold-2, fold-3; give a file for each"
    )
    found = our_scores(settings, "zsl", VALIDATION)
    write_shuffled(tmp_path / "two.csv", found[:2], folds=True)
    one_line(call(*given, "--validation", "two.csv"), 2, r"column 'fold' has no rows of fold-3")
    write_shuffled(tmp_path / "four.csv", [*found, found[0]], folds=True)
    one_line(call(*given, "--validation", "four.csv"), 2, r"column 'fold' has fold fold-4")
    done = call(
        "score", "--name", "net", "--manifest", "split", "--scores", files[0], "--split", "validation", "--repeat", 1
    )
    one_line(done, 2, r"--split validation takes the files of the folds as --scores")


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("feature-selection", "task feature-selection takes no scores that were made elsewhere"),
        ("exemplar-retrieval", "task exemplar-retrieval takes no scores that were made elsewhere"),
        ("coding(splits=2)", "scores several splits at once; give scores of one split at a time"),
    ],
)
def test_tasks_that_want_more_than_scores_refuse(call, tmp_path, task, message):
    dataset = {"feature-selection": DATA, "exemplar-retrieval": "digit-retrieval"}.get(task, "digits")
    np.save(tmp_path / "s.npy", numbers(60, 4))
    one_line(call("export-split", "-d", dataset, "-t", task, "--to", "split"), 2, message)
    assert not (tmp_path / "split").exists()
    one_line(call("score", "--name", "net", "-d", dataset, "-t", task, "--scores", "s.npy"), 2, message)


def test_features_of_a_data_set_in_files_are_those_that_are_exported(settings, tmp_path):
    data = open_dataset(parse_dataset(DATA), settings)
    exported(settings, tmp_path / "split", features=True)
    stored = in_files(data, tmp_path / "cache")
    np.testing.assert_array_equal(np.load(tmp_path / "split" / "features.npy"), np.asarray(stored.X))
