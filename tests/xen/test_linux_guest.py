# SPDX-License-Identifier: BSD-2-Clause
"""Linux in a domain: real SCHED_FIFO threads hold their deadlines under a computed interface.

Debian's kernel boots under the hypervisor with our scheduler, in a domain whose interface comes
from the analysis of its tasks plus a stated margin for Linux itself (docs/xen/linux-guest.md),
beside a bare-metal guest with deadlines of its own and a best-effort one that never stops. With
half of that interface the same threads miss, so the first result is the interface's doing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import xen_images

from hyperperiod.analysis import analyze, resolve
from hyperperiod.hosts.xen.command_line import guest_words, xen_arguments
from hyperperiod.hosts.xen.images import DTC, QEMU, tool
from hyperperiod.hosts.xen.machine import MIB, Guest, Machine, boot
from hyperperiod.hosts.xen.rings import GUEST_RING_OFFSET, read_ring
from hyperperiod.model import (
    PRESETS,
    Domain,
    Interface,
    MissingError,
    System,
    load_system,
    with_policy,
)
from hyperperiod.trace.format import Kind

TOP = Path(__file__).parents[2]
EXAMPLE = TOP / "docs" / "examples" / "linux-guest.toml"
LINUX = TOP / "build" / "guests" / "linux"
MISSING_TOOL = 3

MS = 1_000_000
EPOCH_NS = 400 * MS
EXECUTIVE_BYTES = 24 * MIB
LINUX_BYTES = 256 * MIB

# What the threads execute; the system file has it with the margin for Linux itself.
THREADS = {"fast": (10 * MS, 2 * MS), "slow": (40 * MS, 4 * MS)}
TASK = re.compile(r"linux-guest: task (\d+) jobs (\d+) misses (\d+) min (\d+) mean \d+ max (\d+)")
CYCLICTEST = re.compile(r"T: 0 .* C: *(\d+) Min: *(\d+) Act: *\d+ Avg: *(\d+) Max: *(\d+)")


@dataclass(frozen=True)
class Thread:
    """What one thread in Linux saw."""

    jobs: int
    misses: int
    min_ns: int
    max_ns: int


@dataclass(frozen=True)
class Seen:
    """What a run showed."""

    console: str
    threads: dict[str, Thread]
    control_ns: list[int]


def run(system: System, folder: Path, **words: int) -> Seen:
    """Boots the system, in which one domain is Linux, until Linux says that it is done."""
    try:
        tool(QEMU), tool(DTC)
    except MissingError as missing:
        pytest.skip(str(missing))
    xen = xen_images.image("arm64")
    xen_images.guest()
    xen_images.linux_guest()
    horizon_ns = 10_000 * MS
    arguments = xen_arguments(system, epoch_ns=EPOCH_NS, horizon_ns=horizon_ns, ring_bytes=0)
    guests = tuple(guests_of(system, horizon_ns, words))
    console = folder / "console"
    with boot(Machine(xen, f"guest_loglvl=all {arguments}", guests), console) as running:
        control = running.places[0].memory + GUEST_RING_OFFSET
        running.wait_for("linux-guest: done", look=lambda: running.read(control, 64))
        running.stop()
        records = read_ring(running.read, control, "control").records
        return Seen(running.console(), threads_of(running.console()), responses(records))


def guests_of(system: System, horizon_ns: int, words: dict[str, int]) -> Iterator[Guest]:
    for number, domain in enumerate(system.domains):
        if domain.name == "linux":
            yield linux_guest(words)
            continue
        told = guest_words(
            system,
            number,
            epoch_ns=EPOCH_NS,
            horizon_ns=horizon_ns,
            seed=1,
            memory_bytes=EXECUTIVE_BYTES,
        )
        yield Guest(xen_images.guest(), " ".join(told), EXECUTIVE_BYTES)


def linux_guest(words: dict[str, int]) -> Guest:
    tasks = ",".join(f"{period}:{wcet}" for period, wcet in THREADS.values())
    told = [f"{key}={value}" for key, value in words.items()]
    arguments = f"console=ttyAMA0 quiet rdinit=/init hp_tasks={tasks} {' '.join(told)}"
    ramdisk = LINUX / "initramfs.cpio"
    return Guest(LINUX / "vmlinuz", arguments, LINUX_BYTES, ramdisk=ramdisk, vpl011=True)


def threads_of(console: str) -> dict[str, Thread]:
    found = {int(number): Thread(*map(int, rest)) for number, *rest in TASK.findall(console)}
    return {name: found[number] for number, name in enumerate(THREADS)}


def responses(records: Any) -> list[int]:
    """Response times of the bare-metal guest's jobs, in nanoseconds."""
    return [int(value) for value in records["value"][records["kind"] == Kind.COMPLETE]]


def bounds(system: System) -> dict[str, int]:
    """The response bounds of the tasks, by domain.task."""
    return {
        f"{domain.name}.{task.name}": task.response_bound_ns
        for domain in analyze(system).domains
        for task in domain.tasks
        if task.response_bound_ns is not None
    }


def with_interface(system: System, name: str, interface: Interface) -> System:
    def changed(domain: Domain) -> Domain:
        return domain.replace(interface=interface, interface_period_ns=None)

    domains = tuple(changed(one) if one.name == name else one for one in system.domains)
    return system.replace(domains=domains)


def test_threads_in_linux_hold_their_deadlines(tmp_path: Path) -> None:
    system = resolve(load_system(EXAMPLE))
    assert analyze(system).schedulable is True
    seen = run(system, tmp_path, hp_span=500 * MS, hp_cyclictest=200)
    bound = bounds(system)
    for name, (period_ns, wcet_ns) in THREADS.items():
        thread = seen.threads[name]
        assert (thread.jobs, thread.misses) == (-(-500 * MS // period_ns), 0)
        assert wcet_ns < thread.min_ns <= thread.max_ns <= bound[f"linux.{name}"]
    assert len(seen.control_ns) > 100
    assert max(seen.control_ns) <= 10 * MS
    found = CYCLICTEST.search(seen.console)
    assert found, seen.console[-2000:]
    loops, least_us, mean_us, most_us = map(int, found.groups())
    print(f"cyclictest in Linux: min {least_us}, mean {mean_us}, max {most_us} us in {loops} loops")
    interface = system.domains[1].interface
    assert interface is not None
    # The server is away for at most this long; Linux itself needs less than 200 us to wake up.
    away_ns = 2 * (interface.period_ns - interface.budget_ns)
    assert loops == 200
    assert most_us * 1000 <= away_ns + 200_000


@pytest.mark.slow
def test_with_half_of_the_interface_they_do_not(tmp_path: Path) -> None:
    system = resolve(load_system(EXAMPLE))
    interface = system.domains[1].interface
    assert interface is not None
    half = Interface(period_ns=interface.period_ns, budget_ns=interface.budget_ns // 2)
    # Under ptps nothing is donated: half is half.
    less = with_interface(load_system(EXAMPLE), "linux", half)
    seen = run(resolve(with_policy(less, PRESETS["ptps"])), tmp_path, hp_span=500 * MS)
    assert seen.threads["slow"].misses > 0
    assert max(seen.control_ns) <= 10 * MS
