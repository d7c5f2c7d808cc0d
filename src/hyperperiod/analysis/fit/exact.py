# SPDX-License-Identifier: BSD-2-Clause
"""The best choice of all, by OR-Tools CP-SAT, with the host-level test as cuts.

A boolean for each item, candidate and bin. Linear from the start: one place per item, no bin above
its room (necessary under every policy, and under EDF with periodic servers the whole test), the
bandwidth, and the events of `cost`: an instant counts once on a pcpu if any of the periods that
meet there is in use, which is a weighted covering of `cost.signatures`; the preemptions of a
period count if it is in use.

What is not linear - response times, deferrable servers, overheads - comes lazily. Whenever the
solver finds a choice, each of its bins is judged (`pcpu_test`). For one that fails, members are
left out one by one while it still fails; what remains may not share any bin, and neither may it
with another interface of the one member for which most such interfaces fail as well. Then it is
solved again. A solver's bound stays a bound: every cut forbids only what the test refuses, and
weights are rounded down. With overheads the weights leave out what domains take from one another,
so the bound is lower than it could be.

OR-Tools is not believed blindly. With its presolve (9.15) it claimed bounds above solutions that it
had been given, on models with large numbers; so presolve is off and the numbers are kept small. A
bound above what the linear part says of a choice that is known is dropped, and said to be nothing.

One worker, seed 0, and a limit on the solver's own deterministic time beside the one on processor
time: where the latter is not what ends it, the same problem gives the same answer everywhere. What
else the machine does takes no processor time of ours, so it does not end a search.

Inputs: a scorer, a choice to begin with or None, seconds. Result: an `Solution`. Errors:
MissingError if OR-Tools is not installed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hyperperiod.analysis.fit.cost import (
    NS_PER_S,
    bandwidth_of,
    level_of,
    own_cost,
    preempts,
    signatures,
)
from hyperperiod.analysis.fit.problem import Assignment, Choice
from hyperperiod.analysis.fit.scoring import Least, Score, Scorer
from hyperperiod.model import MissingError

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

INSTALL = "pip install 'hyperperiod[fit]'"
# More classes of instants than this are left out of the solver's count: its bound is lower then.
SIGNATURE_LIMIT = 400
# How long the caller's thread sleeps between looks at the solver, and at Ctrl-C.
_TICK_S = 0.02


@dataclass
class Solution:
    """The best choice found, and what was proved.

    `bound`: no choice is below it, in the units of what is asked for. `closed`: all that is left
    was searched. `choice` is None if there is none (closed) or none was found (not closed).
    `doubtful`: the solver contradicted itself, so that nothing is proved.
    """

    choice: Choice | None
    score: Score | None
    bound: int
    closed: bool
    rounds: int = 0
    cuts: int = 0
    interrupted: bool = False
    doubtful: bool = False

    @property
    def optimal(self) -> bool:
        """Whether it is proved that nothing is better than the choice."""
        return self.closed and not self.doubtful


def load_solver() -> Any:
    """OR-Tools' CP-SAT; MissingError with the command that installs it."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise MissingError("fit needs OR-Tools for the optimum", INSTALL) from None
    return cp_model


@dataclass
class SolverClock:
    """What is left of the time limit, in processor time and in the solver's own time."""

    seconds: float
    started: float
    spent: float = 0.0  # deterministic

    @classmethod
    def start(cls, seconds: float) -> SolverClock:
        return cls(seconds, time.process_time())

    @property
    def left(self) -> float:
        return self.seconds - (time.process_time() - self.started)

    @property
    def over(self) -> bool:
        return self.left <= 0 or self.spent >= self.seconds


Pair = tuple[int, int]  # item, candidate


@dataclass(frozen=True)
class CostParts:
    """What the events of one bin cost, apart: all weights are costs rounded down.

    `own`: of each server by itself. `users`: who has a period. `meetings`: instants at which
    exactly these periods meet. `preemptions`: if one of the users is there, each of the others
    costs this much.
    """

    own: dict[Pair, int]
    users: dict[int, list[Pair]]
    meetings: list[tuple[tuple[int, ...], int]]
    preemptions: list[tuple[list[Pair], dict[Pair, int]]]

    @property
    def rounded(self) -> int:
        """Returns how many units of cost a bin can lose at most by rounding each weight down."""
        return len(self.own) + len(self.meetings) + sum(len(w) for _, w in self.preemptions)

    def value(self, members: Iterable[Pair]) -> int:
        """The cost of a bin with these members."""
        inside = set(members)
        periods = {period_ns for period_ns, users in self.users.items() if inside & set(users)}
        return (
            sum(self.own[pair] for pair in inside)
            + sum(weight for meeting, weight in self.meetings if periods & set(meeting))
            + sum(
                weights.get(pair, 0)
                for users, weights in self.preemptions
                if inside & set(users)
                for pair in inside
            )
        )


