# SPDX-License-Identifier: BSD-2-Clause
"""Witnesses: their numbers are those of the definitions, which look at windows one by one."""

from __future__ import annotations

import random

import pytest
from tests.analysis import plain
from tests.analysis.small_loads import drawn_loads

from hyperperiod._analysis import Local, Shape, Verdict, judge, last_response
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.witness import Role, Window, Witness, component_witness

SEEDS = range(24)
ROUNDS = 25
SEEN = 400  # windows up to this length are looked at one by one
HOLDS = {Verdict.HOLDS: True, Verdict.MISSES: False, Verdict.UNKNOWN: None}


def drawn(draw: random.Random, local: Local) -> tuple[Component, Supply]:
    """A component of a few small loads, and a supply that may or may not do."""
    sources, supply = drawn_loads(draw)
    return Component(local, tuple(sources)), supply


def slots(supply: Supply) -> tuple[int, ...]:
    """The least supply of every window, slot by slot."""
    return plain.supply(supply.shape, supply.period_ns, supply.budget_ns)


def check_shares(window: Window, demand_ns: int, supply: Supply) -> None:
    """The window asks for what its definition says, job by job, and has what slots add up to."""
    assert window.demand_ns == demand_ns
    assert window.supply_ns == slots(supply)[window.window_ns]
    for share in window.shares:
        assert share.jobs is None or share.time_ns == share.jobs * (share.each_ns or 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_fixed_priority_shows_the_window_that_decides(seed: int) -> None:
    draw = random.Random(f"witness fixed priority {seed}")
    seen = set()
    for _ in range(ROUNDS):
        component, supply = drawn(draw, Local.FIXED_PRIORITY)
        *above, own = component.loads
        found = component_witness(component, len(above), supply)
        verdict, bound = last_response(component.loads, supply.numbers)
        assert found.holds is HOLDS[verdict]
        assert found.holds is not None
        seen.add(found.holds)
        check_fixed_priority(found, above, own, supply)
        if found.holds:
            assert (found.finish_ns or 0) - found.release_ns == bound
    assert seen == {True, False}


def check_fixed_priority(found: Witness, above: list[Load], own: Load, supply: Supply) -> None:
    sums = slots(supply)
    jobs = next(share.jobs for share in found.windows[0].shares if share.role is Role.OWN)
    assert jobs is not None
    assert found.release_ns == max(0, (jobs - 1) * own.period - own.jitter)
    assert found.deadline_ns == found.release_ns + own.deadline
    asked = {
        at: jobs * own.wcet + own.blocking + plain.released(above, at)
        for at in range(max(1, found.release_ns), found.deadline_ns + 1)
    }
    for window in found.windows:
        check_shares(window, asked[window.window_ns], supply)
    missing = {at: amount - sums[at] for at, amount in asked.items()}
    if found.holds:
        assert min(at for at, by in missing.items() if by <= 0) == found.finish_ns
        assert found.windows[0].window_ns == found.finish_ns
        return
    assert min(missing.values()) == found.windows[0].short_ns > 0
    assert found.windows[-1].window_ns == found.deadline_ns
    later = range(found.deadline_ns + 1, 10 * SEEN)
    work = jobs * own.wcet + own.blocking
    done = (at for at in later if sums[at] >= work + plain.released(above, at))
    assert found.finish_ns is None or found.finish_ns >= 10 * SEEN or found.finish_ns == next(done)


@pytest.mark.parametrize("seed", SEEDS)
def test_edf_shows_the_first_short_window_or_the_tightest(seed: int) -> None:
    draw = random.Random(f"witness edf {seed}")
    seen = set()
    for _ in range(ROUNDS):
        component, supply = drawn(draw, Local.EDF)
        loads = component.loads
        verdict, _ = judge(Local.EDF, loads, supply.numbers)
        found = component_witness(component, 0, supply)
        assert found.holds is HOLDS[verdict]
        assert found.complete
        (window,) = found.windows
        if window.window_ns >= SEEN:
            continue
        asked = [plain.due(loads, at) + plain.held_up(loads, at) for at in range(SEEN)]
        left = [at - amount for at, amount in zip(slots(supply)[:SEEN], asked, strict=True)]
        check_shares(window, asked[window.window_ns], supply)
        if found.holds:
            first = min(load.deadline for load in loads)
            assert (window.what, -window.short_ns) == ("tightest", min(left[first:]))
            assert left.index(-window.short_ns, first) == window.window_ns
        else:
            assert window.what == "first"
            assert next(at for at, amount in enumerate(left) if amount < 0) == window.window_ns
        seen.add(found.holds)
    assert seen == {True, False}


def test_edf_as_much_work_as_supply_needs_a_whole_cycle() -> None:
    """Half of 2 in half of 4: the rates are equal, and only the blackout decides."""
    component = Component(Local.EDF, (NamedLoad("t", Load(1, 2, 2)),))
    (window,) = component_witness(component, 0, Supply(Shape.GENERAL, 4, 2)).windows
    assert (window.what, window.window_ns, window.short_ns) == ("first", 2, 1)
    (window,) = component_witness(component, 0, Supply(Shape.GENERAL, 1, 1)).windows
    assert (window.what, window.window_ns, window.short_ns) == ("tightest", 2, -1)
    full = Component(Local.EDF, (NamedLoad("t", Load(1, 2, 2)), NamedLoad("u", Load(3, 6, 6))))
    (window,) = component_witness(full, 0, Supply(Shape.GENERAL, 1, 1)).windows
    assert (window.what, window.window_ns, window.short_ns) == ("tightest", 6, 0)


def test_edf_far_beyond_every_search_names_a_window_that_is_short() -> None:
    sources = (NamedLoad("t", Load(500_000_001, 10**9, 10**15)), NamedLoad("u", Load(1, 3, 10**12)))
    found = component_witness(Component(Local.EDF, sources), 0, Supply(Shape.GENERAL, 10, 8))
    (window,) = found.windows
    assert (found.holds, found.complete, window.what) == (False, False, "far")
    asked = (window.window_ns - 10**15) // 10**9 * 500_000_001 + 500_000_001
    asked += (window.window_ns - 10**12) // 3 + 1
    assert window.demand_ns == asked > window.window_ns * 8 // 10 + 8


@pytest.mark.parametrize("seed", SEEDS)
def test_fifo_shows_the_job_that_waits_longest(seed: int) -> None:
    draw = random.Random(f"witness fifo {seed}")
    seen = set()
    for _ in range(ROUNDS):
        component, supply = drawn(draw, Local.FIFO)
        if component.utilization >= supply.bandwidth:
            continue
        loads, sums = component.loads, slots(supply)
        blocked = max(load.blocking for load in loads)
        asked = [blocked + plain.released(loads, at + 1) for at in range(SEEN)]
        waits = [sums.index(amount) - at for at, amount in enumerate(asked)]
        for index, source in enumerate(component.sources):
            found = component_witness(component, index, supply)
            (window,) = found.windows
            assert found.finish_ns is not None
            waited = found.finish_ns - found.release_ns
            check_shares(window, asked[found.release_ns], supply)
            assert waits[found.release_ns] == waited
            late = [at for at, wait in enumerate(waits) if wait > source.load.deadline]
            assert found.holds is not bool(late)
            if found.holds:
                assert waited == max(waits)
                assert window.window_ns == found.finish_ns
            else:
                assert found.release_ns == late[0]
                assert window.window_ns == found.deadline_ns
                assert window.short_ns > 0
            seen.add(found.holds)
    assert seen == {True, False}
