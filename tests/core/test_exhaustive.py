# SPDX-License-Identifier: BSD-2-Clause
"""The core against the naive model: every world of many small systems.

A world is one arrival pattern on one system under one policy: at each tick each vcpu gets some
units of work or none. Worlds that begin alike share their beginning, and are explored in two ways:

- as a *tree*: every pattern is really played, both sides copied at each fork;
- as a *graph*: two patterns that lead to the same state of the model and to the same grants are
  played on together from there (the core is deterministic; that its hidden state is the same as
  well is what the tree checks). Far more worlds fit into a second.

In every world at every tick and on every pcpu the core must run and charge whom the model runs and
charges. The core is driven as a host drives it. A *quiet* host calls it only when something happens
(a departure, an arrival, the end of a grant), and picks on the lowest pcpu first; a *chatty* one
asks for kicks at every tick, and picks on the highest first; an *eager* one picks at every tick on
every pcpu. None of that may change the schedule.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest
from tests.model_naive.model import (
    BEST_EFFORT,
    ORDINARY,
    Grant,
    Params,
    Policy,
    Setup,
    Spare,
)
from tests.model_naive.workload import Run
from tests.support import rules

from hyperperiod.model.policy import Budget, Order, Slack

_sim = pytest.importorskip("hyperperiod._sim", reason="the native module is not built")

TICK_NS = 1_000_000  # one tick is a best-effort turn ...
FINE = {"best_effort_turn": 4, "share": 2}  # ... but where shares are given, which take two ticks
FLAG_BEST_EFFORT = 1
FLAG_EXTRA = 2

CoreGrant = tuple[int, int, int | None, int | Spare | None, int | None, int]
Pattern = tuple[int, ...]
Changes = tuple[tuple[int, Params], ...]
Thefts = tuple[tuple[int, bool], ...]  # pcpus that are stolen from now on, or given back


# -- the host of the core ----------------------------------------------------------------------


class Host:
    """Drives one core in ticks and remembers the grant of each pcpu."""

    __slots__ = ("chatty", "core", "eager", "grants", "pcpus", "stolen", "tick_ns")

    def __init__(self, family: Family) -> None:
        setup, start = family.setup, family.start
        self.chatty = family.chatty
        self.eager = family.eager
        self.pcpus = setup.pcpus
        self.tick_ns = tick_ns = TICK_NS // setup.best_effort_turn
        self.core = _sim.Core(
            *codes(setup.policy),
            setup.pcpus,
            (setup.quantum or 0) * tick_ns,
            setup.spare_period * tick_ns,
            setup.spare_budget * tick_ns,
            start * tick_ns,
        )
        for v, one in enumerate(family.params):
            assert self.core.add(v, *self.numbers(one, start)) == 0
        self.stolen: set[int] = set()
        # Before the first pick nobody runs and every pcpu is due.
        self.grants: list[CoreGrant] = [(0, 0, None, None, None, 0)] * setup.pcpus

    def copy(self) -> Host:
        twin = Host.__new__(Host)
        twin.chatty = self.chatty
        twin.eager = self.eager
        twin.pcpus = self.pcpus
        twin.tick_ns = self.tick_ns
        twin.core = self.core.copy()
        twin.grants = self.grants[:]
        twin.stolen = set(self.stolen)
        return twin

    def numbers(self, one: Params, now: int) -> tuple[int, ...]:
        """How the core is told of parameters."""
        flags = FLAG_BEST_EFFORT * one.best_effort + FLAG_EXTRA * one.extra
        tick_ns = self.tick_ns
        pair = (0, 0) if one.best_effort else (one.period * tick_ns, one.budget * tick_ns)
        weight = one.weight if one.best_effort else 0
        return (*pair, one.priority, flags, now * tick_ns, weight)

    def instant(
        self,
        now: int,
        departed: Sequence[int],
        woken: Sequence[int],
        swap: Policy | None,
        changes: Changes,
        thefts: Thefts,
    ) -> int:
        """What the host does at one instant, in the order of the contract.

        Returns the law that the core finds broken, or 0. A quiet host with nothing to do does
        not even ask for that: every call charges.
        """
        now_ns = now * self.tick_ns
        due = {p for p, grant in enumerate(self.grants) if self.eager or grant[1] <= now_ns}
        if not (due or departed or woken or swap or changes or thefts or self.chatty):
            return 0
        for v in departed:
            self.core.depart(v, now_ns)
            due.update(p for p, grant in enumerate(self.grants) if grant[2] == v)
        for v in woken:
            self.core.arrive(v, now_ns)
        if swap is not None:
            assert self.core.set_policy(*codes(swap), now_ns) == 0
        for v, one in changes:
            assert self.core.update(v, *self.numbers(one, now)) == 0
        self.take_and_return(thefts, now_ns)
        due -= self.stolen
        for _ in range(4 * self.pcpus):
            kicked = self.core.kicks(now_ns)
            assert not any(kicked >> p & 1 for p in self.stolen), "a stolen pcpu is kicked"
            due.update(p for p in range(self.pcpus) if kicked >> p & 1)
            if not due:
                break
            for p in sorted(due, reverse=self.chatty):
                self.pick(p, now_ns)
            due = set()
        assert not due, "the picks of one instant do not settle"
        return int(self.core.check(now_ns))

    def take_and_return(self, thefts: Thefts, now_ns: int) -> None:
        for p, stolen in thefts:
            if stolen:
                self.core.steal(p, now_ns)
                self.grants[p] = (now_ns, 2**64 - 1, None, None, None, 0)
                self.stolen.add(p)
            else:
                self.core.give_back(p, now_ns)
                self.stolen.discard(p)

    def pick(self, p: int, now_ns: int) -> None:
        grant = self.core.pick(p, now_ns)
        assert grant[0] == now_ns
        assert grant[1] > now_ns
        # Nothing ever happens between ticks (but for the end of time, which is no instant).
        assert grant[1] % self.tick_ns == 0 or grant[1] == 2**64 - 1
        self.grants[p] = grant

    def schedule(self) -> list[Grant]:
        return [Grant(run, pay, also, level) for _, _, run, pay, also, level in self.grants]


def codes(policy: Policy) -> tuple[int, int, int]:
    return (
        Budget(policy.budget).code,
        Order(policy.order).code,
        Slack(policy.slack).code,
    )


# -- worlds ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """One system and all arrival patterns on it: who may get how much until when."""

    setup: Setup
    params: tuple[Params, ...]
    units: tuple[tuple[int, ...], ...]  # what each vcpu may get at one tick
    ticks: int  # with arrivals
    tail: int  # without, to see what comes of it
    start: int = 0
    chatty: bool = False
    eager: bool = False
    swaps: dict[int, Policy] = field(default_factory=dict)
    changes: dict[int, Changes] = field(default_factory=dict)
    thefts: dict[int, Thefts] = field(default_factory=dict)

    def patterns(self, depth: int) -> Iterator[Pattern]:
        if depth >= self.ticks:
            yield (0,) * len(self.params)
        else:
            yield from itertools.product(*self.units)


class World:
    """Both sides of one world, so far."""

    __slots__ = ("family", "history", "host", "run")

    def __init__(self, family: Family) -> None:
        self.family = family
        self.run = Run(family.setup, family.params, family.start)
        self.host = Host(family)
        self.history: tuple[Pattern, ...] = ()

    def copy(self) -> World:
        twin = World.__new__(World)
        twin.family = self.family
        twin.run = self.run.copy()
        twin.host = self.host.copy()
        twin.history = self.history
        return twin

    def key(self) -> tuple[object, ...]:
        return (self.run.key(), tuple(grant[1:] for grant in self.host.grants))

    def step(self, pattern: Pattern) -> None:
        """One instant on both sides."""
        run, depth = self.run, len(self.history)
        departed = run.finish_tick() if depth else run.begin()
        woken = run.arrive(pattern)
        swap = self.family.swaps.get(depth)
        if swap is not None:
            run.world.swap(swap)
        changes = self.family.changes.get(depth, ())
        for v, params in changes:
            run.world.update(v, params)
        thefts = self.family.thefts.get(depth, ())
        for p, stolen in thefts:
            (run.world.steal if stolen else run.world.give_back)(p)
        expected = run.world.decide()
        self.history = (*self.history, pattern)
        law = self.host.instant(run.world.now, departed, woken, swap, changes, thefts)
        found = self.host.schedule()
        assert found == expected, self.story(expected, found)
        assert law == 0, f"law {law} is broken\n" + self.story(expected, found)

    def story(self, expected: list[Grant], found: list[Grant]) -> str:
        """The world and where the two sides part."""
        lines = [f"{self.family}", f"at tick {self.run.world.now}"]
        lines += [f"  arrivals {depth}: {one}" for depth, one in enumerate(self.history)]
        lines += [f"  model {expected}", f"  core  {found}"]
        return "\n".join(lines)


def explore_tree(family: Family) -> int:
    """Every pattern, one by one; how many there are."""
    end = family.ticks + family.tail

    def below(world: World, depth: int) -> int:
        if depth == end:
            return 1
        return sum(below(next_world, depth + 1) for next_world in successors(world, depth))

    return below(World(family), 0)


def explore_graph(family: Family) -> int:
    """Every pattern, those that have led to the same state together; how many there are."""
    level: dict[tuple[object, ...], tuple[World, int]] = {(): (World(family), 1)}
    for depth in range(family.ticks + family.tail):
        following: dict[tuple[object, ...], tuple[World, int]] = {}
        for world, worlds in level.values():
            for next_world in successors(world, depth):
                key = next_world.key()
                first, before = following.get(key, (next_world, 0))
                following[key] = (first, before + worlds)
        level = following
    return sum(worlds for _, worlds in level.values())


def successors(world: World, depth: int) -> Iterator[World]:
    """What comes of a world by each pattern of this tick; by the last of them the world itself."""
    *others, last = world.family.patterns(depth)
    for pattern in others:
        twin = world.copy()
        twin.step(pattern)
        yield twin
    world.step(last)
    yield world


# -- systems -----------------------------------------------------------------------------------

LOCAL = [Policy(*combination) for combination in rules.LOCAL]
GLOBAL = [Policy(*combination) for combination in rules.GLOBAL]
LOCKS = [(policy, 1) for policy in LOCAL] + [(policy, 2) for policy in GLOBAL]

SERVERS = [(period, budget) for period in (2, 3, 4) for budget in range(1, period + 1)]
# One weak order of priorities per list entry: all ways to be higher, lower or equal.
PRIORITIES = {
    count: [
        ranks
        for ranks in itertools.product(range(count), repeat=count)
        if set(ranks) == set(range(max(ranks) + 1))
    ]
    for count in (1, 2, 3)
}


def ranks_under(order: str, count: int) -> list[tuple[int, ...]]:
    """Under EDF nobody asks for priorities; under fp-edf some or all have none."""
    if order == "edf":
        return [(0,) * count]
    if order == "fp":
        return PRIORITIES[count]
    marks = itertools.product((False, True), repeat=count)
    mixed = itertools.product(PRIORITIES[count], marks)
    found = {
        tuple(ORDINARY if mark else rank for rank, mark in zip(*one, strict=True)) for one in mixed
    }
    return sorted(found)


def server_sets(order: str, count: int) -> Iterator[tuple[Params, ...]]:
    """All systems of so many servers."""
    priorities = ranks_under(order, count)
    for numbers in itertools.product(SERVERS, repeat=count):
        for ranks in priorities:
            yield tuple(Params(*pair, rank) for pair, rank in zip(numbers, ranks, strict=True))


def surroundings(policy: Policy, pcpus: int) -> list[tuple[Setup, tuple[bool, ...]]]:
    """All set-ups around the servers, and which of them may have extra time."""
    spares = [(4, 1), (6, 3)] if policy.slack == "spare" else [(0, 0)]
    asks = policy.slack in ("extra", "weights")
    permissions = [(True,) * 3, (False, True, True)] if asks else [(False,) * 3]
    fine = FINE if policy.slack == "weights" else {}
    return [
        (Setup(policy, pcpus, quantum, *spare, **fine), extra)
        for quantum in (None, 1, 2)
        for spare in spares
        for extra in permissions
    ]


@dataclass(frozen=True)
class Draw:
    """How many systems of a kind are drawn for each policy, and how long their worlds are."""

    servers: int
    guests: tuple[int, ...]  # the numbers of best-effort vcpus to draw from
    count: int
    ticks: int

    def families(self, policy: Policy, pcpus: int, factor: int) -> Iterator[Family]:
        """Systems without repetition, each in a set-up of its own; always the same ones."""
        rng = random.Random(f"{policy} {pcpus} {self}")
        systems = list(server_sets(policy.order, self.servers))
        around = surroundings(policy, pcpus)
        for params in rng.sample(systems, min(self.count * factor, len(systems))):
            setup, extra = rng.choice(around)
            yield family(params, setup, extra, self, rng)


def family(
    params: Sequence[Params], setup: Setup, extra: Sequence[bool], draw: Draw, rng: random.Random
) -> Family:
    # With a quantum, budgets and periods are multiples of it.
    scale = setup.quantum or 1
    servers = tuple(
        Params(one.period * scale, one.budget * scale, one.priority, may)
        for one, may in zip(params, extra, strict=False)
    )
    guests = (BEST_EFFORT, BEST_EFFORT._replace(weight=300), BEST_EFFORT)
    everybody = servers + guests[: rng.choice(draw.guests)]
    return Family(
        setup._replace(
            spare_period=setup.spare_period * scale, spare_budget=setup.spare_budget * scale
        ),
        everybody,
        ((0, 1, 2) if len(everybody) < 3 else (0, 2),) * len(everybody),
        draw.ticks,
        tail=4,
        start=rng.choice((0, 5)),
        chatty=rng.choice((False, True)),
    )


def count_patterns(family: Family) -> int:
    patterns = 1
    for units in family.units:
        patterns *= len(units)
    return int(patterns**family.ticks)


def play_all(explore: Callable[[Family], int], chosen: Iterator[Family]) -> None:
    """Explores the chosen families, and counts and prints how many worlds that was."""
    worlds = families = 0
    for family in chosen:
        found = explore(family)
        assert found == count_patterns(family)
        worlds += found
        families += 1
    print(f"{worlds} worlds of {families} systems")
    assert worlds > 0


def lock_id(value: object) -> str:
    return "+".join(value) if isinstance(value, Policy) else str(value)


# -- the tests ---------------------------------------------------------------------------------


def locks(turn: int) -> pytest.MarkDecorator:
    """Every second lock domain, from the turn-th on; all when asked for."""
    return pytest.mark.parametrize(
        ("policy", "pcpus"),
        [
            pytest.param(*lock, marks=[pytest.mark.slow] if place % 2 != turn else [])
            for place, lock in enumerate(LOCKS)
        ],
        ids=lock_id,
    )


factors = pytest.mark.parametrize(
    "factor", [pytest.param(1, id="small"), pytest.param(8, id="large", marks=pytest.mark.slow)]
)


@locks(0)
@factors
def test_trees(policy: Policy, pcpus: int, factor: int) -> None:
    count = 1 if factor == 1 else 2
    for draw in (Draw(1, (0, 1, 2), 2 * count, ticks=3), Draw(2, (0,), count, ticks=3)):
        play_all(explore_tree, draw.families(policy, pcpus, factor))


@locks(1)
@factors
def test_two_servers(policy: Policy, pcpus: int, factor: int) -> None:
    # A tick more is nine times as many worlds.
    ticks = 4 if factor == 1 else 5
    for draw in (Draw(2, (0,), 2, ticks), Draw(2, (1, 2), 1, ticks=2)):
        play_all(explore_graph, draw.families(policy, pcpus, factor))


@locks(0)
@factors
def test_three_servers(policy: Policy, pcpus: int, factor: int) -> None:
    count = 1 if factor == 1 else 2
    for draw in (Draw(3, (0,), count, ticks=4), Draw(3, (1,), 1, ticks=2)):
        play_all(explore_graph, draw.families(policy, pcpus, factor))


def swaps(before: Policy, pcpus: int, step: int, instant: int) -> Iterator[Family]:
    """One system per policy to swap to."""
    others = (LOCAL if pcpus == 1 else GLOBAL)[instant % step :: step]
    rng = random.Random(f"{before} {pcpus} {instant}")
    setup = Setup(before, pcpus, None, 6, 2, **(FINE if pcpus == 1 else {}))
    classes = before.order == "fp-edf" or any(after.order == "fp-edf" for after in others)
    systems = rng.sample(list(server_sets("fp-edf" if classes else "fp", 2)), len(others))
    for after, params in zip(others, systems, strict=True):
        params = tuple(one._replace(extra=True) for one in params)
        yield Family(setup, params, ((0, 2),) * 2, 5, 6, swaps={instant: after})


@locks(1)
def test_swaps(policy: Policy, pcpus: int) -> None:
    """Every policy into some others at each of the first instants."""
    for instant in (1, 2, 3, 4, 5):
        play_all(explore_graph, swaps(policy, pcpus, 56, instant))


@pytest.mark.slow
@locks(0)
def test_all_swaps(policy: Policy, pcpus: int) -> None:
    """Every policy into every other at each of the first instants."""
    for instant in (1, 2, 3, 4, 5):
        play_all(explore_graph, swaps(policy, pcpus, 1, instant))


def changes(policy: Policy, pcpus: int, count: int, *, swap: bool) -> Iterator[Family]:
    """Systems that get new parameters: one server or two, again before the first took effect.

    With `swap` the policy is replaced as well: before, after, or at the very instant of a change.
    """
    rng = random.Random(f"changes of {policy} {pcpus} {swap}")
    fine = FINE if pcpus == 1 else {}
    spare = (6, 2) if swap or policy.slack == "spare" else (0, 0)
    for _ in range(count):
        after = rng.choice(LOCAL if pcpus == 1 else GLOBAL)
        setup = Setup(policy, pcpus, None if swap else rng.choice((None, 1)), *spare, **fine)
        classes = "fp-edf" in (policy.order, after.order if swap else "")
        systems = rng.sample(list(server_sets("fp-edf" if classes else "fp", 2)), 4)
        given, *others = (
            tuple(one._replace(extra=rng.random() < 0.7) for one in params) for params in systems
        )
        yield Family(
            setup,
            given,
            ((0, 2),) * 2,
            4,
            8,
            chatty=rng.choice((False, True)),
            swaps={rng.randint(1, 6): after} if swap else {},
            changes={
                instant: tuple(rng.sample(list(enumerate(params)), rng.choice((1, 1, 2))))
                for instant, params in zip(rng.sample(range(1, 7), 3), others, strict=True)
            },
        )


@locks(1)
@factors
def test_changes(policy: Policy, pcpus: int, factor: int) -> None:
    """New parameters at any of the first instants, under every policy."""
    play_all(explore_graph, changes(policy, pcpus, 4 * factor, swap=False))


@locks(0)
@factors
def test_changes_and_swaps(policy: Policy, pcpus: int, factor: int) -> None:
    """New parameters that wait while the rules change, and others under the new rules."""
    play_all(explore_graph, changes(policy, pcpus, 4 * factor, swap=True))


def thefts(policy: Policy, pcpus: int, count: int) -> Iterator[Family]:
    """Systems from which pcpus are stolen for some ticks, one after the other or together.

    In some of them the policy is replaced meanwhile.
    """
    rng = random.Random(f"thefts under {policy} {pcpus}")
    systems = list(server_sets(policy.order, 2 if pcpus == 1 else 3))
    around = surroundings(policy, pcpus)
    draw = Draw(3, (0, 1), count, ticks=3)
    for params in rng.sample(systems, count):
        setup, extra = rng.choice(around)
        drawn = family(params, setup, extra, draw, rng)
        events: dict[int, dict[int, bool]] = {}
        for p in range(pcpus):
            begin, middle, end = sorted(rng.sample(range(8), 3))
            for instant, stolen in ((begin, True), (middle, False), (end, True)):
                events.setdefault(instant, {})[p] = stolen
            events.setdefault(rng.randint(end, 8), {})[p] = False
        others = [one for one, most in LOCKS if most >= pcpus and one.order == policy.order]
        swapped = rng.random() < 0.3 and setup.quantum is None and policy.slack != "weights"
        after = [one for one in others if one.slack not in ("weights", "spare")]
        yield replace(
            drawn,
            units=((0, 2),) * len(drawn.params),
            tail=6,
            thefts={at: tuple(pairs.items()) for at, pairs in events.items()},
            swaps={rng.randint(1, 6): rng.choice(after)} if swapped else {},
        )


@locks(1)
@factors
def test_thefts(policy: Policy, pcpus: int, factor: int) -> None:
    """Pcpus are stolen and given back at any of the first instants, under every policy."""
    play_all(explore_graph, thefts(policy, pcpus, 2 * factor))


def guests_in_turns(policy: Policy, pcpus: int, count: int, ticks: int) -> Iterator[Family]:
    """A server without work and more best-effort vcpus than pcpus, whose turns last some ticks."""
    rng = random.Random(f"guests in turns under {policy} {pcpus}")
    draw = Draw(1, (pcpus + 1,), count, ticks)
    around = surroundings(policy, pcpus)
    for params in rng.sample(list(server_sets(policy.order, 1)), count):
        setup, extra = rng.choice(around)
        drawn = family(params, setup, extra, draw, rng)
        yield replace(
            drawn,
            setup=drawn.setup._replace(best_effort_turn=4),
            eager=rng.choice((False, True, True)),
            units=((0,), *((0, 9),) * (pcpus + 1)),
        )


@locks(0)
@factors
def test_best_effort_turns(policy: Policy, pcpus: int, factor: int) -> None:
    """A turn is given once, however often its pcpu picks; it is renewed if somebody waits."""
    # On two pcpus a tick more is eight times as many worlds.
    count, ticks = (1, 6 - pcpus) if factor == 1 else (9, 5)
    play_all(explore_graph, guests_in_turns(policy, pcpus, count, ticks))
