# SPDX-License-Identifier: BSD-2-Clause
"""The simulator with overheads keeps the laws of proofs/overheads.v, instant by instant.

Random small systems run in the simulator, a nanosecond being an instant. From the trace come what
the model of Coq has: who pays, who pays as well, who has the processor, who has work and when it
came, at which instants a pick begins and at which the hypervisor works. How long a pick takes is
not in a trace: it is counted here, from what a pick has to pay for; that jobs make progress for
just their execution times beside these picks is asserted. Which picks a timer or a kick made is not
in a trace either, so interrupts are free.

Each law is written again here, by the name of its definition, and some damage to runs breaks it.
What a budget loses by the theorems is no more than what the analysis takes of it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support import worlds as small

from hyperperiod import model
from hyperperiod.analysis.overheads import budget_loss_ns, longest_pick_ns
from hyperperiod.trace.format import NONE, SECOND_PAYER, Kind
from hyperperiod.trace.interval_arrays import interval_array

HORIZON = 60
# Of a pick these are recorded, where somebody paid until then, and where nobody did.
AFTER_PAYER = (Kind.CHARGE, Kind.KICK)
AFTER_NOBODY = (Kind.RUN, Kind.IDLE, Kind.KICK, Kind.REPLENISH)
NOBODY = -1

Instants = NDArray[np.int64]


@dataclass(frozen=True)
class Machine:
    """A pcpu and what happened on it: by instant, or by domain and instant.

    `periods`, `budgets` and `places` are those of the servers, which come first. `longest` is C,
    `fixed`, `wake` and `replenish` are prices. `pick_at` is the beginning of the pick that takes an
    instant, or -1.
    """

    rule: str
    order: str
    slack: str
    periods: list[int]
    budgets: list[int]
    places: list[int]
    longest: int
    fixed: int
    wake: int
    replenish: int
    pays: Instants
    also: Instants
    has: Instants
    wants: Instants
    arrives: Instants
    pick_at: Instants

    @cached_property
    def left(self) -> Instants:
        """What is left of each server's budget at each instant, when debts are paid."""
        found = np.zeros((len(self.periods), HORIZON), np.int64)
        for s, (period, budget) in enumerate(zip(self.periods, self.budgets, strict=True)):
            left = 0
            for x, charged in enumerate((self.pays == s) | (self.also == s)):
                if x % period == 0:
                    left = budget + min(0, left)
                found[s][x] = left
                left -= int(charged)
        return found

    def may_pay(self, s: int, x: int) -> bool:
        """Returns whether a server may be decided to pay at an instant."""
        since = x // self.periods[s] * self.periods[s]
        working = {
            "periodic": True,
            "deferrable": bool(self.wants[s][x]),
            "polling": bool(self.wants[s][since : x + 1].all()),
        }
        return bool(self.left[s][x] > 0) and working[self.rule]

    def place(self, s: int, x: int) -> int:
        """Returns the place of a server among payers: the smaller comes first."""
        period = self.periods[s]
        return self.places[s] if self.order == "fp" else (x // period + 1) * period

    def price(self, after: int, to: int) -> int:
        """Returns what a pick pays for that happened after an instant, up to another one."""
        refills = sum(to // period - after // period for period in self.periods)
        # Refills of servers that are not periodic may be noticed when work arrives.
        wake = self.wake + self.replenish * (self.rule != "periodic")
        return int(self.arrives[:, after + 1 : to + 1].sum()) * wake + refills * self.replenish


# -- runs --------------------------------------------------------------------------------------


def drawn(rng: random.Random, rule: str) -> tuple[model.System, str, str]:
    """Returns a random system with overheads, its order and its slack rule.

    One or two best-effort domains come behind its servers in most of them.
    """
    order = rng.choice(["fp", "edf"])
    slack = rng.choice(["none", "lend", "reclaim"] if rule == "periodic" else ["none"])
    domains = []
    servers = rng.randint(1, 3)
    for number in range(servers + rng.choice([0, 1, 1, 2])):
        period = rng.randint(4, 15)
        given = (rng.randint(1, period // 2), period) if number < servers else None
        tasks = [
            small.task(
                f"{number}.{i}",
                rng.randint(5, 30),
                rng.randint(1, 4),
                jitter=rng.choice([0, 3]),
                offset=rng.choice([0, rng.randint(1, 9)]),
                kind=rng.choice(["periodic", "sporadic"]),
            )
            for i in range(rng.randint(1, 2))
        ]
        domains.append(small.domain(f"{number}", given, *tasks))
    names = ("pick_ns", "context_switch_ns", "wake_ns", "replenish_ns")
    costs = {name: rng.choice([0, 0, 1, 2]) for name in names}
    one = small.system(f"{rule}+{order}+{slack}", *domains, overheads=model.Overheads(**costs))
    return one, order, slack


def simulated(rng: random.Random, rule: str) -> Machine | None:
    """A random system's run; none where not all picks are seen, those that only idle on."""
    one, order, slack = drawn(rng, rule)
    cost, count = one.overheads, len(one.domains)
    ran = small.run(one, HORIZON, rng.randrange(10**6))
    wants, arrives = work_of(ran, count)
    pays, also, has = (np.full(HORIZON, NOBODY) for _ in range(3))
    for row in interval_array(ran.records, 0):
        span = slice(int(row["start_ns"]), int(row["end_ns"]))
        pays[span] = NOBODY if row["payer"] == NONE else row["payer"]
        has[span] = row["vcpu"] if row["kind"] == Kind.RUN else NOBODY
        also[span] = row["vcpu"] if row["flags"] & SECOND_PAYER else NOBODY
    pick_at, picks = picks_of(ran, cost, pays, has)
    if picks != ran.result.pcpus[0].picks:
        return None
    servers = [one.interface for one in one.domains if one.interface]
    assert progress_is_right(ran, one, pick_at)
    return Machine(
        rule,
        order,
        slack,
        [each.period_ns for each in servers],
        [each.budget_ns for each in servers],
        [each.period_ns for each in servers],
        longest_pick_ns(one, one.domains),
        cost.pick_ns + cost.context_switch_ns,
        cost.wake_ns,
        cost.replenish_ns,
        pays,
        also,
        has,
        wants,
        arrives,
        pick_at,
    )


def work_of(ran: small.Run, count: int) -> tuple[Instants, Instants]:
    """Returns by domain and instant whether it has work, and whether work arrives."""
    wants, arrives = np.zeros((2, count, HORIZON), np.int64)
    for row in ran.records:
        if row["kind"] == Kind.ARRIVE:
            arrives[row["vcpu"], row["time_ns"]] = 1
            wants[row["vcpu"], row["time_ns"] :] = 1
        elif row["kind"] == Kind.DEPART:
            wants[row["vcpu"], row["time_ns"] :] = 0
    return wants, arrives


def picks_of(
    ran: small.Run, cost: model.Overheads, pays: Instants, has: Instants
) -> tuple[Instants, int]:
    """Returns by instant the beginning of the pick that takes it, or -1; and how many were made."""
    pick_at = np.full(HORIZON, NOBODY)
    ended, picks, before, unpaid = 0, 0, NOBODY, 0
    for now in range(HORIZON):
        records = ran.records[ran.records["time_ns"] == now]
        kinds = Counter(Kind(int(kind)) for kind in records["kind"])
        unpaid += kinds[Kind.REPLENISH] * cost.replenish_ns + kinds[Kind.ARRIVE] * cost.wake_ns
        paid = now > 0 and pays[now - 1] != NOBODY
        # A domain goes on with another job without a pick, unless it has departed.
        kinds[Kind.RUN] *= now == 0 or has[now] != has[now - 1] or kinds[Kind.DEPART] > 0
        # A refill that is noticed as work arrives makes nobody pick.
        kinds[Kind.REPLENISH] *= not kinds[Kind.ARRIVE]
        if now < ended or not any(kinds[kind] for kind in (AFTER_PAYER if paid else AFTER_NOBODY)):
            continue
        switched = has[now] not in (NOBODY, before)
        took = cost.pick_ns + unpaid + cost.context_switch_ns * switched
        pick_at[now : now + took] = now
        ended, picks, before, unpaid = now + took, picks + 1, int(has[now]), 0
    return pick_at, picks


def progress_is_right(ran: small.Run, one: model.System, pick_at: Instants) -> bool:
    """Whether each job that is complete has run for its time, picks not counted."""
    took: Counter[tuple[int, int]] = Counter()
    for row in interval_array(ran.records, 0):
        if row["kind"] == Kind.RUN:
            free = pick_at[int(row["start_ns"]) : int(row["end_ns"])] == NOBODY
            took[int(row["task"]), int(row["job"])] += int(free.sum())
    tasks = [task for domain in one.domains for task in domain.tasks]
    return all(
        took[int(row["task"]), int(row["job"])] == tasks[int(row["task"])].wcet_ns
        for row in ran.records
        if row["kind"] == Kind.COMPLETE
    )


def proved_loss(one: model.System, own: model.Domain) -> int:
    """Returns `budget_loss` of a server, with W by `releases` of the other domains."""
    assert own.interface is not None
    window, cost = own.interface.period_ns, one.overheads
    fixed = cost.pick_ns + cost.context_switch_ns
    arrivals = sum(
        -(-(window + task.jitter_ns) // (task.period_ns or 1))
        for domain in one.domains
        if domain is not own
        for task in domain.tasks
    )
    refills = sum(
        -(-window // domain.interface.period_ns) for domain in one.domains if domain.interface
    )
    caused = arrivals * (fixed + cost.wake_ns) + refills * (fixed + cost.replenish_ns)
    return 2 * longest_pick_ns(one, one.domains) + fixed + caused


# -- laws --------------------------------------------------------------------------------------


def broken(one: Machine) -> Iterator[str]:
    """Yields the laws that a run breaks, by the names of their definitions."""
    free = one.pick_at == NOBODY
    decided = np.where(free, np.arange(HORIZON), one.pick_at)
    for x, p in enumerate(decided):
        stands = one.pays[x] == one.pays[p] and one.also[x] == one.also[p]
        if not (stands and is_decided(one, int(p))):
            yield "deciding"
        own = one.arrives[: len(one.periods), p + 1 : x + 1].sum(axis=1).max()
        if not free[x] and x + one.wake * own >= p + one.longest:
            yield "leaves_wakes"
    begun = sorted(set(one.pick_at[~free].tolist()))
    for p, q in pairwise(begun):
        if not is_stirred(one, p, q):
            yield "picks_when_stirred"
        if (one.pick_at == q).sum() > one.fixed + one.price(p, q):
            yield "priced"


def is_decided(one: Machine, p: int) -> bool:
    """Whether it may be decided at an instant who pays, and who of these has the processor."""
    payer, also, has = int(one.pays[p]), int(one.also[p]), int(one.has[p])
    may = [s for s in range(len(one.periods)) if one.may_pay(s, p)]
    first = min((one.place(s, p) for s in may), default=None)
    pays_first = payer in may and one.place(payer, p) == first if may else payer == NOBODY
    own_time = payer == NOBODY or not one.wants[payer][p] or has == payer
    lent = one.slack == "lend" and has == also and one.left[also][p] > 0
    return pays_first and own_time and (also == NOBODY or lent)


def is_stirred(one: Machine, p: int, q: int) -> bool:
    """Whether something has happened since a pick that another one is made for."""
    for x in range(p + 1, q + 1):
        if one.arrives[:, x].any() or any(x % period == 0 for period in one.periods):
            return True
        has = one.has[p]
        if has >= len(one.periods) or (has != NOBODY and not one.wants[has][x]):
            return True
        if any(who != NOBODY and one.left[who][x] <= 0 for who in (one.pays[p], one.also[p])):
            return True
    return False


@pytest.fixture(scope="module", params=["periodic", "deferrable", "polling"])
def machines(request: pytest.FixtureRequest) -> list[Machine]:
    """Runs of 200 random systems under a rule, but for the few of which not all picks are seen."""
    drawn = (simulated(random.Random(f"20261128 {n}"), request.param) for n in range(200))
    seen = [one for one in drawn if one is not None]
    assert len(seen) >= 180
    return seen


def test_the_simulator_keeps_the_laws(machines: list[Machine]) -> None:
    for one in machines:
        assert not set(broken(one)), one


def test_the_analysis_takes_one_pick_more_of_a_budget_than_is_proved() -> None:
    """The loss of periodic servers is compared; under lend the ends of loans come on top."""
    rng = random.Random(20261128)
    for _ in range(200):
        one, _, slack = drawn(rng, "periodic")
        pick_ns = one.overheads.pick_ns + one.overheads.context_switch_ns
        if not any(vars(one.overheads).values()):
            continue
        for own in one.domains:
            if own.best_effort:
                continue
            more_ns = budget_loss_ns(one, one.domains, own) - proved_loss(one, own)
            assert more_ns >= pick_ns if slack == "lend" else more_ns == pick_ns


def damaged(one: Machine) -> Iterator[tuple[str, Machine]]:
    """Yields a run in which something is not so, with the law that this is about."""
    begun = sorted(set(one.pick_at.tolist()) - {NOBODY})
    lengths = [int((one.pick_at == q).sum()) for q in begun]
    yield "deciding", replace(one, pays=np.where(np.arange(HORIZON) == 20, NOBODY, one.pays))
    yield "leaves_wakes", replace(one, longest=max(lengths, default=0) - 1)
    yield "priced", replace(one, wake=0, replenish=0)
    for q, length in zip(begun, lengths, strict=True):
        if length > 1:
            later = np.where((one.pick_at == q) & (np.arange(HORIZON) > q), q + 1, one.pick_at)
            yield "picks_when_stirred", replace(one, pick_at=later)


def test_each_law_is_broken_by_some_damage(machines: list[Machine]) -> None:
    cases = [case for one in machines[:60] for case in damaged(one)]
    found = Counter(law for law, bad in cases if law in set(broken(bad)))
    assert set(found) == {"deciding", "leaves_wakes", "priced", "picks_when_stirred"}, found
    assert min(found.values()) >= 10, found
