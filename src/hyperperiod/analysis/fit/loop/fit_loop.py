# SPDX-License-Identifier: BSD-2-Clause
"""Fits a driver loop: slices, periods, priorities and pcpus from deadlines and execution times.

By the sound bounds the choice has the least bandwidth in all (`search`); by the paper's
inequalities it is the paper's own (`paper`), and of several placements the one with the least
bandwidth. Either way `analyze` has the last word: what the paper's inequalities accept and it does
not prove is written all the same, and called "not proved".

Answers: `optimal`, `fitted`, `infeasible` (by the rule that was asked for, with both sides of what
fails), `not found`, `not proved`. Errors: InputError for options that mean nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from hyperperiod.analysis.analyze import analyze
from hyperperiod.analysis.driver_loop.driver_flows import Loop
from hyperperiod.analysis.driver_loop.rules import rule_for
from hyperperiod.analysis.fit.answer import Fitted, Listener, LoopRule, Options, Progress
from hyperperiod.analysis.fit.candidates import BudgetGrid, Tabulator
from hyperperiod.analysis.fit.loop.paper import Slices, by_the_paper, shorter_than_the_papers
from hyperperiod.analysis.fit.loop.problem import (
    LoopSetting,
    loop_grid,
    placements,
    priorities_of,
    slots_of,
)
from hyperperiod.analysis.fit.loop.relaxation import Refusal
from hyperperiod.analysis.fit.loop.search import search, why_not
from hyperperiod.analysis.fit.problem import settle_best_effort
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.analysis.servers.server import Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Domain, InputError, System

MAX_PLACEMENTS = 2_000
"""That are searched; with more nothing is called impossible or the best."""


def fit_loop(system: System, loop: Loop, options: Options, listen: Listener) -> Fitted:
    """The loop fitted; Ctrl-C ends the search early and leaves the best found so far."""
    _refuse(options)
    asked = BudgetGrid(options.step_ns) if options.step_ns is not None else None
    grid = loop_grid(system, loop, asked)
    low_ns, high_ns = options.periods or (None, None)
    grid = BudgetGrid(grid.step_ns, low_ns, high_ns)
    return _FitLoop(system, loop, options, grid, listen).run()


def _refuse(options: Options) -> None:
    for name, given in (
        ("--least", options.least is Least.OVERHEAD),
        ("--within", options.within is not None),
        ("--fewest", options.fewest),
    ):
        if given:
            allowed = "the least bandwidth, which is what is sought for a driver loop"
            raise InputError("", None, name, "it for a driver loop", allowed)


class _FitLoop:
    def __init__(
        self, system: System, loop: Loop, options: Options, grid: BudgetGrid, listen: Listener
    ) -> None:
        self.system = settle_best_effort(system, range(system.pcpus))
        self.loop, self.options, self.listen = loop, options, listen
        self.grid = grid
        self.fitted = Fitted("not found", options, grid, system, loop=loop)

    def run(self) -> Fitted:
        fitted = self.fitted
        others = self._others()
        if isinstance(others, Verdict):
            fitted.status = "infeasible" if others.holds is False else "not found"
            fitted.reason = others.reason
            return fitted
        settings = list(islice(self._settings(others), MAX_PLACEMENTS + 1))
        whole = len(settings) <= MAX_PLACEMENTS
        if self.options.rule is LoopRule.PAPER:
            self._by_the_paper(settings)
        else:
            self._by_the_bounds(settings[:MAX_PLACEMENTS], whole=whole)
        return fitted

    def _others(self) -> list[Server] | Verdict:
        """The servers of domains that are not in the loop, or why one of them has none."""
        numbers = priorities_of(self.system, self.loop)
        inside = {self.loop.driver.name, *(one.name for one in self.loop.replies)}
        tabulator = Tabulator(self.system, self.grid)
        found = []
        for index, domain in enumerate(self.system.domains):
            if domain.best_effort or domain.name in inside:
                continue
            resolution = resolve_what_can_be(tabulator.alone(domain))
            failed = next(iter(resolution.failures.values()), None)
            if failed is not None:
                return Verdict(failed.holds, f"domain {domain.name}: {failed.reason}")
            alone = analyze(resolution.system)
            if alone.schedulable is not True:
                reason = f"domain {domain.name}: its interface does not serve it: {alone.reason}"
                return Verdict(alone.schedulable, reason)
            one = resolution.system.domains[0].interface
            assert one is not None, "nothing failed"
            number = numbers[domain.name]
            found.append(Server(index, domain.name, one.period_ns, one.budget_ns, number, index))
        return found

    def _settings(self, others: list[Server]) -> Iterator[LoopSetting]:
        driver, slots, whole = slots_of(self.system, self.loop, self.grid)
        rule = rule_for(self.system.policy)
        assert rule is not None, "a loop is one under its policy"
        index = {domain.name: place for place, domain in enumerate(self.system.domains)}
        for where in placements(self.system, self._served()):
            yield LoopSetting(
                self.system,
                self.loop,
                rule,
                driver,
                slots,
                tuple(others),
                {index[name]: pcpu for name, pcpu in where.items()},
                whole,
            )

    def _served(self) -> list[Domain]:
        """Returns the domains that need a pcpu, the driver's first."""
        rest = [
            one
            for one in self.system.domains
            if not one.best_effort and one.name != self.loop.driver.name
        ]
        return [self.loop.driver, *rest]

    # -- the paper's -----------------------------------------------------------------------------

    def _by_the_paper(self, settings: list[LoopSetting]) -> None:
        """Takes the placement whose driver has the paper's own period, or comes next to it.

        Among several that do, the one with the least bandwidth. Where none does, it is said why.
        """
        fitted = self.fitted
        best: tuple[tuple[int, Fraction], LoopSetting, Slices] | None = None
        first: Refusal | None = None
        for setting in settings:
            found = by_the_paper(setting)
            if isinstance(found, Refusal):
                first = first or found
                continue
            driver, services = found
            used = (driver, *services, *setting.others)
            rank = (-driver.period_ns, sum((one.bandwidth for one in used), Fraction(0)))
            if best is None or rank < best[0]:
                best = rank, setting, found
        if best is None:
            assert first is not None, "there is a placement"
            fitted.status, fitted.reason = "infeasible", first.reason
            return
        _, setting, found = best
        fitted.status, fitted.system = "fitted", setting.completed(*found)
        result = analyze(fitted.system)
        if result.schedulable is not True:
            doubt = why_not(setting, *found)
            fitted.status, fitted.reason = "not proved", doubt[1] if doubt else result.reason
        shorter = shorter_than_the_papers(setting, found[0].period_ns)
        fitted.reason = "; ".join(part for part in (fitted.reason, shorter) if part)

    # -- the sound ones --------------------------------------------------------------------------

    def _by_the_bounds(self, settings: list[LoopSetting], *, whole: bool) -> None:
        fitted = self.fitted
        fitted.bandwidth_bounds = {"utilization": self._utilization(settings[0])}
        self.listen(Progress("slices"))
        found = search(settings, self.options.limit_s, self._say)
        fitted.interrupted = found.interrupted
        fitted.rounds = found.looked_at
        whole = whole and all(setting.whole for setting in settings)
        if found.bound is not None and whole:
            fitted.bandwidth_bounds["search"] = found.bound
        if found.best is None:
            proved = found.done and whole
            fitted.status = "infeasible" if proved else "not found"
            fitted.reason = self._nothing(found.reason, done=found.done, whole=whole)
            return
        best = found.best
        system = best.setting.completed(best.driver, best.services)
        result = analyze(system)
        if result.schedulable is not True:
            fitted.reason = f"what was chosen is not proved: {result.reason}"
            return
        fitted.status = "optimal" if found.done and whole else "fitted"
        fitted.system = system

    def _utilization(self, setting: LoopSetting) -> Fraction:
        """What packets, answers and the other domains ask for."""
        plant = setting.loop.plant
        return sum(
            (Fraction(2 * plant.packet_ns + one.wcet_ns, one.period_ns) for one in plant.services),
            sum((one.bandwidth for one in setting.others), Fraction(0)),
        )

    def _nothing(self, reason: str, *, done: bool, whole: bool) -> str:
        if self.fitted.interrupted:
            return "interrupted before anything was found"
        if not done:
            return f"nothing was found within {self.options.limit_s:g} s; that is no proof"
        if not whole:
            return f"{reason}; larger slices or other placements were not tried"
        return reason

    def _say(self, best: Fraction | None, bound: Fraction | None) -> None:
        self.listen(
            Progress(
                "slices, least bandwidth",
                None if best is None else float(best),
                None if bound is None else float(bound),
            )
        )
