# SPDX-License-Identifier: BSD-2-Clause
"""ECUs of AUTOSAR: what becomes of tasks, events, alarms and cores, and what is refused.

The file is made for this. Its form is that of the schemas 00046 to 00054.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperperiod.model import InputError, System, load_system

FILE = Path(__file__).parents[2] / "docs" / "examples" / "pedal.arxml"
PEDAL = FILE.read_text()
MS = 1_000_000
BEHAVIOR = "/Parts/Pedal/Behavior"


def changed(folder: Path, *changes: tuple[str, str], name: str = "changed.arxml") -> System:
    """The system of the file with some things changed, wherever they stand."""
    text = PEDAL
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text)
    return load_system(path)


def test_an_ecu_becomes_a_system() -> None:
    system = load_system(FILE)
    first, second = system.domains
    assert [(one.name, one.pcpu, one.scheduler) for one in system.domains] == [
        ("core0", 0, "fp"),
        ("core1", 1, "fp"),
    ]
    control, report = first.tasks
    assert (control.name, control.period_ns, control.offset_ns) == ("Control", 10 * MS, 2 * MS)
    assert control.wcet_ns == 2 * MS, "800 us of Sample, which is more than was seen, and 12 * 100"
    assert control.deadline_ns == 10 * MS
    assert (report.wcet_ns, report.period_ns, report.offset_ns) == (9 * MS, 50 * MS, 0)
    assert control.priority is not None
    assert report.priority is not None
    assert control.priority < report.priority, "20 is more urgent than 5"
    (watchdog,) = second.tasks
    assert (watchdog.wcet_ns, watchdog.period_ns) == (MS // 2, 25 * MS), "budget, 25 ticks"
    assert watchdog.offset_ns == 4 * MS


NAMED = """<SHORT-NAME>{}</SHORT-NAME>
       <DEFINITION-REF DEST="ECUC-PARAM-CONF-CONTAINER-DEF">/AUTOSAR/EcucDefs/Os/{}<"""
MODULE = [
    ("RteEventToTaskMapping", "RteBswEventToTaskMapping"), ("RteEventRef", "RteBswEventRef"),
    ("RteMappedToTaskRef", "RteBswMappedToTaskRef"), ("TIMING-EVENT>", "BSW-TIMING-EVENT>"),
    ("RteActivationOffset", "RteBswActivationOffset"), ("START-ON-EVENT", "STARTS-ON-EVENT"),
]  # fmt: skip


def test_older_files_number_the_cores_in_applications(tmp_path: Path) -> None:
    system = changed(
        tmp_path,
        ("OsApplicationCoreRef", "OsApplicationCoreAssignment"),
        (">/Ecu/EcuC/Hardware/Core0<", ">1<"),
        (">/Ecu/EcuC/Hardware/Core1<", ">3<"),
    )
    assert [one.pcpu for one in system.domains] == [1, 3]
    assert system.pcpus == 4


def test_without_applications_all_is_on_one_core(tmp_path: Path) -> None:
    old = [NAMED.format(name, "OsApplication") for name in ("Drive", "Safety")]
    system = changed(tmp_path, *((one, one.replace("OsApplication", "Other")) for one in old))
    assert [(one.pcpu, len(one.tasks)) for one in system.domains] == [(0, 3)]


def test_events_of_modules_are_as_those_of_components(tmp_path: Path) -> None:
    assert changed(tmp_path, *MODULE).domains == load_system(FILE).domains


def test_the_time_in_an_exclusive_area_is_a_part(tmp_path: Path) -> None:
    longer = ("CODE-FACTOR>620<", "CODE-FACTOR>900<")
    part = ("SampleSeen</SHORT-NAME>", "SampleSeen</SHORT-NAME><EXCLUSIVE-AREA-REF/>")
    for changes, wcet_ns in (([longer], 2_100_000), ([longer, part], 2_000_000)):
        control = changed(tmp_path, *changes).domains[0].tasks[0]
        assert control.wcet_ns == wcet_ns, "the largest bound of a runnable counts"


def test_the_text_says_what_it_is(tmp_path: Path) -> None:
    for name in ("saved", "saved.xml"):
        assert changed(tmp_path, name=name).domains == load_system(FILE).domains


def test_an_alarm_of_mapped_events_says_when_they_come(tmp_path: Path) -> None:
    """Its cycle is their period, and its first time their offset."""
    alarm = [
        ("/Ecu/Os/Watchdog", "/Ecu/Os/Report"),
        (NAMED.format("Watchdog", "OsTask"), NAMED.format("Watchdog", "Other")),
        ("Hardware/Core1<", "Hardware/Core0<"),
    ]
    (domain,) = changed(tmp_path, *alarm, (">5.0E-2<", ">0.025<")).domains
    _, report = domain.tasks
    assert (report.period_ns, report.offset_ns, report.wcet_ns) == (25 * MS, 4 * MS, 9 * MS)
    with pytest.raises(InputError) as caught:
        changed(tmp_path, *alarm)
    assert [(one.key, one.found) for one in caught.value.problems] == [
        ("OsTask Report", "2 periods")
    ]


KICK = PEDAL[PEDAL.index("<SHORT-NAME>Kick") : PEDAL.index("<SHORT-NAME>Drive")]
KICK = "<ECUC-CONTAINER-VALUE>" + KICK.rpartition("<ECUC-")[0].replace("Kick", "Kick2")


@pytest.mark.parametrize(
    ("old", "new", "key", "found"),
    [
        ("schema/r4.0\" xml", "schema/r3.1\" xml", "AUTOSAR xmlns", "r3.1"),
        ("AUTOSAR xmlns", "OTHER xmlns", "OTHER", "the element OTHER"),
        ("Os/OsTask<", "Os/Task<", "AUTOSAR", "no OsTask"),
        (">0.01<", ">0.0000000001<", "TIMING-EVENT SampleEvery10 PERIOD", "0.1 ns"),
        (">0.01<", ">-1<", "TIMING-EVENT SampleEvery10 PERIOD", "'-1'"),
        ("<PERIOD>0.01<", "<PERIOD>1</PERIOD><PERIOD>0.01<", "PERIOD", "a second time"),
        (">0.01<", ">0.02<", "OsTask Control", "2 periods"),
        ("<OFFSET>0.002<", "<OFFSET>0.003<", "OsTask Control", "2 offsets"),
        ("RteActivationOffset<", "RtePeriod<", "OsTask Control", "2 periods"),
        ("<SYMBOL>Pedal_Send", "<MODE-SWITCH-POINTS><X/></MODE-SWITCH-POINTS><SYMBOL>Pedal_Send",
         "RUNNABLE-ENTITY Send MODE-SWITCH-POINTS", "no counterpart"),
        ("<PERIOD>0.01<", "<OFFSET>1</OFFSET><PERIOD>0.01<", "Map0", "another offset"),
        ("<PERIOD>5.0E-2</PERIOD>", "", "TIMING-EVENT SendEvery50 PERIOD", "nothing"),
        (">FULL<", ">NON<", "OsTask Control OsTaskSchedule", "NON"),
        ("<VALUE>20</VALUE>", "<VALUE>5</VALUE>", "OsTask Report priority", "another task"),
        ("<VALUE>20</VALUE>", "<VALUE>high</VALUE>", "OsTask Control priority", "'high'"),
        ("Os/OsTask/OsTaskPriority", "Os/OsTask/Other", "OsTask Control priority", "nothing"),
        (">/Ecu/Os/Ticks<", ">/Ecu/Os/Gone<", "OsAlarm Kick OsAlarmCounterRef", "/Ecu/Os/Gone"),
        ("1.0E-3", "1.03E-9", "OsAlarmAutostart Start OsAlarmCycleTime", "25.75 ns"),
        ("OsAlarmAutostart<", "Other<", "OsTask Watchdog", "no periods"),
        ("OsAlarmActivateTask<", "OsAlarmCallback<", "OsAlarmCallback", "no counterpart"),
        ("OsAlarmCycleTime<", "Other<", "OsAlarmCycleTime", "nothing"),
        ("OsTaskExecutionBudget<", "Other<", "OsTaskExecutionBudget", "nothing"),
        ("Os/OsCounter<", "Os/OsSpinlock<", "OsSpinlock Ticks", "no counterpart"),
        ("OsTaskActivation<", "OsTaskResourceRef<", "OsTaskResourceRef", "no counterpart"),
        ("<SYMBOL>Pedal_Send",
         "<RUNS-INSIDES><X/></RUNS-INSIDES><SYMBOL>Pedal_Send",
         "RUNNABLE-ENTITY Send RUNS-INSIDE", "no counterpart"),
        ("</ECUC-CONTAINER-VALUE>\n      <ECUC-CONTAINER-VALUE>\n       <SHORT-NAME>Drive",
         f"</ECUC-CONTAINER-VALUE>{KICK}<ECUC-CONTAINER-VALUE><SHORT-NAME>Drive",
         "OsAlarm Kick2", "a second alarm"),
        ("Os/OsCounter<", "Os/OsIsr<", "OsIsr Ticks", "no counterpart"),
        ("Os/OsCounter<", "Os/OsScheduleTable<", "OsScheduleTable Ticks", "no counterpart"),
        ("<VALUE-REF DEST=\"TIMING-EVENT\">/Parts/Pedal/Behavior/SendEvery50<",
         "<VALUE-REF>/Parts/Pedal/Behavior/Send<", "RteEventRef", "Behavior/Send"),
        ("RteMappedToTaskRef<", "Other<", "RteMappedToTaskRef", "nothing"),
        ("Rte/RteSwComponentInstance/RteEventToTaskMapping<", "Rte/Other<",
         "TIMING-EVENT FilterEvery10", "no task"),
        ("OsAppTaskRef<", "Other<", "OsTask Control", "no core"),
        ("<VALUE-REF DEST=\"ECUC-CONTAINER-VALUE\">/Ecu/Os/Watchdog", "<VALUE-REF>/Ecu/Os/Report",
         "OsApplication Safety OsAppTaskRef", "/Ecu/Os/Report"),
        ("Hardware/Core1<", "Hardware/Core2<", "OsApplicationCoreRef", "Core2"),
        (">/Ecu/Os/Watchdog</VALUE-REF>\n        <", ">/Ecu/Os/Gone</VALUE-REF>\n        <",
         "OsTask Watchdog", "no core"),
        ("Behavior/Sample</START", "Behavior/Gone</START", "START-ON-EVENT-REF", "Gone"),
        ("Behavior/Sample</EXEC", "Behavior/Send</EXEC", "RUNNABLE-ENTITY Sample", "no execution"),
        ("WORST-CASE-", "BEST-CASE-", "RUNNABLE-ENTITY Filter", "no execution time"),
        ("<CSE-CODE>2<", "<CSE-CODE>100<", "FilterBound CSE-CODE", "'100'"),
        ("FACTOR>12<", "FACTOR>1/3<", "CSE-CODE-FACTOR", "'1/3'"),
        (">SendEvery50</SHORT", ">SampleEvery10</SHORT", "SampleEvery10", "a second time"),
        ("<SYMBOL>Pedal_Send", "<WAIT-POINTS><X/></WAIT-POINTS><SYMBOL>Pedal_Send",
         "RUNNABLE-ENTITY Send WAIT-POINTS", "no counterpart"),
        ("<AUTOSAR ", "<!DOCTYPE a><AUTOSAR ", "DOCTYPE", "a document type"),
    ],
)  # fmt: skip
def test_what_has_no_counterpart_is_refused(
    tmp_path: Path, old: str, new: str, key: str, found: str
) -> None:
    with pytest.raises(InputError) as caught:
        changed(tmp_path, (old, new))
    (problem,) = caught.value.problems
    assert key in problem.key
    assert found in problem.found
    assert problem.line is not None
    assert problem.allowed
