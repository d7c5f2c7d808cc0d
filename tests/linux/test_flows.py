# SPDX-License-Identifier: BSD-2-Clause
"""Flows on Linux: items go between the threads of processes by pipes, as the simulator says.

Every item comes at its nanosecond, is dropped where the simulator drops it, and passes all its hops
once and in order, as fast as the simulator says that is given what events take here. Nothing takes
longer than the analysis says that it may.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.linux.promises import costs, keep_them
from tests.support.guaranteed_flows import schedulable
from tests.support.on_linux import OnLinux, run_on_linux
from tests.support.promises import nothing_is_lost, require_promises
from tests.support.robust import SEED, simulated

from hyperperiod.analysis import AnalysisResult, analyze
from hyperperiod.hosts.linux.run import refuse_request
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.model import InputError, System, hops_of
from hyperperiod.model.policy import PRESETS
from hyperperiod.trace.compare import Trace
from hyperperiod.trace.format import Kind
from hyperperiod.trace.items import FlowItem, items, visits

MS = 1_000_000
HORIZON_NS = 400 * MS
BOUND_NS = 60_000
"""An item leaves at most so much earlier or later than in the simulator."""
OF_EACH = 3
"""Drawn systems of each policy."""

HOP = {"kind": "event", "period": "20ms", "wcet": "500us", "etf": 0.5}


def domain(name: str, *hops: str, **more: Any) -> dict[str, Any]:
    """A domain with these hops and a server of 1.5 of 5 ms."""
    interface = {"period": "5ms", "budget": "1500us"}
    tasks = [{"name": hop, **HOP} for hop in hops]
    return {"name": name, "interface": interface, "task": tasks, **more}


def flow(name: str, source: dict[str, Any], *hops: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "source": source, "hops": hops, "deadline": "40ms", **more}


def loop() -> System:
    """A control loop over two domains, whose plant has two hops, beside one that never sleeps."""
    way = ("plant.sense", "control.law", "plant.act")
    return System.of(
        {
            "name": "loop",
            "policy": "crps",
            "domain": [
                domain("plant", "sense", "act"),
                domain("control", "law"),
                {"name": "rest", "best_effort": True},
            ],
            "flow": [
                flow("loop", {"period": "20ms"}, *way, queue=2),
            ],
        }
    )


def chain() -> System:
    """Three domains in a row, whose items come when they like, and a task beside them in each."""
    own = {"name": "own", "period": "50ms", "wcet": "1ms"}
    domains = [domain(name, "hop") for name in "abc"]
    for one in domains:
        one["task"].append(own)
    source = {"kind": "sporadic", "period": "20ms", "jitter": "2ms"}
    hops = [f"{name}.hop" for name in "abc"]
    rest = {"name": "rest", "best_effort": True}
    flows = [flow("chain", source, *hops, deadline="80ms", queue=4)]
    return System.of({"name": "chain", "policy": "ds", "domain": [*domains, rest], "flow": flows})


def bursts() -> System:
    """Bursts of five items, of which two find the queue full and the others wait for one another.

    Two flows share both hops, and who is done at the second is known only in another process.
    """
    ways = ("a.hop", "b.hop")
    return System.of(
        {
            "name": "bursts",
            "policy": "rtds",
            "domain": [domain("a", "hop"), domain("b", "hop")],
            "flow": [
                flow("five", {"period": "50ms", "burst": 5}, *ways, queue=3),
                flow("one", {"period": "50ms", "offset": "35ms"}, *ways),
            ],
        }
    )


def clients() -> System:
    """Three who wait for their answers, in front of two domains."""
    source = {"kind": "closed", "clients": 3, "think": "17ms", "think_draw": "constant"}
    return System.of(
        {
            "name": "clients",
            "policy": "ds",
            "domain": [domain("front", "ask", "answer"), domain("back", "look")],
            "flow": [flow("pages", source, "front.ask", "back.look", "front.answer")],
        }
    )


def accepted(system: System) -> AnalysisResult:
    """What the analysis says of a system with what events take on Linux: a bound of each flow."""
    verdict = analyze(costs(system))
    assert verdict.schedulable is True, system.name
    assert all(one.response_bound_ns is not None for one in verdict.flows)
    return verdict


def pass_once_in_order(system: System, trace: Trace) -> None:
    """Each job of a hop is for one item, and the items of a flow are done at each in order."""
    records = trace[1]
    kinds = records["kind"]
    hops = [task for way in hops_of(system) for task in way]
    released = (kinds == Kind.RELEASE) & np.isin(records["task"], hops)
    reached = records["value"][kinds == Kind.ITEM]
    assert released.sum() == len(reached) == len(np.unique(reached)) > 0
    done: dict[tuple[int, int], list[int]] = {}
    for record, item in visits(records):
        if record.kind == Kind.COMPLETE:
            done.setdefault((item.flow, item.hop), []).append(item.number)
    for numbers in done.values():
        assert numbers == sorted(set(numbers))


def came(found: list[FlowItem]) -> list[tuple[str, int, int, bool]]:
    """When items came, and whether they were dropped."""
    return [(one.flow, one.item, one.release_ns, one.dropped) for one in found]


def on_machine(system: System, done: OnLinux) -> list[FlowItem]:
    """The items of a run, in which nothing is lost, doubled or overtaken."""
    pass_once_in_order(system, done.trace)
    nothing_is_lost(system, done.result)
    return items(*done.trace)


def simulated_items(system: System) -> list[FlowItem]:
    """The items in the simulator, which is given what events take."""
    return items(*simulated(costs(system), HORIZON_NS, SEED))


def left_ns(one: FlowItem) -> int:
    assert one.finish_ns is not None, one
    return one.finish_ns


def test_items_of_each_kind_of_source(tmp_path: Path) -> None:
    """One machine for all: a loop, a chain, queues that overflow, and clients that wait."""
    judged = [(system, accepted(system)) for system in (loop(), chain())]
    systems = [*(system for system, _ in judged), bursts(), clients()]
    done = run_on_linux(systems, HORIZON_NS, SEED, tmp_path)
    found = [on_machine(*pair) for pair in zip(systems, done, strict=True)]
    expected = [simulated_items(system) for system in systems]
    for (system, verdict), one in zip(judged, done, strict=False):
        require_promises(system.name, verdict, one.result)
    for there, here in zip(found[:3], expected[:3], strict=True):
        assert came(there) == came(here)
        for own, other in zip(there, here, strict=True):
            assert own.dropped or abs(left_ns(own) - left_ns(other)) <= BOUND_NS, own
    assert [flow.dropped for flow in done[2].result.flows] == [16, 0]
    # Clients think from the instants at which their items left, so small differences add up.
    there, here = found[3], expected[3]
    assert abs(len(there) - len(here)) <= 3
    assert [one.release_ns for one in there[:3]] == [one.release_ns for one in here[:3]]


def test_what_has_no_room_is_refused() -> None:
    many = {"kind": "closed", "clients": 257, "think": "1s"}
    system = System.of(
        {
            "name": "many",
            "policy": "ds",
            "domain": [domain("front", "ask")],
            "flow": [flow("pages", many, "front.ask")],
        }
    )
    allowed = "domain front: clients: found 257; allowed: at most 256 on Linux"
    with pytest.raises(InputError, match=allowed):
        refuse_request(RunRequest(system, MS))


@pytest.mark.slow
def test_items_go_from_cpu_to_cpu(tmp_path: Path) -> None:
    """As fast as they come, by long ways that cross one another, on two cpus."""
    ways: dict[str, dict[str, Any]] = {
        "abcd": {"kind": "sporadic", "period": "3ms", "burst": 2, "jitter": "1ms"},
        "dacbd": {"kind": "sporadic", "period": "5ms", "jitter": "1ms"},
        "cdb": {"kind": "closed", "clients": 5, "think": "10ms"},
    }
    system = System.of(
        {
            "name": "cpus",
            "policy": "ds",
            "pcpus": 2,
            "domain": [domain(name, "hop", pcpu=at % 2) for at, name in enumerate("abcd")],
            "flow": [
                flow(way, source, *(f"{name}.hop" for name in way), queue=8)
                for way, source in ways.items()
            ],
        }
    )
    done = run_on_linux([system], 3000 * MS, SEED, tmp_path)[0]
    assert done.result.timing == "host"
    assert all(one.finished > 20 for one in done.result.flows)
    on_machine(system, done)


@pytest.mark.slow
def test_many_systems_that_the_analysis_accepts_keep_their_bounds(tmp_path: Path) -> None:
    """Drawn systems, through a driver and domains behind it, under every policy that has some."""
    found = [pair for preset in PRESETS for pair in islice(schedulable(preset, costs), OF_EACH)]
    assert len(found) >= 20
    done = keep_them(found, 1000 * MS, tmp_path)
    for (system, _), one in zip(found, done, strict=True):
        assert all(flow.items > 0 and flow.dropped == 0 for flow in one.result.flows)
        on_machine(system, one)
