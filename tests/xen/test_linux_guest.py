# SPDX-License-Identifier: BSD-2-Clause
"""Linux guests: tasks as threads of Debian's kernel, in systems that the simulator predicts.

The simulator is given what Xen and the kernel were measured to take: Xen's overheads, and for each
job of a Linux guest what such a job takes longer than it executes. The bound within which both must
agree is stated from the same measurement: two events of Xen, and for each task that shares a vcpu
what the kernel takes of a job and of a tick.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support import xen_images
from tests.support.on_xen import OnXen, bound_ns, run_on_xen, with_overheads
from tests.support.robust import SEED, simulated
from tests.support.rules import SCHEDULERS

from hyperperiod.analysis import analyze, resolve
from hyperperiod.hosts.xen.measure_linux import measure
from hyperperiod.measured import LINUX_GUESTS, read
from hyperperiod.model import (
    Domain,
    GuestKind,
    Interface,
    Scheduler,
    System,
    Task,
    TaskKind,
    load_system,
    with_policy,
)
from hyperperiod.model.policy import PRESETS
from hyperperiod.trace.compare import compare
from hyperperiod.trace.format import NONE, Kind
from hyperperiod.trace.jobs import jobs

EXAMPLE = load_system(Path(__file__).parents[2] / "systems" / "linux-guest.toml")
MS = 1_000_000
HORIZON_NS = 301 * MS
COMPARED = 0.85
KERNELS = {
    GuestKind(guest): {name: int(number.value) for name, number in read()[guest].numbers.items()}
    for guest in LINUX_GUESTS
}
KERNEL = KERNELS[GuestKind.LINUX]


def threads_bound_ns(system: System) -> int:
    """How far a system with Linux guests may be from the simulator on Xen."""
    linux = [domain.tasks for domain in system.domains if domain.guest is GuestKind.LINUX]
    sharing = max(Counter(task.vcpu for task in tasks).most_common(1)[0][1] for tasks in linux)
    return bound_ns() + sharing * (KERNEL["job"] + KERNEL["tick"])


def with_kernel(system: System) -> System:
    """The system with jobs of Linux guests as long as the kernel makes them, draws included."""
    domains = [
        domain.replace(tasks=tuple(map(_longer, domain.tasks)))
        if domain.guest is GuestKind.LINUX
        else domain
        for domain in system.domains
    ]
    return with_overheads(system.replace(domains=tuple(domains)))


def _longer(task: Task) -> Task:
    if task.wcet_ns is None or task.bcet_ns is None:
        return task
    wcet_ns, bcet_ns = task.wcet_ns + KERNEL["job"], task.bcet_ns + KERNEL["job"]
    return task.replace(wcet_ns=wcet_ns, etf=Fraction(bcet_ns, wcet_ns))


def on_xen(system: System, folder: Path) -> OnXen:
    for kind in {domain.guest for domain in system.domains if domain.guest.is_linux}:
        xen_images.linux_guest(kind)
    return run_on_xen(system, HORIZON_NS, SEED, folder)


def agree(system: System, folder: Path) -> None:
    predicted, measured = simulated(with_kernel(system), HORIZON_NS), on_xen(system, folder)
    found = compare(predicted, measured.trace, threads_bound_ns(system))
    assert found.agrees, f"{system.name}\n{found.text()}"
    assert found.compared_ns >= COMPARED * found.total_ns, found.text()


def linux(*tasks: Task, scheduler: Scheduler = Scheduler.FP, vcpus: int = 1) -> System:
    """The example with other tasks in its Linux guest."""
    control, guest, logger = EXAMPLE.domains
    guest = guest.replace(tasks=tasks, scheduler=scheduler, vcpus=vcpus)
    return EXAMPLE.replace(domains=(control, guest, logger))


def late_in(seen: OnXen) -> set[str]:
    """The domains in which a job missed its deadline."""
    domains = seen.result.domains
    return {domain.name for domain in domains if any(task.misses for task in domain.tasks)}


@pytest.mark.parametrize("policy", ["ptps", "rtds"])
def test_the_example_is_as_predicted(policy: str, tmp_path: Path) -> None:
    agree(with_policy(EXAMPLE, PRESETS[policy]), tmp_path)


def test_four_vcpus_on_four_pcpus_are_as_predicted(tmp_path: Path) -> None:
    """Each vcpu has a pcpu of its own, shared with a small guest but for the last one."""
    threads = (
        Task(name="a", period_ns=40 * MS, wcet_ns=5 * MS, offset_ns=300_000, priority=2, vcpu=0),
        Task(name="b", period_ns=20 * MS, wcet_ns=MS, offset_ns=500_000, priority=0, vcpu=1),
        Task(name="c", period_ns=50 * MS, wcet_ns=6 * MS, offset_ns=300_000, priority=3, vcpu=1),
        Task(
            name="d",
            kind=TaskKind.SPORADIC,
            period_ns=30 * MS,
            wcet_ns=4 * MS,
            etf=Fraction(1, 2),
            offset_ns=700_000,
            priority=4,
            vcpu=2,
        ),
        Task(name="e", period_ns=40 * MS, wcet_ns=9 * MS, offset_ns=300_000, priority=1, vcpu=3),
    )
    small = Task(name="loop", period_ns=10 * MS, wcet_ns=700_000, offset_ns=500_000)
    interface = Interface(period_ns=5 * MS, budget_ns=MS)
    domains = (
        EXAMPLE.domains[1].replace(tasks=threads, vcpus=4, pcpus=(0, 1, 2, 3)),
        *(
            Domain(name=f"small{pcpu}", pcpu=pcpu, interface=interface, tasks=(small,))
            for pcpu in range(3)
        ),
    )
    agree(EXAMPLE.replace(pcpus=4, domains=domains), tmp_path)


@pytest.mark.parametrize("scheduler", [Scheduler.GEDF, Scheduler.GFP])
def test_jobs_that_move_between_vcpus_with_pcpus_of_their_own(
    scheduler: Scheduler, tmp_path: Path
) -> None:
    """Three threads on two vcpus: responses are as predicted; which vcpu has whom is for Linux."""
    ranks = (0, 1, 2) if scheduler is Scheduler.GFP else (None, None, None)
    threads = (
        Task(name="a", period_ns=10 * MS, wcet_ns=4 * MS, offset_ns=300_000, priority=ranks[0]),
        Task(name="b", period_ns=20 * MS, wcet_ns=9 * MS, offset_ns=MS, priority=ranks[1]),
        Task(name="c", period_ns=30 * MS, wcet_ns=8 * MS, offset_ns=2 * MS, priority=ranks[2]),
    )
    whole = Interface(period_ns=10 * MS, budget_ns=10 * MS)
    guest = EXAMPLE.domains[1].replace(
        scheduler=scheduler, tasks=threads, vcpus=2, pcpus=(0, 1), interface=whole
    )
    system = EXAMPLE.replace(pcpus=2, domains=(guest,))
    measured = on_xen(system, tmp_path)
    bound = threads_bound_ns(system)
    found = compare(simulated(with_kernel(system), HORIZON_NS), measured.trace, bound)
    assert found.jobs >= 55
    assert found.response_ns <= bound, found.text()
    vcpus = {vcpu for vcpu, task in runs_of(measured) if task == "c"}
    assert vcpus == {0, 1}


def runs_of(seen: OnXen) -> set[tuple[int, str]]:
    """Which task was seen on which vcpu."""
    header, records = seen.trace
    runs = records[(records["kind"] == Kind.RUN) & (records["task"] != NONE)]
    return {(int(row["vcpu"]), header["tasks"][row["task"]]["name"]) for row in runs}


def test_a_run_repeats_to_the_byte(tmp_path: Path) -> None:
    first, second = (on_xen(EXAMPLE, tmp_path / name) for name in "ab")
    assert first.trace[1].tobytes() == second.trace[1].tobytes()


def test_jobs_of_a_guest_that_had_not_the_time_are_late(tmp_path: Path) -> None:
    """With half of its interface Linux misses: that it does not in the example is the interface."""
    control, guest, logger = EXAMPLE.domains
    guest = guest.replace(interface=Interface(period_ns=10 * MS, budget_ns=1500_000))
    seen = on_xen(EXAMPLE.replace(domains=(control, guest, logger)), tmp_path)
    assert late_in(seen) == {"linux"}


def with_margin(domain: Domain) -> Domain:
    """A Linux guest's domain with what its kernel takes, for the analysis to give an interface."""
    if domain.guest is not GuestKind.LINUX:
        return domain
    assert domain.interface is not None
    more_ns = KERNEL["job"] + KERNEL["sleep"]
    tick = Task(
        name="tick",
        kind=TaskKind.SPORADIC,
        period_ns=4 * MS,
        wcet_ns=KERNEL["tick"],
        deadline_ns=40 * MS,
        priority=0,
    )
    threads = [
        task.replace(wcet_ns=(task.wcet_ns or 0) + more_ns, priority=(task.priority or 0) + 1)
        for task in domain.tasks
    ]
    return domain.replace(
        tasks=(tick, *threads), interface=None, interface_period_ns=domain.interface.period_ns
    )


