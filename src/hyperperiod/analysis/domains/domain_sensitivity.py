# SPDX-License-Identifier: BSD-2-Clause
"""How much a domain has to spare: in its tasks under its interface, and in the interface.

For its tasks see `component_sensitivity`, and for jobs that move between vcpus
`cluster_sensitivity`.
Of the interface: the least budget with which the tests still confirm every deadline at the same
period (`minimal_budget`), and so what could be given back; with a quantum in whole quanta. What
overheads may take of that budget (`overheads`) is kept. Everything holds under the condition under
which the domain does: that its server gets its budget. Where it does now, it does with the least
one, too; and what another budget changes beside itself is taken into account (`tried`). Overheads
are those of each budget: where only the account by windows confirms the domain, nothing is said.

Assumptions: those of `domain_level`. Inputs: a domain with an interface, what stands behind it,
the quantum of the system or None, other budgets tried in the system, if the domain is one of the
host. Result: the sensitivities of its tasks (or inner domains) by
name, the factor for all of them together, the least budget in nanoseconds (None where no budget up
to the period will do). Errors: none; None where no test covers the domain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hyperperiod.analysis.bisection import last_holding
from hyperperiod.analysis.domains.cluster_sensitivity import cluster_sensitivity
from hyperperiod.analysis.domains.component_sensitivity import (
    TaskSensitivity,
    component_sensitivity,
)
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    SupplyContract,
    cluster_of,
    components_of,
    judge_domain,
    supply_of,
)
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.analysis.domains.mpr import minimal_mpr_budget
from hyperperiod.analysis.result import DomainSensitivityResult, TaskSensitivityResult
from hyperperiod.model import Domain, Interface, Sbf

if TYPE_CHECKING:
    from hyperperiod.analysis.tried import Tried


@dataclass(frozen=True)
class DomainSensitivity:
    """`budget_ns` is the present one; `exact`: no value beyond was too hard to judge.

    Never where the supply has an explicit deadline, which is that of the present budget.
    """

    tasks: dict[str, TaskSensitivity]
    factor: Fraction | None
    budget_ns: int
    least_budget_ns: int | None
    exact: bool


def domain_sensitivity(
    domain: Domain,
    contract: SupplyContract,
    quantum_ns: int | None = None,
    tried: Tried | None = None,
) -> DomainSensitivity | None:
    """Returns the margins of a domain's tasks and budget; None where no test covers it."""
    cluster = cluster_of(domain)
    try:
        every = components_of(domain) if cluster is None else [cluster]
        components = [one for one in every if one.sources or one.starved]
        supply = supply_of(domain, contract, components)
    except NotCovered:
        return None
    if cluster is None and _needs_windows(domain, contract):
        return None
    found = [
        component_sensitivity(component, supply)
        if cluster is None
        else cluster_sensitivity(component, [supply] * domain.vcpus)
        for component in components
    ]
    parts = [part for part in found if part is not None]
    if not parts or len(parts) < len(found) or domain.interface is None:
        return None
    if cluster is None:
        minimal = minimal_budget(
            components, supply.shape, supply.period_ns, deadline_ns=supply.deadline_ns
        )
    else:
        minimal = minimal_mpr_budget(cluster.loads, supply.shape, supply.period_ns, domain.vcpus)
    given = _Given(domain.interface, quantum_ns or 1, contract, tried)
    budget_ns = None if minimal.budget_ns is None else given.min_ns(minimal.budget_ns)
    confirmed_ns = budget_ns if budget_ns is None else given.confirmed_ns(budget_ns)
    factors = [part.factor for part in parts]
    whole = [factor for factor in factors if factor is not None]
    # Another proof may confirm what this test, at its edge, does not.
    alone = contract.windows is None and contract.sbf is not Sbf.SERVERS
    return DomainSensitivity(
        {
            task.name: replace(task, exact=task.exact and alone)
            for part in parts
            for task in part.tasks
        },
        min(whole) if len(whole) == len(factors) else None,
        domain.interface.budget_ns,
        confirmed_ns,
        alone
        and minimal.exact
        and confirmed_ns == budget_ns
        # A server with a smaller budget is done earlier, so less of it may be enough.
        and supply.explicit_deadline_ns is None
        and all(part.exact for part in parts),
    )


def _needs_windows(domain: Domain, contract: SupplyContract) -> bool:
    """Whether the account of overheads by windows confirms what that by budgets does not."""
    if contract.windows is None or not judge_domain(domain, contract).whole.holds:
        return False
    return not judge_domain(domain, replace(contract, windows=None)).whole.holds


@dataclass(frozen=True)
class _Given:
    """A domain's interface, and the search for another budget in its place, in granules."""

    interface: Interface
    granule_ns: int
    contract: SupplyContract
    tried: Tried | None

    def min_ns(self, needed_ns: int) -> int | None:
        """The least budget that overheads leave so much of; None if none up to the period is.

        A larger one never loses more.
        """
        first = -(-(needed_ns + self.contract.lost_ns) // self.granule_ns)
        upper = self.interface.period_ns // self.granule_ns
        if first <= upper and self._lost_ns(first) == self.contract.lost_ns:
            return first * self.granule_ns

        def enough(granules: int) -> bool:
            return granules * self.granule_ns - self._lost_ns(granules) >= needed_ns

        if upper == 0 or not enough(upper):
            return None
        return self.granule_ns * last_holding(enough, upper, (needed_ns - 1) // self.granule_ns)

    def confirmed_ns(self, min_ns: int) -> int | None:
        """`min_ns` or, where tests do not confirm it, a budget between it and the present one."""
        if self.tried is None or self.tried.accepted(min_ns):
            return min_ns
        working, failing = self.interface.budget_ns // self.granule_ns, min_ns // self.granule_ns
        if working <= failing:
            return None

        def accepted(granules: int) -> bool:
            return self.tried is None or self.tried.accepted(granules * self.granule_ns)

        return self.granule_ns * last_holding(accepted, working, failing)

    def _lost_ns(self, granules: int) -> int:
        budget_ns = granules * self.granule_ns
        return self.contract.lost_ns if self.tried is None else self.tried.lost_ns(budget_ns)


def domain_result(found: DomainSensitivity) -> DomainSensitivityResult:
    """Returns the margins of a domain as `analyze` prints them."""
    min_ns = found.least_budget_ns
    return DomainSensitivityResult(
        wcet_factor=None if found.factor is None else float(found.factor),
        wcet_factor_exact=None if found.factor is None else str(found.factor),
        least_budget_ns=min_ns,
        spare_budget_ns=None if min_ns is None else found.budget_ns - min_ns,
        exact=found.exact,
    )


def task_result(found: TaskSensitivity, deadline_ns: int) -> TaskSensitivityResult:
    """Returns the margins of a task with that deadline as `analyze` prints them."""
    largest_ns = found.largest_wcet_ns
    return TaskSensitivityResult(
        shortest_deadline_ns=None if found.slack_ns is None else deadline_ns - found.slack_ns,
        slack_ns=found.slack_ns,
        largest_wcet_ns=largest_ns,
        extra_wcet_ns=None if largest_ns is None else largest_ns - found.wcet_ns,
        exact=found.exact,
    )
