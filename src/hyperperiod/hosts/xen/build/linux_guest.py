# SPDX-License-Identifier: BSD-2-Clause
"""Builds the Linux guest, with either kernel.

The kernel is Debian trixie's for clouds on arm64, or its real-time one, unmodified; the initial
file system has one program of ours, `init.c` with its files. In front of the kernel is our
`doorstep.S`. Where there is a network card, the kernel's modules for it are there as well. The
kernel's package is only unpacked: nothing is installed. The results are linux.bin, initramfs.cpio
and driver.cpio in guests/linux or guests/linux-rt of the job's folder; they are made anew when the
package or a source changed.
"""

from __future__ import annotations

import lzma
import shutil
import subprocess
import time
from pathlib import Path

from hyperperiod.hosts import debian
from hyperperiod.hosts.build_job import BuildError, BuildJob, digest_of, need, prefix_for, step
from hyperperiod.hosts.cpio import archive
from hyperperiod.hosts.xen.images import LINUX_RAM_BYTES
from hyperperiod.model import GuestKind, MissingError
from hyperperiod.resources import SOURCES

DOORSTEP = SOURCES / "guests" / "linux" / "doorstep.S"
PROGRAM = tuple(
    SOURCES / "guests" / name
    for name in (
        *("linux/init.c", "linux/classes.c", "linux/threads.c", "linux/hops.c", "linux/words.c"),
        "linux/device.c",
        "executive/arguments.c",
    )
)
HEADERS = tuple(
    path
    for folder in ("core", "words", "guests/board", "guests/executive", "guests/linux", "record")
    for path in sorted((SOURCES / folder).glob("*.h"))
)
RING = f"-DRING_OFFSET={LINUX_RAM_BYTES:#x}"
FLAGS = (
    *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"),
    *("-static", "-pthread", f"-I{SOURCES}", "-DUNDER_XEN", RING),
)

LIBC = "libc.a"
LIBC_PACKAGE = "libc6-dev-arm64-cross"
"""What the compiler needs for a program that is not bare metal; it comes without."""

PACKAGES = {
    GuestKind.LINUX: "linux-image-cloud-arm64",
    GuestKind.LINUX_RT: "linux-image-rt-arm64",
}
MODULES = ("failover", "net_failover", "virtio_net", "virtio_mmio")
"""A card's driver, behind what it needs; then who finds the card."""
FOLDERS = ("dev", "proc", "sys")

ASK_AGAIN_S = 24 * 3600

# The ARM64 image header's magic, at its place, and where the header has the size of what is run.
IMAGE_MAGIC = (0x38, b"ARM\x64")
IMAGE_SIZE = slice(0x10, 0x18)
DOORSTEP_BYTES = 2 << 20


def need_tools() -> None:
    """Raises MissingError if this machine cannot build the guest."""
    compiler = f"{prefix_for('arm64')}gcc"
    tools = {compiler: f"gcc-aarch64-linux-gnu {LIBC_PACKAGE}", "dpkg-deb": "dpkg"}
    need(tools, "build the Linux guest")
    # A file that the compiler does not find it names as it was asked.
    asked = [compiler, f"-print-file-name={LIBC}"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if found == LIBC:
        raise MissingError(
            f"{LIBC} for arm64: not found, needed to build the Linux guest",
            f"sudo apt-get install -y --no-install-recommends {LIBC_PACKAGE}",
        )
    debian.need_apt("fetch the Linux guest's kernel")


def build(kind: GuestKind, job: BuildJob) -> Path:
    """Kernel and initial file system, unless they are up to date; the folder of the two."""
    out = job.root / "guests" / kind
    stamp = out / ".stamp"
    if _is_recent(out, stamp):
        return out
    packages = debian.packages(job.downloads, "arm64", (PACKAGES[kind],))
    key = _key(packages)
    if stamp.is_file() and stamp.read_text() == key:
        stamp.touch()
        return out
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    root = out / "packages"
    with step(f"the guest {kind}"):
        for package in packages:
            _run(["dpkg-deb", "-x", str(package), str(root)])
        kernel, modules = _kernel(root), _modules(root)
        shutil.rmtree(root)
        (out / "linux.bin").write_bytes(_doorstep(out, kernel) + kernel)
        _run([f"{prefix_for('arm64')}gcc", *FLAGS, "-o", str(out / "init"), *map(str, PROGRAM)])
        contents = {**dict.fromkeys(FOLDERS), "init": (out / "init").read_bytes()}
        (out / "initramfs.cpio").write_bytes(archive(contents))
        (out / "driver.cpio").write_bytes(archive({"modules": None, **modules}))
    stamp.write_text(key)
    return out


def _kernel(root: Path) -> bytes:
    """The kernel, which must be an image that a hypervisor can start as it is."""
    kernels = sorted((root / "boot").glob("vmlinuz-*"))
    if not kernels:
        raise BuildError("Debian's packages have no kernel")
    image = kernels[-1].read_bytes()
    place, magic = IMAGE_MAGIC
    if image[place : place + len(magic)] != magic:
        raise BuildError(f"{kernels[-1].name} is no plain arm64 image")
    return image


def _modules(root: Path) -> dict[str, bytes]:
    """The kernel's modules of MODULES, as the files 0, 1, ... that init.c loads."""
    found = {path.name.partition(".")[0]: path for path in root.rglob("*.ko.xz")}
    missing = [name for name in MODULES if name not in found]
    if missing:
        raise BuildError(f"Debian's kernel has no module {', '.join(missing)}")
    return {
        f"modules/{at}": lzma.decompress(found[name].read_bytes())
        for at, name in enumerate(MODULES)
    }


def _doorstep(out: Path, kernel: bytes) -> bytes:
    """What is executed before that kernel, as long as the way to it."""
    prefix = prefix_for("arm64")
    parts = out / "doorstep.o"
    size = DOORSTEP_BYTES + int.from_bytes(kernel[IMAGE_SIZE], "little")
    _run([f"{prefix}gcc", RING, f"-DIMAGE_BYTES={size:#x}", "-c", "-o", str(parts), str(DOORSTEP)])
    _run([f"{prefix}objcopy", "-O", "binary", str(parts), str(out / "doorstep.bin")])
    return (out / "doorstep.bin").read_bytes().ljust(DOORSTEP_BYTES, b"\0")


def _is_recent(out: Path, stamp: Path) -> bool:
    """Whether all is there, from these sources, and apt was asked for new packages today."""
    if not stamp.is_file() or time.time() - stamp.stat().st_mtime > ASK_AGAIN_S:
        return False
    results = [out / name for name in ("linux.bin", "initramfs.cpio", "driver.cpio")]
    return stamp.read_text().startswith(_key([])) and all(path.is_file() for path in results)


def _key(packages: list[Path]) -> str:
    """All that the built files depend on, as a text: it changes when one of these does."""
    digest = digest_of([], (DOORSTEP, *PROGRAM, *HEADERS, Path(__file__)))
    return "\n".join([digest, *(package.name for package in packages)])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{command[0]} failed: {done.stderr.strip()}")
