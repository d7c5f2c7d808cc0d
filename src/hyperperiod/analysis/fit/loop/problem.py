# SPDX-License-Identifier: BSD-2-Clause
"""What is open in a driver loop: periods, slices, pcpus.

A loop (`driver_flows`) is a driver domain and a real-time domain behind it for each flow. Each of
these vcpus gets a slice s and a period p on the grid. What the file gives stays: an interface, its
period or a range of periods, a pcpu, priorities.

Slices. No slice but the least that holds its work, s = ceil(e), and the next larger one need be
tried: take the same from both s and p. The gap p - s stays, so every bound that counts gaps stays,
and those that count p or s fall; the bandwidth falls; and in every window the vcpu takes no more
from others, since it works for shorter times between the same gaps (for a response time this says
that the first instant at which all is done comes no later). Only two conditions may break on the
way down. That a domain's wake begins a new period asks for one period if s > e and for two if s = e
(`period_over`): hence the next larger slice. And under PSEDF a period is at least the response time
R; but where a shorter p would fall below it, a period of R with the next larger slice is better in
all respects: every bound asks for D + R <= p_i, so that each wake begins a period then. Where the
file or `--periods` say which periods may be chosen this argument has no room: larger slices might
do then that are not tried, and nothing is called impossible or the best.

Priorities (PSEDF, unless the file has them): the driver first, then the domains by deadline, equal
ones in the order of the flows, all others with the same number behind them.

Other domains with a server keep the interface of the file, or what `analyze` computes for it.
Best-effort domains need no time. Times are integers in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd

from hyperperiod.analysis.driver_loop.driver_domain import PlacedPlant, SliceRule
from hyperperiod.analysis.driver_loop.driver_flows import Loop
from hyperperiod.analysis.fit.candidates import BudgetGrid
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Domain, Interface, Order, System, priorities_in
from hyperperiod.model.own_vcpu import served_by

FINEST_NS = 1_000
"""No grid that is chosen for the user is finer."""

COARSEST_NS = 1_000_000


@dataclass(frozen=True)
class PeriodChoices:
    """The periods that one vcpu may have: `first`, a step on, ... up to `last`."""

    first_ns: int
    last_ns: int
    step_ns: int

    @property
    def count(self) -> int:
        return max(0, (self.last_ns - self.first_ns) // self.step_ns + 1)

    def at(self, place: int) -> int:
        return self.first_ns + place * self.step_ns

    def up_to(self, max_ns: int) -> int | None:
        """Returns the longest of the periods that is no longer than this; None if there is none."""
        if max_ns < self.first_ns:
            return None
        return self.at((min(max_ns, self.last_ns) - self.first_ns) // self.step_ns)


@dataclass(frozen=True)
class VcpuSlot:
    """A vcpu of the loop: its domain in the file, what it may be given, and its priority."""

    index: int
    name: str
    periods: PeriodChoices
    slices: tuple[int, ...]
    priority: int

    def server(self, period_ns: int, slice_ns: int) -> Server:
        return Server(self.index, self.name, period_ns, slice_ns, self.priority, self.index)


@dataclass(frozen=True)
class LoopSetting:
    """A loop on its pcpus. `where` is the pcpu of every domain with a server, by its index."""

    system: System
    loop: Loop
    rule: SliceRule
    driver: VcpuSlot
    slots: tuple[VcpuSlot, ...]
    others: tuple[Server, ...]
    where: dict[int, int]
    whole: bool

    def placed(self, driver: Server, services: Sequence[Server]) -> PlacedPlant:
        """The loop with these slices, as the tests take it."""
        groups = self.groups([driver, *services])
        return PlacedPlant(
            self.loop.plant,
            driver,
            groups[self.where[driver.domain_index]],
            tuple((one, groups[self.where[one.domain_index]]) for one in services),
        )

    def groups(self, servers: Sequence[Server]) -> dict[int, Group]:
        """Returns the servers of each pcpu by its number: the loop's, as given, and all others."""
        found: dict[int, list[Server]] = {}
        for one in sorted([*servers, *self.others], key=lambda server: server.order):
            found.setdefault(self.where[one.domain_index], []).append(one)
        turns = self.system.quantum_ns is not None
        return {pcpu: Group(tuple(inside), turns=turns) for pcpu, inside in found.items()}

    def completed(self, driver: Server, services: Sequence[Server]) -> System:
        """Returns the system with the interfaces, pcpus and priorities that were chosen."""
        chosen = {one.domain_index: one for one in (driver, *services, *self.others)}
        by_priority = self.system.policy.order is not Order.EDF
        domains = list(self.system.domains)
        for index, one in chosen.items():
            update = served_by(Interface(period_ns=one.period_ns, budget_ns=one.budget_ns))
            update["pcpu"] = self.where[index]
            if by_priority:
                update["priority"] = one.priority
            domains[index] = domains[index].replace(**update)
        return self.system.replace(domains=tuple(domains))


