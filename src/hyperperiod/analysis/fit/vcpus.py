# SPDX-License-Identifier: BSD-2-Clause
"""Systems whose domains have several vcpus: which vcpu each task is on, before all else.

A vcpu with the tasks that are pinned to it is fitted as a domain of its own (`model.split`). What
is open besides are the vcpus of tasks that name none, and the budgets of vcpus between which jobs
move. So `placements` gives the system with one choice of these after the other, and each is fitted
like any other: interfaces, pcpus, priorities. The best of all is put together again, and `analyze`
has the last word on it.

- *Tasks* without a vcpu under a local scheduler: every way to place them, where these are few,
  vcpus that are alike counted once. Where they are many: by utilization, the largest first, onto
  the least loaded vcpu, the fullest that has room, or the first; together by period; then task
  after task is moved, and two change places, for as long as that helps. A vcpu that is left without
  tasks and has no interface is best effort: it needs no time.
- *Guests* whose jobs move: the least share of a period that all vcpus get alike, of the periods
  that are given, or of those that are tried.
- *Wishes*: `spread` and `apart` make pairs of vcpus that share no pcpu, `together` tries each pcpu
  for all vcpus of the domain, and to reserved pcpus nothing goes that the file does not put there.

"Optimal" and "infeasible" are said only if every placement was fitted to its end, and no guest's
budgets were chosen, of which there may be better ones. Ctrl-C leaves the best so far. Errors: those
of `fit`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from math import prod

from hyperperiod.analysis.fit.answer import Fitted, Options
from hyperperiod.analysis.fit.candidates import BudgetGrid
from hyperperiod.analysis.fit.problem import Wishes, refusal, with_only
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.analysis.guests import with_budgets
from hyperperiod.model import Domain, Scope, System, joined, split, vcpus_of
from hyperperiod.model.split import part_names
from hyperperiod.model.vcpus import bandwidth_of

FEW = 256
"""So many placements are all tried."""
PERIODS_OF_GUESTS = 24
NO_PCPU = "there are no pcpus on which all vcpus are as spread, together, apart and reserved ask"

FitParts = Callable[[System, Wishes, Options], Fitted]
Place = tuple[int, ...]
"""The vcpu of each task that names none, in the order of `_Placing.open`."""


def has_vcpus(system: System) -> bool:
    """Whether vcpus are to be looked at one by one, or something is asked of their pcpus."""
    wished = any(domain.apart for domain in system.domains) or bool(system.reserved)
    return wished or any(one.is_split for one in opened(system).domains)


def opened(system: System) -> System:
    """The system with a table for each vcpu of the domains whose vcpus may differ once fitted.

    They may if tasks are to be placed on them, or they on pcpus.
    """
    partitioned = system.policy.scope is Scope.PARTITIONED
    return system.replace(
        domains=tuple(_opened(domain, partitioned=partitioned) for domain in system.domains)
    )


def _opened(domain: Domain, *, partitioned: bool) -> Domain:
    if domain.vcpus == 1 or domain.best_effort or domain.domains:
        return domain
    local = not domain.scheduler.is_global
    choices = domain.interface is None or any(task.vcpu is None for task in domain.tasks)
    pcpus = partitioned and domain.is_plain and domain.pcpu is None
    if not ((local and choices) or pcpus or domain.spread):
        return domain
    return domain.with_vcpus([{}] * domain.vcpus)


class PlacementSearch:
    """One search over placements, each fitted by `fit_parts`: the best, and what was left out."""

    def __init__(
        self, system: System, options: Options, fit_parts: FitParts, grid: BudgetGrid
    ) -> None:
        self.options, self.fit_parts, self.grid = options, fit_parts, grid
        self.until = time.process_time() + options.limit_s
        self.opened, self.settled = _with_guests(opened(system), grid)
        self.placing = _Placing(self.opened)
        self.wishes = wishes_of(self.opened)
        self.together = _with_homes(self.opened)
        self.found: list[tuple[tuple[Fraction, ...], Fitted]] = []
        self.refused: list[Fitted] = []
        self.complete = True
        self.stopped = False
        self.known: dict[tuple[Place, bool], tuple[Fraction, ...] | None] = {}

    def run(self) -> Fitted:
        """The best of all placements if they are few, else of good ones and what is near them."""
        if self.placing.count() <= FEW:
            every = list(self.placing.every())
            if len(every) * len(self.together) > 1 and self.options.solver:
                for one in every:  # something first, so that an early end leaves that
                    self._fit(one, solver=False)
            for one in every:
                self._fit(one, solver=self.options.solver)
        else:
            self.complete = False
            self._climb()
        return self._answer()

    def _climb(self) -> None:
        """Placements by rule, then steps from the best of them, by the heuristics."""
        start: tuple[tuple[Fraction, ...], Place] | None = None
        for one in self.placing.by_rule():
            found = self._fit(one, solver=False)
            if found is not None and (start is None or found < start[0]):
                start = found, one
        while start is not None and not self._over():
            better = next(
                (
                    (found, one)
                    for one in self.placing.near(start[1])
                    if (found := self._fit(one, solver=False)) is not None and found < start[0]
                ),
                None,
            )
            if better is None:
                break
            start = better
        if start is not None and self.options.solver:
            self._fit(start[1], solver=True)

    def _over(self) -> bool:
        return self.stopped or time.process_time() > self.until

    def _fit(self, place: Place, *, solver: bool) -> tuple[Fraction, ...] | None:
        """Fits the system with this placement; what it costs, or None if nothing was found."""
        key = (place, solver)
        if key not in self.known:
            systems = (self.placing.placed(system, place) for system in self.together)
            costs = [self._fit_placed(one, split(one), solver=solver) for one in systems]
            self.known[key] = min((cost for cost in costs if cost is not None), default=None)
        return self.known[key]

    def _fit_placed(
        self, placed: System, parts: System, *, solver: bool
    ) -> tuple[Fraction, ...] | None:
        """The same with each vcpu as a domain of its own."""
        if self._over() and (self.found or self.refused):
            self.complete = False
            return None
        seconds = max(0.1, self.until - time.process_time())
        options = replace(self.options, solver=solver, limit_s=seconds)
        used = [part for part in parts.domains if not self._comes_last(part, parts.pcpus)]
        try:
            found = self.fit_parts(with_only(parts, used), self.wishes, options)
        except KeyboardInterrupt:
            self.stopped, self.complete = True, False
            return None
        self.stopped = self.stopped or found.interrupted
        last = solver or not self.options.solver
        if last and not found.exhausted:
            self.complete = False
        if found.system is None:
            self.refused += [found] * last
            return None
        whole = _with_last(parts, found.system, self.wishes)
        if whole is None:
            every = [
                self._fit_placed(placed, one, solver=solver) for one in self._last_pinned(parts)
            ]
            return min((cost for cost in every if cost is not None), default=None)
        system = joined(placed, whole)
        found.reason = refusal(system, parts=False)
        if found.reason:
            found.status, found.system, found.exhausted = "not found", None, False
            self.refused, self.complete = [*self.refused, found], False
            return None
        cost = _cost(self.options, found.system)
        found.parts, found.system = found.system, system
        self.found.append((cost, found))
        return cost

    def _comes_last(self, part: Domain, pcpus: int) -> bool:
        """Whether a vcpu gets its pcpu after all others: it needs no time, and may be anywhere.

        It has no work, or something is asked of its pcpu, which others choose with less choice.
        """
        if not part.best_effort or part.pcpu is not None:
            return False
        workless = not part.tasks and not part.scheduler.is_global
        wished = any(part.name in pair for pair in self.wishes.apart)
        return workless or wished or len(self.wishes.reserved) == pcpus

    def _last_pinned(self, parts: System) -> Iterator[System]:
        """The vcpus with those that come last on pcpus, in every way that is as wished."""
        found = {part.name: part for part in parts.domains}
        last = [part for part in parts.domains if self._comes_last(part, parts.pcpus)]

        def place(number: int) -> Iterator[System]:
            if number == len(last):
                yield parts.replace(domains=tuple(found.values()))
                return
            part = last[number]
            for pcpu in _free_pcpus(part.name, found, self.wishes, parts.pcpus):
                found[part.name] = part.replace(pcpu=pcpu)
                yield from place(number + 1)
            found[part.name] = part

        return place(0)

    def _best(self) -> Fitted | None:
        """The least of all; among those within a share of the least bandwidth, if asked.

        Of equals the last, which the solver has looked at.
        """
        known = [one.min_bandwidth_found for _, one in self.found]
        widths = [width for width in known if width is not None]
        among = self.found
        if self.options.within is not None and widths:
            limit = (1 + self.options.within) * min(widths)
            among = [(c, one) for c, one in self.found if _width(one.parts) <= limit] or among
        return min(reversed(among), key=lambda pair: pair[0], default=(None, None))[1]

    def _answer(self) -> Fitted:
        best = self._best()
        certain = self.complete and not self.settled and not self.stopped
        if best is not None:
            found = best
            found.status = "optimal" if certain and self.options.solver else "fitted"
        elif self.refused:
            # One that is only not found leaves open whether there is one.
            open_ = [one for one in self.refused if one.status != "infeasible"]
            found = (open_ or self.refused)[0]
            if not certain:
                found.status = "not found"
        else:
            reason = "interrupted before anything was found" if self.stopped else NO_PCPU
            status = "not found" if self.stopped else "infeasible"
            found = Fitted(status, self.options, self.grid, split(self.opened), reason=reason)
        # What was asked is the whole: each placement had what was left of the time.
        found.options = self.options
        found.interrupted, found.settled = self.stopped, self.settled
        if not certain:
            # The bounds of one placement are none of all.
            found.bandwidth_bounds.pop("search", None)
            found.cost_bound = None
        if not self.complete or self.settled or len(self.known) > 2:
            # Least interfaces are those of one placement of the tasks.
            found.bandwidth_bounds.pop("relaxation", None)
        return found


def _cost(options: Options, parts: System) -> tuple[Fraction, ...]:
    """Returns the numbers that are to be least, the first before the others."""
    from hyperperiod.analysis.fit.result import cost_of

    used = {domain.pcpu for domain in parts.domains if not domain.best_effort}
    first = [Fraction(len(used))] if options.fewest else []
    both = [_width(parts), cost_of(parts)]
    return (*first, *(both if options.least is Least.BANDWIDTH else reversed(both)))


def _width(parts: System | None) -> Fraction:
    """The bandwidth of all servers."""
    return sum(map(bandwidth_of, parts.domains if parts is not None else ()), Fraction(0))


# -- placing tasks ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Open:
    """A task whose vcpu is to be chosen: its numbers, its load, and on how many vcpus."""

    domain: int
    task: int
    utilization: Fraction
    period_ns: int
    vcpus: int


class _Placing:
    """The ways to place the open tasks of a system on the vcpus of their domains."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.open = [
            _Open(i, j, task.utilization, task.period_ns or 0, domain.vcpus)
            for i, domain in enumerate(system.domains)
            if domain.is_split and not domain.scheduler.is_global
            for j, task in enumerate(domain.tasks)
            if task.vcpu is None
        ]
        self.alike = [_alike(domain) for domain in system.domains]

    def count(self) -> int:
        """Returns the number of ways, those that only rename vcpus included."""
        return prod(one.vcpus for one in self.open)

    def every(self) -> Iterator[Place]:
        """Every way, but for those that differ in the names of vcpus that are alike."""
        seen = set()
        for place in product(*(range(one.vcpus) for one in self.open)):
            form = self._form(place)
            if form not in seen:
                seen.add(form)
                yield place

    def by_rule(self) -> Iterator[Place]:
        """Yields ways to place the tasks by rules of thumb."""
        numbers = range(len(self.open))
        by_load = [(-one.utilization, one.domain, one.task) for one in self.open]
        by_period = [(one.period_ns, -one.utilization, one.task) for one in self.open]
        for order in (
            sorted(numbers, key=by_load.__getitem__),
            sorted(numbers, key=by_period.__getitem__),
        ):
            for rule in (_least_loaded, _fullest_with_room, _first_with_room):
                yield self._by_rule(order, rule)

    def near(self, place: Place) -> Iterator[Place]:
        """One task on another vcpu, or two of different vcpus exchanged."""
        for at, one in enumerate(self.open):
            for vcpu in range(one.vcpus):
                if vcpu != place[at]:
                    yield (*place[:at], vcpu, *place[at + 1 :])
        for (at, one), (to, other) in combinations(enumerate(self.open), 2):
            if one.domain == other.domain and place[at] != place[to]:
                yield (*place[:at], place[to], *place[at + 1 : to], place[at], *place[to + 1 :])

    def _by_rule(
        self, order: Sequence[int], rule: Callable[[Sequence[Fraction], Fraction], int]
    ) -> Place:
        loads = [
            [
                sum((t.utilization for t in domain.tasks if t.vcpu == vcpu), Fraction(0))
                for vcpu in range(domain.vcpus)
            ]
            for domain in self.system.domains
        ]
        place = [0] * len(self.open)
        for at in order:
            one = self.open[at]
            place[at] = rule(loads[one.domain], one.utilization)
            loads[one.domain][place[at]] += one.utilization
        return tuple(place)

    def _form(self, place: Place) -> tuple[object, ...]:
        """Returns a key that ways share which differ only in the names of vcpus that are alike."""
        where = [(one.domain, vcpu) for one, vcpu in zip(self.open, place, strict=True)]
        return tuple(
            sorted(
                (number, kind, tuple(at for at, one in enumerate(where) if one == (number, vcpu)))
                for number, kinds in enumerate(self.alike)
                for vcpu, kind in enumerate(kinds)
            )
        )

    def placed(self, system: System, place: Place) -> System:
        """The system with its tasks on these vcpus, of which those without any are best effort."""
        vcpus = {(one.domain, one.task): vcpu for one, vcpu in zip(self.open, place, strict=True)}
        return system.replace(
            domains=tuple(
                _without_idle_servers(
                    domain.replace(
                        tasks=tuple(
                            task.replace(vcpu=vcpus.get((i, j), task.vcpu))
                            for j, task in enumerate(domain.tasks)
                        )
                    )
                )
                for i, domain in enumerate(system.domains)
            )
        )


