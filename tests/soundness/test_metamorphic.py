# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis says of a system against what it says of one that is a little different.

The systems are those of `whole_worlds`, without flows. What is told as the least budget of a
domain is put back in, and must be accepted. What is proved of a server depends on those above it
only: it stays proved with a domain less, and under fixed priority whatever budget those below it
get, even too much for the pcpus.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.support.campaign import Trial, hunt, sizes
from tests.support.verdicts import proved, with_budget
from tests.support.whole_worlds import World

from hyperperiod.analysis import analyze
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.model import InputError, Order, Overheads, Policy, System, to_toml
from hyperperiod.model.policy import legal_policies

COUNTING = [p for p in legal_policies() if str(p).endswith("+extra+global")]
"""Budgets used up are events there, and each of them costs all pcpus."""


def system_of(
    draw: random.Random, policies: list[Policy], overheads: Overheads | None = None
) -> System | None:
    """A system with all its interfaces; None where the draw has none."""
    world = World(draw, policies)
    world.flows = False
    if overheads is not None:
        world.tick, world.quantum_ns, world.overheads = 1000, None, overheads
    try:
        system = resolve_what_can_be(world.system()).system
    except InputError:  # a spare of too long a period
        return None
    given = all(domain.best_effort or domain.interface for domain in system.domains)
    return system if given else None


def refused(system: System) -> Iterator[str]:
    """Least budgets that are not accepted although the servers get them."""
    said = analyze(system, sensitivity=True)
    for index, entry in enumerate(said.domains):
        told = entry.sensitivity
        if not told or told.least_budget_ns is None:
            continue
        changed = with_budget(system, index, told.least_budget_ns)
        name = entry.name
        kept = all(holds for server, holds in proved(changed).items() if of(server, name))
        again = analyze(changed).domains[index].schedulable
        if again is not True and (kept or entry.schedulable):
            yield f"{name}: {told} put back in is {again}"


def of(server: str, domain: str) -> bool:
    return server == domain or server.startswith(f"{domain}.")


def put_back(draw: random.Random) -> Trial:
    if draw.random() < 0.5:
        system = system_of(draw, COUNTING, Overheads(pick_ns=draw.randint(1, 20)))
    else:
        system = system_of(draw, legal_policies())
    if system is None:
        return Trial(accepted=False)
    found = "; ".join(refused(system))
    return Trial(accepted=True, counterexample=f"{found}\n{to_toml(system)}" if found else "")


def lost(before: System, after: System) -> list[str]:
    """Servers of both that are proved in the first only."""
    now = proved(after)
    return [server for server, holds in proved(before).items() if holds and not now.get(server, 1)]


def one_less(draw: random.Random) -> Trial:
    system = system_of(draw, legal_policies())
    if system is None or len(system.domains) < 2:
        return Trial(accepted=False)
    gone = draw.randrange(len(system.domains))
    domains = (*system.domains[:gone], *system.domains[gone + 1 :])
    found = lost(system, system.replace(domains=domains))
    text = f"{found} lost without {system.domains[gone].name}\n{to_toml(system)}"
    return Trial(accepted=any(proved(system).values()), counterexample=text if found else "")


def more_below(draw: random.Random) -> Trial:
    """The whole period for a server: nobody above it may lose anything."""
    above_all = [p for p in legal_policies() if p.order in (Order.FP, Order.FP_EDF)]
    system = system_of(draw, above_all)
    if system is None:
        return Trial(accepted=False)
    index = draw.randrange(len(system.domains))
    interface = system.domains[index].interface
    if interface is None:
        return Trial(accepted=False)
    group = next(g for g in groups_of(system) if any(s.domain_index == index for s in g.servers))
    own = next(server for server in group.servers if server.domain_index == index)
    above = {server.name for server in group.servers if server.priority < own.priority}
    grown = with_budget(system, index, interface.period_ns)
    found = above.intersection(lost(system, grown))
    text = f"{found} lost where {own.name} gets all\n{to_toml(system)}"
    kept = above.intersection(name for name, holds in proved(system).items() if holds)
    return Trial(accepted=bool(kept), counterexample=text if found else "")


@sizes(50)
def test_the_least_budget_put_back_in_is_accepted(systems: int) -> None:
    hunt("least-budget", systems, put_back, least_accepted=0.3)


@sizes(100)
def test_a_domain_less_keeps_what_is_proved(systems: int) -> None:
    hunt("one-less", systems, one_less)


@sizes(100)
def test_more_budget_below_keeps_what_is_proved(systems: int) -> None:
    hunt("more-below", systems, more_below)
