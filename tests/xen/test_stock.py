# SPDX-License-Identifier: BSD-2-Clause
"""Systems under Xen's own schedulers, on a hypervisor without a change: they do what they were told
before the run began, with the jobs that every host has."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from tests.support.exported import server
from tests.support.on_xen import need_xen

from hyperperiod.hosts.qemu import COUNTER_HZ
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.xen.plan import XenOptions
from hyperperiod.hosts.xen.run import XENTRACE, run
from hyperperiod.model import System
from hyperperiod.observe.observe import Asked, observe
from hyperperiod.runs import simulate
from hyperperiod.trace.format import read

MS = 1_000_000
BUSY = {"task": [{"name": "t", "kind": "busy"}]}
# Twice as many as there is room for, of which one may have twice what the other has.
DOMAINS: list[dict[str, Any]] = [
    {"name": "control", "interface": server(3, 10),
     "task": [{"name": "loop", "kind": "sporadic", "period": 20 * MS, "jitter": 2 * MS,
               "wcet": 2 * MS, "etf": 0.7}]},
    {"name": "two", "interface": server(4, 20), **BUSY},
    {"name": "one", "interface": server(2, 20), **BUSY},
    {"name": "rest", "best_effort": True, **BUSY},
]  # fmt: skip
HORIZON_NS = 300 * MS


def on(host: str, folder: Path, domains: list[dict[str, Any]], pcpus: int = 1) -> RunResult:
    """The result of a run, whose jobs are those of the simulator, and whose trace it comes from."""
    need_xen("arm64-stock")
    one = System.of({"name": "s", "policy": "rtds", "pcpus": pcpus, "domain": domains})
    options, path = XenOptions(folder=folder).under(host), folder / "run.hpt"
    result = run(RunRequest(one, HORIZON_NS, 3, path), options=options)
    assert (result.host, f"xen-{result.policy}") == (host, host)
    assert result.timing is None
    assert [task.jobs for task in result.tasks] == [
        task.jobs for task in simulate(one, HORIZON_NS, 3).tasks
    ]
    supplied_ns = sum(domain.supply_ns for domain in result.domains)
    assert supplied_ns == sum(pcpu.busy_ns for pcpu in result.pcpus)
    assert read(path)[0]["policy"] == result.policy
    return result


def test_credit2_shares_by_weight(tmp_path: Path) -> None:
    control, two, one, rest = on("xen-credit2", tmp_path, DOMAINS).domains
    assert two.supply_ns == pytest.approx(2 * one.supply_ns, rel=0.1)
    assert control.supply_ns + two.supply_ns + one.supply_ns > 0.9 * HORIZON_NS
    assert 0 < rest.supply_ns < 0.1 * HORIZON_NS
    assert (tmp_path / XENTRACE).stat().st_size > 0


def test_rtds_gives_budgets_and_hands_on_the_rest(tmp_path: Path) -> None:
    """One that RTDS has begun before the epoch may come on top, and each ends a little late."""
    control, two, one, rest = on("xen-rtds", tmp_path, DOMAINS).domains
    for domain, budget_ns in ((two, 4 * MS), (one, 2 * MS)):
        share_ns = budget_ns * HORIZON_NS // (20 * MS)
        assert share_ns - budget_ns <= domain.supply_ns <= 1.01 * (share_ns + budget_ns)
    assert control.supply_ns < 0.3 * HORIZON_NS
    assert rest.supply_ns > 0.5 * HORIZON_NS


@pytest.mark.slow
def test_what_xen_recorded_can_be_observed(tmp_path: Path) -> None:
    """A vcpu does what its one task does: it wakes up for each job, and runs as long."""
    task = {"name": "t", "period": 5 * MS, "wcet": MS}
    on("xen-rtds", tmp_path, [{"name": "a", "interface": server(2, 5), "task": [task]}])
    found = observe(str(tmp_path / XENTRACE), Asked(cpu_hz=COUNTER_HZ)).result
    (seen,) = (one for one in found.threads if one.name == "d1v0")
    assert (seen.kind, seen.period_ns) == ("periodic", 5 * MS)
    assert MS <= seen.cost_max_ns < 1.1 * MS


@pytest.mark.slow
def test_a_vcpu_has_its_pcpu_under_null(tmp_path: Path) -> None:
    result = on("xen-null", tmp_path, [DOMAINS[0], DOMAINS[1]], pcpus=2)
    assert result.domains[1].supply_ns > 0.999 * HORIZON_NS
    (loop, _), (control, _) = result.tasks, result.domains
    assert loop.response_ns is not None
    assert loop.response_ns.max < 2.1 * MS
    assert control.supply_ns > 0.05 * HORIZON_NS


@pytest.mark.slow
@pytest.mark.parametrize("host", ["xen-credit2", "xen-rtds"])
def test_a_run_repeats_to_the_byte(host: str, tmp_path: Path) -> None:
    """Its trace, which ends at the horizon; in Xen's buffers is what was later, too."""
    found = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        on(host, tmp_path / name, DOMAINS)
        found.append((tmp_path / name / "run.hpt").read_bytes())
    assert found[0] == found[1]


@pytest.mark.slow
def test_ctrl_c_leaves_results_up_to_that_instant(tmp_path: Path) -> None:
    need_xen("arm64-stock")
    sent: list[int] = []

    def progress(now_ns: int) -> None:
        if now_ns >= 100 * MS and not sent:
            sent.append(now_ns)
            signal.raise_signal(signal.SIGINT)

    one = System.of({"name": "s", "policy": "rtds", "domain": DOMAINS})
    request = RunRequest(one, 60_000 * MS, 1, tmp_path / "run.hpt")
    result = run(request, progress, XenOptions(folder=tmp_path).under("xen-credit2"))
    assert result.interrupted
    assert 100 * MS <= result.horizon_ns < 60_000 * MS
    supplied_ns = sum(domain.supply_ns for domain in result.domains)
    assert 0.9 * result.horizon_ns < supplied_ns <= result.horizon_ns
    assert result.tasks[0].jobs == simulate(one, result.horizon_ns, 1).tasks[0].jobs


@pytest.mark.slow
@pytest.mark.parametrize("host", ["xen-credit2", "xen-rtds"])
def test_vcpus_go_to_any_of_several_pcpus(host: str, tmp_path: Path) -> None:
    result = on(host, tmp_path, DOMAINS, pcpus=2)
    assert [pcpu.id for pcpu in result.pcpus] == [0, 1]
    assert all(pcpu.busy_ns > 0.5 * HORIZON_NS for pcpu in result.pcpus)
