# SPDX-License-Identifier: BSD-2-Clause
"""Builds the Linux guest: `python3 -m guests.linux.build`

The kernel is Debian trixie's for clouds on arm64, unmodified; the initial file system has one
program of ours, `init.c`, and cyclictest from Debian's rt-tests with its libraries. Packages are
fetched by tools/trixie_packages and only unpacked: nothing is installed. The results are
build/guests/linux/vmlinuz and build/guests/linux/initramfs.cpio; they are made anew when a
package or a source changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[2]
OUT = TOP / "build" / "guests" / "linux"
RESULTS = (OUT / "vmlinuz", OUT / "initramfs.cpio")
INIT = TOP / "guests" / "linux" / "init.c"
COMPILER = "aarch64-linux-gnu-gcc"
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow")

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

LIBC = "libc.a"
LIBC_PACKAGE = "libc6-dev-arm64-cross"
"""What the compiler needs for a program that is not bare metal; it comes without."""
NEEDED = {
    COMPILER: f"gcc-aarch64-linux-gnu {LIBC_PACKAGE}",
    "dpkg-deb": "dpkg",
    "apt-get": "apt",
}
EXIT_LACKS = 3
ASK_AGAIN_S = 24 * 3600

# The ARM64 image header's magic, at its place.
IMAGE_MAGIC = (0x38, b"ARM\x64")
FOLDER_MODE, FILE_MODE = 0o040755, 0o100755


class BuildError(Exception):
    """Why there is no guest; `code` is the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        self.code = code
        super().__init__(message)


def main() -> int:
    """Builds what is not there yet; 3 for a missing tool or package."""
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        with (OUT / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            build()
    except BuildError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.code
    return 0


def build() -> None:
    """Kernel and initial file system, unless they are up to date."""
    stamp = OUT / ".stamp"
    if _is_recent(stamp):
        return
    _need_tools()
    packages = _fetch()
    key = _key(packages)
    if stamp.is_file() and stamp.read_text() == key:
        stamp.touch()
        return
    stamp.unlink(missing_ok=True)
    root = OUT / "packages"
    shutil.rmtree(root, ignore_errors=True)
    for package in packages:
        _run(["dpkg-deb", "-x", str(package), str(root)])
    _install_kernel(root)
    _run([COMPILER, *FLAGS, "-static", "-pthread", "-o", str(OUT / "init"), str(INIT)])
    (OUT / "initramfs.cpio").write_bytes(b"".join(archive(_contents(root))))
    shutil.rmtree(root)
    stamp.write_text(key)


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


def _contents(root: Path) -> dict[str, bytes | None]:
    contents: dict[str, bytes | None] = dict.fromkeys(FOLDERS)
    contents["init"] = (OUT / "init").read_bytes()
    for place, source in FILES.items():
        found = root / source
        if not found.is_file():
            raise BuildError(f"Debian's packages have no {source}")
        contents[place] = found.read_bytes()
    return contents


def _install_kernel(root: Path) -> None:
    """The kernel, which must be an image that a hypervisor can start as it is."""
    kernels = sorted((root / "boot").glob("vmlinuz-*"))
    if not kernels:
        raise BuildError("Debian's packages have no kernel")
    image = kernels[-1].read_bytes()
    place, magic = IMAGE_MAGIC
    if image[place : place + len(magic)] != magic:
        raise BuildError(f"{kernels[-1].name} is no plain arm64 image")
    (OUT / "vmlinuz").write_bytes(image)


def _fetch() -> list[Path]:
    done = subprocess.run(
        [str(TOP / "tools" / "trixie_packages"), "arm64", *PACKAGES],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise BuildError(f"cannot fetch Debian's packages: {done.stderr.strip()}", EXIT_LACKS)
    return [Path(line) for line in done.stdout.splitlines()]


def _is_recent(stamp: Path) -> bool:
    """Whether all is there, from these sources, and apt was asked for new packages today."""
    if not stamp.is_file() or time.time() - stamp.stat().st_mtime > ASK_AGAIN_S:
        return False
    return stamp.read_text().startswith(_key([])) and all(path.is_file() for path in RESULTS)


def _key(packages: list[Path]) -> str:
    """What the results depend on."""
    digest = hashlib.sha256()
    for source in (INIT, Path(__file__)):
        digest.update(source.read_bytes())
    return "\n".join([digest.hexdigest(), *(package.name for package in packages)])


def _need_tools() -> None:
    for name, package in NEEDED.items():
        if shutil.which(name) is None:
            raise _lacks(name, package)
    # A file that the compiler does not find it names as it was asked.
    asked = [COMPILER, f"-print-file-name={LIBC}"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if found == LIBC:
        raise _lacks(f"{LIBC} for arm64", LIBC_PACKAGE)


def _lacks(name: str, package: str) -> BuildError:
    install = f"sudo apt-get install -y --no-install-recommends {package}"
    return BuildError(f"{name}: not found; install it with: {install}", EXIT_LACKS)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{command[0]} failed: {done.stderr.strip()}")


if __name__ == "__main__":
    sys.exit(main())
