# SPDX-License-Identifier: BSD-2-Clause
"""Shares of a pcpu under a real toolstack, as the core charges them and as guests see them.

Virtual time comes from counted instructions, so the figures are the same every time. dom0 has a
pcpu of its own; on the other one two endless guests with servers and one without compete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.stack.machine import Ran
from tests.stack.sessions import run_session

from hyperperiod.hosts.xen.replay import replay
from hyperperiod.hosts.xen.rings import read_ring
from hyperperiod.trace.format import Kind

BUDGETS = {"a": (4, 10), "b": (5, 20)}
"""Budget and period in ms; what is left goes to the guest without a server."""
POLICIES = ("ptps", "sporadic", "deferrable+edf+none")
ALL_POLICIES = (
    "ptps", "wcps", "crps", "ds", "polling", "sporadic", "cbs", "deferrable+edf+none",
    "periodic+edf+lend", "cbs+fp+spare",
)  # fmt: skip
SETTLING_NS = 500_000_000
"""After a swap, before charges are counted."""


def _run(factory: pytest.TempPathFactory, name: str, policies: tuple[str, ...], xen: str) -> Ran:
    files = {"policies": "".join(f"{policy}\n" for policy in policies).encode()}
    line = "hyperperiod=ring=4M hyperperiod=spare=20ms:1ms"
    ran = run_session(
        factory, name, ["shares"], flavour=xen, files=files, boot_line=line, pcpus=2, exact=True
    )
    output = ran.results.get("shares.out", b"").decode()
    assert ran.results.get("shares.status") == b"0\n", output + ran.log[-4000:]
    return ran


def _lines(ran: Ran, name: str) -> dict[str, int]:
    """How many lines each guest had printed at some time."""
    found = re.findall(r"(\d+) \S*/guest-(\w+)\.log", ran.results[name].decode())
    return {guest: int(count) for count, guest in found}


def _seen(ran: Ran, policy: str, guest: str) -> tuple[float, float]:
    """The share of the pcpu that a guest saw under a policy, and its longest gap in ms."""
    log = ran.results[f"guest-{guest}.log"].decode().splitlines()
    # The first line of the quiet time begins the measured span, the last one ends it.
    lines = log[_lines(ran, f"begin-{policy}")[guest] : _lines(ran, f"end-{policy}")[guest]]
    numbers = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in lines]
    assert len(numbers) >= 4, log
    first, last = numbers[0], numbers[-1]
    elapsed = int(last["elapsed_ns"]) - int(first["elapsed_ns"])
    got = int(last["got_ns"]) - int(first["got_ns"])
    return got / elapsed, max(int(one["longest_ns"]) for one in numbers[1:]) / 1e6


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


def _check(ran: Ran, policies: tuple[str, ...], tolerance: float) -> None:
    """Both shares of both guests, and that no gap is longer than their servers allow."""
    charged = list(_charged(ran))
    assert len(charged) == len(policies)
    found: dict[tuple[str, str], tuple[float, float, float]] = {}
    for policy, by_guest in zip(policies, charged, strict=True):
        for guest in BUDGETS:
            found[policy, guest] = (by_guest[guest], *_seen(ran, policy, guest))
    for (policy, guest), (paid, seen, gap_ms) in found.items():
        budget, period = BUDGETS[guest]
        told = f"{guest} under {policy} of {found}"
        assert paid == pytest.approx(budget / period, rel=0.01), told
        assert seen == pytest.approx(budget / period, abs=tolerance), told
        assert gap_ms < 2 * (period - budget) + 1, told


def test_shares(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Within a hundredth of the budgets as charged, and of the pcpu as seen by the guests.

    The guests see a little less: with all its assertions on, the hypervisor takes some of the time
    that they are charged for.
    """
    _check(_run(tmp_path_factory, "shares", POLICIES, "x86_64-debug"), POLICIES, 0.01)


@pytest.mark.slow
def test_shares_of_the_release(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Under more policies, in the hypervisor as it is deployed: nothing is left of that."""
    _check(_run(tmp_path_factory, "shares-all", ALL_POLICIES, "x86_64"), ALL_POLICIES, 0.003)
