# SPDX-License-Identifier: BSD-2-Clause
"""Domains that schedule their jobs globally, against the naive model and by hand.

The naive model (`tests/model_naive/global_guests.py`) shares no code with the simulator. Both get
the same systems and must do the same in every tick: which vcpu each pcpu runs, which job is on it,
who pays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model_naive.global_guests import Executed, GlobalGuests, GuestSpec, TaskSpec, VcpuSpec
from tests.model_naive.model import SPARE, Params, Policy, Setup
from tests.support.naive_periods import Life, count_of, note
from tests.support.naive_periods import agree as periods_agree
from tests.support.rules import GLOBAL_NAMES, LOCAL_NAMES
from tests.support.worlds import Run, domain, run, server, system, task

from hyperperiod.model import Scheduler
from hyperperiod.trace.format import NONE, SECOND_PAYER, Kind
from hyperperiod.trace.format import SPARE as SPARE_PAYS
from hyperperiod.trace.properties import Status, check_all

SCHEDULERS = [one.value for one in Scheduler if one.is_global]
TICKS = 120
SPARE_PERIOD, SPARE_BUDGET = 40, 6
EXHAUSTED = [
    "periodic+fp+none",
    "periodic+fp+reclaim",
    "deferrable+fp+none",
    "polling+edf+none",
    "cbs+edf+none",
    "sporadic+fp+none",
    "deferrable+edf+none+global",
]
"""Policies for which every small world is played."""
SHARE = 2
"""How many ticks a share lasts, 500 us: the rule weights needs longer ticks than others."""


class Work(NamedTuple):
    """A task: `wcet` ticks every `period` from `offset` on."""

    period: int
    wcet: int
    deadline: int
    priority: int
    offset: int


class Load(NamedTuple):
    """A domain: its scheduler, the pcpu of each vcpu, their server, its tasks."""

    scheduler: str
    pcpus: tuple[int, ...]
    period: int
    budget: int
    extra: bool
    work: tuple[Work, ...]


@st.composite
def works(draw: st.DrawFn) -> Work:
    period = draw(st.integers(3, 40))
    return Work(
        period=period,
        wcet=draw(st.integers(1, 9)),
        deadline=draw(st.integers(1, period)),
        priority=draw(st.integers(0, 3)),
        offset=draw(st.integers(0, 12)),
    )


@st.composite
def loads(draw: st.DrawFn, pcpus: int) -> list[Load]:
    found = []
    for _ in range(draw(st.integers(1, 3))):
        period = draw(st.integers(2, 12))
        found.append(
            Load(
                scheduler=draw(st.sampled_from(SCHEDULERS)),
                pcpus=tuple(draw(st.lists(st.integers(0, pcpus - 1), min_size=1, max_size=3))),
                period=period,
                budget=draw(st.integers(1, period)),
                extra=draw(st.booleans()),
                work=tuple(draw(st.lists(works(), min_size=1, max_size=4))),
            )
        )
    return found


def tick_ns(policy: str) -> int:
    return 500_000 // SHARE if "weights" in policy else 1


def simulated(policy: str, found: Sequence[Load], pcpus: int, ticks: int, **more: Any) -> Run:
    """The run of a system; the laws of the core and of guests are tested at every instant."""
    tick = tick_ns(policy)
    domains = [
        domain(
            f"d{d}",
            (load.budget * tick, load.period * tick),
            *(
                task(
                    f"t{index}",
                    one.period * tick,
                    one.wcet * tick,
                    deadline=one.deadline * tick,
                    offset=one.offset * tick,
                    **({"priority": one.priority} if load.scheduler == "gfp" else {}),
                )
                for index, one in enumerate(load.work)
            ),
            scheduler=load.scheduler,
            vcpus=len(load.pcpus),
            extra=load.extra,
            **({} if policy.endswith("global") else {"pcpus": load.pcpus}),
        )
        for d, load in enumerate(found)
    ]
    if "spare" in policy:
        more["spare"] = server(SPARE_BUDGET, SPARE_PERIOD)
    return run(system(policy, *domains, pcpus=pcpus, **more), ticks * tick)


def ticks_of(ran: Run, pcpu: int, tick: int) -> list[Executed]:
    """Who ran and who paid in each tick of a pcpu, from the trace."""
    rows: list[Executed] = []
    now = Executed(None, None, None, None)
    for row in ran.records:
        if row["kind"] not in (Kind.RUN, Kind.IDLE) or row["pcpu"] != pcpu:
            continue
        rows += [now] * (int(row["time_ns"]) // tick - len(rows))
        payer = {NONE: None, SPARE_PAYS: SPARE}.get(int(row["payer"]), int(row["payer"]))
        if row["kind"] == Kind.IDLE:
            now = Executed(None, None, payer, None)
            continue
        vcpu = int(row["vcpu"])
        also = vcpu if row["flags"] & SECOND_PAYER else None
        now = Executed(vcpu, (int(row["task"]), int(row["job"])), payer, also)
    return rows + [now] * (ran.result.horizon_ns // tick - len(rows))


def ranked(load: Load) -> list[int]:
    """The places of a domain's tasks in its order, if that is no matter of deadlines."""
    what: Callable[[Work], int] = {
        "gedf": lambda _: 0,
        "grm": lambda one: one.period,
        "gdm": lambda one: one.deadline,
        "gfp": lambda one: one.priority,
    }[load.scheduler]
    order = sorted(range(len(load.work)), key=lambda index: (what(load.work[index]), index))
    return [order.index(index) for index in range(len(load.work))]


