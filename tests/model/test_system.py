# SPDX-License-Identifier: BSD-2-Clause
"""What a system file means: defaults, derived values, vcpus and priorities."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from hyperperiod.hosts.priorities import Priorities
from hyperperiod.model import (
    PRESETS,
    Domain,
    InputError,
    Interface,
    System,
    Task,
    TaskKind,
    fitting_policies,
    is_ordinary,
    load_system,
    parse_policy,
    tasks_of,
    to_toml,
    vcpus_of,
    with_policy,
)

MS = 1_000_000

TEXT = """
name = "s"
policy = { budget = "periodic", order = "edf", slack = "reclaim" }
quantum = "1ms"
overheads = { wake = "1.5us" }

[[domain]]
name = "a"
vcpus = 2
interface = { period = "20ms", budget = "3ms" }

[[domain.task]]
name = "t"
period = "20ms"
wcet = "2ms"
etf = 0.1

[[domain.task]]
name = "u"
period = "40ms"
deadline = "30ms"
wcet = "1ns"
etf = 0.5
vcpu = 1

[[domain]]
name = "b"
interface = { period = "10ms", budget = "1ms" }
task = [{ name = "t", kind = "busy", offset = "5ms" }]

[[domain]]
name = "c"
vcpus = 2
best_effort = true

[[domain]]
name = "d"
interface = { period = "20ms", budget = "1ms" }
task = [{ name = "t", kind = "sporadic", period = "20ms", wcet = "1ms", jitter = "2ms" }]
"""


@pytest.fixture
def system(tmp_path: Path) -> System:
    file = tmp_path / "system.toml"
    file.write_text(TEXT)
    return load_system(file)


def test_values(system: System) -> None:
    assert system.pcpus == 1
    assert system.quantum_ns == MS
    assert system.overheads.wake_ns == 1_500
    assert system.overheads.pick_ns == 0
    assert system.policy == parse_policy("periodic+edf+reclaim")
    assert system.domains[0].interface == Interface(period_ns=20 * MS, budget_ns=3 * MS)
    assert system.domains[0].interface.bandwidth == Fraction(3, 20)


def test_defaults_that_follow_from_other_keys(system: System) -> None:
    first, second = system.domains[0].tasks
    assert first.deadline_ns == 20 * MS
    assert second.deadline_ns == 30 * MS
    assert [domain.pcpu for domain in system.domains] == [0, 0, 0, 0]
    assert [task.name for task in system.domains[2].tasks] == ["hog.0", "hog.1"]
    assert [task.vcpu for task in system.domains[2].tasks] == [0, 1]


def test_execution_times_are_exact(system: System) -> None:
    first, second = system.domains[0].tasks
    assert first.etf == Fraction(1, 10)
    assert first.bcet_ns == 200_000
    assert second.bcet_ns == 1
    assert system.domains[1].tasks[0].bcet_ns is None
    assert system.domains[0].utilization == Fraction(1, 10) + Fraction(1, 40 * MS)


def test_vcpus_are_numbered_in_file_order(system: System) -> None:
    vcpus = vcpus_of(system)
    assert [vcpu.name for vcpu in vcpus] == ["a.0", "a.1", "b", "c.0", "c.1", "d"]
    assert [vcpu.id for vcpu in vcpus] == [0, 1, 2, 3, 4, 5]
    assert [vcpu.domain_index for vcpu in vcpus] == [0, 0, 1, 2, 2, 3]
    assert [vcpu.index for vcpu in vcpus] == [0, 1, 0, 0, 1, 0]


def test_priority_is_the_rank_of_the_period(system: System) -> None:
    assert [vcpu.priority for vcpu in vcpus_of(system)] == [1, 1, 0, None, None, 1]


def test_given_priorities_are_kept() -> None:
    system = System(
        name="s",
        policy=parse_policy("ptps"),
        domains=(
            Domain(name="a", priority=7, interface=TENTH, tasks=BUSY),
            Domain(name="b", priority=7, interface=TENTH, tasks=BUSY),
        ),
    )
    assert [vcpu.priority for vcpu in vcpus_of(system)] == [7, 7]


def test_priorities_wait_for_the_interfaces() -> None:
    tasks = (Task(name="t", period_ns=10 * MS, wcet_ns=MS),)
    system = System(
        name="s",
        policy=parse_policy("ptps"),
        domains=(Domain(name="a", tasks=tasks), Domain(name="b", best_effort=True)),
    )
    assert [vcpu.priority for vcpu in vcpus_of(system)] == [None, None]


TENTH = Interface(period_ns=10, budget_ns=1)
BUSY = (Task(name="t", kind=TaskKind.BUSY),)


def test_tasks_are_numbered_in_file_order(system: System) -> None:
    placed = [(one.id, one.domain_index, one.index, one.task.name) for one in tasks_of(system)]
    assert placed == [
        (0, 0, 0, "t"), (1, 0, 1, "u"), (2, 1, 0, "t"), (3, 2, 0, "hog.0"), (4, 2, 1, "hog.1"),
        (5, 3, 0, "t"),
    ]  # fmt: skip


def test_objects_are_frozen(system: System) -> None:
    with pytest.raises(AttributeError, match="frozen"):
        system.domains[0].tasks[0].wcet_ns = 1  # type: ignore[misc]


def test_python_is_checked_like_files() -> None:
    with pytest.raises(InputError, match="at most the period"):
        Interface(period_ns=10, budget_ns=11)
    with pytest.raises(InputError, match="above 0"):
        Interface(period_ns=0, budget_ns=0)
    with pytest.raises(InputError, match="below 2"):
        Interface(period_ns=2**62, budget_ns=1)


def test_writing_and_reading_gives_the_same_system(system: System, tmp_path: Path) -> None:
    again = tmp_path / "again.toml"
    again.write_text(to_toml(system))
    assert load_system(again) == system


def test_names_in_any_language(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    file.write_text(TEXT.replace('"b"', '"Bremse-ü 制動"'), encoding="utf-8")
    assert load_system(file).domains[1].name == "Bremse-ü 制動"


def test_another_policy_drops_pins_only_where_vcpus_move(system: System) -> None:
    assert with_policy(system, parse_policy("crps")).domains[0].pcpu == 0
    moved = with_policy(system, parse_policy("rtds"))
    assert moved.domains[0].pcpu is None
    assert with_policy(moved, system.policy) == system


def test_a_swap_must_stay_in_its_scope(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    file.write_text(TEXT + '[[swap]]\nat = "1s"\npolicy = "wcps"\n')
    with pytest.raises(InputError, match=r"swap\[0\]\.policy: found wcps, which is partitioned"):
        with_policy(load_system(file), parse_policy("rtds"))


def test_fitting_policies(system: System) -> None:
    one_pcpu = ["ptps", "wcps", "crps", "ds", "polling", "sporadic", "rtds", "ertds", "cbs"]
    one_pcpu += ["sedf", "sedf-prime", "psedf"]
    assert [str(policy) for policy in fitting_policies(system)] == one_pcpu
    wide = system.replace(
        pcpus=2,
        policy=parse_policy("rtds"),
        domains=tuple(d.replace(pcpu=None) for d in system.domains),
    )
    assert [str(policy) for policy in fitting_policies(wide)] == ["rtds", "ertds"]


TWO_CLASSES = """
name = "classes"
policy = "psedf"

