# SPDX-License-Identifier: BSD-2-Clause
"""Periodic servers on one pcpu: who pays when is a table, and it repeats.

A periodic server is charged whenever it is first, with work or without, so who pays does not depend
on anybody's work: the highest server with budget; among equals the last payer, else the one with
the lower number. All servers of a file refill at multiples of their periods, full at 0, and at each
multiple of the hyperperiod all budgets are full again. What the next hyperperiod inherits is the
last payer; where it makes one differ from the next, as many hyperperiods are laid out as repeat
together.

**Supply** (slack none, reclaim). In its runs of the table a server pays, and a payer that has work
runs: so a vcpu with work throughout a window gets at least its runs in it (more under reclaim,
which takes no run from it). The least of any window of a length is found over windows that begin
where a run ends: one that begins in a gap is shorter for the same amount, and one that begins in a
run gets as much more as it is earlier. After a whole table of supply the same waiting comes again.

**Windows** (policy "table"): the table is given, its runs are the windows of a partition. It has
its pcpu in these and nowhere else, whatever anybody does. So a vcpu with work throughout a window
of time gets exactly what that holds of them: the bound is met.

**In one period** (slack none, lend, reclaim; also polling). Let a server lose all ties, and let
x be a part of its budget. In the table it has paid x at some time R after the refill that begins
the period. It has by then in any run: (1) what the servers above may still pay at the refill, and
get until R, is never more than in the table, since budgets come at the same times, polling servers
only ask for less, and where there is any it falls at least at rate 1 (under lend faster); (2) the
time for which there is some in [0, R) grows with both (it is that of a queue), so it is no longer
than in the table; (3) the rest of the time the server pays, if it has budget and, under
polling, has had work since the refill. As a bound for all its periods: the largest of each.

A refill replaces what is left, and what is lost so is not paid. For (1) a run must lose no less
than the table, level by level. One server alone at its priority has in a run never more left than
in the table: where it pays there, nobody above has anything left in the run either. Equals have in
sum never more left if none of them loses any budget in the table; if one does, another order among
them may save it, and the table is no bound (`LostInATie`). A single equal is ahead in the table and
loses the least there, so the server itself does not matter. Under EDF nobody loses any while
bandwidths sum to at most 1. Proved by machine: known_by_table in proofs/known_table.v.

Inputs: a group without overheads and quantum, on one pcpu; the order; a server of the group.
Results: (amount, wait) steps in nanoseconds. Errors: NotKnown for tables of too many
runs, or for a server that does not get its budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import lcm
from typing import NamedTuple

from hyperperiod.analysis.domains.supply_bound import Staircase, stairs_of
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Order

MAX_RUNS = 4_000
"""Runs of all servers, in the tables that are looked at for one server."""
MAX_OWN_RUNS = 250
"""Runs of the server whose supply is sought: the work grows with their square."""


TOO_LONG = "the schedule of the servers repeats only after too long a time"
NOT_GUARANTEED = "its budget may come after the end of its period"


class NotKnown(Exception):  # noqa: N818 - it is not an error of the user
    """Nothing is known of the supply beyond the interface; the message says why."""


class LostInATie(NotKnown):
    """A tie: what equals lose of their budgets depends on which of them goes first."""


class PaidSpan(NamedTuple):
    """An interval (ns) in which a server pays."""

    start_ns: int
    end_ns: int


class Cycle(NamedTuple):
    """One hyperperiod: its length (ns), the runs of each server, and who is the last payer."""

    length_ns: int
    runs: tuple[tuple[PaidSpan, ...], ...]
    last: int | None


def supply_by_table(group: Group, order: Order, own: Server) -> Staircase:
    """The least supply that the server's runs in the table bring in any window."""
    length_ns, runs = _repeating(group, order, own)
    budget_ns = sum(run.end_ns - run.start_ns for run in runs)
    if not runs:
        raise NotKnown(NOT_GUARANTEED)
    steps = []
    for first in range(len(runs)):
        amount_ns = wait_ns = 0
        ends_ns = runs[first].end_ns
        for run in _from(runs, first + 1, length_ns):
            wait_ns += run.start_ns - ends_ns
            steps.append((amount_ns, wait_ns))
            amount_ns += run.end_ns - run.start_ns
            ends_ns = run.end_ns
    return Staircase(length_ns, budget_ns, stairs_of(steps))


