# SPDX-License-Identifier: BSD-2-Clause
"""The simulator against the naive model: the same systems, tick by tick.

The naive model shares no code with the core and none with the simulator. Here both get the same
periodic work, one task per domain, and must give the same grants in every tick: who runs, who
pays, on which pcpu.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model_naive.model import Grant, Params, Policy, Setup
from tests.model_naive.workload import play
from tests.support.rules import GLOBAL_NAMES, LOCAL_NAMES
from tests.support.worlds import Run, domain, run, server, system, task

from hyperperiod.model import System

TICKS = 150
SPARE_PERIOD, SPARE_BUDGET = 40, 6
SHARE = 2
"""How many ticks a share lasts, 500 us: the rule weights needs longer ticks than others."""


def tick_ns(policy: str) -> int:
    return 500_000 // SHARE if "weights" in policy else 1


@st.composite
def loads(draw: st.DrawFn) -> list[dict[str, int]]:
    """Servers and the work of each: `wcet` ticks every `period` from `offset` on."""
    found = []
    for _ in range(draw(st.integers(1, 4))):
        length = draw(st.integers(2, 14))
        found.append(
            {
                "server_period": length,
                "server_budget": draw(st.integers(1, length)),
                "period": draw(st.integers(3, 40)),
                "wcet": draw(st.integers(1, 12)),
                "offset": draw(st.integers(0, 15)),
                "extra": draw(st.integers(0, 1)),
            }
        )
    return found


def simulated(policy: str, found: list[dict[str, int]], **more: Any) -> Run:
    tick = tick_ns(policy)
    domains = [
        domain(
            f"d{v}",
            (one["server_budget"] * tick, one["server_period"] * tick),
            task(f"t{v}", one["period"] * tick, one["wcet"] * tick, offset=one["offset"] * tick),
            extra=bool(one["extra"]),
        )
        for v, one in enumerate(found)
    ]
    if "spare" in policy:
        more["spare"] = server(SPARE_BUDGET, SPARE_PERIOD)
    if "quantum" in more:
        more["quantum"] *= tick
    one_system: System = system(policy, *domains, **more)
    return run(one_system, TICKS * tick)


def ticks_of(ran: Run, pcpu: int, tick: int) -> list[tuple[str, str]]:
    rows = ran.paid(pcpu)
    assert all(start % tick == end % tick == 0 for start, end, _, _ in rows)
    return [(who, pay) for start, end, who, pay in rows for _ in range((end - start) // tick)]


def naive_ticks(
    policy: str, found: list[dict[str, int]], pcpus: int, quantum: int | None
) -> list[list[Grant]]:
    budget, order, slack = policy.removesuffix("+global").split("+")
    rules = Policy(budget, order, slack)  # type: ignore[arg-type]
    spare = (SPARE_PERIOD, SPARE_BUDGET) if slack == "spare" else (0, 0)
    setup = Setup(rules, pcpus, quantum, *spare, share=SHARE)
    periods = sorted({one["server_period"] for one in found})
    params = [
        Params(
            one["server_period"],
            one["server_budget"],
            periods.index(one["server_period"]),
            bool(one["extra"]),
        )
        for one in found
    ]
    patterns = [
        dict.fromkeys(range(one["offset"], TICKS, one["period"]), one["wcet"]) for one in found
    ]
    return play(setup, params, patterns, TICKS)


def as_text(grant: Grant) -> tuple[str, str]:
    def name(server_id: object) -> str:
        return "spare" if server_id == "spare" else f"d{server_id}"

    payers = [name(one) for one in (grant.pay, grant.also) if one is not None]
    return ("idle" if grant.run is None else f"d{grant.run}", ";".join(sorted(payers)))


def agree(policy: str, data: st.DataObject, pcpus: int = 1, quantum: int | None = None) -> None:
    found = data.draw(loads())
    more: dict[str, Any] = {"pcpus": pcpus}
    if quantum is not None:
        more["quantum"] = quantum
        for one in found:
            one["server_period"] *= quantum
            one["server_budget"] *= quantum
    ran = simulated(policy, found, **more)
    rows = naive_ticks(policy, found, pcpus, quantum)
    for pcpu in range(pcpus):
        expected = [as_text(grants[pcpu]) for grants in rows]
        got = ticks_of(ran, pcpu, tick_ns(policy))
        wrong = [now for now in range(TICKS) if got[now] != expected[now]]
        assert wrong == [], (pcpu, wrong[0], got[wrong[0]], expected[wrong[0]])


def searched(body: Callable[[st.DataObject], None], examples: int) -> None:
    @settings(derandomize=True, deadline=None, max_examples=examples, database=None)
    @given(st.data())
    def search(data: st.DataObject) -> None:
        body(data)

    search()


@pytest.mark.parametrize("policy", LOCAL_NAMES)
def test_one_pcpu(policy: str) -> None:
    searched(lambda data: agree(policy, data), 8)


@pytest.mark.parametrize("policy", ["periodic+fp+reclaim", "deferrable+edf+spare", "cbs+edf+none"])
def test_with_a_quantum(policy: str) -> None:
    searched(lambda data: agree(policy, data, quantum=2), 8)


@pytest.mark.parametrize("policy", GLOBAL_NAMES)
def test_two_pcpus(policy: str) -> None:
    searched(lambda data: agree(policy, data, pcpus=2), 8)


@pytest.mark.slow
@pytest.mark.parametrize("policy", LOCAL_NAMES)
def test_one_pcpu_long(policy: str) -> None:
    searched(lambda data: agree(policy, data), 300)
    searched(lambda data: agree(policy, data, quantum=3), 100)


@pytest.mark.slow
@pytest.mark.parametrize("policy", GLOBAL_NAMES)
def test_more_pcpus_long(policy: str) -> None:
    searched(lambda data: agree(policy, data, pcpus=2), 200)
    searched(lambda data: agree(policy, data, pcpus=3), 200)
