# SPDX-License-Identifier: BSD-2-Clause
"""What `hyperperiod fit --json` prints, from what was found.

Everything about a choice is counted on the complete system, exactly; floats appear only here, in
what is shown. "before" is the system as the file has it: interfaces that it leaves open computed
as `analyze` does; where pins are missing, each domain by itself, and no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Required, TypedDict, cast

from hyperperiod.analysis.fit.answer import Fitted
from hyperperiod.analysis.fit.candidates import Tabulator
from hyperperiod.analysis.fit.cost import CostModel, Events, Prices, prices_of
from hyperperiod.analysis.fit.loop.terms import flow_entries
from hyperperiod.analysis.fit.problem import Candidate, Item, Problem
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.model import Domain, InputError, Scope, System
from hyperperiod.model.vcpus import bandwidth_of, interface_result


class FitResult(TypedDict, total=False):
    """The object that `--json` prints; docs/fit.md has every key."""

    system: Required[str]
    policy: Required[str]
    status: Required[str]
    reason: str
    interrupted: bool
    asked: Required[dict[str, Any]]
    bandwidth: Required[dict[str, Any]]
    events: Required[dict[str, Any]]
    pcpus: Required[list[dict[str, Any]]]
    domains: Required[list[dict[str, Any]]]
    search: Required[dict[str, Any]]
    flows: list[dict[str, Any]]


def result_of(fitted: Fitted) -> FitResult:
    """What `fit` found as the JSON object that docs/formats.md describes."""
    prices = prices_of(fitted.before.overheads)
    before = _before(fitted.before, fitted)
    after = fitted.system
    result: dict[str, Any] = {
        "system": fitted.before.name,
        "policy": str(fitted.before.policy),
        "status": fitted.status,
    }
    if fitted.reason:
        result["reason"] = fitted.reason
    if fitted.interrupted:
        result["interrupted"] = True
    result["asked"] = _asked(fitted)
    result["bandwidth"] = _bandwidth(fitted, before, after)
    result["events"] = _events(fitted, before, after, prices)
    result["pcpus"] = _pcpus(after, prices) if after is not None else []
    if fitted.loop is not None:
        # The model of events has refills at multiples of periods; slices begin with work.
        result["events"] |= {"before": None, "found": None}
        keys = ("id", "bandwidth", "domains")
        result["pcpus"] = [{key: row[key] for key in keys} for row in result["pcpus"]]
    result["domains"] = [
        _domain(index, fitted, before, after) for index in range(len(fitted.before.domains))
    ]
    if fitted.loop is not None:
        result["flows"] = flow_entries(fitted.loop, after)
    result["search"] = _search(fitted)
    return cast(FitResult, result)


def _asked(fitted: Fitted) -> dict[str, Any]:
    options, grid = fitted.options, fitted.grid
    return {
        "least": str(options.least),
        "within": None if options.within is None else float(options.within),
        "fewest": options.fewest,
        "pcpus": fitted.before.pcpus,
        "grid_ns": grid.step_ns,
        "periods_ns": None if grid.low_ns is None else [grid.low_ns, grid.high_ns],
        "time_limit_s": options.limit_s if options.solver or fitted.loop else None,
        **({"rule": str(options.rule)} if fitted.loop else {}),
    }


def _before(system: System, fitted: Fitted) -> System | None:
    """The system with every interface, or None if one has none."""
    if fitted.loop is not None:
        # By itself no domain of a loop says what it needs.
        open_ = (one for one in system.domains if not one.interface and not one.best_effort)
        return None if next(open_, None) else system
    try:
        if system.pinned:
            resolution = resolve_what_can_be(system)
            return None if resolution.failures else resolution.system
        domains = []
        for domain in system.domains:
            alone = resolve_what_can_be(Tabulator(system, fitted.grid).alone(domain))
            if alone.failures:
                return None
            domains.append(alone.system.domains[0].replace(pcpu=domain.pcpu))
    except InputError:
        return None
    return system.replace(domains=tuple(domains))


def _bandwidth(fitted: Fitted, before: System | None, after: System | None) -> dict[str, Any]:
    found = total_bandwidth(after)
    bounds = fitted.bandwidth_bounds
    bound = max(bounds.values(), default=None)
    # The solver's bound is about the candidates; the others hold for the whole grid, and so does
    # that of the search for slices.
    for_grid = [v for name, v in bounds.items() if name != "search" or fitted.loop is not None]
    whole_grid = max(for_grid, default=None)
    return {
        "before": _float(total_bandwidth(before)),
        "found": _float(found),
        "lower_bound": _float(bound),
        "gap": _gap(found, bound),
        "grid_gap": _gap(found, whole_grid),
        "bounds": {name: float(value) for name, value in bounds.items()},
    }


def _events(
    fitted: Fitted, before: System | None, after: System | None, prices: Prices
) -> dict[str, Any]:
    whole_before = _events_of(before) if before is not None and before.pinned else None
    whole_after = _events_of(after)
    cost = whole_after.cost(prices) if whole_after else None
    return {
        "unit": "ns/s" if prices.in_time else "events/s",
        "before": _event_rates(whole_before, prices),
        "found": _event_rates(whole_after, prices),
        "lower_bound": _float(fitted.cost_bound),
        "gap": _gap(cost, fitted.cost_bound),
    }


def _event_rates(events: Events | None, prices: Prices) -> dict[str, float] | None:
    if events is None:
        return None
    return {
        "runs": float(events.runs),
        "depletions": float(events.depletions),
        "switches": float(events.switches),
        "events": float(events.count),
        "cost": float(events.cost(prices)),
    }


def _pcpus(system: System, prices: Prices) -> list[dict[str, Any]]:
    """One row per pcpu; under a global policy one row for all of them."""
    rows = []
    for pcpu, domains in _by_pcpu(system):
        events = _count(system, domains)
        rows.append(
            {
                "id": pcpu,
                "bandwidth": float(sum((bandwidth_of(domain) for domain in domains), Fraction(0))),
                "domains": [domain.name for domain in domains],
                **(_event_rates(events, prices) or {}),
            }
        )
    return rows


def _domain(
    index: int, fitted: Fitted, before: System | None, after: System | None
) -> dict[str, Any]:
    given = fitted.before.domains[index]
    entry: dict[str, Any] = {
        "name": given.name,
        "vcpus": given.vcpus,
        "utilization": float(given.utilization),
        "given": [
            key
            for key, value in (
                ("interface", given.interface),
                ("interface_period", given.interface_period_ns),
                ("interface_period_range", given.interface_period_range),
                ("pcpu", given.pcpu),
                ("priority", given.priority),
            )
            if value is not None
        ],
        "before": interface_result(before.domains[index]) if before else None,
    }
    items = fitted.problem.items if fitted.problem else ()
    item = next((item for item in items if item.index == index), None)
    if item is not None:
        entry |= {"least_bandwidth": float(item.least), "candidates": len(item.candidates)}
    if after is not None:
        chosen = after.domains[index]
        entry |= {
            "interface": interface_result(chosen),
            "pcpu": chosen.pcpu,
            "priority": chosen.priority,
        }
    return entry


def _search(fitted: Fitted) -> dict[str, Any]:
    found: dict[str, Any] = {
        "seconds": round(fitted.seconds, 3),
        "solver": "CP-SAT" if fitted.options.solver and not fitted.loop else None,
        "rounds": fitted.rounds,
        "cuts": fitted.cuts,
    }
    if fitted.heuristic is not None and fitted.problem is not None:
        scale = prices_of(fitted.before.overheads).scale
        by_bandwidth = fitted.options.least is Least.BANDWIDTH
        found["heuristic"] = (
            fitted.heuristic.bandwidth / fitted.problem.unit
            if by_bandwidth
            else fitted.heuristic.cost / scale
        )
    if fitted.fewest_proved is not None:
        found["fewest_proved"] = fitted.fewest_proved
    return found


def total_bandwidth(system: System | None) -> Fraction | None:
    """The bandwidth of all servers, exactly."""
    if system is None:
        return None
    return sum((bandwidth_of(domain) for domain in system.domains), Fraction(0))


def _by_pcpu(system: System) -> Iterable[tuple[int | None, list[Domain]]]:
    if system.policy.scope is Scope.GLOBAL:
        yield None, list(system.domains)
        return
    for pcpu in range(system.pcpus):
        yield pcpu, [domain for domain in system.domains if domain.pcpu == pcpu]


def _events_of(system: System | None) -> Events | None:
    """The events per second of a complete system; None without one."""
    if system is None:
        return None
    return sum((_count(system, domains) for _, domains in _by_pcpu(system)), Events())


def _count(system: System, domains: Iterable[Domain]) -> Events:
    """The events of the servers of these domains, as they are now."""
    items = tuple(
        Item(
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
    model = CostModel(Problem(system, items, (0,), room))
    return model.events((place, 0) for place in range(len(items)))


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _gap(found: Fraction | None, bound: Fraction | None) -> float | None:
    """How far what was found is above the bound, as a share of the bound; at least 0."""
    if found is None or not bound:
        return None
    return max(0.0, float(found / bound - 1))
