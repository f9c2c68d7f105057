"""The fork server of workers begins wherever a program runs, whatever its folders are called and its paths hold."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing.process import current_process
from pathlib import Path

import pytest

from zslplat.evaluation.workers import fork_server, worker


@pytest.fixture
def begun(monkeypatch):
    """Begin another fork server, and return it."""
    monkeypatch.setattr(fork_server, "_server", fork_server._Server())
    servers = []

    def begin():
        fork_server.begin(("json",))
        servers.append(fork_server._server)
        return fork_server._server

    yield begin
    for server in servers:
        os.close(server._forkserver_alive_fd)  # its end
        assert os.waitpid(server._forkserver_pid, 0)[1] == 0
        Path(server._forkserver_address).unlink()


def test_it_begins_where_the_folder_of_temporary_files_has_a_long_name(begun, tmp_path, monkeypatch):
    long = tmp_path / ("x" * 60) / ("y" * 60)
    long.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    monkeypatch.setitem(current_process()._config, "tempdir", None)
    assert len(begun()._forkserver_address) < fork_server._MOST_ADDRESS
    # What else the program puts into temporary folders goes where it was told to.
    assert current_process()._config["tempdir"] is None


def test_it_begins_where_the_search_path_holds_what_is_no_text(begun, monkeypatch):
    path = [*sys.path, Path("elsewhere")]
    monkeypatch.setattr(sys, "path", path)
    begun()
    assert sys.path is path
    assert path[-1] == Path("elsewhere")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are not forked")
def test_what_draws_is_imported_once_for_all_workers():
    ours, theirs = multiprocessing.Pipe()
    process = worker._process_class()(target=tell_of, args=(theirs, ("matplotlib.figure", "zslplat.drawing")))
    process.start()
    assert ours.poll(800)
    assert ours.recv() == [True, True]
    process.join()


def tell_of(connection, modules):
    connection.send([name in sys.modules for name in modules])


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are not forked")
def test_modules_in_the_folder_of_the_command_are_none_of_zslplats_own(program_environment, new_store, tmp_path):
    """In a clone, or beside it, lies a folder of the same name, and any file may be called queue."""
    folder, script = tmp_path / "work", tmp_path / "bin" / "start.py"
    script.parent.mkdir()
    script.write_text("from zslplat.cli import main\nraise SystemExit(main())\n")
    (folder / "zslplat").mkdir(parents=True)
    new_store(folder)
    for name in ("zslplat/__init__.py", "queue.py", "json.py", "sklearn.py"):
        (folder / name).write_text("raise SystemExit('another module was imported')\n")

    def tune(alpha):
        command = [sys.executable, script, "tune", "-m", f"eszsl(alpha={alpha}, gamma=1)", "-q"]
        return subprocess.run(command, cwd=folder, env=program_environment, capture_output=True, text=True)

    done = tune(1)
    assert done.returncode == 0, done.stderr
    (folder / "zslplat" / "__init__.py").unlink()  # a folder without it is half a package
    done = tune(2)
    assert done.returncode == 0, done.stderr


def test_nothing_is_left_of_a_program_that_is_killed_before_it_has_workers():
    # The address of a socket must be short.
    with tempfile.TemporaryDirectory() as name:
        leaves_nothing_in(Path(name))


def leaves_nothing_in(folder):
    begin = "fork_server.begin(['json'])"
    code = f"from zslplat.evaluation.workers import fork_server; {begin}; print('there', flush=True); input()"
    leader = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert leader.stdout.readline() == "there\n"
    assert list(folder.glob("pymp-*/listener-*"))
    leader.kill()
    leader.communicate()
    end = time.monotonic() + 60
    while list(folder.iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not list(folder.iterdir())
