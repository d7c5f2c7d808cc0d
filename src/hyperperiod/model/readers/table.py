# SPDX-License-Identifier: BSD-2-Clause
"""Reads and writes task sets as tables: CSV files with one task per row.

    domain,name,period_ms,wcet_ms,deadline_ms
    brakes,wheel,20,2,15
    brakes,fuse,40,5.5,

The first row names the columns, in any order; only `wcet` and, but for busy tasks, `period` are
needed. A time is a number in the unit that its column is named with (`period_ms`; ns, us, ms or s),
or a text with a unit (`period`, "20ms"). Empty cells are what a missing key is in a TOML file.
Columns about the domain (its scheduler, vcpus, pcpu or pcpus, priority and interface) may stand in
its first row only, or in all its rows alike. Without a column `domain` all tasks are in one domain,
called like the file; without `name` tasks are called task1, task2, ... by row. The scheduler is rm
where none is named, fp where tasks have priorities. The system is called like the file and has the
policy ptps, with as many pcpus as the pins need.

Fields may be quoted; the separator is a comma, or a semicolon if the first row has one and no
comma. Empty rows are skipped, and lines before the first row that begin with #. What a system has
and a table cannot say is refused by `to_table`: see there.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from hyperperiod.model.domain import Domain
from hyperperiod.model.errors import InputError, did_you_mean
from hyperperiod.model.limits import PCPU_LIMIT, TASK_LIMIT
from hyperperiod.model.locate import Lines
from hyperperiod.model.system import System
from hyperperiod.model.task import Task
from hyperperiod.model.values import Path as KeyPath
from hyperperiod.model.values import TomlTable, plain_name

# Column: key in the domain's table, or in the task's.
_DOMAIN_TIMES = {
    "interface_period": "interface_period",
    "interface_budget": "budget",
}
_DOMAIN_WORDS = {
    "scheduler": "scheduler",
    "vcpus": "vcpus",
    "pcpu": "pcpu",
    "pcpus": "pcpus",
    "domain_priority": "priority",
}
_TASK_TIMES = ("period", "wcet", "deadline", "offset", "jitter", "blocking")
_TASK_WORDS = ("kind", "priority", "etf", "vcpu")
_WHOLE = {"vcpus", "pcpu", "priority", "domain_priority", "vcpu"}
_COLUMNS = ("domain", "name", *_TASK_TIMES, *_TASK_WORDS, *_DOMAIN_WORDS, *_DOMAIN_TIMES)

_COLUMN = re.compile(r"(.+?)(?:_(ns|us|ms|s))?")
_NUMBER = re.compile(r"[0-9]{1,19}(\.[0-9]{1,12})?")
_SEVERAL = re.compile(r"[0-9]{1,12}( [0-9]{1,12})*")
_INTEGER = re.compile(r"[0-9]{1,12}")
_FACTOR = re.compile(r"[0-9]{1,2}(\.[0-9]{1,12})?")
FIELD_LIMIT = 4096


class _Column(NamedTuple):
    """A column: its key, and the unit of its times if the name says one."""

    key: str
    unit: str
    title: str


class _Row(NamedTuple):
    line: int
    cells: dict[str, str]


def read_table(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    return _TableReader(file).read(text)


class _TableReader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[KeyPath, int] = {}

    def read(self, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
        rows = self._rows(text)
        stem = plain_name(Path(self.file.strip("<>")).stem, "tasks")
        domains: dict[str, TomlTable] = {}
        for number, row in enumerate(rows, start=1):
            name = row.cells.get("domain", "") or stem
            domain = domains.get(name)
            if domain is None:
                domain = {"name": name, "task": []}
                self.lines[("domain", len(domains))] = row.line
                domains[name] = domain
            self._domain_cells(domain, row)
            index = list(domains).index(name)
            self.lines[("domain", index, "task", len(domain["task"]))] = row.line
            domain["task"].append(self._task(row, number))
        for domain in domains.values():
            self._finish(domain)
        pins = [domain["pcpu"] for domain in domains.values() if "pcpu" in domain]
        pins += [pcpu for domain in domains.values() for pcpu in domain.get("pcpus", ())]
        return {
            "name": stem,
            "policy": "ptps",
            "pcpus": min(max(pins, default=0) + 1, PCPU_LIMIT),
            "domain": list(domains.values()),
        }, Lines(self.lines).of

    def _rows(self, text: str) -> list[_Row]:
        """All rows below the first, by column."""
        head = next((line for line in text.splitlines() if _says_something(line)), "")
        separator = ";" if ";" in head and "," not in head else ","
        columns: list[_Column] | None = None
        rows: list[_Row] = []
        for line, fields in self._fields(text, separator):
            if columns is None:
                columns = self._columns(line, fields)
                continue
            if len(fields) != len(columns):
                allowed = f"{len(columns)}, one for each column"
                raise InputError(self.file, line, "", f"{len(fields)} fields", allowed)
            cells = {
                column.key: self._with_unit(line, column, field)
                for column, field in zip(columns, fields, strict=True)
                if field
            }
            rows.append(_Row(line, cells))
            if len(rows) > TASK_LIMIT:
                raise InputError(self.file, line, "", "more tasks", f"at most {TASK_LIMIT}")
        if columns is None:
            raise InputError(self.file, 1, "", "no row", f"columns: {', '.join(_COLUMNS)}")
        if not rows:
            raise InputError(self.file, 1, "", "no task", "one row per task")
        return rows

    def _fields(self, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
        """Rows that say something, with the line on which each begins."""
        lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
        reader = csv.reader(lines, delimiter=separator, strict=True)
        before, before_first = 0, True
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                line = max(1, reader.line_num)
                raise InputError(self.file, line, "", str(error), "CSV, RFC 4180") from None
            line, before = before + 1, reader.line_num
            stripped = [field.strip() for field in fields]
            long = next((field for field in stripped if len(field) > FIELD_LIMIT), None)
            if long is not None:
                raise InputError(self.file, line, "", "a longer field", f"{FIELD_LIMIT} characters")
            comment = before_first and stripped[:1] and stripped[0].startswith("#")
            if any(stripped) and not comment:
                before_first = False
                yield line, stripped

    def _columns(self, line: int, titles: Sequence[str]) -> list[_Column]:
        columns: list[_Column] = []
        times = (*_TASK_TIMES, *_DOMAIN_TIMES)
        for title in titles:
            match = _COLUMN.fullmatch(title)
            key, unit = (match[1], match[2] or "") if match else ("", "")
            if key not in _COLUMNS or (unit and key not in times):
                hint = "" if title in _COLUMNS else did_you_mean(key, _COLUMNS)
                allowed = f"the columns are {', '.join(_COLUMNS)}; times may end in _ns to _s{hint}"
                raise InputError(self.file, line, "", f"the unknown column {title[:40]!r}", allowed)
            if any(column.key == key for column in columns):
                found = f"the column {key} a second time"
                raise InputError(self.file, line, "", found, "each once")
            columns.append(_Column(key, unit, title))
        return columns

    def _with_unit(self, line: int, column: _Column, field: str) -> str:
        """A cell as a file of ours would write it: a number gets the unit of its column."""
        if not column.unit:
            return field
        if not _NUMBER.fullmatch(field):
            allowed = f"a number of {column.unit} below 2^62 ns, such as 20 or 0.5"
            raise InputError(self.file, line, column.title, repr(field[:40]), allowed)
        return f"{field}{column.unit}"

    def _domain_cells(self, domain: TomlTable, row: _Row) -> None:
        """Returns the keys of a row about its domain; all rows must say the same."""
        for column, key in (*_DOMAIN_WORDS.items(), *_DOMAIN_TIMES.items()):
            if column not in row.cells:
                continue
            value = self._value(row, column)
            if key in domain and domain[key] != value:
                raise InputError(
                    self.file,
                    row.line,
                    column,
                    f"{row.cells[column][:40]!r} for domain {domain['name'][:40]}",
                    f"{domain[key]!r}, as in a row before",
                )
            domain[key] = value

    def _task(self, row: _Row, number: int) -> TomlTable:
        task: TomlTable = {"name": row.cells.get("name", f"task{number}")}
        for column in (*_TASK_TIMES, *_TASK_WORDS):
            if column in row.cells:
                task[column] = self._value(row, column)
        return task

    def _value(self, row: _Row, column: str) -> Any:
        text = row.cells[column]
        if column in _WHOLE:
            if not _INTEGER.fullmatch(text):
                raise InputError(self.file, row.line, column, repr(text[:40]), "a whole number")
            return int(text)
        if column == "pcpus":
            if not _SEVERAL.fullmatch(text):
                allowed = "whole numbers with a space between, one for each vcpu"
                raise InputError(self.file, row.line, column, repr(text[:40]), allowed)
            return [int(number) for number in text.split()]
        if column == "etf":
            if not _FACTOR.fullmatch(text):
                allowed = "a number above 0 and at most 1"
                raise InputError(self.file, row.line, column, repr(text[:40]), allowed)
            return Decimal(text)
        return text

    def _finish(self, domain: TomlTable) -> None:
        """Returns the keys that the columns of a domain mean together."""
        budget = domain.pop("budget", None)
        if budget is not None:
            domain["interface"] = {"budget": budget}
            if "interface_period" in domain:
                domain["interface"]["period"] = domain.pop("interface_period")
        if "scheduler" not in domain and any("priority" in task for task in domain["task"]):
            domain["scheduler"] = "fp"


def _says_something(line: str) -> bool:
    return bool(line.strip("\ufeff \t\r\n,;")) and not line.lstrip("\ufeff \t").startswith("#")


def to_table(system: System) -> str:
    """The tasks of a system as CSV, times in whole nanoseconds.

    What belongs to the system rather than to its tasks and servers is not in the table: policy,
    quantum, overheads, stolen time, swaps, changes, overruns, flows. Domains that a table cannot
    say are an InputError: nested ones, best effort, extra time, weights, ranges of periods, vcpus
    that differ in more than their pcpus, wishes for their placement; and devices are, whose tasks
    would be those of their drivers.
    """
    if system.devices:
        found = f"device {system.devices[0].name}"
        raise InputError("", None, "device[0]", found, "no such thing in CSV")
    for index, domain in enumerate(system.domains):
        _refuse(index, domain)
    columns = _written_columns(system)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for domain in system.domains:
        for task in domain.tasks:
            cells = _cells(system, domain, task)
            writer.writerow([cells.get(column, "") for column in columns])
    return out.getvalue()


def _refuse(index: int, domain: Domain) -> None:
    for key, present in (
        ("domain", bool(domain.domains)),
        ("windows", bool(domain.windows)),
        ("best_effort", domain.best_effort),
        ("extra", domain.extra),
        ("weight", domain.weight is not None),
        ("interface_period_range", domain.interface_period_range is not None),
        ("vcpu", bool(domain.own_vcpus)),
        ("spread", domain.spread),
        ("together", domain.together),
        ("apart", bool(domain.apart)),
    ):
        if present:
            raise InputError(
                "",
                None,
                f"domain[{index}].{key}",
                f"{key} in {domain.name}",
                "no such thing in CSV",
            )


def _written_columns(system: System) -> list[str]:
    """The columns that say something in some row, in a fixed order."""
    used = {
        key
        for domain in system.domains
        for task in domain.tasks
        for key in _cells(system, domain, task)
    }
    order = ["domain", *_DOMAIN_WORDS, *(f"{key}_ns" for key in _DOMAIN_TIMES), "name", "kind"]
    order += [*(f"{key}_ns" for key in _TASK_TIMES), "priority", "etf", "vcpu"]
    return [column for column in order if column in used]


def _cells(system: System, domain: Domain, task: Task) -> dict[str, str]:
    """Returns the cells of one row: only what differs from the defaults."""
    cells: TomlTable = {"domain": domain.name, "scheduler": str(domain.scheduler)}
    cells |= {"vcpus": domain.vcpus} if domain.vcpus != 1 else {}
    if domain.pcpus is not None:
        cells["pcpus"] = " ".join(map(str, domain.pcpus))
    elif system.pcpus > 1:
        cells["pcpu"] = domain.pcpu
    cells |= {"domain_priority": domain.priority}
    if domain.interface is not None:
        cells["interface_period_ns"] = domain.interface.period_ns
        cells["interface_budget_ns"] = domain.interface.budget_ns
    elif domain.interface_period_ns is not None:
        cells["interface_period_ns"] = domain.interface_period_ns
    cells |= {"name": task.name}
    cells |= {"kind": str(task.kind)} if task.kind.value != "periodic" else {}
    times = {key: getattr(task, f"{key}_ns") for key in _TASK_TIMES}
    if task.deadline_ns == task.period_ns:
        times["deadline"] = None
    cells |= {f"{key}_ns": time_ns for key, time_ns in times.items() if time_ns}
    cells |= {"priority": task.priority, "vcpu": task.vcpu}
    if task.etf != 1:
        cells["etf"] = f"{Decimal(task.etf.numerator) / Decimal(task.etf.denominator):.9f}"
    return {key: str(value) for key, value in cells.items() if value is not None}
