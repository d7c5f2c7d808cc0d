# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis says of a system against what it says of one that asks for less.

Systems of every row of the table of proofs (`rows`), whole ones and chains. Each is changed in a
way that can only help, or that changes nothing: all times in another unit, shorter executions,
less jitter, blocking or overhead, longer periods and deadlines, a domain less, more budget for a
domain where all others still get theirs, best effort beside it, another order in the file. What
was "yes" must stay "yes", and no response bound may grow: a test for which that holds is
*sustainable* (Baruah and Burns, RTSS 2006). Where it does not hold, docs/analysis/proofs.md says
so, and `test_not_sustainable` has a witness. What sensitivity and `fit` tell is put back in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from tests.soundness.rows import ROWS, draw_of_kind, draw_whole, kinds_of
from tests.support.campaign import Trial, hunt
from tests.support.verdicts import Said, proved, said_of, scaled, with_budget

from hyperperiod.analysis import analyze
from hyperperiod.analysis.fit.answer import Options
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.model import (
    Budget,
    Domain,
    InputError,
    Interface,
    Overheads,
    Sbf,
    Scheduler,
    Scope,
    System,
    Task,
    to_toml,
    vcpus_of,
)

FIT_LIMIT_S = 1.0
"""Limit of one search. How much it finds depends on the clock, that it is accepted must not."""


# -- changes -------------------------------------------------------------------------------------


def with_tasks(system: System, change: Callable[[Domain, Task], Task]) -> System:
    domains = tuple(
        one.replace(tasks=tuple(change(one, task) for task in one.tasks)) for one in system.domains
    )
    return system.replace(domains=domains)


def less(draw: random.Random, value: int, low: int) -> int:
    """At most the value, at least `low`; half of the time the value."""
    return value if draw.random() < 0.5 else draw.randint(min(low, value), value)


def shorter(draw: random.Random, system: System) -> System:
    """No job takes less than before, and some never take as long."""

    def change(_: Domain, task: Task) -> Task:
        if task.wcet_ns is None or task.bcet_ns is None:
            return task
        wcet_ns = less(draw, task.wcet_ns, task.bcet_ns)
        return task.replace(wcet_ns=wcet_ns, etf=Fraction(task.bcet_ns, wcet_ns))

    return with_tasks(system, change)


def steadier(draw: random.Random, system: System) -> System:
    """Less jitter of tasks and sources."""
    system = with_tasks(
        system, lambda _, task: task.replace(jitter_ns=less(draw, task.jitter_ns, 0))
    )
    flows = []
    for flow in system.flows:
        source = flow.source
        if source.clients is None:
            source = source.replace(jitter_ns=less(draw, source.jitter_ns, 0))
        flows.append(flow.replace(source=source))
    return system.replace(flows=tuple(flows))


def less_blocked(draw: random.Random, system: System) -> System:
    return with_tasks(
        system, lambda _, task: task.replace(blocking_ns=less(draw, task.blocking_ns, 0))
    )


def cheaper(draw: random.Random, system: System) -> System:
    costs = {name: less(draw, cost, 0) for name, cost in vars(system.overheads).items()}
    return system.replace(overheads=Overheads(**costs))


def rarer(draw: random.Random, system: System) -> System | None:
    """Longer periods of tasks and sources; under rm of none, since that changes who is first."""
    if system.sbf is Sbf.HARMONIC:
        return None

    def change(domain: Domain, task: Task) -> Task:
        by_period = domain.scheduler in (Scheduler.RM, Scheduler.GRM)
        if task.period_ns is None or by_period or draw.random() < 0.5:
            return task
        return task.replace(period_ns=task.period_ns + draw.randint(1, task.period_ns))

    flows = []
    for flow in system.flows:
        source = flow.source
        if source.period_ns is not None and draw.random() < 0.5:
            longer_ns = source.period_ns + draw.randint(1, source.period_ns)
            source = source.replace(period_ns=longer_ns)
        flows.append(flow.replace(source=source))
    return with_tasks(system, change).replace(flows=tuple(flows))


