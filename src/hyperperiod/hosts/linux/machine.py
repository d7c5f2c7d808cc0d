# SPDX-License-Identifier: BSD-2-Clause
"""A machine in QEMU that boots Linux with sched_ext, for a kernel here that has none.

    with boot(machine, folder, console) as running:
        running.wait_for("done")
        files = running.files()

What happens there is said by the first program, a shell script; what it leaves is an archive that
it writes to a port, of which QEMU makes a file. A line that is written to the machine's other port
asks it to end early.

With `icount` and one cpu the machine counts: an instruction takes one nanosecond, and two runs of
it are the same in every bit, since nothing of this host reaches it at an instant of the host's own.
Without, it is as fast as this host allows and as noisy.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import socket
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hyperperiod.hosts.cpio import archive
from hyperperiod.hosts.linux.build import Images
from hyperperiod.hosts.qemu import Emulator, console_arguments, quoted, started
from hyperperiod.model import MissingError

QEMU = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
PANIC = r"Kernel panic"
MEMORY_MIB = 1024
KERNEL_ARGUMENTS = "console=ttyS0 quiet panic=-1 nokaslr rdinit=/init cryptomgr.notests"
"""One layout in memory, so that a run is the same every time; no tests of the kernel's
cryptography, which take longer than all else at its start."""
BASE = "2026-01-01T00:00:00"
"""What the machine's clock says when it is turned on."""
RESULTS, ORDERS = "results", "orders"


@dataclass(frozen=True)
class LinuxMachine:
    """What is to be booted; `files` are added to the initial file system."""

    images: Images
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    cpus: int = 1
    icount: bool = True
    memory_mib: int = MEMORY_MIB
    devices: Sequence[str] = ()
    """More of QEMU's arguments."""
    arguments: str = ""
    """More of the kernel's."""
    waits: bool = False
    """Whether a machine that counts does not leap over time in which nobody has work: its clock
    then goes on as ours does. A device that is served by another process has to be waited for."""


class RunningLinux(Emulator):
    """A machine that runs, until its block ends."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, console: Path) -> None:
        super().__init__(process, folder, console, kernel="Linux", panic=PANIC)
        # Whoever reads from a port that nobody is connected to has read to its end.
        self._orders = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._orders.connect(str(folder / ORDERS))

    def since_start_s(self) -> int:
        """Returns for how long (s) the machine has been on, by its own clock."""
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


def tool() -> Path:
    """QEMU for x86; MissingError where it is not installed."""
    found = shutil.which(QEMU)
    if found is None:
        command = f"sudo apt-get install -y --no-install-recommends {PACKAGE}"
        raise MissingError(f"{QEMU} is not installed", command)
    return Path(found)


@contextlib.contextmanager
def boot(machine: LinuxMachine, console: Path) -> Iterator[RunningLinux]:
    """A machine that boots and runs; `console` becomes the log of its serial port."""
    qemu = tool()
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as name:
        folder = Path(name)
        initial = folder / "initramfs.cpio"
        parts = [path.read_bytes() for path in (machine.images.files, *machine.images.layers)]
        initial.write_bytes(b"".join([*parts, archive(machine.files)]))
        console.unlink(missing_ok=True)
        with started(_command(machine, qemu, initial, folder, console), folder) as process:
            running = RunningLinux(process, folder, console)
            try:
                running.go_on()
                yield running
            finally:
                running.end()


def _command(
    machine: LinuxMachine, qemu: Path, initial: Path, folder: Path, console: Path
) -> list[str]:
    # It stands until its ports are connected (-S): a line that is there from the first instruction.
    command = [str(qemu), "-S", "-nodefaults", "-display", "none", "-no-reboot", "-seed", "1"]
    command += ["-smp", str(machine.cpus), "-m", f"{machine.memory_mib}M"]
    command += ["-rtc", f"base={BASE},clock=vm"]
    if machine.icount:
        sleep = "on" if machine.waits else "off"
        command += ["-accel", "tcg,thread=single", "-icount", f"shift=0,sleep={sleep}"]
    else:
        command += ["-accel", "tcg,thread=multi"]
    command += ["-kernel", str(machine.images.kernel), "-initrd", str(initial)]
    command += ["-append", f"{KERNEL_ARGUMENTS} {machine.arguments}".rstrip()]
    command += console_arguments(folder, console)
    # With ioeventfd QEMU's other thread would serve the ports, at an instant of this host's time.
    command += ["-device", "virtio-serial-pci,ioeventfd=off"]
    results, orders = quoted(folder / RESULTS), quoted(folder / ORDERS)
    command += ["-chardev", f"file,id=results,path={results}"]
    command += ["-device", "virtserialport,chardev=results,name=results,nr=1"]
    command += ["-chardev", f"socket,id=orders,path={orders},server=on,wait=off"]
    command += ["-device", "virtserialport,chardev=orders,name=orders,nr=2"]
    return [*command, *machine.devices]
