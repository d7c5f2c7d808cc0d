# SPDX-License-Identifier: BSD-2-Clause
"""A system as input of the CARTS tool.

`system > component > task`, one unit is 1 ms. Each pcpu of a partitioned system is a file of its
own, because a CARTS system is one scheduler on one pcpu. CARTS computes budgets, so only periods
are written: those given, the range that leaves a choice, or the period that the analysis finds.

What CARTS cannot say is refused: policies other than periodic servers, fifo, executors, priorities
that are not deadline monotonic (CARTS reads RM as DM), endless tasks, blocking. What it does not
know and what changes no interface is left out and told in a comment: slack rules, execution-time
factors, overheads, stolen time, best-effort domains, how sporadic tasks differ from periodic ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree as ET

from hyperperiod.analysis import resolve
from hyperperiod.model import (
    PRESETS,
    Budget,
    Domain,
    InputError,
    Order,
    Scheduler,
    Scope,
    Slack,
    System,
    Task,
    TaskKind,
    vcpus_of,
)
from hyperperiod.model.domain import nested_domains
from hyperperiod.model.units import NS_PER_UNIT

UNIT_NS = NS_PER_UNIT["ms"]


def export_carts(system: System) -> dict[str, str | bytes | Path]:
    """The files of the export, by name; InputError for what cannot be said."""
    refuse(system)
    resolved = {one.name: one for _, one in nested_domains(resolve(system).domains)}
    return {
        name: _text(system, _root(system, domains, resolved), domains)
        for name, domains in groups(system)
    }


def refuse(system: System) -> None:
    """InputError for a system that is no CARTS system."""
    if all(domain.best_effort for domain in system.domains):
        found = "best-effort domains only"
        raise InputError("", None, "domain", found, "one with an interface: CARTS knows no other")
    if system.major_frame_ns is not None:
        _stop("major_frame", "a table of windows", "servers: CARTS has no table")
    if system.policy.budget is not Budget.PERIODIC:
        named = [name for name, one in PRESETS.items() if one.budget is Budget.PERIODIC]
        allowed = f"periodic servers: {', '.join(named)}, or rules that begin with periodic+"
        _stop("policy", str(system.policy), allowed)
    if system.flows:
        _stop("flow", f"{len(system.flows)} flows", "no flows in CARTS")
    for index, domain in enumerate(system.domains):
        if domain.best_effort:
            continue
        _refuse_domain(f"domain[{index}]", domain)
    served = [vcpu for vcpu in vcpus_of(system) if not vcpu.best_effort]
    if system.policy.order is Order.FP and any(v.domain.priority is not None for v in served):
        periods = [(vcpu.priority, _period_of(vcpu.domain)) for vcpu in served]
        known = [pair for pair in periods if pair[1] is not None]
        _refuse_order("domain", [(n, p) for n, p in known if n is not None and p is not None])


def _period_of(domain: Domain) -> int | None:
    return domain.interface.period_ns if domain.interface else domain.interface_period_ns


def _refuse_domain(key: str, domain: Domain) -> None:
    if domain.scheduler in (Scheduler.FIFO, Scheduler.EXECUTOR):
        _stop(f"{key}.scheduler", f'"{domain.scheduler}"', _SCHEDULERS_ALLOWED)
    if domain.is_split:
        _stop(f"{key}.vcpu", "vcpus that may differ", "equal vcpus under gedf in CARTS")
    if domain.vcpus != 1 and _scheduler(domain) != "gEDF":
        _stop(f"{key}.vcpus", str(domain.vcpus), "1 in CARTS, but under gEDF")
    given = domain.interface_period_range
    if given is not None and given.step_ns not in (None, UNIT_NS):
        _stop(f"{key}.interface_period_range", "another step", "a step of 1ms in CARTS")
    for index, task in enumerate(domain.tasks):
        here = f"{key}.task[{index}]"
        if task.kind is TaskKind.BUSY:
            _stop(f"{here}.kind", "busy", "tasks with a period in CARTS")
        if task.blocking_ns:
            _stop(f"{here}.blocking", f"{task.blocking_ns}ns", "no blocking in CARTS")
        if task.jitter_ns and _scheduler(domain) == "gEDF":
            allowed = "none under gEDF in CARTS, where deadlines are without it"
            _stop(f"{here}.jitter", f"{task.jitter_ns}ns", allowed)
    if _scheduler(domain) == "DM" and domain.tasks:
        _refuse_order(f"{key}.scheduler", list(_ranks(domain)))
    for index, inner in enumerate(domain.domains):
        _refuse_domain(f"{key}.domain[{index}]", inner)


_SCHEDULERS_ALLOWED = "edf, or fixed priority in the order of deadlines, in CARTS"


def _ranks(domain: Domain) -> Iterator[tuple[int, int]]:
    """Each task's own rank under its scheduler, and its deadline there."""
    for task in domain.tasks:
        rank = {
            Scheduler.FP: task.priority,
            Scheduler.RM: task.period_ns,
            Scheduler.DM: task.deadline_ns,
        }[domain.scheduler]
        assert rank is not None, "the model asks for it"
        yield rank, _due_ns(task)


def _due_ns(task: Task) -> int:
    """The deadline in CARTS' terms: from when a job should come, before its jitter."""
    assert task.deadline_ns is not None, "the model fills it in"
    return task.deadline_ns + task.jitter_ns