def _parts(scorer: Scorer, pairs: Sequence[Pair]) -> CostParts:
    """The cost model as a sum of parts, for a bin that may hold these."""
    problem, prices = scorer.problem, scorer.model.prices
    own: dict[Pair, int] = {}
    users: dict[int, list[Pair]] = {}
    levels: dict[tuple[int, int], list[Pair]] = {}
    for i, c in pairs:
        item, one = problem.items[i], problem.items[i].candidates[c]
        own[i, c] = int(own_cost(item, one, prices) * prices.scale)
        users.setdefault(one.period_ns, []).append((i, c))
        levels.setdefault(level_of(item, one), []).append((i, c))
    meetings = [
        (meeting, int(prices.run * rate * prices.scale))
        for meeting, rate in signatures(users, SIGNATURE_LIMIT)
    ]
    each_refill = prices.switch * prices.scale * NS_PER_S
    preemptions = []
    for level, above in levels.items():
        weights = {
            (i, c): int(each_refill * bandwidth_of(item, one) / level[1] / problem.room)
            for i, c in pairs
            for item, one in [(problem.items[i], problem.items[i].candidates[c])]
            if preempts(level, level_of(item, one))
        }
        if any(weights.values()):
            preemptions.append((above, weights))
    return CostParts(own, users, [(m, weight) for m, weight in meetings if weight], preemptions)


