# SPDX-License-Identifier: BSD-2-Clause
"""Who is hurt by the overruns of a system: a run beside the same one without them.

Draws are functions of (seed, domain, task, job), so both runs have the same jobs, and what differs
comes from the overruns. A task or flow is *hurt* if it missed more deadlines (or dropped more
items) than without them, or if a response was above its bound, which was computed without them.
One that came later, and still as much in time as before, is not.

On another host than the simulator, the run without overruns is the simulator's prediction; and
who is hurt there and comes no later in the simulator was hurt by the host.

Inputs: the system with its interfaces, what the analysis says of it, the runs. Result: an
`OverrunsResult`. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.result import OverrunEffect, OverrunsResult, RunFlow, RunResult, RunTask
from hyperperiod.model import Domain, System, format_time
from hyperperiod.model.errors import some_names


class _Seen(NamedTuple):
    """A task or a flow in a run: how often it went wrong, and its worst response (ns)."""

    misses: int
    max_ns: int | None

    def is_worse_than(self, other: _Seen, bound_ns: int | None) -> bool:
        above = bound_ns is not None and self.max_ns is not None and self.max_ns > bound_ns
        return self.misses > other.misses or above


def overruns_result(
    system: System,
    analysis: Analysis,
    result: RunResult,
    predicted: RunResult,
    without: RunResult,
) -> OverrunsResult:
    """Compares a run with the simulator's runs with (`predicted`) and `without` the overruns."""
    bounds = bounds_of(analysis)
    told, before = _seen(predicted), _seen(without)
    reasons = _Reasons(system, analysis)
    entries = []
    for name, seen in _seen(result).items():
        bound_ns, then = bounds.get(name), before[name]
        hurt = seen.is_worse_than(then, bound_ns)
        own = name in reasons.overrunning
        why = ""
        if hurt and not own:
            reached = told[name].is_worse_than(then, then.max_ns)
            why = reasons.of(name) if reached else f"not by the overruns: {result.host} itself"
        entries.append(
            OverrunEffect(
                name=name,
                overruns=own,
                hurt=hurt,
                misses=seen.misses,
                misses_without=then.misses,
                max_ns=seen.max_ns,
                max_without_ns=then.max_ns,
                bound_ns=bound_ns,
                why=why,
            )
        )
    return OverrunsResult(summary=_summary(entries), entries=tuple(entries))


def bounds_of(analysis: Analysis) -> Mapping[str, int | None]:
    """The bound (ns) on the response of each task and flow that has one, by name."""
    found = analysis.result()
    bounds = {
        f"{domain.name}.{task.name}": task.response_bound_ns
        for domain in found.domains
        for task in domain.tasks
    }
    return bounds | {f"flow {flow.name}": flow.response_bound_ns for flow in found.flows}


def _seen(result: RunResult) -> dict[str, _Seen]:
    return {name: _Seen(_wrong(one), _max_ns(one)) for name, one in result.entries}


def _wrong(one: RunTask | RunFlow) -> int:
    return one.misses + (one.dropped if isinstance(one, RunFlow) else 0)


def _max_ns(one: RunTask | RunFlow) -> int | None:
    return None if one.response_ns is None else one.response_ns.max


class _Reasons:
    """The reasons for which tasks and flows can be hurt by the overruns of others."""

    def __init__(self, system: System, analysis: Analysis) -> None:
        self.system = system
        self.overrunning = {one.task for one in system.overruns}
        self.domains = {f"{d.name}.{task.name}": d for d in system.domains for task in d.tasks}
        hosts = analysis.guaranteed.items()
        self.open = {name: host.reason for name, host in hosts if not host.holds}

    def of(self, name: str) -> str:
        """Returns why the task or flow of this name could be hurt, the nearest reason first."""
        flows = {f"flow {flow.name}": flow for flow in self.system.flows}
        if name in flows:
            return self._by_hops(flows[name].hops) or self._by_domains(
                {self.domains[hop].name for hop in flows[name].hops}
            )
        domain = self.domains[name]
        through = [hop for flow in flows.values() if name in flow.hops for hop in flow.hops]
        return (
            self._by_domains({domain.name})
            or self._by_hops(through)
            or self._by_server(domain)
            or "no bound was proved for it: it lived on time that others left"
        )

    def _by_hops(self, hops: Iterable[str]) -> str:
        found = [hop for hop in hops if hop in self.overrunning]
        return f"its items pass {found[0]}" if found else ""

    def _by_domains(self, names: set[str]) -> str:
        found = [one for one in sorted(self.overrunning) if self.domains[one].name in names]
        return f"in one domain with {found[0]}" if found else ""

    def _by_server(self, domain: Domain) -> str:
        if domain.best_effort:
            return "best effort: it has the time that others leave"
        reasons = [
            self.open[name] for name in (domain.name, *domain.vcpu_names) if name in self.open
        ]
        return f"its server is promised nothing ({reasons[0]})" if reasons else ""


def _summary(entries: Iterable[OverrunEffect]) -> str:
    """One sentence: who else was hurt and why, or that nobody was, and who came later only."""
    others = [one for one in entries if not one.overruns]
    hurt = [f"{one.name} ({_harm(one)}; {one.why})" for one in others if one.hurt]
    if hurt:
        return f"hurt: {', '.join(hurt)}"
    later = list(_later(others))
    if not later:
        return "nobody else was hurt"
    return f"nobody else was hurt; later, but in time as before: {some_names(later)}"


def _harm(one: OverrunEffect) -> str:
    found = []
    if one.misses > one.misses_without:
        found.append(f"{one.misses - one.misses_without} more late")
    if one.bound_ns is not None and one.max_ns is not None and one.max_ns > one.bound_ns:
        over = f"{format_time(one.max_ns)}, above its bound of {format_time(one.bound_ns)}"
        found.append(over)
    return ", ".join(found)


def _later(entries: Iterable[OverrunEffect]) -> Iterator[str]:
    for one in entries:
        if one.max_ns is not None and one.max_ns > (one.max_without_ns or 0):
            yield one.name
