# SPDX-License-Identifier: BSD-2-Clause
"""Verbs of the core's accounts, proved: `make prove ONLY=deplete`, `make prove MUTANTS=1`.

Asks CBMC, for each proof of the list (`proofs`), whether any input that the proof allows breaks
what it shows, overflows, divides by zero, leaves an array or goes round a loop once too often; and
z3 whether the laws of arithmetic that the proofs stand on are true. With --mutants each seeded
fault (`mutants`) is put into a copy of the core, and the proof named with it has to fail.

Exit code 1: a proof fails, or a fault is not seen. 3: what it needs is not there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tests.prove.mutants import MUTANTS, Mutant
from tests.prove.page import write_page
from tests.prove.proofs import HERE, PROOFS, ROOT, Proof

CBMC = ROOT / "build" / "cbmc"
CHECKS = (
    "--bounds-check",
    "--pointer-check",
    "--div-by-zero-check",
    "--signed-overflow-check",
    "--unsigned-overflow-check",
    "--conversion-check",
    "--undefined-shift-check",
    "--unwinding-assertions",
    "--slice-formula",
)
WHOLE_CHECKS = ("--no-standard-checks", "--unwinding-assertions", "--slice-formula")
"""The checks of a proof of the whole: what else can go wrong is asked of its verbs, one by one."""


@dataclass(frozen=True)
class Answer:
    """What came of one proof: how many properties were shown, and which were not."""

    proof: str
    shown: int
    failed: tuple[str, ...]
    seconds: float


def run(command: Iterable[str | Path]) -> str:
    """Runs a program of CBMC's; returns what it printed. RuntimeError: it could not run."""
    path = f"{CBMC / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    if done.returncode not in (0, 10):
        raise RuntimeError(done.stdout)
    return done.stdout


def build(proof: Proof, case: tuple[str, ...], sources: Path, folder: Path) -> Path:
    """Compiles a case of a proof, puts in what takes the place of verbs; returns the program."""
    raw, replaced, small = (
        folder / f"{proof.name}.{part}" for part in ("raw", "replaced", "small")
    )
    run([CBMC / "bin/goto-cc", "-o", raw, sources / proof.file, "--function", proof.name, *case])
    words = [word for pair in proof.replaced for word in ("--replace-calls", pair)]
    run([CBMC / "bin/goto-instrument", *words, raw, replaced])
    run([CBMC / "bin/goto-instrument", "--drop-unused-functions", replaced, small])
    return small


def ask(proof: Proof, sources: Path, *, first: bool = False) -> Answer:
    """Compiles a proof against the core beside `sources` and asks for all its cases.

    Up to the first that fails, if that is enough (`first`).
    """
    start = time.monotonic()
    shown, failed = 0, list[str]()
    for case in proof.cases:
        results = ask_case(proof, case, sources)
        wrong = [one for one in results if one["status"] != "SUCCESS"]
        shown += len(results) - len(wrong)
        failed += [f"{one['description']} ({place(one)})" for one in wrong]
        if first and failed:
            break
    return Answer(proof.name, shown, tuple(failed), time.monotonic() - start)


