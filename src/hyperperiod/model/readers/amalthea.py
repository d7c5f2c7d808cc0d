# SPDX-License-Identifier: BSD-2-Clause
"""Reads models of AMALTHEA (Eclipse APP4MC): tasks of runnables on the cores of control units.

A task scheduler becomes a domain on the core that it is responsible for, and each task that is
allocated to it one of its tasks: what its runnables take at most, at the core's frequency, is its
wcet, its stimulus gives period, offset and jitter, an upper limit of its response time the
deadline. OSEK and fixed priorities are `fp`, where the larger number is first, rate monotonic is
`rm`, deadline monotonic `dm`, EDF `edf`. A periodic stimulus is a periodic task, a relative one a
sporadic task with its shortest distance. Nothing says whether a limit counts from before the
jitter, so it is taken off. Equal priorities, which OSEK does not preempt, are refused.

Labels and channels that runnables read and write take no time here. What decides when something
runs and has no counterpart (interrupts, events that are waited for, semaphores, switches, tasks
that are not preemptive, other stimuli) is refused by its name, and so is an execution time without
an upper bound, which is taken for the longest. Work, jitter and offsets are rounded up to whole
nanoseconds, periods and deadlines down.

Runnables of older models have instructions, on cores with prescalers and quartzes; later ones have
ticks, on processing units with frequency domains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from hyperperiod.model.errors import InputError
from hyperperiod.model.locate import Lines
from hyperperiod.model.readers.xml_tasks import KeyPath, find_equal, take_off_jitter
from hyperperiod.model.readers.xml_tree import DEEPEST, Element, read_xml
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.model.values import TomlTable, plain_name

_ROOT = "Amalthea"
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
_TYPE = "xsi:type"
_HZ = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
_SCHEDULERS = {
    "OSEK": "fp",
    "FixedPriority": "fp",
    "FixedPriorityPreemptive": "fp",
    "RateMonotonic": "rm",
    "DeadlineMonotonic": "dm",
    "EarliestDeadlineFirst": "edf",
}
_NESTS = {"Group", "CallSequence"}
_CALLS = {"RunnableCall", "TaskRunnableCall"}
_WORK = {"Ticks", "ExecutionNeed", "RunnableInstructions"}
_FREE = {"LabelAccess", "ChannelSend", "ChannelReceive", "SenderReceiverRead"}
_FREE |= {"SenderReceiverWrite", "CustomEventTrigger"}
_SHOWN = "groups, calls of runnables, ticks or instructions, and accesses to labels and channels"


class _Core(NamedTuple):
    """A core: its number, ticks or instructions in a second, and the names of its kind."""

    number: int
    rate: Fraction
    kind: str


def read_amalthea(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    return _Reader(file, read_xml(file, text, _place)).read()


def _place(tag: str, above: str, _depth: int) -> tuple[str, str] | None:
    if not above and tag.rpartition(":")[2] != _ROOT:
        return f"the element {tag} as the outermost", f"am:{_ROOT}"
    return None


def _kind(element: Element) -> str:
    """Returns the type of an element, without its namespace."""
    return element.attributes.get(_TYPE, "").rpartition(":")[2]


def _named(text: str) -> str:
    """Returns the name in a reference such as Task_1?type=Task."""
    return unquote(text.partition("?")[0])


class _Reader:
    """Turns the model into the tables of our own format, noting the line of each."""

    def __init__(self, file: str, root: Element) -> None:
        self.file = file
        self.root = root
        self.lines: dict[KeyPath, int] = {(): root.line}
        self.runnables = self._by_name("swModel", "runnables")
        self.work: dict[tuple[str, int], Fraction] = {}
        self.stimuli = self._by_name("stimuliModel", "stimuli")
        self.deadlines: dict[str, int] = {}
        for task, limit in self._limits():
            self.deadlines[task] = min(limit, self.deadlines.get(task, limit))
        self.cores = dict(self._cores())

    def read(self) -> tuple[TomlTable, Callable[[KeyPath], int]]:
        isr = next(self.root.all("swModel", "isrs"), None)
        if isr is not None:
            raise self._refuse(isr, "an interrupt, which has no counterpart", "tasks")
        tasks = list(self.root.all("swModel", "tasks"))
        allocated = {
            _named(one.attributes.get("task", "")): one
            for one in self.root.all("mappingModel", "taskAllocation")
        }
        members: dict[str, list[tuple[Element, Element]]] = {}
        for task in tasks:
            where = allocated.get(self._name(task))
            if where is None:
                raise self._refuse(task, "no allocation", "a taskAllocation for each task")
            scheduler = _named(where.attributes.get("scheduler", ""))
            members.setdefault(scheduler, []).append((task, where))
        domains = [
            self._domain(index, name, inside)
            for index, (name, inside) in enumerate(members.items())
        ]
        return {
            "name": plain_name(Path(self.file.strip("<>")).stem, "unnamed"),
            "description": "Read from a model of AMALTHEA; the larger priority is first",
            "policy": "ptps",
            "pcpus": max((one["pcpu"] for one in domains), default=0) + 1,
            "domain": domains,
        }, Lines(self.lines).of

    def _domain(self, index: int, name: str, inside: list[tuple[Element, Element]]) -> TomlTable:
        here: KeyPath = ("domain", index)
        first = inside[0][1]
        self.lines[here] = first.line
        core = self._core_of(name, first)
        scheduler = self._scheduler(name, inside)
        priorities = [self._priority(task, where) for task, where in inside]
        if scheduler == "fp" and None in priorities:
            task = inside[priorities.index(None)][0]
            raise self._refuse(
                task, "no priority", "one for each task of a fixed priority scheduler"
            )
        most = max((one for one in priorities if one is not None), default=0)
        tasks: list[TomlTable] = []
        for (task, _), priority in zip(inside, priorities, strict=True):
            self.lines[(*here, "task", len(tasks))] = task.line
            table = self._task(task, core)
            if scheduler == "fp" and priority is not None:
                table["priority"] = most - priority
            tasks.append(table)
        for find in (find_equal, take_off_jitter):
            if wrong := find(scheduler, tasks):
                found = f"{wrong.key}: {wrong.found}"
                raise self._refuse(inside[wrong.task][0], found, wrong.allowed)
        title = plain_name(name, "unnamed")
        return {"name": title, "scheduler": scheduler, "pcpu": core.number, "task": tasks}

    def _task(self, task: Element, core: _Core) -> TomlTable:
        preemption = task.attributes.get("preemption", "preemptive")
        if preemption not in ("preemptive", "undefined", "_undefined_"):
            raise self._refuse(task, f"preemption {preemption}", "preemptive")
        wcet_ns = ceil(self._work(task, core, ()) * 10**9 / core.rate)
        name = self._name(task)
        table = {"name": plain_name(name, "unnamed"), "wcet": f"{wcet_ns}ns"}
        if name in self.deadlines:
            table["deadline"] = f"{self.deadlines[name]}ns"
        return table | self._releases(task)

    def _releases(self, task: Element) -> TomlTable:
        names = task.attributes.get("stimuli", "").split()
        if len(names) != 1:
            raise self._refuse(task, f"{len(names)} stimuli", "one stimulus for a task")
        stimulus = self.stimuli.get(_named(names[0]))
        if stimulus is None:
            raise self._refuse(task, f"a stimulus {_named(names[0])[:40]} that is not there", "one")
        if _kind(stimulus) == "RelativePeriodicStimulus":
            bound = next(stimulus.all("nextOccurrence", "lowerBound"), None)
            least = self._time(stimulus, bound, "a lower bound", floor)
            return {"kind": "sporadic", "period": least}
        if _kind(stimulus) != "PeriodicStimulus":
            allowed = "PeriodicStimulus or RelativePeriodicStimulus"
            raise self._refuse(stimulus, f"a {_kind(stimulus)[:40]}", allowed)
        period = next(stimulus.all("recurrence"), None)
        table = {"kind": "periodic", "period": self._time(stimulus, period, "a recurrence", floor)}
        offset = next(stimulus.all("offset"), None)
        if offset is not None:
            table["offset"] = self._time(stimulus, offset, "an offset")
        jitter = next(stimulus.all("jitter"), None)
        if jitter is not None:
            first, last = (next(jitter.all(name), None) for name in ("lowerBound", "upperBound"))
            self._ns(stimulus, first, "a lower bound of its jitter")  # none comes ahead of time
            table["jitter"] = self._time(stimulus, last, "an upper bound of its jitter")
        return table

    def _work(self, of: Element, core: _Core, callers: tuple[str, ...]) -> Fraction:
        """What an element asks for at most, in ticks of the core: a task, a runnable, a group."""
        total = Fraction(0)
        for item in self._items(of):
            kind = _kind(item)
            if kind in _NESTS:
                total += self._work(item, core, callers)
            elif kind in _CALLS:
                name = _named(item.attributes.get("runnable", ""))
                called = self.runnables.get(name)
                if called is None or name in callers or len(callers) > DEEPEST:
                    found = (
                        f"a call of {name[:40]}, which {'calls it' if called else 'is not there'}"
                    )
                    raise self._refuse(item, found, "runnables that call others")
                # Once for each core, however often it is called.
                if (name, core.number) not in self.work:
                    work = self._work(called, core, (*callers, name))
                    self.work[name, core.number] = work
                total += self.work[name, core.number]
            elif kind in _WORK:
                total += self._ticks(item, core)
            elif kind not in _FREE:
                raise self._refuse(item, f"{kind[:40]}, which has no counterpart", _SHOWN)
        return total

    def _items(self, of: Element) -> Iterator[Element]:
        """Yields what is done, in a graph or as it stands there."""
        for one in of.inside:
            if one.tag in ("activityGraph", "callGraph"):
                yield from one.inside
            elif one.tag in ("items", "calls", "runnableItems"):
                yield one

    def _ticks(self, item: Element, core: _Core) -> Fraction:
        others = list(item.all("extended"))
        own = (one for one in others if _named(one.attributes.get("key", "")) == core.kind)
        chosen = next(own, None) or next(item.all("default"), None)
        if chosen is None and others:
            raise self._refuse(item, f"nothing for cores of {core.kind[:40]}", "a default, or that")
        chosen = chosen or item
        bounds = [
            one.attributes["value"] if one.tag == "upperBound" else one.attributes["upperBound"]
            for one in chosen.every()
            if "upperBound" in one.attributes
            or (one.tag == "upperBound" and "value" in one.attributes)
        ]
        constants = [
            one.attributes["value"]
            for one in chosen.every()
            if _kind(one).endswith("Constant") and "value" in one.attributes
        ]
        found = [self._number(item, text) for text in bounds or constants]
        if not found:
            raise self._refuse(item, "no upper bound", "a constant, or a distribution with one")
        return max(found)

    def _scheduler(self, name: str, inside: list[tuple[Element, Element]]) -> str:
        for one in self.root.all("osModel", "operatingSystems", "taskSchedulers"):
            if self._name(one) != name:
                continue
            algorithm = next(one.all("schedulingAlgorithm"), None)
            word = _kind(algorithm) if algorithm is not None else ""
            word = word or _named(one.attributes.get("definition", ""))
            if word in _SCHEDULERS:
                return _SCHEDULERS[word]
            found = f"the algorithm {word[:40]}" if word else "no algorithm"
            raise self._refuse(one, found, ", ".join(_SCHEDULERS))
        raise self._refuse(
            inside[0][1], f"no scheduler {name[:40]}", "one of the operating systems"
        )

    def _priority(self, task: Element, where: Element) -> int | None:
        """The priority of a task: of its allocation, or of its own properties in older models."""
        for one in where.all("schedulingParameters"):
            if "priority" in one.attributes:
                return self._whole(one, one.attributes["priority"])
            if one.attributes.get("key") == "priority":
                value = next(one.all("value"), one)
                return self._whole(one, value.attributes.get("value", ""))
        for one in task.all("customProperties"):
            if one.attributes.get("key") == "priority":
                value = next(one.all("value"), one)
                return self._whole(one, value.attributes.get("value", ""))
        return None

    def _core_of(self, scheduler: str, where: Element) -> _Core:
        for one in self.root.all("mappingModel", "schedulerAllocation"):
            if _named(one.attributes.get("scheduler", "")) == scheduler:
                names = one.attributes.get("responsibility", "").split()
                if len(names) != 1 or _named(names[0]) not in self.cores:
                    found = f"cores {', '.join(map(_named, names))[:60]}" if names else "no core"
                    raise self._refuse(one, found, f"one of {', '.join(self.cores)}")
                return self.cores[_named(names[0])]
        raise self._refuse(where, f"no core of {scheduler[:40]}", "a schedulerAllocation")

    def _cores(self) -> Iterator[tuple[str, _Core]]:
        """Yields the cores of the hardware, in its order, with their rates."""
        hardware = [one for model in self.root.all("hwModel") for one in model.every()]
        clocks = {
            self._name(one): self._hertz(one)
            for one in hardware
            if _kind(one) == "FrequencyDomain" or one.tag == "quartzes"
        }
        per_tick = {
            self._name(one): self._number(one, one.attributes.get("instructionsPerCycle", "1"))
            for one in self.root.all("hwModel", "coreTypes")
        }
        number = 0
        for one in hardware:
            ratio = Fraction(1)
            if _kind(one) == "ProcessingUnit":
                clock = _named(one.attributes.get("frequencyDomain", ""))
                kind = _named(one.attributes.get("definition", ""))
            elif one.tag == "cores":
                prescaler = next(one.all("prescaler"), one)
                clock = _named(prescaler.attributes.get("quartz", ""))
                kind = _named(one.attributes.get("coreType", ""))
                # Examples of APP4MC have 0 where nothing is said.
                ratio = self._number(one, prescaler.attributes.get("clockRatio", "1")) or ratio
            else:
                continue
            rate = clocks.get(clock, Fraction(0)) * ratio * per_tick.get(kind, Fraction(1))
            if rate <= 0:
                raise self._refuse(one, "no frequency", "a frequency above 0")
            yield self._name(one), _Core(number, rate, kind)
            number += 1

    def _hertz(self, clock: Element) -> Fraction:
        value = next(clock.all("defaultValue"), None) or next(clock.all("frequency"), clock)
        unit = value.attributes.get("unit", "")
        if unit not in _HZ:
            raise self._refuse(clock, f"the unit {unit[:20]!r}", ", ".join(_HZ))
        return self._number(clock, value.attributes.get("value", "")) * _HZ[unit]

    def _limits(self) -> Iterator[tuple[str, int]]:
        """Yields the upper limits of response times, by the name of the task."""
        for one in self.root.all("constraintsModel", "requirements"):
            limit = next(one.all("limit"), one)
            asked = (limit.attributes.get("limitType"), limit.attributes.get("metric"))
            if asked == ("UpperLimit", "ResponseTime"):
                value = next(limit.all("limitValue"), None)
                name = _named(one.attributes.get("process", ""))
                yield name, self._ns(one, value, "a limit", floor)

    def _time(
        self,
        of: Element,
        time: Element | None,
        what: str,
        rounded: Callable[[Fraction], int] = ceil,
    ) -> str:
        """A time as our own format has it, in whole nanoseconds."""
        return f"{self._ns(of, time, what, rounded)}ns"

    def _ns(
        self,
        of: Element,
        time: Element | None,
        what: str,
        rounded: Callable[[Fraction], int] = ceil,
    ) -> int:
        """A time in whole nanoseconds."""
        unit = "" if time is None else time.attributes.get("unit", "")
        if time is None or unit not in (*NS_PER_UNIT, "ps"):
            raise self._refuse(of, f"no {what.partition(' ')[2]}", f"{what} in s, ms, us, ns or ps")
        per_ns = Fraction(1, 1000) if unit == "ps" else Fraction(NS_PER_UNIT[unit])
        return rounded(self._number(of, time.attributes.get("value", "")) * per_ns)

    def _whole(self, of: Element, text: str) -> int:
        if not text.isdecimal() or len(text) > 9:
            raise self._refuse(of, repr(text[:40]), "a whole number from 0 on")
        return int(text)

    def _number(self, of: Element, text: str) -> Fraction:
        number = Fraction(text) if _NUMBER.fullmatch(text) else Fraction(-1)
        if not 0 <= number < 10**18:
            raise self._refuse(of, repr(text[:40]), "a number from 0 on, below 10^18")
        return number

    def _by_name(self, *tags: str) -> dict[str, Element]:
        return {self._name(one): one for one in self.root.all(*tags)}

    def _name(self, element: Element) -> str:
        return element.attributes.get("name", "")

    def _refuse(self, element: Element, found: str, allowed: str) -> InputError:
        key = f"{element.tag} {element.attributes.get('name', '')}".strip()[:60]
        return InputError(self.file, element.line, key, found, allowed)
