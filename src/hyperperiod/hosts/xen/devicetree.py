# SPDX-License-Identifier: BSD-2-Clause
"""The device tree that Xen boots with: what the board has, and which domains to start on it.

The board's own tree comes from whoever knows the board (QEMU dumps it, a board's firmware has
it). What Xen is to do stands under /chosen: its arguments, and one node per domain, each with the
places in memory of its kernel and, if there is one, its ramdisk. With `memory_address` a domain
gets exactly that memory, so that whoever looks from outside knows where its records are. Two
domains with a channel between them share memory and have an event channel. A domain with cards is
given devices of the board, one with a `pcpu` has that one for itself.

Domains are numbered from 1 in the order of their nodes. The format is Xen's:
docs/misc/arm/device-tree/booting.txt in its source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hyperperiod.hosts.channels import PAGE_BYTES

VIRTIO_BASE, VIRTIO_INTERRUPT = 0xA00_0000, 48
PAGES, SLOTS_OF_PAGE = 4, 8
"""QEMU's board `virt`: where the registers of virtio devices begin, their interrupts, and how many
pages of how many devices there are."""
FIRST_SHARED_INTERRUPT = 32
"""Device trees count interrupts of devices from here."""
RISING_EDGE = 1
GUEST_RAM = 0x4000_0000
"""Where a domain has its memory."""
ARGUMENTS_LIMIT = 1000
"""Characters of a domain's arguments; Xen stops the boot at 1024."""


@dataclass(frozen=True)
class Module:
    """A piece of memory that somebody filled before Xen starts: an image, to the byte."""

    address: int
    size: int


@dataclass(frozen=True)
class ChannelEnd:
    """A domain's end of a channel: memory and an event channel that it shares with another domain.

    `name` is the same at both ends, and no other channel's; `first` is true at one of them. `place`
    is where the memory is in the machine, `address` where the domain has it.
    """

    name: str
    first: bool
    port: int
    place: int
    address: int
    size: int


@dataclass(frozen=True)
class Card:
    """A network card of the board, on the network of this number: its place for a virtio device is
    that of the same number on a page, which a domain has whole. So many frames as `ring` says wait
    in it.
    """

    page: int
    number: int
    ring: int = 1

    @property
    def registers(self) -> int:
        """Where the page is, in the machine and in the domain."""
        return VIRTIO_BASE + self.page * PAGE_BYTES

    @property
    def address(self) -> int:
        """Where its registers are, in the machine and in the domain."""
        return self.registers + self.number * PAGE_BYTES // SLOTS_OF_PAGE

    @property
    def slot(self) -> int:
        """Its place among those for virtio devices."""
        return self.page * SLOTS_OF_PAGE + self.number

    @property
    def interrupt(self) -> int:
        """Its interrupt's number."""
        return VIRTIO_INTERRUPT + self.slot

    @property
    def node(self) -> str:
        """Its node in the board's tree."""
        return f"virtio_mmio@{self.address:x}"


@dataclass(frozen=True)
class DomainNode:
    """One domain that Xen starts at boot, as the device tree describes it."""

    kernel: Module
    arguments: str
    memory_bytes: int
    vcpus: int = 1
    memory_address: int | None = None
    ramdisk: Module | None = None
    vpl011: bool = False
    channels: tuple[ChannelEnd, ...] = ()
    cards: tuple[Card, ...] = ()
    device_tree: Module | None = None
    pcpu: int | None = None


def chosen(
    xen_arguments: str, domains: Sequence[DomainNode], control: tuple[Module, Module] | None = None
) -> str:
    """The part of a device tree source that tells Xen what to do.

    `control` is the kernel and the ramdisk of domain 0, where there is one.
    """
    nodes = "".join(_domain(number, domain) for number, domain in enumerate(domains, 1))
    if control is not None:
        kernel, ramdisk = control
        lines = [*_module("kernel", kernel, ""), *_module("ramdisk", ramdisk, None)]
        nodes = "".join(f"\t{line}\n" for line in lines) + nodes
    nodes += "".join(_pool(domain.pcpu) for domain in domains if domain.pcpu is not None)
    given = "".join(
        f"\t{card.node} {{\n\t\txen,passthrough;\n\t}};\n" for one in domains for card in one.cards
    )
    return (
        f"/ {{\n{given}"
        "\tchosen {\n"
        "\t\t#address-cells = <2>;\n"
        "\t\t#size-cells = <2>;\n"
        f"\t\txen,xen-bootargs = {_string(xen_arguments)};\n"
        f"{nodes}"
        "\t};\n"
        "};\n"
    )


def machine_tree(board: str, chosen_part: str) -> str:
    """The source of a whole tree: the board's, without its random numbers, and our part."""
    return f"{board}\n{_WITHOUT_RANDOMNESS}\n{chosen_part}"


# A board's tree has fresh random numbers in it each time; a run that can be repeated has none.
_WITHOUT_RANDOMNESS = (
    "/ {\n\tchosen {\n\t\t/delete-property/ rng-seed;\n\t\t/delete-property/ kaslr-seed;\n\t};\n};"
)


