# SPDX-License-Identifier: BSD-2-Clause
"""Executives that schedule their jobs globally, over vcpus on pcpus of their own.

The executive takes all its vcpus to be there. Where each has a whole pcpu, that is so, and it does
what the simulator says of such guests: which job, on which vcpu, from when until when. The pcpus
are kept in step, so times are exact.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.on_xen import bound_ns, run_on_xen, with_overheads
from tests.support.robust import SEED, simulated

from hyperperiod.model import Domain, Interface, Scheduler, System, Task, parse_policy
from hyperperiod.trace.compare import compare
from hyperperiod.trace.format import NONE, Kind, Records

MS = 1_000_000
HORIZON_NS = 200 * MS
COMPARED = 0.85

TASKS = (("a", 7, 3, 1), ("b", 11, 5, 0), ("c", 20, 7, 3), ("d", 41, 11, 2))
"""Name, period, execution time (ms), priority: together 1.5 pcpus, and never two events at once."""


def whole(scheduler: str, pcpus: int = 2) -> System:
    """A guest whose vcpus have whole pcpus."""
    ranked = Scheduler(scheduler).takes_priorities
    tasks = tuple(
        Task(
            name=name,
            period_ns=period * MS,
            wcet_ns=wcet * MS,
            offset_ns=(1 + index) * 230_000,
            priority=rank if ranked else None,
        )
        for index, (name, period, wcet, rank) in enumerate(TASKS)
    )
    guest = Domain(
        name="guest",
        scheduler=Scheduler(scheduler),
        vcpus=pcpus,
        pcpus=tuple(range(pcpus)),
        interface=Interface(period_ns=10 * MS, budget_ns=10 * MS),
        tasks=tasks,
    )
    return System(
        name=f"whole-{scheduler}", policy=parse_policy("ds"), pcpus=pcpus, domains=(guest,)
    )


Start = tuple[int, int]
"""When a job began or went on on a vcpu, and on which."""


def starts_of(records: Records) -> dict[tuple[int, int], list[Start]]:
    """Where each job (task, number) was executed in turn, and since when."""
    found: dict[tuple[int, int], list[Start]] = {}
    for row in records[(records["kind"] == Kind.RUN) & (records["task"] != NONE)]:
        starts = found.setdefault((int(row["task"]), int(row["job"])), [])
        if not starts or starts[-1][1] != row["vcpu"]:
            starts.append((int(row["time_ns"]), int(row["vcpu"])))
    return found


@pytest.mark.parametrize("scheduler", [one.value for one in Scheduler if one.is_global])
def test_jobs_move_as_in_the_simulator(scheduler: str, tmp_path: Path) -> None:
    system = whole(scheduler)
    on_xen = run_on_xen(system, HORIZON_NS, SEED, tmp_path)
    in_simulator = simulated(with_overheads(system), HORIZON_NS)
    found = compare(in_simulator, on_xen.trace, bound_ns())
    print(f"{scheduler}: {found.text()}")
    assert found.agrees, found.text()
    assert found.compared_ns >= COMPARED * found.total_ns, found.text()
    ideal, real = starts_of(simulated(system, HORIZON_NS)[1]), starts_of(on_xen.trace[1])
    alike = [job for job in ideal if vcpus_of(ideal[job]) == vcpus_of(real[job])]
    late = [[x - y for (x, _), (y, _) in zip(real[job], ideal[job], strict=True)] for job in alike]
    began = sorted(delays[0] for delays in late)
    moved = sorted(delay for delays in late for delay in delays[1:])
    print(f"ns after the ideal instant: begins {began}, moves {moved}")
    assert len(alike) >= 0.95 * len(ideal)
    assert len(moved) >= 10
    assert moved[-1] <= began[-1]


def vcpus_of(starts: list[Start]) -> list[int]:
    return [vcpu for _, vcpu in starts]
