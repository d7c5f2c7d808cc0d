# SPDX-License-Identifier: BSD-2-Clause
"""Builds the programs beside Xen: what runs a domain's tasks and what sets parameters, the plugins
of QEMU that keep pcpus in step and count instructions, and `hyperperiod-xen` for dom0.

Their makefiles take sources from where they lie, which may be read-only, and write into the
job's folder. A stamp there holds a digest of the sources and the compiler; the times of files are
not enough, since the files of an installed package are as old as it is.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hyperperiod.hosts import debian
from hyperperiod.hosts.build_job import (
    MACHINES,
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
from hyperperiod.resources import SOURCES

LOG = "make.log"
STAMP = ".stamp"
SHOWN_ON_FAILURE = 25

DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
MACHINE_OF = {arch: machine for machine, arch in MACHINES.items()}
TOOLSTACK_PACKAGES = (
    "libxen-dev", "libxencall1", "libxenstore4", "libxentoolcore1", "libxentoollog1",
)  # fmt: skip


def need_for_executive() -> None:
    """Raises MissingError if this machine cannot build the guests' executive."""
    need(compiler_for("arm64") | {"make": "make"}, "build guests for arm64")


def build_executive(job: BuildJob) -> Path:
    """The bare-metal program that runs a domain's tasks, for arm64; beside it the one that sets the
    parameters of domains."""
    prefix = prefix_for("arm64")
    out = job.root / "guests"
    make = ["-C", str(SOURCES / "guests"), f"OUT={out}", f"CROSS_COMPILE={prefix}"]
    return _made(out, out / "executive.bin", _executive_key(), make, "the guests' executive")


def executive_is_current(job: BuildJob) -> bool:
    """Whether that program is there, made of the sources and the compiler as they are."""
    need(compiler_for("arm64"), "tell what the guests' executive was built from")
    out = job.root / "guests"
    return _is_made(out, out / "executive.bin", _executive_key())


def _executive_key() -> str:
    """Changes when anything does that the executive is made of."""
    return digest_of(
        [version_of(f"{prefix_for('arm64')}gcc")],
        _files(
            *("guests/Makefile", "guests/board/*", "guests/executive/*", "guests/control/*"),
            *("core/*.h", "record/*.h", "words/*.h"),
        ),
    )


def need_for_plugin() -> None:
    """Raises MissingError if this machine cannot build a plugin of its QEMU."""
    need({"gcc": "gcc", "make": "make"}, "build a plugin of QEMU")


def build_lockstep(job: BuildJob) -> Path:
    """What keeps the pcpus of a machine in step."""
    return _plugin(job, "lockstep", "what keeps pcpus in step")


def build_handlers(job: BuildJob) -> Path:
    """What counts the instructions of the scheduler's handlers."""
    return _plugin(job, "handlers", "what counts the scheduler's instructions")


def _plugin(job: BuildJob, name: str, what: str) -> Path:
    """A plugin of this machine's QEMU, from the folder of its name."""
    out = job.root / name
    key = digest_of([version_of("gcc")], _files(f"hosts/xen/{name}/*"))
    make = ["-C", str(SOURCES), "-f", f"hosts/xen/{name}/Makefile", f"OUT={out}", "CC=gcc"]
    return _made(out, out / f"{name}.so", key, make, what)


def need_for_tools(arch: str | None = None) -> None:
    """Raises MissingError if this machine cannot build the tool for dom0, here or on `arch`."""
    compiler = compiler_for(arch) if arch else {"gcc": "gcc"}
    need(compiler | {"make": "make", "dpkg-deb": "dpkg"}, "build hyperperiod-xen")
    debian.need_apt("fetch the toolstack's headers")


def build_tools(job: BuildJob, arch: str | None = None) -> Path:
    """`hyperperiod-xen`, against the libxencall of Xen 4.20 that Debian trixie has.

    For a dom0 of this machine's architecture, or for another of Xen's.
    """
    toolstack = unpack_toolstack(job, arch)
    out = job.root / _folder("xen-control", arch)
    compiler = f"{prefix_for(arch) if arch else ''}gcc"
    files = _files("hosts/xen/control/*", "hosts/xen/*.h", "record/*.h", "core/**/*.h", "words/*.h")
    key = digest_of([version_of(compiler), *TOOLSTACK_PACKAGES], files)
    make = ["-C", str(SOURCES), "-f", "hosts/xen/control/Makefile"]
    make += [f"OUT={out}", f"TOOLSTACK={toolstack}", f"CC={compiler}"]
    return _made(out, out / "hyperperiod-xen", key, make, "hyperperiod-xen")


def _folder(name: str, arch: str | None) -> str:
    return f"{name}-{arch}" if arch else name


def unpack_toolstack(job: BuildJob, arch: str | None = None) -> Path:
    """Headers and libraries of Xen's toolstack, unpacked from Debian's packages."""
    folder = job.root / _folder("xen-toolstack", arch)
    stamp = folder / ".unpacked"
    key = " ".join(TOOLSTACK_PACKAGES)
    if not stamp.is_file() or stamp.read_text() != key:
        with step("headers of Xen's toolstack from Debian"):
            shutil.rmtree(folder, ignore_errors=True)
            machine = MACHINE_OF[arch] if arch else platform.machine()
            architecture = DEBIAN_NAMES.get(machine, "amd64")
            for package in debian.packages(job.downloads, architecture, TOOLSTACK_PACKAGES):
                subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
            stamp.write_text(key)
    return folder


def _files(*patterns: str) -> list[Path]:
    """The files of SOURCES that match one of the patterns, in order."""
    return [path for pattern in patterns for path in sorted(SOURCES.glob(pattern))]


def _is_made(out: Path, result: Path, key: str) -> bool:
    """Whether `result` is there and made with this key."""
    stamp = out / STAMP
    return result.is_file() and stamp.is_file() and stamp.read_text() == key


def _made(out: Path, result: Path, key: str, arguments: Sequence[str], name: str) -> Path:
    """Runs make for `result`, unless it is there and made with this key."""
    stamp = out / STAMP
    if _is_made(out, result, key):
        return result
    out.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    log = out / LOG
    log.unlink(missing_ok=True)
    with step(name):
        # Everything anew: which of the objects are of these sources, times do not say.
        command = ["make", "--always-make", f"-j{os.cpu_count()}", "--no-print-directory"]
        if run_logged([*command, *arguments], log) != 0:
            raise BuildError(f"{name}: failed:\n{tail_of(log, SHOWN_ON_FAILURE)}\nall of it: {log}")
    stamp.write_text(key)
    return result
