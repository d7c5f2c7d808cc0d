# SPDX-License-Identifier: BSD-2-Clause
"""What an analysis found: verdicts and bounds, tests, sensitivities, and why not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from hyperperiod.analysis.result import (
    AnalysisResult,
    DomainResult,
    FlowResult,
    PaperResult,
    PcpuResult,
    TaskResult,
    TestResult,
    VcpuResult,
    is_best_effort,
)
from hyperperiod.cli.table import Cell, Column, Table, numbers, words
from hyperperiod.cli.tables.cells import (
    NO_VALUE,
    interface_text,
    rate_text,
    share_text,
    time_text,
    verdict_text,
)
from hyperperiod.model.absent import ABSENT
from hyperperiod.model.errors import some_names

Judged = PcpuResult | DomainResult | TaskResult | FlowResult


def analysis_tables(analysis: AnalysisResult) -> Iterable[Table]:
    """pcpus, domains, tasks; flows and sensitivities where there are some."""
    yield _pcpu_verdicts(analysis.pcpus)
    yield _domain_verdicts(analysis.domains)
    yield _task_verdicts(analysis.domains)
    if analysis.flows:
        yield _flow_verdicts(analysis.flows)
    if any(one.sensitivity is not ABSENT for one in _served(analysis.domains)):
        yield _domain_sensitivities(analysis.domains)
        yield _task_sensitivities(analysis.domains)


def searches(analysis: AnalysisResult) -> Iterable[str]:
    """Returns sentences on how interfaces were found that the file leaves open."""
    for one in _served(analysis.domains):
        if one.algorithm1 is not None:
            from hyperperiod.analysis.domains.algorithm_1 import search_text

            yield f"{one.name}: {search_text(one.algorithm1)}"


def tests_table(analysis: AnalysisResult) -> Table:
    """Every test that applies, beside each other: pcpus, then domains."""
    source = Column("published in", rank=1, folds=20)
    columns = [*words("of", "test"), source, *words("counts", "schedulable")]
    table = Table("tests", columns)
    for name, tests in _tested(analysis):
        for one in tests:
            counts = "yes" if one.sound else "no"
            verdict = verdict_text(one.schedulable)
            table.add_row(name, one.test, one.source, counts, verdict)
    return table


def _tested(analysis: AnalysisResult) -> Iterable[tuple[str, Sequence[TestResult]]]:
    """The tests of each part, by its name; pcpus of which the same is said stand together."""
    for tests, alike in groupby(analysis.pcpus, key=lambda pcpu: pcpu.tests):
        yield f"pcpu {', '.join(str(pcpu.id) for pcpu in alike)}", tests
    for one in _served(analysis.domains):
        yield one.name, one.tests


def isolation_table(analysis: AnalysisResult) -> Table:
    """The verdict and the bound of each task whatever the other domains do, and as they are."""
    columns = [
        *words("domain", "task", "schedulable"),
        *numbers("deadline", "response bound"),
        *numbers("as the others are", rank=1),
    ]
    table = Table("whatever the other domains do", columns)
    told = {
        (domain.name, task.name): task.response_bound_ns
        for _, domain in _all_depths(analysis.domains)
        for task in domain.tasks
    }
    for _, domain in _all_depths(analysis.isolation):
        for task in domain.tasks:
            due = task.deadline_ns is not None
            table.add_row(
                domain.name,
                task.name,
                verdict_text(task.schedulable) if due else NO_VALUE,
                time_text(task.deadline_ns),
                time_text(task.response_bound_ns),
                time_text(told[domain.name, task.name]),
            )
    return table


def isolation_reasons(analysis: AnalysisResult) -> Iterable[str]:
    """Returns why domains may be late once others do as they like, but for what `reasons` says."""
    known = set(reasons(analysis))
    for reason in _reasons(_judged_domains(analysis.isolation)):
        if reason not in known:
            yield reason


def reasons(analysis: AnalysisResult) -> Iterable[str]:
    """Returns why deadlines are not proved: each reason once, behind the names it is about."""
    return _reasons(_judged(analysis))


def _reasons(judged: Iterable[tuple[str, Judged]]) -> Iterable[str]:
    subjects: dict[str, list[str]] = {}
    for name, part in judged:
        if part.reason:
            subject, reason = _of_whom(part.reason, name)
            named = subjects.setdefault(reason, [])
            # A domain comes after its tasks, which say more.
            if subject not in named and not any(one.startswith(f"{subject}.") for one in named):
                named.append(subject)
    for reason, named in subjects.items():
        yield f"{some_names(named)}: {reason}"


def _of_whom(reason: str, name: str) -> tuple[str, str]:
    """Returns whom a reason is about, and the reason; one of the host level names its server."""
    subject, found, rest = reason.partition(": ")
    return (subject, rest) if found and " " not in subject else (name, reason)


def _judged(analysis: AnalysisResult) -> Iterable[tuple[str, Judged]]:
    """The parts with a verdict, by name: not best effort, not without a deadline; flows last."""
    for pcpu in analysis.pcpus:
        yield f"pcpu {pcpu.id}", pcpu
    yield from _judged_domains(analysis.domains)
    for flow in analysis.flows:
        yield f"flow {flow.name}", flow


def _judged_domains(domains: Iterable[DomainResult]) -> Iterable[tuple[str, Judged]]:
    for _, domain in _all_depths(domains):
        if is_best_effort(domain):
            continue
        for task in domain.tasks:
            if task.deadline_ns is not None:
                yield f"{domain.name}.{task.name}", task
        yield domain.name, domain


def _all_depths(
    domains: Iterable[DomainResult], depth: int = 0
) -> Iterable[tuple[int, DomainResult]]:
    """Domains and those inside them, outer ones first, with how deep they are."""
    for domain in domains:
        yield depth, domain
        yield from _all_depths(domain.domains, depth + 1)


def _served(domains: Iterable[DomainResult]) -> Iterable[DomainResult | VcpuResult]:
    """Returns what has a row: domains of all depths, or their vcpus where these may differ."""
    for _, domain in _all_depths(domains):
        # Where jobs move it is the domain as a whole that is tested.
        yield from (domain,) if domain.tests else domain.each_vcpu or (domain,)


def _pcpu_verdicts(pcpus: Sequence[PcpuResult]) -> Table:
    papers = any(pcpu.paper for pcpu in pcpus)
    theirs = words("the paper says", rank=2) if papers else []
    columns = [*words("pcpu", "test", "schedulable"), *theirs, *numbers("bandwidth")]
    table = Table("pcpus", columns)
    for pcpu in pcpus:
        table.add_row(
            str(pcpu.id),
            pcpu.test,
            verdict_text(pcpu.schedulable),
            *([_paper_text(pcpu.paper)] if papers else []),
            share_text(pcpu.bandwidth),
        )
    return table


def _paper_text(paper: PaperResult | None) -> str:
    """Returns what a paper's own test says; it never counts, it is shown for comparison."""
    if paper is None:
        return NO_VALUE
    return verdict_text(paper.schedulable, f" ({paper.theorem})")


