# SPDX-License-Identifier: BSD-2-Clause
"""Over any n consecutive periods a server is charged at most n budgets at its own level.

What exceeds that may only be the lateness of the last pick, and what a server may save where its
rule lets it hold more than one budget. A server's periods are its own, from
refill to refill, worked out from its parameters and from what happened, never taken from the
records of its refills: multiples of its period for periodic, deferrable and polling servers;
from deadline to deadline for a constant bandwidth server. A sporadic server has no fixed periods:
any window of n periods that starts when it gets work after having none counts.
"""

from collections import defaultdict
from dataclasses import dataclass

from tests.trace.oracle.finding import PropertyVerdict
from tests.trace.oracle.replay import Moment
from tests.trace.oracle.servers import NEVER, ReplayedServer
from tests.trace.oracle.watcher import Watcher, watched

from hyperperiod.trace.format import Header, Records, server_name


@dataclass(frozen=True)
class _Period:
    """One period of a server: the `index`-th of those that count together.

    It ends at `end_ns` at the latest; most end with a refill, at which the replay stops anyway.
    """

    series: tuple[str | int, ...]
    index: int
    end_ns: int


class _Account:
    """How far the charges of consecutive periods exceed the budgets of those periods."""

    def __init__(self) -> None:
        self.period: _Period | None = None
        self.carried_ns = 0
        self.charged_ns = 0
        self.budget_ns = 0

    def charge(self, period: _Period, budget_ns: int, amount_ns: int, *, any_start: bool) -> int:
        """Charge in `period`; the excess of the worst window that ends with it.

        A window starts with any period, or else only with the first one counted.
        """
        self.budget_ns = budget_ns
        if period != self.period:
            self._close(period, any_start=any_start)
        self.charged_ns += amount_ns
        return self.carried_ns + self.charged_ns - budget_ns

    def _close(self, period: _Period, *, any_start: bool) -> None:
        if self.period is None or period.series != self.period.series:
            self.carried_ns = -period.index * self.budget_ns
        else:
            passed = period.index - self.period.index
            self.carried_ns += self.charged_ns - passed * self.budget_ns
        if any_start:
            self.carried_ns = max(0, self.carried_ns)
        self.charged_ns = 0
        self.period = period


class BudgetWatcher(Watcher):
    """Adds up the charges of each server, period by period."""

    def __init__(self, header: Header) -> None:
        super().__init__(header)
        self.accounts: dict[int, _Account] = defaultdict(_Account)
        self.busy_since: dict[int, tuple[int, tuple[int, int]]] = {}
        self.reported: set[tuple[int, _Period]] = set()

    def see(self, moment: Moment) -> None:
        self._note_starts(moment)
        for pcpu in range(len(moment.grants)):
            for payer in moment.payers(pcpu):
                server = moment.servers.get(payer)
                if server is None:
                    name = server_name(self.header, payer & 0xFFFF)
                    self.finding.add(moment.now_ns, f"{name} pays but has no server")
                elif server.level == 0:
                    self._charge(moment, payer, server)

    def _charge(self, moment: Moment, payer: int, server: ReplayedServer) -> None:
        """Charge the moment, cut where a period of a sporadic server ends in it."""
        now_ns = moment.now_ns
        any_start = moment.rules_of(payer).budget != "sporadic"
        while now_ns < moment.until_ns:
            period = self._period(moment, payer, server, now_ns)
            stop_ns = min(moment.until_ns, period.end_ns)
            excess_ns = self.accounts[payer].charge(
                period, server.budget_ns, stop_ns - now_ns, any_start=any_start
            )
            now_ns = stop_ns
            saved_ns = (server.max_budgets - 1) * server.budget_ns
            if excess_ns > self.allowed_ns + saved_ns and (payer, period) not in self.reported:
                self.reported.add((payer, period))
                name = server_name(self.header, payer & 0xFFFF)
                self.finding.add(stop_ns, f"{name} is {excess_ns} ns over its budgets")

    def _note_starts(self, moment: Moment) -> None:
        """Since when each sporadic server has had work, this rule and this interface."""
        for vcpu, server in moment.servers.items():
            if moment.rules_of(vcpu).budget != "sporadic":
                self.busy_since.pop(vcpu, None)
                continue
            terms = (server.period_ns, server.budget_ns)
            since = self.busy_since.get(vcpu)
            if vcpu not in moment.work or (since is not None and since[1] != terms):
                self.busy_since.pop(vcpu, None)
            if vcpu in moment.work:
                self.busy_since.setdefault(vcpu, (moment.now_ns, terms))

    def _period(self, moment: Moment, payer: int, server: ReplayedServer, now_ns: int) -> _Period:
        """The server's current period; periodic rules and cbs have one deadline in each."""
        terms = (server.period_ns, server.budget_ns, server.max_budgets)
        budget = moment.rules_of(payer).budget
        if budget == "sporadic" and payer in self.busy_since:
            since_ns = self.busy_since[payer][0]
            index = (now_ns - since_ns) // server.period_ns
            end_ns = since_ns + (index + 1) * server.period_ns
            return _Period(("from", since_ns, *terms), index, end_ns)
        if budget == "cbs":
            return _Period(("to", server.deadline_ns, *terms), 0, NEVER)
        phase_ns = server.deadline_ns % server.period_ns
        return _Period(("phase", phase_ns, *terms), server.deadline_ns // server.period_ns, NEVER)


def check(header: Header, records: Records) -> PropertyVerdict:
    """Replay the run and watch it."""
    return watched(BudgetWatcher(header), records)
