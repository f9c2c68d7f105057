"""Listeners are told what is recorded: each by itself, and none can hurt a study but by saying that the store fails."""

import pytest

from zslplat import listeners
from zslplat.errors import StoreError
from zslplat.listeners import Listener, Listeners
from zslplat.registry import Plugin, Registered, registry


class Log(Listener):
    """Keeps what it is told."""

    def __init__(self, settings, records, warn):
        super().__init__(settings, records, warn)
        self.events = []

    def on_trial_complete(self, study, record):
        self.events.append((study, record["number"]))

    def run_of(self, name):
        return f"run of {name}"


class Leaves(Listener):
    def on_trial_complete(self, study, record):
        raise SystemExit(0)


class Fails(Listener):
    def on_trial_complete(self, study, record):
        raise StoreError("the disk is full")


@pytest.fixture
def installed(monkeypatch):
    def install(**classes):
        plugin = Plugin("mine", "zslplat-mine", "1")
        entries = {name: [Registered("listeners", name, plugin, target)] for name, target in classes.items()}
        monkeypatch.setitem(registry().entries, "listeners", entries)
        warnings = []
        return Listeners(None, None, warnings.append), warnings

    return install


def test_one_that_fails_is_reported_and_the_others_are_told(installed):
    told, warnings = installed(leaves=Leaves, log=Log)
    told.on_trial_complete("s", {"number": 3})
    assert told.members["zslplat-mine:log"].events == [("s", 3)]
    assert warnings == ["listener zslplat-mine:leaves failed: SystemExit: 0"]


def test_one_that_does_not_load_is_reported_and_left_out(installed):
    told, warnings = installed(absent="nowhere:Log", other=dict, log=Log)
    assert list(told.members) == ["zslplat-mine:log"]
    assert [("nowhere" in line, "subclass of" in line) for line in warnings] == [(True, False), (False, True)]


def test_a_store_that_fails_ends_the_command(installed):
    told, _ = installed(fails=Fails)
    with pytest.raises(StoreError, match="disk is full"):
        told.on_trial_complete("s", {"number": 0})


def test_the_first_that_knows_a_name_says_which_run_it_is(installed):
    told, _ = installed(leaves=Leaves, log=Log)
    assert told.run_of("a") == "run of a"
    told, _ = installed(leaves=Leaves)
    assert told.run_of("a") == ""


def test_all_events_are_handed_on():
    events = [name for name, value in vars(Listener).items() if callable(value) and name != "__init__"]
    assert all(name in vars(Listeners) for name in events)
    assert listeners.Listener in Listeners.__mro__
