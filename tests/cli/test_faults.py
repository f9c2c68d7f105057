"""Whatever goes wrong: one clear line, the right exit code, nothing lost, and the rest goes on."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from support import evaluations_of, install_distribution, one_line, replaced, runs_of, trials_of

TUNE = ("tune", "--method", "plain", "--dataset", "marked", "--workers", 1, "--repeats", 1)
SMALL = (*TUNE, "--trials", 2)


# What is wrong with a method.


@pytest.mark.long
def test_a_study_in_which_everything_fails_says_why(call):
    done = call("tune", "--method", "trouble(trouble=raises)", "--dataset", "marked", "--trials", 1, "--workers", 1)
    one_line(done, 1, "all 1 trials failed", "this goes wrong")


def test_the_timeout_holds_even_where_no_trial_ends(call, tmp_path):
    done = call("tune", "-m", "trouble(trouble=endless)", "-d", "marked", "--timeout", 1, "--workers", 1)
    one_line(done, 1, "no trial is complete within --timeout 1 s")
    assert trials_of(tmp_path / "mlruns") == []


# What is wrong with the request.


@pytest.mark.parametrize(
    ("arguments", "patterns"),
    [
        (("--method", "eszl"), ("unknown method 'eszl'", "did you mean eszsl")),
        (("--task", "gszl"), ("unknown task 'gszl'", "did you mean gzsl")),
        (("--dataset", "digit-pair"), ("unknown data set", "did you mean digit-pairs")),
        (("--dataset", "marked(wrong=1)"), ("unknown option 'wrong'",)),
        (("--dataset", "marked(nan=7)"), ("nan=7 is out of range",)),
        (("--task", "zsl(nothing=1)"), ("unknown option of task zsl 'nothing'",)),
        (("--set", "ridg=1"), ("unknown parameter of plain 'ridg'", "did you mean ridge")),
        (("--set", "ridge=-1"), ("ridge=-1 is out of range", "> 0")),
        (("--set", "ridge"), ("'ridge' is not an assignment",)),
        (("--set", "ridge=(1"), ("cannot read",)),
        (("--method", "plain(ridge=1"), ("cannot read", "expected")),
        (("--space", "ridge"), ("write name=low..high",)),
        (("--space", "ridge=3..1"), ("low end must be below",)),
        (("--space", "ridge=-1..1"), ("leaves the legal values",)),
        (("--space", "ridge=0..1:log"), ("must start above 0",)),
        (("--space", "ridge=1..2:lin"), ("unknown flag 'lin'",)),
        (("--space", "seed=0.5..3"), ("ends of a range of integers",)),
        (("--space", "mix=a|a"), ("lists a value twice",)),
        (("--space", "ridg=1..2"), ("unknown parameter", "did you mean ridge")),
        (("--set", "mix=1", "--space", "mix=0..1"), ("both fixed and searched",)),
        (("--features", "centre"), ("unknown preprocessing step 'centre'",)),
        (("--sampler", "tpee"), ("unknown sampler", "did you mean tpe")),
        (("--trials", "0"), ("trials=0: expected a whole number, at least 1",)),
        (("--trials", "many"), ("--trials",)),
        (("--nonsense",), ("unknown option of zslplat tune '--nonsense'",)),
        (("--study", "it's"), ("--study", "use letters")),
        (("--study", "x" * 201), ("at most 200",)),
        (("--storage-url", "nonsense"), ("--storage-url cannot be read",)),
    ],
)
def test_a_wrong_request_is_one_line_and_code_2(call, arguments, patterns):
    one_line(call(*replaced(SMALL, *arguments)), 2, *patterns)


@pytest.mark.parametrize(
    ("arguments", "patterns"),
    [
        (("tun",), ("unknown command 'tun'; did you mean tune",)),
        (("run",), ("either --method or --config",)),
        (("run", "--config", "missing.toml"), ("missing.toml cannot be read",)),
        (("show", "nothing"), ("unknown component 'nothing'",)),
        (("list", "methodz"), ("unknown kind 'methodz'", "methods")),
        (("sweep", "-m", "plain", "-d", "marked", "-p", "ridg"), ("unknown parameter", "ridge")),
        (("sweep", "-m", "plain", "-d", "marked", "-p", "pause"), ("no search range of its own",)),
    ],
)
def test_other_commands_refuse_wrong_requests_too(call, arguments, patterns):
    one_line(call(*arguments), 2, *patterns)


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        ("store = ", "zslplat.toml cannot be read"),
        ('stoer = "x"', "unknown key 'stoer'"),
        ("store = 5", "store=5; expected text"),
        ("cache_gigabytes = -1", "0 or more"),
        (b"\xff\xfe\x00", "zslplat.toml cannot be read"),
    ],
)
def test_a_malformed_config_file_is_named(call, tmp_path, content, pattern):
    (tmp_path / "zslplat.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    one_line(call(*SMALL), 2, pattern)


# What is wrong with the data.


@pytest.mark.parametrize(
    ("dataset", "patterns"),
    [
        ("marked(nan=1)", ("row 3 holds NaN",)),
        ("marked(no_signature=1)", ("class 13", "no signature")),
        ("marked(overlap=1)", ("both in train and in test_unseen", "class 10")),
        ("marked(one_class_fold=1)", ("fold 'fold-0'", "at least two")),
        ("marked(broken=1)", ("marked", "cannot be loaded: KeyError")),
    ],
)
def test_data_that_cannot_be_used_are_one_line(call, dataset, patterns):
    one_line(call(*replaced(SMALL, "--dataset", dataset)), 1, *patterns)


def test_a_missing_data_root_is_named(call, tmp_path):
    one_line(
        call(*replaced(SMALL, "--dataset", "AWA1", "--data-root", tmp_path / "nowhere")), 2, "nowhere is no folder"
    )


def test_a_missing_field_of_a_mat_file_is_named(call, tmp_path):
    folder = tmp_path / "data" / "TINY"
    folder.mkdir(parents=True)
    savemat(folder / "res101.mat", {"features": np.ones((4, 6)), "labels": np.ones((6, 1))})
    savemat(folder / "att_splits.mat", {"trainval_loc": np.ones((3, 1))})
    one_line(call(*replaced(SMALL, "--dataset", "TINY", "--data-root", folder.parent)), 1, r"att_splits\.mat", "field")


# What is wrong with the store.


def test_a_store_that_cannot_be_a_folder_is_one_line(call, tmp_path):
    (tmp_path / "file").write_text("")
    one_line(call(*SMALL, "--store", tmp_path / "file"), 2, "is a file; give a folder with --store")
    one_line(call(*SMALL, "--store", tmp_path / "file" / "below"), 1, "cannot be written")


@pytest.mark.parametrize("name", ["optuna.db", "mlflow.db"])
@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\x00" + bytes(5000)])
def test_a_corrupt_database_is_named(call, new_store, name, content):
    (new_store() / name).write_bytes(content)
    one_line(call(*SMALL), 1, name, "cannot be used", "kept")


def test_a_store_that_cannot_be_written_inside_is_one_line(call, new_store):
    store = new_store()
    (store / "studies").write_text("in the way")
    one_line(call(*SMALL), 1, "cannot be written")


def test_a_study_folder_that_cannot_be_made_is_one_line(call, new_store):
    store = new_store()
    (store / "studies").mkdir()
    (store / "studies" / "mine").write_text("in the way")
    one_line(call(*SMALL, "--study", "mine"), 1, "mine", "--store")


@pytest.mark.long
def test_a_name_with_another_configuration_is_refused(call, tmp_path):
    assert call(*SMALL, "--study", "mine").returncode == 0
    done = call(*SMALL, "--study", "mine", "--set", "mix=0.5", "--seed", 3)
    one_line(done, 1, "another configuration", "seed: recorded 0, asked 3", "another --study")
    assert len(trials_of(tmp_path / "mlruns")) == 2


def test_a_study_of_another_program_is_left_alone(call, new_store):
    import optuna

    url = f"sqlite:///{new_store() / 'optuna.db'}"
    optuna.create_study(storage=url, study_name="mine").optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)
    one_line(call(*SMALL, "--study", "mine"), 1, "another program", "another --study")
    study = optuna.load_study(storage=url, study_name="mine")
    assert study.user_attrs == {}


def full_disk(size):
    """Return what makes a process, and all that it starts, unable to write beyond ``size`` bytes of any file."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.mark.long
