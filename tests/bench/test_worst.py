# SPDX-License-Identifier: BSD-2-Clause
"""One call of the core, made with interrupts off, is bounded: at most 12,000 instructions.

All 64 servers of a pcpu are refilled at the instant of the call (`bench/worst.c`). With gcc 12
every call is below the aim; what comes within 5 % of it may miss it with another compiler.
"""

import shutil

import pytest
from bench.environment import compile_core_bench

from bench import worst

AIM = 12_000
SERVERS = 64

NEAR = "within 5 % of the aim: on which side depends on the compiler"


def case(policy: str, entry: str) -> object:
    """A policy and what happens, marked if that is not below the aim for certain."""
    near = policy in ("wcps", "crps") or (entry == "swap" and policy != "sedf")
    marks = [pytest.mark.xfail(reason=NEAR, strict=False)] if near else []
    return pytest.param(policy, entry, marks=marks)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    compile_core_bench("worst")


@pytest.mark.parametrize(
    ("policy", "entry"),
    [case(policy, entry) for policy in worst.POLICIES for entry in ("decision", *worst.CHANGES)],
)
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
