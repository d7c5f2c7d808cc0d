# SPDX-License-Identifier: BSD-2-Clause
"""A trace replayed: the state in which the machine was between any two events.

The replay knows from the records only what a host reports: who runs on each pcpu and who pays,
when work arrives and departs, when the policy is swapped. Budgets, refills and deadlines it
works out itself (`servers.py`), so that what the scheduler believed can be compared with what
the rules say. It yields one `Moment` per stretch of time in which nothing changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.trace.oracle.servers import NEVER, ORDINARY, RULES, ReplayedServer, SliceOfClass, Wanted

from hyperperiod.trace.format import (
    AFTER_PICK,
    EXTRA,
    NONE,
    SECOND_PAYER,
    SPARE,
    STOLEN,
    ChangeEntry,
    Header,
    Kind,
    Records,
)
from hyperperiod.trace.records import BUDGETS, ORDERS, SLACKS, Record, each

DECISIVE: Final = (Kind.RUN, Kind.IDLE, Kind.CHARGE, Kind.ARRIVE, Kind.DEPART, Kind.SWAP, Kind.MOVE)


@dataclass(frozen=True)
class Grant:
    """What one pcpu does: `run` and `pay` are None for idle and for nobody."""

    run: int | None
    pay: int | None
    also: bool = False
    extra: bool = False
    task: int | None = None
    job: int = 0
    stolen: bool = False
    """The pcpu is not there to be granted."""


IDLE: Final = Grant(None, None)


class RulesInForce(NamedTuple):
    """The budget, order and slack rules in force on a pcpu, by their names."""

    budget: str
    order: str
    slack: str


@dataclass
class Moment:
    """The state from `now_ns` to `until_ns`. It is the replay's own: read it, do not keep it."""

    header: Header
    rules: list[RulesInForce]
    """By pcpu: partitioned ones may be swapped one after the other."""
    now_ns: int = 0
    until_ns: int = 0
    grants: list[Grant] = field(default_factory=list)
    last_payer: list[int | None] = field(default_factory=list)
    """Per pcpu, who paid most recently before the decision that holds now."""
    last_run: list[int | None] = field(default_factory=list)
    """Per pcpu, which vcpu with a server ran most recently before that decision."""
    servers: dict[int, ReplayedServer] = field(default_factory=dict)
    homes: list[int] = field(default_factory=list)
    """By vcpu, the pcpu that it belongs to or has left last; 0 if all pcpus are shared."""
    away: set[int] = field(default_factory=set)
    """Vcpus on their way from one pcpu to another."""
    swaps: int = 0
    """How many there have been."""
    work: set[int] = field(default_factory=set)
    work_since: dict[int, int] = field(default_factory=dict)
    """When each vcpu last got work, also at the very instant at which it had run out of it."""

    @property
    def partitioned(self) -> bool:
        """Whether every vcpu belongs to one pcpu."""
        return self.header["scope"] == "partitioned"

    def rules_of(self, key: int) -> RulesInForce:
        """The rules for a server: those of its pcpu, or of all pcpus."""
        return self.rules[self._last_home(key)]

    def home(self, key: int) -> int:
        """The pcpu of a server, NONE if it is on its way to one; 0 if all pcpus are shared."""
        return NONE if key in self.away else self._last_home(key)

    def _last_home(self, key: int) -> int:
        if not self.partitioned:
            return 0
        return key >> 16 if is_spare(key) else self.homes[key]

    def is_best_effort(self, vcpu: int) -> bool:
        """Whether the vcpu has no server."""
        return self.header["vcpus"][vcpu]["best_effort"]

    def is_ordinary(self, vcpu: int) -> bool:
        """Whether the vcpu's server comes, under fp-edf, after all that have a priority."""
        two_classes = self.rules_of(vcpu).order == "fp-edf"
        return two_classes and self.servers[vcpu].priority == ORDINARY

    def usable(self, key: int) -> bool:
        """Whether there is such a server and it can pay."""
        return key in self.servers and self.servers[key].usable

    def spare_on(self, pcpu: int) -> int:
        """The key of the spare that stands on a pcpu: partitioned policies have one on each."""
        return SPARE | pcpu << 16 if self.partitioned else SPARE

    def payers(self, pcpu: int) -> tuple[int, ...]:
        """The keys of all servers that are charged while the grant of the pcpu lasts."""
        grant = self.grants[pcpu]
        paying: tuple[int, ...] = ()
        if grant.pay is not None:
            paying = (self.spare_on(pcpu) if grant.pay == SPARE else grant.pay,)
        if grant.also and grant.run is not None and grant.run != grant.pay:
            return (*paying, grant.run)
        return paying

    def groups(self) -> Iterator[tuple[list[int], list[int]]]:
        """Pcpus that share one queue, each with the servers of that queue (never the spare).

        Those that are stolen are not there.
        """
        ids = [vcpu for vcpu in self.servers if not is_spare(vcpu)]
        there = [pcpu for pcpu, grant in enumerate(self.grants) if not grant.stolen]
        if not self.partitioned:
            if there:
                yield there, ids
            return
        for pcpu in there:
            yield [pcpu], [vcpu for vcpu in ids if self.home(vcpu) == pcpu]

    def rank(self, vcpu: int) -> tuple[int, bool, int]:
        """The place of a server in the order; the smaller comes first, equal is a tie."""
        server = self.servers[vcpu]
        ordinary = self.is_ordinary(vcpu)
        if ordinary or self.rules_of(vcpu).order == "edf":
            return server.level, ordinary, server.deadline_ns
        return server.level, False, server.priority

    def runs_on(self, vcpu: int) -> int | None:
        """The pcpu that the vcpu has now."""
        for pcpu, grant in enumerate(self.grants):
            if grant.run == vcpu:
                return pcpu
        return None


