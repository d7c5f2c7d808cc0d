# SPDX-License-Identifier: BSD-2-Clause
"""Xen's source: Debian's, fetched and verified by apt, or a tree that somebody has.

apt runs with a configuration of its own in build/downloads/: sources, lists and state are
there, so the machine's are neither used nor changed. Debian's archive key signs the list that
holds the hash of the tarball, and apt checks both.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

VERSION = "4.20"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"

# What a tree has in which Xen was built. Objects there would be taken for those of our build.
BUILT_IN_PLACE = ("xen/.config", "xen/include/config", "xen/include/generated")


class BuildError(Exception):
    """Something keeps Xen from being built: one message, and the exit code that it asks for."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def need(programs: dict[str, str], purpose: str) -> None:
    """Raises unless all programs are there; the values are their Debian packages."""
    packages = sorted({package for name, package in programs.items() if not shutil.which(name)})
    if packages:
        missing = ", ".join(name for name in programs if not shutil.which(name))
        raise BuildError(
            f"{missing}: not found, needed to {purpose}; install it with: "
            f"sudo apt-get install -y --no-install-recommends {' '.join(packages)}",
            3,
        )


def fetched(downloads: Path) -> Path | None:
    """The newest tarball of Xen's source that was fetched."""
    return max(downloads.glob(f"xen_{VERSION}*.orig.tar.xz"), default=None)


def fetch(downloads: Path) -> Path:
    """Debian's tarball of Xen's source."""
    if not shutil.which("apt-get"):
        raise BuildError(
            "apt-get: not found, needed to fetch Debian's Xen; with a tree of your own: "
            f"make xen XEN_SRC=DIR (Xen {VERSION})",
            3,
        )
    if not KEYRING.is_file():
        raise BuildError(
            f"{KEYRING}: not found, needed to verify Debian's Xen; install it with: "
            "sudo apt-get install -y debian-archive-keyring",
            3,
        )
    environment = os.environ | {"APT_CONFIG": str(_private_apt(downloads / "apt"))}
    for command in (["apt-get", "-q", "update"], ["apt-get", "-q", "source", "--tar-only", "xen"]):
        done = subprocess.run(
            command, cwd=downloads, env=environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise BuildError(
                f"{' '.join(command)} from {MIRROR} {SUITE} failed:\n"
                f"{done.stdout}{done.stderr}with a tree of your own: make xen XEN_SRC=DIR",
                3,
            )
    tarball = fetched(downloads)
    if tarball is None:
        found = sorted(path.name for path in downloads.glob("xen_*")) or "nothing"
        raise BuildError(f"Debian {SUITE}'s Xen: found {found}; allowed: xen_{VERSION}*", 3)
    return tarball


def _private_apt(folder: Path) -> Path:
    """Writes a configuration under which apt knows only Debian's sources; keeps the proxy."""
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    sources = folder / "debian.sources"
    sources.write_text(
        f"Types: deb-src\nURIs: {MIRROR}\nSuites: {SUITE}\nComponents: main\nSigned-By: {KEYRING}\n"
    )
    machine = subprocess.run(
        ["apt-config", "dump", "--no-empty", "Acquire"], capture_output=True, text=True, check=False
    ).stdout
    proxies = "".join(line + "\n" for line in machine.splitlines() if "::Proxy" in line)
    settings = {
        "Dir::Etc::main": "/dev/null",
        "Dir::Etc::parts": "/dev/null",
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State": folder,
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none",
        # A checkout is often in a folder that apt's own user may not enter.
        "APT::Sandbox::User": "",
    }
    configuration = folder / "apt.conf"
    lines = "".join(f'{key} "{value}";\n' for key, value in settings.items())
    configuration.write_text(lines + proxies)
    return configuration


def unpack(tarball: Path, tree: Path) -> None:
    """The tarball's content as `tree`, which appears whole or not at all."""
    need({"tar": "tar", "xz": "xz-utils"}, "unpack Xen's source")
    fresh = tree.with_name(tree.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    subprocess.run(["tar", "-xf", tarball, "-C", fresh, "--strip-components=1"], check=True)
    shutil.rmtree(tree, ignore_errors=True)
    fresh.rename(tree)


def check_tree(tree: Path, name: str) -> None:
    """Raises unless `tree`, called `name` in messages, is Xen of the version that we know."""
    makefile = tree / "xen" / "Makefile"
    try:
        text = makefile.read_text()
    except OSError:
        raise BuildError(
            f"{name}: found no xen/Makefile in {tree}; allowed: Xen's source", 2
        ) from None
    numbers = re.findall(r"^export XEN_(?:SUB)?VERSION\s*=\s*(\d+)$", text, re.MULTILINE)
    version = ".".join(numbers)
    if version != VERSION:
        raise BuildError(
            f"{name}: found Xen {version or 'of no known version'} in {tree}; allowed: {VERSION}", 2
        )
    built = [place for place in BUILT_IN_PLACE if (tree / place).exists()]
    if built:
        raise BuildError(
            f"{name}: found {built[0]} in {tree}, a tree in which Xen was built; allowed: a clean "
            f"one (make -C {tree}/xen distclean, or another git worktree)",
            2,
        )


def signature(tree: Path) -> str:
    """Changes when a file of a tree does: its name, size or time."""
    digest = hashlib.sha256()
    for place in sorted(_files(tree)):
        status = (tree / place).lstat()
        digest.update(f"{place} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def mirror(source: Path, target: Path, keep: set[Path]) -> None:
    """Makes `target` the same as `source`, but for the places in `keep`.

    What is the same already is not touched, so that a build from `target` stays incremental.
    """
    wanted = set(_files(source))
    for place in set(_files(target)) - wanted - keep:
        (target / place).unlink()
    for place in sorted(wanted - keep):
        old, new = source / place, target / place
        if old.is_symlink():
            if not new.is_symlink() or new.readlink() != old.readlink():
                new.parent.mkdir(parents=True, exist_ok=True)
                new.unlink(missing_ok=True)
                new.symlink_to(old.readlink())
        elif not new.is_file() or not filecmp.cmp(old, new, shallow=False):
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(old, new)


def _files(tree: Path) -> Iterator[Path]:
    """Files and links below a folder, relative to it, without a version control's own."""
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name != ".git"]
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in [*names, *links]:
            yield (Path(folder) / name).relative_to(tree)
