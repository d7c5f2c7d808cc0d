# SPDX-License-Identifier: BSD-2-Clause
"""Schedules are runs of the model of Coq, which the theorems are about: naive and simulated ones.

Random systems of servers on a pcpu, with domains that are judged, others that have work whenever
they like, and best effort beside them, are played on the naive model, others in the simulator. A
decider that Coq has made of proofs/laws.v says of each schedule whether it keeps the laws of
proofs/model.v at every instant; by `lawful_begins` it says so of just those that a run begins with.
A tick of the naive model, or a nanosecond of the simulator, is an instant there. Best effort is
not in Coq's model: where it runs, nobody has the processor.

A schedule that is damaged at one instant breaks the law that the damage is about, and schedules of
other budget rules are runs only where they look like one.
"""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from tests.model_naive import flows as naive
from tests.model_naive.model import BEST_EFFORT, SPARE, BudgetRule, Params, Policy, Setup
from tests.support import worlds as small
from tests.support.building import once
from tools.build_checker import build, missing

from hyperperiod import model
from hyperperiod.trace.format import NONE, SECOND_PAYER, Kind
from hyperperiod.trace.format import SPARE as SPARE_TIME
from hyperperiod.trace.interval_arrays import interval_array

LACKING = missing()
pytestmark = pytest.mark.skipif(LACKING is not None, reason=f"{LACKING} is not installed")

TICKS = 26
SlackRule = Literal["none", "lend", "reclaim", "spare", "extra"]
SLACKS: dict[SlackRule, str] = {
    "none": "idle",
    "lend": "lend",
    "reclaim": "reclaim",
    "spare": "behind",
    "extra": "behind",
}
PAID: tuple[SlackRule, ...] = ("none", "lend", "reclaim")
BEHIND: tuple[SlackRule, ...] = ("none", "spare", "extra")
RULES: tuple[BudgetRule, ...] = ("periodic", "deferrable", "polling")


class Job(NamedTuple):
    """When a job comes, when it is released, and for how long it works."""

    arrival: int
    release: int
    work: int


class Task(NamedTuple):
    """`place`: the lower goes first where priorities decide. `strict`: periodic, no offset."""

    place: int
    cost: int
    period: int
    deadline: int
    jitter: int
    strict: bool
    jobs: tuple[Job, ...]


class Server(NamedTuple):
    """A server and its domain; one that is not judged may have any jobs."""

    place: int
    period: int
    budget: int
    judged: bool
    scheduler: str
    tasks: tuple[Task, ...]


class Moment(NamedTuple):
    """One instant: the task and the number of the job that runs, who is not judged and has work."""

    pays: int | None
    also: int | None
    has: int | None
    job: tuple[int, int] | None
    others: tuple[int, ...]


@dataclass(frozen=True)
class World:
    """A system and what happened on it; `waiting`: by instant and server, the pending jobs."""

    order: Literal["fp", "edf"]
    slack: SlackRule
    servers: tuple[Server, ...]
    rule: BudgetRule = "periodic"
    moments: tuple[Moment, ...] = ()
    waiting: tuple[tuple[tuple[tuple[int, int], ...], ...], ...] = ()

    def line(self) -> str:
        """What the decider reads: proofs/decider/main.ml."""
        words: list[object] = [self.rule, "rank" if self.order == "fp" else "deadline"]
        words += [SLACKS[self.slack], len(self.servers)]
        for one in self.servers:
            words += [one.place, one.period, one.budget, int(one.judged)]
            tasks = one.tasks if one.judged else ()
            words += ["edf" if one.scheduler == "edf" else "fixed", len(tasks)]
            for number, task in enumerate(tasks):
                place = task.place * len(tasks) + number  # of equals the first one is higher
                words += [place, task.cost, task.period, task.deadline, task.jitter]
                words += [int(task.strict), len(task.jobs), *(n for job in task.jobs for n in job)]
        words.append(len(self.moments))
        for now in self.moments:
            words += ["-" if who is None else who for who in now[:3]]
            words += ["-"] if now.job is None else now.job
            words += [len(now.others), *now.others]
        return " ".join(map(str, words))

    def at(self, instant: int, now: Moment) -> World:
        """The same with another moment."""
        moments = (*self.moments[:instant], now, *self.moments[instant + 1 :])
        return replace(self, moments=moments)


# -- systems -----------------------------------------------------------------------------------


