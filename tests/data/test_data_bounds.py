"""The memory that a process may take is bounded by every control group that it is in, not by that of all alone."""

import pytest

from zslplat.data.formats import bounds
from zslplat.evaluation.workers import memory

MIB = 1 << 20


def group(folder, most, held, limit, used, cached=0):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / most).write_text(f"{limit}\n")
    (folder / held).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon {used - cached}\ninactive_file {cached}\nactive_file 0\n")


@pytest.fixture
def groups(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(bounds, "_OWN", tmp_path / "own")
    return tmp_path / "groups"


def test_a_batch_job_is_bounded_by_its_own_group(groups, tmp_path):
    names = ("memory.max", "memory.current")
    (tmp_path / "own").write_text("0::/slurm/job_7/step_0/task_0\n")
    group(groups / "slurm", *names, "max", 90 * MIB)
    group(groups / "slurm/job_7", *names, 50 * MIB, 30 * MIB, cached=10 * MIB)
    group(groups / "slurm/job_7/step_0/task_0", *names, "max", 30 * MIB)
    group(groups / "slurm/job_8", *names, MIB, MIB)
    assert memory.machine_bytes() == 50 * MIB
    assert bounds.free_bytes() == 30 * MIB


@pytest.mark.parametrize("own", ["4:memory:/slurm/job_7\n0::/\n", "4:memory:/docker/0123\n0::/../other\n", None])
def test_groups_of_the_first_version_and_of_containers_count(groups, tmp_path, own):
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    if own is not None:
        (tmp_path / "own").write_text(own)
    # A container is shown its own group in the place of that of all, whatever it is called outside.
    group(groups / "memory", *names, 60 * MIB, 20 * MIB)
    group(groups / "memory/slurm/job_7", *names, 40 * MIB, 20 * MIB)
    limit = 40 * MIB if own and "slurm" in own else 60 * MIB
    assert memory.machine_bytes() == limit
    assert bounds.free_bytes() == limit - 20 * MIB
