# SPDX-License-Identifier: BSD-2-Clause
"""Flows on real Xen: items cross domains by shared memory and events, as the simulator says.

Every item comes at its nanosecond and is dropped exactly where the simulator drops it. In robust
systems it also leaves when it does there, up to the bound of all comparisons; that the schedule's
parts are in the same order is not asked: a domain that wakes a better one by an event has its last
microsecond, up to its sleep, when that one is done.

The case of the PSEDF paper, all on one pcpu: its bounds hold, packets that come apart need no more
than the work at their hops, and what ordinary VMs do does not matter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.on_xen import OnXen, bound_ns, measured, need_xen, run_on_xen, with_overheads
from tests.support.promises import nothing_is_lost
from tests.support.robust import HORIZON_NS, SEED, is_robust, simulated
from tests.support.worlds import longest_ns
from tests.xen.robust_flows import FOUND, candidate

from hyperperiod import runs
from hyperperiod.analysis import Analysis, analyze
from hyperperiod.analysis.overheads import event_cost_ns
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.xen.plan import XenOptions
from hyperperiod.hosts.xen.run import BusyError
from hyperperiod.model import SourceKind, System, load_system
from hyperperiod.model.policy import PRESETS
from hyperperiod.runs import complete, simulate
from hyperperiod.trace.check import check_file
from hyperperiod.trace.compare import compare
from hyperperiod.trace.format import read
from hyperperiod.trace.items import FlowItem, items
from hyperperiod.trace.properties import Status

SYSTEMS = Path(__file__).parents[2] / "systems"
MS = 1_000_000
_US = 1_000
COMPARED = 0.85
"""At least this share of the time is farther than the bound from every boundary."""


def both(
    system: System, horizon_ns: int, folder: Path, seed: int = 1
) -> tuple[OnXen, list[FlowItem], list[FlowItem]]:
    """A run on Xen, its items, and those of the simulator."""
    system = complete(Analysis(system))
    on_xen = run_on_xen(system, horizon_ns, seed, folder)
    simulate(system, horizon_ns, seed, folder / "sim.hpt")
    return on_xen, items(*on_xen.trace), items(*read(folder / "sim.hpt"))


def test_every_item_comes_at_its_nanosecond(tmp_path: Path) -> None:
    """Two flows, bursts, jitter and queues, beside a domain that never sleeps."""
    system = load_system(SYSTEMS / "packet-path.toml")
    on_xen, there, here = both(system, 200 * MS, tmp_path)
    assert [(one.flow, one.item, one.release_ns) for one in there] == [
        (one.flow, one.item, one.release_ns) for one in here
    ]
    assert len(there) > 50
    nothing_is_lost(system, on_xen.result)
    assert sum(one.finish_ns is not None for one in there) > 0.9 * len(there)


def test_clients_wait_for_their_answers(tmp_path: Path) -> None:
    """A closed loop over three domains: as many pages per second as in the simulator."""
    system = load_system(SYSTEMS / "request-response.toml")
    on_xen, there, here = both(system, 1000 * MS, tmp_path)
    requests = on_xen.result.flows[0]
    assert requests.dropped == 0
    nothing_is_lost(system, on_xen.result)
    assert 0.9 * len(here) < len(there) < 1.1 * len(here)
    # Whoever has not been served yet thought as long as in the simulator.
    assert [one.release_ns for one in there[:5]] == [one.release_ns for one in here[:5]]
    assert requests.finished > 50


def agree(system: System, folder: Path) -> None:
    on_xen = run_on_xen(system, HORIZON_NS, SEED, folder)
    in_simulator = simulated(with_overheads(system), HORIZON_NS)
    found = compare(in_simulator, on_xen.trace, bound_ns())
    assert found.agrees, f"{system.name}\n{found.text()}"
    assert found.compared_ns >= COMPARED * found.total_ns, found.text()
    nothing_is_lost(system, on_xen.result)
    there, here = items(*on_xen.trace), items(*in_simulator)
    assert len(there) == len(here) > 0
    for one, other in zip(there, here, strict=True):
        assert (one.flow, one.item, one.release_ns, one.dropped) == (
            other.flow,
            other.item,
            other.release_ns,
            other.dropped,
        )
        if one.finish_ns is not None and other.finish_ns is not None:
            assert abs(one.finish_ns - other.finish_ns) <= bound_ns(), (system.name, one)


@pytest.mark.parametrize("preset", ["crps", "rtds", "sedf-prime", "psedf"])
def test_a_robust_system_with_flows(preset: str, tmp_path: Path) -> None:
    agree(candidate(preset, FOUND[preset][0]), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_robust_systems_with_flows_of_each_preset(preset: str, tmp_path: Path) -> None:
    for number in FOUND[preset]:
        agree(candidate(preset, number), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_they_are_robust_and_not_dull(preset: str) -> None:
    systems = [candidate(preset, number) for number in FOUND[preset]]
    assert all(map(is_robust, systems))
    assert any(len(flow.hops) == 3 for system in systems for flow in system.flows)


def stability(*, load: bool, apart: bool) -> System:
    """The paper's case on one pcpu; packets of the wheels come apart, or at random."""
    system = load_system(SYSTEMS / "stability-control-one-pcpu.toml")
    if not load:
        system = system.replace(domains=system.domains[:-1])
    if not apart:
        return system
    flows = []
    for number, flow in enumerate(system.flows):
        moved = {"kind": SourceKind.PERIODIC, "offset_ns": (100 + 625 * number) * _US}
        flows.append(flow.replace(source=flow.source.replace(**moved)))
    return system.replace(flows=tuple(flows))


