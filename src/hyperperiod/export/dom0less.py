# SPDX-License-Identifier: BSD-2-Clause
"""A system for a board that boots Xen without a toolstack.

Everything that Xen has to know stands in the device tree under /chosen: its own command line, with
the policy and the servers, and the domains with the places of their images. The export has that
part as source, the images, and what to load where. Each domain is the guest that the system names,
with its tasks; whoever has guests of their own changes the images.

Time on a board counts from the start of the system counter, which runs before Xen does: the epoch
must leave time for the firmware, for Xen and for the guests to get ready.
"""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.channels import channels_of
from hyperperiod.hosts.guests import guest_words
from hyperperiod.hosts.qemu import COUNTER_HZ
from hyperperiod.hosts.refuse import refuse, refuse_executors
from hyperperiod.hosts.xen import command_line
from hyperperiod.hosts.xen.devicetree import chosen
from hyperperiod.hosts.xen.images import hypervisor
from hyperperiod.hosts.xen.machine import (
    MODULES_BASE,
    Layout,
    XenMachine,
    domain_nodes,
    lay_out,
)
from hyperperiod.hosts.xen.plan import (
    epoch_ns,
    guest_memory_bytes,
    guest_of,
    hypervisor_ring_bytes,
)
from hyperperiod.model import InputError, System, format_time, to_toml
from hyperperiod.runs import complete

TARGET = "xen-dom0less"
ALWAYS = "bootscrub=0 noreboot timer_slop=0"
"""Arguments that Xen always has: start soon, stop at a panic, delay no timer to join another."""
ALIGN = 2 << 20
HEAP_BYTES = 256 << 20
"""What QEMU's machine has for Xen itself, beside its rings."""
HIGHEST = 1 << 48
FIRMWARE_NS = 2_000_000_000


@dataclass(frozen=True)
class Board:
    """What differs from board to board; the defaults are those of QEMU's `virt`.

    From `base` on are first the images and then the guests' memory. `console` is the beginning of
    Xen's command line. `counter_hz` is how fast the system counter runs. Without `epoch_ns` the run
    begins when the guests are ready (`default_epoch_ns`).
    """

    epoch_ns: int | None = None
    counter_hz: int = COUNTER_HZ
    base: int = MODULES_BASE
    console: str = "console=dtuart dtuart=/pl011@9000000"


@dataclass(frozen=True)
class LoadedFile:
    """One file that is to be in memory when Xen starts."""

    name: str
    address: int
    size: int


def export_dom0less(
    system: System, horizon_ns: int, seed: int, board: Board
) -> dict[str, str | bytes | Path]:
    """Returns the files of an export for Xen without a toolstack, by name.

    Raises InputError for what cannot be expressed and MissingError for what is not built.
    """
    refuse(system, horizon_ns, seed)
    refuse_executors(system)
    command_line.refuse(system)
    _refuse_board(board)
    for device in system.devices:
        allowed = "none: which card a board has is not known"
        raise InputError(system.name, None, "device", device.name, allowed)
    if board.epoch_ns is None:
        board = replace(board, epoch_ns=default_epoch_ns(system))
    system = complete(Analysis(system))
    machine = _machine(system, horizon_ns, seed, board)
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as name:
        layout = lay_out(machine, Path(name), board.base)
        files: dict[str, str | bytes | Path] = {}
        placed = []
        for path, address in layout.files:
            inside = f"images/{path.name}"
            files[inside] = path.read_bytes()
            placed.append(LoadedFile(inside, address, path.stat().st_size))
    arguments = f"{board.console} {ALWAYS} {machine.arguments}"
    files["images/xen"] = machine.hypervisor
    files["chosen.dtsi"] = _head("the part of the device tree") + chosen(
        arguments, domain_nodes(machine, layout)
    )
    files["xen-arguments.txt"] = arguments + "\n"
    files["guests.txt"] = _guest_list(system, machine, layout)
    files["system.toml"] = to_toml(system)
    files["qemu.sh"] = _qemu_script(system, placed, layout)
    files["README.md"] = _readme(system, board, machine, placed, layout)
    return files