@pytest.mark.parametrize("name", ["optuna.db", "mlflow.db"])
def test_a_store_that_fills_up_loses_nothing(call, program, new_store, tmp_path, name):
    # MLflow's file grows faster than the records; where they are to come first, MLflow is elsewhere.
    where = ("--tracking-uri", "http://127.0.0.1:9") if name == "optuna.db" else ()
    command = (*TUNE, "--trials", 16, "--study", "mine", *where)
    full = program(*command, preexec_fn=full_disk((new_store() / name).stat().st_size + 100_000))
    one_line(full, 1, re.escape(name), "cannot be used", "kept")
    stored = trials_of(tmp_path / "mlruns")
    assert 0 < len(stored) < 16
    assert call(*command).returncode == 0
    (tmp_path / "other").mkdir()
    assert call(*command, cwd=tmp_path / "other").returncode == 0
    assert trials_of(tmp_path / "mlruns")[: len(stored)] == stored
    for read in (trials_of, evaluations_of, runs_of):
        assert read(tmp_path / "mlruns") == read(tmp_path / "other" / "mlruns")


@pytest.mark.long
def test_artifacts_that_find_no_room_are_no_failed_trial(call, tmp_path, new_store):
    folder = new_store() / "studies" / "mine"
    folder.mkdir(parents=True)
    (folder / "trial-00001").write_text("in the way")
    command = (*SMALL, "--study", "mine")
    one_line(call(*command), 1, "cannot write artifacts", "kept")
    assert [t[1] for t in trials_of(tmp_path / "mlruns")] == ["COMPLETE"]
    (folder / "trial-00001").unlink()
    assert call(*command).returncode == 0
    assert [t[1] for t in trials_of(tmp_path / "mlruns")] == ["COMPLETE", "COMPLETE"]