def _domain_verdicts(domains: Sequence[DomainResult]) -> Table:
    tabled = any(one.blackout_ns is not None for one in domains)
    columns = [
        *words("domain"),
        *words("interface", rank=1),
        *words("schedulable"),
        *numbers("bandwidth", "utilization", "overhead", *["blackout"] * tabled, rank=2),
    ]
    table = Table("domains", columns)
    for depth, domain in _all_depths(domains):
        interface = domain.interface
        text = interface_text(interface, domain.vcpus)
        if domain.each_vcpu and interface is None:
            text = f"{domain.vcpus} vcpus"
        elif interface is None and not is_best_effort(domain):
            text = "none"
        blackout = [time_text(domain.blackout_ns)] * tabled
        table.add_row("  " * depth + domain.name, text, *_domain_cells(domain), *blackout)
        for vcpu in domain.each_vcpu:
            text = interface_text(vcpu.interface) if _has_interface(vcpu) else "none"
            home = "" if vcpu.pcpu is None else f" on pcpu {vcpu.pcpu}"
            table.add_row(f"  {vcpu.name}", f"{text}{home}", *_domain_cells(vcpu))
    return table


def _has_interface(one: DomainResult | VcpuResult) -> bool:
    return one.interface is not None or is_best_effort(one)


def _domain_cells(one: DomainResult | VcpuResult) -> Sequence[Cell]:
    """Returns the cells of a domain, or of a vcpu by itself, beside its interface."""
    bandwidth = one.interface.bandwidth if one.interface else None
    if bandwidth is None and one.interface_overhead is not None and not is_best_effort(one):
        bandwidth = one.utilization + one.interface_overhead
    return (
        NO_VALUE if is_best_effort(one) else verdict_text(one.schedulable),
        share_text(bandwidth),
        share_text(one.utilization),
        share_text(one.interface_overhead),
    )


