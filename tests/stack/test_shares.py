# SPDX-License-Identifier: BSD-2-Clause
"""Shares of a pcpu under a real toolstack, as the core charges them and as guests see them.

Virtual time comes from counted instructions. dom0 has a pcpu of its own; on the other one two
endless guests with servers and one without compete. The clock counts dom0's instructions too, so
whenever something stirs in dom0 the guests' pcpu stands still for as long, by that clock, and the
guests see a gap that no scheduler made. dom0 is quiet most of the time; what the guests see is
therefore judged by the median of the half seconds that they report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import pytest
from tests.stack.sessions import run_session

from hyperperiod.hosts.replay import replay
from hyperperiod.hosts.rings import read_ring
from hyperperiod.hosts.xen.dom0_machine import Ran
from hyperperiod.trace.format import Kind

BUDGETS = {"a": (4, 10), "b": (5, 20)}
"""Budget and period in ms; what is left goes to the guest without a server."""
POLICIES = (
    "ptps", "wcps", "crps", "ds", "polling", "sporadic", "cbs", "deferrable+edf+none",
    "periodic+edf+lend", "cbs+fp+spare",
)  # fmt: skip
SPARE = 1 / 20
"""What the spare may add to a guest, as the boot line says."""
LESS = 0.01
"""So much less of the pcpu than its share a guest may see."""
SETTLING_NS = 500_000_000
"""After a swap, before charges are counted."""


def _run(factory: pytest.TempPathFactory) -> Ran:
    ran = run_session(
        factory,
        "shares",
        ["shares"],
        flavour="x86_64",
        files={"policies": "".join(f"{policy}\n" for policy in POLICIES).encode()},
        boot_line="hyperperiod=ring=4M hyperperiod=spare=20ms:1ms",
        pcpus=2,
        exact=True,
    )
    output = ran.results.get("shares.out", b"").decode()
    assert ran.results.get("shares.status") == b"0\n", output + ran.log[-4000:]
    return ran


def _lines(ran: Ran, name: str) -> dict[str, int]:
    """How many lines each guest had printed at some time."""
    found = re.findall(r"(\d+) \S*/guest-(\w+)\.log", ran.results[name].decode())
    return {guest: int(count) for count, guest in found}


def _seen(ran: Ran, policy: str, guest: str) -> tuple[float, float]:
    """The share of the pcpu that a guest saw under a policy and its longest gap in ms.

    Medians over what it reported, half a second at a time.
    """
    log = ran.results[f"guest-{guest}.log"].decode().splitlines()
    # The first line of the quiet time begins the measured span, the last one ends it.
    lines = log[_lines(ran, f"begin-{policy}")[guest] : _lines(ran, f"end-{policy}")[guest]]
    numbers = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in lines]
    assert len(numbers) >= 6, log
    shares = [_grown("got_ns", pair) / _grown("elapsed_ns", pair) for pair in pairwise(numbers)]
    gaps_ns = [int(one["longest_ns"]) for one in numbers[1:]]
    return median(shares), median(gaps_ns) / 1e6


def _grown(key: str, pair: tuple[dict[str, str], dict[str, str]]) -> int:
    before, after = pair
    return int(after[key]) - int(before[key])


def _charged(ran: Ran) -> Iterator[dict[str, float]]:
    """The shares that the core charged, by guest, from swap to swap."""
    data = ran.results["ring"]
    ring = read_ring(lambda at, size: data[at : at + size], 0, "ring")
    end_ns = int(ring.records["time_ns"][-1])
    records = replay(ring, end_ns).records
    charges = records[records["kind"] == Kind.CHARGE]
    swaps = [int(time) for time in ring.records["time_ns"][ring.records["kind"] == Kind.SWAP]]
    for swap_ns, next_ns in pairwise([*swaps, end_ns]):
        begin_ns = swap_ns + SETTLING_NS
        inside = charges[(charges["time_ns"] > begin_ns) & (charges["time_ns"] <= next_ns)]
        yield {
            guest: inside["value"][inside["payer"] == place].sum() / (next_ns - begin_ns)
            for place, guest in enumerate(BUDGETS)
        }


@pytest.mark.slow
def test_shares(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Within a hundredth of the budgets as charged, and no gap is longer than servers allow.

    Guests see hardly less: by what the hypervisor takes, and dom0 while its pcpu is not quiet.
    """
    ran = _run(tmp_path_factory)
    charged = list(_charged(ran))
    assert len(charged) == len(POLICIES)
    found: dict[tuple[str, str], tuple[float, float, float]] = {}
    for policy, by_guest in zip(POLICIES, charged, strict=True):
        for guest in BUDGETS:
            found[policy, guest] = (by_guest[guest], *_seen(ran, policy, guest))
    for (policy, guest), (paid, seen, gap_ms) in found.items():
        budget, period = BUDGETS[guest]
        told = f"{guest} under {policy} of {found}"
        assert paid == pytest.approx(budget / period, rel=0.01), told
        more = SPARE if "spare" in policy else 0.0
        assert budget / period - LESS < seen < budget / period + more + 0.003, told
        assert gap_ms < 2 * (period - budget) + 1, told
