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
from typing import ClassVar, Final, NamedTuple

NEVER: Final = (1 << 64) - 1
ORDINARY: Final = (1 << 24) - 1
"""The priority of servers that have none, under fp-edf."""
QUEUE: Final = 8
"""Refills that a sporadic server remembers."""


class Wanted(NamedTuple):
    """An interface to come, with the priority that goes with it."""

    period_ns: int
    budget_ns: int
    priority: int


class ReplayedServer:
    """A periodic server; the base of the other rules.

    It is refilled at `origin + k * period`, whatever was left is lost, and its deadline is its
    next refill. With permission for extra time it falls one level instead of depleting, and is
    back at level 0 at its refill.
    """

    max_budgets: ClassVar[int] = 1
    """The most that it can hold, in budgets."""

    def __init__(
        self, period_ns: int, budget_ns: int, *, priority: int = 0, extra: bool = False
    ) -> None:
        self.period_ns = period_ns
        self.budget_ns = budget_ns
        self.priority = priority
        self.extra = extra
        self.remaining_ns = 0
        self.level = 0
        self.deadline_ns = 0
        self.has_work = False
        self.settled = True
        """False until the first refill after a swap or a change: guarantees rest till then."""
        self.wanted: Wanted | None = None
        self.change_ns = NEVER

    @property
    def usable(self) -> bool:
        """Whether the server can pay now, at whatever level."""
        return self.remaining_ns > 0

    def due_ns(self) -> int:
        """The instant (ns) at which its budget or its interface changes if nothing else happens."""
        return min(self.refill_due_ns(), self.change_ns)

    def come_due(self, now_ns: int) -> None:
        """Does what is due at `now_ns`: the change of its interface, or else the refill."""
        if self.change_ns <= now_ns and self.wanted is not None:
            self.take_wanted(self.wanted)
            self.start_anew(now_ns)
        else:
            self.refill(now_ns)
        self.settled = True

    def take_wanted(self, wanted: Wanted) -> None:
        """Puts in force the interface that the server waited for."""
        self.period_ns, self.budget_ns, self.priority = wanted
        self.wanted, self.change_ns = None, NEVER

    def refill_due_ns(self) -> int:
        """The instant (ns) at which the server's budget comes back next."""
        return self.deadline_ns

    def refill(self, now_ns: int) -> None:
        """Refills the budget at `now_ns`; a debt is not forgiven."""
        debt_ns = min(0, self.remaining_ns) if self.level == 0 else 0
        self.level = 0
        self.remaining_ns = self.budget_ns + debt_ns
        self.deadline_ns = now_ns + self.period_ns
        self.drop()

    def start_anew(self, now_ns: int) -> None:
        """The first refill with a new interface."""
        self.refill(now_ns)

    def charge(self, amount_ns: int, now_ns: int) -> None:
        """Charges `amount_ns`, paid until now; only rules that queue refills ask when."""
        del now_ns
        self.remaining_ns -= amount_ns
        self.drop()

    def drop(self) -> None:
        """Fall as many levels as extra time allows; without permission, stay depleted."""
        while self.extra and self.remaining_ns <= 0:
            self.level += 1
            self.remaining_ns += self.budget_ns

    def arrive(self, now_ns: int) -> None:
        """Notes that the server got work after having none."""
        del now_ns
        self.has_work = True

    def depart(self) -> None:
        """Notes that the server ran out of work."""
        self.has_work = False

    def settle(self) -> None:
        """Everything of this instant has happened, only the pick is still to come."""

    def period_end_ns(self, now_ns: int) -> int:
        """When its current period ends: after a swap, its first refill under the new rule."""
        return self.deadline_ns if self.deadline_ns > now_ns else now_ns + self.period_ns

    def adopt(self, other: "ReplayedServer", now_ns: int) -> None:
        """Take over from the server that served this vcpu under the policy before a swap.

        What is left and the end of the period are kept, but no more than this rule lets it hold;
        levels of extra time are gone.
        """
        self.period_ns, self.budget_ns = other.period_ns, other.budget_ns
        self.priority = other.priority
        left_ns = other.remaining_ns if other.level == 0 else 0
        self.remaining_ns = min(left_ns, self.max_budgets * self.budget_ns)
        self.deadline_ns = other.period_end_ns(now_ns)
        self.has_work = other.has_work
        self.settled = False

    def want(self, wanted: Wanted, now_ns: int) -> None:
        """Asks for another interface, from the server's next whole refill on."""
        self.wanted = wanted
        self.change_ns = max(now_ns, self.whole_refill_ns())
        self.settled = False

    def whole_refill_ns(self) -> int:
        """When everything that was used will have come back."""
        return self.deadline_ns


