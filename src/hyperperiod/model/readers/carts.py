# SPDX-License-Identifier: BSD-2-Clause
"""Reads CARTS systems: XML files of components and tasks, as the CARTS tool takes them.

    <system os_scheduler="DM" min_period="10" max_period="10">
      <component name="part1" scheduler="DM" min_period="10" max_period="10">
        <task name="t1" p="500" d="500" e="22"/> ...

A component becomes a domain, its tasks become periodic tasks; components inside components
become nested domains. One CARTS time unit is 1 ms, and the quantum is 1 ms, because CARTS
computes budgets in whole units. The scheduler of the system becomes the policy: DM and RM are
periodic servers under fixed priority (ptps), EDF is periodic+edf, gEDF is periodic+edf on all
pcpus together; RM inside a component is read as DM, as CARTS itself does. `min_period` equal to
`max_period`, or `period`, gives the period of the interface; a range of whole periods leaves the
choice among them to the analysis. `numVCPUs` is the number of vcpus of a gEDF component, or of
pcpus of a gEDF system; without it a component has as many as its utilisation needs at least, and
a system as many as its components together. A critical section (`cs`) blocks the tasks of its
component that have shorter deadlines, each once and for the longest of them. Deadlines are less the
jitter, as `xml_tasks.py` says. What CARTS knows
and we do not model (cache delays, sections that cannot be interrupted) is refused unless it is
zero. Two members of the same name become "name" and "name#2"; tasks that ask for no time are left
out; `description` tells of both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from math import ceil
from pathlib import Path

from hyperperiod.model.errors import InputError, did_you_mean
from hyperperiod.model.limits import DEPTH_LIMIT
from hyperperiod.model.locate import Lines
from hyperperiod.model.readers.xml_tasks import KeyPath, take_off_jitter
from hyperperiod.model.readers.xml_tree import Element, read_xml
from hyperperiod.model.values import TomlTable, plain_name, unused_name

_GLOBAL = "periodic+edf+none+global"
_POLICIES = {"DM": "ptps", "RM": "ptps", "EDF": "periodic+edf", "GEDF": _GLOBAL}
_SCHEDULERS = {"DM": "dm", "RM": "dm", "EDF": "edf", "GEDF": "gedf"}
_SCHEDULER_ALLOWED = "EDF, DM, RM or gEDF"

_PERIODS = ("min_period", "max_period", "period")
# Attributes that say nothing about scheduling as we model it.
_IGNORED = {"vmips", "criticality", "subtype"}
# Attributes of which we model only the absence.
_ZERO_ONLY = {
    "noninterrupt_fraction",
    "delta_rel",
    "delta_sch",
    "delta_cxs",
    "delta_crpmd",
}
_ATTRIBUTES = {
    "system": {"os_scheduler", "os-scheduler", "numVCPUs", *_PERIODS},
    "component": {"name", "scheduler", "numVCPUs", *_PERIODS, *_IGNORED},
    "task": {"name", "p", "d", "e", "cs", "jitter", "offset", *_ZERO_ONLY, *_IGNORED},
}
_PARENTS = {"system": ("",), "component": ("system", "component"), "task": ("component",)}

_UNNAMED = "unnamed"
_NUMBER = re.compile(r"[0-9]{1,19}(\.[0-9]{1,9})?")


def read_carts(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    return _CartsReader(file).read(read_xml(file, text, _place))


def _place(tag: str, above: str, depth: int) -> tuple[str, str] | None:
    """Returns what is found and what is allowed where an element may not stand; None if it may."""
    if tag not in _PARENTS or above not in _PARENTS[tag]:
        place = f"inside {above}" if above else "as the outermost element"
        return f"the element {tag} {place}", "system > component > task (components may nest)"
    if depth > DEPTH_LIMIT:
        return "components nested deeper", f"{DEPTH_LIMIT} levels"
    return None


class _CartsReader:
    """Turns elements into the tables of our own format, noting the line of each."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[KeyPath, int] = {}
        self.notes: list[str] = []

    def read(self, root: Element) -> tuple[TomlTable, Callable[[KeyPath], int]]:
        self._check_attributes(root)
        scheduler = root.attributes.get("os_scheduler", root.attributes.get("os-scheduler", "EDF"))
        document: TomlTable = {
            "name": plain_name(Path(self.file.strip("<>")).stem, _UNNAMED),
            "policy": self._choice(root, "os_scheduler", scheduler, _POLICIES),
        }
        self.lines[()] = root.line
        pcpus = self._vcpus(root, several=document["policy"] == _GLOBAL)
        document["domain"] = self._components(root, ())
        if document["policy"] == _GLOBAL:
            needed = sum(domain.get("vcpus", 1) for domain in document["domain"])
            document["pcpus"] = pcpus or max(1, needed)
        if self._whole_units(document["domain"]):
            document["quantum"] = "1ms"
        notes = "".join(f"; {note}" for note in self.notes)
        document["description"] = f"Read from a CARTS file, 1 unit = 1 ms{notes}"[:4096]
        return document, Lines(self.lines).of

    def _components(self, above: Element, path: KeyPath) -> list[TomlTable]:
        components = [element for element in above.inside if element.tag == "component"]
        names = self._names(components)
        return [
            self._component(element, name, (*path, "domain", index))
            for index, (element, name) in enumerate(zip(components, names, strict=True))
        ]

    def _component(self, element: Element, name: str, path: KeyPath) -> TomlTable:
        self.lines[path] = element.line
        self._check_attributes(element)
        given = element.attributes.get("scheduler", "EDF")
        scheduler = self._choice(element, "scheduler", given, _SCHEDULERS)
        domain: TomlTable = {"name": name, "scheduler": scheduler}
        vcpus = self._vcpus(element, several=scheduler == "gedf")
        domain |= self._interface_period(element)
        tasks = self._tasks(element, path, scheduler)
        if tasks:
            domain["task"] = tasks
        if scheduler == "gedf":
            domain["vcpus"] = vcpus or self._vcpus_needed(element, name)
        if any(inner.tag == "component" for inner in element.inside):
            domain["domain"] = self._components(element, path)
        return domain

    def _tasks(self, component: Element, path: KeyPath, scheduler: str) -> list[TomlTable]:
        elements = [element for element in component.inside if element.tag == "task"]
        tasks: list[TomlTable] = []
        kept: list[Element] = []
        for element, name in zip(elements, self._names(elements), strict=True):
            self._check_attributes(element)
            if not self._time(element, "e", required=True).strip("0.ms"):
                self.notes.append(f"task {name} asks for no time and is left out")
                continue
            self.lines[(*path, "task", len(tasks))] = element.line
            tasks.append(self._task(element, name))
            kept.append(element)
        self._block(kept, tasks)
        # Who is blocked by whom goes by deadlines as well.
        ordered = "dm" if any("blocking" in task for task in tasks) else scheduler
        if wrong := take_off_jitter(ordered, tasks):
            raise self._error(kept[wrong.task], wrong.key, wrong.found, wrong.allowed)
        return tasks

    def _block(self, elements: list[Element], tasks: list[TomlTable]) -> None:
        """Each task may wait for the longest critical section of those with longer deadlines."""
        order = sorted(range(len(tasks)), key=lambda at: Fraction(elements[at].attributes["d"]))
        longest = "0"
        for at in reversed(order):
            if Fraction(longest) > 0:
                tasks[at]["blocking"] = f"{longest}ms"
            section = elements[at].attributes.get("cs", "0")
            longest = max(longest, section, key=Fraction)

    def _task(self, element: Element, name: str) -> TomlTable:
        task = {"name": name}
        for key, attribute in (("period", "p"), ("deadline", "d"), ("wcet", "e")):
            task[key] = self._time(element, attribute, required=True)
        for key in ("jitter", "offset"):
            if key in element.attributes:
                task[key] = self._time(element, key)
        if "cs" in element.attributes:
            self._time(element, "cs")
        return task

    def _interface_period(self, element: Element) -> TomlTable:
        """The one period that the component allows, or those among which it leaves the choice."""
        given = {key: self._time(element, key) for key in _PERIODS if key in element.attributes}
        if "period" in given:
            return {"interface_period": given["period"]}
        first, last = given.get("min_period"), given.get("max_period")
        if first is None and last is None:
            return {}
        if first == last:
            return {"interface_period": first}
        name = element.attributes.get("name", "")
        self.notes.append(f"component {name} allows a range of periods, the analysis chooses")
        if first is None or last is None:
            return {}
        return {"interface_period_range": {"min": first, "max": last, "step": "1ms"}}

    def _time(self, element: Element, attribute: str, *, required: bool = False) -> str:
        value = element.attributes.get(attribute)
        allowed = "a number of CARTS time units (1 unit = 1 ms) below 2^62 ns"
        if value is None:
            assert required, "optional attributes are looked up before they are read"
            raise self._error(element, attribute, "nothing", allowed)
        if not _NUMBER.fullmatch(value):
            raise self._error(element, attribute, repr(value[:40]), allowed)
        return f"{value}ms"

    def _vcpus(self, element: Element, *, several: bool) -> int | None:
        """Returns the vcpus that the file gives; without global EDF there is one."""
        value = element.attributes.get("numVCPUs")
        if value is None or (value == "1" and not several):
            return None
        if not several:
            allowed = "1 (several only under gEDF)"
            raise self._error(element, "numVCPUs", repr(value[:40]), allowed)
        if not re.fullmatch(r"[1-9][0-9]{0,3}", value):
            raise self._error(element, "numVCPUs", repr(value[:40]), "a whole number from 1")
        return int(value)

    def _vcpus_needed(self, element: Element, name: str) -> int:
        """The least number of vcpus that can hold the utilisation of the component."""
        tasks = [inside.attributes for inside in element.inside if inside.tag == "task"]
        asked = Fraction(0)
        for task in tasks:
            # A task that asks for no time is left out, whatever else it says.
            if Fraction(task["e"]) > 0 and Fraction(task["p"]) > 0:
                asked += Fraction(task["e"]) / Fraction(task["p"])
        vcpus = max(1, ceil(asked))
        self.notes.append(f"component {name} gets {vcpus} vcpus, the least that it may need")
        return vcpus

    def _choice(self, element: Element, attribute: str, value: str, choices: dict[str, str]) -> str:
        if value.upper() not in choices:
            raise self._error(element, attribute, repr(value[:40]), _SCHEDULER_ALLOWED)
        return choices[value.upper()]

    def _check_attributes(self, element: Element) -> None:
        known = _ATTRIBUTES[element.tag]
        for attribute, value in element.attributes.items():
            if attribute not in known:
                allowed = f"the attributes here are {', '.join(sorted(known))}"
                found = f"the unknown attribute {attribute[:40]}"
                hint = did_you_mean(attribute, known)
                raise self._error(element, attribute, found, allowed + hint)
            if attribute in _ZERO_ONLY and value.strip("0.") != "":
                raise self._error(element, attribute, repr(value[:40]), "0: it is not modelled")

    def _names(self, elements: list[Element]) -> list[str]:
        """The names of siblings, made plain and unique."""
        names: list[str] = []
        for element in elements:
            given = element.attributes.get("name")
            if given is None:
                raise self._error(element, "name", "nothing", "a name")
            plain = plain_name(given, _UNNAMED)
            name = unused_name(plain, names)
            if name != plain:
                self.notes.append(f"a second {plain} is called {name}")
            names.append(name)
        return names

    def _whole_units(self, domains: list[TomlTable]) -> bool:
        return all(
            "." not in domain.get("interface_period", "")
            and not any("." in time for time in domain.get("interface_period_range", {}).values())
            and self._whole_units(domain.get("domain", []))
            for domain in domains
        )

    def _error(self, element: Element, attribute: str, found: str, allowed: str) -> InputError:
        name = element.attributes.get("name", "")[:40]
        key = f"{element.tag} {name} {attribute}" if name else f"{element.tag} {attribute}"
        return InputError(self.file, element.line, key, found, allowed)
