# SPDX-License-Identifier: BSD-2-Clause
"""What comes from Debian, fetched and verified by apt: Xen's source, and packages to unpack.

apt runs with a configuration of its own: sources, lists and state are in a folder of ours, so the
machine's are neither used nor changed; only its proxy is. Debian's archive key signs the lists
that hold the hash of each file, and apt checks both. Nothing is installed. What was fetched is
kept, and serves when there is no network. DEBIAN_MIRROR names another mirror.
"""

from __future__ import annotations

import fcntl
import fnmatch
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hyperperiod.hosts.build_job import need
from hyperperiod.model.errors import MissingError

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITE = "trixie"
BACKPORTS = "trixie-backports"
TESTING = "forky"
"""The suite whose kernels are new. It changes every day, so its lists of hashes are signed for some
days only; a mirror that keeps one day's state serves them longer. Their date is not looked at,
their signature is."""
MIRROR = "http://deb.debian.org/debian"
LISTS_OLD_S = 24 * 3600
APT_HELPER = "/usr/lib/apt/apt-helper"


def mirror() -> str:
    """The address of the mirror that Debian is fetched from."""
    return os.environ.get("DEBIAN_MIRROR", MIRROR)


def proxies() -> list[str]:
    """The lines of this machine's configuration of apt that name a proxy."""
    machine = subprocess.run(
        ["apt-config", "dump", "--no-empty", "Acquire"], capture_output=True, text=True, check=False
    ).stdout
    return [line for line in machine.splitlines() if "::Proxy" in line]


def need_apt(purpose: str) -> None:
    """Raises MissingError unless apt and the key of Debian's archive are there."""
    need({"apt-get": "apt"}, purpose)
    if not KEYRING.is_file():
        raise MissingError(
            f"{KEYRING}: not found, needed to {purpose}",
            "sudo apt-get install -y debian-archive-keyring",
        )


def apt(
    folder: Path,
    kind: str,
    architecture: str,
    command: Sequence[str],
    inside: Path,
    suite: str = SUITE,
) -> subprocess.CompletedProcess[str]:
    """Runs an apt command whose configuration and state are in `folder`, from `inside`.

    `kind` is deb or deb-src: what the lists are of.
    """
    environment = os.environ | {
        "APT_CONFIG": str(_configuration(folder, kind, architecture, suite))
    }
    return subprocess.run(
        command, cwd=inside, env=environment, capture_output=True, text=True, check=False
    )


def download(folder: Path, address: str, sha256: str, target: Path) -> bool:
    """Whether `address` gave just the file of this hash, which is `target` then.

    apt, with the configuration in `folder`, fetches it. `address` may be anything that apt reads.
    """
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        command = [APT_HELPER, "download-file", address, target.name, f"SHA256:{sha256}"]
        done = apt(folder, "deb-src", "", command, Path(fresh))
        if done.returncode == 0:
            Path(fresh, target.name).rename(target)
    return done.returncode == 0


def _configuration(folder: Path, kind: str, architecture: str, suite: str) -> Path:
    """Writes a configuration under which apt knows only Debian; keeps the machine's proxy."""
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    sources = folder / "debian.sources"
    sources.write_text(
        f"Types: {kind}\nURIs: {mirror()}\nSuites: {suite}\nComponents: main\n"
        f"Signed-By: {KEYRING}\n"
    )
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
        # The folder is often one that apt's own user may not enter.
        "APT::Sandbox::User": "",
    }
    if architecture:
        settings |= {"APT::Architecture": architecture, "APT::Architectures": architecture}
    if suite == TESTING:
        settings["Acquire::Check-Valid-Until"] = "false"
    configuration = folder / "apt.conf"
    lines = "".join(f'{key} "{value}";\n' for key, value in settings.items())
    configuration.write_text(lines + "".join(f"{line}\n" for line in proxies()))
    return configuration


def packages(
    downloads: Path,
    architecture: str,
    names: Sequence[str],
    suite: str = SUITE,
    depends_on: re.Pattern[str] | None = None,
) -> list[Path]:
    """The newest packages of these names for an architecture (amd64), as files; fetched if need be.

    A name with a `*` is that of the newest that matches it. With `depends_on` also those on which
    they depend, if their whole names match.

    For linux-image-*, which is empty and depends on the kernel of the day, the latter is taken, or
    where that is empty too the linux-binary-* that it depends on.
    """
    need_apt("fetch Debian's packages")
    folder = downloads / f"{suite}-{architecture}"
    # Apt does not name what it finds in the folder that it runs in: there is one that is empty.
    empty, files = folder / "parts", folder / "files"
    for made in (empty, files):
        made.mkdir(parents=True, exist_ok=True)

    def ask(command: Sequence[str], inside: Path = empty) -> str:
        done = apt(folder, "deb", architecture, command, inside, suite)
        if done.returncode != 0:
            raise MissingError(
                f"{' '.join(command)} from {mirror()} {suite} failed: {done.stderr.strip()}"
            )
        return done.stdout

    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        updated = folder / "updated"
        if not updated.exists() or time.time() - updated.stat().st_mtime > LISTS_OLD_S:
            try:
                ask(["apt-get", "update", "-qq"])
                updated.touch()
            except MissingError:
                if not updated.exists():
                    raise

        def depends(name: str) -> str:
            return ask(["apt-cache", "depends", "--important", name])

        def newest(pattern: str) -> str:
            there = ask(["apt-cache", "pkgnames", pattern.partition("*")[0]]).split()
            return max(fnmatch.filter(there, pattern), key=_by_version, default=pattern)

        wanted = [newest(name) if "*" in name else name for name in names]
        wanted = [
            _current_kernel(name, depends) if name.startswith("linux-image-") else name
            for name in wanted
        ]
        if depends_on is not None:
            install = ["apt-get", "install", "-s", "-qq", "--no-install-recommends", *wanted]
            others = re.findall(r"^Inst (\S+)", ask(install), re.MULTILINE)
            wanted += [one for one in others if one not in wanted and depends_on.fullmatch(one)]
        uris = ask(["apt-get", "download", "--print-uris", "-qq", *wanted])
        found = [files / line.split()[1] for line in uris.splitlines()]
        if not all(path.exists() for path in found):
            ask(["apt-get", "download", "-qq", *wanted], files)
    return found


def _by_version(name: str) -> list[int]:
    """What sorts the names of packages by the versions in them."""
    return [int(digits) for digits in re.findall(r"\d+", name)]


def _current_kernel(name: str, depends: Callable[[str], str]) -> str:
    """The package with the kernel that a package for kernels of the day leads to, or itself."""
    for pattern in (r"linux-image-\d\S*", r"linux-binary-\d\S*"):
        found = re.search(rf"^ *Depends: ({pattern})", depends(name), re.MULTILINE)
        name = found[1] if found else name
    return name
