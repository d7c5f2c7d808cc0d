# SPDX-License-Identifier: BSD-2-Clause
"""The scheduling semantics, one tick at a time.

This is the oracle that the core is compared with. It is written from the prose of the semantics
alone, shares no code with the core, and is meant to be checked by reading: time moves in unit
ticks, every rule is evaluated again at every tick, and "the first" is always a plain minimum or a
sort. It looks nothing up, caches nothing and predicts nothing.

One tick t runs, in this order (the host calls these; see `workload.py`):

1. `elapse()`   the payers of the grants of [t-1, t) are charged one tick;
2. `depart(v)`  vcpus that ran out of work;
3. `refill()`   replenishments due at t;
4. `arrive(v)`  vcpus that got work; then `swap`, `add`, `update`, `remove`, `steal`, `give_back`
                if any;
5. `decide()`   every pcpu gets its grant for [t, t+1).

One `World` is one lock domain: one pcpu of a partitioned policy, or all pcpus of a global one.

What the tick cannot show: late picks (here every pick is in time) and with them debts; and
instants between ticks. All parameters are whole ticks, so nothing happens there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

BudgetRule = Literal["periodic", "deferrable", "polling", "sporadic", "cbs", "slice", "slice-once"]
OrderRule = Literal["fp", "edf", "fp-edf"]
SlackRule = Literal["none", "lend", "reclaim", "spare", "extra", "weights"]
Spare = Literal["spare"]

SPARE: Final = "spare"
ORDINARY: Final = 2**24 - 1  # the priority that says, under fp-edf, that there is none
MAX_REFILLS: Final = 8  # entries of a sporadic server's queue


class Policy(NamedTuple):
    """A composition of the three rules."""

    budget: BudgetRule
    order: OrderRule = "fp"
    slack: SlackRule = "none"


class Params(NamedTuple):
    """A vcpu's server, in ticks. A best-effort vcpu has no server: its numbers mean nothing."""

    period: int
    budget: int
    priority: int = 0
    extra: bool = False
    best_effort: bool = False
    weight: int = 1  # of a best-effort vcpu


BEST_EFFORT: Final = Params(period=1, budget=0, best_effort=True)


class Grant(NamedTuple):
    """What one pcpu does in one tick: who runs, who pays, who pays as well, at which level."""

    run: int | None = None
    pay: int | Spare | None = None
    also: int | None = None
    level: int = 0


IDLE: Final = Grant()


class Setup(NamedTuple):
    """What does not change while a world runs (but for `swap`, which replaces the policy)."""

    policy: Policy
    pcpus: int = 1
    quantum: int | None = None
    spare_period: int = 0
    spare_budget: int = 0
    best_effort_turn: int = 1
    share: int = 1  # weights: how long a share lasts


class Refill(NamedTuple):
    """An amount of budget of a sporadic server and the instant from which it is usable."""

    time: int
    amount: int


class Turn(NamedTuple):
    """When a turn was given, and as the how-manieth of the choice made there."""

    time: int
    place: int


class Share(NamedTuple):
    """Weights: who runs on time that nobody with budget asks for, until when at the latest."""

    vcpu: int
    ends: int
    claim: int | None  # that it was given for; None: by score


NEVER: Final = Turn(-1, 0)  # of a vcpu that never got one: older than any tick


