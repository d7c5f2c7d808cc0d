# SPDX-License-Identifier: BSD-2-Clause
"""What `fit` says to people, made from the object that `--json` prints."""

from __future__ import annotations

from collections.abc import Iterator

from hyperperiod.analysis.fit.fit_result import (
    BOUND_NAMES,
    FitAsked,
    FitDomain,
    FitInequality,
    FitResult,
)
from hyperperiod.cli.styled import BAD, GOOD, OPEN, Styled
from hyperperiod.cli.table import Column, Table, numbers, words
from hyperperiod.cli.tables.cells import (
    NO_VALUE,
    bound_text,
    interface_text,
    rate_text,
    share_text,
    time_text,
)
from hyperperiod.model.units import format_time

Line = str | tuple[str, ...] | Table


def fit_lines(result: FitResult) -> Iterator[Line]:
    """The verdict, tables, and how far from the bound."""
    yield _headline(result)
    if result.reason:
        yield f"- {result.reason}"
    if result.interrupted:
        yield "interrupted: this is the best found until then"
    if result.pcpus:
        yield _domains(result)
        if result.flows:
            yield _flows(result)
        else:
            yield _pcpus(result)
    yield _summary(result)
    yield from map(bound_text, result.bound)
    yield from _search(result)


def _headline(result: FitResult) -> tuple[str, ...]:
    styles = {"optimal": GOOD, "fitted": GOOD, "infeasible": BAD}
    status = Styled(result.status, styles.get(result.status, OPEN))
    about = f"{result.system} under {result.policy}: "
    return about, status, f", {_asked(result.asked)}"


def _asked(asked: FitAsked) -> str:
    text = f"least {asked.least}"
    if asked.rule == "paper":
        text = "by the paper's inequalities"
    if asked.within is not None:
        text += f" within {share_text(asked.within)} of the least bandwidth"
    if asked.fewest:
        text += " on the fewest pcpus"
    count = "1 pcpu" if asked.pcpus == 1 else f"up to {asked.pcpus} pcpus"
    text += f", {count}, grid {format_time(asked.grid_ns)}"
    if asked.periods_ns:
        low, high = (format_time(time_ns) for time_ns in asked.periods_ns)
        text += f", periods {low} to {high}"
    return text


def _domains(result: FitResult) -> Table:
    # What a domain of a loop needs alone, or had before, says nothing.
    alone = not result.flows
    numbered = any(domain.priority is not None for domain in result.domains)
    columns = [
        *words("domain", "pcpu"),
        *(words("before", rank=3) if alone else []),
        *words("interface"),
        *(words("priority", rank=1) if numbered else []),
        *numbers("bandwidth"),
        *(numbers("least alone", rank=2) if alone else []),
    ]
    table = Table("domains", columns)
    for domain in result.domains:
        pcpu = "all" if domain.pcpu is None else str(domain.pcpu)
        given = " (given)" if "interface" in domain.given else ""
        interface = domain.interface or None
        table.add_row(
            domain.name,
            pcpu + (" (given)" if "pcpu" in domain.given else ""),
            *([_before(domain)] if alone else []),
            interface_text(interface, domain.vcpus) + given,
            *([_priority(domain)] if numbered else []),
            share_text(interface.bandwidth if interface else None),
            *([share_text(domain.least_bandwidth)] if alone else []),
        )
    return table


def _before(domain: FitDomain) -> str:
    best_effort = domain.least_bandwidth is None
    if not domain.before and not best_effort:
        return NO_VALUE
    return interface_text(domain.before, domain.vcpus)


def _priority(domain: FitDomain) -> str:
    return NO_VALUE if domain.priority is None else str(domain.priority)


def _pcpus(result: FitResult) -> Table:
    columns = [
        *words("pcpu"),
        *numbers("domains", rank=2),
        *numbers("bandwidth"),
        *numbers("refill runs/s", "depletions/s", "switches/s", rank=3),
        *numbers("events/s"),
    ]
    table = Table("pcpus", columns)
    for pcpu in result.pcpus:
        table.add_row(
            "all" if pcpu.id is None else str(pcpu.id),
            str(len(pcpu.domains)),
            share_text(pcpu.bandwidth),
            *(rate_text(of) for of in (pcpu.runs, pcpu.depletions, pcpu.switches, pcpu.events)),
        )
    return table


def _flows(result: FitResult) -> Table:
    """Both sides of the inequalities of a driver loop, ours and the paper's."""
    times = ("in", "answer", "out", "bound", "deadline")
    columns = [
        *words("flow"),
        *words("through", rank=2),
        *numbers(*times[:3], rank=3),
        *numbers(*times[3:]),
        Column("the paper's inequalities", rank=4, folds=30),
    ]
    table = Table("flows", columns)
    for flow in result.flows:
        table.add_row(
            flow.name,
            flow.domain,
            *(
                _time(time_ns or None)
                for time_ns in (
                    flow.in_ns,
                    flow.answer_ns,
                    flow.out_ns,
                    flow.bound_ns,
                    flow.deadline_ns,
                )
            ),
            "; ".join(_inequality(one) for one in flow.paper),
        )
    return table


def _time(time_ns: int | None) -> str:
    return NO_VALUE if time_ns is None else format_time(time_ns)


def _inequality(one: FitInequality) -> str:
    left = "none" if one.left_ns is None else format_time(one.left_ns)
    sign = "<=" if one.holds else "not <="
    return f"{one.inequality}: {left} {sign} {format_time(one.right_ns)}"


def _summary(result: FitResult) -> Table:
    figures = [*numbers("before", rank=2), *numbers("found", "lower bound", "above it by")]
    table = Table("in all", [*words(""), *figures])
    bandwidth, events = result.bandwidth, result.events
    given = result.flows or any(domain.before for domain in result.domains)
    table.add_row(
        "bandwidth",
        share_text(bandwidth.before) if given else "none given",
        share_text(bandwidth.found),
        share_text(bandwidth.lower_bound),
        share_text(bandwidth.gap),
    )
    if result.flows:
        return table
    bound, in_time = events.lower_bound, events.unit == "ns/s"
    rates = (events.before, events.found)
    table.add_row(
        "events/s",
        *(rate_text(of.events if of else None) for of in rates),
        NO_VALUE if in_time else rate_text(bound),
        NO_VALUE if in_time else share_text(events.gap),
    )
    if in_time:
        costs = (*(of.cost if of else None for of in rates), bound)
        table.add_row("overhead", *(_cost(cost) for cost in costs), share_text(events.gap))
    return table


def _cost(ns_per_second: float | None) -> str:
    """Returns the time lost to overheads in every second, as text."""
    return NO_VALUE if ns_per_second is None else f"{time_text(ns_per_second)}/s"


def _search(result: FitResult) -> Iterator[str]:
    bounds = result.bandwidth.bounds
    if bounds:
        parts = [f"{BOUND_NAMES[name]} {share_text(value)}" for name, value in bounds.items()]
        yield "bandwidth bounds: " + ", ".join(parts)
    proved = result.search.fewest_proved
    if proved is not None:
        yield f"fewer pcpus: {'proved impossible' if proved else 'nothing was found, no proof'}"