@pytest.mark.parametrize(
    "policy", ["ptps", *(pytest.param(it, marks=pytest.mark.slow) for it in ("ds", "wcps", "crps"))]
)
def test_no_thread_responds_later_than_the_analysis_says(policy: str, tmp_path: Path) -> None:
    """With the interface that is computed from the tasks and the kernel's margin, and no more."""
    asked = with_policy(EXAMPLE, PRESETS[policy])
    asked = with_overheads(asked.replace(domains=tuple(map(with_margin, asked.domains))))
    computed = resolve(asked)
    found = analyze(computed)
    assert found.schedulable is True
    bounds = {
        (domain.name, task.name): task.response_bound_ns
        for domain in found.domains
        for task in domain.tasks
    }
    domains = [
        domain.replace(interface=known.interface)
        for domain, known in zip(EXAMPLE.domains, computed.domains, strict=True)
    ]
    system = with_policy(EXAMPLE.replace(domains=tuple(domains)), PRESETS[policy])
    for domain in on_xen(system, tmp_path).result.domains:
        for task in domain.tasks:
            bound = bounds[domain.name, task.name]
            assert task.response_ns is not None
            assert bound is not None
            assert task.response_ns.max <= bound, task.name


def test_two_vcpus_under_deadlines(tmp_path: Path) -> None:
    """All kinds of tasks, with jitter and drawn execution times, each pinned to a vcpu."""
    system = linux(
        Task(name="x", period_ns=10 * MS, wcet_ns=MS, offset_ns=1500_000, vcpu=0),
        Task(name="y", period_ns=40 * MS, wcet_ns=3 * MS, offset_ns=2 * MS, jitter_ns=MS, vcpu=0),
        Task(
            name="z",
            kind=TaskKind.SPORADIC,
            period_ns=40 * MS,
            wcet_ns=4 * MS,
            etf=Fraction(1, 2),
            offset_ns=700_000,
            vcpu=1,
        ),
        Task(
            name="e",
            kind=TaskKind.EVENT,
            period_ns=50 * MS,
            wcet_ns=500_000,
            offset_ns=7 * MS,
            vcpu=1,
        ),
        scheduler=Scheduler.EDF,
        vcpus=2,
    )
    agree(system.replace(domains=system.domains[:2]), tmp_path)


