"""Properties of the registry: lazy, forgiving towards broken plugins, strict about names."""

from __future__ import annotations

import importlib
import re
import sys
from importlib.metadata import Distribution, EntryPoint

import pytest

from zslplat.api import API_VERSION
from zslplat.errors import PluginError, UnknownNameError
from zslplat.registry import COMPONENTS, ByName, build_registry, component, describe_broken

ESZSL, SAE = (component("methods", name) for name in ("eszsl", "sae"))
FIRST, SECOND = "'zslplat.families.zero_shot.methods.eszsl:ESZSL'", "'zslplat.families.zero_shot.methods.sae:SAE'"


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
    assert all(registry.names(kind) == [] for kind in COMPONENTS if kind != "methods")
    with pytest.raises(PluginError, match=r"method 'one' of a 1\.0 does not load.*no_such_module"):
        registry.component("methods", "one")


def test_classes_and_paths_are_both_components(entry_point):
    source = (
        "from zslplat.api import hookimpl\nfrom zslplat.families.zero_shot.methods.sae import SAE\n@hookimpl\n"
        f"def zslplat_methods():\n    return {{'one': {FIRST}, 'two': SAE}}"
    )
    registry = build_registry([entry_point("a", source, raw=True)])
    assert registry.component("methods", "one") is ESZSL
    assert registry.component("methods", "two") is SAE
    with pytest.raises(PluginError, match="AttributeError"):
        build_registry([entry_point("a", "{'x': 'fractions:Nothing'}")]).component("methods", "x")


@pytest.mark.parametrize("wrong", ["int", "'fractions:Fraction'", "'zslplat.kernels.forms:Gaussian'"])
def test_a_component_of_another_class_is_refused_when_it_is_used_and_hides_no_other(wrong, entry_point):
    registry = build_registry([entry_point("a", f"{{'odd': {wrong}, 'one': {FIRST}}}")])
    with pytest.raises(PluginError, match=r"method 'odd' of a 1\.0 is <class .*expected a subclass of zslplat\.api\."):
        registry.component("methods", "odd")
    assert registry.component("methods", "one") is ESZSL


def test_a_component_that_leaves_the_interpreter_is_an_error_of_its_plugin(entry_point, tmp_path):
    (tmp_path / "leaves_at_once.py").write_text("raise SystemExit(3)")
    registry = build_registry([entry_point("a", f"{{'odd': 'leaves_at_once:X', 'one': {FIRST}}}")])
    with pytest.raises(PluginError, match="does not load: module leaves_at_once raises SystemExit: 3"):
        registry.component("methods", "odd")
    assert registry.component("methods", "one") is ESZSL


@pytest.mark.parametrize("name", ["my method", "a(b)", "a,b", "a=b", "", "..", "a..b", "-a", "a:b", "true", "inf", "ä"])
def test_a_name_that_cannot_be_typed_is_refused_and_hides_no_other(name, entry_point):
    registry = build_registry([entry_point("a", f"{{{name!r}: {SECOND}, 'one': {FIRST}}}")])
    assert registry.names("methods") == ["one"]
    assert f"method {name!r} cannot be written in a command" in registry.broken[0].cause


@pytest.mark.parametrize(
    ("target", "cause"),
    [("3", "method 'x' is 3, expected a class"), ("'no colon'", "method 'x' is 'no colon', expected a class")],
)
def test_what_is_no_class_is_refused_and_hides_no_other(target, cause, entry_point):
    registry = build_registry([entry_point("a", f"{{'x': {target}, 'one': {FIRST}}}")])
    assert registry.names("methods") == ["one"]
    assert cause in registry.broken[0].cause


def test_a_hook_that_returns_something_else_is_named(entry_point):
    (broken,) = build_registry([entry_point("a", "['one']")]).broken
    assert broken.cause.startswith("hook zslplat_methods: TypeError: returns list, expected {name:")


def test_a_broken_plugin_hides_nothing_else_and_explains_missing_names(entry_point):
    good = entry_point("good", f"{{'one': {FIRST}}}")
    broken = entry_point("bad", "import no_such_module", raw=True)
    for order in ([good, broken], [broken, good]):
        registry = build_registry(order)
        assert registry.component("methods", "one") is ESZSL
        (found,) = registry.broken
        assert describe_broken(found) == (
            f"plugin '{broken.name}' of bad 1.0 is broken: module {broken.name} raises ModuleNotFoundError: "
            "No module named 'no_such_module'"
        )
        with pytest.raises(UnknownNameError, match=r"bad 1\.0 is broken"):
            registry.component("methods", "theirs")


@pytest.mark.parametrize("error", ["OSError('gone')", "SystemExit('gone')", "GeneratorExit('gone')"])
def test_a_hook_that_fails_is_reported_and_loses_no_other(error, entry_point):
    source = (
        f"from zslplat.api import hookimpl\n@hookimpl\ndef zslplat_methods():\n    return {{'one': {FIRST}}}\n"
        f"@hookimpl\ndef zslplat_kernels():\n    raise {error}\n"
    )
    registry = build_registry([entry_point("half", source, raw=True), entry_point("good", f"{{'two': {SECOND}}}")])
    assert registry.names("methods") == ["one", "two"]
    assert [b.cause for b in registry.broken] == [f"hook zslplat_kernels: {error[:-8]}: gone"]


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("@hookimpl\ndef zslplat_method():\n    return {}", "did you mean zslplat_methods"),
        ("def zslplat_kernels():\n    return {}", "zslplat_kernels is not marked and is never called; write @hookimpl"),
        ("@hookimpl\ndef kernels():\n    return {}", "kernels is no hook of zslplat and is never called"),
    ],
)
def test_a_hook_that_is_misspelt_or_unmarked_is_reported_and_loses_no_other(source, cause, entry_point):
    head = f"from zslplat.api import hookimpl\n@hookimpl\ndef zslplat_methods():\n    return {{'one': {FIRST}}}\n"
    registry = build_registry([entry_point("a", head + source, raw=True)])
    assert registry.names("methods") == ["one"]
    (broken,) = registry.broken
    assert cause in broken.cause


