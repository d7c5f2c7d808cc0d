# SPDX-License-Identifier: BSD-2-Clause
"""An hour on four pcpus: the debug hypervisor, hostile guests, real tasks, swaps, changes.

Half an hour with a core per pcpu and half an hour with one for all. The hypervisor is built with
`debug=y` and asserts the conservation laws; one that is broken stops it, which ends the test. At
the end every guest must still be at work. HYPERPERIOD_SOAK_S says how long it takes all together.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.support.on_xen import need_xen
from tests.xen.hostile import GUEST_BYTES, HOSTILE

from hyperperiod.hosts.guests import guest_words
from hyperperiod.hosts.rings import (
    GUEST_RING_OFFSET,
    RingHeader,
    announced,
    last_time,
    read_header,
)
from hyperperiod.hosts.xen.command_line import xen_arguments
from hyperperiod.hosts.xen.images import executive
from hyperperiod.hosts.xen.machine import Guest, RunningXen, XenMachine, boot
from hyperperiod.model import Change, Domain, Interface, Scope, Swap, System, Task, parse_policy

SOAK_S = int(os.environ.get("HYPERPERIOD_SOAK_S", "3600"))
PCPUS = 4
EPOCH_NS = 20_000_000_000
SWAPS = 24
_MS = 1_000_000

# Swaps stay within a scope; some of these rules exist on one pcpu only.
POLICIES = {
    "partitioned": ("crps", "ptps", "wcps", "ds", "sporadic", "cbs", "polling"),
    "global": ("rtds", "ertds", "deferrable+fp+none+global", "cbs+edf+spare+global"),
}


def soak_system(scope: str, horizon_ns: int) -> System:
    """Two real guests and two hostile ones for each pair of pcpus, and swaps all the time."""
    draw = random.Random(scope)
    policies = [parse_policy(name) for name in POLICIES[scope]]
    pinned = policies[0].scope is Scope.PARTITIONED
    domains = tuple(
        Domain(
            name=f"d{number}",
            pcpu=number % PCPUS if pinned else None,
            interface=Interface(
                period_ns=draw.choice((5, 8, 10, 20)) * _MS,
                budget_ns=draw.randint(10, 20) * 100_000,
            ),
            extra=True,
            tasks=_tasks(draw) if number < PCPUS else (Task.of(HOG),),
        )
        for number in range(PCPUS + len(HOSTILE))
    )
    apart_ns = horizon_ns // (SWAPS + 1)
    return System(
        name=f"soak-{scope}",
        policy=policies[0],
        pcpus=PCPUS,
        spare=Interface(period_ns=60 * _MS, budget_ns=4 * _MS),
        domains=domains,
        swaps=tuple(
            Swap(at_ns=(number + 1) * apart_ns + draw.randrange(_MS), policy=draw.choice(policies))
            for number in range(SWAPS)
        ),
        changes=tuple(
            Change(
                at_ns=number * apart_ns + apart_ns // 2,
                domain=draw.choice(domains).name,
                interface=Interface(period_ns=7 * _MS, budget_ns=draw.randint(500, 1500) * 1000),
            )
            for number in range(SWAPS)
        ),
    )


HOG = {"name": "hog", "kind": "busy"}


def _tasks(draw: random.Random) -> tuple[Task, ...]:
    return tuple(
        Task(
            name=f"t{number}",
            period_ns=draw.choice((200, 300, 500)) * _MS,
            wcet_ns=draw.randint(1, 6) * _MS,
        )
        for number in range(2)
    )


def soak_machine(scope: str, horizon_ns: int) -> XenMachine:
    """The machine; guests beyond the first few are hostile, each in its own way."""
    system = soak_system(scope, horizon_ns)
    guests = []
    for number in range(len(system.domains)):
        words = guest_words(
            system,
            number,
            epoch_ns=EPOCH_NS,
            horizon_ns=horizon_ns,
            seed=1,
            memory_bytes=GUEST_BYTES,
            rate=0,
        )
        if number >= PCPUS:
            kept = [word for word in words if not word.startswith(("task=", "workload="))]
            words = [f"workload={HOSTILE[number - PCPUS]}", *kept]
        guests.append(Guest(executive(), " ".join(words), GUEST_BYTES))
    arguments = xen_arguments(system, epoch_ns=EPOCH_NS, horizon_ns=horizon_ns)
    image = need_xen("arm64-debug")
    return XenMachine(image, f"{arguments} guest_loglvl=none", tuple(guests), PCPUS, icount=False)


@pytest.mark.slow
@pytest.mark.parametrize("scope", POLICIES)
def test_soak(scope: str, tmp_path: Path) -> None:
    horizon_ns = SOAK_S * 1_000_000_000 // 2
    with boot(soak_machine(scope, horizon_ns), tmp_path / "console") as running:
        addresses: list[int] = []

        def look() -> list[int | None]:
            if not addresses:
                addresses.extend(announced(running.console()).values())
            return [last_time(running.read, address) for address in addresses]

        running.wait_for("hyperperiod: horizon reached", look=look)
        headers = _headers(running)
        console = running.console()
    assert "instead" not in console, "Xen took every option"
    for number, header in enumerate(headers):
        # Records of real guests, actions of hostile ones; a busy host allows few of either.
        done = header.written if number < PCPUS else header.reserved
        assert done > 10, number


def _headers(running: RunningXen) -> list[RingHeader]:
    found = []
    for place in running.places:
        header = read_header(running.read, place.memory + GUEST_RING_OFFSET)
        assert header is not None
        found.append(header)
    return found
