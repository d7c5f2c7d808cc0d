# SPDX-License-Identifier: BSD-2-Clause
"""The theorems in proofs/, checked by Coq: `make proofs`, or of a copy: check_theorems.py FOLDER.

Compiles the files outside of the checkout, in the order in which they stand on each other, and has
Coq print what every theorem assumes, which must be nothing. Needs Debian's coq (8.16 or later) and
nothing else of the project.

Exit code 1: a file does not compile, a theorem assumes something, or a file has a word that takes
something for granted without proof; 2: no such folder, or one without theorems; 3: coqc is missing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "proofs"
LIBRARY = ("-Q", ".", "Hyperperiod")
THEOREM = re.compile(r"^Theorem (\w+)", re.MULTILINE)
REQUIRED = re.compile(r"^From Hyperperiod Require Import ([^.]*)\.", re.MULTILINE)
CLOSED = "Closed under the global context"
UNPROVED = re.compile(
    r"\b(Admitted|admit|give_up|Abort|Axioms?|Parameters?|Conjectures?|Hypothes[ie]s|Variables?"
    r"|Unset|bypass_check|type_in_type)\b"
)
"""Words of claims without a proof, and of what may switch a check of the kernel off."""


class NotProved(Exception):  # noqa: N818 - it is not an error of the program
    """What Coq does not accept of the files; the message is Coq's, or names file and line."""


def theorems(sources: Path) -> dict[str, str]:
    """Returns the file (its name without .v) of each theorem in a folder."""
    return {
        name: file.stem
        for file in sorted(sources.glob("*.v"))
        for name in THEOREM.findall(file.read_text())
    }


def without_comments(text: str) -> str:
    """Returns Coq's text with comments, which may nest, as blanks; lines stay where they are."""
    code, depth = [], 0
    for piece in re.split(r"(\(\*|\*\))", text):
        depth += piece == "(*"
        code.append(piece if depth == 0 else re.sub(r"[^\n]", " ", piece))
        depth -= piece == "*)"
    return "".join(code)


def coq(folder: Path, *command: str) -> str:
    """Runs a program of Coq's in a folder; returns its output. NotProved: it failed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotProved(done.stdout + done.stderr)
    return done.stdout


def build(folder: Path, changed: str = "") -> None:
    """Compiles the files of a folder, those first on which others stand. NotProved: Coq's refusal.

    Where all are compiled but one that has `changed` since then: that one and those on it.
    """
    anew = {changed.removesuffix(".v")}
    files = sorted(file.name for file in folder.glob("*.v"))
    for name in coq(folder, "coqdep", *LIBRARY, "-sort", *files).split():
        file = folder / name
        stands_on = {word for said in REQUIRED.findall(file.read_text()) for word in said.split()}
        if not changed or file.stem in anew or stands_on & anew:
            anew.add(file.stem)
            coq(folder, "coqc", *LIBRARY, name)


def check(sources: Path, folder: Path) -> dict[str, str]:
    """Returns the theorems of a folder, all proved, with their files. NotProved: why not.

    Copies and what Coq makes of them come into the other folder, which is there and empty.
    """
    for file in sorted(sources.glob("*.v")):
        for number, line in enumerate(without_comments(file.read_text()).splitlines(), 1):
            if found := UNPROVED.search(line):
                raise NotProved(f"{file}:{number}: {found[1]} takes something for granted")
    names = theorems(sources)
    for file in sources.glob("*.v"):
        shutil.copy(file, folder)
    build(folder)
    # Asked of all together, since what they share is looked through once for each question.
    together = folder / "together.v"
    together.write_text(
        f"From Hyperperiod Require {' '.join(sorted(set(names.values())))}.\n"
        f"Definition all := ({', '.join(f'@{file}.{name}' for name, file in names.items())}).\n"
        "Print Assumptions all.\n"
    )
    said = coq(folder, "coqc", *LIBRARY, together.name)
    together.unlink()
    if said.strip() != CLOSED:
        raise NotProved(f"{', '.join(names)}: not all are without assumptions\n{said}")
    return names


def main() -> int:
    """Checks the folder that is named, or the project's; prints what is proved. The exit code."""
    sources = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCES
    if not theorems(sources):
        print(f"found {sources}; allowed: a folder with files *.v that have theorems")
        return 2
    if shutil.which("coqc") is None or shutil.which("coqdep") is None:
        print("coqc: not installed; install with: sudo apt-get install -y coq")
        return 3
    try:
        with tempfile.TemporaryDirectory() as folder:
            proved = check(sources, Path(folder))
    except NotProved as failed:
        print(failed)
        return 1
    for name, file in proved.items():
        print(f"{file}.v: {name}: proved, assumes nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
