# SPDX-License-Identifier: BSD-2-Clause
# The native simulator; hyperperiod.hosts.sim has the function to call.
#
# Rules, schedulers and kinds of tasks are their numbers in the order of the model's enums.
# Errors: ValueError for a scenario that the core refuses, OSError for a trace file that cannot be
# written, RuntimeError for a broken law.

from collections.abc import Sequence
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

RELATIVE_ERROR: float
# How far a percentile may be off, as a fraction of itself.

class ResponseCounts(TypedDict, total=False):
    finished: int
    misses: int
    due: int
    # Only if something has finished:
    sum_ns: int
    min_ns: int
    max_ns: int
    p50_ns: int
    p99_ns: int

class TaskCounts(ResponseCounts):
    jobs: int

class FlowCounts(ResponseCounts):
    items: int
    dropped: int

# Periods of a server: wanted, of these short, the least supply, the latest (hosts/sim/periods.h).
PeriodCounts: TypeAlias = tuple[int, int, int, int]

class DomainCounts(TypedDict):
    supply_ns: int
    donated_ns: int
    moved_here: int
    periods: PeriodCounts

class PcpuCounts(TypedDict):
    busy_ns: int
    stolen_ns: int
    switches: int
    picks: int
    preemptions: int
    migrations: int

class Scenario:
    # What is to be run. Domains in file order; a task belongs to the latest domain.

    def __init__(
        self,
        *,
        budget: int,
        order: int,
        slack: int,
        is_global: bool,
        pcpus: int,
        quantum_ns: int,
        horizon_ns: int,
        seed: int,
        check: bool = False,
    ) -> None: ...
    def set_spare(self, period_ns: int, budget_ns: int) -> None: ...
    def set_overheads(
        self,
        *,
        context_switch_ns: int,
        pick_ns: int,
        replenish_ns: int,
        wake_ns: int,
        interrupt_ns: int,
        migration_ns: int,
    ) -> None: ...
    def add_domain(self, *, scheduler: int) -> None: ...
    # A vcpu of the domain that was added last, as the task below.
    def add_vcpu(
        self,
        *,
        pcpu: int,
        priority: int,
        period_ns: int,
        budget_ns: int,
        best_effort: bool,
        extra: bool,
        weight: int,
    ) -> None: ...
    def add_task(
        self,
        *,
        kind: int,
        period_ns: int | None,
        wcet_ns: int | None,
        bcet_ns: int | None,
        deadline_ns: int | None,
        offset_ns: int,
        jitter_ns: int,
        priority: int | None,
        vcpu: int | None,
    ) -> None: ...
    # Of the task that was added last.
    def add_overrun(
        self, *, thousandths: int, from_ns: int, to_ns: int | None, every: int
    ) -> None: ...
    # Jobs of a task (by its number over all domains), by release, in the place of its own.
    def set_jobs(self, task: int, releases_ns: Sequence[int], ran_ns: Sequence[int]) -> None: ...
    # The hops are tasks by their numbers over all domains, of kind event until they are hops.
    def add_flow(
        self,
        *,
        kind: int,
        period_ns: int,
        offset_ns: int,
        jitter_ns: int,
        burst: int,
        queue: int,
        ring: int,  # 0: none
        deadline_ns: int,
        hops: list[int],
    ) -> None: ...
    # The same with a closed source; nothing is ever dropped.
    def add_closed_flow(
        self,
        *,
        clients: int,
        think_least_ns: int,
        think_most_ns: int,
        offset_ns: int,
        deadline_ns: int,
        hops: list[int],
    ) -> None: ...
    def add_swap(self, at_ns: int, budget: int, order: int, slack: int) -> None: ...
    def add_change(
        self,
        at_ns: int,
        vcpu: int,
        period_ns: int,
        budget_ns: int,
        priority: int,
        pcpu: int | None = None,
    ) -> None: ...
    def add_theft(self, pcpu: int, period_ns: int, duration_ns: int, offset_ns: int) -> None: ...
    # Let this decide in the place of the policy: `hosts.rule.Guarded`, which says what is called.
    def set_rule(self, rule: object) -> None: ...
    # Count whether servers get their budgets in runs of this.
    def count_periods(self) -> None: ...
    # The releases of a task (its number counts over all domains) before `end_ns` that the draws
    # alone determine: all of a periodic or sporadic task, else the first.
    def releases(self, task: int, end_ns: int) -> list[int]: ...
    def source_releases(self, flow: int, left_ns: Sequence[int], end_ns: int) -> list[int]: ...