def _refuse_order(key: str, ranks: Sequence[tuple[int, int]]) -> None:
    """InputError unless sorting by rank sorts by length too; equals keep the order of the file."""
    by_rank = sorted(range(len(ranks)), key=lambda at: ranks[at][0])
    by_length = sorted(range(len(ranks)), key=lambda at: ranks[at][1])
    if by_rank != by_length:
        _stop(key, "another order of priorities", _SCHEDULERS_ALLOWED)


def _stop(key: str, found: str, allowed: str) -> None:
    raise InputError("", None, key, found, allowed)


def groups(system: System) -> Iterator[tuple[str, list[Domain]]]:
    """The name of each file and the domains in it: those of one scheduler."""
    served = [domain for domain in system.domains if not domain.best_effort]
    if system.policy.scope is Scope.GLOBAL or system.pcpus == 1:
        found = {"system.xml": served}
    else:
        found = {
            f"pcpu{pcpu}.xml": [domain for domain in served if domain.pcpu == pcpu]
            for pcpu in range(system.pcpus)
        }
    yield from ((name, domains) for name, domains in found.items() if domains)


def _root(system: System, domains: Sequence[Domain], resolved: dict[str, Domain]) -> ET.Element:
    """Returns the outermost element of a CARTS file, with everything inside."""
    root = ET.Element("system", {"os_scheduler": _os_scheduler(system)})
    if system.policy.scope is Scope.GLOBAL:
        root.set("numVCPUs", str(system.pcpus))
    _set_root_period(root, domains, resolved)
    for domain in domains:
        root.append(_component(domain, resolved))
    return root


def _os_scheduler(system: System) -> str:
    if system.policy.order is Order.FP:
        return "DM"
    return "gEDF" if system.policy.scope is Scope.GLOBAL else "EDF"


def _set_root_period(
    root: ET.Element, domains: Sequence[Domain], resolved: dict[str, Domain]
) -> None:
    """The periods that all components have, or CARTS' default."""
    found = {tuple(sorted(_periods(domain, resolved).items())) for domain in domains}
    default = {"min_period": "1", "max_period": "1"}
    root.attrib.update(dict(found.pop()) if len(found) == 1 else default)


def _periods(domain: Domain, resolved: dict[str, Domain]) -> dict[str, str]:
    given = domain.interface_period_range
    if given is not None:
        return {"min_period": units(given.min_ns), "max_period": units(given.max_ns)}
    interface = resolved[domain.name].interface
    assert interface is not None, "resolved domains with a server have an interface"
    period = units(interface.period_ns)
    return {"min_period": period, "max_period": period}


def _component(domain: Domain, resolved: dict[str, Domain]) -> ET.Element:
    scheduler = _scheduler(domain)
    attributes = {"name": domain.name, "scheduler": scheduler, **_periods(domain, resolved)}
    if scheduler == "gEDF":
        attributes["numVCPUs"] = str(domain.vcpus)
    element = ET.Element("component", attributes)
    for task in domain.tasks:
        element.append(_task(task))
    for inner in domain.domains:
        element.append(_component(inner, resolved))
    return element


def _scheduler(domain: Domain) -> str:
    return {"edf": "EDF", "gedf": "gEDF"}.get(domain.scheduler.value, "DM")


def _task(task: Task) -> ET.Element:
    assert task.period_ns is not None, "only busy tasks have none"
    assert task.wcet_ns is not None, "only busy tasks have none"
    attributes = {
        "name": task.name,
        "p": units(task.period_ns),
        "d": units(_due_ns(task)),
        "e": units(task.wcet_ns),
    }
    if task.offset_ns:
        attributes["offset"] = units(task.offset_ns)
    if task.jitter_ns:
        attributes["jitter"] = units(task.jitter_ns)
    return ET.Element("task", attributes)


def units(time_ns: int) -> str:
    """A time in CARTS units (ms), exactly: at most six decimals."""
    text = f"{Decimal(time_ns) / UNIT_NS:.6f}"
    return text.rstrip("0").rstrip(".")


def _text(system: System, root: ET.Element, domains: Sequence[Domain]) -> str:
    notes = "".join(f" {note}." for note in _notes(system, domains))
    comment = ET.Comment(f" {_plain(system.name)}: 1 unit = 1 ms.{_plain(notes)} ")
    root.insert(0, comment)
    ET.indent(root, "  ")
    return ET.tostring(root, encoding="unicode") + "\n"


def _plain(text: str) -> str:
    """A text as it may stand in an XML comment: without two dashes in a row."""
    return text.replace("--", "- -").rstrip("-")


def _notes(system: System, domains: Sequence[Domain]) -> Iterator[str]:
    """Sentences on what of the system the CARTS file cannot say."""
    if system.policy.slack is not Slack.NONE:
        yield f"The slack rule {system.policy.slack} changes no interface"
    hogs = [domain.name for domain in system.domains if domain.best_effort]
    if hogs:
        yield f"Best effort, so not here: {', '.join(hogs)}"
    every = [one for _, one in nested_domains(tuple(domains))]
    tasks = [task for one in every for task in one.tasks]
    if any(task.kind is not TaskKind.PERIODIC for task in tasks):
        yield "Sporadic and event tasks are written as periodic ones"
    if any(task.etf != 1 for task in tasks):
        yield "Execution times are the longest ones"
    if any(vars(system.overheads).values()):
        yield "Overheads are not here"
    if system.stolen:
        yield "Stolen time is not here"
    if any(one.interface is not None for one in every):
        yield "Budgets are for CARTS to compute"
