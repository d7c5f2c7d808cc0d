# SPDX-License-Identifier: BSD-2-Clause
"""A schedule as Linux would have written it: the text of ftrace, trace-cmd or perf of a trace.

It is for partitioned systems of which no job is released before the one before it has finished:
then jobs and wake-ups are the same. Tasks are threads from number 100 on, domains are processes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from hyperperiod.trace.compare import Trace
from hyperperiod.trace.format import NONE, Header, Kind
from hyperperiod.trace.interval_arrays import interval_arrays, merged
from hyperperiod.trace.jobs import jobs

FIRST_PID = 100
FORMS = ("ftrace", "ftrace with processes", "trace-cmd", "perf")


def as_ftrace(trace: Trace, form: str = "ftrace", digits: int = 6) -> str:
    """The text of a trace in one of FORMS, with times of so many decimals, rounded down."""
    header, records = trace
    finishes: dict[int, set[int]] = defaultdict(set)
    names = {(task["domain"], task["name"]): n for n, task in enumerate(header["tasks"])}
    events: list[tuple[int, int, int, int, int, bool]] = []
    for job in jobs(header, records):
        number = names[job.domain, job.task]
        events.append((job.release_ns, 0, 0, number, 0, False))
        if job.finish_ns is not None:
            finishes[number].add(job.finish_ns)
    for pcpu, found in enumerate(interval_arrays(header, records)):
        steps: list[tuple[int, int | None]] = [(0, None)]
        runs = merged(found, ("kind", "task"))
        for start_ns, kind, task in zip(
            runs["start_ns"].tolist(), runs["kind"].tolist(), runs["task"].tolist(), strict=True
        ):
            steps.append((start_ns, task if kind == Kind.RUN and task != NONE else None))
        for (_, before), (time_ns, after) in pairwise(steps):
            if before != after:
                sleeps = before is not None and time_ns in finishes[before]
                pair = (-1 if before is None else before, -1 if after is None else after)
                events.append((time_ns, 1, pcpu, *pair, sleeps))
    return "".join(_lines(header, sorted(events), form, digits))


def _lines(
    header: Header, events: list[tuple[int, int, int, int, int, bool]], form: str, digits: int
) -> Iterator[str]:
    if form != "perf":
        yield "cpus=2\n" if form == "trace-cmd" else "# tracer: nop\n#\n"
    running: dict[int, int] = defaultdict(lambda: -1)
    for time_ns, is_switch, cpu, first, second, sleeps in events:
        text = f"{time_ns // 10**9}.{time_ns % 10**9:09d}"[: digits - 9 or None]
        head = _head(header, running[cpu], cpu, text, form)
        if is_switch:
            running[cpu] = second
            state = "S" if sleeps else "R"
            before, after = (_thread(header, one, cpu) for one in (first, second))
            if form == "trace-cmd":
                said = f"{before[0]}:{before[1]} [49] {state} ==> {after[0]}:{after[1]} [49]"
            else:
                said = (
                    f"prev_comm={before[0]} prev_pid={before[1]} prev_prio=49 prev_state={state}"
                    f" ==> next_comm={after[0]} next_pid={after[1]} next_prio=49"
                )
            yield f"{head}sched_switch: {said}\n"
        else:
            name, pid = _thread(header, first, cpu)
            said = f"comm={name} pid={pid} prio=49 target_cpu={cpu:03d}"
            if form == "trace-cmd":
                said = f"{name}:{pid} [49] CPU:{cpu:03d}"
            yield f"{head}sched_wakeup: {said}\n"


def _head(header: Header, task: int, cpu: int, time: str, form: str) -> str:
    name, pid = _thread(header, task, cpu)
    domains = list(dict.fromkeys(one["domain"] for one in header["tasks"]))
    process = 0 if task < 0 else 10 + domains.index(header["tasks"][task]["domain"])
    return {
        "ftrace": f"{name:>16}-{pid:<7} [{cpu:03d}] d..2. {time}: ",
        "ftrace with processes": f"{name:>16}-{pid:<7} ({process or '-------':>7}) [{cpu:03d}]"
        f" d..2. {time}: ",
        "trace-cmd": f"{name:>16}-{pid:<7} [{cpu:03d}] {time}: ",
        "perf": f"{name:>16} {process:>5}/{pid:<5} [{cpu:03d}] {time}:  sched:",
    }[form]


def _thread(header: Header, task: int, cpu: int) -> tuple[str, int]:
    if task < 0:
        return (f"swapper/{cpu}" if cpu else "<idle>", 0)
    return header["tasks"][task]["name"], FIRST_PID + task
