# SPDX-License-Identifier: BSD-2-Clause
"""The device tree that Xen boots with, and where everything is in memory."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hyperperiod.hosts.xen.devicetree import (
    ARGUMENTS_LIMIT,
    Card,
    DomainNode,
    Module,
    chosen,
    given_tree,
    machine_tree,
)
from hyperperiod.hosts.xen.machine import (
    GUEST_ALIGN,
    MODULES_BASE,
    RAM_BASE,
    Guest,
    XenMachine,
    domain_nodes,
    lay_out,
)

BOARD = "/dts-v1/;\n/ {\n\tchosen {\n\t\trng-seed = <1 2>;\n\t\tkaslr-seed = <3 4>;\n\t};\n};\n"


def test_a_domain_is_a_node() -> None:
    kernel, ramdisk = Module(0x49000000, 4112), Module(0x1_49002000, 77)
    text = chosen(
        "sched=hyperperiod",
        [
            DomainNode(
                kernel,
                'say="hi"',
                16 << 20,
                vcpus=2,
                memory_address=0x1_5000_0000,
                ramdisk=ramdisk,
                vpl011=True,
            ),
            DomainNode(kernel, "", 8 << 20),
        ],
    )
    assert 'xen,xen-bootargs = "sched=hyperperiod";' in text
    first, second = text.split("domU2")
    assert "cpus = <2>;" in first
    assert "memory = <0x0 0x4000>;" in first
    assert "xen,static-mem = <0x1 0x50000000 0x0 0x1000000>;" in first
    assert "reg = <0x0 0x49000000 0x0 0x1010>;" in first
    assert 'bootargs = "say=\\"hi\\"";' in first
    assert 'compatible = "multiboot,ramdisk", "multiboot,module";' in first
    assert "reg = <0x1 0x49002000 0x0 0x4d>;" in first
    assert "vpl011;" in first
    assert "static-mem" not in second
    assert "ramdisk" not in second
    assert "vpl011" not in second


def test_arguments_that_would_stop_the_boot_are_refused() -> None:
    node = DomainNode(Module(0, 1), "x" * (ARGUMENTS_LIMIT + 1), 1 << 20)
    with pytest.raises(ValueError, match="at most 1000 characters"):
        chosen("", [node])


@pytest.mark.skipif(shutil.which("dtc") is None, reason="dtc is not installed")
def test_the_whole_compiles_and_has_no_random_numbers(tmp_path: Path) -> None:
    source = tmp_path / "system.dts"
    source.write_text(machine_tree(BOARD, chosen("a=b", [DomainNode(Module(4096, 9), "c", 4096)])))
    again = subprocess.run(
        ["dtc", "-q", "-I", "dts", "-O", "dts", source], capture_output=True, text=True, check=True
    ).stdout
    assert "seed" not in again
    assert 'bootargs = "c"' in again
    assert 'xen,xen-bootargs = "a=b"' in again


@pytest.mark.skipif(shutil.which("dtc") is None, reason="dtc is not installed")
def test_a_guest_learns_where_its_card_is_and_where_the_card_sees_its_memory(
    tmp_path: Path,
) -> None:
    """A kernel that knows nothing of Xen finds the card by what Xen leaves of this tree."""
    image = tmp_path / "image"
    image.write_bytes(b"x" * 5000)
    guests = (Guest(image, "", 8 << 20, cards=(Card(1, 2),)), Guest(image, "", 8 << 20))
    first, second = lay_out(XenMachine(tmp_path / "xen", "", guests), tmp_path).places
    assert first.device_tree is not None
    assert first.memory + (8 << 20) <= first.device_tree.address
    assert first.device_tree.address + first.device_tree.size <= second.memory
    assert second.device_tree is None
    given = (tmp_path / "given0.dts").read_text()
    assert given == given_tree(guests[0].cards, first.memory, 8 << 20)
    assert f"dma-ranges = <0x0 {first.memory:#x} 0x0 0x40000000 0x0 0x800000>;" in given
    assert "reg = <0x0 0xa001400 0x0 0x200>;" in given
    assert "xen,reg = <0x0 0xa001000 0x0 0x1000 0x0 0xa001000>;" in given
    # The eleventh of the board's devices, whose first one has the interrupt 16 of those shared.
    assert "interrupts = <0 26 1>;" in given


def test_places_do_not_touch_and_images_are_there_once(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"x" * 5000)
    guests = (
        Guest(image, "", 8 << 20),
        Guest(image, "", 3 << 20, ramdisk=b"words"),
        Guest(image, "", 8 << 20, ramdisk=b"other"),
    )
    machine = XenMachine(tmp_path / "xen", "", guests)
    layout = lay_out(machine, tmp_path)
    assert [address for _, address in layout.files] == [
        MODULES_BASE,
        MODULES_BASE + 0x2000,
        MODULES_BASE + 0x3000,
    ]
    assert [path.read_bytes() for path, _ in layout.files[1:]] == [b"words", b"other"]
    end = MODULES_BASE + 0x4000
    for guest, place in zip(guests, layout.places, strict=True):
        assert place.memory % GUEST_ALIGN == 0
        assert place.memory >= end
        end = place.memory + guest.memory_bytes
    assert layout.ram_bytes >= end - RAM_BASE + machine.heap_bytes
    nodes = domain_nodes(machine, layout)
    assert [node.memory_address for node in nodes] == [place.memory for place in layout.places]
    assert nodes[0].ramdisk is None
    assert nodes[1].ramdisk == Module(MODULES_BASE + 0x2000, 5)
