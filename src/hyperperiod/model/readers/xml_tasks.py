# SPDX-License-Identifier: BSD-2-Clause
"""Tasks of other tools in XML, as tables of our own format: what readers of such forms share.

A tool says a value of a task as an attribute, or as the text of an element inside. Its form says
which of them are times, in units of 1 ms, which are looked at by its reader, which say nothing
about when a task runs, and which have to be 0, since we model only that. All others are refused.
Work, jitter and offsets are rounded up to whole nanoseconds, periods and deadlines down. Deadlines
there count from when a job should come, ours from when it does: jitter is taken off them, and where
that would order the tasks of deadline monotonic or global EDF otherwise, they are refused. EDF on
one cpu meets the deadlines in any order of jobs that can be met.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple

from hyperperiod.model.errors import InputError, did_you_mean
from hyperperiod.model.locate import Lines
from hyperperiod.model.readers.xml_tree import Element, read_xml
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.model.values import TomlTable, plain_name, unused_name

KeyPath = tuple[str | int, ...]
_NUMBER = re.compile(r"[0-9]{1,19}(\.[0-9]{1,30})?([eE]-?[0-9]{1,2})?")
_ROUNDED_DOWN = ("period", "deadline")
_DEEPEST = 20
_FIRST_BY = {"fp": "priority", "rm": "period", "dm": "deadline"}


class TaskForm(NamedTuple):
    """The values that an element of a tool's has: our key of each time by its name there, names
    that a reader looks at, names to be passed over, and names whose value has to be 0."""

    times: Mapping[str, str]
    read: Collection[str]
    ignored: re.Pattern[str]
    zero: Collection[str]

    @property
    def known(self) -> set[str]:
        """All names that are not passed over."""
        return {*self.times.values(), *self.read, *self.zero}


def read_tree(
    file: str, text: str, root: str, *, with_text: bool = False, deepest: int = _DEEPEST
) -> Element:
    """Returns the outermost element, which is called `root`; InputError for all other XML."""

    def place(tag: str, _above: str, depth: int) -> tuple[str, str] | None:
        if depth == 0 and tag != root:
            return f"the element {tag} as the outermost", root
        return None

    return read_xml(file, text, place, with_text=with_text, deepest=deepest)


class Misfit(NamedTuple):
    """Why tasks cannot be ordered as the tool does it: the number of one, and what to say of it."""

    task: int
    key: str
    found: str
    allowed: str


def find_equal(scheduler: str, tasks: list[TomlTable]) -> Misfit | None:
    """Returns the first task that `fp`, `rm` or `dm` does not order against one before it."""
    before: set[Fraction] = set()
    for number, rank in enumerate(_ranks(scheduler, tasks)):
        if rank in before:
            allowed = f"another for each under {scheduler}: the order of equals is not known"
            return Misfit(number, _FIRST_BY[scheduler], "that of another task", allowed)
        before.add(rank)
    return None


def take_off_jitter(scheduler: str, tasks: list[TomlTable]) -> Misfit | None:
    """Takes the jitter of each task off its deadline; returns a task that has no deadline left, or
    the first that deadline monotonic (`dm`) then has in another place. Under `gedf` that is any
    task with jitter: each job has another."""
    before = _order(scheduler, tasks)
    for number, table in enumerate(tasks):
        if "jitter" in table and (late_ns := _ns(table, "jitter")):
            deadline_ns = floor(_ns(table, "deadline") - late_ns)
            if deadline_ns <= 0:
                return Misfit(number, "jitter", table["jitter"], "less than the deadline")
            if scheduler == "gedf":
                allowed = "0 under gEDF: which job is first goes by deadlines without it"
                return Misfit(number, "jitter", table["jitter"], allowed)
            table["deadline"] = f"{deadline_ns}ns"
    for first, then in zip(before, _order(scheduler, tasks), strict=True):
        if first != then:  # it moved ahead: it has a jitter
            found = f"{tasks[then]['jitter']}, which takes its deadline below another"
            return Misfit(then, "jitter", found, "less: deadlines here are less the jitter")
    return None


def _order(scheduler: str, tasks: list[TomlTable]) -> list[int]:
    ranks = _ranks(scheduler, tasks)
    return sorted(range(len(ranks)), key=ranks.__getitem__)


def _ranks(scheduler: str, tasks: list[TomlTable]) -> list[Fraction]:
    """Returns what a scheduler orders tasks by, the smaller first; nothing if that changes."""
    key = _FIRST_BY.get(scheduler)
    if key is None:
        return []
    return [Fraction(one["priority"]) if key == "priority" else _ns(one, key) for one in tasks]


def _ns(table: TomlTable, key: str) -> Fraction:
    """Returns a time of a table, or without it the period; no limit holds for it yet."""
    text: str = table[key if key in table else "period"]
    return Fraction(text[:-2]) * NS_PER_UNIT[text[-2:]]


def values_of(element: Element) -> dict[str, str]:
    """Returns what an element says, by name, without what it leaves empty."""
    said = [*element.attributes.items()]
    said += [(one.tag, one.text.strip()) for one in element.inside if not one.inside]
    return {name: value for name, value in said if value}


class XmlTasks:
    """Tables made of elements, with the line of each."""

    def __init__(self, file: str, form: TaskForm) -> None:
        self.file = file
        self.form = form
        self.lines: dict[KeyPath, int] = {}
        self.domains: list[TomlTable] = []

    def add_domain(
        self, title: str, element: Element, scheduler: str, tasks: Iterable[Element], **keys: object
    ) -> None:
        """Adds a domain with these tasks; the larger of their priorities is first.

        Of equals the tools do not preempt, or not in an order that we know: InputError for these.
        """
        here: KeyPath = ("domain", len(self.domains))
        self.lines[here] = element.line
        tables: list[TomlTable] = []
        tasks, kind = list(tasks), scheduler[-2:]
        for one in tasks:
            self.lines[(*here, "task", len(tables))] = one.line
            names = {table["name"] for table in tables}
            tables.append(self._task(one, names))
            if kind == "fp":
                tables[-1]["priority"] = -self.whole(one, "priority")
        for find in (find_equal, take_off_jitter):
            if wrong := find(kind, tables):
                raise self.refuse(tasks[wrong.task], wrong.key, wrong.found, wrong.allowed)
        if kind == "fp":
            highest = min(table["priority"] for table in tables)
            for table in tables:
                table["priority"] -= highest
        name = unused_name(plain_name(title, "unnamed"), {one["name"] for one in self.domains})
        self.domains.append({"name": name, "scheduler": scheduler, **keys, "task": tables})

    def document(self, tool: str, **keys: object) -> tuple[TomlTable, Callable[[KeyPath], int]]:
        """Returns the document that a TOML file of the same system would give, and its lines."""
        return {
            "name": plain_name(Path(self.file.strip("<>")).stem, "unnamed"),
            "description": f"Read from a file of {tool}, 1 unit = 1 ms",
            **keys,
            "domain": self.domains,
        }, Lines(self.lines).of

    def require_known(self, element: Element, form: TaskForm) -> dict[str, str]:
        """Returns what an element says; InputError for what its form does not know."""
        values, known = values_of(element), form.known
        inside = [one.tag for one in element.inside if one.inside or one.attributes]
        for name in (*values, *inside):
            if name in form.zero and self.number(element, name, values.get(name)):
                raise self.refuse(element, name, repr(values[name][:40]), "0: it is not modelled")
            if name not in known and not form.ignored.fullmatch(name):
                allowed = f"{', '.join(sorted(known))}{did_you_mean(name, known)}"
                raise self.refuse(element, name, "what has no counterpart", allowed)
        return values

    def require_values(self, root: Element, names: Collection[str]) -> None:
        """InputError for what has one of these names and is said twice, or is no plain value."""
        for element in root.every():
            said = [*element.attributes, *(one.tag for one in element.inside)]
            for name in names:
                if said.count(name) > 1:
                    raise self.refuse(element, name, "it a second time", "it once")
                if any(one.inside or one.attributes for one in element.all(name)):
                    raise self.refuse(element, name, "elements or attributes", "a plain value")

    def number(self, element: Element, name: str, value: str | None) -> Fraction:
        """Returns a number from 0 on; InputError for anything else."""
        if value is None or not _NUMBER.fullmatch(value):
            found = "nothing" if value is None else repr(value[:40])
            raise self.refuse(element, name, found, "a number from 0 on")
        return Fraction(value)

    def whole(self, element: Element, name: str) -> int:
        """Returns the whole number that an element says under this name."""
        value = self.number(element, name, values_of(element).get(name))
        if value.denominator != 1 or value >= 10**9:
            raise self.refuse(element, name, str(value)[:40], "a whole number below 10^9")
        return int(value)

    def refuse(self, element: Element, key: str, found: str, allowed: str) -> InputError:
        """Returns the error for a value of an element."""
        name = values_of(element).get("name", "")
        where = " ".join(part for part in (element.tag, name[:40], key[:40]) if part)
        return InputError(self.file, element.line, where, found, allowed)

    def _task(self, element: Element, names: set[str]) -> TomlTable:
        values = self.require_known(element, self.form)
        times = {}
        for key, name in self.form.times.items():
            if name in values or key in ("period", "wcet"):
                value = self.number(element, name, values.get(name)) * NS_PER_UNIT["ms"]
                times[key] = floor(value) if key in _ROUNDED_DOWN else ceil(value)
        name = unused_name(plain_name(values.get("name", ""), "unnamed"), names)
        return {"name": name, **{key: f"{value}ns" for key, value in times.items()}}