class Vcpu:
    """A vcpu and its server."""

    __slots__ = (
        "change_at",  # when an update takes effect at the latest
        "claim",  # weights: a claim to a share for lost time, or None
        "deadline",  # the next refill; cbs and sporadic move it as they say below
        "fresh",  # slices: it was added under the rules of now, and never had work
        "last_pcpu",  # where it was placed last
        "level",  # extra time: how often it was depleted since its refill
        "next_params",  # an update that waits for that
        "params",
        "pay_turn",  # when its last turn as payer was given
        "refills",  # sporadic only: the queue, head first
        "remaining",  # budget left now, at the current level
        "run_turn",  # when its last turn as runner was given
        "score",  # weights: what it has had by score
        "work",  # whether it has work
    )

    def __init__(self, params: Params, first_refill: int) -> None:
        self.params = params
        self.next_params: Params | None = None
        self.change_at = 0
        self.work = False
        self.remaining = 0
        self.deadline = first_refill
        self.level = 0
        self.refills: tuple[Refill, ...] = (Refill(first_refill, params.budget),)
        self.pay_turn = NEVER
        self.run_turn = NEVER
        self.last_pcpu: int | None = None
        self.fresh = True
        self.claim: int | None = None
        self.score = 0

    def copy(self) -> Vcpu:
        """The same vcpu, free to go another way."""
        twin = Vcpu.__new__(Vcpu)
        twin.params = self.params
        twin.next_params = self.next_params
        twin.change_at = self.change_at
        twin.work = self.work
        twin.remaining = self.remaining
        twin.deadline = self.deadline
        twin.level = self.level
        twin.refills = self.refills
        twin.pay_turn = self.pay_turn
        twin.run_turn = self.run_turn
        twin.last_pcpu = self.last_pcpu
        twin.fresh = self.fresh
        twin.claim = self.claim
        twin.score = self.score
        return twin

    def key(self) -> tuple[object, ...]:
        """Everything that the future depends on."""
        return (
            self.params,
            self.next_params,
            self.change_at,
            self.work,
            self.remaining,
            self.deadline,
            self.level,
            self.refills,
            self.pay_turn,
            self.run_turn,
            self.last_pcpu,
            self.fresh,
            self.claim,
            self.score,
        )


