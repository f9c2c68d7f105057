"""Records in PostgreSQL: made once, the same as in a file, and there again after the server went away."""

from __future__ import annotations

import multiprocessing
import threading
import time

import pytest
import sqlalchemy as sa

from zslplat.errors import InUseError, OutageError, StoreError
from zslplat.records.database import Records
from zslplat.records.maintenance import problems_of
from zslplat.records.opening import existing_records
from zslplat.records.outages import Outages
from zslplat.records.overview import Overview
from zslplat.records.trials import FinishedTrial
from zslplat.settings import resolve_settings
from zslplat.space import Choice, Real
from zslplat.tracking.maintenance import delete_study

pytestmark = pytest.mark.services

SPACE = {"a": Real(0.001, 1, log=True), "kernel": Choice(("gaussian", "linear"))}
STRANGE = "nothing \x00, half a pair \ud800, ä, 漢字, 'quoted' \"twice\", 100 % \\ :name"


def opened(folder, url, **more):
    said = []
    settings = resolve_settings({"store": folder / "mlruns", "storage_url": url, **more})
    settings.make_store()
    records = Records(settings, said.append)
    return records, said


def trial(number, text="", value=0.1 + 0.2):
    given = {"a": 0.001 * (number + 1), "kernel": "linear"}
    record = {"number": number, "state": "complete", "parameters": given, "value": value, "reason": text, "steps": {}}
    record |= {"started": 1e9 + number, "ended": 1e9 + number + 0.123456789, "metrics": {"score": value}}
    return FinishedTrial(number, "complete", given, value, {1: float("nan"), 2: 0.1}), record


def filled(records, text=""):
    study = records.open_study("s", {"method": "m"}, [True])
    for number in range(3):
        study.add(*trial(number, text), SPACE)
    study.retry({**trial(1)[1], "value": 0.7})
    study.note("about", {"text": text, "large": "x" * 10})
    records.add_evaluation("study:s", "trial-0/repeat-0", "test", "f" * 64, {"winner": 0, "folds": [], "metrics": {}})
    records.add_evaluation("oracle:x", "point", "test", "f" * 64, {"metrics": {}, "text": text})
    return study


def content(records):
    study = records.study("s")
    found = [(repr(trial), record) for trial, record in study.finished()]
    values = {k: v for k, v in study.values().items() if k != "origin"}
    evaluations = [(o, k, {**c, "created": 0}) for o, k, c in records.all_evaluations()]
    overview = Overview(records, ["about"])
    more = (
        overview.trials("s"),
        overview.value("s", "about"),
        overview.chosen("s", 2, overview.trials_of({"s": 2})),
        overview.seconds("s"),
    )
    known = [k for _, k, _ in records.evaluations_on("f" * 64)]
    looks = (records.test_evaluations("f" * 64), records.owners(), records.place_of("oracle:x", "point"), known)
    return found, values, evaluations, more, looks, list(problems_of(records)), records.study_names()


def test_a_database_holds_what_a_file_holds(postgres, tmp_path):
    """Whatever the text: neither kind of database sees a NUL or half a surrogate pair, which PostgreSQL refuses."""
    ours, _ = opened(tmp_path / "a", postgres.new_database())
    theirs, _ = opened(tmp_path / "b", None)
    for records in (ours, theirs):
        filled(records, STRANGE)
    assert content(ours) == content(theirs)
    found = ours.find(ours.run_of("study:s", "trial-2")[:9])
    assert found is not None
    assert (found.key, found.record["reason"]) == ("trial-2", STRANGE)


@pytest.mark.long
def test_twenty_megabytes_of_one_record_come_back(postgres, tmp_path):
    records, _ = opened(tmp_path, postgres.new_database())
    filled(records, "ä\x00" * 2_000_000)
    assert len(records.study("s").finished()[0][1]["reason"]) == 4_000_000


def test_what_only_reads_makes_nothing(postgres, tmp_path):
    url = postgres.new_database()
    with pytest.raises(StoreError, match="holds no records"):
        existing_records(resolve_settings({"store": tmp_path, "storage_url": url}), print)
    with sa.create_engine(url).connect() as connection:
        assert sa.inspect(connection).get_table_names() == []