def _without_idle_servers(domain: Domain) -> Domain:
    """The domain with no server for vcpus that have neither tasks nor an interface."""
    if domain.vcpus == 1 or not domain.is_split or domain.moves_jobs:
        return domain
    used = {task.vcpu for task in domain.tasks}
    idle = [
        not (vcpu in used or keys.interface or keys.best_effort)
        for vcpu, keys in enumerate(domain.each_vcpu)
    ]
    if not any(idle):
        return domain
    without = dict.fromkeys(("extra", "priority", "interface_period_ns", "interface_period_range"))
    return domain.with_vcpus({"best_effort": True, **without} if one else {} for one in idle)


def _alike(domain: Domain) -> list[int]:
    """A number for each vcpu of a domain, the same for those that nothing tells apart."""
    each = domain.each_vcpu
    pinned = [frozenset(t.name for t in domain.tasks if t.vcpu == v) for v in range(domain.vcpus)]
    kinds = [(keys, names) for keys, names in zip(each, pinned, strict=True)]
    return [kinds.index(kind) for kind in kinds]


def _least_loaded(loads: Sequence[Fraction], _more: Fraction) -> int:
    return min(range(len(loads)), key=lambda vcpu: (loads[vcpu], vcpu))


def _fullest_with_room(loads: Sequence[Fraction], more: Fraction) -> int:
    room = [vcpu for vcpu in range(len(loads)) if loads[vcpu] + more <= Fraction(9, 10)]
    return max(room, key=lambda vcpu: (loads[vcpu], -vcpu), default=_least_loaded(loads, more))


