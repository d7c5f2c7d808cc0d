# SPDX-License-Identifier: BSD-2-Clause
"""CARTS systems: what is read, what is refused, and files that mean harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperperiod.model import InputError, Scheduler, System, load_system
from hyperperiod.model.readers.carts import read_carts

MS = 1_000_000

GOOD = """<system os_scheduler="DM" min_period="10" max_period="100">
  <component name="part 1" scheduler="DM" min_period="10" max_period="10">
    <task name="t1" p="500" d="400" e="22.5" offset="3"/>
    <task name="t1" p="600" d="600" e="31" jitter="10" cs="0"></task>
    <task name="none" p="600" d="600" e="0"/>
  </component>
  <component name="part2" scheduler="EDF" min_period="10" max_period="50">
    <task name="t" p="50" d="50" e="1"/>
  </component>
  <component name="outer" scheduler="RM" period="20" vmips="0">
    <component name="inner" scheduler="EDF" min_period="40" max_period="40">
      <task name="t" p="80" d="80" e="2"/>
    </component>
  </component>
</system>
"""


def read(text: str, folder: Path) -> System:
    file = folder / "avionics.xml"
    file.write_text(text, encoding="utf-8")
    return load_system(file)


def test_a_system(tmp_path: Path) -> None:
    system = read(GOOD, tmp_path)
    assert system.name == "avionics"
    assert str(system.policy) == "ptps"
    assert system.quantum_ns == MS
    part1, part2, outer = system.domains
    assert (part1.name, part1.scheduler, part1.pcpu) == ("part 1", Scheduler.DM, 0)
    assert part1.interface_period_ns == 10 * MS
    assert [task.name for task in part1.tasks] == ["t1", "t1#2"]
    assert part1.tasks[0].period_ns == 500 * MS
    assert part1.tasks[0].deadline_ns == 400 * MS
    assert part1.tasks[0].wcet_ns == 22_500_000
    assert part1.tasks[0].offset_ns == 3 * MS
    assert part1.tasks[1].jitter_ns == 10 * MS
    assert part1.tasks[1].deadline_ns == 590 * MS, "it counts from before the jitter"
    assert (part2.scheduler, part2.interface_period_ns) == (Scheduler.EDF, None)
    assert (outer.scheduler, outer.interface_period_ns) == (Scheduler.DM, 20 * MS)
    assert outer.domains[0].name == "inner"
    assert outer.domains[0].tasks[0].wcet_ns == 2 * MS


def test_what_is_not_as_in_the_file_is_told(tmp_path: Path) -> None:
    description = read(GOOD, tmp_path).description
    assert "1 unit = 1 ms" in description
    assert "a second t1 is called t1#2" in description
    assert "task none asks for no time and is left out" in description
    assert "component part2 allows a range of periods, the analysis chooses" in description


@pytest.mark.parametrize(("scheduler", "policy"), [("EDF", "periodic+edf+none"), ("RM", "ptps")])
def test_the_scheduler_of_the_system_is_the_policy(
    scheduler: str, policy: str, tmp_path: Path
) -> None:
    text = GOOD.replace('os_scheduler="DM"', f'os_scheduler="{scheduler}"')
    assert str(read(text, tmp_path).policy) == policy


def test_other_spellings(tmp_path: Path) -> None:
    text = GOOD.replace("os_scheduler", "os-scheduler").replace('"DM"', '"dm"')
    assert read(text, tmp_path) == read(GOOD, tmp_path)


def test_parts_of_units_have_no_quantum(tmp_path: Path) -> None:
    text = GOOD.replace('period="20"', 'period="2.5"')
    assert read(text, tmp_path).quantum_ns is None


def test_critical_sections_block_those_with_shorter_deadlines(tmp_path: Path) -> None:
    """The example of CARTS for shared resources: cs of 0, 1 and 4 in the order of deadlines."""
    tasks = "".join(
        f'<task name="t{number}" p="{p}" d="{p}" e="{e}" cs="{cs}"/>\n'
        for number, (p, e, cs) in enumerate([(80, 4, 4), (30, 2, 0), (32, 1, 1)])
    )
    text = f"""<system os_scheduler="DM"><component name="c" scheduler="DM" period="15">
        {tasks}</component></system>"""
    long, short, middle = read(text, tmp_path).domains[0].tasks
    assert (long.blocking_ns, short.blocking_ns, middle.blocking_ns) == (0, 4 * MS, 4 * MS)


GLOBAL = """<system os_scheduler="gEDF" period="16"{system}>
  <component name="C0" scheduler="gEDF" period="256"{component}>
    <task name="T0" p="200" d="200" e="101"/>
    <task name="T1" p="400" d="400" e="305"/>
    <task name="none" p="0" d="400" e="0"/>
  </component>
  <component name="C1" scheduler="gEDF" period="256">
    <task name="T0" p="300" d="300" e="250"/>
  </component>
