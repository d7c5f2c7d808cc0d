# SPDX-License-Identifier: BSD-2-Clause
"""SEDF as Xen had it: packets through a driver domain, the paper's inequality and why it is sound.

Paper: the PSEDF paper (`driver_domain`), sections III and IV. A domain that blocks is not run
again before its next period (short unblocking); so a packet that comes just after the driver
domain has blocked waits for up to p_N, and EDF may serve it as late as p_N after that. Both ways
through the driver cost 2 p_N, the real-time domain its own period:

    4 p_N + p_i <= d_i                                                       (1)
    p_N <= d_min / 5, which is (1) with p_i = p_N for the shortest deadline   (2)

What the paper leaves unsaid, and `bounds` asks for:
- on each pcpu the bandwidths of all vcpus, other domains included, sum to at most 1. Slices that
  are never resumed after a block are sporadic tasks, so for them the sum is exact;
- at most k packets are with the driver at any instant, and a slice holds them. A packet that comes
  while the driver runs may find the slice used up and is served in the next period, no later
  than one that came just after the block. That needs d_i <= p_i and every deadline met; a first
  one that is missed cannot exist, because all before it were met;
- the real-time domain does not lose a period, too. With s_i > e_i it cannot be late by that: its
  n-th period begins at the latest at max(wake, begin of the one before + p_i^x), by induction at
  most 2 p_N after the packet, if p_i^x <= p_i. But the paper sets s_i = e_i, and a domain that
  blocks with its slice used up is moved to its next period already: a wake within that one counts
  as short unblocking although nothing of it was used. Unless two periods are surely over by then
  (2 p_i^x + 2 p_N <= p_i) that costs up to another p_i^x;
- the first wake of all counts as short unblocking, too: the period begins one slice later. The
  driver is no later for that than after any block, s_N <= p_N. In a real-time domain each period
  begins at the latest at the max of the above and the begin of the one before + p_i^x, so all of
  them are s_i later at the most (less than the p_i^x above, where that counts). If every later
  wake begins a period (`period_over`), let x be the time from a wake to that begin: the next one
  is at most max(0, x + p_i^x + 2 p_N - p_i) <= s_i, with 2 p_i^x where a used slice moves the
  domain on.

Inputs: a placed plant. Results: per service a verdict with the bound in nanoseconds; above the
deadline it is null, for the bound is only sufficient. Errors: none.
"""

from __future__ import annotations

from hyperperiod.analysis.driver_loop.driver_domain import (
    Answer,
    Configuration,
    DriverDelay,
    PlacedPlant,
    Plant,
    Service,
    SliceRule,
    hold_by_hops,
    period_over,
)
from hyperperiod.analysis.servers.edf_utilization import edf_utilization
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Budget, Order, format_time

HOPS = 4
"""Periods of the driver domain in inequality (1)."""


def paper_holds(plant: Plant, configuration: Configuration) -> list[bool]:
    """Returns for each service whether the paper's inequality (1) holds."""
    return hold_by_hops(plant, configuration, HOPS)


def way(placed: PlacedPlant) -> DriverDelay | Verdict:
    """Returns how long a packet is with the driver: 2 p_N, less if that is alone on its pcpu."""
    held = fits(placed.driver_group)
    return way_of(placed.driver, placed.driver_group) if held.holds else held


def way_of(driver: Server, group: Group) -> DriverDelay:
    """Returns how long packets are with the driver if every vcpu gets its slices."""
    way_ns = driver.period_ns + _once_begun(driver, group)
    return DriverDelay(way_ns, way_ns)


def answer(placed: PlacedPlant, number: int, way_ns: int) -> Answer | Verdict:
    """s_i + p_i, or 2 p_i where a wake may be lost, or from a wake that begins no period."""
    service, (server, group) = placed.plant.services[number], placed.services[number]
    held = fits(group)
    if not held.holds:
        return held
    if server.period_ns > service.period_ns:
        return Verdict.unknown(
            f"{server.name}: its period of {format_time(server.period_ns)} is longer than that of"
            f" its packets, {format_time(service.period_ns)}"
        )
    return timing(service, server, group, way_ns)


def timing(service: Service, server: Server, group: Group, way_ns: int) -> Answer:
    """Returns how late a service answers if every vcpu gets its slices."""
    once_ns = _once_begun(server, group)
    first_ns = server.budget_ns + once_ns
    if period_over(service, server, way_ns):
        return Answer(first_ns, first_ns)
    lost_ns = server.period_ns + once_ns
    late_ns = lost_ns if server.budget_ns == service.wcet_ns else first_ns
    return Answer(late_ns, lost_ns)


def fits(group: Group) -> Verdict:
    """On an overloaded pcpu a packet may still be in time: no bound, not a miss."""
    found = edf_utilization(group)
    return found if found.holds else Verdict.unknown(_where(group) + found.reason)


def _where(group: Group) -> str:
    return "the pcpu of " + ", ".join(server.name for server in group.servers) + ": "


def _once_begun(server: Server, group: Group) -> int:
    """From the begin of its period to the end of its slice: its period, or alone the slice."""
    alone = len(group.servers) == 1 and not group.lost
    return server.budget_ns if alone else server.period_ns


RULE = SliceRule("sedf", ((Budget.SLICE_ONCE, Order.EDF),), paper_holds, way, answer, hops=HOPS)
