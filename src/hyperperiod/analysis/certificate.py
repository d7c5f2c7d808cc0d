# SPDX-License-Identifier: BSD-2-Clause
"""Certificates: the evidence behind a yes, for a checker that does not trust the analysis.

A certificate names, for every server and every task, the windows that decide: what is asked for in
them is no more than what there is. `hyperperiod-check` (proofs/check.v) and proofs/second_reader.py
read it beside the system file and compute both sides again; docs/analysis/certificates.md has the
format. So nothing here has to be right: a window that does not hold is refused.

What is certified is what the theorems of proofs/ are about: periodic, deferrable and polling
servers on pcpus of their own by fixed priority or EDF, constant bandwidth servers by EDF, domains
of one vcpu whose independent tasks are under fixed priority or EDF, flows through these, and no
time for overheads. All else stands under `not_certified`, or beside its flow, with its reason.

- Fixed priority, of tasks (Lemma 1 with the ceiling): the least window in which the work of all
  that are not lower is done. If it is above the deadline of a task: the least one for each of the
  jobs that come in it (Lehoczky, RTSS 1990). Of servers: the window of the test, of deferrable ones
  of that on one grid.
- Of flows: jitters and responses of their hops that agree (`certified_hops`).
- EDF, of tasks: points that cover all windows up to a horizon (Zhang and Burns, QPA, from the
  other side), and a horizon beyond which the demand stays below the supply, by straight lines or
  since both repeat. Of servers: budgets and periods are the evidence.

All times are integers in nanoseconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from math import lcm
from typing import NamedTuple

from hyperperiod._analysis import Shape
from hyperperiod.analysis.analyze import Analysis
from hyperperiod.analysis.certified_hops import Row, Supplied, Visit, known_rows
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.proofs import SERVER_THEOREMS, Rules, find_proof
from hyperperiod.analysis.result import AnalysisResult, FlowResult
from hyperperiod.analysis.servers.deferrable_grid import deferrable_grid
from hyperperiod.analysis.servers.fp_response_time import fp_response_time
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.tasks.demand_bound import dbf
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.model import (
    Budget,
    Domain,
    Flow,
    Order,
    Policy,
    Sbf,
    Scheduler,
    Scope,
    System,
    Task,
    TaskKind,
)
from hyperperiod.model.part import Part, fields_of
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.units import format_time

VERSION = 1
MOST_POINTS = 100_000
"""So many windows of a domain under EDF, or of a task's jobs, are written down at most."""
MOST_DIGITS = 4_000
"""So long is a number at most: readers of JSON refuse longer ones."""

_OF_SYSTEMS = {
    "name",
    "description",
    "policy",
    "pcpus",
    "quantum_ns",
    "sbf",
    "domains",
    "spare",
    "flows",
}
_OF_DOMAINS = {"name", "scheduler", "vcpus", "pcpu", "priority", "interface", "tasks"}
_OF_DOMAINS |= {"interface_period_ns", "interface_period_range", "spread", "together", "apart"}
_OF_DOMAINS |= {"best_effort", "extra"}
_OF_TASKS = {"name", "kind", "period_ns", "wcet_ns", "deadline_ns", "offset_ns", "jitter_ns"}
_OF_TASKS |= {"etf", "priority"}
_OF_FLOWS = {"name", "source", "hops", "deadline_ns", "queue"}
_OF_SOURCES = {"kind", "period_ns", "offset_ns", "jitter_ns"}

ASSUMPTIONS = (
    "releases of a task are at least its period apart, up to its jitter closer",
    "deadlines count from the release",
    "a job works for its wcet at most",
    "jobs are independent, never suspend themselves and are preempted at no cost",
    "jobs of one task are served in their order",
    "the periods of all servers begin together, of constant bandwidth servers as their rule says",
    "who pays, and what becomes of time that its owner does not need, is as the policy says",
    "switches, picks, ticks, interrupts and everybody but the servers take no time",
)
FLOW_ASSUMPTIONS = (
    "an item is released at its next hop when it is done at the hop before, and nothing else is",
    "a job of a hop works for etf * wcet at least",
)
"""What is assumed beside that where there are flows."""


