# SPDX-License-Identifier: BSD-2-Clause
"""Reads a file of jobs, which some tasks of a system then have in the place of their model's.

    domain,task,release_ns,ran_ns
    plant,valves,5000000,316000

There is a row for each job, those of a task by release; other columns are passed over. `trace jobs
--csv --ran` and `observe --jobs` write such files. Some rows are left out, and counted. Where the
column `finish_ns` is empty, the job was not seen to end, and nobody knows how long it would have
run. Busy tasks and hops of flows release no jobs by themselves: they go on as in the system.
Overruns would make jobs longer than they were recorded: a system with some is refused.

Bounds are about the model. So it is counted how many jobs ran longer than the task's wcet, and how
many came on top of those that its period and jitter allow: without these, no k + 1 of the others
would be released within less than k periods, less the jitter.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from hyperperiod.hosts.result import RunRecorded
from hyperperiod.model import InputError, System, Task, TaskKind, hops_of, tasks_of
from hyperperiod.model.errors import did_you_mean
from hyperperiod.model.load import require_readable
from hyperperiod.model.units import TIME_LIMIT_NS
from hyperperiod.whole_file import error_text

COLUMNS = ("domain", "task", "release_ns", "ran_ns")
ALLOWED = "a table of jobs: `trace jobs FILE.hpt --csv --ran` and `observe TRACE --jobs` write them"
_WHOLE = re.compile(r"[0-9]{1,19}")
_ENDLESS = 1 << 20
"""No line is longer: what is, has a field that is too long."""


class TaskJobs:
    """The jobs of one task: releases and execution times (ns), and how many rows were left out.

    Those of one that is not `releasing` are all left out, and it goes on as in the system.
    """

    def __init__(self, name: str, task: Task, *, releasing: bool) -> None:
        self.name = name
        self.task = task
        self.releasing = releasing
        self.releases_ns: list[int] = []
        self.ran_ns: list[int] = []
        self.left_out = 0

    def result(self, end_ns: int) -> RunRecorded:
        """Returns how many jobs are released before the end of a run, and how many of these are not
        as the task's model says."""
        jobs = bisect_left(self.releases_ns, end_ns)
        wcet_ns = self.task.wcet_ns or 0
        return RunRecorded(
            name=self.name,
            jobs=jobs,
            left_out=self.left_out,
            longer=sum(ran_ns > wcet_ns for ran_ns in self.ran_ns[:jobs]),
            more=self._more(jobs),
        )

    def _more(self, jobs: int) -> int:
        # What an event task waits for after a job, its jitter, can only keep releases apart.
        early_ns = 0 if self.task.kind is TaskKind.EVENT else self.task.jitter_ns
        more, grid_ns = 0, -TIME_LIMIT_NS
        for release_ns in self.releases_ns[:jobs]:
            if release_ns < grid_ns - early_ns:
                more += 1
            else:
                grid_ns = max(grid_ns, release_ns) + (self.task.period_ns or 0)
        return more


RecordedJobs = dict[int, TaskJobs]
"""The tasks of a file by their numbers among all of the system's; some may have no job."""


def read_jobs(name: str, system: System) -> RecordedJobs:
    """Returns the jobs that a file has for tasks of `system`; InputError if it is wrong, or the
    system has overruns."""
    if system.overruns:
        found = "overruns of a system that is given recorded jobs"
        raise InputError(system.name, None, "overrun", found, "none: jobs run as long as they did")
    require_readable(name, ALLOWED)
    try:
        with Path(name).open(encoding="utf-8-sig", newline="") as file:
            return _Reader(name, system).read(iter(partial(file.readline, _ENDLESS), ""))
    except OSError as error:
        raise InputError(name, None, "", error_text(error), ALLOWED) from None
    except UnicodeDecodeError:
        raise InputError(name, None, "", "bytes that are no UTF-8", ALLOWED) from None


class _Reader:
    def __init__(self, name: str, system: System) -> None:
        self.name = name
        self.hops = {hop for hops in hops_of(system) for hop in hops}
        placed = tasks_of(system)
        self.known = {(one.domain.name, one.task.name): one for one in placed}
        self.found: RecordedJobs = {}
        self.line = 1

    def read(self, lines: Iterable[str]) -> RecordedJobs:
        rows = csv.reader(lines, strict=True)
        try:
            titles = next(rows, [])
            places = [self._place(title, titles) for title in COLUMNS]
            finish = titles.index("finish_ns") if "finish_ns" in titles else None
            for row in rows:
                self.line = rows.line_num
                if len(row) != len(titles):
                    raise self._wrong("", f"{len(row)} fields", f"{len(titles)}, one per column")
                domain, task, release, ran = (row[place] for place in places)
                number = self._number(domain, task)
                if self.found[number].releasing and (finish is None or row[finish]):
                    self._add(self.found[number], release, ran)
                else:
                    self.found[number].left_out += 1
        except csv.Error as error:
            self.line = rows.line_num
            raise self._wrong("", str(error), "CSV, RFC 4180") from None
        if not self.found:
            raise self._wrong("", "no job", ALLOWED)
        return self.found

    def _place(self, title: str, titles: list[str]) -> int:
        if title not in titles:
            raise self._wrong("", f"no column {title}", f"columns {', '.join(COLUMNS)}")
        return titles.index(title)

    def _number(self, domain: str, task: str) -> int:
        placed = self.known.get((domain, task))
        if placed is None:
            names = [".".join(one) for one in self.known]
            name = f"{domain}.{task}"[:80]
            allowed = f"tasks of the system{did_you_mean(name, names)}"
            raise self._wrong("task", repr(name), allowed)
        if placed.id not in self.found:
            releasing = placed.id not in self.hops and placed.task.kind is not TaskKind.BUSY
            self.found[placed.id] = TaskJobs(f"{domain}.{task}", placed.task, releasing=releasing)
        return placed.id

    def _add(self, jobs: TaskJobs, release: str, ran: str) -> None:
        release_ns, ran_ns = (
            self._time_ns("release_ns", release, 0),
            self._time_ns("ran_ns", ran, 1),
        )
        if jobs.releases_ns and release_ns < jobs.releases_ns[-1]:
            allowed = f"{jobs.releases_ns[-1]} or later: the jobs of a task come by release"
            raise self._wrong("release_ns", release, allowed)
        jobs.releases_ns.append(release_ns)
        jobs.ran_ns.append(ran_ns)

    def _time_ns(self, column: str, text: str, least: int) -> int:
        if _WHOLE.fullmatch(text) and least <= int(text) < TIME_LIMIT_NS:
            return int(text)
        raise self._wrong(column, repr(text[:40]), f"whole nanoseconds, {least} to 2^62 - 1")

    def _wrong(self, column: str, found: str, allowed: str) -> InputError:
        return InputError(self.name, self.line, column, found, allowed)
