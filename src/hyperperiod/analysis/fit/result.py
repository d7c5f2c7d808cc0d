# SPDX-License-Identifier: BSD-2-Clause
"""The result object of a fit, from what was found.

Everything about a choice is counted on the complete system, exactly; floats appear only here, in
what is shown. "before" is what the file gives: interfaces, and for periods the least budgets, as
`analyze` does; where pins are missing or others are open, each domain by itself, and no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from hyperperiod.analysis.fit.answer import Fitted
from hyperperiod.analysis.fit.candidates import Tabulator
from hyperperiod.analysis.fit.cost import CostModel, EventPrices, EventRates, prices_of
from hyperperiod.analysis.fit.fit_result import (
    FitAsked,
    FitBandwidth,
    FitDomain,
    FitEvents,
    FitPcpu,
    FitRates,
    FitResult,
    FitSearch,
)
from hyperperiod.analysis.fit.loop.terms import flow_results
from hyperperiod.analysis.fit.problem import Candidate, FitItem, FitProblem
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.model import Domain, InputError, Scope, System
from hyperperiod.model.absent import ABSENT
from hyperperiod.model.vcpus import bandwidth_of, interface_result


def result_of(fitted: Fitted) -> FitResult:
    """Returns what `fit` found as the JSON object that docs/formats.md describes."""
    prices = prices_of(fitted.before.overheads)
    before, after = _before(fitted.before, fitted), fitted.parts or fitted.system
    return FitResult(
        system=fitted.before.name,
        policy=str(fitted.before.policy),
        status=fitted.status,
        reason=fitted.reason,
        interrupted=fitted.interrupted,
        asked=_asked(fitted),
        bandwidth=_bandwidth(fitted, before, after),
        events=_events(fitted, before, after, prices),
        pcpus=() if after is None else tuple(_pcpus(fitted, after, prices)),
        domains=tuple(
            _domain(index, fitted, before, after) for index in range(len(fitted.before.domains))
        ),
        flows=() if fitted.loop is None else flow_results(fitted.loop, after),
        bound=fitted.bound,
        search=_search(fitted),
    )


def _asked(fitted: Fitted) -> FitAsked:
    options, grid = fitted.options, fitted.grid
    low_ns, high_ns = grid.low_ns, grid.high_ns
    return FitAsked(
        least=str(options.least),
        within=None if options.within is None else float(options.within),
        fewest=options.fewest,
        pcpus=fitted.before.pcpus,
        grid_ns=grid.step_ns,
        periods_ns=None if low_ns is None or high_ns is None else (low_ns, high_ns),
        time_limit_s=options.limit_s if options.solver or fitted.loop else None,
        rule=str(options.rule) if fitted.loop else None,
    )


def _before(system: System, fitted: Fitted) -> System:
    """The system with the interfaces that the file gives, whole or by their periods."""
    if fitted.loop is not None:
        # By itself no domain of a loop says what it needs.
        return system
    system = system.replace(
        domains=tuple(
            one.replace(interface=None) if one.name in fitted.settled else one
            for one in system.domains
        )
    )
    try:
        if system.pinned and all(map(_is_given, system.domains)):
            return resolve_what_can_be(system).system
        tabulator = Tabulator(system, fitted.grid)
        domains = tuple(
            resolve_what_can_be(tabulator.alone(domain)).system.domains[0].replace(pcpu=domain.pcpu)
            if _is_given(domain)
            else domain
            for domain in system.domains
        )
    except InputError:
        return system
    return system.replace(domains=domains)


def _is_given(domain: Domain) -> bool:
    """Whether the file says what a domain's server gets, or when, or that it has none."""
    return bool(domain.best_effort or domain.interface or domain.interface_period_ns)


def _bandwidth(fitted: Fitted, before: System, after: System | None) -> FitBandwidth:
    found = total_bandwidth(after)
    bounds = fitted.bandwidth_bounds
    bound = max(bounds.values(), default=None)
    # The solver's bound is about the candidates; the others hold for the whole grid, and so does
    # that of the search for slices.
    for_grid = [v for name, v in bounds.items() if name != "search" or fitted.loop is not None]
    whole_grid = max(for_grid, default=None)
    return FitBandwidth(
        before=_float(total_bandwidth(before)),
        found=_float(found),
        lower_bound=_float(bound),
        gap=_gap(found, bound),
        grid_gap=_gap(found, whole_grid),
        bounds={name: float(value) for name, value in bounds.items()},
    )


def _events(fitted: Fitted, before: System, after: System | None, prices: EventPrices) -> FitEvents:
    complete = before.pinned and total_bandwidth(before) is not None
    whole_before = _events_of(before) if complete else None
    whole_after = _events_of(after)
    cost = whole_after.cost(prices) if whole_after else None
    # The model of events has refills at multiples of periods; slices of a loop begin with work.
    known = fitted.loop is None
    return FitEvents(
        unit="ns/s" if prices.in_time else "events/s",
        before=_rates(whole_before, prices) if whole_before and known else None,
        found=_rates(whole_after, prices) if whole_after and known else None,
        lower_bound=_float(fitted.cost_bound),
        gap=_gap(cost, fitted.cost_bound),
    )