class CertifiedSystem(ResultObject):
    """Which system a certificate is about: its name, and the hash of its file."""

    name: str
    sha256: str


class ServerEvidence(ResultObject):
    """A server, and under fixed priority the window in which its budget is spent."""

    domain: str
    pcpu: int
    period: int
    budget: int
    window: int | None = None


class TaskEvidence(ResultObject):
    """The window of a task under fixed priority, with what is asked for and supplied in it.

    `jobs` are windows of the jobs that come in it, where it is above the deadline.
    """

    task: str
    window: int
    demand: int
    supply: int
    jobs: tuple[int, ...] = ()


class DomainEvidence(ResultObject):
    """Why the tasks of a domain are in time on its supply: windows, or points under EDF."""

    domain: str
    supply: str
    tasks: tuple[TaskEvidence, ...] = ()
    horizon: int | None = None
    multiple: int | None = None
    points: tuple[int, ...] = ()


class HopEvidence(ResultObject):
    """How far releases spread at a hop, the response there, and windows as of a task."""

    hop: str
    jitter: int
    response: int
    window: int | None = None
    demand: int | None = None
    supply: int | None = None
    jobs: tuple[int, ...] = ()


class FlowEvidence(ResultObject):
    """A flow with its hops, or `why` it is not certified, with the first of its hops."""

    flow: str
    hops: tuple[HopEvidence, ...]
    why: str | None = None


class NotCertified(ResultObject):
    """A domain of which the certificate shows nothing, and why."""

    domain: str
    why: str


class Certificate(ResultObject):
    """The evidence for a system; docs/analysis/certificates.md has every key."""

    certificate: int
    system: CertifiedSystem
    servers: tuple[ServerEvidence, ...]
    domains: tuple[DomainEvidence, ...]
    flows: tuple[FlowEvidence, ...] = ()
    not_certified: tuple[NotCertified, ...]
    assumptions: tuple[str, ...]


def certificate_text(certificate: Certificate) -> str:
    """The certificate as JSON, a line for each key and each number: it is to be read."""
    return json.dumps(certificate.to_dict(), indent=1, ensure_ascii=False) + "\n"


class _NoEvidence(Exception):  # noqa: N818 - it is not an error of the user
    """There is none; the message says why."""


class _Points(NamedTuple):
    """Why no window asks for more than is supplied, under EDF."""

    horizon: int
    multiple: int
    points: tuple[int, ...]


def certify(analysis: Analysis, result: AnalysisResult, file: bytes) -> Certificate:
    """Returns the evidence for all that can be certified of what was analysed.

    `file` is what the system was read from. A domain whose tasks are not proved to be in time is
    not certified, and neither is a flow that is not proved to be so.
    """
    system = analysis.resolution.known()
    tabled = system.major_frame_ns is not None
    servers = () if tabled else tuple(_server_evidence(analysis))
    why = dict(_left_out(system, result, servers))
    evidence = _evidence(system, why)
    hops = {visit: hop for _, its in evidence.values() for visit, hop in its.items()}
    return Certificate(
        certificate=VERSION,
        system=CertifiedSystem(name=system.name, sha256=hashlib.sha256(file).hexdigest()),
        servers=servers,
        domains=tuple(evidence[one.name][0] for one in system.domains if one.name in evidence),
        flows=tuple(
            _flow_evidence(flow, verdict, hops)
            for flow, verdict in zip(system.flows, result.flows, strict=True)
        ),
        not_certified=tuple(
            NotCertified(domain=one.name, why=why[one.name])
            for one in system.domains
            if one.name not in evidence
        ),
        assumptions=(*ASSUMPTIONS, *(FLOW_ASSUMPTIONS if system.flows else ())),
    )


