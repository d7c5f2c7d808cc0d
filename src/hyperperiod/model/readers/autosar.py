# SPDX-License-Identifier: BSD-2-Clause
"""Reads an ECU of AUTOSAR Classic: ARXML of schema r4.0 with its Os, its Rte and its components.

    <TIMING-EVENT> <SHORT-NAME>Every10</SHORT-NAME>
      <START-ON-EVENT-REF DEST="RUNNABLE-ENTITY">/Parts/Pedal/Behavior/Sample</START-ON-EVENT-REF>
      <PERIOD>0.01</PERIOD> ...
    <ECUC-CONTAINER-VALUE> <SHORT-NAME>Control</SHORT-NAME>
      <DEFINITION-REF DEST="ECUC-PARAM-CONF-CONTAINER-DEF">/AUTOSAR/EcucDefs/Os/OsTask</...> ...

The OsTasks of a core become a domain under fixed priorities, the larger first; its server is
computed. A task has the period and the offset of the timing events that the Rte maps to it, or of
the alarm that starts by itself and activates it, and takes what the runnables of these events take
at most, all in one job; without events its OsTaskExecutionBudget, which the Os enforces. The
largest of the upper bounds of a runnable counts, also where it was only measured; rough estimates
bound nothing. Deadlines are periods: constraints of the timing extensions are left out, and so are
variation points and modes in which events are off, which only take work away, and OsTaskAutostart.

What decides when something runs and has no counterpart (interrupts, schedule tables, resources,
spinlocks, exclusive areas, calls of servers, triggers, switches of modes, points to wait at, other
events, several periods in a task, tasks that are not preempted) is refused by its name, and so are
times that are no whole nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from hyperperiod.model.readers.xml_tasks import KeyPath, TaskForm, XmlTasks, read_tree, values_of
from hyperperiod.model.readers.xml_tree import DEEPEST, Element
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.model.values import TomlTable

_SCHEMA = "http://autosar.org/schema/r4.0"
_TASK = TaskForm(
    times={key: key for key in ("period", "wcet", "offset")},
    read=("name", "priority"),
    ignored=re.compile("(?!)"),
    zero=(),
)
_STARTS = {"TIMING-EVENT": "START-ON-EVENT-REF", "BSW-TIMING-EVENT": "STARTS-ON-EVENT-REF"}
_BOUNDS = {
    "ANALYZED-EXECUTION-TIME": "WORST-CASE-EXECUTION-TIME",
    "MEASURED-EXECUTION-TIME": "MAXIMUM-EXECUTION-TIME",
    "SIMULATED-EXECUTION-TIME": "MAXIMUM-EXECUTION-TIME",
}
_CSE_NS = {str(code): 10 ** (code + 3) for code in range(8)}
"""The unit of a time by its CSE code, from 0 (1 us) by tens to 7 (10 s); later ones are no tens."""
_TICK = "OsSecondsPerTick"
_ALARM = ("OsAlarmCycleTime", "OsAlarmAlarmTime")
_ONCE = {
    _TICK, *_ALARM, "OsTaskPriority", "OsTaskSchedule", "OsTaskExecutionBudget", "EcucCoreId",
    "OsApplicationCoreAssignment", "RteActivationOffset", "RtePeriod", "CSE-CODE",
    "CSE-CODE-FACTOR",
}  # fmt: skip
_REFUSED = ("OsIsr", "OsScheduleTable", "OsTaskResourceRef", "OsAlarmCallback", "OsSpinlock")
_CALLS_OR_WAITS = (
    "CAN-ENTER-EXCLUSIVE-AREA-REFS", "CAN-ENTERS", "RUNS-INSIDE-EXCLUSIVE-AREA-REFS",
    "RUNS-INSIDES", "SERVER-CALL-POINTS", "CALL-POINTS", "WAIT-POINTS", "MODE-SWITCH-POINTS",
    "INTERNAL-TRIGGERING-POINTS", "EXTERNAL-TRIGGERING-POINTS",
)  # fmt: skip
"""What a runnable does that may make it wait, or run others in its place."""


def read_autosar(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    root = read_tree(file, text, "AUTOSAR", with_text=True, deepest=DEEPEST)
    return _AutosarReader(file, _TASK).read(root)


def _last(path: str) -> str:
    """Returns the last name of a path such as /AUTOSAR/EcucDefs/Os/OsTask."""
    return path.rpartition("/")[2]


class _AutosarReader(XmlTasks):
    """Turns the tasks of each core into a domain."""

    def read(self, root: Element) -> tuple[TomlTable, Callable[[KeyPath], int]]:
        self.lines[()] = root.line
        if (schema := values_of(root).get("xmlns", "")) != _SCHEMA:
            raise self.refuse(root, "xmlns", repr(schema[:60]), _SCHEMA)
        self.named: dict[str, Element] = {}
        self._name(root, "")
        self.require_values(root, _ONCE)
        tasks = self._of("OsTask")
        if not tasks:
            allowed = "the configuration of an ECU, with OsTasks, and its components in one file"
            raise self.refuse(root, "", "no OsTask", allowed)
        for one in root.every():
            if one.tag in _REFUSED:
                raise self.refuse(one, "", "what has no counterpart", "tasks, alarms and counters")
        self.times = self._execution_times()
        self.events = self._mapped(tasks)
        self.alarms = self._alarms(tasks)
        cores = self._cores(tasks)
        for core in sorted(set(cores.values())):
            own = [self._as_task(path, tasks[path]) for path, on in cores.items() if on == core]
            self.add_domain(f"core{core}", own[0], "fp", own, pcpu=core)
        about = "Read from an ECU of AUTOSAR; the larger priority is first"
        pcpus = max(cores.values()) + 1
        return self.document("AUTOSAR", policy="ptps", pcpus=pcpus, description=about)

    def _name(self, element: Element, path: str) -> None:
        """Notes what is in an element by its path, containers called as what they define."""
        for one in element.inside:
            here = path
            if name := values_of(one).get("SHORT-NAME"):
                here, one.attributes["name"] = f"{path}/{name}", name
                if here in self.named and one.tag != "AR-PACKAGE":
                    raise self.refuse(one, "", f"{here[:60]} a second time", "each path once")
                self.named[here] = one
            if one.tag == "ECUC-CONTAINER-VALUE":
                self._open(one)
            self._name(one, here)

    def _open(self, container: Element) -> None:
        """Makes a container say its values as plain elements: <OsTaskPriority>5</...>."""
        container.tag = _last(values_of(container).get("DEFINITION-REF", ""))
        for group in (*container.all("PARAMETER-VALUES"), *container.all("REFERENCE-VALUES")):
            for one in group.inside:
                said = values_of(one)
                # Parameters of a BSW module's events are called as those of a component's.
                key = _last(said.get("DEFINITION-REF", "")).replace("RteBsw", "Rte")
                value = Element(key, {}, one.line)
                value.text = said.get("VALUE") or said.get("VALUE-REF", "")
                container.inside.append(value)

    def _found(self, of: Element, key: str, among: dict[str, Element], what: str) -> str:
        """Returns the path of what a reference leads to; InputError if that is not there."""
        paths = [one.text.strip() for one in of.all(key)]
        if len(paths) != 1 or paths[0] not in among:
            found = ", ".join(paths)[:60] or "nothing"
            raise self.refuse(of, key, found, f"the path of {what} in this file")
        return paths[0]

    def _of(self, *tags: str) -> dict[str, Element]:
        """Returns the elements that are called so, by their paths."""
        return {path: one for path, one in self.named.items() if one.tag in tags}

    def _ns(self, of: Element, key: str, unit: Fraction | int = NS_PER_UNIT["s"]) -> int:
        """Returns a time (ns) that is said in a unit of so many nanoseconds."""
        text = values_of(of).get(key)
        value = self.number(of, key, text) * unit
        if value.denominator != 1:
            raise self.refuse(of, key, f"{text}, or {float(value):.9g} ns", "whole nanoseconds")
        return int(value)

    def _execution_times(self) -> dict[str, int]:
        """Returns the largest upper bound (ns) of each runnable that has one, by its path."""
        times: dict[str, int] = {}
        for one in self._of(*_BOUNDS).values():
            if any(one.all("EXCLUSIVE-AREA-REF")):
                continue  # a part of it
            path = self._found(one, "EXECUTABLE-ENTITY-REF", self.named, "a runnable")
            for bound in one.all(_BOUNDS[one.tag]):
                code = values_of(bound).get("CSE-CODE", "")
                if code not in _CSE_NS:
                    raise self.refuse(one, "CSE-CODE", repr(code[:40]), "0 (1 us) to 7 (10 s)")
                time_ns = self._ns(bound, "CSE-CODE-FACTOR", _CSE_NS[code])
                times[path] = max(time_ns, times.get(path, 0))
        return times

    def _mapped(self, tasks: dict[str, Element]) -> dict[str, list[tuple[Element, Element]]]:
        """Returns the mappings to each task, with their events."""
        mapped: dict[str, list[tuple[Element, Element]]] = {path: [] for path in tasks}
        events = self._of(*_STARTS)
        idle = set(events)
        for one in self._of("RteEventToTaskMapping", "RteBswEventToTaskMapping").values():
            said = values_of(one)
            if "RteMappedToTaskRef" not in said and said.get("RteEventRef") not in events:
                continue  # it runs in who calls it
            event = self._found(one, "RteEventRef", events, "a timing event")
            task = self._found(one, "RteMappedToTaskRef", tasks, "an OsTask")
            mapped[task].append((one, events[event]))
            idle.discard(event)
        for path in sorted(idle):
            raise self.refuse(events[path], "", "no task", "a mapping of each timing event")
        return mapped

    def _alarms(self, tasks: dict[str, Element]) -> dict[str, tuple[int, int]]:
        """Returns period and offset (ns) of the alarm that activates a task from the start on."""
        alarms: dict[str, tuple[int, int]] = {}
        counters = self._of("OsCounter")
        for one in self._of("OsAlarm").values():
            start, action = (
                next((each for each in one.every() if each.tag == tag), None)
                for tag in ("OsAlarmAutostart", "OsAlarmActivateTask")
            )
            if start is None or action is None:
                continue
            task = self._found(action, "OsAlarmActivateTaskRef", tasks, "an OsTask")
            if task in alarms:
                raise self.refuse(one, "", f"a second alarm of {task[:60]}", "one for a task")
            counter = counters[self._found(one, "OsAlarmCounterRef", counters, "an OsCounter")]
            tick = self.number(counter, _TICK, values_of(counter).get(_TICK)) * NS_PER_UNIT["s"]
            period_ns, offset_ns = (self._ns(start, key, tick) for key in _ALARM)
            alarms[task] = period_ns, offset_ns
        return alarms

    def _cores(self, tasks: dict[str, Element]) -> dict[str, int]:
        """Returns the core of each task, that of its application; 0 if no application has one."""
        cores: dict[str, int] = {}
        some_have = False
        known = self._of("EcucCoreDefinition")
        for one in self._of("OsApplication").values():
            said = values_of(one)
            if "OsApplicationCoreRef" in said:
                place = known[self._found(one, "OsApplicationCoreRef", known, "a core")]
                core = self.whole(place, "EcucCoreId")
            elif "OsApplicationCoreAssignment" in said:  # in older files
                core = self.whole(one, "OsApplicationCoreAssignment")
            else:
                continue
            some_have = True
            for path in (each.text.strip() for each in one.all("OsAppTaskRef")):
                if cores.setdefault(path, core) != core:
                    raise self.refuse(one, "OsAppTaskRef", path[:60], "tasks of no other core")
        for path, task in tasks.items():
            if some_have and path not in cores:
                raise self.refuse(task, "", "no core", "an OsApplication with a core for each")
        return {path: cores.get(path, 0) for path in tasks}

    def _as_task(self, path: str, task: Element) -> Element:
        """Returns an element that says of a task what a domain has of it, times in ms."""
        said = values_of(task)
        if (schedule := said.get("OsTaskSchedule", "nothing")) != "FULL":
            raise self.refuse(task, "OsTaskSchedule", schedule[:40], "FULL: it is preempted")
        period_ns, offset_ns = self._release(path, task)
        times = {"period": period_ns, "offset": offset_ns, "wcet": self._wcet_ns(path, task)}
        keys = {"name": said["name"], "priority": said.get("OsTaskPriority", "")}
        keys |= {key: f"{time_ns}e-6" for key, time_ns in times.items()}
        return Element("OsTask", keys, task.line)

    def _release(self, path: str, task: Element) -> tuple[int, int]:
        """Returns the period and the offset (ns) of a task."""
        alarms = [self.alarms[path]] if path in self.alarms else []
        events = [
            (self._ns(of, key), self._offset(mapping, event))
            for mapping, event in self.events[path]
            for of, key in ((event, "PERIOD"), (mapping, "RtePeriod"))
            if of is event or key in values_of(of)
        ]
        periods = {period_ns for period_ns, _ in alarms + events}
        offsets = {offset_ns for _, offset_ns in alarms or events}
        for key, values in (("period", periods), ("offset", offsets)):
            if len(values) != 1:
                allowed = f"one {key}, of all its timing events or of an alarm that starts itself"
                raise self.refuse(task, "", f"{len(values) or 'no'} {key}s", allowed)
        return periods.pop(), offsets.pop()

    def _offset(self, mapping: Element, event: Element) -> int:
        """Returns when an event comes first (ns), by itself or by its mapping."""
        self.require_values(event, {"PERIOD", "OFFSET"})
        places = ((event, "OFFSET"), (mapping, "RteActivationOffset"))
        offsets = {self._ns(of, key) for of, key in places if key in values_of(of)}
        if len(offsets) > 1:
            raise self.refuse(mapping, "RteActivationOffset", "another offset", "that of its event")
        return max(offsets, default=0)

    def _wcet_ns(self, path: str, task: Element) -> int:
        """Returns how long (ns) a task takes at most."""
        if not self.events[path]:
            limits = [one for one in task.every() if one.tag == "OsTaskTimingProtection"]
            return self._ns(next(iter(limits), task), "OsTaskExecutionBudget")
        return sum(self._runnable_ns(event) for _, event in self.events[path])

    def _runnable_ns(self, event: Element) -> int:
        """Returns how long (ns) what an event starts takes at most."""
        path = self._found(event, _STARTS[event.tag], self.named, "a runnable")
        runnable = self.named[path]
        for one in runnable.inside:
            if one.tag in _CALLS_OR_WAITS and one.inside:
                raise self.refuse(runnable, one.tag, "what has no counterpart", "none")
        if path not in self.times:
            allowed = f"one with {' or '.join(sorted(set(_BOUNDS.values())))}"
            raise self.refuse(runnable, "", "no execution time", allowed)
        return self.times[path]
