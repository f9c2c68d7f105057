"""
A cluster
=========

Trials can be evaluated on the workers of a Dask cluster instead of on local processes. This tutorial starts one on
this machine and gives it a study; the numbers are those of local workers.
"""

# %%
# That takes the package ``zslplat-dask``, ``pip install ./plugins/zslplat-dask``. Where it is missing, there is
# nothing to show.

import tempfile
from importlib.util import find_spec

import zslplat

installed = find_spec("zslplat_dask") is not None
if not installed:
    print("Skipped: no module named zslplat_dask. Install zslplat-dask, and build the pages again.")

# %%
# One Dask worker per machine, with as many threads as it has cores, holds each input once. Jobs run in processes of
# their own below it. A worker in this very process (``processes=False``) does for trying things out.

if installed:
    from distributed import LocalCluster

    scratch = tempfile.mkdtemp()
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0", local_directory=scratch
    )
    there = zslplat.tune("eszsl", trials=4, study="there", cluster=cluster.scheduler_address, quiet=True)
    cluster.close()
    print(there)

# %%
# The same study with local workers gives the same trials:

if installed:
    import matplotlib.pyplot as plt

    here = zslplat.tune("eszsl", trials=4, study="here", quiet=True)

    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    for study, marker in ((here, "o"), (there, "x")):
        axes.plot(study.to_frame()["value"], marker, markersize=10, fillstyle="none", label=study.name)
    axes.set(xlabel="trial", ylabel="validation", xticks=range(4))
    axes.legend(title="workers")
    assert (here.to_frame()["value"] == there.to_frame()["value"]).all()

# %%
# On the command line that is ``zslplat tune --method eszsl --cluster tcp://head:8786``. Machines of one's own, Slurm
# and Kubernetes, and what may go wrong, are in :doc:`/cluster`.
