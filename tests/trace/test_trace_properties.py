# SPDX-License-Identifier: BSD-2-Clause
"""Every property holds on good traces, and a bad trace trips each of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.model_naive.model import ORDINARY
from tests.support import example_traces as examples
from tests.support.example_traces import H, L
from tests.support.trace_writer import Script, make_header, task, vcpu

from hyperperiod.trace.format import NONE, SECOND_PAYER, SPARE, Kind
from hyperperiod.trace.properties import PROPERTIES, Status

CHECK = {one.name: one.check for one in PROPERTIES}


@pytest.mark.parametrize("example", examples.GOOD, ids=lambda example: example.__name__)
def test_good_traces_hold(example: Callable[[], Script], tmp_path: Path) -> None:
    header, records = example().trace(tmp_path)
    for one in PROPERTIES:
        finding = one.check(header, records)
        assert finding.status is not Status.FAILS, (one.name, finding.violations)


def trips(name: str, script: Script, folder: Path, text: str) -> None:
    """The named property fails on this trace, and says why."""
    finding = CHECK[name](*script.trace(folder))
    assert finding.status is Status.FAILS
    assert text in finding.violations[0].text


def pair(policy: str, **more: Any) -> Script:
    return Script(make_header(policy, examples.PAIR, horizon_ns=20, **more))


def three(policy: str) -> Script:
    """Three servers on two pcpus that they share."""
    vcpus = [vcpu("a", 10, 4), vcpu("b", 12, 4), vcpu("c", 20, 4)]
    return Script(make_header(policy, vcpus, horizon_ns=20, pcpus=2, scope="global"))


def test_one_pcpu_trips_on_two_at_once(tmp_path: Path) -> None:
    script = pair("rtds", pcpus=2).run(0, H, pcpu=0).run(2, H, pcpu=1).idle(4, pcpu=0)
    trips("one-pcpu", script.end(20), tmp_path, "high runs on two pcpus at once")


def test_one_pcpu_trips_on_a_foreign_pcpu(tmp_path: Path) -> None:
    script = pair("ptps", pcpus=2).idle(0, pcpu=0).run(0, H, pcpu=1)
    trips("one-pcpu", script.end(20), tmp_path, "its own is 0")


def one_task(kind: str = "periodic", period_ns: int = 10, **more: Any) -> Script:
    tasks = [task("high", "t", period_ns, 2, kind=kind, **more)]
    return Script(make_header("ds", [vcpu("high", 10, 4)], tasks, horizon_ns=20))


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (one_task().release(0, 0, 0).release(11, 0, 1), "outside 10 to 10"),
        (one_task(jitter_ns=3).release(4, 0, 0), "outside 0 to 3"),
        (one_task(period_ns=4, jitter_ns=6).release(6, 0, 0).release(12, 0, 1), "outside 6 to 10"),
        (one_task("sporadic", offset_ns=1).release(1, 0, 0).release(9, 0, 1), "outside 11"),
        (
            one_task("event").release(0, 0, 0).complete(2, 0, 0, 2).release(10, 0, 1),
            "outside 12 to 12",
        ),
    ],
)
def test_releases_trips(script: Script, text: str, tmp_path: Path) -> None:
    trips("releases", script.end(20), tmp_path, text)


def two_hops(**more: Any) -> Script:
    """A flow through two tasks of one domain."""
    tasks = [task("high", name, 10, 2, kind="event") for name in ("in", "out")]
    flow = {
        "name": "f",
        "kind": "periodic",
        "period_ns": 10,
        "offset_ns": 0,
        "jitter_ns": 0,
        "burst": 1,
        "queue": 1,
        "deadline_ns": 20,
        "hops": [0, 1],
    }
    flows = [flow | more]
    return Script(make_header("ds", [vcpu("high", 10, 4)], tasks, horizon_ns=20, flows=flows))


def at_hop(script: Script, time_ns: int, hop: int, item: int, job: int | None = None) -> Script:
    """The item is released at a hop, as the job of the same number."""
    number = item if job is None else job
    script.release(time_ns, hop, number)
    return script.add(time_ns, Kind.ITEM, task=hop, job=number, value=hop << 32 | item)


def test_a_flow_that_is_well(tmp_path: Path) -> None:
    script = at_hop(at_hop(two_hops(), 0, 0, 0).complete(2, 0, 0, 2), 2, 1, 0)
    header, records = script.end(10).trace(tmp_path)
    assert CHECK["releases"](header, records).status is Status.HOLDS


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (at_hop(two_hops(), 1, 0, 0), "f item 0 comes outside 0 to 0"),
        (at_hop(two_hops(), 0, 0, 1, 0), "comes as number 0"),
        (at_hop(at_hop(two_hops(burst=2, queue=2), 0, 0, 0), 1, 0, 1), "comes outside 0 to 0"),
        (at_hop(at_hop(two_hops(), 0, 0, 0), 10, 0, 1), "comes with 1 on their way"),
        (two_hops().add(0, Kind.DROP), "is dropped with 0 on their way"),
        (at_hop(at_hop(two_hops(), 0, 0, 0), 1, 1, 0), "at hop 1 but was not done before it"),
        (
            at_hop(at_hop(two_hops(), 0, 0, 0).complete(2, 0, 0, 2), 3, 1, 0),
            "at hop 1 but was not done before it",
        ),
        (at_hop(two_hops(), 0, 0, 0).complete(2, 0, 0, 2), "never gets there"),
        (two_hops().release(0, 0, 0), "carries no item"),
        (two_hops().add(0, Kind.ITEM, task=0), "carries an item but is not released"),
        (at_hop(two_hops(hops=[1, 0]), 0, 0, 0), "at a task that is not hop 0"),
        (two_hops().add(0, Kind.DROP, value=1 << 48), "an item of no flow"),
    ],
)
def test_releases_trips_on_items(script: Script, text: str, tmp_path: Path) -> None:
    trips("releases", script.end(20), tmp_path, text)


def clients(count: int, least: int, most: int, **more: Any) -> Script:
    """The same with clients that think for `least` to `most`."""
    closed = {"clients": count, "think_least_ns": least, "think_most_ns": most}
    return two_hops(kind="closed", period_ns=None, queue=count, **closed, **more)


def way(script: Script, time_ns: int, item: int) -> Script:
    """An item of 2 and 1 that meets nobody."""
    script = at_hop(script, time_ns, 0, item).complete(time_ns + 2, 0, item, 2)
    return at_hop(script, time_ns + 2, 1, item).complete(time_ns + 3, 1, item, 1)


@pytest.mark.parametrize(
    "script",
    [
        way(way(clients(1, 2, 2), 2, 0), 7, 1).end(11),
        way(way(clients(1, 0, 6), 5, 0), 10, 1).end(19),
        way(way(clients(2, 4, 8), 4, 0), 8, 1).end(15),
        way(clients(1, 3, 3, offset_ns=4), 7, 0).end(12),
        clients(3, 30, 40).end(20),
    ],
)
def test_clients_that_are_well(script: Script, tmp_path: Path) -> None:
    assert CHECK["releases"](*script.trace(tmp_path)).status is Status.HOLDS


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (way(clients(1, 2, 2), 1, 0).end(5), "f item 0 comes outside 2 to 2"),
        (way(clients(1, 2, 2), 3, 0).end(7), "f item 0 comes outside 2 to 2"),
        (way(way(clients(1, 0, 2), 0, 0), 6, 1).end(9), "f item 1 comes outside 3 to 5"),
        (
            at_hop(at_hop(clients(1, 0, 2), 0, 0, 0), 0, 0, 1).end(2),
            "comes while every client waits",
        ),
        (way(clients(1, 2, 2), 2, 0).end(8), "f: a client never sends after 7"),
        (way(clients(2, 2, 4), 2, 0).end(6), "f: a client never sends after 4"),
    ],
)
def test_releases_trips_on_clients(script: Script, text: str, tmp_path: Path) -> None:
    trips("releases", script, tmp_path, text)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (one_task().run(0, H, task=0), "runs but is not released"),
        (one_task().release(0, 0, 0).release(1, 0, 1).run(1, H, task=0, job=1), "before job 0"),
        (one_task().release(0, 0, 1).release(1, 0, 3), "is released after job 1"),
        (one_task().release(0, 0, 0, 10).complete(2, 0, 0, 2), "without having run"),
        (
            one_task().release(1, 0, 0, 11).run(1, H, task=0).complete(3, 0, 0, 3),
            "responds in 2 ns but is reported with 3",
        ),
        (
            one_task().release(0, 0, 0, 10).run(9, H, task=0).complete(11, 0, 0, 11),
            "late: True, reported as missed: False",
        ),
        (one_task().release(0, 0, 0, 10).miss(9, 0, 0, 10), "before its deadline"),
        (one_task().release(0, 0, 0, 10).miss(12, 0, 0, 11), "had the deadline 10"),
        (one_task().miss(12, 0, 0, 11), "is not waiting"),
        (one_task().complete(12, 0, 0, 11), "completes but is not released"),
        (one_task().release(0, 0, 0, 10), "overdue at the end"),
    ],
)
def test_jobs_trips(script: Script, text: str, tmp_path: Path) -> None:
    trips("jobs", script.end(20), tmp_path, text)


def test_demand_trips_on_a_job_that_ran_too_long(tmp_path: Path) -> None:
    script = one_task().release(0, 0, 0).run(0, H, task=0).complete(3, 0, 0, 3)
    trips("demand", script.idle(3).end(20), tmp_path, "ran 3 ns; its range is 2 to 2")


def test_demand_trips_on_an_overrun_of_another_job_than_the_header_says(tmp_path: Path) -> None:
    """Half as much again is the range of every second job from 5 on: of this one, or not."""
    script = one_task().release(6, 0, 1).run(6, H, task=0, job=1).complete(9, 0, 1, 3).idle(9)
    overrun = {"thousandths": 1500, "from_ns": 5, "to_ns": None, "every": 2}
    script.header["tasks"][0]["overrun"] = overrun
    assert CHECK["demand"](*script.end(20).trace(tmp_path)).status is Status.HOLDS
    for key, value in (("from_ns", 7), ("to_ns", 6), ("every", 3)):
        script.header["tasks"][0]["overrun"] = {**overrun, key: value}
        trips("demand", script, tmp_path, "ran 3 ns; its range is 2 to 2")


def pieces(first_ns: int, **more: Any) -> Script:
    """A job of 2 in two pieces, one with an arrival inside; the other one takes 4."""
    tasks = [task("high", "t", 40, 2)]
    vcpus = [vcpu("high", 40, 20), vcpu("low", 40, 20)]
    script = Script(make_header("ds", vcpus, tasks, **more)).release(0, 0, 0)
    script.run(0, H, task=0).arrive(1, L).run(first_ns, L)
    end_ns = first_ns + 5
    script.run(first_ns + 1, H, task=0).complete(end_ns, 0, 0, end_ns)
    return script.idle(end_ns).end(40)


def test_demand_allows_overheads_at_the_ends_of_pieces_and_inside(tmp_path: Path) -> None:
    """Two pieces have four ends, and one has an instant inside: 2 + 6 are allowed."""
    script = pieces(4, lateness_ns=1)
    assert CHECK["demand"](*script.trace(tmp_path)).status is Status.HOLDS
    trips("demand", pieces(5, lateness_ns=1), tmp_path, "ran 9 ns; its range is 2 to 8")
    trips("demand", pieces(5, overheads={"pick_ns": 1}), tmp_path, "ran 9 ns; its range is 2 to 8")
    script = pieces(5, lateness_ns=1, job_overhead_ns=1)
    assert CHECK["demand"](*script.trace(tmp_path)).status is Status.HOLDS
    trips("demand", pieces(6, lateness_ns=1, job_overhead_ns=1), tmp_path, "range is 1 to 9")


def test_demand_trips_on_a_job_that_ran_too_short_whatever_the_overheads(tmp_path: Path) -> None:
    script = one_task().release(0, 0, 0).run(0, H, task=0).complete(1, 0, 0, 1).idle(1)
    script.header["lateness_ns"] = 5
    trips("demand", script.end(20), tmp_path, "ran 1 ns; its range is 2 to 12")
    script.header["job_overhead_ns"] = 1
    assert CHECK["demand"](*script.trace(tmp_path)).status is Status.HOLDS


def test_demand_knows_what_follows_a_pick_and_a_switch(tmp_path: Path) -> None:
    """Three events of 1 + 2, and 4 for each of the two pieces."""
    costs = {"lateness_ns": 1, "resume_ns": 2, "switch_ns": 4}
    script = pieces(15, **costs)
    assert CHECK["demand"](*script.trace(tmp_path)).status is Status.HOLDS
    trips("demand", pieces(16, **costs), tmp_path, "ran 20 ns; its range is 2 to 19")


def with_kernel(first_ns: int, **kernel: int | None) -> Script:
    """The job in two pieces, in a guest whose kernel takes something for itself."""
    script = pieces(first_ns, lateness_ns=1)
    script.header["tasks"][0].update(kernel)
    return script


def test_demand_knows_what_the_kernel_of_a_guest_takes(tmp_path: Path) -> None:
    """Three events, and so many ticks in the first piece, one in the second."""
    rare: dict[str, int | None] = {"kernel_ns": 1, "kernel_period_ns": 30}
    assert CHECK["demand"](*with_kernel(7, **rare).trace(tmp_path)).status is Status.HOLDS
    trips("demand", with_kernel(8, **rare), tmp_path, "ran 12 ns; its range is 2 to 11")
    often: dict[str, int | None] = {"kernel_ns": 1, "kernel_period_ns": 4}
    assert CHECK["demand"](*with_kernel(10, **often).trace(tmp_path)).status is Status.HOLDS
    trips("demand", with_kernel(11, **often), tmp_path, "ran 15 ns; its range is 2 to 14")


def test_demand_knows_that_a_kernel_may_wait(tmp_path: Path) -> None:
    """With several vcpus for any time; what a job has not done it has not done."""
    script = with_kernel(20, kernel_ns=None, kernel_period_ns=4)
    assert CHECK["demand"](*script.trace(tmp_path)).status is Status.HOLDS
    short = one_task().release(0, 0, 0).run(0, H, task=0).complete(1, 0, 0, 1).idle(1).end(20)
    short.header["tasks"][0]["kernel_ns"] = None
    trips("demand", short, tmp_path, "ran 1 ns; its range is 2")


def test_demand_counts_no_event_of_another_pcpu(tmp_path: Path) -> None:
    tasks = [task("high", "t", 40, 2)]
    vcpus = [vcpu("high", 40, 20), vcpu("low", 40, 20, pcpu=1)]
    script = Script(make_header("ds", vcpus, tasks, pcpus=2, lateness_ns=1)).release(0, 0, 0)
    script.run(0, H, task=0).run(2, L, pcpu=1).complete(5, 0, 0, 5).idle(5)
    trips("demand", script.end(40), tmp_path, "ran 5 ns; its range is 2 to 4")


US = 1_000


def in_quanta(ran_ns: int) -> Script:
    """A job of 400 us that nobody pays for, picked anew every 100 us, which no record tells.

    The costs are those that are stated for Xen; each pick takes some 2.6 us there, in all.
    """
    tasks = [task("rest", "t", 1_000 * US, 400 * US)]
    costs = {"lateness_ns": 1_296, "resume_ns": 2_300, "switch_ns": 1_500, "job_overhead_ns": 1_000}
    script = Script(make_header("ds", [vcpu("rest")], tasks, quantum_ns=100 * US, **costs))
    script.release(0, 0, 0).run(0, 0, payer=NONE, value=100 * US)
    end_ns = 3 * US + ran_ns
    script.run(3 * US, 0, payer=NONE, value=100 * US, task=0).complete(end_ns, 0, 0, end_ns)
    return script.idle(end_ns).end(1_000 * US)


def test_demand_counts_quanta_that_leave_no_record(tmp_path: Path) -> None:
    """Four of them and the piece itself, 3,596 for each; a twentieth of the job is too much."""
    assert CHECK["demand"](*in_quanta(410_600).trace(tmp_path)).status is Status.HOLDS
    trips("demand", in_quanta(420_000), tmp_path, "ran 420000 ns; its range is 399000 to 418980")
    trips("demand", in_quanta(380_000), tmp_path, "ran 380000 ns; its range is 399000 to 415384")
    unhurried = in_quanta(400_001)
    for key in ("lateness_ns", "resume_ns", "switch_ns", "job_overhead_ns"):
        unhurried.header.pop(key)
    trips("demand", unhurried, tmp_path, "its range is 400000 to 400000")


def test_demand_says_nothing_of_times_of_a_busy_machine(tmp_path: Path) -> None:
    script = one_task().release(0, 0, 0).run(0, H, task=0).complete(1, 0, 0, 1).idle(1)
    script.header["timing"] = "host"
    assert CHECK["demand"](*script.end(20).trace(tmp_path)).status is Status.SKIPPED


def test_paid_time_trips_on_a_charge_to_the_wrong_server(tmp_path: Path) -> None:
    script = pair("ds").run(0, H).add(3, Kind.CHARGE, pcpu=0, payer=L, value=3)
    script.open.clear()
    trips("paid-time", script.idle(3).end(20), tmp_path, "high on pcpu 0 is the payer until 3")


def test_paid_time_trips_on_a_double_charge(tmp_path: Path) -> None:
    script = pair("ds").run(0, H).idle(3).add(3, Kind.CHARGE, pcpu=0, payer=H, value=2)
    trips("paid-time", script.end(20), tmp_path, "charged twice")


@pytest.mark.parametrize("policy", ["ds", "sporadic", "cbs", "ptps"])
def test_budget_trips_on_an_overrun(policy: str, tmp_path: Path) -> None:
    script = pair(policy).arrive(0, H).run(0, H).idle(5).end(20)
    trips("budget", script, tmp_path, "high is 1 ns over its budgets")


def test_budget_forgives_the_stated_lateness_once(tmp_path: Path) -> None:
    late = {"overheads": {"pick_ns": 1, "wake_ns": 0}}
    script = pair("ds", **late).arrive(0, H).run(0, H).idle(5).run(10, H).idle(15).end(20)
    trips("budget", script, tmp_path, "high is 2 ns over its budgets")
    script = pair("ds", **late).arrive(0, H).run(0, H).idle(5).run(10, H).idle(14).end(20)
    assert CHECK["budget"](*script.trace(tmp_path)).status is Status.HOLDS


def test_budget_counts_periods_of_cbs_one_by_one(tmp_path: Path) -> None:
    """Each may be over by the lateness; with ds only one may."""
    script = pair("cbs", lateness_ns=1).arrive(0, H).run(0, H).idle(5).run(10, H).idle(15).end(20)
    assert CHECK["budget"](*script.trace(tmp_path)).status is Status.HOLDS


def test_budget_of_sporadic_counts_from_when_work_came(tmp_path: Path) -> None:
    """Two budgets are due in two periods, also if nothing is charged in the first one."""
    script = pair("sporadic").arrive(0, H).idle(0).run(10, H).idle(18).end(40)
    assert CHECK["budget"](*script.trace(tmp_path)).status is Status.HOLDS
    script = pair("sporadic").arrive(0, H).idle(0).run(10, H).idle(19).end(40)
    trips("budget", script, tmp_path, "high is 1 ns over its budgets")
    script = pair("sporadic").arrive(0, H).run(0, H).depart(1, H).idle(1).arrive(20, H).run(20, H)
    trips("budget", script.idle(25).end(40), tmp_path, "high is 1 ns over its budgets")


def test_budget_tells_of_a_period_once(tmp_path: Path) -> None:
    script = pair("ds").arrive(0, H).run(0, H).arrive(6, L).depart(7, L).idle(8).end(9)
    assert CHECK["budget"](*script.trace(tmp_path)).count == 1


@pytest.mark.parametrize("policy", ["ds", "wcps", "crps"])
def test_depleted_trips(policy: str, tmp_path: Path) -> None:
    script = pair(policy).arrive(0, H).run(0, H).idle(6).end(20)
    trips("depleted", script, tmp_path, "high runs depleted")


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (pair("ptps").arrive(0, L).idle(0, L), "low pays, not high"),
        (pair("crps").arrive(0, L).run(0, L), "low pays, not high"),
        (pair("wcps").arrive(0, L).run(0, L, H), "pays as well: False"),
        (pair("crps").arrive(0, L).run(0, L, H, flags=SECOND_PAYER), "pays as well: True"),
        (pair("ptps").idle(0, H).idle(4), "nobody pays, not low"),
        (pair("ds").arrive(0, L).run(0, L, H), "high pays, not low"),
        (pair("ds").idle(0, H), "high pays, not nobody"),
        (pair("rtds", pcpus=2).arrive(0, L).run(0, L, H).idle(0, pcpu=1), "high pays, not low"),
        (three("ptps").idle(0, 0).idle(0, 2, pcpu=1), "c pays, not b"),
        (three("ptps").idle(0, 0).idle(0, 0, pcpu=1), "pcpu 1: a pays, not b"),
        (three("ptps").idle(0, 0).idle(0, 1, pcpu=1).idle(4).idle(4, 1, pcpu=1), "pays, not c"),
    ],
)
def test_payer_trips(script: Script, text: str, tmp_path: Path) -> None:
    trips("payer", script.end(20), tmp_path, text)


def test_payer_accepts_the_first_two_of_three(tmp_path: Path) -> None:
    script = three("ptps").idle(0, 0).idle(0, 1, pcpu=1).idle(4, 2).idle(4, pcpu=1).idle(8)
    finding = CHECK["payer"](*script.end(10).trace(tmp_path))
    assert finding.status is Status.HOLDS, finding.violations


def test_payer_trips_on_a_tie_that_takes_the_newcomer(tmp_path: Path) -> None:
    equals = [vcpu("a", 10, 4), vcpu("b", 10, 4)]
    header = make_header("ptps", equals, horizon_ns=20)
    script = Script(header).idle(0, 0).idle(2, 1).idle(6, 0).idle(8).end(10)
    trips("payer", script, tmp_path, "b pays, not a")


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (pair("ds").arrive(0, H, L).run(0, L), "low runs, not high"),
        (pair("ds").arrive(0, H).idle(0), "nobody runs, not high"),
        (pair("ptps").arrive(0, L).run(0, L, H), "low runs, not nobody"),
        (pair("crps").arrive(0, H, L).run(0, L, H), "low runs, not high"),
        (
            pair("rtds", pcpus=2).arrive(0, H, L).run(0, H).idle(0, pcpu=1),
            "low should run, and nobody should not",
        ),
    ],
)
def test_order_trips(script: Script, text: str, tmp_path: Path) -> None:
    trips("order", script.end(20), tmp_path, text)


def test_who_has_moved_does_not_run_where_it_was(tmp_path: Path) -> None:
    """Nothing is decided on pcpu 0 when a leaves it."""
    vcpus = [vcpu("a", 10, 4), vcpu("b", 20, 4)]
    script = Script(make_header("ds", vcpus, pcpus=2)).arrive(0, 0, 1).run(0, 0).idle(0, pcpu=1)
    script.add(2, Kind.MOVE, vcpu=0, pcpu=1).run(2, 0, pcpu=1)
    trips("order", script.end(3), tmp_path, "pcpu 0: nobody runs, not b")


def test_order_trips_on_a_tie_that_takes_the_newcomer(tmp_path: Path) -> None:
    equals = [vcpu("a", 10, 4), vcpu("b", 10, 4)]
    script = Script(make_header("ds", equals, horizon_ns=20)).arrive(0, 0, 1).run(0, 0).run(2, 1)
    trips("order", script.end(6), tmp_path, "b runs, not a")


@pytest.mark.parametrize(
    "script",
    [
        pair("ds").arrive(0, L).idle(0),
        pair("ptps").arrive(0, H).idle(0, H),
        pair("wcps").arrive(0, L).idle(0, H),
        pair("crps").arrive(0, L).run(0, L, H).run(4, L).run(10, L, H).idle(14, L),
    ],
)
def test_idle_trips(script: Script, tmp_path: Path) -> None:
    trips("idle", script.end(20), tmp_path, "idles although")


def test_depleted_trips_on_unmarked_extra_time(tmp_path: Path) -> None:
    header = make_header("rtds", [vcpu("high", 10, 4, extra=True)], horizon_ns=20)
    script = Script(header).arrive(0, H).run(0, H).end(8)
    trips("depleted", script, tmp_path, "high is on level 1, marked as extra time: False")


@pytest.mark.parametrize(
    ("script", "from_ns"),
    [
        # It owes 3 when sporadic takes over: of the 4 at 10 they are gone.
        (
            pair("ds").arrive(0, H).run(0, H).idle(7).add(8, Kind.SWAP, pcpu=0, value=3).run(10, H),
            10,
        ),
        # It owes 7 at 15; one period is gone when work comes, which pays 4 of them.
        (
            pair("ds", budget="slice").arrive(0, H).run(0, H).depart(15, H).idle(15)
            .arrive(30, H).run(30, H),
            31,
        ),
    ],
)  # fmt: skip
def test_depleted_trips_on_a_debt_that_is_not_paid(
    script: Script, from_ns: int, tmp_path: Path
) -> None:
    finding = CHECK["depleted"](*script.end(from_ns + 3).trace(tmp_path))
    assert from_ns in [one.time_ns for one in finding.violations], finding


def with_best_effort(policy: str, **more: Any) -> Script:
    vcpus = [vcpu("high", 10, 4), vcpu("best"), vcpu("other")]
    return Script(make_header(policy, vcpus, horizon_ns=20, **more))


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (with_best_effort("ds").arrive(0, H, 1).run(0, 1, NONE), "which is wanted"),
        (with_best_effort("ds").arrive(0, 1).run(0, 1, H), "is charged"),
        (with_best_effort("ds").run(0, 1, NONE), "best runs best effort without work"),
        (with_best_effort("ds").arrive(0, 2).idle(0), "idles although other would run"),
        (
            with_best_effort("ds").arrive(0, 1, 2).run(0, 1, NONE).run(1_000_001, 2, NONE),
            "more than its turn",
        ),
    ],
)
def test_best_effort_trips(script: Script, text: str, tmp_path: Path) -> None:
    trips("best-effort", script.end(1_000_002), tmp_path, text)


def test_best_effort_trips_on_a_foreign_pcpu_when_work_is_gone(tmp_path: Path) -> None:
    """What happens to best concerns pcpu 0 as long as it runs there."""
    vcpus = [vcpu("high", 10, 4), vcpu("best", pcpu=1)]
    script = Script(make_header("ds", vcpus, pcpus=2)).arrive(0, 1).run(0, 1, NONE)
    script.idle(0, pcpu=1).depart(5, 1)
    trips("best-effort", script.end(9), tmp_path, "best runs best effort without work")


def with_spare(pcpus: int = 1) -> Script:
    vcpus = [vcpu("high", 10, 4), vcpu("low", 20, 4)]
    spare = {"period_ns": 40, "budget_ns": 10}
    return Script(make_header("ertds", vcpus, horizon_ns=20, spare=spare, pcpus=pcpus))


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (with_spare().arrive(0, H, L).run(0, L, SPARE), "while high waits"),
        (with_spare().arrive(0, L).run(0, L, SPARE), "not depleted"),
        (
            with_spare().arrive(0, H, L).run(0, H).run(4, L).run(8, H, SPARE),
            "has not the latest deadline",
        ),
        (with_spare().arrive(0, H).run(0, H).idle(4, SPARE), "idles on pcpu 0"),
        (with_spare(2).idle(0, SPARE).idle(0, SPARE, pcpu=1), "on pcpus [0, 1] at once"),
        # low is depleted at 4; high gets work and keeps its budget, but no pcpu.
        (
            with_spare(2)
            .arrive(0, L)
            .run(0, L)
            .idle(0, SPARE, pcpu=1)
            .run(4, L, SPARE)
            .idle(4, pcpu=1)
            .arrive(6, H),
            "pcpu 0 while high waits with budget",
        ),
        (
            with_spare(2).arrive(0, H, L).run(0, L).idle(0, SPARE, pcpu=1),
            "pcpu 1 while high waits with budget",
        ),
    ],
)
def test_spare_trips(script: Script, text: str, tmp_path: Path) -> None:
    trips("spare", script.end(10), tmp_path, text)


US = 1000
GUEST = 2


def with_shares(*weights: int, lost: bool = False) -> Script:
    """Two servers of 1 ms in 10 ms with endless work from 0 on, and best-effort vcpus from 3 ms on.

    The first work of all waits for a slice; high alone may have shares. So it has two of them, both
    have their slices, and their next periods begin at 11 ms. With `lost` high loses half of its
    slice instead, and the others begin at 2.5 ms.
    """
    pair = [vcpu(name, 10_000 * US, 1000 * US, extra=name == "high") for name in ("high", "low")]
    guests = [vcpu(f"guest{weight}", weight=weight) for weight in weights]
    script = Script(make_header("sedf", [*pair, *guests], horizon_ns=11_000 * US))
    script.arrive(0, H, L).run(0, H, NONE).run(1000 * US, H)
    if not lost:
        return script.run(2000 * US, L).arrive(3000 * US, *range(GUEST, GUEST + len(weights)))
    script.depart(1500 * US, H).run(1500 * US, L)
    return script.arrive(2500 * US, H, *range(GUEST, GUEST + len(weights)))


def shares(script: Script, start: int, *runs: int) -> Script:
    """Shares one after the other, from so many half milliseconds on."""
    for at, run in enumerate(runs, start):
        script.run(500 * at * US, run, NONE)
    return script


def moved_share() -> Script:
    """Shares that begin at 3.3 ms, 3.8 ms, ... and so also less than 0.5 ms before 11 ms."""
    script = with_shares().run(3000 * US, H, NONE).depart(3200 * US, H).idle(3200 * US)
    return script.arrive(3300 * US, H).run(3300 * US, H, NONE)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (with_shares().idle(3000 * US), "idles although high may have a share"),
        (shares(with_shares(), 6, L), "a share for low, not for high"),
        # A share costs high 10 and the guest 1; high had one before.
        (shares(with_shares(128), 6, H), "a share for high, not for guest128"),
        (shares(with_shares(128), 6, *[GUEST] * 11), "a share for guest128, not for high"),
        (
            with_shares(128, 300).run(3000 * US, GUEST, NONE).run(3200 * US, GUEST + 1, NONE),
            "the share of guest128 ends early",
        ),
        (shares(with_shares(128, lost=True), 5, GUEST), "a share for guest128, not for high"),
        # One claim, one share.
        (shares(with_shares(128, lost=True), 5, H, H), "a share for high, not for guest128"),
        (moved_share(), "a share for high, not for nobody"),
    ],
)
def test_shares_trip(script: Script, text: str, tmp_path: Path) -> None:
    trips("shares", script.end(10_900 * US), tmp_path, text)


@pytest.mark.parametrize(
    "script",
    [
        shares(with_shares(128), 6, *[GUEST] * 10, H),
        shares(with_shares(128, lost=True), 5, H, *[GUEST] * 10, H),
        moved_share().idle(10_800 * US),
    ],
)
def test_shares_hold(script: Script, tmp_path: Path) -> None:
    """A claim comes first, then eleven shares go ten to one; a gap that is too short is idle."""
    last_ns = max(row[0] for row in script.rows)
    header, records = script.end(last_ns + 200 * US).trace(tmp_path)
    for one in PROPERTIES:
        finding = one.check(header, records)
        assert finding.status is not Status.FAILS, (one.name, finding.violations)


REAL_TIME, SOON, LATER = 0, 1, 2


def classes() -> Script:
    """A real-time server beside two ordinary ones, whose first periods begin at 4."""
    vcpus = [
        vcpu("real-time", 20, 4, priority=0),
        vcpu("soon", 10, 4, priority=ORDINARY),
        vcpu("later", 40, 4, priority=ORDINARY),
    ]
    return Script(make_header("psedf", vcpus)).arrive(0, SOON, LATER)


@pytest.mark.parametrize(
    ("name", "script", "text"),
    [
        ("order", classes().idle(0).run(4, LATER).end(8), "later runs, not soon"),
        (
            "order",
            classes().idle(0).run(4, SOON).arrive(5, REAL_TIME).end(8),
            "soon runs, not real-time",
        ),
        (
            "depleted",
            classes().idle(0).run(4, SOON).depart(6, SOON).arrive(7, SOON).run(7, SOON).end(8),
            "soon runs depleted",
        ),
        (
            "idle",
            classes()
            .arrive(0, REAL_TIME)
            .run(0, REAL_TIME)
            .depart(2, REAL_TIME)
            .idle(2)
            .arrive(3, REAL_TIME)
            .end(4),
            "idles although real-time may run",
        ),
    ],
)
def test_two_classes_trip(name: str, script: Script, text: str, tmp_path: Path) -> None:
    trips(name, script, tmp_path, text)


def test_two_classes_hold(tmp_path: Path) -> None:
    """Priority, then deadlines; real-time slices are kept over a block, ordinary ones are lost."""
    script = classes().idle(0).run(4, SOON).arrive(5, REAL_TIME).run(5, REAL_TIME)
    script.depart(7, REAL_TIME).run(7, SOON).arrive(8, REAL_TIME).run(8, REAL_TIME)
    script.run(10, SOON).depart(11, SOON).run(11, LATER).arrive(12, SOON).run(14, SOON).end(15)
    for one in PROPERTIES:
        finding = one.check(*script.trace(tmp_path))
        assert finding.status is not Status.FAILS, (one.name, finding.violations)


def test_spare_overrun_trips_the_budget(tmp_path: Path) -> None:
    trips("budget", with_spare().idle(0, SPARE).end(11), tmp_path, "spare is 1 ns over")


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (pair("ds", guarantees=True).arrive(0, H).idle(0), "got 0 of 8 ns"),
        (pair("ds", guarantees=True).arrive(0, H).run(0, H).idle(2), "got 2 of"),
        (pair("polling", guarantees=True).arrive(1, H).idle(0), "got 0 of 3 ns"),
    ],
)
def test_guarantee_trips(script: Script, text: str, tmp_path: Path) -> None:
    script.rows.sort()
    trips("guarantee", script.end(20), tmp_path, text)


MS = 1_000_000
LATE_NS = 5_000


def in_ms(periods: int, robbed_ns: int, **more: Any) -> Script:
    """High with work throughout and 4 of 10 ms; once it gets its budget less what is robbed."""
    vcpus = [vcpu("high", 10 * MS, 4 * MS), vcpu("low", 20 * MS, 10 * MS)]
    script = Script(make_header("ds", vcpus, guarantees=True, lateness_ns=LATE_NS, **more))
    script.arrive(0, H, L)
    for number in range(periods):
        start_ns = number * 10 * MS
        lost_ns = robbed_ns if number == periods // 2 else 0
        script.run(start_ns, H).run(start_ns + 4 * MS - lost_ns, L)
    return script.end(periods * 10 * MS)


def test_guarantee_trips_beside_late_picks_on_a_tenth_of_one_budget(tmp_path: Path) -> None:
    trips("guarantee", in_ms(8, 4 * MS // 10), tmp_path, "high got 19600000 of 19920000 ns")


@pytest.mark.parametrize("robbed_ns", [0, LATE_NS, 6 * LATE_NS])
def test_guarantee_allows_what_late_picks_take(robbed_ns: int, tmp_path: Path) -> None:
    """Two servers: one window of one period may lose (2 + 3 * 2) picks of 5 us."""
    finding = CHECK["guarantee"](*in_ms(8, robbed_ns).trace(tmp_path))
    assert finding.status is Status.HOLDS, finding.violations


def test_guarantee_is_exact_to_the_nanosecond_beside_late_picks(tmp_path: Path) -> None:
    finding = CHECK["guarantee"](*in_ms(8, 8 * LATE_NS).trace(tmp_path))
    assert finding.status is Status.HOLDS, finding.violations
    trips("guarantee", in_ms(8, 8 * LATE_NS + 1), tmp_path, "high got 3959999 of 3960000 ns")


def test_guarantee_trips_on_a_nanosecond_where_picks_are_in_time(tmp_path: Path) -> None:
    """The window is one that starts at a refill: the whole budget is due by the next one."""
    script = pair("ds", guarantees=True).arrive(0, H, L).run(0, H).run(3, L).run(10, H).run(14, L)
    trips("guarantee", script.end(20), tmp_path, "high got 3 of 4 ns in a window of 10 ns")


def test_guarantee_counts_no_debt_twice(tmp_path: Path) -> None:
    """High runs 5 us too long in every period and pays that back each time."""
    vcpus = [vcpu("high", 10 * MS, 4 * MS), vcpu("low", 10 * MS, 6 * MS, priority=11 * MS)]
    script = Script(make_header("ds", vcpus, guarantees=True, lateness_ns=LATE_NS))
    script.arrive(0, H, L).run(0, H)
    for number in range(8):
        start_ns = number * 10 * MS
        script.run(start_ns + 4 * MS + LATE_NS, L).run(start_ns + 10 * MS + LATE_NS, H)
    header, records = script.end(80 * MS + 2 * LATE_NS).trace(tmp_path)
    for name in ("budget", "depleted", "order", "guarantee"):
        finding = CHECK[name](header, records)
        assert finding.status is Status.HOLDS, (name, finding.violations)


def test_guarantee_says_when_late_picks_leave_nothing(tmp_path: Path) -> None:
    late = in_ms(4, 0)
    late.header["lateness_ns"] = 5 * MS
    finding = CHECK["guarantee"](*late.trace(tmp_path))
    assert finding.status is Status.SKIPPED
    assert "leaves no bound" in finding.reason


def test_guarantee_says_nothing_of_late_picks_on_shared_pcpus(tmp_path: Path) -> None:
    header = make_header("rtds", examples.PAIR, pcpus=2, guarantees=True, lateness_ns=1)
    script = Script(header).arrive(0, H).idle(0).idle(0, pcpu=1)
    finding = CHECK["guarantee"](*script.end(20).trace(tmp_path))
    assert finding.status is Status.SKIPPED
    assert "shared" in finding.reason


def test_guarantee_allows_more_beside_a_server_with_extra_time(tmp_path: Path) -> None:
    """What that one runs too long it need not pay back: two of its periods touch one of high's."""
    script = in_ms(8, 10 * LATE_NS)
    script.header["vcpus"][L]["extra"] = True
    finding = CHECK["guarantee"](*script.trace(tmp_path))
    assert finding.status is Status.HOLDS, finding.violations
    script = in_ms(8, 11 * LATE_NS + 1)
    script.header["vcpus"][L]["extra"] = True
    trips("guarantee", script, tmp_path, "high got 3944999 of 3945000 ns")


