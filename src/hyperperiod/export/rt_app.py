# SPDX-License-Identifier: BSD-2-Clause
"""The tasks of a system as a workload of rt-app, which emulates them as threads of Linux.

A task becomes a thread that runs for its wcet: a periodic one waits for a timer of its own, a
sporadic one sleeps for the rest of its period, a busy one never waits. A domain becomes a taskgroup
on its pcpu. `fp` is SCHED_FIFO, and so are `rm` and `dm`, with priorities in their order; `edf` is
SCHED_DEADLINE. Best effort, and what has no order by priorities, is SCHED_OTHER.

A thread has no server there, and no deadline but under `edf`: what such a workload does not say is
listed in the README. `hyperperiod` reads the file again (model/readers/rt_app.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hyperperiod.hosts.guests import LINUX_DEADLINES_NS
from hyperperiod.hosts.refuse import refuse
from hyperperiod.model import Domain, InputError, Scheduler, System, Task, TaskKind, format_time
from hyperperiod.model.units import NS_PER_UNIT

US: Final = NS_PER_UNIT["us"]
HIGHEST: Final = 99
"""The most urgent priority of SCHED_FIFO."""
ROUND_US: Final = 10_000
"""For so long a busy thread runs in a round, after which comes the next."""


def export_rt_app(system: System) -> dict[str, str | bytes | Path]:
    """The workload, and what it leaves out; InputError for what threads of rt-app cannot do."""
    refuse(system, 1, 0)
    if system.flows:
        found = f"{len(system.flows)} of them"
        raise InputError("", None, "flow", found, "no flows: threads of rt-app wait for timers")
    threads: dict[str, dict[str, Any]] = {}
    for index, domain in enumerate(system.domains):
        if domain.scheduler is Scheduler.EXECUTOR:
            allowed = "another one: threads of rt-app are no callbacks of one thread"
            raise InputError("", None, f"domain[{index}].scheduler", '"executor"', allowed)
        for number, task in enumerate(domain.tasks):
            key, name = f"domain[{index}].task[{number}]", f"{domain.name}.{task.name}"
            if name in threads:
                raise InputError("", None, f"{key}.name", repr(task.name), f"no second {name}")
            threads[name] = _thread(key, domain, task)
    workload = {"tasks": threads, "global": {"duration": -1, "default_policy": "SCHED_OTHER"}}
    return {
        "workload.json": json.dumps(workload, indent=2) + "\n",
        "README.md": _readme(system),
    }


def _thread(key: str, domain: Domain, task: Task) -> dict[str, Any]:
    if task.kind is TaskKind.BUSY:
        if domain.is_served:
            allowed = "busy tasks in best-effort domains: without a server they take all"
            raise InputError("", None, f"{key}.kind", str(task.kind), allowed)
        thread: dict[str, Any] = {"run": ROUND_US}
    elif task.kind is TaskKind.EVENT or task.period_ns is None or task.wcet_ns is None:
        allowed = "a periodic, sporadic or busy task, with period and wcet"
        raise InputError("", None, f"{key}.kind", str(task.kind), allowed)
    else:
        run_us = -(-task.wcet_ns // US)
        period_us = _whole(f"{key}.period", task.period_ns)
        thread = {"run": run_us}
        if task.kind is TaskKind.SPORADIC:
            thread["sleep"] = max(0, period_us - run_us)
        else:
            thread["timer"] = {"ref": "unique", "period": period_us, "mode": "absolute"}
        if task.offset_ns:
            thread["delay"] = _whole(f"{key}.offset", task.offset_ns)
        thread |= _policy(key, domain, task, run_us)
    homes = {keys.pcpu for keys in domain.each_vcpu}
    home = domain.each_vcpu[task.vcpu].pcpu if task.vcpu is not None else None
    if len(homes) == 1:
        home = homes.pop()
    # Linux binds no thread of SCHED_DEADLINE to some of its cpus.
    if home is not None and thread.get("policy") != "SCHED_DEADLINE":
        thread["cpus"] = [home]
    return {**thread, "taskgroup": f"/{domain.name}"}


def _policy(key: str, domain: Domain, task: Task, run_us: int) -> dict[str, Any]:
    """The policy of a thread, and its place in it."""
    if domain.best_effort:
        return {}
    scheduler = domain.scheduler.local
    if scheduler is Scheduler.EDF:
        deadline = _whole(f"{key}.deadline", _deadline_ns(task))
        period = _whole(f"{key}.period", task.period_ns or 0)
        least, most = (each // US for each in LINUX_DEADLINES_NS)
        if not least <= period <= most or deadline > period:
            found = f"deadline {deadline}us, period {period}us"
            allowed = f"{least}us to {most}us, deadlines within periods, as Linux takes them"
            raise InputError("", None, key, found, allowed)
        times = {"dl-runtime": run_us, "dl-deadline": deadline, "dl-period": period}
        return {"policy": "SCHED_DEADLINE", **times}
    ranks = {
        Scheduler.FP: lambda one: one.priority or 0,
        Scheduler.RM: lambda one: one.period_ns or 0,
        Scheduler.DM: _deadline_ns,
    }
    rank = ranks.get(scheduler)
    if rank is None:
        return {}
    place = sorted({rank(one) for one in domain.tasks}).index(rank(task))
    if place >= HIGHEST:
        raise InputError("", None, key, f"{place + 1} levels above", f"at most {HIGHEST} levels")
    return {"policy": "SCHED_FIFO", "priority": HIGHEST - place}


def _deadline_ns(task: Task) -> int:
    return task.deadline_ns or task.period_ns or 0


def _whole(key: str, time_ns: int) -> int:
    """A time in microseconds; InputError where it is not whole."""
    if time_ns % US:
        raise InputError("", None, key, format_time(time_ns), "whole microseconds, as in rt-app")
    return time_ns // US


def _readme(system: System) -> str:
    left = "\n".join(f"- {one}" for one in _left_out(system))
    return f"""# {system.name}, for rt-app

Written by Hyperperiod (`hyperperiod export --to rt-app`). On the machine, as root:
`rt-app workload.json`. Domains are taskgroups, which rt-app puts into cgroups of these names.

## What it leaves out

{left}
"""


def _left_out(system: System) -> Iterator[str]:
    tasks = [task for domain in system.domains for task in domain.tasks]
    yield "servers: budgets are the machine's to give"
    if any(task.jitter_ns for task in tasks):
        yield "jitter: releases are in time"
    if any(task.blocking_ns for task in tasks):
        yield "blocking: no thread holds what another one needs"
    plain = [one for one in system.domains if one.scheduler.local is not Scheduler.EDF]
    if len(plain) < len(system.domains):
        yield "cpus of threads under edf: Linux does not bind them"
    if system.swaps or system.changes:
        yield "swaps and changes"
    if any(task.deadline_ns not in (None, task.period_ns) for one in plain for task in one.tasks):
        yield "deadlines before or behind the next release, but under edf"
    if any(task.wcet_ns is not None and task.wcet_ns % US for task in tasks):
        yield "parts of microseconds of execution times, which are rounded up"
