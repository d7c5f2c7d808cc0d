# SPDX-License-Identifier: BSD-2-Clause
"""Flows in the simulator: what items do, by hand and against the naive model."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

import pytest
from tests.model_naive import flows as naive
from tests.model_naive.model import Params, Policy, Setup
from tests.support.drawn_devices import with_devices
from tests.support.executor_worlds import as_executor
from tests.support.flow_attack import analysis_of
from tests.support.small_flows import GLOBAL, ORDERS, PARTITIONED, draw_system
from tests.support.worlds import (
    Run,
    closed,
    domain,
    event,
    flow,
    longest_ns,
    run,
    server,
    swap,
    system,
    task,
)

from hyperperiod.hosts.result import Responses
from hyperperiod.model import (
    Domain,
    Flow,
    Scheduler,
    Scope,
    SourceKind,
    System,
    Task,
    TaskKind,
    hops_of,
    tasks_of,
)
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Kind
from hyperperiod.trace.items import FlowItem, items
from hyperperiod.trace.properties import check_all


def came(ran: Run, name: str) -> list[FlowItem]:
    found = [item for item in items(ran.header, ran.records) if item.flow == name]
    assert [item.item for item in found] == list(range(len(found)))
    return found


def violations(ran: Run) -> list[str]:
    """What the checks of the trace find."""
    found = check_all(ran.header, ran.records)
    return [one.text for finding in found for one in finding.violations]


def whole(*tasks: Task, **more: Any) -> System:
    """A pcpu of its own for one domain."""
    return system("ptps", domain("d", (10, 10), *tasks), **more)


def test_an_item_goes_from_hop_to_hop_at_once() -> None:
    """Driver in, control, driver out: 2 + 3 + 1 ticks of work, and nobody else."""
    one = whole(
        event("in", 2),
        event("control", 3),
        event("out", 1),
        flow=(flow("f", 10, "d.in", "d.control", "d.out"),),
    )
    ran = run(one, 30)
    assert ran.drawn().startswith("0 in 2 control 5 out 6 - 10 in 12")
    assert [item.finish_ns for item in came(ran, "f")] == [6, 16, 26]
    assert ran.releases("control") == [2, 12, 22]
    assert longest_ns(ran.result.flows[0]) == 6


def test_hops_in_two_domains() -> None:
    """The driver's budget of 2 in 10 is used up by one item: the next hop waits for its own."""
    one = system(
        "ptps",
        domain("driver", (2, 10), event("in", 1), event("out", 1)),
        domain("control", (3, 20), event("c", 3)),
        flow=(flow("f", 20, "driver.in", "control.c", "driver.out"),),
    )
    ran = run(one, 60)
    # 0-1 in; the driver's other tick idles away; 2-5 control; out waits for the refill at 10.
    assert [item.finish_ns for item in came(ran, "f")] == [11, 31, 51]


def test_more_than_the_queue_is_dropped_and_counted() -> None:
    ran = run(whole(event("t", 25), flow=(flow("f", 10, "d.t", queue=2),)), 100)
    found = came(ran, "f")
    assert [item.item for item in found if item.dropped] == [2, 4, 6, 7, 9]
    (result,) = ran.result.flows
    assert (result.items, result.dropped) == (10, 5)
    assert [item.finish_ns for item in found if item.finish_ns] == [25, 50, 75, 100]
    assert ran.task("t").jobs == 5


def test_an_item_that_leaves_makes_room_at_that_instant() -> None:
    ran = run(whole(event("t", 10), flow=(flow("f", 10, "d.t", queue=1),)), 100)
    assert ran.result.flows[0].dropped == 0


def test_bursts() -> None:
    ran = run(whole(event("t", 2), flow=(flow("f", 10, "d.t", burst=3, queue=2),)), 30)
    found = came(ran, "f")
    assert [item.release_ns for item in found] == [0, 0, 0, 10, 10, 10, 20, 20, 20]
    assert [item.finish_ns for item in found] == [2, 4, None, 12, 14, None, 22, 24, None]


def test_deadlines_count_from_the_release_and_unfinished_items_miss_too() -> None:
    """Work of 8 in each 6: responses 8, 10, 12, 14, ... A deadline of 11 holds twice."""
    one = whole(event("t", 8), flow=(flow("f", 6, "d.t", queue=100, deadline=11),))
    (result,) = run(one, 40).result.flows
    # Items 0 to 4 finish at 8, 16, 24, 32, 40; item 5 came at 30: its deadline 41 is not over.
    assert (result.items, result.misses) == (7, 3)
    assert result.dmr == 3 / 5
    assert result.response_ns == Responses(min=8, mean=12, p50=12, p99=16, max=16)


