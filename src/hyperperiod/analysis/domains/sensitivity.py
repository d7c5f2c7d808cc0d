# SPDX-License-Identifier: BSD-2-Clause
"""How much a domain has to spare: in its tasks under its interface, and in the interface.

For its tasks see `tasks.sensitivity`, and `cluster_sensitivity` for jobs that move between vcpus.
Of the interface: the least budget with which the tests still confirm every deadline at the same
period (`minimal_budget`), and so what could be given back; with a quantum in whole quanta. What
overheads may take of a budget (`overheads`) is kept. Everything holds under the condition under
which the domain does: that its server gets its budget.

Assumptions: those of `domain_level`. Inputs: a domain with an interface, what stands behind it,
the quantum of the system or None. Result: the sensitivities of its tasks (or inner domains) by
name, the factor for all of them together, the least budget in nanoseconds (None where no budget up
to the period will do). Errors: none; None where no test covers the domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hyperperiod.analysis.domains.cluster_sensitivity import cluster_sensitivity
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    Promise,
    cluster_of,
    components_of,
    supply_of,
)
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.analysis.domains.mpr import minimal_mpr_budget
from hyperperiod.analysis.tasks.sensitivity import TaskSensitivity, sensitivity
from hyperperiod.model import Domain


@dataclass(frozen=True)
class DomainSensitivity:
    """`budget_ns` is the present one; `exact`: no value beyond was too hard to judge."""

    tasks: dict[str, TaskSensitivity]
    factor: Fraction | None
    budget_ns: int
    least_budget_ns: int | None
    exact: bool


def domain_sensitivity(
    domain: Domain, promise: Promise, quantum_ns: int | None = None
) -> DomainSensitivity | None:
    """How far the domain is from its edge; None where no test covers it."""
    cluster = cluster_of(domain)
    try:
        every = components_of(domain) if cluster is None else [cluster]
        components = [one for one in every if one.sources or one.starved]
        supply = supply_of(domain, promise, components)
    except NotCovered:
        return None
    found = [
        sensitivity(component, supply)
        if cluster is None
        else cluster_sensitivity(component, supply, domain.vcpus)
        for component in components
    ]
    parts = [part for part in found if part is not None]
    if not parts or len(parts) < len(found) or domain.interface is None:
        return None
    if cluster is None:
        least = minimal_budget(
            components, supply.shape, supply.period_ns, deadline_ns=supply.deadline_ns
        )
    else:
        least = minimal_mpr_budget(cluster.loads, supply.shape, supply.period_ns, domain.vcpus)
    budget_ns = least.budget_ns
    if budget_ns is not None:
        granule_ns = quantum_ns or 1
        budget_ns = -(-(budget_ns + promise.lost_ns) // granule_ns) * granule_ns
        budget_ns = budget_ns if budget_ns <= supply.period_ns else None
    factors = [part.factor for part in parts]
    whole = [factor for factor in factors if factor is not None]
    return DomainSensitivity(
        {task.name: task for part in parts for task in part.tasks},
        min(whole) if len(whole) == len(factors) else None,
        domain.interface.budget_ns,
        budget_ns,
        least.exact and all(part.exact for part in parts),
    )


def domain_entry(found: DomainSensitivity | None) -> dict[str, Any] | None:
    """What stands beside a domain in the result of `analyze`; None (null) if nothing is known."""
    if found is None:
        return None
    least_ns = found.least_budget_ns
    return {
        "wcet_factor": None if found.factor is None else float(found.factor),
        "wcet_factor_exact": None if found.factor is None else str(found.factor),
        "least_budget_ns": least_ns,
        "spare_budget_ns": None if least_ns is None else found.budget_ns - least_ns,
        "exact": found.exact,
    }


def task_entry(found: TaskSensitivity | None, deadline_ns: int | None) -> dict[str, Any] | None:
    """What stands beside a task in the result of `analyze`; None (null) if nothing is known."""
    if found is None or deadline_ns is None:
        return None
    largest_ns = found.largest_wcet_ns
    return {
        "shortest_deadline_ns": None if found.slack_ns is None else deadline_ns - found.slack_ns,
        "slack_ns": found.slack_ns,
        "largest_wcet_ns": largest_ns,
        "extra_wcet_ns": None if largest_ns is None else largest_ns - found.wcet_ns,
        "exact": found.exact,
    }
