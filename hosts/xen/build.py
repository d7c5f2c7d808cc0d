# SPDX-License-Identifier: BSD-2-Clause
"""Builds Xen with the scheduler, and without as its peer: `python3 -m hosts.xen.build FLAVOUR...`

The result is build/xen/FLAVOUR/xen. Xen's source is Debian's, or a copy of the folder that the
environment names as XEN_SRC; it lies in build/xen/source, and with the scheduler added in
build/xen/source-hyperperiod. Each flavour has a folder of objects that is kept: when only our
files changed, only they are compiled. When nothing changed, nothing is done at all.

Of any number of these at once, one works and the others wait for it.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hosts.xen import hooks, source
from hosts.xen.source import BuildError

TOP = Path(__file__).parents[2]
CONFIG = TOP / "hosts" / "xen" / "config"
BUILD = TOP / "build" / "xen"
DOWNLOADS = TOP / "build" / "downloads"

PLAIN = BUILD / "source"
HOOKED = BUILD / "source-hyperperiod"

# In a flavour's folder: what Xen's make said.
LOG = "make.log"

# Where a failed make says why, and how many lines from there are worth seeing.
FAILURE = re.compile(r"\berror: |undefined reference| Error \d").search
SHOWN_ON_FAILURE = 25

# A compiler's prefix for each of Xen's architectures, where the machine is another one.
CROSS = {"arm64": "aarch64-linux-gnu-", "x86_64": "x86_64-linux-gnu-"}
MACHINES = {"aarch64": "arm64", "x86_64": "x86_64"}

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
    """One hypervisor: its architecture and the parts of its configuration, in hosts/xen/config."""

    name: str
    arch: str
    parts: tuple[str, ...]

    @property
    def ours(self) -> bool:
        """Whether the scheduler is in it."""
        return "hyperperiod" in self.parts

    @property
    def folder(self) -> Path:
        """Where its objects and the result are."""
        return BUILD / self.name

    @property
    def image(self) -> Path:
        """The hypervisor."""
        return self.folder / "xen"

    @property
    def tree(self) -> Path:
        """The source that it is built from."""
        return HOOKED if self.ours else PLAIN

    @property
    def prefix(self) -> str:
        """What the names of its compiler and binary tools begin with."""
        return "" if MACHINES.get(platform.machine()) == self.arch else CROSS[self.arch]


FLAVOURS = {
    flavour.name: flavour
    for arch in CROSS
    for flavour in (
        Flavour(arch, arch, ("common", arch, "hyperperiod")),
        Flavour(f"{arch}-debug", arch, ("common", arch, "hyperperiod", "debug")),
        Flavour(f"{arch}-stock", arch, ("common", arch)),
    )
}


@contextmanager
def step(name: str) -> Iterator[None]:
    """Says what is being done, and when it is done how long it took."""
    print(f"== {name}", flush=True)
    start = time.monotonic()
    yield
    print(f"== {name}: done, {time.monotonic() - start:.1f} s", flush=True)


def main() -> int:
    """Builds what the command line names; 2 for bad input, 3 for a missing tool."""
    parser = argparse.ArgumentParser(prog="hosts.xen.build", description=__doc__.split("\n")[0])
    parser.add_argument(
        "flavours",
        nargs="+",
        choices=sorted(FLAVOURS),
        metavar="FLAVOUR",
        help=", ".join(sorted(FLAVOURS)),
    )
    wanted = parser.parse_args().flavours
    BUILD.mkdir(parents=True, exist_ok=True)
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    try:
        with (BUILD / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for name in wanted:
                build(FLAVOURS[name])
    except BuildError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.code
    except hooks.HookError as problem:
        print(f"error: {os.environ.get('XEN_SRC') or PLAIN}: {problem}", file=sys.stderr)
        return 2
    return 0


def build(flavour: Flavour) -> None:
    """Makes the flavour's hypervisor, unless it is there and nothing that is in it changed."""
    need_tools(flavour)
    origin = get_source()
    stamp = flavour.folder / ".stamp"
    key = stamp_of(flavour, origin)
    if flavour.image.is_file() and stamp.is_file() and stamp.read_text() == key:
        return
    stamp.unlink(missing_ok=True)
    (flavour.folder / LOG).unlink(missing_ok=True)
    if flavour.ours:
        with step("the scheduler in Xen's source"):
            hooked = {Path(hook.file) for hook in hooks.HOOKS}
            source.mirror(PLAIN, HOOKED, keep=hooked | set(hooks.our_files()))
            hooks.install(PLAIN, HOOKED)
    configure(flavour)
    with step(f"Xen for {flavour.name}"):
        run_make(flavour, f"-j{os.cpu_count()}")
    stamp.write_text(key)