def test_a_hop_of_two_flows_serves_items_in_the_order_in_which_they_come() -> None:
    """At 0 both come: the flow that stands first in the file is first."""
    one = whole(
        event("t", 3),
        flow=(flow("a", 20, "d.t", queue=9), flow("b", 5, "d.t", queue=9)),
    )
    ran = run(one, 20)
    assert [item.finish_ns for item in came(ran, "a")] == [3]
    assert [item.finish_ns for item in came(ran, "b")] == [6, 9, 13, 18]


def test_two_hops_in_one_task() -> None:
    """The item is its own successor: it waits behind what came meanwhile."""
    one = whole(
        event("t", 2), event("u", 1), flow=(flow("f", 100, "d.t", "d.u", "d.t", burst=2, queue=2),)
    )
    ran = run(one, 30)
    # rm: equal periods, so t is first: items 0 and 1, then u for both, each followed by t.
    assert ran.drawn() == "0 t 4 u 5 t 7 u 8 t 10 - 30"
    assert [item.finish_ns for item in came(ran, "f")] == [7, 10]


def test_the_own_deadline_of_a_hop_counts_from_its_own_release() -> None:
    one = whole(event("t", 4, 20, deadline=4), flow=(flow("f", 10, "d.t", burst=2, queue=2),))
    ran = run(one, 20)
    assert ran.task("t").misses == 2
    assert ran.result.flows[0].misses == 0


def test_an_item_takes_the_same_at_a_hop_whatever_came_before() -> None:
    """What another flow does to the order of jobs changes no item's own work."""
    tasks = (event("t", 9, etf=0.2), event("u", 9, etf=0.2))
    alone = whole(*tasks, flow=(flow("f", 60, "d.t", "d.u", queue=9),))
    beside = whole(
        *tasks,
        flow=(flow("f", 60, "d.t", "d.u", queue=9), flow("g", 60, "d.t", offset=30)),
    )
    assert [item.finish_ns for item in came(run(alone, 2000), "f")] == [
        item.finish_ns for item in came(run(beside, 2000), "f")
    ]


def test_the_whole_trace_checks_with_swaps_and_several_vcpus() -> None:
    one = system(
        "rtds",
        domain("driver", (3, 10), event("t", 2, etf=0.5), event("u", 1), vcpus=2),
        domain("control", (4, 12), event("c", 3, etf=0.3), task("p", 30, 2), scheduler="edf"),
        flow=(
            flow("f", 17, "driver.t", "control.c", "driver.t", jitter=25, queue=3),
            flow("g", 23, "control.c", "driver.u", kind="sporadic", burst=2, queue=3),
        ),
        pcpus=2,
        swap=(swap(700, "ertds"), swap(1500, "rtds")),
        spare=server(1, 60),
    )
    ran = run(one, 4000)
    assert ran.result.flows[0].items > 200
    assert violations(ran) == []


def test_histograms() -> None:
    one = whole(event("t", 2), flow=(flow("f", 10, "d.t"),))
    assert simulate(one, 50, histograms=True).flows[0].histogram == ((2, 2, 5),)
    assert "flows" not in simulate(whole(task("t", 10, 2)), 50).to_dict()


def test_a_client_waits_for_its_item_and_thinks() -> None:
    ran = run(whole(event("t", 3), flow=(closed("f", 1, 5, "d.t", offset=2),)), 40)
    assert [item.release_ns for item in came(ran, "f")] == [7, 15, 23, 31, 39]
    (result,) = ran.result.flows
    assert (result.items, result.finished, result.dropped) == (5, 4, 0)
    assert result.throughput_hz == 4 * 10**9 / 40
    assert violations(ran) == []


def test_clients_that_never_think_keep_the_pcpu_busy() -> None:
    """Each item waits for the two before it; the first of all does not."""
    ran = run(whole(event("t", 3), event("u", 1), flow=(closed("f", 3, 0, "d.t", "d.u"),)), 48)
    assert ran.result.pcpus[0].idle_ns == 0
    # rm, equal periods: t serves all three, then u does, and all of them come again at once.
    assert [item.finish_ns for item in came(ran, "f")][:6] == [10, 14, 18, 22, 26, 30]
    assert violations(ran) == []


def test_what_one_client_thinks_does_not_depend_on_the_schedule() -> None:
    """One client alone: releases are what it was told plus what it thinks, on any supply."""
    think = naive.client_thinks(7, 0, 0, 40)
    for budget in (1, 4, 10):
        one = system(
            "ptps",
            domain("d", (budget, 10), event("t", 5)),
            flow=(closed("f", 1, 20, "d.t", draw="uniform"),),
        )
        ran = run(one, 2000, 7)
        found = came(ran, "f")
        told = [0, *(item.finish_ns for item in found if item.finish_ns is not None)]
        thought = [item.release_ns - at for item, at in zip(found, told, strict=False)]
        assert thought == [think(0, k) for k in range(len(found))]
        assert len(found) > 15


