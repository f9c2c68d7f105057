"""The functions do what the commands do, on one engine: equal requests give equal numbers, and know each other."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
import typer
from support import evaluations_of, trials_of

import zslplat
from zslplat.cli.app import app
from zslplat.errors import DataError, StoreError, UnknownNameError, UsageError
from zslplat.front.progress import NotebookReporter
from zslplat.front.requests import range_text, spec_of
from zslplat.registry import component
from zslplat.summary import Summary

HERE = {"workers": 1, "quiet": True}
TUNE = ("tune", "-m", "eszsl", "-d", "marked", "--workers", 1, "--json")


def commands():
    return typer.main.get_command(app).commands


@pytest.mark.parametrize(
    ("function", "command"), [("tune", "tune"), ("evaluate", "run"), ("sweep", "sweep"), ("bench", "bench")]
)
def test_arguments_and_defaults_are_those_of_the_command(function, command):
    arguments = {n: p.default for n, p in inspect.signature(getattr(zslplat, function)).parameters.items()}
    arguments = {n: default for n, default in arguments.items() if n not in ("batch_size", "pruner", "trial_artifacts")}
    options = {p.name: p.default for p in commands()[command].params if not p.name.endswith("_by_position")}
    left_out = {"json", "debug", "help_all", "probe", "write_config"}
    left_out |= {"dry_run"} if command == "bench" else set()
    assert set(arguments) == set(options) - left_out
    for name, default in arguments.items():
        if default is not inspect.Parameter.empty:
            assert default == options[name] or (default is None and not options[name]), name


def test_an_argument_that_is_no_option_is_refused_with_near_matches():
    with pytest.raises(UnknownNameError, match="argument of tune 'trails'; did you mean trials"):
        zslplat.tune("eszsl", trails=3)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("n_trials", "trials"),
        ("data", "dataset"),
        ("n_jobs", "workers"),
        ("random_state", "seed"),
        ("param_grid", "space"),
        ("params", "set"),
        ("study_name", "study"),
        ("storage", "here it is called storage_url or store"),
        ("cv", r"an option of the task, as zsl\(folds=5\)"),
    ],
)
def test_arguments_of_other_libraries_are_answered_with_their_name_here(theirs, ours):
    with pytest.raises(UnknownNameError, match=f"argument of tune '{theirs}'; .*{ours}"):
        zslplat.tune("eszsl", **{theirs: 1})


@pytest.mark.long
def test_a_study_begun_by_either_is_continued_by_the_other_to_the_last_bit(call, new_store, tmp_path):
    one, other = new_store(tmp_path / "one"), new_store(tmp_path / "other")
    begun = json.loads(call(*TUNE, "--trials", 2, "--store", one).stdout)
    zslplat.tune("eszsl", "marked", trials=2, store=other, **HERE)
    study = zslplat.tune("eszsl", "marked", trials=5, store=one, **HERE)
    ended = json.loads(call(*TUNE, "--trials", 5, "--store", other).stdout)
    assert study.name == begun["name"] == ended["name"]
    assert trials_of(one) == trials_of(other)
    assert len(trials_of(one)) == 5
    assert evaluations_of(one) == evaluations_of(other)
    assert json.loads(json.dumps(study.result.test)) == ended["test"]
    assert study.best_params == ended["parameters"]
    assert study.test_value == ended["test"][0][ended["primary"]]
    frame = study.to_frame()
    assert frame.loc[ended["winner"], "value"] == frame["value"].max() == ended["validation"][ended["primary"]]
    assert {"state", "seconds", "alpha", "gamma"} <= set(frame.columns)
    # What was chosen is evaluated again from its file, and is known.
    again = zslplat.evaluate(config=study.config, test=True, store=one, **HERE)
    assert again.value == study.test_value
    assert again.result.recalled == 1
    pipeline = study.make()
    assert {name: pipeline.get_params()[name] for name in study.best_params} == study.best_params


@pytest.fixture(scope="module")
def tuned(store_template, plugin_path, tmp_path_factory):
    """Two studies in a store, made by functions."""
    with pytest.MonkeyPatch.context() as patch:
        store = tmp_path_factory.mktemp("tuned") / "mlruns"
        shutil.copytree(store_template, store)
        patch.syspath_prepend(str(plugin_path))
        zslplat.registry.registry.cache_clear()
        found = [zslplat.tune(name, "marked", trials=2, store=store, **HERE) for name in ("eszsl", "ridge-prototypes")]
    return store, found


@pytest.fixture
def studies(tuned, call, tmp_path):
    """A copy of that store, where the plugins of the tests are known."""
    store, found = tuned
    shutil.copytree(store, tmp_path / "mlruns")
    return tmp_path / "mlruns", found


@pytest.mark.long
def test_a_study_answers_as_those_of_optuna_do(studies):
    _, (study, _) = studies
    assert study.best_value == study.validation[study.result.primary] == study.best_trial.value
    assert study.test_value == study.test[study.result.primary]
    assert study.best_trial.params == study.best_params
    assert [trial.number for trial in study.trials] == [0, 1]
    for theirs, ours in (
        ("trials_dataframe", r"write to_frame\(\)"),
        ("value", "write best_value or test_value"),
        ("best_estimator_", r"write make\(\)"),
        ("optimize", "zslplat.tune"),
        ("best_vlue", "did you mean best_value"),
    ):
        with pytest.raises(AttributeError, match=ours):
            getattr(study, theirs)
    assert len(zslplat.load_model(study).classes) > 1


@pytest.mark.long
def test_an_evaluation_is_that_of_the_command(studies, call):
    store, _ = studies
    method = "eszsl(alpha=.1, gamma=2)"
    found = zslplat.evaluate(method, "marked", store=store, **HERE)
    told = json.loads(call("run", "-m", method, "-d", "marked", "--workers", 1, "--json", "--store", store).stdout)
    assert (found.split, told["recalled"]) == ("validation", 1)
    assert told["metrics"] == json.loads(json.dumps(found.result.metrics))
    by_object = zslplat.evaluate(component("methods", "eszsl")(alpha=0.1, gamma=2), "marked", store=store, **HERE)
    assert by_object.result.recalled == 1
    assert zslplat.evaluate("eszsl", "marked", set={"alpha": 0.1, "gamma": 2}, store=store, **HERE).result.recalled == 1
    frame = found.to_frame()
    assert list(frame["fold"]) == [fold["name"] for fold in told["folds"][0]]
    assert found.metrics["per_class_accuracy"] == found.value == frame["per_class_accuracy"].mean()
    # Nobody has asked for the test.
    assert told["test_evaluations"] == found.result.test_evaluations == 2


@pytest.mark.long
def test_a_sweep_is_that_of_the_command(studies, call):
    store, _ = studies
    curve = zslplat.sweep(
        "eszsl(gamma=1)", "alpha", (0.1, 10, "log"), "marked", points=3, test=True, store=store, **HERE
    )
    options = (
        "--range",
        "0.1..10:log",
        "--points",
        3,
        "--test",
        "-d",
        "marked",
        "--workers",
        1,
        "--json",
        "--store",
        store,
    )
    told = json.loads(call("sweep", "-m", "eszsl(gamma=1)", "-p", "alpha", *options).stdout)
    assert told["run_id"] == curve.result.run_id
    frame = curve.to_frame()
    assert (frame["alpha"].tolist(), frame["test"].tolist()) == (told["values"], told["test"]["eszsl"])
    assert curve.best["alpha"] == frame.loc[frame["validation"].idxmax(), "alpha"]
    assert curve.plot().axes


@pytest.mark.long
def test_an_option_of_the_task_is_swept_for_several_methods(studies):
    store, _ = studies
    methods = ["eszsl(alpha=1, gamma=1)", "ridge-prototypes(alpha=1)"]
    curve = zslplat.sweep(methods, "top_k", [2, 3], "marked", store=store, **HERE)
    assert curve.to_frame()["method"].unique().tolist() == [str(spec_of(method)) for method in methods]
    assert set(curve.best) == {str(spec_of(method)) for method in methods}
    assert "sweep of top_k" in repr(curve)
    with pytest.raises(UsageError, match="give one --method"):
        zslplat.sweep(methods, "alpha", store=store, **HERE)


def test_a_comparison_is_that_of_the_command(studies, call, tmp_path):
    store, found = studies
    table = zslplat.compare(dataset="marked", store=store)
    (told,) = json.loads(call("compare", "-d", "marked", "--json", "--store", store).stdout)
    assert json.loads(json.dumps(table.tables[0].rows)) == told["rows"]
    assert table.to_frame()["test"].tolist() == [row["test"] for row in told["rows"]]
    assert table.best["validation"] == max(row["validation"] for row in told["rows"])
    table.export(tmp_path / "table.md")
    assert "eszsl" in (tmp_path / "table.md").read_text()
    names = [study.name for study in found]
    assert set(zslplat.compare(*names, dataset="marked", store=store).to_frame()["study"]) == set(names)
    only = zslplat.compare(method="eszsl", dataset=["marked"], metric=["per_class_accuracy"], store=store)
    assert len(only.to_frame()) == 1


def test_results_of_functions_say_themselves_what_is_compared(tuned):
    _, (first, second) = tuned
    table = zslplat.compare(first, second, against=second)
    frame = table.to_frame()
    assert set(frame["study"]) == {first.name, second.name}
    assert set(frame["dataset"]) == {"marked"}


def test_a_suite_is_carried_out_as_by_the_command(studies, call, tmp_path):
    store, _ = studies
    content = {
        "tasks": ["zsl"],
        "trials": 1,
        "data": [{"name": "toy", "dataset": "marked"}],
        "row": [{"name": "linear", "method": "eszsl"}, {"name": "broken", "method": "crashing"}],
    }
    lines = ['tasks = ["zsl"]', "trials = 1", '[[data]]\nname = "toy"\ndataset = "marked"']
    lines += [f'[[row]]\nname = "{row["name"]}"\nmethod = "{row["method"]}"' for row in content["row"][:1]]
    (tmp_path / "two.toml").write_text("\n".join(lines))
    grid = zslplat.bench({"name": "two", **content, "row": content["row"][:1]}, store=store, **HERE)
    assert grid.to_frame()[["data", "row", "status"]].to_numpy().tolist() == [["toy", "linear", "done"]]
    told = json.loads(call("bench", tmp_path / "two.toml", "--json", "--store", store, "--workers", 1).stdout)
    assert [cell["new"] for cell in told["cells"]] == [False]
    assert told["scores"][0]["test"] == grid.scores()["test"][0] == grid.best["test"][0]
    assert grid.failed == []
    assert "1 done" in repr(grid)
    assert grid.plot().axes


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda s: zslplat.tune("eszl", store=s), UnknownNameError, "did you mean eszsl"),
        (lambda s: zslplat.tune("eszsl", "nowhere", store=s), DataError, "no data root"),
        (lambda s: zslplat.tune("eszsl", sampler="tpa", store=s), UnknownNameError, "tpe"),
        (lambda s: zslplat.tune("eszsl", set={"alpha": 1}, space={"alpha": (1, 2)}, store=s), UsageError, "both fixed"),
        (lambda s: zslplat.tune("eszsl(alpha=1)", set={"alpha": 1}, store=s), UsageError, "given twice"),
        (lambda s: zslplat.tune("eszsl", space={"alpha": 3}, store=s), UsageError, "expected .low, high."),
        (lambda s: zslplat.tune("eszsl", trials=0, store=s), UsageError, "at least 1"),
        (lambda s: zslplat.tune(object, store=s), UsageError, "expected a spec"),
        (lambda s: zslplat.tune("eszsl", 3, store=s), UsageError, "expected a name or spec"),
        (lambda s: zslplat.evaluate(store=s), UsageError, "either --method or --config"),
        (lambda s: zslplat.sweep("eszsl", "alfa", store=s), UnknownNameError, "did you mean alpha"),
        (lambda s: zslplat.compare(store=s), StoreError, "no test evaluation|no runs"),
        (lambda s: zslplat.bench("no-such", store=s), UnknownNameError, "suite"),
        (lambda s: zslplat.load_dataset("digit-pair"), UnknownNameError, "did you mean digit-pairs"),
    ],
)
def test_what_goes_wrong_is_an_exception_and_no_exit(call, new_store, ask, error, message):
    with pytest.raises(error, match=message):
        ask(new_store())


def test_a_class_that_no_plugin_registers_is_refused():
    class Mine(component("methods", "eszsl")):
        pass

    with pytest.raises(UsageError, match="Mine is no registered method"):
        spec_of(Mine())
    assert str(spec_of(component("methods", "eszsl"))) == "eszsl"
    assert str(spec_of(zslplat.make("keszsl(kernel=gaussian(sigma=2), alpha=3)"))) == str(
        spec_of("keszsl(alpha=3, kernel='gaussian(sigma=2)')")
    )


def test_ranges_may_be_pairs_lists_or_texts():
    assert range_text((1e-3, 10)) == "0.001..10"
    assert range_text((1, 20, "log", 5)) == "1..20:log:5"
    assert range_text(["a", "b c", 3, True]) == 'a|"b c"|3|true'
    assert range_text("1..2") == "1..2"
    assert range_text(np.array([0.5, 1.5]).tolist()) == "0.5|1.5"


@pytest.mark.long
def test_two_stores_two_threads_and_nothing_is_left_behind(call, new_store, tmp_path, tuned):
    places = [new_store(tmp_path / name) for name in ("a", "b")]
    found, before = {}, (dict(os.environ), os.getcwd())

    def work(place, seed):
        found[place] = zslplat.tune("eszsl", "marked", trials=2, seed=seed, store=place, **HERE)

    threads = [threading.Thread(target=work, args=(place, seed)) for seed, place in enumerate(places)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (dict(os.environ), os.getcwd()) == before
    alone = tuned[1][0]
    assert found[places[0]].to_frame()["value"].tolist() == alone.to_frame()["value"].tolist()
    assert found[places[0]].name != found[places[1]].name
    assert not list(tmp_path.glob("mlruns/studies/*"))


@pytest.mark.long
def test_a_script_needs_no_guard(tmp_path, program_environment, new_store):
    script = tmp_path / "script.py"
    script.write_text(
        "import zslplat\n"
        f"print(zslplat.tune('eszsl', 'marked', trials=1, workers=1, quiet=True, store={str(new_store())!r}).name)\n"
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=program_environment, capture_output=True, text=True, timeout=800
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("eszsl@marked-zsl")


def test_shown_texts_are_escaped_and_long_tables_are_cut():
    summary = Summary("<b>\x1b[2J", [{"a & b": list(range(40)), "c": [0.5] * 40}], ["<script>", ""])
    html = summary.html()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "a &amp; b" in html
    assert "\x1b" not in html + summary.text()
    assert "10 more lines in to_frame()" in html
    assert "0.5000" in html
    assert html.count("<div") == html.count("</div>")
    warned = Summary("title", [], [f"warning: number {i}" for i in range(5)]).html()
    assert warned.index("number 2") < warned.index("2 more") < warned.index("number 3")


def test_results_show_themselves_in_notebooks(tuned):
    _, (study, _) = tuned
    html = study._repr_html_()
    assert study.name in html
    assert "per_class_accuracy" in html
    assert "<img" in study.plot()._repr_html_()
    data = zslplat.make_dataset(np.eye(6), [0, 0, 1, 1, 2, 2], np.eye(3), name="six & more", unseen=[2])
    assert "data set six &amp; more" in data._repr_html_()
    assert study.name in repr(study)


def test_a_notebook_shows_a_bar_that_is_gone_at_the_end(capsys):
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    def show(html):
        shown.append(html)
        return Handle()

    reporter = NotebookReporter(show)
    reporter.stage("tuning <x>")
    reporter.trial(2, 2, {"number": 1, "parameters": {}, "value": 0.5}, 0.75)
    reporter.note("nothing to see")
    reporter.close()
    assert "tuning &lt;x&gt;" in shown[1]
    assert 'value="2" max="2"' in shown[2]
    assert "best 0.7500" in shown[2]
    assert shown[-1] == ""
    reporter.trial(1, 2, {"number": 0, "parameters": {}, "reason": "no memory"}, None)
    reporter.warn("look")
    assert [line in capsys.readouterr().err for line in ("no memory",)] == [True]


@pytest.mark.long
def test_the_preprocessing_of_a_pipeline_is_that_which_is_evaluated(studies):
    store, _ = studies
    pipeline = zslplat.make("eszsl(alpha=.1, gamma=2)", features="center", signatures="none")
    found = zslplat.evaluate(pipeline, "marked", store=store, **HERE)
    steps = {"features": "center", "signatures": "none"}
    expected = zslplat.evaluate("eszsl(alpha=.1, gamma=2)", "marked", **steps, store=store, **HERE)
    assert (found.experiment, found.value) == (expected.experiment, expected.value)
    assert expected.result.recalled == 1
    other = zslplat.evaluate(pipeline, "marked", features="l2", store=store, **HERE)
    assert (other.experiment.features, other.experiment.signatures) == ("l2", "none")


@pytest.mark.long
def test_a_study_file_is_that_of_the_command(studies, call, tmp_path):
    store, _ = studies
    path = tmp_path / "study.toml"
    call(*TUNE, "--trials", 3, "--space", "alpha=0.1..1:log", "--set", "gamma=1", "--write-config", path)
    study = zslplat.tune(config=path, store=store, **HERE)
    told = json.loads(call("tune", "--config", path, "--json", "--store", store).stdout)
    assert (study.name, study.best_params, len(study.to_frame())) == (
        told["name"],
        {"gamma": 1, **told["parameters"]},
        3,
    )
    longer = zslplat.tune(config=path, trials=4, store=store, **HERE)
    assert (longer.name, len(longer.to_frame())) == (study.name, 4)
    path.write_text('method = "eszsl"\ntrails = 3\n')
    with pytest.raises(UnknownNameError, match="did you mean trials"):
        zslplat.tune(config=path)
    path.write_text('method = "eszsl"\nquiet = 1\n')
    with pytest.raises(UsageError, match="quiet=1; expected true or false"):
        zslplat.tune(config=path)
    with pytest.raises(UsageError, match="cannot be read"):
        zslplat.tune(config=tmp_path / "none.toml")
    with pytest.raises(UsageError, match="give a method"):
        zslplat.tune()


def test_a_study_is_rehearsed_and_nothing_is_recorded(studies):
    store, (first, _) = studies
    before = len(trials_of(store))
    found = zslplat.tune("eszsl", "marked", trials=6, dry_run=True, store=store, **HERE)
    assert (found.result.study, found.result.trials, found.result.recorded) == (first.name, 6, 2)
    assert found.seconds > 0
    assert "6, 2 recorded" in repr(found)
    assert "not begun" in found._repr_html_()
    assert len(trials_of(store)) == before


@pytest.mark.long
def test_a_suite_may_keep_no_models(studies):
    store, _ = studies
    content = {"name": "one", "tasks": ["zsl", "gzsl"], "trials": 1}
    content |= {"data": [{"name": "toy", "dataset": "marked"}], "row": [{"name": "line", "method": "eszsl(gamma=3)"}]}
    models = sorted(store.glob("evaluations/*/model"))
    grid = zslplat.bench(content, no_model=True, store=store, **HERE)
    assert grid.failed == []
    assert sorted(store.glob("evaluations/*/model")) == models
