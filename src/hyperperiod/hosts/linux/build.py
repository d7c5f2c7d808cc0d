# SPDX-License-Identifier: BSD-2-Clause
"""Builds what a run on Linux boots: `hyperperiod linux build`.

The kernel is Debian's of its testing suite, unmodified, since that of the stable one has no
sched_ext; others are there by name (KERNELS), for the same programs, or for these compiled for
another processor. With it come a shell and the static libraries that the programs are linked with,
so that these run on any Linux. All packages are only unpacked: nothing is installed. Of our sources
come the BPF programs, hyperperiodd, hyperperiodctl, `tasks`, which runs a domain's tasks as
threads, `supervise`, which starts and ends a command, `events`, which does to a run what is done to
it from outside, and `snapshot`, from which on a machine is another one each time. A wheel brings
them compiled, for x86-64 (PREBUILT); then neither compilers nor libraries are needed.

The results are vmlinuz and initramfs.cpio in linux/ of the job's folder, linux-arm64/ for those of
that processor; they are made anew when a package or a source changed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from hyperperiod.hosts import debian
from hyperperiod.hosts.build_job import (
    BuildError,
    BuildJob,
    compiler_for,
    digest_of,
    need,
    prefix_for,
    run_logged,
    step,
    tail_of,
    version_of,
)
from hyperperiod.hosts.cpio import archive
from hyperperiod.hosts.rings import GUEST_RING_OFFSET
from hyperperiod.model import MissingError
from hyperperiod.resources import PREBUILT, SOURCES, build_folder


class Kernel(NamedTuple):
    """A kernel that can be booted: Debian's package, with `*` for the newest, its suite, and which
    processor it is for, by Debian's name."""

    package: str
    suite: str = debian.BACKPORTS
    architecture: str = "amd64"


KERNELS = {
    **{
        name: Kernel(f"linux-image-{name}.*-cloud-amd64")
        for name in ("6.16", "6.17", "6.18", "6.19", "7.0")
    },
    "7.2": Kernel("linux-image-cloud-amd64", debian.TESTING),
    "7.3": Kernel("linux-image-7.3.*-cloud-amd64"),
    "rt": Kernel("linux-image-rt-amd64", debian.TESTING),
    "arm64": Kernel("linux-image-cloud-arm64", debian.TESTING, "arm64"),
}
"""By the name that chooses one. They have all drivers built in that a machine needs. Debian's 7.1
takes no scheduler at all: what it says of its functions has no scx_bpf_create_dsq for programs."""
KERNEL = "7.2"
"""The one that is booted unless another is named."""
FIRST = {"amd64": KERNEL, "arm64": "arm64"}
"""By processor, the kernel that is built together with the programs for it."""
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
SYSROOT = (
    "linux-bpf-dev", "libbpf-dev", "libelf-dev", "zlib1g-dev", "libzstd-dev", "libc6-dev",
    "linux-libc-dev",
)  # fmt: skip
SHELL = "busybox-static"
BUSYBOX = "usr/bin/busybox"
MULTIARCH = f"{MACHINES['amd64']}-linux-gnu"

TASKS = tuple(
    SOURCES / "guests" / name
    for name in (
        *("linux/process.c", "linux/threads.c", "linux/hops.c", "linux/words.c"),
        "executive/arguments.c",
    )
)
FLAGS = (
    *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"),
    *("-static", "-pthread", f"-I{SOURCES}", f"-DRING_OFFSET={GUEST_RING_OFFSET:#x}"),
)
EVENTS = (SOURCES / "guests" / "linux" / "events.c",)
SUPERVISE = (SOURCES / "guests" / "linux" / "supervise.c",)
SNAPSHOT = (SOURCES / "guests" / "linux" / "snapshot.c",)
OF_SERVICES = (SOURCES / "guests" / "services" / "clients.c",)
OURS = (*TASKS, *EVENTS, *SUPERVISE, *SNAPSHOT, *OF_SERVICES)
PROGRAMS = ("hyperperiodd", "hyperperiodctl", "tasks", "events", "supervise", "snapshot")
CLIENTS = "clients"
"""A program that only machines with services have."""
OBJECT = "hyperperiod.bpf.o"
FOLDERS = ("dev", "proc", "sys", "run", "tmp", "bin")

COMPILERS = {"gcc": "gcc libc6-dev", "clang-19": "clang-19", "make": "make"}
COMPILER = {"amd64": "gcc", "arm64": f"{prefix_for('arm64')}gcc"}
UNPACKER = {"dpkg-deb": "dpkg"}
LOG = "make.log"
SHOWN_ON_FAILURE = 25
ASK_AGAIN_S = 24 * 3600


@dataclass(frozen=True)
class Images:
    """What is booted."""

    kernel: Path
    files: Path
    """The initial file system, to which a run adds its own."""
    layers: tuple[Path, ...] = ()
    """More archives of files, each above the one before."""
    architecture: str = "amd64"
    """Which processor they are for, by Debian's name."""

    def with_layer(self, layer: Path) -> Images:
        """The same with one more archive of files."""
        return replace(self, layers=(*self.layers, layer))

    @property
    def all(self) -> Sequence[Path]:
        """The kernel, and the archives of files in their order."""
        return (self.kernel, self.files, *self.layers)

    @property
    def busybox(self) -> Path:
        """The shell and small programs that are in the initial file system."""
        return self.folder / "root" / BUSYBOX

    @property
    def folder(self) -> Path:
        """Where these and the programs were built."""
        return self.kernel.parent


