# SPDX-License-Identifier: BSD-2-Clause
"""What no host can run: refused before anything is computed or started."""

from __future__ import annotations

from hyperperiod.model import InputError, Scheduler, System, require_pins, vcpus_of


def refuse(system: System, horizon_ns: int, seed: int) -> None:
    """InputError for what no host can run, and what one of two levels, or no table, cannot."""
    refuse_table(system)
    for domain in system.domains:
        if domain.domains:
            raise InputError(
                system.name,
                None,
                f"domain {domain.name}",
                f"domains inside {domain.name!r}",
                "two levels: domains and their tasks",
            )
    if not 0 < horizon_ns < 2**62:
        raise InputError(system.name, None, "horizon", f"{horizon_ns} ns", "above 0, below 2^62 ns")
    if not 0 <= seed < 2**64:
        raise InputError(system.name, None, "seed", str(seed), "0 to 2^64 - 1")
    require_pins(system)


def refuse_table(system: System) -> None:
    """InputError for windows, which only the simulator and some exports have."""
    if system.major_frame_ns is not None:
        allowed = "servers: this host has no table"
        raise InputError("", None, "major_frame", "a table of windows", allowed)


def refuse_executors(system: System) -> None:
    """InputError for callbacks where our guests or threads run the tasks, which are no executor."""
    for domain in system.domains:
        if domain.scheduler is Scheduler.EXECUTOR:
            where = f"domain {domain.name}: scheduler"
            allowed = "rm, dm, fp, edf or fifo on this host"
            raise InputError(system.name, None, where, '"executor"', allowed)


def require_interfaces(system: System) -> None:
    """InputError for a domain that should have an interface and has none: hosts compute nothing."""
    for vcpu in vcpus_of(system):
        if vcpu.interface is None and not vcpu.best_effort:
            raise InputError(
                system.name,
                None,
                f"domain {vcpu.name if not vcpu.domain.is_plain else vcpu.domain.name}: interface",
                "nothing",
                "interface = { period, budget }, as `resolve` computes it",
            )
