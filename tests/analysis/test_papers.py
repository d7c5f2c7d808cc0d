# SPDX-License-Identifier: BSD-2-Clause
"""The errors of the papers: each claim as it is printed, and a run that refutes it.

The printed conditions are written out here once more, from the papers and not from the analysis.
Each accepts a system of the documentation; the simulator runs that system, and the promise is
broken. Where a claim is an "only if", a system that it refuses keeps every promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import NamedTuple

import pytest

from hyperperiod.analysis import analyze
from hyperperiod.analysis.servers.deferrable_fp import deferrable_fp
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.model import (
    Domain,
    Interface,
    System,
    Task,
    TaskKind,
    load_system,
    parse_policy,
    with_policy,
)
from hyperperiod.runs import simulate
from hyperperiod.trace.format import read
from hyperperiod.trace.intervals import intervals
from hyperperiod.trace.jobs import Job, jobs

TOP = Path(__file__).parents[2]
MS = 1_000_000


def example(name: str) -> System:
    return load_system(TOP / name)


def missed(system: System, horizon_ns: int) -> set[str]:
    """The domains in which a deadline is missed in a run."""
    result = simulate(system, horizon_ns)
    return {one.name for one in result.domains for task in one.tasks if task.misses}


def supplied(system: System, folder: Path, name: str, start_ns: int, end_ns: int) -> int:
    """What a server paid for its own vcpu between two instants of a run."""
    trace = folder / "run.hpt"
    simulate(system, end_ns, trace_path=trace)
    return sum(
        max(0, min(one.end_ns, end_ns) - max(one.start_ns, start_ns))
        for one in intervals(*read(trace))
        if one.run == name and name in one.pay.split(";")
    )


# CSA: Lemma 1 and the request bound function


def printed_lemma_1(
    tasks: Sequence[Task], interface: Interface, *, use_floor: bool, from_zero: bool
) -> bool:
    """Eq. 1 and 2, in whole milliseconds; `use_floor` and `from_zero` are the two misprints."""
    period, budget = interface.period_ns // MS, interface.budget_ns // MS
    pairs = sorted((int(task.period_ns or 0) // MS, int(task.wcet_ns or 0) // MS) for task in tasks)

    def sbf(t: int) -> int:
        whole = max(0, (t - (period - budget)) // period)
        return whole * budget + max(0, t - 2 * (period - budget) - whole * period)

    def rbf(i: int, t: int) -> int:
        return sum((t // p if use_floor else -(-t // p)) * e for p, e in pairs[: i + 1])

    first = 0 if from_zero else 1
    return all(
        any(sbf(t) >= rbf(i, t) for t in range(first, p + 1)) for i, (p, _) in enumerate(pairs)
    )


@pytest.mark.parametrize(
    ("use_floor", "from_zero", "accepted"),
    [(True, True, True), (True, False, True), (False, True, True), (False, False, False)],
)
def test_csa_lemma_1(use_floor: bool, from_zero: bool, accepted: bool) -> None:
    """Either misprint alone accepts tasks that ask for more than twice the interface."""
    system = example("docs/examples/csa-lemma-1.toml")
    (domain,) = system.domains
    assert domain.interface is not None
    assert domain.utilization > 2 * domain.interface.bandwidth
    found = printed_lemma_1(
        domain.tasks, domain.interface, use_floor=use_floor, from_zero=from_zero
    )
    assert found is accepted
    assert missed(system, 80 * MS) == {"overcommitted"}
    assert analyze(system).schedulable is False


def test_csa_lemma_1_as_we_read_it_is_what_the_analysis_says() -> None:
    for name in ("systems/brake-by-wire.toml", "docs/examples/csa-lemma-1.toml"):
        system = example(name)
        for domain, entry in zip(system.domains, analyze(system).domains, strict=True):
            if domain.scheduler == "rm" and domain.interface is not None:
                said = printed_lemma_1(
                    domain.tasks, domain.interface, use_floor=False, from_zero=False
                )
                inside = all(task.schedulable for task in entry.tasks)
                assert said is inside


# CSA: Lemma 2, read per job


def finished(system: System, policy: str, folder: Path) -> dict[tuple[str, str, int], Job]:
    trace = folder / f"{policy}.hpt"
    simulate(with_policy(system, parse_policy(policy)), 41 * MS, trace_path=trace)
    due = (job for job in jobs(*read(trace)) if (job.deadline_ns or 0) <= 40 * MS)
    return {(job.domain, job.task, job.job): job for job in due}


def later(before: dict[tuple[str, str, int], Job], after: Iterable[Job]) -> set[str]:
    """The tasks of jobs that finish later than before."""
    found = set()
    for job in after:
        old = before[job.domain, job.task, job.job].finish_ns
        if old is not None and (job.finish_ns is None or job.finish_ns > old):
            found.add(f"{job.domain}.{job.task}")
    return found


def test_csa_lemma_2_is_not_about_single_jobs(tmp_path: Path) -> None:
    """The lemma holds: no deadline is missed. A job finishes later under WCPS all the same."""
    system = example("docs/examples/idle-time.toml")
    ptps, wcps, crps = (finished(system, name, tmp_path) for name in ("ptps", "wcps", "crps"))
    for run in (ptps, wcps, crps):
        assert all(
            job.finish_ns is not None
            and job.deadline_ns is not None
            and job.finish_ns <= job.deadline_ns
            for job in run.values()
        )
    assert later(ptps, wcps.values()) == {"control.act"}
    assert later(ptps, crps.values()) == set()


# ERTDS: Theorems 2 to 5


def printed_theorem(system: System) -> bool:
    """Eq. 2 and 3 on one pcpu, 5 and 6 on several; the spare counts where there is one."""
    shares = [domain.interface.bandwidth for domain in system.domains if domain.interface]
    total = sum(shares, Fraction(0))
    if system.policy.name == "ertds" and system.spare is not None:
        total += system.spare.bandwidth
    return total <= system.pcpus - max(shares) * (system.pcpus - 1)


class Broken(NamedTuple):
    """A server that has work throughout one of its periods, and what it gets there."""

    file: str
    server: str
    start_ms: int
    end_ms: int
    got_ns: int


BROKEN = {
    "Theorem 2": Broken("systems/deferrable-edf-counterexample.toml", "steady", 10, 20, 4_400_000),
    "Theorem 3": Broken("docs/examples/ertds-theorem-3.toml", "steady", 10, 20, 4_500_000),
    "Theorem 4": Broken("systems/deferrable-gedf-counterexample.toml", "short", 20, 25, 1_000_000),
    "Theorem 5": Broken("docs/examples/ertds-theorem-5.toml", "short", 20, 25, 1_000_000),
}


@pytest.mark.parametrize("theorem", BROKEN)
def test_ertds_theorems_promise_what_is_not_kept(theorem: str, tmp_path: Path) -> None:
    broken = BROKEN[theorem]
    system = example(broken.file)
    assert printed_theorem(system), "the theorem accepts it"
    (domain,) = [one for one in system.domains if one.name == broken.server]
    assert domain.interface is not None
    assert domain.interface.period_ns == (broken.end_ms - broken.start_ms) * MS
    got_ns = supplied(system, tmp_path, broken.server, broken.start_ms * MS, broken.end_ms * MS)
    assert got_ns == broken.got_ns < domain.interface.budget_ns
    assert missed(system, broken.end_ms * MS) == {broken.server}
    assert analyze(system).schedulable is None


def always_busy(name: str, budget_ms: int, period_ms: int) -> Domain:
    return Domain(
        name=name,
        interface=Interface(budget_ns=budget_ms * MS, period_ns=period_ms * MS),
        tasks=(Task(name="work", wcet_ns=budget_ms * MS, period_ns=period_ms * MS),),
    )


ONLY_IF = {
    "Theorem 3": System(
        name="s",
        policy=parse_policy("ertds"),
        spare=Interface(budget_ns=10 * MS, period_ns=20 * MS),
        domains=(always_busy("a", 4, 10), always_busy("b", 4, 10)),
    ),
    "Theorem 4": System(
        name="s",
        policy=parse_policy("rtds"),
        pcpus=2,
        domains=(always_busy("a", 9, 10), always_busy("b", 9, 10)),
    ),
    "Theorem 5": System(
        name="s",
        policy=parse_policy("ertds"),
        pcpus=2,
        spare=Interface(budget_ns=MS, period_ns=10 * MS),
        domains=(always_busy("a", 9, 10), always_busy("b", 9, 10)),
    ),
}


@pytest.mark.parametrize("theorem", ONLY_IF)
def test_ertds_theorems_refuse_what_is_kept(theorem: str) -> None:
    """ "Only if" fails too: refused systems keep every budget, proven and seen."""
    system = ONLY_IF[theorem]
    assert not printed_theorem(system)
    assert missed(system, 200 * MS) == set()
    assert all(pcpu.schedulable for pcpu in analyze(system).pcpus)


# ERTDS: Experiment C

TABLE_VI_US = ((1720, 5000), (3440, 10_000), (5160, 15_000), (13_125, 30_000))
TABLE_VII_US = ((2064, 5000), (4128, 10_000), (6192, 15_000), (14_448, 30_000))


def test_ertds_experiment_c_breaks_its_own_bound() -> None:
    """The spare of Table VI is Eq. 7 with the largest bandwidth of Experiment B."""
    shares = [Fraction(budget, period) for budget, period in TABLE_VI_US]
    assert floor((2 - max(shares) - sum(shares)) * 30_000) == 2790
    assert floor((2 - Fraction(1, 4) - sum(shares)) * 30_000) == 8415
    assert sum(shares) + Fraction(8415, 30_000) > 2 - max(shares)
    shares = [Fraction(budget, period) for budget, period in TABLE_VII_US]
    assert sum(shares) == 2 - Fraction(28, 100) > 2 - max(shares) == Fraction("1.5184")


def late(pairs: Sequence[tuple[int, int]], policy: str) -> System:
    """The servers of a table; all but the first have nothing to do until just before 25 ms."""
    domains = []
    for number, (budget, period) in enumerate(pairs):
        promised = Interface(budget_ns=budget * 1000, period_ns=period * 1000)
        task = (
            Task(name="work", wcet_ns=budget * 1000, period_ns=period * 1000)
            if number == 0
            else Task(name="wakes-late", kind=TaskKind.BUSY, offset_ns=24_999_000)
        )
        domains.append(Domain(name=f"vm{number + 1}", interface=promised, tasks=(task,)))
    spare = Interface(budget_ns=8_415_000, period_ns=30 * MS)
    return System(
        name="experiment-c-late",
        policy=parse_policy(policy),
        pcpus=2,
        spare=spare,
        domains=tuple(domains),
    )


@pytest.mark.parametrize(
    ("pairs", "policy", "got_ns"),
    [(TABLE_VI_US, "ertds", 1_561_000), (TABLE_VII_US, "rtds", 873_000)],
)
def test_ertds_experiment_c_promises_what_is_not_kept(
    pairs: Sequence[tuple[int, int]], policy: str, got_ns: int, tmp_path: Path
) -> None:
    system = late(pairs, policy)
    assert supplied(system, tmp_path, "vm1", 25 * MS, 30 * MS) == got_ns < pairs[0][0] * 1000
    assert missed(system, 30 * MS) == {"vm1"}


def test_the_example_of_experiment_c_is_this_system() -> None:
    documented = example("docs/examples/experiment-c-late.toml")
    assert documented.domains == late(TABLE_VI_US, "ertds").domains
    assert documented.spare == late(TABLE_VI_US, "ertds").spare


# PSEDF: response times


def printed_response_us(own: int, slice_us: int, period_us: int) -> int:
    """Section VI: the domain's slice below a driver domain that is a periodic task."""
    response = own
    while (longer := own + -(-response // period_us) * slice_us) > response:
        response = longer
    return response


def test_psedf_response_times_leave_out_what_the_driver_keeps(tmp_path: Path) -> None:
    """A deferrable driver domain, as PSEDF's is: 0.22 ms where the paper has 0.14."""
    assert printed_response_us(60, 80, 300) == 140
    system = example("docs/examples/psedf-response.toml")
    trace = tmp_path / "run.hpt"
    simulate(system, 3 * MS, trace_path=trace)
    (job,) = [one for one in jobs(*read(trace)) if one.task == "loop" and one.job == 0]
    assert job.finish_ns is not None
    assert job.finish_ns - job.release_ns == 220_000
    (group,) = groups_of(system)
    assert deferrable_fp(group)[1].bound_ns == 220_000
