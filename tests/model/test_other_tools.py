# SPDX-License-Identifier: BSD-2-Clause
"""Files of Cheddar and SimSo: what becomes of them, that TOML says the same again, and refusals.

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


def changed(folder: Path, name: str, old: str, new: str) -> System:
    """The system of a file with one thing changed."""
    text = (DATA / name).read_text()
    assert old in text
    path = folder / name
    path.write_text(text.replace(old, new, 1))
    return load_system(path)


def test_processors_of_cheddar_become_pcpus(tmp_path: Path) -> None:
    system = load_system(DATA / "cheddar.xml")
    front, first, second = system.domains
    assert (str(system.policy), system.pcpus) == ("ptps", 2)
    assert (front.name, front.pcpu, front.scheduler, front.interface) == ("front", 0, "fp", None)
    fast, slow = front.tasks
    assert (fast.wcet_ns, fast.period_ns, fast.deadline_ns) == (2 * MS, 10 * MS, 8 * MS)
    assert (fast.offset_ns, fast.jitter_ns, fast.blocking_ns) == (MS, MS // 2, MS)
    assert (fast.priority, slow.priority, slow.kind) == (0, 2, "sporadic")
    # Partitions that take turns: 2 and 4 in a round of 6.
    assert (first.name, first.pcpu, first.scheduler) == ("partition1", 1, "rm")
    assert first.interface == Interface(period="6ms", budget="2ms")
    assert second.interface == Interface(period="6ms", budget="4ms")
    assert [task.name for task in second.tasks] == ["inner2"]
    assert again(tmp_path, system) == system


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


def test_on_several_processors_of_simso_jobs_move(tmp_path: Path) -> None:
    system = changed(tmp_path, "simso.xml", "</processors>", SECOND)
    (domain,) = system.domains
    assert (domain.scheduler, domain.pcpus) == ("gfp", (0, 1))
    assert domain.interface == Interface(period="1ms", budget="1ms")
    assert again(tmp_path, system) == system


@pytest.mark.parametrize("name", ["cheddar.xml", "simso.xml"])
def test_any_other_name_will_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / "saved.xmlv3"
    path.write_text((DATA / name).read_text())
    assert load_system(path).domains == load_system(DATA / name).domains


FRONT = "<cpu_name>front</cpu_name>"
CHEDDAR = [
    ("<quantum>0<", "<quantum>2<", "core_unit core1 quantum"),
    ("HIGHEST_PRIORITY_FIRST", "LOTTERY", "core_unit core1 scheduler_type"),
    (">PREEMPTIVE<", ">NOT_PREEMPTIVE<", "core_unit core1 preemptive_type"),
    ("1.00000", "2.0", "core_unit core1 speed"),
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
    ("<capacity>2<", "<capacity>-2<", "periodic_task fast capacity"),
    ("partition1</address_space_name>", "all</address_space_name>", "periodic_task inner1 address"),
    ("</cheddar>", "<dependencies><dependency/></dependencies></cheddar>", "dependencies"),
]  # fmt: skip
SIMSO = [
    ('etm="wcet"', 'etm="cache"', "simulation etm"),
    ("schedulers.FP", "schedulers.LLF", "sched class"),
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
]


@pytest.mark.parametrize(
    ("name", "old", "new", "key"),
    [("cheddar.xml", *one) for one in CHEDDAR] + [("simso.xml", *one) for one in SIMSO],
)
def test_what_has_no_counterpart_is_refused(
    tmp_path: Path, name: str, old: str, new: str, key: str
) -> None:
    with pytest.raises(InputError) as caught:
        changed(tmp_path, name, old, new)
    (problem,) = caught.value.problems
    assert problem.key.startswith(key)
    assert problem.line is not None
    assert problem.found
    assert problem.allowed