def later(draw: random.Random, system: System) -> System | None:
    """Longer deadlines of tasks and flows; under dm of flows only.

    Where jobs move no longer than periods: no test covers deadlines beyond these.
    """
    if system.sbf is Sbf.HARMONIC:
        return None

    def change(domain: Domain, task: Task) -> Task:
        by_deadline = domain.scheduler in (Scheduler.DM, Scheduler.GDM)
        if task.deadline_ns is None or by_deadline or draw.random() < 0.5:
            return task
        longer_ns = task.deadline_ns + draw.randint(1, task.deadline_ns)
        if domain.scheduler.is_global and task.period_ns is not None:
            longer_ns = max(task.deadline_ns, min(longer_ns, task.period_ns - task.jitter_ns))
        return task.replace(deadline_ns=longer_ns)

    flows = tuple(
        flow.replace(deadline_ns=flow.deadline_ns + draw.randint(0, flow.deadline_ns))
        for flow in system.flows
    )
    return with_tasks(system, change).replace(flows=flows)


def one_less(draw: random.Random, system: System) -> System | None:
    """A domain less that no flow goes through; None where periodic servers are known."""
    known = system.sbf is Sbf.SERVERS and system.policy.budget is Budget.PERIODIC
    if len(system.domains) < 2 or known:
        return None
    gone = draw.choice(system.domains)
    if any(hop.startswith(f"{gone.name}.") for flow in system.flows for hop in flow.hops):
        return None
    return system.replace(domains=tuple(one for one in system.domains if one is not gone))


def more_budget(draw: random.Random, system: System) -> System | None:
    """A larger budget for one domain, where all servers still get theirs.

    None where bounds depend on what the others are given.
    """
    index = draw.randrange(len(system.domains))
    interface = system.domains[index].interface
    if system.sbf is Sbf.SERVERS or interface is None or interface.budget_ns == interface.period_ns:
        return None
    quantum_ns = system.quantum_ns or 1
    most = (interface.period_ns - interface.budget_ns) // quantum_ns
    if most == 0:
        return None
    budget_ns = interface.budget_ns + draw.randint(1, most) * quantum_ns
    grown = Interface(period_ns=interface.period_ns, budget_ns=budget_ns)
    domains = list(system.domains)
    domains[index] = domains[index].replace(interface=grown)
    changed = system.replace(domains=tuple(domains))
    return changed if all(proved(changed).values()) else None


def with_best_effort(draw: random.Random, system: System) -> System | None:
    """A domain without a server; None where switching to it and back takes time."""
    if any(vars(system.overheads).values()):
        return None
    busy = Domain(name="more", best_effort=True, pcpu=vcpus_of(system)[0].pcpu)
    place = draw.randint(0, len(system.domains))
    domains = (*system.domains[:place], busy, *system.domains[place:])
    return system.replace(domains=domains)


