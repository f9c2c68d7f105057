"""``--memory`` is of all processes together: what is left for a worker, and how many workers there are for it."""

import pytest

from zslplat.errors import UsageError
from zslplat.evaluation.workers.memory import (
    LEADER_BYTES,
    LEAST_WORKER_BYTES,
    machine_bytes,
    memory_limit,
    worker_count,
)

GIB = 2**30


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_leader_and_workers_together_keep_to_the_memory(workers):
    assert LEADER_BYTES + workers * memory_limit(2, workers) <= 2 * GIB
    assert LEADER_BYTES + workers * (memory_limit(2, workers) + 1) > 2 * GIB


def test_without_a_bound_workers_share_most_of_the_machine():
    assert 3 * memory_limit(None, 3) <= 0.8 * machine_bytes()


def test_too_many_workers_for_the_memory_are_refused_with_what_they_need():
    with pytest.raises(UsageError, match=r"--memory 0\.5 is for all processes together, and 8 workers need 1\.9 GiB"):
        memory_limit(0.5, 8)


def test_there_are_fewer_workers_where_memory_is_short_unless_they_are_asked_for(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)), raising=False)
    assert worker_count(None) == worker_count(None, 8) == 4
    assert [worker_count(None, gigabytes) for gigabytes in (0.3, 1, 2)] == [1, 1, 2]
    assert worker_count(7, 1) == 7
    for gigabytes in (1, 1.5, 2, 4):
        assert memory_limit(gigabytes, worker_count(None, gigabytes)) > LEAST_WORKER_BYTES
