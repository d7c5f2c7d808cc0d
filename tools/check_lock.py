# SPDX-License-Identifier: BSD-2-Clause
"""Checks that requirements.lock answers pyproject.toml, and that answers what is imported.

Every requirement of the project, of its build and of its development must be pinned to versions
that it allows, and every pin must carry hashes: `make lock` mends what is found there. What the
package imports must be a run-time dependency, or come with one. Needs no network.
"""

import ast
import itertools
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
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
        *itertools.chain.from_iterable(settings["dependency-groups"].values()),
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


def with_dependencies(name: str) -> set[str]:
    """A distribution and all that it needs, directly or not, as far as it is installed."""
    found: set[str] = set()
    waiting = [canonicalize_name(name)]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found.add(current)
        try:
            needed = map(Requirement, requires(current) or [])
        except PackageNotFoundError:
            continue
        waiting += [
            canonicalize_name(one.name)
            for one in needed
            if one.marker is None or one.marker.evaluate({"extra": ""})
        ]
    return found


def imported(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every top-level name that the Python files of a folder import from elsewhere."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name.partition(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield path, node.module.partition(".")[0]


def undeclared(project: Path, package: Path) -> Iterator[str]:
    """Imports of the package that no run-time dependency brings."""
    stated = tomllib.loads(project.read_text())["project"]["dependencies"]
    allowed = {name for one in stated for name in with_dependencies(Requirement(one).name)}
    homes = packages_distributions()
    for path, name in imported(package):
        if name in sys.stdlib_module_names or name == package.name:
            continue
        if not allowed & {canonicalize_name(home) for home in homes.get(name, [])}:
            yield f"{path}: imports {name}, which no dependency in {project} brings"


def main() -> int:
    """Prints every violation; 1 if there is one."""
    project = Path("pyproject.toml")
    found = list(violations(project, Path("requirements.lock")))
    found += undeclared(project, Path("src/hyperperiod"))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
