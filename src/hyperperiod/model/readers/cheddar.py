# SPDX-License-Identifier: BSD-2-Clause
"""Reads systems of Cheddar: XML files in its architecture language, of version 3 of the tool.

    <cheddar>
      <core_units> <core_unit id="1"> ... <scheduler_type>RATE_MONOTONIC_PROTOCOL</scheduler_type>
      <processors> <mono_core_processor id="2"> <name>cpu</name> <core ref="1"/> ...
      <tasks> <periodic_task id="4"> <name>t</name> <cpu_name>cpu</cpu_name> <capacity>2</capacity>

A processor becomes a pcpu, and its tasks a domain there, whose server is computed. Where a core
runs its address spaces in turn (HIERARCHICAL_CYCLIC_PROTOCOL), as the partitions of ARINC 653, each
becomes a domain with its slot in a round of all slots: it has no less in any span of time than a
periodic server of that is sure of. A slot is the capacity of an address space, in older files its
quantum. Under POSIX 1003 the larger priority is first.

Cheddar's times have no unit; here one is 1 ms. What has no counterpart (resources, dependencies,
buffers, several cores, other protocols, tasks that are not released by a period) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hyperperiod.model.readers.xml_tasks import KeyPath, TaskForm, XmlTasks, read_tree, values_of
from hyperperiod.model.readers.xml_tree import Element
from hyperperiod.model.values import TomlTable

_TASKS = TaskForm(
    times={
        "period": "period",
        "wcet": "capacity",
        "deadline": "deadline",
        "offset": "start_time",
        "jitter": "jitter",
        "blocking": "blocking_time",
    },
    read=("name", "task_type", "cpu_name", "address_space_name", "priority", "policy"),
    ignored=re.compile(
        r"id|object_type|capacity_model|energy_consumption|criticality|seed|predictable|"
        r"completion_time|(text|stack|access)_memory_\w+|mils_\w+|cfg_\w+"
    ),
    zero=("context_switch_overhead", "every", "maximum_number_of_memory_request_per_job"),
)
_PARAMETERS = ("speed", "scheduler_type", "preemptive_type", "quantum")
_KINDS = {"PERIODIC_TYPE": "periodic", "SPORADIC_TYPE": "sporadic"}
_SCHEDULERS = {
    "POSIX_1003_HIGHEST_PRIORITY_FIRST_PROTOCOL": "fp",
    "RATE_MONOTONIC_PROTOCOL": "rm",
    "DEADLINE_MONOTONIC_PROTOCOL": "dm",
    "EARLIEST_DEADLINE_FIRST_PROTOCOL": "edf",
}
_CYCLIC = "HIERARCHICAL_CYCLIC_PROTOCOL"
_NONE = "NO_SCHEDULING_PROTOCOL"
_READ = ("core_units", "processors", "address_spaces", "tasks")
_HARMLESS = ("networks", "memories")


def read_cheddar(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    return _CheddarReader(file, read_tree(file, text, "cheddar", with_text=True)).read()


class _CheddarReader(XmlTasks):
    """Turns processors into domains."""

    def __init__(self, file: str, root: Element) -> None:
        super().__init__(file, _TASKS)
        self.root = root
        self.lines[()] = root.line
        self.require_values(root, {*_TASKS.known, *_PARAMETERS})

    def read(self) -> tuple[TomlTable, Callable[[KeyPath], int]]:
        for one in self.root.inside:
            if one.tag not in (*_READ, *_HARMLESS) and one.inside:
                found = f"{one.inside[0].tag}, which has no counterpart"
                raise self.refuse(one, "", found, f"{', '.join(_READ)} alone")
        units = self.root.all("core_units", "core_unit")
        cores = {one.attributes.get("id", ""): one for one in units}
        processors = [one for found in self.root.all("processors") for one in found.inside]
        self._require_names(processors)
        for number, processor in enumerate(processors):
            reference = next(processor.all("core"), processor).attributes.get("ref", "")
            core = cores.pop(reference, None)
            if processor.tag != "mono_core_processor" or core is None:
                raise self.refuse(processor, "core", repr(reference[:40]), "one core of its own")
            self._add_processor(number, processor, core)
        names = [values_of(one).get("name") for one in processors]
        for task in self._tasks():
            if (name := values_of(task).get("cpu_name")) not in names:
                raise self.refuse(task, "cpu_name", repr(name), "the name of a processor")
        return self.document("Cheddar", policy="ptps", pcpus=max(1, len(processors)))

    def _add_processor(self, number: int, processor: Element, core: Element) -> None:
        name = values_of(processor).get("name", "")
        speed = self.number(core, "speed", values_of(core).get("speed", "0"))
        if speed not in (0, 1):
            raise self.refuse(core, "speed", str(speed)[:40], "1")
        tasks = [one for one in self._tasks() if values_of(one).get("cpu_name") == name]
        spaces = [
            one
            for one in self.root.all("address_spaces", "address_space")
            if values_of(one).get("cpu_name") == name
        ]
        self._require_names(spaces)
        parameters = self._parameters(core)
        self._require_preemptive(core)
        if values_of(parameters).get("scheduler_type") != _CYCLIC:
            scheduler = self._scheduler(core, tasks)
            for one in spaces:
                kind = values_of(self._parameters(one)).get("scheduler_type", _NONE)
                if kind != _NONE:
                    allowed = f"{_NONE}, or {_CYCLIC} of its core"
                    raise self.refuse(one, "scheduler_type", kind[:60], allowed)
            if self.number(core, "quantum", values_of(parameters).get("quantum", "0")):
                raise self.refuse(core, "quantum", "one", "0")
            if tasks:
                self.add_domain(name, processor, scheduler, tasks, pcpu=number)
            return
        slots = self._slots(spaces)
        for one, slot in zip(spaces, slots, strict=True):
            title = values_of(one).get("name", "")
            inside = [task for task in tasks if values_of(task).get("address_space_name") == title]
            server = {"period": f"{sum(slots)}ms", "budget": f"{slot}ms"}
            if inside:
                self._require_preemptive(one)
                scheduler = self._scheduler(one, inside)
                self.add_domain(title, one, scheduler, inside, pcpu=number, interface=server)
            tasks = [task for task in tasks if task not in inside]
        for task in tasks:
            raise self.refuse(task, "address_space_name", "none of its processor", "one of them")

    def _scheduler(self, of: Element, tasks: list[Element]) -> str:
        """Returns the scheduler of a core or an address space, and looks at its tasks' kinds."""
        kind = values_of(self._parameters(of)).get("scheduler_type", "")
        if kind not in _SCHEDULERS:
            allowed = f"{', '.join(_SCHEDULERS)}; of a core also {_CYCLIC}"
            raise self.refuse(of, "scheduler_type", repr(kind[:60]), allowed)
        scheduler = _SCHEDULERS[kind]
        for one in tasks:
            if scheduler == "fp" and values_of(one).get("policy") != "SCHED_FIFO":
                found_policy = repr(values_of(one).get("policy", ""))
                raise self.refuse(one, "policy", found_policy, "SCHED_FIFO")
        return scheduler

    def _require_preemptive(self, of: Element) -> None:
        found = values_of(self._parameters(of)).get("preemptive_type", "PREEMPTIVE")
        if found != "PREEMPTIVE":
            raise self.refuse(of, "preemptive_type", repr(found[:40]), "PREEMPTIVE")

    def _require_names(self, elements: list[Element]) -> None:
        names = [values_of(one).get("name") for one in elements]
        for index, one in enumerate(elements):
            if names[index] in names[:index]:
                raise self.refuse(one, "name", "that of another", "another for each")

    def _slots(self, spaces: list[Element]) -> list[int]:
        """Returns how long each address space has its turn."""
        parameters = [self._parameters(one) for one in spaces]
        capacities, quanta = (
            [self.whole(one, key) if key in values_of(one) else 0 for one in parameters]
            for key in ("capacity", "quantum")
        )
        slots = capacities if any(capacities) else quanta
        for one, slot, quantum in zip(spaces, slots, quanta, strict=True):
            if not slot or (quantum and any(capacities)):
                allowed = "a slot for each: all as capacity or, in older files, all as quantum"
                raise self.refuse(one, "capacity", f"{slot}, quantum {quantum}", allowed)
        return slots

    def _tasks(self) -> list[Element]:
        return [one for found in self.root.all("tasks") for one in found.inside]

    def _parameters(self, of: Element) -> Element:
        return next(of.all("scheduling", "scheduling_parameters"), of)

    def _task(self, element: Element, names: set[str]) -> TomlTable:
        table = super()._task(element, names)
        kind = values_of(element).get("task_type", "")
        if kind not in _KINDS:
            raise self.refuse(element, "task_type", repr(kind[:40]), ", ".join(_KINDS))
        return {**table, "kind": _KINDS[kind]}
