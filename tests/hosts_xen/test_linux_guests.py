# SPDX-License-Identifier: BSD-2-Clause
"""Linux guests without booting them: what is refused, what is missing, what they are told."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.testing import CliRunner

from hyperperiod.cli import main
from hyperperiod.hosts.cpio import archive
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.xen import command_line
from hyperperiod.hosts.xen.devicetree import Card
from hyperperiod.hosts.xen.images import LINUX_RAM_BYTES
from hyperperiod.hosts.xen.plan import BOOT_PER_LINUX_NS, XenOptions, guest_of, plan
from hyperperiod.model import GuestKind, InputError, Scheduler, System, Task, load_system
from hyperperiod.resources import BUILD_VARIABLE

SYSTEMS = Path(__file__).parents[2] / "systems"
EXAMPLE = SYSTEMS / "linux-guest.toml"
OF_LINUX = ("linux.bin", "initramfs.cpio", "driver.cpio")
US = 1_000


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all images that a run needs, none of them real."""
    linuxes = [f"guests/{kind}/{name}" for kind in ("linux", "linux-rt") for name in OF_LINUX]
    for place in ("xen/arm64/xen", "guests/executive.bin", *linuxes):
        path = tmp_path / "build" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"nothing: {path.name}.".encode())
    monkeypatch.setenv(BUILD_VARIABLE, str(tmp_path / "build"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "build"


def linux(system: System, **changed: object) -> System:
    """The system with a changed Linux guest."""
    domains = [
        domain.replace(**changed) if domain.guest is GuestKind.LINUX else domain
        for domain in system.domains
    ]
    return system.replace(domains=tuple(domains))


@pytest.mark.parametrize("kind", ["linux", "linux-rt"])
@pytest.mark.parametrize("gone", OF_LINUX)
def test_what_is_not_built_is_named(built: Path, tmp_path: Path, gone: str, kind: str) -> None:
    (built / "guests" / kind / gone).unlink()
    file = tmp_path / "system.toml"
    file.write_text(EXAMPLE.read_text().replace('guest = "linux"', f'guest = "{kind}"'))
    result = CliRunner().invoke(main, ["run", str(file), "--on", "xen"])
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"is not built yet: there is no {built / 'guests' / kind / gone}" in result.stderr
    assert f"install it with: hyperperiod xen build {kind}-guest" in result.stderr


@pytest.mark.usefixtures("built")
def test_a_linux_guest_is_told_its_words_in_a_file() -> None:
    machine = plan(RunRequest(load_system(EXAMPLE), 10**8), XenOptions())
    executive, guest, _ = machine.guests
    assert guest.arguments.endswith(f"mem={LINUX_RAM_BYTES >> 20}M")
    assert guest.ring_offset == LINUX_RAM_BYTES < guest.memory_bytes
    assert isinstance(guest.ramdisk, bytes)
    assert guest.ramdisk.startswith(b"nothing: initramfs.cpio.")
    for word in (b"domain=1 ", b"scheduler=fp ", b"task=p:20000000:1000000:", b"memory="):
        assert word in guest.ramdisk
    assert b"task=p:20000000:1000000:" not in executive.arguments.encode()


@pytest.mark.usefixtures("built")
def test_only_a_linux_guest_with_a_card_has_its_driver() -> None:
    system, card = load_system(EXAMPLE), Card(0, 0)
    without, with_one = (guest_of(system, 1, [], 0, cards).ramdisk for cards in ((), (card,)))
    assert isinstance(without, bytes)
    assert with_one == without + b"nothing: driver.cpio."


@pytest.mark.usefixtures("built")
def test_the_epoch_waits_for_linux() -> None:
    without = linux(load_system(EXAMPLE), guest=GuestKind.EXECUTIVE)
    epochs = [
        int(machine.guests[0].arguments.split("epoch=")[1].split()[0]) * 16
        for machine in (
            plan(RunRequest(it, 10**8), XenOptions()) for it in (load_system(EXAMPLE), without)
        )
    ]
    assert epochs[0] - epochs[1] == BOOT_PER_LINUX_NS


@pytest.mark.parametrize("deadline_ns", [99 * US, 4_194_305 * US])
def test_deadlines_that_linux_does_not_take(deadline_ns: int) -> None:
    task = Task(name="t", period_ns=2 * deadline_ns, wcet_ns=US, deadline_ns=deadline_ns)
    system = linux(load_system(EXAMPLE), scheduler=Scheduler.EDF, tasks=(task,))
    with pytest.raises(
        InputError, match=r"task t: deadline.*100us to 4194304us under edf in Linux"
    ):
        command_line.refuse(system)
    command_line.refuse(linux(system, scheduler=Scheduler.DM))
    command_line.refuse(linux(system, guest=GuestKind.EXECUTIVE))


def test_more_priorities_than_linux_has() -> None:
    tasks = [Task(name=f"t{n}", period_ns=1000 * US, wcet_ns=US) for n in range(99)]
    system = linux(load_system(EXAMPLE), scheduler=Scheduler.RM, tasks=tuple(tasks))
    with pytest.raises(InputError, match=r"99.*at most 98 under rm"):
        command_line.refuse(system)
    command_line.refuse(linux(system, scheduler=Scheduler.FIFO))
    command_line.refuse(linux(system, tasks=tuple(tasks[:98])))


def test_flows_through_linux_are_refused() -> None:
    system = load_system(SYSTEMS / "packet-path.toml")
    name = system.flows[0].hops[0].split(".")[0]
    domains = [
        domain.replace(guest=GuestKind.LINUX) if domain.name == name else domain
        for domain in system.domains
    ]
    with pytest.raises(InputError, match=rf"domain {name}: guest.*Linux has no flows"):
        command_line.refuse(system.replace(domains=tuple(domains)))


def test_the_simulator_has_no_fair_scheduler(tmp_path: Path) -> None:
    file = tmp_path / "fair.toml"
    text = EXAMPLE.read_text().replace('"fp"', '"fair"')
    file.write_text("".join(line + "\n" for line in text.splitlines() if "priority" not in line))
    result = CliRunner().invoke(main, ["simulate", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "fair runs on Xen only" in result.stderr
    analyzed = CliRunner().invoke(main, ["analyze", str(file)])
    assert "fair: no test covers it" in analyzed.stdout


def test_an_archive_is_one_that_the_tools_of_others_read() -> None:
    """Walked by the format's own rules (the kernel's Documentation/driver-api/early-userspace)."""
    contents = {"a": b"12345", "folder": None, "folder/b": b"", "link": "a", "deep/er/c": b"6"}
    data = io.BytesIO(archive(contents))
    found: dict[str, bytes | str | None] = {}
    while True:
        header = data.read(110)
        assert header[:6] == b"070701"
        fields = [int(header[6 + 8 * n : 14 + 8 * n], 16) for n in range(13)]
        name = data.read(fields[11])[:-1].decode()
        data.seek(-data.tell() % 4, io.SEEK_CUR)
        content = data.read(fields[6])
        data.seek(-data.tell() % 4, io.SEEK_CUR)
        if name == "TRAILER!!!":
            break
        kinds = {0o04: None, 0o12: content.decode(errors="replace"), 0o10: content}
        found[name] = kinds[fields[1] >> 12]
    assert found == {**contents, "deep": None, "deep/er": None}
    assert list(found)[-3:] == ["deep", "deep/er", "deep/er/c"]
    assert data.read() == b""
