"""``list`` keeps what it says of zslplat's own components, and of no others'."""

import os

import pytest

import zslplat
from zslplat.cli import catalogue
from zslplat.registry import Entry, Registry


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "zslplat"


def test_a_second_call_loads_others_components_only(call, cache, monkeypatch):
    first = call("list", "--json")
    loaded, load = [], Entry.load
    monkeypatch.setattr(Entry, "load", lambda entry: loaded.append(entry.plugin.distribution) or load(entry))
    second = call("list", "--json")
    assert (second.returncode, second.stdout) == (first.returncode, first.stdout)
    assert loaded, "the plugin of the tests is another's"
    assert "zslplat" not in loaded
    (kept,) = cache.glob("*.json")
    kept.write_text('{"methods/eszsl": [')
    assert call("list", "--json").stdout == first.stdout


def test_what_does_not_load_is_not_kept(call, cache, monkeypatch):
    component = Registry.component

    def failing(self, kind, name):
        if name == "eszsl":
            raise RuntimeError("no such thing")
        return component(self, kind, name)

    with monkeypatch.context() as patched:
        patched.setattr(Registry, "component", failing)
        assert "does not load: no such thing" in call("list", "methods", "--json").stdout
    assert "does not load" not in call("list", "methods", "--json").stdout


def test_a_changed_source_file_has_a_file_of_its_own(cache, monkeypatch, tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("a = 1")
    monkeypatch.setattr(zslplat, "__file__", str(package / "__init__.py"))
    first = catalogue._facts_file()
    assert catalogue._facts_file() == first
    (package / "__init__.py").write_text("a = 10")
    assert catalogue._facts_file() != first


def test_installations_side_by_side_keep_one_file_each(call, cache, monkeypatch):
    assert call("list", "kernels").returncode == 0
    (first,) = cache.glob("*.json")
    monkeypatch.setattr(catalogue, "_facts_file", lambda: cache / "listed-another.json")
    assert call("list", "kernels").returncode == 0
    assert sorted(cache.glob("listed-*.json")) == sorted([first, cache / "listed-another.json"])
    for old in (first, cache / "listed-another.json"):
        os.utime(old, (0, 0))
    monkeypatch.setattr(catalogue, "_facts_file", lambda: cache / "listed-third.json")
    assert call("list", "kernels").returncode == 0
    assert [path.name for path in cache.glob("listed-*.json")] == ["listed-third.json"]


def test_no_place_to_keep_anything_is_no_failure(call, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    done = call("list", "kernels")
    assert done.returncode == 0
    assert "gaussian" in done.stdout