@pytest.mark.long
def test_a_log_that_cannot_be_written_stops_nothing(call, tmp_path, new_store):
    (new_store() / "studies" / "mine" / "workers.log").mkdir(parents=True)
    assert call(*SMALL, "--study", "mine").returncode == 0
    assert [t[1] for t in trials_of(tmp_path / "mlruns")] == ["COMPLETE", "COMPLETE"]


@pytest.mark.long
def test_output_that_cannot_be_written_is_one_line(program):
    done = program("list", preexec_fn=lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1))
    one_line(done, 1, "No space left")


def test_names_that_look_alike_have_folders_of_their_own():
    from zslplat.records.folders import folder_name

    names = ["a b", "a_b", "a/b", "..", ".", "__", "_.", "x" * 150, "x" * 151, "é", "CON", "a.b"]
    folders = [folder_name(name) for name in names]
    assert len(set(folders)) == len(names)
    assert all(Path(folder).name == folder and not folder.startswith(".") and len(folder) < 120 for folder in folders)


@pytest.mark.long
@pytest.mark.parametrize("name", ["with space", "100%", "a#b", "ü", "it's"])
def test_a_store_may_have_any_name(call, new_store, tmp_path, name):
    store = new_store().rename(tmp_path / name)
    done = call(*SMALL, "--store", store, "--json")
    assert done.returncode == 0, done.stderr
    assert len(runs_of(store)) == 4
    assert len(list((store / "artifacts").rglob("W.npy"))) == 7


def test_a_store_that_no_address_can_name_is_refused(call, tmp_path):
    one_line(call(*SMALL, "--store", tmp_path / "what?"), 2, "may not contain '\\?'")


@pytest.mark.long
def test_two_studies_that_make_one_store_together(leader, tmp_path):
    store = tmp_path / "fresh"
    running = [leader(*SMALL, "--store", store, "--seed", seed) for seed in (1, 2)]
    for done in [each.wait(800) for each in running]:
        assert done.returncode == 0, done.stderr
    connection = sqlite3.connect(store / "mlflow.db")
    assert connection.execute("select count(*) from runs where status = 'FINISHED'").fetchone() == (8,)


@pytest.mark.long
def test_a_second_leader_of_a_study_is_refused(leader, call, tmp_path):
    command = (*SMALL, "--study", "mine")
    first = leader(*command, TROUBLE_LINGERS="batch")
    first.wait_for("tuning plain")
    one_line(call(*command), 1, "study 'mine' is in use by another process")
    first.interrupt()
    assert call(*command).returncode == 0
    assert len(trials_of(tmp_path / "mlruns")) == 2


@pytest.mark.long
def test_a_tracking_server_that_is_away_is_caught_up_with(call, tmp_path, store_template):
    away = ("--tracking-uri", "http://127.0.0.1:9", "--json")
    done = call(*SMALL, *away)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("does not answer") == 1
    assert len(done.stderr.splitlines()) == 1
    assert json.loads(done.stdout)["test"]
    single = call("run", "--method", "plain", "--dataset", "marked", "--workers", 1, *away)
    assert single.returncode == 0, single.stderr
    assert single.stderr.count("does not answer") == 1
    assert runs_of(tmp_path / "mlruns") == {}
    (tmp_path / "server").mkdir()
    other = Path(shutil.copy(store_template / "mlflow.db", tmp_path / "server"))
    assert call(*SMALL, "--tracking-uri", f"sqlite:///{other}").returncode == 0
    runs = runs_of(tmp_path / "server")
    assert set(runs) == {"study", "trial-0", "trial-1", "trial-0/repeat-0", "repeat-0"} or "trial-1/repeat-0" in runs
    assert {status for status, _ in runs.values()} == {"FINISHED"}
    matrices = sorted((tmp_path / "mlruns" / "artifacts").glob("*/artifacts/**/W.npy"))
    assert len(matrices) == 3 + 3 + 1 + 3
    assert not list((tmp_path / "mlruns" / "studies").glob("*/*.pending.json"))