def default_epoch_ns(system: System) -> int:
    """How long firmware, Xen and the guests need until a run can begin, in nanoseconds.

    Two seconds, and what runs of ours leave guests to boot: in `qemu.sh` several pcpus share a
    host that has other things to do, one pcpu counts instructions, whatever the host does.
    """
    return FIRMWARE_NS + epoch_ns(system, icount=system.pcpus == 1)


def _refuse_board(board: Board) -> None:
    if board.base % ALIGN or not 0 <= board.base < HIGHEST:
        raise InputError(
            "",
            None,
            "--base",
            f"{board.base:#x}",
            "a multiple of 2 MiB below 2^48, such as 0x49000000",
        )
    if '"' in board.console or "\n" in board.console:
        raise InputError("", None, "--console", repr(board.console), "one line without quotes")


def _machine(system: System, horizon_ns: int, seed: int, board: Board) -> XenMachine:
    assert board.epoch_ns is not None, "the default was put in"
    ring_bytes = hypervisor_ring_bytes(system, horizon_ns)
    arguments = command_line.xen_arguments(
        system, epoch_ns=board.epoch_ns, horizon_ns=horizon_ns, ring_bytes=ring_bytes
    )
    guests = []
    for number in range(len(system.domains)):
        memory_bytes = guest_memory_bytes(system, number, horizon_ns)
        words = guest_words(
            system,
            number,
            epoch_ns=board.epoch_ns,
            horizon_ns=horizon_ns,
            seed=seed,
            memory_bytes=memory_bytes,
            rate=0,
            counter_hz=board.counter_hz,
        )
        guests.append(guest_of(system, number, words, memory_bytes))
    return XenMachine(
        hypervisor(),
        f"guest_loglvl=all {arguments}",
        tuple(guests),
        system.pcpus,
        heap_bytes=HEAP_BYTES + 3 * ring_bytes * system.pcpus,
        channels=tuple(channels_of(system)),
    )


def _head(what: str) -> str:
    return (
        f"/* {what[0].upper()}{what[1:]} that tells Xen what to run; written by Hyperperiod. */\n"
    )


def _guest_list(system: System, machine: XenMachine, layout: Layout) -> str:
    """Every domain with its memory, what it shares, its images and its arguments."""
    lines = []
    for number, (domain, guest, place) in enumerate(
        zip(system.domains, machine.guests, layout.places, strict=True), 1
    ):
        lines.append(f"domain {number}: {domain.name}")
        lines.append(f"  memory    {guest.memory_bytes >> 20} MiB at {place.memory:#x}")
        lines.append(f"  records   from {place.ring:#x} on")
        lines.append(f"  kernel    {guest.image.name} at {place.kernel.address:#x}")
        if place.ramdisk is not None:
            lines.append(f"  ramdisk   {place.ramdisk.size} bytes at {place.ramdisk.address:#x}")
        for channel, address in zip(machine.channels, layout.channels, strict=True):
            other = channel.other(number - 1)
            if other is not None:
                size = f"{channel.size >> 10} KiB at {address:#x}"
                lines.append(f"  shared    {size} with {system.domains[other].name}")
        lines.append(f"  arguments {guest.arguments}")
    return "\n".join(lines) + "\n"


