# SPDX-License-Identifier: BSD-2-Clause
"""Whether domains may share a pcpu: the host-level test of their policy decides, nothing else.

A bin is accepted if `host_level` proves it. With overheads, and with explicit deadlines (sbf =
"edp"), what one domain needs depends on who shares its pcpu (they are *coupled*), so the bin is
resolved and analysed as a system of its own, with what goes through it of each flow: budgets are
what the domains need beside one another, and the domain level must hold as well.

Priorities: given ones stay. Without, servers are ranked by period, which is optimal for periodic
servers (Liu and Layland 1973). For the test of deferrable servers it is not: where it fails,
Audsley's algorithm (1991) looks for an order that the test accepts, from the lowest priority up;
it finds one if there is one, since the test of a server asks only which servers are above it.
Audsley's algorithm is not tried where domains are coupled.

The search relies on tests that only get harder when a server is added; all of `host_level` are
such. Nothing is proved by that assumption alone: `fit` analyses what it found as a whole.

Inputs: a problem; bins as sets of (item, candidate). Results are remembered. Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hyperperiod.analysis.analyze import analyze
from hyperperiod.analysis.fit.candidates import coupled
from hyperperiod.analysis.fit.problem import FitProblem, with_only
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.host_tests import tests_for
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Budget, Order, System, priorities_in

Members = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Judgement:
    """Whether a bin holds, the budgets it needs, and an order of priority if periods will not do.

    `budgets` are by item, `order` is of items, `reason` says why it does not hold.
    """

    holds: bool
    budgets: dict[int, int]
    order: tuple[int, ...] | None = None
    reason: str = ""


class PcpuTest:
    """Says of sets of servers whether one pcpu can serve them, and remembers what it said."""

    def __init__(self, problem: FitProblem) -> None:
        self.problem = problem
        self.coupled = coupled(problem.system)
        # Whether best-effort domains make bins different.
        self.differ = bool(problem.beside) and (self.coupled or bool(problem.wishes.apart))
        # Whether a bin was refused for lack of proof only.
        self.unsure = False
        self._known: dict[tuple[int, Members], Judgement] = {}
        self._servers: dict[tuple[int, int], tuple[Server, ...]] = {}

    def judge(self, members: Iterable[tuple[int, int]], number: int = 0) -> Judgement:
        """The judgement of a bin; `number` counts only where best-effort domains cost time."""
        chosen = frozenset(members)
        problem = self.problem
        if number in problem.wishes.reserved and any(
            problem.items[i].pin is None for i, _ in chosen
        ):
            return Judgement(False, {}, reason=f"pcpu {number} is reserved")
        key = (number if self.differ else -1, chosen)
        known = self._known.get(key)
        if known is None:
            known = self._judge(chosen, number)
            self._known[key] = known
        return known

    def holds(self, members: Iterable[tuple[int, int]], number: int = 0) -> bool:
        return self.judge(members, number).holds

    def _judge(self, members: Members, number: int) -> Judgement:
        problem = self.problem
        if not members:
            return Judgement(True, {})
        beside = (domain.name for domain in problem.beside.get(number, ()))
        quarrel = problem.wishes.quarrel([*(problem.items[i].name for i, _ in members), *beside])
        if quarrel is not None:
            return Judgement(
                False, {}, reason=f"{quarrel[0]} and {quarrel[1]} are to share no pcpu"
            )
        if sum(problem.weights[i][c] for i, c in members) > problem.room * problem.unit:
            return Judgement(False, {}, reason="bandwidths sum to more than there is")
        if self.coupled:
            # A refusal here never is a proof: what budgets grow to is only sufficient.
            return self._of_coupled(members, number)
        budgets = {i: problem.items[i].candidates[c].budget_ns for i, c in members}
        group = self._group(members)
        if self._accepts(group):
            return Judgement(True, budgets)
        order = self._audsley(members) if self._order_is_open(members) else None
        if order is not None and self._accepts(self._group(members, order)):
            return Judgement(True, budgets, order)
        whole = host_level(problem.system.policy, group).whole
        self.unsure = self.unsure or whole.holds is None
        return Judgement(False, budgets, None, whole.reason)

    def _accepts(self, group: Group) -> bool:
        """Whether `host_level` would say yes, without asking more tests than it takes."""
        tests = tests_for(self.problem.system.policy, group)
        return any(all(said.holds for said in test.judge(group)) for test in tests)

    def _group(self, members: Members, order: Sequence[int] | None = None) -> Group:
        problem = self.problem
        servers = [server for pair in sorted(members) for server in self._servers_of(pair)]
        if order is not None:
            rank = {problem.items[i].index: place for place, i in enumerate(order)}
            servers = [one._replace(priority=rank[one.domain_index]) for one in servers]
        return Group(tuple(servers), problem.room, (), problem.system.quantum_ns is not None)

    def _servers_of(self, pair: tuple[int, int]) -> tuple[Server, ...]:
        if pair not in self._servers:
            item = self.problem.items[pair[0]]
            one = item.candidates[pair[1]]
            priority_of = priorities_in(self.problem.system)
            self._servers[pair] = tuple(
                Server(
                    order=item.index * 1024 + vcpu,
                    name=item.name,
                    period_ns=one.period_ns,
                    budget_ns=one.budget_ns,
                    priority=priority_of(item.priority, one.period_ns),
                    domain_index=item.index,
                )
                for vcpu in range(item.vcpus)
            )
        return self._servers[pair]

    def _order_is_open(self, members: Members) -> bool:
        policy = self.problem.system.policy
        return (
            policy.order is Order.FP
            and policy.budget is Budget.DEFERRABLE
            and self.problem.room == 1
            and all(self.problem.items[i].priority is None for i, _ in members)
        )

    def _audsley(self, members: Members) -> tuple[int, ...] | None:
        """Items from the highest priority to the lowest, or None if the test accepts no order."""
        left = sorted(members, key=lambda pair: self._servers_of(pair)[0].period_ns)
        lowest_first: list[int] = []
        while left:
            # The longest period first: it is the likeliest to bear the lowest priority.
            found = next((own for own in reversed(left) if self._may_be_lowest(own, left)), None)
            if found is None:
                return None
            left.remove(found)
            lowest_first.append(found[0])
        return tuple(reversed(lowest_first))

    def _may_be_lowest(self, own: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
        servers = [
            server._replace(priority=1 if pair == own else 0)
            for pair in others
            for server in self._servers_of(pair)
        ]
        policy = self.problem.system.policy
        verdicts = host_level(policy, Group(tuple(servers))).servers
        return all(
            verdict.holds is True
            for server, verdict in zip(servers, verdicts, strict=True)
            if server.priority == 1
        )

    def _of_coupled(self, members: Members, number: int) -> Judgement:
        system = self._alone(members, number)
        resolution = resolve_what_can_be(system)
        self.unsure = True
        for failure in resolution.failures.values():
            return Judgement(False, {}, reason=failure.reason)
        domains = list(resolution.system.domains)
        budgets = {}
        for place, (i, _) in enumerate(sorted(members)):
            interface, step_ns = domains[place].interface, self.problem.items[i].step_ns
            assert interface is not None, "nothing failed"
            budgets[i] = -(-interface.budget_ns // step_ns) * step_ns
            if budgets[i] > interface.period_ns:
                return Judgement(
                    False, {}, reason="what the domains take from one another leaves too little"
                )
            rounded = interface.replace(budget_ns=budgets[i])
            domains[place] = domains[place].replace(interface=rounded)
        system = resolution.system.replace(domains=tuple(domains))
        result = analyze(system)
        if result.schedulable is not True:
            return Judgement(False, {}, reason=result.reason)
        return Judgement(True, budgets)

    def _alone(self, members: Members, number: int) -> System:
        """The bin as a system of its own, budgets open where they were computed."""
        problem = self.problem
        domains = []
        for i, c in sorted(members):
            item = problem.items[i]
            domain = problem.system.domains[item.index]
            pcpu = None if problem.is_global else 0
            if domain.interface is not None:
                domains.append(domain.replace(pcpu=pcpu))
                continue
            open_budget = {
                "interface": None,
                "interface_period_ns": item.candidates[c].period_ns,
                "interface_period_range": None,
                "pcpu": pcpu,
            }
            domains.append(domain.replace(**open_budget))
        beside = [
            domain.replace(pcpu=None if problem.is_global else 0)
            for domain in problem.beside.get(number, ())
        ]
        alone = with_only(problem.system, [*domains, *beside])
        return alone.replace(pcpus=problem.room, swaps=(), changes=())
