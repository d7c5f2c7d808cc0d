# SPDX-License-Identifier: BSD-2-Clause
"""Builds xl, its libraries and xenalyze of the series of patches, for a dom0 like this machine.

The result is the folder xl in the job's folder: `LD_LIBRARY_PATH=xl xl/xl sched-hyperperiod`. Its
libraries are named as Xen names them; Debian's of the same release have other names, so both can
be on one machine. Xen's makefiles for tools build inside their tree: it is a copy, made anew
when the source or the series changes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from hyperperiod.hosts.build_job import (
    BuildError,
    BuildJob,
    digest_of,
    need,
    need_headers,
    run_logged,
    step,
    tail_of,
    version_of,
)
from hyperperiod.hosts.xen.build import hypervisor, patches, source

LOG = "make.log"
SHOWN_ON_FAILURE = 25

# About how many lines configure and make print.
LINES = 1650

TOOLS = {
    "gcc": "gcc", "make": "make", "git": "git", "bison": "bison", "flex": "flex", "xz": "xz-utils",
    "iasl": "acpica-tools", "pkg-config": "pkg-config", "python3": "python3", "perl": "perl",
}  # fmt: skip
HEADERS = {
    "yajl/yajl_gen.h": "libyajl-dev",
    "uuid/uuid.h": "uuid-dev",
    "curses.h": "libncurses-dev",
    "zlib.h": "zlib1g-dev",
}

# Xen's configure looks for everything that a whole toolstack may have; this is only xl. Kernels
# compressed by bzip2, lzma or lzo are not unpacked, whatever libraries this machine has for them.
CONFIGURE = (
    "--disable-golang", "--disable-ocamltools", "--disable-pvshim", "--disable-xsmpolicy",
    "--disable-seabios", "--disable-rombios", "--disable-ovmf", "--disable-ipxe",
    "--disable-monitors", "--disable-pygrub", "--disable-9pfs",
    "--with-system-qemu=/usr/bin/qemu-system-i386",
    "ac_cv_header_bzlib_h=no", "ac_cv_header_lzma_h=no", "ac_cv_header_lzo_lzo1x_h=no",
)  # fmt: skip
FOLDERS = (("include", "all"), ("libs", "all"), ("xl", "all"), ("xentrace", "xenalyze"))


def need_tools() -> None:
    """Raises MissingError if the machine cannot build the toolstack."""
    purpose = "build xl"
    need(TOOLS, purpose)
    need_headers(HEADERS, purpose)


def build(job: BuildJob) -> Path:
    """Makes `xl` with its libraries and `xenalyze`, unless they are those of this series."""
    out = job.root / "xl"
    result, stamp = out / "xl", out / ".stamp"
    origin = hypervisor.get_source(job)
    plain = hypervisor.plain(job)
    patched = patches.patched_files(plain, source.version_of(plain))
    seen = [f"{place}\n{text}" for place, text in sorted(patched.items()) if _is_seen(place)]
    key = digest_of([origin, version_of("gcc"), *seen], [Path(__file__)])
    if result.is_file() and stamp.is_file() and stamp.read_text() == key:
        return result
    shutil.rmtree(out, ignore_errors=True)
    tree = out / "source"
    with step("patches for Xen's source"):
        source.mirror(plain, tree, keep=set())
        source.write(patched, tree)
    title = "xl"
    with step(title), job.watch(title, LINES) as progress:
        _run(out, tree / "tools", ["./configure", *CONFIGURE], progress)
        for folder, target in FOLDERS:
            command = ["make", f"-j{os.cpu_count()}", "-C", folder, target]
            _run(out, tree / "tools", command, progress)
    for built in (tree / "tools/xl/xl", tree / "tools/xentrace/xenalyze"):
        shutil.copy(built, out / built.name)
    # The names that programs ask for are links in the tree; here they are files.
    for library in tree.glob("tools/libs/*/lib*.so.*"):
        if library.is_symlink():
            shutil.copy(library, out / library.name)
    stamp.write_text(key)
    return result


def _is_seen(place: Path) -> bool:
    """Whether the tools are built from this file of Xen's tree."""
    return place.parts[0] == "tools" or place.is_relative_to("xen/include/public")


def _run(out: Path, tools: Path, command: Sequence[str], progress: Callable[[int], None]) -> None:
    """Runs a command in the tools' folder; what it says goes to make.log in `out`."""
    log = out / LOG
    if run_logged(["env", "-C", str(tools), *command], log, progress) != 0:
        shown = tail_of(log, SHOWN_ON_FAILURE)
        raise BuildError(f"{' '.join(command[:5])}: failed:\n{shown}\nall of it: {log}")
