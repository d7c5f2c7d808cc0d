# SPDX-License-Identifier: BSD-2-Clause
"""What `observe` says to people, made from the object that `--json` prints."""

from __future__ import annotations

from collections.abc import Iterator

from hyperperiod.cli.styled import OPEN, Styled
from hyperperiod.cli.table import Column, Table, numbers, words
from hyperperiod.cli.tables.cells import NO_VALUE, share_text, time_text
from hyperperiod.model.errors import some_names
from hyperperiod.model.units import format_time
from hyperperiod.observe.result import ObservationResult, ObservedThread


def observation_lines(result: ObservationResult) -> Iterator[str | Table]:
    """The trace in a sentence, what is wrong with it, and tables of threads and cpus."""
    tasks = sum(one.task is not None for one in result.threads)
    yield (
        f"{result.trace}: {format_time(result.span_ns)} on {len(result.cpus)} cpus,"
        f" {tasks} tasks of {len(result.threads)} {_what(result)}; measured, not proved"
    )
    for note in _notes(result):
        yield f"- {note}"
    often = [one for one in result.threads if one.kind != "rare"]
    if often:
        yield _threads(often, result)
    if not result.executors:
        yield _cpus(result)
    rare = [
        f"{one.name} ({one.activations})"
        for one in result.threads
        if one.kind == "rare" and one.activations
    ]
    if rare:
        yield f"fewer than {result.least} activations: {some_names(rare)}"
    if result.ended_early:
        yield f"ended with fewer: {result.ended_early} threads"


def _what(result: ObservationResult) -> str:
    return "callbacks" if result.executors else "threads"


def _notes(result: ObservationResult) -> Iterator[str]:
    """Yields what times are in if that was asked for, and what makes the trace less than whole."""
    if result.counter_hz is not None:
        yield f"times are ticks of a counter of {result.counter_hz:,} Hz, as --cpu-hz says"
    if result.first_damaged is not None:
        first = result.first_damaged
        yield f"{result.damaged} damaged lines; line {first.line} is the first: {first.text}"
    if result.cut:
        yield "the file is cut off: its last line or record has no end, or what is packed has none"
    if result.damaged_from is not None:
        yield f"the file is damaged from byte {result.damaged_from} on: nothing of that was read"
    if result.overwritten:
        yield f"{result.overwritten} events before it were overwritten: a larger buffer helps"
    if result.gaps:
        yield (
            f"events were lost {result.gaps} times ({result.lost} or more events): jobs around that"
            " do not count"
        )
    if result.backward:
        yield f"time goes back {result.backward} times: jobs around that do not count"
    if result.other_machines:
        yield f"{result.other_machines} packets of other machines were passed over"
    if not result.flags:
        yield "without flags of interrupts, who woke a thread may be whom an interrupt interrupted"


def _threads(threads: list[ObservedThread], result: ObservationResult) -> Table:
    what, margin = _what(result), result.margin
    columns = [
        *words(what.removesuffix("s"), "kind"),
        *numbers("jobs", rank=2),
        *numbers("period", "jitter"),
        *numbers("mean", "p99", rank=4),
        *numbers("longest"),
        *numbers("response", rank=3),
        Column("woken by", rank=3, folds=16),
        Column("task", folds=16),
    ]
    table = Table(f"{what}; wcet is the longest execution time and {100 * margin:g} %", columns)
    for one in threads:
        table.add_row(
            one.name,
            one.kind,
            str(one.jobs),
            NO_VALUE if one.period_ns is None else format_time(one.period_ns),
            format_time(one.jitter_ns) if one.fitted_period_ns is not None else NO_VALUE,
            *map(time_text, (one.cost_mean_ns, one.cost_p99_ns, one.cost_max_ns)),
            time_text(one.response_max_ns),
            _wakers(one),
            f"{one.domain}.{one.task}" if one.task else Styled(one.left_out, OPEN),
        )
    return table


def _wakers(one: ObservedThread) -> str:
    """Returns the chain that a thread is in, or who wakes it up most."""
    if one.chain:
        return " > ".join(one.chain[:-1])
    return one.woken_by[0].name if one.woken_by else NO_VALUE


def _cpus(result: ObservationResult) -> Table:
    table = Table("cpus", [*words("cpu"), *numbers("interrupts", "softirqs")])
    for one in result.cpus:
        shares = (
            ns / result.span_ns if result.span_ns else None
            for ns in (one.interrupts_ns, one.softirqs_ns)
        )
        table.add_row(str(one.cpu), *map(share_text, shares))
    return table
