"""A lock keeps others out, says what is wrong where there are none, and survives that its file is removed."""

import errno
import fcntl
import time

import pytest

from zslplat.errors import InUseError, StoreError
from zslplat.records.locks import file_lock


def test_who_comes_second_is_told_that_it_is_in_use(tmp_path):
    path = tmp_path / "lock"
    with (
        file_lock(path),
        pytest.raises(InUseError, match="the thing is in use"),
        file_lock(path, wait_seconds=0, holder="the thing"),
    ):
        pass


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_not_taken_for_another_process(tmp_path, monkeypatch, number):
    def refused(handle, operation):
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refused)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waits for locks that will never be"))
    told = r"cannot lock .*: no locks here; its file system keeps no locks"
    with pytest.raises(StoreError, match=told) as caught, file_lock(tmp_path / "lock"):
        pass
    assert not isinstance(caught.value, InUseError)


def test_a_file_that_is_removed_while_somebody_waits_does_not_let_two_in(tmp_path, monkeypatch):
    path = tmp_path / "study" / "lock"
    first = file_lock(path)
    first.__enter__()

    def removed(seconds):
        # As one who deletes the study does, while another command has opened its lock already.
        path.unlink()
        path.parent.rmdir()
        first.__exit__(None, None, None)

    monkeypatch.setattr(time, "sleep", removed)
    with file_lock(path), pytest.raises(InUseError), file_lock(path, wait_seconds=0):
        pass