def test_guarantee_needs_the_promise(tmp_path: Path) -> None:
    finding = CHECK["guarantee"](*pair("ds").arrive(0, H).idle(0).end(20).trace(tmp_path))
    assert finding.status is Status.SKIPPED
    assert "host-level test" in finding.reason


def test_guarantee_counts_no_late_picks_of_another_pcpu(tmp_path: Path) -> None:
    """Alone on its pcpu high may lose (2 + 3 * 1) picks of 5 us."""
    script = in_ms(8, 5 * LATE_NS, pcpus=2)
    script.header["vcpus"][L]["pcpu"] = 1
    assert CHECK["guarantee"](*script.trace(tmp_path)).status is Status.HOLDS
    script = in_ms(8, 5 * LATE_NS + 1, pcpus=2)
    script.header["vcpus"][L]["pcpu"] = 1
    trips("guarantee", script, tmp_path, "high got 3974999 of 3975000 ns")


def test_guarantee_goes_on_after_a_change(tmp_path: Path) -> None:
    change = {"at_ns": 4, "domain": "high", "interface": {"period_ns": 10, "budget_ns": 2}}
    script = pair("ds", guarantees=True, changes=[change]).arrive(0, H).run(0, H).idle(4)
    trips("guarantee", script.end(20), tmp_path, "high got 0 of 2 ns in a window of 10 ns")


