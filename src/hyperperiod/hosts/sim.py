# SPDX-License-Identifier: BSD-2-Clause
"""The simulator as a host: a system in, the result object out, a trace if one is wanted.

The same system, horizon and seed give the same run, to the byte of the trace. The run is driven
in pieces, between which progress is shown and Ctrl-C is noticed; an interrupted run gives the
valid result of a shorter one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from hyperperiod import _sim
from hyperperiod.hosts.priorities import Priorities
from hyperperiod.hosts.refuse import refuse, require_interfaces
from hyperperiod.hosts.result import (
    Counts,
    FlowCount,
    PcpuCount,
    PeriodCount,
    RunResult,
    TaskCount,
    VcpuCount,
    make_result,
)
from hyperperiod.model import (
    Domain,
    Flow,
    InputError,
    Policy,
    Scheduler,
    Scope,
    System,
    Task,
    Vcpu,
    changed_vcpus,
    hops_of,
    overrun_of,
    partitions_alone,
    vcpus_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hyperperiod.hosts.recorded_jobs import RecordedJobs
    from hyperperiod.hosts.rule import Rule

HOST = "sim"
INSTANTS_AT_ONCE = 1 << 17
"""How many instants are simulated between two looks at progress and Ctrl-C: about 10 ms."""
TASK_COUNTS = (
    *("jobs", "misses", "due", "finished"),
    *("min_ns", "mean_ns", "p50_ns", "p99_ns", "max_ns"),
)
"""What many runs say of a task."""
SPARE_PERIOD_NS = 1_000_000_000
"""The period of the spare in systems without one, where its budget is zero: any will do."""


def run(
    system: System,
    horizon_ns: int,
    seed: int = 1,
    trace_path: Path | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    guarantees: bool = False,
    histograms: bool = False,
    responses: bool = False,
    check: bool = False,
    rule: Rule | None = None,
    jobs: RecordedJobs | None = None,
) -> RunResult:
    """Run `system`, whose interfaces are known, from 0 to `horizon_ns`; the result object.

    `progress` is called with the instant that the run has reached. `guarantees` says in the trace
    that the servers are guaranteed their budgets, so that its readers check that. With
    `histograms` tasks and flows have response times as (lowest, highest, count), with `responses`
    each of them; with `check` the core's conservation laws are tested at every instant (slow). With
    a `rule` that decides in the place of the policy, of which there is no trace. Tasks that have
    `jobs` release these in the place of those that their model draws.

    Raises InputError for what this host cannot run.
    """
    given, system = system, partitions_alone(system)
    refuse(system, horizon_ns, seed)
    _refuse_fair(system)
    require_interfaces(system)
    scenario = make_scenario(system, horizon_ns, seed, check=check)
    recorded = jobs or {}
    if rule is None:
        scenario.count_periods()
    else:
        from hyperperiod.hosts.rule import Guarded, refuse_with_rule

        refuse_with_rule(system)
        scenario.set_rule(Guarded(rule, system))
    try:
        for task, own in recorded.items():
            if own.releasing:
                scenario.set_jobs(task, own.releases_ns, own.ran_ns)
        with _trace(system, horizon_ns, seed, trace_path, recorded, guarantees=guarantees):
            native = _sim.Run(scenario, None if trace_path is None else str(trace_path))
            if responses:
                native.keep_responses()
            interrupted = _drive(native, horizon_ns, progress, may_stop=rule is None)
    except ValueError as error:
        raise _cannot(system, str(error)) from None
    counts = _counts(
        native, seed, interrupted=interrupted, histograms=histograms, responses=responses
    )
    result = make_result(given, _on_given_pcpus(given, counts)).replace(
        recorded=tuple(own.result(native.now_ns) for own in recorded.values())
    )
    return result if rule is None else result.replace(policy=f"{type(rule).__name__} in Python")


def _on_given_pcpus(system: System, counts: Counts) -> Counts:
    """The counts of a system with a table, whose partitions ran alone, by its own pcpus."""
    if system.major_frame_ns is None:
        return counts
    none = PcpuCount(0, 0, 0, 0, 0)
    rows = [none] * system.pcpus
    for domain, alone in zip(system.domains, counts.pcpus, strict=True):
        assert domain.pcpu is not None, "windows are on one"
        sums = map(add, rows[domain.pcpu], alone._replace(stolen_ns=0))
        rows[domain.pcpu] = PcpuCount(*sums)
    return counts._replace(pcpus=rows)


class ManyCounts(NamedTuple):
    """What many runs came to, as arrays of 64-bit integers.

    `tasks` has a row of TASK_COUNTS for each task, system after system; a time is -1 where no job
    has finished. `vcpus` has a row of supply and donated time (ns) for each vcpu, `misses` how many
    deadlines each system missed, those of flows among them.
    """

    tasks: NDArray[np.int64]
    vcpus: NDArray[np.int64]
    misses: NDArray[np.int64]


def run_many(
    systems: Sequence[tuple[System, int]], horizon_ns: int, threads: int = 1
) -> ManyCounts:
    """Run systems whose interfaces are known, each with its seed, from 0 to `horizon_ns`.

    They run in native code, on so many threads; the counts are those of `run`. InputError for one
    that this host cannot run.
    """
    import numpy as np

    systems = [(partitions_alone(system), seed) for system, seed in systems]
    scenarios = []
    for system, seed in systems:
        refuse(system, horizon_ns, seed)
        _refuse_fair(system)
        require_interfaces(system)
        scenarios.append(make_scenario(system, horizon_ns, seed))
    tasks = sum(len(domain.tasks) for system, _ in systems for domain in system.domains)
    vcpus = sum(domain.vcpus for system, _ in systems for domain in system.domains)
    counts = ManyCounts(
        np.empty((tasks, len(TASK_COUNTS)), np.int64),
        np.empty((vcpus, 2), np.int64),
        np.empty(len(systems), np.int64),
    )
    try:
        _sim.run_batch(scenarios, threads, counts.tasks, counts.vcpus, counts.misses)
    except ValueError:
        for (system, _), scenario in zip(systems, scenarios, strict=True):
            _require_accepted(system, scenario)
        raise
    return counts


def _require_accepted(system: System, scenario: _sim.Scenario) -> None:
    """InputError for a system that the core refuses."""
    try:
        _sim.Run(scenario)
    except ValueError as error:
        raise _cannot(system, str(error)) from None


def largest_responses(system: System, horizon_ns: int) -> list[int]:
    """The largest response of each flow up to the horizon; 0 where no item has left.

    For searches that run thousands of systems: what `run` says of flows and no more, of a
    system whose interfaces are known. InputError for what the core refuses.
    """
    try:
        run = _sim.Run(make_scenario(system, horizon_ns, 1))
    except ValueError as error:
        raise _cannot(system, str(error)) from None
    while run.now_ns < horizon_ns:
        run.advance(INSTANTS_AT_ONCE)
    run.finish()
    return [flow.get("max_ns", 0) for flow in run.flows()]


def make_scenario(
    system: System,
    horizon_ns: int,
    seed: int,
    *,
    check: bool = False,
    kind: type[_sim.Scenario] = _sim.Scenario,
) -> _sim.Scenario:
    """The native scenario of a system whose interfaces are known."""
    system = partitions_alone(system)
    scenario = kind(
        **_rules(system.policy),
        is_global=system.policy.scope is Scope.GLOBAL,
        pcpus=system.pcpus,
        quantum_ns=system.quantum_ns or 0,
        horizon_ns=horizon_ns,
        seed=seed,
        check=check,
    )
    scenario.set_overheads(**vars(system.overheads))
    if system.spare is not None:
        scenario.set_spare(system.spare.period_ns, system.spare.budget_ns)
    else:
        scenario.set_spare(SPARE_PERIOD_NS, 0)
    priorities = Priorities(system)
    vcpus = vcpus_of(system)
    for index, domain in enumerate(system.domains):
        own = [vcpu for vcpu in vcpus if vcpu.domain_index == index]
        _add_domain(scenario, domain, own, priorities, system)
    for flow, hops in zip(system.flows, hops_of(system), strict=True):
        _add_flow(scenario, flow, hops, system.ring_of(flow))
    for theft in system.stolen:
        for pcpu in filter(theft.takes, range(system.pcpus)):
            scenario.add_theft(pcpu, theft.period_ns, theft.duration_ns, theft.offset_ns)
    for swap in system.swaps:
        scenario.add_swap(swap.at_ns, **_rules(swap.policy))
    for change in system.changes:
        for vcpu in changed_vcpus(system, change):
            interface = change.interface
            scenario.add_change(
                change.at_ns,
                vcpu.id,
                interface.period_ns if interface else 0,
                interface.budget_ns if interface else 0,
                priorities.after(change, vcpu) if interface else 0,
                None if system.policy.scope is Scope.GLOBAL else change.pcpu,
            )
    return scenario


def _add_domain(
    scenario: _sim.Scenario,
    domain: Domain,
    vcpus: Iterable[Vcpu],
    priorities: Priorities,
    system: System,
) -> None:
    scenario.add_domain(scheduler=_number(domain.scheduler))
    for vcpu in vcpus:
        interface = vcpu.interface
        scenario.add_vcpu(
            pcpu=vcpu.pcpu or 0,
            priority=0 if vcpu.best_effort else priorities.of(vcpu),
            period_ns=interface.period_ns if interface else 0,
            budget_ns=interface.budget_ns if interface else 0,
            best_effort=vcpu.best_effort,
            extra=vcpu.extra,
            weight=vcpu.weight or 0,
        )
    for task in domain.tasks:
        priority = task.priority
        if domain.scheduler is Scheduler.EXECUTOR:
            priority = int(f"{domain.name}.{task.name}" not in system.timers)
        _add_task(scenario, task, priority)
        overrun = overrun_of(system.overruns, domain.name, task.name)
        if overrun is not None:
            scenario.add_overrun(
                thousandths=overrun.thousandths,
                from_ns=overrun.from_ns,
                to_ns=overrun.to_ns,
                every=overrun.every,
            )


def _add_task(scenario: _sim.Scenario, task: Task, priority: int | None) -> None:
    scenario.add_task(
        kind=_number(task.kind),
        period_ns=task.period_ns,
        wcet_ns=task.wcet_ns,
        bcet_ns=task.bcet_ns,
        deadline_ns=task.deadline_ns,
        offset_ns=task.offset_ns,
        jitter_ns=task.jitter_ns,
        priority=priority,
        vcpu=task.vcpu,
    )


def _add_flow(scenario: _sim.Scenario, flow: Flow, hops: tuple[int, ...], ring: int | None) -> None:
    source = flow.source
    if source.period_ns is None:
        min_ns, max_ns = source.think_range_ns
        scenario.add_closed_flow(
            clients=source.clients or 0,
            think_least_ns=min_ns,
            think_most_ns=max_ns,
            offset_ns=source.offset_ns,
            deadline_ns=flow.deadline_ns,
            hops=list(hops),
        )
        return
    scenario.add_flow(
        kind=_number(source.kind),
        period_ns=source.period_ns,
        offset_ns=source.offset_ns,
        jitter_ns=source.jitter_ns,
        burst=source.burst,
        queue=flow.queue,
        ring=ring or 0,
        deadline_ns=flow.deadline_ns,
        hops=list(hops),
    )


def _number(rule: StrEnum) -> int:
    """The place of a word in its enum, which is its number in native code."""
    return _numbers(type(rule))[rule]


@cache
def _numbers(words: type[StrEnum]) -> dict[str, int]:
    """The places of all words of an enum: two enums may have the same word at other places."""
    return {word: place for place, word in enumerate(words)}


def _rules(policy: Policy) -> dict[str, int]:
    return {
        "budget": _number(policy.budget),
        "order": _number(policy.order),
        "slack": _number(policy.slack),
    }


def _drive(
    run: _sim.Run,
    horizon_ns: int,
    progress: Callable[[int], None] | None,
    *,
    may_stop: bool,
) -> bool:
    """Run to the horizon, or to where Ctrl-C falls; returns whether it fell.

    Inside of a rule it falls in the middle of an instant, where a run cannot stop.
    """
    interrupted = False
    try:
        while run.now_ns < horizon_ns:
            run.advance(INSTANTS_AT_ONCE)
            if progress is not None:
                progress(run.now_ns)
    except KeyboardInterrupt:
        if not may_stop:
            raise
        interrupted = run.now_ns < horizon_ns
    run.finish()
    return interrupted


def _counts(
    run: _sim.Run, seed: int, *, interrupted: bool, histograms: bool, responses: bool
) -> Counts:
    tasks = [
        TaskCount(
            **count,
            histogram=tuple(run.responses(task)) if histograms else None,
            responses_ns=tuple(run.every_response(task)) if responses else None,
        )
        for task, count in enumerate(run.tasks())
    ]
    flows = [
        FlowCount(
            **count,
            histogram=tuple(run.flow_responses(flow)) if histograms else None,
            responses_ns=tuple(run.every_flow_response(flow)) if responses else None,
        )
        for flow, count in enumerate(run.flows())
    ]
    return Counts(
        host=HOST,
        end_ns=run.now_ns,
        seed=seed,
        interrupted=interrupted,
        response_error=_sim.RELATIVE_ERROR,
        tasks=tasks,
        vcpus=[
            VcpuCount(
                count["supply_ns"],
                count["donated_ns"],
                count["moved_here"],
                PeriodCount(*count["periods"]),
            )
            for count in run.vcpus()
        ],
        pcpus=[PcpuCount(**count) for count in run.pcpus()],
        flows=flows,
    )


@contextlib.contextmanager
def _trace(
    system: System,
    horizon_ns: int,
    seed: int,
    path: Path | None,
    jobs: RecordedJobs,
    *,
    guarantees: bool,
) -> Iterator[None]:
    """The trace is begun, and native code appends to it; what keeps it from that names the file."""
    if path is None:
        yield
        return
    # numpy stands behind these; a run without a trace does not need it.
    from hyperperiod.hosts.header import make_header
    from hyperperiod.trace.format import write_header, writing

    header = make_header(system, HOST, horizon_ns, seed, guarantees=guarantees)
    for task, own in jobs.items():
        if own.releasing:
            entry = header["tasks"][task]
            entry["kind"] = "recorded"
            if own.ran_ns:
                entry["bcet_ns"], entry["wcet_ns"] = min(own.ran_ns), max(own.ran_ns)
    with writing(path):
        write_header(path, header)
        yield


def _refuse_fair(system: System) -> None:
    """InputError for a domain whose scheduler is Linux's own, of which there is no model here."""
    for domain in system.domains:
        if domain.scheduler is Scheduler.FAIR:
            raise InputError(
                system.name,
                None,
                f"domain {domain.name}: scheduler",
                '"fair", which is what Linux makes of it',
                "rm, dm, fp, edf, fifo or executor in the simulator; fair runs on Xen only",
            )


def _cannot(system: System, reason: str) -> InputError:
    return InputError(system.name, None, "system", reason, "what the scheduler core accepts")
