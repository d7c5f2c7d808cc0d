# SPDX-License-Identifier: BSD-2-Clause
"""Files of Cheddar, SimSo and MAST: what becomes of them, TOML that says the same, refusals.

The files are made for this, in the form of what the tools save.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperperiod.model import InputError, Interface, System, load_system, to_toml

DATA = Path(__file__).parents[1] / "data" / "other_tools"
MS = 1_000_000
SECOND = (
    '<processor cl_overhead="0" cs_overhead="0" id="2" name="CPU 2" speed="1.0"/>\n\t</processors>'
)


def again(folder: Path, system: System) -> System:
    """The system as it is read from its own TOML."""
    path = folder / "again.toml"
    path.write_text(to_toml(system))
    return load_system(path)


def changed(folder: Path, name: str, *changes: tuple[str, str]) -> System:
    """The system of a file with each of these changed once."""
    text = (DATA / name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / name
    path.write_text(text)
    return load_system(path)


def test_processors_of_cheddar_become_pcpus(tmp_path: Path) -> None:
    system = load_system(DATA / "cheddar.xml")
    front, first, second = system.domains
    assert (str(system.policy), system.pcpus) == ("ptps", 2)
    assert (front.name, front.pcpu, front.scheduler, front.interface) == ("front", 0, "fp", None)
    fast, slow = front.tasks
    # The deadline there counts from before the jitter.
    assert (fast.wcet_ns, fast.period_ns, fast.deadline_ns) == (2 * MS, 10 * MS, 7_500_000)
    assert (fast.offset_ns, fast.jitter_ns, fast.blocking_ns) == (MS, MS // 2, MS)
    assert (fast.priority, slow.priority, slow.kind) == (0, 2, "sporadic")
    # Partitions that take turns: 2 and 4 in a round of 6.
    assert (first.name, first.pcpu, first.scheduler) == ("partition1", 1, "rm")
    assert first.interface == Interface(period="6ms", budget="2ms")
    assert second.interface == Interface(period="6ms", budget="4ms")
    assert [task.name for task in second.tasks] == ["inner2"]
    assert again(tmp_path, system) == system
    older = [(SLOT.replace("4", slot), f"<quantum>{slot}</quantum>") for slot in "24"]
    assert changed(tmp_path, "cheddar.xml", *older) == system


def test_tasks_of_simso_become_a_domain(tmp_path: Path) -> None:
    system = load_system(DATA / "simso.xml")
    (domain,) = system.domains
    first, second = domain.tasks
    assert (str(system.policy), domain.pcpu, domain.scheduler) == ("ptps", 0, "fp")
    # Rounded up, from floating point.
    assert (first.wcet_ns, first.offset_ns, first.deadline_ns) == (2 * MS + 1, 1_500_000, 8 * MS)
    assert (second.kind, second.period_ns, second.offset_ns) == ("sporadic", 20_250_000, 0)
    assert first.priority == 2
    assert second.priority == 0
    assert again(tmp_path, system) == system


def test_transactions_of_mast_become_tasks(tmp_path: Path) -> None:
    system = load_system(DATA / "mast.txt")
    first, second = system.domains
    assert (str(system.policy), system.pcpus) == ("ptps", 2)
    assert [(one.pcpu, one.scheduler) for one in system.domains] == [(0, "fp"), (1, "edf")]
    one, two = first.tasks
    assert (one.wcet_ns, one.period_ns, one.deadline_ns) == (2_500_000, 10 * MS, 7 * MS)
    assert (one.offset_ns, one.jitter_ns, one.priority) == (3 * MS, MS, 4)
    assert (two.kind, two.period_ns, two.priority) == ("sporadic", 40 * MS, 0)
    assert (second.tasks[0].wcet_ns, second.tasks[0].deadline_ns) == (3 * MS, 12 * MS)
    assert again(tmp_path, system) == system


def test_on_several_processors_of_simso_jobs_move(tmp_path: Path) -> None:
    system = changed(tmp_path, "simso.xml", ("</processors>", SECOND))
    (domain,) = system.domains
    assert (domain.scheduler, domain.pcpus) == ("gfp", (0, 1))
    assert domain.interface == Interface(period="1ms", budget="1ms")
    assert again(tmp_path, system) == system


@pytest.mark.parametrize("name", ["cheddar.xml", "simso.xml", "mast.txt"])
def test_any_other_name_will_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / "saved.other"
    path.write_text((DATA / name).read_text())
    assert load_system(path).domains == load_system(DATA / name).domains


FRONT = "<cpu_name>front</cpu_name>"
SLOT = "<quantum>0</quantum>\n     <capacity>4</capacity>"
CHEDDAR = [
    ("<quantum>0<", "<quantum>2<", "core_unit core1 quantum"),
    ("HIGHEST_PRIORITY_FIRST", "LOTTERY", "core_unit core1 scheduler_type"),
    (">PREEMPTIVE<", ">NOT_PREEMPTIVE<", "core_unit core1 preemptive_type"),
    ("1.00000", "2.0", "core_unit core1 speed"),
    ("1.00000", "10", "core_unit core1 speed"),
    ("1.00000", "<x>1</x>", "core_unit core1 speed"),
    ("<name>back<", "<name>front<", "mono_core_processor front name"),
    ("<name>partition2<", "<name>partition1<", "address_space partition1 name"),
    (SLOT, "<quantum>4</quantum>", "address_space partition2 capacity"),
    ("<capacity>4<", "<capacity>0<", "address_space partition2 capacity"),
    (SLOT, "<quantum>4</quantum><capacity>4</capacity>", "address_space partition2 capacity"),
    ("<quantum>1<", "<preemptive_type>NOT_PREEMPTIVE</preemptive_type><quantum>1<",
     "core_unit core2 preemptive_type"),
    ("<capacity>4<", "<preemptive_type>NOT_PREEMPTIVE</preemptive_type><capacity>4<",
     "address_space partition2 preemptive_type"),
    ("<deadline>8<", "<deadline>9</deadline><deadline>8<", "periodic_task fast deadline"),
    (">8</deadline>", "><v>8</v></deadline>", "periodic_task fast deadline"),
    ("<every>0<", "<every><x/><", "periodic_task fast every"),
    ("<every>0<", "<every>.<", "periodic_task fast every"),
    ('ref="id_2"', 'ref="id_1"', "mono_core_processor back core"),
    ("NO_SCHEDULING_PROTOCOL", "RATE_MONOTONIC_PROTOCOL", "address_space all scheduler_type"),
    (">PERIODIC_TYPE", ">POISSON_TYPE", "periodic_task fast task_type"),
    (FRONT + "\n   <address", "<cpu_name>gone</cpu_name><address", "periodic_task fast cpu_name"),
    (">SCHED_FIFO", ">SCHED_RR", "periodic_task fast policy"),
    ("<priority>3<", "<priority>5<", "sporadic_task slow priority"),
    ("<priority>3<", "<priority>high<", "sporadic_task slow priority"),
    ("overhead>0<", "overhead>1<", "periodic_task fast context_switch_overhead"),
    ("<offsets></", "<offsets><offset_type/></", "periodic_task fast offsets"),
    ("<criticality>0</criticality>", "<chance>1</chance>", "periodic_task fast chance"),
    ("2</capacity>\n   <deadline>8", "-2</capacity><deadline>8", "periodic_task fast capacity"),
    ("partition1</address_space_name>", "all</address_space_name>", "periodic_task inner1 address"),
    ("</cheddar>", "<dependencies><dependency/></dependencies></cheddar>", "dependencies"),
]  # fmt: skip
SIMSO = [
    ('etm="wcet"', 'etm="cache"', "simulation etm"),
    ("schedulers.FP", "schedulers.LLF", "sched class"),
    ("simso.schedulers.FP", "mine/FP.py", "sched class"),
    ("schedulers.FP", "schedulers.RM", "task TASK T2 task_type"),
    ('priority="5" task_type="Periodic"/>', 'task_type="Periodic"><deadline/></task>',
     "task TASK T1 deadline"),
    ('preemption_cost="0"', 'preemption_cost="."', "task TASK T1 preemption_cost"),
    ('overhead="0" over', 'overhead="5" over', "sched overhead"),
    ('cl_overhead="0"', 'cl_overhead="9"', "processor CPU 1 cl_overhead"),
    ('speed="1.0"', 'speed="0.5"', "processor CPU 1 speed"),
    ('"Periodic"', '"APeriodic"', "task TASK T1 task_type"),
    ('"3, 60.0, 23.25"', '"3"', "task TASK T2 list_activation_dates"),
    ('"3, 60.0, 23.25"', '"3,x"', "task TASK T2 list_activation_dates"),
    ('priority="7"', 'priority="5"', "task TASK T2 priority"),
    ('id="1" instr', 'followed_by="2" instr', "task TASK T1 followed_by"),
    ('WCET="2.0000000001" ', "", "task TASK T1 WCET"),
    ('WCET="2.0000000001"', 'WCET="1/3"', "task TASK T1 WCET"),
    ("<tasks>", "<tasks>text", ""),
]  # fmt: skip


MAST = [
    ("Fixed_Priority_Processor", "Fixed_Priority_Network", "processing_resource cpu_1 type"),
    ("Context_Switch   => 0.00", "Context_Switch => 9", "processing_resource cpu_1 worst_context"),
    ("Speed_Factor           => 1.00", "Speed_Factor => 2", "processing_resource cpu_1 speed"),
    ("Speed_Factor           => 1.00", "System_Timer => (Type => Ticker, Period => 1)",
     "system_timer period"),
    ("Primary_Scheduler", "Secondary_Scheduler", "scheduler edf_2 type"),
    ("Host   => CPU_2", "Host => CPU_3", "transaction t3"),
    ("(Type => EDF,", "(Type => RUN,", "policy type"),
    ("Fixed_Priority_policy", "Polling_Policy", "server_sched_parameters type"),
    ("The_Priority => 9", "The_Priority => 5", "transaction t2 priority"),
    ("Deadline => 12, Pre", "Deadline => 12.1, Pre", "server_sched_parameters deadline"),
    ("Type => Simple", "Type => Composite", "operation c1 type"),
    ("Name => C1,", "Name => C1, Shared_Resources_List => (R),", "shared_resources_list"),
    ("Name => C1,", "Name => C1, New_Sched_Parameters => (Type => X),", "operation c1 new_sched"),
    ("=> C1,", "=> C9,", "event_handlers activity_operation"),
    ("Max_Jitter => 1", "Max_Burst => 1", "external_events e1 max_burst"),
    ("Phase => 3))", "Phase => 3), (Type => Periodic, Name => E9))", "transaction t1 external"),
    ("Type => Periodic", "Type => Unbounded", "external_events e1 type"),
    ("Hard_Global_Deadline", "Soft_Global_Deadline", "timing_requirements type"),
    ("Referenced_Event => E1", "Referenced_Event => E3", "timing_requirements referenced"),
    ("Output_Event       => O1", "Output_Event => O2", "event_handlers output_event"),
    ("Operation (", "Shared_Resource (Type => Immediate_Ceiling_Resource, Name => r);Operation (",
     "shared_resource r"),
    ("Operation (", "Operation [", "operation"),
    ("Operation (", "-" * 4000 + '\n"', ""),  # a comment has one reading: it ends in time
    ("SC1)));", "SC1)))", "transaction"),
    ("Name => CPU_2", "Name => CPU_2, Name => CPU_2", "processing_resource"),
]  # fmt: skip


POSIX = "POSIX_1003_HIGHEST_PRIORITY_FIRST"
EQUALS = [
    ("cheddar.xml", {POSIX: "RATE_MONOTONIC", "<period>40<": "<period>10<"},
     "sporadic_task slow period"),
    ("cheddar.xml", {POSIX: "DEADLINE_MONOTONIC", "<jitter>0.5<": "<jitter>0<", ">40<": ">8<"},
     "sporadic_task slow deadline"),
    ("cheddar.xml", {POSIX: "DEADLINE_MONOTONIC", "<deadline>8<": "<deadline>40.1<"},
     "periodic_task fast jitter"),
    ("simso.xml", {"ers.FP": "ers.RM", '"Sporadic"': '"Periodic"', 'period="0.0"': 'period="10"'},
     "task TASK T2 period"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "key"), EQUALS)
def test_what_orders_tasks_differs(
    tmp_path: Path, name: str, changes: dict[str, str], key: str
) -> None:
    with pytest.raises(InputError) as caught:
        changed(tmp_path, name, *changes.items())
    assert [problem.key for problem in caught.value.problems] == [key]


@pytest.mark.parametrize("name", ["cheddar", "simulation"])
def test_an_outermost_element_with_a_prefix_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.xml"
    path.write_text(f"<x:{name} xmlns:x='y'/>")
    with pytest.raises(InputError, match=f"the element x:{name} as the outermost"):
        load_system(path)


@pytest.mark.parametrize(
    ("name", "old", "new", "key"),
    [("cheddar.xml", *one) for one in CHEDDAR]
    + [("simso.xml", *one) for one in SIMSO]
    + [("mast.txt", *one) for one in MAST],
)
def test_what_has_no_counterpart_is_refused(
    tmp_path: Path, name: str, old: str, new: str, key: str
) -> None:
    with pytest.raises(InputError) as caught:
        changed(tmp_path, name, (old, new))
    (problem,) = caught.value.problems
    assert problem.key.startswith(key)
    assert problem.line is not None
    assert problem.found
    assert problem.allowed
