# SPDX-License-Identifier: BSD-2-Clause
"""Systems on Linux, on a machine that counts instructions: the schedule of the simulator.

The runner plays every decision again with the core built here, and asks for its laws after each;
the properties of every trace are checked. The systems are those of `tests.support.robust` that are
robust against moves of 120 us, as Linux takes more time than Xen: `python -m tests.linux.test_runs`
finds them anew. The simulator is given what an event costs on Linux, and the thefts of the run: a
tick of the kernel is charged to who runs, its own threads are not. At every instant farther than a
bound from a boundary in either trace the same vcpu runs and the same servers pay, and the response
times of all jobs are the same up to the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.linux.agreement import MOVED_NS, agree, compared
from tests.linux.hogs import BUDGETS_NS, POLICIES, hogs, served
from tests.linux.promises import keep_their_promises
from tests.support import robust
from tests.support.guarantees import POLICIES as GUARANTEED
from tests.support.on_linux import OnLinux, run_on_linux
from tests.support.robust import HORIZON_NS, NUMBERS, SEED, candidate, simulated

from hyperperiod.analysis import Analysis
from hyperperiod.model import System, load_system, with_policy
from hyperperiod.model.policy import PRESETS
from hyperperiod.runs import complete
from hyperperiod.trace.compare import Trace
from hyperperiod.trace.jobs import jobs

ROBUST = {
    "ptps": (47, 81),
    "wcps": (77, 310),
    "crps": (121, 277),
    "ds": (47, 93),
    "polling": (2, 7, 59, 81, 124),
    "sporadic": (429,),
    "rtds": (39, 121),
    "ertds": (29, 219, 512),
    "cbs": (58, 111, 186, 341, 346),
    "sedf": (510, 691),
    "sedf-prime": (585, 824, 899),
    "psedf": (347,),
    "hsf-fp": (38, 45, 62, 138, 146),
    "partitioned-hsf-fp": (32, 87, 120),
}
"""Without hsf-fp 118, where a busy task is first in, first out with others: on Linux a thread that
begins its next job without having slept keeps its place. And without sedf-prime 1051: its extra
time comes in slices of 500 us, and one of them would begin 483 us before a refill, which on Linux
is some 10 to 20 us later than in the simulator: sometimes there is room for it."""

SHARE = 0.001
"""A server gets that part of its budgets in all whole periods more or less at most."""
OVERRUN_NS = 20_000
"""And in one of them that much more than its budget."""


def shares(system: System, done: OnLinux) -> None:
    """Each server gets its budget in all whole periods together and in none much more."""
    for budget_ns, got in zip(BUDGETS_NS, served(system, done.trace), strict=True):
        assert abs(got.sum() - budget_ns * len(got)) <= SHARE * budget_ns * len(got), system.name
        assert got.max() <= budget_ns + OVERRUN_NS, system.name


def of_rt_app(folder: Path) -> System:
    """A workload of rt-app: a thread with a timer, and one that sleeps, in a group of its own."""
    file = folder / "cockpit.json"
    file.write_text(
        """{ "tasks": {
            "control": { "run": 2000, "timer": { "ref": "unique", "period": 10000 } },
            "display": { "run": 4000, "sleep": 36000, "taskgroup": "/display" }
        } }"""
    )
    return load_system(file)


def keeps_its_deadlines(system: System, done: OnLinux) -> None:
    """The jobs are released that the simulator releases, and none misses its deadline."""
    expected = simulated(complete(Analysis(system)), HORIZON_NS)
    assert released(done.trace) == released(expected)
    assert {domain for domain, *_ in released(expected)} == {"cockpit", "display"}
    assert not any(task.misses for domain in done.result.domains for task in domain.tasks)


def released(trace: Trace) -> list[tuple[str, str, int, int | None]]:
    """The domain, task, release and deadline (ns) of every job."""
    return [(one.domain, one.task, one.release_ns, one.deadline_ns) for one in jobs(*trace)]


def test_a_system_of_each_policy(tmp_path: Path) -> None:
    """One machine for all: robust systems, servers with endless work, a workload of rt-app."""
    of_presets = [candidate(preset, ROBUST[preset][0]) for preset in PRESETS]
    of_hogs = [hogs(policy) for policy in POLICIES]
    workload = of_rt_app(tmp_path)
    done = run_on_linux([*of_presets, *of_hogs, workload], HORIZON_NS, SEED, tmp_path)
    for system, one in zip(of_presets, done, strict=False):
        assert one.result.timing is None
        agree(system, one)
    for system, one in zip(of_hogs, done[len(of_presets) : -1], strict=True):
        shares(system, one)
    keeps_its_deadlines(workload, done[-1])
    # The comparison fails when the two hosts do not do the same.
    crps = list(PRESETS).index("crps")
    assert not compared(with_policy(of_presets[crps], PRESETS["ptps"]), done[crps]).agrees


@pytest.mark.slow
def test_all_systems(tmp_path: Path) -> None:
    systems = [candidate(preset, number) for preset in ROBUST for number in ROBUST[preset]]
    assert len(systems) > 30
    for system, done in zip(
        systems, run_on_linux(systems, HORIZON_NS, SEED, tmp_path), strict=True
    ):
        agree(system, done)


@pytest.mark.slow
def test_a_run_repeats_to_the_byte(tmp_path: Path) -> None:
    systems = [candidate(preset, ROBUST[preset][0]) for preset in ("wcps", "cbs")]
    first, second = (
        run_on_linux(systems, HORIZON_NS, SEED, tmp_path / name) for name in ("a", "b")
    )
    for one, other in zip(first, second, strict=True):
        assert one.result == other.result
        assert one.trace[1].tobytes() == other.trace[1].tobytes()


def test_what_the_analysis_accepts_misses_nothing(tmp_path: Path) -> None:
    keep_their_promises(("crps", "ds", "rtds"), 1, 500_000_000, tmp_path)


@pytest.mark.slow
def test_many_systems_that_the_analysis_accepts_miss_nothing(tmp_path: Path) -> None:
    keep_their_promises(GUARANTEED, 3, 2_000_000_000, tmp_path)


def find() -> Iterator[tuple[str, list[int]]]:
    """The robust systems of each policy."""
    robust.BOUND_NS, robust.DRIFT_NS, robust.VERSIONS = MOVED_NS, 10 * MOVED_NS, 40
    for preset in PRESETS:
        yield preset, [n for n in NUMBERS[preset] if robust.is_robust(candidate(preset, n))]


if __name__ == "__main__":
    for line in find():
        print(*line, flush=True)
