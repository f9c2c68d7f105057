"""A tracking server, or MLflow's database on one, that goes away: nobody waits while there is work, nothing is lost."""

from __future__ import annotations

import multiprocessing
import sys
import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from support import rows_of, runs_of

from zslplat.errors import StoreError
from zslplat.records.folders import owner_folder
from zslplat.settings import resolve_settings
from zslplat.tracking import listener
from zslplat.tracking import projection as projections
from zslplat.tracking.listener import ShownStudy
from zslplat.tracking.projection import Projection, RunView

NUL = "nothing \x00, half a pair \ud800, ä"


def projection(folder, url, said, **more):
    settings = resolve_settings({"store": folder / "mlruns", "tracking_uri": url, **more})
    settings.make_store()
    return Projection(settings, "zsl: toy", "study:x", "store", said.append)


def view(key, status="FINISHED", **more):
    more = {"metrics": {"score": 0.1 + 0.2}, "parameters": {"a": 1}, **more}
    return RunView(key, key, status=status, started=1e9, ended=1e9 + 1, **more)


@pytest.mark.long
@pytest.mark.services
def test_mlflow_on_postgres_shows_any_text(postgres, tmp_path):
    url, said = postgres.new_database(), []
    shown = projection(tmp_path, url, said)
    shown.show(view("trial-0", tags={"zslplat.reason": NUL}, parameters={"text": NUL}), "run0")
    assert said == []
    assert runs_of(url) == {"trial-0": ("FINISHED", {"score": 0.1 + 0.2})}
    ((tag,),) = rows_of(url, "select value from tags where key = 'zslplat.reason'")
    ((param,),) = rows_of(url, "select value from params")
    assert tag == param == "nothing \ufffd, half a pair ?, ä"


def _show_at_once(folder, url, number, barrier, answers):
    said = []
    barrier.wait(800)
    shown = projection(folder, url, said)
    shown.show(view(f"trial-{number}"), f"run{number}")
    answers.put(said)


@pytest.mark.long
@pytest.mark.services
def test_mlflows_tables_are_made_once_by_programs_that_start_at_once(postgres, tmp_path, monkeypatch):
    """In folders of their own and with temporary folders of their own, as on several machines."""
    import mlflow.tracking  # noqa: F401

    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(3), context.Queue()
    url = postgres.new_database()
    programs = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        programs.append(context.Process(target=_show_at_once, args=(folder, url, number, barrier, answers)))
        programs[-1].start()
    assert [answers.get(timeout=800) for _ in programs] == [[], [], []]
    for program in programs:
        program.join()
    assert set(runs_of(url)) == {"trial-0", "trial-1", "trial-2"}


@pytest.mark.long
@pytest.mark.services
def test_what_a_server_missed_is_shown_once_when_it_returns(postgres, tmp_path, monkeypatch):
    url, said = postgres.new_database(), []
    shown = projection(tmp_path, url, said)
    shown.show(view("study", "RUNNING"), "run")
    create = shown.client.create_run

    def create_and_break_off(*given, **more):
        create(*given, **more)
        postgres.stop()
        raise OSError("the answer was lost")

    monkeypatch.setattr(shown.client, "create_run", create_and_break_off)
    assert shown.show(view("trial-0"), "run0", parent="study") == ""
    assert shown.away
    assert shown.show(view("trial-1"), "run1", parent="study") == ""
    assert not shown.returned()
    postgres.start()
    assert shown.returned()
    for number in range(2):
        shown.show(view(f"trial-{number}"), f"run{number}", parent="study")
    assert {key: status for key, (status, _) in runs_of(url).items()} == {
        **{"study": "RUNNING", "trial-0": "FINISHED", "trial-1": "FINISHED"}
    }
    assert ["does not answer" in said[0], "answers again" in said[1], len(said)] == [True, True, 2]


@pytest.mark.services
def test_a_run_that_was_made_twice_is_kept_once(postgres, tmp_path):
    """Where an answer gets lost, MLflow's client asks the same again."""
    url, said = postgres.new_database(), []
    shown = projection(tmp_path, url, said)
    own = {"zslplat.store": "store", "zslplat.owner": "study:x", "zslplat.key": "trial-0", "zslplat.run": "run0"}
    for _ in range(2):
        shown.client.create_run(shown.experiment_id, start_time=1, run_name="trial-0", tags=own)
    again = projection(tmp_path, url, said)
    again.show(view("trial-0"), "run0")
    assert {key: status for key, (status, _) in runs_of(url).items()} == {"trial-0": "FINISHED"}
    assert said == []