def _qemu_script(system: System, placed: list[LoadedFile], layout: Layout) -> str:
    loaders = " \\\n  ".join(
        f"-device loader,file={shlex.quote(one.name)},addr={one.address:#x},force-raw=on"
        for one in placed
    )
    icount = " -icount shift=0,sleep=off" if system.pcpus == 1 else ""
    return f"""#!/bin/sh
# Boots this export in QEMU, as a board would: sh qemu.sh
# It needs qemu-system-aarch64 and dtc (apt-get install qemu-system-arm device-tree-compiler).
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
board="-machine virt,virtualization=on,gic-version=3 -cpu cortex-a57 -smp {system.pcpus}"
board="$board -m {layout.ram_bytes >> 20}M"
qemu-system-aarch64 $board -machine dumpdtb="$work/board.dtb" -nodefaults -display none \\
  >"$work/said" 2>&1
dtc -q -I dtb -O dts "$work/board.dtb" >"$work/system.dts"
cat chosen.dtsi >>"$work/system.dts"
dtc -q -I dts -O dtb -o "$work/system.dtb" "$work/system.dts"
qemu-system-aarch64 $board -accel tcg{icount} \\
  -nodefaults -display none -no-reboot -serial stdio -kernel images/xen -dtb "$work/system.dtb" \\
  {loaders} "$@"
"""


def _readme(
    system: System, board: Board, machine: XenMachine, placed: list[LoadedFile], layout: Layout
) -> str:
    assert board.epoch_ns is not None, "the default was put in"
    rows = "\n".join(f"| `{one.name}` | `{one.address:#x}` | {one.size} |" for one in placed)
    loads = "\n".join(f"load mmc 0:1 {one.address:#x} {one.name}" for one in placed)
    last = layout.places[-1].memory + machine.guests[-1].memory_bytes
    if machine.channels:
        last = layout.channels[-1] + machine.channels[-1].size
    return f"""# {system.name}, for Xen without a toolstack

Written by Hyperperiod (`hyperperiod export --to {TARGET}`); [`system.toml`](system.toml) is the
system, with every interface that was computed.

| file | what it is |
| --- | --- |
| `chosen.dtsi` | what to add to the board's device tree: Xen's command line and the domains |
| `xen-arguments.txt` | Xen's command line by itself |
| `guests.txt` | the domains: memory, records, images, arguments |
| `images/` | Xen with the scheduler, and what the domains run |
| `qemu.sh` | boots all of it in QEMU |
| `export.json` | which files belong to the export |

## Try it

```sh
sh qemu.sh
```

Xen prints `hyperperiod: horizon reached` when the run is over. Ctrl-C ends QEMU.

## On a board

1. **Memory.** The images and the guests' memory take {board.base:#x} to {last:#x}. That must be RAM
   which neither the firmware nor Xen uses; `--base` moves it. The guests' memory is static
   (`xen,static-mem`), so that their records can be found at these addresses.

   | file | load at | bytes |
   | --- | --- | --- |
{_indented(rows)}

2. **Console.** Xen's command line begins with `{board.console}`, which is QEMU's serial port.
   `--console "console=dtuart dtuart=serial0"` suits most boards.
3. **Device tree.** Add the part to the board's tree:

   ```sh
   dtc -I dtb -O dts board.dtb > system.dts
   cat chosen.dtsi >> system.dts
   dtc -I dts -O dtb -o system.dtb system.dts
   ```

4. **Time.** The run begins when the system counter (CNTPCT), which starts at 0 when the board is
   switched on, has counted {format_time(board.epoch_ns)}. Firmware, Xen and all guests must be
   ready by then: choose `--epoch` with room to spare. A guest that is late prints that the epoch
   has passed already. An own Xen in the place of `images/xen` needs `CONFIG_HYPERPERIOD_TEST`, or
   it begins at once. The counter is taken to run at {board.counter_hz} Hz; `--counter-hz` says
   otherwise (Xen prints `Generic Timer IRQ: ... Freq: ... KHz`).
5. **Boot.** With U-Boot, from the first partition of an SD card:

   ```
   load mmc 0:1 ${{kernel_addr_r}} images/xen
   load mmc 0:1 ${{fdt_addr_r}} system.dtb
{_indented(loads)}
   booti ${{kernel_addr_r}} - ${{fdt_addr_r}}
   ```

The guests measure how fast their busy loops are before the epoch (`rate=0`), so that execution
times are those of the system. To run guests of your own, put their images in the place of
`images/executive.bin`, and their sizes into `chosen.dtsi`: the servers are Xen's and stay as they
are.
"""


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
