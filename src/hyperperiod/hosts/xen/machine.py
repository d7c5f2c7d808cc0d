# SPDX-License-Identifier: BSD-2-Clause
"""A machine in QEMU that boots Xen and its guests, and what can be read from it.

    with boot(machine, console) as running:
        running.wait_for(HORIZON_REACHED)
        running.stop()
        header = running.read(running.places[0].memory, 64)

Memory is laid out here: the hypervisor and the device tree where QEMU puts them, then the images
of the guests (one that several guests share is there once), then each guest's own memory at an
address that is known beforehand, then the channels between them, then memory for Xen itself.

With `icount` the machine counts: an instruction takes one nanosecond of its pcpu, and two runs of
it are the same in every bit. Nothing that looks at the machine (`read`, even while it runs) changes
that. QEMU counts by itself on one pcpu; several are kept in step by hosts/xen/lockstep. Without
`icount` it is as fast as this host allows and as noisy.

Nothing survives the block: QEMU ends with it, with Ctrl-C and with this process, however it ends.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperperiod.hosts.channels import PAGE_BYTES, Channel
from hyperperiod.hosts.qemu import Emulator, console_arguments, console_log, quoted, started
from hyperperiod.hosts.rings import GUEST_RING_OFFSET, Ring, announced, read_ring
from hyperperiod.hosts.xen.devicetree import (
    Card,
    ChannelEnd,
    DomainNode,
    Module,
    chosen,
    given_tree,
    machine_tree,
)
from hyperperiod.hosts.xen.images import DTC, QEMU, lockstep, tool
from hyperperiod.model import FailedError

MIB = 1 << 20
RAM_BASE = 0x4000_0000
MODULES_BASE = 0x4900_0000
"""Below are Xen (1 MiB) and the device tree, which QEMU puts at 128 MiB."""
GUEST_ALIGN = 2 * MIB
"""So that Xen can map a guest's memory in large pages."""

QUANTUM_NS = 2_000
"""By how much the clocks of two pcpus differ at most, where they are kept in step."""

BASE_ARGUMENTS = "console=dtuart dtuart=/pl011@9000000 bootscrub=0 noreboot timer_slop=0"
"""The console; no reboot after a panic; and timers that are not put off to go together."""
HORIZON_REACHED = r"hyperperiod: horizon reached"
PANIC = r"Panic on CPU \d+:?"


@dataclass(frozen=True)
class Guest:
    """A domain: its image, what it is told, and what it gets.

    `ramdisk` is a second module, of a file or of bytes. `vpl011`: it has a serial port of its
    own, which shows on the console. Its ring begins `ring_offset` after its memory. It is on
    the networks of its `cards`, of which it is told. With a `pcpu` it has that one
    for itself.
    """

    image: Path
    arguments: str
    memory_bytes: int
    vcpus: int = 1
    ramdisk: Path | bytes | None = None
    vpl011: bool = False
    ring_offset: int = GUEST_RING_OFFSET
    cards: tuple[Card, ...] = ()
    pcpu: int | None = None


@dataclass(frozen=True)
class XenMachine:
    """What is to be booted. Xen's arguments are those beside BASE_ARGUMENTS."""

    hypervisor: Path
    arguments: str
    guests: tuple[Guest, ...]
    pcpus: int = 1
    icount: bool = True
    heap_bytes: int = 256 * MIB
    qemu_arguments: tuple[str, ...] = ()
    """More of them, such as a plugin that counts."""
    channels: tuple[Channel, ...] = ()
    control: tuple[Path, bytes] | None = None
    """Domain 0, which is no guest: its image, and its ramdisk."""


@dataclass(frozen=True)
class GuestMemory:
    """Where in the machine's memory a guest has its own, its modules and its ring."""

    memory: int
    kernel: Module
    ramdisk: Module | None
    ring: int
    device_tree: Module | None = None


@dataclass(frozen=True)
class Layout:
    """Where everything is, channels and domain 0's modules too; `files` are to be loaded at their
    addresses."""

    places: tuple[GuestMemory, ...]
    files: tuple[tuple[Path, int], ...]
    ram_bytes: int
    channels: tuple[int, ...] = ()
    control: tuple[Module, Module] | None = None


