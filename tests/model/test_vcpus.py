# SPDX-License-Identifier: BSD-2-Clause
"""A vcpu is a thing of its own: what holds for it, what is refused, and the split system."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.vcpus_drawn import drawn

from hyperperiod.model import (
    InputError,
    Interface,
    System,
    fitting_policies,
    joined,
    load_system,
    split,
    tasks_of,
    to_table,
    to_toml,
    vcpus_of,
    with_policy,
)
from hyperperiod.model.split import parts_of

SEEDS = range(300)
MS = 1_000_000

LINUX = """
name = "s"
policy = "ptps"
pcpus = 3
[[domain]]
name = "linux"
interface_period = "10ms"
priority = 5
extra = true
pcpu = 0
[[domain.vcpu]]
interface = { period = "20ms", budget = "4ms" }
[[domain.vcpu]]
pcpu = 1
priority = 3
[[domain.vcpu]]
pcpu = 2
best_effort = true
[[domain.task]]
name = "a"
vcpu = 0
period = "40ms"
wcet = "1ms"
[[domain.task]]
name = "b"
vcpu = 1
period = "40ms"
wcet = "1ms"
[[domain]]
name = "rt"
priority = 1
pcpu = 2
[[domain.task]]
name = "c"
period = "40ms"
wcet = "1ms"
"""


def read(text: str, folder: Path, name: str = "s.toml") -> System:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return load_system(file)


def test_the_keys_of_a_vcpu_are_over_those_of_its_domain(tmp_path: Path) -> None:
    zero, one, two, rt = vcpus_of(read(LINUX, tmp_path))
    assert [vcpu.name for vcpu in (zero, one, two, rt)] == ["linux.0", "linux.1", "linux.2", "rt"]
    assert [vcpu.pcpu for vcpu in (zero, one, two, rt)] == [0, 1, 2, 2]
    assert [vcpu.given.priority for vcpu in (zero, one, two, rt)] == [5, 3, None, 1]
    assert zero.interface == Interface(period_ns=20 * MS, budget_ns=4 * MS)
    assert zero.given.interface_period_ns is None
    assert (one.interface, one.given.interface_period_ns) == (None, 10 * MS)
    assert two.best_effort
    assert two.given.interface_period_ns is None
    assert [vcpu.extra for vcpu in (zero, one, two)] == [True, True, False]


def test_the_short_form_is_one_pcpu_for_each(tmp_path: Path) -> None:
    text = """
name = "s"
policy = "ptps"
pcpus = 2
[[domain]]
name = "d"
vcpus = 4
pcpus = [0, 0, 1, 1]
interface = { period = "10ms", budget = "1ms" }
[[domain.task]]
name = "t"
period = "100ms"
wcet = "1ms"
"""
    system = read(text, tmp_path)
    assert [vcpu.pcpu for vcpu in vcpus_of(system)] == [0, 0, 1, 1]
    assert read(text.replace("vcpus = 4\n", ""), tmp_path) == system
    assert read(to_table(system), tmp_path, "s.csv").domains == system.domains


@pytest.mark.parametrize("seed", SEEDS)
def test_written_and_read_again_is_the_same(seed: int, tmp_path: Path) -> None:
    system = drawn(seed, moving=True)
    assert read(to_toml(system), tmp_path) == system


@pytest.mark.parametrize("seed", SEEDS)
def test_each_vcpu_is_a_domain_of_the_split_system(seed: int) -> None:
    system = drawn(seed, moving=True)
    parts = split(system)
    before, after = vcpus_of(system), vcpus_of(parts)
    assert [(one.name, one.given) for one in before] == [(one.name, one.given) for one in after]
    # Priorities are those of the whole, too.
    assert [one.priority for one in before] == [one.priority for one in after]
    for domain in system.domains:
        tasks = [task.replace(vcpu=None) for task in domain.tasks]
        found = [task for part in parts_of(domain) for task in part.tasks]
        if not domain.is_split:
            assert parts_of(domain) == (domain,)
        elif domain.moves_jobs:
            assert found == []
        else:
            assert sorted(tasks, key=lambda one: one.name) == sorted(
                found, key=lambda one: one.name
            )
    again = vcpus_of(joined(system, parts))
    assert [(one.name, one.given) for one in again] == [(one.name, one.given) for one in before]


@pytest.mark.parametrize("seed", SEEDS)
def test_interfaces_of_the_parts_come_back(seed: int) -> None:
    system = drawn(seed, moving=True)
    parts = split(system)
    one = Interface(period_ns=7 * MS, budget_ns=3 * MS)
    known = parts.replace(
        domains=tuple(
            part
            if part.best_effort
            else part.replace(interface=part.interface or one, interface_period_ns=None)
            for part in parts.domains
        )
    )
    whole = joined(system, known)
    assert [vcpu.interface for vcpu in vcpus_of(whole)] == [
        part.each_vcpu[0].interface for part in known.domains for _ in range(part.vcpus)
    ]
    assert [vcpu.best_effort for vcpu in vcpus_of(whole)] == [
        vcpu.best_effort for vcpu in vcpus_of(system)
    ]
    assert tasks_of(whole) == tuple(
        type(placed)(**(vars(placed) | {"domain": whole.domains[placed.domain_index]}))
        for placed in tasks_of(system)
    )


@pytest.mark.parametrize("seed", range(40))
def test_under_global_policies_pins_are_dropped(seed: int) -> None:
    system = drawn(seed)
    for policy in fitting_policies(system):
        under = with_policy(system, policy)
        if policy.scope == "global":
            assert all(vcpu.pcpu is None for vcpu in vcpus_of(under))
        else:
            assert all(vcpu.pcpu is not None for vcpu in vcpus_of(under))


def test_hops_and_changes_are_called_after_the_parts(tmp_path: Path) -> None:
    text = (
        LINUX.replace('name = "b"\n', 'name = "b"\nkind = "event"\n')
        + """
