# SPDX-License-Identifier: BSD-2-Clause
"""A small dom0: Debian trixie's kernel and Xen toolstack, unmodified, in an initramfs.

The packages are downloaded by apt and unpacked in the job's folder; nothing is installed. What goes
into the image is the tools that are named here and the libraries that they need, and drivers of
virtual networks, which a session may load. `guests/dom0/init` is its first process. An image is
kept until a package or one of these files changes.
"""

from __future__ import annotations

import fcntl
import lzma
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile, rmtree

from hyperperiod.hosts import debian
from hyperperiod.hosts.build_job import BuildError, BuildJob, digest_of, need
from hyperperiod.hosts.cpio import archive
from hyperperiod.resources import SOURCES

OURS = SOURCES / "guests" / "dom0"

PACKAGES = (
    "busybox-static", "libc6", "libgcc-s1", "liblzma5", "libncurses6", "libtinfo6", "libuuid1",
    "libxencall1", "libxendevicemodel1", "libxenevtchn1", "libxenforeignmemory1",
    "libxengnttab1", "libxenhypfs1", "libxenmisc4.20", "libxenstore4", "libxentoolcore1",
    "libxentoollog1", "libyajl2", "libzstd1", "xen-utils-4.20", "xen-utils-common",
    "xenstore-utils", "zlib1g",
)  # fmt: skip
TOOLS = (
    "xl", "libxl-save-helper", "xenstored", "xen-init-dom0", "xenconsoled", "xenconsole",
    "xentrace", "xentop",
)  # fmt: skip
PROGRAMS = (
    "usr/bin/busybox", "usr/bin/xenstore", "usr/bin/xenalyze",
    *(f"usr/lib/xen-4.20/bin/{tool}" for tool in TOOLS),
)  # fmt: skip
LINKS = {
    "bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64",
    "usr/bin/sh": "busybox",
    "var/run": "../run", "var/lock": "../run/lock",
    **{f"usr/bin/xenstore-{verb}": "xenstore" for verb in ("ls", "read", "write", "rm", "list")},
}  # fmt: skip
XEN = tuple(
    f"drivers/xen/{name}.ko"
    for name in ("xen-privcmd", "xen-evtchn", "xenfs/xenfs", "xen-gntdev", "xen-gntalloc")
)
"""Drivers in the order in which they are loaded; names below the kernel's folder."""
NETWORK = (
    "net/llc/llc.ko", "net/802/stp.ko", "net/bridge/bridge.ko",
    "drivers/net/xen-netback/xen-netback.ko",
)  # fmt: skip
"""Drivers that a session loads if it wants them, in the order in which they can be."""
FRONT = "xen-netfront.ko"
BY_NAME = "libgcc_s.so.1"
"""Loaded when a thread is cancelled; no program names it."""


@dataclass(frozen=True)
class Architecture:
    """Whose dom0: Debian's name, where programs look for what they need, and what else that is."""

    debian: str
    libraries: Path
    loader: Path
    packages: tuple[str, ...] = ()
    sends: bool = True
    """Whether QEMU's machine has a port for what `guests/dom0/send.c` sends."""


AMD64 = Architecture(
    "amd64", Path("usr/lib/x86_64-linux-gnu"), Path("usr/lib64/ld-linux-x86-64.so.2")
)
ARM64 = Architecture(
    "arm64",
    Path("usr/lib/aarch64-linux-gnu"),
    Path("usr/lib/ld-linux-aarch64.so.1"),
    ("libfdt1",),
    sends=False,
)


@dataclass(frozen=True)
class Image:
    """The files that building a dom0 leaves: what QEMU boots, and what its guests may need."""

    kernel: Path
    initrd: Path
    busybox: Path
    """For a guest's own first file system: one program for a shell and its tools."""
    network_driver: Path
    """The kernel's driver of a guest's network."""

    @classmethod
    def of(cls, folder: Path) -> Image:
        """The files of an image that is kept in a folder."""
        return cls(*(folder / name for name in ("vmlinuz", "initrd", "busybox", FRONT)))


