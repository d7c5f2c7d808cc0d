# SPDX-License-Identifier: BSD-2-Clause
"""This machine's files under Debian's kernel with sched_ext: what runs here runs there as well.

The root of this machine is the root there, through virtiofs, and cannot be written to; /tmp and
/run are empty and in memory. So a test calls `hyperperiod` as a user of such a machine does.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.on_linux import TOP, need_linux

from hyperperiod.hosts.linux.attend import run_script
from hyperperiod.hosts.linux.build import Images
from hyperperiod.hosts.linux.machine import LinuxMachine
from hyperperiod.hosts.linux.script import COMPLAINT, DONE
from hyperperiod.hosts.watched import tied_to_us

DAEMONS = (Path("/usr/lib/qemu/virtiofsd"), Path("/usr/libexec/virtiofsd"))
MEMORY_MIB = 2048
START_S = 30.0
PATIENCE_S = 300.0

ROOT = f"""\
mkdir -p /host
mount -t virtiofs -o ro host /host
for each in proc sys dev; do mount -o bind /$each /host/$each; done
mount -t cgroup2 cgroup /host/sys/fs/cgroup
for each in /tmp /run; do mount -t tmpfs tmp /host$each; done
mkdir -p /host/tmp/left
cp -r /given/* /host/tmp
chroot /host /usr/bin/env -i PATH={TOP}/.venv/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp \\
    /bin/sh /tmp/session || echo "{COMPLAINT} the session has failed"
tar c -C /host/tmp/left . >/dev/vport0p1
echo "{DONE}"
over
"""


@contextlib.contextmanager
def files_of_this_machine() -> Iterator[Path]:
    """A socket at which the files of this machine are served; skips where that cannot be."""
    found = [path for path in DAEMONS if path.exists()]
    if not found or os.geteuid() != 0:
        pytest.skip("virtiofsd, as root, is needed: apt-get install virtiofsd")
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as name:
        socket = Path(name) / "files"
        options = ("source=/", "sandbox=chroot", "cache=always")
        words = [word for option in options for word in ("-o", option)]
        with (Path(name) / "said").open("wb") as said:
            process = subprocess.Popen(
                [*tied_to_us(), str(found[0]), f"--socket-path={socket}", *words],
                stdout=said, stderr=said,
            )  # fmt: skip
        try:
            until = time.monotonic() + START_S
            while not socket.exists():
                assert process.poll() is None, (Path(name) / "said").read_text()
                assert time.monotonic() < until
                time.sleep(0.02)
            yield socket
        finally:
            process.kill()
            process.wait()


def session(script: str, given: dict[str, bytes], folder: Path, cpus: int = 1) -> dict[str, bytes]:
    """What a shell script leaves in /tmp/left; `given` are files in /tmp, where it begins.

    One cpu counts instructions, so that no load of this machine makes it late; while it waits for
    files its clock goes on as ours does. Several do not.
    """
    built = need_linux()
    images = Images(built / "vmlinuz", built / "initramfs.cpio")
    files: dict[str, bytes | None] = {"given": None}
    files |= {f"given/{name}": content for name, content in given.items()}
    files["given/session"] = f"cd /tmp\n{script}".encode()
    with files_of_this_machine() as socket:
        devices = (
            *("-cpu", "max"),
            *("-object", f"memory-backend-memfd,id=mem,size={MEMORY_MIB}M,share=on"),
            *("-machine", "memory-backend=mem"),
            *("-chardev", f"socket,id=files,path={socket}"),
            *("-device", "vhost-user-fs-pci,chardev=files,tag=host"),
        )
        machine = LinuxMachine(
            images, ROOT, files=files, cpus=cpus, icount=cpus == 1, memory_mib=MEMORY_MIB,
            devices=devices, waits=True,
        )  # fmt: skip
        return run_script(machine, folder / "console.log", PATIENCE_S, silent=True)
