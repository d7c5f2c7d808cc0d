# SPDX-License-Identifier: BSD-2-Clause
"""Two independent readings of the rules agree, on schedules of the naive model and on wrong ones.

The naive model decides tick by tick; the properties replay budgets from records. Neither knows
the other or the scheduler. A best-effort turn is four ticks here, a share two.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.model_naive.model import SPARE, Grant, World
from tests.support.naive_traces import CASES, TICK_NS, TICKS, NaiveRun, play
from tests.support.rules import GLOBAL, LOCAL

from hyperperiod.trace.format import RECORD
from hyperperiod.trace.properties import PROPERTIES, Status, check_all


@pytest.mark.parametrize(("rules", "pcpus"), CASES, ids=str)
def test_schedules_of_the_naive_model_have_every_property(
    rules: Any, pcpus: int, tmp_path: Path
) -> None:
    for seed in range(4):
        header, records = play(rules, pcpus, seed).trace(tmp_path)
        for one, finding in zip(PROPERTIES, check_all(header, records), strict=True):
            assert finding.status is not Status.FAILS, (one.name, seed, finding.violations[:3])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("rules", "pcpus"), CASES, ids=str)
def test_so_do_those_with_changes(rules: Any, pcpus: int, seed: int, tmp_path: Path) -> None:
    header, records = play(rules, pcpus, seed, LOCAL if pcpus == 1 else GLOBAL).trace(tmp_path)
    for one, finding in zip(PROPERTIES, check_all(header, records), strict=True):
        assert finding.status is not Status.FAILS, (one.name, finding.violations[:3])


class Judge:
    """What the naive model says of grants that differ from its own on one pcpu.

    Each method says whether a property fails in that tick; None: that is not for it to say.
    """

    def __init__(self, run: NaiveRun, right: Sequence[Grant], pcpu: int, wrong: Grant) -> None:
        self.world = world = run.run.world
        self.before, self.right, self.wrong = run.before[pcpu], right[pcpu], wrong
        self.should = right
        self.grants = [*right[:pcpu], wrong, *right[pcpu + 1 :]]
        self.slack = world.setup.policy.slack
        self.is_periodic = world.setup.policy.budget == "periodic"
        self.run, self.pay = wrong.run, wrong.pay
        runs = [grant.run for grant in self.grants]
        self.elsewhere = {*runs[:pcpu], *runs[pcpu + 1 :]} - {None}
        self.working = [v for v in world.servers if world.vcpus[v].work]
        self.able = [v for v in self.working if world.vcpus[v].remaining]
        self.left = [v for v in self.able if v not in runs]
        self.guests = [v for v in world.guests if world.vcpus[v].work and v not in runs]

    def has_server(self, v: object) -> bool:
        return v in self.world.servers

    def is_free(self, grant: Grant) -> bool:
        return not self.has_server(grant.run)

    def is_funded(self, v: Any) -> bool:
        if v == SPARE:
            return self.world.spare_remaining > 0
        return self.has_server(v) and self.world.vcpus[v].remaining > 0

    def place(self, v: Any) -> Any:
        """Where a server stands in the order; equals may stand in for one another."""
        several = len(self.grants) > 1 and self.has_server(v)
        return self.world._urgency(self.world.vcpus[v]) if several else v

    def served(self, grant: Grant) -> int | None:
        """The vcpu that runs on a server's time; None on free time, the spare's, or a share."""
        is_share = grant.pay is None and self.slack == "weights"
        return None if self.is_free(grant) or grant.pay == SPARE or is_share else grant.run

    def one_pcpu(self) -> bool:
        return self.run in self.elsewhere

    def payer(self) -> bool | None:
        lends = self.slack == "lend" and self.has_server(self.run) and self.pay != self.run
        if (self.wrong.also is not None) != lends:
            return True
        if self.is_periodic:
            if self.pay is not None and [grant.pay for grant in self.grants].count(self.pay) > 1:
                return True
            is_funded = self.pay is None or self.is_funded(self.pay)
            return not is_funded or self.place(self.pay) != self.place(self.right.pay)
        on_spare = [SPARE] if self.slack == "spare" else []
        if self.is_free(self.wrong):
            return self.pay not in [None, *on_spare]
        if self.is_funded(self.run):
            return self.pay != self.run
        return self.pay not in ([None] if self.slack == "weights" else on_spare)

    def order(self) -> bool | None:
        if self.is_periodic and self.slack == "none":
            works = self.pay in self.world.vcpus and self.world.vcpus[self.pay].work
            return self.served(self.wrong) != (self.pay if works else None)
        if self.is_periodic and self.pay != self.right.pay:
            return None
        served, should = (
            Counter(self.place(self.served(one)) for one in grants)
            for grants in (self.grants, self.should)
        )
        return served != should

    def idle(self) -> bool:
        if all(grant.run is not None for grant in self.grants):
            return False
        if self.is_periodic and self.slack == "none":
            return any(grant.pay in self.left for grant in self.grants)
        if self.slack == "reclaim" and any(map(self.is_funded, self.world.servers)):
            return bool(self.working)
        return bool(self.left)

    def depleted(self) -> bool:
        if self.is_free(self.wrong) or self.run is None:
            return False
        is_extra = self.world.vcpus[self.run].level > 0
        if self.pay == self.run and (self.wrong.level > 0) != is_extra:
            return True
        if self.is_funded(self.run) or (self.pay is None and self.slack == "weights"):
            return False
        by_others = self.pay == SPARE or self.slack == "reclaim"
        return not (by_others and self.is_funded(self.pay) and self.wrong.also is None)

    def best_effort(self) -> bool | None:
        if not self.world.guests:
            return False
        idles = any(grant.run is None for grant in self.grants)
        if idles and self.guests and self.slack != "weights":
            return True
        guests = [grant for grant in self.grants if grant.run in self.world.guests]
        if not self.is_periodic and guests and (self.left if len(self.grants) > 1 else self.able):
            return True
        if self.wrong not in guests or self.run is None:
            return False
        may_pay = self.pay in (None, SPARE) or self.is_periodic
        if self.wrong.also is not None or not may_pay or not self.world.vcpus[self.run].work:
            return True
        if self.is_periodic and self.pay != self.right.pay:
            return None
        if self.is_periodic and self.served(self.right) is not None:
            return True
        goes_on = self.before is not None and self.before.run == self.run
        return None if goes_on and self.run != self.right.run else False

    def spare(self) -> bool:
        here = [grant for grant in self.grants if grant.pay == SPARE]
        if self.slack != "spare" or not here:
            is_free = any(map(self.is_free, self.grants))
            return self.slack == "spare" and is_free and self.is_funded(SPARE)
        if len(here) > 1 or self.left:
            return True
        depleted = {v: self.world.vcpus[v].deadline for v in self.working if v not in self.able}
        if self.is_free(here[0]):
            return bool(depleted)
        return depleted.get(here[0].run or 0) != max(depleted.values(), default=0)

    def budget(self) -> bool | None:
        """Nobody pays who has no server; what one pays without budget is another matter."""
        payers = [one for one in (self.pay, self.wrong.also) if one is not None]
        has_spare = self.world.setup.spare_period > 0
        if any(not (has_spare if one == SPARE else self.has_server(one)) for one in payers):
            return True
        all_payers = [one for grant in self.grants for one in (grant.pay, grant.also)]
        once = all(all_payers.count(one) == 1 for one in payers)
        return False if once and all(map(self.is_funded, payers)) else None

    def shares(self) -> bool | None:
        if self.slack != "weights" or self.pay is not None:
            return None if self.slack == "weights" and self.run is None else False
        share = self.world.share
        if self.right.pay is not None or self.run == self.right.run:
            return None
        begins = share is not None and share.ends == self.world.now + self.world.setup.share
        return True if begins or (share is None and self.run is not None) else None


JUDGED = (
    "one-pcpu", "payer", "order", "idle", "depleted", "best-effort", "spare", "budget", "shares",
)  # fmt: skip


def drawn_grant(random: Random, world: World) -> Grant:
    """Any grant, possible or not."""
    run = random.choice([None, *world.vcpus])
    pay = random.choice([run, None, SPARE, *world.vcpus])
    also = run if run != pay and random.random() < 0.3 else None
    level = world.vcpus[run].level if run is not None else 0
    return Grant(run, pay, also, random.choice((level, level, 1)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("rules", "pcpus"), CASES, ids=str)
def test_what_the_naive_model_has_not_granted_is_refused(rules: Any, pcpus: int) -> None:
    for seed in range(3):
        random = Random(f"{rules} {pcpus} {seed}")
        others = LOCAL if pcpus == 1 else GLOBAL
        run = NaiveRun(rules, pcpus, random, others if seed == 2 else ())
        for now in range(TICKS // 2):
            right = run.decide()
            has_turns = run.run.world.setup.quantum is not None
            if now % 6 == 5 and not has_turns and not run.run.world.stolen:
                for _ in range(12):
                    judge(run, right, random.randrange(pcpus), drawn_grant(random, run.run.world))
            run.record(right)


def judge(run: NaiveRun, right: list[Grant], pcpu: int, wrong: Grant) -> None:
    """Each property fails in the last tick, or holds, as the naive model says."""
    says = Judge(run, right, pcpu, wrong)
    script = run.with_others(says.grants)
    verdicts = check_all(script.header, np.array(script.rows, RECORD))
    found = dict(zip((one.name for one in PROPERTIES), verdicts, strict=True))
    low_ns = run.now * TICK_NS
    for name in JUDGED:
        fails = getattr(says, name.replace("-", "_"))()
        if fails is not None:
            verdict = found[name]
            assert (verdict.status is Status.FAILS) == fails, (name, says.grants, right, verdict)
            high_ns = low_ns + (TICK_NS if name == "budget" else 0)
            told = [one.time_ns for one in verdict.violations]
            assert not told or low_ns <= max(told) <= high_ns, (name, told)
