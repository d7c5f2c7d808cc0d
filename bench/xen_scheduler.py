# SPDX-License-Identifier: BSD-2-Clause
"""Instructions that Xen's schedulers take in a virtual second, ours beside stock RTDS.

The machine counts: under icount an instruction is a nanosecond and nothing is left to chance, and
a plugin of QEMU's (`xen_count.c`) counts what is executed in each function of the hypervisor
between two marks that a guest sets (`xen_marker.c`). What counts as the scheduler is every
instruction from where Xen calls a function of the scheduler's own source file or files until that
returns: its own, and those of what it calls (timers, masks, locks). RTDS hands out almost half of
its work, ours next to nothing; the instructions in its own files alone stand beside it.

The guests are the same under every scheduler: on one pcpu, all but one of the vcpus have a
periodic task (together 30 % of the pcpu, periods from 5 to 12 ms), and one never sleeps. Under
RTDS each has what stock Xen gives to domains without a toolstack, 4 ms in 10 ms and extra time.
Under periodic servers that would not fit, so each has its share of 10 ms. A policy of ours picks
as often as it must; decisions are counted beside.

`python -m bench.xen_scheduler POLICY VCPUS` shows where the instructions of one system go.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.environment import BUILD, TOP, SkippedError, program
from bench.results import Row

from hyperperiod.hosts.xen.handlers import Function, functions
from hyperperiod.hosts.xen.images import current_executive, current_hypervisor
from hyperperiod.hosts.xen.machine import MIB, Guest, XenMachine, boot
from hyperperiod.model import FailedError, MissingError

VCPUS = (2, 8, 32)
PERIODIC = ("ptps", "wcps", "crps")

# Virtual time: when the guests' work begins, and when counting does and ends.
EPOCH_NS = 3_000_000_000
FIRST_NS = 3_200_000_000
LAST_NS = 4_200_000_000
TICK_NS = 16

SERVER_PERIOD_NS = 10_000_000
BUSY = 0.3

DECIDES = ("rt_schedule", "hyperperiod_schedule")


@dataclass(frozen=True)
class Count:
    """Calls and instructions of one hypervisor function in a virtual second; `with_callees` are
    those of all hypervisor functions while the scheduler was entered by this one."""

    function: Function
    calls: float
    instructions: float
    with_callees: float


Scheduler = Callable[[Function], bool]
"""Whether a function is in the source files of a scheduler."""


def is_stock(function: Function) -> bool:
    """Whether it is in those of stock RTDS."""
    return function.file == "rt.c"


def is_ours(function: Function) -> bool:
    """Whether it is in ours."""
    return function.is_ours


def measure() -> Iterator[Row]:
    """Instructions and decisions in a virtual second, by policy and number of vcpus."""
    try:
        images = current_hypervisor("arm64"), current_hypervisor("arm64-stock"), current_executive()
    except MissingError as error:
        raise SkippedError(f"{error} (and hyperperiod xen build arm64-stock)") from None
    ours, stock, load = images
    tools = prepare()
    for vcpus in VCPUS:
        peer = count_functions(stock, "sched=rtds", vcpus, load, tools)
        yield from rows("stock rtds", vcpus, is_stock, peer)
        for policy in ("rtds", *PERIODIC):
            counts = count_functions(ours, boot_line(policy, vcpus), vcpus, load, tools)
            yield from rows(policy, vcpus, is_ours, counts, Price.of(peer, is_stock))


@dataclass(frozen=True)
class Tools:
    """What the measurement needs beside the systems: the plugin and the guest that marks."""

    plugin: Path
    marker: Path


def prepare() -> Tools:
    """Builds the plugin and the marking guest."""
    BUILD.mkdir(parents=True, exist_ok=True)
    tools = Tools(BUILD / "xen_count.so", BUILD / "xen_marker.bin")
    cross = program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
    elf = BUILD / "xen_marker.elf"
    for command in (
        ["gcc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
         "-o", str(tools.plugin), "bench/xen_count.c"],
        [cross, "-std=c11", "-O2", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-fno-pie",
         "-mgeneral-regs-only", "-mno-outline-atomics", "-fno-stack-protector", "-I.",
         f"-DMARK_FIRST={FIRST_NS // TICK_NS}ull", f"-DMARK_LAST={LAST_NS // TICK_NS}ull",
         "-Wall", "-Werror", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments",
         "-T", "guests/board/image.lds", "-o", str(elf),
         "guests/board/start.S", "guests/board/board.c", "bench/xen_marker.c"],
        ["aarch64-linux-gnu-objcopy", "-O", "binary", str(elf), str(tools.marker)],
    ):  # fmt: skip
        subprocess.run(command, cwd=TOP, check=True)
    return tools


def boot_line(policy: str, vcpus: int) -> str:
    """Xen's arguments for a policy of ours; the marking guest has a server, too."""
    budget_us = SERVER_PERIOD_NS // (vcpus + 1) // 1000
    places = [
        (domain, vcpu) for domain, count in enumerate(shape(vcpus), 1) for vcpu in range(count)
    ]
    items = [f"policy={policy}"]
    for priority, (domain, vcpu) in enumerate(places):
        server = f"10ms:{budget_us}us:p{priority}" if policy in PERIODIC else "10ms:4ms:extra"
        items.append(f"d{domain}.{vcpu}={server}")
    return " ".join(["sched=hyperperiod", *(f"hyperperiod={item}" for item in items)])