class Run:
    # One run of a scenario; its records are appended to `trace_path`, header included there.

    def __init__(self, scenario: Scenario, trace_path: str | None = None) -> None: ...
    # Everything before this instant has happened.
    @property
    def now_ns(self) -> int: ...
    # Keep every response as well, not only their histograms; before the run begins.
    def keep_responses(self) -> None: ...
    # Handle so many instants, at most up to the horizon; returns now_ns.
    def advance(self, instants: int) -> int: ...
    # Close the run at now_ns; counts are final and the trace is whole.
    def finish(self) -> None: ...
    def tasks(self) -> list[TaskCounts]: ...
    # The histogram of response times: (lowest, highest, how many), ascending.
    def responses(self, task: int) -> list[tuple[int, int, int]]: ...
    # All of them in the order in which jobs finished, if they are kept.
    def every_response(self, task: int) -> list[int]: ...
    def flows(self) -> list[FlowCounts]: ...
    def flow_responses(self, flow: int) -> list[tuple[int, int, int]]: ...
    def every_flow_response(self, flow: int) -> list[int]: ...
    def vcpus(self) -> list[DomainCounts]: ...
    def pcpus(self) -> list[PcpuCounts]: ...

class Attacked(TypedDict):
    broken: bool
    # The longest response of all, in millionths of its bound.
    nearest: int
    runs: int
    # The worst run: its seed, and of each task and then of each source whether it is sporadic,
    # offset, jitter, wcet and bcet.
    seed: int
    placement: list[tuple[bool, int, int, int, int]]

# Looks for a run in which a bound is broken (hosts/sim/adversary.cpp), for the hunts of the tests.
# Bounds, and the longest execution to try, are 2^64 - 1 where there is none.
def attack(
    *,
    scenario: Scenario,
    tasks: Sequence[int],
    flows: Sequence[int],
    lossless: Sequence[bool],
    phases: bool,
    shortest: Sequence[int],
    longest: Sequence[int],
    latest_offset_ns: int,
    steps_ns: Sequence[int],
    starts: int,
    changes: int,
    seed: int,
) -> Attacked: ...

Grant: TypeAlias = tuple[int, int, int | None, int | str | None, int | None, int]

class Core:
    # One core/ lock domain, call by call; errors are enum hp_error.

    def __init__(
        self,
        budget: int,
        order: int,
        slack: int,
        pcpus: int,
        quantum_ns: int,
        spare_period_ns: int,
        spare_budget_ns: int,
        now_ns: int = 0,
        reports_saved: bool = False,
    ) -> None: ...
    def add(
        self,
        vcpu: int,
        period_ns: int,
        budget_ns: int,
        priority: int,
        flags: int,
        now_ns: int,
        weight: int = 0,
    ) -> int: ...
    def update(
        self,
        vcpu: int,
        period_ns: int,
        budget_ns: int,
        priority: int,
        flags: int,
        now_ns: int,
        weight: int = 0,
    ) -> int: ...
    def remove(self, vcpu: int, now_ns: int) -> int: ...
    def arrive(self, vcpu: int, now_ns: int) -> None: ...
    def depart(self, vcpu: int, now_ns: int) -> None: ...
    # start_ns, until_ns, run, pay, also, level.
    def pick(self, pcpu: int, now_ns: int) -> Grant: ...
    def add_pcpu(self, now_ns: int) -> int: ...
    def drop_pcpu(self, pcpu: int, now_ns: int) -> int: ...
    def saved(self, vcpu: int, now_ns: int) -> None: ...
    def steal(self, pcpu: int, now_ns: int) -> None: ...
    def give_back(self, pcpu: int, now_ns: int) -> None: ...
    def bind(self, vcpu: int, pcpus: int) -> None: ...
    def kicks(self, now_ns: int) -> int: ...
    def set_policy(self, budget: int, order: int, slack: int, now_ns: int) -> int: ...
    def set_spare(self, period_ns: int, budget_ns: int, now_ns: int) -> int: ...
    def check(self, now_ns: int) -> int: ...
    def copy(self) -> Core: ...
    def remaining(self, vcpu: int) -> int: ...
    def deadline(self, vcpu: int) -> int: ...

class Replayed(TypedDict):
    pcpus: int
    # The latest that a pick came after the grant before it was over or wrong.
    lateness_ns: int
    # Records of a trace file, in the order of the ring, tasks left out.
    trace: bytes
    # Of each server by its number in the ring (PeriodCounts).
    periods: list[PeriodCounts]
    # The first record whose answer is another here, and that record with our answer.
    difference: tuple[int, bytes] | None

# A hypervisor's ring (record/ring.h) played again; seat 0 is `first_pcpu`, and what is after
# `end_ns` is checked but not in the trace. ValueError for a ring that cannot be played.
def replay_ring(ring: bytes, first_pcpu: int, end_ns: int) -> Replayed: ...

# Runs all scenarios on so many threads, without the interpreter. `tasks` has a row for each task,
# scenario after scenario: jobs, misses, due, finished, and the least, the mean, the median, the
# 99th percentile and the greatest response (-1 where nothing has finished). `vcpus` has one for
# each vcpu: supply_ns, donated_ns. `misses` has those of each scenario, flows included.
def run_batch(
    scenarios: Sequence[Scenario],
    threads: int,
    tasks: NDArray[np.int64],
    vcpus: NDArray[np.int64],
    misses: NDArray[np.int64],
) -> None: ...
