# SPDX-License-Identifier: BSD-2-Clause
"""What guests whose jobs move between vcpus would need with their tasks bound to vcpus instead.

The tests of jobs that move count for each vcpu what a job in progress may keep from it, so a guest
under gdm may need several times the budgets that it needs under dm with each task on one vcpu; or
fewer, where no task fits beside another. Which of the two is cheaper has to be tried: the system is
fitted once more, with the local scheduler of the same order in place of the global one, and all
else as it is. What is told is proved: `analyze` has the last word on that system, too.

Asked about are guests of several vcpus none of which has an interface in the file. Inputs: a
system, and what its guests have as they are. Results: a row for each guest that is cheaper bound.
Errors: none; where nothing is found there is no row.
"""

from __future__ import annotations

from fractions import Fraction

from hyperperiod.analysis.result import BoundGuest
from hyperperiod.model import Domain, System
from hyperperiod.model.vcpus import bandwidth_of


def with_tasks_to_bind(system: System) -> System | None:
    """The system with local schedulers for its open guests; None if it has no such guest."""
    domains = tuple(
        one.replace(scheduler=one.scheduler.local) if is_open(one) else one
        for one in system.domains
    )
    return system.replace(domains=domains) if domains != system.domains else None


def is_open(domain: Domain) -> bool:
    """Whether a guest whose jobs move is to get its interfaces."""
    moving = domain.vcpus > 1 and domain.scheduler.is_global and domain.is_served
    return moving and all(keys.interface is None for keys in domain.each_vcpu)


def bound_guests(moving: System, bound: System | None) -> tuple[BoundGuest, ...]:
    """The guests that need less in `bound`, if they have all their interfaces there."""
    pairs = zip(moving.domains, bound.domains, strict=True) if bound is not None else ()
    return tuple(
        BoundGuest(
            domain=one.name,
            scheduler=str(other.scheduler),
            bandwidth=float(bandwidth_of(other)),
            moving=float(width) if width else None,
            vcpus={task.name: task.vcpu or 0 for task in other.tasks},
        )
        for one, other in pairs
        if one.scheduler is not other.scheduler
        and ((width := _width(one)) is None or bandwidth_of(other) < width)
    )


def _width(domain: Domain) -> Fraction | None:
    """The bandwidth of all vcpus of a domain; None while one of them has no interface."""
    open_ = any(keys.interface is None and not keys.best_effort for keys in domain.each_vcpu)
    return None if open_ else bandwidth_of(domain)