def test_sound_hooks_and_imported_names_raise_no_complaint(entry_point):
    source = (
        "import zslplat\nfrom zslplat.api import hookimpl\n"
        "@hookimpl(specname='zslplat_kernels')\ndef kernels():\n    return {}\n"
        "@hookimpl\ndef zslplat_listeners():\n    return {}\n"
    )
    assert build_registry([entry_point("a", source, raw=True)]).broken == []


def versioned(version):
    head = f"from zslplat.api import hookimpl\nZSLPLAT_API = {version!r}\n"
    return head + "@hookimpl\ndef zslplat_kernels():\n    return {}\n"


@pytest.mark.parametrize("version", ["1", API_VERSION])
def test_a_plugin_for_this_version_of_the_interface_is_loaded(version, entry_point):
    registry = build_registry([entry_point("a", versioned(version), raw=True)])
    assert (len(registry.plugins), registry.broken) == (1, [])


@pytest.mark.parametrize(
    ("version", "cause"),
    [
        ("2", f"needs version 2 of zslplat's plugin interface, this zslplat has {API_VERSION}; install a newer z"),
        ("1.7", "needs version 1.7 .*; install a newer zslplat"),
        ("0.9", "needs version 0.9 .*; install a newer a$"),
        (1, "ZSLPLAT_API is 1; expected a version such as"),
        ("new", "ZSLPLAT_API is 'new'; expected a version"),
    ],
)
def test_a_plugin_for_another_version_of_the_interface_is_broken(version, cause, entry_point):
    registry = build_registry([entry_point("a", versioned(version), raw=True)])
    assert registry.plugins == []
    assert re.search(cause, registry.broken[0].cause)


def test_a_name_claimed_twice_is_an_error_that_names_both_and_both_can_be_asked_for(entry_point):
    points = [entry_point("first", f"{{'x': {FIRST}, 'y': {FIRST}}}"), entry_point("Second", f"{{'x': {SECOND}}}")]
    registry = build_registry(points)
    with pytest.raises(PluginError, match=r"'x' is claimed by Second 1\.0 and first 1\.0; write Second:x or first:x"):
        registry.component("methods", "x")
    assert registry.component("methods", "first:x") is ESZSL
    assert registry.component("methods", "second:x") is SAE
    assert registry.component("methods", "first:y") is registry.component("methods", "y") is ESZSL
    assert registry.spellings("methods") == ["Second:x", "first:x", "y"]
    assert len(list(registry.clashes())) == 1
    with pytest.raises(UnknownNameError, match=r"unknown method 'third:x'; known: .*first:x"):
        registry.component("methods", "third:x")


def test_components_by_name_hold_full_names_and_clashing_ones_and_list_what_can_be_asked_for(entry_point, monkeypatch):
    points = [entry_point("first", f"{{'x': {FIRST}, 'y': {FIRST}}}"), entry_point("second", f"{{'x': {SECOND}}}")]
    made = build_registry(points)
    monkeypatch.setattr("zslplat.registry.registry", lambda: made)
    known = ByName("methods")
    assert list(known) == ["first:x", "second:x", "y"]
    assert (known["second:x"](), known["first:y"]()) == (SAE, ESZSL)
    assert "z" not in known
    with pytest.raises(PluginError, match="is claimed by"):
        known["x"]()


def test_the_same_entry_point_twice_on_the_path_is_no_clash(entry_point):
    point = entry_point("a", f"{{'x': {FIRST}}}")
    registry = build_registry([point, point])
    assert registry.component("methods", "x") is ESZSL
    assert not list(registry.clashes())


def test_unknown_names_list_near_matches(entry_point):
    registry = build_registry([entry_point("a", f"{{'mfmr-joint': {FIRST}, 'eszsl': {FIRST}}}")])
    with pytest.raises(UnknownNameError, match=r"unknown method 'mfmr-joints'; did you mean mfmr-joint\?"):
        registry.component("methods", "mfmr-joints")
    with pytest.raises(UnknownNameError, match="known: eszsl, mfmr-joint"):
        registry.component("methods", "qqqq")


def test_the_built_ins_come_through_the_same_door():
    registry = build_registry()
    assert not registry.broken
    for kind in COMPONENTS:
        for name in registry.names(kind):
            assert registry.entry(kind, name).load().__name__


def test_what_a_plugin_prints_goes_to_standard_error(entry_point, capsys):
    source = "print('NOISE')\nfrom zslplat.api import hookimpl\n@hookimpl\ndef zslplat_kernels():\n    print('NOISE')\n"
    registry = build_registry([entry_point("loud", source + "    return {'mine': 'x:Y'}\n", raw=True)])
    assert registry.names("kernels") == ["mine"]
    out, err = capsys.readouterr()
    assert (out, err.count("NOISE")) == ("", 2)
