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
        "rm, server table": (True, True),
    }


@pytest.mark.parametrize("policy", ["ptps", "ds"])
def test_the_harmonic_bound_of_the_paper_does_not_count_out_of_step(policy: str) -> None:
    """The paper looks at the tasks only; an interface of 30 does not divide with 40 and 80."""
    said = said_of(system(policy, (40, 80), interface=Interface(period_ns=30, budget_ns=9)))
    assert said["rm, harmonic"] == (False, True)
    assert said["rm, periodic resource"] == (True, False)
    assert ("rm, edp resource" in said) == (policy == "ptps")


def test_tasks_that_do_not_divide_have_no_harmonic_bound() -> None:
    assert list(said_of(system("ds", (20, 30)))) == [
        "rm, periodic resource",
        "rm, known servers",
    ]


@pytest.mark.parametrize(
    ("policy", "scheduler", "named"),
    [
        ("polling", Scheduler.EDF, "edf, polling resource"),
        ("sporadic", Scheduler.RM, "rm, sporadic resource"),
        ("periodic+edf", Scheduler.FIFO, "fifo, periodic resource"),
        ("periodic+edf", Scheduler.EXECUTOR, "executor, periodic resource"),
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


def beside(policy: str, tick: int = 1, **more: Any) -> System:
    """A domain that the interface alone does not serve, beside a small one of higher priority."""
    task = Task(name="t", period_ns=20 * tick, wcet_ns=4 * tick, deadline_ns=13 * tick)
    own = Interface(period_ns=10 * tick, budget_ns=4 * tick)
    tight = Domain(name="d", scheduler=Scheduler.RM, tasks=(task,), interface=own)
    other = Domain(
        name="e",
        tasks=(Task(name="u", period_ns=50 * tick, wcet_ns=tick),),
        interface=Interface(period_ns=5 * tick, budget_ns=tick),
    )
    return System.of(
        {"name": "s", "policy": parse_policy(policy), "domain": (tight, other), **more}
    )


@pytest.mark.parametrize(
    ("policy", "named", "bound"),
    [
        # Paid in [1, 5) of every ten, and work comes at 5.
        ("ptps", "server table", 10),
        ("crps", "server table", 10),
        # Nothing for 6, then 1 of the other, 4 of its own.
        ("wcps", "known servers", 11),
        # Nothing used in the 10 before, and two of the other in a row.
        ("ds", "known servers", 6),
        ("deferrable+edf", "known servers", 6),
        # The other takes 1, and no more than a fifth of what follows.
        ("cbs", "known bandwidth", 5),
        ("cbs+fp", "known bandwidth", 5),
    ],
)
def test_what_is_known_of_other_servers_counts_where_it_is_asked_for(
    policy: str, named: str, bound: int
) -> None:
    alone = analyze(beside(policy)).domains[0]
    assert alone.schedulable is False
    known = analyze(beside(policy, sbf="servers")).domains[0]
    assert known.schedulable is True
    assert known.tasks[0].response_bound_ns == bound
    for entry in (alone, known):
        row = entry.tests[-1]
        assert (row.test, row.sound, row.schedulable) == (f"rm, {named}", True, True)
        assert ("Burns" in row.source) == (named == "known servers")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"quantum": 1}, "does not cover a quantum"),
        ({"tick": 1000, "overheads": {"pick": 1}}, "does not cover overheads"),
        ({"change": ({"at": 100, "domain": "e", "interface": {"period": 5, "budget": 2}},)},
         "changes are to come"),
    ],
)  # fmt: skip
def test_what_the_proof_does_not_cover_is_unknown(more: dict[str, Any], reason: str) -> None:
    entry = analyze(beside("ptps", sbf="servers", **more)).domains[0]
    assert entry.schedulable is not True
    row = entry.tests[-1]
    assert row.test == "rm, server table"
    assert row.schedulable is None
    assert reason in row.reason


@pytest.mark.parametrize("policy", ["sporadic", "slice+edf", "slice+fp"])
def test_rules_of_which_nothing_is_proved_have_no_such_test(policy: str) -> None:
    entry = analyze(beside(policy, sbf="servers")).domains[0]
    assert not any(("known" in row.test) or ("table" in row.test) for row in entry.tests)
    assert entry.schedulable is not True