def longest(on_xen: OnXen) -> list[int]:
    """The longest response of each flow, none of which may have lost an item."""
    flows = on_xen.result.flows
    assert all(flow.misses == flow.dropped == 0 for flow in flows)
    return [longest_ns(flow) for flow in flows]


def with_event_costs(system: System) -> System:
    """The system with what an event costs at most added to every job."""
    cost_ns = event_cost_ns(measured().overheads, 1)
    domains = []
    for domain in system.domains:
        tasks = [
            task.replace(wcet_ns=task.wcet_ns + cost_ns) if task.wcet_ns else task
            for task in domain.tasks
        ]
        domains.append(domain.replace(tasks=tuple(tasks)))
    return system.replace(domains=tuple(domains))


def keeps_its_bounds(horizon_ns: int, folder: Path) -> None:
    random = stability(load=True, apart=False)
    verdict = analyze(random)
    assert verdict.schedulable is True
    assert analyze(with_event_costs(random)).schedulable is True
    loaded = longest(run_on_xen(random, horizon_ns, SEED, folder))
    for flow, found_ns in zip(verdict.flows, loaded, strict=True):
        assert flow.response_bound_ns is not None
        assert found_ns <= flow.response_bound_ns, flow.name
    alone = longest(run_on_xen(stability(load=False, apart=False), horizon_ns, SEED, folder))
    for with_load_ns, without_ns in zip(loaded, alone, strict=True):
        assert abs(with_load_ns - without_ns) <= event_cost_ns(measured().overheads, 1)


def test_stability_control_keeps_its_bounds(tmp_path: Path) -> None:
    keeps_its_bounds(250 * MS, tmp_path)


@pytest.mark.slow
def test_stability_control_keeps_its_bounds_for_ten_thousand_packets(tmp_path: Path) -> None:
    keeps_its_bounds(38_000 * MS, tmp_path)


def test_packets_that_come_apart_need_their_hops_only(tmp_path: Path) -> None:
    """2 e_N + e_1 = 0.1 ms, and for each of the three hops what one event costs at most."""
    costs_ns = 3 * event_cost_ns(measured().overheads, 1)
    found = {}
    for load in (True, False):
        system = stability(load=load, apart=True)
        found[load] = longest(run_on_xen(system, 100 * MS, SEED, tmp_path))
        assert all(100 * _US < response_ns <= 100 * _US + costs_ns for response_ns in found[load])
    for with_load_ns, without_ns in zip(found[True], found[False], strict=True):
        assert abs(with_load_ns - without_ns) <= event_cost_ns(measured().overheads, 1)


def test_a_flow_through_domains_with_several_vcpus(tmp_path: Path) -> None:
    """Events come to the first vcpu; whichever looks first takes the message."""
    hop = {"name": "hop", "kind": "event", "period": "5ms", "deadline": "40ms"}
    hog = {"name": "own", "period": "4ms", "wcet": "1ms"}
    system = System.of(
        {
            "name": "several-vcpus",
            "policy": "ds",
            "domain": [
                {
                    "name": name,
                    "vcpus": 2,
                    "interface": {"period": "5ms", "budget": "1.2ms"},
                    "task": [{**hop, "wcet": "300us", "etf": 0.5}, hog],
                }
                for name in ("a", "b")
            ],
            "flow": [
                {
                    "name": "f",
                    "source": {"kind": "sporadic", "period": "2ms", "burst": 2, "jitter": "1ms"},
                    "hops": ["a.hop", "b.hop", "a.hop", "b.hop"],
                    "deadline": "40ms",
                    "queue": 4,
                }
            ],
        }
    )
    on_xen = run_on_xen(system, 300 * MS, SEED, tmp_path)
    nothing_is_lost(system, on_xen.result)
    found = on_xen.result.flows[0]
    assert found.dropped > 10
    assert found.finished > 50


def test_items_of_domains_that_have_no_time_are_known(tmp_path: Path) -> None:
    """Nobody could record what came, what was dropped and what clients sent; it is as simulated."""
    hop = {"name": "hop", "kind": "event", "period": "10ms", "wcet": "20us"}
    busy = {"name": "busy", "kind": "busy"}
    half = {"period": "2ms", "budget": "1ms"}
    rest = {"deadline": "10ms", "hops": ["a.hop", "b.hop"]}
    system = System.of(
        {
            "name": "starved",
            "policy": "ds",
            "domain": [
                {"name": "hog", "interface": half, "task": [busy]},
                {"name": "other", "interface": half, "task": [busy]},
                {"name": "a", "best_effort": True, "task": [hop]},
                {"name": "b", "best_effort": True, "task": [hop]},
            ],
            "flow": [
                {"name": "f", "source": {"period": "5ms", "burst": 2}, "queue": 3, **rest},
                {"name": "c", "source": {"kind": "closed", "clients": 3, "think": "3ms"}, **rest},
            ],
        }
    )
    on_xen, there, here = both(system, 50 * MS, tmp_path)
    assert there == here
    found = [(flow.items, flow.dropped, flow.misses) for flow in on_xen.result.flows]
    assert found == [(20, 17, 3), (3, 0, 3)]


