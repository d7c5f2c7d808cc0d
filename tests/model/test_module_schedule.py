# SPDX-License-Identifier: BSD-2-Clause
"""Module schedules of ARINC 653: read, written, read again; and what is none."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.drawn_tables import some_table

from hyperperiod import InputError
from hyperperiod.cli import main
from hyperperiod.export import FOR_ANALYSIS
from hyperperiod.model import load_system

SCHEDULE = """<?xml version="1.0"?>
<!-- two partitions -->
<ARINC_653_MODULE ModuleName="m">
  <PARTITION PartitionIdentifier="1" PartitionName="flight"/>
  <MODULE_SCHEDULE MajorFrameSeconds="0.040">
    <PARTITION_SCHEDULE PartitionIdentifier="1" PartitionName="flight" PeriodSeconds="0.020"
        PeriodDurationSeconds="0.005">
      <WINDOW_SCHEDULE WindowStartSeconds="0.0" WindowDurationSeconds="0.005"
        PartitionPeriodStart="true"/>
      <WINDOW_SCHEDULE WindowStartSeconds="0.020" WindowDurationSeconds="0.005"
        PartitionPeriodStart="true"/>
    </PARTITION_SCHEDULE>
    <PARTITION_SCHEDULE PartitionIdentifier="2" PeriodSeconds="0.040"
        PeriodDurationSeconds="0.010">
      <WINDOW_SCHEDULE WindowStartSeconds="0.005" WindowDurationSeconds="0.0100"
        PartitionPeriodStart="true"/>
    </PARTITION_SCHEDULE>
  </MODULE_SCHEDULE>
</ARINC_653_MODULE>
"""


def read(folder: Path, text: str) -> list[tuple[str, list[tuple[int, int]]]]:
    path = folder / "m.xml"
    path.write_text(text)
    system = load_system(path)
    assert str(system.policy) == "table"
    us = 1000
    return [
        (one.name, [(w.start_ns // us, w.duration_ns // us) for w in one.windows])
        for one in system.domains
    ]


@pytest.mark.parametrize("text", [SCHEDULE, SCHEDULE.replace("_SCHEDULE", "_Schedule")])
def test_partitions_and_windows_are_read(text: str, tmp_path: Path) -> None:
    flight = ("flight", [(0, 5000), (20_000, 5000)])
    assert read(tmp_path, text) == [flight, ("partition-2", [(5000, 10_000)])]


@pytest.mark.parametrize("number", range(30))
def test_what_is_written_is_read_again(number: int, tmp_path: Path) -> None:
    table = some_table(random.Random(number)).replace(pcpus=1)
    table = table.replace(domains=[one for one in table.domains if one.pcpu == 0])
    (text,) = FOR_ANALYSIS["arinc653"](table).values()
    assert isinstance(text, str)
    path = tmp_path / "m.xml"
    path.write_text(text)
    again = load_system(path)
    assert again.major_frame_ns == table.major_frame_ns
    assert {one.name: set(one.windows) for one in again.domains} == {
        one.name: set(one.windows) for one in table.domains
    }


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('MajorFrameSeconds="0.040"', "", 5, "seconds, such as"),
        ('"0.0"', '"soon"', 8, "seconds, such as"),
        ('"0.0"', '"0.0000000001"', 8, "whole nanoseconds"),
        ('PeriodSeconds="0.020"', 'PeriodSeconds="0.030"', 6, "a part of the major frame, 40ms"),
        ('PeriodDurationSeconds="0.005"', 'PeriodDurationSeconds="0.006"', 6, "5ms in the period"),
        ('"0.020" Win', '"0.021" Win', 6, "true once every 20ms"),
        ('WindowStartSeconds="0.005"', 'WindowStartSeconds="0.004"', 15, "from 5ms on"),
        ("MODULE_SCHEDULE", "MODULE_SCHEDUL", 3, "one: a table"),
    ],
)
def test_what_is_none_is_refused_by_line(
    old: str, new: str, line: int, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, SCHEDULE.replace(old, new))
    first = refused.value.problems[0]
    assert (first.line, words in str(refused.value)) == (line, True), str(refused.value)


def test_servers_have_no_module_schedule(tmp_path: Path) -> None:
    system = str(Path(__file__).parents[2] / "systems" / "flight-control.toml")
    command = ["export", "--to", "arinc653", system, "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(main, command)
    assert (found.exit_code, "xen-arinc653" in found.output) == (2, True)
