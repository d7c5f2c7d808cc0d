# SPDX-License-Identifier: BSD-2-Clause
"""Reads workloads of rt-app: JSON files of threads that run, sleep and wait for timers.

    {"tasks": {"control": {"run": 2000, "timer": {"ref": "unique", "period": 10000}}}, ...

A thread that runs and then waits for its timer becomes a periodic task: the runs of one round are
its wcet, the timer's period is its period. Without a timer but with a sleep at the end of a round
it becomes a sporadic one, for the next round begins no earlier than run + sleep after this one;
without either it is busy. Times are in microseconds. A timer that is "relative" is set anew when a
round took too long, one that is "absolute" is not: as long as all deadlines are met, both are the
releases of a periodic task.

Each taskgroup (a cgroup of rt-app's) becomes a domain, and the threads without one are a domain
that is called as the file. Who is first inside follows from the policy of its threads:
SCHED_FIFO is fixed priority (`fp`), SCHED_DEADLINE is `edf`, and SCHED_OTHER, which promises no
order, is `rm`. `cpus` with one cpu pins a thread: its domain has a vcpu on each cpu that its
threads name. What does not say who runs when (logs, calibration) is left out. All else that has no
counterpart (locks, signals, forks, several phases, a number of rounds) is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from hyperperiod.model.errors import InputError, did_you_mean
from hyperperiod.model.limits import PCPU_LIMIT, TASK_LIMIT
from hyperperiod.model.locate import Lines
from hyperperiod.model.readers.lenient_json import KeyPath, read_json
from hyperperiod.model.values import TomlTable, plain_name

_TOP = {"tasks", "global", "resources"}
_GLOBAL = {
    "duration", "calibration", "default_policy", "pi_enabled", "lock_pages", "logdir", "log_size",
    "log_basename", "ftrace", "gnuplot", "io_device", "mem_buffer_size", "cumulative_slack",
}  # fmt: skip
_THREAD_ONLY = {"instance", "delay", "phases"}
_DEADLINE = ("dl-deadline", "dl-period")
_EITHER = {"loop", "policy", "priority", "dl-runtime", *_DEADLINE, "cpus", "taskgroup"}
_TIMER = {"ref", "period", "mode"}
# An event is known by how its key begins: run, run0, run_again.
_EVENT = re.compile(r"(runtime|run|sleep|timer)")
_SHOWN_EVENTS = "run, runtime, sleep or timer"
_SCHEDULERS = {"SCHED_OTHER": "rm", "SCHED_FIFO": "fp", "SCHED_DEADLINE": "edf"}
_PRIORITY_LIMIT = 99
_DEFAULT_PRIORITY = 10


class _Thread(NamedTuple):
    """One entry of `tasks`, as what it becomes."""

    path: KeyPath
    group: str
    scheduler: str
    cpu: int | None
    tasks: list[TomlTable]


def read_rt_app(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    value, lines = read_json(file, text)
    return _RtAppReader(file, Lines(lines)).read(value)


class _RtAppReader:
    """Turns threads into the tables of our own format, noting the line of each."""

    def __init__(self, file: str, found: Lines) -> None:
        self.file = file
        self.found = found
        self.lines: dict[KeyPath, int] = {}
        self.timers: set[str] = set()
        self.threads = 0

    def read(self, value: Any) -> tuple[TomlTable, Callable[[KeyPath], int]]:
        top = self._object((), value)
        self._require_known((), top, _TOP)
        settings = self._object(("global",), top.get("global", {}))
        self._require_known(("global",), settings, _GLOBAL)
        policy = settings.get("default_policy", "SCHED_OTHER")
        threads = [
            self._thread(("tasks", name), member, policy)
            for name, member in self._object(("tasks",), top.get("tasks", {})).items()
        ]
        domains = self._domains([thread for thread in threads if thread.tasks])
        cpus = [thread.cpu for thread in threads if thread.cpu is not None]
        return {
            "name": plain_name(self._stem(), "tasks"),
            "description": self._description(settings),
            "policy": "ptps",
            "pcpus": max(cpus, default=0) + 1,
            "domain": domains,
        }, Lines(self.lines).of

    def _stem(self) -> str:
        return Path(self.file.strip("<>")).stem

    def _description(self, settings: dict[str, Any]) -> str:
        duration = settings.get("duration", -1)
        if duration == -1:
            return "Read from an rt-app file, which runs without end"
        seconds = self._whole(("global", "duration"), duration, "seconds above 0, or -1", least=1)
        return f"Read from an rt-app file, which runs for {seconds} s"

    def _domains(self, threads: list[_Thread]) -> list[TomlTable]:
        groups: dict[str, list[_Thread]] = {}
        for thread in threads:
            groups.setdefault(thread.group, []).append(thread)
        return [
            self._domain(index, plain_name(name.strip("/") or self._stem(), "tasks"), members)
            for index, (name, members) in enumerate(groups.items())
        ]

    def _domain(self, index: int, name: str, threads: list[_Thread]) -> TomlTable:
        first = threads[0]
        self.lines[("domain", index)] = self.found.of(first.path)
        domain: TomlTable = {"name": name, "scheduler": first.scheduler, "task": []}
        cpus = sorted({thread.cpu for thread in threads if thread.cpu is not None})
        for thread in threads:
            if thread.scheduler != first.scheduler:
                allowed = f"one policy for all of {name}, as that of {first.path[1]}"
                raise self._refuse((*thread.path, "policy"), "another policy", allowed)
            if cpus and thread.cpu is None:
                allowed = f"one cpu for each of {name}, or for none"
                raise self._refuse((*thread.path, "cpus"), "nothing", allowed)
            for task in thread.tasks:
                here = ("domain", index, "task", len(domain["task"]))
                self.lines[here] = self.found.of(thread.path)
                if thread.cpu is not None and len(cpus) > 1:
                    task["vcpu"] = cpus.index(thread.cpu)
                domain["task"].append(task)
        if len(cpus) == 1:
            domain["pcpu"] = cpus[0]
        elif cpus:
            domain["pcpus"] = cpus
        if all(task["kind"] == "busy" for task in domain["task"]):
            domain["best_effort"] = True
        return domain

    def _thread(self, path: KeyPath, value: Any, policy: str) -> _Thread:
        """A thread with the properties of its only phase, where it has one."""
        thread = self._object(path, value)
        inside, phase = path, thread
        if "phases" in thread:
            inside, phase = self._only_phase(path, thread)
            self._require_known(path, thread, _THREAD_ONLY | _EITHER)
            self._require_known(inside, phase, _EITHER, events=True)
        else:
            self._require_known(path, thread, _THREAD_ONLY | _EITHER, events=True)
        if thread.get("loop", -1) != -1:
            allowed = "-1: tasks release jobs without end"
            raise self._refuse((*path, "loop"), repr(thread["loop"])[:40], allowed)
        paths = {key: (*path, key) for key in thread} | {key: (*inside, key) for key in phase}
        both = thread | phase
        return self._made(path, both, paths, inside, policy)

    def _only_phase(self, path: KeyPath, thread: dict[str, Any]) -> tuple[KeyPath, dict[str, Any]]:
        here = (*path, "phases")
        phases = self._object(here, thread["phases"])
        if len(phases) != 1:
            raise self._refuse(here, f"{len(phases)} phases", "one phase, which repeats")
        ((name, value),) = phases.items()
        phase = self._object((*here, name), value)
        loop = phase.get("loop", 1)
        if loop != -1:
            self._whole((*here, name, "loop"), loop, "a whole number of rounds, or -1", least=1)
        return (*here, name), phase

    def _made(
        self,
        path: KeyPath,
        both: dict[str, Any],
        paths: dict[str, KeyPath],
        inside: KeyPath,
        policy: str,
    ) -> _Thread:
        number = self._whole(
            (*path, "instance"),
            both.get("instance", 1),
            f"at most {TASK_LIMIT} threads in all",
            most=TASK_LIMIT - self.threads,
        )
        self.threads += number
        events = {key: value for key, value in both.items() if _is_event(key)}
        task = self._round(inside, events, several=number > 1)
        if "delay" in both:
            task["offset"] = self._time((*path, "delay"), both["delay"])
        named = both.get("policy", policy)
        scheduler = _SCHEDULERS.get(named) if isinstance(named, str) else None
        if scheduler is None:
            where = paths.get("policy", ("global", "default_policy"))
            raise self._refuse(where, repr(named)[:40], ", ".join(_SCHEDULERS))
        self._order(task, both, paths, scheduler)
        name = plain_name(str(path[-1]), "unnamed")
        names = [name] if number == 1 else [f"{name[:58]}-{index}" for index in range(number)]
        group = both.get("taskgroup", "")
        if not isinstance(group, str):
            raise self._refuse(paths["taskgroup"], repr(group)[:40], "the name of a group")
        cpu = self._cpu(paths["cpus"], both["cpus"]) if "cpus" in both else None
        return _Thread(path, group, scheduler, cpu, [{"name": one, **task} for one in names])

    def _order(
        self,
        task: TomlTable,
        both: dict[str, Any],
        paths: dict[str, KeyPath],
        scheduler: str,
    ) -> None:
        """Returns the priority or deadline that a thread's policy gives it."""
        if scheduler == "fp":
            allowed = f"a priority of SCHED_FIFO, 1 to {_PRIORITY_LIMIT}"
            where = paths.get("priority", ())
            given = both.get("priority", _DEFAULT_PRIORITY)
            priority = self._whole(where, given, allowed, least=1, most=_PRIORITY_LIMIT)
            # There the larger number is first, here the smaller one.
            task["priority"] = _PRIORITY_LIMIT - priority
        elif both.get("priority", 0) != 0:
            allowed = "0: only SCHED_FIFO has priorities"
            raise self._refuse(paths["priority"], repr(both["priority"])[:40], allowed)
        reserved = [key for key in ("dl-runtime", *_DEADLINE) if key in both]
        if scheduler != "edf":
            if reserved:
                found = f"{reserved[0]} without SCHED_DEADLINE"
                raise self._refuse(paths[reserved[0]], found, "a policy that looks at it")
            return
        times = {key: self._whole(paths[key], both[key], _MICROSECONDS) for key in reserved}
        if task["kind"] == "busy":
            return
        runtime = times.get("dl-runtime", 0)
        if runtime * 1000 < _ns(task["wcet"]):
            where = paths.get("dl-runtime", next(iter(paths.values())))
            allowed = f"at least {task['wcet']}: no job is held up by its own budget"
            raise self._refuse(where, f"dl-runtime {runtime}us", allowed)
        deadline = next((times[key] for key in _DEADLINE if key in times), 0)
        if deadline:
            task["deadline"] = f"{deadline}us"

    def _round(self, path: KeyPath, events: dict[str, Any], *, several: bool) -> TomlTable:
        """The task whose jobs are the rounds of a thread: runs, then a wait if there is one."""
        ran, waited = 0, ""
        for key, value in events.items():
            here = (*path, key)
            if key.startswith("run"):
                ran += self._whole(here, value, _MICROSECONDS)
            elif key.startswith("sleep") and value == 0:
                continue
            elif waited:
                raise self._refuse(here, f"{key[:40]} behind {waited[:40]}", _ROUND)
            else:
                waited = key
                continue
            if waited:
                raise self._refuse(here, f"{key[:40]} behind {waited[:40]}", _ROUND)
        if ran == 0:
            raise self._refuse(path, "a round that runs for no time", _ROUND)
        if not waited:
            return {"kind": "busy"}
        here = (*path, waited)
        if waited.startswith("timer"):
            period = self._timer(here, events[waited], several=several)
            return {"kind": "periodic", "period": period, "wcet": f"{ran}us"}
        period = f"{ran + self._whole(here, events[waited], _MICROSECONDS)}us"
        return {"kind": "sporadic", "period": period, "wcet": f"{ran}us"}

    def _timer(self, path: KeyPath, value: Any, *, several: bool) -> str:
        """The period of a timer that no other thread uses."""
        timer = self._object(path, value)
        self._require_known(path, timer, _TIMER)
        mode = timer.get("mode", "relative")
        if mode not in ("relative", "absolute"):
            raise self._refuse((*path, "mode"), repr(mode)[:40], "relative or absolute")
        name = timer.get("ref")
        if not isinstance(name, str):
            found = "nothing" if name is None else repr(name)[:40]
            raise self._refuse((*path, "ref"), found, "the name of the timer")
        if not name.startswith("unique"):
            if several or name in self.timers:
                found = f"the timer {name[:40]} in several threads"
                raise self._refuse((*path, "ref"), found, "a timer for each: unique")
            self.timers.add(name)
        if "period" not in timer:
            raise self._refuse((*path, "period"), "nothing", _MICROSECONDS)
        return self._time((*path, "period"), timer["period"])

    def _cpu(self, path: KeyPath, value: Any) -> int:
        allowed = "[cpu]: a task stays on one"
        if not isinstance(value, list) or len(value) != 1:
            raise self._refuse(path, repr(value)[:40], allowed)
        return self._whole(path, value[0], f"a cpu below {PCPU_LIMIT}", most=PCPU_LIMIT - 1)

    def _time(self, path: KeyPath, value: Any) -> str:
        return f"{self._whole(path, value, _MICROSECONDS)}us"

    def _whole(
        self, path: KeyPath, value: Any, allowed: str, *, least: int = 0, most: int | None = None
    ) -> int:
        # In Python True is a whole number as well.
        if type(value) is int and value >= least and (most is None or value <= most):
            return value
        raise self._refuse(path, repr(value)[:40], allowed)

    def _object(self, path: KeyPath, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._refuse(path, repr(value)[:40], "an object, { ... }")
        return value

    def _require_known(
        self, path: KeyPath, given: Iterable[str], known: set[str], *, events: bool = False
    ) -> None:
        for key in given:
            if key in known or (events and _is_event(key)):
                continue
            more = f"{_SHOWN_EVENTS}, " if events else ""
            allowed = f"{more}{', '.join(sorted(known))}{did_you_mean(key, known)}"
            raise self._refuse((*path, key), f"{key[:40]}, which has no counterpart", allowed)

    def _refuse(self, path: KeyPath, found: str, allowed: str) -> InputError:
        key = ".".join(str(part)[:40] for part in path)
        return InputError(self.file, self.found.of(path), key, found, allowed)


_MICROSECONDS = "a whole number of microseconds"
_ROUND = f"{_SHOWN_EVENTS}: runs, then at most one timer or sleep"


def _is_event(key: str) -> bool:
    return _EVENT.match(key) is not None


def _ns(time: str) -> int:
    """The nanoseconds of a time that is in microseconds."""
    return int(time.removesuffix("us")) * 1000