def need_tools(flavour: Flavour) -> None:
    """Raises if the machine cannot build the flavour."""
    compilers = {"arm64": "gcc-aarch64-linux-gnu", "x86_64": "gcc-x86-64-linux-gnu"}
    source.need(
        {
            flavour.prefix + "gcc": compilers[flavour.arch] if flavour.prefix else "gcc",
            "make": "make",
            "bison": "bison",
            "flex": "flex",
        },
        f"build Xen for {flavour.arch}",
    )


def get_source() -> str:
    """Makes sure that build/xen/source is the source asked for; a name for just that source."""
    own = os.environ.get("XEN_SRC")
    record = BUILD / ".source"
    if own:
        tree = Path(own).resolve()
        source.check_tree(tree, "XEN_SRC")
        origin = f"{tree} {source.signature(tree)}"
    else:
        origin = debian_source()
    if record.is_file() and record.read_text() == origin and PLAIN.is_dir():
        return origin
    record.unlink(missing_ok=True)
    if own:
        with step(f"copy of {tree}"):
            source.mirror(tree, PLAIN, keep=set())
    else:
        with step(f"unpacking {origin}"):
            source.unpack(DOWNLOADS / origin, BUILD / "unpacked")
            source.check_tree(BUILD / "unpacked", origin)
            source.mirror(BUILD / "unpacked", PLAIN, keep=set())
            shutil.rmtree(BUILD / "unpacked")
    record.write_text(origin)
    return origin


def debian_source() -> str:
    """The file name of Debian's tarball, which is fetched if it is not there yet."""
    fetched = source.fetched(DOWNLOADS)
    if fetched is None:
        with step("Xen's source from Debian"):
            fetched = source.fetch(DOWNLOADS)
    return fetched.name


def stamp_of(flavour: Flavour, origin: str) -> str:
    """Changes when anything does that the hypervisor depends on."""
    digest = hashlib.sha256(f"{origin}\n{requested(flavour)}".encode())
    ours = hooks.our_files() if flavour.ours else {}
    texts = [f"{place}\n{text}" for place, text in sorted(ours.items())]
    texts += [Path(script).read_text() for script in (__file__, hooks.__file__)]
    for text in texts:
        digest.update(text.encode())
    return digest.hexdigest()


def requested(flavour: Flavour) -> str:
    """The options that the flavour asks for, and the compiler that sees them."""
    compiler = subprocess.run(
        [flavour.prefix + "gcc", "--version"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]
    parts = "".join((CONFIG / part).read_text() for part in flavour.parts)
    return f"# {compiler}\n{parts}"


def configure(flavour: Flavour) -> None:
    """Writes the flavour's configuration, if it is not the one that the objects were made with."""
    record = flavour.folder / ".requested"
    wanted = requested(flavour)
    if record.is_file() and record.read_text() == wanted:
        return
    shutil.rmtree(flavour.folder, ignore_errors=True)
    flavour.folder.mkdir(parents=True)
    with step(f"configuration of {flavour.name}"):
        run_make(flavour, "defconfig")
        config = flavour.folder / ".config"
        config.write_text(config.read_text() + wanted)
        run_make(flavour, "olddefconfig")
        chosen = set(config.read_text().splitlines())
        for line in wanted.splitlines():
            name, _, value = line.partition("=")
            taken = f"{name}=y" not in chosen if value == "n" else line in chosen
            if value and not line.startswith("#") and not taken:
                raise BuildError(f"{flavour.tree}: Xen's configuration does not take {line}", 2)
    record.write_text(wanted)


def python() -> str:
    """The interpreter for Xen's scripts: the same one, whoever asks, or all would be made anew."""
    return shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable


def run_make(flavour: Flavour, *arguments: str) -> None:
    """One run of Xen's make into the flavour's folder; what it says goes to make.log there."""
    command = [
        "make", "-C", str(flavour.tree / "xen"), f"O={flavour.folder}",
        f"XEN_TARGET_ARCH={flavour.arch}", f"CROSS_COMPILE={flavour.prefix}",
        f"PYTHON={python()}", *arguments,
    ]  # fmt: skip
    log = flavour.folder / LOG
    # Nothing of a make around this one, such as its job server, is for Xen's.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    with log.open("a") as output:
        done = subprocess.run(
            command,
            env=inherited | ANONYMOUS,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        lines = log.read_text(errors="replace").splitlines()
        first = next((number for number, line in enumerate(lines) if FAILURE(line)), 0)
        shown = "\n".join(lines[max(first - 1, 0) : first + SHOWN_ON_FAILURE])
        raise BuildError(f"Xen for {flavour.name} failed:\n{shown}\nall of it: {log}", 1)


if __name__ == "__main__":
    sys.exit(main())
