# SPDX-License-Identifier: BSD-2-Clause
"""Instructions that picks and jobs take in the core, counted by callgrind.

A program runs with N and with 2 N of them: start and end cancel out, and the count does not depend
on the machine's speed or load. `pick.c` does nothing but pick, with 8 and 64 servers that are never
without work; `jobs.c` makes the calls of a host whose vcpus wake up and go to sleep, 8 of them on
each of 1 to 8 pcpus, and only what the core does is counted.
"""

from collections.abc import Iterator

from bench.environment import compile_core_bench, counted
from bench.results import Row

PICKS = 20_000

# Policy: its budget, order and slack rules, as the core numbers them.
POLICIES = {
    "ptps": ("0", "0", "0"),
    "crps": ("0", "0", "2"),
    "ds": ("1", "0", "0"),
    "deferrable + edf": ("1", "1", "0"),
    "slice + fp": ("5", "0", "0"),
    "slice-once + edf": ("6", "1", "0"),
    "psedf": ("5", "0", "5"),
    "sedf": ("6", "1", "5"),
}


# The same for jobs.
JOBS = 2_000
OF_JOBS = {"ptps": ("0", "0", "0"), "rtds": ("1", "1", "4")}


def of_one(
    name: str, before: tuple[str, ...], count: int, rules: tuple[str, str, str], inside: str = ""
) -> float:
    """Instructions of one of what a program does `count` times, and twice as often."""
    more, less = (
        counted(name, *before, str(n), *rules, inside=inside)[0] for n in (2 * count, count)
    )
    return (more - less) / count


def measure() -> Iterator[Row]:
    """Instructions of a pick and of a job, by policy and by the number of servers or pcpus."""
    compile_core_bench("pick")
    compile_core_bench("jobs")
    for policy, rules in POLICIES.items():
        for servers in (8, 64):
            cost = of_one("pick", (str(servers),), PICKS, rules)
            yield Row(f"pick, {policy}, {servers} servers", cost, "instructions")
    for policy, rules in OF_JOBS.items():
        for pcpus in (1, 2, 4, 8):
            cost = of_one("jobs", (str(pcpus), "8"), JOBS, rules, inside="decide")
            yield Row(f"job, {policy}, {pcpus} pcpus of 8 vcpus", cost, "instructions")
