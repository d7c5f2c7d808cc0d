# SPDX-License-Identifier: BSD-2-Clause
"""The program for batch systems that docs/sweep.md shows: it gives a sweep the workers of jobs.

There is no batch system here. What SLURM would be given is looked at, and the same program is run
with dask-jobqueue's own stand-in, which starts each job as a process of this machine.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sweep.sweeps import SMALL, files_of, swept, written

PAGE = Path(__file__).parents[2] / "docs" / "sweep.md"
(SHOWN,) = re.findall(
    r'^```python title="cluster.py"\n(from dask_jobqueue .*?)^```', PAGE.read_text(), re.M | re.S
)
IMPORT, SIZE, JOBS = (
    "from dask_jobqueue import SLURMCluster\n",
    'cores=32, processes=32, memory="64GB"',
    "jobs=8",
)


def environment(kind: str) -> dict[str, str]:
    """Variables that keep a cluster of this kind of batch system on loopback."""
    return os.environ | {f"DASK_JOBQUEUE__{kind}__INTERFACE": "lo"}


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address that the program prints, with one job of two workers in place of eight of 32."""
    local = SHOWN.replace(IMPORT, "from dask_jobqueue.local import LocalCluster as SLURMCluster\n")
    for shown, smaller in ((SIZE, 'cores=2, processes=2, memory="1GB"'), (JOBS, "jobs=1")):
        assert local.count(shown) == 1
        local = local.replace(shown, smaller)
    assert "dask_jobqueue.local" in local
    program = subprocess.Popen(
        [sys.executable, "-u", str(written(tmp_path, local, "cluster.py"))],
        cwd=tmp_path,
        env=environment("LOCAL"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert program.stdout is not None
        yield program.stdout.readline().strip()
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()


def test_a_sweep_on_workers_of_jobs_writes_what_one_process_writes(
    tmp_path: Path, scheduler: str
) -> None:
    assert scheduler.startswith("tcp://127.0.0.1:")
    path = written(tmp_path, SMALL)
    there = swept(path, tmp_path / "there", "--scheduler", scheduler)
    assert (there.returncode, there.stderr) == (0, "")
    assert swept(path, tmp_path / "here").returncode == 0
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")


def test_a_job_for_slurm_starts_as_many_workers_as_it_has_cores(tmp_path: Path) -> None:
    (made,) = re.findall(r"^cluster = .*\n", SHOWN, re.M)
    program = f"{IMPORT}{made}print(cluster.job_script())\ncluster.close()\n"
    assert IMPORT in SHOWN
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment("SLURM"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for line in ("#SBATCH --cpus-per-task=32", "#SBATCH -t 04:00:00", "--nworkers 32"):
        assert line in done.stdout
    assert "--nthreads 1 " in done.stdout