def need_tools(architecture: str = "amd64") -> None:
    """Raises MissingError if this machine cannot build what a run on Linux boots."""
    tools = UNPACKER
    if not _is_prebuilt(architecture):
        tools |= COMPILERS | (compiler_for("arm64") if architecture == "arm64" else {})
    need(tools, "build the Linux host")
    debian.need_apt("fetch the Linux host's kernel")


def _is_prebuilt(architecture: str) -> bool:
    """Whether the programs for a processor came with the package, compiled."""
    return architecture == "amd64" and PREBUILT.is_file()


def programs_folder() -> Path:
    """The folder of the programs, whether or not a kernel was built as well.

    MissingError if they are not built and did not come with the package.
    """
    folder = build_folder() / "linux"
    if not (folder / OBJECT).is_file():
        if not PREBUILT.is_file():
            raise _not_built(folder / OBJECT)
        _unpack_programs(folder)
    return folder


def images(kernel: str = KERNEL) -> Images:
    """What was built, with the kernel of that name; MissingError where it is not."""
    found = images_in(build_folder() / _folder(KERNELS[kernel].architecture), kernel)
    for path in (found.kernel, found.files):
        if not path.is_file():
            raise _not_built(path, "" if kernel == KERNEL else f" --kernel {kernel}")
    return found


def images_in(folder: Path, kernel: str) -> Images:
    """What was built in a folder, or will be, with the kernel of that name."""
    architecture = KERNELS[kernel].architecture
    image, files = folder / image_of(kernel), folder / "initramfs.cpio"
    return Images(image, files, architecture=architecture)


def _folder(architecture: str) -> str:
    """The name of the folder of what is for a processor."""
    return "linux" if architecture == "amd64" else f"linux-{architecture}"


def _not_built(path: Path, which: str = "") -> MissingError:
    return MissingError(
        f"the Linux that runs are made on is not built yet: there is no {path}",
        f"hyperperiod linux build{which}",
    )


def image_of(kernel: str) -> str:
    """The file name of the image of a kernel."""
    return "vmlinuz" if kernel in FIRST.values() else f"vmlinuz-{kernel}"


def build(job: BuildJob, kernel: str = KERNEL) -> Path:
    """Kernel and initial file system, unless they are up to date; the folder of the two.

    With the name of another kernel also that one's image.
    """
    architecture = KERNELS[kernel].architecture
    need_tools(architecture)
    job.root.mkdir(parents=True, exist_ok=True)
    with (job.root / ".linux-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        out = _build(job, architecture)
        if kernel != FIRST[architecture]:
            _add_kernel(job, out, kernel)
        return out


def _add_kernel(job: BuildJob, out: Path, kernel: str) -> None:
    """Makes the image of a kernel of another name, unless it is up to date."""
    image, stamp = out / image_of(kernel), out / f".stamp-{kernel}"
    if is_recent(stamp, "", [image]):
        return
    package, suite, architecture = KERNELS[kernel]
    found = debian.packages(job.downloads.absolute(), architecture, (package,), suite)
    if not image.is_file() or not stamp.is_file() or stamp.read_text() != found[0].name:
        stamp.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=job.root) as folder:
            subprocess.run(["dpkg-deb", "-x", found[0], folder], check=True)
            shutil.copyfile(_kernel(Path(folder)), image)
    stamp.write_text(found[0].name)


def _build(job: BuildJob, architecture: str) -> Path:
    out = job.root / _folder(architecture)
    stamp = out / ".stamp"
    prebuilt = _is_prebuilt(architecture)
    if is_recent(stamp, _key([], architecture), [out / "vmlinuz", out / "initramfs.cpio"]):
        return out
    packages = debian.packages(
        job.downloads.absolute(),
        architecture,
        (KERNELS[FIRST[architecture]].package, SHELL, *(() if prebuilt else SYSROOT)),
        debian.TESTING,
    )
    key = _key(packages, architecture)
    if stamp.is_file() and stamp.read_text() == key:
        stamp.touch()
        return out
    stamp.unlink(missing_ok=True)
    root = unpacked(out, packages)
    (out / LOG).unlink(missing_ok=True)
    with step("the Linux host's programs"):
        if prebuilt:
            _unpack_programs(out)
        else:
            _compile(out, root, architecture)
    shutil.copyfile(_kernel(root), out / "vmlinuz")
    (out / "initramfs.cpio").write_bytes(archive(_contents(out, root)))
    stamp.write_text(key)
    return out


