# SPDX-License-Identifier: BSD-2-Clause
"""The result of a run: one object, the same whatever the host.

A host counts; this module says in which words. `jobs` were released before the horizon, `misses`
finished after their deadline or were unfinished with the deadline at or before the horizon, and
`dmr` is misses / jobs whose deadline is at or before the horizon, null where there is none.
Response times are null until a job has finished. Their least, mean and greatest are exact (the
mean of the exact sum, to the nearest nanosecond, halves up), their percentiles are nearest-rank
and off by at most `response_error` of themselves.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hyperperiod.hosts import STOCK
from hyperperiod.model import Budget, Domain, InputError, System
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.units import format_time
from hyperperiod.model.vcpus import InterfaceResult, interface_of_vcpu, interface_result
from hyperperiod.tabular import Row, Tabular

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NS_PER_S = 1_000_000_000


Histogram = tuple[tuple[int, int, int], ...]
"""Response times in classes: (lowest, highest, how many)."""

EveryResponse = tuple[int, ...]
"""Each response time in nanoseconds, in the order in which jobs or items finished."""


class Responses(ResultObject):
    """Response times in nanoseconds."""

    min: int
    mean: int
    p50: int
    p99: int
    max: int


class RunCommand(ResultObject):
    """What a command came to: its processes ran for `ran_ns`, by the record of the scheduler.

    It ended by itself at `ended_ns`, with `exit_code` as shells have it; both are null if it was
    ended with the run.
    """

    ran_ns: int
    ended_ns: int | None
    exit_code: int | None


class RunTask(ResultObject):
    """What the jobs of one task came to; `command` is there if it is one, and has no jobs then."""

    name: str
    jobs: int
    misses: int
    dmr: float | None
    response_ns: Responses | None
    histogram: Histogram | None = None
    responses_ns: EveryResponse | None = None
    command: RunCommand | None = None


class RunFlow(ResultObject):
    """What the items of one flow came to: `misses` are among those that were not dropped.

    `throughput_hz` is `finished` per second of the run.
    """

    name: str
    items: int
    dropped: int
    finished: int
    throughput_hz: float | None
    misses: int
    dmr: float | None
    response_ns: Responses | None
    histogram: Histogram | None = None
    responses_ns: EveryResponse | None = None


class RunPeriods(ResultObject):
    """Whether servers got their budgets, of the periods in which they wanted all of it.

    A server did if it had work from the beginning of the period until its budget was used up, or
    until the end. Of these `wanted` periods so many were `short`: some of the budget was left at
    the end. `least_supply_ns` is the least of a budget that one got by the end, `latest_ns` how
    long after its beginning a budget was used up at the latest; both are null if there is none.
    """

    wanted: int
    short: int
    least_supply_ns: int | None
    latest_ns: int | None


class RunVcpu(ResultObject):
    """What one vcpu was given: of `supply_ns`, `donated_ns` was not paid by its own server.

    `periods` is there if it has a server, and not one of the sporadic rule, whose budget has none.
    """

    name: str
    interface: InterfaceResult | None
    supply_ns: int
    donated_ns: int
    periods: RunPeriods | None = None


class RunDomain(ResultObject):
    """What a domain was given: of `supply_ns`, `donated_ns` was not paid by its own servers.

    `periods` are those of all its vcpus, there if any has some. `each_vcpu` is there if its vcpus
    may differ. `guest_migrations` is there if its jobs move: how often one went on on another vcpu.
    """

    name: str
    vcpus: int
    interface: InterfaceResult | None
    supply_ns: int
    donated_ns: int
    tasks: tuple[RunTask, ...]
    periods: RunPeriods | None = None
    each_vcpu: tuple[RunVcpu, ...] = ()
    guest_migrations: int | None = None


class RunPcpu(ResultObject):
    """What a pcpu did; `stolen_ns` is there if the system has stolen time, or any was stolen."""

    id: int
    busy_ns: int
    idle_ns: int
    switches: int
    picks: int
    preemptions: int
    migrations: int
    stolen_ns: int | None = None


class OverrunEffect(ResultObject):
    """What the overruns of a system did to one task or flow.

    `overruns` says whether it is one that overruns, `hurt` whether it missed more than without any
    overruns or was above its bound, and `why` how they could reach it. `misses` of a flow are items
    late or dropped; times are the worst responses.
    """

    name: str
    overruns: bool
    hurt: bool
    misses: int
    misses_without: int
    max_ns: int | None
    max_without_ns: int | None
    bound_ns: int | None
    why: str = ""


class OverrunsResult(ResultObject):
    """Who was hurt by the overruns of a system: in a sentence, and task by task, then flows."""

    summary: str
    entries: tuple[OverrunEffect, ...]


class CountedResult(ResultObject):
    """The overheads that interfaces were computed with, and what is proved of these.

    `source` says whose they are; `overheads` has those above zero (ns), `stolen_ns_per_s` how much
    of a second `[[stolen]]` tables take besides. `schedulable` is with all of that, `without` is
    without; `not_proved` names tasks and flows.
    """

    source: str
    overheads: Mapping[str, int]
    stolen_ns_per_s: int
    schedulable: bool | None
    without: bool | None
    not_proved: tuple[str, ...]


class RunRecorded(ResultObject):
    """The jobs that a task had of a file of recorded ones before the end; `name` is `domain.task`.

    So many of them are `longer` than its wcet, so many `more` than its period and jitter allow: its
    bounds say nothing of these. `left_out` are rows of jobs that were not seen to end, and all of
    busy tasks and hops, before the end or not.
    """

    name: str
    jobs: int
    left_out: int
    longer: int
    more: int

    @property
    def departs(self) -> bool:
        """Whether some of the jobs are not as the task's model says."""
        return self.longer > 0 or self.more > 0


