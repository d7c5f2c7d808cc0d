# SPDX-License-Identifier: BSD-2-Clause
"""Builds the Linux guest.

The kernel is Debian trixie's for clouds on arm64, unmodified; the initial file system has one
program of ours, `init.c`, and cyclictest from Debian's rt-tests with its libraries. Packages are
only unpacked: nothing is installed. The results are guests/linux/vmlinuz and
guests/linux/initramfs.cpio in the job's folder; they are made anew when a package or a source
changed.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from hyperperiod.hosts.xen.build import debian
from hyperperiod.hosts.xen.build.job import BuildError, BuildJob, digest_of, need, prefix_for, step
from hyperperiod.model import MissingError
from hyperperiod.resources import SOURCES

INIT = SOURCES / "guests" / "linux" / "init.c"
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow")

LIBC = "libc.a"
LIBC_PACKAGE = "libc6-dev-arm64-cross"
"""What the compiler needs for a program that is not bare metal; it comes without."""

PACKAGES = ("linux-image-cloud-arm64", "rt-tests", "libc6", "libnuma1")
LIBRARIES = "usr/lib/aarch64-linux-gnu"
FILES = {
    "usr/bin/cyclictest": "usr/bin/cyclictest",
    "usr/lib/ld-linux-aarch64.so.1": f"{LIBRARIES}/ld-linux-aarch64.so.1",
    "lib/ld-linux-aarch64.so.1": f"{LIBRARIES}/ld-linux-aarch64.so.1",
    f"{LIBRARIES}/libc.so.6": f"{LIBRARIES}/libc.so.6",
    f"{LIBRARIES}/libnuma.so.1": f"{LIBRARIES}/libnuma.so.1",
}
"""In the guest: where it comes from in the unpacked packages."""
FOLDERS = ("dev", "proc", "sys", "lib", "usr", "usr/bin", "usr/lib", LIBRARIES)

ASK_AGAIN_S = 24 * 3600

# The ARM64 image header's magic, at its place.
IMAGE_MAGIC = (0x38, b"ARM\x64")
FOLDER_MODE, FILE_MODE = 0o040755, 0o100755


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
    debian.need_apt("fetch the Linux guest's packages")


def build(job: BuildJob) -> Path:
    """Kernel and initial file system, unless they are up to date; the folder of the two."""
    out = job.root / "guests" / "linux"
    stamp = out / ".stamp"
    if _is_recent(out, stamp):
        return out
    packages = debian.packages(job.downloads, "arm64", PACKAGES)
    key = _key(packages)
    if stamp.is_file() and stamp.read_text() == key:
        stamp.touch()
        return out
    out.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    root = out / "packages"
    with step("the Linux guest"):
        shutil.rmtree(root, ignore_errors=True)
        for package in packages:
            _run(["dpkg-deb", "-x", str(package), str(root)])
        _install_kernel(root, out)
        compiler = f"{prefix_for('arm64')}gcc"
        _run([compiler, *FLAGS, "-static", "-pthread", "-o", str(out / "init"), str(INIT)])
        (out / "initramfs.cpio").write_bytes(b"".join(archive(_contents(root, out / "init"))))
        shutil.rmtree(root)
    stamp.write_text(key)
    return out


def archive(contents: dict[str, bytes | None]) -> Iterator[bytes]:
    """A cpio archive in the "newc" form; None is a folder. Everything belongs to root."""
    for number, (name, data) in enumerate([*contents.items(), ("TRAILER!!!", b"")], 1):
        mode = FOLDER_MODE if data is None else FILE_MODE
        links = 2 if data is None else 1
        size = len(data or b"")
        fields = (number, mode, 0, 0, links, 0, size, 0, 0, 0, 0, len(name) + 1, 0)
        header = "070701" + "".join(f"{field:08X}" for field in fields) + name + "\0"
        yield _padded(header.encode())
        yield _padded(data or b"")


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _contents(root: Path, init: Path) -> dict[str, bytes | None]:
    contents: dict[str, bytes | None] = dict.fromkeys(FOLDERS)
    contents["init"] = init.read_bytes()
    for place, source in FILES.items():
        found = root / source
        if not found.is_file():
            raise BuildError(f"Debian's packages have no {source}")
        contents[place] = found.read_bytes()
    return contents


def _install_kernel(root: Path, out: Path) -> None:
    """The kernel, which must be an image that a hypervisor can start as it is."""
    kernels = sorted((root / "boot").glob("vmlinuz-*"))
    if not kernels:
        raise BuildError("Debian's packages have no kernel")
    image = kernels[-1].read_bytes()
    place, magic = IMAGE_MAGIC
    if image[place : place + len(magic)] != magic:
        raise BuildError(f"{kernels[-1].name} is no plain arm64 image")
    (out / "vmlinuz").write_bytes(image)


def _is_recent(out: Path, stamp: Path) -> bool:
    """Whether all is there, from these sources, and apt was asked for new packages today."""
    if not stamp.is_file() or time.time() - stamp.stat().st_mtime > ASK_AGAIN_S:
        return False
    results = (out / "vmlinuz", out / "initramfs.cpio")
    return stamp.read_text().startswith(_key([])) and all(path.is_file() for path in results)


def _key(packages: list[Path]) -> str:
    """All that the built files depend on, as a text: it changes when one of these does."""
    digest = digest_of([], (INIT, Path(__file__)))
    return "\n".join([digest, *(package.name for package in packages)])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{command[0]} failed: {done.stderr.strip()}")