class Master:
    """The linear part, to which cuts are added."""

    def __init__(self, scorer: Scorer, api: Any) -> None:
        self.scorer, self.api, self.problem = scorer, api, scorer.problem
        self.model: cp_model.CpModel = api.CpModel()
        self.x: dict[tuple[int, int, int], Any] = {}
        self.rounded = 0  # units that the objective may lose by rounding
        self.parts: dict[int, CostParts] = {}
        self._places()
        self._rooms()
        self.bandwidth = sum(self.problem.weights[i][c] * x for (i, c, _), x in self.x.items())
        if scorer.limit is not None:
            self.model.add(self.bandwidth <= scorer.limit)
        if scorer.least is Least.BANDWIDTH:
            self.objective = self.bandwidth
        else:
            self.objective = sum(self._events(number) for number in self.problem.bins)
        self.model.minimize(self.objective)

    def _places(self) -> None:
        """One place each; bins that nothing tells apart are used in order of the items."""
        problem = self.problem
        pinned = {item.pin for item in problem.items}
        beside = problem.beside if self.scorer.test.differ else {}
        alike = [n for n in problem.bins if n not in pinned and not beside.get(n)]
        rank = {number: place for place, number in enumerate(alike)}
        met = 0
        for i, item in enumerate(problem.items):
            for number in problem.allowed_bins(item):
                if item.pin is None and rank.get(number, 0) > met:
                    continue
                for c in range(len(item.candidates)):
                    self.x[i, c, number] = self.model.new_bool_var(f"x{i}.{c}.{number}")
            met += item.pin is None
            self.model.add_exactly_one(x for (j, _, _), x in self.x.items() if j == i)
        self.alike = alike

    def _rooms(self) -> None:
        problem = self.problem
        for number in problem.bins:
            inside = [problem.weights[i][c] * x for (i, c, n), x in self.x.items() if n == number]
            self.model.add(sum(inside) <= problem.room * problem.unit)

    def _events(self, number: int) -> Any:
        """What the events of a bin cost: a lower bound of `cost`, term by term rounded down."""
        parts = _parts(self.scorer, [(i, c) for i, c, n in self.x if n == number])
        self.parts[number] = parts
        terms = [weight * self.x[i, c, number] for (i, c), weight in parts.own.items()]
        used = {
            period_ns: self._any(f"p{number}.{period_ns}", [self.x[i, c, number] for i, c in users])
            for period_ns, users in parts.users.items()
        }
        for meeting, weight in parts.meetings:
            name = f"s{number}.{'.'.join(map(str, meeting))}"
            terms.append(weight * self._any(name, [used[p] for p in meeting]))
        for place, (users, weights) in enumerate(parts.preemptions):
            some = self._any(f"l{number}.{place}", [self.x[i, c, number] for i, c in users])
            stopped = self.model.new_int_var(0, sum(weights.values()), f"q{number}.{place}")
            below = sum(weight * self.x[i, c, number] for (i, c), weight in weights.items())
            self.model.add(stopped >= below).only_enforce_if(some)
            terms.append(stopped)
        self.rounded += parts.rounded
        return sum(terms)

    def _any(self, name: str, variables: Sequence[Any]) -> Any:
        """At least 1 if one of them is; minimizing makes it no more than that."""
        if len(variables) == 1:
            return variables[0]
        some = self.model.new_bool_var(name)
        for variable in variables:
            self.model.add_implication(variable, some)
        return some

    def value(self, choice: Sequence[Assignment]) -> int:
        """The value of the objective for a choice."""
        if self.scorer.least is Least.BANDWIDTH:
            return self.problem.weight(choice)
        members = self.problem.members(self._canonical(choice))
        return sum(self.parts[number].value(inside) for number, inside in members.items())

    def hint(self, choice: Sequence[Assignment]) -> None:
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        where = self._canonical(choice)
        for (i, c, number), x in self.x.items():
            self.model.add_hint(x, int(where[i] == (c, number)))

    def _canonical(self, choice: Sequence[Assignment]) -> list[Assignment]:
        """The choice with like bins numbered in the order in which items come to them."""
        names: dict[int, int] = {}
        for i, place in enumerate(choice):
            like = place.bin in self.alike and self.problem.items[i].pin is None
            if like and place.bin not in names:
                names[place.bin] = self.alike[len(names)]
        return [Assignment(c, names.get(n, n)) for c, n in choice]

    def forbid(self, core: Iterable[tuple[int, tuple[int, ...]]], failed: int) -> None:
        """No bin may hold all of these items, each with one of its candidates here.

        Only the bin that failed, where best-effort domains make bins different.
        """
        parts = list(core)
        for number in (failed,) if self.scorer.test.differ else self.problem.bins:
            inside = [
                self.x[i, c, number] for i, cs in parts for c in cs if (i, c, number) in self.x
            ]
            self.model.add(sum(inside) <= len(parts) - 1)