def drawn_jobs(rng: random.Random, task: Task, offset: int, sporadic: bool) -> Iterator[Job]:
    arrival, release = offset, 0
    short = rng.random() < 0.5
    while arrival < TICKS:
        release = max(release, arrival + rng.randint(0, task.jitter))
        yield Job(arrival, release, rng.randint(1, task.cost) if short else task.cost)
        arrival += rng.randint(task.period, 2 * task.period) if sporadic else task.period


def drawn_task(rng: random.Random, scheduler: str) -> Task:
    period = rng.randint(2, 12)
    deadline = rng.choice([period, rng.randint(1, 2 * period)])
    place = {"rm": period, "dm": deadline, "fp": rng.randint(0, 2), "edf": 0}[scheduler]
    jitter = rng.choice([0, 0, rng.randint(1, period)])
    offset, sporadic = rng.choice([(0, False), (0, True), (rng.randint(1, 9), rng.random() < 0.5)])
    strict = offset == 0 and not sporadic
    task = Task(place, rng.randint(1, 4), period, deadline, jitter, strict, ())
    return task._replace(jobs=tuple(drawn_jobs(rng, task, offset, sporadic)))


def drawn_server(rng: random.Random) -> Server:
    period = rng.randint(2, 9)
    scheduler = rng.choice(["rm", "dm", "fp", "edf"])
    tasks = tuple(drawn_task(rng, scheduler) for _ in range(rng.randint(1, 3)))
    judged = rng.random() < 0.8
    if not judged and rng.random() < 0.5:
        tasks = (tasks[0]._replace(jobs=(Job(0, rng.randint(0, 9), 10**6),)),)
    elif not judged:
        tasks = tuple(
            one._replace(jobs=tuple(job._replace(work=3 * job.work) for job in one.jobs))
            for one in tasks
        )
    return Server(rng.randint(0, 2), period, rng.randint(1, period), judged, scheduler, tasks)


def drawn_world(rng: random.Random, budget: BudgetRule = "periodic") -> World:
    """A random system, played for a while."""
    servers = tuple(drawn_server(rng) for _ in range(rng.randint(1, 3)))
    order: Literal["fp", "edf"] = rng.choice(["fp", "edf"])
    slack = rng.choice(PAID if budget == "periodic" else BEHIND)
    world = World(order, slack, servers, budget)
    quantum = rng.choice([None, None, 1, 2])
    return played(world, quantum, best_effort=rng.random() < 0.3)


def played(
    world: World,
    quantum: int | None,
    best_effort: bool,
    ticks: int = TICKS,
) -> World:
    """The world with what the naive model does on it."""
    domains = [
        naive.DomainSpec(
            Params(one.period, one.budget, one.place, extra=world.slack == "extra"),
            0,
            "edf" if one.scheduler == "edf" else "static",
        )
        for one in world.servers
    ]
    owners = [(s, i) for s, one in enumerate(world.servers) for i in range(len(one.tasks))]
    tasks = [
        naive.TaskSpec(
            s,
            task.cost,
            task.deadline,
            task.place,
            [job.release for job in task.jobs],
            [job.work for job in task.jobs],
        )
        for s, one in enumerate(world.servers)
        for task in one.tasks
    ]
    if best_effort:
        domains.append(naive.DomainSpec(BEST_EFFORT, 0))
        tasks.append(naive.TaskSpec(len(world.servers), 10**6, 1, 0, [0]))
        owners.append((len(world.servers), 0))
    spare = {"spare_period": 5, "spare_budget": 3} if world.slack == "spare" else {}
    setup = Setup(Policy(world.rule, world.order, world.slack), quantum=quantum, **spare)
    out = naive.play([setup], domains, tasks, [], ticks)
    moments, waiting = [], []
    for now, (grants, first) in enumerate(zip(out.grants, out.first, strict=True)):
        also, has = grants[0].also, grants[0].run
        # Whoever has spare or extra time pays for it with no budget of its own.
        pays = None if grants[0].pay == SPARE or grants[0].level else grants[0].pay
        has = None if has == len(world.servers) else has
        job = first[has] if has is not None and world.servers[has].judged else None
        moments.append(
            Moment(
                pays,
                also,
                has,
                job and (owners[job[0]][1], job[1]),
                tuple(s for s, one in enumerate(world.servers) if first[s] and not one.judged),
            )
        )
        pending: list[list[tuple[int, int]]] = [[] for _ in domains]
        for (s, i), jobs in zip(owners, out.jobs, strict=True):
            pending[s] += [
                (i, k)
                for k, (release, finish) in enumerate(jobs)
                if release <= now and (finish is None or finish > now)
            ]
        waiting.append(tuple(map(tuple, pending)))
    return replace(world, moments=tuple(moments), waiting=tuple(waiting))


