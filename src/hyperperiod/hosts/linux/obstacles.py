# SPDX-License-Identifier: BSD-2-Clause
"""What on a Linux machine costs servers their deadlines, or keeps them from being put in force.

    findings = examine(Machine.of(ROOT, [2, 3]))

Each obstacle has one function, which looks and changes nothing; CHECKS, at the end, lists them.
What a look finds is judged `good`, `costs` or `refused`, or `unknown` where a file says something
that is not understood. A finding that is not good says what to do. `remedies` makes the changes
that some have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hyperperiod.hosts.linux.cpus import write_list
from hyperperiod.hosts.linux.readings import (
    CPUS,
    Machine,
    OddError,
    Readings,
    online,
    real_time_threads,
)
from hyperperiod.model.errors import some_names

LATENCY_US: Final = 20
"""A cpu that wakes up later than this is late by more than a grant may overrun."""
NEEDED: Final = ("scx_bpf_dsq_move_to_local", "bpf_res_spin_lock")
"""Functions of the kernel without which no program is loaded. The second tells that programs with
interrupts off may call what the verifier looks at on its own, which came with it."""
CLOCKS: Final = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
"""Clocks that are read without leaving the cpu."""


class Verdict(StrEnum):
    """What a finding means for servers: good, it costs deadlines, none can be put in force, or the
    file that says it is not understood."""

    GOOD = "good"
    COSTS = "costs"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Change:
    """A file, as a path without its first slash, and what it should say."""

    path: str
    value: str


@dataclass(frozen=True)
class Finding:
    """What was found, and what to do about it; `changes` are those that `--fix` makes."""

    verdict: Verdict
    found: str
    advice: str = ""
    changes: Sequence[Change] = ()


def examine(machine: Machine) -> dict[str, Finding]:
    """Looks at a machine with every check of CHECKS, and changes nothing; findings by the name of
    the check. A file that says something odd makes its check's finding `unknown`."""
    return {name: _judged(check, machine) for name, check in CHECKS.items()}


def _judged(check: Callable[[Machine], Finding], machine: Machine) -> Finding:
    try:
        return check(machine)
    except OddError as odd:
        return Finding(Verdict.UNKNOWN, str(odd))


def _good(found: str) -> Finding:
    return Finding(Verdict.GOOD, found)


def _costs(found: str, advice: str, changes: Sequence[Change] = ()) -> Finding:
    return Finding(Verdict.COSTS, found, advice, changes)


def _refused(found: str, advice: str) -> Finding:
    return Finding(Verdict.REFUSED, found, advice)


# -- What the kernel has --------------------------------------------------------------------------


def _sched_ext(machine: Machine) -> Finding:
    kernel = f"kernel {machine.files.text('proc/sys/kernel/osrelease') or 'of no name'}"
    if machine.files.text("sys/kernel/sched_ext/state") is None:
        return _refused(
            f"{kernel} has none",
            "boot a kernel of 6.16 or later with CONFIG_SCHED_CLASS_EXT=y, such as that of Debian"
            " testing (apt-get install linux-image-amd64)",
        )
    return _good(kernel)


def _functions(machine: Machine) -> Finding:
    try:
        types = (machine.files.root / "sys/kernel/btf/vmlinux").read_bytes()
    except OSError:
        return _refused(
            "the kernel does not say what its types are (/sys/kernel/btf/vmlinux)",
            "boot a kernel with CONFIG_DEBUG_INFO_BTF=y",
        )
    absent = [name for name in NEEDED if b"\0" + name.encode() + b"\0" not in types]
    if absent:
        return _refused(f"the kernel has no {some_names(absent)}", "boot a newer kernel")
    return _good("all that the programs call")


def _scheduler(machine: Machine) -> Finding:
    state = machine.files.text("sys/kernel/sched_ext/state")
    name = machine.files.text("sys/kernel/sched_ext/root/ops") or "one without a name"
    if state in (None, "disabled"):
        return _good("the kernel's own")
    if name.startswith("hyperperiod"):
        return _good(name)
    return _refused(
        f"another one of sched_ext: {name} ({state})",
        "end the program that loaded it, such as by: systemctl disable --now scx_loader scx",
    )


def _isolcpus(machine: Machine) -> Finding:
    words = (machine.files.text("proc/cmdline") or "").split()
    for word in words:
        key, _, value = word.partition("=")
        flags = [flag for flag in value.split(",") if not flag[:1].isdecimal()]
        if key == "isolcpus" and (not flags or "domain" in flags):
            return _refused(
                f"{word} on the kernel's command line: sched_ext does not start",
                "take it away there (/etc/default/grub, update-grub, reboot) and make a cpuset"
                " partition instead: docs/linux/running.md",
            )
    ticks = [word for word in words if word.startswith("nohz_full=")]
    return _good(f"none; {ticks[0]}: grants end by timers of their own" if ticks else "none")


