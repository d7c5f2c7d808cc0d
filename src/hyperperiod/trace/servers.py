# SPDX-License-Identifier: BSD-2-Clause
"""The budget rules once more, to check traces with: one small class per rule.

These are written from the rules' definitions and share nothing with the scheduler's own code:
a mistake there is not repeated here. They favour the obvious over the fast. A server is told
what happened (time was charged, work arrived or departed, its refill came) and says what it has
left and when its budget comes back by itself.

`remaining_ns` below zero is a debt: a pick came late and the server paid past its end. A refill
does not forgive it.
"""

from collections import deque
from typing import Final

NEVER: Final = (1 << 64) - 1
QUEUE: Final = 8
"""Refills that a sporadic server remembers."""


class Server:
    """A periodic server; the base of the other rules.

    It is refilled at `origin + k * period`, whatever was left is lost, and its deadline is its
    next refill. With permission for extra time it falls one level instead of depleting, and is
    back at level 0 at its refill.
    """

    def __init__(self, period_ns: int, budget_ns: int, *, extra: bool = False) -> None:
        self.period_ns = period_ns
        self.budget_ns = budget_ns
        self.extra = extra
        self.next_interface: tuple[int, int] | None = None
        self.remaining_ns = 0
        self.level = 0
        self.deadline_ns = 0
        self.has_work = False
        self.settled = True
        """False until the first refill after a swap or a change: guarantees rest till then."""

    @property
    def usable(self) -> bool:
        """Whether the server can pay now, at whatever level."""
        return self.remaining_ns > 0

    def due_ns(self) -> int:
        """When its budget comes back, if nothing else happens before."""
        return self.deadline_ns

    def charge(self, amount_ns: int, now_ns: int) -> None:
        """It paid `amount_ns`, ending now."""
        self.remaining_ns -= amount_ns
        self.drop(now_ns)

    def drop(self, now_ns: int) -> None:
        """Fall as many levels as extra time allows; without permission, stay depleted."""
        del now_ns
        while self.extra and self.remaining_ns <= 0:
            self.level += 1
            self.remaining_ns += self.budget_ns

    def refill(self, now_ns: int) -> None:
        """The refill that was due now."""
        debt_ns = min(0, self.remaining_ns) if self.level == 0 else 0
        self._take_new_interface()
        self.level = 0
        self.remaining_ns = self.budget_ns + debt_ns
        self.deadline_ns = now_ns + self.period_ns
        self.settled = True
        self.drop(now_ns)

    def arrive(self, now_ns: int) -> None:
        """It got work after having none."""
        del now_ns
        self.has_work = True

    def depart(self) -> None:
        """It ran out of work."""
        self.has_work = False

    def settle(self) -> None:
        """Everything of this instant has happened, only the pick is still to come."""

    def adopt(self, other: "Server", now_ns: int) -> None:
        """Take over from the server that served this vcpu under the policy before a swap."""
        self.remaining_ns = min(other.remaining_ns, self.budget_ns) if other.level == 0 else 0
        self.deadline_ns = other.deadline_ns
        self.has_work = other.has_work
        self.next_interface = other.next_interface
        self.settled = False
        self.drop(now_ns)

    def _take_new_interface(self) -> None:
        if self.next_interface is not None:
            self.period_ns, self.budget_ns = self.next_interface
            self.next_interface = None


class Polling(Server):
    """What is left is lost at any instant at which there is no work."""

    def settle(self) -> None:
        if not self.has_work:
            self.remaining_ns = min(0, self.remaining_ns)
            self.level = 0


class Cbs(Server):
    """Hard constant bandwidth server: the deadline moves with arrivals and with depletion."""

    def due_ns(self) -> int:
        depleted = self.level > 0 or self.remaining_ns <= 0
        return self.deadline_ns if depleted else NEVER

    def refill(self, now_ns: int) -> None:
        debt_ns = min(0, self.remaining_ns) if self.level == 0 else 0
        self._take_new_interface()
        self.level = 0
        self.remaining_ns = self.budget_ns + debt_ns
        self.deadline_ns += self.period_ns
        self.settled = True
        self.drop(now_ns)

    def arrive(self, now_ns: int) -> None:
        self.has_work = True
        if self.level > 0 or self.remaining_ns <= 0:
            return
        left_ns = self.deadline_ns - now_ns
        if self.remaining_ns * self.period_ns > left_ns * self.budget_ns:
            self.remaining_ns = self.budget_ns
            self.deadline_ns = now_ns + self.period_ns


