# SPDX-License-Identifier: BSD-2-Clause
"""Hot swaps on Xen: the policy is replaced while guests run, and nobody is hurt.

The three policies of periodic servers are swapped for one another, each for each other, at
instants that have nothing to do with anybody's period. What is schedulable under all three
misses nothing; every job that is released completes; every arrival that a guest's release causes
is in the hypervisor's ring; and the whole trace has every property.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from tests.support.guarantees import schedulable
from tests.support.on_xen import OnXen, need_xen, run_on_xen

from hyperperiod.analysis import analyze
from hyperperiod.model import Swap, System, TaskKind, with_policy
from hyperperiod.model.policy import PRESETS
from hyperperiod.trace.format import Kind
from hyperperiod.trace.jobs import Job, jobs

ROUND = ("wcps", "crps", "ptps", "crps", "wcps", "ptps")
"""From ptps on: each policy follows each other one once, and the round ends where it began."""
_MS = 1_000_000
WAKE_NS = 20_000
"""Long enough for a guest to go to sleep, and for a wake to reach the core."""


def swapped(system: System, rounds: int, apart_ns: int) -> System:
    """The system with `rounds` rounds of swaps, each within some `apart_ns` of the one before."""
    draw = random.Random(system.name)
    at_ns = 0
    swaps = []
    for policy in ROUND * rounds:
        at_ns += draw.randint(apart_ns // 2, apart_ns)
        swaps.append(Swap(at_ns=at_ns, policy=PRESETS[policy]))
    return system.replace(swaps=tuple(swaps))


def systems() -> Iterator[System]:
    """Schedulable under all three policies, beginning with ptps.

    Budgets are those of wcps, whose loans make more events than the others have.
    """
    for system, _ in schedulable("wcps"):
        others = [with_policy(system, PRESETS[name]) for name in ("ptps", "crps")]
        if all(analyze(other).schedulable for other in others):
            yield others[0]


def test_the_round_visits_all_ordered_pairs() -> None:
    pairs = set(zip(("ptps", *ROUND), ROUND, strict=False))
    assert len(pairs) == len(ROUND) == 6


def nothing_is_lost(seen: OnXen, system: System, horizon_ns: int) -> None:
    header, records = seen.trace
    assert int((records["kind"] == Kind.SWAP).sum()) == len(system.swaps)
    for domain in seen.result.domains:
        for task in domain.tasks:
            assert task.misses == 0, (system.name, domain.name, task.name)
    for job in jobs(header, records):
        if job.deadline_ns is not None and job.deadline_ns <= horizon_ns:
            assert job.finish_ns is not None, job
    every_release_is_counted(system, seen)
    every_wake_arrives(seen)


def every_release_is_counted(system: System, seen: OnXen) -> None:
    """Periodic tasks have exactly the jobs that their period asks for."""
    header, records = seen.trace
    released = records[records["kind"] == Kind.RELEASE]
    horizon_ns = header["horizon_ns"]
    number = 0
    for domain in system.domains:
        for task in domain.tasks:
            if task.kind is TaskKind.PERIODIC and task.jitter_ns == 0:
                assert task.period_ns is not None
                due = -(-(horizon_ns - task.offset_ns) // task.period_ns)
                assert int((released["task"] == number).sum()) == due, (domain.name, task.name)
            number += 1


def every_wake_arrives(seen: OnXen) -> None:
    """Whenever a job is released into a sleeping guest, its vcpu arrives, and at no other time."""
    header, records = seen.trace
    found = jobs(header, records)
    for vcpu, entry in enumerate(header["vcpus"]):
        arrivals = records["time_ns"][(records["kind"] == Kind.ARRIVE) & (records["vcpu"] == vcpu)]
        wakes = _wakes([job for job in found if job.domain == entry["domain"]])
        assert len(arrivals) <= len(wakes)
        for wake_ns, asleep in wakes:
            after = arrivals[(arrivals >= wake_ns) & (arrivals < wake_ns + WAKE_NS)]
            assert len(after) == 1 or not asleep, (entry["name"], wake_ns)


def _wakes(its: list[Job]) -> list[tuple[int, bool]]:
    """When a domain got work that had none, and whether it had gone to sleep for sure."""
    wakes: list[tuple[int, bool]] = []
    idle_since_ns = -WAKE_NS
    for job in sorted(its, key=lambda job: job.release_ns):
        if job.release_ns > idle_since_ns:
            wakes.append((job.release_ns, job.release_ns > idle_since_ns + WAKE_NS))
        finish_ns = job.release_ns + 2**62 if job.finish_ns is None else job.finish_ns
        idle_since_ns = max(idle_since_ns, finish_ns)
    return wakes


def test_all_pairs_of_periodic_policies(tmp_path: Path) -> None:
    need_xen()
    horizon_ns = 400 * _MS
    system = swapped(next(systems()), 1, 60 * _MS)
    nothing_is_lost(run_on_xen(system, horizon_ns, 1, tmp_path), system, horizon_ns)


@pytest.mark.slow
def test_many_swaps_of_many_systems(tmp_path: Path) -> None:
    need_xen()
    for each in islice(systems(), 6):
        system = swapped(each, 10, 20 * _MS)
        horizon_ns = 1_300 * _MS
        nothing_is_lost(run_on_xen(system, horizon_ns, 1, tmp_path), system, horizon_ns)
