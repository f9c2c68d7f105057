"""The platform without the package of the papers' tables: every command works, and the papers' commands are gone."""

import importlib.metadata
import sys

import pytest
import typer

from zslplat.cli.app import app

CORE = sorted(typer.main.get_command(app).commands)
PAPERS = ("claims", "keep", "parity", "published", "reproduce")


@pytest.fixture(autouse=True)
def _without_papers(monkeypatch):
    """Hide the distribution and its module, as if it had never been installed."""
    from zslplat.registry import registry

    every = importlib.metadata.entry_points

    def others(**selected):
        return [point for point in every(**selected) if not point.value.startswith("zslplat_papers")]

    monkeypatch.setattr("importlib.metadata.entry_points", others)
    monkeypatch.setattr("zslplat.registry.entry_points", others)
    for name in [name for name in sys.modules if name.startswith("zslplat_papers.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "zslplat_papers", None)
    registry.cache_clear()
    yield
    registry.cache_clear()


@pytest.mark.parametrize("name", CORE)
def test_command_has_its_help(call, name):
    done = call(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: ")


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_commands_are_not_there(call, name):
    done = call(name)
    assert done.returncode == 2
    assert f"unknown command '{name}'" in done.stderr
    assert name not in call("--help").stdout.split()


@pytest.mark.parametrize("typed", [("data", "download"), ("download", "awa2")])
def test_fetching_data_names_the_plugin_that_brings_it(call, typed):
    done = call(*typed)
    assert done.returncode == 2
    assert "pip install -e ./plugins/zslplat-papers" in done.stderr


@pytest.mark.long
def test_a_suite_is_carried_out_and_compared(call, tmp_path):
    (tmp_path / "two.toml").write_text(
        'trials = 1\nrepeats = 1\nworkers = 1\ntasks = ["zsl"]\n[[data]]\nname = "digits"\ndataset = "digit-pairs"\n'
        '[[row]]\nname = "linear"\nmethod = "eszsl"\n[[row]]\nname = "ridge"\nmethod = "ridge-prototypes"\n'
    )
    assert call("bench", "two.toml").returncode == 0
    for command in (("compare",), ("report",), ("list",), ("plugins", "list"), ("studies", "list")):
        assert call(*command).returncode == 0, command