def _left_out(
    system: System, result: AnalysisResult, servers: Sequence[ServerEvidence]
) -> Iterator[tuple[str, str]]:
    """Yields the domains of which nothing is to be certified, whatever comes to them, and why."""
    windows = {one.domain: one.window for one in servers}
    beyond = _system_beyond(system)
    hops = {hop for flow in system.flows for hop in flow.hops}
    for domain, verdict in zip(system.domains, result.domains, strict=True):
        inside = _domain_beyond(domain, hops)
        if not domain.is_served:
            yield domain.name, "best effort: nothing is promised"
        elif beyond or not verdict.schedulable:
            yield domain.name, beyond or verdict.reason
        elif system.policy.order is Order.FP and windows[domain.name] is None:
            yield domain.name, "the window of its server takes too many steps"
        elif inside:
            yield domain.name, f"{inside}: no theorem is about it"


def _evidence(
    system: System, why: dict[str, str]
) -> dict[str, tuple[DomainEvidence, dict[Visit, HopEvidence]]]:
    """Returns the evidence for domains that are not left out, and for the visits to their hops.

    Those that have none get a reason in `why`.
    """
    refused = [flow.name for flow in system.flows if _flow_beyond(flow)]
    while True:
        found, failed = {}, {}
        supplied = [
            Supplied(one, _supply(one, system)) for one in system.domains if one.name not in why
        ]
        rows, lost = known_rows(system.flows, refused, supplied)
        for one in supplied:
            name = one.domain.name
            if name in rows:
                try:
                    found[name] = _domain_evidence(one, rows[name], system.sbf)
                except _NoEvidence as error:
                    failed[name] = str(error)
        why |= lost | failed
        if not any(row.visit for name in failed for row in rows[name]):
            return found