def _open_at_once(folder, url, barrier, answers):
    settings = resolve_settings({"store": folder, "storage_url": url})
    settings.make_store()
    barrier.wait(800)
    try:
        answers.put(Records(settings).identity)
    except Exception as error:
        answers.put(repr(error))


def test_programs_that_open_an_empty_database_at_once_make_one_store(postgres, tmp_path):
    """In folders of their own, as on several machines: no file can keep them apart."""
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(4), context.Queue()
    url = postgres.new_database()
    programs = [
        context.Process(target=_open_at_once, args=(tmp_path / str(number), url, barrier, answers))
        for number in range(4)
    ]
    for program in programs:
        program.start()
    found = [answers.get(timeout=800) for _ in programs]
    for program in programs:
        program.join()
    assert len(set(found)) == 1, found
    assert len(found[0]) == 16, found


@pytest.mark.long
def test_a_server_that_was_restarted_is_asked_again(postgres, tmp_path):
    """Between two calls, and in the middle of a transaction, of ours and of Optuna's."""
    records, _ = opened(tmp_path, postgres.new_database())
    study = filled(records)
    before = content(records)
    postgres.restart()
    assert content(records) == before
    broken = []

    def break_off(*given):
        if len(broken) < 3 and "INSERT INTO trial" in given[2]:
            broken.append(given[2])
            postgres.restart()

    sa.event.listen(records.engine, "after_cursor_execute", break_off)
    study.add(*trial(3), SPACE)
    assert len(broken) == 3
    assert [number for number, _ in enumerate(study.finished())] == [0, 1, 2, 3]
    assert study.study.get_trials(deepcopy=False)[3].params == trial(3)[0].parameters


def test_a_trial_whose_commit_was_not_answered_is_stored_once(postgres, tmp_path):
    records, _ = opened(tmp_path, postgres.new_database())
    study = records.open_study("s", {"method": "m"}, [True])
    calls = []

    def lose(connection):
        calls.append(1)
        if len(calls) == 1:
            connection.connection.dbapi_connection.commit()
            postgres.restart()

    sa.event.listen(records.engine, "commit", lose)
    study.add(*trial(0), SPACE)
    assert len(calls) >= 1
    assert len(study.finished()) == 1


def test_an_outage_is_waited_for_and_told(postgres, tmp_path):
    records, said = opened(tmp_path, postgres.new_database(), outage_seconds=60)
    study = filled(records)
    postgres.stop()
    back = threading.Timer(1.0, postgres.start)
    back.start()
    study.add(*trial(3), SPACE)
    back.join()
    assert len(study.finished()) == 4
    assert ["trying again for up to 60 s" in said[0], "answers again" in said[-1], len(said)] == [True, True, 2]


@pytest.mark.long
def test_an_outage_that_is_too_long_ends_with_one_error_and_nothing_lost(postgres, tmp_path):
    records, said = opened(tmp_path, postgres.new_database(), outage_seconds=0.5)
    study = filled(records)
    before = content(records)
    postgres.stop()
    for ask in (lambda: study.add(*trial(3), SPACE), study.finished, records.study_names, records.owners):
        with pytest.raises(OutageError, match="give the same command again"):
            ask()
    postgres.start()
    assert content(records) == before
    assert len(said) == 4  # each outage once


def test_a_server_that_never_answered_is_not_waited_for(tmp_path):
    pytest.importorskip("psycopg", reason="pip install 'zslplat[postgres]'")
    start = time.monotonic()
    with pytest.raises(OutageError, match="does not answer"):
        opened(tmp_path, "postgresql+psycopg://me@127.0.0.1:9/nothing", outage_seconds=600)
    assert time.monotonic() - start < 300


def test_an_error_of_what_is_asked_is_no_outage(postgres, tmp_path):
    url = postgres.new_database()
    records, said = opened(tmp_path, url, outage_seconds=600)
    with sa.create_engine(url).begin() as connection:
        connection.execute(sa.text("drop table zslplat_evaluations"))
    with pytest.raises(StoreError, match="repair the database") as raised:
        records.owners()
    assert not isinstance(raised.value, OutageError)
    assert said == []
    with pytest.raises(StoreError, match="does not exist"):
        opened(tmp_path, postgres.url("no_such_database"))


