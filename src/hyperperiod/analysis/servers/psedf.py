# SPDX-License-Identifier: BSD-2-Clause
"""PSEDF: real-time domains by fixed priority; the paper's response times, and sound ones.

Paper: the PSEDF paper (`driver_domain`), section VI. The driver domain comes first, then the
real-time domains by deadline. s_N = k e_N, p_N = d_min - s_N (from s_N + p_N <= d_min), for the
others the packets' own period and s_i = e_i. Response times by deadline-monotonic analysis,

    r_i = s_i + sum over HP(i) of ceil(r_i / p_j) s_j <= d_i.

Three things are wrong with that (`docs/papers.md`):
- the driver keeps what is left of its slice, and so interferes as a deferrable server: with
  p_N = 0.3, s_N = 0.08 and s_i = 0.06 ms a domain can take 0.22 ms where r_i is 0.14;
- r_i is the time in the real-time domain alone; the way in and out through the driver is missing;
- s_N + p_N <= d_min covers that way only if the packet finds a fresh slice on its way in and the
  real-time domain finishes before the driver's next period.

The sound bound. With a slice at hand `amount` takes R(amount) (`slice_response`: the back-to-back
effect of all of equal or higher priority). A packet that finds the driver with q of its slice left
waits at most p - s + q for the next one, and g of the packets are served before that. Since
R(a - q) + q <= R(a), all a = k e_N are served after

    D = p_N - s_N + R_N(a).

One that does not run into the end of a slice takes R_N(a); where none can twice (`waits_once`),
one of the two ways through the driver is such a one.

Packets reach the real-time domain up to D late. If its period is over at each wake
(`period_over`) it needs R_i. Else D of its own slice, p_i^x - s_i^x + R_i, always holds. And with
p_i^x <= p_i a wake finds the slice used up only by the job before, which was itself woken less
than R_i before a period's end: let a chain of periods begin with a wake; period m of it begins
at T. A job that runs in it although woken before T was woken after T - R_i, or waited for T since
it found no slice, and then by induction its packet came after T - D - R_i. So the packet of the
job behind it comes after T + p_i^x - D - R_i, and has a slice D + R_i after that at the latest:
the whole is 2 D + 2 R_i.

Inputs: a placed plant. Results: per service a verdict with the bound in nanoseconds, null above
the deadline. Errors: ValueError from `configure`.
"""

from __future__ import annotations

from hyperperiod.analysis.servers.driver_domain import (
    Answer,
    Configuration,
    Placed,
    Plant,
    Rule,
    Service,
    Slice,
    Way,
    bounds_of,
    period_over,
    slice_response,
)
from hyperperiod.analysis.servers.server import Server
from hyperperiod.analysis.verdict import Verdict


def configure(plant: Plant) -> Configuration:
    """The slices and periods of section VI."""
    period_ns = plant.shortest_ns - plant.slice_ns
    if plant.slice_ns > period_ns:
        raise ValueError(f"k packets take {plant.slice_ns}, the driver's period is {period_ns}")
    services = tuple(Slice(service.period_ns, service.wcet_ns) for service in plant.services)
    return Configuration(Slice(period_ns, plant.slice_ns), services)


def paper_response(plant: Plant, configuration: Configuration) -> list[int | None]:
    """r_i of section VI for each service; None above its deadline. As published: not sound."""
    return [
        _fixed_point(
            configuration.services[own].slice_ns,
            [
                configuration.driver,
                *(
                    configuration.services[number]
                    for number, other in enumerate(plant.services)
                    if number != own and other.deadline_ns <= service.deadline_ns
                ),
            ],
            service.deadline_ns,
        )
        for own, service in enumerate(plant.services)
    ]


def paper_holds(plant: Plant, configuration: Configuration) -> list[bool]:
    """The paper's verdict: s_N + p_N <= d_min, and r_i <= d_i for each service."""
    driver = configuration.driver
    way_fits = driver.slice_ns + driver.period_ns <= plant.shortest_ns
    return [way_fits and found is not None for found in paper_response(plant, configuration)]


def _fixed_point(own_ns: int, above: list[Slice], limit_ns: int) -> int | None:
    response_ns = own_ns
    while response_ns <= limit_ns:
        demand_ns = own_ns + sum(-(-response_ns // s.period_ns) * s.slice_ns for s in above)
        if demand_ns == response_ns:
            return response_ns
        response_ns = demand_ns
    return None


def bounds(placed: Placed) -> list[Verdict]:
    """The sound end-to-end bounds: in through the driver, the real-time domain, and out."""
    return bounds_of(placed, RULE)


def way(placed: Placed) -> Way | Verdict:
    """D, and R_N with enough of the slice at hand."""
    own = placed.driver
    served = slice_response(placed, own, placed.driver_group, placed.plant.slice_ns)
    if served.bound_ns is None:
        return served
    return Way(own.period_ns - own.budget_ns + served.bound_ns, served.bound_ns)


def answer(placed: Placed, number: int, way_ns: int) -> Answer | Verdict:
    """R_i if a period begins at the wake; else D of its own from there, or 2 R_i all in all."""
    service, (server, group) = placed.plant.services[number], placed.services[number]
    served = slice_response(placed, server, group, service.wcet_ns)
    if served.bound_ns is None:
        return served
    return timing(service, server, served.bound_ns, way_ns)


def timing(service: Service, server: Server, response_ns: int, way_ns: int) -> Answer:
    """The answer of a service that takes so long with its slice at hand."""
    if period_over(service, server, way_ns):
        return Answer(response_ns, response_ns)
    wake_ns = server.period_ns - server.budget_ns + response_ns
    chained = server.period_ns <= service.period_ns
    return Answer(min(2 * response_ns, wake_ns) if chained else wake_ns, wake_ns)


RULE = Rule(way, answer)