def waits_by_table(group: Group, order: Order, own: Server) -> list[tuple[int, int]]:
    """By how much of a budget has been paid, the most that was waited since the refill before it.

    The server loses all ties.
    """
    length_ns, table, _ = _cycle(group, order, None, own)
    if order is Order.FP and _may_save(group, table, length_ns, own):
        raise LostInATie
    runs = table[group.servers.index(own)]
    steps = []
    paid_ns = dict.fromkeys(range(0, length_ns, own.period_ns), 0)
    for run in runs:
        refill_ns = run.start_ns - run.start_ns % own.period_ns
        before_ns = paid_ns[refill_ns]
        steps.append((before_ns, run.start_ns - refill_ns - before_ns))
        paid_ns[refill_ns] += run.end_ns - run.start_ns
    if min(paid_ns.values()) < own.budget_ns:
        raise NotKnown(NOT_GUARANTEED)
    return steps


def _may_save(
    group: Group, table: Sequence[Sequence[PaidSpan]], length_ns: int, own: Server
) -> bool:
    """Whether some server ahead of this one, and beside an equal, loses budget in the table."""
    ahead = group.before(own)
    equals = Counter(one.priority for one in ahead)
    return any(
        equals[one.priority] > 1
        and sum(run.end_ns - run.start_ns for run in runs) * one.period_ns
        < one.budget_ns * length_ns
        for one, runs in zip(group.servers, table, strict=True)
        if one in ahead
    )


def _from(runs: Sequence[PaidSpan], first: int, length_ns: int) -> Iterator[PaidSpan]:
    """As many runs as there are, from one of them on, into the next round of the table."""
    for number in range(first, first + len(runs)):
        rounds, index = divmod(number, len(runs))
        late_ns = rounds * length_ns
        yield PaidSpan(runs[index].start_ns + late_ns, runs[index].end_ns + late_ns)


def _repeating(group: Group, order: Order, own: Server) -> tuple[int, list[PaidSpan]]:
    """The runs of the server, over as many hyperperiods as repeat together from time 0."""
    if own.windows:
        return own.period_ns, sorted(PaidSpan(one.start_ns, one.end_ns) for one in own.windows)
    index = group.servers.index(own)
    first = _cycle(group, order, None)
    cycles = [first]
    while (following := _cycle(group, order, cycles[-1].last)) != first:
        cycles.append(following)
        if len(cycles) > len(group.servers) + 1:
            raise NotKnown(TOO_LONG)
    length_ns = first.length_ns
    laid = [
        PaidSpan(run.start_ns + number * length_ns, run.end_ns + number * length_ns)
        for number, cycle in enumerate(cycles)
        for run in cycle.runs[index]
    ]
    if len(laid) > MAX_OWN_RUNS:
        raise NotKnown(TOO_LONG)
    return length_ns * len(cycles), laid


@lru_cache(maxsize=64)
def _cycle(group: Group, order: Order, last: int | None, loser: Server | None = None) -> Cycle:
    """One hyperperiod after this last payer; with a loser of all ties, without such history."""
    servers = group.servers
    length_ns = lcm(*(server.period_ns for server in servers))
    if sum(length_ns // server.period_ns for server in servers) > MAX_RUNS:
        raise NotKnown(TOO_LONG)
    refills = sorted({t for s in servers for t in range(0, length_ns, s.period_ns)})
    left_ns = [0] * len(servers)
    runs: list[list[PaidSpan]] = [[] for _ in servers]

    def rank(index: int) -> tuple[int, bool, bool, int]:
        one = servers[index]
        urgency = one.priority
        if order is Order.EDF:
            urgency = (now_ns // one.period_ns + 1) * one.period_ns
        return urgency, one is loser, loser is not None or last != index, one.order

    for start_ns, end_ns in pairwise([*refills, length_ns]):
        now_ns = start_ns
        for index, server in enumerate(servers):
            if now_ns % server.period_ns == 0:
                left_ns[index] = server.budget_ns
        while now_ns < end_ns and any(left_ns):
            payer = min((i for i, left in enumerate(left_ns) if left), key=rank)
            paid_ns = min(left_ns[payer], end_ns - now_ns)
            _append(runs[payer], PaidSpan(now_ns, now_ns + paid_ns), servers[payer].period_ns)
            left_ns[payer] -= paid_ns
            now_ns += paid_ns
            last = payer
    return Cycle(length_ns, tuple(map(tuple, runs)), last)


def _append(runs: list[PaidSpan], run: PaidSpan, period_ns: int) -> None:
    """Within a period, what goes on without a gap is one run."""
    if runs and runs[-1].end_ns == run.start_ns and run.start_ns % period_ns:
        runs[-1] = PaidSpan(runs[-1].start_ns, run.end_ns)
    else:
        runs.append(run)