def test_as_many_domains_around_one_as_there_can_be(tmp_path: Path) -> None:
    hop = {"name": "hop", "kind": "event", "period": "10ms", "wcet": "20us"}
    around = [f"d{number}" for number in range(18)]
    system = System.of(
        {
            "name": "star",
            "policy": "ds",
            "domain": [
                {
                    "name": name,
                    "interface": {"period": "1ms", "budget": "500us"}
                    if name == "hub"
                    else {"period": "10ms", "budget": "100us"},
                    "task": [hop],
                }
                for name in ("hub", *around)
            ],
            "flow": [
                {
                    "name": name,
                    "source": {"period": "10ms", "offset": f"{300 * number}us"},
                    "hops": ["hub.hop", f"{name}.hop", "hub.hop"],
                    "deadline": "10ms",
                }
                for number, name in enumerate(around)
            ],
        }
    )
    flows = run_on_xen(system, 50 * MS, SEED, tmp_path).result.flows
    assert [flow.finished for flow in flows] == [5] * 18


def test_packets_from_another_pcpu(tmp_path: Path) -> None:
    """The paper's set-up: the network domain has a pcpu of its own."""
    system = load_system(SYSTEMS / "stability-control.toml")
    result = on_several_pcpus(system, 200 * MS, tmp_path)
    assert all(flow.items > 40 for flow in result.flows)
    assert any(flow.finished > 0 for flow in result.flows)


def on_several_pcpus(
    system: System, horizon_ns: int, folder: Path, *, icount: bool = True
) -> RunResult:
    """The result of a run whose items must all be where they belong, whenever they get there."""
    path = folder / "run.hpt"
    options = XenOptions(hypervisor=need_xen(), folder=folder, icount=icount)
    try:
        result = runs.run_on_xen(system, horizon_ns, SEED, path, options=options)
    except BusyError as error:
        pytest.skip(str(error))
    assert result.timing == (None if icount else "host")
    nothing_is_lost(system, result)
    for one, finding in check_file(path).findings:
        if one.name in ("releases", "jobs"):
            assert finding.status is Status.HOLDS, finding.violations[:3]
    return result


@pytest.mark.slow
@pytest.mark.parametrize("pcpus", [2, 4])
@pytest.mark.parametrize("icount", [True, False])
def test_messages_between_pcpus_as_fast_as_they_come(
    icount: bool, pcpus: int, tmp_path: Path
) -> None:
    """Long ways, crossing one another, at a rate at which queues fill."""
    hop = {"name": "hop", "kind": "event", "period": "1ms", "deadline": "50ms", "wcet": "20us"}
    interface = {"period": "2ms", "budget": "900us"}
    ways: dict[str, dict[str, Any]] = {
        "abcd": {"kind": "sporadic", "period": "300us", "burst": 2, "jitter": "100us"},
        "dacbd": {"kind": "sporadic", "period": "500us", "jitter": "100us"},
        "cdb": {"kind": "closed", "clients": 5, "think": "1ms"},
    }
    system = System.of(
        {
            "name": "messages",
            "policy": "ds",
            "pcpus": pcpus,
            "domain": [
                {"name": name, "pcpu": at % pcpus, "interface": interface, "task": [hop]}
                for at, name in enumerate("abcd")
            ],
            "flow": [
                {
                    "name": way,
                    "source": source,
                    "hops": [f"{name}.hop" for name in way],
                    "deadline": "50ms",
                    "queue": 8,
                }
                for way, source in ways.items()
            ],
        }
    )
    result = on_several_pcpus(system, 3000 * MS, tmp_path, icount=icount)
    assert all(flow.finished > 20 for flow in result.flows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["packet-path", "request-response", "stability-control-one-pcpu", "psedf-counterexample"],
)
def test_flows_under_the_debug_hypervisor(name: str, tmp_path: Path) -> None:
    system = complete(Analysis(load_system(SYSTEMS / f"{name}.toml")))
    on_xen = run_on_xen(system, 1000 * MS, SEED, tmp_path, flavour="arm64-debug")
    nothing_is_lost(system, on_xen.result)


@pytest.mark.slow
def test_a_run_with_flows_repeats_to_the_byte(tmp_path: Path) -> None:
    system = complete(Analysis(load_system(SYSTEMS / "packet-path.toml")))
    first, second = (run_on_xen(system, 500 * MS, SEED, tmp_path / name) for name in "ab")
    assert first.result == second.result
    assert first.trace[1].tobytes() == second.trace[1].tobytes()
