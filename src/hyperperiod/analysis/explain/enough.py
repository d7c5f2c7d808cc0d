# SPDX-License-Identifier: BSD-2-Clause
"""What would be enough: the least budget that serves a task, and how much it may ask for.

Papers: those of the tests that are searched over; all are monotone in budgets and WCETs, so a
bisection finds the edge exactly (in whole granules for budgets, whole nanoseconds for WCETs).

Inputs: as each function says. Results: times in nanoseconds, or None where nothing is enough.
Errors: none; what a test is too slow to decide counts as not enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hyperperiod import _analysis
from hyperperiod._analysis import Local
from hyperperiod.analysis.bisection import last_holding, looks_for
from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.analysis.domains.prm_windows import judge_windows
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.window_loss import WindowLoss
from hyperperiod.model import Domain, Interface, Policy, System


def min_budget(
    components: Sequence[Component], supply: Supply, lost_ns: int, granule_ns: int
) -> int | None:
    """The least budget in the period of the supply for all components, overheads included."""
    found = minimal_budget(
        components, supply.shape, supply.period_ns, granule_ns, supply.explicit_deadline_ns
    ).budget_ns
    if found is None:
        return None
    budget_ns = found + -(-lost_ns // granule_ns) * granule_ns
    return budget_ns if budget_ns <= supply.period_ns else None


def only(component: Component, index: int) -> Component:
    """The component as far as it concerns one source: under fixed priority what is above it."""
    if component.local is Local.FIXED_PRIORITY:
        return replace(component, sources=component.sources[: index + 1])
    return component


def all_hold(component: Component, supply: Supply) -> bool:
    """Whether every source of the component is in time as it is."""
    places = range(len(component.sources))
    return all(_holds(component, index, supply, below=False) for index in places)


def max_wcet(component: Component, index: int, supply: Supply, *, below: bool) -> int | None:
    """The longest WCET with which the source is in time, all others as they are.

    With `below`, those of lower priority must stay in time too.
    """

    def holds(wcet: int) -> bool:
        return _holds(component.with_wcet(index, wcet), index, supply, below=below)

    return _largest(holds, component.sources[index].load.deadline)


def _holds(component: Component, index: int, supply: Supply, *, below: bool) -> bool:
    local, loads = component.local, component.loads
    rest = (supply.numbers, looks_for(len(loads)))
    if local in (Local.FIXED_PRIORITY, Local.EXECUTOR):
        if local is Local.EXECUTOR:
            places = range(len(loads)) if below else (index,)
            each = [component.with_last(at).loads for at in places]
        else:
            last = len(loads) if below else index + 1
            each = [loads[: at + 1] for at in range(index, last)]
        return all(
            _analysis.last_response(one, *rest)[0] is _analysis.Verdict.HOLDS for one in each
        )
    verdict, bound_ns = _analysis.judge(local, loads, *rest)
    if verdict is not _analysis.Verdict.HOLDS:
        return False
    return local is Local.EDF or bound_ns <= loads[index].deadline


def max_budget(policy: Policy, group: Group, at: int, granule_ns: int) -> int | None:
    """The largest budget that the server at that place surely gets, all others as they are."""
    own = group.servers[at]

    def holds(granules: int) -> bool:
        changed = own._replace(budget_ns=granules * granule_ns)
        servers = (*group.servers[:at], changed, *group.servers[at + 1 :])
        return host_level(policy, replace(group, servers=servers)).servers[at].holds is True

    granules = _largest(holds, own.period_ns // granule_ns)
    return None if granules is None else granules * granule_ns


@dataclass(frozen=True)
class OverheadAccounts:
    """Both accounts of overheads, of every budget and of windows: it is enough if one holds."""

    lost_ns: int
    loss: WindowLoss

    def hold(self, component: Component, supply: Supply) -> list[bool]:
        """Whether each source is in time on a supply of which overheads take this."""
        found = judge_windows(component, supply, self.loss)
        assert found is not None, "only what windows judge is asked about"
        holding = [verdict.holds is True for verdict in found[1]]
        if self.lost_ns < supply.budget_ns and not all(holding):
            left = replace(supply, budget_ns=supply.budget_ns - self.lost_ns)
            holding = [
                holds or _holds(component, index, left, below=False)
                for index, holds in enumerate(holding)
            ]
        return holding

    def min_budget(
        self, components: Sequence[Component], supply: Supply, granule_ns: int
    ) -> int | None:
        """Returns the least budget with which one of the accounts accepts all components."""

        def holds(granules: int) -> bool:
            changed = replace(supply, budget_ns=granules * granule_ns)
            return all(all(self.hold(component, changed)) for component in components)

        upper = supply.deadline_ns // granule_ns
        if upper == 0 or not holds(upper):
            return None
        return granule_ns * last_holding(holds, upper, 0)

    def max_wcet(
        self, component: Component, index: int, supply: Supply, *, below: bool
    ) -> int | None:
        """Returns the longest WCET with which one of the accounts accepts the source."""

        def holds(wcet: int) -> bool:
            found = self.hold(component.with_wcet(index, wcet), supply)
            return all(found[index:] if below else found[index : index + 1])

        return _largest(holds, component.sources[index].load.deadline)


def on_host(system: System, index: int, domain: Domain, budget_ns: int) -> str | None:
    """Returns whether the servers that share its pcpus hold beside a changed budget.

    "holds": all get theirs; "breaks": not any more; "broken": not as it is either. None where
    the domain is an inner one: its server is a load of the outer domain.
    """
    if system.domains[index] is not domain or domain.interface is None:
        return None
    if not _all_get_theirs(system, index):
        return "broken"
    interface = Interface(period_ns=domain.interface.period_ns, budget_ns=budget_ns)
    changed = domain.replace(interface=interface)
    domains = (*system.domains[:index], changed, *system.domains[index + 1 :])
    resolved = system.replace(domains=domains)
    return "holds" if _all_get_theirs(resolved, index) else "breaks"


def _all_get_theirs(system: System, index: int) -> bool:
    return all(
        host_level(system.policy, group).whole.holds is True
        for group in groups_of(system)
        if any(server.domain_index == index for server in group.servers)
    )


def _largest(holds: Callable[[int], bool], upper: int) -> int | None:
    """The largest number from 1 to `upper` that holds; None if 1 does not."""
    if upper < 1 or not holds(1):
        return None
    return last_holding(holds, 1, upper + 1)