def given_tree(cards: Sequence[Card], memory_address: int, memory_bytes: int) -> str:
    """The source of the tree by which Xen knows which devices of the board a domain is given.

    What is not for Xen the domain finds in its own tree, with Xen's interrupt controller. A card
    sees the machine's memory, where the domain's is at `memory_address`.
    """
    nodes = "".join(map(_given, cards))
    seen = " ".join(map(_cells, (memory_address, GUEST_RAM, memory_bytes)))
    return (
        "/dts-v1/;\n"
        "/ {\n"
        "\t#address-cells = <2>;\n"
        "\t#size-cells = <2>;\n"
        "\tgic: gic {\n"
        "\t\t#interrupt-cells = <3>;\n"
        "\t\tinterrupt-controller;\n"
        "\t};\n"
        "\tpassthrough {\n"
        '\t\tcompatible = "simple-bus";\n'
        "\t\tinterrupt-parent = <&gic>;\n"
        "\t\tranges;\n"
        f"\t\tdma-ranges = <{seen}>;\n"
        "\t\t#address-cells = <2>;\n"
        "\t\t#size-cells = <2>;\n"
        f"{nodes}"
        "\t};\n"
        "};\n"
    )


def _given(card: Card) -> str:
    page, size = _cells(card.registers), _cells(PAGE_BYTES)
    return (
        f"\t\tcard@{card.address:x} {{\n"
        '\t\t\tcompatible = "virtio,mmio";\n'
        f"\t\t\treg = <{_cells(card.address)} {_cells(PAGE_BYTES // SLOTS_OF_PAGE)}>;\n"
        f"\t\t\tinterrupts = <0 {card.interrupt - FIRST_SHARED_INTERRUPT} {RISING_EDGE}>;\n"
        "\t\t\tdma-coherent;\n"
        f"\t\t\txen,reg = <{page} {size} {page}>;\n"
        f'\t\t\txen,path = "/{card.node}";\n'
        "\t\t\txen,force-assign-without-iommu;\n"
        "\t\t};\n"
    )


def _pool(pcpu: int) -> str:
    """A pcpu apart from the others, whoever is there has it whole."""
    return (
        f"\n\t\tpool{pcpu}: pool{pcpu} {{\n"
        '\t\t\tcompatible = "xen,cpupool";\n'
        f"\t\t\tcpupool-cpus = <&{{/cpus/cpu@{pcpu}}}>;\n"
        '\t\t\tcpupool-sched = "null";\n'
        "\t\t};\n"
    )


def _domain(number: int, domain: DomainNode) -> str:
    if len(domain.arguments) > ARGUMENTS_LIMIT:
        raise ValueError(f"a domain's arguments are at most {ARGUMENTS_LIMIT} characters")
    lines = [
        f"domU{number} {{",
        '\tcompatible = "xen,domain";',
        "\t#address-cells = <2>;",
        "\t#size-cells = <2>;",
        f"\tcpus = <{domain.vcpus}>;",
        f"\tmemory = <{_cells(domain.memory_bytes >> 10)}>;",
    ]
    if domain.memory_address is not None:
        # Xen reads these cells as /chosen counts them, which is the same here.
        place = f"{_cells(domain.memory_address)} {_cells(domain.memory_bytes)}"
        lines.append(f"\txen,static-mem = <{place}>;")
    if domain.vpl011:
        lines.append("\tvpl011;")
    if domain.channels:
        # Without this a domain may not use event channels.
        lines.append('\txen,enhanced = "no-xenstore";')
    if domain.pcpu is not None:
        lines.append(f"\tdomain-cpupool = <&pool{domain.pcpu}>;")
    for channel in domain.channels:
        lines += _channel(channel)
    lines += _module("kernel", domain.kernel, domain.arguments)
    if domain.ramdisk is not None:
        lines += _module("ramdisk", domain.ramdisk, None)
    if domain.device_tree is not None:
        lines += _module("device-tree", domain.device_tree, None)
    lines.append("};")
    return "".join(f"\n\t\t{line}" for line in lines) + "\n"


def _channel(end: ChannelEnd) -> list[str]:
    """The event channel, which names the other end's node, and the memory, nobody's own."""
    own, other = ("a", "b") if end.first else ("b", "a")
    place = f"{_cells(end.place)} {_cells(end.address)} {_cells(end.size)}"
    return [
        f"\t{end.name}_{own}: evtchn@{end.port} {{",
        '\t\tcompatible = "xen,evtchn-v1";',
        f"\t\txen,evtchn = <{end.port} &{end.name}_{other}>;",
        "\t};",
        f"\tshared-memory@{end.address:x} {{",
        '\t\tcompatible = "xen,domain-shared-memory-v1";',
        f'\t\txen,shm-id = "{end.name}";',
        f"\t\txen,shared-mem = <{place}>;",
        "\t};",
    ]


def _module(kind: str, module: Module, arguments: str | None) -> list[str]:
    lines = [
        f"\tmodule@{module.address:x} {{",
        f'\t\tcompatible = "multiboot,{kind}", "multiboot,module";',
        f"\t\treg = <{_cells(module.address)} {_cells(module.size)}>;",
    ]
    if arguments is not None:
        lines.append(f"\t\tbootargs = {_string(arguments)};")
    return [*lines, "\t};"]


def _cells(value: int) -> str:
    return f"{value >> 32:#x} {value & 0xFFFFFFFF:#x}"


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
