# SPDX-License-Identifier: BSD-2-Clause
"""Builds Xen with the scheduler, and without as its peer.

The result is xen/FLAVOUR/xen in the job's folder. Xen's source is Debian's, or a copy of a tree
that the user names; it lies in xen/source, and with our series of patches applied in
xen/source-hyperperiod. Each flavour has a folder of objects that is kept: when only our files
changed, only they are compiled. When nothing changed, nothing is done at all.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hyperperiod.hosts import debian
from hyperperiod.hosts.build_job import (
    CROSS,
    BuildError,
    BuildJob,
    compiler_for,
    digest_of,
    need,
    prefix_for,
    run_logged,
    step,
    version_of,
)
from hyperperiod.hosts.xen.build import patches, source
from hyperperiod.model.errors import InputError
from hyperperiod.resources import SOURCES

CONFIG = SOURCES / "hosts" / "xen" / "config"

# In a flavour's folder: what Xen's make said, and a digest of what the hypervisor was made of.
LOG = "make.log"
STAMP = ".stamp"

# Beside the source: a name for just that source.
RECORD = ".source"

# Where a failed make says why, and how many lines from there are worth seeing.
FAILURE = re.compile(r"\berror: |undefined reference| Error \d").search
SHOWN_ON_FAILURE = 25

# About how many lines Xen's make prints in a build from nothing.
LINES = {"arm64": 370, "x86_64": 740}

# What Xen prints about its build is the same whoever builds it, and so is the binary.
ANONYMOUS = {
    "XEN_BUILD_DATE": "",
    "XEN_BUILD_TIME": "",
    "XEN_BUILD_HOST": "hyperperiod",
    "XEN_WHOAMI": "hyperperiod",
    "XEN_DOMAIN": "",
}


@dataclass(frozen=True)
class Flavour:
    """One hypervisor: its architecture and the parts of its configuration, in hosts/xen/config.

    One with a policy `alone` has the rules of that one on each pcpu, no others and no changes.
    """

    name: str
    arch: str
    parts: tuple[str, ...]
    alone: str = ""

    @property
    def ours(self) -> bool:
        """Whether the scheduler is built into this hypervisor."""
        return "hyperperiod" in self.parts

    def folder(self, job: BuildJob) -> Path:
        """The folder of this hypervisor's objects and result."""
        return job.xen / self.name

    def tree(self, job: BuildJob) -> Path:
        """The folder of the source that this hypervisor is built from."""
        return patched(job) if self.ours else plain(job)


# What tests run has assertions, and on x86 nothing that they cannot boot.
DEBUG = {"arm64": ("debug",), "x86_64": ("debug", "paravirtual")}

FLAVOURS = {
    flavour.name: flavour
    for arch in CROSS
    for flavour in (
        Flavour(arch, arch, ("common", arch, "hyperperiod")),
        Flavour(f"{arch}-debug", arch, ("common", arch, "hyperperiod", *DEBUG[arch])),
        Flavour(f"{arch}-ptps", arch, ("common", arch, "hyperperiod"), "ptps"),
        Flavour(f"{arch}-stock", arch, ("common", arch)),
    )
}


def plain(job: BuildJob) -> Path:
    """The folder of Xen's source as it is."""
    return job.xen / "source"


def patched(job: BuildJob) -> Path:
    """The folder of Xen's source with the series applied."""
    return job.xen / "source-hyperperiod"


def need_tools(flavour: Flavour) -> None:
    """Raises MissingError if the machine cannot build the flavour."""
    tools = {"make": "make", "bison": "bison", "flex": "flex", "xz": "xz-utils"}
    if flavour.ours:
        tools["git"] = "git"
    need(compiler_for(flavour.arch) | tools, f"build Xen for {flavour.arch}")


def need_plain_path(root: Path) -> None:
    """Raises InputError if Xen's makefiles cannot work in the folder."""
    if re.search(r"[\s:]", str(root)):
        allowed = "a folder without blanks and colons in its path, which Xen's makefiles want"
        raise InputError("", None, "--into", repr(str(root)), allowed)


def build(flavour: Flavour, job: BuildJob) -> Path:
    """Makes the flavour's hypervisor, unless it is there and nothing that is in it changed."""
    folder = flavour.folder(job)
    image, stamp = folder / "xen", folder / STAMP
    origin = get_source(job)
    if is_current(flavour, job):
        return image
    key = stamp_of(flavour, origin, source.version_of(plain(job)))
    stamp.unlink(missing_ok=True)
    (folder / LOG).unlink(missing_ok=True)
    if flavour.ours:
        with step("patches for Xen's source"):
            texts = patches.patched_files(plain(job), source.version_of(plain(job)))
            source.mirror(plain(job), patched(job), keep=set(texts))
            source.write(texts, patched(job))
    configure(flavour, job)
    title = f"Xen for {flavour.name}"
    with step(title), job.watch(title, LINES[flavour.arch]) as progress:
        run_make(flavour, job, f"-j{os.cpu_count()}", progress=progress)
    stamp.write_text(key)
    return image