</system>
"""


def test_global_edf_on_several_vcpus() -> None:
    """How many are given, or as few as the utilisation allows: 101/200 + 305/400 is above 1."""
    text = GLOBAL.format(system=' numVCPUs="4"', component=' numVCPUs="3"')
    document, _ = read_carts("s.xml", text)
    assert document["policy"] == "periodic+edf+none+global"
    assert document["pcpus"] == 4
    assert [(d["scheduler"], d["vcpus"]) for d in document["domain"]] == [("gedf", 3), ("gedf", 1)]
    document, _ = read_carts("s.xml", GLOBAL.format(system="", component=""))
    assert document["pcpus"] == 3
    assert [domain["vcpus"] for domain in document["domain"]] == [2, 1]
    assert "component C0 gets 2 vcpus, the least that it may need" in document["description"]


@pytest.mark.parametrize("number", ["0", "-1", "two", "1.5", "99999"])
def test_numbers_of_vcpus_that_are_none(number: str) -> None:
    text = GLOBAL.format(system="", component=f' numVCPUs="{number}"')
    with pytest.raises(InputError, match="numVCPUs"):
        read_carts("s.xml", text)


LAUGHS = """<!DOCTYPE system [
  <!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<system os_scheduler="DM">&c;</system>"""

OUTSIDE = '<!DOCTYPE system SYSTEM "file:///etc/passwd"><system/>'

TASK = '<task name="t" p="50" d="50" e="1"/>'


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("", 1, "", "well-formed XML"),
        ("<system>", 1, "", "well-formed XML"),
        ("<system>\n</component>", 2, "", "well-formed XML"),
        ("name = 'toml'", 1, "", "well-formed XML"),
        (LAUGHS, 1, "DOCTYPE", "plain XML"),
        (OUTSIDE, 1, "DOCTYPE", "plain XML"),
        ("<system>\n&undefined;</system>", 2, "", "well-formed XML"),
        ("<system>\nwords</system>", 2, "", "elements only"),
        ("<components/>", 1, "components", "system > component > task"),
        (f"<system>\n{TASK}</system>", 2, "task", "the element task inside system"),
        ("<system/>", 1, "domain", "at least one"),
        ('<system>\n<component name="a"/></system>', 2, "domain[0].task", "without tasks"),
        (GOOD.replace('"DM"', '"LLF"', 1), 1, "system os_scheduler", "EDF, DM, RM or gEDF"),
        (GOOD.replace('scheduler="RM"', 'scheduler="X"'), 10, "component outer scheduler", "'X'"),
        (GOOD.replace('p="80"', 'p="eighty"'), 12, "task t p", "'eighty'"),
        (GOOD.replace('p="80"', 'p="-80"'), 12, "task t p", "CARTS time units"),
        (GOOD.replace('p="80"', 'p="0"'), 12, "domain[2].domain[0].task[0].period", "above 0"),
        (GOOD.replace('p="80"', 'p="9999999999999999"'), 12, "period", "below 2^62"),
        (GOOD.replace('p="80"', 'p="0.0000001"'), 12, "period", "whole number of nanoseconds"),
        (GOOD.replace('p="80" ', ""), 12, "task t p", "found nothing"),
        (GOOD.replace('name="outer" ', ""), 10, "component name", "found nothing"),
        (GOOD.replace('cs="0"', 'cs="-1"'), 4, "task t1 cs", "CARTS time units"),
        (GOOD.replace('cs="0"', 'delta_rel="1"'), 4, "task t1 delta_rel", "not modelled"),
        (GOOD.replace('jitter="10"', 'jitter="201"'), 4, "task t1 jitter", "below another"),
        (GOOD.replace('jitter="10"', 'jitter="600"'), 4, "jitter", "less than the deadline"),
        (
            GLOBAL.format(system="", component="").replace('d="200"', 'd="200" jitter="1"'),
            3, "task T0 jitter", "0 under gEDF",
        ),
        (GOOD.replace("jitter", "jiter"), 4, "task t1 jiter", "did you mean jitter?"),
        (GOOD.replace('vmips="0"', 'numVCPUs="2"'), 10, "numVCPUs", "several only under gEDF"),
        ("<component>" * 3, 1, "component", "as the outermost element"),
        (
            "<system>\n" + '<component name="a">\n' * 40 + "</component>" * 40 + "</system>",
            18, "component", "16 levels",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, line: int, key: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(text, tmp_path)
    problems = [p for p in error.value.problems if key in p.key and words in str(p)]
    assert problems, str(error.value)
    assert problems[0].line == line
