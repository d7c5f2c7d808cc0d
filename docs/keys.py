# SPDX-License-Identifier: BSD-2-Clause
"""Writes the tables of keys in formats.md from the classes that read system files.

    python docs/keys.py --write

A table is known by its first title. What a key means and what holds without it stand with the
fields in `hyperperiod.model`, where the JSON Schema takes them, too; a test compares.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hyperperiod.model import (
    Change,
    Device,
    Domain,
    Flow,
    Interface,
    Overheads,
    Overrun,
    OwnVcpu,
    PeriodRange,
    Policy,
    Source,
    Stolen,
    Swap,
    System,
    Task,
    TimeWindow,
)
from hyperperiod.model.part import Field, Part, fields_of

PAGE = Path(__file__).with_name("formats.md")

TABLES: dict[str, tuple[type[Part], str]] = {
    "top level": (System, "meaning"),
    "`policy`": (Policy, "meaning"),
    "`[overheads]`": (Overheads, "what takes this long; see [semantics](semantics.md#overheads)"),
    "`[[domain]]`": (Domain, "meaning"),
    "`interface`, `spare`": (Interface, "meaning"),
    "`interface_period_range`": (PeriodRange, "meaning"),
    "`[[domain.vcpu]]`": (OwnVcpu, "each key is as that of the domain; see [below](#vcpus)"),
    "`[[domain.task]]`": (Task, "meaning"),
    "`windows`": (TimeWindow, "when a partition runs; see [semantics](semantics.md#tables)"),
    "`[[stolen]]`": (
        Stolen,
        "time that is not there to be granted; see [semantics](semantics.md#stolen-time)",
    ),
    "`[[swap]]`": (Swap, "meaning"),
    "`[[change]]`": (Change, "meaning"),
    "`[[overrun]]`": (
        Overrun,
        "jobs that run longer than analysed; see [semantics](semantics.md#overruns)",
    ),
    "`[[device]]`": (
        Device,
        "a network card and who drives it; see [semantics](semantics.md#devices)",
    ),
    "`[[flow]]`": (Flow, "items that pass several tasks; see [semantics](semantics.md#flows)"),
    "`source`": (Source, "where the items of a flow come from"),
}
"""The tables by their first titles: the class, and the last title."""


def table_of(title: str) -> str:
    """The table as the page has it."""
    part, meaning = TABLES[title]
    rows = [f"| {title} | default | {meaning} |", "| --- | --- | --- |"]
    rows += [
        f"| `{field.key}` | {_default(field)} | {field.text} |"
        for field in fields_of(part).values()
        if field.key
    ]
    return "\n".join(rows).replace("|  |", "| |") + "\n"


def _default(field: Field) -> str:
    """Returns the last column of a row: what holds if the file does not have the key."""
    if field.required:
        return "required"
    if field.unset:
        return field.unset
    value = field.kind.write(field.default)
    if isinstance(value, dict):
        return "all 0"
    if isinstance(value, str) and value and not value[0].isdigit():
        return f'`"{value}"`'
    return {"0ns": "0", "False": "false", "[]": "none", "1.0": "1"}.get(str(value), str(value))


def renewed(text: str) -> str:
    """The page with every table as it should be; ValueError for one that it does not have."""
    for title in TABLES:
        head = re.escape(f"| {title} |")
        pieces = re.split(rf"^{head}.*\n\| ---.*\n(?:\|.*\n)*", text, flags=re.MULTILINE)
        if len(pieces) != 2:
            raise ValueError(f"{len(pieces) - 1} tables {title}")
        text = table_of(title).join(pieces)
    return text


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