def _flow_evidence(
    flow: Flow, verdict: FlowResult, known: Mapping[Visit, HopEvidence]
) -> FlowEvidence:
    """Returns the hops of a flow, of which those in domains with evidence are known."""
    visits = [(flow.name, number) for number in range(len(flow.hops))]
    hops = tuple(known[visit] for visit in visits if visit in known)
    bound_ns = sum(hop.response for hop in hops)
    why = None
    if beyond := _flow_beyond(flow):
        why = f"{beyond}: no theorem is about it"
    elif not verdict.schedulable:
        why = verdict.reason
    elif len(hops) < len(flow.hops):
        why = f"{flow.hops[len(hops)]} is in a domain that is not certified"
    elif bound_ns > flow.deadline_ns:
        why = f"its hops one by one take up to {format_time(bound_ns)}, above its deadline"
    else:
        assert flow.source.period_ns is not None, "a closed source is refused"
        most = -(-(bound_ns + flow.source.jitter_ns) // flow.source.period_ns)
        if most > flow.queue:
            why = f"{most} items on their way would be more than its queue holds"
    return FlowEvidence(flow=flow.name, hops=hops, why=why)


def _beyond(part: Part, known: set[str]) -> str:
    """Returns the first key that says something and is not among the known; empty if none."""
    fields = [field for name, field in fields_of(type(part)).items() if name not in known]
    return next((one.key for one in fields if getattr(part, one.name) != one.default), "")


def _rules(system: System) -> Rules:
    """Returns the rules of the policy; one that is global is on one pcpu like one that is not."""
    rules = Rules.of(system.policy)
    return rules._replace(scope=Scope.PARTITIONED) if system.pcpus == 1 else rules


def _system_beyond(system: System) -> str:
    """Returns what of a whole system no theorem is about; empty if there is nothing."""
    policy, rules = system.policy, _rules(system)
    named = (rules.budget, rules.order, rules.scope) in SERVER_THEOREMS
    if not named or rules.budget is Budget.SLICE or find_proof(rules) is None:
        return f"policy {policy}: in the checker no theorem is about it"
    if system.sbf not in (Sbf.GENERAL, Sbf.HARMONIC):
        return f"sbf {system.sbf}: no theorem is about it"
    beyond = [_beyond(system, _OF_SYSTEMS)]
    beyond += [_beyond(domain, _OF_DOMAINS | {"guest"}) for domain in system.domains]
    beyond += ["vcpus" for domain in system.domains if domain.vcpus != 1]
    return next((f"{key}: no theorem is about it" for key in beyond if key), "")


def _domain_beyond(domain: Domain, hops: Container[str]) -> str:
    """Returns what of a domain no theorem is about; empty if there is nothing."""
    if domain.scheduler not in (Scheduler.RM, Scheduler.DM, Scheduler.FP, Scheduler.EDF):
        return f"scheduler {domain.scheduler}"
    if not domain.tasks:
        return "no tasks"
    beyond = [_beyond(domain, _OF_DOMAINS)]
    beyond += [_task_beyond(one, hop=f"{domain.name}.{one.name}" in hops) for one in domain.tasks]
    return next(filter(None, beyond), "")


def _task_beyond(task: Task, *, hop: bool) -> str:
    if not hop and task.kind not in (TaskKind.PERIODIC, TaskKind.SPORADIC):
        return f"task {task.name}: kind {task.kind}"
    beyond = _beyond(task, _OF_TASKS)
    return f"task {task.name}: {beyond}" if beyond else ""


def _flow_beyond(flow: Flow) -> str:
    """Returns what of a flow no theorem is about; empty if there is nothing."""
    return _beyond(flow.source, _OF_SOURCES) or _beyond(flow, _OF_FLOWS)


def _windows_of_servers(policy: Policy, group: Group) -> list[int | None]:
    """Returns the window of each server's test under fixed priority, or None; none under EDF."""
    if policy.order is not Order.FP:
        return [None] * len(group.servers)
    judge = deferrable_grid if policy.budget is Budget.DEFERRABLE else fp_response_time
    return [verdict.bound_ns for verdict in judge(group)]


def _server_evidence(analysis: Analysis) -> Iterator[ServerEvidence]:
    """Yields all servers in the order of the file, with a window where there is one."""
    placed = [
        (own, window)
        for group in analysis.groups
        for own, window in zip(
            group.servers, _windows_of_servers(analysis.system.policy, group), strict=True
        )
    ]
    for own, window in sorted(placed, key=lambda one: one[0].order):
        yield ServerEvidence(
            domain=own.name,
            pcpu=analysis.system.domains[own.domain_index].pcpu or 0,
            period=own.period_ns,
            budget=own.budget_ns,
            window=window,
        )


def _supply(domain: Domain, system: System) -> Supply:
    """Returns the supply of a domain with a yes."""
    proof = find_proof(_rules(system))
    assert proof is not None, "what has no proof gets no yes"
    assert domain.interface is not None, "a yes has one"
    shape = Shape.HARMONIC if system.sbf is Sbf.HARMONIC else proof.supply
    return Supply(shape, domain.interface.period_ns, domain.interface.budget_ns)


def _domain_evidence(
    one: Supplied, rows: Sequence[Row], sbf: Sbf
) -> tuple[DomainEvidence, dict[Visit, HopEvidence]]:
    """Returns why the tasks of a domain are in time, and of the visits to its hops how much so.

    _NoEvidence: that is not to be shown.
    """
    domain, supply = one
    visits = {row.visit: row for row in rows if row.visit is not None}
    if visits and sbf is Sbf.HARMONIC:
        raise _NoEvidence("hops on a harmonic supply: no theorem is about it")
    spread = {
        visit: HopEvidence(
            hop=f"{domain.name}.{row.task}", jitter=row.load.jitter, response=row.load.deadline
        )
        for visit, row in visits.items()
    }
    if domain.scheduler is Scheduler.EDF:
        found = _points([row.load for row in rows], supply)
        return DomainEvidence(domain=domain.name, supply=str(sbf), **found._asdict()), spread
    evidence = {}
    for row in rows:
        loads = [other.load for other in rows if other.level <= row.level and other is not row]
        loads.append(row.load)
        try:
            window, jobs = _windows(loads, supply)
        except _NoEvidence as error:
            raise _NoEvidence(f"task {row.task}: {error}") from None
        its = {"window": window, "demand": rbf(loads, window), "supply": supply.sbf(window)}
        if row.visit is None:
            evidence[row.task] = TaskEvidence(task=row.task, jobs=jobs, **its)
        else:
            spread[row.visit] = spread[row.visit].replace(jobs=jobs, **its)
    tasks = tuple(evidence[task.name] for task in domain.tasks if task.name in evidence)
    return DomainEvidence(domain=domain.name, supply=str(sbf), tasks=tasks), spread


def _windows(loads: Sequence[Load], supply: Supply) -> tuple[int, tuple[int, ...]]:
    """Returns the window of the last load, and those of its jobs if it is above the deadline.

    _NoEvidence: the windows are too many, or too short for the work.
    """
    *others, own = loads
    longest = max(own.deadline, MOST_POINTS * own.period - own.jitter)
    window = _least_window(loads, longest, supply.time_for)
    if window is None:
        raise _NoEvidence(f"more than {MOST_POINTS:,} windows decide")
    if window <= own.deadline:
        return window, ()
    jobs: list[int] = []
    for before in range(-(-(window + own.jitter) // own.period)):
        deadline = max(0, before * own.period - own.jitter) + own.deadline
        until = Load((before + 1) * own.wcet, deadline, deadline)  # asked for once
        job = _least_window([*others, until], deadline, supply.time_for)
        if job is None:
            raise _NoEvidence(f"no window holds its job {before + 1}")
        jobs.append(job)
    return window, tuple(jobs)


def _least_window(
    loads: Sequence[Load], deadline: int, time_for: Callable[[int], int]
) -> int | None:
    """Returns the least window up to the deadline that holds what is asked for in it, or None."""
    window = 1
    while (needed := time_for(rbf(loads, window))) > window:
        if needed > deadline:
            return None
        window = needed
    return window


def _points(loads: Sequence[Load], supply: Supply) -> _Points:
    """Returns the windows that show all others; _NoEvidence if those are too many."""
    multiple = lcm(supply.period_ns, *(load.period for load in loads))
    if multiple >= 10**MOST_DIGITS:
        raise _NoEvidence(f"the multiple of all periods has more than {MOST_DIGITS:,} digits")
    horizon = _horizon(loads, supply, multiple)
    points: list[int] = []
    top = horizon
    while asked := dbf(loads, top):
        point = supply.time_for(asked)
        if point > top:  # so far do hops spread
            raise _NoEvidence("a window asks for more than is supplied in it")
        if len(points) == MOST_POINTS:
            raise _NoEvidence(f"more than {MOST_POINTS:,} windows decide")
        points.append(point)
        top = point - 1
    return _Points(horizon, multiple, tuple(points))


def _horizon(loads: Sequence[Load], supply: Supply, multiple: int) -> int:
    """Returns from where on no window asks for too much, if none before it does.

    Demand and supply repeat with the multiple of all periods, after the last deadline and the
    blackout. Or a straight line above the demand stays below one below the supply.
    """
    latest = max(supply.blackout_ns, *(load.deadline for load in loads))
    asked = [multiple // load.period * load.wcet for load in loads]
    got = multiple // supply.period_ns * supply.budget_ns
    repeating = multiple + latest
    if sum(asked) >= got:
        return repeating
    ahead = sum(
        each * (load.jitter + load.period - load.deadline)
        for each, load in zip(asked, loads, strict=True)
    ) + got * (supply.period_ns - supply.budget_ns + supply.blackout_ns)
    return min(repeating, max(latest, -(-ahead // (got - sum(asked)))))
