# SPDX-License-Identifier: BSD-2-Clause
"""A run on the kernel of this machine, where that has sched_ext.

    with begin(built, files, text, console) as running:
        running.wait_for("done")
        files = running.files()

What happens is said by a shell script (`script.here`), which is a process of ours. It has the
scheduler put in force by a daemon of its own, and ends that whatever happens: on Ctrl-C, on a
failure, and when this process is killed. Then the kernel's own scheduler goes on, as before.
"""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from hyperperiod.hosts.linux import script
from hyperperiod.hosts.linux.client import KERNEL
from hyperperiod.hosts.watched import Watched, tied_to_us, uninterrupted
from hyperperiod.model import InputError, MissingError

IN_FORCE: Final = KERNEL.parent / "root" / "ops"
TYPES: Final = Path("/sys/kernel/btf/vmlinux")
CGROUPS: Final = Path("/sys/fs/cgroup")
CONTROLLERS: Final = "cgroup.subtree_control"
MACHINE: Final = "x86_64"
"""What is built is for these processors."""
RESTORED_S: Final = 30.0
"""How long the kernel may take to go back to its own scheduler."""


def lacks() -> str | None:
    """Why no run is possible on this machine's kernel; None: it is."""
    if platform.machine() != MACHINE:
        return f"the programs are for {MACHINE}, and this machine is {platform.machine()}"
    if not KERNEL.exists():
        return "this kernel has no sched_ext"
    if not TYPES.exists():
        return "this kernel does not say what its types are (CONFIG_DEBUG_INFO_BTF)"
    return None


def require() -> None:
    """MissingError unless this kernel and this user can put a scheduler in force."""
    lacking = lacks()
    if lacking is not None:
        raise MissingError(f"{lacking}; `--in vm` boots one that has what it takes")
    if os.geteuid() != 0:
        raise MissingError(
            "only root may put a scheduler in force: use sudo, or boot a machine with `--in vm`"
        )


def require_free() -> None:
    """InputError if a scheduler is in force already: it is somebody's, and stays."""
    state = KERNEL.read_text().strip()
    if state != "disabled":
        name = IN_FORCE.read_text().strip() if IN_FORCE.exists() else state
        allowed = "none but the kernel's own; `hyperperiod linux stop` stops Hyperperiod's"
        raise InputError("", None, "scheduler in force", name, allowed)


def require_cgroups() -> None:
    """MissingError unless cgroups with shares of the cpus can be made, as not in a container."""
    if (CGROUPS / "cgroup.type").exists() or not os.access(CGROUPS / CONTROLLERS, os.W_OK):
        raise MissingError(
            f"{CGROUPS} is not the root of cgroups of version 2, or is read-only; `--in vm` boots a"
            " machine that has it"
        )


def require_cpus(cpus: Sequence[int], pcpus: int) -> None:
    """InputError unless there are as many of these cpus as pcpus, all of this machine."""
    found = ",".join(map(str, cpus))
    if len(set(cpus)) != pcpus or len(cpus) != pcpus:
        raise InputError("", None, "--cpus", found, f"{pcpus} cpus, as the system has pcpus")
    online = os.sched_getaffinity(0)
    if not online.issuperset(cpus):
        there = ",".join(map(str, sorted(online)))
        raise InputError("", None, "--cpus", found, f"cpus of this machine: {there}; or --in vm")


class LocalRun(Watched):
    """A script that runs, until its block ends."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, console: Path) -> None:
        super().__init__(process, console, "the script of the run")
        self._folder = folder

    def since_start_s(self) -> int:
        """What the clock says that the epoch is an instant of (s)."""
        return int(time.clock_gettime(time.CLOCK_MONOTONIC))

    def order_end(self) -> None:
        """Asks the script to end now, and waits until it has."""
        # Open for both ways it does not wait for the reader.
        orders = os.open(self._folder / "orders", os.O_RDWR)
        try:
            os.write(orders, b"end\n")
            self.wait_for_end()
        finally:
            os.close(orders)

    def files(self) -> dict[str, bytes]:
        """What the script has left, by name."""
        left = self._folder / "left"
        paths = [path for path in left.rglob("*") if path.is_file()]
        return {str(path.relative_to(left)): path.read_bytes() for path in paths}

    def end(self) -> None:
        """Ends the script, which restores what was before; FailedError if it is not."""
        self._process.terminate()
        try:
            self._process.wait(RESTORED_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        # Processes of the script's that it did not wait for, and all if it was killed.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        until = time.monotonic() + RESTORED_S
        while (state := KERNEL.read_text().strip()) != "disabled":
            if time.monotonic() > until:
                raise self.failed(f"the scheduler is still in force ({state})")
            time.sleep(0.02)


@contextlib.contextmanager
def begin(
    built: Path,
    files: Mapping[str, bytes | None],
    text: Callable[[script.Place], str],
    console: Path,
) -> Iterator[LocalRun]:
    """A script, of its text in a place, that runs; `files` are what it finds in its folder."""
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as name:
        folder = Path(name)
        for made in ("left", "tmp"):
            (folder / made).mkdir()
        os.mkfifo(folder / "orders")
        for path, content in files.items():
            if content is None:
                (folder / path).mkdir()
            else:
                (folder / path).write_bytes(content)
        place = script.Place(folder, built, tied_to_us())
        begins = folder / "script"
        begins.write_text(text(place))
        with console.open("wb") as said, uninterrupted():
            process = subprocess.Popen(
                [*tied_to_us("TERM"), "/bin/sh", str(begins)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        running = LocalRun(process, folder, console)
        try:
            yield running
        finally:
            with uninterrupted():
                running.end()
