# SPDX-License-Identifier: BSD-2-Clause
"""A system on the machine that this is: its servers as requests to hyperperiodd.

A server is called as its domain, or domain.0, domain.1, ... where the domain has several vcpus. The
tasks are not started: whose threads a server serves is said by the members that are attached to it
(`members`). The daemon itself is given a best-effort server: it is not behind all threads that have
none, costs no budget, and waits for nothing but what was promised to others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

from hyperperiod.hosts.linux.client import Client
from hyperperiod.hosts.priorities import Priorities
from hyperperiod.model import InputError, Policy, Scheduler, Scope, System, Vcpu, vcpus_of

DAEMON: Final = "hyperperiodd"
"""The server of the daemon."""

INSIDE: Final = {
    Scheduler.RM: "fp",
    Scheduler.DM: "fp",
    Scheduler.FP: "fp",
    Scheduler.EDF: "edf",
    Scheduler.FIFO: "fifo",
    Scheduler.EXECUTOR: "fifo",
    Scheduler.FAIR: "turns",
}
"""What the daemon calls the schedulers of domains; the global ones are the same inside a server.
An executor is one thread, of which any order will do."""


def start(
    daemon: Client, system: System, cpus: Sequence[int], members: Sequence[str], *, force: bool
) -> list[str]:
    """Puts a system, whose interfaces are known, in force on these cpus; the daemon's warnings.

    `members` are requests that attach threads. If anything is refused, nothing is in force.
    """
    asked = all_requests(system, cpus, members, force=force)
    if daemon.status()["running"]:
        found = "a system in force"
        raise InputError("", None, "start", found, "after `hyperperiod linux stop`")
    warnings: list[str] = []
    daemon.ask("clear")
    try:
        for request in asked:
            warnings += _asked(daemon, request)
    except BaseException:
        daemon.ask("clear")
        raise
    return [warning for warning in warnings if f"server {DAEMON} " not in warning]


def all_requests(
    system: System, cpus: Sequence[int], members: Sequence[str], *, force: bool
) -> list[str]:
    """All that puts a system in force, in order; a daemon's file of requests may have it.

    InputError for what only `run` does, and for another number of cpus than the system's.
    """
    _refuse(system, cpus)
    insists = " force=1" if force else ""
    servers = [
        f"{request}{insists}" if request.startswith("server ") else request
        for request in (*requests(system, cpus), *_own(system, cpus))
    ]
    return [*servers, *members, f"start{insists}"]


def _asked(daemon: Client, request: str) -> list[str]:
    warnings: list[str] = daemon.ask(request).get("warnings", [])
    return warnings


def _refuse(system: System, cpus: Sequence[int]) -> None:
    """InputError for what only `run` does, and for another number of cpus than the system's."""
    for key, events in (("swap", system.swaps), ("change", system.changes)):
        if events:
            allowed = f"none: `hyperperiod linux {'swap' if key == 'swap' else 'set'}` does it"
            raise InputError(system.name, None, key, str(len(events)), allowed)
    if len(set(cpus)) != system.pcpus:
        found = ",".join(map(str, cpus))
        raise InputError("", None, "--cpus", found, f"{system.pcpus} cpus, as the system has pcpus")


def require_bound_tasks(system: System) -> None:
    """InputError for tasks that move between vcpus: a thread belongs to one server."""
    for domain in system.domains:
        where = f"domain {domain.name}: "
        if domain.scheduler not in INSIDE:
            allowed = f"{', '.join(INSIDE)}, where tasks stay on their vcpu, on Linux"
            found = f'"{domain.scheduler}"'
            raise InputError(system.name, None, f"{where}scheduler", found, allowed)
        for task in domain.tasks if domain.vcpus > 1 else ():
            if task.vcpu is None:
                key = f"{where}task {task.name}: vcpu"
                raise InputError(system.name, None, key, "nothing", "the vcpu of the task on Linux")


def requests(
    system: System, cpus: Sequence[int], name_of: Callable[[Vcpu], str] = attrgetter("name")
) -> Iterator[str]:
    """The policy and the servers of a system whose interfaces are known, called by `name_of`."""
    yield _policy(system, cpus)
    priorities = Priorities(system)
    for vcpu in vcpus_of(system):
        yield " ".join(["server", name_of(vcpu), *_server(system, vcpu, priorities, cpus)])


def policy_words(policy: Policy) -> str:
    """A policy as the daemon takes it."""
    return policy.name or f"{policy.budget}+{policy.order}+{policy.slack}"


def _policy(system: System, cpus: Sequence[int]) -> str:
    policy = system.policy
    parts = ["policy", f"name={policy_words(policy)}", f"pcpus={','.join(map(str, cpus))}"]
    parts.append(f"global={int(policy.scope is Scope.GLOBAL)}")
    if system.quantum_ns is not None:
        parts.append(f"quantum_ns={system.quantum_ns}")
    if system.spare is not None:
        parts.append(f"spare_period_ns={system.spare.period_ns}")
        parts.append(f"spare_budget_ns={system.spare.budget_ns}")
    return " ".join(parts)


def _home(system: System, pcpu: int | None, cpus: Sequence[int]) -> str:
    if system.policy.scope is Scope.GLOBAL:
        return "pcpu=global"
    return f"pcpu={sorted(cpus)[pcpu or 0]}"


def _server(
    system: System, vcpu: Vcpu, priorities: Priorities, cpus: Sequence[int]
) -> Iterator[str]:
    yield _home(system, vcpu.pcpu, cpus)
    yield f"inside={INSIDE[vcpu.domain.scheduler.local]}"
    if vcpu.best_effort:
        yield "best_effort=1"
        if vcpu.weight is not None:
            yield f"weight={vcpu.weight}"
        return
    assert vcpu.interface is not None, "interfaces must be known"
    yield f"period_ns={vcpu.interface.period_ns}"
    yield f"budget_ns={vcpu.interface.budget_ns}"
    yield f"priority={priorities.of(vcpu)}"
    if vcpu.extra:
        yield "extra=1"


def _own(system: System, cpus: Sequence[int]) -> Iterator[str]:
    """The daemon's own server."""
    yield f"server {DAEMON} {_home(system, 0, cpus)} best_effort=1"
    yield f"attach {DAEMON} pid=self"


def totals(status: dict[str, Any]) -> dict[str, Any]:
    """A status as people and programs read it: without how the daemon answers."""
    return {key: value for key, value in status.items() if key not in ("ok", "warnings")}
