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

from hyperperiod.analysis.fit.answer import Fitted, Options
from hyperperiod.analysis.fit.candidates import BudgetGrid
from hyperperiod.analysis.fit.problem import Wishes, refusal, with_only
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.analysis.guests import with_budgets
from hyperperiod.model import Domain, Scope, System, is_split, joined, split
from hyperperiod.model.own_vcpu import OwnVcpu
from hyperperiod.model.split import parts_of
from hyperperiod.model.vcpus import bandwidth_of

FEW = 256
"""So many placements are all tried."""
PERIODS_OF_GUESTS = 24
NO_PCPU = "there are no pcpus on which all vcpus are as spread, together, apart and reserved ask"

FitParts = Callable[[System, Wishes, Options], Fitted]
Place = dict[tuple[int, int], int]
"""The vcpu of tasks, by the numbers of domain and task."""


def has_vcpus(system: System) -> bool:
    """Whether vcpus are to be looked at one by one, or something is asked of their pcpus."""
    wished = any(domain.apart for domain in system.domains) or bool(system.reserved)
    return wished or any(map(is_split, opened(system).domains))


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
    return domain.replace(own_vcpus=_own_vcpus(domain))


def _own_vcpus(domain: Domain) -> tuple[OwnVcpu, ...]:
    return domain.own_vcpus or (OwnVcpu(),) * domain.vcpus


def fit_vcpus(system: System, options: Options, fit_parts: FitParts, grid: BudgetGrid) -> Fitted:
    """The best of all placements that were fitted, put together; `fit_parts` fits one."""
    return _PlacementSearch(system, options, fit_parts, grid).run()


