# SPDX-License-Identifier: BSD-2-Clause
"""Reads the schedule of a module of ARINC 653 Part 1: partitions with windows, without tasks.

    <MODULE_SCHEDULE MajorFrameSeconds="0.040">
      <PARTITION_SCHEDULE PartitionName="flight" PeriodSeconds="0.020"
                          PeriodDurationSeconds="0.005">
        <WINDOW_SCHEDULE WindowStartSeconds="0" WindowDurationSeconds="0.005"
                         PartitionPeriodStart="true"/> ...

It may stand in a larger description of a module, of which nothing else is read; names are also
known in mixed case, as in older editions. What is in a partition the schedule does not know: a busy
task stands for all of it. Its windows must be what it says of them: from each window that begins a
period on there is the promised duration in a period, and periods follow one another without a gap.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from hyperperiod.model.errors import InputError
from hyperperiod.model.locate import Lines
from hyperperiod.model.readers.xml_tree import Element, read_xml
from hyperperiod.model.units import format_time, parse_time
from hyperperiod.model.values import TomlTable, plain_name

KeyPath = tuple[str | int, ...]


def read_module_schedule(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    root = read_xml(file, text, lambda *_: None, with_text=True)
    schedules = _named(root, "MODULE_SCHEDULE")
    if len(schedules) != 1:
        found = f"{len(schedules)} MODULE_SCHEDULE"
        raise InputError(file, root.line, "MODULE_SCHEDULE", found, "one: a table for one pcpu")
    (schedule,) = schedules
    frame_ns = _seconds(file, schedule, "MajorFrameSeconds")
    lines: dict[KeyPath, int] = {("major_frame",): schedule.line}
    domains: list[TomlTable] = []
    for number, one in enumerate(_named(schedule, "PARTITION_SCHEDULE")):
        lines["domain", number] = one.line
        windows = []
        for place, window in enumerate(_named(one, "WINDOW_SCHEDULE")):
            lines["domain", number, "windows", place] = window.line
            windows.append(
                (
                    _seconds(file, window, "WindowStartSeconds"),
                    _seconds(file, window, "WindowDurationSeconds"),
                    window.attributes.get("PartitionPeriodStart", "false").lower() == "true",
                )
            )
        _require_periods(file, one, frame_ns, windows)
        called = one.attributes.get("PartitionIdentifier", str(number))
        name = one.attributes.get("PartitionName", f"partition-{called}")
        domains.append(
            {
                "name": plain_name(name, "unnamed"),
                "windows": [
                    {"start": f"{start_ns}ns", "duration": f"{duration_ns}ns"}
                    for start_ns, duration_ns, _ in windows
                ],
            }
        )
    return {
        "name": plain_name(Path(file.strip("<>")).stem, "module"),
        "description": "Read from a module schedule; busy tasks stand for what is inside",
        "policy": "table",
        "major_frame": f"{frame_ns}ns",
        "domain": domains,
    }, Lines(lines).of


def _named(inside: Element, tag: str) -> list[Element]:
    return [one for one in inside.every() if one.tag.upper() == tag]


def _seconds(file: str, one: Element, key: str) -> int:
    """Returns an attribute in seconds as nanoseconds."""
    text = one.attributes.get(key, "")
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}0*)?", text):
        found = repr(text[:40]) if text else "nothing"
        raise InputError(file, one.line, key, found, "seconds, such as 0.050, in whole nanoseconds")
    return parse_time(f"{text}s")


def _require_periods(
    file: str, one: Element, frame_ns: int, windows: list[tuple[int, int, bool]]
) -> None:
    """InputError where windows are not those of a partition with its period and duration."""
    period_ns = _seconds(file, one, "PeriodSeconds")
    promised_ns = _seconds(file, one, "PeriodDurationSeconds")
    if not period_ns or frame_ns % period_ns:
        allowed = f"a part of the major frame, {format_time(frame_ns)}"
        raise InputError(file, one.line, "PeriodSeconds", format_time(period_ns), allowed)
    begins = sorted(start_ns for start_ns, _, first in windows if first)
    expected = [begins[0] + at for at in range(0, frame_ns, period_ns)] if begins else []
    if begins != expected or not begins:
        found = f"true at {', '.join(map(format_time, begins)) or 'no time'}"
        allowed = f"true once every {format_time(period_ns)}"
        raise InputError(file, one.line, "PartitionPeriodStart", found, allowed)
    for begin_ns in begins:
        got_ns = sum(
            duration_ns
            for start_ns, duration_ns, _ in windows
            if (start_ns - begin_ns) % frame_ns < period_ns
        )
        if got_ns < promised_ns:
            found = f"{format_time(got_ns)} in the period from {format_time(begin_ns)} on"
            allowed = f"PeriodDurationSeconds, {format_time(promised_ns)}"
            raise InputError(file, one.line, "WINDOW_SCHEDULE", found, allowed)
