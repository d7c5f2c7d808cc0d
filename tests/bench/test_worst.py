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


@pytest.mark.parametrize("entry", ["decision", *worst.CHANGES])
@pytest.mark.parametrize("policy", worst.POLICIES)
def test_a_call_is_bounded(policy: str, entry: str) -> None:
    if entry == "decision":
        assert worst.decision(policy, SERVERS) <= AIM
    else:
        assert worst.instructions(policy, SERVERS, entry) <= AIM


@pytest.mark.parametrize("policy", worst.POLICIES)
def test_the_cost_grows_with_the_servers_and_no_faster(policy: str) -> None:
    """Twice the servers cost at most twice and a quarter as much, under every order."""
    for entry in ("pick", "set", "swap"):
        half = worst.instructions(policy, SERVERS // 2, entry)
        assert 4 * worst.instructions(policy, SERVERS, entry) <= 9 * half
