# SPDX-License-Identifier: BSD-2-Clause
"""Driver loops as the PSEDF paper configures them, and the sound bounds of those."""

from __future__ import annotations

from hyperperiod.analysis.driver_loop.driver_domain import (
    Configuration,
    PlacedPlant,
    Plant,
    Slice,
    SliceRule,
    parts_of,
    verdicts_of,
)
from hyperperiod.analysis.verdict import Verdict


def bounds_of(placed: PlacedPlant, rule: SliceRule) -> list[Verdict]:
    """One verdict for each service, with its bound."""
    return verdicts_of(placed, parts_of(placed, rule))


def configure(rule: SliceRule, plant: Plant) -> Configuration:
    """Slices and periods of sections IV to VI: s_N = k e_N and s_i = e_i under each rule.

    By the sum of h periods of the driver: p_N = d_min / (h + 1), p_i = d_i - h p_N. Under PSEDF p_N
    is d_min - s_N and p_i that of the packets. ValueError if a slice does not fit its period: the
    paper has no configuration then.
    """
    hops = rule.hops
    if hops is None:
        period_ns = plant.shortest_ns - plant.slice_ns
        own_ns = [service.period_ns for service in plant.services]
    else:
        period_ns = plant.shortest_ns // (hops + 1)
        own_ns = [service.deadline_ns - hops * period_ns for service in plant.services]
    if plant.slice_ns > period_ns:
        raise ValueError(f"k packets take {plant.slice_ns}, the driver's period is {period_ns}")
    for service, one_ns in zip(plant.services, own_ns, strict=True):
        if hops is not None and service.wcet_ns > one_ns:
            raise ValueError(f"{service.name}: {service.wcet_ns} does not fit a period of {one_ns}")
    services = zip(own_ns, plant.services, strict=True)
    slices = tuple(Slice(one_ns, service.wcet_ns) for one_ns, service in services)
    return Configuration(Slice(period_ns, plant.slice_ns), slices)
