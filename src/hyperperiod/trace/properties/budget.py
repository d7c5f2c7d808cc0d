# SPDX-License-Identifier: BSD-2-Clause
"""Over any n consecutive periods a server is charged at most n budgets at its own level.

What exceeds that may only be the lateness of the last pick. A server's periods are its own, from
refill to refill, worked out from its parameters and from what happened, never taken from the
records of its refills: multiples of its period for periodic, deferrable and polling servers;
from deadline to deadline for a constant bandwidth server. A sporadic server has no fixed periods:
any window of n periods that starts when it gets work after having none counts.
"""

from collections import defaultdict
from dataclasses import dataclass

from hyperperiod.trace.format import Header, Records, server_name
from hyperperiod.trace.properties.finding import Finding
from hyperperiod.trace.properties.watcher import Watcher, watched
from hyperperiod.trace.replay import Moment
from hyperperiod.trace.servers import Server


@dataclass(frozen=True)
class _Period:
    """One period of a server: the `index`-th of those counted from `start_ns`."""

    start_ns: int
    index: int


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
        if self.period is None or period.start_ns != self.period.start_ns:
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
        self.busy_since: dict[int, int] = {}
        self.told: set[tuple[int, _Period]] = set()

    def see(self, moment: Moment) -> None:
        self._note_starts(moment)
        for pcpu in range(len(moment.grants)):
            for payer in moment.payers(pcpu):
                server = moment.servers.get(payer)
                if server is None:
                    name = server_name(self.header, payer)
                    self.finding.add(moment.now_ns, f"{name} pays but has no server")
                elif server.level == 0:
                    self._charge(moment, payer, server)

    def _charge(self, moment: Moment, payer: int, server: Server) -> None:
        sporadic = moment.budget == "sporadic"
        since_ns = self.busy_since.get(payer, moment.now_ns) if sporadic else 0
        period = _period(moment, server, since_ns)
        excess_ns = self.accounts[payer].charge(
            period, server.budget_ns, moment.until_ns - moment.now_ns, any_start=not sporadic
        )
        if excess_ns > self.allowed_ns and (payer, period) not in self.told:
            self.told.add((payer, period))
            name = server_name(self.header, payer & 0xFFFF)
            self.finding.add(moment.until_ns, f"{name} is {excess_ns} ns over its budgets")

    def _note_starts(self, moment: Moment) -> None:
        if moment.budget != "sporadic":
            return
        for vcpu in moment.work:
            self.busy_since.setdefault(vcpu, moment.now_ns)
        for vcpu in [vcpu for vcpu in self.busy_since if vcpu not in moment.work]:
            del self.busy_since[vcpu]


def check(header: Header, records: Records) -> Finding:
    """Replay the run and watch it."""
    return watched(BudgetWatcher(header), records)


def _period(moment: Moment, server: Server, since_ns: int) -> _Period:
    """The server's current period; periodic rules and cbs have one deadline in each."""
    if moment.budget == "sporadic":
        return _Period(since_ns, (moment.now_ns - since_ns) // server.period_ns)
    if moment.budget == "cbs":
        return _Period(server.deadline_ns, 0)
    phase_ns = server.deadline_ns % server.period_ns
    return _Period(phase_ns, server.deadline_ns // server.period_ns)
