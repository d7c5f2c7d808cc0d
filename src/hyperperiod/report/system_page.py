# SPDX-License-Identifier: BSD-2-Clause
"""The report of one system: what is guaranteed, what happened, and the schedule itself.

The verdict comes first: what the analysis says, what the run saw, and where the two meet. Then
come the interfaces, the tasks with observed and guaranteed response times, the pcpus, the
timeline, and the distribution of response times per task.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hyperperiod.analysis import Analysis
from hyperperiod.analysis.certificate import Certificate
from hyperperiod.analysis.result import AnalysisResult, DomainResult, PaperResult, VcpuResult
from hyperperiod.hosts import STOCK
from hyperperiod.hosts.result import Responses, RunDomain, RunFlow, RunPeriods, RunResult, RunVcpu
from hyperperiod.model import TABLE, System
from hyperperiod.report.charts import CdfChart, Series, cdf_chart, points_each
from hyperperiod.report.distribution import Distribution, Task
from hyperperiod.report.folding import fold
from hyperperiod.report.meter import Meter, Progress, silent
from hyperperiod.report.moments import PASSES, Seen, read_through
from hyperperiod.report.numbers import duration, times, whole
from hyperperiod.report.page import render
from hyperperiod.report.palette import color
from hyperperiod.report.playground import open_in_playground
from hyperperiod.report.timeline import first_view_ns, overview_of, timeline
from hyperperiod.report.windows import Chosen, choose
from hyperperiod.runs import policy_verdicts
from hyperperiod.trace.format import is_interrupted, read

NAMED: Final = 6
"""How many tasks a sentence names."""

_VERDICTS: Final = {
    True: ("good", "schedulable"),
    False: ("bad", "not schedulable"),
    None: ("open", "not decided"),
}


@dataclass(frozen=True)
class Statement:
    """One statement with its tone: good, bad or open."""

    tone: str
    title: str
    text: str
    why: str = ""


@dataclass(frozen=True)
class TaskRow:
    """One task: what is guaranteed and what was seen."""

    domain: str
    name: str
    color: str
    kind: str
    period_ns: int | None
    wcet_ns: int | None
    deadline_ns: int | None
    bound_ns: float | None
    schedulable: bool | None
    jobs: int
    misses: int
    dmr: float | None
    response: Responses | None

    @property
    def trouble(self) -> float:
        """The rank of the row among those to be seen first: misses, open verdicts, closeness."""
        not_guaranteed = self.deadline_ns is not None and self.schedulable is not True
        return (self.dmr or 0) * 1e6 + not_guaranteed * 10 + (self.longest_share or 0)

    @property
    def longest_share(self) -> float | None:
        """The longest response as a share of the deadline, None if no job finished."""
        return self.share(self.response.max) if self.response else None

    def share(self, time_ns: float | None) -> float | None:
        """A time as a share of the deadline, at most 1.5, for the bar in the table."""
        if time_ns is None or not self.deadline_ns:
            return None
        return min(1.5, time_ns / self.deadline_ns)


@dataclass(frozen=True)
class DomainRow:
    """One domain, or one vcpu of it: its interface and what it received."""

    name: str
    color: str
    scheduler: str
    vcpus: int
    best_effort: bool
    period_ns: float | None
    budget_ns: float | None
    bandwidth: float | None
    utilization: float | None
    overhead: float | None
    schedulable: bool | None
    reason: str
    supply: float | None
    donated: float | None
    periods: RunPeriods | None

    @property
    def trouble(self) -> float:
        """The rank of the row among those to be seen first: what is not guaranteed leads."""
        return 0.0 if self.best_effort else float(self.schedulable is not True)


@dataclass(frozen=True)
class CommandRow:
    """One command: what it was given, and how it ended; `ended_ns` is None if with the run."""

    name: str
    command: str
    ran_ns: int
    share: float
    ended_ns: int | None
    exit_code: int | None


@dataclass(frozen=True)
class FlowRow:
    """One flow: what is guaranteed and what was seen."""

    name: str
    hops: Sequence[str]
    schedulable: bool | None
    reason: str
    deadline_ns: int | None
    bound_ns: int | None
    came: int
    per_second: float | None
    dropped: int
    misses: int
    dmr: float | None
    response: Responses | None


@dataclass(frozen=True)
class PcpuRow:
    """One pcpu: what its servers are guaranteed and how it was used.

    `stolen` is None where no time of the system was or could be stolen.
    """

    id: int
    bandwidth: float
    test: str
    reason: str
    paper: PaperResult | None
    schedulable: bool | None
    busy: float
    stolen: float | None
    idle: float
    switches: int
    picks: int


def write_report(
    path: Path,
    system: System,
    analysis: AnalysisResult,
    result: RunResult,
    trace_path: Path | None,
    progress: Progress = silent,
    certificate: Certificate | None = None,
) -> None:
    """Write the report of one run to `path`; without a trace it has no timeline and no charts.

    `progress` is called with the records read so far and all to read, which takes most of the time
    of a long trace. The page says what of the system a certificate covers, where there is one, and
    leads to the playground, which is put beside it (`open_in_playground`), but not for recorded
    jobs, which are no part of the system.
    """
    if any(one.departs for one in result.recorded):
        analysis = _without_bounds(analysis)
    colors = {domain.name: color(index) for index, domain in enumerate(system.domains)}
    domains = domain_rows(system, analysis, result, colors)
    task_lines = task_rows(system, analysis, result, colors)
    tasks = fold(task_lines, [row.trouble for row in task_lines])
    flow_lines = flow_rows(system, analysis, result)
    flows = fold(flow_lines, [row.misses + row.dropped for row in flow_lines])
    # Typical responses lead into the timeline only where a row is seen at once: there may be many.
    seen = {(row.domain, row.name): row.response for row, hidden in tasks.pairs if not hidden}
    seen |= {("", row.name): row.response for row, hidden in flows.pairs if not hidden}
    read_trace = None if trace_path is None else _read_trace(trace_path, seen, progress)
    found = {} if read_trace is None else read_trace.responses
    chosen = None if read_trace is None else read_trace.chosen
    cut = result.interrupted or not (read_trace is None or read_trace.complete)
    pcpus = pcpu_rows(analysis, result)
    charts = _charts(found, system, analysis, colors)
    own = result.host in STOCK
    render(
        path,
        "system.html.j2",
        title=system.name,
        system=system,
        result=result,
        rules="" if own else _rules(system),
        policies=result.policy if own else system.policies_text(result.horizon_ns),
        verdicts=[*verdicts(system, analysis, result), *_certificate_verdict(certificate)],
        spare=analysis.spare,
        domains=fold(domains, [row.trouble for row in domains]),
        tasks=tasks,
        flows=flows,
        commands=command_rows(system, result),
        pcpus=fold(pcpus, [row.schedulable is not True for row in pcpus]),
        playground=open_in_playground(path, None if result.recorded else system, result.seed),
        steals=any(row.stolen is not None for row in pcpus),
        overheads=_overheads(system),
        data=None if read_trace is None else read_trace.data,
        shown_records=0 if chosen is None else sum(one.last - one.first for one in chosen.windows),
        windows=None if chosen is None else chosen.windows,
        headline=None if chosen is None else chosen.headline,
        links={} if chosen is None else chosen.links,
        charts=fold(charts, [chart.lines[0].largest for chart in charts]),
        interrupted=cut,
    )


@dataclass(frozen=True)
class ReadTrace:
    """The parts of a page that come from a trace."""

    data: Mapping[str, Any]
    chosen: Chosen
    responses: Mapping[Task, Distribution]
    complete: bool


def _read_trace(path: Path, seen: Seen, progress: Progress) -> ReadTrace:
    """All that the page shows of a trace, which is read in chunks, twice."""
    header, records = read(path)
    meter = Meter(progress, len(records) * PASSES)
    overview = overview_of(header, records)
    responses, moments = read_through(header, records, meter, seen, overview)
    chosen = choose(records, moments, first_view_ns(header))
    data = timeline(header, records, chosen, meter, overview.found() if overview else None)
    meter.finish()
    return ReadTrace(data, chosen, responses, not is_interrupted(header, records))


def verdicts(system: System, analysis: AnalysisResult, result: RunResult) -> list[Statement]:
    """Returns what the analysis proves, what the run saw, and whether they agree."""
    found = [_analysis_verdict(system, analysis), *_recorded_verdict(result), _run_verdict(result)]
    found += _supply_verdict(result)
    overruns = result.overruns
    if overruns is not None:
        tone = "bad" if any(one.hurt and not one.overruns for one in overruns.entries) else "good"
        text = f"{overruns.summary[0].upper()}{overruns.summary[1:]}."
        found.append(Statement(tone, "Overruns, of which the analysis knows nothing", text))
    return found


def _certificate_verdict(certificate: Certificate | None) -> Iterator[Statement]:
    """Returns what has evidence that hyperperiod-check checks; nothing without a certificate."""
    if certificate is None:
        return
    found = [f"{one.domain}: {one.why}" for one in certificate.not_certified]
    found += [f"{one.flow}: {one.why}" for one in certificate.flows if one.why is not None]
    proved = times(len(certificate.domains), "domain")
    if flows := sum(one.why is None for one in certificate.flows):
        proved += f" and {times(flows, 'flow')}"
    text = "A small program that is proved right checks it: hyperperiod-check SYSTEM CERTIFICATE."
    text += f" Not certified: {'; '.join(found)}." if found else ""
    tone = "good" if certificate.domains else "open"
    yield Statement(tone, f"Certificate: evidence for {proved}", text)


def _without_bounds(analysis: AnalysisResult) -> AnalysisResult:
    """The analysis of a system, without what it says of single tasks and flows."""
    domains = [
        domain.replace(
            schedulable=None,
            tasks=tuple(
                task.replace(response_bound_ns=None, schedulable=None) for task in domain.tasks
            ),
        )
        for domain in analysis.domains
    ]
    flows = [flow.replace(response_bound_ns=None, schedulable=None) for flow in analysis.flows]
    return analysis.replace(domains=tuple(domains), flows=tuple(flows))


def _recorded_verdict(result: RunResult) -> Iterator[Statement]:
    """Returns whether the analysis says anything about recorded jobs, if a run has some."""
    if not result.recorded:
        return
    names = f"Of {_listed([one.name for one in result.recorded])}."
    beyond = [
        f"{one.name}, {whole(one.longer)} longer than its wcet,"
        f" {whole(one.more)} more than its period and jitter allow"
        for one in result.recorded
        if one.departs
    ]
    if beyond:
        text = f"{names} Nothing is guaranteed for this run, and no bound is shown. Beyond the"
        text += f" limits: {'; '.join(beyond)}."
        yield Statement("open", "Recorded jobs: the analysis does not apply", text)
        return
    text = f"{names} All are within wcet, period and jitter: bounds hold that count on no phases."
    yield Statement("good", "Recorded jobs: within their limits", text)


def _supply_verdict(result: RunResult) -> Iterator[Statement]:
    """Returns whether servers got the budgets that they wanted; nothing without such periods."""
    wanted = sum(periods.wanted for _, periods in result.servers)
    short = [(name, periods) for name, periods in result.servers if periods.short]
    if not wanted:
        return
    if not short:
        text = f"{times(wanted, 'period')} in which a server had work for all of it; each got it."
        yield Statement("good", "Servers: every budget given", text)
        return
    missing = sum(periods.short for _, periods in short)
    text = (
        f"{times(missing, 'period')} of {whole(wanted)} ended before a budget that was wanted was"
    )
    text += f" given: {_listed([f'{name} {periods.short}' for name, periods in short])}."
    yield Statement("bad", f"Servers: {times(missing, 'budget')} short", text)


def _analysis_verdict(system: System, analysis: AnalysisResult) -> Statement:
    """The verdict on the whole, or where policies follow one another, on each by itself."""
    tone, word = _VERDICTS[analysis.schedulable]
    if system.swaps and analysis.schedulable is None:
        each = [
            f"{name}: {_VERDICTS[holds][1]}" for name, holds in policy_verdicts(Analysis(system))
        ]
        text = f"As the system starts, under each policy by itself: {'; '.join(each)}."
        title = f"Analysis: {word} under {system.policies_text()}"
        return Statement(tone, title, text, analysis.reason.rstrip("."))
    text = {
        True: _proved(analysis),
        False: "Not every deadline is guaranteed: some can be missed. The tables show where.",
        None: "No test decides this system: deadlines may or may not be missed.",
    }[analysis.schedulable]
    return Statement(tone, f"Analysis: {word}", text, analysis.reason.rstrip("."))


def _proved(analysis: AnalysisResult) -> str:
    """Returns what a verdict yes says, and of which tasks it says nothing."""
    if not analysis.is_judged:
        return "Every server gets its budget. No task with a server has a deadline: none judged."
    every = "Every other task" if analysis.not_judged else "Every task"
    proved = f"{every} meets every deadline, whatever the jobs within their limits do."
    left_out = _listed(analysis.not_judged)
    return proved + (
        f" Not judged, best effort or without a deadline: {left_out}." * bool(left_out)
    )


def _listed(names: Sequence[str]) -> str:
    """Returns the first of some names, and how many more there are."""
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])


def _run_verdict(result: RunResult) -> Statement:
    jobs = sum(task.jobs for task in result.tasks)
    misses = sum(task.misses for task in result.tasks)
    seconds = duration(result.horizon_ns)
    what = "Simulation" if result.host == "sim" else f"Run on {result.host}"
    if lost := _lost(result.flows):
        return Statement("bad", f"{what}: not every item in time", f"{lost} in {seconds}.")
    if misses == 0 and not result.is_judged:
        released = f"{times(jobs, 'job')} released in {seconds}" if jobs else "No job was released"
        return Statement(
            "open", f"{what}: no deadline judged", f"{released}; no deadline came due."
        )
    if misses == 0:
        text = f"{times(jobs, 'job')} released in {seconds}; not one was late."
        if result.not_judged:
            text += f" Not judged, since no deadline came due: {_listed(result.not_judged)}."
        return Statement("good", f"{what}: no deadline missed", text)
    late = [task for task in result.tasks if task.misses]
    share = f"{times(misses, 'job')} of {whole(jobs)} late"
    text = f"{share} in {seconds}, in {times(len(late), 'task')}."
    return Statement("bad", f"{what}: {times(misses, 'deadline')} missed", text)


def _lost(flows: Sequence[RunFlow]) -> str:
    """Returns in words how many items of flows were late or dropped; empty if none were."""
    late = sum(flow.misses for flow in flows)
    dropped = sum(flow.dropped for flow in flows)
    found = [f"{times(late, 'item')} late"] if late else []
    return ", ".join(found + ([f"{times(dropped, 'item')} dropped"] if dropped else []))


def domain_rows(
    system: System, analysis: AnalysisResult, result: RunResult, colors: Mapping[str, str]
) -> list[DomainRow]:
    """The interfaces, in the order of the file; vcpus that may differ stand below their domain."""
    rows: list[DomainRow] = []
    for domain, found, given in zip(system.domains, analysis.domains, result.domains, strict=True):
        inside = [(domain.name, str(domain.scheduler), domain.vcpus)]
        inside += [
            (f"· {name}", "" if keys.pcpu is None else f"pcpu {keys.pcpu}", 1)
            for name, keys in zip(domain.vcpu_names, domain.each_vcpu, strict=True)
        ]
        served = [domain.is_served, *(not keys.best_effort for keys in domain.each_vcpu)]
        said: list[DomainResult | VcpuResult] = [found, *found.each_vcpu]
        got: list[RunDomain | RunVcpu] = [given, *given.each_vcpu]
        rows += [
            DomainRow(
                name=name,
                color=colors[domain.name],
                scheduler=what,
                vcpus=vcpus,
                best_effort=not is_served,
                period_ns=one.interface.period_ns if one.interface else None,
                budget_ns=one.interface.budget_ns if one.interface else None,
                bandwidth=one.interface.bandwidth if one.interface else None,
                utilization=verdict.utilization or None,
                overhead=verdict.interface_overhead,
                schedulable=verdict.schedulable,
                reason=verdict.reason,
                supply=one.supply_ns / result.horizon_ns,
                donated=one.donated_ns / result.horizon_ns,
                periods=one.periods,
            )
            # Zip ends with what was said and what was given: only of the domain if all are alike.
            for (name, what, vcpus), is_served, verdict, one in zip(
                inside, served, said, got, strict=False
            )
        ]
    return rows


def task_rows(
    system: System, analysis: AnalysisResult, result: RunResult, colors: Mapping[str, str]
) -> list[TaskRow]:
    """Returns a row for each task, in the order of the file."""
    return [
        TaskRow(
            domain=domain.name,
            name=task.name,
            color=colors[domain.name],
            kind=str(task.kind),
            period_ns=task.period_ns,
            wcet_ns=task.wcet_ns,
            deadline_ns=task.deadline_ns,
            bound_ns=found.response_bound_ns,
            schedulable=found.schedulable,
            jobs=seen.jobs,
            misses=seen.misses,
            dmr=seen.dmr,
            response=seen.response_ns,
        )
        for domain, judged, given in zip(
            system.domains, analysis.domains, result.domains, strict=True
        )
        for task, found, seen in zip(domain.tasks, judged.tasks, given.tasks, strict=True)
    ]


def command_rows(system: System, result: RunResult) -> list[CommandRow]:
    """The tasks that are commands and were run as such, in the order of the file."""
    return [
        CommandRow(
            name=f"{domain.name} · {task.name}",
            command=shlex.join(task.command),
            ran_ns=seen.command.ran_ns,
            share=seen.command.ran_ns / result.horizon_ns,
            ended_ns=seen.command.ended_ns,
            exit_code=seen.command.exit_code,
        )
        for domain, given in zip(system.domains, result.domains, strict=True)
        for task, seen in zip(domain.tasks, given.tasks, strict=True)
        if task.command is not None and seen.command is not None
    ]


def flow_rows(system: System, analysis: AnalysisResult, result: RunResult) -> list[FlowRow]:
    """The flows, in the order of the file: what is guaranteed and what was seen."""
    return [
        FlowRow(
            name=flow.name,
            hops=flow.hops,
            schedulable=found.schedulable,
            reason=found.reason,
            deadline_ns=flow.deadline_ns,
            bound_ns=found.response_bound_ns,
            came=seen.items,
            per_second=seen.throughput_hz,
            dropped=seen.dropped,
            misses=seen.misses,
            dmr=seen.dmr,
            response=seen.response_ns,
        )
        for flow, found, seen in zip(system.flows, analysis.flows, result.flows, strict=True)
    ]


def pcpu_rows(analysis: AnalysisResult, result: RunResult) -> list[PcpuRow]:
    """A row for each pcpu: whether its servers get their budgets, and its use in the run."""
    return [
        PcpuRow(
            id=used.id,
            bandwidth=found.bandwidth,
            test=found.test,
            reason=found.reason,
            paper=found.paper,
            schedulable=found.schedulable,
            busy=used.busy_ns / result.horizon_ns,
            stolen=None if used.stolen_ns is None else used.stolen_ns / result.horizon_ns,
            idle=used.idle_ns / result.horizon_ns,
            switches=used.switches,
            picks=used.picks,
        )
        for found, used in zip(analysis.pcpus, result.pcpus, strict=True)
    ]


def _charts(
    found: Mapping[Task, Distribution],
    system: System,
    analysis: AnalysisResult,
    colors: Mapping[str, str],
) -> list[CdfChart]:
    """One distribution per task with a deadline and at least one finished job."""
    bounds = {
        (domain.name, task.name): task.response_bound_ns
        for domain in analysis.domains
        for task in domain.tasks
    }
    deadlines_ns = {
        (domain.name, task.name): task.deadline_ns
        for domain in system.domains
        for task in domain.tasks
    }
    charts = []
    for key, one in found.items():
        bound_ns, deadline_ns = bounds.get(key), deadlines_ns.get(key)
        bound = bound_ns / deadline_ns if bound_ns and deadline_ns else None
        series = [Series(" · ".join(key), one, colors[key[0]])]
        charts.append(cdf_chart(" · ".join(key), series, bound, points=points_each(len(found))))
    return charts


def _rules(system: System) -> str:
    """The policy by its rules; empty if it is called so anyway, has none, or is one of several."""
    policy = system.policy
    rules = f"{policy.budget} + {policy.order} + {policy.slack}, {policy.scope}"
    return "" if policy.name is None or policy == TABLE or system.swaps else f"= {rules}"


def _overheads(system: System) -> list[tuple[str, int]]:
    """The overheads that are not zero, by the name that files give them."""
    values = vars(system.overheads).items()
    return [(name.removesuffix("_ns").replace("_", " "), cost) for name, cost in values if cost]
