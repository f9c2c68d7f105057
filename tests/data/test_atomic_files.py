"""Folders that are being written: left alone while their writer runs, removed by the next one when it was killed."""

import os
import subprocess
import sys
import threading
import time

import pytest

from zslplat import platforms
from zslplat.data.store import atomic_files
from zslplat.data.store.array_store import place_entry
from zslplat.data.store.atomic_files import draft, folder_lock, folder_to_remove, replacing, temporary_folder

WRITER = """
import sys, time
from pathlib import Path
from zslplat.data.store.atomic_files import draft
with draft(Path(sys.argv[1])) as folder:
    (folder / "half.npy").touch()
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip()
    yield process
    process.kill()
    process.wait()


def test_a_folder_stays_while_its_writer_runs_and_goes_when_it_was_killed(writer, tmp_path):
    (theirs,) = tmp_path.iterdir()
    os.utime(theirs, (0, 0))
    with draft(tmp_path) as ours:
        assert {ours, theirs} == set(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == [theirs]
    writer.kill()
    writer.wait()
    place_entry(tmp_path / "entry", lambda writing: {})
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]


def test_a_file_takes_its_place_whole_and_what_a_killed_writer_left_goes_with_the_next(tmp_path):
    place = tmp_path / "found.json"
    with replacing(place) as new:
        new.write_text("first")
        assert not place.exists()
    code = (
        "import os, signal, sys; from pathlib import Path; from zslplat.data.store.atomic_files import replacing\n"
        "with replacing(Path(sys.argv[1])) as new:\n"
        "    new.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(place)], check=False).returncode == -9
    assert place.read_text() == "first"
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(ZeroDivisionError), replacing(place):
        1 / 0  # noqa: B018
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]
    assert place.read_text() == "first"


def test_a_folder_is_gone_after_an_error_too(tmp_path):
    with pytest.raises(ZeroDivisionError), draft(tmp_path):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def test_one_that_was_removed_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    lock, seen = platforms.fcntl.flock, []

    def taken_away(descriptor, how):
        if not seen:
            (folder,) = tmp_path.iterdir()
            seen.append(folder)
            folder.rmdir()
        lock(descriptor, how)

    monkeypatch.setattr(platforms.fcntl, "flock", taken_away)
    with draft(tmp_path) as folder:
        assert folder.exists()
        assert folder not in seen


def test_writers_abreast_take_none_of_each_others_folders(tmp_path):
    failed = []

    def write(number):
        for turn in range(50):
            try:
                with draft(tmp_path) as folder:
                    folder.rename(tmp_path / f"{number}-{turn}")
                with replacing(tmp_path / "shared.json") as new:
                    new.write_text("{}")
            except OSError as error:
                failed.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert failed == []
    assert len(list(tmp_path.iterdir())) == 8 * 50 + 1


@pytest.mark.parametrize("gone", ["folder", "parent"])
def test_one_that_was_removed_before_it_was_opened_is_made_again_where_there_is_a_place(tmp_path, monkeypatch, gone):
    parent, make = tmp_path / "parent", atomic_files.tempfile.mkdtemp
    parent.mkdir()
    made = []

    def taken_away(**options):
        made.append(make(**options))
        if len(made) == 1:
            os.rmdir(made[0])
            if gone == "parent":
                parent.rmdir()
        return made[-1]

    monkeypatch.setattr(atomic_files.tempfile, "mkdtemp", taken_away)
    if gone == "parent":
        with pytest.raises(FileNotFoundError), draft(parent):
            pass
    else:
        with draft(parent) as folder:
            assert str(folder) == made[1]
            assert folder.is_dir()


def test_without_locks_and_for_several_calls_a_day_goes_by(tmp_path, monkeypatch):
    def no_locks(descriptor, how):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(platforms.fcntl, "flock", no_locks)
    left, sent, removed = tmp_path / ".new-left", temporary_folder(tmp_path), folder_to_remove(tmp_path)
    left.mkdir()
    with draft(tmp_path):
        pass
    assert set(tmp_path.iterdir()) == {left, sent, removed}
    for folder in (left, sent, removed):
        os.utime(folder, (time.time() - 90_000,) * 2)
    with draft(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not platforms.FORKS, reason="no process is forked there")
def test_a_process_that_was_forked_meanwhile_keeps_no_lock(tmp_path):
    ended, ending = os.pipe()
    with folder_lock(tmp_path), draft(tmp_path) as folder:
        number = os.fork()
        if number == 0:
            os.close(ending)
            os.read(ended, 1)
            os._exit(0)
        folder.rename(tmp_path / "entry")
    for place in (tmp_path, tmp_path / "entry"):
        descriptor = os.open(place, os.O_RDONLY)
        platforms.lock_file(descriptor)
        os.close(descriptor)
    os.close(ending)
    os.waitpid(number, 0)


def test_folders_of_other_kinds_stay(tmp_path):
    (tmp_path / ".unpack-abc").mkdir()
    with draft(tmp_path):
        pass
    assert (tmp_path / ".unpack-abc").is_dir()


def test_among_files_of_others_nothing_goes_but_drafts_of_the_same_kind(tmp_path):
    for name in (".old-photos", ".sent-letters", ".new-year", ".export-1"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    with draft(tmp_path, ".export-"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".new-year", ".old-photos", ".sent-letters"]
