# SPDX-License-Identifier: BSD-2-Clause
"""What every host does with a system before it runs it: refuse, complete, judge."""

from __future__ import annotations

from hyperperiod.model import InputError, Scheduler, System, require_pins, with_policy


def refuse(system: System, horizon_ns: int, seed: int) -> None:
    """InputError for what no host can run, and what one of two levels cannot."""
    for domain in system.domains:
        if domain.domains:
            raise InputError(
                system.name,
                None,
                f"domain {domain.name}",
                f"domains inside {domain.name!r}",
                "two levels: domains and their tasks",
            )
        if domain.scheduler is Scheduler.GEDF:
            raise InputError(
                system.name,
                None,
                f"domain {domain.name}: scheduler",
                '"gedf", which moves jobs between the vcpus of a domain',
                "rm, dm, fp, edf or fifo: gedf is for the analysis only",
            )
    if not 0 < horizon_ns < 2**62:
        raise InputError(system.name, None, "horizon", f"{horizon_ns} ns", "above 0, below 2^62 ns")
    if not 0 <= seed < 2**64:
        raise InputError(system.name, None, "seed", str(seed), "0 to 2^64 - 1")
    require_pins(system)


def complete(system: System) -> System:
    """The system with every interface, and a default spare also if only a swap needs one."""
    from hyperperiod.analysis import resolve

    completed = resolve(system)
    for swap in system.swaps:
        if completed.spare is None:
            spare = resolve(completed.replace(policy=swap.policy)).spare
            completed = completed.replace(spare=spare)
    return completed


def guaranteed(system: System) -> bool:
    """Whether the host-level test holds under every policy that the run will see.

    Interfaces that change on the way are not analysed: nothing is promised then.
    """
    from hyperperiod.analysis import analyze

    if system.changes:
        return False
    policies = [system.policy, *(swap.policy for swap in system.swaps)]
    results = [analyze(with_policy(system, policy)) for policy in policies]
    return all(pcpu["schedulable"] is True for result in results for pcpu in result["pcpus"])