class _PlacementSearch:
    """One search over placements: the best so far, and whether anything was left out."""

    def __init__(
        self, system: System, options: Options, fit_parts: FitParts, grid: BudgetGrid
    ) -> None:
        self.options, self.fit_parts, self.grid = options, fit_parts, grid
        self.until = time.process_time() + options.limit_s
        self.opened, self.settled = _with_guests(opened(system), grid)
        self.wishes = wishes_of(self.opened)
        self.homes = [i for i, one in enumerate(self.opened.domains) for _ in parts_of(one)]
        self.pins = list(_together(self.opened))
        self.found: list[tuple[tuple[Fraction, ...], Fitted]] = []
        self.refused: list[Fitted] = []
        self.complete = True
        self.stopped = False
        self.known: dict[tuple[tuple[tuple[int, int], int], ...], tuple[Fraction, ...] | None] = {}

    def run(self) -> Fitted:
        """All placements if they are few, else good ones and what is near them."""
        place = _Placing(self.opened)
        if place.count() <= FEW:
            every = list(place.every())
            if len(every) * len(self.pins) > 1 and self.options.solver:
                for one in every:  # something first, so that an early end leaves that
                    self._fit(one, solver=False)
            for one in every:
                self._fit(one, solver=self.options.solver)
        else:
            self.complete = False
            self._climb(place)
        return self._answer()

    def _climb(self, place: _Placing) -> None:
        """Placements by rule, then steps from the best of them, by the heuristics."""
        start: tuple[tuple[Fraction, ...], Place] | None = None
        for one in place.by_rule():
            found = self._fit(one, solver=False)
            if found is not None and (start is None or found < start[0]):
                start = found, one
        while start is not None and not self._over():
            better = next(
                (
                    (found, one)
                    for one in place.near(start[1])
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
        key = (*sorted(place.items()), ((-1, -1), int(solver)))
        if key in self.known:
            return self.known[key]
        placed = _placed(self.opened, place)
        parts = _without_idle_servers(split(placed), self.homes, placed)
        costs = [
            self._fit_pinned(placed, self._pinned(parts, pins), solver=solver)
            for pins in self.pins
            if not self._on_reserved(parts, pins)
        ]
        self.known[key] = min((cost for cost in costs if cost is not None), default=None)
        return self.known[key]

    def _pinned(self, parts: System, pins: dict[int, int]) -> System:
        """The vcpus with all of these domains, by number, on one pcpu each."""
        return parts.replace(
            domains=tuple(
                part.replace(pcpu=pins.get(home, part.pcpu))
                for home, part in zip(self.homes, parts.domains, strict=True)
            )
        )

    def _on_reserved(self, parts: System, pins: dict[int, int]) -> bool:
        """Whether a vcpu would go to a reserved pcpu that the file does not put it on."""
        return any(
            part.pcpu is None and pins.get(home) in self.wishes.reserved
            for home, part in zip(self.homes, parts.domains, strict=True)
        )

    def _fit_pinned(
        self, placed: System, parts: System, *, solver: bool
    ) -> tuple[Fraction, ...] | None:
        """The same with the vcpus that go together on their pcpus."""
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
                self._fit_pinned(placed, one, solver=solver) for one in self._last_pinned(parts)
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
    domains = parts.domains if parts is not None else ()
    each = (one.interface.bandwidth * one.vcpus for one in domains if one.interface is not None)
    return sum(each, Fraction(0))


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
            if is_split(domain) and not domain.scheduler.is_global
            for j, task in enumerate(domain.tasks)
            if task.vcpu is None
        ]
        self.alike = [_alike(domain) for domain in system.domains]

    def count(self) -> int:
        """Returns the number of ways, those that only rename vcpus included."""
        count = 1
        for one in self.open:
            count *= one.vcpus
        return count

    def every(self) -> Iterator[Place]:
        """Every way, but for those that differ in the names of vcpus that are alike."""
        seen = set()
        for chosen in product(*(range(one.vcpus) for one in self.open)):
            place = {
                (one.domain, one.task): vcpu for one, vcpu in zip(self.open, chosen, strict=True)
            }
            form = self._form(place)
            if form not in seen:
                seen.add(form)
                yield place

    def by_rule(self) -> Iterator[Place]:
        """Yields ways to place the tasks by rules of thumb."""
        orders: list[list[_Open]] = [
            sorted(self.open, key=lambda one: (-one.utilization, one.domain, one.task)),
            sorted(self.open, key=lambda one: (one.period_ns, -one.utilization, one.task)),
        ]
        for order in orders:
            for rule in (_least_loaded, _fullest_with_room, _first_with_room):
                yield self._by_rule(order, rule)

    def near(self, place: Place) -> Iterator[Place]:
        """One task on another vcpu, or two of different vcpus exchanged."""
        for one in self.open:
            for vcpu in range(one.vcpus):
                if vcpu != place[one.domain, one.task]:
                    yield {**place, (one.domain, one.task): vcpu}
        for one, other in combinations(self.open, 2):
            mine, theirs = (one.domain, one.task), (other.domain, other.task)
            if one.domain == other.domain and place[mine] != place[theirs]:
                yield {**place, mine: place[theirs], theirs: place[mine]}

    def _by_rule(
        self, order: Sequence[_Open], rule: Callable[[Sequence[Fraction], Fraction], int]
    ) -> Place:
        loads = {
            i: [
                sum((t.utilization for t in domain.tasks if t.vcpu == vcpu), Fraction(0))
                for vcpu in range(domain.vcpus)
            ]
            for i, domain in enumerate(self.system.domains)
        }
        place: Place = {}
        for one in order:
            vcpu = rule(loads[one.domain], one.utilization)
            loads[one.domain][vcpu] += one.utilization
            place[one.domain, one.task] = vcpu
        return place

    def _form(self, place: Place) -> tuple[object, ...]:
        """Returns a key that ways share which differ only in the names of vcpus that are alike."""
        return tuple(
            tuple(
                sorted(
                    (kind, tuple(j for (d, j), v in sorted(place.items()) if (d, v) == (i, vcpu)))
                    for vcpu, kind in enumerate(self.alike[i])
                )
            )
            for i in range(len(self.system.domains))
        )


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


def _placed(system: System, place: Place) -> System:
    """The system with tasks on these vcpus."""
    placed = {number for number, _ in place}
    return system.replace(
        domains=tuple(
            domain.replace(
                tasks=tuple(
                    task.replace(vcpu=place.get((i, j), task.vcpu))
                    for j, task in enumerate(domain.tasks)
                )
            )
            if i in placed
            else domain
            for i, domain in enumerate(system.domains)
        )
    )


def _without_idle_servers(parts: System, homes: Sequence[int], whole: System) -> System:
    """The vcpus, of which those without tasks and interface are best effort."""
    return parts.replace(
        domains=tuple(
            part.replace(best_effort=True, extra=False, priority=None, **_NO_PERIOD)
            if not (part.tasks or part.domains or part.interface or part.best_effort)
            and not whole.domains[home].moves_jobs
            else part
            for home, part in zip(homes, parts.domains, strict=True)
        )
    )


_NO_PERIOD: dict[str, None] = {"interface_period_ns": None, "interface_period_range": None}


# -- guests whose jobs move ------------------------------------------------------------------------


def _with_guests(system: System, grid: BudgetGrid) -> tuple[System, frozenset[str]]:
    """The system with budgets for such guests, and the vcpus that they were chosen for."""
    domains = []
    for domain in system.domains:
        opened = is_split(domain) and domain.scheduler.is_global and domain.vcpus > 1
        is_open = any(not keys.best_effort and keys.interface is None for keys in domain.each_vcpu)
        domains.append(_with_interfaces(system, domain, grid) if opened and is_open else domain)
    settled = {
        name
        for before, after in zip(system.domains, domains, strict=True)
        for name, one, other in zip(
            before.vcpu_names, before.each_vcpu, after.each_vcpu, strict=True
        )
        if one.interface != other.interface
    }
    return system.replace(domains=tuple(domains)), frozenset(settled)


def _with_interfaces(system: System, domain: Domain, grid: BudgetGrid) -> Domain:
    """The least bandwidth of all periods that are tried for vcpus that have none."""
    shortest_ns = min(
        (task.deadline_ns or 0 for task in domain.tasks if task.deadline_ns), default=0
    )
    grid_ns = grid.step_ns
    steps = max(1, shortest_ns // grid_ns)
    tried = sorted(
        {1 + (steps - 1) * at // PERIODS_OF_GUESTS for at in range(PERIODS_OF_GUESTS + 1)}
    )
    if all(
        keys.best_effort or keys.interface is not None or keys.interface_period_ns is not None
        for keys in domain.each_vcpu
    ):
        tried = [0]
    found: list[tuple[Fraction, Domain]] = []
    for step in tried:
        own = tuple(
            one
            if keys.best_effort
            or keys.interface is not None
            or keys.interface_period_ns is not None
            else one.replace(interface_period_ns=step * grid_ns, interface_period_range=None)
            for one, keys in zip(_own_vcpus(domain), domain.each_vcpu, strict=True)
        )
        granule_ns = grid_ns if step or grid.asked or system.quantum_ns else 1
        made = with_budgets(domain.replace(own_vcpus=own), system.policy, granule_ns)
        if made is not None:
            found.append((bandwidth_of(made), made))
    return min(found, key=lambda pair: pair[0])[1] if found else domain


# -- wishes, and the way back ----------------------------------------------------------------------


def wishes_of(system: System) -> Wishes:
    """Returns which vcpus of a system, by the names of its parts, are to share no pcpu."""
    if system.policy.scope is Scope.GLOBAL:
        return Wishes()
    names = {one.name: [part.name for part in parts_of(one)] for one in system.domains}
    pairs: set[frozenset[str]] = set()
    for domain in system.domains:
        if domain.spread:
            pairs |= set(map(frozenset, combinations(names[domain.name], 2)))
        for other in domain.apart:
            pairs |= set(map(frozenset, product(names[domain.name], names[other])))
    return Wishes(frozenset(pairs), frozenset(system.reserved))


def _together(system: System) -> Iterator[dict[int, int]]:
    """The pcpus on which the domains may be whose vcpus go together, by their numbers."""
    asked = [
        i
        for i, domain in enumerate(system.domains)
        if domain.together and is_split(domain) and system.policy.scope is Scope.PARTITIONED
    ]
    free = [pcpu for pcpu in range(system.pcpus) if pcpu not in system.reserved]
    homes = [_homes(system.domains[i], free) for i in asked]
    for pcpus in product(*homes):
        yield dict(zip(asked, pcpus, strict=True))


def _homes(domain: Domain, free: Sequence[int]) -> Sequence[int]:
    """The pcpus on which all vcpus of a domain may be, some of which may be pinned."""
    pins = {keys.pcpu for keys in domain.each_vcpu}
    if pins == {None}:
        return free
    given = sorted(pin for pin in pins if pin is not None)
    return given if len(given) == 1 else []


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
