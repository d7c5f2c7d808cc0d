# SPDX-License-Identifier: BSD-2-Clause
"""Every interface filled in: given ones stay, the others are computed.

A domain with `interface_period` gets the least budget for it (`minimal_budget`), one with
neither gets the result of Algorithm 1 (`algorithm_1`), in whole quanta, 1 ms where the system
sets none, or of a range of periods that the domain gives. Without a quantum the budget for a
given period is exact to the nanosecond, and so are those in a given range. Inner domains come
first, since their interfaces are the outer one's load. Then overheads are added to computed budgets
(`overheads`), servers with explicit deadlines give back what they do not need (`shrink_budgets`),
and the default spare server is computed (`ertds`): its period is the hyperperiod of all servers,
its budget the paper's formula held to one pcpu; on partitioned hosts, where each pcpu has a spare
of its own with these parameters, the least over the pcpus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    SupplyContract,
    cluster_of,
    components_of,
    contract_inside,
    contract_under,
    only_sufficient,
    shape_for,
)
from hyperperiod.analysis.domains.minimal_budget import MinimalBudget, minimal_budget
from hyperperiod.analysis.overheads import budget_loss_ns, overhead_loads
from hyperperiod.analysis.servers.groups import domains_by_group, groups_of
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.analysis.weights import has_slice_by_weight, slices_by_weight
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    Sbf,
    Slack,
    System,
    format_time,
    joined,
    require_pins,
    require_system,
    split,
)
from hyperperiod.model.frozen import FrozenFields
from hyperperiod.model.own_vcpu import served_by

if TYPE_CHECKING:
    from hyperperiod.analysis.domains.algorithm_1 import Grid, Optimum

# CSA's quantum, which it found to be a good one: the grid of Algorithm 1 where none is set.
DEFAULT_QUANTUM_NS = 1_000_000
TIME_LIMIT_NS = 2**62


MOVES = (
    "jobs move between its vcpus: no budgets in the given periods were found, or no period is given"
)


class Infeasible(Exception):  # noqa: N818 - it is a finding, not a mistake
    """No interface serves the tasks; the message says why."""


@dataclass
class Resolution:
    """The system with what could be computed, how, and why the rest could not.

    In `system` each vcpu is a domain of its own where they may differ; `given` is what was asked
    about (`hyperperiod.model.split`).
    """

    given: System
    system: System
    optima: dict[str, Optimum] = field(default_factory=dict)
    budgets: dict[str, MinimalBudget] = field(default_factory=dict)
    failures: dict[str, Verdict] = field(default_factory=dict)

    def computed(self, domain: Domain) -> bool:
        """Whether the interface of this domain is ours, not given."""
        return domain.name in self.optima or domain.name in self.budgets

    def known(self) -> System:
        """Returns the system that was given, with the interfaces that there are."""
        return joined(self.given, self.system)

    def whole(self) -> System:
        """Returns the system that was given, with every interface; InputError if one is unknown."""
        for name, verdict in self.failures.items():
            raise InputError(
                "",
                None,
                f"domain {name}: interface",
                f"nothing, and none can be computed: {verdict.reason}",
                "interface = { period, budget }, or tasks that some interface can serve",
            )
        return self.known()


def resolve(system: System) -> System:
    """The same system with every interface and the default spare; InputError if one has none."""
    return resolve_what_can_be(system).whole()


def resolve_what_can_be(system: System) -> Resolution:
    """The system as `resolve` gives it, but domains without a possible interface stay open."""
    require_system(system)
    require_pins(system)
    given, system = system, split(with_guests(system))
    resolution = Resolution(given, system)
    filler = _Filler(resolution, lambda _: 0)
    domains = tuple(
        filler.fill(domain, contract_under(system.policy, domain, system.sbf))
        for domain in system.domains
    )
    resolution.system = system.replace(domains=domains)
    _add_overheads(resolution)
    _add_weights(resolution)
    if system.sbf is Sbf.EDP:
        from hyperperiod.analysis.shrink_budgets import shrink_budgets

        resolution.system = shrink_budgets(resolution.system, resolution.computed)
    resolution.system = _with_spare(resolution.system)
    return resolution


def with_guests(system: System) -> System:
    """The system with the budgets of vcpus that may differ and between which jobs move."""
    moving = [one for one in system.domains if one.is_split and one.moves_jobs]
    if not moving:
        return system
    from hyperperiod.analysis.guests import with_budgets

    granule_ns = system.quantum_ns or 1
    found = {one.name: with_budgets(one, system.policy, granule_ns) or one for one in moving}
    return system.replace(domains=tuple(found.get(one.name, one) for one in system.domains))


class _Filler(FrozenFields):
    """Fills interfaces in from the inside; each computed budget grows by what overheads take."""

    resolution: Resolution
    loss_ns: Callable[[int], int]  # of a budget, by its period

    def fill(self, domain: Domain, contract: SupplyContract) -> Domain:
        inner = tuple(self.fill(child, contract_inside(contract.sbf)) for child in domain.domains)
        if inner:
            domain = domain.replace(domains=inner)
        if domain.best_effort or domain.interface is not None:
            return domain
        if has_slice_by_weight(self.resolution.system, domain):
            return domain
        if not domain.tasks and not domain.domains:  # a vcpu between which and others jobs move
            self.resolution.failures[domain.name] = Verdict.unknown(MOVES)
            return domain
        open_inside = [child.name for child in inner if child.interface is None]
        try:
            if open_inside:
                raise NotCovered(f"its inner domain {open_inside[0]} has no interface")
            interface = self._compute(domain, contract)
        except NotCovered as error:
            self.resolution.failures[domain.name] = Verdict.unknown(str(error))
            return domain
        except Infeasible as error:
            reason = f"no interface: {error}"
            of_ours = any(self.resolution.computed(child) for child in inner)
            self.resolution.failures[domain.name] = (
                Verdict.unknown(f"{reason}, by the inner interfaces that were computed")
                if of_ours
                else Verdict.no(reason)
            )
            return domain
        return domain.replace(**served_by(interface))

    def _compute(self, domain: Domain, contract: SupplyContract) -> Interface:
        cluster = cluster_of(domain)
        if cluster is not None:
            return self._of_cluster(domain, contract, cluster)
        system = self.resolution.system
        components = [component for component in components_of(domain) if component.sources]
        if not components:
            raise NotCovered("busy tasks give no demand to compute it from")
        period_ns, quantum_ns = domain.interface_period_ns, system.quantum_ns
        shape = shape_for(contract, period_ns, components)
        if period_ns is None:
            from hyperperiod.analysis.domains.algorithm_1 import optimal_interface

            optimum = optimal_interface(components, shape, grid_of(domain, quantum_ns))
            self.resolution.optima[domain.name] = optimum
            budget_ns, period_ns, exact = optimum.budget_ns, optimum.period_ns, optimum.exact
        else:
            found = minimal_budget(components, shape, period_ns, quantum_ns or 1)
            self.resolution.budgets[domain.name] = found
            budget_ns, exact = found.budget_ns, found.exact
        if budget_ns is None:
            whole_grid = domain.interface_period_ns is not None or shape is Shape.GENERAL
            sure = exact and whole_grid and are_exact(components, contract)
            _give_up(components, domain.interface_period_ns, sure=sure)
        return self._with_overhead(period_ns, budget_ns)

    def _of_cluster(
        self, domain: Domain, contract: SupplyContract, cluster: Component
    ) -> Interface:
        """The least budget of each vcpu for a given period, under gedf."""
        system, period_ns = self.resolution.system, domain.interface_period_ns
        if not cluster.sources:
            raise NotCovered("busy tasks give no demand to compute it from")
        if period_ns is None:
            raise NotCovered("gedf on several vcpus: a budget is computed for a given period only")
        shape = shape_for(contract, period_ns, [cluster], moving=True)
        for source in cluster.sources:
            if source.load.wcet > source.load.deadline:
                raise Infeasible(source.too_long)
        if cluster.utilization > domain.vcpus:
            utilization = float(cluster.utilization)
            raise Infeasible(f"the tasks ask for {utilization:.6g} of {domain.vcpus} pcpus")
        from hyperperiod.analysis.domains.mpr import minimal_mpr_budget

        found = minimal_mpr_budget(
            cluster.loads, shape, period_ns, domain.vcpus, system.quantum_ns or 1
        )
        self.resolution.budgets[domain.name] = found
        if found.budget_ns is None:
            raise NotCovered("no interface was found that surely meets every deadline")
        return self._with_overhead(period_ns, found.budget_ns)

    def _with_overhead(self, period_ns: int, budget_ns: int) -> Interface:
        lost_ns, granule_ns = self.loss_ns(period_ns), self.resolution.system.quantum_ns or 1
        budget_ns += -(-lost_ns // granule_ns) * granule_ns
        if budget_ns > period_ns:
            raise NotCovered("overheads leave too little of each period")
        return Interface(period_ns=period_ns, budget_ns=budget_ns)


def grid_of(domain: Domain, quantum_ns: int | None) -> Grid:
    """The grid on which Algorithm 1 looks: whole quanta, or the periods that the domain allows."""
    from hyperperiod.analysis.domains.algorithm_1 import Grid

    step_ns = quantum_ns or DEFAULT_QUANTUM_NS
    given = domain.interface_period_range
    if given is None:
        return Grid.of_quanta(step_ns)
    return Grid(quantum_ns or 1, given.min_ns, given.step_ns or step_ns, given.max_ns)


def are_exact(components: Sequence[Component], contract: SupplyContract) -> bool:
    """Whether no less than the least budget serves these, and not only the test asks for it."""
    tests = all(
        part.exact and part.local in (Local.FIXED_PRIORITY, Local.EDF) for part in components
    )
    return tests and not only_sufficient(contract)


def _give_up(components: Sequence[Component], period_ns: int | None, *, sure: bool) -> NoReturn:
    """Says why there is no interface: as a fact, or as all that the tests can tell.

    Without a given period, the general supply of a whole pcpu is among what was tried; the other
    shapes may need periods that are no whole quanta.
    """
    for source in (source for component in components for source in component.sources):
        if source.too_long:
            raise Infeasible(source.too_long)
    busiest = max(components, key=lambda component: component.utilization)
    if busiest.utilization > 1:
        raise Infeasible(f"the tasks ask for {float(busiest.utilization):.6g} of a pcpu")
    if period_ns is None:
        reason = "even a whole pcpu does not meet every deadline"
    else:
        reason = f"no budget in {format_time(period_ns)} meets every deadline"
    if sure:
        raise Infeasible(reason)
    raise NotCovered("no interface was found that surely meets every deadline")


def _add_overheads(resolution: Resolution) -> None:
    """Computes budgets a second time: overheads depend on periods, which are known by now."""
    system = resolution.system
    domains = list(system.domains)
    for members in domains_by_group(system):
        before = [domains[index] for index in members]
        if not overhead_loads(system, before):
            continue
        for index, own in zip(members, before, strict=True):
            loss = partial(budget_loss_ns, system, before, own)
            reopened = _reopened(resolution, own)
            contract = contract_under(system.policy, reopened, system.sbf)
            domains[index] = _Filler(resolution, loss).fill(reopened, contract)
        resolution.system = system.replace(domains=tuple(domains))


def _add_weights(resolution: Resolution) -> None:
    """Slices by weight, of what all others leave of their pcpu."""
    system = resolution.system
    domains = list(system.domains)
    for members in domains_by_group(system):
        found = slices_by_weight(system, [domains[index] for index in members])
        for index in members:
            domain = domains[index]
            interface = found.get(domain.name)
            if interface is not None:
                domains[index] = domain.replace(**served_by(interface))
            elif domain.name in found:
                reason = "the others leave nothing of 95 ms in 100 ms for a slice by weight"
                resolution.failures[domain.name] = Verdict.no(reason)
    resolution.system = system.replace(domains=tuple(domains))


def _reopened(resolution: Resolution, domain: Domain) -> Domain:
    """The domain with every computed budget taken out again and its period kept."""
    inner = tuple(_reopened(resolution, child) for child in domain.domains)
    update: dict[str, object] = {"domains": inner}
    if resolution.computed(domain) and domain.interface is not None:
        update |= {"interface": None, "interface_period_ns": domain.interface.period_ns}
    return domain.replace(**update)


def _with_spare(system: System) -> System:
    if system.policy.slack is not Slack.SPARE or system.spare is not None:
        return system
    groups = [group for group in groups_of(system) if group.servers]
    if not groups:
        return system
    from hyperperiod.analysis.servers.ertds import default_spare_ns, hyperperiod_ns

    period_ns = hyperperiod_ns(groups)
    if period_ns >= TIME_LIMIT_NS:
        raise InputError(
            "",
            None,
            "spare",
            "nothing, and the hyperperiod of the servers is above 2^62 ns",
            "spare = { period, budget }",
        )
    budget_ns = min(default_spare_ns(group, period_ns) for group in groups)
    if system.quantum_ns is not None:
        budget_ns -= budget_ns % system.quantum_ns
    if budget_ns == 0:
        return system
    spare = Interface(period_ns=period_ns, budget_ns=budget_ns)
    return system.replace(spare=spare)
