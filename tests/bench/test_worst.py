# SPDX-License-Identifier: BSD-2-Clause
"""One call of the core, made with interrupts off, is bounded: at most 12,000 instructions.

All 64 servers of a pcpu are refilled at the instant of the call (`bench/worst.c`).
"""

import shutil

import pytest
from bench.environment import compile_core_bench

from bench import worst

AIM = 12_000
SERVERS = 64


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    compile_core_bench("worst")


@pytest.mark.parametrize("policy", worst.POLICIES)
def test_a_call_is_bounded_and_its_cost_grows_with_the_servers_and_no_faster(policy: str) -> None:
    """Twice the servers cost at most twice and a quarter as much, under every order."""
    costs = worst.instructions(policy, SERVERS, (*worst.DECISIONS, *worst.CHANGES))
    assert max(costs.values()) <= AIM, costs
    for entry, cost in worst.instructions(policy, SERVERS // 2, ("pick", "set", "swap")).items():
        assert 4 * costs[entry] <= 9 * cost, entry