def test_guarantee_rests_from_a_swap_to_the_next_refill(tmp_path: Path) -> None:
    """Polling has lost all when deferrable takes over: b waits for 15, which is more than 12."""
    vcpus = [vcpu("a", 10, 6, priority=0), vcpu("b", 10, 4, priority=1)]
    swap = {"at_ns": 1, "policy": "ds"}
    script = Script(make_header("polling", vcpus, guarantees=True, swaps=[swap])).idle(0)
    script.arrive(1, 1).add(1, Kind.SWAP, pcpu=0, value=DEFERRABLE).arrive(10, 0).run(10, 0)
    script.run(16, 1).run(20, 0).run(26, 1).end(30)
    finding = CHECK["guarantee"](*script.trace(tmp_path))
    assert finding.status is Status.HOLDS, finding.violations


@pytest.mark.parametrize(("policy", "priority"), [("sedf", 0), ("psedf", ORDINARY)])
@pytest.mark.parametrize(("lost_ns", "next_ns"), [(6, 14), (14, 24)])
def test_guarantee_begins_anew_where_a_slice_is_lost(
    policy: str, priority: int, lost_ns: int, next_ns: int, tmp_path: Path
) -> None:
    """Work runs out and comes anew in the slice that begins at 4, or as the one at 14 begins."""
    header = make_header(policy, [vcpu("a", 10, 4, priority=priority)], guarantees=True)
    script = Script(header).arrive(0, 0).idle(0).run(4, 0)
    script = script.idle(8) if lost_ns > 8 else script
    script.depart(lost_ns, 0).arrive(lost_ns, 0).idle(lost_ns).run(next_ns, 0).end(next_ns + 4)
    finding = CHECK["guarantee"](*script.trace(tmp_path))
    assert finding.status is Status.HOLDS, finding.violations