def loop_grid(system: System, loop: Loop, asked: BudgetGrid | None) -> BudgetGrid:
    """The quantum, what was asked for, or the largest power of ten that divides all times.

    Of that, between 1 us and 1 ms.
    """
    if asked is not None:
        return asked
    if system.quantum_ns is not None:
        return BudgetGrid(system.quantum_ns)
    plant = loop.plant
    times = [plant.packet_ns]
    for one in plant.services:
        times += [one.period_ns, one.deadline_ns, one.wcet_ns]
    common_ns, step_ns = gcd(*times), FINEST_NS
    while step_ns < COARSEST_NS and common_ns % (10 * step_ns) == 0:
        step_ns *= 10
    return BudgetGrid(step_ns)


def slots_of(
    system: System, loop: Loop, grid: BudgetGrid
) -> tuple[VcpuSlot, tuple[VcpuSlot, ...], bool]:
    """The driver's slot, those of the services, and whether nothing restricts their periods."""
    numbers = priorities_of(system, loop)
    index = {domain.name: place for place, domain in enumerate(system.domains)}
    free = grid.low_ns is None and grid.high_ns is None
    plant = loop.plant
    max_ns = plant.shortest_ns + plant.slice_ns
    driver = _slot(loop.driver, index[loop.driver.name], plant.slice_ns, max_ns, grid, numbers)
    # The driver has nothing to gain from a larger slice (`period_over` is about the services).
    if loop.driver.interface is None:
        driver = replace(driver, slices=driver.slices[:1])
    slots = []
    for service, domain in zip(plant.services, loop.replies, strict=True):
        max_ns = max(service.period_ns, service.deadline_ns + service.wcet_ns)
        place = index[domain.name]
        slots.append(_slot(domain, place, service.wcet_ns, max_ns, grid, numbers))
    free = free and all(
        one.interface_period_ns is None and one.interface_period_range is None
        for one in (loop.driver, *loop.replies)
    )
    return driver, tuple(slots), free


def _slot(
    domain: Domain,
    index: int,
    work_ns: int,
    max_ns: int,
    grid: BudgetGrid,
    numbers: dict[str, int],
) -> VcpuSlot:
    number = numbers[domain.name]
    given, step_ns = domain.interface, grid.step_ns
    if given is not None:
        only = PeriodChoices(given.period_ns, given.period_ns, 1)
        return VcpuSlot(index, domain.name, only, (given.budget_ns,), number)
    min_ns = -(-work_ns // step_ns) * step_ns
    slices = (min_ns, min_ns + step_ns) if min_ns == work_ns else (min_ns,)
    within = domain.interface_period_range
    if domain.interface_period_ns is not None:
        periods = PeriodChoices(domain.interface_period_ns, domain.interface_period_ns, 1)
    elif within is not None:
        periods = PeriodChoices(within.min_ns, within.max_ns, within.step_ns or step_ns)
    else:
        low_ns = -(-max(min_ns, grid.low_ns or 0) // step_ns) * step_ns
        high_ns = min(max_ns + step_ns, grid.high_ns or max_ns + step_ns)
        periods = PeriodChoices(low_ns, high_ns, step_ns)
    return VcpuSlot(index, domain.name, _at_least(periods, min_ns), slices, number)


def _at_least(periods: PeriodChoices, min_ns: int) -> PeriodChoices:
    """Returns those of the periods that are at least as long as the slice."""
    if periods.first_ns >= min_ns:
        return periods
    missing = -(-(min_ns - periods.first_ns) // periods.step_ns)
    return replace(periods, first_ns=periods.at(missing))


def priorities_of(system: System, loop: Loop) -> dict[str, int]:
    """The file's, or deadline monotonic behind the driver."""
    served = [one for one in system.domains if not one.best_effort]
    if any(one.priority is not None for one in served):
        priority_of = priorities_in(system)
        return {one.name: priority_of(one.priority, 0) for one in served}
    deadlines = [(one.deadline_ns, n) for n, one in enumerate(loop.plant.services)]
    numbers = {loop.driver.name: 0}
    for rank, (_, number) in enumerate(sorted(deadlines), start=1):
        numbers[loop.replies[number].name] = rank
    return {one.name: numbers.get(one.name, len(numbers)) for one in served}


def placements(system: System, served: Sequence[Domain]) -> Iterator[dict[str, int]]:
    """Pcpus for the domains that have none, up to the numbering of pcpus that nobody is pinned to.

    The first keep the first free domain apart.
    """
    free = [one.name for one in served if one.pcpu is None]
    pinned = {one.name: one.pcpu for one in served if one.pcpu is not None}
    named = sorted(set(pinned.values()))
    pcpus = [*named, *(pcpu for pcpu in range(system.pcpus) if pcpu not in named)]
    for choice in _choices(len(free), len(named), len(pcpus)):
        yield pinned | {name: pcpus[place] for name, place in zip(free, choice, strict=True)}


def _choices(left: int, opened: int, pcpus: int) -> Iterator[tuple[int, ...]]:
    """Places for so many; those not opened so far are alike, so the next of them is enough."""
    if not left:
        yield ()
        return
    for place in reversed(range(min(opened + 1, pcpus))):
        for rest in _choices(left - 1, max(opened, place + 1), pcpus):
            yield (place, *rest)
