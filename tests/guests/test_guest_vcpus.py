# SPDX-License-Identifier: BSD-2-Clause
"""A domain with several vcpus that share one pcpu: its jobs are where the simulator has them.

This needs the hypervisor's grants to be those of the simulator, so it runs under our scheduler.
`CROWDED` is fifo, where no job is displaced: one that is displaced from a vcpu without a pcpu
cannot go elsewhere at once, as it can in the simulator (docs/xen/guests.md).
"""

import shutil
from collections import defaultdict
from pathlib import Path

import pytest
from tests.support.worlds import domain, run, system, task
from tests.support.xen_images import guest, image

from hyperperiod.hosts.xen.plan import XenOptions
from hyperperiod.model import System
from hyperperiod.runs import run_on_xen
from hyperperiod.trace.format import NONE, Kind, Records, read
from hyperperiod.trace.jobs import jobs

US = 1_000
MS = 1_000_000
HORIZON_NS = 500 * MS
SLACK_NS = 120 * US

SPREAD = system(
    "deferrable+fp+none",
    domain(
        "d",
        (5 * MS, 15 * MS),
        task("a", 20 * MS, 1300 * US, offset=300 * US),
        task("b", 30 * MS, 3100 * US, offset=700 * US),
        task("c", 55 * MS, 4300 * US, kind="sporadic", offset=1100 * US),
        task("e", 45 * MS, 2100 * US, offset=5900 * US, vcpu=1),
        vcpus=3,
        scheduler="rm",
    ),
)
CROWDED = system(
    "periodic+edf+none",
    domain(
        "d",
        (6 * MS, 16 * MS),
        task("a", 20 * MS, 3300 * US, offset=400 * US),
        task("b", 32 * MS, 5100 * US, offset=900 * US, etf=0.8),
        task("c", 50 * MS, 4700 * US, offset=2300 * US),
        task("f", 80 * MS, 6900 * US, offset=3700 * US, jitter=2 * MS),
        vcpus=2,
        scheduler="fifo",
    ),
)


def vcpus_of_jobs(records: Records) -> dict[tuple[int, int], list[int]]:
    """The vcpus that each job was executed on, in order."""
    places: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row in records:
        if row["kind"] != Kind.RUN or row["task"] == NONE:
            continue
        seen = places[int(row["task"]), int(row["job"])]
        if not seen or seen[-1] != row["vcpu"]:
            seen.append(int(row["vcpu"]))
    return places


@pytest.mark.parametrize("one", [SPREAD, CROWDED], ids=["spread", "crowded"])
def test_jobs_are_on_the_vcpus_of_the_simulator(one: System, tmp_path: Path) -> None:
    if shutil.which("qemu-system-aarch64") is None or shutil.which("dtc") is None:
        pytest.skip("apt-get install qemu-system-arm device-tree-compiler")
    guest()
    predicted = run(one, HORIZON_NS, check=False)
    trace = tmp_path / "xen.hpt"
    run_on_xen(one, HORIZON_NS, 1, trace, options=XenOptions(hypervisor=image("arm64")))
    header, records = read(trace)
    measured = {(job.task, job.job): job for job in jobs(header, records)}
    expected = vcpus_of_jobs(predicted.records)
    found = vcpus_of_jobs(records)
    compared = 0
    for number, told in enumerate(one.domains[0].tasks):
        for job in predicted.jobs(told.name):
            if job.finish_ns is None or job.finish_ns > HORIZON_NS - MS:
                continue
            compared += 1
            assert found[number, job.job] == expected[number, job.job], job
            finish_ns = measured[told.name, job.job].finish_ns
            assert finish_ns is not None
            assert 0 <= finish_ns - job.finish_ns < SLACK_NS, job
    assert compared > 40