def test_more_clients_do_not_lower_the_throughput_and_queue_at_the_bottleneck() -> None:
    """N / (think + work) as long as nobody waits, and never above 1 / work of the slowest.

    The k-th of four clients gets its first item back at 80 + 20 k and the others 100 apart.
    """
    rates = []
    for clients in (1, 2, 4, 8):
        one = system(
            "ptps",
            domain("a", (10, 10), event("t", 10), pcpu=0),
            domain("b", (10, 10), event("u", 20), pcpu=1),
            flow=(closed("f", clients, 70, "a.t", "b.u"),),
            pcpus=2,
        )
        rates.append(run(one, 100_000).result.flows[0].finished)
    assert rates == [1000, 1999, 3997, 4996]


# Against the naive model.


def rank_of(system: System, one: Domain, inside: Task) -> int:
    """Under rm, dm, fp and executor; the others do not look at it."""
    if one.scheduler is Scheduler.EXECUTOR:
        return f"{one.name}.{inside.name}" not in system.timers
    if one.scheduler is Scheduler.DM:
        return inside.deadline_ns or 0
    return (inside.priority if one.scheduler is Scheduler.FP else inside.period_ns) or 0


def naive_outcome(
    one: System, seed: int, ticks: int, orders: Mapping[str, str] = ORDERS
) -> naive.Outcome:
    """The same system, in the words of the naive model, which has those for schedulers."""
    together = one.policy.scope is Scope.GLOBAL
    words = (one.policy.budget, one.policy.order, one.policy.slack)
    rules = Policy(*map(str, words))  # type: ignore[arg-type]
    setup = Setup(rules, one.pcpus if together else 1)
    periods = sorted({d.interface.period_ns for d in one.domains if d.interface})
    domains = []
    for d in one.domains:
        assert d.interface is not None
        params = Params(
            d.interface.period_ns, d.interface.budget_ns, periods.index(d.interface.period_ns)
        )
        world = 0 if together else d.pcpu or 0
        domains.append(naive.DomainSpec(params, world, orders[str(d.scheduler)]))
    placed = tasks_of(one)
    tasks = [
        naive.TaskSpec(
            at.domain_index,
            at.task.wcet_ns or 0,
            at.task.deadline_ns or 0,
            rank_of(one, at.domain, at.task),
            range(at.task.offset_ns, ticks, at.task.period_ns or 1)
            if at.task.kind is TaskKind.PERIODIC
            else (),
        )
        for at in placed
    ]
    flows, ranges = [], {}
    for number, (each, hops) in enumerate(zip(one.flows, hops_of(one), strict=True)):
        spec = naive_flow(each, number, hops, seed, ticks)
        flows.append(spec._replace(ring=one.ring_of(each) or 0))
        for place, hop in enumerate(hops):
            ranges[number, place] = (placed[hop].task.bcet_ns or 1, placed[hop].task.wcet_ns or 1)
    setups = [setup] * (1 if together else one.pcpus)
    return naive.play(setups, domains, tasks, flows, ticks, naive.item_work(seed, ranges))


def naive_flow(
    each: Flow, number: int, hops: tuple[int, ...], seed: int, ticks: int
) -> naive.FlowSpec:
    source = each.source
    if source.kind is SourceKind.CLOSED:
        think = naive.client_thinks(seed, number, *source.think_range_ns)
        clients = naive.ClientsSpec(source.clients or 0, source.offset_ns, think)
        return naive.FlowSpec((), hops, each.queue, clients)
    spec = naive.SourceSpec(
        source.kind is SourceKind.SPORADIC,
        source.period_ns or 0,
        source.offset_ns,
        source.jitter_ns,
        source.burst,
    )
    return naive.FlowSpec(naive.source_releases(seed, number, spec, ticks), hops, each.queue)


def grants_of(one: System, out: naive.Outcome, pcpu: int) -> list[str]:
    """Who runs in each tick on a pcpu, by name."""
    together = one.policy.scope is Scope.GLOBAL
    names = [d.name for d in one.domains if together or (d.pcpu or 0) == pcpu]
    runs = [row[pcpu].run for row in out.grants]
    return ["idle" if run is None else names[run] for run in runs]


