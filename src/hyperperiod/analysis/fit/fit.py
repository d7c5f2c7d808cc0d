# SPDX-License-Identifier: BSD-2-Clause
"""Fits a system: interfaces, pcpus and priorities, proved schedulable, with a distance to the best.

What the file gives - interfaces, interface periods, pins, priorities - stays. The rest is chosen
for the least bandwidth in all, or for the least scheduler overhead (`cost`), if asked within a
share of the least bandwidth: then the least bandwidth is sought first. With `fewest` the number of
pcpus comes before either. Heuristics find something (`heuristics`), CP-SAT the best (`exact`), and
`analyze` has the last word: nothing is returned as fitted that it does not prove.

Bounds: the tasks' utilizations; the sum of the domains' least bandwidths, each by itself
(`candidates`), which hold whatever is chosen on the grid; and the solver's, which holds for the
candidates. "Optimal" is the solver's word: nothing among the candidates is better, by more than
rounding (10^-9 of a pcpu, or 10^-3 of an event per second, for each term).

Where flows need more than the tasks do, budgets are raised until both are proved (`flows`).

Driver loops - packets through a driver domain and back, under sedf, sedf-prime and psedf - have
bounds of their own, and a search of their own (`loop`).

Answers: `optimal`, `fitted` (proved schedulable, perhaps not the best), `infeasible` (proved:
with the reason), `not found` (with the reason). Errors: InputError for options that do not fit the
system, MissingError for the solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from hyperperiod.analysis.analyze import analyze
from hyperperiod.analysis.driver_loop.driver_flows import Loop, NoLoop, loop_of
from hyperperiod.analysis.driver_loop.rules import rule_for
from hyperperiod.analysis.fit import bounds
from hyperperiod.analysis.fit.answer import Fitted, Listener, LoopRule, Options, Progress
from hyperperiod.analysis.fit.bound import bound_guests, is_open, with_tasks_to_bind
from hyperperiod.analysis.fit.candidates import NEAR, grid_of, items_of
from hyperperiod.analysis.fit.cost import prices_of
from hyperperiod.analysis.fit.exact import Solution, load_solver, search
from hyperperiod.analysis.fit.flows import Widening, items_of_flows
from hyperperiod.analysis.fit.heuristics import climb, construct
from hyperperiod.analysis.fit.loop.fit_loop import fit_loop
from hyperperiod.analysis.fit.pcpu_test import PcpuTest
from hyperperiod.analysis.fit.problem import (
    Choice,
    FitProblem,
    Wishes,
    completed,
    refusal,
    settle_best_effort,
)
from hyperperiod.analysis.fit.scoring import Least, Score, Scorer
from hyperperiod.analysis.fit.vcpus import PlacementSearch, has_vcpus
from hyperperiod.analysis.proofs import NotProved, Rules, proof_of
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.analysis.result import AnalysisResult
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.analysis.weights import has_slice_by_weight
from hyperperiod.model import InputError, Overheads, Scope, System, split

NO_SLICES = "its policy is not sedf, sedf-prime or psedf"

# The processor time for guests that could be bound, beside an analysis.
_BOUND_LIMIT_S = 1.0
# What the heuristics may take of the limit while a solver waits for its turn.
_CLIMB_SHARE = 0.4


def fit(
    system: System, options: Options | None = None, listen: Listener = lambda _progress: None
) -> Fitted:
    """The system fitted; Ctrl-C ends the search early and leaves the best found so far."""
    options = options or Options()
    _refuse(system, options)
    loop = _loop(system)
    if not isinstance(loop, NoLoop):
        return _timed(lambda: fit_loop(system, loop, options, listen))
    if options.rule is LoopRule.PAPER:
        raise InputError("", None, "--rule", f"paper, but no driver loop: {loop.reason}", "sound")
    if options.solver:
        load_solver()
    fitted = _timed(lambda: _fit_whole(system, options, listen))
    if fitted.system is None and system.flows and rule_for(system.policy) is not None:
        fitted.reason += f" (it is not a driver loop: {loop.reason})"
    return fitted


def _fit_whole(system: System, options: Options, listen: Listener) -> Fitted:
    """Vcpus one by one where they may differ, else whole domains."""
    if not has_vcpus(system):
        return _Fit(system, options, listen).run()

    def fit_parts(parts: System, wishes: Wishes, limited: Options) -> Fitted:
        return _Fit(parts, limited, listen, wishes).run()

    grid = grid_of(system, options.periods, options.step_ns)
    until = time.process_time() + options.limit_s
    found = PlacementSearch(system, options, fit_parts, grid).run()
    bound = with_tasks_to_bind(system)
    if bound is not None and not found.interrupted:
        rest_s = max(0.1, until - time.process_time())
        limited = replace(options, solver=False, limit_s=rest_s)
        other = PlacementSearch(bound, limited, fit_parts, grid).run()
        found.bound = bound_guests(found.system or system, other.system)
    return found


def with_bound_guests(system: System, result: AnalysisResult) -> AnalysisResult:
    """The result of `analyze`, with what guests would need with their tasks bound to vcpus."""
    known = resolve_what_can_be(system).known()
    pairs = zip(system.domains, known.domains, strict=True)
    domains = tuple(before if is_open(before) else after for before, after in pairs)
    bound = with_tasks_to_bind(system.replace(domains=domains))
    if bound is None:
        return result
    try:
        found = fit(bound, Options(solver=False, limit_s=_BOUND_LIMIT_S)).system
    except InputError:  # it is no system for `fit`
        return result
    return result.replace(bound=bound_guests(known, found))


def _loop(system: System) -> Loop | NoLoop:
    """The loop whose slices can be chosen; the search knows no bounds with overheads."""
    if rule_for(system.policy) is None:
        return NoLoop(NO_SLICES)
    if any(one.is_split for one in system.domains):
        return NoLoop("it has vcpus that differ")
    if system.flows and system.overheads != Overheads():
        return NoLoop("it has [overheads]")
    return loop_of(system)


def _timed(run: Callable[[], Fitted]) -> Fitted:
    started = time.monotonic()
    fitted = run()
    fitted.seconds = time.monotonic() - started
    return fitted


def _refuse(system: System, options: Options) -> None:
    try:
        proof_of(Rules.of(system.policy))
    except NotProved as reason:
        allowed = "a policy under which a choice can be proved"
        raise InputError("", None, "policy", f"{system.policy}: {reason}", allowed) from reason
    if system.quantum_ns is not None and options.step_ns is not None:
        raise InputError(
            "", None, "--grid", "a grid beside a quantum", "no grid: the quantum is the grid"
        )
    if system.major_frame_ns is not None:
        found, allowed = "a table of windows", "servers: windows are not chosen here"
        raise InputError("", None, "major_frame", found, allowed)
    if system.stolen:
        raise InputError(
            "",
            None,
            "stolen",
            f"{len(system.stolen)} [[stolen]]",
            "none: fit does not count thefts",
        )
    if options.within is not None and options.least is not Least.OVERHEAD:
        raise InputError("", None, "--within", "least bandwidth", "within beside least overhead")
    if options.fewest and system.policy.scope is Scope.GLOBAL:
        raise InputError(
            "", None, "--fewest", f"the global policy {system.policy}", "a partitioned policy"
        )
    for domain in split(system).domains:
        if has_slice_by_weight(system, domain):
            key = f"domain {domain.name}: weight"
            found = f"{domain.weight}, so that its slice is what the others leave"
            raise InputError("", None, key, found, "no weight: its interface is chosen, or given")


class _Fit:
    """One fitting, from candidates to proof."""

    def __init__(
        self, system: System, options: Options, listen: Listener, wishes: Wishes | None = None
    ) -> None:
        self.options, self.listen = options, listen
        self.wishes, self.parts = wishes or Wishes(), wishes is not None
        self.system = system
        self.grid = grid_of(system, options.periods, options.step_ns)
        self.fitted = Fitted("not found", options, self.grid, system)
        self.clock = time.process_time()

    def run(self) -> Fitted:
        fitted = self.fitted
        self.listen(Progress("candidates"))
        try:
            problem, failed = self._problem()
        except KeyboardInterrupt:
            return self._stopped()
        if failed:
            return self._without_interface(failed)
        fitted.problem = problem
        fitted.bandwidth_bounds = bounds.bandwidth_bounds(problem)
        if self.options.least is Least.OVERHEAD:
            fitted.cost_bound = bounds.min_cost(problem)
        overfull = bounds.overfull(problem) if problem.bins else "every pcpu is reserved"
        if overfull:
            fitted.status, fitted.reason = "infeasible", overfull
            fitted.exhausted = True
            return fitted
        fitted.reason = bounds.untested(problem)
        if fitted.reason:
            return fitted
        try:
            self._search(problem)
        except KeyboardInterrupt:
            fitted.interrupted = True
        if fitted.choice is None and fitted.interrupted:
            return self._stopped()
        self._prove()
        return fitted

    def _stopped(self) -> Fitted:
        self.fitted.interrupted = True
        self.fitted.reason = "interrupted before anything was found"
        return self.fitted

    def _problem(self) -> tuple[FitProblem, dict[str, Verdict]]:
        only_shared = self.options.least is Least.OVERHEAD
        # What is within a share of the least bandwidth needs that for comparison.
        near = Fraction(1) if self.options.within is not None else NEAR
        until = self.clock + self.options.limit_s
        items, failed = items_of(
            self.system, self.grid, only_shared=only_shared, near=near, until=until
        )
        if self.system.policy.scope is Scope.GLOBAL:
            items = [replace(item, pin=None) for item in items]
            aside = tuple(domain for domain in self.system.domains if domain.best_effort)
            beside = {0: aside} if aside else {}
            return FitProblem(self.system, tuple(items), (0,), self.system.pcpus, beside), failed
        reserved, pins = self.wishes.reserved, {item.pin for item in items}
        bins = tuple(n for n in range(self.system.pcpus) if n not in reserved or n in pins)
        problem = FitProblem(self.system, tuple(items), bins, wishes=self.wishes)
        return self._with_bins(problem, problem.bins), failed

    def _with_bins(self, problem: FitProblem, bins: tuple[int, ...]) -> FitProblem:
        """The problem on some pcpus only, best-effort domains included."""
        free = [number for number in bins if number not in self.wishes.reserved]
        system = settle_best_effort(self.system, free or bins or range(self.system.pcpus))
        aside = [domain for domain in system.domains if domain.best_effort]
        beside = {
            number: tuple(domain for domain in aside if domain.pcpu == number) for number in bins
        }
        inside = {number: domains for number, domains in beside.items() if domains}
        return replace(problem, system=system, bins=bins, beside=inside)

    def _without_interface(self, failed: dict[str, Verdict]) -> Fitted:
        certain = [(name, v) for name, v in failed.items() if v.holds is False]
        name, verdict = next(iter(certain or failed.items()))
        self.fitted.status = "infeasible" if certain else "not found"
        self.fitted.exhausted = True
        self.fitted.reason = f"domain {name}: {verdict.reason}"
        return self.fitted

    # -- searching -------------------------------------------------------------------------------

    def _left(self) -> float:
        return self.options.limit_s - (time.process_time() - self.clock)

    def _search(self, problem: FitProblem) -> None:
        if self.options.fewest:
            self._fewest(problem)
        else:
            self._on(problem)

    def _fewest(self, problem: FitProblem) -> None:
        """Fits onto as few pcpus as possible: one more is tried each time that there is no room."""
        pinned = {item.pin for item in problem.items if item.pin is not None}
        count = max(bounds.fewest_bins(problem), len(pinned), 1)
        proved = True
        while count <= len(problem.bins):
            closed = pinned | self.wishes.reserved
            free = [number for number in problem.bins if number not in closed]
            bins = tuple(sorted([*pinned, *free[: count - len(pinned)]]))
            self._on(self._with_bins(problem, bins))
            if self.fitted.choice is not None:
                self.fitted.fewest_proved = proved
                return
            proved = proved and self.fitted.status == "infeasible"
            count += 1

    def _on(self, problem: FitProblem) -> None:
        """Searches for the best choice on the bins of a problem, heuristics first."""
        self.fitted.problem = problem
        self.fitted.bandwidth_bounds.pop("search", None)
        test = PcpuTest(problem)
        if self.options.least is Least.BANDWIDTH:
            outcome = self._best(Scorer(problem, Least.BANDWIDTH, test), 1.0, None)
            self._record(problem, outcome, Least.BANDWIDTH, test)
            return
        limit, initial, closed = None, None, True
        if self.options.within is not None:
            first = Scorer(problem, Least.BANDWIDTH, test)
            outcome = self._best(first, 0.4, None)
            self._record(problem, outcome, Least.BANDWIDTH, test)
            if outcome.choice is None or outcome.score is None or outcome.interrupted:
                return
            self.fitted.min_bandwidth_found = Fraction(outcome.score.bandwidth, problem.unit)
            limit = int((1 + self.options.within) * outcome.score.bandwidth)
            initial, closed = (outcome.choice, outcome.score), outcome.closed
        second = Scorer(problem, Least.OVERHEAD, test, limit)
        outcome = self._best(second, 1.0, initial)
        outcome = replace(outcome, closed=outcome.closed and closed)
        self._record(problem, outcome, Least.OVERHEAD, test)

    def _best(self, scorer: Scorer, share: float, initial: tuple[Choice, Score] | None) -> Solution:
        """Heuristics, then the solver for its share of what is left."""
        deadline = time.process_time() + max(0.0, self._left()) * share
        of_climb = _CLIMB_SHARE if self.options.solver else 1.0
        climb_until = time.process_time() + (deadline - time.process_time()) * of_climb
        self.listen(Progress("heuristics"))
        best = initial
        try:
            found = construct(scorer, lambda: time.process_time() > climb_until)
            if found is not None and (best is None or _better(scorer, found, best)):
                best = found
            if best is not None:
                self._say(scorer, "heuristics", best[1], None)
                best = climb(scorer, *best, lambda: time.process_time() > climb_until)
        except KeyboardInterrupt:
            return _outcome(scorer, best, interrupted=True)
        if best is not None and not scorer.allowed(best[1]):
            best = None
        if best is not None:
            self.fitted.heuristic = best[1]
        seconds = deadline - time.process_time()
        if not self.options.solver or seconds <= 0:
            return _outcome(scorer, best, interrupted=False)
        return search(
            scorer, best, seconds, lambda score, bound: self._say(scorer, "CP-SAT", score, bound)
        )

    def _say(self, scorer: Scorer, doing: str, score: Score | None, bound: int | None) -> None:
        unit = scorer.problem.unit if scorer.least is Least.BANDWIDTH else scorer.model.prices.scale
        place = 0 if scorer.least is Least.BANDWIDTH else 1
        self.listen(
            Progress(
                f"{doing}, least {scorer.least}",
                None if score is None else score[place] / unit,
                None if bound is None else bound / unit,
            )
        )

    def _record(self, problem: FitProblem, outcome: Solution, least: Least, test: PcpuTest) -> None:
        fitted = self.fitted
        fitted.rounds += outcome.rounds
        fitted.cuts += outcome.cuts
        fitted.interrupted = fitted.interrupted or outcome.interrupted
        by_itself = all(item.by_itself for item in problem.items)
        if outcome.rounds and outcome.bound and by_itself and not outcome.doubtful:
            if least is Least.BANDWIDTH:
                fitted.bandwidth_bounds["search"] = Fraction(outcome.bound, problem.unit)
            else:
                found = Fraction(outcome.bound, prices_of(self.system.overheads).scale)
                fitted.cost_bound = max(found, fitted.cost_bound or found)
        fitted.exhausted = outcome.optimal and by_itself
        if outcome.choice is not None:
            fitted.choice = outcome.choice
            last = least is self.options.least
            fitted.status = "optimal" if fitted.exhausted and last else "fitted"
        elif fitted.choice is None:
            fitted.status, fitted.reason = self._nothing(problem, outcome, test)

    def _nothing(self, problem: FitProblem, outcome: Solution, test: PcpuTest) -> tuple[str, str]:
        """Why there is no choice: none exists among the candidates, or none was found."""
        where = "the pcpus together" if problem.is_global else _pcpus(len(problem.bins))
        why = bounds.hardest_pair(problem, test)
        tail = f" ({why})" if why else ""
        if outcome.optimal:
            count = max(len(item.candidates) for item in problem.items)
            some = "the interface" if count == 1 else f"the up to {count} interfaces"
            none = f"no choice among {some} of each domain passes the host-level test on {where}"
            if test.unsure:
                return "not found", f"{none}, which is only sufficient{tail}"
            if not problem.whole:
                return "not found", f"{none}; other periods or budgets were not tried{tail}"
            return "infeasible", none + tail
        within = f"within {self.options.limit_s:g} s"
        limit = within if self.options.solver else "by the heuristics"
        return "not found", f"nothing was found {limit} on {where}; that is no proof{tail}"

    # -- the last word ---------------------------------------------------------------------------

    def _prove(self) -> None:
        """The chosen system, if `analyze` proves it."""
        fitted, choice = self.fitted, self.fitted.choice
        if choice is None or fitted.problem is None:
            return
        system = final_system(fitted.problem, choice, fewest=self.options.fewest)
        refused = refusal(system, parts=self.parts)
        if not refused:
            fitted.system = system
            return
        fitted.system = self._widened(system, fitted.problem)
        if fitted.system is not None:
            fitted.status, fitted.exhausted = "fitted", False
            return
        fitted.status, fitted.choice, fitted.reason = "not found", None, refused
        if items_of_flows(self.system, fitted.problem.items) and self.options.within is None:
            fitted.reason += "; on this grid nor with more budget where flows pass"

    def _widened(self, system: System, problem: FitProblem) -> System | None:
        """The system with more budget where flows pass, if that is proved."""
        items = items_of_flows(self.system, problem.items)
        if not items or self.options.within is not None or self.fitted.interrupted:
            return None
        self.listen(Progress("budgets for the flows"))
        until = time.process_time() + self.options.limit_s
        widening = Widening(
            system,
            items,
            lambda chosen: analyze(chosen).schedulable is True,
            lambda: time.process_time() > until,
        )
        try:
            widening.run()
        except KeyboardInterrupt:
            self.fitted.interrupted = True
        found = widening.best
        return None if found is None or refusal(found, parts=self.parts) else found


def _better(scorer: Scorer, one: tuple[Choice, Score], other: tuple[Choice, Score]) -> bool:
    return scorer.key(one[1]) < scorer.key(other[1])


def _outcome(scorer: Scorer, best: tuple[Choice, Score] | None, *, interrupted: bool) -> Solution:
    if best is None or not scorer.allowed(best[1]):
        return Solution(None, None, 0, False, interrupted=interrupted)
    return Solution(*best, 0, False, interrupted=interrupted)


def _pcpus(count: int) -> str:
    return "1 pcpu" if count == 1 else f"{count} pcpus"


def final_system(problem: FitProblem, choice: Choice, *, fewest: bool) -> System:
    """The system with the chosen interfaces, pcpus and, where needed, priorities."""
    test = PcpuTest(problem)
    orders: list[tuple[int, ...]] = []
    budgets: dict[int, int] = {}
    by_test = False
    for number, members in problem.members(choice).items():
        judged = test.judge(members, number)
        budgets |= judged.budgets
        by_test = by_test or judged.order is not None
        by_period = sorted(members, key=lambda m: problem.items[m[0]].candidates[m[1]].period_ns)
        orders.append(judged.order or tuple(i for i, _ in by_period))
    priorities = {i: rank for order in orders for rank, i in enumerate(order)} if by_test else None
    system = completed(problem, choice, budgets, priorities)
    if not fewest:
        return system
    pcpus = [one.pcpu for one in system.domains] + [one.pcpu for one in system.changes]
    used = max(pcpu or 0 for pcpu in pcpus)
    return system.replace(pcpus=used + 1)
