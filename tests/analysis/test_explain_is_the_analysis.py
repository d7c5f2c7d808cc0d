# SPDX-License-Identifier: BSD-2-Clause
"""Explanations of drawn systems: verdict, bound and window are the analysis' own, by every proof.

Systems have overheads, or servers that are known, or neither. Of each task the explanation must say
what the analysis says, its job must respond in the very bound of the analysis, and its window must
hold what is asked for when the job is done and not a nanosecond before.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from hyperperiod.analysis import Analysis
from hyperperiod.analysis.domains.domain_level import components_of, judge_domain
from hyperperiod.analysis.explain.deciding import Deciding, deciding
from hyperperiod.analysis.explain.supplies import CarriedSupply, supply_corners
from hyperperiod.analysis.explain_result import Explanation
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.analysis.witness import IN_HAND
from hyperperiod.model import (
    Domain,
    Interface,
    Overheads,
    Sbf,
    Scheduler,
    System,
    Task,
    parse_policy,
)

SEEDS = range(24)
ROUNDS = 12
POLICIES = ("ptps", "crps", "wcps", "periodic+edf", "polling", "ds", "rtds", "cbs", "cbs+fp+none")
KINDS = ("plain", "overheads", "servers")


def drawn(draw: random.Random, kind: str) -> System:
    """Two or three domains on one pcpu, most of them with work that their servers can do."""
    domains = []
    for number in range(draw.randrange(2, 4)):
        period = draw.choice([200, 300, 400, 600])
        budget = period * draw.randrange(10, 36) // 100
        share = draw.choice([20, 40, 60, 80])
        tasks = [some_task(draw, at, period, budget, share) for at in range(draw.randrange(1, 4))]
        scheduler = draw.choice([Scheduler.RM, Scheduler.RM, Scheduler.EDF, Scheduler.FIFO])
        domains.append(
            Domain(
                name=f"d{number}",
                scheduler=scheduler,
                interface=Interface(period_ns=period, budget_ns=budget),
                tasks=tuple(tasks),
                pcpu=0,
            )
        )
    cost = Overheads(context_switch_ns=2, pick_ns=1, wake_ns=1, replenish_ns=1)
    return System(
        name="drawn",
        policy=parse_policy(draw.choice(POLICIES)),
        domains=tuple(domains),
        overheads=cost if kind == "overheads" else Overheads(),
        sbf=Sbf.SERVERS if kind == "servers" else Sbf.GENERAL,
    )


def some_task(draw: random.Random, number: int, period: int, budget: int, share: int) -> Task:
    """A task that asks for some percent of what its server has."""
    own = period * draw.randrange(2, 12)
    return Task(
        name=f"t{number}",
        period_ns=own,
        wcet_ns=max(1, own * budget * share // (period * 300)),
        deadline_ns=own * draw.choice([60, 100, 100]) // 100,
        jitter_ns=draw.choice([0, 0, 17]),
        blocking_ns=draw.choice([0, 0, 5]),
    )


def check_done(found: Explanation, bound_ns: int) -> None:
    """The job that decides responds in the bound, and just then what is asked for is covered."""
    window, curves = found.windows[0], found.curves
    assert curves is not None
    assert curves.finish_ns is not None, found.text
    assert curves.finish_ns - curves.release_ns == bound_ns, found.text
    assert (window.what, window.window_ns) == ("done", curves.finish_ns)


def check_window(found: Explanation) -> None:
    """The window adds up, and is short just where the verdict is not yes."""
    window = found.windows[0]
    assert sum(share.time_ns for share in window.shares) == window.demand_ns
    assert sum(lost.time_ns for lost in window.lost) + window.supply_ns == window.window_ns
    if found.schedulable:
        assert window.short_ns <= 0, found.text


def decides(system: System, at: int, name: str) -> Deciding:
    """What decides about a task of the domain with that number."""
    domain, contract = system.domains[at], contracts_of(system)[system.domains[at].name]
    (component,) = components_of(domain)
    index = [source.name for source in component.sources].index(name)
    verdict = judge_domain(domain, contract).parts[name]
    return deciding(domain, contract, component, index, verdict)


def by_what(found: Deciding) -> str:
    """The proof that decided, in a word."""
    if found.job is not None:
        return "in hand"
    if found.loss is not None:
        return "windows"
    return "interface" if found.by_interface else "servers"


def check_covered(found: Deciding) -> None:
    """The supply covers what is asked for in the window, and in no shorter one so much."""
    window, supply = found.witness.windows[0], found.provision.supply
    assert supply.sbf(window.window_ns) == window.supply_ns
    if window.what == "done" and not isinstance(supply, CarriedSupply):
        assert supply.sbf(window.window_ns - 1) < window.demand_ns
    end_ns = window.window_ns * 2
    for at_ns, least_ns in supply_corners(supply, end_ns):
        assert supply.sbf(at_ns) == least_ns


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rounds", [ROUNDS // 2, pytest.param(ROUNDS, marks=pytest.mark.slow)])
def test_explanations_have_the_numbers_of_the_analysis(rounds: int, kind: str) -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        draw = random.Random(f"explain {kind} {seed}")
        for _ in range(rounds):
            system = drawn(draw, kind)
            known = Analysis(system)
            for at, domain in enumerate(known.result().domains):
                for task in domain.tasks:
                    found = known.explanation(f"{domain.name}.{task.name}")
                    assert found.schedulable is task.schedulable, (system, found.text)
                    if not found.windows:
                        assert not task.schedulable, (system, found.text)
                        continue
                    check_window(found)
                    decided = decides(system, at, task.name)
                    check_covered(decided)
                    if not task.schedulable:
                        continue
                    seen[by_what(decided)] += 1
                    assert (found.account == IN_HAND) is (decided.job is not None)
                    if system.domains[at].scheduler is Scheduler.RM:
                        assert task.response_bound_ns is not None
                        check_done(found, task.response_bound_ns)
    wanted = {"plain": ["interface"], "overheads": ["interface", "windows"]}
    least = {name: seen[name] for name in wanted.get(kind, ["interface", "servers", "in hand"])}
    assert min(least.values()) >= 20, seen


def nested(draw: random.Random, kind: str) -> System:
    """A drawn system whose first domain holds another one in place of its tasks."""
    given = drawn(draw, kind)
    first, *others = given.domains
    assert first.interface is not None
    period, budget = 4 * first.interface.period_ns, first.interface.budget_ns
    inner = Domain(
        name="inner",
        scheduler=draw.choice([Scheduler.RM, Scheduler.EDF]),
        interface=Interface(period_ns=period, budget_ns=budget * draw.choice([1, 2])),
        tasks=tuple(some_task(draw, number, period, budget, 40) for number in range(2)),
    )
    outer = Domain(
        name=first.name,
        scheduler=draw.choice([Scheduler.RM, Scheduler.EDF]),
        interface=first.interface,
        domains=(inner,),
        pcpu=0,
    )
    return System(
        name="nested",
        policy=given.policy,
        domains=(outer, *others),
        overheads=given.overheads,
        sbf=given.sbf,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_so_have_those_of_domains_in_domains(kind: str) -> None:
    seen: Counter[bool | None] = Counter()
    for seed in range(60):
        known = Analysis(nested(random.Random(f"explain nested {kind} {seed}"), kind))
        inner = known.system.domains[0].domains[0]
        for task in known.result().domains[0].domains[0].tasks:
            found = known.explanation(f"inner.{task.name}")
            assert found.schedulable is task.schedulable, found.text
            seen[task.schedulable] += 1
            if not found.windows:
                assert not task.schedulable, found.text
                continue
            check_window(found)
            if task.schedulable and inner.scheduler is Scheduler.RM:
                assert task.response_bound_ns is not None
                check_done(found, task.response_bound_ns)
    assert min(seen[True], seen[None]) >= 5, seen
