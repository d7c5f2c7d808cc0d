# SPDX-License-Identifier: BSD-2-Clause
"""What a run came to: its verdict, and tables of tasks, flows, domains and pcpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hyperperiod.cli.styled import BAD, GOOD, OPEN, Styled
from hyperperiod.cli.table import Column, Table, numbers, words
from hyperperiod.cli.tables.cells import (
    NO_VALUE,
    count_text,
    interface_text,
    rate_text,
    share_text,
    time_text,
)
from hyperperiod.hosts.result import (
    OverrunsResult,
    Responses,
    RunCommand,
    RunDomain,
    RunFlow,
    RunPcpu,
    RunRecorded,
    RunResult,
    RunVcpu,
)
from hyperperiod.model.errors import some_names

_RESPONSE = ("min", "mean", "p50", "p99", "max")
# On a narrow screen the longest response stays, then the mean and the 99th percentile.
_RESPONSE_COLUMNS = [
    Column(key, right=True, rank=rank) for key, rank in zip(_RESPONSE, (6, 3, 5, 4, 1), strict=True)
]


def run_tables(result: RunResult) -> Iterable[Table]:
    """Responses of tasks and flows, what domains received, how busy pcpus were."""
    if any(task.command is None for task in result.tasks):
        yield _tasks(result.domains)
    if any(task.command is not None for task in result.tasks):
        yield _commands(result.domains, result.horizon_ns)
    if result.flows:
        yield _flows(result.flows)
    yield _domains(result.domains, result.horizon_ns)
    yield _pcpus(result.pcpus, result.horizon_ns)
    if result.overruns is not None:
        yield _overruns(result.overruns)


def recorded_lines(recorded: Sequence[RunRecorded]) -> Iterator[str]:
    """Says which tasks had recorded jobs, and how many of these are not as their model says."""
    if recorded:
        names = some_names([one.name for one in recorded if one.jobs])
        yield f"recorded jobs: of {names or 'no task'}"
    for one in recorded:
        counts = {
            "longer than its wcet": one.longer,
            "more than its period and jitter allow": one.more,
            "left out: not seen to end, or of a busy task or hop": one.left_out,
        }
        found = [f"{count} {what}" for what, count in counts.items() if count]
        if found:
            yield Styled(f"- {one.name}, {one.jobs} jobs: {', '.join(found)}", OPEN)


def _overruns(found: OverrunsResult) -> Table:
    columns = [
        *words("task", "hurt"),
        *numbers("misses", "without", rank=1),
        *numbers("max"),
        *numbers("max without", "bound"),
        *words("why", rank=2),
    ]
    table = Table("who was hurt by the overruns", columns)
    for one in found.entries:
        hurt = Styled("yes", BAD) if one.hurt else Styled("no", GOOD)
        table.add_row(
            one.name,
            "it overruns" if one.overruns else hurt,
            count_text(one.misses),
            str(one.misses_without),
            time_text(one.max_ns),
            time_text(one.max_without_ns),
            time_text(one.bound_ns),
            one.why,
        )
    return table


def _tasks(domains: Iterable[RunDomain]) -> Table:
    counts = [*numbers("jobs", rank=3), *numbers("misses", rank=1), *numbers("dmr", rank=2)]
    table = Table("responses", [*words("domain", "task"), *counts, *_RESPONSE_COLUMNS])
    for domain in domains:
        for task in domain.tasks:
            if task.command is not None:
                continue
            table.add_row(
                domain.name,
                task.name,
                str(task.jobs),
                count_text(task.misses),
                share_text(task.dmr),
                *_responses(task.response_ns),
            )
    return table


def _commands(domains: Iterable[RunDomain], horizon_ns: int) -> Table:
    columns = [*words("domain", "task"), *numbers("ran", "share"), *words("ended")]
    table = Table("commands", columns)
    for domain in domains:
        for task in domain.tasks:
            if task.command is not None:
                table.add_row(
                    domain.name,
                    task.name,
                    time_text(task.command.ran_ns),
                    share_text(task.command.ran_ns / horizon_ns),
                    ending_text(task.command),
                )
    return table


def ending_text(command: RunCommand) -> str:
    """Returns how a command of a domain ended: with the run, or by itself, with its exit code."""
    if command.ended_ns is None:
        return "with the run"
    return f"by itself after {time_text(command.ended_ns)}, exit code {command.exit_code}"


def _flows(flows: Iterable[RunFlow]) -> Table:
    counts = [
        *numbers("items", "per second", rank=3),
        *numbers("dropped", "misses", rank=1),
        *numbers("dmr", rank=2),
    ]
    table = Table("flows", [*words("flow"), *counts, *_RESPONSE_COLUMNS])
    for flow in flows:
        table.add_row(
            flow.name,
            str(flow.items),
            rate_text(flow.throughput_hz),
            count_text(flow.dropped),
            count_text(flow.misses),
            share_text(flow.dmr),
            *_responses(flow.response_ns),
        )
    return table


def _responses(found: Responses | None) -> Iterable[str]:
    return (time_text(getattr(found, key, None)) for key in _RESPONSE)


def _domains(domains: Iterable[RunDomain], horizon_ns: int) -> Table:
    columns = [*words("domain"), *words("interface", rank=1), *numbers("supply", "donated to it")]
    columns += [*numbers("short", rank=1), *numbers("least", "latest", rank=2)]
    table = Table("domains", columns)
    for domain in domains:
        interface = interface_text(domain.interface, domain.vcpus)
        table.add_row(
            domain.name,
            f"{domain.vcpus} vcpus" if domain.each_vcpu else interface,
            *_supply(domain, horizon_ns),
        )
        for vcpu in domain.each_vcpu:
            table.add_row(
                f"  {vcpu.name}", interface_text(vcpu.interface), *_supply(vcpu, horizon_ns)
            )
    return table


def _supply(given: RunDomain | RunVcpu, horizon_ns: int) -> Iterable[str]:
    """Cells of what a domain or vcpu was given, and whether it got its budget each period."""
    yield share_text(given.supply_ns / horizon_ns)
    yield share_text(given.donated_ns / horizon_ns)
    if given.periods is None:
        yield from (NO_VALUE, NO_VALUE, NO_VALUE)
        return
    short = f"{given.periods.short} of {given.periods.wanted}"
    yield Styled(short, BAD) if given.periods.short else short
    yield time_text(given.periods.least_supply_ns)
    yield time_text(given.periods.latest_ns)


def _pcpus(pcpus: Iterable[RunPcpu], horizon_ns: int) -> Table:
    listed = list(pcpus)
    steals = any(pcpu.stolen_ns is not None for pcpu in listed)
    shares = ("busy", "stolen", "idle") if steals else ("busy", "idle")
    table = Table("pcpus", [*words("pcpu"), *numbers(*shares, "switches", "picks")])
    for pcpu in listed:
        stolen = [] if pcpu.stolen_ns is None else [share_text(pcpu.stolen_ns / horizon_ns)]
        table.add_row(
            str(pcpu.id),
            share_text(pcpu.busy_ns / horizon_ns),
            *stolen,
            share_text(pcpu.idle_ns / horizon_ns),
            str(pcpu.switches),
            str(pcpu.picks),
        )
    return table


def misses_text(result: RunResult) -> Styled:
    """Returns how many deadlines a run missed, in words and with a colour."""
    good = GOOD if result.is_judged else OPEN
    return Styled(result.outcome, good if result.is_well else BAD)