@pytest.mark.parametrize("policy", ["ptps", "rtds"])
def test_threads_that_never_stop_disturb_nobody(policy: str, tmp_path: Path) -> None:
    """Three ordinary threads in endless loops: their neighbours see no more than any busy guest.

    The simulator has a busy domain there, and agrees as closely as without any Linux.
    """
    hogs = [Task(name=f"hog{number}", kind=TaskKind.BUSY) for number in range(3)]
    system = with_policy(linux(*hogs, scheduler=Scheduler.FAIR), PRESETS[policy])
    busy = linux(*hogs, scheduler=Scheduler.FIFO)
    predicted = simulated(with_overheads(with_policy(busy, PRESETS[policy])), HORIZON_NS)
    measured = on_xen(system, tmp_path)
    found = compare(predicted, measured.trace, bound_ns())
    assert found.agrees, found.text()
    assert found.jobs >= 30
    assert late_in(measured) == set()


def test_fair_threads_share_their_vcpu(tmp_path: Path) -> None:
    """Two jobs of 12 ms at once end together, where by priority one would end long before."""
    pair = [Task(name=name, period_ns=150 * MS, wcet_ns=12 * MS) for name in ("a", "b")]
    seen = on_xen(linux(*pair, scheduler=Scheduler.FAIR), tmp_path)
    ends = [job.finish_ns for job in jobs(*seen.trace) if job.domain == "linux" and job.job == 0]
    assert None not in ends
    first, second = sorted(end for end in ends if end is not None)
    assert second - first < 12 * MS


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 40, 8))
def test_random_systems_with_linux_guests(first: int, tmp_path: Path) -> None:
    """Every decision is replayed, every trace checked; each kernel has half of the systems."""
    for number in range(first, first + 8):
        on_xen(random_system(number), tmp_path)