class RunningXen(Emulator):
    """A machine that runs Xen, until its block ends; `places` are where its guests are."""

    def __init__(
        self, process: subprocess.Popen[bytes], folder: Path, console: Path, layout: Layout
    ) -> None:
        self.places = layout.places
        super().__init__(process, folder, console, kernel="Xen", panic=PANIC)

    def own_rings(self) -> list[Ring]:
        """The hypervisor's rings, one for each lock domain, in the order of pcpus."""
        addresses = announced(self.console())
        return [read_ring(self.read, addresses[at], f"pcpu {at}") for at in sorted(addresses)]

    def guest_rings(self) -> list[Ring]:
        """The ring of each guest."""
        return [
            read_ring(self.read, place.ring, f"the guest of domain {number}")
            for number, place in enumerate(self.places)
        ]


@contextlib.contextmanager
def boot(machine: XenMachine, console: Path) -> Iterator[RunningXen]:
    """A machine that boots and runs; `console` becomes the log of its serial port."""
    qemu, dtc = tool(QEMU), tool(DTC)
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as name:
        folder = Path(name)
        layout = lay_out(machine, folder)
        tree = _make_tree(machine, layout, folder, qemu, dtc)
        console.unlink(missing_ok=True)
        command = _command(machine, layout, folder, qemu, tree, console)
        with started(command, folder) as process:
            running = RunningXen(process, folder, console, layout)
            try:
                yield running
            finally:
                running.end()


def rings_at_horizon(machine: XenMachine) -> tuple[list[Ring], list[Ring]]:
    """Boots a machine, lets it run to the horizon and returns the hypervisor's rings and guests'.

    Raises FailedError when the machine does not come to its end, or the hypervisor's rings were too
    small for it.
    """
    with console_log(None) as console, boot(machine, console) as running:
        running.wait_for(HORIZON_REACHED)
        running.stop()
        own, guests = running.own_rings(), running.guest_rings()
    lost = sum(ring.lost for ring in own)
    if lost or not own:
        raise FailedError(f"the hypervisor's rings were too small by {lost} records")
    return own, guests


def lay_out(machine: XenMachine, folder: Path, base: int = MODULES_BASE) -> Layout:
    """Give every image and every guest its place, from `base` on.

    Ramdisks of bytes are put into `folder`, and what says which cards a guest has.
    """
    files: dict[Path, Module] = {}
    end = base

    def place(path: Path) -> Module:
        nonlocal end
        if path not in files:
            files[path] = Module(end, path.stat().st_size)
            end = _round_up(end + files[path].size, PAGE_BYTES)
        return files[path]

    def place_ramdisk(ramdisk: Path | bytes, name: str) -> Module:
        if isinstance(ramdisk, bytes):
            data, ramdisk = ramdisk, folder / f"ramdisk{name}"
            ramdisk.write_bytes(data)
        return place(ramdisk)

    def place_tree(guest: Guest, memory: int, number: int) -> Module:
        source, tree = folder / f"given{number}.dts", folder / f"given{number}.dtb"
        source.write_text(given_tree(guest.cards, memory, guest.memory_bytes))
        _compile_tree(source, tree, tool(DTC))
        return place(tree)

    modules: list[tuple[Module, Module | None]] = []
    for number, guest in enumerate(machine.guests):
        ramdisk = None if guest.ramdisk is None else place_ramdisk(guest.ramdisk, str(number))
        modules.append((place(guest.image), ramdisk))
    control = None
    if machine.control is not None:
        control = place(machine.control[0]), place_ramdisk(machine.control[1], "-control")
    places: list[GuestMemory] = []
    end = _round_up(end, GUEST_ALIGN)
    for number, guest in enumerate(machine.guests):
        memory, end = end, end + guest.memory_bytes
        given = place_tree(guest, memory, number) if guest.cards else None
        places.append(GuestMemory(memory, *modules[number], memory + guest.ring_offset, given))
        end = _round_up(end, GUEST_ALIGN)
    channels = []
    for channel in machine.channels:
        channels.append(end)
        end = _round_up(end + channel.size, PAGE_BYTES)
    ram_bytes = _round_up(end - RAM_BASE + machine.heap_bytes, 16 * MIB)
    loaded_at = tuple((path, module.address) for path, module in files.items())
    return Layout(tuple(places), loaded_at, ram_bytes, tuple(channels), control)


def domain_nodes(machine: XenMachine, layout: Layout) -> list[DomainNode]:
    """The guests as the device tree has them."""
    return [
        DomainNode(
            kernel=place.kernel,
            arguments=guest.arguments + _card_words(guest.cards, place.memory),
            memory_bytes=guest.memory_bytes,
            vcpus=guest.vcpus,
            memory_address=place.memory,
            ramdisk=place.ramdisk,
            vpl011=guest.vpl011,
            channels=tuple(_ends(machine, layout, number)),
            cards=guest.cards,
            device_tree=place.device_tree,
            pcpu=guest.pcpu,
        )
        for number, (guest, place) in enumerate(zip(machine.guests, layout.places, strict=True))
    ]


