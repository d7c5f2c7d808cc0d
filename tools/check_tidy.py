# SPDX-License-Identifier: BSD-2-Clause
"""clang-tidy on the core: `make clang-tidy`.

The core is one translation unit (`tests/core_builds/entries.c` has each entry once). What is
asked, and why some checks are not, stands in `.clang-tidy`. Exit code 1: something was found; 3: no
clang-tidy 19 is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNIT = "tests/core_builds/entries.c"
PROGRAM = "clang-tidy-19"
FINDING = re.compile(r"^[^ ].*: (?:warning|error): .*$", re.MULTILINE)


def findings(unit: Path) -> list[str]:
    """What clang-tidy says of a unit and of the headers of the core that it includes."""
    done = subprocess.run(
        [
            *(PROGRAM, "--quiet", f"--config-file={ROOT / '.clang-tidy'}"),
            *(unit, "--", "-std=c11", "-I."),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = FINDING.findall(done.stdout)
    if done.returncode != 0 and not found:
        raise RuntimeError(done.stdout + done.stderr)
    return found


def main() -> int:
    """Reads the core; prints what is found. Returns the exit code."""
    if shutil.which(PROGRAM) is None:
        print(f"{PROGRAM}: not installed; install with: sudo apt-get install -y {PROGRAM}")
        return 3
    found = findings(ROOT / UNIT)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
