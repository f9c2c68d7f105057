"""What ``plugins check`` looks at: every hook, component and command of a distribution, each by itself."""

import importlib
import sys

import pytest
from support import install_distribution

from zslplat.errors import PluginError, UnknownNameError
from zslplat.registry import build_registry
from zslplat.testing.distribution import subjects_of

HEAD = "from zslplat.api import hookimpl\n"
LISTENER = (
    "from zslplat.api import Listener\n"
    "class Log(Listener):\n    def on_study_stop(self, study, *, failed):\n        pass\n"
)
SOUND = HEAD + LISTENER + "@hookimpl\ndef zslplat_listeners():\n    return {'log': Log}\n"


@pytest.fixture
def subjects(tmp_path, monkeypatch):
    """Return what there is to check of a distribution ``zslplat-made`` with this module, results by kind and name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(source, *, group="zslplat"):
        monkeypatch.delitem(sys.modules, "zslplat_made", raising=False)
        install_distribution(tmp_path, "zslplat-made", "zslplat_made", source, group=group)
        importlib.invalidate_caches()
        found = subjects_of(build_registry(), "zslplat_made")
        return {(subject.kind, subject.name): subject.check() for subject in found}

    return make


def failures(results):
    return {(*what, r.check): r.message for what, found in results.items() for r in found if r.is_failure}


def test_a_plugin_of_one_hook_is_checked_and_sound(subjects):
    results = subjects(SOUND)
    assert list(results) == [("plugin", "zslplat_made"), ("listener", "log")]
    assert failures(results) == {}


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("x = 1\n", "registers nothing"),
        (HEAD + "@hookimpl\ndef zslplat_methods():\n    return {}\n", "registers nothing"),
        (HEAD + "@hookimpl\ndef zslplat_kernel():\n    return {}\n", "did you mean zslplat_kernels"),
        ("def zslplat_kernels():\n    return {}\n", "is not marked"),
        (SOUND + "def zslplat_tasks():\n    return {}\n", "is not marked"),
        (SOUND + "@hookimpl\ndef zslplat_tasks():\n    return {'a b': int}\n", "cannot be written in a command"),
    ],
)
def test_a_plugin_whose_hooks_do_nothing_fails(source, cause, subjects):
    (message,) = failures(subjects(source)).values()
    assert cause in message


def test_a_component_that_leaves_fails_and_the_others_are_checked(subjects):
    source = HEAD + (
        "from zslplat.kernels.forms import Linear\n"
        "class Leaves(Linear):\n    def __init__(self):\n        raise SystemExit(0)\n"
        "@hookimpl\ndef zslplat_kernels():\n    return {'leaves': Leaves, 'fine': Linear}\n"
        "@hookimpl\ndef zslplat_tasks():\n    return {'odd': Linear}\n"
    )
    results = subjects(source)
    assert failures(results) == {
        ("kernel", "leaves", "is_built_with_its_defaults"): "SystemExit: 0",
        ("task", "odd", "is_built_with_its_defaults"): failures(results)["task", "odd", "is_built_with_its_defaults"],
    }
    assert "expected a subclass of zslplat.api.Task" in failures(results)["task", "odd", "is_built_with_its_defaults"]
    assert len(results["kernel", "fine"]) > 10


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("def __call__():\n    pass\n", ": module, expected a function"),
        ("raise SystemExit(0)\n", "SystemExit: 0"),
    ],
)
def test_a_command_that_is_none_fails(source, cause, subjects):
    (message,) = failures(subjects(source, group="zslplat.commands")).values()
    assert cause.removeprefix(": ") in message


def test_a_plugin_that_does_not_load_at_all_is_an_error_with_the_cause(subjects):
    with pytest.raises(PluginError, match="does not load: module zslplat_made raises ModuleNotFoundError"):
        subjects("import no_such_module\n")


def test_an_unknown_distribution_is_refused():
    with pytest.raises(UnknownNameError, match="unknown distribution with a plugin 'nobody'"):
        subjects_of(build_registry(), "nobody")
