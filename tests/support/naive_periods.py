# SPDX-License-Identifier: BSD-2-Clause
"""Whether servers got their budgets, counted by the naive model, which follows a trace.

It is told when work comes and goes, who runs and pays, when the policy or an interface is another
one and who moves. What servers have and when their periods end it works out by itself, tick by
tick; all times are whole ticks. Picks may come late.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from tests.model_naive.model import BEST_EFFORT, Grant, Params, Policy, Setup, Vcpu, World

from hyperperiod.hosts.result import PeriodCount, RunPeriods
from hyperperiod.trace.format import (
    NONE,
    SECOND_PAYER,
    SPARE,
    ChangeEntry,
    Header,
    Kind,
    Records,
    end_ns,
)
from hyperperiod.trace.records import BUDGETS, ORDERS, SLACKS, Record, each


class Piece(NamedTuple):
    """A tick of a server; `left` is what it has at its beginning, on its own level."""

    start: int
    begin: int
    deadline: int
    budget: int
    left: int
    pays: bool
    works: bool

    @property
    def left_after(self) -> int:
        return self.left - (1 if self.pays else 0)


class Life:
    """One server from when it came under its rule."""

    def __init__(self, *, taken_over: bool) -> None:
        self.taken_over = taken_over
        self.pieces: list[Piece] = []


class LateWorld(World):
    """A world in which a server may pay too long: it owes that, and no refill forgives it."""

    __slots__ = ()

    def _charge(self, vcpu: Vcpu) -> None:
        if vcpu.remaining > 0:
            super()._charge(vcpu)
        else:
            vcpu.remaining -= 1

    def _refill_full(self, vcpu: Vcpu) -> None:
        owed = self._owed(vcpu)
        super()._refill_full(vcpu)
        vcpu.remaining += owed

    def _arrive_slice(self, vcpu: Vcpu) -> None:
        """Periods that are gone have paid back what they could."""
        periods = max(0, self.now - vcpu.deadline) // vcpu.params.period
        if self._owed(vcpu) < 0:
            vcpu.remaining = min(0, vcpu.remaining + periods * vcpu.params.budget)
        super()._arrive_slice(vcpu)

    def _owed(self, vcpu: Vcpu) -> int:
        return min(0, vcpu.remaining) if vcpu.level == 0 else 0

    def lose_unpolled(self) -> None:
        """Polling servers without work lose what they have left, whether anybody picks or not."""
        if self.setup.policy.budget == "polling":
            self._lose_unpolled()


class Follower:
    """The worlds of a trace, one for each pcpu if the policy is partitioned, and all lives."""

    def __init__(self, header: Header, tick_ns: int) -> None:
        self.header, self.tick_ns = header, tick_ns
        self.is_local = header["scope"] == "partitioned"
        rules = Policy(header["budget"], header["order"], header["slack"])  # type: ignore[arg-type]
        setup = Setup(rules, 1 if self.is_local else header["pcpus"])
        self.worlds = [LateWorld(setup) for _ in range(header["pcpus"] if self.is_local else 1)]
        self.homes = [entry["pcpu"] or 0 if self.is_local else 0 for entry in header["vcpus"]]
        self.lives = [[Life(taken_over=False)] for _ in self.homes]
        for v, entry in enumerate(header["vcpus"]):
            period_ns, budget_ns = entry["period_ns"], entry["budget_ns"]
            params = BEST_EFFORT
            if period_ns is not None and budget_ns is not None:
                terms = period_ns // tick_ns, budget_ns // tick_ns, entry["priority"] or 0
                params = Params(*terms, extra=entry["extra"])
            self.worlds[self.homes[v]].add(v, params)

    def tick(self, now: int, together: list[Record]) -> None:
        """What happens at an instant, and the tick that follows it."""
        for world in self.worlds if now else ():
            world.elapse()
        for record in together:
            if record.kind == Kind.DEPART:
                self.world_of(record.vcpu).depart(record.vcpu)
        for world in self.worlds:
            world.refill()
            note_at_once(world, self.lives)
        for record in together:
            self.apply(record)
        for change in self.header["changes"]:
            if change["at_ns"] == now * self.tick_ns:
                self.change(change)
        for record in together:
            if record.kind == Kind.MOVE:
                self.move(record.vcpu, record.pcpu)
        for world in self.worlds:
            world.lose_unpolled()
            note(world, {v: self.lives[v][-1] for v in world.servers})

    def world_of(self, v: int) -> LateWorld:
        return self.worlds[self.homes[v]]

    def apply(self, record: Record) -> None:
        pcpu = record.pcpu
        if record.kind == Kind.ARRIVE:
            self.world_of(record.vcpu).arrive(record.vcpu)
        elif record.kind == Kind.SWAP:
            value = record.value
            rules = BUDGETS[value & 0xFF], ORDERS[value >> 8 & 0xFF], SLACKS[value >> 16 & 0xFF]
            for world in self.worlds if pcpu == NONE else [self.worlds[pcpu]]:
                world.swap(Policy(*rules))  # type: ignore[arg-type]
                for v in world.servers:
                    self.lives[v].append(Life(taken_over=True))
        elif record.kind in (Kind.RUN, Kind.IDLE):
            world, place = (self.worlds[pcpu], 0) if self.is_local else (self.worlds[0], pcpu)
            run = record.vcpu if record.kind == Kind.RUN else None
            pay = record.payer if record.payer < SPARE else None
            also = run if run is not None and record.flags & SECOND_PAYER else None
            world.grants[place] = Grant(run, pay, also)

    def change(self, change: ChangeEntry) -> None:
        """Another interface, for all vcpus of a domain or for some."""
        interface = change["interface"]
        for v, entry in enumerate(self.header["vcpus"]):
            if entry["domain"] != change["domain"] or v not in change.get("vcpus", [v]):
                continue
            world = self.world_of(v)
            old = world.vcpus[v].next_params or world.vcpus[v].params
            if not old.best_effort:
                period = interface["period_ns"] // self.tick_ns
                budget = interface["budget_ns"] // self.tick_ns
                priority = change.get("priority", world.vcpus[v].params.priority)
                world.update(v, Params(period, budget, priority, old.extra))

    def move(self, v: int, pcpu: int) -> None:
        """A vcpu leaves its pcpu; it joins another at the same instant."""
        if pcpu == NONE:
            return
        old = self.world_of(v)
        vcpu = old.vcpus[v]
        old.remove(v)
        self.homes[v] = pcpu
        self.world_of(v).join(v, vcpu, old.setup.policy.budget)
        self.lives[v].append(Life(taken_over=True))


def note(world: World, lives: Mapping[int, Life]) -> None:
    """The tick that begins now, of every server that has periods."""
    for v in world.servers if world.setup.policy.budget != "sporadic" else ():
        vcpu = world.vcpus[v]
        is_own = vcpu.level == 0
        pays = is_own and any(v in (grant.pay, grant.also) for grant in world.grants)
        lives[v].pieces.append(piece_of(vcpu, world.now, pays=pays, works=vcpu.work))


def note_at_once(world: World, lives: Sequence[Sequence[Life]]) -> None:
    """A period under cbs that is over when it begins, seen before an arrival may begin another."""
    for v in world.servers if world.setup.policy.budget == "cbs" else ():
        vcpu = world.vcpus[v]
        pieces = lives[v][-1].pieces
        if vcpu.level == 0 and pieces and pieces[-1].deadline < vcpu.deadline <= world.now:
            pieces.append(piece_of(vcpu, world.now, pays=False, works=True))


def piece_of(vcpu: Vcpu, now: int, *, pays: bool, works: bool) -> Piece:
    """A server as it is now; on a level of extra time it has nothing left of its own."""
    begin, left = vcpu.deadline - vcpu.params.period, vcpu.remaining if vcpu.level == 0 else 0
    return Piece(now, begin, vcpu.deadline, vcpu.params.budget, left, pays, works)


def counted(life: Life, horizon: int) -> Iterator[tuple[int, int, int]]:
    """Yields what was left, the supply and when it was used up, of each period that was wanted.

    The last is 0 if it was not, or if work came later than the period.
    """
    deadlines = list(dict.fromkeys(one.deadline for one in life.pieces))
    for deadline in deadlines[1 if life.taken_over else 0 :]:
        own = [one for one in life.pieces if one.deadline == deadline]
        first, last = own[0], own[-1]
        if first.left <= 0:
            continue
        done = next((one.start + 1 for one in own if one.pays and one.left_after <= 0), None)
        is_over = last.start + 1 >= deadline
        inside = [one for one in own if one.start < deadline]
        is_lost = done is None and any(one.left <= 0 for one in inside)
        until = min(deadline, horizon if done is None else done)
        if is_lost or not (is_over or done) or not worked(life, first.begin, until):
            continue
        left = max(0, inside[-1].left_after if inside else first.left) if is_over else 0
        is_complete = done is not None and worked(life, first.begin, done)
        yield left, first.budget - left, done - first.begin if is_complete and done else 0


def worked(life: Life, start: int, end: int) -> bool:
    """Whether the server had work all the time."""
    inside = [one for one in life.pieces if start <= one.start < end]
    return life.pieces[0].start <= start and all(one.works for one in inside)


def naive(header: Header, records: Records, tick_ns: int) -> list[PeriodCount]:
    """The counts of all vcpus."""
    follower = Follower(header, tick_ns)
    horizon = end_ns(records) // tick_ns
    groups = groupby(each(records), key=lambda record: divmod(record.time_ns, tick_ns))
    by_tick: dict[int, list[Record]] = {}
    for (now, rest_ns), together in groups:
        assert rest_ns == 0, "not everything happens at ticks"
        by_tick[now] = list(together)
    for now in range(horizon):
        follower.tick(now, by_tick.get(now, []))
    return [count_of(lives, horizon, tick_ns) for lives in follower.lives]


def count_of(lives: Sequence[Life], horizon: int, tick_ns: int) -> PeriodCount:
    """The count of a vcpu."""
    count = PeriodCount()
    for life in lives:
        for left, supply, used in counted(life, horizon):
            count |= PeriodCount(1, int(left > 0), supply * tick_ns, used * tick_ns)
    return count


def in_simulator(result: Any) -> list[RunPeriods | None]:
    """What the simulator has counted of each vcpu, or of a whole domain if its vcpus are alike."""
    return [one.periods for domain in result.domains for one in (domain.each_vcpu or (domain,))]


def agree(result: Any, counts: Sequence[PeriodCount]) -> None:
    """The simulator has counted the same for all vcpus that have periods."""
    rest = iter(counts)
    wanted: list[RunPeriods] = []
    for one in result.domains:
        own = [next(rest) for _ in range(one.vcpus)]
        for each_of in [[one] for one in own] if one.each_vcpu else [own]:
            both = PeriodCount()
            for count in each_of:
                both |= count
            least_ns = both.least_supply_ns if both.wanted else None
            wanted.append(
                RunPeriods(
                    wanted=both.wanted,
                    short=both.short,
                    least_supply_ns=least_ns,
                    latest_ns=both.latest_ns or None,
                )
            )
    found = in_simulator(result)
    assert [a if a is None else b for a, b in zip(found, wanted, strict=True)] == found
