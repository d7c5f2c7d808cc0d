# SPDX-License-Identifier: BSD-2-Clause
"""Robust systems: those whose schedule does not hang on a hair.

On a real machine everything comes a little late: an interrupt, a wake, the end of a switch. Where
two things happen almost at once, a microsecond decides which is first, and from there on two
hosts may rightly do different things. A system is robust when that cannot happen to it: moving
every release, every execution time, every end of a budget and every cost within a bound leaves
the sequence of (run, pay) as it is. Such systems can be compared instant by instant.

A candidate is drawn from its number, simulated, and simulated again in many perturbed versions.
`NUMBERS` and `SHARED` hold the numbers that passed; `python -m tests.support.robust` finds them
anew.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import count, islice
from pathlib import Path

from tests.support.rules import SCHEDULERS

from hyperperiod.model import (
    Change,
    Domain,
    Flow,
    Interface,
    Overheads,
    OwnVcpu,
    Scheduler,
    Swap,
    System,
    Task,
    TaskKind,
    parse_policy,
)
from hyperperiod.model.policy import PRESETS, Order, Slack
from hyperperiod.runs import simulate
from hyperperiod.trace.compare import Trace, compare
from hyperperiod.trace.format import read
from hyperperiod.trace.intervals import intervals
from hyperperiod.trace.jobs import jobs

BOUND_NS = 30_000
"""How far a release or an execution time is moved, and the most that one pick may cost."""
LATE_PART = 6
"""The end of a budget is moved by BOUND_NS divided by this: only a timer is late there."""
DRIFT_NS = 10 * BOUND_NS
"""The most by which what adds up may move an interval or a response: by a few moves, so no jump."""
HORIZON_NS = 301_300_000
"""Ten to forty periods of every server; no multiple of any period drawn here."""
SEED = 7
VERSIONS = 60
"""Perturbed versions that must all have the same sequence."""
WANTED = 14
"""Robust systems per preset."""
GUESTS_WANTED = 3
"""Robust systems per preset that are one guest with several vcpus."""

Draw = Callable[[str, int], System]

_US = 1_000
_MS = 1_000_000

# Found by `python -m tests.support.robust`; test_robust.py checks some of them again.
NUMBERS: dict[str, tuple[int, ...]] = {
    "ptps": (43, 47, 81, 112, 127, 174, 212, 232, 242, 253, 294, 325, 349, 351),
    "wcps": (25, 57, 59, 72, 77, 101, 180, 189, 297, 302, 310, 394, 434, 446),
    "crps": (7, 9, 76, 80, 121, 277, 331, 410, 420, 429, 441, 512, 530, 537),
    "ds": (47, 54, 69, 93, 151, 166, 190, 212, 319, 364, 373, 423, 432, 457),
    "polling": (2, 5, 7, 59, 66, 71, 81, 119, 124, 125, 141, 144, 150, 191),
    "sporadic": (72, 83, 127, 207, 214, 265, 281, 283, 284, 292, 379, 384, 429, 476),
    "rtds": (15, 17, 26, 39, 73, 88, 96, 105, 115, 121, 130, 139, 163, 168),
    "ertds": (25, 29, 41, 56, 101, 177, 205, 219, 306, 319, 362, 512, 536, 559),
    "cbs": (58, 78, 86, 106, 111, 139, 186, 207, 217, 230, 325, 339, 341, 346),
    "sedf": (26, 47, 235, 268, 274, 320, 384, 510, 532, 577, 691, 759, 852, 888),
    "sedf-prime": (74, 86, 166, 294, 329, 385, 475, 513, 585, 615, 743, 824, 899, 1051),
    "psedf": (82, 99, 124, 136, 146, 217, 276, 312, 321, 347, 388, 512, 608, 634),
    "hsf-fp": (34, 38, 45, 62, 71, 73, 93, 99, 118, 138, 146, 168, 174, 180),
    "partitioned-hsf-fp": (1, 2, 7, 14, 23, 32, 36, 55, 87, 92, 94, 100, 120, 151),
}

SHARED: dict[int, dict[str, tuple[int, ...]]] = {
    2: {
        "rtds": (15, 17, 42, 97, 105, 220, 316, 365, 388, 389, 486, 511, 518, 526),
        "ertds": (74, 195, 331, 428, 520, 731, 1131, 1263, 1300, 1441, 1925, 2045, 2056, 2085),
        "deferrable+edf+none+global": (
            30,
            53,
            84,
            86,
            193,
            401,
            421,
            451,
            707,
            718,
            722,
            789,
            793,
            903,
        ),
    },
    4: {
        "rtds": (538, 1008, 1363, 1703, 1726),
        "ertds": (109, 383, 738, 1011, 1464),
    },
}
"""On several pcpus that a global policy shares out: pcpus, policy, numbers."""

SWAPPED = {"rtds": (365, 388, 526), "ertds": (74, 331, 428, 520)}
"""Those on two pcpus that are robust with their policy swapped five times, too (`swapped`)."""

GLOBAL = (
    *("rtds", "ertds", "deferrable+edf+none+global", "deferrable+fp+none+global"),
    *("cbs+edf+none+global", "periodic+edf+none+global", "deferrable+edf+spare+global"),
    "cbs+fp+extra+global",
)


def swapped(system: System) -> System:
    """A system whose pcpus are shared out by one global policy after the other."""
    draw = random.Random(f"swaps of {system.name}")
    at_ns, last = 0, system.policy
    swaps = []
    for _ in range(5):
        at_ns += draw.randint(30 * _MS, 60 * _MS)
        last = draw.choice([one for one in map(parse_policy, GLOBAL) if one != last])
        swaps.append(Swap(at_ns=at_ns, policy=last))
    return system.replace(swaps=tuple(swaps))


MOVED: dict[str, tuple[int, ...]] = {
    "ptps": (19, 136, 160, 215, 237),
    "ds": (148, 592, 819, 822, 827),
    "crps": (426, 1431, 9301),
}
"""Those whose vcpus move between two pcpus of a partitioned policy (`moving`)."""


def moving(preset: str, number: int) -> System:
    """The candidate with this number on two pcpus; its vcpus move to and fro, some get less."""
    system = candidate(preset, number, 2)
    draw = random.Random(f"moves of {system.name}")
    places = {domain.name: index % 2 for index, domain in enumerate(system.domains)}
    at_ns = 0
    changes = []
    for _ in range(7):
        at_ns += draw.randint(20 * _MS, 45 * _MS)
        domain = draw.choice(system.domains)
        places[domain.name] ^= 1
        old = domain.interface
        less = None
        if old is not None and draw.random() < 0.4:
            less = old.replace(budget_ns=old.budget_ns * draw.randint(7, 9) // 10)
        changes.append(
            Change(at_ns=at_ns, domain=domain.name, interface=less, pcpu=places[domain.name])
        )
    domains = tuple(one.replace(pcpu=index % 2) for index, one in enumerate(system.domains))
    return system.replace(domains=domains, changes=tuple(changes))


def side_by_side(systems: Sequence[System]) -> System:
    """Systems of one partitioned policy, each on a pcpu of its own."""
    domains = tuple(
        domain.replace(name=f"p{pcpu}-{domain.name}", pcpu=pcpu)
        for pcpu, system in enumerate(systems)
        for domain in system.domains
    )
    name = "-beside-".join(system.name for system in systems)
    return systems[0].replace(name=name, pcpus=len(systems), domains=domains)


# The same of those that are one guest with several vcpus (`one_guest`).
GUESTS: dict[str, tuple[int, ...]] = {
    "ptps": (6, 43, 67),
    "wcps": (25, 57, 72),
    "crps": (7, 76, 79),
    "ds": (47, 54, 62),
    "polling": (2, 5, 37),
    "sporadic": (15, 52, 72),
    "rtds": (17, 26, 39),
    "ertds": (25, 29, 56),
    "cbs": (58, 72, 78),
    "sedf": (26, 47, 94),
    "sedf-prime": (74, 294, 329),
    "psedf": (99, 124, 146),
    "hsf-fp": (34, 38, 41),
    "partitioned-hsf-fp": (1, 7, 14),
}


def robust_systems(preset: str) -> list[System]:
    """The robust systems of a preset that were found."""
    return [candidate(preset, number) for number in NUMBERS[preset]]


def candidate(preset: str, number: int, pcpus: int = 1) -> System:
    """The system with this number; whether it is robust remains to be seen."""
    policy = parse_policy(preset)
    name = f"{preset} {number}" if pcpus == 1 else f"{preset} {number} on {pcpus}"
    draw = random.Random(name)
    base_ms, factors = draw.choice(((5, (1, 2, 4)), (6, (1, 2, 3)), (8, (1, 2, 4)), (10, (1, 2))))
    served = draw.randint(2, 4) + pcpus - 1
    total = draw.uniform(0.5, 0.95) * pcpus
    shares = [draw.uniform(0.5, 1.5) for _ in range(served)]
    domains = []
    for index, share in enumerate(shares):
        period_ns = base_ms * draw.choice(factors) * _MS
        bandwidth = total * share / sum(shares)
        budget_ns = max(200 * _US, int(period_ns * bandwidth) // (10 * _US) * 10 * _US)
        domains.append(
            _domain(
                draw,
                f"d{index}",
                base_ms * _MS,
                bandwidth,
                interface=Interface(period_ns=period_ns, budget_ns=min(budget_ns, period_ns)),
                extra=policy.slack in (Slack.EXTRA, Slack.WEIGHTS) and draw.random() < 0.5,
            )
        )
    if draw.random() < 0.4:
        domains.append(_best_effort(draw, base_ms * _MS))
        if policy.slack is Slack.WEIGHTS:
            weight = draw.choice((None, 40, 300))
            domains[-1] = domains[-1].replace(weight=weight)
    if policy.order is Order.FP_EDF:
        domains = [one if one.best_effort else in_a_class(draw, one) for one in domains]
    return System(name=name.replace(" ", "-"), policy=policy, pcpus=pcpus, domains=tuple(domains))


def one_guest(preset: str, number: int) -> System:
    """The candidate with this number as one domain: what were domains are its vcpus.

    Their interfaces, and whether they have a server, differ as they did.
    """
    system = candidate(preset, number)
    draw = random.Random(f"{system.name} in one guest")
    scheduler = draw.choice(SCHEDULERS)
    tasks = (
        task.replace(
            name=f"{domain.name}-{task.name}",
            vcpu=vcpu,
            priority=draw.randint(0, 3) if scheduler.takes_priorities else None,
        )
        for vcpu, domain in enumerate(system.domains)
        for task in domain.tasks
    )
    guest = Domain(
        name="guest",
        scheduler=scheduler,
        own_vcpus=tuple(
            OwnVcpu(
                priority=one.priority,
                interface=one.interface,
                best_effort=one.best_effort or None,
                extra=one.extra or None,
                weight=one.weight,
            )
            for one in system.domains
        ),
        tasks=tuple(tasks),
    )
    return System(name=f"{system.name}-in-one", policy=system.policy, domains=(guest,))


def in_a_class(draw: random.Random, one: Domain) -> Domain:
    """The domain, real-time with some priority, or ordinary."""
    return one.replace(priority=draw.choice((0, 1, 2, None, None)))


def _domain(
    draw: random.Random, name: str, base_ns: int, bandwidth: float, **rest: object
) -> Domain:
    scheduler = draw.choice(SCHEDULERS)
    tasks = draw.randint(1, 3)
    load = bandwidth * draw.uniform(0.5, 1.1) / tasks
    return Domain.of(
        {
            "name": name,
            "scheduler": scheduler,
            "task": tuple(_task(draw, n, base_ns, load, scheduler) for n in range(tasks)),
            **rest,
        }
    )


def _best_effort(draw: random.Random, base_ns: int) -> Domain:
    if draw.random() < 0.5:
        return Domain(name="rest", best_effort=True)
    return _domain(draw, "rest", base_ns, 0.3, best_effort=True)


def _task(draw: random.Random, index: int, base_ns: int, load: float, scheduler: Scheduler) -> Task:
    kind = draw.choice([TaskKind.PERIODIC] * 6 + [TaskKind.SPORADIC, TaskKind.EVENT, TaskKind.BUSY])
    period_ns = base_ns * draw.choice((1, 2, 4))
    if kind is TaskKind.EVENT:
        period_ns = base_ns * 8
    wcet_ns = max(100 * _US, int(period_ns * load) // (10 * _US) * 10 * _US)
    busy = kind is TaskKind.BUSY
    endless = busy and draw.random() < 0.5
    return Task(
        name=f"t{index}",
        kind=kind,
        period_ns=None if busy else period_ns,
        wcet_ns=None if endless else wcet_ns,
        offset_ns=draw.randint(50, period_ns // (10 * _US)) * 10 * _US,
        jitter_ns=0 if busy else draw.choice((0, 0, 0, draw.randint(1, 5) * 100 * _US)),
        etf=Fraction(1) if endless else draw.choice((Fraction(1), Fraction(1), Fraction(1, 2))),
        priority=draw.randint(0, 3) if scheduler is Scheduler.FP else None,
    )


def is_robust(system: System, horizon_ns: int = HORIZON_NS) -> bool:
    """Whether every perturbed version has the sequence of the system itself, and no job of it
    responds much earlier or later. A system in which a task never runs is none of these."""
    own = simulated(system, horizon_ns)
    ran = {(job.domain, job.task) for job in jobs(*own) if job.start_ns is not None}
    if len(ran) < sum(len(domain.tasks) for domain in system.domains):
        return False
    expected = sequence(own)
    for version in perturbed(system):
        other = simulated(version, horizon_ns)
        if sequence(other) != expected or not compare(own, other, DRIFT_NS).agrees:
            return False
    return True


def perturbed(system: System) -> Iterator[System]:
    """VERSIONS of the system: the extremes first, then everything drawn at once."""
    draw = random.Random(system.name)
    yield _moved(system, _costs(BOUND_NS), lambda: 0)
    yield _moved(system, Overheads(), lambda: BOUND_NS)
    yield _moved(system, _costs(BOUND_NS), lambda: -BOUND_NS)
    for _ in range(VERSIONS - 3):
        costs = _costs(draw.randint(0, BOUND_NS))
        yield _moved(system, costs, lambda: draw.randint(-BOUND_NS, BOUND_NS))


def sequence(trace: Trace) -> list[tuple[str, str]]:
    """Who ran and who paid, one after the other, without the times."""
    return [(row.run, row.pay) for row in intervals(*trace)]


def simulated(system: System, horizon_ns: int, seed: int = SEED) -> Trace:
    """The trace of a run in the simulator."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.hpt"
        simulate(system, horizon_ns, seed, path)
        header, records = read(path)
        return header, records.copy()