# What is wrong with other plugins.


@pytest.fixture
def with_plugin(tmp_path, monkeypatch):
    """Install further distributions on the path."""

    def install(name, module, source):
        folder = install_distribution(tmp_path / name, name, module, source)
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")

    return install


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit('I give\\nup')\n", "SystemExit: I give up"),
        ("def broken(:\n", "SyntaxError"),
        ("from zslplat.api import hookimpl\n@hookimpl\ndef zslplat_methods(x):\n    return {}\n", "PluginValidation"),
        ("from zslplat.api import hookimpl\n@hookimpl\ndef zslplat_methods():\n    return 1 / 0\n", "ZeroDivision"),
    ],
)
def test_a_broken_plugin_is_reported_and_stops_nothing(call, with_plugin, source, cause):
    with_plugin("zslplat-broken", "zslplat_broken", source)
    done = call("plugins", "list", "--json")
    assert done.returncode == 1
    (broken,) = [p for p in json.loads(done.stdout) if p["state"] != "loaded"]
    assert broken["plugin"] == "zslplat_broken"
    assert (broken["distribution"], broken["version"]) == ("zslplat-broken", "1.2.3")
    assert cause in broken["state"]
    done = call("list")
    assert re.search(r"warning: plugin 'zslplat_broken' of zslplat-broken 1\.2\.3 is broken: .", done.stderr)
    assert call("show", "plain").returncode == 0
    done = call(*replaced(SMALL, "--method", "theirs"))
    one_line(done, 2, "unknown method 'theirs'", "zslplat-broken 1.2.3 is broken", re.escape(cause))


def test_a_component_that_does_not_load_names_its_distribution(call, with_plugin):
    source = "from zslplat.api import hookimpl\n@hookimpl\ndef zslplat_methods():\n    return {'theirs': 'nowhere:X'}\n"
    with_plugin("zslplat-late", "zslplat_late", source)
    done = call(*replaced(SMALL, "--method", "theirs"))
    one_line(done, 1, "method 'theirs' of zslplat-late 1.2.3 does not load", "No module named 'nowhere'")


def test_two_plugins_that_claim_one_name_are_both_named(call, with_plugin):
    source = "from zslplat.api import hookimpl\n@hookimpl\ndef zslplat_methods():\n    return {'eszsl': 'x:Y'}\n"
    with_plugin("zslplat-second", "zslplat_second", source)
    done = call(*replaced(SMALL, "--method", "eszsl"))
    one_line(done, 1, r"method 'eszsl' is claimed by zslplat \S+ and zslplat-second 1\.2\.3")
    assert call("show", "sae").returncode == 0


@pytest.mark.long
def test_a_listener_that_fails_is_a_warning(call, with_plugin, tmp_path):
    source = (
        "from zslplat.api import Listener, hookimpl\n\n"
        "class Log(Listener):\n"
        f"    def write(self, text):\n        with open({str(tmp_path / 'told')!r}, 'a') as f: print(text, file=f)\n"
        "    def on_study_begin(self, study, trials): self.write(f'begins with {len(trials)}')\n"
        "    def on_trial_complete(self, study, record): self.write(f'trial {record[\"number\"]}')\n"
        "    def on_study_end(self, study, trials, tests):\n"
        "        self.write(f'ends with {len(trials)} and {len(tests)}')\n"
        "        raise ValueError('not\\nthis one')\n\n"
        "@hookimpl\ndef zslplat_listeners():\n    return {'log': Log}\n"
    )
    with_plugin("zslplat-hook", "zslplat_hook", source)
    done = call(*SMALL, "--json")
    assert done.returncode == 0
    assert "warning: listener zslplat-hook:log failed: ValueError: not this one" in done.stderr
    told = (tmp_path / "told").read_text().splitlines()
    assert told == ["begins with 0", "trial 0", "trial 1", "ends with 2 and 1"]
    call(*SMALL, "--json")
    assert (tmp_path / "told").read_text().splitlines() == [*told, "begins with 2", "ends with 2 and 1"]