def _offline(machine: Machine) -> Finding:
    missing = machine.managed - online(machine.files)
    if missing:
        first = min(missing)
        return _refused(
            f"cpus {write_list(missing)} of servers are offline",
            f"echo 1 >/sys/devices/system/cpu/cpu{first}/online, and so on",
        )
    return _good(f"cpus {write_list(machine.managed)} of servers are online")


# -- What makes a cpu late ------------------------------------------------------------------------


def _governor(machine: Machine) -> Finding:
    found = machine.of_cpus("cpufreq/scaling_governor")
    slow = {cpu: governor for cpu, governor in found.items() if governor != "performance"}
    if not slow:
        return _good("performance" if found else "the kernel does not change frequencies")
    place = f"{CPUS}/cpu{{}}/cpufreq/scaling_governor"
    return _costs(
        f"{_by_text(slow)}: cpus are slow when a budget begins",
        "cpupower frequency-set --governor performance",
        [Change(place.format(cpu), "performance") for cpu in slow],
    )


def _by_text(texts: Mapping[int, str]) -> str:
    """Cpus with what each says, those that say the same together."""
    return ", ".join(
        f"{text!r} on cpus {write_list(cpu for cpu, said in texts.items() if said == text)}"
        for text in dict.fromkeys(texts.values())
    )


def _idle_states(machine: Machine) -> Finding:
    if _held(machine.files):
        return _good(f"/dev/cpu_dma_latency holds cpus at {LATENCY_US} us or less")
    deep: dict[int, str] = {}
    for cpu in sorted(machine.managed):
        for latency in machine.files.paths(f"{CPUS}/cpu{cpu}/cpuidle/state*/latency"):
            state = latency.rpartition("/")[0]
            late_us = machine.files.number(latency) or 0
            if late_us > LATENCY_US and machine.files.text(f"{state}/disable") in (None, "0"):
                deep[cpu] = f"{machine.files.text(f'{state}/name') or 'a state'}: {late_us} us"
    if not deep:
        return _good(f"none from which a cpu wakes up later than {LATENCY_US} us")
    cpus = write_list(deep)
    return _costs(
        f"deepest {_by_text(deep)}",
        f"cpupower -c {cpus} idle-set --disable-by-latency {LATENCY_US + 1} (linux-cpupower)",
    )


def _held(files: Readings) -> bool:
    """Whether some program holds /dev/cpu_dma_latency low enough; only root can see that."""
    try:
        with (files.root / "dev/cpu_dma_latency").open("rb") as device:
            latency = device.read(4)
    except OSError:
        return False
    return len(latency) == 4 and 0 <= int.from_bytes(latency, "little", signed=True) <= LATENCY_US


def _interrupts(machine: Machine) -> Finding:
    here: dict[str, set[int]] = {}
    changes = []
    for path in machine.files.paths("proc/irq/*/smp_affinity_list"):
        folder, _, _ = path.rpartition("/")
        takers = machine.files.paths(f"{folder}/*/")
        may = machine.files.cpus(path) or set()
        goes = machine.files.cpus(f"{folder}/effective_affinity_list") or may
        if not takers or not (may | goes) & machine.managed:
            continue
        here[f"{folder.rpartition('/')[2]} ({takers[0].rpartition('/')[2]})"] = goes
        elsewhere = (may & machine.others) or machine.others
        if elsewhere:
            changes.append(Change(path, write_list(elsewhere)))
    if not here:
        return _good("none comes to cpus of servers")
    return _costs(
        f"{len(here)} may come to cpus of servers: {some_names(list(here))}",
        f"write {write_list(machine.others)} to their /proc/irq/N/smp_affinity_list"
        if changes
        else "leave a cpu without servers, say which have them (--cpus), and call this again",
        changes,
    )


def _irqbalance(machine: Machine) -> Finding:
    for path in machine.files.paths("proc/[0-9]*/comm"):
        if machine.files.text(path) == "irqbalance":
            return _costs(
                f"runs ({path.split('/')[1]}): it spreads interrupts over all cpus again",
                f"IRQBALANCE_BANNED_CPULIST={write_list(machine.managed)} in"
                " /etc/default/irqbalance, then: systemctl restart irqbalance",
            )
    return _good("does not run")