class Polling(ReplayedServer):
    """What is left is lost at any instant at which there is no work: that depletes the server."""

    def settle(self) -> None:
        if not self.has_work and self.level == 0 and self.remaining_ns > 0:
            self.remaining_ns = 0
            self.drop()


class Slice(ReplayedServer):
    """A period begins with work: at an arrival after the deadline, or at the deadline itself.

    One that has used up its slice has moved on to the period that begins at its deadline. Work
    that arrives before the deadline finds what is left of the slice, or loses it.
    """

    def __init__(
        self, period_ns: int, budget_ns: int, *, priority: int = 0, extra: bool = False
    ) -> None:
        super().__init__(period_ns, budget_ns, priority=priority, extra=extra)
        self.fresh = True
        """Until its first work, if it was not served under another policy before."""
        self.claim = 0
        """To a share, for the slice that was lost last; 0: none."""
        self.claims = 0
        """How many there were."""

    def refill_due_ns(self) -> int:
        return self.deadline_ns if self.has_work else NEVER

    def start_anew(self, now_ns: int) -> None:
        if self.has_work:
            self.refill(now_ns)
            return
        left_ns = self.remaining_ns if self.level == 0 else 0
        self.level = 0
        self.remaining_ns = min(left_ns, self.budget_ns)

    def adopt(self, other: ReplayedServer, now_ns: int) -> None:
        super().adopt(other, now_ns)
        self.fresh = False

    def arrive(self, now_ns: int) -> None:
        self.has_work = True
        if self.fresh:
            self.fresh = False
            self._wake_first(now_ns)
            return
        used_up = self.level > 0 or self.remaining_ns <= 0
        if used_up and self.deadline_ns <= now_ns < self.deadline_ns + self.period_ns:
            self.refill(self.deadline_ns)
            self.settled = True
        if now_ns >= self.deadline_ns:
            self._begin(now_ns)
        else:
            self._wake_early()

    def _begin(self, now_ns: int) -> None:
        """Long unblocking: a period from now on."""
        self.settled = True
        self.claim = 0
        periods = (now_ns - self.deadline_ns) // self.period_ns
        owed_ns = min(0, self.remaining_ns) if self.level == 0 else 0
        self.level = 0
        self.remaining_ns = min(0, owed_ns + periods * self.budget_ns) + self.budget_ns
        self.deadline_ns = now_ns + self.period_ns
        self.drop()

    @property
    def loses(self) -> bool:
        """Whether what is left is lost by a block."""
        return False

    def _wake_first(self, now_ns: int) -> None:
        """Starts the first period at the server's first work of all."""
        if now_ns < self.deadline_ns:
            return
        if self.loses:
            self.deadline_ns = now_ns + self.budget_ns
        else:
            self._begin(now_ns)

    def _wake_early(self) -> None:
        if self.loses and self.level == 0 and self.remaining_ns > 0:
            self.claim = 1024 * self.period_ns // self.remaining_ns
            self.claims += 1
            self.remaining_ns = 0
            self.drop()


class SliceOnce(Slice):
    """Slices that are lost by a block."""

    @property
    def loses(self) -> bool:
        return True


class SliceOfClass(Slice):
    """Under fp-edf: a slice is kept by those with a priority, and lost by ordinary servers."""

    @property
    def loses(self) -> bool:
        return self.priority == ORDINARY


class Cbs(ReplayedServer):
    """Hard constant bandwidth server: the deadline moves with arrivals and with depletion."""

    def refill_due_ns(self) -> int:
        depleted = self.level > 0 or self.remaining_ns <= 0
        return self.deadline_ns if depleted else NEVER

    def arrive(self, now_ns: int) -> None:
        self.has_work = True
        if self.level > 0 or self.remaining_ns <= 0:
            return
        left_ns = self.deadline_ns - now_ns
        if self.remaining_ns * self.period_ns > left_ns * self.budget_ns:
            if self.wanted is not None:
                self.take_wanted(self.wanted)
                self.settled = True
            self.remaining_ns = self.budget_ns
            self.deadline_ns = now_ns + self.period_ns


