# SPDX-License-Identifier: BSD-2-Clause
"""One trace from many rings: a simulator's trace, torn apart and put together again, is the same.

Where the simulator counts on the way, counting its trace afterwards must give the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.counts import count_flows, count_pcpus, count_tasks, count_vcpus
from hyperperiod.hosts.merge import Draws, Jobs, jobs_of, merge
from hyperperiod.hosts.replay import Replayed
from hyperperiod.hosts.result import Counts, Responses, RunFlow, RunResult, RunTask, make_result
from hyperperiod.hosts.rings import Ring, RingHeader
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.model import (
    FailedError,
    Overheads,
    Scope,
    System,
    hops_of,
    load_system,
    tasks_of,
    vcpus_of,
)
from hyperperiod.runs import complete, simulate
from hyperperiod.trace.format import NONE, RECORD, Header, Kind, Records, end_ns, read
from hyperperiod.trace.intervals import intervals
from hyperperiod.trace.items import items
from hyperperiod.trace.jobs import jobs
from hyperperiod.trace.properties import Status, check_all

# Those without pcpus run only once they are fitted.
SYSTEMS = [
    path
    for path in sorted((Path(__file__).parents[2] / "systems").glob("*.toml"))
    if load_system(str(path)).pinned
]
HORIZON_NS = 1_300_000_000
SEED = 5


def run_of(path: Path, tmp_path: Path) -> tuple[System, RunResult, Header, Records]:
    system = complete(Analysis(load_system(str(path))))
    horizon_ns = HORIZON_NS // (1000 if path.stem == "ertds-example3" else 1)
    result = simulate(system, horizon_ns, seed=SEED, trace_path=tmp_path / "run.hpt")
    header, records = read(tmp_path / "run.hpt")
    return system, result, header, np.array(records)


@pytest.mark.parametrize("path", SYSTEMS, ids=lambda path: path.stem)
def test_counting_afterwards_is_counting_on_the_way(path: Path, tmp_path: Path) -> None:
    system, result, _, records = run_of(path, tmp_path)
    end = end_ns(records)
    picks = [pcpu.picks for pcpu in result.pcpus]
    counts = Counts(
        host="sim",
        end_ns=end,
        seed=SEED,
        interrupted=False,
        response_error=result.response_error,
        tasks=count_tasks(system, records, end),
        vcpus=count_vcpus(system, records, ()),
        pcpus=count_pcpus(system, records, picks),
        flows=count_flows(system, records, end),
    )
    counted = make_result(system, counts)
    for one, other in zip(responses(counted), responses(result), strict=True):
        for exact, rough in ((one.p50, other.p50), (one.p99, other.p99)):
            assert abs(exact - rough) <= result.response_error * exact + 1
    assert without_percentiles(counted.to_dict()) == without_percentiles(result.to_dict())


def responses(result: RunResult) -> list[Responses]:
    counted: list[RunTask | RunFlow] = [*result.tasks, *result.flows]
    return [one.response_ns for one in counted if one.response_ns]


def without_percentiles(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if name not in ("p50", "p99", "periods")}
        return {name: without_percentiles(one) for name, one in kept.items()}
    return [without_percentiles(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", SYSTEMS, ids=lambda path: path.stem)
def test_torn_apart_and_merged_is_the_same(path: Path, tmp_path: Path) -> None:
    system, _, header, records = run_of(path, tmp_path)
    end = end_ns(records)
    guests = guest_rings(system, records)
    parts = hypervisor_parts(system, records)
    drawn = drawn_releases(system, end)
    again = merge(system, parts, jobs_of(system, guests, drawn, end), end)
    assert list(intervals(header, again)) == list(intervals(header, records))
    assert jobs(header, again) == jobs(header, records)
    assert count_tasks(system, again, end) == count_tasks(system, records, end)
    assert count_flows(system, again, end) == count_flows(system, records, end)
    assert items(header, again) == items(header, records)
    assert end_ns(again) == end
    found = check_all(header, again)
    assert [one for one in found if one.status is Status.FAILS] == []


def drawn_releases(system: System, end: int) -> Draws:
    scenario = make_scenario(system, end, SEED)
    return Draws(
        [scenario.releases(placed.id, end) for placed in tasks_of(system)],
        (lambda flow, left: scenario.source_releases(flow, left, end)) if system.flows else None,
    )


@pytest.mark.parametrize("path", SYSTEMS, ids=lambda path: path.stem)
def test_what_a_guest_could_not_say_is_known(path: Path, tmp_path: Path) -> None:
    """A guest that never ran released its jobs all the same, and missed their deadlines."""
    system, _, _, records = run_of(path, tmp_path)
    end = end_ns(records)
    silent = [Ring(ring.header, ring.records[:0], 0) for ring in guest_rings(system, records)]
    jobs_found = jobs_of(system, silent, drawn_releases(system, end), end)
    hops = {task for flow in hops_of(system) for task in flow}
    for placed in tasks_of(system):
        if placed.id in hops:
            continue  # test_item_paths.py
        kind = records["kind"] == Kind.RELEASE
        told = records[kind & (records["task"] == placed.id)]
        known = jobs_found.releases[jobs_found.releases["task"] == placed.id]
        if placed.task.kind in ("periodic", "sporadic"):
            assert (known == told).all()
            assert len(known) == len(told)
        else:
            assert (known == told[: len(known)]).all()
            assert len(known) == min(len(told), 1)


def test_a_guest_that_draws_otherwise_is_noticed(tmp_path: Path) -> None:
    system, _, _, records = run_of(SYSTEMS[0].with_stem("overload"), tmp_path)
    end = end_ns(records)
    rings = guest_rings(system, records)
    release = np.flatnonzero(rings[1].records["kind"] == Kind.RELEASE)[3]
    rings[1].records["time_ns"][release] += 1
    rings[1].records["value"][release] += 1
    with pytest.raises(FailedError, match=r"released job 3 of frame at 120000001 ns; the draws"):
        jobs_of(system, rings, drawn_releases(system, end), end)


def hypervisor_parts(system: System, records: Records) -> list[Replayed]:
    """What the replay of a hypervisor's rings would have given: it knows of no jobs."""
    kinds = (Kind.RUN, Kind.IDLE, Kind.CHARGE, Kind.REPLENISH, Kind.DEPLETE)
    known = records[np.isin(records["kind"], (*kinds, Kind.ARRIVE, Kind.DEPART, Kind.SWAP))]
    known["task"] = NONE
    known["job"] = 0
    if system.policy.scope is Scope.GLOBAL or system.pcpus == 1:
        return [Replayed(0, system.pcpus, 0, known, {})]
    homes = np.array([vcpu.pcpu for vcpu in vcpus_of(system)])
    own = np.where(known["pcpu"] == NONE, homes[known["vcpu"] % len(homes)], known["pcpu"])
    return [Replayed(pcpu, 1, 0, known[own == pcpu], {}) for pcpu in range(system.pcpus)]