def reordered(draw: random.Random, system: System) -> System:
    """Domains and flows in any order, and tasks where the order of the file decides nothing."""

    def mixed(parts: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(draw.sample(parts, len(parts)))

    def key(domain: Domain, task: Task) -> int | None:
        if domain.scheduler in (Scheduler.RM, Scheduler.GRM):
            return task.period_ns
        if domain.scheduler in (Scheduler.DM, Scheduler.GDM):
            return task.deadline_ns
        return task.priority

    domains = []
    for domain in mixed(system.domains):
        tied = len({key(domain, task) for task in domain.tasks}) < len(domain.tasks)
        pinned = all(task.vcpu is not None for task in domain.tasks) or domain.vcpus == 1
        domains.append(domain if tied or not pinned else domain.replace(tasks=mixed(domain.tasks)))
    return system.replace(domains=tuple(domains), flows=mixed(system.flows))


# -- what must come of them ------------------------------------------------------------------------


def worse(before: dict[str, Said], after: dict[str, Said]) -> Iterator[str]:
    """What was lost of those that are in both."""
    yield from lost(before, after)
    for name, one in before.items():
        other = after.get(name, one)
        if one.bound_ns is not None and one.bound_ns < (other.bound_ns or 0):
            yield f"{name} had the bound {one.bound_ns} and has {other.bound_ns}"


def lost(before: dict[str, Said], after: dict[str, Said]) -> Iterator[str]:
    """Verdicts only: a job with a later deadline may be served later."""
    for name, one in before.items():
        other = after.get(name, one)
        if one.holds and not other.holds:
            yield f"{name or 'the system'} was yes and is {other.holds}"


def changed(before: dict[str, Said], after: dict[str, Said]) -> Iterator[str]:
    """What is not as it was; of equal servers that are too many any may be the one refuted."""
    for name, one in before.items():
        other = after.get(name, one)
        if (one.holds is True, one.bound_ns) != (other.holds is True, other.bound_ns):
            yield f"{name or 'the system'} was {one} and is {other}"


class Relation(NamedTuple):
    """How a system is changed (None: this one cannot be), and what must not come of it."""

    change: Callable[[random.Random, System], System | None]
    compare: Callable[[dict[str, Said], dict[str, Said]], Iterator[str]]


RELATIONS = {
    "shorter": Relation(shorter, worse),
    "steadier": Relation(steadier, worse),
    "less blocked": Relation(less_blocked, worse),
    "cheaper": Relation(cheaper, worse),
    "rarer": Relation(rarer, worse),
    "later": Relation(later, lost),
    "one less": Relation(one_less, worse),
    "more budget": Relation(more_budget, worse),
    "best effort": Relation(with_best_effort, changed),
    "reordered": Relation(reordered, changed),
}


def broken_scale(draw: random.Random, system: System, before: dict[str, Said]) -> Iterator[str]:
    """Another unit of time: the same, but what overheads take is rounded up to whole units."""
    factor = draw.choice((2, 3, 7, 1000))
    costs = any(vars(system.overheads).values())
    for name, after in said_of(scaled(system, factor)).items():
        one = before[name]
        if after.holds != one.holds and not (costs and after.holds):
            yield f"{name or 'the system'} is {after.holds} at {factor} times, not {one.holds}"
        if one.bound_ns is None or after.bound_ns is None:
            continue
        if after.bound_ns > factor * one.bound_ns or (
            after.bound_ns < factor * one.bound_ns and not costs
        ):
            yield f"{name}: bound {after.bound_ns} at {factor} times, not {one.bound_ns}"


def broken_relations(draw: random.Random, system: System, names: list[str]) -> Iterator[str]:
    before = said_of(system)
    for name in names:
        if name == "scaled":
            if system.sbf is Sbf.SERVERS and system.policy.budget in (Budget.POLLING, Budget.CBS):
                continue
            found, after = list(broken_scale(draw, system, before)), system
        else:
            relation = RELATIONS[name]
            other = relation.change(draw, system)
            if other is None or other == system:
                continue
            found, after = list(relation.compare(before, said_of(other))), other
        if found:
            yield f"{name}: {found[:3]} in\n{to_toml(system)}\n# changed:\n{to_toml(after)}"


def drawn_system(draw: random.Random, name: str) -> System | None:
    """A system of the row that has something to lose."""
    kind = draw.choice([one for one in kinds_of(name) if one != "vcpus"])
    drawn = draw_of_kind(draw, ROWS[name], kind)
    return None if drawn is None else drawn.system


@pytest.mark.parametrize("systems", [8, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("row", ROWS)
def test_what_asks_for_less_is_no_worse(row: str, systems: int) -> None:
    asked = list(RELATIONS)
    if ROWS[row].scope is Scope.PARTITIONED:
        asked.append("scaled")

    def trial(draw: random.Random) -> Trial:
        system = drawn_system(draw, row)
        if system is None:
            return Trial(accepted=False)
        found = "\n".join(broken_relations(draw, system, draw.sample(asked, 5)))
        return Trial(accepted=True, counterexample=found)

    hunt(f"sustainable {row}", systems, trial)


# -- what sensitivity and fit tell, put back in ----------------------------------------------------


def with_task(system: System, where: tuple[int, int], **values: Any) -> System:
    """The system with other numbers of one task; its shortest execution stays if it can."""
    domain, place = where
    domains = list(system.domains)
    tasks = list(domains[domain].tasks)
    task = tasks[place].replace(**values)
    if task.wcet_ns is not None and tasks[place].bcet_ns is not None:
        shortest_ns = min(tasks[place].bcet_ns or 1, task.wcet_ns)
        task = task.replace(etf=Fraction(shortest_ns, task.wcet_ns))
    tasks[place] = task
    domains[domain] = domains[domain].replace(tasks=tuple(tasks))
    return system.replace(domains=tuple(domains))


def edges(system: System) -> Iterator[tuple[str, str, System, System | None]]:
    """Domain, value, the system at it, and the one just beyond where the value is exact.

    Of domains that are schedulable. Priorities stay as they are, so that under dm deadlines are not
    tried. Beyond is one nanosecond, of a budget one quantum.
    """
    quantum_ns = system.quantum_ns or 1
    for index, entry in enumerate(analyze(system, sensitivity=True).domains):
        told, domain = entry.sensitivity, system.domains[index]
        if not told or not entry.schedulable:
            continue
        least_ns = told.least_budget_ns
        if least_ns is not None:
            beyond_ns = least_ns - quantum_ns
            beyond = with_budget(system, index, beyond_ns) if beyond_ns > 0 else None
            at = with_budget(system, index, least_ns)
            yield domain.name, "least budget", at, beyond if told.exact else None
        for place, task in enumerate(entry.tasks):
            own, where = task.sensitivity, (index, place)
            if not own:
                continue
            if own.largest_wcet_ns is not None:
                largest_ns = own.largest_wcet_ns
                at = with_task(system, where, wcet_ns=largest_ns)
                beyond = with_task(system, where, wcet_ns=largest_ns + 1) if own.exact else None
                yield domain.name, f"wcet of {task.name}", at, beyond
            if own.shortest_deadline_ns is not None and domain.scheduler is not Scheduler.DM:
                shortest_ns = own.shortest_deadline_ns
                at = with_task(system, where, deadline_ns=shortest_ns)
                sure = own.exact and shortest_ns > 1
                beyond = with_task(system, where, deadline_ns=shortest_ns - 1) if sure else None
                yield domain.name, f"deadline of {task.name}", at, beyond


def broken_edges(system: System) -> Iterator[str]:
    for name, value, at, beyond in edges(system):
        if not all(proved(at).values()):
            continue
        if not schedulable(at, name):
            yield f"{name}: {value} put back in is not yes\n{to_toml(at)}"
        if beyond is not None and schedulable(beyond, name):
            yield f"{name}: {value} is told as exact, but beyond it is yes\n{to_toml(beyond)}"


def schedulable(system: System, name: str) -> bool:
    return any(one.name == name and one.schedulable for one in analyze(system).domains)


@pytest.mark.parametrize("systems", [3, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("row", ROWS)
def test_sensitivities_are_the_edge(row: str, systems: int) -> None:
    def trial(draw: random.Random) -> Trial:
        drawn = draw_whole(draw, ROWS[row])
        if drawn is None or drawn.system.flows:
            return Trial(accepted=False)
        found = "\n".join(
            f"{one} of\n{to_toml(drawn.system)}" for one in broken_edges(drawn.system)
        )
        return Trial(accepted=True, counterexample=found)

    hunt(f"edges {row}", systems, trial, least_accepted=0)


def schedulable_system(draw: random.Random, name: str) -> System | None:
    """A system without flows in which all is well; None if thirty draws bring none."""
    for _ in range(30):
        drawn = draw_whole(draw, ROWS[name])
        if drawn is None or drawn.system.flows:
            continue
        if analyze(drawn.system).schedulable:
            return drawn.system
    return None


@pytest.mark.parametrize("systems", [2, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("row", ROWS)
def test_what_fit_finds_is_accepted(row: str, systems: int) -> None:
    """Budgets, pins and priorities of a good system are taken out; the answer is put back in."""

    def trial(draw: random.Random) -> Trial:
        given = schedulable_system(draw, row)
        if given is None:
            return Trial(accepted=False)
        opened = [
            one.replace(
                interface=None,
                interface_period_ns=one.interface.period_ns,
                pcpu=None,
                priority=None,
            )
            if one.interface is not None
            else one
            for one in given.domains
        ]
        system = given.replace(domains=tuple(opened), spare=None)
        try:
            fitted = fit(system, Options(solver=False, limit_s=FIT_LIMIT_S))
        except InputError:  # a spare of too long a period
            return Trial(accepted=False)
        if fitted.system is None or analyze(fitted.system).schedulable is True:
            return Trial(fitted.system is not None)
        return Trial(True, f"fitted, and not accepted:\n{to_toml(fitted.system)}")

    hunt(f"fit {row}", systems, trial, least_accepted=0)