class Search:
    """The search: a solver proposes, tests judge, and what they refuse becomes a cut."""

    def __init__(
        self,
        scorer: Scorer,
        initial: tuple[Choice, Score] | None,
        clock: SolverClock,
        said: Callable[[Score | None, int], None],
    ) -> None:
        self.api = load_solver()
        self.scorer, self.clock, self.said = scorer, clock, said
        self.master = Master(scorer, self.api)
        self.outcome = Solution(None, None, 0, False)
        self.excluded = False
        if initial is not None:
            self._take(*initial)

    def run(self) -> Solution:
        """Searches until the optimum, the end of the time, or Ctrl-C; what was found then."""
        outcome = self.outcome
        try:
            while not self.clock.over and not outcome.closed:
                self._round()
        except KeyboardInterrupt:
            outcome.interrupted = True
        return outcome

    def _round(self) -> None:
        outcome, api = self.outcome, self.api
        if outcome.choice is not None:
            self.master.hint(outcome.choice)
        solver, status, choice = self._solve()
        outcome.rounds += 1
        self.clock.spent += solver.response_proto.deterministic_time
        value = self._value()
        if status not in (api.OPTIMAL, api.FEASIBLE, api.INFEASIBLE):
            # Out of time without a choice; what such a round says of the bound is not defined.
            return
        if status == api.INFEASIBLE:
            outcome.closed = True
            outcome.doubtful = value is not None and not self.excluded
            outcome.bound = outcome.bound if value is None else value
            return
        bound = int(solver.best_objective_bound + 0.5)
        if not self.excluded and self._contradicts(bound):
            outcome.doubtful = outcome.closed = True
            outcome.bound = 0
            return
        # What was excluded was taken before, if it is any good: the bound is about the rest.
        outcome.bound = max(outcome.bound, bound if value is None else min(bound, value))
        if choice is None:
            return
        fails = self._judge(choice)
        for members, number in fails:
            outcome.cuts += 1
            self.master.forbid(self._core(members, number), number)
        if status == api.OPTIMAL and not fails:
            outcome.closed = self._met()
            if not outcome.closed:
                # The choice costs more than the linear part knows: look at the others.
                self._exclude(choice)
        self.said(outcome.score, outcome.bound)

    def _contradicts(self, bound: int) -> bool:
        """Whether the solver claims a bound above a choice that it was given."""
        known = self.outcome.choice
        return known is not None and bound > self.master.value(known)

    def _value(self) -> int | None:
        """What the best choice has of what there should be least of."""
        score = self.outcome.score
        if score is None:
            return None
        return score.bandwidth if self.scorer.least is Least.BANDWIDTH else score.cost

    def _met(self) -> bool:
        """Whether the best choice is as good as the bound, but for rounding."""
        value = self._value()
        return value is not None and value <= self.outcome.bound + self.master.rounded

    def _exclude(self, choice: Choice) -> None:
        self.excluded = True
        self.master.model.add_bool_or(
            self.master.x[i, place.candidate, place.bin].negated() for i, place in enumerate(choice)
        )

    def _solve(self) -> tuple[Any, Any, Choice | None]:
        """One run of the solver in a thread of its own, so that Ctrl-C reaches us."""
        solver = self.api.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.cp_model_presolve = False
        solver.parameters.linearization_level = 2
        solver.parameters.catch_sigint_signal = False
        solver.parameters.max_deterministic_time = max(0.01, self.clock.seconds - self.clock.spent)
        found: list[Any] = []
        worker = threading.Thread(
            target=lambda: found.append(solver.solve(self.master.model)), daemon=True
        )
        worker.start()
        try:
            while worker.is_alive():
                worker.join(_TICK_S)
                if self.clock.left <= 0:
                    solver.stop_search()
        except KeyboardInterrupt:
            solver.stop_search()
            worker.join()
            raise
        status = found[0]
        if status not in (self.api.OPTIMAL, self.api.FEASIBLE):
            return solver, status, None
        places = {i: Assignment(c, n) for (i, c, n), x in self.master.x.items() if solver.value(x)}
        return solver, status, tuple(places[i] for i in range(len(places)))

    def _judge(self, choice: Choice) -> list[tuple[frozenset[tuple[int, int]], int]]:
        """The bins that do not hold; a choice without any is taken if it is better."""
        fails = [
            (frozenset(members), number)
            for number, members in self.scorer.problem.members(choice).items()
            if not self.scorer.test.holds(members, number)
        ]
        if not fails:
            score = self.scorer.total(choice)
            if score is not None and self.scorer.allowed(score):
                self._take(choice, score)
        return fails

    def _take(self, choice: Choice, score: Score) -> None:
        best = self.outcome.score
        if best is None or self.scorer.key(score) < self.scorer.key(best):
            self.outcome.choice, self.outcome.score = choice, score

    def _core(
        self, members: frozenset[tuple[int, int]], number: int
    ) -> list[tuple[int, tuple[int, ...]]]:
        """Few of the members that fail together, and which other interfaces of one fail too."""
        test = self.scorer.test
        core = set(members)
        for pair in sorted(members):
            if not test.holds(core - {pair}, number):
                core.discard(pair)
        widest: tuple[int, tuple[int, ...]] | None = None
        for pair in sorted(core):
            rest = core - {pair}
            item = self.scorer.problem.items[pair[0]]
            failing = tuple(
                c
                for c in range(len(item.candidates))
                if c == pair[1] or not test.holds(rest | {(pair[0], c)}, number)
            )
            if widest is None or len(failing) > len(widest[1]):
                widest = pair[0], failing
        return [
            widest if widest is not None and i == widest[0] else (i, (c,)) for i, c in sorted(core)
        ]


def search(
    scorer: Scorer,
    initial: tuple[Choice, Score] | None,
    seconds: float,
    said: Callable[[Score | None, int], None] = lambda _score, _bound: None,
) -> Solution:
    """The best choice that the solver finds within `seconds`, and what is known of better ones."""
    return Search(scorer, initial, SolverClock.start(seconds), said).run()
