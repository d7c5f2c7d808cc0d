# SPDX-License-Identifier: BSD-2-Clause
"""Flows through a driver, a control domain and back: the end-to-end bound against the simulator.

Two domains under ptps, 4 in 10 and 8 in 20; a flow in through the driver, two steps in the control
domain, and out, due after two periods; a second one beside it through the driver alone, due after
one. The load is the share of the budgets that the work asks for. A system survives if no item is
late or dropped from any of the phases that were tried, with climbing towards longer responses. The
tests differ in what is known of supply (anywhere in a period, before the deadline of the server,
or all that the other server leaves), and in whether a way through one domain is paid once.
"""

from __future__ import annotations

import random

from bench.acceptance import Family
from tests.support.campaign import climb
from tests.support.flow_attack import Phases, around, draw_phases, shifted
from tests.support.worlds import domain, system, task

from hyperperiod.analysis.flows.end_to_end import analyze_flows
from hyperperiod.analysis.flows.found import FlowAnalysis
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.model import Flow, Sbf, System, Task
from hyperperiod.runs import simulate

DRIVER, CONTROL = (4, 10), (8, 20)
PHASES, CLIMBS = 12, 4
HORIZON = 1500


def hop(name: str, wcet: int, period: int) -> Task:
    return task(name, period, wcet, kind="event")


def draw(generator: random.Random, load: float) -> System:
    """Work on both domains of about this share of their bandwidth."""
    period = generator.randint(40, 120)
    beside = generator.randint(40, 120)
    driver = load * period * DRIVER[0] / DRIVER[1]
    control = load * period * CONTROL[0] / CONTROL[1]
    share = generator.uniform(0.3, 0.7)
    wcet = {
        "in": driver * share / 2,
        "out": driver * share / 2,
        "read": control / 3,
        "law": control * 2 / 3,
        "relay": driver * (1 - share) * beside / period,
    }
    took = {name: max(1, round(work)) for name, work in wcet.items()}
    route = ("driver.in", "control.read", "control.law", "driver.out")
    return system(
        "ptps",
        domain(
            "driver",
            DRIVER,
            hop("in", took["in"], period),
            hop("out", took["out"], period),
            hop("relay", took["relay"], beside),
        ),
        domain("control", CONTROL, hop("read", took["read"], 60), hop("law", took["law"], 60)),
        flow=(
            flow("packet", period, 2 * period, *route),
            flow("bulk", beside, beside, "driver.relay"),
        ),
    )


def flow(name: str, period: int, deadline: int, *hops: str) -> Flow:
    return Flow.of(
        {
            "name": name,
            "source": {"period": period},
            "hops": hops,
            "deadline": deadline,
            "queue": 3,
        }
    )


def analysed(one: System, sbf: Sbf) -> FlowAnalysis:
    known = one.replace(sbf=sbf)
    return analyze_flows(known, contracts_of(known))


def holds(one: System, sbf: Sbf) -> bool:
    return all(found.verdict.holds for found in analysed(one, sbf).flows)


def holds_hop_by_hop(one: System) -> bool:
    """Every hop pays for its own wait: the sum of the hops' bounds."""
    found = analysed(one, Sbf.GENERAL).flows
    sums = [sum(hop.bound_ns or 2**62 for hop in each.hops) for each in found]
    return holds(one, Sbf.GENERAL) and all(
        total <= each.flow.deadline_ns for total, each in zip(sums, found, strict=True)
    )


def worst(one: System, phases: Phases) -> int:
    """The longest response in thousandths of its deadline; above that if an item is dropped."""
    flows = simulate(shifted(one, phases), HORIZON, phases.seed).flows
    if any(each.dropped for each in flows):
        return 2000
    longest = (each.response_ns.max if each.response_ns else 0 for each in flows)
    return max(
        -(-1000 * response // each.deadline_ns)
        for response, each in zip(longest, one.flows, strict=True)
    )


def survives(one: System) -> bool:
    """No phase that was tried, and none found by climbing, makes an item late or drops one."""
    generator = random.Random(repr(one))
    starts = [draw_phases(generator, one) for _ in range(PHASES)]
    best = max(starts, key=lambda phases: worst(one, phases))
    return climb(best, around, lambda phases: worst(one, phases), CLIMBS)[1] <= 1000


FAMILY = Family(
    name="flows",
    title="Flows through a driver, a control domain and back",
    axis="work / budgets",
    loads=tuple(step / 20 for step in range(1, 20)),
    draw=draw,
    tests={
        "known servers": lambda one: holds(one, Sbf.SERVERS),
        "explicit deadlines": lambda one: holds(one, Sbf.EDP),
        "general supply": lambda one: holds(one, Sbf.GENERAL),
        "hop by hop": holds_hop_by_hop,
    },
    survives=survives,
)