DEFERRABLE = 1
"""The value of a swap to deferrable servers, fixed priority and no slack."""


def swapped(*swaps: tuple[int, int]) -> Script:
    """Both are empty-handed for an instant: a is deferrable by then and keeps 1, b is polling."""
    vcpus = [vcpu("a", 10, 4), vcpu("b", 10, 4, pcpu=1)]
    swap = {"at_ns": 0, "policy": "ds"}
    script = Script(make_header("polling", vcpus, pcpus=2, swaps=[swap])).arrive(0, 0, 1)
    script.run(0, 0, pcpu=0).run(0, 1, pcpu=1).depart(3, 0, 1).idle(3, pcpu=0).idle(3, pcpu=1)
    script.arrive(5, 0, 1).run(5, 0, pcpu=0).idle(6, pcpu=0)
    script.run(10, 0, pcpu=0).run(10, 1, pcpu=1).idle(14, pcpu=0).idle(14, pcpu=1).end(20)
    for time_ns, pcpu in swaps:
        script.add(time_ns, Kind.SWAP, pcpu=pcpu, value=DEFERRABLE)
    script.rows.sort(key=lambda row: row[0])
    return script


def test_partitioned_pcpus_swap_one_after_the_other(tmp_path: Path) -> None:
    header, records = swapped((2, 0), (7, 1)).trace(tmp_path)
    for one in PROPERTIES:
        finding = one.check(header, records)
        assert finding.status is not Status.FAILS, (one.name, finding.violations)
    trips("order", swapped((2, NONE)), tmp_path, "pcpu 1: nobody runs, not b")
    trips("order", swapped((2, 1), (7, 0)), tmp_path, "pcpu 0: a runs, not nobody")