def _rates(events: EventRates, prices: EventPrices) -> FitRates:
    return FitRates(
        runs=float(events.runs),
        depletions=float(events.depletions),
        switches=float(events.switches),
        events=float(events.count),
        cost=float(events.cost(prices)),
    )


def _pcpus(fitted: Fitted, system: System, prices: EventPrices) -> Iterable[FitPcpu]:
    """One per pcpu; under a global policy one for all of them."""
    for pcpu, domains in _by_pcpu(system):
        rates = _rates(_count(system, domains), prices) if fitted.loop is None else None
        yield FitPcpu(
            id=pcpu,
            bandwidth=float(sum((bandwidth_of(domain) for domain in domains), Fraction(0))),
            domains=tuple(domain.name for domain in domains),
            **(vars(rates) if rates is not None else {}),
        )


def _domain(index: int, fitted: Fitted, before: System, after: System | None) -> FitDomain:
    given = fitted.before.domains[index]
    items = fitted.problem.items if fitted.problem else ()
    item = next((item for item in items if item.index == index), None)
    chosen = None if after is None else after.domains[index]
    return FitDomain(
        name=given.name,
        vcpus=given.vcpus,
        utilization=float(given.utilization),
        given=tuple(
            key
            for key, value in (
                ("interface", None if given.name in fitted.settled else given.interface),
                ("interface_period", given.interface_period_ns),
                ("interface_period_range", given.interface_period_range),
                ("pcpu", given.pcpu),
                ("priority", given.priority),
            )
            if value is not None
        ),
        before=interface_result(before.domains[index]),
        least_bandwidth=None if item is None else float(item.least),
        candidates=None if item is None else len(item.candidates),
        interface=ABSENT if chosen is None else interface_result(chosen),
        pcpu=ABSENT if chosen is None else chosen.pcpu,
        priority=ABSENT if chosen is None else chosen.priority,
    )


def _search(fitted: Fitted) -> FitSearch:
    return FitSearch(
        seconds=round(fitted.seconds, 3),
        solver="CP-SAT" if fitted.options.solver and not fitted.loop else None,
        rounds=fitted.rounds,
        cuts=fitted.cuts,
        heuristic=_heuristic(fitted),
        fewest_proved=fitted.fewest_proved,
    )


def _heuristic(fitted: Fitted) -> float | None:
    """Returns the value that the heuristics reached of what is to be as small as possible."""
    if fitted.heuristic is None or fitted.problem is None:
        return None
    if fitted.options.least is Least.BANDWIDTH:
        return fitted.heuristic.bandwidth / fitted.problem.unit
    return fitted.heuristic.cost / prices_of(fitted.before.overheads).scale


def cost_of(system: System) -> Fraction:
    """Returns the cost per second of all events of a complete system, exactly."""
    events = _events_of(system)
    assert events is not None, "there is a system"
    return events.cost(prices_of(system.overheads))


def total_bandwidth(system: System | None) -> Fraction | None:
    """The bandwidth of all servers, exactly; None if one has no interface."""
    if system is None or not all(one.interface or one.best_effort for one in system.domains):
        return None
    return sum((bandwidth_of(domain) for domain in system.domains), Fraction(0))


def _by_pcpu(system: System) -> Iterable[tuple[int | None, list[Domain]]]:
    if system.policy.scope is Scope.GLOBAL:
        yield None, list(system.domains)
        return
    for pcpu in range(system.pcpus):
        yield pcpu, [domain for domain in system.domains if domain.pcpu == pcpu]


def _events_of(system: System | None) -> EventRates | None:
    """The events per second of a complete system; None without one."""
    if system is None:
        return None
    return sum((_count(system, domains) for _, domains in _by_pcpu(system)), EventRates())


def _count(system: System, domains: Iterable[Domain]) -> EventRates:
    """The events of the servers of these domains, as they are now."""
    items = tuple(
        FitItem(
            index=place,
            name=domain.name,
            vcpus=domain.vcpus,
            candidates=(Candidate(domain.interface.period_ns, domain.interface.budget_ns),),
            utilization=domain.utilization,
            least=domain.interface.bandwidth,
            priority=domain.priority,
        )
        for place, domain in enumerate(domains)
        if domain.interface is not None
    )
    room = system.pcpus if system.policy.scope is Scope.GLOBAL else 1
    model = CostModel(FitProblem(system, items, (0,), room))
    return model.events((place, 0) for place in range(len(items)))


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _gap(found: Fraction | None, bound: Fraction | None) -> float | None:
    """Returns how far a value is above its bound, as a share of the bound, at least 0."""
    if found is None or not bound:
        return None
    return max(0.0, float(found / bound - 1))