def first_multiple(period: int, now: int) -> int:
    """The first multiple of the period at or after now."""
    return -(-now // period) * period


class World:
    """Servers, pcpus and the rules between them at one instant."""

    __slots__ = (
        "grants",
        "guests",
        "last_guest",
        "last_payer",
        "last_runner",
        "now",
        "servers",
        "setup",
        "share",
        "spare_remaining",
        "stolen",
        "vcpus",
    )

    def __init__(self, setup: Setup, params: Iterable[Params] = (), now: int = 0) -> None:
        self.setup = setup
        self.now = now
        self.vcpus: dict[int, Vcpu] = {}
        self.servers: tuple[int, ...] = ()
        self.guests: tuple[int, ...] = ()  # the best-effort vcpus
        self.spare_remaining = 0
        self.share: Share | None = None
        self.stolen: frozenset[int] = frozenset()  # pcpus that run what nobody granted
        self.grants: list[Grant] = [IDLE] * setup.pcpus
        # The most recent one on each pcpu, remembered over idle times.
        self.last_payer: list[int | None] = [None] * setup.pcpus
        self.last_runner: list[int | None] = [None] * setup.pcpus
        self.last_guest: list[int | None] = [None] * setup.pcpus
        for v, one in enumerate(params):
            self.add(v, one)

    def copy(self) -> World:
        """The same world, free to go another way."""
        twin = World.__new__(World)
        twin.setup = self.setup
        twin.now = self.now
        twin.vcpus = {v: vcpu.copy() for v, vcpu in self.vcpus.items()}
        twin.servers = self.servers
        twin.guests = self.guests
        twin.spare_remaining = self.spare_remaining
        twin.share = self.share
        twin.stolen = self.stolen
        twin.grants = self.grants[:]
        twin.last_payer = self.last_payer[:]
        twin.last_runner = self.last_runner[:]
        twin.last_guest = self.last_guest[:]
        return twin

    def key(self) -> tuple[object, ...]:
        """Equal keys: equal futures under equal arrivals."""
        return (
            self.setup,
            self.now,
            tuple((v, vcpu.key()) for v, vcpu in self.vcpus.items()),
            self.spare_remaining,
            self.share,
            self.stolen,
            tuple(self.grants),
            tuple(self.last_payer),
            tuple(self.last_runner),
            tuple(self.last_guest),
        )

    # -- 1. charge ---------------------------------------------------------------------------

    def elapse(self) -> None:
        """One tick passes and its payers pay it."""
        self.now += 1
        for grant in self.grants:
            if grant.pay == SPARE:
                self.spare_remaining -= 1
            elif grant.pay is not None:
                self._charge(self.vcpus[grant.pay])
            if grant.also is not None:
                self._charge(self.vcpus[grant.also])

    def _charge(self, vcpu: Vcpu) -> None:
        policy = self.setup.policy
        assert vcpu.remaining > 0, "a server without budget paid"
        vcpu.remaining -= 1
        if policy.budget == "sporadic" and vcpu.level == 0:
            self._use_refill(vcpu)
        if vcpu.remaining == 0:
            self._deplete(vcpu)

    def _deplete(self, vcpu: Vcpu) -> None:
        """Nothing is left; who may have extra time goes on one level below."""
        if self.setup.policy.slack == "extra" and vcpu.params.extra:
            vcpu.level += 1
            vcpu.remaining = vcpu.params.budget

    def _use_refill(self, vcpu: Vcpu) -> None:
        """Takes one tick from the head; it comes back one period after the head's time.

        A head that was left unused for a whole period (the pcpu was overbooked) counts from now.
        """
        head, *rest = vcpu.refills
        used_at = self.now - 1
        if head.time + vcpu.params.period <= used_at:
            head, *rest = restart_head(vcpu.refills, used_at)
            vcpu.remaining = head.amount - 1
        back = Refill(head.time + vcpu.params.period, 1)
        if head.amount > 1:
            # A head that is split keeps its deadline: the same activation goes on.
            kept = Refill(head.time + 1, head.amount - 1)
            vcpu.refills = (kept, *append_refill(rest, back, MAX_REFILLS - 1))
            return
        vcpu.refills = append_refill(rest, back, MAX_REFILLS - 1)
        self._take_head(vcpu)

    def _take_head(self, vcpu: Vcpu) -> None:
        """The head of the queue says what is left and until when."""
        head = vcpu.refills[0]
        usable = head.time <= self.now
        vcpu.remaining = head.amount if usable else 0
        vcpu.deadline = head.time + vcpu.params.period if usable else head.time

    # -- 2. and 4. departures and arrivals -----------------------------------------------------

    def depart(self, v: int) -> None:
        """The vcpu has no work any more."""
        assert self.vcpus[v].work
        self.vcpus[v].work = False
        self._end_share(v)

    def arrive(self, v: int) -> None:
        """The vcpu had no work and has some now."""
        vcpu = self.vcpus[v]
        assert not vcpu.work
        vcpu.work = True
        if vcpu.params.best_effort:
            return
        if self.setup.policy.budget in ("slice", "slice-once"):
            self._arrive_slice(vcpu)
        if vcpu.level > 0:
            return
        if self.setup.policy.budget == "cbs":
            self._arrive_cbs(vcpu)
        elif self.setup.policy.budget == "sporadic":
            self._arrive_sporadic(vcpu)

    def _arrive_slice(self, vcpu: Vcpu) -> None:
        """After the deadline a period begins; before it, a slice that is begun is lost by once.

        Under fp-edf that is the rule of the ordinary servers, and only theirs.
        """
        once = self.setup.policy.budget == "slice-once" or self._is_ordinary(vcpu)
        period, budget = vcpu.params.period, vcpu.params.budget
        fresh, vcpu.fresh = vcpu.fresh, False
        if fresh and once:
            vcpu.deadline = max(vcpu.deadline, self.now + budget * (vcpu.deadline <= self.now))
            return
        used_up = not fresh and (vcpu.remaining <= 0 or vcpu.level > 0)
        if used_up and vcpu.deadline <= self.now < vcpu.deadline + period:
            # It moved on to this period when it had used up the one before.
            self._refill_full(vcpu)
        if self.now >= vcpu.deadline:
            vcpu.deadline = self.now
            vcpu.claim = None
            self._refill_full(vcpu)
        elif once and vcpu.level == 0 and vcpu.remaining > 0:
            vcpu.claim = period * 1024 // vcpu.remaining
            vcpu.remaining = 0
            self._deplete(vcpu)

    def _arrive_cbs(self, vcpu: Vcpu) -> None:
        """A new period, unless what is left fits the bandwidth until the deadline."""
        period, budget = vcpu.params.period, vcpu.params.budget
        if vcpu.remaining * period > (vcpu.deadline - self.now) * budget:
            vcpu.deadline = self.now
            self._refill_full(vcpu)

    def _arrive_sporadic(self, vcpu: Vcpu) -> None:
        """A usable head counts from now, and takes in what it would meet on its way."""
        if vcpu.refills[0].time <= self.now:
            vcpu.refills = restart_head(vcpu.refills, self.now)
            self._take_head(vcpu)

    # -- 3. replenishments ---------------------------------------------------------------------

    def refill(self) -> None:
        """Everything that comes back at this instant."""
        budget_rule = self.setup.policy.budget
        for v in self.servers:
            vcpu = self.vcpus[v]
            if vcpu.next_params is not None and self.now >= vcpu.change_at:
                self._change(vcpu)
            if budget_rule == "sporadic":
                self._refill_sporadic(vcpu)
            elif budget_rule == "cbs":
                self._refill_cbs(vcpu)
            elif budget_rule in ("slice", "slice-once"):
                if vcpu.work:
                    self._refill_on_grid(vcpu)
            else:
                self._refill_on_grid(vcpu)
        if self.setup.spare_period and self.now % self.setup.spare_period == 0:
            self.spare_remaining = self.setup.spare_budget

    def _refill_full(self, vcpu: Vcpu) -> None:
        self._take_params(vcpu)
        vcpu.remaining = vcpu.params.budget
        vcpu.deadline += vcpu.params.period
        vcpu.level = 0

    def _refill_on_grid(self, vcpu: Vcpu) -> None:
        """Refills of the past (a swap can leave some) count as one."""
        while self.now >= vcpu.deadline:
            self._refill_full(vcpu)

    def _refill_cbs(self, vcpu: Vcpu) -> None:
        """Depleted (whatever extra time it has got since), it waits for its deadline."""
        depleted = vcpu.remaining <= 0 or vcpu.level > 0
        if depleted and self.now >= vcpu.deadline:
            self._refill_full(vcpu)

    def _refill_sporadic(self, vcpu: Vcpu) -> None:
        depleted = vcpu.remaining == 0 or vcpu.level > 0
        if depleted and self.now >= vcpu.refills[0].time:
            vcpu.level = 0
            self._take_head(vcpu)

    # -- changes -------------------------------------------------------------------------------

    def add(self, v: int, params: Params) -> None:
        """A new vcpu, without budget until the first multiple of its period."""
        assert v not in self.vcpus
        self.vcpus[v] = Vcpu(params, first_multiple(params.period, self.now))
        self._sort_out()

    def remove(self, v: int) -> None:
        """The vcpu is gone, and so is every memory of it."""
        del self.vcpus[v]
        for last in (self.last_payer, self.last_runner, self.last_guest):
            last[:] = [None if other == v else other for other in last]
        self._end_share(v)
        self._sort_out()

    def update(self, v: int, params: Params) -> None:
        """New parameters from the next refill on, which becomes the origin.

        One that waits already is forgotten. Where the time is past, it is now.
        """
        vcpu = self.vcpus[v]
        if params.best_effort:
            vcpu.params = params
            return
        vcpu.next_params = params
        self._schedule_change(vcpu)

    def _schedule_change(self, vcpu: Vcpu) -> None:
        """The deadline; of a sporadic server when all that it has used by now has come back."""
        sporadic = self.setup.policy.budget == "sporadic"
        vcpu.change_at = vcpu.refills[-1].time if sporadic else vcpu.deadline
        if vcpu.change_at <= self.now:
            vcpu.change_at = self.now
            self._change(vcpu)

    def _change(self, vcpu: Vcpu) -> None:
        """The time of an update has come: it begins a period, but for want of work (slices)."""
        budget_rule = self.setup.policy.budget
        if budget_rule == "sporadic":
            self._change_sporadic(vcpu)
        elif budget_rule in ("slice", "slice-once") and not vcpu.work:
            self._take_params(vcpu)
            left = vcpu.remaining if vcpu.level == 0 else 0  # of its own budget
            vcpu.remaining = min(left, vcpu.params.budget)
            vcpu.level = 0
        else:
            vcpu.deadline = vcpu.change_at
            self._refill_full(vcpu)

    def _change_sporadic(self, vcpu: Vcpu) -> None:
        """What has come back by now is usable, the rest of the new budget in a period."""
        usable = sum(refill.amount for refill in vcpu.refills if refill.time <= self.now)
        self._take_params(vcpu)
        vcpu.level = 0
        vcpu.remaining = min(usable, vcpu.params.budget)
        vcpu.deadline = self.now + vcpu.params.period
        self._rebuild_refills(vcpu)

    def _take_params(self, vcpu: Vcpu) -> None:
        if vcpu.next_params is not None:
            vcpu.params, vcpu.next_params = vcpu.next_params, None

    def swap(self, policy: Policy) -> None:
        """Another policy: what is left is kept, and the end of the period is the next refill.

        A sporadic server's period ends when all that it has used has come back. One whose period
        has ended, but which was not refilled yet, begins another.
        """
        old = self.setup.policy.budget
        self.setup = self.setup._replace(policy=policy)
        self.share = None
        for vcpu in self.vcpus.values():
            self._take_over(vcpu, old)

    def join(self, v: int, vcpu: Vcpu, old: BudgetRule) -> None:
        """A vcpu that was removed from another world goes on here, as after a swap."""
        self.vcpus[v] = vcpu
        self._sort_out()
        self._take_over(vcpu, old)

    def _take_over(self, vcpu: Vcpu, old: BudgetRule) -> None:
        """The vcpu comes under the policy of now."""
        vcpu.claim, vcpu.score = None, 0
        if vcpu.params.best_effort:
            return
        vcpu.fresh = False
        end = vcpu.refills[-1].time if old == "sporadic" else vcpu.deadline
        vcpu.deadline = end if end > self.now else self.now + vcpu.params.period
        if vcpu.level > 0:
            vcpu.level = vcpu.remaining = 0
        if self.setup.policy.budget == "sporadic":
            self._rebuild_refills(vcpu)
        if vcpu.next_params is not None:
            self._schedule_change(vcpu)

    def steal(self, p: int) -> None:
        """From now on nobody runs or pays on this pcpu, until it is given back."""
        self.stolen |= {p}
        self.grants = [IDLE if q == p else grant for q, grant in enumerate(self.grants)]
        self.share = None

    def give_back(self, p: int) -> None:
        """The pcpu is there to be granted again."""
        self.stolen -= {p}

    def _rebuild_refills(self, vcpu: Vcpu) -> None:
        """What is left is usable now, the rest at the deadline."""
        left = Refill(self.now, vcpu.remaining)
        rest = Refill(vcpu.deadline, vcpu.params.budget - vcpu.remaining)
        vcpu.refills = tuple(refill for refill in (left, rest) if refill.amount > 0)
        if left.amount > 0:
            vcpu.refills = restart_head(vcpu.refills, self.now)
        self._take_head(vcpu)

    def _sort_out(self) -> None:
        """Servers and best-effort vcpus, each in the order of their ids."""
        ids = sorted(self.vcpus)
        self.guests = tuple(v for v in ids if self.vcpus[v].params.best_effort)
        self.servers = tuple(v for v in ids if not self.vcpus[v].params.best_effort)

    # -- 5. decide -----------------------------------------------------------------------------

    def decide(self) -> list[Grant]:
        """The grants of this tick, one per pcpu."""
        budget, slack = self.setup.policy.budget, self.setup.policy.slack
        if budget == "polling":
            self._lose_unpolled()
        before = self.grants
        self.grants = [IDLE] * self.setup.pcpus
        if budget == "periodic":
            chosen = self._place_payers(before)
            if slack == "lend":
                self._lend()
            elif slack == "reclaim":
                self._reclaim()
        else:
            chosen = self._place_runners(before)
            if slack == "spare":
                self._place_spare(before)
        self._note(chosen)
        if slack == "weights":
            self._place_share()
        elif self.guests:
            self._place_guests(before)
        return self.grants

    def _lose_unpolled(self) -> None:
        """Polling: a server without work loses what is left of its own budget."""
        for v in self.servers:
            vcpu = self.vcpus[v]
            if not vcpu.work and vcpu.level == 0 and vcpu.remaining > 0:
                vcpu.remaining = 0
                self._deplete(vcpu)

    def _available(self) -> list[int]:
        """The pcpus that are not stolen."""
        return [p for p in range(self.setup.pcpus) if p not in self.stolen]

    def _place_payers(self, before: list[Grant]) -> list[int]:
        """Periodic: the first m with budget occupy the pcpus and pay, with work or without."""
        funded = [v for v in self.servers if self.vcpus[v].remaining > 0]
        funded.sort(key=self._payer_rank)
        available = self._available()
        chosen = funded[: len(available)]
        for v, p in self._places(chosen, holders(before), available).items():
            self.grants[p] = Grant(v if self.vcpus[v].work else None, v)
        return chosen

    def _lend(self) -> None:
        """Time that H does not need goes to the first with work and budget; both pay."""
        grant = self.grants[0]
        if grant.pay is None or grant.run is not None:
            return
        lent = [v for v in self.servers if v != grant.pay and self._eligible(v)]
        if lent:
            runner = min(lent, key=self._runner_rank)
            self.grants[0] = Grant(runner, grant.pay, runner)

    def _reclaim(self) -> None:
        """Time that H does not need goes to the first with work, those with budget first."""
        grant = self.grants[0]
        if grant.pay is None or grant.run is not None:
            return
        funded = [v for v in self.servers if self._eligible(v)]
        depleted = [v for v in self.servers if self._waits(v)]
        candidates = funded or depleted
        if candidates:
            self.grants[0] = Grant(min(candidates, key=self._runner_rank), grant.pay)

    def _place_runners(self, before: list[Grant]) -> list[int]:
        """All other budgets: the first m with work and budget run, and pay for themselves."""
        eligible = [v for v in self.servers if self._eligible(v)]
        eligible.sort(key=self._runner_rank)
        available = self._available()
        chosen = eligible[: len(available)]
        for v, p in self._places(chosen, holders(before), available).items():
            self.grants[p] = Grant(v, v, None, self.vcpus[v].level)
        return chosen

    def _place_spare(self, before: list[Grant]) -> None:
        """One pcpu that is left, if any, goes to a depleted vcpu with work on the spare.

        The latest deadline is first; among equals the one that holds a pcpu up to now.
        """
        free = [p for p in self._available() if self.grants[p].run is None]
        if not free or self.spare_remaining == 0:
            return
        waiting = [v for v in self.servers if self._waits(v)]
        if not waiting:
            self.grants[free[0]] = Grant(None, SPARE)
            return
        held = holders(before)
        runner = min(waiting, key=lambda v: (-self.vcpus[v].deadline, v not in held, v))
        place = self._places([runner], held, free)[runner]
        self.grants[place] = Grant(runner, SPARE)

    def _note(self, chosen: list[int]) -> None:
        """Who pays and who runs now is the last to do so from now on, and has a turn.

        Without a quantum no turn is ever given, so that ties fall to the lower id.
        """
        payers = {p: grant.pay for p, grant in enumerate(self.grants) if grant.pay in self.vcpus}
        runners = {p: grant.run for p, grant in enumerate(self.grants) if grant.run in self.vcpus}
        if self.setup.quantum is not None:
            for payer in payers.values():
                if not self._goes_on_paying(payer):
                    self.vcpus[payer].pay_turn = self._turn(chosen, payer)
            for runner in runners.values():
                if not self._goes_on_running(runner):
                    self.vcpus[runner].run_turn = self._turn(chosen, runner)
        for last, places in ((self.last_payer, payers), (self.last_runner, runners)):
            for p, v in places.items():
                _become_last(last, p, v)
                self.vcpus[v].last_pcpu = p

    def _place_guests(self, before: list[Grant]) -> None:
        """Best-effort vcpus run where nobody else does, in turns; who pays goes on paying."""
        free = [p for p in self._available() if self.grants[p].run is None]
        waiting = [v for v in self.guests if self.vcpus[v].work]
        waiting.sort(key=self._guest_rank)
        chosen = waiting[: len(free)]
        others_wait = len(waiting) > len(free)
        for v in chosen:
            # A turn is renewed only if somebody else waits for it.
            renewed = others_wait and not self._goes_on_as_guest(v)
            if renewed or v not in self.last_guest:
                self.vcpus[v].run_turn = self._turn(chosen, v)
        was_on = [grant.run for grant in before]
        for v, p in self._places(chosen, was_on, free).items():
            self.grants[p] = self.grants[p]._replace(run=v)
            self.vcpus[v].last_pcpu = p
            _become_last(self.last_guest, p, v)

    def _place_share(self) -> None:
        """Weights: time of nobody goes to who has a claim, then by score, a share at a time.

        A share begins only if no period begins before its end. One that has begun goes on, but for
        a claim that comes before the one that it was given for.
        """
        if self.grants[0].run is not None or not self._available():
            self.share = None
            return
        if self.share is not None and self.share.ends <= self.now:
            self.share = None
        ends = self.now + self.setup.share
        waiting = [self.vcpus[v] for v in self.servers if self.vcpus[v].work]
        candidates = [v for v, vcpu in self.vcpus.items() if vcpu.work and self._takes_part(vcpu)]
        if candidates and all(vcpu.deadline >= ends for vcpu in waiting):
            first = min(candidates, key=self._share_rank)
            claim = self.vcpus[first].claim
            if self.share is None or _is_before(claim, self.share.claim):
                self.share = Share(first, ends, claim)
                self._pay_share(self.vcpus[first], [self.vcpus[v] for v in candidates])
        if self.share is not None:
            self.grants[0] = Grant(self.share.vcpu)

    def _pay_share(self, vcpu: Vcpu, candidates: list[Vcpu]) -> None:
        """A claim is settled by its share; else the score goes up by what a share costs."""
        if vcpu.claim is not None:
            vcpu.claim = None
            return
        score = vcpu.score
        for one in candidates:
            one.score -= score
        if vcpu.params.best_effort:
            vcpu.score = 128 * 1024 // vcpu.params.weight
        else:
            vcpu.score = vcpu.params.period * 1024 // vcpu.params.budget

    def _end_share(self, v: int) -> None:
        if self.share is not None and self.share.vcpu == v:
            self.share = None

    def _places(
        self, chosen: list[int], before: list[int | None], allowed: Iterable[int]
    ) -> dict[int, int]:
        """Where the chosen go: stay, else where they were last, else the lowest free pcpu."""
        free = list(allowed)
        places = {v: p for p, v in enumerate(before) if v is not None and v in chosen and p in free}
        for p in places.values():
            free.remove(p)
        for v in chosen:
            if v not in places:
                last = self.vcpus[v].last_pcpu
                places[v] = last if last is not None and last in free else free[0]
                free.remove(places[v])
        return places

    # -- who is first --------------------------------------------------------------------------

    def _eligible(self, v: int) -> bool:
        return self.vcpus[v].work and self.vcpus[v].remaining > 0

    def _waits(self, v: int) -> bool:
        return self.vcpus[v].work and self.vcpus[v].remaining == 0

    def _takes_part(self, vcpu: Vcpu) -> bool:
        """In shares: by a claim or by score."""
        return vcpu.claim is not None or vcpu.params.extra or vcpu.params.best_effort

    def _share_rank(self, v: int) -> tuple[int, ...]:
        vcpu = self.vcpus[v]
        return (0, vcpu.claim, v) if vcpu.claim is not None else (1, vcpu.score, v)

    def _is_ordinary(self, vcpu: Vcpu) -> bool:
        """Under fp-edf: without a priority, after all that have one."""
        return self.setup.policy.order == "fp-edf" and vcpu.params.priority == ORDINARY

    def _urgency(self, vcpu: Vcpu) -> tuple[int, bool, int]:
        """Smaller is more urgent: the level of extra time, then the order rule."""
        ordinary = self._is_ordinary(vcpu)
        by_deadline = self.setup.policy.order == "edf" or ordinary
        return vcpu.level, ordinary, vcpu.deadline if by_deadline else vcpu.params.priority

    def _turn(self, chosen: list[int], v: int) -> Turn:
        return Turn(self.now, chosen.index(v) if v in chosen else 0)

    def _in_turn(self, turn: Turn) -> bool:
        return self.setup.quantum is None or self.now < turn.time + self.setup.quantum

    def _goes_on_paying(self, v: int) -> bool:
        return v in self.last_payer and self._in_turn(self.vcpus[v].pay_turn)

    def _goes_on_running(self, v: int) -> bool:
        return v in self.last_runner and self._in_turn(self.vcpus[v].run_turn)

    def _goes_on_as_guest(self, v: int) -> bool:
        turn_ends = self.vcpus[v].run_turn.time + self.setup.best_effort_turn
        return v in self.last_guest and self.now < turn_ends

    def _payer_rank(self, v: int) -> tuple[object, ...]:
        vcpu = self.vcpus[v]
        return self._urgency(vcpu), not self._goes_on_paying(v), vcpu.pay_turn, v

    def _runner_rank(self, v: int) -> tuple[object, ...]:
        vcpu = self.vcpus[v]
        return self._urgency(vcpu), not self._goes_on_running(v), vcpu.run_turn, v

    def _guest_rank(self, v: int) -> tuple[object, ...]:
        return not self._goes_on_as_guest(v), self.vcpus[v].run_turn, v


def _is_before(claim: int | None, other: int | None) -> bool:
    return claim is not None and (other is None or claim < other)


def restart_head(queue: tuple[Refill, ...], time: int) -> tuple[Refill, ...]:
    """The head counts from this time and takes in the refills that it would meet on its way."""
    head, *rest = queue
    head = Refill(time, head.amount)
    while rest and rest[0].time <= head.time + head.amount:
        head = Refill(head.time, head.amount + rest.pop(0).amount)
    return (head, *rest)


def append_refill(queue: list[Refill], new: Refill, room: int) -> tuple[Refill, ...]:
    """The queue behind the head, at most `room` entries, with one refill more at its end.

    Time that was used in one piece comes back in one piece, however often it was charged on the
    way: a refill that continues the tail joins it.
    """
    if queue and new.time <= queue[-1].time + queue[-1].amount:
        tail = queue[-1]
        return (*queue[:-1], Refill(tail.time, tail.amount + new.amount))
    if len(queue) == room:
        tail = queue[-1]
        return (*queue[:-1], Refill(new.time, tail.amount + new.amount))
    return (*queue, new)


def holders(grants: list[Grant]) -> list[int | None]:
    """The vcpu that holds each pcpu: it pays, with or without work, or it runs on the spare.

    Nobody holds what nobody pays for: best effort and shares leave no trace.
    """
    return [grant.run if grant.pay == SPARE else grant.pay for grant in grants]


def _become_last(last: list[int | None], pcpu: int, v: int) -> None:
    """v is the most recent one on this pcpu, and no longer on the one where it was before."""
    for p, other in enumerate(last):
        if other == v:
            last[p] = None
    last[pcpu] = v
