# SPDX-License-Identifier: BSD-2-Clause
"""The simulator and Xen show the same schedule.

Robust systems are run on both, Xen on pcpus that count instructions. The simulator is given
the costs that were measured on that host. At every instant farther than a bound from a boundary
in either trace the same vcpu runs and the same servers pay, the sequence of all intervals is the
same, and so are the response times of all jobs up to the bound. The bound is what two events
cost at most by the same measurement: some twenty microseconds. Under global policies vcpus move
between two and four pcpus, and the bound is fifty microseconds; so it is where vcpus of a
partitioned policy are moved from pcpu to pcpu. Else each pcpu has a robust system of its own there.

Fragile systems are compared by replay, which every run does: each answer of the hypervisor's core
must be the one of the core built here.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.support.on_xen import bound_ns, run_on_xen, with_overheads
from tests.support.random_systems import POLICIES, random_system, step_of
from tests.support.robust import (
    GUESTS,
    HORIZON_NS,
    MOVED,
    NUMBERS,
    SEED,
    SHARED,
    SWAPPED,
    candidate,
    moving,
    one_guest,
    robust_systems,
    side_by_side,
    simulated,
    swapped,
)
from tests.xen.agreement import agree

from hyperperiod.model import Scope, System, load_system, with_policy
from hyperperiod.model.policy import PRESETS
from hyperperiod.trace.compare import compare
from hyperperiod.trace.format import NONE, Kind

MOVE_NS = 13_000
"""From the instant of a change until the server is where it moves to; docs/xen/conformance.md."""


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("preset", PRESETS)
def test_two_systems_of_each_preset(preset: str, number: int, tmp_path: Path) -> None:
    agree(candidate(preset, NUMBERS[preset][number]), tmp_path)


@pytest.mark.slow
def test_one_policy_alone_decides_as_it_does_among_others(tmp_path: Path) -> None:
    """Neither the other rules nor several pcpus under one lock are in this hypervisor."""
    for number in NUMBERS["ptps"]:
        agree(candidate("ptps", number), tmp_path, "arm64-ptps")


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_all_systems_of_each_preset(preset: str, tmp_path: Path) -> None:
    for number in NUMBERS[preset][2:]:
        agree(candidate(preset, number), tmp_path)


def test_overruns_are_those_of_the_simulator(tmp_path: Path) -> None:
    """Every third job needs a second budget, and holds up the other task of its domain."""
    text = """
        name = "overruns"
        policy = "ds"
        overrun = [{ task = "a.t", factor = 2.5, every = 3, from = "70ms" }]
        [[domain]]
        name = "a"
        interface = { period = "10ms", budget = "4ms" }
        task = [
            { name = "t", period = "20ms", wcet = "2.3ms", etf = 0.8 },
            { name = "u", period = "40ms", wcet = "1.2ms", offset = "1ms" },
        ]
        [[domain]]
        name = "b"
        interface = { period = "15ms", budget = "5ms" }
        task = [{ name = "x", period = "30ms", wcet = "3.1ms", offset = "500us" }]
    """
    (tmp_path / "overruns.toml").write_text(text)
    agree(load_system(tmp_path / "overruns.toml"), tmp_path)


FEW = {2: 3, 4: 1}
"""On so many pcpus, so many of each policy; the others are slow."""


@pytest.mark.parametrize(("pcpus", "policy"), [(2, policy) for policy in SHARED[2]] + [(4, "rtds")])
def test_some_systems_on_several_pcpus(pcpus: int, policy: str, tmp_path: Path) -> None:
    for number in SHARED[pcpus][policy][: FEW[pcpus]]:
        agree(candidate(policy, number, pcpus), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pcpus", "policy"), [(pcpus, policy) for pcpus in SHARED for policy in SHARED[pcpus]]
)
def test_all_systems_on_several_pcpus(pcpus: int, policy: str, tmp_path: Path) -> None:
    for number in SHARED[pcpus][policy]:
        agree(candidate(policy, number, pcpus), tmp_path)


@pytest.mark.parametrize("policy", SWAPPED)
def test_swaps_while_vcpus_move_between_pcpus(policy: str, tmp_path: Path) -> None:
    agree(swapped(candidate(policy, SWAPPED[policy][0], 2)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("policy", SWAPPED)
def test_all_swaps_while_vcpus_move_between_pcpus(policy: str, tmp_path: Path) -> None:
    for number in SWAPPED[policy][1:]:
        agree(swapped(candidate(policy, number, 2)), tmp_path)


@pytest.mark.parametrize("policy", MOVED)
def test_vcpus_are_moved_from_pcpu_to_pcpu(policy: str, tmp_path: Path) -> None:
    for number in MOVED[policy][:2]:
        arrive_in_time(moving(policy, number), tmp_path)


def arrive_in_time(system: System, folder: Path) -> None:
    """It agrees, and no move takes longer than the page says."""
    _, records = agree(system, folder)
    arrived = records[(records["kind"] == Kind.MOVE) & (records["pcpu"] != NONE)]
    took_ns = arrived["time_ns"] - [change.at_ns for change in system.changes]
    assert len(took_ns) == len(system.changes)
    assert took_ns.max() <= MOVE_NS, took_ns


@pytest.mark.slow
@pytest.mark.parametrize("policy", MOVED)
def test_more_vcpus_are_moved_from_pcpu_to_pcpu(policy: str, tmp_path: Path) -> None:
    for number in MOVED[policy][2:]:
        arrive_in_time(moving(policy, number), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("policy", MOVED)
def test_no_law_of_the_core_breaks_where_vcpus_are_moved(policy: str, tmp_path: Path) -> None:
    """This hypervisor checks itself at every decision."""
    run_on_xen(moving(policy, MOVED[policy][0]), HORIZON_NS, SEED, tmp_path, flavour="arm64-debug")


PARTITIONED = [name for name, policy in PRESETS.items() if policy.scope is Scope.PARTITIONED]


def test_two_systems_side_by_side(tmp_path: Path) -> None:
    agree(side_by_side(robust_systems("crps")[:2]), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PARTITIONED)
def test_systems_side_by_side(preset: str, tmp_path: Path) -> None:
    for first in range(0, 8, 2):
        agree(side_by_side(robust_systems(preset)[first : first + 2]), tmp_path)
    agree(side_by_side(robust_systems(preset)[8:12]), tmp_path)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_guest_with_several_vcpus_of_each_preset(preset: str, tmp_path: Path) -> None:
    agree(one_guest(preset, GUESTS[preset][0]), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_more_guests_with_several_vcpus(preset: str, tmp_path: Path) -> None:
    for number in GUESTS[preset][1:]:
        agree(one_guest(preset, number), tmp_path)


def fragile(number: int) -> System | None:
    """The random system with this number on one pcpu, if its steps are no shorter than 100 us."""
    system = random_system(number)
    if step_of(system) < 100_000:
        return None
    domains = [
        domain if domain.pcpu is None else domain.replace(pcpu=0) for domain in system.domains
    ]
    return system.replace(pcpus=1, domains=tuple(domains))


def replays(numbers: Iterable[int], folder: Path) -> None:
    """Instants coincide, policies are swapped, parameters change: every decision is the same."""
    for system in filter(None, map(fragile, numbers)):
        run_on_xen(system, min(200 * step_of(system), 100_000_000), SEED, folder)


def test_fragile_systems_by_replay(tmp_path: Path) -> None:
    replays(range(9), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 5 * len(POLICIES), len(POLICIES)))
def test_many_fragile_systems_by_replay(first: int, tmp_path: Path) -> None:
    replays(range(first, first + len(POLICIES)), tmp_path)


def test_another_policy_is_noticed(tmp_path: Path) -> None:
    """The comparison fails when the two hosts do not do the same."""
    system = candidate("crps", NUMBERS["crps"][0])
    on_xen = run_on_xen(with_policy(system, PRESETS["ptps"]), HORIZON_NS, SEED, tmp_path)
    found = compare(simulated(with_overheads(system), HORIZON_NS), on_xen.trace, bound_ns())
    assert not found.agrees
    assert "first divergence: pcpu 0" in found.text()


def test_a_run_repeats_to_the_byte(tmp_path: Path) -> None:
    system = candidate("wcps", NUMBERS["wcps"][0])
    first, second = (run_on_xen(system, HORIZON_NS, SEED, tmp_path / name) for name in "ab")
    assert first.result == second.result
    assert first.trace[1].tobytes() == second.trace[1].tobytes()
