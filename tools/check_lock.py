# SPDX-License-Identifier: BSD-2-Clause
"""Checks that requirements.lock still answers pyproject.toml.

Every requirement of the project, of its build and of its development must be pinned to versions
that it allows, and every pin must carry hashes. Needs no network; `make lock` mends what is
found.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PIN = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)[^\n]*\n(?P<hashes>(?:    --hash[^\n]*\n)*)",
    re.MULTILINE,
)


def wanted(project: Path) -> Iterator[Requirement]:
    """Every requirement that pyproject.toml states."""
    settings = tomllib.loads(project.read_text())
    stated = [
        *settings["build-system"]["requires"],
        *settings["project"]["dependencies"],
        *settings["dependency-groups"]["dev"],
    ]
    yield from map(Requirement, stated)


def violations(project: Path, lock: Path) -> Iterator[str]:
    """Requirements without a fitting pin, and pins without a hash."""
    pins: dict[str, list[Version]] = {}
    for pin in PIN.finditer(lock.read_text()):
        pins.setdefault(canonicalize_name(pin["name"]), []).append(Version(pin["version"]))
        if not pin["hashes"]:
            yield f"{lock}: {pin['name']} has no hash"
    for requirement in wanted(project):
        versions = pins.get(canonicalize_name(requirement.name), [])
        if not versions or not all(version in requirement.specifier for version in versions):
            found = ", ".join(map(str, versions)) or "nothing"
            yield f"{lock}: {project} wants {requirement}, pinned is {found}; run `make lock`"


def main() -> int:
    """Prints every violation; 1 if there is one."""
    found = list(violations(Path("pyproject.toml"), Path("requirements.lock")))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
