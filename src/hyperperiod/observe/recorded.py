# SPDX-License-Identifier: BSD-2-Clause
"""Reads what tasks did from our own traces, where jobs need not be guessed: the trace has them."""

from __future__ import annotations

import numpy as np

from hyperperiod.observe.jobs import Job, Thread
from hyperperiod.trace.format import NONE, Header, Kind, Records
from hyperperiod.trace.interval_arrays import interval_arrays
from hyperperiod.trace.jobs import jobs


def recorded_threads(header: Header, records: Records, *, keeps: bool) -> list[Thread]:
    """Returns the tasks of a trace as threads, whose processes are the domains, from 1 on.

    With `keeps` they keep their jobs.
    """
    domains = {name: number for number, name in enumerate(domain_names(header), 1)}
    threads: dict[tuple[str, str], Thread] = {}
    for number, task in enumerate(header["tasks"]):
        thread = threads[task["domain"], task["name"]] = Thread(number, task["name"], keeps=keeps)
        thread.process = domains[task["domain"]]
    each = list(threads.values())
    for pcpu, found in enumerate(interval_arrays(header, records)):
        for task in np.unique(found["task"][found["kind"] == Kind.RUN]).tolist():
            if task != NONE:
                each[task].cpus.add(pcpu)
    for one in jobs(header, records):
        thread = threads[one.domain, one.task]
        if one.finish_ns is None:
            thread.partial += 1
        else:
            thread.add(Job(one.release_ns, one.ran_ns, one.finish_ns))
    return each


def domain_names(header: Header) -> list[str]:
    """Returns the domains of a trace that have tasks, in the order of the file."""
    return list(dict.fromkeys(task["domain"] for task in header["tasks"]))
