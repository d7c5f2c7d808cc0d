# SPDX-License-Identifier: BSD-2-Clause
"""An analysis that asks for verdicts alone says what the whole one says, but for the tests beside.

The drawn systems are of all loads, so that tests accept, refuse and do not know.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hyperperiod.analysis import Analysis
from hyperperiod.model import InputError, Sbf, System, load_system
from hyperperiod.model.generate import csa_system
from hyperperiod.model.policy import legal_policies
from hyperperiod.resources import SYSTEMS

BESIDE = ("tests", "paper")


def without_tests(value: Any) -> Any:
    """A result as its JSON has it, without what is only said beside the verdicts."""
    if isinstance(value, dict):
        return {one: without_tests(it) for one, it in value.items() if one not in BESIDE}
    return [without_tests(one) for one in value] if isinstance(value, list) else value


def said(system: System, *, verdicts_only: bool) -> Any:
    """What the analysis says, or that nothing can be said."""
    try:
        return Analysis(system, verdicts_only=verdicts_only).result().to_dict()
    except InputError as error:
        return {"error": str(error)}


def assert_same(system: System) -> Any:
    whole, lean = (said(system, verdicts_only=one) for one in (False, True))
    assert without_tests(whole) == without_tests(lean)
    assert not any(domain["tests"] for domain in lean.get("domains", ()))
    return lean


@pytest.mark.parametrize("path", sorted(SYSTEMS.glob("*.toml")), ids=lambda path: path.stem)
def test_example_systems(path: Path) -> None:
    assert_same(load_system(str(path)))


def test_drawn_systems_under_every_policy() -> None:
    draw = random.Random(7)
    verdicts: Counter[bool | None] = Counter()
    for policy in legal_policies():
        for sbf in Sbf:
            load = Fraction(draw.randrange(30, 95), 100)
            seed = draw.randrange(1 << 30)
            system = csa_system("drawn", policy, seed=seed, utilization=load, domains=3)
            domains = [
                domain.replace(interface_period_ns=draw.choice((10, 20, 25)) * 1_000_000)
                for domain in system.domains
            ]
            system = system.replace(domains=tuple(domains), sbf=sbf)
            verdicts[assert_same(system).get("schedulable")] += 1
    assert min(verdicts[True], verdicts[False], verdicts[None]) > 10
