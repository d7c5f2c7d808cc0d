# SPDX-License-Identifier: BSD-2-Clause
"""A whole machine in QEMU: Xen, dom0 with the stock toolstack, and a session inside.

A session is a few files; `run` among them is the script that dom0 executes. What the script
leaves in /results comes back as files. The machine powers itself off; one that does not is
ended after a time limit.
"""

from __future__ import annotations

import base64
import io
import os
import re
import signal
import subprocess
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.stack.cpio import Archive
from tests.stack.dom0_image import Image

SYSTEM = "qemu-system-x86_64"
ARM_SYSTEM = "qemu-system-aarch64"
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


@dataclass(frozen=True)
class Machine:
    """A machine to run sessions on."""

    xen: Path
    image: Image
    pcpus: int = 4
    exact: bool = False
    """Virtual time from counted instructions: the same every time, one busy pcpu at a time."""
    boot_line: str = ""

    def command(self, folder: Path) -> list[str]:
        """How QEMU is called; the folder has the session's initrd and gets the logs."""
        xen_line = f"console=com1 com1=115200,8n1 dom0_mem=512M,max:512M {self.boot_line}"
        # QEMU separates modules by commas, so none may be in dom0's arguments.
        dom0 = f"{self.image.kernel} console=hvc0 quiet nokaslr"
        time = ["-accel", "tcg,thread=multi"]
        if self.exact:
            clock = "base=2026-01-01,clock=vm"
            time = ["-accel", "tcg", "-icount", "shift=2,sleep=off", "-rtc", clock, "-seed", "1"]
        return [
            SYSTEM, *time, "-M", "q35", "-cpu", "max,-smap", "-smp", str(self.pcpus),
            "-m", "1536", "-display", "none", "-nodefaults", "-no-reboot", "-monitor", "none",
            "-serial", f"file:{folder / 'console.log'}",
            "-debugcon", f"file:{folder / 'out.tar.gz'}",
            "-kernel", str(self.xen), "-append", xen_line,
            "-initrd", f"{dom0},{folder / 'initrd'}",
        ]  # fmt: skip

    def results(self, folder: Path) -> dict[str, bytes]:
        """What the session left in /results, which dom0 wrote to a port of QEMU's."""
        packed = folder / "out.tar.gz"
        return _files_of(packed.read_bytes() if packed.exists() else b"")

    def run(self, folder: Path, session: Mapping[str, bytes], limit_s: int) -> Ran:
        """Boots, runs the session, waits for the end; logs stay in the folder."""
        archive = Archive()
        for name, content in session.items():
            archive.file(f"session/{name}", content)
        (folder / "initrd").write_bytes(self.image.initrd.read_bytes() + archive.packed(level=1))
        ended = _run_limited(self.command(folder), limit_s)
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


def _run_limited(command: list[str], limit_s: int) -> bool:
    """Runs a command in a process group of its own and ends all of it at the limit."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(limit_s) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


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