def _siblings(machine: Machine) -> Finding:
    running = online(machine.files)
    shared: dict[int, str] = {}
    for cpu in sorted(machine.managed):
        path = f"{CPUS}/cpu{cpu}/topology/thread_siblings_list"
        others = ((machine.files.cpus(path) or set()) & running) - {cpu}
        if others:
            shared[cpu] = write_list(others)
    if not shared:
        return _good("no cpu of servers shares its core")
    pairs = [f"{cpu} with {others}" for cpu, others in shared.items()]
    return _costs(
        f"cpus of servers share their cores: {some_names(pairs)}",
        "echo off >/sys/devices/system/cpu/smt/control, or take the other one of each offline",
    )


def _huge_pages(machine: Machine) -> Finding:
    path = "sys/kernel/mm/transparent_hugepage/enabled"
    chosen = machine.files.chosen(path)
    if chosen == "always":
        return _costs(
            "always: threads wait while pages are made huge",
            f"echo madvise >/{path}",
            [Change(path, "madvise")],
        )
    if chosen not in (None, "madvise", "never"):
        raise OddError(path, chosen or "")
    return _good(chosen or "the kernel has none")


def _real_time(machine: Machine) -> Finding:
    first = [
        f"{one.name} ({one.thread})"
        for one in real_time_threads(machine.files)
        if one.cpus & machine.managed
    ]
    runtime = machine.files.number("proc/sys/kernel/sched_rt_runtime_us")
    period = machine.files.number("proc/sys/kernel/sched_rt_period_us")
    bound = f"sched_rt_runtime_us is {runtime}" if runtime is not None else "without a bound"
    if runtime is not None and period is not None and 0 <= runtime < period:
        bound = f"{bound} of {period}"
    if first:
        return _costs(
            f"{len(first)} on cpus of servers, before all servers: {some_names(first)}; {bound}",
            "taskset -p -c LIST THREAD onto other cpus, or chrt -o -p 0 THREAD",
        )
    return _good(f"none but the kernel's on cpus of servers; {bound}")


def _swap(machine: Machine) -> Finding:
    lines = (machine.files.text("proc/swaps") or "").splitlines()[1:]
    names = [line.split()[0] for line in lines if line.strip()]
    if not names:
        return _good("none")
    return _costs(
        f"{some_names(names)}: a thread waits for pages that were taken from it",
        "swapoff -a, or MemorySwapMax=0 in the units of members",
    )


def _hypervisor(machine: Machine) -> Finding:
    total, stolen = 0, 0
    for line in (machine.files.text("proc/stat") or "").splitlines():
        cpu, *times = line.split() or [""]
        if not (cpu[:3] == "cpu" and cpu[3:].isdecimal() and int(cpu[3:]) in machine.managed):
            continue
        if len(times) < 8 or not all(time.isdecimal() for time in times):
            raise OddError("proc/stat", line)
        total += sum(map(int, times[:8]))
        stolen += int(times[7])
    if stolen:
        return _costs(
            f"has taken {stolen / total:.2%} of the cpus of servers since the start (/proc/stat)",
            "let its host give this machine cpus of its own; or say it to the analysis, as"
            " [[stolen]] of a system file",
        )
    flags = (machine.files.text("proc/cpuinfo") or "").split()
    if "hypervisor" in flags:
        return _good("there is one, which has taken nothing that it tells of")
    return _good("none tells of itself")


def _watchdog(machine: Machine) -> Finding:
    files = machine.files
    watched = files.cpus("proc/sys/kernel/watchdog_cpumask") or set(machine.managed)
    on = [
        name
        for name in ("watchdog", "nmi_watchdog")
        if files.number(f"proc/sys/kernel/{name}") not in (None, 0)
    ]
    here = watched & machine.managed
    if not on or not here:
        return _good("none on cpus of servers")
    others = write_list(machine.others)
    return _costs(
        f"{' and '.join(on)} on cpus {write_list(here)}: a look every few seconds, before servers",
        f"sysctl kernel.watchdog_cpumask={others}" if others else "sysctl kernel.watchdog=0",
    )


def _clock(machine: Machine) -> Finding:
    path = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    clock = machine.files.text(path)
    if clock is None or clock in CLOCKS:
        return _good(clock or "the kernel does not say which")
    return _costs(
        f"{clock!r}: each reading of the time leaves the cpu",
        "dmesg | grep -i -e tsc -e clocksource says why it is not tsc",
    )


CHECKS: Final[Mapping[str, Callable[[Machine], Finding]]] = {
    "sched_ext": _sched_ext,
    "functions": _functions,
    "scheduler in force": _scheduler,
    "isolcpus": _isolcpus,
    "offline cpus": _offline,
    "governor": _governor,
    "idle states": _idle_states,
    "interrupts": _interrupts,
    "irqbalance": _irqbalance,
    "SMT": _siblings,
    "huge pages": _huge_pages,
    "real-time threads": _real_time,
    "swap": _swap,
    "hypervisor": _hypervisor,
    "watchdog": _watchdog,
    "clock": _clock,
}
