"""A study knows the code of its trials: an edited method is refused or marked, a docstring changes nothing."""

import json
import os
import py_compile
import zipfile
from pathlib import Path

import pytest
from support import install_distribution, tags_of, trials_of

from zslplat.evaluation import code as code_module
from zslplat.evaluation.code import CodeReader, parse_module
from zslplat.tuning.code_changes import EARLIER, MIXED, code_mark

METHOD = '''
"""A method that its author is still working on."""
import numpy as np
from zslplat.api import Parameter, Real, ZeroShotMethod, hookimpl


class Drafted(ZeroShotMethod):
    """Says little."""

    parameters = {"a": Parameter("weight", Real(0, 1), Real(0, 1))}

    def __init__(self, a=0.5):
        self.a = a

    def fit(self, X, y, S, *, statistics=None):
        """Fit."""
        self.W_ = X.T @ S[y]
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        return self.a * (X @ self.W_ @ S.T)  # a comment


@hookimpl
def zslplat_methods():
    return {"drafted": Drafted}
'''


@pytest.mark.long
def test_an_edited_method_is_refused_or_marked_and_an_edited_docstring_is_not_seen(forked, plugin_path, tmp_path):
    folder = install_distribution(tmp_path / "plugin", "zslplat-drafted", "zslplat_drafted", METHOD)
    source = folder / "zslplat_drafted.py"

    # The data set is the test plugin's.
    path = os.pathsep.join([str(folder), str(plugin_path)])

    def tune(trials, *more):
        return forked(
            "tune", "-m", "drafted", "-d", "marked", "--workers", 1, "--json", "-n", trials, *more, PYTHONPATH=path
        )

    assert tune(2).returncode == 0
    source.write_text(METHOD.replace("Says little.", "Says a little more.").replace("a comment", "another comment"))
    done = tune(3)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["code"] == ""
    source.write_text(METHOD.replace("self.a * (X", "-self.a * (X"))
    before = trials_of(tmp_path / "mlruns")
    refused = tune(4)
    assert refused.returncode == 1
    assert len(refused.stderr.strip().splitlines()) == 1
    assert "3 of 3 trials" in refused.stderr
    assert "other code of its method" in refused.stderr
    assert "--accept-changed-code" in refused.stderr
    assert trials_of(tmp_path / "mlruns") == before
    # All numbers are of the code before, so those of a study that is continued are marked, and until it is back.
    for code, mark in ((source.read_text(), [EARLIER]), (METHOD, [])):
        source.write_text(code)
        assert tune(3, "--accept-changed-code").returncode == 0
        assert tags_of(tmp_path / "mlruns", "zslplat.code") == mark
    source.write_text(METHOD.replace("self.a * (X", "-self.a * (X"))
    accepted = tune(4, "--accept-changed-code")
    assert accepted.returncode == 0, accepted.stderr
    assert json.loads(accepted.stdout)["code"]
    assert trials_of(tmp_path / "mlruns")[:3] == before
    assert tags_of(tmp_path / "mlruns", "zslplat.code") == [json.loads(accepted.stdout)["code"]]
    compared = forked("compare", "-d", "marked", "--json", PYTHONPATH=path)
    assert json.loads(compared.stdout)[0]["rows"][0]["code"], compared.stderr


def test_comments_docstrings_layout_and_types_do_not_count():
    plain = parse_module("import numpy\n\ndef f(x):\n    return x + 1\n", "m")
    dressed = parse_module('"""Doc."""\n# comment\nimport numpy\nfrom typing import TYPE_CHECKING\n', "m")
    assert plain.digest != dressed.digest
    same = parse_module(
        '"""Doc."""\nimport numpy\n\n\ndef f(x):  # why\n    """Add."""\n    return (x +\n            1)\n', "m"
    )
    assert same.digest == plain.digest
    assert parse_module("import numpy\n\ndef f(x):\n    return x + 2\n", "m").digest != plain.digest