class RunResult(ResultObject, Tabular):
    """A whole run; `horizon_ns` is what was reached, less than asked for if interrupted.

    `counted` is there if interfaces were computed for a machine that takes something for itself.
    `timing` is there, and "host", if times are those of a busy machine and not of the run alone;
    `flows` are there if the system has any, `overruns` if it has any and the run was not
    interrupted, `recorded` if tasks had recorded jobs.
    """

    system: str
    host: str
    policy: str
    horizon_ns: int
    seed: int | None
    interrupted: bool
    preemptions: int
    migrations: int
    response_error: float
    domains: tuple[RunDomain, ...]
    pcpus: tuple[RunPcpu, ...]
    flows: tuple[RunFlow, ...] = ()
    timing: str | None = None
    overruns: OverrunsResult | None = None
    counted: CountedResult | None = None
    recorded: tuple[RunRecorded, ...] = ()

    TABLES = ("tasks", "domains", "pcpus", "flows", "responses")

    @property
    def tasks(self) -> list[RunTask]:
        """The tasks of all domains."""
        return [task for domain in self.domains for task in domain.tasks]

    @property
    def entries(self) -> list[tuple[str, RunTask | RunFlow]]:
        """Tasks and flows by names that are theirs alone."""
        tasks = [
            (f"{domain.name}.{task.name}", task) for domain in self.domains for task in domain.tasks
        ]
        return [*tasks, *((f"flow {flow.name}", flow) for flow in self.flows)]

    @property
    def misses(self) -> int:
        """All missed deadlines, those of flows among them."""
        late = [one.misses for one in self.tasks] + [flow.misses for flow in self.flows]
        return sum(late)

    @property
    def dropped(self) -> int:
        """All items of flows that were dropped."""
        return sum(flow.dropped for flow in self.flows)

    @property
    def is_well(self) -> bool:
        """Whether nothing was late and nothing was dropped."""
        return self.misses == 0 and self.dropped == 0

    @property
    def not_judged(self) -> list[str]:
        """The tasks and flows of which no deadline came due, by name."""
        return [name for name, entry in self.entries if entry.dmr is None]

    @property
    def is_judged(self) -> bool:
        """Whether a deadline of any task or flow came due."""
        return any(entry.dmr is not None for _, entry in self.entries)

    @property
    def servers(self) -> list[tuple[str, RunPeriods]]:
        """The periods of servers by domain, or by `domain.vcpu` where vcpus may differ."""
        named: list[tuple[str, RunPeriods | None]] = []
        for domain in self.domains:
            each = [(f"{domain.name}.{one.name}", one.periods) for one in domain.each_vcpu]
            named += each or [(domain.name, domain.periods)]
        return [(name, periods) for name, periods in named if periods is not None]

    @property
    def outcome(self) -> str:
        """What was late or dropped, in words, or that nothing was judged."""
        found = [
            f"{count} {what}{'s' if count > 1 else ''} {how}"
            for count, what, how in (
                (self.misses, "deadline", "missed"),
                (self.dropped, "item", "dropped"),
            )
            if count
        ]
        if found or self.is_judged:
            return ", ".join(found) or "no deadline missed"
        released = any(task.jobs for task in self.tasks) or any(flow.items for flow in self.flows)
        return f"{'no deadline came due' if released else 'no job was released'}: none judged"

    @property
    def headline(self) -> str:
        seed = "" if self.seed is None else f", seed {self.seed}"
        run = f"{self.system} under {self.policy} on {self.host}"
        return f"{run}, {format_time(self.horizon_ns)}{seed}: {self.outcome}"

    def _rows(self, table: str) -> Iterator[Row]:
        match table:
            case "tasks":
                for domain in self.domains:
                    for task in domain.tasks:
                        yield {"domain": domain.name, "task": task.name, **_counted(task)}
            case "flows":
                yield from ({"flow": flow.name, **_counted(flow)} for flow in self.flows)
            case "domains":
                yield from map(_domain_row, self.domains)
            case "responses":
                for name, entry in self.entries:
                    yield from ({"of": name, "response_ns": one} for one in self._kept(entry))
            case _:
                for one in self.pcpus:
                    own = {name: count for name, count in vars(one).items() if name != "id"}
                    yield {"pcpu": one.id, **own}

    def _kept(self, entry: RunTask | RunFlow) -> EveryResponse:
        if entry.responses_ns is None:
            about = f"{self.system} under {self.policy}"
            allowed = "simulate(..., responses=True)"
            raise InputError(about, None, "responses", "a run that did not keep them", allowed)
        return entry.responses_ns

    def _draw(self, ax: Axes) -> None:
        """The responses of tasks and flows."""
        _draw_responses(ax, {"": [self]})


