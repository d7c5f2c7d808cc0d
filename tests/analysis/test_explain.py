# SPDX-License-Identifier: BSD-2-Clause
"""Explanations: their numbers are those of the definitions, their verdict that of the analysis."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.analysis.small_loads import drawn_loads

from hyperperiod._analysis import Local
from hyperperiod.analysis import Analysis, analyze
from hyperperiod.analysis.component import Component
from hyperperiod.analysis.explain import enough
from hyperperiod.analysis.explain_result import ExplainEnough, Explanation
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    Overheads,
    Scheduler,
    System,
    Task,
    TaskKind,
    parse_policy,
)

MS = 1_000_000
ROUNDS = 400
SEEN = 300  # windows up to this length are looked at one by one


def test_what_is_enough_is_the_edge() -> None:
    draw = random.Random("explain enough")
    seen = 0
    for _ in range(ROUNDS // 16):
        sources, supply = drawn_loads(draw)
        local = draw.choice(list(Local))
        component = Component(local, tuple(sources))
        index = draw.randrange(len(sources))
        most = enough.max_wcet(component, index, supply, below=False)
        for wcet, holds in ((most, True), ((most or 0) + 1, False)):
            if wcet is None or wcet > sources[index].load.deadline:
                continue
            changed = component.with_wcet(index, wcet)
            assert enough._holds(changed, index, supply, below=False) is holds
            seen += 1
    assert seen > ROUNDS // 40


POLICIES = (
    "ptps", "wcps", "periodic+edf", "polling", "ds", "deferrable+edf+none", "cbs", "cbs+fp+none",
    "sporadic+fp+none", "sporadic+edf+none", "sedf", "sedf-prime", "psedf",
)  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
def test_the_most_that_a_server_may_have_is_the_edge(policy: str) -> None:
    draw = random.Random(f"explain {policy}")
    rules = parse_policy(policy)
    for _ in range(ROUNDS // 4):
        found = []
        for index in range(draw.randrange(1, 5)):
            period = draw.randrange(3, 30)
            budget = draw.randrange(1, max(2, period // 2))
            found.append(Server(index, f"s{index}", period, budget, period * 8 + index, index))
        group = Group(tuple(found))
        at = draw.randrange(len(group.servers))
        most = enough.max_budget(rules, group, at, 1)
        if host_level(rules, group).servers[at].holds:
            assert most is not None
            assert most >= group.servers[at].budget_ns
        elif most is not None:
            assert most < group.servers[at].budget_ns


def task(name: str, wcet_ms: float, period_ms: float, **more: Any) -> Task:
    return Task(name=name, wcet_ns=int(wcet_ms * MS), period_ns=int(period_ms * MS), **more)


def interface(budget_ms: float, period_ms: float) -> Interface:
    return Interface(budget_ns=int(budget_ms * MS), period_ns=int(period_ms * MS))


def system(*domains: Domain, policy: str = "ptps", **more: Any) -> System:
    return System(name="s", policy=parse_policy(policy), domains=domains, **more)


def explained(one: System, name: str) -> Explanation:
    found = Analysis(one).explanation(name)
    assert all(len(line) <= 100 for line in found.text.splitlines()), found.text
    return found


def words(found: Explanation) -> str:
    """The text in one line."""
    return " ".join(found.text.split())


BRAKES = Domain(
    name="brakes",
    tasks=(
        task("wheel", 2, 20),
        task("abs", 4, 30),
        task("fuse", 5, 40, deadline_ns=35 * MS),
    ),
    interface=interface(4, 10),
)

FUSE = """\
brakes.fuse may not meet its deadline: the least supply of the interface does not cover it in time
  task: wcet 5ms in 40ms, deadline 35ms, under fixed priority
  server: 4ms in every 10ms, blackout 12ms

Critical instant: fuse and everything above it are released together, just when the server has spent
a budget as early as it can, and the next one comes as late as it can: 12ms pass without any supply.

