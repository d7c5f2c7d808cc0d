# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis promises of whole systems whose jobs move, the simulator keeps.

As in `test_whole_systems`, but most domains have two or three vcpus with interfaces and pcpus of
their own, and a global scheduler: gedf, grm, gdm or gfp. Of what no test of such domains covers
(overheads, flows, deadlines beyond the next release, most budget rules) hardly anything is drawn.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

from tests.support.campaign import hunt, sizes
from tests.support.whole_worlds import POLICIES, World, trial

from hyperperiod.model import (
    Budget,
    Domain,
    Interface,
    Overheads,
    OwnVcpu,
    Sbf,
    Scheduler,
    System,
    Task,
)

GLOBAL = [one for one in Scheduler if one.is_global]


COVERED = [one for one in POLICIES if one.budget in (Budget.PERIODIC, Budget.DEFERRABLE)]


class MovingWorld(World):
    """Systems in which most domains schedule their jobs globally."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__(draw, POLICIES if draw.random() < 0.1 else COVERED)
        self.overheads = Overheads()
        self.flows = self.harmonic = False

    def system(self) -> System:
        return super().system().replace(sbf=Sbf.GENERAL)

    def task(self, name: str, share: float, scheduler: Scheduler, pace: int, **place: Any) -> Task:
        one = super().task(name, share, scheduler, pace, **place)
        assert one.period_ns is not None
        assert one.deadline_ns is not None
        if self.chance(0.05):
            return one
        return one.replace(deadline_ns=min(one.deadline_ns, one.period_ns), jitter_ns=0)

    def domain(self, name: str, share: float, *, numbered: bool) -> Domain:
        draw = self.draw
        if self.chance(0.3):
            return super().domain(name, share, numbered=numbered)
        scheduler = draw.choice(GLOBAL)
        vcpus = draw.choice((1, 2, 2, 2, 3))
        count = draw.randint(1, 2 * vcpus)
        demand = share * draw.uniform(0.15, 0.7) / count
        pace = draw.choice(self.paces)
        tasks = [self.task(f"t{index}", demand, scheduler, pace) for index in range(count)]
        if self.chance(0.1):
            tasks.append(self.busy("busy", scheduler, 1))
        return Domain(
            name=name,
            scheduler=scheduler,
            priority=draw.randint(0, 2) if numbered else None,
            tasks=tuple(tasks),
            own_vcpus=tuple(self.vcpu(share / vcpus) for _ in range(vcpus)),
        )

    def vcpu(self, share: float) -> OwnVcpu:
        """A vcpu that gets about its share of a pcpu."""
        period = self.draw.choice(self.paces)
        budget = min(period, max(1, round(period * share * self.draw.uniform(0.8, 1.6))))
        keys: dict[str, Any] = {
            "interface": Interface(period_ns=period * self.tick, budget_ns=budget * self.tick),
            "extra": self.chance(0.3),
        }
        if self.alone:
            keys["pcpu"] = self.draw.randrange(self.pcpus)
        return OwnVcpu(**keys)


@sizes(50)
def test_systems_with_moving_jobs_keep_what_is_promised(systems: int) -> None:
    hunt("moving jobs", systems, partial(trial, kind=MovingWorld), least_accepted=0.3)


def test_most_domains_that_are_drawn_move_their_jobs() -> None:
    draw = random.Random("moving jobs")
    drawn = [one for _ in range(50) for one in MovingWorld(draw).system().domains]
    assert sum(one.scheduler.is_global and one.vcpus > 1 for one in drawn) > len(drawn) / 3