# -- the simulator -----------------------------------------------------------------------------


def drawn_tasks(rng: random.Random, name: str, scheduler: str) -> Iterator[model.Task]:
    for i in range(rng.randint(1, 3)):
        period = rng.randint(2, 12)
        more = {"priority": rng.randint(0, 2)} if scheduler == "fp" else {}
        yield small.task(
            f"{name}.{i}",
            period,
            rng.randint(1, 4),
            deadline=rng.choice([period, rng.randint(1, 2 * period)]),
            jitter=rng.choice([0, 0, rng.randint(1, period)]),
            offset=rng.choice([0, rng.randint(1, 9)]),
            kind=rng.choice(["periodic", "sporadic"]),
            etf=rng.choice([1.0, 0.3]),
            **more,
        )


def simulated(rng: random.Random, budget: BudgetRule = "periodic") -> World:
    """A random system in which a nanosecond is an instant, and its run in the simulator."""
    order: Literal["fp", "edf"] = rng.choice(["fp", "edf"])
    # Of extra time intervals do not say that it is.
    slack = rng.choice(PAID if budget == "periodic" else BEHIND[:2])
    quantum = rng.choice([1, 1, 2])
    more = {"quantum": quantum} if rng.random() < 0.5 else {}
    by_number = order == "fp" and rng.random() < 0.5
    domains = []
    for number in range(rng.randint(1, 3)):
        name = f"{number}"
        quanta = rng.randint(2, 9)
        scheduler = rng.choice(["rm", "dm", "fp", "edf"])
        tasks = list(drawn_tasks(rng, name, scheduler))
        if rng.random() < 0.2:
            scheduler, tasks = "rm", [small.task("busy", kind="busy", offset=rng.randint(0, 9))]
        domains.append(
            small.domain(
                name,
                (rng.randint(1, quanta) * quantum, quanta * quantum),
                *tasks,
                scheduler=scheduler,
                **({"priority": rng.randint(0, 2)} if by_number else {}),
            )
        )
    beside = [small.domain("rest", None, small.task("rest", kind="busy"))] * (rng.random() < 0.3)
    one = small.system(f"{budget}+{order}+{slack}", *domains, *beside, **more)
    ran = small.run(one, TICKS, rng.randrange(10**6))
    moments = tuple(moments_of(ran, domains))
    assert len(moments) == TICKS
    servers = tuple(server_of(ran, each, moments) for each in domains)
    return World(order, slack, servers, budget, moments)


def server_of(ran: small.Run, one: model.Domain, moments: Sequence[Moment]) -> Server:
    """The server with its domain, and with the jobs that its tasks had in the run."""
    assert one.interface is not None
    period, scheduler = one.interface.period_ns, str(one.scheduler)
    judged = one.tasks[0].kind is not model.TaskKind.BUSY
    tasks = []
    for i, each in enumerate(one.tasks if judged else ()):
        period_ns, cost, deadline = each.period_ns or 0, each.wcet_ns or 0, each.deadline_ns or 0
        place = {"rm": period_ns, "dm": deadline, "fp": each.priority or 0, "edf": 0}[scheduler]
        jobs, arrival = [], 0
        for k, job in enumerate(ran.jobs(each.name)):
            # The trace does not tell arrivals: the first that may be.
            arrival = max(arrival + period_ns * (k > 0), job.release_ns - each.jitter_ns)
            took = sum((now.has, now.job) == (int(one.name), (i, k)) for now in moments)
            jobs.append(Job(arrival, job.release_ns, cost if job.finish_ns is None else took))
        strict = each.kind is model.TaskKind.PERIODIC and each.offset_ns == 0
        tasks.append(Task(place, cost, period_ns, deadline, each.jitter_ns, strict, tuple(jobs)))
    number = period if one.priority is None else one.priority
    return Server(number, period, one.interface.budget_ns, judged, scheduler, tuple(tasks))


