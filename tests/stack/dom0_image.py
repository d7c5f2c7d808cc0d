# SPDX-License-Identifier: BSD-2-Clause
"""A small dom0: Debian trixie's kernel and Xen toolstack, unmodified, in an initramfs.

The packages are downloaded by apt and unpacked below `build/`; nothing is
installed. What goes into the image is the tools that are named here and the libraries that they
need. `dom0/init` is its first process. An image is kept until a package or one of these files
changes.
"""

from __future__ import annotations

import fcntl
import hashlib
import lzma
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile, rmtree

from tests.stack.cpio import Archive

from hyperperiod.hosts import debian
from hyperperiod.model import MissingError

TOP = Path(__file__).parents[2]
HERE = Path(__file__).parent

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
MODULES = ("xen-privcmd", "xen-evtchn", "xenfs/xenfs", "xen-gntdev", "xen-gntalloc")
"""In the order in which they are loaded; below the kernel's drivers/xen."""
BY_NAME = "libgcc_s.so.1"
"""Loaded when a thread is cancelled; no program names it."""


@dataclass(frozen=True)
class Architecture:
    """Whose dom0: Debian's name, where programs look for what they need, and what else that is."""

    debian: str
    libraries: Path
    loader: Path
    packages: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the image is put together and kept."""
        return TOP / "build" / "dom0" / self.debian


AMD64 = Architecture(
    "amd64", Path("usr/lib/x86_64-linux-gnu"), Path("usr/lib64/ld-linux-x86-64.so.2")
)
ARM64 = Architecture(
    "arm64", Path("usr/lib/aarch64-linux-gnu"), Path("usr/lib/ld-linux-aarch64.so.1"), ("libfdt1",)
)


@dataclass(frozen=True)
class Image:
    """What QEMU is given for dom0."""

    kernel: Path
    initrd: Path


class MissingPackagesError(Exception):
    """The packages of dom0 cannot be had here; says why."""


def dom0_image(arch: Architecture = AMD64) -> Image:
    """The image, assembled now or found from an earlier run."""
    arch.folder.mkdir(parents=True, exist_ok=True)
    with (arch.folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kernel = f"linux-image-{arch.debian}"
        packages = download(kernel, *PACKAGES, *arch.packages, architecture=arch.debian)
        sources = (Path(__file__), HERE / "cpio.py", HERE / "dom0" / "init")
        parts = [*(path.name for path in packages), *(path.read_text() for path in sources)]
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        image = Image(arch.folder / "vmlinuz", arch.folder / "initrd")
        stamp = arch.folder / "key"
        if not stamp.exists() or stamp.read_text() != key:
            stamp.unlink(missing_ok=True)
            _assemble(packages, image, arch)
            stamp.write_text(key)
        return image


def download(*packages: str, architecture: str = "amd64") -> list[Path]:
    """Debian trixie's packages of these names, as files."""
    try:
        return debian.packages(TOP / "build" / "downloads", architecture, packages)
    except MissingError as error:
        raise MissingPackagesError(str(error)) from None


def _assemble(packages: list[Path], image: Image, arch: Architecture) -> None:
    root = arch.folder / "root"
    rmtree(root, ignore_errors=True)
    root.mkdir()
    for package in packages:
        if package.name.startswith("linux-image-"):
            _unpack_kernel(package, root)
        else:
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    (kernel,) = root.glob("boot/vmlinuz-*")
    copyfile(kernel, image.kernel)
    archive = Archive()
    _add_programs(archive, root, arch)
    (modules,) = root.glob("usr/lib/modules/*/kernel/drivers/xen")
    for number, name in enumerate(MODULES):
        content = lzma.decompress((modules / f"{name}.ko.xz").read_bytes())
        archive.file(f"modules/{number}-{Path(name).name}.ko", content)
    archive.file("etc/xen/xl.conf", b"")
    archive.file("init", (HERE / "dom0" / "init").read_bytes())
    for folder in ("proc", "sys", "dev"):
        archive.folder(folder)
    for name, target in LINKS.items():
        archive.link(name, target)
    image.initrd.write_bytes(archive.packed())
    rmtree(root)


def _unpack_kernel(package: Path, root: Path) -> None:
    """Only the kernel and Xen's modules: the rest is ten times as much."""
    wanted = ["--wildcards", "./boot/vmlinuz-*", "*/kernel/drivers/xen/*"]
    tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", root, *wanted], check=True, input=tar.stdout)


def _add_programs(archive: Archive, root: Path, arch: Architecture) -> None:
    """The programs, and the libraries they need, and those that these need."""
    waiting = [*(Path(name) for name in PROGRAMS), arch.loader, arch.libraries / BY_NAME]
    added = set(waiting)
    while waiting:
        name = waiting.pop()
        found = (root / name).resolve()
        if not found.is_file():
            raise MissingPackagesError(f"{name} is in none of dom0's packages")
        archive.file(name.as_posix(), found.read_bytes())
        for library in _needed(found):
            path = arch.libraries / library
            if path not in added:
                added.add(path)
                waiting.append(path)


def _needed(binary: Path) -> list[str]:
    """The libraries that a program names (none, if it is no dynamic ELF file)."""
    listing = subprocess.run(["readelf", "-d", binary], capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", listing)