class Replay:
    """Walks through the records of one trace."""

    def __init__(self, header: Header, records: Records) -> None:
        self.header = header
        self.records = records
        pcpus = header["pcpus"]
        rules = RulesInForce(header["budget"], header["order"], header["slack"])
        self.state = Moment(header, [rules] * pcpus)
        self.state.grants = [IDLE] * pcpus
        self.state.homes = [entry["pcpu"] or 0 for entry in header["vcpus"]]
        self.state.last_payer = [None] * pcpus
        self.state.last_run = [None] * pcpus
        self.changes = sorted(header["changes"], key=lambda change: change["at_ns"])
        for vcpu in range(len(header["vcpus"])):
            self._add_server(vcpu)
        self._add_spares()

    def moments(self) -> Iterator[Moment]:
        """Every stretch of the run of positive length, in order."""
        state = self.state
        for time_ns, together in by_instant(self.records[_decisive(self.records)]):
            while state.now_ns < time_ns:
                state.until_ns = min(time_ns, self._next_ns())
                if state.until_ns > state.now_ns:
                    yield state
                self._advance(state.until_ns)
                if state.now_ns < time_ns:
                    self._refill_due()
                    self._apply_changes()
                    self._settle()
            departed = _departures(together)
            for record in departed:
                self._apply(record)
            self._refill_due()
            for record in together[len(departed) :]:
                self._apply(record)
            self._apply_changes()
            self._settle()

    def _add_server(self, vcpu: int) -> None:
        """A new server under the rules of now, in the place of one before it."""
        entry = self.header["vcpus"][vcpu]
        period_ns, budget_ns = entry["period_ns"], entry["budget_ns"]
        if entry["best_effort"] or period_ns is None or budget_ns is None:
            return
        rules = self.state.rules_of(vcpu)
        extra = entry["extra"] and rules.slack == "extra"
        priority = entry["priority"] or 0
        kind = SliceOfClass if rules.order == "fp-edf" else RULES[rules.budget]
        self.state.servers[vcpu] = kind(period_ns, budget_ns, priority=priority, extra=extra)

    def _add_spares(self) -> None:
        """The spare is refilled at its multiples even while the policy has no use for it."""
        spare = self.header["spare"]
        if spare is None:
            return
        for pcpu in range(self.header["pcpus"]):
            key = self.state.spare_on(pcpu)
            self.state.servers[key] = ReplayedServer(spare["period_ns"], spare["budget_ns"])

    def _next_ns(self) -> int:
        """When the rules change something by themselves."""
        state = self.state
        soonest = self.changes[0]["at_ns"] if self.changes else NEVER
        for server in state.servers.values():
            soonest = min(soonest, max(server.due_ns(), state.now_ns + 1))
        for pcpu in range(len(state.grants)):
            for payer in state.payers(pcpu):
                left_ns = state.servers[payer].remaining_ns if payer in state.servers else 0
                if left_ns > 0:
                    soonest = min(soonest, state.now_ns + left_ns)
        return soonest

    def _advance(self, to_ns: int) -> None:
        state = self.state
        span_ns = to_ns - state.now_ns
        state.now_ns = to_ns
        for pcpu in range(len(state.grants)):
            for payer in state.payers(pcpu):
                if payer in state.servers:
                    state.servers[payer].charge(span_ns, to_ns)
            self._remember(pcpu)

    def _remember(self, pcpu: int) -> None:
        """Keeps what the pcpu did until now as what it did last."""
        state = self.state
        grant = state.grants[pcpu]
        if grant.pay is not None and grant.pay != SPARE:
            state.last_payer[pcpu] = grant.pay
        if grant.run is not None and grant.pay is not None and not state.is_best_effort(grant.run):
            state.last_run[pcpu] = grant.run

    def _refill_due(self) -> None:
        now_ns = self.state.now_ns
        for server in self.state.servers.values():
            while server.due_ns() <= now_ns:
                server.come_due(server.due_ns())

    def _settle(self) -> None:
        for server in self.state.servers.values():
            server.settle()

    def _apply(self, record: "Record") -> None:
        state = self.state
        if record.kind in (Kind.RUN, Kind.IDLE):
            self._decide(record)
        elif record.kind == Kind.ARRIVE:
            state.work.add(record.vcpu)
            state.work_since[record.vcpu] = record.time_ns
            if record.vcpu in state.servers:
                state.servers[record.vcpu].arrive(record.time_ns)
        elif record.kind == Kind.DEPART:
            state.work.discard(record.vcpu)
            if record.vcpu in state.servers:
                state.servers[record.vcpu].depart()
        elif record.kind == Kind.SWAP:
            self._swap(record)
        elif record.kind == Kind.MOVE:
            self._move(record)

    def _decide(self, record: "Record") -> None:
        state = self.state
        self._remember(record.pcpu)
        running = record.kind == Kind.RUN
        state.grants[record.pcpu] = Grant(
            run=record.vcpu if running else None,
            pay=None if record.payer == NONE else record.payer,
            also=running and bool(record.flags & SECOND_PAYER),
            extra=running and bool(record.flags & EXTRA),
            task=record.task if running and record.task != NONE else None,
            job=record.job,
            stolen=not running and bool(record.flags & STOLEN),
        )

    def _swap(self, record: "Record") -> None:
        """Puts the rules of a swap record in force, on one pcpu or on all."""
        state = self.state
        state.swaps += 1
        value = record.value
        rules = RulesInForce(
            BUDGETS[value & 0xFF], ORDERS[value >> 8 & 0xFF], SLACKS[value >> 16 & 0xFF]
        )
        alone = state.partitioned and record.pcpu != NONE
        for pcpu in [record.pcpu] if alone else range(len(state.rules)):
            state.rules[pcpu] = rules
        for vcpu, before in list(state.servers.items()):
            if is_spare(vcpu) or (alone and state.home(vcpu) != record.pcpu):
                continue
            self._take_over(vcpu, before)
        # A change that waited may find that nothing is owed under the new rule.
        self._refill_due()

    def _move(self, record: "Record") -> None:
        """A vcpu goes to another pcpu, where its server goes on as after a swap."""
        state, vcpu = self.state, record.vcpu
        self._leave(vcpu, state.homes[vcpu])
        if record.pcpu == NONE:
            state.away.add(vcpu)
            return
        state.away.discard(vcpu)
        state.homes[vcpu] = record.pcpu
        before = state.servers.get(vcpu)
        if before is None:
            return
        self._take_over(vcpu, before)
        # A change that waited may find that nothing is owed where it is now.
        self._refill_due()

    def _leave(self, vcpu: int, old: int) -> None:
        """The pcpu that it was on has it no more and remembers nothing of it."""
        state = self.state
        grant = state.grants[old]
        state.grants[old] = replace(
            grant,
            run=None if grant.run == vcpu else grant.run,
            pay=None if grant.pay == vcpu else grant.pay,
        )
        for last in (state.last_payer, state.last_run):
            last[old] = None if last[old] == vcpu else last[old]

    def _take_over(self, vcpu: int, before: ReplayedServer) -> None:
        """A new server in the place of one before it, whose budget and period it goes on with."""
        self._add_server(vcpu)
        server = self.state.servers[vcpu]
        server.adopt(before, self.state.now_ns)
        if before.wanted is not None:
            server.want(before.wanted, self.state.now_ns)

    def _apply_changes(self) -> None:
        if not self.changes or self.changes[0]["at_ns"] > self.state.now_ns:
            return
        while self.changes and self.changes[0]["at_ns"] <= self.state.now_ns:
            change = self.changes.pop(0)
            interface = change["interface"]
            for vcpu, server in self.state.servers.items():
                if self._concerns(change, vcpu):
                    priority = change.get("priority", server.priority)
                    wanted = Wanted(interface["period_ns"], interface["budget_ns"], priority)
                    server.want(wanted, self.state.now_ns)
        self._refill_due()

    def _concerns(self, change: ChangeEntry, key: int) -> bool:
        """Whether this server gets a new interface by that change."""
        if is_spare(key) or self.header["vcpus"][key]["domain"] != change["domain"]:
            return False
        return key in change.get("vcpus", [key])


def by_instant(records: Records) -> Iterator[tuple[int, list[Record]]]:
    """The records of each instant together, in the order of the file."""
    together: list[Record] = []
    for record in each(records):
        if together and record.time_ns != together[0].time_ns:
            yield together[0].time_ns, together
            together = []
        together.append(record)
    if together:
        yield together[0].time_ns, together


def _departures(together: list[Record]) -> list[Record]:
    """Returns those records of one instant that come before its refills: charges, departures."""

    def is_before(record: Record) -> bool:
        return record.kind == Kind.CHARGE or (
            record.kind == Kind.DEPART and not record.flags & AFTER_PICK
        )

    return list(takewhile(is_before, together))


def _decisive(records: Records) -> NDArray[np.bool_]:
    """Which records the state depends on; the last one says when the run ended."""
    wanted = np.isin(records["kind"], DECISIVE)
    wanted[-1:] = True
    return wanted


def is_spare(key: int) -> bool:
    """Whether the key of a server is that of a spare."""
    return key & 0xFFFF == SPARE


def moments(header: Header, records: Records) -> Iterator[Moment]:
    """Yields the states of a run, one after the other, as `Replay` does."""
    return Replay(header, records).moments()