def test_a_server_that_never_answered_is_named_once(tmp_path):
    said = []
    shown = projection(tmp_path, "http://127.0.0.1:9", said, outage_seconds=600)
    start = time.monotonic()
    assert not shown.returned()
    assert time.monotonic() - start < 300
    assert len(said) == 1


def test_runs_of_other_owners_are_read_again_when_a_server_is_back(tmp_path, monkeypatch):
    failures = [OSError("it is away")]

    def search(self, owner):
        if not owner and failures:
            raise failures.pop()
        return [
            (of, "trial-0", f"run of {of}", "FINISHED") for of in ("study:x", "run:a", "run:b") if owner in ("", of)
        ]

    monkeypatch.setattr("mlflow.tracking.MlflowClient", lambda **given: SimpleNamespace(**given))
    monkeypatch.setattr(Projection, "_mlflow_experiment", lambda self, name: "1")
    monkeypatch.setattr(Projection, "_search", search)
    shown = projection(tmp_path, "http://host", [])
    shown.turn_to("run:a")
    assert (shown.away, shown.run_id("trial-0")) == (True, "")
    assert shown.returned()
    for owner in ("run:a", "run:b"):
        shown.turn_to(owner)
        assert shown.run_id("trial-0") == f"run of {owner}"


def test_a_driver_that_is_not_installed_is_an_error_that_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"MLflow at postgresql\+psycopg://me@host/x cannot be spoken to: .*psycopg"):
        projection(tmp_path, "postgresql+psycopg://me@host/x", [])


@pytest.mark.parametrize(("away", "left"), [(None, True), (True, True), (False, False)])
def test_what_of_a_run_a_server_did_not_take_stays_marked_for_the_next_command(tmp_path, monkeypatch, away, left):
    shown = None if away is None else SimpleNamespace(away=away, close=lambda: None)
    monkeypatch.setattr(listener, "show_run", lambda *given, **more: shown)
    settings = resolve_settings({"store": tmp_path})
    mlflow = listener.MLflowListener(settings, None, print)
    mlflow.on_run_begin("run:a")
    mlflow.on_run_complete("run:a", {}, ())
    assert (owner_folder(settings, "run:a") / listener.UNSHOWN).exists() == left


class Away:
    """A study in MLflow, on a server that is away, and is there again at the end or not."""

    def __init__(self, comes_back):
        self.away, self.comes_back, self.begun = True, comes_back, 0
        self.study = object.__new__(ShownStudy)
        self.study.projection, self.study._shown = self, {}
        for name in ("trials", "finish"):
            setattr(self.study, name, lambda *given: None)
        self.study.begin = self.begin

    def returned(self):
        self.away = not self.comes_back
        return self.comes_back

    def begin(self):
        self.begun += 1


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_study_ends_with_a_server_that_is_back_and_without_one_that_is_not(comes_back):
    server = Away(comes_back)
    assert server.study.complete([], []) == comes_back
    assert server.begun == comes_back
    assert server.study.complete([], []) == comes_back
    assert server.begun == comes_back  # nobody looks for one that is there


@pytest.mark.parametrize("address", ["postgresql+psycopg://me@host/x", "http://host"])
def test_on_a_database_server_one_program_at_a_time_makes_mlflows_tables(tmp_path, monkeypatch, address):
    entered = []
    monkeypatch.setattr(projections, "alone_on_server", lambda *given: nullcontext(entered.append(given)))
    monkeypatch.setattr("mlflow.tracking.MlflowClient", lambda **given: SimpleNamespace(**given))
    monkeypatch.setattr(Projection, "_mlflow_experiment", lambda self, name: "1")
    monkeypatch.setattr(Projection, "_search", lambda self, owner: [])
    projection(tmp_path, address, [])
    assert entered == ([(address, "mlflow")] if address.startswith("postgresql") else [])
