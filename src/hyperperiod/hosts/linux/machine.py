# SPDX-License-Identifier: BSD-2-Clause
"""A machine in QEMU that boots Linux with sched_ext, for a kernel here that has none.

    with boot(machine, folder, console) as running:
        running.wait_for("done")
        files = running.files()

What happens there is said by a shell script; what it leaves is an archive that it writes to a port,
of which QEMU makes a file. A line that is written to the machine's other port asks it to end early.

To boot Linux and to have our programs looked at by its verifier takes longer than most of what is
done then. So that is done once: what a machine is like after what it does `first` is kept as a
snapshot, by all that it depends on, and every machine goes on from one.

With `icount` and one cpu the machine counts: an instruction takes one nanosecond, and two runs of
it are the same in every bit, since nothing of this host reaches it at an instant of the host's own.
Without, it is as fast as this host allows and as noisy.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hyperperiod.hosts.build_job import digest_of, version_of
from hyperperiod.hosts.cpio import archive
from hyperperiod.hosts.linux.build import Images
from hyperperiod.hosts.linux.script import COMPLAINT, READY, init
from hyperperiod.hosts.qemu import (
    LOADED,
    LOOK_EVERY_S,
    Emulator,
    console_arguments,
    quoted,
    started,
)
from hyperperiod.model import MissingError

PANIC = r"Kernel panic"
MEMORY_MIB = 1024
KERNEL_ARGUMENTS = "quiet panic=-1 nokaslr rdinit=/init cryptomgr.notests"
"""One layout in memory, so that a run is the same every time; no tests of the kernel's
cryptography, which take longer than all else at its start."""
BASE = "2026-01-01T00:00:00"
"""What the machine's clock says when it is turned on (UTC)."""
RESULTS, ORDERS, GIVEN = "results", "orders", "given"
READY_PATIENCE_S = 240.0
"""Wall time in which a machine must have done what it does first."""
SNAPSHOTS = 8
"""So many are kept, those that were used last; each has some 150 MB."""


@dataclass(frozen=True)
class LinuxMachine:
    """What is to be booted, and what happens there; `files` are there when the script begins.

    `first` is what happens before, on this machine and all others like it.
    """

    images: Images
    script: str
    first: str = ""
    """It may take nothing from `files`."""
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    cpus: int = 1
    caches: int = 1
    """So many last caches they have, each shared by as many of them."""
    icount: bool = True
    memory_mib: int = MEMORY_MIB
    devices: Sequence[str] = ()
    """More of QEMU's arguments. Such a machine is turned on each time: other processes that serve
    its devices would not be where they were."""
    arguments: str = ""
    """More of the kernel's."""
    waits: bool = False
    """Whether a machine that counts does not leap over time in which nobody has work: its clock
    then goes on as ours does. A device that is served by another process has to be waited for."""


class Board(NamedTuple):
    """What machines for one processor are: of which program of QEMU's, from which package of
    Debian's, what the kernel calls the console, the board, and what stops the machine when the
    program `snapshot` wants it. `clock` is where the seconds of its clock stand in memory, if it is
    there."""

    program: str
    package: str
    console: str
    board: Sequence[str]
    watchdog: str
    clock: int | None = None


BOARDS = {
    "amd64": Board("qemu-system-x86_64", "qemu-system-x86", "ttyS0", (), "ib700"),
    "arm64": Board(
        *("qemu-system-aarch64", "qemu-system-arm", "ttyAMA0"),
        # A tick of its counter is a nanosecond.
        ("-machine", "virt,gic-version=3", "-cpu", "cortex-a76,cntfrq=1000000000"),
        *("i6300esb,addr=10", 0x0901_0000),
    ),
}
"""By Debian's name of the processor."""


class RunningLinux(Emulator):
    """A machine that runs, until its block ends."""

    def __init__(
        self, process: subprocess.Popen[bytes], folder: Path, console: Path, board: Board
    ) -> None:
        super().__init__(process, folder, console, kernel="Linux", panic=PANIC)
        self._board = board
        # Whoever reads from a port that nobody is connected to has read to its end.
        self._orders = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._orders.connect(str(folder / ORDERS))
        # QEMU takes the connection when it comes to that, and the machine is told.
        while not self._is_connected():
            time.sleep(LOOK_EVERY_S)

    def _is_connected(self) -> bool:
        (port,) = (one for one in self.ask("query-chardev") if one["label"] == ORDERS)
        return not str(port["filename"]).startswith("disconnected")

    def since_start_s(self) -> int:
        """Returns for how long (s) the machine has been on, by its own clock."""
        if self._board.clock is not None:
            base_s = int(datetime.fromisoformat(f"{BASE}+00:00").timestamp())
            return int.from_bytes(self.read(self._board.clock, 4), "little") - base_s
        now = self.ask("qom-get", path="/machine", property="rtc-time")
        # Only the time of day: no run takes a day.
        return int(now["tm_hour"]) * 3600 + int(now["tm_min"]) * 60 + int(now["tm_sec"])

    def order_end(self) -> None:
        """Asks the script to end now, and waits until QEMU has ended."""
        self._orders.sendall(b"end\n")
        self.wait_for_end()

    def end(self) -> None:
        """Closes the connections to the machine."""
        self._orders.close()
        super().end()

    def files(self) -> dict[str, bytes]:
        """What the script has left in its archive, by name."""
        data = (self._folder / RESULTS).read_bytes()
        found: dict[str, bytes] = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(data)) as left:
                for member in left.getmembers():
                    content = left.extractfile(member)
                    if content is not None:
                        found[member.name.removeprefix("./")] = content.read()
        except tarfile.TarError as error:
            raise self.failed(f"the machine left no archive ({error})") from None
        return found


