# SPDX-License-Identifier: BSD-2-Clause
"""Global EDF on the vcpus of one domain: supply, test and budgets against plain definitions,
CARTS's own numbers for the published form."""

from __future__ import annotations

import itertools
import random
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.published_mpr import (
    SupplyBound,
    dmpr_supply,
    interface_loads,
    mpr_supply,
    published_interface,
    published_test,
)

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.dmpr import dmpr, minimal_dmpr_budget
from hyperperiod.analysis.domains.mpr import min_supply, minimal_mpr_budget, mpr, mpr_witness
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.witness import Role, Share, Window

DATA = Path(__file__).parent.parent / "data" / "carts"

PENN = (
    [Load(80, 200, 200), Load(100, 200, 200), Load(100, 200, 200)],
    [Load(10, 200, 200), Load(100, 200, 200)],
)
LATE_THIRD = [Load(5, 100, 6)] * 3  # released together on two pcpus, the third ends at 10


def plain_demand(loads: Sequence[Load], own: int, window: int, vcpus: int) -> int:
    """The left side of the test, from its definition."""
    me = loads[own]
    without, more = 0, []
    for number, load in enumerate(loads):
        jobs = (window + load.period - load.deadline) // load.period
        work, room = jobs * load.wcet, window - me.wcet + 1
        if number == own:
            work, room = work - load.wcet, window - me.deadline
        carried = min(load.wcet, max(0, window - jobs * load.period))
        without += min(work, room)
        more.append(min(work + carried, room) - min(work, room))
    return without + sum(sorted(more)[len(more) - min(len(more), vcpus - 1) :])


def plain_test(loads: Sequence[Load], supply: Supply, shared: int, whole: int) -> bool:
    """Every window, one by one, up to one that is surely beyond the horizon."""
    return plain_test_on(loads, [supply] * shared + [Supply(Shape.GENERAL, 1, 1)] * whole)


def plain_test_on(loads: Sequence[Load], supplies: Sequence[Supply]) -> bool:
    """The same on vcpus with a supply each, of which some comes while the job runs."""
    for own, me in enumerate(loads):
        for window in range(me.deadline, 600):
            left = sum(max(0, one.sbf(window) - me.wcet + 1) for one in supplies)
            if plain_demand(loads, own, window, len(supplies)) >= left:
                return False
    return True