def _task_verdicts(domains: Iterable[DomainResult]) -> Table:
    columns = [*words("domain", "task", "schedulable"), *numbers("deadline", "response bound")]
    table = Table("tasks", columns)
    for _, domain in _all_depths(domains):
        for task in domain.tasks:
            due = task.deadline_ns is not None
            table.add_row(
                domain.name,
                task.name,
                verdict_text(task.schedulable) if due else NO_VALUE,
                time_text(task.deadline_ns),
                time_text(task.response_bound_ns),
            )
    return table


def _flow_verdicts(flows: Sequence[FlowResult]) -> Table:
    papers = any(flow.paper for flow in flows)
    closed = any(flow.throughput_bound_hz is not ABSENT for flow in flows)
    columns = [
        *words("flow"),
        Column("path", rank=1, folds=36),
        *words("schedulable"),
        *(words("the paper says", rank=3) if papers else []),
        *numbers("deadline", "response bound"),
        *(numbers("least per second", rank=2) if closed else []),
    ]
    table = Table("flows", columns)
    for flow in flows:
        theirs = verdict_text(flow.paper.schedulable) if flow.paper else NO_VALUE
        table.add_row(
            flow.name,
            " > ".join(f"{hop.domain}.{hop.task}" for hop in flow.hops),
            verdict_text(flow.schedulable),
            *([theirs] if papers else []),
            time_text(flow.deadline_ns),
            time_text(flow.response_bound_ns),
            *([rate_text(flow.throughput_bound_hz or None)] if closed else []),
        )
    return table


def _domain_sensitivities(domains: Iterable[DomainResult]) -> Table:
    columns = [*words("domain"), *numbers("least budget", "to spare", "all work may grow to")]
    table = Table("what could be spared", columns)
    for one in _served(domains):
        found = one.sensitivity
        computed = one.minimal_budget is not None or one.algorithm1 is not None
        table.add_row(
            one.name,
            time_text(found.least_budget_ns if found else None),
            "computed as least"
            if computed
            else time_text(found.spare_budget_ns if found else None),
            share_text(found.wcet_factor if found else None),
        )
    return table


def _task_sensitivities(domains: Iterable[DomainResult]) -> Table:
    figures = numbers("largest wcet", "more than now", "shortest deadline", "less than now")
    table = Table("how far tasks are from their edge", [*words("domain", "task"), *figures])
    for _, domain in _all_depths(domains):
        for task in domain.tasks:
            found = task.sensitivity
            table.add_row(
                domain.name,
                task.name,
                time_text(found.largest_wcet_ns if found else None),
                time_text(found.extra_wcet_ns if found else None),
                time_text(found.shortest_deadline_ns if found else None),
                time_text(found.slack_ns if found else None),
            )
    return table
