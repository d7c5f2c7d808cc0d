# SPDX-License-Identifier: BSD-2-Clause
"""The analysis of whole systems: what is said, and why where it is not yes."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from hyperperiod.analysis import analyze, resolve
from hyperperiod.analysis.result import MinimalBudgetResult, SpareResult
from hyperperiod.model import (
    Change,
    Domain,
    Flow,
    InputError,
    Interface,
    Overheads,
    Sbf,
    Scheduler,
    Source,
    Swap,
    System,
    Task,
    TaskKind,
    parse_policy,
)

MS = 1_000_000


def task(name: str, wcet_ms: float, period_ms: float, **more: Any) -> Task:
    return Task(name=name, wcet_ns=int(wcet_ms * MS), period_ns=int(period_ms * MS), **more)


def interface(budget_ms: float, period_ms: float) -> Interface:
    return Interface(budget_ns=int(budget_ms * MS), period_ns=int(period_ms * MS))


def domain(name: str, *tasks: Task, **more: Any) -> Domain:
    return Domain(name=name, tasks=tasks, **more)


def system(*domains: Domain, policy: str = "ptps", **more: Any) -> System:
    return System(name="s", policy=parse_policy(policy), domains=domains, **more)


def verdict(one: System, name: str | None = None) -> tuple[bool | None, str]:
    """Whether a domain, or the whole system, is schedulable, and the reason."""
    result = analyze(one)
    if name is None:
        return result.schedulable, result.reason
    found = next(entry for entry in result.domains if entry.name == name)
    return found.schedulable, found.reason


def test_the_object() -> None:
    """Supply 5 in 10: nothing for 10, then 5, a gap of 5, 5, ..."""
    one = system(
        domain("control", task("fast", 1, 20), task("slow", 6, 40), interface=interface(5, 10)),
        domain("rest", best_effort=True),
    )
    assert json.loads(analyze(one).to_json()) == {
        "system": "s",
        "policy": "ptps",
        "schedulable": True,
        "pcpus": [
            {
                "id": 0,
                "bandwidth": 0.5,
                "test": "a pcpu for every server",
                "schedulable": True,
                "tests": [
                    {
                        "test": "a pcpu for every server",
                        "source": "",
                        "sound": True,
                        "schedulable": True,
                    },
                    {
                        "test": "response time",
                        "source": "Joseph and Pandya 1986",
                        "sound": True,
                        "schedulable": True,
                    },
                ],
            }
        ],
        "domains": [
            {
                "name": "control",
                "vcpus": 1,
                "utilization": 0.2,
                "interface": {"period_ns": 10 * MS, "budget_ns": 5 * MS, "bandwidth": 0.5},
                "interface_overhead": 0.3,
                "schedulable": True,
                "tests": [
                    {
                        "test": f"rm, {resource}",
                        "source": source,
                        "sound": True,
                        "schedulable": True,
                    }
                    for resource, source in (
                        ("periodic resource", "Shin and Lee 2003"),
                        ("harmonic", "CSA paper, Eq. 1"),
                        ("edp resource", "Easwaran, Anand and Lee 2007"),
                        ("server table", ""),
                    )
                ],
                "tasks": [
                    {
                        "name": "fast",
                        "deadline_ns": 20 * MS,
                        "response_bound_ns": 11 * MS,
                        "schedulable": True,
                    },
                    {
                        "name": "slow",
                        "deadline_ns": 40 * MS,
                        "response_bound_ns": 23 * MS,
                        "schedulable": True,
                    },
                ],
            },
            {
                "name": "rest",
                "vcpus": 1,
                "utilization": 0.0,
                "interface": None,
                "interface_overhead": None,
                "schedulable": None,
                "reason": "best effort: no server, so nothing is promised",
                "tests": [],
                "tasks": [
                    {
                        "name": "hog",
                        "deadline_ns": None,
                        "response_bound_ns": None,
                        "schedulable": None,
                        "reason": "busy: it has no deadline",
                    }
                ],
            },
        ],
    }


def test_too_small_an_interface_is_false() -> None:
    small = system(domain("d", task("t", 5, 20), interface=interface(4, 10)))
    assert verdict(small)[0] is False
    result = analyze(small).domains[0]
    assert result.tasks[0].schedulable is False
    assert result.tasks[0].response_bound_ns is None


def test_jitter_offsets_and_blocking_make_no_a_maybe() -> None:
    for more in ({"jitter_ns": MS}, {"offset_ns": MS}, {"blocking_ns": MS}):
        small = system(domain("d", task("t", 5, 20, **more), interface=interface(4, 10)))
        holds, reason = verdict(small, "d")
        assert holds is None
        assert "sufficient" in reason


@pytest.mark.parametrize("scheduler", [Scheduler.RM, Scheduler.EDF, Scheduler.FIFO])
def test_blocking_takes_of_the_supply_once(scheduler: Scheduler) -> None:
    """Budget 5 every 10: 10 without, then 5; a task of 4 with deadline 25 has a second budget."""
    for blocking_ms, holds in ((6, True), (7, None)):
        tight = task("t", 4, 30, deadline_ns=25 * MS, blocking_ns=blocking_ms * MS)
        one = system(domain("d", tight, scheduler=scheduler, interface=interface(5, 10)))
        assert verdict(one, "d")[0] is holds


def test_what_the_host_does_not_promise_the_domain_does_not_have() -> None:
    one = system(
        domain("high", task("t", 1, 100), interface=interface(6, 10)),
        domain("low", task("t", 1, 100), interface=interface(6, 12)),
    )
    result = analyze(one)
    assert result.schedulable is False
    assert [entry.schedulable for entry in result.domains] == [True, False]
    low = result.domains[1].tasks[0]
    assert low.schedulable is None
    assert low.response_bound_ns is None
    assert "low may not get its budget" in low.reason


def test_busy_tasks() -> None:
    busy = Task(name="busy", kind=TaskKind.BUSY)
    for scheduler in (Scheduler.RM, Scheduler.DM, Scheduler.EDF):
        beside = domain(
            "d", busy, task("t", 1, 40), scheduler=scheduler, interface=interface(5, 10)
        )
        assert verdict(system(beside)) == (True, "")
    first = Task(name="busy", kind=TaskKind.BUSY, priority=0)
    above = domain(
        "d", first, task("t", 1, 40, priority=1), scheduler="fp", interface=interface(5, 10)
    )
    holds, reason = verdict(system(above), "d")
    assert holds is False
    assert "busy" in reason
    with_fifo = domain("d", busy, task("t", 1, 40), scheduler="fifo", interface=interface(5, 10))
    assert verdict(system(with_fifo), "d")[0] is None


def test_several_vcpus_need_pinned_tasks() -> None:
    pinned = domain(
        "d",
        task("a", 2, 40, vcpu=0),
        task("b", 4, 40, vcpu=1),
        vcpus=2,
        interface_period_ns=10 * MS,
    )
    one = system(pinned, pcpus=2, policy="rtds")
    result = analyze(one)
    assert result.schedulable is True
    # b alone decides: the interface is the same for both vcpus.
    alone = system(domain("d", task("b", 4, 40), interface_period_ns=10 * MS))
    entry, half = result.domains[0], analyze(alone).domains[0].interface
    assert half is not None
    assert entry.interface is not None
    assert entry.vcpus == 2
    # Period and budget are of each vcpu, the bandwidth of both together.
    assert entry.interface.to_dict() == {
        **half.to_dict(),
        "bandwidth": pytest.approx(2 * half.bandwidth),
    }
    assert entry.interface_overhead == pytest.approx(entry.interface.bandwidth - entry.utilization)
    loose = domain("d", task("a", 2, 40), vcpus=2, interface=interface(5, 10))
    holds, reason = verdict(system(loose, pcpus=2, policy="rtds"), "d")
    assert holds is None
    assert "pinned" in reason
    open_one = domain("d", task("a", 2, 40), vcpus=2)
    with pytest.raises(InputError, match="pinned"):
        resolve(system(open_one, pcpus=2, policy="rtds"))


def test_domains_of_domains() -> None:
    inner = [
        domain("left", task("t", 1, 40), interface_period_ns=20 * MS),
        domain("right", task("t", 2, 80), scheduler="edf"),
    ]
    outer = Domain(name="outer", scheduler=Scheduler.EDF, domains=tuple(inner))
    one = system(outer, quantum_ns=MS)
    result = analyze(one)
    assert result.schedulable is True
    entry = result.domains[0]
    assert [child.name for child in entry.domains] == ["left", "right"]
    assert all(child.schedulable for child in entry.domains)
    assert entry.algorithm1 is not None
    assert entry.interface is not None
    demand = sum(Fraction(one.interface.bandwidth) for one in entry.domains if one.interface)
    assert demand <= entry.interface.bandwidth
    tight = outer.replace(interface=interface(1, 20))
    result = analyze(system(tight, quantum_ns=MS))
    assert result.schedulable is False
    assert result.domains[0].domains[0].schedulable is None


def test_no_interface_serves_the_tasks() -> None:
    one = system(domain("d", task("a", 30, 40), task("b", 20, 40)))
    result = analyze(one)
    assert result.schedulable is False
    assert result.domains[0].interface is None
    assert "1.25" in result.domains[0].reason
    with pytest.raises(InputError, match="domain d: interface"):
        resolve(one)
    hasty = [task(name, 3, 40, deadline_ns=5 * MS) for name in "ab"]
    fixed = system(domain("d", *hasty, interface_period_ns=10 * MS))
    assert "no budget in 10ms" in verdict(fixed, "d")[1]
    assert "whole pcpu" in verdict(system(domain("d", *hasty)), "d")[1]


@pytest.mark.parametrize("scheduler", ["rm", "edf", "fifo", "gedf"])
@pytest.mark.parametrize(
    ("late", "why"),
    [
        (task("t", 6, 40, deadline_ns=5 * MS), "the wcet of t, 6ms, is above its deadline, 5ms"),
        (
            task("t", 12, 10, deadline_ns=20 * MS),
            "the wcet of t, 12ms, is above its period, 10ms",
        ),
    ],
    ids=["deadline", "period"],
)
def test_work_that_is_too_long_is_the_reason(late: Task, why: str, scheduler: str) -> None:
    """Whether the interface is given, computed for a period, or computed whole."""
    vcpus = 2 if scheduler == "gedf" else 1
    others = {"scheduler": scheduler, "vcpus": vcpus}
    fine = task("fine", 1, 100)
    given = domain("d", fine, late, interface=interface(10, 10), **others)
    for one in (given, *_without_interface(late, fine, others)):
        result = analyze(system(one, pcpus=2, policy="rtds")).domains[0]
        assert why in result.reason, one
        told = next(part for part in result.tasks if part.name == "t")
        assert why in told.reason
        if "deadline" in why or scheduler == "rm":
            assert result.schedulable is False
    assert "fine" not in analyze(system(given, pcpus=2, policy="rtds")).domains[0].reason


def _without_interface(late: Task, fine: Task, others: dict[str, object]) -> list[Domain]:
    if others["vcpus"] == 2:
        # For a period there is none at all, and a budget without one is not looked for.
        assert late.deadline_ns is not None
        hasty = late.deadline_ns < (late.wcet_ns or 0)
        return [domain("d", fine, late, interface_period_ns=10 * MS, **others)] if hasty else []
    return [
        domain("d", fine, late, interface_period_ns=10 * MS, **others),
        domain("d", fine, late, **others),
    ]


def test_what_only_may_miss_is_not_called_too_long() -> None:
    """A "no" of a test that is only sufficient stays open; that of too long work does not."""
    open_one = domain("d", task("t", 5, 10, offset_ns=MS), interface=interface(5, 10))
    assert verdict(system(open_one), "d")[0] is None
    closed = domain(
        "d", task("t", 11, 20, deadline_ns=10 * MS, offset_ns=MS), interface=interface(10, 10)
    )
    assert verdict(system(closed), "d")[0] is False


def test_computed_interfaces_are_filled_in_and_stay() -> None:
    one = system(
        domain("given", task("t", 1, 40), interface=interface(2, 10)),
        domain("period", task("t", 1, 40), interface_period_ns=10 * MS),
        domain("neither", task("t", 1, 40)),
    )
    full = resolve(one)
    assert full.domains[0] == one.domains[0]
    assert all(entry.interface is not None for entry in full.domains)
    assert resolve(full) == full
    result = analyze(one)
    assert result.domains[1].minimal_budget == MinimalBudgetResult(exact=True)
    tried = result.domains[2].algorithm1
    assert tried is not None
    assert tried.periods_tried + tried.periods_pruned == 40
    best = full.domains[2].interface
    assert best is not None
    assert best.period_ns % MS == 0
    assert best.budget_ns % MS == 0


def test_budgets_are_whole_quanta() -> None:
    one = system(domain("d", task("t", 1.5, 40), interface_period_ns=10 * MS), quantum_ns=2 * MS)
    found = resolve(one).domains[0].interface
    assert found == Interface(period_ns=10 * MS, budget_ns=2 * MS)


def test_polling_waits_longer() -> None:
    tasks = [task("t", 2, 15)]
    kept = system(domain("d", *tasks, interface=interface(5, 10)), policy="ds")
    lost = system(domain("d", *tasks, interface=interface(5, 10)), policy="polling")
    assert verdict(kept)[0] is True
    assert verdict(lost)[0] is False


def test_sporadic_servers_are_promised_the_supply_of_polling_ones() -> None:
    """As a bound: what it does not confirm is open."""
    short, fits = task("t", 1, 15), task("t", 1, 16)
    for policy in ("sporadic", "sporadic+edf"):
        one = system(domain("d", fits, interface=interface(5, 10)), policy=policy)
        assert verdict(one, "d") == (True, "")
        holds, reason = verdict(
            system(domain("d", short, interface=interface(5, 10)), policy=policy), "d"
        )
        assert holds is None
        assert "sporadic server" in reason


def test_harmonic_where_it_is_sound() -> None:
    tasks = [task("a", 2, 20), task("b", 4, 40)]
    for policy in ("crps", "ds"):
        one = system(
            domain("d", *tasks, interface_period_ns=10 * MS), policy=policy, sbf=Sbf.HARMONIC
        )
        full = resolve(one)
        assert full.domains[0].interface == interface(2, 10)
        assert verdict(full) == (True, "")


@pytest.mark.parametrize(
    ("policy", "tasks", "reason"),
    [
        ("polling", [task("a", 2, 20)], "polling"),
        ("cbs", [task("a", 2, 20)], "cbs"),
        ("ptps", [task("a", 2, 20, offset_ns=1)], "offset or jitter"),
        ("ptps", [task("a", 2, 20, jitter_ns=1)], "offset or jitter"),
        ("ptps", [task("a", 2, 20, blocking_ns=1)], "may be blocked"),
        ("ptps", [task("a", 2, 20, kind=TaskKind.SPORADIC)], "not periodic"),
        ("ptps", [task("a", 2, 20), task("b", 2, 30)], "do not divide"),
        ("ptps", [task("a", 2, 25)], "do not divide"),
        ("ptps", [task("a", 2, 20, deadline_ns=21 * MS)], "above its period"),
    ],
)
def test_harmonic_is_refused_elsewhere(policy: str, tasks: list[Task], reason: str) -> None:
    one = system(domain("d", *tasks, interface=interface(9, 10)), policy=policy, sbf=Sbf.HARMONIC)
    holds, said = verdict(one, "d")
    assert holds is None
    assert reason in said


def test_swaps_changes_and_sporadic_flows_claim_nothing_for_the_whole_run() -> None:
    base = domain("d", task("t", 1, 40), interface=interface(5, 10))
    swapped = system(base, swaps=(Swap(at_ns=MS, policy=parse_policy("crps")),))
    changed = system(base, changes=(Change(at_ns=MS, domain="d", interface=interface(5, 10)),))
    for one in (swapped, changed):
        holds, reason = verdict(one)
        assert holds is None
        assert "start" in reason


def test_overheads_cost_budget() -> None:
    costs = Overheads(context_switch_ns=10_000)
    exact = domain("d", task("t", 5, 20), interface=interface(5, 10))
    assert verdict(system(exact)) == (True, "")
    holds, reason = verdict(system(exact, overheads=costs))
    assert holds is None
    assert "overheads" in reason
    roomy = domain("d", task("t", 5, 20), interface_period_ns=10 * MS)
    full = resolve(system(roomy, overheads=costs))
    assert full.domains[0].interface is not None
    assert full.domains[0].interface.budget_ns > 5 * MS
    assert verdict(full) == (True, "")
    heavy = Overheads(context_switch_ns=4 * MS)
    holds, reason = verdict(system(exact, overheads=heavy), "d")
    assert holds is None
    assert "whole budget" in reason


def test_the_ertds_paper_beside_the_sound_verdict() -> None:
    """Experiment C: its own formula gives 2790 for the spare, it uses 8415."""
    servers = [(1720, 5000), (3440, 10_000), (5160, 15_000), (13_125, 30_000)]
    domains = [
        domain(
            f"vm{index}",
            Task(name="t", kind=TaskKind.BUSY),
            interface=Interface(budget_ns=budget * 1000, period_ns=period * 1000),
        )
        for index, (budget, period) in enumerate(servers)
    ]
    one = system(*domains, policy="ertds", pcpus=2)
    result = analyze(one)
    assert result.spare == SpareResult(
        period_ns=30 * MS,
        budget_ns=2_790_000,
        paper_budget_ns=2_790_000,
        certain_budget_ns=7_957_500,
    )
    paper = [row.paper.schedulable for row in result.pcpus if row.paper]
    assert paper == [True, True]
    printed = one.replace(spare=interface(8.415, 30))
    result = analyze(printed)
    assert [row.paper.schedulable for row in result.pcpus if row.paper] == [False, False]


def test_a_spare_without_a_period_that_fits_is_refused() -> None:
    primes = (1_000_000_007, 1_000_000_009, 1_000_000_021)
    domains = [
        domain(
            f"d{prime}",
            Task(name="t", kind=TaskKind.BUSY),
            interface=Interface(budget_ns=10**6, period_ns=prime),
        )
        for prime in primes
    ]
    with pytest.raises(InputError, match="spare"):
        resolve(system(*domains, policy="ertds"))


def test_fifo_may_hold_but_never_fails_for_sure() -> None:
    calm = domain(
        "d", task("a", 1, 50), task("b", 1, 60), scheduler="fifo", interface=interface(5, 10)
    )
    result = analyze(system(calm))
    assert result.schedulable is True
    # Two jobs at once wait 10 for supply and need 2.
    assert {t.response_bound_ns for t in result.domains[0].tasks} == {12 * MS}
    tight = domain(
        "d", task("a", 1, 50), task("b", 1, 11), scheduler="fifo", interface=interface(5, 10)
    )
    assert verdict(system(tight), "d")[0] is None
    over = domain("d", task("a", 30, 50), scheduler="fifo", interface=interface(5, 10))
    assert verdict(system(over), "d")[0] is False


def with_flow(period_ms: int, **more: Any) -> System:
    """An item asks for 1 ms in `a`, where 5 in 10 are to be had, and 1 ms in `b`, 2 in 10."""
    return system(
        domain("a", task("t", 1, 40, kind="event"), task("u", 1, 40), interface=interface(5, 10)),
        domain("b", task("t", 1, 40, kind="event"), interface=interface(2, 10)),
        flows=(
            Flow(
                name="f",
                source=Source(period_ns=period_ms * MS),
                hops=("a.t", "b.t"),
                deadline_ns=40 * MS,
            ),
        ),
        **more,
    )


def test_a_flow_is_bounded_end_to_end() -> None:
    """Up to 10 ms without supply in `a`, up to 16 in `b`, and each time 1 ms of its own."""
    result = analyze(with_flow(50))
    assert result.schedulable is True
    (flow,) = result.flows
    assert flow.schedulable is True
    assert [hop.response_bound_ns for hop in flow.hops] == [11 * MS, 17 * MS]
    assert flow.response_bound_ns == 28 * MS


def test_a_flow_that_floods_leaves_what_is_below_it_unknown() -> None:
    """An item a millisecond, of which the queue lets one in: it waits for none of its own."""
    result = analyze(with_flow(1))
    assert [entry.schedulable for entry in result.domains] == [None, True]
    (hop, below) = result.domains[0].tasks
    assert (hop.response_bound_ns, below.response_bound_ns) == (11 * MS, None)
    (flow,) = result.flows
    assert (flow.schedulable, flow.response_bound_ns) == (None, 28 * MS)
    assert "items may be dropped" in flow.reason


def test_a_flow_needs_the_budgets_of_its_hops() -> None:
    late = System(
        **{
            **vars(with_flow(50)),
            "domains": (
                *with_flow(50).domains,
                domain("above", task("x", 8, 10), interface=interface(9, 10), priority=None),
            ),
        }
    )
    flow = analyze(late).flows[0]
    assert flow.schedulable is None
    assert flow.response_bound_ns is None


def test_with_swaps_to_come_flows_are_unknown_too() -> None:
    swapped = with_flow(50, swaps=(Swap(at_ns=MS, policy=parse_policy("crps")),))
    flow = analyze(swapped).flows[0]
    assert flow.schedulable is None
    assert "swaps" in flow.reason


def test_sensitivity_is_shown_when_asked_for() -> None:
    """Supply 5 in 10: `a` may take 5 of the first 20, and 4 of 5 ms of budget would do for 4."""
    one = system(domain("d", task("a", 4, 20), interface=interface(5, 10)))
    assert "sensitivity" not in analyze(one).domains[0].to_dict()
    (domain_entry,) = analyze(one, sensitivity=True).domains
    task_margin, margin = domain_entry.tasks[0].sensitivity, domain_entry.sensitivity
    assert task_margin
    assert margin
    assert task_margin.largest_wcet_ns == 5 * MS
    assert task_margin.extra_wcet_ns == 1 * MS
    assert margin.wcet_factor_exact == "5/4"
    least_ns = margin.least_budget_ns
    assert least_ns is not None
    assert margin.spare_budget_ns == 5 * MS - least_ns
    at_least = system(
        domain("d", task("a", 4, 20), interface=Interface(period_ns=10 * MS, budget_ns=least_ns))
    )
    assert analyze(at_least).schedulable is True


def test_what_cannot_be_decided_is_not_called_impossible() -> None:
    """Fifo has a sufficient test only; harmonic periods may be no whole quanta."""
    late = domain("d", task("a", 5, 40), task("b", 5, 8), scheduler="fifo")
    holds, reason = verdict(system(late), "d")
    assert holds is None
    assert "surely" in reason
    odd = domain("d", Task(name="t", wcet_ns=MS, period_ns=3 * MS // 2), task("u", 0.1, 3.7))
    assert verdict(system(odd, sbf=Sbf.HARMONIC), "d")[0] is None
    none = domain("d", task("t", 1, 2, deadline_ns=MS), interface_period_ns=10 * MS)
    assert verdict(system(none, policy="polling"), "d")[0] is False
    assert verdict(system(none, policy="sporadic"), "d")[0] is None