def unpacked(out: Path, packages: Sequence[Path]) -> Path:
    """The folder `root` in `out` with what is in the packages."""
    root, record = out / "root", out / ".unpacked"
    names = "\n".join(package.name for package in packages)
    if record.is_file() and record.read_text() == names:
        return root
    record.unlink(missing_ok=True)
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    with step(f"unpacking packages of Debian {debian.TESTING}"):
        for link in ("lib", "lib64", "bin", "sbin"):
            (root / "usr" / link).mkdir(parents=True)
            (root / link).symlink_to(f"usr/{link}")
        for package in packages:
            subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    record.write_text(names)
    return root


def _unpack_programs(out: Path) -> None:
    """Puts the programs and the BPF object that came with the package into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(PREBUILT) as archived:
        for member in archived:
            content = archived.extractfile(member)
            assert content is not None
            path = out / member.name
            path.unlink(missing_ok=True)
            path.write_bytes(content.read())
            path.chmod(member.mode)


def prebuilt(out: Path, file: Path) -> None:
    """Makes the archive of what was compiled in `out`, without what only debuggers read.

    The same programs make the same bytes.
    """
    with tarfile.open(file, "w:xz") as archived, tempfile.TemporaryDirectory() as folder:
        for name in (*PROGRAMS, CLIENTS, OBJECT):
            stripped = Path(folder) / name
            strip = ["llvm-strip-19", "--strip-debug"] if name == OBJECT else ["strip"]
            subprocess.run([*strip, "-o", stripped, out / name], check=True)
            member = tarfile.TarInfo(name)
            member.size, member.mode = stripped.stat().st_size, 0o755
            with stripped.open("rb") as content:
                archived.addfile(member, content)


def _compile(out: Path, root: Path, architecture: str) -> None:
    """Makes the programs and the BPF object in `out`, against the libraries in `root`."""
    compiler, machine = COMPILER[architecture], MACHINES[architecture]
    make = ["make", "--always-make", f"-j{os.cpu_count()}", "-C", str(SOURCES)]
    _run(
        out,
        [*make, "-f", "hosts/linux/Makefile", f"OUT={out}", f"HEADERS={root}", f"ARCH={machine}"],
    )
    daemon = [f"OUT={out}", f"SYSROOT={root}", f"CC={compiler}", str(out / PROGRAMS[0])]
    _run(out, [*make, "-f", "hosts/linux/daemon/Makefile", *daemon, str(out / PROGRAMS[1])])
    multiarch = f"{machine}-linux-gnu"
    libraries = root / "usr" / "lib" / multiarch
    sysroot = [f"--sysroot={root}", f"-B{libraries}", f"-L{libraries}"]
    include = root / "usr" / "include"
    # A compiler for another processor looks into folders of its own first.
    headers = [f"-isystem{include / multiarch}", f"-isystem{include}"]
    gcc = [compiler, *FLAGS, *sysroot, *headers]
    names = (*PROGRAMS[2:], CLIENTS)
    sources = (TASKS, EVENTS, SUPERVISE, SNAPSHOT, OF_SERVICES)
    for name, each in zip(names, sources, strict=True):
        _run(out, [*gcc, "-o", str(out / name), *map(str, each)])


def _run(out: Path, command: Sequence[str]) -> None:
    log = out / LOG
    if run_logged(command, log) != 0:
        shown = tail_of(log, SHOWN_ON_FAILURE)
        raise BuildError(f"{command[0]} failed:\n{shown}\nall of it: {log}")


def _kernel(root: Path) -> Path:
    kernels = sorted(root.glob("usr/lib/modules/*/vmlinuz")) + sorted(root.glob("boot/vmlinuz-*"))
    if not kernels:
        raise BuildError("Debian's packages have no kernel")
    return kernels[-1]


def _contents(out: Path, root: Path) -> dict[str, bytes | None]:
    """The initial file system: the shell and our programs."""
    contents: dict[str, bytes | None] = dict.fromkeys(FOLDERS)
    contents["bin/busybox"] = (root / BUSYBOX).read_bytes()
    for name in (*PROGRAMS, OBJECT):
        contents[f"bin/{name}"] = (out / name).read_bytes()
    return contents


def is_recent(stamp: Path, sources: str, results: Sequence[Path]) -> bool:
    """Whether results are there, from these sources, and apt was asked for new packages today."""
    if not stamp.is_file() or time.time() - stamp.stat().st_mtime > ASK_AGAIN_S:
        return False
    return stamp.read_text().startswith(sources) and all(path.is_file() for path in results)


def _key(packages: Sequence[Path], architecture: str) -> str:
    """All that the built files depend on, as a text: it changes when one of these does."""
    patterns = (
        *("core/**/*.h", "record/*.h", "words/*.h"),
        *("hosts/linux/**/*.[ch]", "hosts/linux/**/Makefile"),
    )
    sources = [path for pattern in patterns for path in sorted(SOURCES.glob(pattern))]
    headers = sorted((SOURCES / "guests").glob("*/*.h"))
    if _is_prebuilt(architecture):
        digest = digest_of([], (PREBUILT, Path(__file__)))
    else:
        compiler = COMPILER[architecture]
        digest = digest_of([version_of(compiler)], (*sources, *headers, *OURS, Path(__file__)))
    return "\n".join([digest, *(package.name for package in packages)])