def naive(policy: str, found: Sequence[Load], pcpus: int) -> GlobalGuests:
    budget, order, slack = policy.removesuffix("+global").split("+")
    rules = Policy(budget, order, slack)  # type: ignore[arg-type]
    spare = (SPARE_PERIOD, SPARE_BUDGET) if slack == "spare" else (0, 0)
    together = policy.endswith("global")
    setup = Setup(rules, pcpus if together else 1, None, *spare, share=SHARE)
    periods = sorted({load.period for load in found})
    vcpus: list[VcpuSpec] = []
    guests, tasks = [], []
    for d, load in enumerate(found):
        own = Params(load.period, load.budget, periods.index(load.period), load.extra)
        guests.append(
            GuestSpec(
                range(len(vcpus), len(vcpus) + len(load.pcpus)),
                by_deadline=load.scheduler == "gedf",
            )
        )
        vcpus += [VcpuSpec(own, 0 if together else pcpu) for pcpu in load.pcpus]
        for one, key in zip(load.work, ranked(load), strict=True):
            releases = range(one.offset, TICKS, one.period)
            tasks.append(TaskSpec(d, one.wcet, one.deadline, key, releases))
    return GlobalGuests([setup] * (1 if together else pcpus), vcpus, guests, tasks)


def agree(policy: str, found: Sequence[Load], pcpus: int, ticks: int = TICKS) -> None:
    """Both do the same in every tick."""
    ran = simulated(policy, found, pcpus, ticks)
    for finding in check_all(ran.header, ran.records):
        assert finding.status is not Status.FAILS, (found, finding.violations[:2])
    game = naive(policy, found, pcpus)
    lives = [[Life(taken_over=False) for _ in inside] for inside in game.members]
    rows = []
    for now in range(ticks):
        rows.append([one for world in game.tick(now) for one in world])
        for world, own in zip(game.worlds, lives, strict=True):
            note(world, dict(enumerate(own)))
    of_vcpu = dict(zip(itertools.chain(*game.members), itertools.chain(*lives), strict=True))
    counts = [count_of([of_vcpu[v]], ticks, tick_ns(policy)) for v in sorted(of_vcpu)]
    periods_agree(ran.result, counts)
    assert migrations_of(ran) == moved(rows, found)
    for pcpu in range(pcpus):
        expected = [row[pcpu] for row in rows]
        got = ticks_of(ran, pcpu, tick_ns(policy))
        wrong = [now for now in range(ticks) if got[now] != expected[now]]
        assert wrong == [], (found, pcpu, wrong[0], got[wrong[0]], expected[wrong[0]])


def migrations_of(ran: Run) -> list[int]:
    return [one.guest_migrations or 0 for one in ran.result.domains]


