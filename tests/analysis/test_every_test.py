# SPDX-License-Identifier: BSD-2-Clause
"""All tests of a domain beside each other: which ones there are, and which of them count."""

from __future__ import annotations

from typing import Any

import pytest

from hyperperiod.analysis import analyze
from hyperperiod.model import Domain, Interface, Scheduler, System, Task, parse_policy


def system(
    policy: str,
    periods: tuple[int, ...],
    scheduler: Scheduler = Scheduler.RM,
    interface: Interface | None = None,
) -> System:
    tasks = tuple(
        Task(name=f"t{period}", period_ns=period, wcet_ns=period // 10) for period in periods
    )
    domain = Domain(
        name="d",
        scheduler=scheduler,
        tasks=tasks,
        interface=interface or Interface(period_ns=10, budget_ns=4),
    )
    return System(name="s", policy=parse_policy(policy), domains=(domain,))


def said_of(one: System) -> dict[str, tuple[bool, Any]]:
    """Whether each test counts, and what it says."""
    entry = analyze(one).domains[0]
    return {test.test: (test.sound, test.schedulable) for test in entry.tests}


def test_a_time_driven_server_has_all_three() -> None:
    assert said_of(system("ptps", (20, 40, 80))) == {
        "rm, periodic resource": (True, True),
        "rm, harmonic": (True, True),
        "rm, edp resource": (True, True),
    }


@pytest.mark.parametrize("policy", ["ptps", "ds"])
def test_the_harmonic_bound_of_the_paper_does_not_count_out_of_step(policy: str) -> None:
    """The paper looks at the tasks only; an interface of 30 does not divide with 40 and 80."""
    said = said_of(system(policy, (40, 80), interface=Interface(period_ns=30, budget_ns=9)))
    assert said["rm, harmonic"] == (False, True)
    assert said["rm, periodic resource"] == (True, False)
    assert ("rm, edp resource" in said) == (policy == "ptps")


def test_tasks_that_do_not_divide_have_no_harmonic_bound() -> None:
    assert list(said_of(system("ds", (20, 30)))) == ["rm, periodic resource"]


@pytest.mark.parametrize(
    ("policy", "scheduler", "named"),
    [
        ("polling", Scheduler.EDF, "edf, polling resource"),
        ("sporadic", Scheduler.RM, "rm, sporadic resource"),
        ("periodic+edf", Scheduler.FIFO, "fifo, periodic resource"),
        ("ds", Scheduler.DM, "dm, periodic resource"),
    ],
)
def test_names(policy: str, scheduler: Scheduler, named: str) -> None:
    assert named in said_of(system(policy, (50, 70), scheduler))


def test_inner_domains_have_theirs() -> None:
    task = Task(name="t", period_ns=200, wcet_ns=20)
    inner = Domain(name="d", tasks=(task,), interface=Interface(period_ns=50, budget_ns=10))
    outer = Domain(name="outer", interface=Interface(period_ns=10, budget_ns=4), domains=(inner,))
    deep = System(name="s", policy=parse_policy("ptps"), domains=(outer,))
    entry = analyze(deep).domains[0]
    names = [test.test for test in entry.domains[0].tests]
    assert names == ["rm, periodic resource", "rm, harmonic", "rm, edp resource"]
