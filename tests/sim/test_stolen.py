# SPDX-License-Identifier: BSD-2-Clause
"""Stolen time in the simulator: schedules by hand, and traces under every policy that are judged by
their own properties.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.random_systems import random_system, step_of

from hyperperiod.hosts.result import RunResult
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    Overheads,
    Stolen,
    System,
    Task,
    fitting_policies,
    parse_policy,
    with_policy,
)
from hyperperiod.runs import simulate
from hyperperiod.trace.check import check_file
from hyperperiod.trace.format import read
from hyperperiod.trace.intervals import intervals
from hyperperiod.trace.properties import Status

MS = 1_000_000


def domain(name: str, budget: int, period: int, wcet: int, pcpu: int | None) -> Domain:
    """One task whose jobs come with the periods of its server."""
    task = Task(name="t", period_ns=period * MS, wcet_ns=wcet * MS)
    interface = Interface(period_ns=period * MS, budget_ns=budget * MS)
    return Domain(name=name, interface=interface, pcpu=pcpu, tasks=(task,))


def schedule(system: System, horizon: int, folder: Path) -> tuple[str, RunResult]:
    """Who runs in each millisecond on pcpu 0 (s: nobody, it is stolen), and the result."""
    path = folder / "run.hpt"
    result = simulate(system, horizon * MS, 1, path)
    header, records = read(path)
    row = ["?"] * horizon
    for one in intervals(header, records):
        if one.pcpu == 0:
            for tick in range(one.start_ns // MS, one.end_ns // MS):
                row[tick] = "." if one.run == "idle" else one.run[0]
    return "".join(row), result


def test_nobody_pays_for_what_is_stolen(tmp_path: Path) -> None:
    """A has 3 of 10, B 4 of 20; each ms of thefts moves both on, and costs none of them budget."""
    system = System(
        name="one",
        policy=parse_policy("ds"),
        domains=(domain("A", 3, 10, 3, 0), domain("B", 4, 20, 4, 0)),
        stolen=(Stolen(period_ns=4 * MS, duration_ns=MS, offset_ns=MS),),
    )
    found, result = schedule(system, 20, tmp_path)
    assert found == "AsAABsBBBsAAAs...s.."
    assert result.misses == 0
    assert result.pcpus[0].stolen_ns == 5 * MS
    assert result.pcpus[0].busy_ns + result.pcpus[0].idle_ns == 15 * MS


def test_thefts_that_meet_follow_one_another(tmp_path: Path) -> None:
    system = System(
        name="two",
        policy=parse_policy("ptps"),
        domains=(domain("A", 4, 10, 4, 0),),
        stolen=(
            Stolen(period_ns=10 * MS, duration_ns=2 * MS, offset_ns=MS),
            Stolen(period_ns=10 * MS, duration_ns=3 * MS, offset_ns=2 * MS),
        ),
    )
    found, _ = schedule(system, 10, tmp_path)
    assert found == "AsssssAAA."


def test_under_a_global_policy_others_take_over(tmp_path: Path) -> None:
    """A goes from pcpu 0, which is stolen, to pcpu 1, where B gives way, goes on and stays."""
    system = System(
        name="global",
        policy=parse_policy("rtds"),
        pcpus=2,
        domains=(domain("A", 4, 10, 4, None), domain("B", 6, 20, 6, None)),
        stolen=(Stolen(pcpu=0, period_ns=100 * MS, duration_ns=5 * MS, offset_ns=2 * MS),),
    )
    found, result = schedule(system, 10, tmp_path)
    assert found == "AAsssss..."
    assert result.migrations == 1
    assert [task.response_ns.max for task in result.tasks if task.response_ns] == [4 * MS, 8 * MS]


def test_a_theft_waits_for_the_hypervisor(tmp_path: Path) -> None:
    """A pick of 2 ms is not interrupted at 1; behind the theft there is another one."""
    system = System(
        name="pick",
        policy=parse_policy("ds"),
        overheads=Overheads(pick_ns=2 * MS),
        domains=(domain("A", 9, 20, 2, 0),),
        stolen=(Stolen(period_ns=100 * MS, duration_ns=3 * MS, offset_ns=MS),),
    )
    found, result = schedule(system, 10, tmp_path)
    assert found == "AAsssAAAA."
    assert result.pcpus[0].stolen_ns == 3 * MS


@pytest.mark.parametrize("seed", range(20))
def test_traces_have_every_property(seed: int, tmp_path: Path) -> None:
    """Who runs and pays beside thefts is judged by budgets that are worked out independently."""
    rng = random.Random(seed)
    system = random_system(seed)
    step = step_of(system)
    thefts = tuple(
        Stolen(
            period_ns=rng.randint(4, 80) * step // 4,
            duration_ns=rng.randint(1, step - 1),
            pcpu=rng.choice((None, rng.randrange(system.pcpus))),
            offset_ns=rng.randrange(20 * step),
        )
        for _ in range(rng.randint(1, 3))
    )
    path = tmp_path / "run.hpt"
    for policy in rng.sample(fitting_policies(system), 3):
        simulate(with_policy(system.replace(stolen=thefts), policy), 300 * step, seed, path)
        for one, finding in check_file(path).findings:
            assert finding.status is not Status.FAILS, (policy, one.name, finding.violations[:3])


@pytest.mark.parametrize(
    ("theft", "message"),
    [
        ({"period_ns": MS, "duration_ns": MS}, "less than the period, 1ms"),
        ({"period_ns": MS, "duration_ns": 1, "pcpu": 3}, "pcpu"),
    ],
)
def test_wrong_thefts_are_refused(theft: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        System(
            name="wrong",
            policy=parse_policy("ds"),
            domains=(domain("A", 1, 10, 1, 0),),
            stolen=(Stolen(**theft),),
        )