class Sporadic(ReplayedServer):
    """What was used comes back one period after the activation that used it.

    A queue of (time, amount) whose amounts sum to the budget; the head is usable once its time
    has come. Time used is taken off the head and queued again one period after the head's time.
    The deadline is one period after the activation and does not move while the head is used. An
    activation lasts at most one period, so that a server that waits long builds up no backlog.
    """

    def __init__(
        self, period_ns: int, budget_ns: int, *, priority: int = 0, extra: bool = False
    ) -> None:
        super().__init__(period_ns, budget_ns, priority=priority, extra=extra)
        self.refills: deque[tuple[int, int]] = deque([(0, budget_ns)])

    def refill_due_ns(self) -> int:
        waiting = self.level > 0 or self.remaining_ns <= 0
        return self.refills[0][0] if waiting else NEVER

    def refill(self, now_ns: int) -> None:
        self.level = 0
        self._look(now_ns)

    def start_anew(self, now_ns: int) -> None:
        left_ns = sum(amount_ns for time_ns, amount_ns in self.refills if time_ns <= now_ns)
        self.level = 0
        self._fill(min(left_ns, self.budget_ns), now_ns, now_ns + self.period_ns)

    def charge(self, amount_ns: int, now_ns: int) -> None:
        if self.level > 0:
            super().charge(amount_ns, now_ns)
            return
        if not self._use(amount_ns, now_ns - amount_ns) and self.remaining_ns > 0:
            self.remaining_ns = self.refills[0][1]
            return
        self._look(now_ns)
        self.drop()

    def arrive(self, now_ns: int) -> None:
        self.has_work = True
        if self.level > 0 or self.remaining_ns <= 0:
            return
        self.refills[0] = (now_ns, self.refills[0][1])
        self._merge_head()
        self._look(now_ns)

    def period_end_ns(self, now_ns: int) -> int:
        end_ns = self.whole_refill_ns()
        return end_ns if end_ns > now_ns else now_ns + self.period_ns

    def whole_refill_ns(self) -> int:
        return self.refills[-1][0]

    def adopt(self, other: ReplayedServer, now_ns: int) -> None:
        super().adopt(other, now_ns)
        debt_ns = max(0, -self.remaining_ns)
        self._fill(max(0, self.remaining_ns), now_ns, self.deadline_ns)
        self._use(debt_ns, now_ns)
        self._look(now_ns)

    def _fill(self, left_ns: int, now_ns: int, rest_ns: int) -> None:
        """A new queue: what is left at once, the rest of the budget later."""
        self.refills = deque()
        if left_ns > 0:
            self.refills.append((now_ns, left_ns))
        if left_ns < self.budget_ns:
            self._append(rest_ns, self.budget_ns - left_ns, 0)
        self._look(now_ns)

    def _look(self, now_ns: int) -> None:
        time_ns, amount_ns = self.refills[0]
        usable = time_ns <= now_ns
        self.remaining_ns = amount_ns if usable else 0
        self.deadline_ns = time_ns + self.period_ns if usable else time_ns

    def _use(self, amount_ns: int, from_ns: int) -> bool:
        """Spend from the head on, each refill coming back one period later; was one used up?"""
        used_up = False
        while amount_ns > 0:
            self._renew(from_ns)
            time_ns, whole_ns = self.refills.popleft()
            used_ns = min(amount_ns, whole_ns)
            if used_ns < whole_ns:
                self.refills.appendleft((time_ns + used_ns, whole_ns - used_ns))
            used_up = used_up or used_ns == whole_ns
            self._append(time_ns + self.period_ns, used_ns, int(used_ns < whole_ns))
            from_ns += used_ns
            amount_ns -= used_ns
        return used_up

    def _renew(self, used_at_ns: int) -> None:
        """An activation that is a whole period old when it is used starts anew."""
        if self.refills[0][0] + self.period_ns <= used_at_ns:
            self.refills[0] = (used_at_ns, self.refills[0][1])
            self._merge_head()

    def _append(self, time_ns: int, amount_ns: int, heads: int) -> None:
        """What continues the tail joins it; into a full queue it joins at its own, later time.

        `heads` is 1 while a head is in use: nothing joins that.
        """
        if len(self.refills) > heads:
            tail_ns, tail_amount_ns = self.refills[-1]
            if time_ns <= tail_ns + tail_amount_ns:
                self.refills[-1] = (tail_ns, tail_amount_ns + amount_ns)
                return
            if len(self.refills) - heads == QUEUE - 1:
                self.refills[-1] = (time_ns, tail_amount_ns + amount_ns)
                return
        self.refills.append((time_ns, amount_ns))

    def _merge_head(self) -> None:
        """Refills that come due before the head could be used up join it."""
        while len(self.refills) > 1:
            time_ns, amount_ns = self.refills[0]
            next_ns, next_amount_ns = self.refills[1]
            if next_ns > time_ns + amount_ns:
                return
            self.refills.popleft()
            self.refills[0] = (time_ns, amount_ns + next_amount_ns)


RULES: Final[dict[str, type[ReplayedServer]]] = {
    "periodic": ReplayedServer,
    "deferrable": ReplayedServer,
    "polling": Polling,
    "sporadic": Sporadic,
    "cbs": Cbs,
    "slice": Slice,
    "slice-once": SliceOnce,
}
"""Periodic and deferrable differ in who is charged when, not in how budget comes back."""