def random_system(number: int) -> System:
    draw = random.Random(number)
    linux = (GuestKind.LINUX, GuestKind.LINUX_RT)[number % 2]
    names = ("linux", "other")[: draw.choice((1, 1, 2))]
    domains = [
        _random_domain(draw, "plain", GuestKind.EXECUTIVE),
        *(_random_domain(draw, name, linux) for name in names),
    ]
    if draw.random() < 0.4:
        guest = draw.choice((GuestKind.EXECUTIVE, linux))
        domains.append(Domain(name="rest", best_effort=True, guest=guest))
    policy = PRESETS[draw.choice(list(PRESETS))]
    return System(name=f"random-{number}", policy=policy, domains=tuple(domains))


def _random_domain(draw: random.Random, name: str, guest: GuestKind) -> Domain:
    is_linux = guest.is_linux
    scheduler = draw.choice((*SCHEDULERS, Scheduler.FAIR) if is_linux else SCHEDULERS)
    vcpus, count = draw.choice((1, 1, 2, 3)) if is_linux else 1, draw.randint(1, 5)
    period_ns, bandwidth = draw.choice((5, 10, 20)) * MS, draw.uniform(0.1, 0.3)
    budget_ns = int(period_ns * bandwidth) // 10_000 * 10_000
    return Domain(
        name=name,
        guest=guest,
        scheduler=scheduler,
        vcpus=vcpus,
        interface=Interface(period_ns=period_ns, budget_ns=budget_ns),
        tasks=tuple(
            _random_task(draw, index, scheduler, vcpus, bandwidth * vcpus / count)
            for index in range(count)
        ),
    )


def _random_task(
    draw: random.Random, index: int, scheduler: Scheduler, vcpus: int, share: float
) -> Task:
    others = [TaskKind.SPORADIC, TaskKind.EVENT, TaskKind.BUSY]
    kind = draw.choice([TaskKind.PERIODIC] * 4 + others)
    period_ns = draw.choice((2, 5, 10, 20, 40)) * MS
    busy = kind is TaskKind.BUSY
    endless = busy and draw.random() < 0.5
    return Task(
        name=f"t{index}",
        kind=kind,
        period_ns=None if busy else period_ns,
        wcet_ns=None if endless else max(50_000, int(period_ns * share * draw.uniform(0.3, 1.3))),
        offset_ns=draw.randint(0, period_ns),
        jitter_ns=0 if busy else draw.choice((0, 0, draw.randint(1, 500_000))),
        etf=Fraction(1) if endless else draw.choice((Fraction(1), Fraction(1, 2))),
        priority=draw.randint(0, 3) if scheduler is Scheduler.FP else None,
        vcpu=draw.choice((None, *range(vcpus))),
    )


@pytest.mark.parametrize(
    "guest", [GuestKind.LINUX, pytest.param(GuestKind.LINUX_RT, marks=pytest.mark.slow)]
)
def test_the_file_of_measured_numbers_is_still_true(guest: GuestKind) -> None:
    """To a fifth: Debian's kernel and the compilers of ours change."""
    xen_images.linux_guest(guest)
    for name, number in measure(guest).numbers.items():
        kept = KERNELS[guest][name]
        assert abs(number.value - kept) <= kept / 5, name