No window up to the deadline at 35ms holds what is asked for by its first job and all that runs
before it. In the closest, of 30ms, 5ms are missing. The supply covers it after 55ms, 20ms too late.

                       closest window  up to the deadline
 window                          30ms                35ms
 ────────────────────────────────────────────────────────
 blackout                        12ms                12ms
 gaps between budgets            10ms                12ms
 supply                           8ms                11ms
 ────────────────────────────────────────────────────────
 wheel (above)          2 x 2ms = 4ms       2 x 2ms = 4ms
 abs (above)            1 x 4ms = 4ms       2 x 4ms = 8ms
 fuse itself            1 x 5ms = 5ms       1 x 5ms = 5ms
 asked for                       13ms                17ms
 ────────────────────────────────────────────────────────
 short by                         5ms                 6ms

A budget of 5.666667ms in 10ms would serve the whole domain; all servers would still get their
budgets.
No wcet of fuse would be short enough: the rest alone is too much."""


def test_a_task_that_is_late_all_by_itself() -> None:
    """Nothing is supplied up to the deadline: no other task is to blame."""
    short = Task(name="t", period_ns=40 * MS, wcet_ns=MS, deadline_ns=5 * MS)
    server = Interface(period_ns=20 * MS, budget_ns=10 * MS)
    one = system(Domain(name="a", interface=server, tasks=(short,)))
    text = explained(one, "a.t").text
    assert text.endswith("No wcet of t would be short enough: the supply comes too late for any.")


def test_a_late_task_in_words() -> None:
    """Worked out by hand: sbf(30) = 8 and sbf(35) = 11 for 4 in 10."""
    assert explained(system(BRAKES), "brakes.fuse").text == FUSE


def test_what_the_words_promise_is_so() -> None:
    """The budget that would be enough is enough, one nanosecond less is not."""
    found = explained(system(BRAKES), "fuse")
    budget_ns = found.enough.budget_ns
    assert isinstance(budget_ns, int)
    for change, holds in ((0, True), (-1, False)):
        promised = Interface(period_ns=10 * MS, budget_ns=budget_ns + change)
        domain = BRAKES.replace(interface=promised)
        assert analyze(system(domain)).schedulable is holds


def test_a_task_in_time() -> None:
    found = explained(system(BRAKES), "brakes.wheel")
    assert found.schedulable is True
    assert found.windows[0].window_ns == 14 * MS
    assert found.curves is not None
    assert found.curves.finish_ns == 14 * MS
    assert "6ms before the deadline" in words(found)
    assert "The wcet of wheel may grow from 2ms to 4ms." in words(found)


def test_the_slack_of_a_task_counts_those_below() -> None:
    domain = BRAKES.replace(interface=interface(8, 10))
    found = explained(system(domain), "wheel")
    wcet_ns = found.enough.wcet_ns
    assert isinstance(wcet_ns, int)
    assert found.enough.others_hold
    for change, holds in ((0, True), (1, False)):
        wheel = task("wheel", 2, 20).replace(wcet_ns=wcet_ns + change)
        changed = domain.replace(tasks=(wheel, *domain.tasks[1:]))
        assert analyze(system(changed)).schedulable is holds


def test_a_server_names_who_takes_its_time() -> None:
    one = system(
        Domain(name="a", tasks=(task("t", 1, 40),), interface=interface(4, 10)),
        Domain(name="b", tasks=(task("t", 1, 60),), interface=interface(6, 15)),
        Domain(name="c", tasks=(task("t", 1, 400),), interface=interface(9, 50)),
    )
    found = explained(one, "c")
    assert found.kind == "server"
    assert found.schedulable is False
    closest, whole = found.windows
    assert (closest.window_ns, closest.short_ns) == (45 * MS, 2 * MS)
    assert [(s.who, s.jobs, s.time_ns // MS) for s in whole.shares] == [
        ("a", 5, 20), ("b", 4, 24), ("c", 1, 9),
    ]  # fmt: skip
    assert found.enough.budget_ns == 7 * MS
    inside = explained(one, "c.t")
    assert inside.schedulable is None
    assert "--explain c" in inside.text


def test_blocking_jitter_and_overheads_are_told() -> None:
    domain = BRAKES.replace(
        tasks=(
            task("wheel", 2, 20, jitter_ns=MS),
            task("fuse", 5, 40, blocking_ns=MS),
        ),
        interface=interface(8, 10),
    )
    one = system(domain, policy="cbs", overheads=Overheads(context_switch_ns=10_000))
    found = explained(one, "fuse")
    roles = {share.role for share in found.windows[0].shares}
    assert "blocking" in roles
    last = found.windows[0].lost[-1]
    assert (last.who, last.role) == ("overheads", "overhead")
    assert "for overheads" in found.text
    assert "as early as their jitter allows" in words(explained(one, "wheel"))
    assert "blocking 1ms" in found.text


def test_overheads_of_windows_are_told_as_what_they_take() -> None:
    """Under ptps they are counted over the window, which gives a shorter bound."""
    domain = BRAKES.replace(interface=interface(8, 10))
    cost = Overheads(context_switch_ns=10_000)
    one = system(domain, overheads=cost)
    found = explained(one, "brakes.fuse")
    (entry,) = [task for task in analyze(one).domains[0].tasks if task.name == "fuse"]
    (window,) = found.windows
    assert found.curves is not None
    assert found.curves.finish_ns == entry.response_bound_ns == window.window_ns
    assert {share.who for share in window.shares if share.role == "overhead"} == {"overheads"}
    assert [(lost.who, lost.time_ns) for lost in window.lost][-1] == ("overheads", 30_000)
    assert found.server is not None
    assert found.server.lost_ns == 0
    budget_ns = found.enough.budget_ns
    assert isinstance(budget_ns, int)
    for change, holds in ((0, True), (-1, False)):
        smaller = Interface(period_ns=10 * MS, budget_ns=budget_ns + change)
        changed = system(domain.replace(interface=smaller), overheads=cost)
        assert (analyze(changed).schedulable is True) is holds


def test_domains_of_domains() -> None:
    inner = Domain(name="inner", tasks=(task("t", 2, 40),), interface=interface(4, 20))
    outer = Domain(name="outer", domains=(inner,), interface=interface(5, 10))
    one = system(outer)
    assert explained(one, "inner").kind == "server"
    assert explained(one, "inner").schedulable is True
    assert explained(one, "t").schedulable is True
    tight = outer.replace(interface=interface(2, 10))
    assert explained(system(tight), "inner").schedulable is False
    assert "server inner may not get its budget" in words(explained(system(tight), "t"))


def test_several_vcpus_have_servers_each() -> None:
    domain = Domain(
        name="d",
        vcpus=2,
        tasks=(task("t", 1, 40, vcpu=0), task("u", 1, 40, vcpu=1)),
        interface=interface(5, 10),
    )
    one = system(domain)
    assert explained(one, "d.1").subject == "d.1"
    assert explained(one, "d").subject == "d.0"
    assert explained(one, "d.u").windows[0].shares[0].who == "u"


def test_without_an_interface_a_whole_pcpu_is_shown() -> None:
    loose = system(Domain(name="d", tasks=(task("t", 30, 40), task("u", 30, 40))))
    found = explained(loose, "d.u")
    assert found.schedulable is False
    assert "no interface" in found.text
    assert found.windows[0].supply_ns == found.windows[0].window_ns
    assert "not even a whole pcpu" in words(found)
    assert "no interface" in explained(loose, "d").text


def test_the_whole_pcpu_of_a_polling_server_still_waits_for_a_refill() -> None:
    """A polling server that just gave its budget away: 20 ms of 20 ms come after 20."""
    tasks = (task("short", 1, 15), task("long", 1, 40))
    one = system(Domain(name="d", tasks=tasks, interface_period_ns=20 * MS), policy="polling")
    found = explained(one, "d.short")
    assert found.server is not None
    assert found.server.blackout_ns == 20 * MS
    assert found.windows[0].short_ns == MS
    assert "not even a whole pcpu" in words(found)
    assert "would serve this one" in words(explained(one, "d.long"))


@pytest.mark.parametrize(
    ("policy", "name", "reason"),
    [
        ("ptps", "d.endless", "busy: it has no deadline"),
        ("ptps", "d.below", "below the busy task endless"),
        ("ptps", "hog", "best effort"),
        ("ptps", "hog.hog", "busy: it has no deadline"),
    ],
)
def test_what_no_test_covers_has_a_reason(policy: str, name: str, reason: str) -> None:
    tasks = (
        task("above", 1, 40, priority=0),
        Task(name="endless", kind=TaskKind.BUSY, priority=1),
        task("below", 1, 40, priority=2),
    )
    one = system(
        Domain(name="d", scheduler=Scheduler.FP, tasks=tasks, interface=interface(5, 10)),
        Domain(name="hog", best_effort=True),
        policy=policy,
    )
    found = explained(one, name)
    assert reason in found.text
    assert found.curves is None
    assert found.windows == ()


def test_jobs_that_move_between_vcpus_are_explained_on_all_of_them() -> None:
    inside = tuple(task(f"t{number}", 10, 200) for number in range(3))
    domain = Domain(
        name="d", scheduler=Scheduler.GEDF, vcpus=2, tasks=inside, interface=interface(45, 50)
    )
    one = system(domain, policy="periodic+edf+none+global", pcpus=2)
    found = explained(one, "d.t0")
    assert found.schedulable is analyze(one).domains[0].tasks[0].schedulable is True
    (window,) = found.windows
    assert (window.what, window.window_ns) == ("tightest", 200 * MS)
    # 2 (10 - 1) while it runs, one unit more, and 10 of each of the others.
    assert window.demand_ns == 2 * (10 * MS - 1) + 1 + 20 * MS
    assert window.supply_ns == 2 * (3 * 45 + 40) * MS  # after 10 without any
    assert "the 2 vcpus" in words(found)


@pytest.mark.parametrize("name", ["slow", "control.none", "nobody", ""])
def test_names_that_are_not_one_subject(name: str) -> None:
    one = system(
        Domain(name="control", tasks=(task("slow", 1, 40),), interface=interface(5, 10)),
        Domain(name="plan", tasks=(task("slow", 1, 40),), interface=interface(1, 10)),
    )
    with pytest.raises(InputError, match=r"control\.slow"):
        analyze(one, explain=name)


def test_thousands_of_jobs_and_many_tasks_stay_readable() -> None:
    many = tuple(task(f"a-task-with-a-rather-long-name-{n}", 0.0001, 1 + n) for n in range(60))
    domain = Domain(name="d", tasks=(*many, task("slow", 1, 100_000)), interface_period_ns=MS // 2)
    found = explained(system(domain), "slow")
    assert "others" in found.text
    assert len(found.text.splitlines()) < 60
    assert found.curves is not None
    assert len(found.curves.demand) < 4000
    assert len(found.curves.supply) < 4000


@pytest.mark.parametrize("kind", ["periodic", "closed"])
def test_what_flows_release_has_the_window_of_its_bound(kind: str) -> None:
    """The verdict is that of the flows, where four items of 5 wait for one another."""
    source = {"period": 40, "burst": 4} if kind == "periodic" else {"clients": 4, "think": 100}
    task = Task(name="t", kind=TaskKind.EVENT, period_ns=20, wcet_ns=5)
    system = System.of(
        {
            "name": "passed",
            "policy": "ptps",
            "domain": (
                Domain(
                    name="d", interface=Interface(period_ns=10, budget_ns=10), tasks=(task,), pcpu=0
                ),
            ),
            "flow": (
                {
                    "name": "f",
                    "source": {"kind": kind, **source},
                    "hops": ("d.t",),
                    "deadline": 60,
                    "queue": 4,
                },
            ),
        }
    )
    said = Analysis(system)
    (domain,) = said.result().domains
    (entry,) = domain.tasks
    found = said.explanation("d.t")
    # The item's way of 20 is the task's deadline; with 19 nothing is proved.
    assert (entry.response_bound_ns, found.schedulable) == (20, True)
    assert (found.account, found.enough) == (
        "queue" if kind == "periodic" else "backlog",
        ExplainEnough(),
    )
    (window,) = found.windows
    assert (window.what, window.window_ns, window.short_ns) == ("done", 20, 0)
    assert [share.time_ns for share in window.shares] == [20]
    assert "a response of at most 20ns" in found.text
    shorter = task.replace(deadline_ns=19)
    tight = system.replace(domains=(system.domains[0].replace(tasks=(shorter,)),))
    assert Analysis(tight).explanation("d.t").schedulable is None