def shape(vcpus: int) -> list[int]:
    """The vcpus of each guest: the marking one, those with tasks, the one that never sleeps."""
    tasks = vcpus - 1
    return [1, *([2] * (tasks // 2)), *([1] * (tasks % 2)), 1]


def guests(vcpus: int, load: Path, marker: Path) -> tuple[Guest, ...]:
    """The system as `shape` has it."""
    memory = 6 * MIB
    common = f"epoch={EPOCH_NS // TICK_NS} horizon={10 * LAST_NS} seed=1 memory={memory} rate=1000"
    made = [Guest(marker, "", memory)]
    numbers = iter(range(vcpus - 1))
    for count in shape(vcpus)[1:-1]:
        tasks = " ".join(task_on(vcpu, next(numbers), vcpus - 1) for vcpu in range(count))
        arguments = f"workload=tasks domain={len(made)} scheduler=fp vcpus={count} {common} {tasks}"
        made.append(Guest(load, arguments, memory, count))
    made.append(Guest(load, f"workload=spin domain={len(made)} vcpus=1 {common}", memory))
    return tuple(made)


def task_on(vcpu: int, number: int, tasks: int) -> str:
    """One of so many periodic tasks, for one vcpu of a guest, as the guest is told it."""
    period = (5 + number % 8) * 1_000_000
    work = int(period * BUSY / tasks)
    return f"task=p:{period}:{work}:{work}:{period}:0:0:{vcpu}:{vcpu}"


def count_functions(xen: Path, arguments: str, vcpus: int, load: Path, tools: Tools) -> list[Count]:
    """Runs a system, and counts between the marks."""
    places = functions(xen.with_name("xen-syms"))
    mark = next(place.start for place in places if place.name == "do_xen_version")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ranges, out = folder / "ranges", folder / "counts"
        ranges.write_text(
            "".join(
                f"{one.start:x} {one.end:x} {int(is_stock(one) or is_ours(one))}\n"
                for one in places
            )
        )
        plugin = f"{tools.plugin},ranges={ranges},mark={mark:x},out={out}"
        machine = XenMachine(
            hypervisor=xen,
            arguments=f"{arguments} guest_loglvl=all",
            guests=guests(vcpus, load, tools.marker),
            qemu_arguments=("-plugin", plugin),
        )
        try:
            with boot(machine, folder / "console") as running:
                marked = running.wait_for(r"marked (\d+) to (\d+)")
        except FailedError as error:
            raise SkippedError(f"{error}") from None
        first, last = ([int(word) for word in line.split()] for line in out.open())
    seconds = (int(marked[2]) - int(marked[1])) * TICK_NS / 1e9
    spent = [(after - before) / seconds for before, after in zip(first, last, strict=True)]
    return [
        Count(place, *three)
        for place, three in zip(
            places, zip(spent[::3], spent[1::3], spent[2::3], strict=True), strict=True
        )
    ]


@dataclass(frozen=True)
class Price:
    """Instructions of a scheduler in a virtual second: with what it calls, and its own."""

    with_callees: float
    own: float

    @classmethod
    def of(cls, counts: list[Count], scheduler: Scheduler) -> "Price":
        """The price of one scheduler."""
        inside = [count for count in counts if scheduler(count.function)]
        return cls(
            sum(count.with_callees for count in inside), sum(count.instructions for count in inside)
        )


def rows(
    name: str, vcpus: int, scheduler: Scheduler, counts: list[Count], peer: Price | None = None
) -> Iterator[Row]:
    """What is said about one system."""
    title = f"xen, {name}, {vcpus} vcpus"
    price = Price.of(counts, scheduler)
    yield Row(title, price.with_callees, "instructions/s")
    yield Row(f"{title}: in its own files", price.own, "instructions/s")
    if peer is not None:
        yield Row(f"{title}: times stock rtds", price.with_callees / peer.with_callees, "times")
        own = price.own / peer.own
        yield Row(f"{title}: times stock rtds, in their own files", own, "times")
    decisions = sum(count.calls for count in counts if count.function.name in DECIDES)
    yield Row(f"{title}: decisions", decisions, "decisions/s")
    all_of_xen = sum(count.instructions for count in counts)
    yield Row(f"{title}: all of Xen", all_of_xen, "instructions/s")


def main() -> int:
    """Calls and instructions of each function of one scheduler; its policy may be `stock`."""
    policy, vcpus = sys.argv[1], int(sys.argv[2])
    try:
        counts = of_scheduler(policy, vcpus)
    except MissingError as error:
        sys.exit(str(error))
    print(f"{'calls/s':>9} {'instructions/s':>15} {'each':>7}")
    for entry in sorted(counts, key=lambda entry: -entry.instructions):
        each = entry.instructions / entry.calls if entry.calls else float("nan")
        print(f"{entry.calls:9.0f} {entry.instructions:15.0f} {each:7.1f}  {entry.function.name}")
    print(f"{'':9} {sum(entry.instructions for entry in counts):15.0f}")
    with_callees = sum(entry.with_callees for entry in counts)
    print(f"{'':9} {with_callees:15.0f} {'':7}  with what they call")
    return 0


def of_scheduler(policy: str, vcpus: int) -> list[Count]:
    """What the functions of one scheduler take in one system."""
    if policy == "stock":
        scheduler, xen, arguments = is_stock, current_hypervisor("arm64-stock"), "sched=rtds"
    else:
        scheduler, xen, arguments = is_ours, current_hypervisor("arm64"), boot_line(policy, vcpus)
    return [
        entry
        for entry in count_functions(xen, arguments, vcpus, current_executive(), prepare())
        if scheduler(entry.function) and entry.instructions > 0
    ]


if __name__ == "__main__":
    sys.exit(main())
