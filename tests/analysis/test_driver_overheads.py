# SPDX-License-Identifier: BSD-2-Clause
"""Driver loops with overheads: bounds by hand, what they grow with, and what is left unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.worlds import domain, system, task

from hyperperiod.analysis import analyze
from hyperperiod.analysis.flows.registry import whole_verdicts
from hyperperiod.model import (
    Flow,
    Interface,
    Overheads,
    System,
    load_system,
    parse_policy,
    with_policy,
)

SYSTEMS = Path(__file__).parents[2] / "systems"
US = 1000
POLICIES = ("psedf", "sedf-prime")


def pair(policy: str, driver: tuple[int, int], own: tuple[int, int], **costs: int) -> System:
    """One flow; the driver (20 for a packet) and who answers (60) each have a pcpu."""
    source = {"kind": "periodic", "period": 2000}
    hops = ["driver.packet", "own.answer", "driver.packet"]
    ranks = ({"priority": 0}, {"priority": 1})
    return system(
        policy,
        domain("driver", driver, task("packet", 2000, 20, kind="event"), pcpu=0, **ranks[0]),
        domain("own", own, task("answer", 2000, 60, kind="event"), pcpu=1, **ranks[1]),
        pcpus=2,
        flow=(Flow.of({"name": "f", "source": source, "hops": hops, "deadline": 2000}),),
        overheads=costs,
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_one_flow_by_hand(policy: str) -> None:
    """Picks of 1: a refill, the first, one in progress; a debt and one that cannot be interrupted.

    So the driver spends 20 + 5 in at most 27, after 300 - 100 + 1: 228. The answer finds its slice
    at hand: 60 + 5 in 67.
    """
    (found,) = whole_verdicts(pair(policy, (100, 300), (80, 500), pick=1)).values()
    assert found.hops_ns == (228, 67, 228)
    assert found.sound.bound_ns == 228 + 67 + 228


@pytest.mark.parametrize("policy", POLICIES)
def test_a_second_slice_where_the_first_does_not_hold_the_picks(policy: str) -> None:
    """A slice of 20 goes by without the last of 20 + 6: two refills in so long a window.

    The first is gone within 281, or 22 if it was at hand; then 300, and 6 in 8.
    """
    (found,) = whole_verdicts(pair(policy, (20, 300), (80, 500), pick=1)).values()
    assert found.hops_ns is not None
    assert found.hops_ns[0] == (300 - 20 + 1) + 300 + (6 + 2)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_wake_before_the_period_is_over_waits_for_a_slice(policy: str) -> None:
    """A packet comes up to 150 - 100 + 1 + 27 late: a period of 1950 may have that long to go."""
    (found,) = whole_verdicts(pair(policy, (100, 150), (300, 1950), pick=1)).values()
    assert found.hops_ns == (78, (1950 - 300 + 1) + 67, 78)
    # Under fixed priority such a slice was used by the job before: that is long ago.
    answer = 2 * 67 if policy == "psedf" else (1950 - 300 + 1) + 67
    assert found.sound.bound_ns == 78 + answer + 78


def wide(policy: str, **costs: int) -> System:
    """Stability control with slices that hold some overheads."""
    given = {"network": (200, 120), "wheel": (500, 100)}
    found = with_policy(load_system(SYSTEMS / "stability-control.toml"), parse_policy(policy))
    domains = []
    for one in found.domains:
        period, budget = given.get(one.name.partition("-")[0], (0, 0))
        interface = Interface(period_ns=period * US, budget_ns=budget * US) if period else None
        domains.append(one.replace(interface=interface) if interface else one)
    return found.replace(domains=tuple(domains), overheads=Overheads(**costs))


@pytest.mark.parametrize("policy", POLICIES)
def test_bounds_grow_with_every_cost(policy: str) -> None:
    def bounds(**costs: int) -> list[int]:
        found = whole_verdicts(wide(policy, **costs)).values()
        assert all(one.sound.holds for one in found)
        return [one.sound.bound_ns or 0 for one in found]

    free = bounds()
    for cost in ("pick_ns", "context_switch_ns", "wake_ns", "interrupt_ns", "replenish_ns"):
        one, five = bounds(**{cost: 100}), bounds(**{cost: 500})
        assert all(a < b < c for a, b, c in zip(free, one, five, strict=True)), cost


def test_one_piece_is_less_than_its_parts() -> None:
    """Three flows on one pcpu: their answers delay one another once, and not on each way anew."""
    packet = task("packet", 9000, 100, kind="event")
    domains = [domain("driver", (400, 2000), packet, priority=0)]
    flows = []
    for number in range(3):
        reply = task("answer", 9000, 300, kind="event")
        domains.append(domain(f"own{number}", (400, 3000), reply, priority=number + 1))
        source = {"kind": "sporadic", "period": 9000}
        hops = ["driver.packet", f"own{number}.answer", "driver.packet"]
        flows.append(Flow.of({"name": f"f{number}", "source": source, "hops": hops,
                              "deadline": 9000}))  # fmt: skip
    one = system("psedf", *domains, flow=tuple(flows), overheads={"pick": 1})
    for found in whole_verdicts(one).values():
        assert found.hops_ns is not None
        assert "in one piece" in found.story
        assert (found.sound.bound_ns or 0) < sum(found.hops_ns)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_whole_system_is_proved_with_overheads(policy: str) -> None:
    costs = dict.fromkeys(("pick_ns", "context_switch_ns", "wake_ns", "interrupt_ns"), 500)
    found = analyze(wide(policy, **costs))
    assert found.schedulable is True
    assert all(flow.schedulable for flow in found.flows)
    dear = analyze(wide(policy, **dict.fromkeys(costs, 20 * US)))
    assert dear.schedulable is None


def test_what_is_not_proved_with_overheads() -> None:
    assert not whole_verdicts(wide("sedf", pick_ns=1))
    turns = wide("psedf", pick_ns=1).replace(quantum_ns=10 * US)
    reasons = {one.sound.reason for one in whole_verdicts(turns).values()}
    assert reasons == {"with overheads nothing is proved of loops with a quantum"}