def test_every_property_has_a_sentence_and_a_name() -> None:
    assert len({one.name for one in PROPERTIES}) == len(PROPERTIES)
    for one in PROPERTIES:
        assert one.statement.endswith("."), one.name


def test_every_property_has_been_seen_to_fail() -> None:
    """This file must name each property in a test that trips it."""
    text = Path(__file__).read_text()
    for one in PROPERTIES:
        assert f'trips("{one.name}"' in text, one.name


# -- guests that schedule globally ---------------------------------------------------------------


def moving(scheduler: str = "gedf", **more: Any) -> Script:
    """Two vcpus with whole pcpus and three tasks whose jobs move between them, all there at 0."""
    vcpus = [vcpu("g.0", 20, 20), vcpu("g.1", 20, 20)]
    tasks = [
        task("g", name, period, 4, deadline_ns=deadline, priority=rank)
        for name, period, deadline, rank in (("a", 30, 20, 1), ("b", 20, 30, 2), ("c", 40, 40, 0))
    ]
    header = make_header(
        "rtds", vcpus, tasks, horizon_ns=10, pcpus=2, global_guests={"g": scheduler}, **more
    )
    script = Script(header).release(0, 0, 0, 20).release(0, 1, 0, 30).release(0, 2, 0, 40)
    return script.arrive(0, 0, 1)


