# SPDX-License-Identifier: BSD-2-Clause
"""`export --to xen-dom0less`: the files boot, as they are, and the guests do their jobs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support import xen_images

from hyperperiod.export import Board, export_dom0less, write_folder
from hyperperiod.export.dom0less import default_epoch_ns
from hyperperiod.hosts.qmp import Monitor
from hyperperiod.hosts.rings import Ring, read_ring
from hyperperiod.hosts.xen.plan import epoch_ns
from hyperperiod.model import InputError, System, load_system
from hyperperiod.trace.format import Kind, item_of

TOP = Path(__file__).parents[2]
MS = 1_000_000
PATIENCE_S = 120
PLACE = re.compile(r"records +from (0x[0-9a-f]+) on")


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    for name, package in (
        ("qemu-system-aarch64", "qemu-system-arm"),
        ("dtc", "device-tree-compiler"),
    ):
        if not shutil.which(name):
            pytest.skip(f"{name}: not found; apt-get install {package}")
    xen_images.image("arm64")
    xen_images.guest()


@pytest.fixture
def flight() -> System:
    return load_system(TOP / "systems" / "flight-control.toml")


@contextmanager
def qemu(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path, Path]]:
    """The script of an export, running; its output and the place of its monitor."""
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as name:
        said, monitor = Path(name) / "said", Path(name) / "qmp"
        command = ["sh", str(folder / "qemu.sh"), "-qmp", f"unix:{monitor},server=on,wait=off"]
        with said.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield process, said, monitor
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(text: str, process: subprocess.Popen[bytes], said: Path) -> str:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found = said.read_text(errors="replace")
        if text in found:
            return found
        assert process.poll() is None, found
        time.sleep(0.1)
    raise AssertionError(f"{text!r} did not come: {said.read_text(errors='replace')}")


@pytest.mark.parametrize(
    "board", [Board(epoch_ns=400 * MS), Board(epoch_ns=400 * MS, base=0x5000_0000)]
)
def test_the_files_boot_and_the_guests_do_their_jobs(
    tmp_path: Path, flight: System, board: Board
) -> None:
    for domain, ring in zip(flight.domains, rings_of(flight, board, tmp_path), strict=True):
        released = int((ring.records["kind"] == Kind.RELEASE).sum())
        wanted = sum(-(-100 * MS // task.period_ns) for task in domain.tasks if task.period_ns)
        assert released >= wanted > 0 or domain.best_effort


def rings_of(system: System, board: Board, folder: Path) -> list[Ring]:
    """What the guests of an export have recorded after 100 ms in QEMU."""
    target = folder / "out"
    write_folder(target, export_dom0less(system, 100 * MS, 1, board), {})
    places = [int(place, 16) for place in PLACE.findall((target / "guests.txt").read_text())]
    assert len(places) == len(system.domains)
    assert min(places) > board.base
    with qemu(target) as (process, said, monitor):
        console = wait_for("hyperperiod: horizon reached", process, said)
        assert "instead" not in console
        assert "passed already" not in console
        asked = Monitor(monitor)
        asked.ask("stop")
        dump = folder / "dump"

        def read(address: int, size: int) -> bytes:
            asked.ask("pmemsave", val=address, size=size, filename=str(dump))
            return dump.read_bytes()

        try:
            return [
                read_ring(read, place, domain.name)
                for domain, place in zip(system.domains, places, strict=True)
            ]
        finally:
            asked.close()


def test_a_linux_guest_boots_like_the_others(tmp_path: Path) -> None:
    xen_images.linux_guest()
    system = load_system(TOP / "systems" / "linux-guest.toml")
    rings = rings_of(system, Board(), tmp_path)
    assert [len(values_of(ring, Kind.COMPLETE)) for ring in rings] == [10, 8, 3]


def test_items_go_from_domain_to_domain(tmp_path: Path) -> None:
    system = load_system(TOP / "systems" / "packet-path.toml")
    rings = rings_of(system, Board(epoch_ns=400 * MS, base=0x5000_0000), tmp_path)
    for name, ring in zip(("driver", "control", "gateway"), rings, strict=False):
        hops = {item_of(int(value)).hop for value in values_of(ring, Kind.ITEM)}
        assert hops == ({0, 2} if name == "driver" else {1})
    assert len(values_of(rings[0], Kind.ITEM)) > 50


def values_of(ring: Ring, kind: Kind) -> list[int]:
    values: list[int] = ring.records["value"][ring.records["kind"] == kind].tolist()
    return values


def test_the_device_tree_says_what_the_lists_say(flight: System) -> None:
    files = export_dom0less(flight, 100 * MS, 1, Board(console="console=dtuart dtuart=serial0"))
    chosen, line = str(files["chosen.dtsi"]), str(files["xen-arguments.txt"]).strip()
    assert f'xen,xen-bootargs = "{line}";' in chosen
    assert line.startswith("console=dtuart dtuart=serial0 ")
    assert chosen.count('compatible = "xen,domain"') == len(flight.domains)
    for arguments in re.findall(r"arguments (.*)", str(files["guests.txt"])):
        assert f'bootargs = "{arguments}";' in chosen
        assert "rate=0" in arguments


def test_what_domains_share_is_in_the_lists() -> None:
    system = load_system(TOP / "systems" / "packet-path.toml")
    files = export_dom0less(system, 100 * MS, 1, Board())
    chosen = str(files["chosen.dtsi"])
    assert chosen.count('compatible = "xen,evtchn-v1"') == 4
    shared = re.findall(r"shared +4 KiB at (0x[0-9a-f]+) with (\w+)", str(files["guests.txt"]))
    assert [name for _, name in shared] == ["control", "gateway", "driver", "driver"]
    for place, _ in shared:
        assert f"xen,shared-mem = <0x0 {place} 0x1 " in chosen


def test_a_run_begins_when_the_guests_have_booted() -> None:
    """On a host with other things to do, Linux takes seconds; instructions are counted alike."""
    linux = load_system(TOP / "systems" / "linux-guest.toml")
    several = linux.replace(pcpus=2)
    assert default_epoch_ns(linux) == 2_000 * MS + epoch_ns(linux, icount=True)
    assert default_epoch_ns(several) == 2_000 * MS + epoch_ns(several, icount=False)
    assert default_epoch_ns(several) > 10_000 * MS


def test_epochs_are_counted_in_ticks_of_the_board(flight: System) -> None:
    board = Board(epoch_ns=30_000 * MS, counter_hz=54_000_000)
    files = export_dom0less(flight, 100 * MS, 1, board)
    assert str(files["guests.txt"]).count(f"epoch={30 * 54_000_000}") == len(flight.domains)
    assert "epoch=30s" in str(files["xen-arguments.txt"])


@pytest.mark.parametrize(
    ("board", "key"),
    [
        (Board(base=0x4900_1000), "--base"),
        (Board(base=1 << 60), "--base"),
        (Board(console='say "hello"'), "--console"),
    ],
)
def test_boards_that_cannot_be_are_refused(flight: System, board: Board, key: str) -> None:
    with pytest.raises(InputError) as caught:
        export_dom0less(flight, 100 * MS, 1, board)
    assert caught.value.key == key
