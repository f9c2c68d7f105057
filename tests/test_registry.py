"""Properties of the registry: lazy, forgiving towards broken plugins, strict about names."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import Distribution, EntryPoint

import pytest

from zslplat.errors import PluginError, UnknownNameError
from zslplat.registry import KINDS, build_registry, describe_broken


class Made(Distribution):
    """A distribution that exists in memory only."""

    def __init__(self, name, version):
        self.text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"

    def read_text(self, filename):
        return self.text if filename == "METADATA" else None

    def locate_file(self, path):
        raise FileNotFoundError(path)


@pytest.fixture
def entry_point(tmp_path, monkeypatch):
    """Return what makes an entry point of a distribution from the body of its hook ``zslplat_methods``."""
    monkeypatch.syspath_prepend(str(tmp_path))
    count = 0

    def make(distribution, source, *, raw=False):
        nonlocal count
        count += 1
        module = f"made_plugin_{count}"
        monkeypatch.delitem(sys.modules, module, raising=False)
        head = "from zslplat.api import hookimpl\n@hookimpl\ndef zslplat_methods():\n    return "
        (tmp_path / f"{module}.py").write_text(source if raw else head + source)
        importlib.invalidate_caches()
        point = EntryPoint(module, module, "zslplat")
        vars(point)["dist"] = Made(distribution, "1.0")
        return point

    return make


def test_listing_names_imports_no_component(entry_point):
    registry = build_registry([entry_point("a", "{'one': 'no_such_module:One', 'two': 'no_such_module:Two'}")])
    assert registry.names("methods") == ["one", "two"]
    assert all(registry.names(kind) == [] for kind in KINDS if kind != "methods")
    with pytest.raises(PluginError, match=r"method 'one' of a 1\.0 does not load.*no_such_module"):
        registry.component("methods", "one")


def test_classes_and_paths_are_both_components(entry_point):
    registry = build_registry([entry_point("a", "{'one': int, 'two': 'fractions:Fraction'}")])
    assert registry.component("methods", "one") is int
    assert registry.component("methods", "two").__name__ == "Fraction"
    with pytest.raises(PluginError, match="AttributeError"):
        build_registry([entry_point("a", "{'x': 'fractions:Nothing'}")]).component("methods", "x")


def test_a_broken_plugin_hides_nothing_else_and_explains_missing_names(entry_point):
    good = entry_point("good", "{'one': int}")
    broken = entry_point("bad", "import no_such_module", raw=True)
    for order in ([good, broken], [broken, good]):
        registry = build_registry(order)
        assert registry.component("methods", "one") is int
        (found,) = registry.broken
        assert describe_broken(found) == (
            f"plugin '{broken.name}' of bad 1.0 is broken: ModuleNotFoundError: No module named 'no_such_module'"
        )
        with pytest.raises(UnknownNameError, match=r"bad 1\.0 is broken"):
            registry.component("methods", "theirs")


def test_a_plugin_whose_hook_fails_takes_part_in_nothing(entry_point):
    source = (
        "from zslplat.api import hookimpl\n@hookimpl\ndef zslplat_methods():\n    return {'one': int}\n"
        "@hookimpl\ndef zslplat_tasks():\n    raise OSError('gone')\n"
        "@hookimpl\ndef zslplat_run_finished(record):\n    raise SystemExit\n"
    )
    registry = build_registry([entry_point("half", source, raw=True)])
    assert registry.names("methods") == []
    assert not registry.manager.hook.zslplat_run_finished.get_hookimpls()
    assert registry.broken[0].cause == "OSError: gone"


def test_a_name_claimed_twice_is_an_error_that_names_both(entry_point):
    points = [entry_point("first", "{'x': int, 'y': int}"), entry_point("second", "{'x': str}")]
    registry = build_registry(points)
    with pytest.raises(PluginError, match=r"'x' is claimed by first 1\.0 and second 1\.0"):
        registry.component("methods", "x")
    assert registry.component("methods", "y") is int
    assert len(list(registry.clashes())) == 1


def test_the_same_entry_point_twice_on_the_path_is_no_clash(entry_point):
    point = entry_point("a", "{'x': int}")
    registry = build_registry([point, point])
    assert registry.component("methods", "x") is int
    assert not list(registry.clashes())


def test_unknown_names_list_near_matches(entry_point):
    registry = build_registry([entry_point("a", "{'mfmr-joint': int, 'eszsl': int}")])
    with pytest.raises(UnknownNameError, match=r"unknown method 'mfmr-joints'; did you mean mfmr-joint\?"):
        registry.component("methods", "mfmr-joints")
    with pytest.raises(UnknownNameError, match="known: eszsl, mfmr-joint"):
        registry.component("methods", "qqqq")


def test_the_built_ins_come_through_the_same_door():
    registry = build_registry()
    assert not registry.broken
    for kind in KINDS:
        for name in registry.names(kind):
            assert registry.entry(kind, name).load().__name__
