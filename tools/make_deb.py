#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds the package of hyperperiodd for Debian and Ubuntu into dist/, and says its name.

`hyperperiod linux build` has made the BPF object and unpacked libbpf, which is linked statically:
that of Debian 12 and 13 is too old for the programs. Everything else is linked against this
machine's libraries, and the package asks for a C library that is as new: it is built on the oldest
Debian that it should serve (`tools/bare_machine 'make deps build deb'`).

It has the architecture amd64. The BPF object of another one differs by __TARGET_ARCH alone; for
arm64 nothing was tried.
"""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from hyperperiod.hosts.build_job import need
from hyperperiod.hosts.linux.build import MULTIARCH, OBJECT, images
from hyperperiod.model import MissingError
from hyperperiod.version import VERSION

TOP = Path(__file__).resolve().parents[1]
WORK = TOP / "build" / "deb"
PARTS = TOP / "tools" / "deb"
NAME = "hyperperiodd"
TOOLS = {"gcc": "gcc libc6-dev libelf-dev zlib1g-dev", "make": "make", "dpkg-deb": "dpkg",
         "objcopy": "binutils", "llvm-strip-19": "llvm-19"}  # fmt: skip
SCRIPTS = ("postinst", "prerm", "postrm")
C23 = ("fscanf", "sscanf", "strtoull")
"""Functions of which libbpf, compiled against a new C library, calls the variants of C23."""
PAGES = {"hosts/linux/daemon/hyperperiodd.8": 8, "hosts/linux/control/hyperperiodctl.1": 1}
HARDENED = "-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now"


def run(*command: str | Path) -> str:
    """Runs a program from the top of the repository; ends this one with its output if it fails."""
    done = subprocess.run(
        [str(word) for word in command], cwd=TOP, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def install(built: Path, root: Path) -> None:
    """Compiles the daemon and its tool, and puts them, unit, programs and requests below `root`."""
    out, unpacked = WORK / "objects", built / "root" / "usr"
    (out / "include" / "linux").mkdir(parents=True)
    shutil.copytree(unpacked / "include" / "bpf", out / "include" / "bpf")
    shutil.copy(unpacked / "include" / "linux" / "bpf.h", out / "include" / "linux")
    renamed = [word for name in C23 for word in ("--redefine-sym", f"__isoc23_{name}={name}")]
    run("objcopy", *renamed, unpacked / "lib" / MULTIARCH / "libbpf.a", out / "libbpf.a")
    # Made last, so that it is newer than its sources and is not compiled again.
    run("llvm-strip-19", "--strip-debug", "-o", out / OBJECT, built / OBJECT)
    run(
        "make", f"-j{os.cpu_count()}", "-f", "hosts/linux/daemon/Makefile", "install", "CC=gcc",
        f"OUT={out}", f"LIBRARIES={out}/libbpf.a -lelf -lz", "PREFIX=/usr",
        f"INCLUDES=-I. -Ihosts/linux/daemon -isystem {out}/include",
        f"HARDENED={HARDENED}", "UNITS=/usr/lib/systemd/system", f"DESTDIR={root}",
    )  # fmt: skip
    for program in ("sbin/hyperperiodd", "bin/hyperperiodctl"):
        run("strip", "--remove-section=.comment", "--remove-section=.note", root / "usr" / program)


def document(root: Path, when: int) -> None:
    """Puts the manual pages, licences, the list of changes and what lintian reads below `root`."""
    for page, section in PAGES.items():
        place = root / f"usr/share/man/man{section}" / Path(page).name
        compress(place, (TOP / page).read_bytes())
    overrides = root / "usr/share/lintian/overrides"
    overrides.mkdir(parents=True)
    shutil.copy(PARTS / "lintian-overrides", overrides / NAME)
    docs = root / "usr/share/doc" / NAME
    docs.mkdir(parents=True)
    licence = (TOP / "LICENSES/BSD-2-Clause.txt").read_text().rstrip().splitlines()
    text = "\n".join(f" {line or '.'}" for line in licence)
    (docs / "copyright").write_text((PARTS / "copyright").read_text().replace("@BSD@", text))
    date = run("date", "--utc", "-R", f"--date=@{when}").strip()
    maintainer = re.findall("^Maintainer: (.*)$", (PARTS / "control").read_text(), re.MULTILINE)[0]
    changes = f"{NAME} ({VERSION}) unstable; urgency=medium\n\n  * Release {VERSION}.\n\n"
    compress(docs / "changelog", f"{changes} -- {maintainer}  {date}\n".encode())


def compress(path: Path, content: bytes) -> None:
    """Writes a file as `path`.gz, the same one for the same content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))


def newest_libc(programs: list[Path]) -> str:
    """The version of the C library that programs ask for."""
    found = set(re.findall(r"\bGLIBC_(\d+)\.(\d+)", run("readelf", "--version-info", *programs)))
    return ".".join(max(found, key=lambda version: tuple(map(int, version))))


def control(root: Path) -> None:
    """Puts what dpkg reads below `root`: control, conffiles, scripts and sums."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    names = {str(path.relative_to(root)): path for path in files}
    folder = root / "DEBIAN"
    folder.mkdir()
    text = (PARTS / "control").read_text()
    kib = -(-sum(path.stat().st_size for path in files) // 1024)
    libc = newest_libc([root / "usr/sbin/hyperperiodd", root / "usr/bin/hyperperiodctl"])
    text = text.format(version=VERSION, size=kib, libc=libc)
    (folder / "control").write_text(text)
    kept = [name for name in names if name.startswith("etc/")]
    (folder / "conffiles").write_text("".join(f"/{name}\n" for name in kept))
    sums = {name: hashlib.md5(path.read_bytes()).hexdigest() for name, path in names.items()}
    (folder / "md5sums").write_text("".join(
        f"{value}  {name}\n" for name, value in sums.items() if name not in kept
    ))  # fmt: skip
    for script in SCRIPTS:
        shutil.copy(PARTS / script, folder)
    for path in root.rglob("*"):
        executable = path.is_dir() or path.name in SCRIPTS or path.parent.name in ("bin", "sbin")
        path.chmod(0o755 if executable else 0o644)


def build(into: Path) -> Path:
    """The package, built into a folder."""
    need(TOOLS, "build the package")
    built = images().folder
    shutil.rmtree(WORK, ignore_errors=True)
    root = WORK / "root"
    root.mkdir(parents=True)
    root.chmod(0o755)
    when = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct")
    os.environ["SOURCE_DATE_EPOCH"] = when.strip()
    install(built, root)
    document(root, int(when))
    control(root)
    into.mkdir(parents=True, exist_ok=True)
    package = into / f"{NAME}_{VERSION}_amd64.deb"
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, package)
    return package


if __name__ == "__main__":
    try:
        print(build(TOP / "dist").relative_to(TOP))
    except MissingError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(3)