def find(preset: str, pcpus: int = 1, draw: Draw | None = None) -> Iterator[int]:
    """The numbers of robust systems, in order, without end."""
    drawn = draw or partial(candidate, pcpus=pcpus)
    return (number for number in count() if is_robust(drawn(preset, number)))


def _costs(whole_ns: int) -> Overheads:
    """Costs of which a pick with one wake and one refill takes `whole_ns`."""
    each_ns = whole_ns // 5
    return Overheads(
        context_switch_ns=each_ns,
        pick_ns=each_ns,
        replenish_ns=each_ns,
        wake_ns=each_ns,
        interrupt_ns=each_ns,
    )


def _moved(system: System, overheads: Overheads, shift: Callable[[], int]) -> System:
    """The system with these costs; `shift` says how far each time of a task moves."""
    hops = {hop for flow in system.flows for hop in flow.hops}
    domains = tuple(
        domain.replace(
            tasks=tuple(
                _moved_task(it, shift, is_hop=f"{domain.name}.{it.name}" in hops)
                for it in domain.tasks
            ),
            interface=_moved_interface(domain.interface, shift() // LATE_PART),
            own_vcpus=tuple(
                own.replace(interface=_moved_interface(own.interface, shift() // LATE_PART))
                for own in domain.own_vcpus
            ),
        )
        for domain in system.domains
    )
    flows = tuple(_moved_flow(it, shift) for it in system.flows)
    return system.replace(overheads=overheads, domains=domains, flows=flows)


def _moved_interface(interface: Interface | None, shift_ns: int) -> Interface | None:
    """With another budget: its end is noticed a little later. A full one never ends."""
    if interface is None or interface.budget_ns == interface.period_ns:
        return interface
    budget_ns = min(interface.budget_ns + shift_ns, interface.period_ns - 1)
    return interface.replace(budget_ns=budget_ns)


def _moved_flow(flow: Flow, shift: Callable[[], int]) -> Flow:
    source = flow.source
    moved = {
        "offset_ns": max(0, source.offset_ns + shift()),
        "jitter_ns": source.jitter_ns + max(0, shift()),
    }
    return flow.replace(source=source.replace(**moved))


def _moved_task(task: Task, shift: Callable[[], int], *, is_hop: bool) -> Task:
    if is_hop:
        return task.replace(wcet_ns=max(1, (task.wcet_ns or 0) + shift()))
    moved: dict[str, int] = {"offset_ns": max(0, task.offset_ns + shift())}
    if task.wcet_ns is not None:
        moved["wcet_ns"] = max(1, task.wcet_ns + shift())
    if task.kind is TaskKind.EVENT and task.period_ns is not None:
        moved["period_ns"] = task.period_ns + shift()
    if task.kind is not TaskKind.BUSY:
        moved["jitter_ns"] = task.jitter_ns + max(0, shift())
    return task.replace(**moved)


def main() -> None:
    """Print the tables of numbers."""
    for preset in sys.argv[1:] or PRESETS:
        print_found(preset, 1, WANTED)
        print_found(preset, 1, GUESTS_WANTED, one_guest)
    for pcpus, shared in SHARED.items():
        for policy in set(sys.argv[1:] or shared) & shared.keys():
            print_found(policy, pcpus, len(shared[policy]))
    for policy in set(sys.argv[1:] or SWAPPED) & SWAPPED.keys():
        found = (n for n in find(policy, 2) if is_robust(swapped(candidate(policy, n, 2))))
        print(f'swapped: "{policy}": {tuple(islice(found, len(SWAPPED[policy])))}', flush=True)
    for policy in set(sys.argv[1:] or MOVED) & MOVED.keys():
        numbers = tuple(islice(find(policy, draw=moving), len(MOVED[policy])))
        print(f'moved: "{policy}": {numbers}', flush=True)


def print_found(policy: str, pcpus: int, wanted: int, draw: Draw | None = None) -> None:
    """One line of a table."""
    numbers = ", ".join(str(number) for number in islice(find(policy, pcpus, draw), wanted))
    print(f'{pcpus}: "{policy}": ({numbers}),', flush=True)


if __name__ == "__main__":
    main()
