# SPDX-License-Identifier: BSD-2-Clause
"""Rings of devices: when packets are dropped, and when it is proved that none is."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.support.worlds import domain, event, flow, longest_ns, run, system

from hyperperiod.analysis import analyze
from hyperperiod.model import Device, InputError, System, load_system, to_table
from hyperperiod.runs import run_on_linux, simulate
from hyperperiod.trace.items import items
from hyperperiod.trace.properties import check_all

SYSTEMS = Path(__file__).parents[2] / "systems"
BEST_EFFORT = "best_effort = true"
Stream = tuple[int, dict[str, Any]]
"""The period of a flow, and its other keys."""


def through(policy: str, ring: int, *flows: Stream, given: tuple[int, int]) -> System:
    """A driver that takes 2 for each packet in and 1 for each out, before a domain of its own."""
    eth0 = Device.of({"name": "eth0", "driver": "io", "receive": 2, "send": 1, "queue": ring})
    return system(
        policy,
        domain("io", given, scheduler="fifo", pcpu=0),
        domain("app", (10, 10), event("t", 1, 40), pcpu=1),
        pcpus=2,
        device=(eth0,),
        flow=tuple(
            flow(f"f{number}", period, "app.t", via="eth0", **more)
            for number, (period, more) in enumerate(flows)
        ),
    )


def test_a_packet_that_finds_the_ring_full_is_dropped() -> None:
    """A burst of five comes into a ring of three; what came before is received meanwhile."""
    one = through("ptps", 3, (40, {"burst": 5, "queue": 9}), given=(10, 10))
    ran = run(one, 80)
    assert [item.dropped for item in items(ran.header, ran.records)] == [False] * 3 + [True] * 2 + [
        False
    ] * 3 + [True] * 2
    assert ran.result.flows[0].dropped == 4
    assert not any(finding.violations for finding in check_all(ran.header, ran.records))
    for ring in (2, 4):
        ran.header["flows"][0]["ring"] = ring
        (wrong,) = [one for one in check_all(ran.header, ran.records) if one.violations]
        assert f"{min(ring, 3)} in the ring" in wrong.violations[0].text


def test_a_flow_is_hurt_by_another_in_its_ring() -> None:
    """A burst of another flow fills the ring, and the queue of that flow keeps room in it."""
    for queue in (5, 4):
        bulk: Stream = (40, {"burst": 5, "queue": queue})
        ran = simulate(through("ptps", 5, bulk, (40, {}), given=(10, 10)), 400, 1)
        assert ran.flows[1].dropped == (10 if queue == 5 else 0)


@pytest.mark.parametrize("burst", [1, 2, 3])
@pytest.mark.parametrize("jitter", [0, 5])
@pytest.mark.parametrize("budget", [7, 10])
def test_the_shortest_ring_that_is_proved(burst: int, jitter: int, budget: int) -> None:
    """With a packet less than is proved one is dropped, where the driver always has its pcpu."""

    def of(ring: int) -> System:
        bulk: Stream = (20, {"burst": burst, "jitter": jitter, "queue": 9})
        return through("ptps", ring, bulk, (20, {}), given=(budget, 10))

    def proved(ring: int) -> bool:
        return all(one.schedulable for one in analyze(of(ring)).flows)

    least = next(ring for ring in range(1, 20) if proved(ring))
    assert least > burst
    reason = next(one.reason for one in analyze(of(least - 1)).flows if one.reason)
    assert f"{least} could be in the ring of eth0, it holds {least - 1}" in reason
    dropped = [sum(f.dropped for f in simulate(of(ring), 2000, 1).flows) for ring in (least, 1)]
    assert dropped[0] == 0 < dropped[1]
    if budget == 10:
        assert sum(one.dropped for one in simulate(of(least - 1), 2000, 1).flows)


def test_a_driver_loop_needs_room_for_a_packet_of_each_flow() -> None:
    """Else the test of whole flows, which knows no rings, would say that none is dropped."""
    tests = []
    for ring in (1, 2):
        eth0 = Device.of({"name": "eth0", "driver": "io", "receive": 1, "send": 1, "queue": ring})
        one = system(
            "psedf",
            domain("io", (8, 20), scheduler="fifo", priority=0),
            domain("a", (5, 20), event("t", 2, 100), priority=1),
            domain("b", (5, 20), event("t", 2, 100), priority=2),
            device=(eth0,),
            flow=tuple(
                flow(name, 100, f"{name}.t", via="eth0", out="eth0", queue=1, deadline=100)
                for name in ("a", "b")
            ),
        )
        tests.append([each.paper is not None for each in analyze(one).flows])
    assert tests == [[False, False], [True, True]]


def test_a_flood_of_a_neighbour_moves_nobody_beyond_a_bound() -> None:
    """The bound of the example's loop does not rest on what its neighbour declares.

    Without a budget for the driver there is none, and the loop is later than it was.
    """
    file = SYSTEMS / "driver-domain.toml"
    text = file.read_text("utf-8")
    flood = text.replace('period = "10ms", burst = 8', 'period = "10us"')
    unserved = flood.replace('interface = { period = "1ms", budget = "200us" }', BEST_EFFORT)
    bounds: list[int | None] = []
    longest: list[int] = []
    for given in (text, flood, unserved):
        one = System.of(tomllib.loads(given, parse_float=Decimal))
        loop = simulate(one, 5 * 10**9, 1)
        bounds.append(analyze(one).flows[0].response_bound_ns)
        longest.append(longest_ns(loop.flows[0]))
        assert loop.flows[0].dropped == 0
        assert (loop.flows[1].dropped > 0) == (given != text)
    assert bounds == [3_965_000, 3_965_000, None]
    assert longest[0] < longest[1] <= 3_965_000 < longest[2]


def test_the_reads_of_the_vm_rest_on_the_server_of_its_iothread() -> None:
    """A read is submitted, and its disk may take 6 ms, before the flow's release is latest."""
    one = load_system(SYSTEMS / "vm-disk.toml")
    found = analyze(one)
    assert (found.schedulable, found.flows[0].response_bound_ns) == (True, 8_600_000)
    assert longest_ns(simulate(one, 5 * 10**9, 1).flows[0]) <= 8_600_000
    submit, _ = found.domains[1].tasks
    assert submit.response_bound_ns == 1_950_000 <= one.flows[0].source.jitter_ns - 6_000_000
    vm, io, *others = one.domains
    unserved = one.replace(domains=(vm, io.replace(interface=None, best_effort=True), *others))
    assert analyze(unserved).flows[0].response_bound_ns is None


def test_linux_runs_no_device() -> None:
    one = through("ptps", 1, (40, {}), given=(10, 10))
    with pytest.raises(InputError, match="device: found 1; allowed: at most 0"):
        run_on_linux(one, 100)


def test_a_table_cannot_say_a_device() -> None:
    with pytest.raises(InputError, match=r"device\[0\]: found device eth0; .*no such thing in CSV"):
        to_table(through("ptps", 1, (40, {}), given=(10, 10)))
