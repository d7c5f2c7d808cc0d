# SPDX-License-Identifier: BSD-2-Clause
"""MISRA C:2012 on the core and on the glue for Xen, as cppcheck's addon reads them.

`make misra`: the core is one translation unit (`tests/core_builds/entries.c` has each entry once)
under fixed defines, so that this takes seconds. `make misra-xen`: the units of hosts/xen as one, as
the Xen that was built last for arm64 has them (`misra_xen.py`). Rules that they depart from are
rows of the two tables in `docs/misra.md`, each with its reason. Exit code 1: something breaks a
rule that is no row there, or a row is of a rule that nothing breaks; 3: cppcheck or Xen is not
there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools import misra_xen

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "misra.md"
XEN = ROOT / "build" / "xen" / "arm64"
XEN_HEADING = "## The glue for Xen"
UNIT = "tests/core_builds/entries.c"
UNITED = "united.c"
FINDING = re.compile(r"^misra-c2012-(?P<rule>[\d.]+) (?P<file>[^:\n]+):(?P<line>\d+)", re.MULTILINE)
FAILURE = re.compile(
    r"^(?:misra-config|syntaxError|internalError|internalAstError|unknownMacro"
    r"|preprocessorErrorDirective)\b.*$"
)


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
    options = ("--std=c11", "--suppress=missingInclude", "-I.", "-D__x86_64__", "-U__bpf__")
    found = run_cppcheck(root, [*options, unit])
    return [one for one in found if one.file.startswith(below)]


def findings_for_xen(root: Path, objects: Path) -> list[Finding]:
    """What cppcheck finds in the glue for Xen, all its units as one.

    Rules of the preprocessor (20) are not asked: all that is left of it is where lines came from.
    RuntimeError: a unit does not compile, or cppcheck could not read it.
    """
    with tempfile.TemporaryDirectory() as folder:
        text = misra_xen.readable(misra_xen.preprocessed(root, objects), root)
        (Path(folder) / UNITED).write_text(text)
        found = run_cppcheck(Path(folder), ["--std=c99", "-Dtypeof=__typeof__", UNITED])
    ours = [one for one in found if one.file.startswith(f"{misra_xen.FOLDER}/")]
    return [one for one in ours if not one.rule.startswith("20.")]


def run_cppcheck(folder: Path, arguments: list[str]) -> list[Finding]:
    """What the addon finds. RuntimeError: cppcheck could not read what it was given."""
    done = subprocess.run(
        [
            *("cppcheck", "--language=c", "--platform=unix64", "--max-configs=1", "--quiet"),
            *("--enable=style", "--addon=misra", "--template={id} {file}:{line} {message}"),
            *arguments,
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    failures = [line for line in done.stdout.splitlines() if FAILURE.match(line)]
    if failures or done.returncode != 0:
        raise RuntimeError("\n".join(failures) or done.stdout)
    return [
        Finding(one["rule"], Path(one["file"]).as_posix(), int(one["line"]))
        for one in FINDING.finditer(done.stdout)
    ]


def deviations(page: str, *, xen: bool = False) -> set[str]:
    """The rules that are rows of the page's table for the core, or for the glue for Xen."""
    core, _, glue = page.partition(XEN_HEADING)
    return set(re.findall(r"^\| (\d+\.\d+) \|", glue if xen else core, re.MULTILINE))


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


def main(arguments: list[str]) -> int:
    """Reads the core, or for `xen` the glue; prints how often it departs from each rule."""
    xen = arguments == ["xen"]
    if shutil.which("cppcheck") is None:
        print("cppcheck: not installed; install with: sudo apt-get install -y cppcheck")
        return 3
    if xen and not all(
        misra_xen.command_file(XEN, unit).is_file() for unit in misra_xen.units(ROOT)
    ):
        print("Xen for arm64: not built; build it with: make xen")
        return 3
    found = findings_for_xen(ROOT, XEN) if xen else findings(ROOT, UNIT, "core/")
    wrong = complaints(found, deviations(PAGE.read_text(), xen=xen))
    count = Counter(one.rule for one in found)
    print(", ".join(f"{rule}: {n}" for rule, n in count.most_common()))
    for line in wrong:
        print(line)
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
