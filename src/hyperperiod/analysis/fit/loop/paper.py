# SPDX-License-Identifier: BSD-2-Clause
"""Slices and periods as the PSEDF paper computes them, by its inequalities and nothing else.

Paper: the PSEDF paper (`driver_domain`). With s_N = k e_N and s_i = e_i (rounded up to the grid,
periods down):
- SEDF, section IV: p_N <= d_min / 5 (2), p_i = d_i - 4 p_N (1), and bandwidths of at most 1 on each
  pcpu;
- SEDF', section V: 2 p_N + p_i <= d_i "proceeding analogously": p_N <= d_min / 3;
- PSEDF, section VI: p_N = d_min - s_N; p_i is what is between the packets; r_i <= d_i.

Under SEDF and SEDF' the paper takes the longest p_N. Where that leaves a domain too short a period
or a pcpu too much bandwidth, the longest p_N for which all holds is taken, if there is one. Under
PSEDF a shorter p_N only takes more from the others.

These inequalities are not proofs (`sedf`, `sedf_prime` and `psedf` say what is wrong with them).
Inputs: a setting. Result: slices, or the first inequality that does not hold for the paper's own
choice, with both sides. Times are integers in nanoseconds. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hyperperiod.analysis.driver_loop import psedf
from hyperperiod.analysis.driver_loop.driver_domain import Configuration, Service, Slice
from hyperperiod.analysis.fit.loop.problem import LoopSetting, VcpuSlot
from hyperperiod.analysis.fit.loop.relaxation import Refusal, total_text
from hyperperiod.analysis.servers.server import Server
from hyperperiod.model import format_time

Slices = tuple[Server, tuple[Server, ...]]


def by_the_paper(setting: LoopSetting) -> Slices | Refusal:
    """Returns the slices by the paper's own inequalities, or why there are none."""
    hops = setting.rule.hops
    return _by_response(setting) if hops is None else _by_hops(setting, hops)


def _by_hops(setting: LoopSetting, hops: int) -> Slices | Refusal:
    """Sections IV and V: the longest p_N with which everything fits."""
    driver, plant = setting.driver, setting.loop.plant
    slice_ns, max_ns = driver.slices[0], plant.shortest_ns // (hops + 1)
    longest_ns = driver.periods.up_to(max_ns)
    if longest_ns is None or longest_ns < slice_ns:
        return Refusal(
            f"domain {driver.name}: s_N <= p_N <= d_min / {hops + 1} does not hold:"
            f" {plant.packets} * {format_time(plant.packet_ns)} take {format_time(slice_ns)}, above"
            f" {format_time(plant.shortest_ns)} / {hops + 1} = {format_time(max_ns)}"
        )
    first: Refusal | None = None
    for period_ns in _down(setting.driver, longest_ns):
        found = _with(setting, hops, period_ns)
        if not isinstance(found, Refusal):
            return found
        first = first or found
    assert first is not None, "one period was tried"
    return Refusal(f"{first.reason}; with a shorter p_N something else fails")


def shorter_than_the_papers(setting: LoopSetting, period_ns: int) -> str:
    """Says why p_N is shorter than the paper's recipe has it; empty where it is not."""
    hops, plant = setting.rule.hops, setting.loop.plant
    if hops is None:
        return ""
    max_ns = plant.shortest_ns // (hops + 1)
    longest_ns = setting.driver.periods.up_to(max_ns)
    if longest_ns is None or period_ns >= longest_ns:
        return ""
    refused = _with(setting, hops, longest_ns)
    reason = f": {refused.reason}" if isinstance(refused, Refusal) else ""
    return (
        f"p_N is {format_time(period_ns)} where the paper has d_min / {hops + 1} ="
        f" {format_time(max_ns)}{reason}"
    )


def _down(slot: VcpuSlot, longest_ns: int) -> Iterator[int]:
    """Yields the periods that the vcpu may have, from the longest allowed one down to its slice."""
    here_ns: int | None = longest_ns
    while here_ns is not None and here_ns >= slot.slices[0]:
        yield here_ns
        here_ns = slot.periods.up_to(here_ns - 1)