def random_loads(rng: random.Random, most: int) -> list[Load]:
    loads = []
    for _ in range(rng.randint(2, most)):
        period = rng.randint(4, 16)
        wcet = rng.randint(1, max(1, period // 3))
        loads.append(Load(wcet, period, rng.randint(wcet, period)))
    return loads


def published_outputs(name: str) -> dict[int, tuple[int, int, int]]:
    """cpus, period and budget of each component in an output file, by position."""
    root = ET.parse(DATA / name).getroot()
    found = {}
    for place, component in enumerate(root.iter("component")):
        model = component.find("resource/model")
        assert model is not None
        cpus, period, budget = (model.get(k, "") for k in ("cpus", "period", "execution_time"))
        found[place] = int(cpus), int(period), int(budget)
    return found


@pytest.mark.parametrize(("period", "vcpus"), [(5, 1), (5, 2), (4, 3), (6, 2)])
def test_least_supply_is_what_the_worst_allocation_leaves(period: int, vcpus: int) -> None:
    """Against every way to place the units of two periods; inner periods bring all they have."""
    for resource in range(1, vcpus * period + 1):
        # The least of the last and the first units of a period.
        late = [max(0, resource - vcpus * (period - n)) for n in range(period + 1)]
        for window in range(3 * period + 1):
            least = min(
                late[min(window, period - start)]
                if window <= period - start
                else _across(period, resource, late, period - start, window)
                for start in range(period)
            )
            # A window inside one period may avoid both ends.
            if window < period:
                least = min(least, max(0, resource - vcpus * (period - window)) if window else 0)
            assert min_supply(period, resource, vcpus, window) == least, (resource, window)


def _across(period: int, resource: int, late: list[int], first: int, window: int) -> int:
    periods, last = divmod(window - first, period)
    return late[first] + periods * resource + late[last]


def test_equal_vcpus_bring_what_mpr_promises() -> None:
    for period, budget, vcpus in itertools.product((5, 8), (1, 3, 5), (1, 2, 4)):
        one = Supply(Shape.GENERAL, period, budget)
        for window in range(4 * period):
            whole = min_supply(period, vcpus * budget, vcpus, window)
            assert vcpus * one.sbf(window) == whole


def test_the_kernel_is_the_definition() -> None:
    rng = random.Random("cluster")
    accepted = 0
    for _ in range(300):
        loads = random_loads(rng, 5)
        period = rng.randint(2, 8)
        supply = Supply(Shape.GENERAL, period, rng.randint((period + 1) // 2, period))
        vcpus = rng.randint(1, 3)
        bandwidth = sum(load.wcet / load.period for load in loads)
        if supply.budget_ns == period or bandwidth > 0.9 * vcpus * float(supply.bandwidth):
            continue
        assert (mpr(loads, supply, vcpus).holds is True) == plain_test(loads, supply, vcpus, 0)
        held = dmpr(loads, supply, vcpus).holds is True
        assert held == plain_test(loads, supply, 1, vcpus - 1)
        accepted += held
    assert accepted > 30


@pytest.mark.parametrize("seed", range(20))
def test_a_witness_is_the_tightest_window_or_a_short_one(seed: int) -> None:
    rng = random.Random(f"mpr witness {seed}")
    seen = set()
    for _ in range(20):
        loads, vcpus = random_loads(rng, 4), rng.randint(1, 3)
        period = rng.randint(2, 10)
        supply = Supply(Shape.GENERAL, period, rng.randint((period + 1) // 2, period))
        sources = tuple(NamedLoad(f"t{at}", load) for at, load in enumerate(loads))
        index = rng.randrange(len(loads))
        found = mpr_witness(Component(Local.EDF, sources), index, supply, vcpus)
        if found is None:
            assert not plain_test(loads, supply, vcpus, 0)
            continue
        (window,) = found.windows
        own = next(at for at, one in enumerate(sources) if one.name == asked_by(window).who)
        needed = {
            at: plain_demand(loads, own, at, vcpus) + vcpus * (loads[own].wcet - 1) + 1
            for at in range(loads[own].deadline, 600)
        }
        assert window.demand_ns == needed[window.window_ns]
        assert window.supply_ns == vcpus * supply.sbf(window.window_ns)
        assert found.holds is (True if plain_test(loads, supply, vcpus, 0) else None)
        if found.holds:
            assert own == index
            left = min(vcpus * supply.sbf(at) - amount for at, amount in needed.items())
            assert left == -window.short_ns >= 0
        else:
            assert window.short_ns > 0
        seen.add(found.holds)
    assert seen == {True, None}


def asked_by(window: Window) -> Share:
    return next(share for share in window.shares if share.role is Role.OWN)


def test_a_set_that_the_published_test_accepts() -> None:
    assert published_test(LATE_THIRD, 1, 2, 2, mpr_supply) is True
    assert mpr(LATE_THIRD, Supply(Shape.GENERAL, 1, 1), 2).holds is None
    assert dmpr(LATE_THIRD, Supply(Shape.GENERAL, 7, 7), 2).holds is None
    assert mpr(LATE_THIRD, Supply(Shape.GENERAL, 1, 1), 3).holds is True


@pytest.mark.parametrize(
    ("supply", "output"),
    [
        (mpr_supply, "upenn_dmpr-vs-mpr-mpr2-out.xml"),
        (dmpr_supply, "upenn_dmpr-vs-mpr-dmpr-out.xml"),
    ],
)
def test_the_published_form_gives_carts_numbers(supply: SupplyBound, output: str) -> None:
    given = published_outputs(output)
    inside = [published_interface(loads, 50, supply) for loads in PENN]
    assert [(cpus, 50, budget) for cpus, budget in filter(None, inside)] == [given[1], given[2]]
    outer: list[Load] = []
    whole = 0
    for cpus, budget in filter(None, inside):
        if supply is dmpr_supply:
            whole += cpus - 1
            outer += interface_loads(50, budget - (cpus - 1) * 50, 1)
        else:
            outer += interface_loads(50, budget, cpus)
    found = published_interface(outer, 20, supply)
    assert found is not None
    assert (found[0] + whole, 20, found[1] + 20 * whole) == given[0]


def test_the_published_form_with_given_vcpus() -> None:
    given = published_outputs("upenn_haoran-output-example-mpr2.xml")
    first = published_interface([Load(101, 200, 200), Load(205, 400, 400)], 256, mpr_supply, [2])
    second = published_interface([Load(250, 300, 300), Load(410, 500, 500)], 256, mpr_supply, [2])
    assert first == (given[1][0], given[1][2])
    assert second == (given[2][0], given[2][2])


def test_least_budgets_beside_the_published_ones() -> None:
    """A unit less than MPR2 where its supply bound gives one away, and never unsound for it."""
    found = [
        minimal_mpr_budget(PENN[0], Shape.GENERAL, 50, 2).budget_ns,
        minimal_mpr_budget(PENN[1], Shape.GENERAL, 50, 1).budget_ns,
        minimal_dmpr_budget(PENN[0], Shape.GENERAL, 50, 2).budget_ns,
        minimal_dmpr_budget(PENN[1], Shape.GENERAL, 50, 1).budget_ns,
    ]
    assert found == [48, 32, 46, 32]  # MPR2: 97 on two and 33; DMPR: 50 + 46 and 32


def test_least_budgets_are_least() -> None:
    rng = random.Random("budgets")
    for _ in range(60):
        loads = random_loads(rng, 4)
        vcpus = rng.randint(1, 3)
        for least, judge in ((minimal_mpr_budget, mpr), (minimal_dmpr_budget, dmpr)):
            found = least(loads, Shape.GENERAL, 6, vcpus, 1).budget_ns
            for budget in range(1, 7):
                held = judge(loads, Supply(Shape.GENERAL, 6, budget), vcpus).holds is True
                assert held == (found is not None and budget >= found)


def test_what_cannot_hold_and_what_is_not_covered() -> None:
    supply = Supply(Shape.GENERAL, 4, 2)
    assert mpr([Load(3, 4, 4), Load(2, 4, 4)], supply, 2).holds is False
    assert mpr([Load(1, 4, 5)], supply, 2).holds is None
    assert minimal_mpr_budget([Load(1, 4, 5)], Shape.GENERAL, 4, 2).budget_ns is None
    with pytest.raises(ValueError, match="0 pcpus"):
        mpr([Load(1, 4, 4)], supply, 0)


def test_nanoseconds_with_any_hyperperiod() -> None:
    """Periods of some milliseconds without a common divisor: budgets exact to the nanosecond."""
    primes = (7_000_003, 11_000_027, 13_000_027, 17_000_023, 19_000_013)
    loads = [Load(period // 4, period, period) for period in primes]
    found = minimal_mpr_budget(loads, Shape.GENERAL, 2_000_003, 3)
    assert found.budget_ns is not None
    supply = Supply(Shape.GENERAL, 2_000_003, found.budget_ns)
    assert mpr(loads, supply, 3).holds is True
    less = Supply(Shape.GENERAL, 2_000_003, found.budget_ns - 1)
    assert mpr(loads, less, 3).holds is None
