# SPDX-License-Identifier: BSD-2-Clause
"""Instructions of one decision at the worst instant: every server is refilled at it.

A host makes these calls with interrupts off. `worst.c` runs servers on one pcpu until an instant
at which all of them are refilled, and does one thing there, which callgrind counts alone. The
count does not depend on the machine's speed or load.
"""

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

from bench.environment import compile_core_bench, counted
from bench.results import Row

SERVERS = (8, 32, 64)

# What happens at the instant, by what worst.c calls it. A decision is the worst of the first three.
DECISIONS = ("pick", "wake", "sleep")
CHANGES = {"set": "new parameters", "remove": "a server goes", "swap": "another policy"}

# Policy: its budget, order and slack rules, as the core numbers them.
POLICIES = {
    "ptps": ("0", "0", "0"),
    "wcps": ("0", "0", "1"),
    "crps": ("0", "0", "2"),
    "ds": ("1", "0", "0"),
    "polling": ("2", "0", "0"),
    "sporadic": ("3", "0", "0"),
    "rtds": ("1", "1", "4"),
    "ertds": ("1", "1", "3"),
    "cbs": ("4", "1", "0"),
    "sedf": ("6", "1", "5"),
    "sedf-prime": ("5", "1", "5"),
    "psedf": ("5", "2", "5"),
}


def instructions(policy: str, servers: int, entries: Collection[str]) -> dict[str, int]:
    """What callgrind counts while one thing happens at the worst instant, by its entry."""
    found = counted("worst", str(servers), *POLICIES[policy], *entries, inside="decide")
    # The last process is the one that the others come from.
    return dict(zip(entries, found[:-1], strict=True))


def decision(policy: str, servers: int) -> int:
    """The worst of a timer, a wake-up and a vcpu that goes to sleep."""
    return max(instructions(policy, servers, DECISIONS).values())


def measure() -> Iterator[Row]:
    """Instructions of a decision, and of changes, by policy and number of servers."""
    compile_core_bench("worst")
    cases = [(policy, servers) for policy in POLICIES for servers in SERVERS]
    with ThreadPoolExecutor(2) as pool:
        for case, cost in zip(cases, pool.map(lambda one: decision(*one), cases), strict=True):
            yield Row(f"worst, {case[0]}, {case[1]} servers", cost, "instructions")
        changes = pool.map(lambda one: instructions(one, SERVERS[-1], CHANGES), POLICIES)
        for policy, costs in zip(POLICIES, changes, strict=True):
            for entry, cost in costs.items():
                yield Row(f"worst, {policy}, {SERVERS[-1]} servers: {entry}", cost, "instructions")