def ask_case(proof: Proof, case: tuple[str, ...], sources: Path) -> list[dict[str, object]]:
    """Runs CBMC on one case of a proof: its result for each property, as CBMC words it."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(proof, case, sources, Path(folder))
        told = run(
            [
                *(CBMC / "bin/cbmc", program, "--function", proof.name, "--json-ui"),
                *("--external-sat-solver", HERE / "solver", "--unwind", str(proof.unwind)),
                *(WHOLE_CHECKS if proof.whole else CHECKS),
            ]
        )
    found: list[dict[str, object]] = next(
        part["result"] for part in json.loads(told) if "result" in part
    )
    return found


def place(result: dict[str, object]) -> str:
    """The file and line that a property stands at."""
    at = result.get("sourceLocation")
    if not isinstance(at, dict):
        return "?"
    return f"{Path(str(at.get('file', '?'))).name}:{at.get('line', '?')}"


def laws_hold() -> bool:
    """Whether z3 finds that no law of arithmetic can be broken; prints the others."""
    text = (HERE / "lemmas.smt2").read_text()
    names = re.findall(r"^\(push\) ; (\w+)$", text, re.MULTILINE)
    done = subprocess.run(
        ["z3", "-T:60", str(HERE / "lemmas.smt2")], stdout=subprocess.PIPE, text=True, check=False
    )
    answers = done.stdout.split()
    for name, answer in zip(names, answers, strict=False):
        if answer != "unsat":
            print(f"law of arithmetic, {name}: {answer}")
    print(f"laws of arithmetic: {answers.count('unsat')} of {len(names)} shown")
    return answers == ["unsat"] * len(names)


def prove(proofs: Iterable[Proof], jobs: int) -> bool:
    """Asks for all these proofs, prints each answer, and returns whether all hold."""
    good = True
    with ThreadPoolExecutor(jobs) as pool:
        asked = [pool.submit(ask, proof, HERE) for proof in proofs]
        for done in as_completed(asked):
            answer = done.result()
            state = "shown" if not answer.failed else "FAILS"
            print(f"{answer.proof}: {state}, {answer.shown} properties, {answer.seconds:.1f} s")
            for failure in answer.failed:
                print(f"  {failure}")
            sys.stdout.flush()
            good = good and not answer.failed
    return good


def seen(mutant: Mutant) -> Answer:
    """The answer of the mutant's proof on a core that has its fault."""
    proof = next(one for one in PROOFS if one.name == mutant.proof)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "core", Path(folder) / "core")
        shutil.copytree(HERE, Path(folder) / "tests" / "prove")
        file = Path(folder) / "core" / mutant.file
        file.write_text(mutant.apply(file.read_text()))
        return ask(proof, Path(folder) / "tests" / "prove", first=True)


def try_mutants(mutants: Iterable[Mutant], jobs: int) -> bool:
    """Puts each fault into a core; returns whether the proof named with it fails for each."""
    good = True
    with ThreadPoolExecutor(jobs) as pool:
        asked = {pool.submit(seen, mutant): mutant for mutant in mutants}
        for done in as_completed(asked):
            mutant, answer = asked[done], done.result()
            what = f"seen: {answer.failed[0]}" if answer.failed else "NOT SEEN"
            print(f"{mutant.says} ({mutant.proof}): {what}", flush=True)
            good = good and bool(answer.failed)
    return good


def have_tools() -> bool:
    """Gets CBMC if it is not there; says what is missing, and returns whether nothing is."""
    if not (CBMC / "bin" / "cbmc").exists():
        got = subprocess.run([ROOT / "tools" / "get_cbmc", CBMC], check=False)
        if got.returncode != 0:
            return False
    if shutil.which("z3") is None:
        print("z3: not installed; install with: sudo apt-get install -y z3", file=sys.stderr)
        return False
    return True


def main() -> int:
    """Runs as the command line says; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="names of proofs, with commas between")
    parser.add_argument("--all", action="store_true", help="also those that are too slow for CI")
    parser.add_argument("--mutants", action="store_true", help="seed faults that must be seen")
    parser.add_argument("--write", action="store_true", help="make the tables of docs/proved.md")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    if args.write:
        write_page()
        return 0
    if not have_tools():
        return 3
    only = args.only.split(",") if args.only else []
    chosen: Callable[[str], bool] = lambda name: not only or name in only  # noqa: E731
    if args.mutants:
        return not try_mutants([one for one in MUTANTS if chosen(one.proof)], args.jobs)
    wanted = [one for one in PROOFS if chosen(one.name) and (only or args.all or not one.on_demand)]
    laws = laws_hold()
    return not (prove(wanted, args.jobs) and laws)


if __name__ == "__main__":
    sys.exit(main())
