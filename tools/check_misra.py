# SPDX-License-Identifier: BSD-2-Clause
"""MISRA C:2012 on the core, as cppcheck's addon reads it: `make misra`.

The core is one translation unit (`tests/core_builds/entries.c` has each entry once) under fixed
defines, so that this takes seconds. Rules that the core departs from are rows of the table in
`docs/misra.md`, each with its reason. Exit code 1: something breaks a rule that is no row there, or
a row is of a rule that nothing breaks; 3: cppcheck is not installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "misra.md"
UNIT = "tests/core_builds/entries.c"
FINDING = re.compile(r"^misra-c2012-(?P<rule>[\d.]+) (?P<file>[^:\n]+):(?P<line>\d+)", re.MULTILINE)
FAILURE = re.compile(r"^(?:misra-config|syntaxError|internalError|preprocessorErrorDirective)\b.*$")


@dataclass(frozen=True)
class Finding:
    """One place that breaks a rule."""

    rule: str
    file: str
    line: int


def findings(root: Path, unit: str, below: str) -> list[Finding]:
    """What cppcheck finds in files below a folder that a unit includes.

    RuntimeError: it could not read the unit.
    """
    done = subprocess.run(
        [
            *("cppcheck", "--std=c11", "--language=c", "--platform=unix64", "--max-configs=1"),
            *("--enable=style", "--addon=misra", "--suppress=missingInclude", "--quiet", "-I."),
            *("-D__x86_64__", "-U__bpf__", "--template={id} {file}:{line} {message}", unit),
        ],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    failures = [line for line in done.stdout.splitlines() if FAILURE.match(line)]
    if failures or done.returncode != 0:
        raise RuntimeError("\n".join(failures) or done.stdout)
    found = [
        Finding(one["rule"], Path(one["file"]).as_posix(), int(one["line"]))
        for one in FINDING.finditer(done.stdout)
    ]
    return [one for one in found if one.file.startswith(below)]


def deviations(page: str) -> set[str]:
    """The rules that are rows of the page's table."""
    return set(re.findall(r"^\| (\d+\.\d+) \|", page, re.MULTILINE))


def complaints(found: list[Finding], allowed: set[str]) -> list[str]:
    """What stands in no row, and rows that nothing needs."""
    rules = {one.rule for one in found}
    return [
        *(
            f"{one.file}:{one.line}: MISRA C:2012 {one.rule}"
            for one in found
            if one.rule not in allowed
        ),
        *(f"{PAGE.name}: nothing breaks {rule} any more" for rule in sorted(allowed - rules)),
    ]


def main() -> int:
    """Reads the core; prints how often it departs from each rule. Returns the exit code."""
    if shutil.which("cppcheck") is None:
        print("cppcheck: not installed; install with: sudo apt-get install -y cppcheck")
        return 3
    found = findings(ROOT, UNIT, "core/")
    wrong = complaints(found, deviations(PAGE.read_text()))
    count = Counter(one.rule for one in found)
    print(", ".join(f"{rule}: {n}" for rule, n in count.most_common()))
    for line in wrong:
        print(line)
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
