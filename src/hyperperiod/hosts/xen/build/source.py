# SPDX-License-Identifier: BSD-2-Clause
"""Xen's source: Debian's, fetched and verified by apt, or a tree that somebody has."""

from __future__ import annotations

import filecmp
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from hyperperiod.hosts import debian
from hyperperiod.hosts.build_job import need
from hyperperiod.hosts.xen.build import patches
from hyperperiod.model.errors import InputError, MissingError

VERSION = "4.20"
OWN_TREE = f"with a tree of your own: --xen-source DIR (Xen {VERSION})"

# What a tree has in which Xen was built. Objects there would be taken for those of our build.
BUILT_IN_PLACE = ("xen/.config", "xen/include/config", "xen/include/generated")


def fetched(downloads: Path) -> Path | None:
    """The newest tarball of Xen's source that was fetched."""
    return max(downloads.glob(f"xen_{VERSION}*.orig.tar.xz"), default=None)


def fetch(downloads: Path) -> Path:
    """Fetches Debian's tarball of Xen's source into a folder; its path."""
    purpose = "fetch Debian's Xen"
    debian.need_apt(f"{purpose} ({OWN_TREE})")
    for command in (["apt-get", "-q", "update"], ["apt-get", "-q", "source", "--tar-only", "xen"]):
        done = debian.apt(downloads / "apt", "deb-src", "", command, downloads)
        if done.returncode != 0:
            raise MissingError(
                f"{' '.join(command)} from {debian.mirror()} {debian.SUITE} failed:\n"
                f"{done.stdout}{done.stderr}{OWN_TREE}"
            )
    tarball = fetched(downloads)
    if tarball is None:
        found = sorted(path.name for path in downloads.glob("xen_*")) or "nothing"
        raise MissingError(
            f"Debian {debian.SUITE}'s Xen: found {found}, needed: xen_{VERSION}*; {OWN_TREE}"
        )
    return tarball


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
    """Raises unless `tree`, called `name` in messages, is Xen of a release that we patch."""
    try:
        version = version_of(tree)
    except OSError:
        raise InputError("", None, name, f"no xen/Makefile in {tree}", "Xen's source") from None
    if version not in patches.releases():
        found = f"Xen {version or 'of no known version'} in {tree}"
        raise InputError("", None, name, found, ", ".join(patches.releases()))
    built = [place for place in BUILT_IN_PLACE if (tree / place).exists()]
    if built:
        found = f"{built[0]} in {tree}, a tree in which Xen was built"
        allowed = f"a clean one (make -C {tree}/xen distclean, or another git worktree)"
        raise InputError("", None, name, found, allowed)


def version_of(tree: Path) -> str:
    """The release of Xen in a tree, such as 4.20; empty if its makefile does not say."""
    text = (tree / "xen" / "Makefile").read_text()
    return ".".join(re.findall(r"^export XEN_(?:SUB)?VERSION\s*=\s*(\d+)$", text, re.MULTILINE))


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


def write(texts: dict[Path, str], tree: Path) -> None:
    """Writes files into a tree, by their places in it; those that have their text are left alone.

    So a build in the tree stays incremental.
    """
    for place, text in texts.items():
        target = tree / place
        if not target.is_file() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def _files(tree: Path) -> Iterator[Path]:
    """Files and links below a folder, relative to it, without a version control's own."""
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name != ".git"]
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in [*names, *links]:
            yield (Path(folder) / name).relative_to(tree)
