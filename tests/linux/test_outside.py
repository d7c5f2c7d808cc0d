# SPDX-License-Identifier: BSD-2-Clause
"""What is done to a run on Linux from outside: policies are swapped, servers changed, cpus stolen.

The decisions of a run are replayed with the swaps, changes and thefts in them, and its trace is
checked. The schedule is the simulator's, which is given the instants at which swaps came, a few
tens of microseconds after those of the file, and small thefts of the kernel's own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.on_linux import OVERHEADS, OnLinux, run_on_linux, thefts
from tests.support.robust import SEED, simulated

from hyperperiod.hosts.linux.attend import LinuxOptions
from hyperperiod.hosts.linux.outside import EVENT_LIMIT, outside, theft_count, thefts_from
from hyperperiod.model import (
    PRESETS,
    Change,
    Domain,
    InputError,
    Interface,
    Stolen,
    Swap,
    System,
    Task,
    TaskKind,
    load_system,
)
from hyperperiod.runs import run_on_linux as run_one
from hyperperiod.trace.compare import Comparison, compare
from hyperperiod.trace.format import Kind

MS = 1_000_000
HORIZON_NS = 300 * MS
BOUND_NS = 60_000
LATE_NS = 60_000
"""A swap comes at most so long after its instant."""
COMPARED = 0.9

TWO = (
    Domain(
        name="a",
        interface=Interface(period_ns=10 * MS, budget_ns=3 * MS),
        tasks=(Task(name="t", period_ns=20 * MS, wcet_ns=2 * MS, offset_ns=9 * MS),),
    ),
    Domain(
        name="b",
        interface=Interface(period_ns=14 * MS, budget_ns=5 * MS),
        tasks=(Task(name="hog", kind=TaskKind.BUSY),),
    ),
)
THEFTS = (
    Stolen(period_ns=23 * MS, duration_ns=3 * MS, offset_ns=5 * MS),
    Stolen(period_ns=50 * MS, duration_ns=MS, offset_ns=7_500_000),
)
GROWN = Interface(period_ns=14 * MS, budget_ns=7 * MS)


def stolen(policy: str = "ds") -> System:
    """A server with work now and then and one with endless work, on a pcpu that others take."""
    return System(name=f"stolen-{policy}", policy=PRESETS[policy], domains=TWO, stolen=THEFTS)


def swapped() -> System:
    """Two servers whose policy is swapped twice, and one whose budget grows."""
    swaps = (
        Swap(at_ns=73 * MS, policy=PRESETS["wcps"]),
        Swap(at_ns=152 * MS, policy=PRESETS["crps"]),
    )
    change = Change(at_ns=218 * MS, domain="b", interface=GROWN)
    return System(
        name="swapped", policy=PRESETS["ptps"], domains=TWO, swaps=swaps, changes=(change,)
    )


def expected(system: System, done: OnLinux) -> System:
    """The system for the simulator: swaps as they came, thefts of the kernel beside its own."""
    at = done.trace[1]["time_ns"][done.trace[1]["kind"] == Kind.SWAP].tolist()
    for late_ns, swap in zip(at, system.swaps, strict=True):
        assert 0 <= late_ns - swap.at_ns <= LATE_NS, system.name
    swaps = tuple(swap.replace(at_ns=late) for late, swap in zip(at, system.swaps, strict=True))
    others = tuple(theft for theft in thefts(done.trace) if not is_planned(system, theft))
    return system.replace(overheads=OVERHEADS, swaps=swaps, stolen=(*system.stolen, *others))


def is_planned(system: System, theft: Stolen) -> bool:
    """Whether a theft of a run is one of the system's, and not the kernel's."""
    end_ns = theft.offset_ns + theft.duration_ns
    return any(
        theft.offset_ns < at_ns + duration_ns + LATE_NS and at_ns < end_ns
        for at_ns, duration_ns in thefts_from(system, 0, HORIZON_NS)
    )


def compared(system: System, done: OnLinux) -> Comparison:
    """The simulator beside the run."""
    horizon_ns = int(done.trace[0]["horizon_ns"])
    return compare(simulated(expected(system, done), horizon_ns), done.trace, BOUND_NS)


def agree(system: System, done: OnLinux) -> None:
    found = compared(system, done)
    assert found.agrees, f"{system.name}\n{found.text()}"
    assert found.compared_ns >= COMPARED * found.total_ns, found.text()


def test_swaps_changes_and_thefts(tmp_path: Path) -> None:
    """One machine for all."""
    systems = [stolen(), swapped()]
    done = run_on_linux(systems, HORIZON_NS, SEED, tmp_path, thefts=True)
    for system, one in zip(systems, done, strict=True):
        agree(system, one)
    taken = done[0].result.pcpus[0].stolen_ns
    assert taken is not None
    # 13 thefts of 3 ms and six of 1 ms before the horizon.
    assert abs(taken - 45 * MS) < MS // 2
    # The comparison fails for a run in which nothing is swapped, changed or stolen.
    for system, one in zip(systems, done, strict=True):
        plain = expected(system, one).replace(swaps=(), changes=(), stolen=())
        assert not compare(simulated(plain, HORIZON_NS), one.trace, BOUND_NS).agrees


@pytest.mark.slow
def test_many_swaps_and_thefts(tmp_path: Path) -> None:
    """A pcpu is stolen under many policies; the file that shows swaps; both at once.

    Left out are polling, where work of the instant 0 comes with a refill, on Linux after it, and
    sedf, where the two deadlines come close.
    """
    both = swapped().replace(name="both", stolen=THEFTS)
    policies = ("ptps", "wcps", "crps", "ds", "sporadic", "cbs", "hsf-fp")
    systems = [*map(stolen, policies), both]
    for system, done in zip(
        systems, run_on_linux(systems, HORIZON_NS, SEED, tmp_path, thefts=True), strict=True
    ):
        agree(system, done)
    (tmp_path / "file").mkdir()
    system = load_system("systems/hot-swap.toml")
    (done,) = run_on_linux([system], 4000 * MS, SEED, tmp_path / "file")
    agree(system, done)


def test_thefts_that_meet_follow_one_another() -> None:
    (outsider,) = outside(stolen(), 60 * MS, counts=False).values()
    assert outsider.pcpu == 0
    assert outsider.lines == (
        "5000000 take 3000000",
        "8000000 take 1000000",
        "28000000 take 3000000",
        "51000000 take 3000000",
        "57500000 take 1000000",
        "60000000 end horizon",
    )


def test_a_process_asks_and_one_takes_each_pcpu() -> None:
    """Under a policy of several pcpus; what is not before the horizon is left out."""
    first, second = TWO
    system = swapped().replace(
        pcpus=2,
        policy=PRESETS["partitioned-hsf-fp"],
        swaps=(),
        domains=(first.replace(pcpu=0), second.replace(pcpu=1)),
        stolen=(THEFTS[0], THEFTS[1].replace(pcpu=1)),
    )
    found = outside(system, 230 * MS, counts=True)
    assert list(found) == ["asks", "takes0", "takes1"]
    counting, asked, counted, _ = found["asks"].lines
    assert asked == (
        "218000000 ask set d1.0 period_ns=14000000 budget_ns=7000000 priority=1 force=1"
    )
    assert counting.startswith("-1000000 write")
    assert counted.startswith("230000000 write")
    assert found["asks"].priority > found["takes0"].priority
    assert len(found["takes0"].lines) == 11
    assert len(found["takes1"].lines) == 16
    assert theft_count(system, 230 * MS) == 15
    assert list(outside(system.replace(stolen=()), 200 * MS, counts=False)) == []


def test_what_cannot_be_done_is_refused() -> None:
    often = Stolen(period_ns=10_000, duration_ns=1_000)
    with pytest.raises(InputError, match=f"at most {EVENT_LIMIT} on Linux"):
        run_one(stolen().replace(stolen=(often,)), 1000 * MS, options=LinuxOptions(thefts=True))
    first, second = TWO
    moved = Change(at_ns=MS, domain="a", pcpu=1)
    system = System(
        name="moved",
        pcpus=2,
        policy=PRESETS["partitioned-hsf-fp"],
        domains=(first.replace(pcpu=0), second.replace(pcpu=1)),
        changes=(moved,),
    )
    with pytest.raises(InputError, match="none: servers stay where they are on Linux"):
        run_one(system, 10 * MS)
