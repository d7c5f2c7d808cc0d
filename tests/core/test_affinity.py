# SPDX-License-Identifier: BSD-2-Clause
"""Vcpus that are bound to pcpus: who runs is who should, in every small world.

Judged by trying all placements: going through the vcpus with work in order, each that fits beside
those before it runs, and no other.
"""

from __future__ import annotations

from itertools import permutations, product

import pytest

from hyperperiod import _sim

MS = 1_000_000
RULES = ((1, 0, 0), (1, 1, 0), (1, 1, 4))
"""Deferrable servers by priority, by deadline, and by deadline with extra time."""


def placeable(masks: list[int], pcpus: int) -> bool:
    """Whether each of these can have a pcpu of its own that its mask names."""
    return any(
        all(mask >> pcpu & 1 for mask, pcpu in zip(masks, chosen, strict=True))
        for chosen in permutations(range(pcpus), len(masks))
    )


def expected(masks: list[int], working: list[int], pcpus: int) -> list[int]:
    """Who runs, by number: the first in order is the lowest number."""
    run: list[int] = []
    for vcpu in working:
        if placeable([masks[one] for one in (*run, vcpu)], pcpus):
            run.append(vcpu)
    return run


def settle(core: _sim.Core, pcpus: int, now_ns: int) -> list[int | None]:
    """Picks until nobody is to be kicked any more; returns who runs on each pcpu."""
    runs: list[int | None] = [core.pick(pcpu, now_ns)[2] for pcpu in range(pcpus)]
    for _ in range(4 * pcpus):
        kicks = core.kicks(now_ns)
        if not kicks:
            return runs
        for pcpu in range(pcpus):
            if kicks >> pcpu & 1:
                runs[pcpu] = core.pick(pcpu, now_ns)[2]
    raise AssertionError("the host is never done")


def check(core: _sim.Core, masks: list[int], work: int, pcpus: int, now_ns: int) -> None:
    runs = settle(core, pcpus, now_ns)
    working = [vcpu for vcpu in range(len(masks)) if work >> vcpu & 1]
    assert sorted(vcpu for vcpu in runs if vcpu is not None) == expected(masks, working, pcpus)
    for pcpu, vcpu in enumerate(runs):
        assert vcpu is None or masks[vcpu] >> pcpu & 1, (masks, work, runs)
    assert core.check(now_ns) == 0


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(("pcpus", "vcpus"), [(2, 4), (3, 4)])
def test_who_runs_is_who_fits(rules: tuple[int, int, int], pcpus: int, vcpus: int) -> None:
    """All affinities of all vcpus; each set of vcpus with work follows the one before it."""
    every = range(1, 1 << pcpus)
    for masks in product(every, repeat=vcpus):
        core = _sim.Core(*rules, pcpus, 0, 0, 0)
        for vcpu, mask in enumerate(masks):
            # Lower numbers have earlier deadlines and higher priorities, for as long as this takes.
            assert core.add(vcpu, (100 + vcpu) * MS, 50 * MS, vcpu, 0, 0) == 0
            core.bind(vcpu, mask)
        before = 0
        for now_ns, work in enumerate((15, 7, 14, 5, 10, 3, 12, 9, 6, 15)):
            for vcpu in range(vcpus):
                if before >> vcpu & 1 and not work >> vcpu & 1:
                    core.depart(vcpu, now_ns)
            for vcpu in range(vcpus):
                if work >> vcpu & 1:
                    core.arrive(vcpu, now_ns)
            check(core, list(masks), work, pcpus, now_ns)
            before = work


@pytest.mark.parametrize("rules", RULES)
def test_affinities_change_while_vcpus_run(rules: tuple[int, int, int]) -> None:
    """Every affinity of every vcpu of three on two pcpus after every other one."""
    core = _sim.Core(*rules, 2, 0, 0, 0)
    for vcpu in range(3):
        assert core.add(vcpu, (100 + vcpu) * MS, 50 * MS, vcpu, 0, 0) == 0
        core.arrive(vcpu, 0)
    masks = [3, 3, 3]
    now_ns = 0
    for following in [*product((1, 2, 3), repeat=3)] * 2 + [*product((3, 2, 1), repeat=3)]:
        for vcpu, mask in enumerate(following):
            now_ns += 1
            masks[vcpu] = mask
            core.bind(vcpu, mask)
            check(core, masks, 7, 2, now_ns)


def test_bound_to_no_pcpu_that_is_there_is_bound_to_none() -> None:
    core = _sim.Core(*RULES[0], 2, 0, 0, 0)
    for vcpu in range(2):
        assert core.add(vcpu, 10 * MS, 5 * MS, vcpu, 0, 0) == 0
        core.bind(vcpu, 12)
        core.arrive(vcpu, 0)
    assert sorted(str(run) for run in settle(core, 2, 0)) == ["0", "1"]
