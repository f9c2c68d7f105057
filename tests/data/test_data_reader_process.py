"""Files are read in another process: its death, greed or endless loop is one clear error, and honest answers return."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import scipy.io
from commands import runs

from zslplat.data.formats import reader_process
from zslplat.data.formats.matlab import MatlabFile
from zslplat.errors import DataError, MissingDataError


# What the reading process is asked to call here, in place of a library.
def die(path, number):
    os.kill(os.getpid(), number)


def spin(path):
    while True:
        pass


def swallow(path):
    return len(bytearray(1 << 44))


def blocks(path, count):
    for number in range(count):
        yield np.full((300, 2), number, dtype=np.float32)


def dying_blocks(path, count):
    yield from blocks(path, count)
    os.kill(os.getpid(), signal.SIGSEGV)


def echo(path, value):
    return value


def array(path, case):
    return ARRAYS[case]


def refuse(path, known):
    raise MissingDataError("not here") if known else ValueError("two\nlines")


def whoami(path):
    return os.getpid()


ARRAYS = {
    "large": np.arange(3 << 20, dtype=np.float64).reshape(3, 4, -1),
    "empty": np.zeros((0, 5), dtype=np.int8),
    "single": np.array(2.5),
    "texts": np.array([["ox", "käfer"], ["", "\ud800x"]]),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "swapped": np.arange(4, dtype=">i4"),
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"x")
    return path


FORM = reader_process.Form("a file of tests", "mend it")
read, stream = FORM.read, FORM.stream


def goes_on(pid):
    try:
        return runs(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


def children():
    return {child.pid for child in psutil.Process().children(recursive=True) if runs(child)}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_come_back_as_they_were(file, case):
    found = read(array, file, case)
    assert found.dtype == ARRAYS[case].dtype
    assert found.shape == ARRAYS[case].shape
    assert np.array_equal(found, ARRAYS[case])
    assert found.flags.writeable


def test_texts_come_back_as_they_were(file):
    value = {"names": ["ox", "a\nb", "\udc80", "käfer"], "shape": [1, 2], "none": None}
    assert read(echo, file, value) == value


def test_streams_may_be_read_at_the_same_time_and_left_early(file):
    pairs = zip(stream(blocks, file, 9), stream(blocks, file, 9), strict=True)
    assert [(a[0, 0], b[299, 1]) for a, b in pairs] == [(k, k) for k in range(9)]
    some = stream(blocks, file, 9)
    assert next(some)[0, 0] == 0
    some.close()
    assert read(echo, file, 7) == 7


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE])
def test_death_is_one_clear_error_and_the_next_file_is_read(file, number):
    with pytest.raises(DataError, match=f"cannot be read .*ended the process that read it: {number.name}"):
        read(die, file, int(number))
    assert read(echo, file, 3) == 3


def test_death_in_the_middle_of_a_stream_is_one_clear_error(file):
    found = stream(dying_blocks, file, 3)
    assert [next(found)[0, 0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(DataError, match="SIGSEGV"):
        next(found)


@pytest.mark.long
def test_an_endless_loop_is_ended_after_some_processor_time(file, monkeypatch):
    monkeypatch.setattr(reader_process, "SECONDS", 1)
    with pytest.raises(DataError, match="more than 1 s of processor time"):
        read(spin, file)


def test_greed_for_memory_is_refused(file):
    with pytest.raises(DataError, match=r"takes more than the .* GB of memory that are free"):
        read(swallow, file)
    assert read(echo, file, 5) == 5


def test_errors_of_the_package_stay_what_they_are_and_others_are_one_line(file):
    with pytest.raises(MissingDataError, match=r"^not here$"):
        read(refuse, file, True)
    with pytest.raises(DataError, match=r"cannot be read as a file of tests \(two lines\); mend it$"):
        read(refuse, file, False)


def test_one_process_serves_many_reads_and_ends_with_the_pool(file):
    first = read(whoami, file)
    assert read(whoami, file) == first != os.getpid()
    assert first in children()
    reader_process._POOL.close()
    assert first not in children()


def test_a_search_path_with_what_is_no_text_is_handed_on_without_it(file, monkeypatch):
    monkeypatch.setattr(reader_process, "_POOL", reader_process._Pool())
    monkeypatch.setattr(sys, "path", [*sys.path, Path("elsewhere")])
    assert len(list(stream(blocks, file, 3))) == 3
    reader_process._POOL.close()


def test_a_process_that_ended_for_want_of_requests_is_replaced(file):
    first = read(whoami, file)
    psutil.Process(first).kill()
    psutil.Process(first).wait(800)
    assert read(whoami, file) != first


def test_the_process_ends_with_the_one_that_asked(file):
    reader, writer = os.pipe()
    forked = os.fork()
    if not forked:
        os.write(writer, str(read(whoami, file)).encode())
        os._exit(0)  # as a kill does: nothing is put away
    os.waitpid(forked, 0)
    served = int(os.read(reader, 99))
    end = time.monotonic() + 800
    while goes_on(served) and time.monotonic() < end:
        time.sleep(0.02)
    assert not goes_on(served)


def test_damaged_matlab_files_end_in_values_or_one_clear_error(tmp_path):
    names = np.array([["ox"], ["mole"]], dtype=object)
    held = {"features": np.random.default_rng(0).random((6, 9)), "labels": np.arange(9), "names": names}
    draw = random.Random(3)
    path, refused = tmp_path / "a.mat", 0
    for number in range(120):
        scipy.io.savemat(path, held, do_compression=bool(number % 2))
        content = bytearray(path.read_bytes())
        for _ in range(draw.choice((1, 1, 2, 8))):
            place = draw.randrange(128, len(content) - 4)
            content[place : place + 4] = draw.choice((b"\xff\xff\xff\x7f", bytes(4), draw.randbytes(4)))
        path.write_bytes(content[: draw.choice((len(content), draw.randrange(len(content))))])
        refused += not read_all(path)
    assert refused > 10


def read_all(path):
    """Tell whether a file and all of its variables can be read; raises what is no clear error."""
    try:
        file = MatlabFile(path)
        for name in file.names:
            for how in (file.numbers, file.strings, lambda name: list(file.slices(name, 1, 4))):
                with contextlib.suppress(DataError):
                    how(name)
    except DataError as error:
        return not str(error).startswith(f"{path}: cannot be read")
    return True
