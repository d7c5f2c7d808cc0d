# SPDX-License-Identifier: BSD-2-Clause
"""The systems that hosts are compared on, and the comparison itself, in the simulator alone."""

from collections import Counter

import pytest
from tests.support.robust import (
    BOUND_NS,
    DRIFT_NS,
    GUESTS,
    HORIZON_NS,
    MOVED,
    NUMBERS,
    SHARED,
    SWAPPED,
    WANTED,
    candidate,
    is_robust,
    moving,
    one_guest,
    perturbed,
    robust_systems,
    sequence,
    simulated,
    swapped,
)

from hyperperiod.model import TaskKind, vcpus_of, with_policy
from hyperperiod.model.policy import PRESETS
from hyperperiod.trace.compare import compare
from hyperperiod.trace.intervals import intervals


def test_every_preset_has_its_robust_systems() -> None:
    assert list(NUMBERS) == list(PRESETS)
    for numbers in NUMBERS.values():
        assert len(set(numbers)) == len(numbers) >= WANTED


@pytest.mark.parametrize("preset", PRESETS)
def test_the_first_one_is_robust(preset: str) -> None:
    assert is_robust(candidate(preset, NUMBERS[preset][0]))


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
def test_all_of_them_are_robust(preset: str) -> None:
    for number in NUMBERS[preset]:
        assert is_robust(candidate(preset, number)), number


@pytest.mark.parametrize(
    ("pcpus", "policy"), [(pcpus, policy) for pcpus in SHARED for policy in SHARED[pcpus]]
)
def test_the_first_one_on_several_pcpus_is_robust(pcpus: int, policy: str) -> None:
    numbers = SHARED[pcpus][policy]
    assert len(set(numbers)) == len(numbers) >= 5
    assert is_robust(candidate(policy, numbers[0], pcpus))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pcpus", "policy"), [(pcpus, policy) for pcpus in SHARED for policy in SHARED[pcpus]]
)
def test_all_of_them_on_several_pcpus_are_robust(pcpus: int, policy: str) -> None:
    for number in SHARED[pcpus][policy]:
        assert is_robust(candidate(policy, number, pcpus)), number


@pytest.mark.slow
@pytest.mark.parametrize("policy", SWAPPED)
def test_all_swapped_ones_are_robust(policy: str) -> None:
    for number in SWAPPED[policy]:
        assert is_robust(swapped(candidate(policy, number, 2))), number


@pytest.mark.slow
@pytest.mark.parametrize("policy", MOVED)
def test_all_moved_ones_are_robust(policy: str) -> None:
    for number in MOVED[policy]:
        assert is_robust(moving(policy, number)), number


def test_vcpus_move_between_pcpus() -> None:
    """In two systems of the 52 nobody does."""
    moving = 0
    for pcpus, shared in SHARED.items():
        for policy, numbers in shared.items():
            for number in numbers:
                own = simulated(candidate(policy, number, pcpus), HORIZON_NS)
                ran = {(row.pcpu, row.run) for row in intervals(*own) if row.run != "idle"}
                moving += len(ran) > len({run for _, run in ran})
    assert moving == 50


@pytest.mark.parametrize("preset", PRESETS)
def test_guests_with_several_vcpus_are_robust(preset: str) -> None:
    for number in GUESTS[preset]:
        system = one_guest(preset, number)
        assert is_robust(system), number
        interfaces = {vcpu.interface for vcpu in vcpus_of(system)}
        assert len(interfaces) > 1, "vcpus that are alike"


def test_most_systems_are_not_robust() -> None:
    """So the search has something to find, and the test of robustness something to refuse."""
    refused = [number for number in range(9) if not is_robust(candidate("crps", number))]
    assert len(refused) > 5


def test_the_robust_systems_are_not_dull() -> None:
    """All kinds of tasks are there, best-effort domains too, and each system does something."""
    systems = [system for preset in PRESETS for system in robust_systems(preset)]
    domains = [domain for system in systems for domain in system.domains]
    kinds = Counter(task.kind for domain in domains for task in domain.tasks)
    assert set(kinds) == set(TaskKind)
    assert sum(domain.best_effort for domain in domains) > 10
    for system in systems:
        assert 2 <= len(system.domains) <= 5
        assert len(sequence(simulated(system, HORIZON_NS))) >= 40, system.name


@pytest.mark.parametrize("preset", ["crps", "sporadic", "rtds"])
def test_a_perturbed_run_agrees(preset: str) -> None:
    system = robust_systems(preset)[0]
    own = simulated(system, HORIZON_NS)
    for version in perturbed(system):
        found = compare(own, simulated(version, HORIZON_NS), DRIFT_NS)
        assert found.agrees, found.text()


OTHERS = {
    "ptps": "wcps",
    "wcps": "crps",
    "crps": "ptps",
    "ds": "polling",
    "polling": "sporadic",
    "sporadic": "ds",
    "rtds": "cbs",
    "ertds": "deferrable+edf+none+global",
    "cbs": "ds",
    "sedf": "cbs",
    "sedf-prime": "ds",
    "psedf": "cbs",
}


@pytest.mark.parametrize(("preset", "other"), OTHERS.items())
def test_another_policy_does_not_agree(preset: str, other: str) -> None:
    """On most systems: two policies may do the same on some."""
    from hyperperiod.model import parse_policy

    different = 0
    for system in robust_systems(preset):
        wrong = with_policy(system, parse_policy(other))
        found = compare(simulated(system, HORIZON_NS), simulated(wrong, HORIZON_NS), BOUND_NS)
        if found.divergence is not None:
            different += 1
            assert "first divergence: pcpu 0" in found.text()
            assert found.divergence.end_ns - found.divergence.start_ns > BOUND_NS
    assert different >= len(NUMBERS[preset]) * 2 // 3
