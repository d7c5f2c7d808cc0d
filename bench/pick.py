# SPDX-License-Identifier: BSD-2-Clause
"""Instructions that one pick of the core takes, counted by callgrind, for 8 and 64 servers.

The same program (`pick.c`) runs with N and with 2 N picks: start and end cancel out, and the
count does not depend on the machine's speed or load.
"""

import re
import subprocess
from collections.abc import Iterator

from bench.environment import BUILD, compile_core_bench, program
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


def instructions(servers: int, picks: int, rules: tuple[str, str, str]) -> int:
    """What callgrind counts in a whole run."""
    command = [
        program("valgrind", "valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null",
        str(BUILD / "pick"), str(servers), str(picks), *rules,
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    assert collected, done.stderr
    return int(collected[1])


def measure() -> Iterator[Row]:
    """Instructions per pick, by policy and number of servers."""
    compile_core_bench("pick")
    for policy, rules in POLICIES.items():
        for servers in (8, 64):
            cost = instructions(servers, 2 * PICKS, rules) - instructions(servers, PICKS, rules)
            yield Row(f"pick, {policy}, {servers} servers", cost / PICKS, "instructions")