class ComparisonResult(ResultObject, Tabular):
    """Runs of one system side by side, up to the one that was interrupted.

    `sentences` say what lies between the simulator and the other hosts.
    """

    system: str
    interrupted: bool
    results: tuple[RunResult, ...]
    sentences: tuple[str, ...] = ()

    TABLES = RunResult.TABLES

    @property
    def headline(self) -> str:
        met = sum(one.is_well for one in self.results)
        return f"{self.system}: {met} of {len(self.results)} runs without a missed deadline"

    def _rows(self, table: str) -> Iterator[Row]:
        """Those of all runs, each with the policy, the host and the seed of its run."""
        for run in self.results:
            head = {"policy": run.policy, "host": run.host, "seed": run.seed}
            yield from ({**head, **row} for row in run.rows(table))

    def _draw(self, ax: Axes) -> None:
        """The responses of tasks and flows, those of runs that only differ in their seed as one."""
        series: dict[str, list[RunResult]] = {}
        for name, run in zip(series_names(self.results), self.results, strict=True):
            series.setdefault(name, []).append(run)
        _draw_responses(ax, series)


def _counted(one: RunTask | RunFlow) -> Row:
    """The counts of a task or flow; responses are called as in a sweep's tables of tasks."""
    left_out = ("name", "response_ns", "histogram", "responses_ns", "command")
    counts = {name: value for name, value in vars(one).items() if name not in left_out}
    names = ("min", "mean", "p50", "p99", "max")
    return counts | {f"{name}_ns": getattr(one.response_ns, name, None) for name in names}


def _domain_row(domain: RunDomain) -> Row:
    interface = domain.interface
    return {
        "domain": domain.name,
        "vcpus": domain.vcpus,
        "period_ns": interface.period_ns if interface else None,
        "budget_ns": interface.budget_ns if interface else None,
        "supply_ns": domain.supply_ns,
        "donated_ns": domain.donated_ns,
        **_period_columns(domain.periods),
    }


def _period_columns(periods: RunPeriods | None) -> Row:
    """Returns the counts of periods by column; None where there is nothing to count."""
    return {
        "wanted": getattr(periods, "wanted", None),
        "short": getattr(periods, "short", None),
        "least_supply_ns": getattr(periods, "least_supply_ns", None),
        "latest_ns": getattr(periods, "latest_ns", None),
    }