def agree(one: System, seed: int, ticks: int) -> None:
    """Plays one system on both sides."""
    ran = run(one, ticks, seed)
    out = naive_outcome(one, seed, ticks)
    for number, each in enumerate(one.flows):
        found = came(ran, each.name)
        assert [item.item for item in found if item.dropped] == out.dropped[number]
        finished = {item.item: item.finish_ns for item in found if item.finish_ns is not None}
        assert finished == out.finished[number]
        assert ran.result.flows[number].dropped == len(out.dropped[number])
        assert ran.result.flows[number].finished == len(out.finished[number])
        if each.source.kind is SourceKind.CLOSED:
            assert [item.release_ns for item in found] == out.sent[number]
    for placed, jobs in zip(tasks_of(one), out.jobs, strict=True):
        mine = [
            (job.release_ns, job.finish_ns)
            for job in ran.jobs(placed.task.name)
            if job.domain == placed.domain.name
        ]
        assert mine == jobs
    for pcpu in range(one.pcpus):
        got = [who for start, end, who, _ in ran.paid(pcpu) for _ in range(end - start)]
        assert got == grants_of(one, out, pcpu)
    assert violations(ran) == []


def test_bounds_hold_where_timers_are_looked_at_between_callbacks() -> None:
    """As some versions of rclcpp do: the simulator does not."""
    bounded = 0
    for number in range(40):
        rng = random.Random(f"timers between:{number}")
        one = draw_system(rng, "deferrable+fp+none")
        one = one.replace(domains=tuple(map(as_executor, one.domains)))
        out = naive_outcome(one, rng.randint(1, 99), 150, {"executor": "timers between"})
        hops = [hop for flow in analysis_of(one).flows for hop in flow.hops]
        bounds = {(hop.domain, hop.task): hop.bound_ns for hop in hops}
        for placed, jobs in zip(tasks_of(one), out.jobs, strict=True):
            bound = bounds.get((placed.domain.name, placed.task.name))
            due = [(at, end) for at, end in jobs if bound is not None and at + bound < 150]
            bounded += len(due)
            assert all(end is not None and end <= at + (bound or 0) for at, end in due)
    assert bounded > 200


def hunt(policy: str, worlds: int, ticks: int) -> None:
    for number in range(worlds):
        rng = random.Random(f"{policy}:{number}")
        one = draw_system(rng, policy)
        agree(with_devices(rng, one) if number % 2 else one, rng.randint(1, 99), ticks)


@pytest.mark.parametrize("policy", PARTITIONED + GLOBAL)
def test_as_the_naive_model_says(policy: str) -> None:
    hunt(policy, 6, 150)


@pytest.mark.slow
@pytest.mark.parametrize("policy", PARTITIONED + GLOBAL)
def test_as_the_naive_model_says_long(policy: str) -> None:
    hunt(policy, 1500, 200)


@pytest.mark.parametrize("given", [((1, 3), (2, 4)), ((2, 3), (1, 4)), ((1, 2), (1, 2))])
def test_every_small_world(given: tuple[tuple[int, int], tuple[int, int]]) -> None:
    """All wcets, bursts and queues of 1 and 2: a way through two domains and back."""
    for first, second, third, queue, burst, offset in itertools.product(
        (1, 2), (1, 2), (1, 2), (1, 2), (1, 2), (0, 1, 2)
    ):
        route = flow("f", 12, "a.t0", "b.t1", "a.t2", queue=queue, burst=burst, offset=offset)
        one = system(
            "ptps",
            domain("a", given[0], event("t0", first, 12), event("t2", third, 12)),
            domain("b", given[1], event("t1", second, 12)),
            flow=(route,),
        )
        agree(one, 1, 48)


@pytest.mark.parametrize("given", [((1, 3), (2, 4)), ((1, 2), (1, 2))])
def test_every_small_world_of_clients(given: tuple[tuple[int, int], tuple[int, int]]) -> None:
    """One or three clients that think for 0, 1 or 5, through two domains and back."""
    for first, second, third, clients, think, draw in itertools.product(
        (1, 2), (1, 2), (1, 2), (1, 3), (0, 1, 5), ("constant", "uniform")
    ):
        route = closed("f", clients, think, "a.t0", "b.t1", "a.t2", draw=draw)
        one = system(
            "deferrable+edf+none",
            domain("a", given[0], event("t0", first, 12), event("t2", third, 12)),
            domain("b", given[1], event("t1", second, 12)),
            flow=(route,),
        )
        agree(one, 1, 48)


def test_the_records_of_items() -> None:
    ran = run(whole(event("t", 25), flow=(flow("f", 10, "d.t", queue=2),)), 100)
    assert len(ran.times_of(Kind.ITEM)) == 5
    assert ran.times_of(Kind.DROP) == [20, 40, 60, 70, 90]
