# SPDX-License-Identifier: BSD-2-Clause
"""Reads systems of SimSo: XML files of processors and tasks, as its editor saves them.

    <simulation duration="20000" cycles_per_ms="1000" etm="wcet">
      <sched class="simso.schedulers.EDF" overhead="0"/>
      <processors> <processor name="CPU 1" id="1" speed="1.0"/> </processors>
      <tasks> <task name="t" task_type="Periodic" period="10.0" WCET="2.0" deadline="10.0"/> ...

All tasks are one domain, on one processor with a server there that is computed, on several with a
vcpu for each that has all of it, between which jobs move. Times are in milliseconds. A sporadic
task has a list of activations: the least gap between them is its period. The larger priority is
first. What costs time or releases tasks and has no counterpart (overheads, speeds, caches, tasks
that follow others) is refused, and so are schedulers other than EDF, RM and FP.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from math import floor

from hyperperiod.model.readers.xml_tasks import KeyPath, TaskForm, XmlTasks, read_tree, values_of
from hyperperiod.model.readers.xml_tree import Element
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.model.values import TomlTable

_WHOLE = {"period": "1ms", "budget": "1ms"}
_LIBRARY = "simso.schedulers."
_SCHEDULERS = {f"{_LIBRARY}{name}": name.lower() for name in ("EDF", "RM", "FP")}
_ON_ONE = {**_SCHEDULERS, f"{_LIBRARY}EDF_mono": "edf", f"{_LIBRARY}RM_mono": "rm"}
_DATES = "list_activation_dates"
_TASK = TaskForm(
    times={"period": "period", "wcet": "WCET", "deadline": "deadline", "offset": "activationDate"},
    read=("name", "task_type", _DATES, "priority"),
    ignored=re.compile("id|ACET|et_stddev|base_cpi|instructions|mix|stack|abort_on_miss"),
    zero=("preemption_cost",),
)
_PROCESSORS = TaskForm({}, (), re.compile("processor|field"), ("migration_overhead",))
_PROCESSOR = TaskForm({}, ("name", "speed"), re.compile("id|cache"), ("cl_overhead", "cs_overhead"))
_SCHED = TaskForm(
    times={},
    read=("class",),
    ignored=re.compile("field"),
    zero=("overhead", "overhead_activate", "overhead_terminate"),
)


def read_simso(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    return _SimsoReader(file, _TASK).read(read_tree(file, text, "simulation"))


class _SimsoReader(XmlTasks):
    """Turns the tasks of a simulation into a domain."""

    def read(self, root: Element) -> tuple[TomlTable, Callable[[KeyPath], int]]:
        self.lines[()] = root.line
        for form in (_TASK, _PROCESSORS, _PROCESSOR, _SCHED):
            self.require_values(root, form.known)
        said = values_of(root)
        usual = "wcet" if said.get("use_wcet", "yes") in ("yes", "true") else "cache"
        if (model := said.get("etm", usual)) not in ("wcet", "acet"):
            raise self.refuse(root, "etm", repr(model[:40]), "wcet or acet: bounds by WCET")
        for one in root.all("processors"):
            self.require_known(one, _PROCESSORS)
        processors = list(root.all("processors", "processor"))
        for one in processors:
            speed = self.require_known(one, _PROCESSOR).get("speed", "1")
            if self.number(one, "speed", speed) != 1:
                raise self.refuse(one, "speed", repr(speed[:40]), "1")
        count = max(1, len(processors))
        scheduler = self._scheduler(next(root.all("sched"), root), count)
        tasks = list(root.all("tasks", "task"))
        for one in tasks:
            if scheduler == "rm" and values_of(one).get("task_type") == "Sporadic":
                allowed = "Periodic under RM: of others it goes by a period that they do not have"
                raise self.refuse(one, "task_type", "'Sporadic'", allowed)
        if count == 1:
            self.add_domain("tasks", root, scheduler, tasks, pcpu=0)
            return self.document("SimSo", policy="ptps")
        own = list(range(count))
        self.add_domain("tasks", root, f"g{scheduler}", tasks, pcpus=own, interface=_WHOLE)
        return self.document("SimSo", policy="ptps", pcpus=count)

    def _scheduler(self, element: Element, processors: int) -> str:
        said = self.require_known(element, _SCHED) if element.tag == "sched" else {}
        name = said.get("class", "")
        known = _ON_ONE if processors == 1 else _SCHEDULERS
        if name not in known:
            raise self.refuse(element, "class", repr(name[:40]), ", ".join(known))
        return known[name]

    def _task(self, element: Element, names: set[str]) -> TomlTable:
        said = values_of(element)
        kind = said.get("task_type", "Periodic")
        if kind not in ("Periodic", "Sporadic"):
            raise self.refuse(element, "task_type", repr(kind[:40]), "Periodic or Sporadic")
        table = super()._task(element, names)
        if kind == "Periodic":
            return table
        dates = sorted(
            self.number(element, _DATES, one.strip()) for one in said.get(_DATES, "").split(",")
        )
        gaps = [later - earlier for earlier, later in pairwise(dates)]
        if not gaps:
            raise self.refuse(element, _DATES, "fewer than two", "two or more, for their gap")
        period = f"{floor(min(gaps) * NS_PER_UNIT['ms'])}ns"
        return {**table, "kind": "sporadic", "period": period, "offset": "0ms"}
