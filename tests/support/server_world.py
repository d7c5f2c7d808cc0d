# SPDX-License-Identifier: BSD-2-Clause
"""Worlds of servers, and the attacker that looks for work that starves one of them.

A world is a policy and a few servers with small whole periods and budgets. The promise to a server
is its supply bound, in every window in which its vcpu has work; `attack.cpp` draws patterns of
work, lets the core schedule them, and climbs towards the window that lacks most.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from tests.support.building import TOP, make
from tests.support.campaign import SEED, draw_for

from hyperperiod._analysis import Shape
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Budget, Policy, Scope, Slack

FLAG_EXTRA = 2
TRIES, STEPS = 12, 24
"""Patterns that are drawn, and changes of the worst of them."""


@dataclass(frozen=True)
class World:
    """Servers under a policy, in units of one nanosecond, and what is promised to each."""

    policy: Policy
    servers: tuple[Server, ...]
    pcpus: int = 1
    quantum: int = 0
    spare: tuple[int, int] = (1000, 0)
    extra: tuple[bool, ...] = ()
    blackouts: tuple[int | None, ...] = ()
    staircases: tuple[Staircase | None, ...] = ()

    @property
    def group(self) -> Group:
        return Group(self.servers, self.pcpus, (), self.quantum > 0)

    @property
    def shape(self) -> Shape:
        late = self.policy.budget in (Budget.POLLING, Budget.SPORADIC)
        return Shape.POLLING if late else Shape.GENERAL

    def judged(self) -> World:
        """With what the host-level tests promise."""
        found = host_level(self.policy, self.group)
        return self.promising(self.shape, [verdict.holds is True for verdict in found.servers])

    def promising(self, shape: Shape, holds: Sequence[bool]) -> World:
        """With the supply of this shape for those for whom it holds."""
        blackouts = [
            Supply(shape, one.period_ns, one.budget_ns).blackout_ns if yes else None
            for one, yes in zip(self.servers, holds, strict=True)
        ]
        return replace(self, blackouts=tuple(blackouts))

    def promising_each(self, supplies: Sequence[Supply | Staircase | None]) -> World:
        """With these supplies; nothing for who has none."""
        stairs = [one if isinstance(one, Staircase) else None for one in supplies]
        blackouts = [
            one.blackout_ns if isinstance(one, Supply) else None if one is None else 0
            for one in supplies
        ]
        return replace(self, blackouts=tuple(blackouts), staircases=tuple(stairs))

    @property
    def accepted(self) -> bool:
        return any(blackout is not None for blackout in self.blackouts)

    def line(self, seed: int, tries: int = TRIES, steps: int = STEPS) -> str:
        """For the attacker."""
        policy = self.policy
        numbers = [policy.budget.code, policy.order.code, policy.slack.code, self.pcpus]
        numbers += [self.quantum, *self.spare, tries, steps, seed, len(self.servers)]
        for number, one in enumerate(self.servers):
            flags = FLAG_EXTRA if self.extra and self.extra[number] else 0
            blackout = self.blackouts[number]
            numbers += [one.period_ns, one.budget_ns, one.priority, flags]
            numbers.append(-1 if blackout is None else blackout)
            stairs = self.staircases[number] if self.staircases else None
            numbers.append(0 if stairs is None else len(stairs.stairs))
            if stairs is not None:
                numbers += [stairs.period_ns, stairs.budget_ns]
                numbers += [value for stair in stairs.stairs for value in stair]
        return " ".join(map(str, numbers))


@cache
def program() -> Path:
    """The attacker, built once."""
    make("tests/soundness/Makefile")
    return TOP / "build" / "soundness" / "attack"


def attack(lines: Sequence[str]) -> list[tuple[int, str]]:
    """What each world lacks, and the pattern under which it does."""
    text = "\n".join(lines) + "\n"
    done = subprocess.run([program()], input=text, capture_output=True, text=True, check=True)
    answers = [line.partition(" ") for line in done.stdout.splitlines()]
    assert len(answers) == len(lines), done.stderr
    return [(int(lack), pattern) for lack, _, pattern in answers]


def hunt_servers(
    name: str, systems: int, draw_world: Callable[[random.Random], World], least: float = 0.1
) -> None:
    """Attacks so many worlds; fails at the first that lacks something, or if few are accepted."""
    worlds = [draw_world(draw_for(name, number)).judged() for number in range(systems)]
    accepted = [(number, world) for number, world in enumerate(worlds) if world.accepted]
    share = len(accepted) / systems
    assert share >= least, f"{name}: only {share:.1%} accepted: the hunt proves little"
    found = attack([world.line(number) for number, world in accepted])
    for (number, world), (lack, pattern) in zip(accepted, found, strict=True):
        if lack > 0:
            pytest.fail(f"{name}, {number} of {SEED}: {world} lacks {lack} with {pattern}")


def some_servers(draw: random.Random, count: int, load: float, longest: int) -> tuple[Server, ...]:
    """Servers whose bandwidths sum to about `load`; priorities by period, equal or any."""
    priorities = draw.choice(("period", "period", "equal", "any"))
    shares = [draw.random() + 0.05 for _ in range(count)]
    servers = []
    for order in range(count):
        period = draw.randint(2, longest)
        budget = min(period, max(1, round(period * load * shares[order] / sum(shares))))
        rank = {"period": period, "equal": 0, "any": draw.randint(0, 2)}[priorities]
        servers.append(Server(order, f"s{order}", period, budget, rank))
    return tuple(servers)


def some_world(draw: random.Random, policies: Sequence[Policy]) -> World:
    """A world under one of the policies, with a spare or extra time where the policy has it."""
    policy = draw.choice(policies)
    pcpus = 1 if policy.scope is Scope.PARTITIONED else draw.randint(2, 3)
    count = draw.randint(2, 4) if pcpus == 1 else draw.randint(pcpus + 1, pcpus + 3)
    load = draw.uniform(0.3, 1.0) * pcpus
    servers = some_servers(draw, count, load, draw.choice((5, 8, 12, 20, 40, 80)))
    spare = (1000, 0)
    if policy.slack is Slack.SPARE:
        period = draw.randint(3, 12)
        spare = (period, draw.randint(1, period))
    extra: tuple[bool, ...] = ()
    if policy.slack is Slack.EXTRA:
        extra = tuple(draw.random() < 0.5 for _ in servers)
    return World(policy, servers, pcpus, draw.choice((0, 0, 0, 1)), spare, extra)


def survives_attack(world: World, tries: int = 60, steps: int = 60) -> bool:
    """Whether the attacker finds nothing."""
    return attack([world.line(1, tries, steps)])[0][0] == 0
