# SPDX-License-Identifier: BSD-2-Clause
"""A whole machine in QEMU: Xen, dom0 with the stock toolstack, and a session inside.

A session is a few files; `run` among them is the script that dom0 executes. What the script
leaves in /results comes back as files. The machine powers itself off; one that does not is
ended after a time limit.
"""

from __future__ import annotations

import base64
import io
import re
import subprocess
import tarfile
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hyperperiod.hosts.cpio import archive
from hyperperiod.hosts.qemu import started
from hyperperiod.hosts.xen.build.dom0 import Image
from hyperperiod.model import FailedError

SYSTEM = "qemu-system-x86_64"
ARM_SYSTEM = "qemu-system-aarch64"
DOM0 = "dom0_max_vcpus=1 dom0_vcpus_pin"
"""One vcpu: a Linux of several patches its own code, which multi-threaded QEMU gets wrong."""
FIRST_BAD_ICOUNT = 10
"""From this version of QEMU on (Debian 13's) a read of the clock ends it with "Bad icount read"."""
LOOK_EVERY_S = 0.2
KERNEL_AT, INITRD_AT = 0x4A000000, 0x50000000
"""Where QEMU puts dom0's kernel and its first file system, in the board's memory."""


@dataclass(frozen=True)
class Ran:
    """What a machine left behind."""

    log: str
    """All consoles: Xen's, dom0's, and what the session printed."""
    results: Mapping[str, bytes]
    """The files of /results, by name."""
    ended: bool
    """Whether the machine powered itself off in time."""


def require_exact_clock() -> None:
    """FailedError where QEMU cannot count instructions with Xen for x86."""
    said = subprocess.run([SYSTEM, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"version (\d+)", said)
    if version is not None and int(version[1]) >= FIRST_BAD_ICOUNT:
        raise FailedError(
            f"QEMU {version[1]} ends x86 Xen that counts instructions with 'Bad icount read';"
            f" those before {FIRST_BAD_ICOUNT} do not"
        )


@dataclass(frozen=True)
class Machine:
    """A machine to run sessions on."""

    xen: Path
    image: Image
    pcpus: int = 4
    exact: bool = False
    """Virtual time from counted instructions: the same every time, one busy pcpu at a time."""
    boot_line: str = ""
    memory_mib: int = 1536
    """A third of it is dom0's."""
    shift: int = 2
    """If it is exact, an instruction takes 2 to this power nanoseconds."""

    @property
    def _dom0_memory(self) -> str:
        size = f"{self.memory_mib // 3}M"
        return f"dom0_mem={size},max:{size}"

    def command(self, folder: Path) -> list[str]:
        """How QEMU is called; the folder has the session's initrd and gets the logs."""
        xen_line = f"console=com1 com1=115200,8n1 {self._dom0_memory} {self.boot_line}"
        # With XSAVE, Linux VMs that shared a pcpu served pages that were not whole.
        # QEMU separates modules by commas, so none may be in dom0's arguments.
        dom0 = f"{self.image.kernel} console=hvc0 quiet nokaslr"
        time = ["-accel", "tcg,thread=multi"]
        if self.exact:
            clock = "base=2026-01-01,clock=vm"
            time = [
                "-accel",
                "tcg",
                "-icount",
                f"shift={self.shift},sleep=off",
                "-rtc",
                clock,
                "-seed",
                "1",
            ]
        return [
            SYSTEM, *time, "-M", "q35", "-cpu", "max,-smap,-xsave", "-smp", str(self.pcpus),
            "-m", str(self.memory_mib), "-display", "none", "-nodefaults",
            "-no-reboot", "-monitor", "none",
            "-serial", f"file:{folder / 'console.log'}",
            "-debugcon", f"file:{folder / 'out.tar.gz'}",
            "-kernel", str(self.xen), "-append", xen_line,
            "-initrd", f"{dom0},{folder / 'initrd'}",
        ]  # fmt: skip

    def results(self, folder: Path) -> dict[str, bytes]:
        """What the session left in /results, which dom0 wrote to a port of QEMU's."""
        packed = folder / "out.tar.gz"
        return _files_of(packed.read_bytes() if packed.exists() else b"")

    def run(
        self,
        folder: Path,
        session: Mapping[str, bytes],
        limit_s: int,
        watch: Callable[[str], object] = lambda _console: None,
    ) -> Ran:
        """Boots, runs the session, waits for the end; logs stay in the folder.

        Meanwhile `watch` is told what the consoles have shown so far.
        """
        files = archive({f"session/{name}": content for name, content in session.items()})
        (folder / "initrd").write_bytes(self.image.initrd.read_bytes() + files)
        log, until = folder / "console.log", time.monotonic() + limit_s
        log.unlink(missing_ok=True)
        with started(self.command(folder), folder) as process:
            while process.poll() is None and time.monotonic() < until:
                watch(log.read_text(errors="replace") if log.exists() else "")
                time.sleep(LOOK_EVERY_S)
            ended = process.poll() == 0
        return Ran(
            log=(folder / "console.log").read_text(errors="replace"),
            results=self.results(folder),
            ended=ended,
        )


@dataclass(frozen=True)
class ArmMachine(Machine):
    """The same for arm64: Xen finds dom0 in the device tree, where QEMU puts it.

    The session's own `send` says on the console what it is given, in base64.
    """

    def command(self, folder: Path) -> list[str]:
        """How QEMU is called."""
        xen_line = f"console=dtuart dtuart=/pl011@9000000 dom0_mem=512M {self.boot_line}"
        kernel = f"guest-loader,addr={KERNEL_AT:#x},kernel={self.image.kernel}"
        return [
            ARM_SYSTEM, "-machine", "virt,virtualization=on,gic-version=3", "-cpu", "cortex-a57",
            "-smp", str(self.pcpus), "-m", "1024", "-display", "none", "-nodefaults",
            "-no-reboot", "-monitor", "none", "-serial", f"file:{folder / 'console.log'}",
            "-kernel", str(self.xen), "-append", xen_line,
            "-device", f"{kernel},bootargs=console=hvc0 quiet",
            "-device", f"guest-loader,addr={INITRD_AT:#x},initrd={folder / 'initrd'}",
        ]  # fmt: skip

    def results(self, folder: Path) -> dict[str, bytes]:
        """What `send` said between its two marks."""
        log = (folder / "console.log").read_text(errors="replace")
        told = re.search(r"results begin\r?\n(.*?)results end", log, re.DOTALL)
        return _files_of(base64.b64decode(told[1])) if told else {}


def _files_of(raw: bytes) -> dict[str, bytes]:
    """The files in a packed tar archive; none if there is no archive, or half of one."""
    files: dict[str, bytes] = {}
    if not raw:
        return files
    try:
        with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
            for member in archive:
                content = archive.extractfile(member)
                if content is not None:
                    files[member.name.removeprefix("./")] = content.read()
    except (tarfile.TarError, EOFError, zlib.error):
        return {}
    return files
