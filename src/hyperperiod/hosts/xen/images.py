# SPDX-License-Identifier: BSD-2-Clause
"""Where the things are that a machine needs: hypervisors and guests that were built, tools.

`hyperperiod.resources.build_folder` says where what was built is. What is not there is a
MissingError with the command that brings it.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from hyperperiod.hosts.build_job import BuildJob
from hyperperiod.hosts.xen.build.dom0 import Image
from hyperperiod.hosts.xen.build.hypervisor import FLAVOURS, is_current
from hyperperiod.hosts.xen.build.programs import executive_is_current
from hyperperiod.model import GuestKind, MissingError
from hyperperiod.resources import build_folder

LINUX_RAM_BYTES = 160 << 20
"""What Linux may use of a guest's memory; the ring is behind it."""

QEMU, QEMU_X86 = "qemu-system-aarch64", "qemu-system-x86_64"
DTC = "dtc"
READELF = "readelf"
PACKAGES = {
    QEMU: "qemu-system-arm", QEMU_X86: "qemu-system-x86", DTC: "device-tree-compiler",
    READELF: "binutils",
}  # fmt: skip
"""Which Debian or Ubuntu package has a tool."""


def hypervisor(variant: str = "arm64") -> Path:
    """Xen: `arm64` (ours), `arm64-debug` (ours, with assertions), `arm64-stock` (its peers)."""
    return _built(f"xen/{variant}/xen", f"the hypervisor (Xen for {variant})", variant)


def current_hypervisor(variant: str = "arm64") -> Path:
    """The same, to be measured: MissingError if it was built from other sources than are here."""
    path = hypervisor(variant)
    if not is_current(FLAVOURS[variant], _job()):
        raise _of_other_sources(path, variant)
    return path


def current_executive() -> Path:
    """The guest that runs a domain's tasks, to be measured: MissingError as above."""
    path = executive()
    if not executive_is_current(_job()):
        raise _of_other_sources(path, "arm64")
    return path


def executive() -> Path:
    """The bare-metal guest that runs the tasks of a domain."""
    what = "the program that runs a domain's tasks inside its VM"
    return _built("guests/executive.bin", what, "arm64")


def control() -> Path:
    """The domain 0 that sets the parameters of the others under a scheduler of Xen's own."""
    what = "the program that sets the parameters of domains"
    return _built("guests/control.bin", what, "arm64-stock")


def control_tool() -> Path:
    """`hyperperiod-xen`, by which dom0 sets the scheduler's parameters."""
    return _built("xen-control/hyperperiod-xen", "hyperperiod-xen", "tools")


def dom0() -> Image:
    """A dom0 for x86_64, which has its key when it is whole."""
    return Image.of(_built("dom0/amd64/key", "a Linux for dom0", "dom0").parent)


def lockstep() -> Path:
    """What keeps several pcpus of a machine in step.

    MissingError where it is not built, and where QEMU was built without plugins, of which it is
    one.
    """
    return _plugin("lockstep", "what keeps pcpus in exact time")


def handlers() -> Path:
    """What counts the instructions of the scheduler's handlers; MissingError as above."""
    return _plugin("handlers", "what counts the scheduler's instructions")


def _plugin(name: str, what: str) -> Path:
    built = _built(f"{name}/{name}.so", what, name)
    qemu = tool(QEMU)
    known = subprocess.run([qemu, "-help"], capture_output=True, text=True, check=False).stdout
    if "-plugin" not in known:
        raise MissingError(f"{qemu} takes no plugins, one of which is {what}")
    return built


def can_keep_in_step() -> bool:
    """Whether a machine here can have several pcpus in exact time."""
    try:
        lockstep()
    except MissingError:
        return False
    return True


def linux(kind: GuestKind) -> tuple[Path, Path, Path]:
    """The guest that runs the tasks of a domain as threads: its kernel, its initial file system,
    and what that has beside if there is a network card.
    """
    what = "the Linux that runs a domain's tasks inside its VM"
    kernel, files, driver = (
        _built(f"guests/{kind}/{name}", what, f"{kind}-guest")
        for name in ("linux.bin", "initramfs.cpio", "driver.cpio")
    )
    return kernel, files, driver


def tool(name: str) -> Path:
    """The path of a program; MissingError where it is not installed."""
    found = shutil.which(name)
    if found is None:
        raise MissingError(f"{name} is not installed", f"apt-get install {PACKAGES[name]}")
    return Path(found)


def _job() -> BuildJob:
    """A build that is only asked what it would do."""

    def unwatched(
        _title: str, _lines: int
    ) -> contextlib.AbstractContextManager[Callable[[int], None]]:
        return contextlib.nullcontext(lambda _lines: None)

    return BuildJob(build_folder(), None, unwatched)


def _of_other_sources(path: Path, target: str) -> MissingError:
    return MissingError(
        f"{path} was built from other sources than are here now", f"hyperperiod xen build {target}"
    )


def _built(place: str, what: str, target: str) -> Path:
    path = build_folder() / place
    if not path.is_file():
        raise MissingError(
            f"{what} is not built yet: there is no {path}", f"hyperperiod xen build {target}"
        )
    return path