def moved(rows: list[list[Executed]], found: Sequence[Load]) -> list[int]:
    """How often a job of each domain was executed on another vcpu than in the tick before."""
    counts = [0] * len(found)
    owner = [d for d, load in enumerate(found) for _ in load.work]
    last: dict[tuple[int, int], int] = {}
    for row in rows:
        for one in row:
            if one.job is None or one.vcpu is None:
                continue
            counts[owner[one.job[0]]] += last.setdefault(one.job, one.vcpu) != one.vcpu
            last[one.job] = one.vcpu
    return counts


def searched(body: Callable[[st.DataObject], None], examples: int) -> None:
    @settings(derandomize=True, deadline=None, max_examples=examples, database=None)
    @given(st.data())
    def search(data: st.DataObject) -> None:
        body(data)

    search()


def agree_on_drawn(policy: str, pcpus: int, examples: int) -> None:
    searched(lambda data: agree(policy, data.draw(loads(pcpus)), pcpus), examples)


@pytest.mark.parametrize("policy", LOCAL_NAMES)
def test_one_pcpu_each(policy: str) -> None:
    agree_on_drawn(policy, 1, 2)
    agree_on_drawn(policy, 2, 2)


@pytest.mark.parametrize("policy", GLOBAL_NAMES)
def test_pcpus_together(policy: str) -> None:
    agree_on_drawn(policy, 2, 6)
    agree_on_drawn(policy, 3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("policy", LOCAL_NAMES)
def test_one_pcpu_each_long(policy: str) -> None:
    agree_on_drawn(policy, 1, 150)
    agree_on_drawn(policy, 2, 150)


@pytest.mark.slow
@pytest.mark.parametrize("policy", GLOBAL_NAMES)
def test_pcpus_together_long(policy: str) -> None:
    agree_on_drawn(policy, 2, 200)
    agree_on_drawn(policy, 3, 200)


@pytest.mark.slow
@pytest.mark.parametrize("policy", EXHAUSTED)
def test_every_small_world(policy: str) -> None:
    """Two jobs on two vcpus beside another domain, in all small shapes."""
    together = policy.endswith("global")
    shapes = list(itertools.product((1, 2), (1, 2), (0, 1)))
    for budget, first, second in itertools.product((1, 2, 3), shapes, shapes):
        jobs = tuple(
            Work(period=6, wcet=wcet, deadline=deadline, priority=0, offset=offset)
            for wcet, deadline, offset in (first, second)
        )
        pair = Load("gedf", (0, 0), 3, budget, extra=False, work=jobs)
        other = Load("gedf", (0,), 4, 1, extra=False, work=(Work(5, 1, 5, 0, 0),))
        for loads_in_order in ([pair, other], [other, pair]):
            agree(policy, loads_in_order, 2 if together else 1, ticks=24)


# -- by hand -----------------------------------------------------------------------------------


def drawn(ran: Run) -> list[str]:
    return [ran.drawn(pcpu) for pcpu in range(ran.header["pcpus"])]


def vcpus_of(ran: Run) -> list[tuple[int, str, int]]:
    """Arrivals and departures: when, which, of which vcpu."""
    names = {Kind.ARRIVE: "arrive", Kind.DEPART: "depart"}
    return [
        (int(row["time_ns"]), names[Kind(row["kind"])], int(row["vcpu"]))
        for row in ran.records
        if row["kind"] in names
    ]


def alone_on(pcpus: int, budget: int, *tasks: Any, vcpus: int = 2, scheduler: str = "gedf") -> Run:
    """A domain by itself, whose vcpus have `budget` in every 10."""
    one = domain("d", (budget, 10), *tasks, scheduler=scheduler, vcpus=vcpus)
    return run(system("deferrable+edf+none+global", one, pcpus=pcpus), 20)


def test_a_job_moves_to_a_vcpu_that_has_budget_left() -> None:
    """One job, two vcpus with 3 each: nobody but the job's own vcpu asks before it is depleted."""
    ran = alone_on(1, 3, task("a", 100, 7))
    assert ran.paid() == [
        (0, 3, "d.0", "d.0"),
        (3, 6, "d.1", "d.1"),
        (6, 10, "idle", ""),
        (10, 11, "d.1", "d.1"),
        (11, 20, "idle", ""),
    ]
    assert ran.drawn() == "0 a 6 - 10 a 11 - 20"
    assert (ran.domain("d").guest_migrations, ran.result.migrations) == (1, 0)
    assert vcpus_of(ran) == [
        (0, "arrive", 0),
        (3, "arrive", 1),
        (3, "depart", 0),
        (6, "arrive", 0),
        (10, "depart", 0),
        (11, "depart", 1),
    ]


def test_the_first_jobs_run_and_move_when_a_vcpu_is_gone() -> None:
    """One pcpu: the first job takes the second vcpu when the first one is depleted."""
    ran = alone_on(1, 3, task("a", 100, 5, deadline=9), task("b", 100, 4, deadline=30))
    assert ran.drawn() == "0 a 5 b 6 - 10 b 13 - 20"


def test_a_running_job_stays_and_newcomers_take_the_lowest_vcpu() -> None:
    a, b, c = (
        task(name, 100, 4, deadline=50, offset=at) for name, at in (("a", 0), ("b", 1), ("c", 4))
    )
    assert drawn(alone_on(2, 10, a, b, c)) == ["0 a 4 c 8 - 20", "0 - 1 b 5 - 20"]


def test_a_displaced_job_returns_to_its_vcpu_if_that_is_free() -> None:
    """c displaces the last in order, b; when a and c end at once, b goes where it was."""
    a, b = task("a", 100, 6, deadline=20), task("b", 100, 8, deadline=40)
    c = task("c", 100, 3, deadline=10, offset=3)
    assert drawn(alone_on(2, 10, a, b, c)) == ["0 a 6 - 20", "0 b 3 c 6 b 11 - 20"]


def test_equal_deadlines_go_to_the_job_that_is_executed() -> None:
    a, b = task("a", 100, 3, deadline=8, offset=2), task("b", 100, 5, deadline=10)
    assert alone_on(1, 10, a, b, vcpus=1).drawn() == "0 b 5 a 8 - 20"


def test_a_vcpu_that_gets_no_pcpu_is_not_asked_for_longer_than_needed() -> None:
    """vcpu 0 shares its pcpu with a better domain: vcpu 1 is woken and takes the job."""
    top = domain("top", (5, 10), task("t", 10, 5), pcpu=0)
    pair = domain("d", (8, 20), task("a", 100, 2), scheduler="gedf", vcpus=2, pcpu=0)
    ran = run(system("ds", top, pair), 20)
    assert ran.drawn() == "0 t 5 a 7 - 10 t 15 - 20"
    assert vcpus_of(ran) == [
        (0, "arrive", 0),
        (0, "arrive", 1),
        (0, "arrive", 2),
        (5, "depart", 0),
        (5, "depart", 2),
        (7, "depart", 1),
        (10, "arrive", 0),
        (15, "depart", 0),
    ]


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("gedf", "0 c 2 b 4 a 6 - 20"),
        ("grm", "0 b 2 a 4 c 6 - 20"),
        ("gdm", "0 c 2 b 4 a 6 - 20"),
        ("gfp", "0 a 2 c 4 b 6 - 20"),
    ],
)
def test_orders(scheduler: str, expected: str) -> None:
    ranks = {"a": 0, "b": 2, "c": 1} if scheduler == "gfp" else {}
    more = {name: {"priority": rank} for name, rank in ranks.items()}
    a = task("a", 60, 2, deadline=60, **more.get("a", {}))
    b = task("b", 50, 2, deadline=50, **more.get("b", {}))
    c = task("c", 90, 2, deadline=40, **more.get("c", {}))
    assert alone_on(1, 10, a, b, c, vcpus=1, scheduler=scheduler).drawn() == expected


def test_one_vcpu_is_as_without_moving() -> None:
    """gedf on one vcpu is edf: the same records, those of one instant in whatever order."""

    def body(data: st.DataObject) -> None:
        (load,) = data.draw(loads(1).filter(lambda found: len(found) == 1))
        one = load._replace(scheduler="gedf", pcpus=(0,))
        both = [
            simulated("deferrable+edf+none", [one._replace(scheduler=name)], 1, 400)
            for name in ("gedf", "edf")
        ]
        first, second = (sorted(one.records.tolist()) for one in both)
        assert first == second

    searched(body, 40)