def is_current(flavour: Flavour, job: BuildJob) -> bool:
    """Whether the hypervisor is there, made of our files, Xen's source and compiler as they are."""
    folder, record = flavour.folder(job), job.xen / RECORD
    stamp = folder / STAMP
    if not ((folder / "xen").is_file() and stamp.is_file() and record.is_file()):
        return False
    need(compiler_for(flavour.arch), f"tell what {folder / 'xen'} was built from")
    key = stamp_of(flavour, record.read_text(), source.version_of(plain(job)))
    return stamp.read_text() == key


def get_source(job: BuildJob) -> str:
    """Makes sure that xen/source is the source asked for; a name for just that source."""
    job.xen.mkdir(parents=True, exist_ok=True)
    job.downloads.mkdir(parents=True, exist_ok=True)
    record = job.xen / RECORD
    own = job.own_source
    if own is not None:
        source.check_tree(own, "--xen-source")
        origin = f"{own} {source.signature(own)}"
    else:
        origin = debian_source(job)
    if record.is_file() and record.read_text() == origin and plain(job).is_dir():
        return origin
    record.unlink(missing_ok=True)
    if own is not None:
        with step(f"copy of {own}"):
            source.mirror(own, plain(job), keep=set())
    else:
        unpacked = job.xen / "unpacked"
        with step(f"unpacking {origin}"):
            source.unpack(job.downloads / origin, unpacked)
            source.check_tree(unpacked, origin)
            source.mirror(unpacked, plain(job), keep=set())
            shutil.rmtree(unpacked)
    record.write_text(origin)
    return origin


def debian_source(job: BuildJob) -> str:
    """The file name of Debian's tarball, which is fetched if it is not there yet."""
    fetched = source.fetched(job.downloads)
    if fetched is None:
        with step(f"Xen's source from Debian {debian.SUITE}"):
            fetched = source.fetch(job.downloads)
    return fetched.name


def stamp_of(flavour: Flavour, origin: str, release: str) -> str:
    """Changes when anything does that the hypervisor depends on."""
    ours = patches.series(release) if flavour.ours else []
    texts = [patch.diff for patch in ours if any(place.parts[0] == "xen" for place in patch.files)]
    return digest_of([origin, requested(flavour), *texts], [Path(__file__)])


def requested(flavour: Flavour) -> str:
    """The options that the flavour asks for, and the compiler that sees them."""
    compiler = version_of(f"{prefix_for(flavour.arch)}gcc")
    parts = "".join((CONFIG / part).read_text() for part in flavour.parts)
    left_out: set[str] = set()
    if flavour.alone:
        left_out = patches.left_out_for(flavour.alone) | {patches.CHANGES}
    without = "".join(f"CONFIG_{option}=n\n" for option in sorted(left_out))
    return f"# {compiler}\n{parts}{without}"


def configure(flavour: Flavour, job: BuildJob) -> None:
    """Writes the flavour's configuration, if it is not the one that the objects were made with."""
    folder = flavour.folder(job)
    record = folder / ".requested"
    wanted = requested(flavour)
    if record.is_file() and record.read_text() == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with step(f"configuration of {flavour.name}"):
        run_make(flavour, job, "defconfig")
        config = folder / ".config"
        config.write_text(config.read_text() + wanted)
        run_make(flavour, job, "olddefconfig")
        chosen = set(config.read_text().splitlines())
        for line in wanted.splitlines():
            name, _, value = line.partition("=")
            taken = f"{name}=y" not in chosen if value == "n" else line in chosen
            if value and not line.startswith("#") and not taken:
                raise BuildError(
                    f"{flavour.tree(job)}: Xen's configuration does not take {line}", 2
                )
    record.write_text(wanted)


def python() -> str:
    """The interpreter for Xen's scripts: the same one, whoever asks, or all would be made anew."""
    return shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable


def run_make(
    flavour: Flavour,
    job: BuildJob,
    *arguments: str,
    progress: Callable[[int], None] = lambda _lines: None,
) -> None:
    """One run of Xen's make into the flavour's folder; what it says goes to make.log there."""
    folder = flavour.folder(job)
    command = [
        "make", "-C", str(flavour.tree(job) / "xen"), f"O={folder}",
        f"XEN_TARGET_ARCH={flavour.arch}", f"CROSS_COMPILE={prefix_for(flavour.arch)}",
        f"PYTHON={python()}", *arguments,
    ]  # fmt: skip
    log = folder / LOG
    if run_logged(command, log, progress, ANONYMOUS) != 0:
        lines = log.read_text(errors="replace").splitlines()
        first = next((number for number, line in enumerate(lines) if FAILURE(line)), 0)
        shown = "\n".join(lines[max(first - 1, 0) : first + SHOWN_ON_FAILURE])
        raise BuildError(f"Xen for {flavour.name} failed:\n{shown}\nall of it: {log}")