class Sporadic(Server):
    """What was used comes back one period after the activation that used it.

    A queue of (time, amount) whose amounts sum to the budget; the head is usable once its time
    has come. Time used is taken off the head and queued again one period after the head's time.
    """

    def __init__(self, period_ns: int, budget_ns: int, *, extra: bool = False) -> None:
        super().__init__(period_ns, budget_ns, extra=extra)
        self.refills: deque[tuple[int, int]] = deque([(0, budget_ns)])

    def due_ns(self) -> int:
        waiting = self.level > 0 or self.remaining_ns <= 0
        return self.refills[0][0] if waiting else NEVER

    def charge(self, amount_ns: int, now_ns: int) -> None:
        if self.level > 0:
            super().charge(amount_ns, now_ns)
            return
        over_ns = max(0, amount_ns - max(0, self.remaining_ns))
        self._use(amount_ns)
        self._look(now_ns)
        if self.extra and self.remaining_ns <= 0:
            self.level = 1
            self.remaining_ns = self.budget_ns - over_ns
            self.drop(now_ns)

    def refill(self, now_ns: int) -> None:
        self.level = 0
        self._take_new_interface()
        self.settled = True
        self._look(now_ns)

    def arrive(self, now_ns: int) -> None:
        self.has_work = True
        time_ns, amount_ns = self.refills[0]
        if time_ns > now_ns:
            return
        self.refills[0] = (now_ns, amount_ns)
        self._merge_head()
        if self.level == 0:
            self._look(now_ns)

    def adopt(self, other: Server, now_ns: int) -> None:
        super().adopt(other, now_ns)
        left_ns = max(0, self.remaining_ns)
        self.refills = deque()
        if left_ns > 0:
            self.refills.append((now_ns, left_ns))
        if left_ns < self.budget_ns:
            self.refills.append((other.deadline_ns, self.budget_ns - left_ns))
        self._look(now_ns)

    def _look(self, now_ns: int) -> None:
        time_ns, amount_ns = self.refills[0]
        usable = time_ns <= now_ns
        self.remaining_ns = amount_ns if usable else 0
        self.deadline_ns = time_ns + self.period_ns if usable else time_ns

    def _use(self, amount_ns: int) -> None:
        """Spend from the head on; what exceeds the whole queue delays the next refill."""
        bound = len(self.refills)
        while bound > 0 and amount_ns >= self.refills[0][1]:
            time_ns, whole_ns = self.refills.popleft()
            amount_ns -= whole_ns
            self._append(time_ns + self.period_ns, whole_ns)
            bound -= 1
        if amount_ns == 0:
            return
        time_ns, whole_ns = self.refills[0]
        if bound == 0:
            self.refills[0] = (time_ns + amount_ns, whole_ns)
            return
        self.refills[0] = (time_ns + amount_ns, whole_ns - amount_ns)
        self._append(time_ns + self.period_ns, amount_ns)

    def _append(self, time_ns: int, amount_ns: int) -> None:
        if self.refills:
            tail_ns, tail_amount_ns = self.refills[-1]
            if time_ns <= tail_ns or len(self.refills) == QUEUE:
                self.refills[-1] = (max(time_ns, tail_ns), tail_amount_ns + amount_ns)
                return
        self.refills.append((time_ns, amount_ns))

    def _merge_head(self) -> None:
        while len(self.refills) > 1:
            time_ns, amount_ns = self.refills[0]
            next_ns, next_amount_ns = self.refills[1]
            if next_ns > time_ns + amount_ns:
                return
            self.refills.popleft()
            self.refills[0] = (time_ns, amount_ns + next_amount_ns)


RULES: Final[dict[str, type[Server]]] = {
    "periodic": Server,
    "deferrable": Server,
    "polling": Polling,
    "sporadic": Sporadic,
    "cbs": Cbs,
}
"""Periodic and deferrable differ in who is charged when, not in how budget comes back."""