def on_both(script: Script, first: int, second: int, time_ns: int = 0) -> Script:
    return script.run(time_ns, 0, task=first).run(time_ns, 1, pcpu=1, task=second)


@pytest.mark.parametrize(
    ("scheduler", "first"),
    [("gedf", (0, 1)), ("grm", (1, 0)), ("gdm", (0, 1)), ("gfp", (2, 0))],
)
def test_the_first_jobs_run(scheduler: str, first: tuple[int, int], tmp_path: Path) -> None:
    header, records = on_both(moving(scheduler), *first).end(10).trace(tmp_path)
    assert CHECK["guest-order"](header, records).status is Status.HOLDS


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (on_both(moving(), 0, 2), "g.b job 0 waits for g.c job 0"),
        (on_both(moving("grm"), 0, 2), "g.b job 0 waits for g.a job 0"),
        (on_both(moving("gfp"), 0, 1), "g.c job 0 waits for g.a job 0"),
        (on_both(moving(), 0, 0), "g.a runs on two vcpus at once"),
        (moving().run(0, 0, task=0).run(0, 1, pcpu=1), "g.1 runs nothing while a job"),
        (moving().depart(0, 1).run(0, 0, task=0), "g.1 has no work while a job"),
        (
            on_both(moving(), 0, 1)
            .complete(4, 0, 0, 4)
            .complete(4, 1, 0, 4)
            .run(4, 0, task=2)
            .idle(4, pcpu=1),
            "g.1 has work but no job",
        ),
    ],
)
def test_guest_order_trips(script: Script, text: str, tmp_path: Path) -> None:
    trips("guest-order", script.end(10), tmp_path, text)


def test_a_late_host_may_leave_a_guest_out_of_order(tmp_path: Path) -> None:
    """Jobs are in order again 2 ns after the release."""
    script = on_both(on_both(moving(lateness_ns=2), 1, 2), 0, 1, 2).end(10)
    assert CHECK["guest-order"](*script.trace(tmp_path)).status is Status.HOLDS
    script = on_both(on_both(moving(lateness_ns=1), 1, 2), 0, 1, 2).end(10)
    trips("guest-order", script, tmp_path, "waits")


def test_other_guests_are_not_judged(tmp_path: Path) -> None:
    header, records = one_task().end(20).trace(tmp_path)
    assert CHECK["guest-order"](header, records).status is Status.SKIPPED