[[flow]]
name = "f"
source = { period = "40ms" }
hops = ["linux.b"]
deadline = "40ms"
[[change]]
at = "1s"
domain = "linux.1"
interface = { period = "10ms", budget = "2ms" }
pcpu = 2
"""
    )
    parts = split(read(text, tmp_path))
    assert parts.flows[0].hops == ("linux.1.b",)
    assert [change.domain for change in parts.changes] == ["linux.1"]


REFUSED = [
    ("vcpus", 'name = "linux"', 'name = "linux"\nvcpus = 2', "domain[0].vcpu: found 3 of them"),
    ("one vcpu", 'name = "linux"', 'name = "linux"\nvcpus = 1', "domain[0].vcpu: found 3 of them"),
    (
        "pcpu and pcpus",
        'name = "linux"',
        'name = "linux"\npcpus = [0, 1, 2]',
        "domain[0].pcpus: found pcpu and pcpus",
    ),
    (
        "pcpus and a pcpu",
        "pcpu = 0\n[[domain.vcpu]]",
        "pcpus = [0, 1, 2]\n[[domain.vcpu]]",
        "domain[0].pcpus: found pcpus, and a vcpu with a pcpu",
    ),
    (
        "too few pcpus",
        'name = "rt"\npriority = 1\npcpu = 2',
        'name = "rt"\npriority = 1\nvcpus = 2\npcpus = [2]',
        "domain[1].pcpus: found 1 of them",
    ),
    ("no such pcpu", "pcpu = 1", "pcpu = 3", "domain[0].vcpu[1].pcpu: found 3; allowed: 0 to 2"),
    (
        "two ways",
        "pcpu = 1",
        'pcpu = 1\ninterface_period = "5ms"\ninterface = { period = "20ms", budget = "4ms" }',
        "domain[0].vcpu[1].interface_period: found interface and interface_period",
    ),
    (
        "a priority without a server",
        "best_effort = true",
        "best_effort = true\npriority = 3",
        "domain[0].vcpu[2].priority: found priority with best_effort = true",
    ),
    (
        "no demand",
        "best_effort = true",
        'interface_period = "5ms"',
        "domain[0].vcpu[2].interface: found no interface of linux; allowed: ",
    ),
    (
        "some priorities",
        "priority = 1",
        "",
        "domain[1].priority: found nothing",
    ),
    ("both wishes", "extra = true", "spread = true\ntogether = true", "spread and together"),
    (
        "not spread",
        "extra = true\npcpu = 0",
        "spread = true\npcpu = 1",
        "domain[0].spread: found 3 vcpus on 2 pcpus",
    ),
    ("not together", "extra = true", "together = true", "together: found vcpus on 3 pcpus"),
    ("apart from itself", "extra = true", 'apart = ["linux"]', "apart[0]: found 'linux'"),
    ("not apart", "extra = true", 'apart = ["rt"]', "apart[0]: found 'rt' on one pcpu with linux"),
    ("reserved", "pcpus = 3", "pcpus = 3\nreserved = [3]", "reserved[0]: found 3"),
    ("a global guest", 'name = "linux"', 'name = "linux"\nscheduler = "grm"', "jobs move"),
    (
        "priorities of gfp",
        'name = "rt"',
        'name = "rt"\nscheduler = "gfp"',
        'task[0].priority: found nothing; allowed: a whole number from 0: scheduler "gfp"',
    ),
]


@pytest.mark.parametrize(
    ("before", "after", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_is_refused(before: str, after: str, words: str, tmp_path: Path) -> None:
    text = LINUX.replace(before, after, 1)
    assert text != LINUX
    with pytest.raises(InputError) as refused:
        read(text, tmp_path)
    found = [problem for problem in refused.value.problems if words in str(problem)]
    assert found, str(refused.value)
    assert found[0].line is not None


CHANGE = """[[change]]
at = "1s"
domain = "linux.1"
interface = { period = "10ms", budget = "2ms" }
pcpu = 2
"""


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("linux.1", "linux.3", "change[0].domain: found 'linux.3'"),
        ("linux.1", "linux.2", "change[0].domain: found 'linux.2'"),
        ("pcpu = 2", "pcpu = 3", "change[0].pcpu: found 3; allowed: 0 to 2"),
        (
            'interface = { period = "10ms", budget = "2ms" }\npcpu = 2\n',
            "",
            "change[0].interface: found nothing; allowed: interface or pcpu, or both",
        ),
        (
            "pcpu = 2\n",
            'pcpu = 2\n[[change]]\nat = "1s"\ndomain = "linux.1"\npcpu = 0\n',
            "change[1].at: found 1s",
        ),
    ],
)
def test_changes_that_are_refused(before: str, after: str, words: str, tmp_path: Path) -> None:
    assert read(LINUX + CHANGE, tmp_path).changes[0].pcpu == 2
    with pytest.raises(InputError) as refused:
        read(LINUX + CHANGE.replace(before, after), tmp_path)
    assert words in str(refused.value)


def test_only_the_pcpu_of_a_best_effort_vcpu_changes(tmp_path: Path) -> None:
    moved = '[[change]]\nat = "1s"\ndomain = "linux.2"\npcpu = 0\n'
    assert read(LINUX + moved, tmp_path).changes[0].interface is None


def test_a_move_means_nothing_under_a_global_policy(tmp_path: Path) -> None:
    system = read(LINUX + CHANGE, tmp_path)
    under = with_policy(system, next(p for p in fitting_policies(system) if p.scope == "global"))
    assert [(change.domain, change.pcpu) for change in under.changes] == [("linux.1", None)]