def tool(architecture: str = "amd64") -> Path:
    """QEMU for a processor; MissingError where it is not installed."""
    board = BOARDS[architecture]
    found = shutil.which(board.program)
    if found is None:
        command = f"sudo apt-get install -y --no-install-recommends {board.package}"
        raise MissingError(f"{board.program} is not installed", command)
    return Path(found)


@contextlib.contextmanager
def boot(machine: LinuxMachine, console: Path) -> Iterator[RunningLinux]:
    """A machine that runs; `console` becomes the log of its serial port.

    FailedError where it does not get to its script, with what it complained of.
    """
    given = archive({**machine.files, "script": machine.script.encode()})
    if machine.devices:
        with _turned_on(machine, console, given) as running:
            running.go_on()
            yield running
        return
    with (
        _snapshot(machine, console).open("rb") as snapshot,
        _turned_on(machine, console, given, LOADED) as running,
    ):
        running.load(snapshot)
        running.go_on()
        yield running


def _snapshot(machine: LinuxMachine, console: Path) -> Path:
    """What the machine is like after what it does first; it is made unless it is there."""
    folder = machine.images.folder / "snapshots"
    folder.mkdir(exist_ok=True)
    qemu = tool(machine.images.architecture)
    texts = (*_hardware(machine), _init(machine), version_of(str(qemu)))
    path = folder / digest_of(texts, machine.images.all)
    part = path.with_name(f".{path.name}")
    # Of two that want the same one, one makes it. What a process that was killed left begins anew.
    with part.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not path.exists():
            try:
                file.truncate(0)
                _make_snapshot(machine, console, file)
            except BaseException:
                file.truncate(0)
                raise
            part.replace(path)
    part.unlink(missing_ok=True)
    path.touch()
    # Others may be about to take the same ones away.
    with contextlib.suppress(FileNotFoundError):
        used = sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime_ns)
        for old in used[:-SNAPSHOTS]:
            old.unlink()
    return path


def _make_snapshot(machine: LinuxMachine, console: Path, file: BinaryIO) -> None:
    """Turns the machine on and has it do what it does first."""
    with _turned_on(machine, console, b"") as running:
        running.go_on()
        over = rf"{READY}|{COMPLAINT}(.*)\n"
        found = running.wait_for(over, patience_s=READY_PATIENCE_S)
        if found[1] is not None:
            raise running.failed(f"the machine does not get ready: {found[1].strip()}")
        running.save(file)


@contextlib.contextmanager
def _turned_on(
    machine: LinuxMachine, console: Path, given: bytes, more: Sequence[str] = ()
) -> Iterator[RunningLinux]:
    """A machine that stands before its first instruction, with the archive of its run's files.

    `more` are arguments of QEMU's.
    """
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as name:
        folder = Path(name)
        initial = folder / "initramfs.cpio"
        _, *parts = (path.read_bytes() for path in machine.images.all)
        initial.write_bytes(b"".join([*parts, archive({"init": _init(machine).encode()})]))
        (folder / GIVEN).write_bytes(given)
        console.unlink(missing_ok=True)
        qemu = tool(machine.images.architecture)
        command = [str(qemu), *_hardware(machine), *_connections(folder, console), *more]
        command += ["-kernel", str(machine.images.kernel), "-initrd", str(initial)]
        with started(command, folder) as process:
            running = RunningLinux(process, folder, console, _board(machine))
            try:
                yield running
            finally:
                running.end()


def _init(machine: LinuxMachine) -> str:
    """The first program."""
    return init(machine.first, cpus=machine.cpus)


def _board(machine: LinuxMachine) -> Board:
    return BOARDS[machine.images.architecture]


def _hardware(machine: LinuxMachine) -> list[str]:
    """QEMU's arguments that name no file: what the machine is like."""
    # It stands until its ports are connected (-S): a line that is there from the first instruction.
    board = _board(machine)
    command = [*board.board, "-S", "-nodefaults", "-display", "none", "-no-reboot", "-seed", "1"]
    command += ["-smp", f"{machine.cpus},sockets={machine.caches}"]
    command += ["-m", f"{machine.memory_mib}M"]
    command += ["-rtc", f"base={BASE},clock=vm"]
    if machine.icount:
        sleep = "on" if machine.waits else "off"
        command += ["-accel", "tcg,thread=single", "-icount", f"shift=0,sleep={sleep}"]
    else:
        command += ["-accel", "tcg,thread=multi"]
    command += [
        "-append",
        f"console={board.console} {KERNEL_ARGUMENTS} {machine.arguments}".rstrip(),
    ]
    # With ioeventfd QEMU's other thread would serve the ports, at an instant of this host's time.
    command += ["-device", "virtio-serial-pci,ioeventfd=off"]
    if machine.devices:
        return [*command, *machine.devices]
    return [*command, "-device", board.watchdog, "-action", "watchdog=pause"]


def _connections(folder: Path, console: Path) -> list[str]:
    """QEMU's arguments for what connects the machine with files and sockets here."""
    results, orders, given = (quoted(folder / name) for name in (RESULTS, ORDERS, GIVEN))
    return [
        *console_arguments(folder, console),
        *("-chardev", f"file,id=results,path={results}"),
        *("-device", "virtserialport,chardev=results,name=results,nr=1"),
        *("-chardev", f"socket,id=orders,path={orders},server=on,wait=off"),
        *("-device", "virtserialport,chardev=orders,name=orders,nr=2"),
        *("-fw_cfg", f"name=opt/hyperperiod/given,file={given}"),
    ]
