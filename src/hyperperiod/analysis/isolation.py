# SPDX-License-Identifier: BSD-2-Clause
"""What holds of each domain whatever all others do: their tasks are unknown, their servers are not.

No new test: each domain is analysed once more in a system in which the others keep vcpus,
interfaces, priorities and pcpus, and have no tasks. What a test would have known of them it then
cannot know. So a verdict of yes rests on the enforcement of budgets alone, which the host-level
tests and the supply bounds assume of every server: others with work or without, at any instants.
Where more than that is needed nothing is said:

- *Overheads.* An arrival may take a pick, a switch and a wake from those beside it, and nothing
  bounds how often the others arrive. A domain that is alone on its pcpus has no such others.
- *Flows* through other domains. Items come when the hops before are done with them.
- An interface that could not be computed, swaps, changes, best effort: as ever.

Stolen time is not the domains': its bound is part of the machine, and stays. Domains inside another
one are its own work. Tests of whole flows know the tasks of all domains of a loop; none is left
where flows through others have gone.

Inputs: a system with its interfaces, what the analysis says of its domains. Results: for each
domain the same with what holds then. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from hyperperiod.analysis.result import DomainResult
from hyperperiod.model import Domain, Scheduler, Scope, System, vcpus_of

ARRIVALS = (
    "each arrival of the others on its pcpus costs overheads, and nothing bounds how often they"
    " arrive"
)
OPEN = "not every interface is known"


def isolated(
    system: System,
    found: Sequence[DomainResult],
    judge: Callable[[System], Iterable[DomainResult]],
) -> Iterator[DomainResult]:
    """Yields the result of each domain of the system that holds whatever the others do.

    `found` is what is known of them as they are; `judge` gives the same of another system.
    """
    for domain, row in zip(system.domains, found, strict=True):
        reason = _why_not(system, domain)
        if reason or not domain.is_served:
            yield _unknown(row, reason) if domain.is_served else row
            continue
        alone = _with_unknown_others(system, domain)
        yield next(one for one in judge(alone) if one.name == domain.name)


def _why_not(system: System, domain: Domain) -> str:
    """Returns why nothing holds of a domain whatever the others do; empty if something may."""
    if any(one.interface is None and not one.best_effort for one in vcpus_of(system)):
        return OPEN
    own = {f"{domain.name}.{task.name}" for task in domain.tasks}
    for flow in system.flows:
        others = [hop for hop in flow.hops if hop not in own]
        if others and len(others) < len(flow.hops):
            return f"flow {flow.name} comes and goes by way of {others[0]}"
    if any(vars(system.overheads).values()) and not _is_alone(system, domain):
        return ARRIVALS
    return ""


def _is_alone(system: System, domain: Domain) -> bool:
    """Whether no vcpu of another domain is on the pcpus of this one."""
    shared = system.policy.scope is Scope.GLOBAL
    own: set[int | None] = set()
    others: set[int | None] = set()
    for vcpu in vcpus_of(system):
        (own if vcpu.domain is domain else others).add(None if shared else vcpu.pcpu)
    return own.isdisjoint(others)


def _with_unknown_others(system: System, domain: Domain) -> System:
    """The system in which only this domain has tasks, and only its flows are left."""
    nothing = {"tasks": (), "domains": (), "scheduler": Scheduler.EDF}
    domains = (one if one is domain else one.replace(**nothing) for one in system.domains)
    own = {f"{domain.name}.{task.name}" for task in domain.tasks}
    flows = tuple(flow for flow in system.flows if own.issuperset(flow.hops))
    return system.replace(domains=tuple(domains), flows=flows, overruns=())


def _unknown(row: DomainResult, reason: str) -> DomainResult:
    """The domain, and those in it, with nothing said of their tasks."""
    return row.replace(
        schedulable=None,
        reason=reason,
        each_vcpu=tuple(one.replace(schedulable=None, reason=reason) for one in row.each_vcpu),
        tasks=tuple(
            task.replace(schedulable=None, reason=reason, response_bound_ns=None)
            for task in row.tasks
        ),
        domains=tuple(_unknown(inner, reason) for inner in row.domains),
    )
