# SPDX-License-Identifier: BSD-2-Clause
"""Budgets as small as the account of overheads by windows allows, against runs that pay for them.

Random systems under the rules that the account is about, on one pcpu or on two together: ties,
coprime and harmonic periods, given
priorities against the periods, several vcpus, many tiny jobs, best-effort neighbours, spare and
extra time, a quantum. Each budget is the least with which the domain is judged schedulable. Runs
begin in many phases and climb towards longer responses: no task that is called schedulable may miss
a deadline or respond later than its bound.

What is counted is looked at by itself as well: in traces of such systems with any budgets, between
arrival and departure of a vcpu, what it was charged less what its jobs took is the cost of picks.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.campaign import Trial, climb, hunt, sizes
from tests.support.overhead_worlds import STEP_NS, some_overheads

from hyperperiod.analysis import analyze
from hyperperiod.analysis.domains.domain_level import judge_domain
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.analysis.window_loss import WindowLoss, window_loss
from hyperperiod.model import (
    Budget,
    Domain,
    Interface,
    Order,
    Scheduler,
    Scope,
    Slack,
    System,
    Task,
    TaskKind,
    to_toml,
)
from hyperperiod.model.policy import legal_policies
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Kind, read

HORIZON_NS = 12_000_000
QUANTUM_NS = 10 * STEP_NS
LONG_NS = 5_000_000
PHASES, CLIMBS = 3, 3
POLICIES = [
    policy
    for policy in legal_policies()
    if policy.budget in (Budget.PERIODIC, Budget.DEFERRABLE, Budget.POLLING)
    and policy.order in (Order.FP, Order.EDF)
    and policy.slack in (Slack.NONE, Slack.RECLAIM, Slack.SPARE, Slack.EXTRA)
]
SERVER_PERIODS = ((60, 120, 240), (100, 100, 100), (70, 110, 130), (60, 90, 120, 200))


def some_task(draw: random.Random, number: int, share: float, tiny: bool, vcpu: int | None) -> Task:
    period = draw.choice((150, 210, 300) if tiny else (400, 500, 600, 800, 1000, 1200, 1700))
    kind = draw.choice((TaskKind.PERIODIC, TaskKind.PERIODIC, TaskKind.SPORADIC, TaskKind.EVENT))
    deadline = period * draw.choice((1, 1, 1, 2))
    return Task(
        name=f"t{number}",
        kind=kind,
        period_ns=period * STEP_NS,
        wcet_ns=max(STEP_NS // 2, int(period * share * STEP_NS)),
        deadline_ns=deadline * STEP_NS,
        jitter_ns=draw.choice((0, 0, draw.randint(0, period))) * STEP_NS,
        vcpu=vcpu,
    )


def some_domain(draw: random.Random, number: int, share: float, period: int) -> Domain:
    vcpus = draw.choice((1, 1, 1, 2))
    tiny = draw.random() < 0.3
    count = vcpus * draw.randint(1, 3 if tiny else 2)
    tasks = [
        some_task(draw, at, share / count, tiny, at % vcpus if vcpus > 1 else None)
        for at in range(count)
    ]
    if draw.random() < 0.2:
        tasks.append(Task(name="busy", kind=TaskKind.BUSY, vcpu=0 if vcpus > 1 else None))
    return Domain(
        name=f"d{number}",
        scheduler=draw.choice((Scheduler.RM, Scheduler.DM, Scheduler.EDF)),
        vcpus=vcpus,
        pcpu=0,
        tasks=tuple(tasks),
        extra=draw.random() < 0.3,
        interface=Interface(period_ns=period * STEP_NS, budget_ns=period * STEP_NS),
    )


def some_system(draw: random.Random) -> System:
    policy = draw.choice(POLICIES)
    count = draw.randint(1, 4)
    periods = draw.choice(SERVER_PERIODS)
    total = draw.uniform(0.05, 0.45)
    domains = [some_domain(draw, at, total / count, draw.choice(periods)) for at in range(count)]
    if policy.order is Order.FP and draw.random() < 0.3:
        numbers = draw.sample(range(count), count)
        domains = [d.replace(priority=n) for d, n in zip(domains, numbers, strict=True)]
    if draw.random() < 0.3:
        tasks = [some_task(draw, at, 0.03, True, None) for at in range(draw.randint(1, 3))]
        rest = Domain(name="rest", best_effort=True, pcpu=0, tasks=tuple(tasks))
        domains.insert(draw.randint(0, count), rest)
    spare = None
    if policy.slack is Slack.SPARE:
        spare = Interface(period_ns=120 * STEP_NS, budget_ns=10 * draw.randint(1, 12) * STEP_NS)
    together = policy.scope is Scope.GLOBAL
    if together:
        domains = [domain.replace(pcpu=None) for domain in domains]
    return System(
        name="random",
        policy=policy,
        pcpus=2 if together else 1,
        quantum_ns=draw.choice((None, None, None, QUANTUM_NS)),
        overheads=some_overheads(draw),
        spare=spare,
        domains=tuple(domains),
    )


def with_budget(domain: Domain, budget_ns: int) -> Domain:
    assert domain.interface is not None
    period_ns = domain.interface.period_ns
    return domain.replace(interface=Interface(period_ns=period_ns, budget_ns=budget_ns))


def tightest(system: System) -> System:
    """Each budget as small as the domain can have it, by bisection."""
    granule_ns = system.quantum_ns or 1
    contracts = contracts_of(system)
    domains = list(system.domains)
    for at, domain in enumerate(domains):
        if domain.interface is None:
            continue
        refused, served = 0, domain.interface.budget_ns // granule_ns
        while served - refused > max(1, served // 200):
            middle = (served + refused) // 2
            tried = with_budget(domain, middle * granule_ns)
            if judge_domain(tried, contracts[domain.name]).whole.holds:
                served = middle
            else:
                refused = middle
        domains[at] = with_budget(domain, served * granule_ns)
    return system.replace(domains=tuple(domains))


def shifted(system: System, offsets: tuple[int, ...]) -> System:
    rest = iter(offsets)
    domains = [
        d.replace(tasks=tuple(t.replace(offset_ns=next(rest) * STEP_NS // 4) for t in d.tasks))
        for d in system.domains
    ]
    return system.replace(domains=tuple(domains))


def trial(draw: random.Random) -> Trial:
    """Whether no run that is tried breaks a promise."""
    system = tightest(some_system(draw))
    promised = analyze(system)
    claims = {
        (domain.name, task.name): task.response_bound_ns
        for domain in promised.domains
        for task in domain.tasks
        if task.schedulable
    }
    if not claims:
        return Trial(accepted=False)
    number, seed = sum(len(domain.tasks) for domain in system.domains), draw.randrange(1000)

    def score(offsets: tuple[int, ...]) -> int:
        """The longest response in millionths of its bound, above that if a deadline is missed."""
        worst = 0
        for domain in simulate(shifted(system, offsets), HORIZON_NS, seed).domains:
            for task in domain.tasks:
                bound_ns = claims.get((domain.name, task.name))
                if bound_ns is not None:
                    seen_ns = task.response_ns.max if task.response_ns else 0
                    worst = max(worst, 10**6 * seen_ns // bound_ns, 10**7 * bool(task.misses))
                    worst += seen_ns > bound_ns
        return worst

    def around(offsets: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for _ in range(3):
            at, shift = draw.randrange(number), draw.choice((-40, -4, -1, 1, 4, 40))
            yield (*offsets[:at], max(0, offsets[at] + shift), *offsets[at + 1 :])

    starts = [(0,) * number]
    starts += [tuple(draw.randrange(1200) for _ in range(number)) for _ in range(PHASES - 1)]
    offsets, worst = climb(max(starts, key=score), around, score, CLIMBS)
    if worst > 10**6:
        text = to_toml(shifted(system, offsets))
        return Trial(True, f"{worst} of a million, seed {seed}: {claims} in {text}")
    return Trial(accepted=True)


@sizes(40)
def test_windows_lose_no_more_than_the_account(systems: int) -> None:
    hunt("window loss", systems, trial, least_accepted=0.2)


# Work is paid for by its own server alone; a spare or another server would pay for some of it.
PAYS_FOR_ALL = [policy for policy in POLICIES if policy.slack is Slack.NONE]


def busy_system(draw: random.Random) -> System:
    """Small jobs that come often, and one domain that works for long stretches."""
    system = some_system(draw)
    domains = []
    for domain in system.domains:
        if domain.interface is not None:
            domain = with_budget(domain, draw.choice((1, 2, 3)) * QUANTUM_NS)
        often = (
            some_task(draw, at, 0.001, True, 0).replace(
                period_ns=draw.choice((30, 47, 80, 150)) * STEP_NS, jitter_ns=0
            )
            for at in range(draw.randint(1, 4))
        )
        domains.append(domain.replace(tasks=tuple(often)))
    at = draw.choice([at for at, domain in enumerate(domains) if domain.interface is not None])
    own = domains[at].interface
    assert own is not None
    period_ns = own.period_ns
    share = draw.uniform(0.2, 0.8)
    granules = max(1, int(share * period_ns) // QUANTUM_NS)
    work_ns = int(draw.uniform(0.1, 0.6) * share * LONG_NS)
    long = Task(name="long", period_ns=LONG_NS, wcet_ns=work_ns)
    domains[at] = with_budget(domains[at].replace(vcpus=1, tasks=(long,)), granules * QUANTUM_NS)
    policy = draw.choice([one for one in PAYS_FOR_ALL if one.scope is system.policy.scope])
    return system.replace(policy=policy, spare=None, domains=tuple(domains))


class Charged:
    """One vcpu from its arrival on: what it was charged while it ran, and what its jobs took."""

    def __init__(self, since_ns: int) -> None:
        self.since_ns, self.charged_ns, self.done_ns = since_ns, 0, 0


def costs_in(system: System, horizon_ns: int, seed: int) -> Iterator[tuple[int, int, int]]:
    """Each departure: the vcpu, how long it had work, and the cost of the picks meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.hpt"
        simulate(system, horizon_ns, seed, trace_path=path)
        header, records = read(path)
        open_: dict[int, Charged] = {}
        for record in records:
            kind, vcpu, now_ns = Kind(record["kind"]), int(record["vcpu"]), int(record["time_ns"])
            if kind is Kind.ARRIVE:
                open_[vcpu] = Charged(now_ns)
            elif kind is Kind.CHARGE and vcpu == record["payer"]:
                open_[vcpu].charged_ns += int(record["value"])
            elif kind is Kind.COMPLETE:
                open_[vcpu].done_ns += header["tasks"][int(record["task"])]["wcet_ns"] or 0
            elif kind is Kind.DEPART:
                seen = open_[vcpu]
                yield vcpu, now_ns - seen.since_ns, seen.charged_ns - seen.done_ns


def count_trial(draw: random.Random) -> Trial:
    """Whether the picks of every vcpu cost no more than the account says."""
    system = busy_system(draw)
    losses: dict[int, WindowLoss] = {}
    first = 0
    for domain in system.domains:
        found = window_loss(system, system.domains, domain)
        if found is not None and domain.vcpus == 1:
            losses[first] = found
        first += domain.vcpus
    if not losses:
        return Trial(accepted=False)
    for vcpu, window_ns, cost_ns in costs_in(system, HORIZON_NS, draw.randrange(1000)):
        if vcpu not in losses:
            continue
        loss = losses[vcpu]
        # A pick in progress when the work came, and one that was due at its end.
        under_way_ns = loss.late_ns * 2 // 3
        most_ns = under_way_ns + loss.once_ns + rbf(loss.loads, window_ns)
        if cost_ns > most_ns:
            return Trial(True, f"{cost_ns} above {most_ns} in {window_ns}: {to_toml(system)}")
    return Trial(accepted=True)


@sizes(40)
def test_picks_cost_no_more_than_is_counted(systems: int) -> None:
    hunt("window picks", systems, count_trial, least_accepted=0.2)
