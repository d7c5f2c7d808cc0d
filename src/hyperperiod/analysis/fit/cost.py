# SPDX-License-Identifier: BSD-2-Clause
"""How many scheduler events per second a choice causes: the cost model of `--least overhead`.

Paper: Asberg, Nolte and Kato, "Towards partitioned hierarchical real-time scheduling on
multi-core processors" (the ExSched HSF paper), section 5.2, which recommends to make events
coincide in one run of the handler, and to group servers of like periods on a pcpu, because then
fewer preempt one another. The model counts, on each pcpu and per second:

- *runs*, instants at which at least one server is replenished. All are refilled at multiples of
  their periods, so this is the density of the union of those multiples: exact, by inclusion and
  exclusion over least common multiples. Periods that divide one another cost nothing extra;
- *depletions*, one for each server and period, unless its budget is its period;
- *switches*, one to each server in each of its periods, and one back to whom it preempted. A
  refill preempts with the probability that a server it may preempt is running, which is their
  bandwidth. It may preempt servers of a longer period (with given priorities: of a lower priority
  and another period, since equal periods begin together).

The cost is runs + depletions + switches, one unit each. With `[overheads]` the unit is a
nanosecond per second: a run or a depletion costs interrupt + pick, each refill in a run replenish,
a switch context_switch. Left out is what no choice changes (releases and completions inside the
domains), that depletions may coincide with other events, and that under deferrable rules unused
budget is not depleted; under a global policy all servers count as one bin, and a refill preempts
with the share of a pcpu that it may preempt.

It is a model, used to compare choices: the simulator's counters are the measure.

Inputs: items and candidates of a bin. Results: rates per second as fractions. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm

from hyperperiod.analysis.fit.problem import Candidate, FitItem, FitProblem
from hyperperiod.model import Overheads

NS_PER_S = 1_000_000_000
# Above this many least common multiples the union is bounded from above instead (Bonferroni).
LATTICE_LIMIT = 4096


@dataclass(frozen=True)
class EventPrices:
    """What an event costs: units, or nanoseconds where overheads are known."""

    run: int = 1
    replenish: int = 0
    switch: int = 1
    in_time: bool = False

    @property
    def scale(self) -> int:
        """The factor by which costs per second are multiplied before they are rounded down."""
        return 1 if self.in_time else 1000


def prices_of(overheads: Overheads) -> EventPrices:
    """One unit per event, or what the system says that events take."""
    run_ns = overheads.interrupt_ns + overheads.pick_ns
    if not (run_ns or overheads.replenish_ns or overheads.context_switch_ns):
        return EventPrices()
    return EventPrices(run_ns, overheads.replenish_ns, overheads.context_switch_ns, in_time=True)


@dataclass(frozen=True)
class EventRates:
    """Rates per second on one pcpu, or on several together."""

    runs: Fraction = Fraction(0)
    depletions: Fraction = Fraction(0)
    replenishments: Fraction = Fraction(0)
    switches: Fraction = Fraction(0)

    def __add__(self, other: EventRates) -> EventRates:
        return EventRates(
            self.runs + other.runs,
            self.depletions + other.depletions,
            self.replenishments + other.replenishments,
            self.switches + other.switches,
        )

    @property
    def count(self) -> Fraction:
        """EventRates per second, coinciding refills counted once."""
        return self.runs + self.depletions + self.switches

    def cost(self, prices: EventPrices) -> Fraction:
        return (
            prices.run * (self.runs + self.depletions)
            + prices.replenish * self.replenishments
            + prices.switch * self.switches
        )


ChosenServer = tuple[FitItem, Candidate]


class CostModel:
    """Counts the events of bins; what was counted is remembered."""

    def __init__(self, problem: FitProblem, prices: EventPrices | None = None) -> None:
        self.problem = problem
        self.prices = prices or prices_of(problem.system.overheads)
        self._runs: dict[frozenset[int], Fraction] = {}
        self._costs: dict[frozenset[tuple[int, int]], Fraction] = {}

    def cost(self, members: Iterable[tuple[int, int]]) -> Fraction:
        """The cost per second of a bin with these members (item, candidate)."""
        key = frozenset(members)
        if key not in self._costs:
            self._costs[key] = self.events(key).cost(self.prices)
        return self._costs[key]

    def events(self, members: Iterable[tuple[int, int]]) -> EventRates:
        """The events per second of a bin with these members (item, candidate)."""
        items = self.problem.items
        return self.events_of([(items[i], items[i].candidates[c]) for i, c in sorted(members)])

    def events_of(self, servers: Sequence[ChosenServer]) -> EventRates:
        periods = frozenset(one.period_ns for _, one in servers)
        refills = sum((refill_rate(item, one) for item, one in servers), Fraction(0))
        return EventRates(
            runs=self.run_rate(periods),
            depletions=sum(
                (refill_rate(item, one) for item, one in servers if one.budget_ns < one.period_ns),
                Fraction(0),
            ),
            replenishments=refills,
            switches=refills + self._preemptions(servers),
        )

    def run_rate(self, periods: frozenset[int]) -> Fraction:
        """Instants per second at which a multiple of one of the periods falls."""
        if periods not in self._runs:
            self._runs[periods] = union_rate(periods)
        return self._runs[periods]

    def _preemptions(self, servers: Sequence[ChosenServer]) -> Fraction:
        total = Fraction(0)
        for level in {level_of(item, one) for item, one in servers}:
            below = sum(
                (
                    bandwidth_of(item, one)
                    for item, one in servers
                    if preempts(level, level_of(item, one))
                ),
                Fraction(0),
            )
            total += Fraction(NS_PER_S, level[1]) * below / self.problem.room
        return total


Level = tuple[int, int]  # priority, or the period where none is given; period


def level_of(item: FitItem, one: Candidate) -> Level:
    return (one.period_ns if item.priority is None else item.priority, one.period_ns)


def preempts(above: Level, below: Level) -> bool:
    """Whether a refill at one level can find a server of the other running, and stop it."""
    return above[0] < below[0] and above[1] != below[1]


def refill_rate(item: FitItem, one: Candidate) -> Fraction:
    """Refills per second of all vcpus of a domain."""
    return Fraction(item.vcpus * NS_PER_S, one.period_ns)


def bandwidth_of(item: FitItem, one: Candidate) -> Fraction:
    return item.vcpus * Fraction(one.budget_ns, one.period_ns)


def own_cost(item: FitItem, one: Candidate, prices: EventPrices) -> Fraction:
    """What a domain costs per second whoever shares its pcpu: refills, depletions, switches."""
    depletion = prices.run if one.budget_ns < one.period_ns else 0
    return (prices.replenish + prices.switch + depletion) * refill_rate(item, one)


def union_rate(periods: Iterable[int]) -> Fraction:
    """The density per second of the union of the multiples of periods; an upper bound if large."""
    own = _irreducible(periods)
    signs: dict[int, int] = {}
    for period_ns in own:
        new = dict(signs)
        new[period_ns] = new.get(period_ns, 0) + 1
        for multiple, sign in signs.items():
            both = lcm(multiple, period_ns)
            new[both] = new.get(both, 0) - sign
        signs = {multiple: sign for multiple, sign in new.items() if sign}
        if len(signs) > LATTICE_LIMIT:
            return _three_terms(own)
    return sum((Fraction(sign * NS_PER_S, multiple) for multiple, sign in signs.items()), _ZERO)


_ZERO = Fraction(0)


def _three_terms(periods: Sequence[int]) -> Fraction:
    """Inclusion and exclusion broken off after an odd number of terms is an upper bound."""
    rates = [
        sum(
            (Fraction(NS_PER_S, lcm(*some)) for some in combinations(periods, size)),
            _ZERO,
        )
        for size in (1, 2, 3)
    ]
    return rates[0] - rates[1] + rates[2]


def _irreducible(periods: Iterable[int]) -> list[int]:
    """Without those that are multiples of another: their instants are there already."""
    own: list[int] = []
    for period_ns in sorted(set(periods)):
        if not any(period_ns % shorter == 0 for shorter in own):
            own.append(period_ns)
    return own


def signatures(
    periods: Iterable[int], limit: int, rate: Callable[[int], Fraction] | None = None
) -> list[tuple[tuple[int, ...], Fraction]]:
    """Instants by which of the periods meet there: (those periods, instants per second).

    The union of any subset of the periods is the sum of the rates of the signatures that have one
    of them. Longest periods are left out while there are more signatures than `limit`; sums are
    then lower bounds.
    """
    rate = rate or (lambda multiple: Fraction(NS_PER_S, multiple))
    own = sorted(set(periods))
    multiples: set[int] = set()
    used: list[int] = []
    for period_ns in own:
        more = multiples | {period_ns} | {lcm(m, period_ns) for m in multiples}
        if len(more) > limit:
            break
        multiples = more
        used.append(period_ns)
    exact: dict[int, Fraction] = {}
    for multiple in sorted(multiples, reverse=True):
        above = sum((value for big, value in exact.items() if big % multiple == 0), _ZERO)
        exact[multiple] = rate(multiple) - above
    return [
        (tuple(p for p in used if multiple % p == 0), value)
        for multiple, value in exact.items()
        if value > 0
    ]