def need_tools() -> None:
    """Raises MissingError if this machine cannot put dom0's image together."""
    need({"dpkg-deb": "dpkg", "readelf": "binutils", "gcc": "gcc"}, "put dom0's image together")
    debian.need_apt("fetch dom0's packages")


def build(job: BuildJob, arch: Architecture = AMD64) -> Path:
    """Kernel and initial file system, unless they are up to date; the second of them."""
    folder = job.root / "dom0" / arch.debian
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        names = (f"linux-image-{arch.debian}", *PACKAGES, *arch.packages)
        packages = debian.packages(job.downloads, arch.debian, names)
        sources = (Path(__file__), *sorted(OURS.iterdir()))
        key = digest_of([path.name for path in packages], sources)
        image, stamp = Image.of(folder), folder / "key"
        if not stamp.exists() or stamp.read_text() != key:
            stamp.unlink(missing_ok=True)
            _assemble(packages, image, arch)
            stamp.write_text(key)
        return image.initrd


def _assemble(packages: list[Path], image: Image, arch: Architecture) -> None:
    root = image.initrd.with_name("root")
    rmtree(root, ignore_errors=True)
    root.mkdir()
    for package in packages:
        if package.name.startswith("linux-image-"):
            _unpack_kernel(package, root)
        else:
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    (kernel,) = root.glob("boot/vmlinuz-*")
    copyfile(kernel, image.kernel)
    (modules,) = root.glob("usr/lib/modules/*/kernel")
    files: dict[str, bytes | str | None] = dict.fromkeys(("proc", "sys", "dev"))
    files |= {"etc/xen/xl.conf": b"", "init": (OURS / "init").read_bytes(), **LINKS}
    files |= _programs(root, arch)
    for folder, names in (("modules", XEN), ("modules/network", NETWORK)):
        for number, name in enumerate(names):
            files[f"{folder}/{number}-{Path(name).name}"] = _driver(modules, name)
    if arch.sends:
        command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static"]
        subprocess.run([*command, "-o", root / "send", OURS / "send.c"], check=True)
        files["usr/bin/send"] = (root / "send").read_bytes()
    image.network_driver.write_bytes(_driver(modules, f"drivers/net/{FRONT}"))
    copyfile(root / PROGRAMS[0], image.busybox)
    image.initrd.write_bytes(archive(files))
    rmtree(root)


def _driver(modules: Path, name: str) -> bytes:
    return lzma.decompress((modules / f"{name}.xz").read_bytes())


def _unpack_kernel(package: Path, root: Path) -> None:
    """Only the kernel and the drivers that are wanted: the rest is ten times as much."""
    wanted = [f"*/kernel/{name}.xz" for name in (*XEN, *NETWORK, f"drivers/net/{FRONT}")]
    tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True)
    subprocess.run(
        ["tar", "-x", "-C", root, "--wildcards", "./boot/vmlinuz-*", *wanted],
        check=True,
        input=tar.stdout,
    )


def _programs(root: Path, arch: Architecture) -> Mapping[str, bytes]:
    """The programs, and the libraries they need, and those that these need."""
    files: dict[str, bytes] = {}
    waiting = [*(Path(name) for name in PROGRAMS), arch.loader, arch.libraries / BY_NAME]
    while waiting:
        name = waiting.pop()
        if name.as_posix() in files:
            continue
        found = (root / name).resolve()
        if not found.is_file():
            raise BuildError(f"{name} is in none of dom0's packages")
        files[name.as_posix()] = found.read_bytes()
        waiting += [arch.libraries / library for library in _needed(found)]
    return files


def _needed(binary: Path) -> list[str]:
    """The libraries that a program names (none, if it is no dynamic ELF file)."""
    listing = subprocess.run(["readelf", "-d", binary], capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", listing)