def _ends(machine: XenMachine, layout: Layout, guest: int) -> Iterator[ChannelEnd]:
    """The end of each channel that a guest has, with the place of its memory."""
    for channel, place in zip(machine.channels, layout.channels, strict=True):
        if channel.other(guest) is not None:
            yield ChannelEnd(
                name=channel.name,
                first=guest == channel.lower,
                port=channel.port,
                place=place,
                address=channel.address,
                size=channel.size,
            )


def _make_tree(machine: XenMachine, layout: Layout, folder: Path, qemu: Path, dtc: Path) -> Path:
    """The machine's own tree as QEMU makes it, with what Xen is to do."""
    blob, source, tree = folder / "board.dtb", folder / "system.dts", folder / "system.dtb"
    board = _board(machine, layout)
    # Without -nodefaults QEMU wants the ROM of a network card, a package that it only recommends.
    _call([str(qemu), *board, "-machine", f"dumpdtb={blob}", "-nodefaults", "-display", "none"])
    text = _call([str(dtc), "-q", "-I", "dtb", "-O", "dts", str(blob)])
    arguments = f"{BASE_ARGUMENTS} {machine.arguments}"
    part = chosen(arguments, domain_nodes(machine, layout), layout.control)
    source.write_text(machine_tree(text, part))
    _compile_tree(source, tree, dtc)
    return tree


def _compile_tree(source: Path, tree: Path, dtc: Path) -> None:
    _call([str(dtc), "-q", "-I", "dts", "-O", "dtb", "-o", str(tree), str(source)])


def _card_words(cards: Sequence[Card], memory: int) -> str:
    """The words, behind its other arguments, by which a guest knows its cards and where its memory
    is (`memory`), of which the cards are to be told; empty without a card. Linux, which finds them
    by itself, takes no notice."""
    return "".join(
        f" card={card.number}:{card.interrupt}:{card.address}:{memory}:{card.ring}"
        for card in cards
    )


def _network(machine: XenMachine) -> list[str]:
    """The cards of guests, those of one number on one network.

    A port that nobody is at takes every frame. So a sender never waits for a card that is full,
    which would let what it sends later overtake what the card has not taken.
    """
    cards = [card for guest in machine.guests for card in guest.cards]
    words = ["-global", "virtio-mmio.force-legacy=false"] if cards else []
    for number in sorted({card.number for card in cards}):
        words += ["-netdev", f"hubport,id=open{number},hubid={number}"]
    for card in cards:
        name = f"card{card.slot}"
        words += ["-netdev", f"hubport,id={name},hubid={card.number}"]
        bus = f"bus=virtio-mmio-bus.{card.slot}"
        words += ["-device", f"virtio-net-device,netdev={name},{bus},iommu_platform=on"]
    return words


def _call(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FailedError(f"{Path(command[0]).name} failed", done.stderr.strip())
    return done.stdout


def _board(machine: XenMachine, layout: Layout) -> list[str]:
    return [
        *("-machine", "virt,virtualization=on,gic-version=3"),
        *("-cpu", "cortex-a57"),
        *("-smp", str(machine.pcpus)),
        *("-m", f"{layout.ram_bytes // MIB}M"),
    ]


def _command(
    machine: XenMachine, layout: Layout, folder: Path, qemu: Path, tree: Path, console: Path
) -> list[str]:
    command = [str(qemu), *_board(machine, layout), "-accel", "tcg"]
    if machine.icount and machine.pcpus == 1:
        command += ["-icount", "shift=0,sleep=off"]
    elif machine.icount:
        command = _in_step(command)
    command += ["-nodefaults", "-display", "none", "-no-reboot", "-seed", "1"]
    command += console_arguments(folder, console)
    command += ["-kernel", str(machine.hypervisor), "-dtb", str(tree)]
    for path, address in layout.files:
        command += ["-device", f"loader,file={quoted(path)},addr={address:#x},force-raw=on"]
    return [*command, *_network(machine), *machine.qemu_arguments]


def _in_step(command: Sequence[str]) -> list[str]:
    """The command of a machine whose pcpus lockstep.c shall keep in step."""
    library = lockstep()
    plugin = f"file={quoted(library)},quantum={QUANTUM_NS}"
    names = "hyperperiod,debug-threads=on"
    return ["env", f"LD_PRELOAD={library}", *command, "-name", names, "-plugin", plugin]


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
