# SPDX-License-Identifier: BSD-2-Clause
"""Several pcpus: every server is charged its budget, and the debug hypervisor finds nothing.

Guests that always want to run are charged their budgets; the decisions are those of the core built
here; on demand the hypervisor is built with `debug=y` and checks the core's conservation laws.

First in exact time, in which pcpus are kept in step. Then for longer in four threads of this host,
as fast as it lets them, so that pcpus meet in every way that they can. However late picks come
there, the budgets must hold all the same, because a debt is repaid out of the next budget. Servers
ask for 30 % of each pcpu, so that a host with two cores can follow. One that is busier than that
gives up pcpus for so long that a budget is lost: then there is nothing to see here.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.on_xen import OnXen, run_on_xen

from hyperperiod.model import Domain, Interface, Scope, System, Task, TaskKind, parse_policy
from hyperperiod.trace.format import Header, Kind, Records

PCPUS = 4
WITHIN = 0.02
_MS = 1_000_000
SERVERS = ((200 * _MS, 24 * _MS), (400 * _MS, 72 * _MS))
"""(period, budget) of two domains for each pcpu: 12 and 18 % of one."""
LATE_NS = 100 * _MS
"""A pick that comes later may cost a server its budget."""


def busy_system(policy: str) -> System:
    """Two domains per pcpu that never sleep."""
    rules = parse_policy(policy)
    hog = Task(name="hog", kind=TaskKind.BUSY)
    pinned = rules.scope is Scope.PARTITIONED
    domains = tuple(
        Domain(
            name=f"d{number}",
            pcpu=number // len(SERVERS) if pinned else None,
            interface=Interface(period_ns=period_ns, budget_ns=budget_ns),
            tasks=(hog,),
        )
        for number, (period_ns, budget_ns) in enumerate(SERVERS * PCPUS)
    )
    name = f"busy-{policy.replace('+', '-')}"
    return System(name=name, policy=rules, pcpus=PCPUS, domains=domains)


def charged(trace: tuple[Header, Records]) -> list[int]:
    """What each server was charged at its own level."""
    header, records = trace
    charges = records[records["kind"] == Kind.CHARGE]
    return [
        int(charges["value"][charges["payer"] == vcpu].sum())
        for vcpu in range(len(header["vcpus"]))
    ]


def gets_what_it_was_promised(seen: OnXen, horizon_ns: int) -> None:
    header = seen.trace[0]
    late_ns = header.get("lateness_ns", 0)
    if late_ns > LATE_NS:
        pytest.skip(f"this host is too busy: a pick came {late_ns / 1e6:.0f} ms late")
    for entry, charged_ns in zip(header["vcpus"], charged(seen.trace), strict=True):
        period_ns, budget_ns = entry["period_ns"], entry["budget_ns"]
        assert period_ns is not None
        assert budget_ns is not None
        promised_ns = horizon_ns * budget_ns // period_ns
        # The last pick of the run may be late, too.
        allowed_ns = WITHIN * promised_ns + late_ns
        assert abs(charged_ns - promised_ns) <= allowed_ns, (entry["name"], charged_ns)


@pytest.mark.parametrize(
    ("policy", "flavour"),
    [
        ("rtds", "arm64"),
        pytest.param("rtds", "arm64-debug", marks=pytest.mark.slow),
        pytest.param("ds", "arm64-debug", marks=pytest.mark.slow),
    ],
)
def test_budgets_on_four_pcpus(policy: str, flavour: str, tmp_path: Path) -> None:
    horizon_ns = 2_000 * _MS
    seen = run_on_xen(busy_system(policy), horizon_ns, 1, tmp_path, flavour=flavour)
    assert seen.result.timing is None
    gets_what_it_was_promised(seen, horizon_ns)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        *("ptps", "wcps", "crps", "ds", "polling", "sporadic", "cbs", "partitioned-hsf-fp"),
        *("rtds", "ertds", "periodic+edf+none+global", "cbs+fp+extra+global"),
    ],
)
def test_budgets_in_threads_for_ten_seconds(policy: str, tmp_path: Path) -> None:
    horizon_ns = 10_000 * _MS
    system = busy_system(policy)
    seen = run_on_xen(system, horizon_ns, 1, tmp_path, flavour="arm64-debug", icount=False)
    gets_what_it_was_promised(seen, horizon_ns)
