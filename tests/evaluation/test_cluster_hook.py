"""What runs jobs on a cluster comes from a package, which names its class in an entry-point group."""

from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from zslplat.errors import UsageError
from zslplat.evaluation.jobs import Answer, Job, Limits, WorkerSettings
from zslplat.evaluation.workers import pool


class Echo:
    """A cluster that answers every job with the address it was made for."""

    def __init__(self, address, settings, say):
        self.address, self.closed = address, []

    def submit(self, job, limits):
        future = Future()
        future.set_result(Answer({"address": self.address}))
        return future

    def close(self):
        self.closed.append(True)

    @staticmethod
    def threads(address):
        return 3


def test_jobs_go_to_the_class_of_the_installed_package(monkeypatch, tmp_path):
    monkeypatch.setattr(pool, "entry_points", lambda group: [SimpleNamespace(load=lambda: Echo)])
    with pool.Workers(1, WorkerSettings(tmp_path), "tcp://there:1") as workers:
        answers = workers.run([Job(), Job()], Limits())
        cluster = workers._cluster
    assert [answer.result for answer in answers] == [{"address": "tcp://there:1"}] * 2
    assert cluster.closed == [True]
    assert pool.cluster_class().threads("tcp://there:1") == 3


def test_a_cluster_without_its_package_is_an_error_that_names_it(monkeypatch, tmp_path):
    monkeypatch.setattr(pool, "entry_points", lambda group: [])
    with (
        pool.Workers(1, WorkerSettings(tmp_path), "tcp://there:1") as workers,
        pytest.raises(UsageError, match="pip install zslplat-dask"),
    ):
        workers.run([Job()], Limits())
