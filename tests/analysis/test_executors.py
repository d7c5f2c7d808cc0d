# SPDX-License-Identifier: BSD-2-Clause
"""Domains of callbacks: bounds worked out by hand, interfaces, and who refuses them."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.support.executor_worlds import some_callbacks
from tests.support.supplied import component, some_server
from tests.support.worlds import domain, event, flow, system, task

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis import Analysis, analyze
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.analysis.domains.prm_executor import executor
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.flows.windows import POLLING
from hyperperiod.export import HOSTS, Board, export_dom0less, export_rt_app
from hyperperiod.hosts.linux import run as on_linux
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.xen import run as on_xen
from hyperperiod.model import Domain, InputError, System

INNER = {"name": "i", "interface": {"period": 9, "budget": 1}, "tasks": (task("t", 10, 1),)}


def plain() -> System:
    """A timer and a message from outside in a budget of 4 in 10."""
    callbacks = task("timer", 40, 2), task("message", 60, 3, kind="sporadic")
    return system("ptps", domain("d", (4, 10), *callbacks, scheduler="executor"))


def test_each_callback_may_be_the_last() -> None:
    """Work of 5 on 4 in 10: 12 dark, 4, a gap of 6, 1. A timer that is released then waits, too."""
    (found,) = analyze(plain()).domains
    assert found.schedulable is True
    assert [one.response_bound_ns for one in found.tasks] == [23, 23]


def test_all_callbacks_wait_for_what_blocks_one() -> None:
    """10 of each, and 15 that y waits for: x may be behind all of that."""
    callbacks = task("x", 100, 10, deadline=30), task("y", 100, 10, blocking=15)
    one = system("ptps", domain("d", (10, 10), *callbacks, scheduler="executor"))
    (found,) = analyze(one).domains
    assert [(each.schedulable, each.response_bound_ns) for each in found.tasks] == [
        (None, None),
        (True, 35),
    ]
    (window,) = Analysis(one).explanation("d.y").windows
    assert ("blocking", 15) in {(each.who, each.time_ns) for each in window.shares}


def test_what_is_not_proved_is_unknown_and_overload_is_no() -> None:
    for wcet, holds in ((15, None), (17, False)):
        one = domain("d", (4, 10), task("t", 40, wcet), scheduler="executor")
        assert analyze(system("ptps", one)).domains[0].schedulable is holds


def test_a_burst_of_another_callback_has_one_job_in_a_window() -> None:
    """20 messages wait, of which 2 are taken before the rare one that comes: 2 * 2 + 1."""
    callbacks = event("rare", 1, 100), event("many", 2, 100, deadline=900)
    flows = flow("f", 100, "d.rare"), flow("g", 100, "d.many", burst=20, queue=20, kind="sporadic")
    one = system("ptps", domain("d", (10, 10), *callbacks, scheduler="executor"), flow=flows)
    found = Analysis(one).explanation("d.rare")
    assert found.account == POLLING
    (window,) = found.windows
    assert (window.window_ns, window.supply_ns) == (5, 5)
    assert {(each.who, each.jobs, each.time_ns) for each in window.shares} == {
        ("rare", 1, 1),
        ("many", 2, 4),
    }


def test_a_timer_is_not_bounded_by_windows() -> None:
    """A periodic source releases timers, which may be looked at between any two callbacks."""
    callbacks = event("rare", 1, 100), event("many", 2, 100, deadline=900)
    flows = flow("f", 100, "d.rare"), flow("g", 100, "d.many", burst=20, queue=20)
    one = system("ptps", domain("d", (10, 10), *callbacks, scheduler="executor"), flow=flows)
    assert one.timers == {"d.rare", "d.many"}
    assert [each.response_bound_ns for each in analyze(one).flows] == [41, 41]


@pytest.mark.parametrize("seed", range(30))
def test_the_least_budget_is_the_least_that_is_accepted(seed: int) -> None:
    draw = random.Random(f"executor budgets:{seed}")
    server = some_server(draw)
    callbacks = component(Local.EXECUTOR, some_callbacks(draw, server))
    budget = minimal_budget([callbacks], Shape.GENERAL, server.period, 1).budget_ns
    for tried in range(1, server.period + 1):
        verdicts = executor(callbacks, Supply(Shape.GENERAL, server.period, tried))
        assert all(one.holds for one in verdicts) == (budget is not None and tried >= budget)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vcpus": 2}, "vcpus: found 2; allowed: one vcpu"),
        ({"tasks": (task("t", 10, 1, priority=1),)}, "priority"),
        ({"tasks": ({"name": "t", "kind": "busy"},)}, 'kind: found "busy" under an executor'),
        (
            {"tasks": (), "domains": (INNER,)},
            "tasks, which are callbacks",
        ),
    ],
)
def test_what_is_no_executor(given: dict[str, object], message: str) -> None:
    whole = {"name": "d", "interface": {"period": 10, "budget": 1}, "tasks": (task("t", 10, 1),)}
    with pytest.raises(InputError, match=message):
        Domain.of({**whole, **given, "scheduler": "executor"})


@pytest.mark.parametrize(
    "refuse",
    [
        export_rt_app,
        lambda one: export_dom0less(one, 10, 1, Board()),
        lambda one: on_linux.refuse_request(RunRequest(one, 10)),
        lambda one: on_xen.run(RunRequest(one, 10)),
    ],
    ids=["rt-app", "dom0less", "linux", "xen"],
)
def test_who_does_not_know_executors_refuses_them(refuse: Callable[[System], object]) -> None:
    with pytest.raises(InputError, match='scheduler: found "executor"'):
        refuse(plain())


@pytest.mark.parametrize("host", ["linux", "sched-deadline", "xen-xl", "xen-rtds", "xen-null"])
def test_who_gives_budgets_alone_takes_executors(host: str) -> None:
    """Whoever is in the domain, its threads or the guest are the user's own."""
    callback = task("timer", 40_000_000, 2_000_000)
    one = domain("d", (4_000_000, 10_000_000), callback, scheduler="executor")
    target = HOSTS[host]
    files = target.files(target.judged(system("ptps", one)), None)
    assert ("1ms in 1ms" if host == "xen-null" else "4ms in 10ms") in str(files["README.md"])
