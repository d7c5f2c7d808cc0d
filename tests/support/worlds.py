# SPDX-License-Identifier: BSD-2-Clause
"""Small systems in a line each, and what a run of one did, in a form that reads like a drawing.

Times are nanoseconds; the systems here are so small that a nanosecond is a tick.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperperiod.hosts.result import RunDomain, RunFlow, RunResult, RunTask
from hyperperiod.model import Change, Domain, Flow, Interface, Swap, System, Task, parse_policy
from hyperperiod.runs import simulate
from hyperperiod.trace.format import NONE, Header, Kind, Records, read, server_name
from hyperperiod.trace.intervals import intervals
from hyperperiod.trace.jobs import Job, jobs


def task(name: str, period: int | None = None, wcet: int | None = None, **more: Any) -> Task:
    return Task.of({"name": name, "period": period, "wcet": wcet, **more})


def server(budget: int, period: int) -> Interface:
    return Interface(period_ns=period, budget_ns=budget)


def domain(name: str, given: tuple[int, int] | None, *tasks: Task, **more: Any) -> Domain:
    """A domain with a server of (budget, period), or a best-effort one."""
    own = {"best_effort": True} if given is None else {"interface": server(*given)}
    return Domain.of({"name": name, "task": tasks, **own, **more})


def swap(at: int, policy: str) -> Swap:
    return Swap(at_ns=at, policy=parse_policy(policy))


def change(at: int, name: str, given: tuple[int, int]) -> Change:
    return Change(at_ns=at, domain=name, interface=server(*given))


def system(policy: str, *domains: Domain, **more: Any) -> System:
    fields = {"name": "test", "policy": parse_policy(policy), "domain": domains}
    return System.of(fields | more)


def alone(scheduler: str, *tasks: Task, **more: Any) -> System:
    """One domain that always has the whole pcpu: the local scheduler by itself."""
    return system("ptps", domain("d", (1000, 1000), *tasks, scheduler=scheduler, **more))


@dataclass(frozen=True)
class Run:
    """The result of a run and its trace."""

    result: RunResult
    header: Header
    records: Records
    trace: bytes

    def drawn(self, pcpu: int = 0) -> str:
        """What was executed: "0 a 3 b 5 - 7" is a in [0, 3), b in [3, 5), idle up to 7."""
        from_on: dict[int, str] = {}  # of several picks in one instant the last one counts
        for row in self.records:
            if row["kind"] not in (Kind.RUN, Kind.IDLE) or row["pcpu"] != pcpu:
                continue
            name = "-"
            if row["kind"] == Kind.RUN and row["task"] != NONE:
                name = self.header["tasks"][int(row["task"])]["name"]
            from_on[int(row["time_ns"])] = name
        words = []
        last = ""
        for time_ns, name in from_on.items():
            if name != last:
                words += [str(time_ns), name]
            last = name
        return " ".join([*words, str(self.result.horizon_ns)])

    def paid(self, pcpu: int = 0) -> list[tuple[int, int, str, str]]:
        """The schedule as `trace intervals` gives it: start, end, run, pay."""
        return [row[1:] for row in intervals(self.header, self.records) if row.pcpu == pcpu]

    def jobs(self, name: str) -> list[Job]:
        return [job for job in jobs(self.header, self.records) if job.task == name]

    def releases(self, name: str) -> list[int]:
        return [job.release_ns for job in self.jobs(name)]

    def finishes(self, name: str) -> list[int | None]:
        return [job.finish_ns for job in self.jobs(name)]

    def task(self, name: str) -> RunTask:
        (found,) = [task for task in self.result.tasks if task.name == name]
        return found

    def domain(self, name: str) -> RunDomain:
        return next(one for one in self.result.domains if one.name == name)

    def times_of(self, kind: Kind) -> list[int]:
        return [int(row["time_ns"]) for row in self.records if row["kind"] == kind]

    def payer_of(self, row: Any) -> str:
        payer = int(row["payer"])
        return "" if payer == NONE else server_name(self.header, payer)


def longest_ns(of: RunTask | RunFlow) -> int:
    """The longest response of what has finished at least once."""
    assert of.response_ns is not None
    return of.response_ns.max


def run(one: System, horizon: int, seed: int = 1, *, check: bool = True, **more: Any) -> Run:
    """Simulates with a trace, asking the core for its laws at every instant."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.hpt"
        result = simulate(one, horizon, seed, path, check=check, **more)
        header, records = read(path)
        return Run(result, header, records.copy(), path.read_bytes())


def event(name: str, wcet: int, period: int = 20, **more: Any) -> Task:
    return task(name, period, wcet, kind="event", **more)


def flow(name: str, period: int, *hops: str, **more: Any) -> Flow:
    source: dict[str, Any] = {"period": period}
    source |= {key: more.pop(key) for key in ("kind", "offset", "jitter", "burst") if key in more}
    fields: dict[str, Any] = {"name": name, "source": source, "hops": hops, "deadline": 1000}
    return Flow.of(fields | more)


def closed(name: str, clients: int, think: int, *hops: str, **more: Any) -> Flow:
    """Clients that think for the same time always, unless another draw is named."""
    source: dict[str, Any] = {"kind": "closed", "clients": clients, "think": think}
    source["think_draw"] = more.pop("draw", "constant")
    source["offset"] = more.pop("offset", 0)
    fields: dict[str, Any] = {"name": name, "source": source, "hops": hops, "deadline": 1000}
    return Flow.of(fields | more)
