"""Plugins that talk, break or leave: what is printed stays what was asked for, and the rest goes on."""

import json
import os

import pytest
from support import install_distribution

from zslplat.registry import registry

DATA = "synthetic(rows_train=80,rows_test_seen=16,rows_test_unseen=16,dimensions=6,classes_seen=8,classes_unseen=3)"
CHATTY = '''
import os
import warnings

print("importing chatty")
import numpy as np
from zslplat.api import Listener, RadialKernel, ZeroShotMethod, hookimpl


class Chatty(ZeroShotMethod):
    """Prints wherever it can."""

    summary = "chatty"

    def fit(self, X, y, S, *, statistics=None):
        print("fitting")
        os.write(1, b"low-level note")
        warnings.warn("a warning")
        self.W_ = np.linalg.lstsq(X, S[y], rcond=None)[0]
        return self

    def decision_function(self, X, S, *, seen=None, statistics=None):
        print("scoring")
        return X @ self.W_ @ S.T


class Leaves(Chatty):
    """Ends the program when it is fitted."""

    def fit(self, X, y, S, *, statistics=None):
        raise SystemExit(0)


class LeavesAtOnce(RadialKernel):
    """Ends the program when it is built."""

    summary = "leaves"

    def __init__(self):
        raise SystemExit(0)

    def g(self, d):
        return np.exp(-d)

    def slope(self, d):
        return -np.exp(-d)


@hookimpl
def zslplat_methods():
    print("in a hook")
    return {"chatty": Chatty, "leaves": Leaves, "eszsl": Chatty}


@hookimpl
def zslplat_kernels():
    return {"leaves-at-once": LeavesAtOnce}


@hookimpl
def zslplat_tasks():
    raise SystemExit(0)


class Finished(Listener):
    def on_run_complete(self, owner, evaluations, changed):
        print("finished")
        raise SystemExit(0)


@hookimpl
def zslplat_listeners():
    return {"finished": Finished}
'''


@pytest.fixture(scope="module")
def chatty(tmp_path_factory):
    """The folder of the plugin: it stays where it is, as its modules stay loaded."""
    return install_distribution(tmp_path_factory.mktemp("chatty"), "zslplat-chatty", "zslplat_chatty", CHATTY)


@pytest.fixture
def talk(call, chatty, monkeypatch):
    """Run a command beside a plugin that prints everywhere and breaks where it can; return what it left."""
    monkeypatch.syspath_prepend(str(chatty))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(chatty), os.environ.get("PYTHONPATH")])))
    registry.cache_clear()
    return call


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("plugins", "list"),
        ("show", "eszsl-smoothed"),
        ("show", "zslplat-chatty:eszsl"),
        ("data", "list"),
        ("run", "--method", "chatty", "--dataset", DATA, "--workers", "1"),
    ],
    ids=" ".join,
)
def test_json_is_all_that_a_command_prints_on_standard_output(arguments, talk):
    done = talk(*arguments, "--json")
    # The plugin is broken in one of its hooks, which `list` tells by its exit code.
    assert done.returncode == int(arguments[0] in ("list", "plugins")), done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("show", "nobody"), 2, "unknown component"),
        (("show", "eszsl"), 1, "claimed by zslplat 0.1.0 and zslplat-chatty 1.2.3; write zslplat:eszsl or"),
        (("list", "--bogus"), 2, "unknown option of zslplat list"),
        (("run", "--method", "leaves", "--dataset", DATA, "--workers", "1"), 1, "SystemExit"),
        (("plugins", "check", "nobody"), 2, "unknown distribution"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_json_of_a_failure_is_one_document_with_error_and_exit_code(arguments, code, error, talk):
    done = talk(*arguments, "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["exit_code"]) == (code, code)
    assert error in document["error"]
    assert "error: " in done.stderr


def test_a_hook_that_leaves_hides_no_component_and_is_named(talk):
    listed = json.loads(talk("list", "--json").stdout)
    names = {(row["kind"], row["name"]) for row in listed["components"]}
    assert {("methods", "chatty"), ("kernels", "leaves-at-once"), ("tasks", "zsl")} <= names
    plugins = json.loads(talk("plugins", "list", "--json").stdout)
    states = [row["state"] for row in plugins if row["distribution"] == "zslplat-chatty"]
    assert states == ["loaded", "broken: hook zslplat_tasks: SystemExit: 0"]


@pytest.mark.long
def test_check_of_a_plugin_reports_every_broken_part_and_checks_the_rest(talk):
    done = talk("plugins", "check", "zslplat-chatty", "--json")
    assert done.returncode == 1
    rows = json.loads(done.stdout)["results"]
    failed = {(row["name"], row["check"]): row["cause"] for row in rows if row["failure"]}
    assert "hook zslplat_tasks" in failed["zslplat_chatty", "hooks_are_sound"]
    assert "SystemExit" in failed["leaves-at-once", "is_built_with_its_defaults"]
    assert "claimed by" in failed["eszsl", "name_is_unique"]
    assert "prints" in failed["chatty", "nothing_is_printed"]
    passed = {row["check"] for row in rows if row["name"] == "chatty" and row["result"] == "passed"}
    assert {"outputs_are_finite", "class_is_importable"} <= passed


def test_a_kernel_that_leaves_is_no_candidate_and_hides_no_other(talk):
    from zslplat.families.zero_shot.methods.keszsl import KernelESZSL

    found = KernelESZSL.fitting_kernels()
    assert "gaussian" in found
    assert "leaves-at-once" not in found


def test_a_component_of_a_clash_is_used_by_its_full_name(talk):
    names = ("--method", "zslplat:eszsl", "--dataset", f"zslplat:{DATA}", "--task", "zslplat:zsl")
    done = talk("run", *names, "--workers", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize("arguments", [("--debug", "show", "nobody"), ("show", "nobody", "--debug")])
def test_debug_is_taken_before_and_after_the_command(arguments, call):
    done = call(*arguments)
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_every_command_takes_debug_and_declares_it_nowhere_else():
    import typer

    from zslplat.cli.app import app

    def commands(group):
        for command in group.commands.values():
            yield from commands(command) if hasattr(command, "commands") else [command]

    for command in commands(typer.main.get_command(app)):
        assert sum("--debug" in parameter.opts for parameter in command.params) == 1, command.name
        assert len({parameter.name for parameter in command.params}) == len(command.params), command.name
        assert "debug" not in command.callback.__code__.co_varnames
