# SPDX-License-Identifier: BSD-2-Clause
"""What one way through the driver domain costs, in every small world.

A driver with a slice of k packets in each period has packets at one instant and at another: every
number of packets that the paper allows (at most k with the driver at any time), every distance, so
a wake at each instant relative to the begin of a period and its deadline; the first wake of all is
the first of the two, or is over. Beside it on the pcpu another domain works from any instant on
without end, with any slice that the rest of the pcpu allows.

Inequality (1) of the PSEDF paper, `4 p_N + p_i <= d_i`, counts 2 p_N for each of two such ways.
Under SEDF that is what a short unblocking costs, and no more; SEDF' and PSEDF stay within theirs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

import pytest
from tests.model_naive.model import Params, Policy, Setup
from tests.model_naive.workload import Run

from hyperperiod.analysis.driver_loop import sedf, sedf_prime
from hyperperiod.analysis.servers.server import Group, Server

ENDLESS = 10**6
Pair = tuple[int, int]
"""Period and slice."""


class Ways(NamedTuple):
    """The latest answer to any packets, and to those that come after the first wake of all."""

    all: int
    booted: int


def drivers(longest: int) -> Iterator[Pair]:
    return ((period, slice_) for period in range(2, longest + 1) for slice_ in range(1, period))


def others(driver: Pair, longest: int) -> Iterator[Pair]:
    """Who may be beside the driver: all slices up to the largest with which they fit."""
    for period in range(2, longest + 1):
        left = (1 - Fraction(driver[1], driver[0])) * period
        yield from ((period, slice_) for slice_ in range(1, int(left) + 1))


def ways(policy: Policy, driver: Pair, other: Pair | None) -> Ways:
    """The largest response of packets of the driver, whenever anything happens."""
    latest = {True: 0, False: 0}
    phases = range(driver[0]) if other else [0]
    for phase in phases:
        for first in range(1, driver[1] + 1):
            for second in range(1, driver[1] + 1):
                for apart in range(1, 2 * driver[0] + 2):
                    for booted, response in responses(
                        policy, driver, other, phase, ((0, first), (apart, second))
                    ):
                        latest[booted] = max(latest[booted], response)
    return Ways(max(latest.values()), latest[True])


def responses(
    policy: Policy, driver: Pair, other: Pair | None, phase: int, come: tuple[Pair, Pair]
) -> Iterator[tuple[bool, int]]:
    """For each of two batches of packets whether it is the second, and its response in ticks.

    A second batch that comes while too many packets wait is left out.
    """
    (_, first), (apart, second) = come
    # Who is first matters to fixed priority only, under which the driver is.
    servers = [Params(*driver, 0)] + ([Params(*other, 1)] if other else [])
    run = Run(Setup(policy), servers)
    ends = apart + 3 * driver[0]
    served, answered = 0, False
    for now in range(ends + 1):
        if now:
            served += run.world.grants[0].run == 0
            run.finish_tick()
        else:
            run.begin()
        if served == first and not answered:
            yield False, now
            answered = True
        if served == first + second:
            yield True, now - apart
            return
        if now == apart and first - served + second > driver[1]:
            return
        packets = first * (now == 0) + second * (now == apart)
        run.arrive((packets, ENDLESS * (now == phase))[: len(servers)])
        run.world.decide()
    yield True, ends


def group(driver: Pair, other: Pair | None) -> tuple[Server, Group]:
    own = Server(0, "driver", *driver, 0)
    beside = (Server(1, "other", *other, 1),) if other else ()
    return own, Group((own, *beside))


def sedf_bound(driver: Pair, other: Pair | None) -> int:
    return sedf.way_of(*group(driver, other)).longest_ns


def sedf_prime_bound(driver: Pair, other: Pair | None) -> int | None:
    own, together = group(driver, other)
    if not sedf_prime.gets_its_slice(own, together).holds:
        return None
    return sedf_prime.way_of(own, together, own.budget_ns).longest_ns


def psedf_bound(driver: Pair, _: Pair | None) -> int:
    """p_N - s_N + R_N: with the highest priority R_N is s_N."""
    return driver[0]


POLICIES: dict[str, tuple[Policy, Callable[[Pair, Pair | None], int | None]]] = {
    "sedf": (Policy("slice-once", "edf"), sedf_bound),
    "sedf-prime": (Policy("slice", "edf"), sedf_prime_bound),
    "psedf": (Policy("slice", "fp"), psedf_bound),
}


@functools.cache
def hunted(name: str, longest: int) -> dict[tuple[Pair, Pair | None], tuple[Ways, int]]:
    """The latest answers of all small worlds that the policy says something of, and its bound."""
    policy, bound_of = POLICIES[name]
    found = {}
    for driver in drivers(longest):
        for other in (None, *others(driver, longest)):
            bound = bound_of(driver, other)
            if bound is not None:
                found[driver, other] = ways(policy, driver, other), bound
    return found


@pytest.mark.parametrize(
    "longest", [pytest.param(5, id="small"), pytest.param(7, id="large", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", POLICIES)
def test_no_way_takes_longer_than_its_bound(name: str, longest: int) -> None:
    found = hunted(name, longest)
    assert len(found) > 10
    for world, (latest, bound) in found.items():
        assert latest.all <= bound, (world, latest, bound)
        assert bound <= 2 * world[0][0] or name == "sedf-prime"


def test_short_unblocking_costs_all_that_inequality_1_counts() -> None:
    """2 p_N, wherever the other domain has the same period and all that is left."""
    for (driver, other), (latest, _) in hunted("sedf", 5).items():
        period, slice_ = driver
        if other == (period, period - slice_):
            assert latest.booted == 2 * period, (driver, latest)


@pytest.mark.parametrize("name", ["sedf-prime", "psedf"])
def test_the_other_two_reach_their_bounds_somewhere(name: str) -> None:
    assert any(latest.booted == bound for latest, bound in hunted(name, 5).values())


def test_psedf_does_not_know_the_other_domain() -> None:
    for (driver, _), (latest, _) in hunted("psedf", 5).items():
        assert latest == hunted("psedf", 5)[driver, None][0]