def _with(setting: LoopSetting, hops: int, period_ns: int) -> Slices | Refusal:
    """p_i = d_i - hops p_N for all, if that holds their slices and no pcpu is overloaded."""
    services = []
    for service, slot in zip(setting.loop.plant.services, setting.slots, strict=True):
        left_ns, slice_ns = service.deadline_ns - hops * period_ns, slot.slices[0]
        own_ns = slot.periods.up_to(left_ns)
        if own_ns is None or own_ns < slice_ns:
            return Refusal(_too_short(service, slot, hops, period_ns))
        services.append(slot.server(own_ns, slice_ns))
    driver = setting.driver.server(period_ns, setting.driver.slices[0])
    for pcpu, group in sorted(setting.groups([driver, *services]).items()):
        if group.overloaded:
            return Refusal(f"pcpu {pcpu}: {total_text(group)} <= 1 does not hold")
    return driver, tuple(services)


def _too_short(service: Service, slot: VcpuSlot, hops: int, period_ns: int) -> str:
    min_ns = max(slot.slices[0], slot.periods.first_ns)
    total_ns = hops * period_ns + min_ns
    return (
        f"domain {slot.name}: {hops} p_N + p_i <= d_i does not hold with p_i >= s_i:"
        f" {hops} * {format_time(period_ns)} + {format_time(min_ns)} = {format_time(total_ns)},"
        f" above {format_time(service.deadline_ns)}"
    )


def _by_response(setting: LoopSetting) -> Slices | Refusal:
    """Returns the slices by the inequalities of section VI, which are about responses."""
    plant, driver = setting.loop.plant, setting.driver
    slice_ns = driver.slices[0]
    period_ns = driver.periods.up_to(plant.shortest_ns - slice_ns)
    if period_ns is None or period_ns < slice_ns:
        return Refusal(
            f"domain {driver.name}: s_N <= p_N = d_min - s_N does not hold: {plant.packets} *"
            f" {format_time(plant.packet_ns)} take {format_time(slice_ns)}, and"
            f" {format_time(plant.shortest_ns)} - {format_time(slice_ns)} ="
            f" {format_time(plant.shortest_ns - slice_ns)}"
        )
    chosen = []
    for service, slot in zip(plant.services, setting.slots, strict=True):
        own_ns = slot.periods.up_to(service.period_ns)
        if own_ns is None or own_ns < slot.slices[0]:
            return Refusal(
                f"domain {slot.name}: p_i = {format_time(service.period_ns)} is not among the"
                " periods that it may have"
            )
        chosen.append(slot.server(own_ns, slot.slices[0]))
    configuration = Configuration(
        Slice(period_ns, slice_ns), tuple(Slice(one.period_ns, one.budget_ns) for one in chosen)
    )
    responses = psedf.paper_response(plant, configuration)
    for number, response_ns in enumerate(responses):
        if response_ns is None:
            return Refusal(_too_slow(setting, configuration, number))
    return driver.server(period_ns, slice_ns), tuple(chosen)


def _too_slow(setting: LoopSetting, configuration: Configuration, number: int) -> str:
    """r_i passes d_i: the demand in a window as long as the deadline."""
    services = setting.loop.plant.services
    own = services[number]
    above = [configuration.driver] + [
        configuration.services[other]
        for other, service in enumerate(services)
        if other != number and service.deadline_ns <= own.deadline_ns
    ]
    demand_ns = configuration.services[number].slice_ns + sum(
        -(-own.deadline_ns // one.period_ns) * one.slice_ns for one in above
    )
    load = sum((Fraction(one.slice_ns, one.period_ns) for one in above), Fraction(0))
    return (
        f"domain {setting.slots[number].name}: r_i <= d_i does not hold: up to d_i ="
        f" {format_time(own.deadline_ns)} it and those above it, which take {float(load):.6g} of"
        f" the pcpu, need {format_time(demand_ns)}"
    )
