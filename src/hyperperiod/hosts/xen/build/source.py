# SPDX-License-Identifier: BSD-2-Clause
"""Xen's source: Debian's, fetched and verified by apt, or a tree that somebody has.

The one that is fetched is always the same, so that everybody builds what was measured. Where it is
no longer to be had, the newest of its release that Debian has is taken in its place.
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

from hyperperiod.hosts import debian
from hyperperiod.hosts.build_job import need
from hyperperiod.hosts.xen.build import patches
from hyperperiod.model.errors import InputError, MissingError

VERSION = "4.20"
OWN_TREE = f"with a tree of your own: --xen-source DIR (Xen {VERSION})"

# What the pages' sizes and prices are of, by its name and hashes.
TARBALL = f"xen_{VERSION}.3+127-gc42374a105.orig.tar.xz"
SHA256 = "df0831854a55a8f31cb3cb85036f2edc928e2ef098d77f815f5714bfafac68f3"
SHA1 = "db72543f43aa34ac8976c1de1a5ac1746006dc43"
# A mirror drops a source when a newer one comes; the archive of security updates does so later,
# and the archive of all that Debian ever had never does. It knows files by their SHA-1.
SECURITY = "http://security.debian.org/debian-security/pool/updates/main/x/xen"
SNAPSHOT = "http://snapshot.debian.org/file"

# What a tree has in which Xen was built. Objects there would be taken for those of our build.
BUILT_IN_PLACE = ("xen/.config", "xen/include/config", "xen/include/generated")


def fetched(downloads: Path) -> Path | None:
    """A tarball of Xen's source that was fetched: the one that is measured, or else the newest."""
    measured = downloads / TARBALL
    if measured.is_file():
        return measured
    return max(downloads.glob(f"xen_{VERSION}*.orig.tar.xz"), default=None)


def fetch(downloads: Path) -> Path:
    """Fetches a tarball of Xen's source into a folder; its path."""
    debian.need_apt(f"fetch Debian's Xen ({OWN_TREE})")
    (downloads / "apt").mkdir(parents=True, exist_ok=True)
    places = (f"{debian.mirror()}/pool/main/x/xen/{TARBALL}", f"{SECURITY}/{TARBALL}")
    for address in (*places, f"{SNAPSHOT}/{SHA1}"):
        if debian.download(downloads / "apt", address, SHA256, downloads / TARBALL):
            return downloads / TARBALL
    return _newest(downloads)


def _newest(downloads: Path) -> Path:
    """Fetches the newest tarball that Debian has of Xen's source; its path."""
    for command in (["apt-get", "-q", "update"], ["apt-get", "-q", "source", "--tar-only", "xen"]):
        done = debian.apt(downloads / "apt", "deb-src", "", command, downloads)
        if done.returncode != 0:
            raise MissingError(
                f"{TARBALL} is neither at {debian.mirror()} nor in Debian's archives, and "
                f"{' '.join(command)} of {debian.SUITE} failed:\n"
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
