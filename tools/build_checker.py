# SPDX-License-Identifier: BSD-2-Clause
"""hyperperiod-check, made of the proofs: `make checker`, or -m tools.build_checker FILE.

`make proofs` checks the theorem about it (proofs/soundness.v).

Coq extracts the checker from the definitions in proofs/ as a program of OCaml, which OCaml's
compiler and the few lines of proofs/checker/main.ml make into a native one that knows nothing of
the project and asks nothing of the machine that it runs on: all libraries are in it. Needs Debian's
coq, ocaml, ocaml-findlib and libzarith-ocaml-dev. For the tests the decider of laws.v is made in
the same way.

Exit code 1: a file is not accepted; 3: one of the programs or the library is missing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.check_theorems import LIBRARY, SOURCES, NotProved, coq

TARGET = SOURCES.parent / "build" / "hyperperiod-check"
PROGRAMS = {
    "checker": ("model", "cbs", "flows", "system", "check", "reader"),
    "decider": ("model", "cbs", "flows", "system", "check", "laws"),
}
"""The files that each program is made of, in order: definitions. The others prove what it says."""
INSTALL = "sudo apt-get install -y coq ocaml ocaml-findlib libzarith-ocaml-dev"


def missing() -> str | None:
    """What is not installed of what the build needs; None if all is there."""
    for program in ("coqc", "coqdep", "ocamlfind", "ocamlopt"):
        if shutil.which(program) is None:
            return program
    found = subprocess.run(["ocamlfind", "query", "-format", "%d", "zarith"], capture_output=True,
                           text=True, check=False)  # fmt: skip
    if found.returncode != 0 or not (Path(found.stdout.strip()) / "zarith.cmxa").exists():
        return "zarith, a library of OCaml"
    return None


def build(target: Path, program: str = "checker") -> None:
    """Makes one of the programs. NotProved: Coq or OCaml refuses a file; the message is theirs."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in PROGRAMS[program]:
            shutil.copy(SOURCES / f"{name}.v", folder)
            coq(folder, "coqc", *LIBRARY, f"{name}.v")
        for file in (SOURCES / program).iterdir():
            shutil.copy(file, folder)
        coq(folder, "coqc", *LIBRARY, "extract.v")
        coq(folder, "ocamlfind", "ocamlopt", "-package", "zarith", "-linkpkg", "-ccopt", "-static",
            f"{program}.mli", f"{program}.ml", "main.ml", "-o", "program")  # fmt: skip
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "program", target)


def main() -> int:
    """Builds the file that is named, or the project's; prints where it is. The exit code."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    if (lacking := missing()) is not None:
        print(f"{lacking}: not installed; install with: {INSTALL}")
        return 3
    try:
        build(target)
    except NotProved as failed:
        print(failed)
        return 1
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
