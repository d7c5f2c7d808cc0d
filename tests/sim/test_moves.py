# SPDX-License-Identifier: BSD-2-Clause
"""Vcpus that move to another pcpu: what they keep, and that no law is broken on the way."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.drawn_runs import HORIZON_NS, MS, PARTITIONED, moving, resolved

from hyperperiod.hosts.sim import run
from hyperperiod.model import (
    PRESETS,
    Change,
    Domain,
    Interface,
    Policy,
    Scheduler,
    Scope,
    Stolen,
    Swap,
    System,
    Task,
    TaskKind,
    parse_policy,
    tasks_of,
    vcpus_of,
    with_policy,
)
from hyperperiod.model.policy import legal_policies
from hyperperiod.trace.check import check_file
from hyperperiod.trace.format import Kind, Records, read
from hyperperiod.trace.interval_arrays import interval_array
from hyperperiod.trace.properties import PROPERTIES


@pytest.mark.parametrize("policy", PARTITIONED, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_every_law_holds_while_vcpus_move(seed: int, policy: Policy, tmp_path: Path) -> None:
    run(moving(seed, policy), HORIZON_NS, seed, tmp_path / "t.hpt", check=True)
    found = check_file(tmp_path / "t.hpt")
    assert found.ok, [(one.name, said) for one, said in found.findings if said.count]
    moves = read(tmp_path / "t.hpt")[1]["kind"] == Kind.MOVE
    assert seed > 0 or moves.any()


def everything(seed: int, policy: Policy) -> System:
    """A drawn system under swaps, new interfaces, moves and thefts, often at one instant."""
    system = moving(seed, policy) if policy.scope is Scope.PARTITIONED else resettled(seed, policy)
    draw = random.Random(f"everything {seed}")
    later = [one for one in legal_policies() if one.scope is policy.scope]
    instants = [change.at_ns for change in system.changes]
    instants += [draw.randrange(HORIZON_NS) for _ in range(3)]
    swaps = {draw.choice(instants): draw.choice(later) for _ in range(draw.randint(1, 3))}
    stolen = [
        Stolen(
            period_ns=draw.choice((20, 40, 50)) * MS,
            duration_ns=draw.choice((MS, draw.randrange(1, 4 * MS))),
            offset_ns=draw.choice((MS, draw.choice(instants), draw.randrange(20 * MS))),
            pcpu=draw.randrange(system.pcpus),
        )
        for _ in range(draw.randint(1, 2))
    ]
    fields = {
        "swaps": tuple(Swap(at_ns=at_ns, policy=swaps[at_ns]) for at_ns in sorted(swaps)),
        "stolen": tuple(stolen),
    }
    return System.of(vars(system) | fields)


def resettled(seed: int, policy: Policy) -> System:
    """A drawn system under a global policy, with new interfaces here and there."""
    draw = random.Random(f"resettled {seed}")
    system = next(filter(None, (resolved(seed * 1000 + n, policy) for n in range(1000))))
    served = [vcpu.name for vcpu in vcpus_of(system) if not vcpu.best_effort]
    changes = {
        (draw.randrange(40) * 4 * MS, draw.choice(served)): Interface(
            period_ns=8 * MS, budget_ns=draw.randint(1, 4) * MS
        )
        for _ in range(draw.randint(1, 6) if served else 0)
    }
    made = (Change(at_ns=at, domain=name, interface=new) for (at, name), new in changes.items())
    return System.of(vars(system) | {"changes": tuple(made)})


@pytest.mark.parametrize("policy", legal_policies(), ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_every_law_holds_under_swaps_changes_moves_and_thefts(
    seed: int, policy: Policy, tmp_path: Path
) -> None:
    run(everything(seed, policy), HORIZON_NS, seed, tmp_path / "t.hpt", check=True)
    found = check_file(tmp_path / "t.hpt")
    assert found.ok, [(one.name, said) for one, said in found.findings if said.count]


@pytest.mark.parametrize("policy", ["slice+fp+none", "slice-once+edf", "sporadic+fp", "cbs"])
def test_of_one_change_the_interface_comes_before_the_move(policy: str, tmp_path: Path) -> None:
    """The end of the slice is past: the new one is taken where the vcpu is, and goes along."""
    change = {
        "at": "17324ns",
        "domain": "d",
        "pcpu": 1,
        "interface": {"period": "12us", "budget": "4554ns"},
    }
    system = busy(policy, change=[change])
    task = Task(name="t", period_ns=20_000, wcet_ns=3_328)
    interface = Interface(period_ns=3_000, budget_ns=1_000)
    domain = system.domains[0].replace(tasks=(task,), interface=interface, scheduler=Scheduler.FIFO)
    run(system.replace(domains=(domain,)), 400_000, 1, tmp_path / "t.hpt", check=True)
    assert check_file(tmp_path / "t.hpt").ok


def test_among_equals_who_ran_on_a_stolen_pcpu_goes_on(tmp_path: Path) -> None:
    """Both ran last; so the lower number has the pcpu that is left, though it changes pcpus."""
    a = Domain(
        name="a",
        interface=Interface(period_ns=80 * MS, budget_ns=15 * MS),
        tasks=(Task(name="t", period_ns=160 * MS, wcet_ns=5 * MS),),
    )
    b = Domain(
        name="b",
        interface=Interface(period_ns=80 * MS, budget_ns=56 * MS),
        tasks=(Task(name="t", kind=TaskKind.BUSY),),
    )
    theft = Stolen(period_ns=40 * MS, duration_ns=MS, offset_ns=MS, pcpu=1)
    policy = parse_policy("deferrable+edf+none+global")
    system = System(name="s", policy=policy, pcpus=2, domains=(a, b), stolen=(theft,))
    run(system, 200 * MS, 1, tmp_path / "t.hpt", check=True)
    assert check_file(tmp_path / "t.hpt").ok
    rows = interval_array(read(tmp_path / "t.hpt")[1], 0)
    assert [int(row["vcpu"]) for row in rows if row["start_ns"] == 161 * MS] == [0]


def test_a_vcpu_on_the_pcpu_that_it_has_left_is_noticed(tmp_path: Path) -> None:
    system = busy("ds", change=[{"at": "13ms", "domain": "d", "pcpu": 1}])
    run(system, 30 * MS, 1, tmp_path / "t.hpt")
    header, records = read(tmp_path / "t.hpt")
    records = records.copy()
    records["pcpu"][records["kind"] == Kind.MOVE] = 0
    (found,) = (one for one in PROPERTIES if one.name == "one-pcpu")
    assert found.check(header, records).count == 1


def busy(policy: str, **more: object) -> System:
    """One vcpu that always has work, 4 ms in 10, alone on the first of two pcpus."""
    return System.of(
        {
            "name": "s",
            "policy": policy,
            "pcpus": 2,
            "domain": [
                {
                    "name": "d",
                    "pcpu": 0,
                    "interface": {"period": "10ms", "budget": "4ms"},
                    "task": [{"name": "t", "kind": "busy"}],
                }
            ],
            **more,
        }
    )


def ran(records: Records, pcpu: int) -> list[tuple[float, float]]:
    """When a pcpu was busy, in ms."""
    rows = interval_array(records, pcpu)
    rows = rows[rows["kind"] == Kind.RUN]
    return [(row["start_ns"] / MS, row["end_ns"] / MS) for row in rows]


@pytest.mark.parametrize("policy", ["ptps", "crps", "ds", "polling", "cbs", "deferrable+edf"])
def test_what_remains_goes_along_and_the_rest_comes_when_it_would(
    policy: str, tmp_path: Path
) -> None:
    system = busy(policy, change=[{"at": "13ms", "domain": "d", "pcpu": 1}])
    run(system, 30 * MS, 1, tmp_path / "t.hpt")
    records = read(tmp_path / "t.hpt")[1]
    assert ran(records, 0) == [(0, 4), (10, 13)]
    assert ran(records, 1) == [(13, 14), (20, 24)]


def test_to_where_it_is_already_is_no_move(tmp_path: Path) -> None:
    system = busy("ds", change=[{"at": "13ms", "domain": "d", "pcpu": 0}])
    run(system, 30 * MS, 1, tmp_path / "with.hpt")
    run(busy("ds"), 30 * MS, 1, tmp_path / "without.hpt")
    assert (read(tmp_path / "with.hpt")[1] == read(tmp_path / "without.hpt")[1]).all()


def test_back_and_forth_is_no_way_to_more_than_a_budget(tmp_path: Path) -> None:
    """Once a millisecond, under every rule: 4 ms in each 10, and not a nanosecond more."""
    changes = [{"at": f"{n}ms", "domain": "d", "pcpu": n % 2} for n in range(1, 100)]
    for policy in PRESETS.values():
        if policy.scope is Scope.PARTITIONED and policy.name != "hsf-fp":
            system = with_policy(busy("ds", change=changes), policy)
            run(system, 100 * MS, 1, tmp_path / "t.hpt")
            records = read(tmp_path / "t.hpt")[1]
            spans = sorted(ran(records, 0) + ran(records, 1))
            assert sum(end - start for start, end in spans) <= 40, policy
            for first in range(91):
                inside = sum(
                    max(0, min(end, first + 10) - max(start, first)) for start, end in spans
                )
                # Two budgets may touch, as without any move.
                assert inside <= 8, policy
            assert check_file(tmp_path / "t.hpt").ok


def test_a_job_goes_on_where_its_vcpu_is(tmp_path: Path) -> None:
    system = busy("ds", change=[{"at": "2ms", "domain": "d", "pcpu": 1}])
    (domain,) = system.domains
    task = tasks_of(system)[0].task.replace(
        kind=TaskKind.PERIODIC, period_ns=20 * MS, wcet_ns=3 * MS, deadline_ns=20 * MS
    )
    system = system.replace(domains=(domain.replace(tasks=(task,)),))
    result = run(system, 20 * MS, 1, tmp_path / "t.hpt")
    assert result.tasks[0].response_ns is not None
    assert result.tasks[0].response_ns.max == 3 * MS
    assert result.migrations == 1