def moments_of(ran: small.Run, domains: Sequence[model.Domain]) -> Iterator[Moment]:
    """Yields what happened in each nanosecond of a run."""
    busy = [(s, one.tasks[0]) for s, one in enumerate(domains) if one.tasks[0].name == "busy"]
    places = [each["name"].split(".") for each in ran.header["tasks"]]
    for row in interval_array(ran.records, 0):
        pays = None if row["payer"] in (NONE, SPARE_TIME) else int(row["payer"])
        has = int(row["vcpu"]) if row["kind"] == Kind.RUN else None
        has = None if has == len(domains) else has
        runs = None if has is None else places[row["task"]]
        for instant in range(row["start_ns"], row["end_ns"]):
            yield Moment(
                pays,
                has if row["flags"] & SECOND_PAYER else None,
                has,
                (int(runs[1]), int(row["job"])) if runs and len(runs) == 2 else None,
                tuple(s for s, task in busy if task.offset_ns <= instant),
            )


# -- the decider -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def decider(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built from the proofs."""
    return once(tmp_path_factory, "decider", lambda target: build(target, "decider"))


def decided(decider: Path, worlds: Sequence[World]) -> list[str]:
    """Returns what the decider says of each world."""
    text = "".join(f"{world.line()}\n" for world in worlds)
    done = subprocess.run([decider], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert len(said) == len(worlds)
    return said


def are_runs(decider: Path, worlds: Iterable[World]) -> Counter[str]:
    """Returns in how many worlds what happened, asking of a thousand at once. All must be runs."""
    seen: Counter[str] = Counter()
    rest = enumerate(worlds)
    while batch := list(islice(rest, 1000)):
        said = decided(decider, [world for _, world in batch])
        for (number, world), text in zip(batch, said, strict=True):
            assert text == "lawful", f"world {number}: {text}\n{world}"
            seen.update(happened(world))
    return seen


Drawn = Callable[[random.Random, BudgetRule], World]


def some_of(drawn: Drawn, rule: BudgetRule, seed: int, count: int) -> Iterator[World]:
    """Returns that many random worlds; seed and number bring one back."""
    return (drawn(random.Random(f"{seed} {number}"), rule) for number in range(count))


def small_worlds(rule: BudgetRule) -> Iterator[World]:
    """Two servers with periods of 2 and 3 and a task each, and all that may come in 4 instants."""
    pairs = [(period, budget) for period in (2, 3) for budget in range(1, period + 1)]
    orders: list[tuple[Literal["fp", "edf"], tuple[int, int]]] = [
        ("fp", (0, 0)), ("fp", (0, 1)), ("fp", (1, 0)), ("edf", (0, 0))
    ]  # fmt: skip
    tasks = [Task(0, 2, 2, 2, 0, strict=False, jobs=jobs) for jobs in small_jobs(0)]
    inside = list(product(pairs, pairs, tasks, tasks))
    for (order, ranks), slack in product(orders, PAID if rule == "periodic" else BEHIND):
        for *interfaces, one, other in inside:
            servers = tuple(
                Server(rank, *interface, True, "rm", (task,))
                for rank, interface, task in zip(ranks, interfaces, (one, other), strict=True)
            )
            yield played(World(order, slack, servers, rule), None, False, ticks=9)


def small_jobs(since: int) -> Iterator[tuple[Job, ...]]:
    """All jobs of 1 or 2 in instants up to the fourth, two instants apart at least."""
    yield ()
    for arrival, work in product(range(since, 4), (1, 2)):
        for later in small_jobs(arrival + 2):
            yield (Job(arrival, arrival, work), *later)


def happened(world: World) -> set[str]:
    """Returns what happened in a world, of what must be seen for a test to say something."""
    found = set()
    for now in world.moments:
        if now.also is not None:
            found.add("lent")
        elif now.has != now.pays:
            found.add("idle" if now.has is None else "reclaimed")
        if now.pays is None:
            found.add("nobody pays")
        if now.others:
            found.add("not judged")
    if len({one.place for one in world.servers}) < len(world.servers):
        found.add("equals")
    return found


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("drawn", [drawn_world, simulated])
def test_schedules_are_runs(decider: Path, drawn: Drawn, rule: BudgetRule) -> None:
    seen = are_runs(decider, some_of(drawn, rule, 20261127, 300))
    assert len(seen) == (6 if rule == "periodic" else 4), seen
    assert min(seen.values()) >= 30, seen


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("drawn", [drawn_world, simulated])
def test_more_schedules_are_runs(decider: Path, drawn: Drawn, rule: BudgetRule) -> None:
    are_runs(decider, some_of(drawn, rule, 20261128, 100_000))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_all_schedules_of_small_systems_are_runs(decider: Path, rule: BudgetRule) -> None:
    are_runs(decider, small_worlds(rule))


# -- falsehoods --------------------------------------------------------------------------------

BUDGET = "who pays has no budget"
FIRST = "one with budget comes before who pays"
WORK = "who has the processor has no work"
OWN = "who pays has work, and not the processor"
SLACK = "who has the processor may not have the time of who pays"
ALSO = "who pays as well should not, or has no budget"
RELEASED = "the job that runs is not released, or done"
LOWER = "a job comes before the one that runs"
EARLIER = "an earlier job of the task that runs is not done"
JOBS = "no such releases or work"

Damage = tuple[World, tuple[str, ...]]
"""A world in which something is not so, and the laws of which one is then the first broken."""


def damaged(world: World, instant: int) -> Iterator[Damage]:
    """The world with another thing wrong at this instant about who pays and has the processor."""
    now = world.moments[instant]
    if now.pays is not None:
        yield world.at(instant, now._replace(pays=None)), (FIRST,)
        if now.has == now.pays:
            yield world.at(instant, now._replace(has=None, job=None)), (OWN,)
    if now.also is not None:
        yield world.at(instant, now._replace(also=None)), (SLACK,)
    own_work = now.pays is not None and bool(world.waiting[instant][now.pays])
    for s, pending in enumerate(world.waiting[instant][: len(world.servers)]):
        if now.pays is None:
            yield world.at(instant, now._replace(pays=s)), (BUDGET,)
        elif place(world, s, instant) > place(world, now.pays, instant):
            yield world.at(instant, now._replace(pays=s)), (BUDGET, FIRST)
        if now.also is None:
            yield world.at(instant, now._replace(also=s)), (ALSO,)
        if not own_work and not pending:
            yield world.at(instant, now._replace(has=s, job=None)), (WORK,)
        elif not own_work and now.pays is None and SLACKS[world.slack] == "behind":
            continue  # it may have that time
        elif not own_work and (world.slack == "none" or now.pays is None):
            yield world.at(instant, now._replace(has=s, job=pending[0])), (SLACK,)


def with_another_job(world: World, instant: int) -> Iterator[Damage]:
    """The world with another job at this instant: one that is not there, or not first."""
    now = world.moments[instant]
    if now.has is None or now.job is None:
        return
    one, (i, k) = world.servers[now.has], now.job
    yield world.at(instant, now._replace(job=(i, len(one.tasks[i].jobs)))), (RELEASED,)
    yield world.at(instant, now._replace(job=None)), (LOWER,)
    if k > 0:
        yield world.at(instant, now._replace(job=(i, k - 1))), (RELEASED,)
    for job in world.waiting[instant][now.has]:
        if key(one, job) > key(one, now.job):
            yield world.at(instant, now._replace(job=job)), (LOWER,)
        elif key(one, job) == key(one, now.job) and job[0] == i and job[1] > k:
            yield world.at(instant, now._replace(job=job)), (EARLIER,)


def place(world: World, s: int, instant: int) -> int:
    """Returns the place of a server among payers: the smaller comes first."""
    one = world.servers[s]
    return one.place if world.order == "fp" else (instant // one.period + 1) * one.period


def key(one: Server, job: tuple[int, int]) -> tuple[int, int]:
    """Returns the place of a job in its domain: the smaller comes first."""
    task = one.tasks[job[0]]
    if one.scheduler == "edf":
        return task.jobs[job[1]].release + task.deadline, 0
    return task.place, job[0]


def with_less(world: World) -> Iterator[Damage]:
    """The world with one unit less for a server that has used its whole budget in some period."""
    for s, one in enumerate(world.servers):
        paid = [s in (now.pays, now.also) for now in world.moments]
        periods = range(0, TICKS, one.period)
        if any(sum(paid[begin : begin + one.period]) == one.budget for begin in periods):
            yield with_server(world, s, one._replace(budget=one.budget - 1)), (BUDGET, ALSO)


def with_server(world: World, s: int, one: Server) -> World:
    return replace(world, servers=(*world.servers[:s], one, *world.servers[s + 1 :]))


def with_other_jobs(world: World) -> Iterator[Damage]:
    """The world with a job that its task cannot have."""
    for s, one in enumerate(world.servers):
        for i, task in enumerate(one.tasks if one.judged else ()):
            for k, job in enumerate(task.jobs):
                wrong = [
                    job._replace(work=task.cost + 1),
                    job._replace(release=job.arrival - 1) if job.arrival else None,
                    job._replace(release=job.arrival + task.jitter + 1),
                    job._replace(arrival=task.jobs[k - 1].arrival + task.period - 1) if k else None,
                ]
                if task.strict and not task.jitter:
                    wrong.append(Job(job.arrival + 1, job.release + 1, job.work))
                for other in filter(None, wrong):
                    jobs = (*task.jobs[:k], other, *task.jobs[k + 1 :])
                    tasks = (*one.tasks[:i], task._replace(jobs=jobs), *one.tasks[i + 1 :])
                    yield with_server(world, s, one._replace(tasks=tasks)), (JOBS,)


@pytest.mark.parametrize("rule", RULES)
def test_each_broken_law_is_named(decider: Path, rule: BudgetRule) -> None:
    """Each damage to 400 worlds, at one instant, of budgets or of jobs, is refused by its law."""
    rng = random.Random(20261127)
    found = dict.fromkeys(
        (BUDGET, FIRST, WORK, OWN, SLACK, ALSO, RELEASED, LOWER, EARLIER, JOBS), 0
    )
    cases: list[tuple[Damage, str]] = []
    for number in range(400):
        world = drawn_world(rng, rule)
        instant = rng.randrange(TICKS)
        at_one = (*damaged(world, instant), *with_another_job(world, instant))
        cases += [(case, f"at {instant}: ") for case in at_one]
        cases += [(case, "") for case in with_less(world)]
        cases += [(case, "") for case in with_other_jobs(world) if number < 150]
    said = decided(decider, [world for (world, _), _ in cases])
    for ((world, laws), begin), text in zip(cases, said, strict=True):
        broken = next((law for law in laws if text.endswith(law)), None)
        assert broken is not None, f"{text}; {laws}\n{world}"
        assert text.startswith(begin), f"{text}; {begin}\n{world}"
        found[broken] += 1
    assert min(found.values()) >= 10, found


def first_pays(world: World) -> bool:
    """That whoever pays is first of those with budget, counted by periods of the grid."""
    for instant, now in enumerate(world.moments):
        funded = []
        for s, one in enumerate(world.servers):
            since = world.moments[instant // one.period * one.period : instant]
            if sum(s in (before.pays, before.also) for before in since) < one.budget:
                funded.append(s)
        first = min((place(world, s, instant) for s in funded), default=None)
        if now.pays is None:
            rightly = not funded
        else:
            rightly = now.pays in funded and place(world, now.pays, instant) == first
        if not rightly:
            return False
    return True


@pytest.mark.parametrize("budget", ["deferrable", "polling", "cbs"])
def test_of_other_budget_rules_only_those_are_runs_of_periodic_ones_in_which_the_first_pays(
    decider: Path, budget: BudgetRule
) -> None:
    """There idle servers do not pay. Where all have work until they are depleted, it is a run."""
    rng = random.Random(budget)
    drawn = (drawn_world(rng, budget) for _ in range(150))
    worlds = [replace(one, rule="periodic") for one in drawn if one.slack == "none"]
    lawful = [said == "lawful" for said in decided(decider, worlds)]
    assert lawful == [first_pays(world) for world in worlds]
    assert len(lawful) / 10 <= sum(lawful) <= len(lawful) / 2


WRONG = {
    "periodic rank": "too few words",
    "": "found ; allowed: periodic, deferrable, polling",
    "periodic fp": "found fp; allowed: rank, deadline",
    "polling rank idle": "too few words",
    "deferrable rank idle 0 0 0": "too many words",
    "polling rank spare 0 0": "found spare; allowed: idle, lend, reclaim, behind",
    "periodic rank idle 0 1 - - - - 1 -1": "found -1; allowed: a number below 2^30",
    "periodic rank idle 1 0 4 2 2 edf 0 0": "found 2; allowed: 0, 1",
    "periodic rank idle 1 0 4 2 1 rm 0 0": "found rm; allowed: fixed, edf",
}


@pytest.mark.parametrize(("line", "said"), WRONG.items(), ids=range(len(WRONG)))
def test_what_is_no_schedule_is_refused(decider: Path, line: str, said: str) -> None:
    done = subprocess.run([decider], input=line + "\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said + "\n")
