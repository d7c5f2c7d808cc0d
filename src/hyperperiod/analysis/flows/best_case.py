# SPDX-License-Identifier: BSD-2-Clause
"""How soon an item can be through several hops at the earliest: no server gives more than budgets.

Papers: Redell and Sanfridson, "Exact best-case response time analysis of fixed priority scheduled
tasks", ECRTS 2002, for why the best case matters: jitter is the longest way less the shortest;
Wandeler and Thiele, EMSOFT 2005, for the upper supply bound of a server.

A vcpu that runs on its own budget alone runs no longer than B in each of its periods P, which are
multiples of P. Work C in a row takes no less than C; and if it is more than two budgets, then one
at the end of a period, one at the beginning of another, and ceil(C / B) - 2 whole periods between
them, in each of which P - B pass without any:

    C + max(0, ceil(C / B) - 2) (P - B)

Where a way leads through several vcpus, each row of hops on one of them takes at least as much.

Assumptions: rules under which nobody runs at another's expense or on extra time (the table below);
refills at multiples of the period, so neither changes nor swaps; tasks that stay on one vcpu; no
overheads, since a host that picks late lets a budget be overdrawn. Everywhere else an item takes at
least its work.

Inputs: a system, or the work of each row. Results in nanoseconds. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterable

from hyperperiod.model import Budget, Domain, Interface, Slack, System

_OWN_BUDGET_ONLY = (Budget.PERIODIC, Budget.DEFERRABLE, Budget.POLLING)


def limit_of(system: System, domain: Domain) -> Interface | None:
    """Returns the interface beyond which no vcpu of the domain runs; None if there is no limit."""
    policy = system.policy
    stays = domain.vcpus == 1 or all(task.vcpu is not None for task in domain.tasks)
    limited = (
        stays
        and policy.budget in _OWN_BUDGET_ONLY
        and policy.slack is Slack.NONE
        and not system.changes
        and not system.swaps
        and not any(vars(system.overheads).values())
    )
    return domain.interface if limited else None


def shortest_ns(rows: Iterable[tuple[int, Interface | None]]) -> int:
    """Returns the least time for rows of work (ns), one after the other, each within a limit."""
    return sum(_shortest_row_ns(work_ns, limit) for work_ns, limit in rows)


def _shortest_row_ns(work_ns: int, limit: Interface | None) -> int:
    if limit is None:
        return work_ns
    whole_periods = max(0, -(-work_ns // limit.budget_ns) - 2)
    return work_ns + whole_periods * (limit.period_ns - limit.budget_ns)