def guest_rings(system: System, records: Records) -> list[Ring]:
    """What guests with a counter of nanoseconds would have recorded, in their own numbers."""
    rings = []
    first_vcpu = first_task = 0
    for domain in system.domains:
        kinds = (Kind.RUN, Kind.RELEASE, Kind.COMPLETE, Kind.ITEM)
        task = records["task"].astype(int) - first_task
        here = np.isin(records["kind"], kinds) & (task >= 0) & (task < len(domain.tasks))
        # Drops are their sources', which does not matter here.
        own = records[here | (records["kind"] == Kind.DROP) & (first_task == 0)].copy()
        own["task"] = np.where(own["task"] == NONE, NONE, own["task"] - first_task)
        own["vcpu"] = np.where(own["vcpu"] == NONE, NONE, own["vcpu"] - first_vcpu)
        first_vcpu += domain.vcpus
        first_task += len(domain.tasks)
        rings.append(Ring(RingHeader(64, 1 << 30, len(own), 10**9, 0, 0, 2, 0), own, 0))
    return rings


def test_a_guest_s_own_work_names_no_task() -> None:
    """Between the grant and the job's first instruction, and after its last one."""
    system = System.of(
        {
            "name": "s",
            "policy": "ptps",
            "overheads": Overheads(),
            "domain": [
                {
                    "name": "a",
                    "interface": {"period": "10ms", "budget": "5ms"},
                    "task": [{"name": "t", "period": "10ms", "wcet": "1ms"}],
                }
            ],
        }
    )
    nobody = {"pcpu": NONE, "vcpu": NONE, "payer": NONE, "task": NONE}
    hypervisor = Replayed(
        0,
        1,
        0,
        rows(
            {"time_ns": 100, "kind": Kind.RUN, "vcpu": 0, "payer": 0, "task": NONE},
            {"time_ns": 5000, "kind": Kind.IDLE, **nobody, "pcpu": 0},
        ),
        {},
    )
    guest = rows(
        {"time_ns": 1, "value": 10_000_001, "kind": Kind.RELEASE, **nobody, "task": 0},
        {"time_ns": 300, "kind": Kind.RUN, **nobody, "vcpu": 0, "task": 0},
        {"time_ns": 4000, "value": 3999, "kind": Kind.COMPLETE, **nobody, "vcpu": 0, "task": 0},
        {"time_ns": 4200, "kind": Kind.IDLE, **nobody, "vcpu": 0},
    )
    ring = Ring(RingHeader(64, 16, 4, 10**9, 0, 0, 2, 0), guest, 0)
    merged = merge(system, [hypervisor], jobs_of(system, [ring], Draws([[1]]), 9000), 9000)
    told = [(int(row["time_ns"]), Kind(int(row["kind"])).name, int(row["task"])) for row in merged]
    assert told == [
        (1, "RELEASE", 0),
        (100, "RUN", NONE),
        (300, "RUN", 0),
        (4000, "COMPLETE", 0),
        (4000, "RUN", NONE),
        (5000, "IDLE", NONE),
        (9000, "END", NONE),
    ]


def test_a_swap_names_its_pcpu_where_there_are_several_lock_domains() -> None:
    domains = [{"name": name, "pcpu": pcpu, "best_effort": True} for pcpu, name in enumerate("ab")]
    system = System.of(
        {"name": "s", "policy": "ptps", "pcpus": 2, "overheads": Overheads(), "domain": domains}
    )
    nobody = {"pcpu": NONE, "vcpu": NONE, "payer": NONE, "task": NONE}
    parts = [
        Replayed(pcpu, 1, 0, rows({"time_ns": at_ns, "kind": Kind.SWAP, "value": 1, **nobody}), {})
        for pcpu, at_ns in ((0, 500), (1, 300))
    ]
    none = Jobs(rows(), rows(), rows())
    merged = merge(system, parts, none, 9000)
    swaps = merged[merged["kind"] == Kind.SWAP]
    assert swaps["time_ns"].tolist() == [300, 500]
    assert swaps["pcpu"].tolist() == [1, 0]
    alone = merge(system, parts[:1], none, 9000)
    assert alone["pcpu"][alone["kind"] == Kind.SWAP].tolist() == [NONE]


def rows(*found: dict[str, int]) -> Records:
    records = np.zeros(len(found), RECORD)
    for index, fields in enumerate(found):
        for name, value in fields.items():
            records[name][index] = value
    return records
