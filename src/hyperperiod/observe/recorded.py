# SPDX-License-Identifier: BSD-2-Clause
"""Reads what tasks did from our own traces, where jobs need not be guessed: the trace has them."""

from __future__ import annotations

from collections import Counter

from hyperperiod.observe.jobs import Job, Thread
from hyperperiod.trace.format import NONE, Header, Kind, Records
from hyperperiod.trace.interval_arrays import interval_arrays
from hyperperiod.trace.jobs import jobs


def recorded_threads(header: Header, records: Records) -> list[Thread]:
    """Returns the tasks of a trace as threads, whose processes are the domains, from 1 on."""
    domains = {name: number for number, name in enumerate(domain_names(header), 1)}
    threads: dict[tuple[str, str], Thread] = {}
    for number, task in enumerate(header["tasks"]):
        thread = threads[task["domain"], task["name"]] = Thread(number, task["name"])
        thread.process = domains[task["domain"]]
    each = list(threads.values())
    ran_ns: Counter[tuple[int, int]] = Counter()
    for pcpu, found in enumerate(interval_arrays(header, records)):
        runs = found[(found["kind"] == Kind.RUN) & (found["task"] != NONE)]
        lengths = (runs["end_ns"] - runs["start_ns"]).tolist()
        for task, job, length_ns in zip(
            runs["task"].tolist(), runs["job"].tolist(), lengths, strict=True
        ):
            ran_ns[task, job] += length_ns
            each[task].cpus.add(pcpu)
    for one in jobs(header, records):
        thread = threads[one.domain, one.task]
        if one.finish_ns is None:
            thread.partial += 1
        else:
            thread.add(Job(one.release_ns, ran_ns[thread.pid, one.job], one.finish_ns))
    return each


def domain_names(header: Header) -> list[str]:
    """Returns the domains of a trace that have tasks, in the order of the file."""
    return list(dict.fromkeys(task["domain"] for task in header["tasks"]))
