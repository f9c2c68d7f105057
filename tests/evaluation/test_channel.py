"""Messages between scorer and method process: what arrives is what was sent, and nothing around it."""

from __future__ import annotations

import multiprocessing
import os
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from zslplat.data.store.row_sources import Stored
from zslplat.errors import StoreError
from zslplat.evaluation.workers import channel, method_process, proxies
from zslplat.evaluation.workers.channel import IN_BAND_BYTES, SEPARATE_BYTES, CopyingChannel, SharedChannel, pack


@pytest.fixture(params=[SharedChannel, CopyingChannel])
def ends(request):
    ours, theirs = (request.param(connection) for connection in multiprocessing.Pipe())
    yield ours, theirs
    for end in (ours, theirs):
        end.detach()
        end.connection.close()


def through(ends, value):
    ours, theirs = ends
    with ThreadPoolExecutor(1) as sender:
        sent = sender.submit(ours.send, pack(value))
        received = theirs.receive()
        sent.result()
    return received


def whole(array):
    """Return the largest array or buffer that an array is a part of, in bytes."""
    size = array.nbytes
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
        size = max(size, memoryview(array).nbytes)
    return size


@pytest.mark.parametrize("size", [0, 10, IN_BAND_BYTES, 100_000, SEPARATE_BYTES // 8 + 1])
def test_arrays_arrive_as_they_were(ends, size):
    values = np.random.default_rng(0).random(size)
    for array in (values, values.astype(np.float32), values > 0.5, np.broadcast_to(1.5, (size, 2)), values[::-2]):
        found = through(ends, {"array": array})["array"]
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


def test_the_order_of_elements_in_memory_is_kept(ends):
    array = np.asfortranarray(np.random.default_rng(0).random((300, 200)))
    assert through(ends, array).flags.f_contiguous


def test_rows_of_a_larger_array_arrive_alone(ends):
    table = np.random.default_rng(0).random((40_000, 40))
    for rows in (slice(100, 130), slice(100, 9000), slice(0, 39_000), np.arange(0, 40_000, 3)):
        found = through(ends, table[rows])
        np.testing.assert_array_equal(found, table[rows])
        assert whole(found) <= table[rows].nbytes


def test_a_message_is_not_changed_by_later_ones(ends):
    messages = [np.full(size, number, dtype=float) for number, size in enumerate((50_000, 2_000_000, 30_000, 70_000))]
    found = [through(ends, [message, message + 0.5]) for message in messages]
    for (one, other), message in zip(found, messages, strict=True):
        np.testing.assert_array_equal(one, message)
        np.testing.assert_array_equal(other, message + 0.5)


def test_no_descriptor_is_left_open(ends):
    array = np.zeros(2 * SEPARATE_BYTES)
    through(ends, [np.zeros(10_000), array])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        through(ends, [np.zeros(10_000), array])
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_many_large_arrays_go_in_one_message(ends):
    arrays = [np.full(SEPARATE_BYTES // 8 + 1, float(number)) for number in range(4)] + [np.zeros(300_000)] * 2
    for found, array in zip(through(ends, arrays), arrays, strict=True):
        np.testing.assert_array_equal(found, array)


def test_a_message_takes_more_files_than_one_call_hands_over(ends, tmp_path):
    ours, theirs = ends
    (tmp_path / "file").write_bytes(b"x")
    descriptors = [os.open(tmp_path / "file", os.O_RDONLY) for _ in range(300)]
    files = []
    ours.send(pack("all"), descriptors)
    assert theirs.receive(files=files) == "all"
    assert [os.read(descriptor, 1) for descriptor in files] == [b"x"] * 300
    for descriptor in files:
        os.close(descriptor)


@pytest.mark.parametrize(("sent", "room"), [(50, 20), (250, 220), (450, 20)])
def test_where_descriptors_run_out_a_message_fails_and_none_stays_open(tmp_path, sent, room):
    ours, theirs = (SharedChannel(connection) for connection in multiprocessing.Pipe())
    (tmp_path / "file").write_bytes(b"x")
    before = len(os.listdir("/proc/self/fd"))
    ours.send(pack("all"), [os.open(tmp_path / "file", os.O_RDONLY) for _ in range(sent)])
    first_free = os.dup(0)
    os.close(first_free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (first_free + room, hard))
        with pytest.raises(StoreError, match="Too many open files"):
            theirs.receive()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(os.listdir("/proc/self/fd")) == before
    ours.send(pack("the next one"))
    assert theirs.receive() == "the next one"


def test_a_sender_waits_where_files_are_lost_until_they_arrived_or_the_other_end_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(channel, "FORKS", False)
    (tmp_path / "file").write_bytes(b"x")
    for received in (True, False):
        ours, theirs = (SharedChannel(connection) for connection in multiprocessing.Pipe())
        with ThreadPoolExecutor(1) as sender:
            sent = sender.submit(ours.send, pack("all"), [os.open(tmp_path / "file", os.O_RDONLY)])
            with pytest.raises(TimeoutError):
                sent.result(0.2)
            files = []
            if received:
                theirs.receive(files=files)
            theirs.detach()
            theirs.connection.close()
            assert isinstance(sent.exception(60), type(None) if received else EOFError)
        assert [os.read(descriptor, 1) for descriptor in files] == [b"x"] * received
        for descriptor in files:
            os.close(descriptor)


def test_what_was_opened_for_a_message_is_closed_where_memory_runs_out(tmp_path, monkeypatch):
    ours, theirs = (SharedChannel(connection) for connection in multiprocessing.Pipe())
    (tmp_path / "file").write_bytes(b"x")
    files = [os.open(tmp_path / "file", os.O_RDONLY) for _ in range(3)]
    packed = pack([np.full(SEPARATE_BYTES // 8 + 1, float(number)) for number in range(8)])
    before, left = len(os.listdir("/proc/self/fd")), iter(range(4))
    write = os.pwrite

    def run_out(*arguments):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        return write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", run_out)
        with pytest.raises(StoreError, match="No space left on device"):
            ours.send(packed, files)
    assert len(os.listdir("/proc/self/fd")) == before - 3
    np.testing.assert_array_equal(through((ours, theirs), [np.arange(5000.0)])[0], np.arange(5000.0))


@pytest.mark.parametrize("windows", [False, True])
def test_rows_that_are_gone_are_a_fault_of_the_disk_and_end_no_process(windows, tmp_path, monkeypatch):
    rows = np.random.default_rng(0).random((4, 3))
    rows.tofile(tmp_path / "rows")
    gone = Stored(str(tmp_path / "gone"), "float64", (4, 3), 0)
    mapped = np.memmap(tmp_path / "rows", "float64", "r", shape=(4, 3))
    if windows:
        for module in (method_process, proxies):
            monkeypatch.setattr(module, "Channel", CopyingChannel)
        monkeypatch.setattr(proxies, "open_files", lambda paths: paths)
    ours, theirs = multiprocessing.Pipe()
    ended = []
    server = threading.Thread(target=lambda: ended.append(method_process.serve(theirs)))
    server.start()
    client = proxies.MethodClient(None, ours)
    try:
        with pytest.raises(
            (StoreError, proxies.MethodFailed), match=r"rows in .*gone cannot be read: No such"
        ) as caught:
            client.ask("length", gone)
        assert method_process.failure(caught.value)["fatal"] if not windows else caught.value.fatal
        with monkeypatch.context() as patch:
            patch.setattr(method_process, "mmap", SimpleNamespace(mmap=refuse_memory, ACCESS_READ=1))
            with pytest.raises(proxies.MethodFailed, match="the rows cannot be read: Cannot allocate memory") as caught:
                client.ask("length", mapped)
            assert caught.value.fatal
        assert client.ask("length", mapped) == 4
    finally:
        client.end()
        server.join(600)
    assert ended == [True]


def refuse_memory(*arguments, **options):
    raise OSError(12, "Cannot allocate memory")
