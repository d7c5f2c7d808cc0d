# SPDX-License-Identifier: BSD-2-Clause
"""The end-to-end analysis: by hand, against the kernels, against every phase of small worlds."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.analysis import plain_flows
from tests.analysis.plain_flows import count, next_growth, rate_of
from tests.support.drawn_streams import draw_stream, draw_supply
from tests.support.flow_attack import Phases, analysis_of, outcome, shifted
from tests.support.worlds import closed, domain, event, flow, longest_ns, server, system, task

from hyperperiod import _analysis
from hyperperiod.analysis import analyze
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.flows.busy_window import backlog_bound, busy_window, response_bound
from hyperperiod.analysis.flows.end_to_end import analyze_flows
from hyperperiod.analysis.flows.results import flow_results
from hyperperiod.analysis.flows.stream import Queue, Stream
from hyperperiod.analysis.overheads import budget_loss_ns
from hyperperiod.analysis.result import FlowResult, HopResult
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Change, Overheads, load_system, parse_policy
from hyperperiod.runs import simulate

SYSTEMS = Path(__file__).parents[2] / "systems"
WHOLE = Supply(_analysis.Shape.GENERAL, 1, 1)


def whole(name: str, *tasks: Any, **more: Any) -> Any:
    return domain(name, (10, 10), *tasks, **more)


# Streams.


def test_counts_of_a_period_with_jitter_and_bursts() -> None:
    stream = Stream(1, 10, 4, burst=2)
    assert [count(stream, window) for window in (0, 1, 6, 7, 16, 17)] == [0, 2, 2, 4, 4, 6]
    assert [next_growth(stream, offset) for offset in (0, 5, 6, 16)] == [6, 6, 16, 26]


def test_the_smaller_bound_counts() -> None:
    queue = Queue(2, 0, 5)
    both = Stream(1, 10, 100, queue=queue)
    # By spacing 2, 2, 4, 24; by the source 3, 3, 3, 8; by the jitter 11, 11, 11, 16.
    assert [count(both, window) for window in (1, 5, 6, 60)] == [2, 2, 3, 8]
    assert count(Stream(1, 10, None, queue=queue), 11) == 4
    assert rate_of(both) == Fraction(1, 10)
    assert rate_of(Stream(3, 10, None, burst=9, queue=queue)) == Fraction(6, 5)


def test_clients_are_bounded_by_their_number_and_by_the_way() -> None:
    """Three clients, a way of 7 at least."""
    stream = Stream(2, None, None, queue=Queue(3, 0, 7))
    assert [count(stream, window) for window in (0, 1, 7, 8, 15)] == [0, 3, 3, 6, 9]
    assert [next_growth(stream, offset) for offset in (0, 6, 7)] == [7, 7, 14]
    assert rate_of(stream) == Fraction(6, 7)


@pytest.mark.parametrize("seed", range(20))
def test_growth_is_where_the_count_of_closed_windows_grows(seed: int) -> None:
    rng = random.Random(seed)
    jitter = rng.choice((None, 0, 3, 50))
    stream = Stream(
        1,
        rng.choice((None, rng.randint(1, 9))),
        jitter,
        rng.randint(1, 3),
        Queue(2, rng.choice((0, 7)), rng.randint(1, 9)),
    )
    for offset in range(60):
        after = next_growth(stream, offset)
        assert after > offset
        assert all(count(stream, x + 1) == count(stream, offset + 1) for x in range(offset, after))


# Busy windows.


@pytest.mark.parametrize("seed", range(40))
def test_one_stream_each_is_the_kernels_fixed_priority(seed: int) -> None:
    rng = random.Random(f"kernel:{seed}")
    period = rng.randint(2, 12)
    supply = Supply(_analysis.Shape.GENERAL, period, rng.randint(1, period))
    loads = [
        Load(
            rng.randint(1, 5), rng.randint(5, 60), 10**6, rng.choice((0, 0, 20)), rng.choice((0, 3))
        )
        for _ in range(rng.randint(1, 4))
    ]
    streams = [Stream(load.wcet, load.period, load.jitter) for load in loads]
    bound = response_bound(streams[-1:], streams[:-1], supply, loads[-1].blocking)
    found, expected = _analysis.last_response(
        loads, (supply.shape, supply.period_ns, supply.budget_ns, 0)
    )
    if found is _analysis.Verdict.HOLDS:
        assert bound == expected
    else:
        assert bound is None or bound > 10**6


def test_a_queue_of_two_streams_is_served_in_order() -> None:
    """Two of work 3 at once, again after 5 and 20: the second waits for the first only."""
    own = [Stream(3, 20), Stream(3, 20)]
    assert response_bound(own, [], WHOLE) == 6
    # Below something of 2 in 7 the queue has 0-2 taken away, 7-9 as well: done at 10.
    assert response_bound(own, [Stream(2, 7)], WHOLE) == 10


def test_the_window_is_closed() -> None:
    """2 in 4 and 2 in 4 are done at 4, where both come again: pending without a gap for ever."""
    streams = [Stream(2, 4), Stream(2, 4)]
    assert response_bound(streams[1:], streams[:1], WHOLE) == 4
    assert busy_window(streams, WHOLE) is None
    assert busy_window([Stream(1, 4), Stream(2, 4)], WHOLE) == 3
    assert busy_window([Stream(1, 4), Stream(2, 3)], WHOLE, blocking=1) == 23


def test_too_much_work_has_no_bound() -> None:
    assert response_bound([Stream(3, 4)], [Stream(2, 4)], WHOLE) is None
    assert busy_window([Stream(3, 4), Stream(2, 4)], WHOLE) is None


@pytest.mark.parametrize("seed", range(12))
def test_the_kernels_are_the_definitions(seed: int) -> None:
    """Every bound is the same, on small numbers with ties and on large ones."""
    rng = random.Random(f"flow kernels:{seed}")
    bounded = 0
    for _ in range(25):
        scale = rng.choice((1, 1, 997, 10**9 + 7, 2**40))
        supply = draw_supply(rng, scale)
        above = [draw_stream(rng, scale) for _ in range(rng.randint(0, 3))]
        own = [draw_stream(rng, scale) for _ in range(rng.randint(1, 3))]
        blocking = rng.choice((0, rng.randint(1, 9) * scale))
        asked = (own, above, supply, blocking)
        expected = plain_flows.response_bound(*asked)
        assert response_bound(*asked) == expected
        bounded += expected is not None
        backlog = rng.randint(1, 30 * scale)
        asked_backlog = (backlog, above, supply, blocking)
        assert backlog_bound(*asked_backlog) == plain_flows.backlog_bound(*asked_backlog)
        together = ([*own, *above], supply, blocking)
        assert busy_window(*together) == plain_flows.busy_window(*together)
    assert bounded > 3


FULL = (Stream(1, 3), Stream(2, 7), Stream(8, 21))


@pytest.mark.parametrize("more", [0, 1])
def test_full_load_is_no_overload(more: int) -> None:
    """1/3 + 2/7 + 8/21 is 1: work has a bound, though its busy window never ends."""
    own = [FULL[2]._replace(wcet=8 + more)]
    expected = plain_flows.response_bound(own, FULL[:2], WHOLE)
    assert (expected is None) is bool(more)
    assert response_bound(own, FULL[:2], WHOLE) == expected


FAR = 2**61


@pytest.mark.parametrize(
    "stream",
    [
        Stream(FAR, FAR + 1),
        Stream(FAR, FAR + 1, 2**60, 65536),
        Stream(FAR, None, None, 1, Queue(65536, 2**60, 2**60)),
        Stream(1, 1, 2**60, 65536, Queue(65536, 2**60, 1)),
        Stream(1, FAR, 2**60, 65536, Queue(65536, 2**60, 2**60)),
        Stream(2**45, 2**60, 0, 2**14),
    ],
)
def test_nothing_overflows(stream: Stream) -> None:
    for supply in (WHOLE, Supply(_analysis.Shape.POLLING, 2**50, 2**49)):
        for streams in ([stream], [stream, Stream(1, 10)], [stream] * 9):
            assert busy_window(streams, supply, FAR) == plain_flows.busy_window(
                streams, supply, FAR
            )
            for own, above in ((streams, []), (streams[:1], streams)):
                expected = plain_flows.response_bound(own, above, supply)
                assert response_bound(own, above, supply) == expected
            asked = (2**60, streams, supply, FAR)
            assert backlog_bound(*asked) == plain_flows.backlog_bound(*asked)
    assert backlog_bound(2**70, [], WHOLE) is None


@pytest.mark.parametrize(
    ("stream", "what"),
    [
        (Stream(0, 5), "0"),
        (Stream(1, 0), "0"),
        (Stream(1, 5, 2**62), "2\\^62"),
        (Stream(1, 5, None), "without a bound"),
        (Stream(1, None, 3), "without a bound"),
        (Stream(1, 5, 0, 1, Queue(1, 0, 0)), "0"),
    ],
)
def test_what_is_no_stream_is_refused(stream: Stream, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        busy_window([stream], WHOLE)


# Flows.


def test_a_path_inside_one_domain_is_paid_once() -> None:
    """Each hop may wait 16 for supply; the three together too."""
    one = system(
        "ptps",
        domain("d", (2, 10), event("a", 1, 100), event("b", 1, 101), event("c", 2, 102)),
        flow=(flow("f", 100, "d.a", "d.b", "d.c"),),
    )
    (found,) = analysis_of(one).flows
    assert [hop.bound_ns for hop in found.hops] == [17, 18, 28]
    # 4 of work: 16 + 2 + 8 + 2.
    assert found.bound_ns == 28


def test_jitter_goes_from_hop_to_hop() -> None:
    """On whole pcpus: a takes 1 to 4 (behind 3 of h), so b comes up to 3 closer."""
    one = system(
        "partitioned-hsf-fp",
        whole("x", task("h", 10, 3), event("a", 1, 20), pcpu=0),
        whole("y", event("b", 2, 10), task("low", 12, 5), pcpu=1),
        flow=(flow("f", 7, "x.a", "y.b", queue=4),),
        pcpus=2,
    )
    found = analysis_of(one)
    assert [hop.bound_ns for hop in found.flows[0].hops] == [4, 2]
    # low: 5, and 2 of b at 0 and at 7 - 3 = 4: done at 9, before b comes again at 11.
    assert found.domains["y"].parts["low"].bound_ns == 9
    assert found.flows[0].bound_ns == 6
    assert found.flows[0].verdict.holds


def test_through_a_driver_and_back() -> None:
    """All phases of the source and of the task beside keep the bound.

    None comes near it: the servers of this system get their budgets at fixed times, where the
    supply bound allows them anywhere in their periods.
    """
    one = system(
        "ptps",
        domain("driver", (2, 5), event("in", 1, 30), event("out", 1, 30)),
        domain("control", (3, 10), event("c", 2, 30), task("other", 20, 1)),
        flow=(flow("f", 30, "driver.in", "control.c", "driver.out", queue=2, deadline=45),),
    )
    found = analysis_of(one)
    assert found.flows[0].bound_ns == 32
    assert found.flows[0].verdict.holds
    worst = 0
    for offset, other in itertools.product(range(10), range(0, 20, 2)):
        phases = Phases((offset,), (0, 0, 0, other), 1)
        assert outcome(one, found, phases).broken == ""
        result = simulate(shifted(one, phases), 300)
        worst = max(worst, longest_ns(result.flows[0]))
    assert worst == 14


@pytest.mark.parametrize("scheduler", ["rm", "edf", "fifo"])
def test_every_phase_of_small_worlds(scheduler: str) -> None:
    """Two flows through one driver: no phase breaks a bound."""
    for wcets, queue in itertools.product(itertools.product((1, 2), repeat=3), (1, 3)):
        one = system(
            "ds",
            domain(
                "a", (2, 4), event("t", wcets[0], 8), event("u", wcets[1], 9), scheduler=scheduler
            ),
            domain("b", (1, 3), event("v", wcets[2], 10)),
            flow=(
                flow("f", 12, "a.t", "b.v", "a.t", queue=queue),
                flow("g", 18, "a.u", queue=queue, burst=2),
            ),
        )
        found = analysis_of(one)
        for first, second in itertools.product(range(4), range(0, 18, 3)):
            assert outcome(one, found, Phases((first, second), (0, 0, 0), 1)).broken == ""


def test_what_may_be_dropped_is_not_called_schedulable() -> None:
    domains = (whole("d", event("t", 6, 10)),)
    late = flow("f", 10, "d.t", jitter=8, queue=1)
    (found,) = analysis_of(system("ptps", *domains, flow=(late,))).flows
    assert found.verdict.holds is None
    assert "dropped" in found.verdict.reason
    (found,) = analysis_of(system("ptps", *domains, flow=(late.replace(queue=2),))).flows
    assert (found.verdict.holds, found.bound_ns) == (True, 10)


def test_a_deadline_that_the_bound_does_not_meet() -> None:
    one = system("ptps", whole("d", event("t", 6, 10)), flow=(flow("f", 10, "d.t", deadline=5),))
    found = analysis_of(one)
    assert found.flows[0].verdict.holds is None
    assert found.flows[0].bound_ns == 6
    assert found.domains["d"].parts["t"].holds


def test_behind_a_hop_without_a_promise_the_queue_bounds_what_comes() -> None:
    one = system(
        "ptps",
        domain("a", None, event("t", 4, 10)),
        domain("b", (10, 10), event("u", 1, 10), task("low", 50, 3)),
        flow=(flow("f", 10, "a.t", "b.u", queue=2),),
    )
    found = analysis_of(one)
    assert [hop.bound_ns for hop in found.flows[0].hops] == [None, 2]
    assert found.flows[0].verdict.holds is None
    assert "a.t" in found.flows[0].verdict.reason
    # At most two within 5: 3 of its own and 2, once more after 5.
    assert found.domains["b"].parts["low"].bound_ns == 5


def test_a_server_that_may_starve_bounds_nothing_elsewhere() -> None:
    """x gets nothing for 900 on its pcpu, then all that waited reaches y on the other at once."""
    hog = domain("h", (900, 1000), task("busy", kind="busy"), pcpu=0, priority=0)
    starved = domain("x", (50, 100), event("t", 10, 100), pcpu=0, priority=1)
    low = task("low", 300, 10, offset=10)
    behind = domain("y", (100, 100), event("u", 30, 100), low, pcpu=1, priority=0)
    items = flow("f", 100, "x.t", "y.u", queue=8, deadline=2000)
    one = system("ptps", hog, starved, behind, pcpus=2, flow=(items,))
    seen = simulate(one, 20_000, 1).domains[2].tasks[1]
    said = analyze(one).domains[2]
    assert longest_ns(seen) == 160
    if_it_were_guaranteed = analyze_flows(one, contracts_of(one)).domains["y"].parts["low"]
    assert if_it_were_guaranteed.bound_ns is not None
    assert if_it_were_guaranteed.bound_ns < 160
    claim = said.tasks[1]
    assert claim.schedulable is None or (claim.response_bound_ns or 0) >= 160


def test_edf_the_deadline_or_the_busy_window() -> None:
    """Both are due in time; together they are done after 5, whatever the deadlines."""
    for deadline, bounds in ((20, [5, 5]), (4, [4, 5])):
        one = system(
            "periodic+edf",
            whole("d", event("t", 2, 20, deadline=deadline), event("u", 3, 20), scheduler="edf"),
            flow=(flow("f", 20, "d.t"), flow("g", 20, "d.u")),
        )
        found = analysis_of(one)
        assert [hop.bound_ns for one_flow in found.flows for hop in one_flow.hops] == bounds
    late = system(
        "periodic+edf",
        whole("d", event("t", 2, 20, deadline=2), event("u", 3, 20, deadline=3), scheduler="edf"),
        flow=(flow("f", 20, "d.t"), flow("g", 20, "d.u")),
    )
    found = analysis_of(late)
    assert [one_flow.bound_ns for one_flow in found.flows] == [5, 5]
    assert found.domains["d"].whole.holds is None


def test_tasks_above_every_hop_keep_the_exact_test() -> None:
    one = system(
        "ptps",
        domain("d", (2, 10), task("h", 11, 1, deadline=11), event("t", 1, 50)),
        flow=(flow("f", 50, "d.t"),),
    )
    parts = analysis_of(one).domains["d"].parts
    assert parts["h"].holds is False
    assert parts["t"].holds
    # A sporadic server may always give more than its bound: no proof of the contrary.
    other = analysis_of(one.replace(policy=parse_policy("sporadic")))
    assert other.domains["d"].parts["h"].holds is None


def test_busy_tasks_and_what_is_below() -> None:
    one = system(
        "ptps",
        domain(
            "d", (10, 10), task("hog", kind="busy", priority=1), event("t", 1, 50, priority=0),
            event("u", 1, 50, priority=2), scheduler="fp",
        ),
        flow=(flow("f", 50, "d.t"), flow("g", 50, "d.u")),
    )  # fmt: skip
    found = analysis_of(one)
    assert [one_flow.bound_ns for one_flow in found.flows] == [1, None]
    assert found.domains["d"].parts["u"].holds is False


@pytest.mark.parametrize("scheduler", ["rm", "edf", "fifo"])
def test_a_vcpu_may_have_no_task_or_only_a_busy_one(scheduler: str) -> None:
    hog = task("hog", kind="busy", vcpu=0)
    for beside in ((), (hog,)):
        inside = domain(
            "d", (5, 10), event("t", 1, 50, vcpu=1), *beside, scheduler=scheduler, vcpus=2
        )
        found = analysis_of(system("ptps", inside, flow=(flow("f", 50, "d.t"),)))
        assert [one.bound_ns for one in found.flows] == [11]


US = 1_000


def timed_flow(name: str, period: int, *hops: str) -> Any:
    return flow(name, period * US, *hops, queue=2, deadline=10_000 * US)


@pytest.mark.parametrize("policy", ["ptps", "crps", "ds"])
def test_overheads_count_what_items_cause(policy: str) -> None:
    """Items come far more often than the periods of the hops say, and each is an event."""
    one = system(
        policy,
        domain("a", (400 * US, 1000 * US), event("t", 5 * US, 4000 * US)),
        domain(
            "b", (400 * US, 1500 * US), event("u", 10 * US, 4000 * US), task("v", 9000 * US, US)
        ),
        flow=(timed_flow("f", 500, "a.t", "b.u", "a.t"), timed_flow("g", 700, "b.u")),
        overheads={"pick": 500, "context_switch": 800, "wake": 300, "interrupt": 400},
    )
    free = one.replace(overheads=Overheads())
    found = analysis_of(one)
    for number in range(4):
        phases = Phases((130 * US * number, 0), (0, 0, 0), number + 1)
        assert outcome(one, found, phases, 60_000 * US).broken == ""
    for with_them, without in zip(found.flows, analysis_of(free).flows, strict=True):
        assert with_them.bound_ns is not None
        assert without.bound_ns is not None
        assert with_them.bound_ns > without.bound_ns
    # By the periods of the hops it would be a few events only.
    periods = one.replace(flows=())
    lost, by_periods = (
        budget_loss_ns(each, each.domains, each.domains[0], 100_000 * US) for each in (one, periods)
    )
    assert lost > 2 * by_periods


def test_what_diverges_is_given_up() -> None:
    """The same task twice and 100 % of the pcpu: every round spreads it more."""
    one = system(
        "ptps",
        whole("d", event("t", 5, 10), event("u", 1, 50)),
        flow=(flow("f", 10, "d.t", "d.u", "d.t", queue=50), flow("g", 50, "d.u", queue=9)),
    )
    found = analysis_of(one)
    assert [one_flow.bound_ns for one_flow in found.flows] == [None, None]


def test_the_test_of_a_driver_loop_is_sharper_than_the_general_bounds() -> None:
    """Four packets at a driver: a slice serves them all at once, whoever waits behind."""
    one = load_system(SYSTEMS / "stability-control.toml")
    found = analyze_flows(one, contracts_of(one))
    unknown = {each.name: Verdict.unknown("its servers") for each in one.domains}
    entries = flow_results(found, unknown)
    assert all(entry.schedulable is True for entry in entries)
    assert all(entry.paper and entry.paper.schedulable for entry in entries)
    for entry, general in zip(entries, found.flows, strict=True):
        assert entry.response_bound_ns is not None
        assert entry.deadline_ns is not None
        assert entry.response_bound_ns <= entry.deadline_ns
        assert general.bound_ns is None or entry.response_bound_ns < general.bound_ns
    later = Change(at_ns=1, domain=one.domains[0].name, interface=server(1, 2))
    changed = one.replace(changes=(later,))
    found = analyze_flows(changed, contracts_of(changed))
    assert all(entry.schedulable is None for entry in flow_results(found, unknown))


def behind_another(policy: str, sbf: str) -> list[int]:
    """Bounds of two flows through the lower of two servers: one of two hops, and one of one."""
    one = system(
        policy,
        domain("above", (4, 10), task("t", 10, 1)),
        domain("d", (8, 20), event("a", 3, 200), event("b", 5, 200), event("c", 2, 900)),
        flow=(flow("two", 200, "d.a", "d.b"), flow("one", 900, "d.c")),
        sbf=sbf,
    )
    found = analysis_of(one)
    bounds = [one_flow.bound_ns for one_flow in found.flows if one_flow.bound_ns is not None]
    for bound, seen in zip(bounds, simulate(one, 20_000, 1).flows, strict=True):
        assert seen.response_ns is not None
        assert seen.response_ns.max <= bound
    return bounds


def test_flows_wait_no_longer_than_known_servers_make_them() -> None:
    """The lower server runs in [4, 10) and [14, 16) of 20: 8 units from 16 on are done at 36.

    Its interface alone leaves 24 units without supply; and 2 units of the last task, behind 8 of
    the other, from 16 on: 6, 2 and 2 more in the next period.
    """
    assert behind_another("ptps", "general") == [32, 46]
    assert behind_another("ptps", "servers") == [20, 30]


def test_hops_of_constant_bandwidth_servers_stay_alone_beside_known_ones() -> None:
    """Their supply does not hold across the end of a hop: each hop waits for itself."""
    two, one = behind_another("cbs+fp", "servers")
    general = behind_another("cbs+fp", "general")
    assert two < general[0]
    assert one <= general[1]
    assert behind_another("ds", "servers")[0] < two


@pytest.mark.parametrize("scheduler", ["rm", "edf", "fifo"])
def test_work_beyond_all_times_has_no_bound(scheduler: str) -> None:
    """2^16 items of 2^50 ns come at once, and their deadlines are as long."""
    one = system(
        "periodic+edf",
        whole("d", event("t", 2**50, 2**50, deadline=2**59), scheduler=scheduler),
        flow=(flow("f", 2**50, "d.t", "d.t", burst=2**16, queue=2**16),),
    )
    (found,) = analysis_of(one).flows
    assert found.bound_ns is None
    assert found.verdict.holds is None


# Clients.


@pytest.mark.parametrize("scheduler", ["rm", "edf", "fifo"])
def test_clients_that_overload_a_hop_wait_for_one_another_only(scheduler: str) -> None:
    """They never think, so the pcpu is never free; an item waits for the three others."""
    items = closed("f", 4, 0, "d.t", deadline=20)
    one = system("ptps", whole("d", event("t", 5, 10), scheduler=scheduler), flow=(items,))
    (found,) = analysis_of(one).flows
    assert (found.bound_ns, found.verdict.holds) == (20, True)
    (entry,) = flow_results(analysis_of(one), {"d": Verdict.yes()})
    assert entry.throughput_bound_hz == 4 * 10**9 / 20
    result = simulate(one, 1000).flows[0]
    assert (longest_ns(result), result.finished) == (20, 200)


def test_an_item_counts_once_at_a_task_that_it_visits_twice() -> None:
    """Two clients through t, u and t: at t no more than two items are pending, at u two."""
    one = system(
        "ptps",
        domain("a", (10, 10), event("t", 3, 10), pcpu=0),
        domain("b", (10, 10), event("u", 4, 10), pcpu=1),
        flow=(closed("f", 2, 0, "a.t", "b.u", "a.t"),),
        pcpus=2,
    )
    (found,) = analysis_of(one).flows
    assert [hop.bound_ns for hop in found.hops] == [6, 8, 6]
    assert found.bound_ns == 20


def test_work_above_clients_comes_on_top_and_below_them_there_is_no_bound() -> None:
    """Above: 2 in 10. The two items of 5 take until 14 with it. What is below may wait for ever."""
    one = system(
        "ptps",
        whole("d", task("high", 10, 2), event("t", 5, 20), task("low", 100, 1)),
        flow=(closed("f", 2, 0, "d.t"),),
    )
    found = analysis_of(one)
    assert found.flows[0].bound_ns == 14
    assert found.domains["d"].parts["high"].holds
    assert found.domains["d"].parts["low"].holds is None


def test_clients_that_think_leave_time_to_others() -> None:
    """Two items of 3 in any 40 - a way of 3, and 37 to think - delay what is below by 6."""
    one = system(
        "ptps",
        whole("d", event("t", 3, 20), task("low", 100, 10)),
        flow=(closed("f", 2, 37, "d.t"),),
    )
    found = analysis_of(one)
    assert (found.flows[0].bound_ns, found.domains["d"].parts["low"].bound_ns) == (6, 16)


def test_clients_under_edf_beside_others_are_bounded_while_there_is_time() -> None:
    beside = (event("t", 3, 20, deadline=50), task("p", 100, 10, deadline=100))
    for think, bound in ((37, 50), (0, None)):
        items = closed("f", 2, think, "d.t")
        one = system("ptps", whole("d", *beside, scheduler="edf"), flow=(items,))
        (found,) = analysis_of(one).flows
        assert (found.bound_ns or 0) <= (bound or 0)
        assert (found.bound_ns is None) == (bound is None)


@pytest.mark.parametrize("seed", range(30))
def test_a_backlog_is_done_when_the_supply_covers_it_and_all_above(seed: int) -> None:
    """Tick by tick on the slowest supply, with as much above as may come."""
    rng = random.Random(f"backlog:{seed}")
    period = rng.randint(2, 10)
    supply = Supply(_analysis.Shape.GENERAL, period, rng.randint(1, period))
    above = [Stream(rng.randint(1, 3), rng.randint(15, 40), rng.choice((0, 9)))]
    backlog, blocking = rng.randint(1, 20), rng.randint(0, 3)
    bound = backlog_bound(backlog, above, supply, blocking)
    if bound is None:
        assert rate_of(above[0]) >= supply.bandwidth
        return

    def covered(window: int) -> bool:
        needed = blocking + backlog + above[0].wcet * count(above[0], window)
        return supply.time_for(needed) <= window

    assert covered(bound)
    assert not any(covered(window) for window in range(1, bound))


def test_overheads_count_what_clients_cause() -> None:
    """Three items in 500 us, or in 1 ms: that many wakes less in a period of either server."""
    one = system(
        "ptps",
        domain("a", (500 * US, 1000 * US), event("t", 20 * US, 1000 * US)),
        domain("b", (100 * US, 1000 * US), event("u", 20 * US, 1000 * US)),
        flow=(closed("f", 3, 460 * US, "a.t", "b.u"),),
        overheads=Overheads(pick_ns=1 * US, wake_ns=2 * US),
    )
    costs = [budget_loss_ns(one, one.domains, each) for each in one.domains]
    slower = one.flows[0].source.replace(think_ns=960 * US)
    slow = one.replace(flows=(one.flows[0].replace(source=slower),))
    less = [budget_loss_ns(slow, one.domains, each) for each in one.domains]
    assert [cost - other for cost, other in zip(costs, less, strict=True)] == [9 * US, 9 * US]


def test_entries() -> None:
    one = system("ptps", whole("d", event("t", 2, 20)), flow=(flow("f", 20, "d.t"),))
    found = analysis_of(one)
    assert flow_results(found, {"d": Verdict.yes()}) == (
        FlowResult(
            name="f",
            deadline_ns=1000,
            response_bound_ns=2,
            schedulable=True,
            hops=(HopResult(domain="d", task="t", response_bound_ns=2),),
        ),
    )
    (entry,) = flow_results(found, {"d": Verdict.no("d may not get its budget")})
    assert entry.schedulable is None
    assert entry.response_bound_ns is None
    assert "budget" in entry.reason