def _first_with_room(loads: Sequence[Fraction], more: Fraction) -> int:
    room = (vcpu for vcpu in range(len(loads)) if loads[vcpu] + more <= Fraction(1, 2))
    return next(room, _least_loaded(loads, more))


# -- guests whose jobs move ------------------------------------------------------------------------


def _with_guests(system: System, grid: BudgetGrid) -> tuple[System, frozenset[str]]:
    """The system with budgets for such guests, and the vcpus that they were chosen for."""
    found = system.replace(
        domains=tuple(_with_interfaces(system, domain, grid) for domain in system.domains)
    )
    pairs = zip(vcpus_of(system), vcpus_of(found), strict=True)
    return found, frozenset(one.name for one, other in pairs if one.interface != other.interface)


def _with_interfaces(system: System, domain: Domain, grid: BudgetGrid) -> Domain:
    """The least bandwidth of all periods that are tried for the vcpus of a guest that have none."""
    open_ = [not keys.best_effort and keys.interface is None for keys in domain.each_vcpu]
    if not (any(open_) and domain.is_split and domain.scheduler.is_global and domain.vcpus > 1):
        return domain
    free = [
        one and keys.interface_period_ns is None
        for one, keys in zip(open_, domain.each_vcpu, strict=True)
    ]
    shortest_ns = min((task.deadline_ns for task in domain.tasks if task.deadline_ns), default=0)
    steps = max(1, shortest_ns // grid.step_ns)
    tried = {1 + (steps - 1) * at // PERIODS_OF_GUESTS for at in range(PERIODS_OF_GUESTS + 1)}
    found: list[Domain] = []
    for step in sorted(tried) if any(free) else [0]:
        asked = {"interface_period_ns": step * grid.step_ns, "interface_period_range": None}
        opened = domain.with_vcpus(asked if one else {} for one in free)
        granule_ns = grid.step_ns if step or grid.asked or system.quantum_ns else 1
        made = with_budgets(opened, system.policy, granule_ns)
        found += [] if made is None else [made]
    return min(found, key=bandwidth_of, default=domain)


# -- wishes, and the way back ----------------------------------------------------------------------


def wishes_of(system: System) -> Wishes:
    """Returns which vcpus of a system, by the names of its parts, are to share no pcpu."""
    if system.policy.scope is Scope.GLOBAL:
        return Wishes()
    names = {one.name: part_names(one) for one in system.domains}
    pairs: set[frozenset[str]] = set()
    for domain in system.domains:
        if domain.spread:
            pairs |= set(map(frozenset, combinations(names[domain.name], 2)))
        for other in domain.apart:
            pairs |= set(map(frozenset, product(names[domain.name], names[other])))
    return Wishes(frozenset(pairs), frozenset(system.reserved))


def _with_homes(system: System) -> list[System]:
    """The system with the vcpus that go together on a pcpu, in every way that it allows."""
    choices = product(*(_at_home(system, domain) for domain in system.domains))
    return [system.replace(domains=domains) for domains in choices]


def _at_home(system: System, domain: Domain) -> list[Domain]:
    """The domain with all vcpus on a pcpu, if they are to be, for each pcpu that may be it."""
    if not (domain.together and domain.is_split and system.policy.scope is Scope.PARTITIONED):
        return [domain]
    pins = {keys.pcpu for keys in domain.each_vcpu}
    if None not in pins:
        return [domain] if len(pins) == 1 else []
    given = pins - {None}
    return [
        domain.with_vcpus([{"pcpu": pcpu}] * domain.vcpus)
        if domain.own_vcpus
        else domain.replace(pcpu=pcpu)
        for pcpu in range(system.pcpus)
        if pcpu not in system.reserved and given <= {pcpu}
    ]


def _with_last(parts: System, found: System, wishes: Wishes) -> System | None:
    """The vcpus as found, and the others where no wish is against it; None if there is no place."""
    fitted = {part.name: part for part in found.domains}
    for part in parts.domains:
        if part.name in fitted:
            continue
        pcpu = part.pcpu
        if pcpu is None and parts.policy.scope is Scope.PARTITIONED:
            pcpu = next(_free_pcpus(part.name, fitted, wishes, parts.pcpus), None)
            if pcpu is None:
                return None
        fitted[part.name] = part.replace(pcpu=pcpu)
    domains = tuple(fitted[part.name] for part in parts.domains)
    return parts.replace(domains=domains, spare=found.spare)


def _free_pcpus(name: str, found: dict[str, Domain], wishes: Wishes, pcpus: int) -> Iterator[int]:
    """The pcpus on which a vcpu may be beside those that are found."""
    beside = {part.pcpu for part in found.values() if frozenset((name, part.name)) in wishes.apart}
    return (n for n in range(pcpus) if n not in wishes.reserved and n not in beside)