def _draw_responses(ax: Axes, series: Mapping[str, Sequence[RunResult]]) -> None:
    """Draws the responses of all tasks and flows in runs, those of one series as one."""
    from hyperperiod.plots import Span, draw_spans

    runs = next(iter(series.values()))
    names = [name for name, _ in runs[0].entries]
    spans: dict[str, list[Span | None]] = {}
    for name, same in series.items():
        each = zip(*([entry.response_ns for _, entry in run.entries] for run in same), strict=True)
        found = ([one for one in responses if one is not None] for responses in each)
        spans[name] = [
            Span(
                min(one.min for one in responses),
                max(one.max for one in responses),
                [one.mean for one in responses],
                [one.max for one in responses],
            )
            if responses
            else None
            for responses in found
        ]
    draw_spans(ax, names, spans)


@dataclass(frozen=True, kw_only=True)
class ResponseCount:
    """What finished and what was late; `sum_ns` and on are None until something has finished."""

    finished: int
    misses: int
    due: int
    sum_ns: int | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    p50_ns: int | None = None
    p99_ns: int | None = None
    histogram: Histogram | None = None
    responses_ns: EveryResponse | None = None


@dataclass(frozen=True, kw_only=True)
class TaskCount(ResponseCount):
    """What a host counted of one task."""

    jobs: int
    command: RunCommand | None = None


@dataclass(frozen=True, kw_only=True)
class FlowCount(ResponseCount):
    """What a host counted of one flow: `items` came, of which `dropped` were not let in."""

    items: int
    dropped: int


class PeriodCount(NamedTuple):
    """What a host counted of periods (RunPeriods); the times are of no meaning if there is none."""

    wanted: int = 0
    short: int = 0
    least_supply_ns: int = 2**64 - 1
    latest_ns: int = 0

    def __or__(self, other: PeriodCount) -> PeriodCount:
        """Returns the count of both together."""
        return PeriodCount(
            self.wanted + other.wanted,
            self.short + other.short,
            min(self.least_supply_ns, other.least_supply_ns),
            max(self.latest_ns, other.latest_ns),
        )


class VcpuCount(NamedTuple):
    """What a host counted of one vcpu.

    `moved_here`: how often a job went on here that another vcpu had executed.
    """

    supply_ns: int
    donated_ns: int
    moved_here: int = 0
    periods: PeriodCount = PeriodCount()


class PcpuCount(NamedTuple):
    """What a host counted on one pcpu."""

    busy_ns: int
    switches: int
    picks: int
    preemptions: int
    migrations: int
    stolen_ns: int = 0


class Counts(NamedTuple):
    """All counts of a run, in file order, and where it ended."""

    host: str
    end_ns: int
    seed: int | None
    interrupted: bool
    response_error: float
    tasks: Sequence[TaskCount]
    vcpus: Sequence[VcpuCount]
    pcpus: Sequence[PcpuCount]
    flows: Sequence[FlowCount] = ()
    timing: str | None = None


def make_result(system: System, counts: Counts) -> RunResult:
    """The result object of a run of `system`, whose interfaces must be known."""
    tasks, vcpus = iter(counts.tasks), iter(counts.vcpus)
    steals = bool(system.stolen) or any(pcpu.stolen_ns for pcpu in counts.pcpus)
    policies = [system.policy, *(swap.policy for swap in system.swaps)]
    has_periods = any(policy.budget is not Budget.SPORADIC for policy in policies)
    domains = tuple(
        _domain(domain, tasks, [next(vcpus) for _ in range(domain.vcpus)], has_periods=has_periods)
        for domain in system.domains
    )
    return RunResult(
        system=system.name,
        host=counts.host,
        policy=str(system.policy),
        horizon_ns=counts.end_ns,
        seed=counts.seed,
        interrupted=counts.interrupted,
        preemptions=sum(pcpu.preemptions for pcpu in counts.pcpus),
        migrations=sum(pcpu.migrations for pcpu in counts.pcpus),
        response_error=counts.response_error,
        domains=domains,
        pcpus=tuple(
            _pcpu(number, pcpu, counts.end_ns, steals=steals)
            for number, pcpu in enumerate(counts.pcpus)
        ),
        flows=tuple(
            _flow(flow.name, count, counts.end_ns)
            for flow, count in zip(system.flows, counts.flows, strict=True)
        ),
        timing=counts.timing,
    )


