# SPDX-License-Identifier: BSD-2-Clause
"""Slices by weight: worked out by hand, and against the tick model after Xen's scheduler."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.model_naive.slices import Slice, weighted

from hyperperiod.analysis import analyze, resolve
from hyperperiod.analysis.resolve import resolve_what_can_be
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    System,
    Task,
    load_system,
    parse_policy,
    to_toml,
)

MS = 1_000_000


def domain(name: str, given: tuple[int, int] | None = None, **more: Any) -> Domain:
    """A domain with `given` = (budget, period) in ms, and a little work."""
    task = Task.of({"name": "t", "period": 400 * MS, "wcet": MS})
    if given is not None:
        more["interface"] = Interface(period_ns=given[1] * MS, budget_ns=given[0] * MS)
    return Domain.of({"name": name, "task": (task,), **more})


def system(*domains: Domain, policy: str = "sedf", **more: Any) -> System:
    fields = {"name": "weights", "policy": parse_policy(policy), "domain": domains}
    return System.of(fields | more)


def slices(found: System) -> dict[str, tuple[int, int]]:
    return {
        one.name: (one.interface.budget_ns, one.interface.period_ns)
        for one in found.domains
        if one.interface is not None
    }


def test_two_share_what_a_third_leaves() -> None:
    """95 - 20 = 75 ms in 100, two to one; a best-effort weight has no part in it."""
    found = resolve(
        system(
            domain("given", (4, 20)),
            domain("two", weight=2),
            domain("one", weight=1),
            domain("rest", best_effort=True, weight=7),
        )
    )
    assert slices(found) == {
        "given": (4 * MS, 20 * MS),
        "two": (50 * MS, 100 * MS),
        "one": (25 * MS, 100 * MS),
    }
    assert analyze(found).schedulable is True


def test_other_policies_compute_an_interface(tmp_path: Path) -> None:
    """It takes the place of the weight, so that the system can be written and read again."""
    weighted = system(domain("a", weight=2), domain("rest", best_effort=True, weight=7))
    found = resolve(weighted.replace(policy=parse_policy("crps")))
    assert list(slices(found)) == ["a"]
    assert [one.weight for one in found.domains] == [None, 7]
    written = tmp_path / "found.toml"
    written.write_text(to_toml(found))
    assert load_system(written) == found


def test_every_vcpu_weighs() -> None:
    found = resolve(system(domain("pair", weight=1, vcpus=2), domain("one", weight=1)))
    assert slices(found)["pair"] == slices(found)["one"] == (95 * MS // 3, 100 * MS)


def test_pcpus_are_apart() -> None:
    pair = (domain("left", weight=1, pcpu=0), domain("right", weight=9, pcpu=1))
    assert set(slices(resolve(system(*pair, pcpus=2))).values()) == {(95 * MS, 100 * MS)}


def test_whole_quanta() -> None:
    found = resolve(system(domain("a", weight=1), domain("b", weight=2), quantum=MS))
    assert slices(found) == {"a": (31 * MS, 100 * MS), "b": (63 * MS, 100 * MS)}


def test_nothing_is_left() -> None:
    full = system(domain("given", (19, 20)), domain("late", weight=1))
    assert resolve_what_can_be(full).failures["late"].holds is False
    with pytest.raises(InputError, match="the others leave nothing"):
        resolve(full)


def test_other_policies_compute_an_interface_as_ever() -> None:
    one = system(domain("a", weight=3), policy="cbs")
    assert slices(resolve(one)) == slices(resolve(system(domain("a"), policy="cbs")))


@pytest.mark.parametrize("seed", range(20))
def test_against_the_tick_model(seed: int) -> None:
    draw = random.Random(seed)
    given = [(draw.randint(1, 4), draw.randint(20, 40)) for _ in range(draw.randint(0, 3))]
    weights = [draw.randint(1, 300) for _ in range(draw.randint(1, 4))]
    found = resolve(
        system(
            *(domain(f"g{i}", pair) for i, pair in enumerate(given)),
            *(domain(f"w{i}", weight=weight) for i, weight in enumerate(weights)),
        )
    )
    expected = weighted(
        [Slice(period * MS, budget * MS) for budget, period in given]
        + [Slice(0, 0, weight=weight) for weight in weights],
        100 * MS,
        5 * MS,
    )
    assert list(slices(found).values()) == [(one.slice, one.period) for one in expected]


@pytest.mark.parametrize(
    ("key", "more"),
    [
        ("interface", {"interface": {"period": 10 * MS, "budget": MS}}),
        ("interface_period", {"interface_period": 10 * MS}),
        ("extra", {"extra": True}),
    ],
)
def test_a_weight_stands_for_an_interface(key: str, more: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{key} with a weight"):
        domain("d", weight=1, **more)
