"""The log of workers keeps the latest of what they print, and is bounded while they print."""

import os

from zslplat.evaluation.workers import guardian as worker_log
from zslplat.evaluation.workers.guardian import WorkerLog


def fed(log, wake, text):
    os.write(wake, text)
    assert log.copy()


def opened(path):
    source, wake = os.pipe()
    os.set_blocking(source, False)
    return WorkerLog(path, source), wake


def test_a_log_of_two_workers_is_bounded_and_ends_with_the_latest(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_log, "MOST_BYTES", 100_000)
    path = tmp_path / "workers.log"
    writers = [opened(path), opened(path)]
    for number in range(300):
        for name, (log, wake) in zip("ab", writers, strict=True):
            fed(log, wake, f"{name}{number:05d} {'x' * 992}\n".encode())
            assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 3 * 100_000
    assert sorted(file.name for file in tmp_path.iterdir()) == ["workers.log", "workers.log.1"]
    assert [line[:6] for line in path.read_text().splitlines()[-2:]] == ["a00299", "b00299"]


def test_what_cannot_be_written_is_lost_and_the_end_is_told(tmp_path):
    log, wake = opened(tmp_path / "nowhere" / "workers.log")
    fed(log, wake, b"text")
    os.close(wake)
    assert not log.copy()