[[domain]]
name = "control"
priority = 7
interface = { period = "10ms", budget = "1ms" }
task = [{ name = "t", kind = "busy" }]

[[domain]]
name = "office"
interface = { period = "5ms", budget = "1ms" }
task = [{ name = "t", kind = "busy" }]

[[domain]]
name = "mail"
interface = { period = "20ms", budget = "1ms" }
task = [{ name = "t", kind = "busy" }]
"""


def in_file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "system.toml"
    file.write_text(text)
    return file


def test_domains_without_a_priority_are_ordinary_under_psedf(tmp_path: Path) -> None:
    """They have the last number, as in the core; under sedf nobody asks."""
    system = load_system(in_file(tmp_path, TWO_CLASSES))
    assert [is_ordinary(system.policy, domain) for domain in system.domains] == [False, True, True]
    numbers = Priorities(system)
    assert [numbers.of(vcpu) for vcpu in vcpus_of(system)] == [0, 0xFFFFFF, 0xFFFFFF]
    none = load_system(in_file(tmp_path, TWO_CLASSES.replace("priority = 7\n", "")))
    assert [Priorities(none).of(vcpu) for vcpu in vcpus_of(none)] == [0xFFFFFF] * 3
    by_period = with_policy(none, PRESETS["ds"])
    assert [Priorities(by_period).of(vcpu) for vcpu in vcpus_of(none)] == [1, 0, 2]
    assert not any(is_ordinary(PRESETS["sedf"], domain) for domain in system.domains)


def test_some_priorities_are_refused_where_nobody_is_ordinary(tmp_path: Path) -> None:
    text = TWO_CLASSES.replace("psedf", "ds")
    with pytest.raises(InputError, match="for every domain with a server, or for none"):
        load_system(in_file(tmp_path, text))
    load_system(in_file(tmp_path, TWO_CLASSES.replace("psedf", "sedf")))
    load_system(in_file(tmp_path, text + '[[swap]]\nat = "1s"\npolicy = "psedf"\n'))