def test_a_file_is_parsed_once_in_a_process_however_many_stores_are_opened(tmp_path, monkeypatch):
    (tmp_path / "sketch.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    parsed = []
    monkeypatch.setattr(
        code_module, "parse_module", lambda text, *a, **k: (parsed.append(text), parse_module(text, *a, **k))[1]
    )
    stores = [tmp_path / f"store-{number}.json" for number in range(3)]
    first, second = (CodeReader(store).digest(["sketch"]) for store in stores[:2])
    assert first == second
    assert parsed == ["x = 1\n"]
    assert json.loads(stores[1].read_text())["files"] == json.loads(stores[0].read_text())["files"]
    (tmp_path / "sketch.py").write_text("x = 22\n")
    assert CodeReader(stores[2]).digest(["sketch"]) != first
    assert parsed == ["x = 1\n", "x = 22\n"]


def test_imports_are_followed_to_where_a_name_is_defined_and_no_further(tmp_path, monkeypatch):
    package = tmp_path / "drafts"
    package.mkdir()
    (package / "__init__.py").write_text("from drafts.base import Base\nfrom drafts.other import Other\n")
    (package / "base.py").write_text("class Base:\n    x = 1\n")
    (package / "other.py").write_text("class Other:\n    x = 1\n")
    (package / "method.py").write_text("def f():\n    from drafts import Base\n    import numpy\n    return Base\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert CodeReader().reached(["drafts.method"]) == ["drafts.base", "drafts.method"]
    before = CodeReader().digest(["drafts.method"])
    (package / "other.py").write_text("class Other:\n    x = 2\n")
    assert CodeReader().digest(["drafts.method"]) == before
    (package / "base.py").write_text("class Base:\n    x = 2\n")
    assert CodeReader().digest(["drafts.method"]) != before


@pytest.fixture
def drafts(tmp_path, monkeypatch):
    """Lay out a package ``drafts`` in one of several forms; return the hash of its method as a new program has it."""
    place = tmp_path / "place"

    def lay_out(form, helper):
        files = {"method": "from drafts.helper import f\n", "helper": helper, "__init__": ""}
        if form == "namespace":
            del files["__init__"]
        elif form == "import_module":
            files["method"] = "from importlib import import_module\nhelper = import_module('.helper', __package__)\n"
        for name, text in files.items():
            (place / "drafts").mkdir(parents=True, exist_ok=True)
            source = place / "drafts" / f"{name}.py"
            source.write_text(text)
            if form == "compiled":
                py_compile.compile(str(source), cfile=f"{source}c", doraise=True)
                source.unlink()
        if form == "archive":
            with zipfile.ZipFile(tmp_path / "drafts.zip", "w") as archive:
                for source in sorted((place / "drafts").glob("*.py")):
                    archive.write(source, f"drafts/{source.name}")
        monkeypatch.syspath_prepend(str(tmp_path / "drafts.zip" if form == "archive" else place))
        code_module._module_spec.cache_clear()
        code_module.module_file.cache_clear()
        return CodeReader(tmp_path / "code.json").digest(["drafts.method"])

    yield lay_out
    code_module._module_spec.cache_clear()
    code_module.module_file.cache_clear()


@pytest.mark.parametrize("form", ["package", "namespace", "import_module", "archive", "compiled"])
def test_an_edited_helper_is_seen_however_the_package_is_installed(drafts, form):
    before = drafts(form, "def f(x):\n    return x\n")
    assert drafts(form, "def f(x):\n    return x\n") == before
    assert drafts(form, "def f(x):\n    return x + 1\n") != before
    assert drafts(form, "def f(x):\n    return x\n") == before


def test_an_edited_module_of_a_folder_without_init_inside_a_package_is_seen(tmp_path, monkeypatch):
    inner = tmp_path / "sketches" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "sketches" / "__init__.py").write_text("")
    (inner / "helper.py").write_text("x = 1\n")
    (tmp_path / "sketches" / "method.py").write_text("from sketches.inner import helper\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    code_module._module_spec.cache_clear()
    assert CodeReader().reached(["sketches.method"]) == ["sketches.inner.helper", "sketches.method"]
    before = CodeReader().digest(["sketches.method"])
    (inner / "helper.py").write_text("x = 22\n")
    assert CodeReader().digest(["sketches.method"]) != before
    code_module._module_spec.cache_clear()


def test_an_edit_that_keeps_size_and_time_of_a_file_is_seen(drafts, tmp_path):
    before = drafts("package", "f = 1\n")
    source = tmp_path / "place" / "drafts" / "helper.py"
    status = source.stat()
    source.write_text("f = 2\n")
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert CodeReader(tmp_path / "code.json").digest(["drafts.method"]) != before


def test_what_runs_where_no_type_checker_reads_counts():
    def digest(test, value):
        return parse_module(f"from typing import TYPE_CHECKING\nif {test}:\n    x = {value}\n", "m").digest

    assert digest("TYPE_CHECKING", 1) == digest("TYPE_CHECKING", 2)
    assert digest("not TYPE_CHECKING", 1) != digest("not TYPE_CHECKING", 2)


@pytest.mark.long
def test_trials_that_a_limit_stopped_are_tried_again_under_a_higher_one(call, tmp_path):
    common = ("tune", "-m", "plain", "-d", "marked", "--workers", 1, "--trials", 2, "--json", "--set", "pause=0.4")
    stopped = call(*common, "--trial-timeout", 0.3)
    assert stopped.returncode == 1
    assert {trial[1] for trial in trials_of(tmp_path / "mlruns")} == {"FAIL"}
    done = call(*common, "--trial-timeout", 60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trials"] == {"complete": 2, "pruned": 0, "failed": 0}


def test_an_edited_kernel_is_marked_and_other_kernels_are_no_change():
    class Bench:
        def code(self, parameters):
            return {"method": "m", "kernel": {"linear": "l2", "gaussian": "g"}[parameters["kernel"]]}

    def trial(number, kernel, code):
        return {"ended": number, "parameters": {"kernel": kernel}, "code": {"method": "m", "kernel": code}}

    sound = [trial(0, "linear", "l2"), trial(1, "gaussian", "g")]
    assert code_mark(Bench(), sound, sound[0], []) == ""
    edited = [trial(0, "linear", "l1"), trial(1, "gaussian", "g"), trial(2, "linear", "l2")]
    assert code_mark(Bench(), edited, edited[1], []) == MIXED
    failed = {"state": "failed", "parameters": {"kernel": "a"}}  # it has no code, which is no other code
    for records in ([failed, *sound], [*sound, failed]):
        assert code_mark(Bench(), records, sound[0], []) == ""
    assert code_mark(Bench(), [*edited, failed], edited[1], []) == MIXED
    assert code_mark(Bench(), edited, edited[2], []) == MIXED
    assert code_mark(Bench(), edited, edited[0], []) == EARLIER


def test_a_winner_is_of_earlier_code_although_nothing_was_computed_since():
    class Bench:
        def code(self, parameters):
            return {"method": "new", "numpy": "3"}

    def record(number, method):
        return {"ended": number, "parameters": {}, "code": {"method": method, "numpy": "2"}}

    old = [record(0, "old"), record(1, "old")]
    assert code_mark(Bench(), old, old[0], [record(2, "old")]) == EARLIER
    assert code_mark(Bench(), old, old[0], [record(2, "new")]) == EARLIER
    new = [record(0, "new"), record(1, "new")]
    assert code_mark(Bench(), new, new[0], [record(2, "new")]) == ""
    assert code_mark(Bench(), new, new[0], [record(2, "old")]) == MIXED
    assert code_mark(Bench(), [*new, record(2, "old")], new[0], [record(3, "new")]) == MIXED
    unknown = [{"ended": 0, "parameters": {}}]
    assert code_mark(Bench(), unknown, unknown[0], unknown) == ""


def test_on_a_full_disk_what_is_not_remembered_leaves_nothing(tmp_path, monkeypatch):
    def full(self, text, *args, **kwargs):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    reader = CodeReader(tmp_path / "code.json")
    monkeypatch.setattr(reader, "_files", {})
    assert reader.digest(["zslplat.multiples"])
    assert list(tmp_path.iterdir()) == []
