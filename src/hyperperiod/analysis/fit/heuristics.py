# SPDX-License-Identifier: BSD-2-Clause
"""Choices by rule of thumb, then made better step by step.

A choice is made in two parts. *Selections* give every domain an interface: the least bandwidth;
one period for all, as far as each domain can have it; periods in a chain (each a multiple of the
one before, which fixed priority can load fully); the longest period that costs little bandwidth.
*Packings* put the domains into bins one after the other, by bandwidth (largest first) or grouped
by period, into the first, the fullest, the emptiest bin that holds them, or the one whose events
grow least. The host-level test decides what a bin holds. *Groups* do both at once: domains of like
periods share a pcpu and, as far as they can, a period.

From the best of all these the search climbs: it gives a domain another interface, another bin or
both, or lets two domains change places, for as long as that helps. The order is fixed and nothing
is drawn, so the result depends on nothing but the problem, unless the time runs out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from hyperperiod.analysis.fit.problem import Assignment, Choice, FitProblem
from hyperperiod.analysis.fit.scoring import Least, Score, Scorer

Selection = tuple[int, ...]
# Asked now and then: whether to stop.
Stop = Callable[[], bool]

_SLACKS = (
    Fraction(1, 50),
    Fraction(1, 20),
    Fraction(1, 10),
    Fraction(1, 4),
    Fraction(1),
    Fraction(4),
)


def selections(problem: FitProblem, least: Least) -> Iterator[Selection]:
    """Interfaces for all domains, the promising ones first."""
    slacks = _SLACKS if least is Least.BANDWIDTH else _SLACKS[::-1]
    cheapest = tuple(_cheapest(problem, i, None) for i in range(len(problem.items)))
    seen = {cheapest}
    yield cheapest
    for made in _by_rules(problem, slacks):
        if made not in seen:
            seen.add(made)
            yield made


def _by_rules(problem: FitProblem, slacks: Sequence[Fraction]) -> Iterator[Selection]:
    count = range(len(problem.items))
    periods = sorted({c.period_ns for item in problem.items for c in item.candidates})
    for slack in slacks:
        yield tuple(_longest(problem, i, slack) for i in count)
    if len(periods) > 48:
        periods = [periods[i * (len(periods) - 1) // 47] for i in range(48)]
    for base_ns in periods:
        yield tuple(_nearest(problem, i, base_ns) for i in count)
        yield tuple(_cheapest(problem, i, base_ns) for i in count)


def _cheapest(problem: FitProblem, number: int, base_ns: int | None) -> int:
    """The least bandwidth; with a base, among periods in one chain with it, if there are any."""
    weights = problem.weights[number]
    places = range(len(weights))
    if base_ns is not None:
        in_chain = [
            place
            for place in places
            if _in_chain(problem.items[number].candidates[place].period_ns, base_ns)
        ]
        places_left: Sequence[int] = in_chain or places
    else:
        places_left = places
    return min(places_left, key=lambda place: (weights[place], -place))


def _in_chain(period_ns: int, base_ns: int) -> bool:
    """Returns whether one of two periods is the other one times a power of two."""
    long_ns, short_ns = max(period_ns, base_ns), min(period_ns, base_ns)
    ratio, rest = divmod(long_ns, short_ns)
    return rest == 0 and ratio & (ratio - 1) == 0


def _longest(problem: FitProblem, number: int, slack: Fraction) -> int:
    """The longest period whose bandwidth is at most so much above the least."""
    weights = problem.weights[number]
    most = min(weights) * (1 + slack)
    return max(place for place, weight in enumerate(weights) if weight <= most)


def _nearest(problem: FitProblem, number: int, period_ns: int) -> int:
    """The longest period that is not above this one, or the shortest."""
    candidates = problem.items[number].candidates
    below = [place for place, one in enumerate(candidates) if one.period_ns <= period_ns]
    return below[-1] if below else 0


def packings(scorer: Scorer, selection: Selection) -> Iterator[Choice]:
    """The selection in bins by every rule that finds room."""
    orders = _orders(scorer.problem, selection)
    # Where all bins are one there is nothing to choose.
    rules = (
        (_first, _fullest, _emptiest, _cheapest_bin) if len(scorer.problem.bins) > 1 else (_first,)
    )
    made: set[Choice] = set()
    for order in orders:
        for rule in rules:
            choice = _pack(scorer, selection, order, rule)
            if choice is not None and choice not in made:
                made.add(choice)
                yield choice


def _orders(problem: FitProblem, selection: Selection) -> list[list[int]]:
    weights = [problem.weights[i][c] for i, c in enumerate(selection)]
    periods = [problem.items[i].candidates[c].period_ns for i, c in enumerate(selection)]
    everyone = range(len(selection))
    by_size = sorted(everyone, key=lambda i: (-weights[i], i))
    by_period = sorted(everyone, key=lambda i: (periods[i], -weights[i], i))
    # Those with a pin have no choice: they go first.
    pinned = [problem.items[i].pin is None for i in everyone]
    return [sorted(order, key=lambda i: pinned[i]) for order in (by_size, by_period)]


Bins = dict[int, tuple[list[tuple[int, int]], Score]]
_Rule = Callable[[int, Score, Score], tuple[int, int]]


def _first(number: int, _before: Score, _after: Score) -> tuple[int, int]:
    return number, 0


def _fullest(number: int, before: Score, _after: Score) -> tuple[int, int]:
    return -before.bandwidth, number


def _emptiest(number: int, before: Score, _after: Score) -> tuple[int, int]:
    return before.bandwidth, number


def _cheapest_bin(number: int, before: Score, after: Score) -> tuple[int, int]:
    return after.cost - before.cost, number


def _pack(scorer: Scorer, selection: Selection, order: Sequence[int], rule: _Rule) -> Choice | None:
    problem = scorer.problem
    bins: Bins = {number: ([], Score(0, 0)) for number in problem.bins}
    places: dict[int, Assignment] = {}
    for i in order:
        best: tuple[tuple[int, int], int, Score] | None = None
        for number in problem.allowed_bins(problem.items[i]):
            members, before = bins[number]
            after = scorer.bin([*members, (i, selection[i])], number)
            if after is None:
                continue
            wish = rule(number, before, after)
            if best is None or wish < best[0]:
                best = wish, number, after
            if rule is _first:
                break
        if best is None:
            return None
        _, number, after = best
        bins[number] = ([*bins[number][0], (i, selection[i])], after)
        places[i] = Assignment(selection[i], number)
    return tuple(places[i] for i in range(len(selection)))


def construct(scorer: Scorer, stop: Stop) -> tuple[Choice, Score] | None:
    """The best of all selections and packings."""
    best: tuple[Choice, Score] | None = None
    for choice in grouped(scorer):
        score = scorer.total(choice)
        if score is not None and (best is None or scorer.key(score) < scorer.key(best[1])):
            best = choice, score
    room = len(scorer.problem.bins) * scorer.problem.room * scorer.problem.unit
    room = room if scorer.limit is None else min(room, scorer.limit)
    for selection in selections(scorer.problem, scorer.least):
        if best is not None and stop():
            break
        if sum(scorer.problem.weights[i][c] for i, c in enumerate(selection)) > room:
            continue
        if best is not None and not _may_be_better(scorer, selection, best[1]):
            continue
        for choice in packings(scorer, selection):
            score = scorer.total(choice)
            if score is not None and (best is None or scorer.key(score) < scorer.key(best[1])):
                best = choice, score
    return best


def grouped(scorer: Scorer) -> Iterator[Choice]:
    """Domains of like periods together, one period for each bin as far as they can have it.

    What the ExSched HSF paper recommends. Domains are put in order of the longest period that
    costs little, cut into as many groups as there are bins, by bandwidth or by number, and each
    group gets the period of least score that holds. Domains with a pin are in the group of their
    bin.
    """
    problem = scorer.problem
    seen: set[tuple[tuple[int, ...], ...]] = set()
    for slack in _SLACKS:
        longest = [_longest(problem, i, slack) for i in range(len(problem.items))]
        for by_number in (False, True):
            groups = _groups(problem, longest, by_number=by_number)
            key = tuple(tuple(group) for group in groups)
            if key in seen:
                continue
            seen.add(key)
            bins = [
                _best_period(scorer, group, number)
                for group, number in zip(groups, problem.bins, strict=True)
            ]
            found = {i: place for one in bins for i, place in one.items()}
            if len(found) == len(problem.items):
                yield tuple(found[i] for i in range(len(problem.items)))


def _groups(problem: FitProblem, selection: Sequence[int], *, by_number: bool) -> list[list[int]]:
    """Items by period, cut into a group for each bin."""
    items = problem.items
    groups = [[i for i, item in enumerate(items) if item.pin == number] for number in problem.bins]
    share = [1 if by_number else min(problem.weights[i]) for i in range(len(items))]
    goal = sum(share) / len(groups)
    free = [i for i, item in enumerate(items) if item.pin is None]
    free.sort(key=lambda i: (items[i].candidates[selection[i]].period_ns, i))
    place = 0
    for i in free:
        full = sum(share[j] for j in groups[place]) + share[i] / 2 > goal
        while full and place + 1 < len(groups):
            place += 1
            full = sum(share[j] for j in groups[place]) + share[i] / 2 > goal
        groups[place].append(i)
    return groups


def _best_period(scorer: Scorer, group: Sequence[int], number: int) -> dict[int, Assignment]:
    """One period for a group: the least score of those that hold; nothing if none does."""
    problem = scorer.problem
    periods = sorted({c.period_ns for i in group for c in problem.items[i].candidates})
    best: tuple[tuple[int, int, int], list[tuple[int, int]]] | None = None
    for period_ns in periods:
        members = [(i, _nearest(problem, i, period_ns)) for i in group]
        score = scorer.bin(members, number)
        if score is not None and (best is None or scorer.key(score) < best[0]):
            best = scorer.key(score), members
    return {i: Assignment(c, number) for i, c in best[1]} if best is not None else {}


def _may_be_better(scorer: Scorer, selection: Selection, best: Score) -> bool:
    """Whether the selection can be better at all, wherever its domains go."""
    if not scorer.allowed(best):
        return True
    if scorer.least is Least.OVERHEAD:
        return scorer.min_cost(selection) < best.cost
    weight = sum(scorer.problem.weights[i][c] for i, c in enumerate(selection))
    return weight <= best.bandwidth


def climb(scorer: Scorer, choice: Choice, score: Score, stop: Stop) -> tuple[Choice, Score]:
    """Steps that make the choice better, in rounds over all of them, until none does."""
    climber = _Climber(scorer, choice, score, stop)
    while climber.go_round():
        pass
    return tuple(climber.choice), climber.score


class _Climber:
    """A choice that gets better, with the score of each of its bins."""

    def __init__(self, scorer: Scorer, choice: Choice, score: Score, stop: Stop) -> None:
        self.scorer, self.problem, self.stop = scorer, scorer.problem, stop
        self.choice, self.score = list(choice), score
        self.members = {n: set(inside) for n, inside in self.problem.members(choice).items()}
        self.parts = {n: scorer.bin(inside, n) or Score(0, 0) for n, inside in self.members.items()}

    def go_round(self) -> bool:
        """Try every step once; whether one helped and there is time for another round."""
        helped = False
        for i, item in enumerate(self.problem.items):
            for number in self.problem.allowed_bins(item):
                for candidate in range(len(item.candidates)):
                    if self.stop():
                        return False
                    helped = self._try([(i, Assignment(candidate, number))]) or helped
        free = [i for i, item in enumerate(self.problem.items) if item.pin is None]
        for position, i in enumerate(free):
            if self.stop():
                return False
            for j in free[position + 1 :]:
                (c, bin_of_i), (d, bin_of_j) = self.choice[i], self.choice[j]
                if bin_of_i != bin_of_j:
                    helped = (
                        self._try([(i, Assignment(c, bin_of_j)), (j, Assignment(d, bin_of_i))])
                        or helped
                    )
        return helped

    def _try(self, changes: Sequence[tuple[int, Assignment]]) -> bool:
        """Makes the changes if the score gets better by them; whether it did."""
        members: dict[int, set[tuple[int, int]]] = {}
        for i, place in changes:
            if place == self.choice[i]:
                return False
            for number in (self.choice[i].bin, place.bin):
                members.setdefault(number, set(self.members[number]))
            members[self.choice[i].bin].discard((i, self.choice[i].candidate))
        for i, place in changes:
            members[place.bin].add((i, place.candidate))
        after, parts = self.score, {}
        # The bin that gets something is the one that may refuse it.
        for number in sorted(members, key=lambda n: n != changes[0][1].bin):
            part = self.scorer.bin(members[number], number)
            if part is None:
                return False
            before = self.parts[number]
            parts[number] = part
            after = Score(
                after.bandwidth - before.bandwidth + part.bandwidth,
                after.cost - before.cost + part.cost,
            )
        if self.scorer.key(after) >= self.scorer.key(self.score):
            return False
        for i, place in changes:
            self.choice[i] = place
        self.members |= members
        self.parts |= parts
        self.score = after
        return True