def test_one_command_leads_a_study_from_whatever_folder(postgres, tmp_path):
    url = postgres.new_database()
    first, _ = opened(tmp_path / "a", url)
    second, _ = opened(tmp_path / "b", url)
    with first.leads.leading("s", tmp_path / "a.lock"):
        with second.leads.leading("other", tmp_path / "b.lock"):
            pass
        with (
            pytest.raises(InUseError, match="study 's' is in use by another process"),
            second.leads.leading("s", tmp_path / "b.lock"),
        ):
            pass
    with second.leads.leading("s", tmp_path / "b.lock"):
        pass


def test_a_study_that_another_folder_leads_is_not_deleted(postgres, tmp_path):
    url = postgres.new_database()
    first, _ = opened(tmp_path / "a", url)
    second, warned = opened(tmp_path / "b", url)
    filled(first)
    settings = resolve_settings({"store": tmp_path / "b" / "mlruns", "storage_url": url})
    with first.leads.leading("s", tmp_path / "a.lock"), pytest.raises(InUseError, match="study 's' is in use"):
        delete_study(settings, second, "s", warned.append)
    assert len(first.study("s").finished()) > 0


@pytest.mark.long
def test_who_leads_a_study_is_made_sure_of_after_a_restart(postgres, tmp_path):
    """The server forgets who did. The first to come back leads; the other ends, and no trial is stored twice."""
    url = postgres.new_database()
    first, _ = opened(tmp_path / "a", url)
    second, _ = opened(tmp_path / "b", url)
    with first.leads.leading("s", tmp_path / "a.lock"):
        study = filled(first)
        postgres.restart()
        study.add(*trial(3), SPACE)
        with pytest.raises(InUseError), second.leads.leading("s", tmp_path / "b.lock"):
            pass
        postgres.restart()
        with second.leads.leading("s", tmp_path / "b.lock"):
            with pytest.raises(InUseError):
                study.add(*trial(4), SPACE)
            second.study("s").add(*trial(4), SPACE)
    assert len(second.study("s").finished()) == 5


def test_a_lock_whose_connection_broke_unnoticed_is_taken_over_by_its_own_holder(postgres, tmp_path):
    records, _ = opened(tmp_path, postgres.new_database())
    with records.leads.leading("s", tmp_path / "a.lock"):
        held = records.leads._locks["s"]
        kept = held.connection  # the server believes in it still
        held.connection = None
        records.leads.confirm("s")
        assert held.connection is not kept


def test_a_forked_child_leaves_the_connections_to_its_parent(postgres, tmp_path):
    records, _ = opened(tmp_path, postgres.new_database())
    filled(records)
    pid = "select pg_backend_pid()"
    with records.engine.connect() as one, records.engine.connect() as other:
        ours = {connection.execute(sa.text(pid)).scalar_one() for connection in (one, other)}
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def child():
        with records.engine.connect() as connection:
            answers.put(connection.execute(sa.text(pid)).scalar_one())

    process = context.Process(target=child)
    process.start()
    theirs = answers.get(timeout=800)
    process.join()
    with records.engine.connect() as connection:
        assert connection.execute(sa.text(pid)).scalar_one() in ours
    assert theirs not in ours


def test_pauses_grow_to_five_seconds_and_end_with_the_time(monkeypatch, tmp_path):
    from zslplat.records.outages import LostError

    now, pauses = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def sleep(seconds):
        pauses.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    settings = resolve_settings({"store": tmp_path, "outage_seconds": 30})
    outages = Outages("somewhere", settings, lambda text: None)
    outages.survive(lambda: None)

    def lost():
        raise LostError("gone")

    with pytest.raises(OutageError):
        outages.survive(lost)
    assert pauses[:6] == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 5.0])
    assert max(pauses) == 5.0
    assert sum(pauses) == pytest.approx(30)
