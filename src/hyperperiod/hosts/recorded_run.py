# SPDX-License-Identifier: BSD-2-Clause
"""One recorded run: what all hosts share that record first and count afterwards.

A host prepares a machine for a `RunRequest`, boots it, and reads what was recorded there, a
`RunRecording`. What it needs time for it tries again with more of it (`until_ready`). The decisions
that were recorded are made again by the core that is built here (`replay`). From then on nothing
knows which host it was: `result_of` merges decisions and jobs, writes the trace and counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from hyperperiod.hosts.counts import count_flows, count_pcpus, count_tasks, count_vcpus
from hyperperiod.hosts.header import make_header
from hyperperiod.hosts.merge import Draws, Jobs, jobs_of, lateness_ns, merge
from hyperperiod.hosts.replay import Replayed
from hyperperiod.hosts.result import Counts, RunCommand, RunResult, make_result
from hyperperiod.hosts.rings import Ring
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.hosts.watched import PATIENCE_S
from hyperperiod.model import FailedError, Overheads, Scheduler, System, tasks_of
from hyperperiod.trace.format import Header, Records, write_header, writing

LATE: Final = "the epoch has passed already"
"""What a guest or script says that was not ready when the run began."""

Try = TypeVar("Try")
Found = TypeVar("Found")


class LateError(FailedError):
    """What runs on the machine was not ready at the epoch."""


class RunRequest(NamedTuple):
    """A run that is wanted: of a system whose interfaces are known, from 0 to `horizon_ns`.

    `guarantees` says in the trace that the servers are guaranteed their budgets, so that its
    readers check that.
    """

    system: System
    horizon_ns: int
    seed: int = 1
    trace_path: Path | None = None
    guarantees: bool = False


@dataclass(frozen=True)
class RunOptions:
    """How to run, other than the system says.

    `folder` keeps the console's log. `icount`: the machine counts instructions, so that a run
    repeats exactly; None: wherever it can. `patience_s`: wall time (s) without a sign of life
    after which the machine counts as hung.
    """

    folder: Path | None = None
    icount: bool | None = None
    patience_s: float = PATIENCE_S


@dataclass(frozen=True)
class RunRecording:
    """What was recorded in a run.

    `decisions` has a ring for each lock domain, `guests` one for each domain, in file order.
    `files` is what else the run has left, by name.
    """

    decisions: Sequence[Ring]
    guests: Sequence[Ring]
    end_ns: int
    interrupted: bool
    icount: bool
    files: Mapping[str, bytes] = field(default_factory=dict)


class CallTime(NamedTuple):
    """How often a part of a scheduler ran, and for how long (ns) in all."""

    runs: int
    ns: int


class Complaints(NamedTuple):
    """How a console shows that a run cannot go on: `pattern` finds the lines that say so.

    `late` is who may not be ready at the epoch, `system` what runs the system, for messages.
    """

    pattern: re.Pattern[str]
    late: str
    system: str

    def require_none(self, console: str) -> None:
        """Raises LateError or FailedError if there are such lines.

        A line that is still being printed says nothing yet.
        """
        lines = [match[0] for match in self.pattern.finditer(console[: console.rfind("\n") + 1])]
        if any(LATE in line for line in lines):
            raise LateError(f"{self.late} was not ready at the epoch", "\n".join(lines))
        if lines:
            raise FailedError(f"{self.system} does not run this system", "\n".join(lines))


def until_ready(tries: Sequence[Try], attempt: Callable[[Try], Found]) -> Found:
    """Returns what the first attempt returns that is not too late; LateError if all are."""
    for one in tries[:-1]:
        try:
            return attempt(one)
        except LateError:
            continue
    return attempt(tries[-1])


def recorded_until(decisions: Iterable[Ring], horizon_ns: int) -> int:
    """Returns the instant up to which an interrupted run has records of all lock domains.

    Raises KeyboardInterrupt if there is nothing yet.
    """
    last = [int(ring.records["time_ns"][-1]) for ring in decisions if len(ring.records)]
    end_ns = min([horizon_ns, *last]) if last else 0
    if end_ns <= 0:
        raise KeyboardInterrupt
    return end_ns


def require_room(rings: Iterable[tuple[str, Ring]]) -> None:
    """FailedError for a ring, by the name of whose it is, that was full before the run ended."""
    for whose, ring in rings:
        if ring.lost:
            raise FailedError(f"the ring of {whose} is full; take a shorter horizon")


def recorded_jobs(request: RunRequest, recording: RunRecording) -> Jobs:
    """Returns the jobs that the guests recorded, and those that they had no time to record.

    When jobs and items are released is known as far as the draws say, whoever is first in a
    domain. A command has no jobs: what it does when, nobody says.
    """
    system, end_ns = request.system, recording.end_ns
    domains = tuple(domain.replace(scheduler=Scheduler.FIFO) for domain in system.domains)
    scenario = make_scenario(system.replace(domains=domains), end_ns, request.seed)
    drawn = Draws(
        [
            scenario.releases(placed.id, end_ns) if placed.task.command is None else ()
            for placed in tasks_of(system)
        ],
        (lambda flow, left: scenario.source_releases(flow, left, end_ns)) if system.flows else None,
    )
    return jobs_of(system, recording.guests, drawn, end_ns)


def result_of(
    host: str,
    request: RunRequest,
    recording: RunRecording,
    replayed: Sequence[Replayed],
    jobs: Jobs,
    allow: Callable[[Header], None],
    commands: Callable[[Sequence[int]], Mapping[int, RunCommand]] | None = None,
) -> tuple[RunResult, Records]:
    """Returns the result and the records of a run on a host; writes its trace.

    `allow` adds to the header of a trace what its reader must allow for on that machine, and
    `commands` says of each task that is a command what it came to, given what each vcpu got (ns).
    """
    system, end_ns = request.system, recording.end_ns
    records = merge(system, replayed, jobs, end_ns)
    if request.trace_path is not None:
        # The overheads of a file are the simulator's.
        plain = system.replace(overheads=Overheads())
        header = make_header(
            plain, host, request.horizon_ns, request.seed, guarantees=request.guarantees
        )
        header["lateness_ns"] = lateness_ns(replayed)
        if not recording.icount:
            header["timing"] = "host"
        allow(header)
        with writing(request.trace_path):
            write_header(request.trace_path, header)
            with request.trace_path.open("ab") as file:
                file.write(records.tobytes())
    tasks, vcpus = count_tasks(system, records, end_ns), count_vcpus(system, records, replayed)
    if commands is not None:
        came_to = commands([vcpu.supply_ns for vcpu in vcpus])
        tasks = [replace(task, command=came_to.get(at)) for at, task in enumerate(tasks)]
    picks = [count for part in replayed for count in part.picks(end_ns)]
    counts = Counts(
        host=host,
        end_ns=end_ns,
        seed=request.seed,
        interrupted=recording.interrupted,
        response_error=0.0,
        tasks=tasks,
        vcpus=vcpus,
        pcpus=count_pcpus(system, records, picks),
        flows=count_flows(system, records, end_ns),
        timing=None if recording.icount else "host",
    )
    return make_result(system, counts), records