def _domain(
    domain: Domain, tasks: Iterator[TaskCount], given: Sequence[VcpuCount], *, has_periods: bool
) -> RunDomain:
    names = zip(domain.vcpu_names, domain.each_vcpu, given, strict=True)
    served = [
        one.periods
        for keys, one in zip(domain.each_vcpu, given, strict=True)
        if has_periods and not keys.best_effort
    ]
    return RunDomain(
        name=domain.name,
        vcpus=domain.vcpus,
        interface=interface_result(domain),
        supply_ns=sum(one.supply_ns for one in given),
        donated_ns=sum(one.donated_ns for one in given),
        periods=_periods(served),
        tasks=tuple(_task(task.name, next(tasks)) for task in domain.tasks),
        each_vcpu=()
        if domain.is_plain
        else tuple(
            RunVcpu(
                name=name,
                interface=interface_of_vcpu(keys.interface),
                supply_ns=one.supply_ns,
                donated_ns=one.donated_ns,
                periods=_periods([one.periods] if has_periods and not keys.best_effort else []),
            )
            for name, keys, one in names
        ),
        guest_migrations=sum(one.moved_here for one in given)
        if domain.scheduler.is_global
        else None,
    )


def _periods(counts: Sequence[PeriodCount]) -> RunPeriods | None:
    """Returns the counts of servers as one; None of no server."""
    if not counts:
        return None
    found = functools.reduce(operator.or_, counts)
    return RunPeriods(
        wanted=found.wanted,
        short=found.short,
        least_supply_ns=found.least_supply_ns if found.wanted else None,
        latest_ns=found.latest_ns or None,
    )


def series_names(results: Sequence[RunResult]) -> list[str]:
    """What runs side by side are called: by policy, host and seed, by those of them that differ.

    By policy where nothing does. A host with a scheduler of its own says by its name which one that
    is.
    """
    hosts = len({result.host for result in results}) > 1
    policies = len({result.policy for result in results if result.host not in STOCK}) > 1
    seeds = len({result.seed for result in results}) > 1

    def name(result: RunResult) -> str:
        policy = result.policy if policies or not (hosts or seeds) else ""
        where = " on ".join(filter(None, (policy, result.host if hosts else "")))
        return ", ".join(filter(None, (where, f"seed {result.seed}" if seeds else "")))

    return [name(result) for result in results]


def _task(name: str, count: TaskCount) -> RunTask:
    return RunTask(
        name=name,
        jobs=count.jobs,
        misses=count.misses,
        dmr=_ratio(count),
        response_ns=_responses(count),
        histogram=count.histogram,
        responses_ns=count.responses_ns,
        command=count.command,
    )


def _flow(name: str, count: FlowCount, end_ns: int) -> RunFlow:
    return RunFlow(
        name=name,
        items=count.items,
        dropped=count.dropped,
        finished=count.finished,
        throughput_hz=count.finished * NS_PER_S / end_ns if end_ns else None,
        misses=count.misses,
        dmr=_ratio(count),
        response_ns=_responses(count),
        histogram=count.histogram,
        responses_ns=count.responses_ns,
    )


def _ratio(count: ResponseCount) -> float | None:
    return count.misses / count.due if count.due else None


def _responses(count: ResponseCount) -> Responses | None:
    if (
        count.sum_ns is None
        or count.min_ns is None
        or count.max_ns is None
        or count.p50_ns is None
        or count.p99_ns is None
    ):
        return None
    return Responses(
        min=count.min_ns,
        mean=(2 * count.sum_ns + count.finished) // (2 * count.finished),
        p50=count.p50_ns,
        p99=count.p99_ns,
        max=count.max_ns,
    )


def _pcpu(number: int, count: PcpuCount, end_ns: int, *, steals: bool) -> RunPcpu:
    stolen_ns = count.stolen_ns if steals else 0
    return RunPcpu(
        id=number,
        busy_ns=count.busy_ns,
        idle_ns=end_ns - count.busy_ns - stolen_ns,
        switches=count.switches,
        picks=count.picks,
        preemptions=count.preemptions,
        migrations=count.migrations,
        stolen_ns=stolen_ns if steals else None,
    )
