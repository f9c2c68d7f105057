"""A study knows the code of its trials: an edited method is refused or marked, a docstring changes nothing."""

import json
import os

from support import install_distribution, trials_of

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
    accepted = tune(4, "--accept-changed-code")
    assert accepted.returncode == 0, accepted.stderr
    assert json.loads(accepted.stdout)["code"]
    assert trials_of(tmp_path / "mlruns")[:3] == before
    compared = forked("compare", "-d", "marked", "--json", PYTHONPATH=path)
    assert json.loads(compared.stdout)["rows"][0]["code"], compared.stderr


def test_comments_docstrings_layout_and_types_do_not_count():
    plain = parse_module("import numpy\n\ndef f(x):\n    return x + 1\n", "m")
    dressed = parse_module('"""Doc."""\n# comment\nimport numpy\nfrom typing import TYPE_CHECKING\n', "m")
    assert plain.digest != dressed.digest
    same = parse_module(
        '"""Doc."""\nimport numpy\n\n\ndef f(x):  # why\n    """Add."""\n    return (x +\n            1)\n', "m"
    )
    assert same.digest == plain.digest
    assert parse_module("import numpy\n\ndef f(x):\n    return x + 2\n", "m").digest != plain.digest


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
    assert code_mark(Bench(), edited, edited[2], []) == MIXED
    assert code_mark(Bench(), edited, edited[0], []) == EARLIER
