# SPDX-License-Identifier: BSD-2-Clause
"""A table of windows as a module schedule of ARINC 653 Part 1.

The period of a partition is the major frame, and its duration what all its windows come to: that is
what a table says. Tasks are not in it. `model.readers.module_schedule` reads it again.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from xml.sax.saxutils import quoteattr

from hyperperiod.model import Domain, InputError, System


def export_arinc653(system: System) -> dict[str, str | bytes | Path]:
    """The file of the export, by name; InputError for a system without a table on one pcpu."""
    frame_ns = system.major_frame_ns
    if frame_ns is None:
        allowed = "windows: export --to xen-arinc653 makes a table of servers"
        raise InputError("", None, "major_frame", "nothing", allowed)
    if system.pcpus > 1:
        raise InputError("", None, "pcpus", str(system.pcpus), "1: a module schedule is for one")
    partitions = "".join(
        _partition(number, one, frame_ns) for number, one in enumerate(system.domains, 1)
    )
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<MODULE_SCHEDULE MajorFrameSeconds="{_seconds(frame_ns)}">
{partitions}</MODULE_SCHEDULE>
"""
    return {"schedule.xml": text}


def _partition(number: int, one: Domain, frame_ns: int) -> str:
    ordered = sorted(one.windows, key=lambda window: window.start_ns)
    windows = "".join(
        f"""    <WINDOW_SCHEDULE PartitionPeriodStart="{str(place == 0).lower()}"
      WindowStartSeconds="{_seconds(window.start_ns)}"
      WindowDurationSeconds="{_seconds(window.duration_ns)}"/>
"""
        for place, window in enumerate(ordered)
    )
    total_ns = sum(window.duration_ns for window in ordered)
    return f"""  <PARTITION_SCHEDULE PartitionIdentifier="{number}"
    PartitionName={quoteattr(one.name)}
    PeriodSeconds="{_seconds(frame_ns)}" PeriodDurationSeconds="{_seconds(total_ns)}">
{windows}  </PARTITION_SCHEDULE>
"""


def _seconds(time_ns: int) -> str:
    return f"{Decimal(time_ns).scaleb(-9):f}"
