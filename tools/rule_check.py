# SPDX-License-Identifier: BSD-2-Clause
"""Runs what judges one budget rule, and names what it lacks: `make rule-check RULE=NAME`.

First whether the rule is written down everywhere where it has to be (`missing`); then what the
core asks of its sources, the core under every compiler that is there, and the fuzzer in worlds that
begin under the rule. With the native modules built, the whole package too: the naive model against
core and simulator, the trace checks, the BPF build, tables, schema and proofs. `--core` leaves that
out and needs nothing but compilers and pytest. Run from the top; 1 if anything is wrong.
"""

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

EVENTS = 2_000_000
SEED = 1
FUZZER = Path("build/rule-check/fuzz_core")
NAIVE = Path("tests/model_naive/model.py")
TRACE = Path("src/hyperperiod/trace/properties/servers.cpp")
PAGES = Path("docs/policies")

# What reads the rules for itself, by test files; of each what names the rule.
PACKAGE_TESTS = (
    "tests/core/test_exhaustive.py",
    "tests/sim/test_against_naive.py",
    "tests/sim/test_properties.py",
    "tests/trace/test_trace_naive.py",
    "tests/model/test_policy.py",
    "tests/analysis/test_proofs.py",
)
# What is about all rules at once.
WHOLE_TESTS = ("tests/model/test_schema.py", "tests/model_naive/test_naive.py")


def rows() -> list[str]:
    """The words of the budget rules in the order of their rows."""
    source = '#include "core/rules.h"\nROWS HP_BUDGETS(HP_RULE_NAME)\n'
    command = ["cc", "-E", "-P", "-I.", "-xc", "-"]
    done = subprocess.run(command, input=source, check=True, capture_output=True, text=True)
    return re.findall(r'"([\w-]+)"', done.stdout.partition("ROWS")[2])


def missing(rule: str) -> Iterator[str]:
    """What is not written of the rule, a sentence each."""
    if rule not in rows():
        yield f"core/rules.h has no row for {rule}"
    naive = re.search(r"BudgetRule = Literal\[(.*?)\]", NAIVE.read_text(), re.DOTALL)
    if naive is None or f'"{rule}"' not in naive[1]:
        yield f"the naive model ({NAIVE}) does not know {rule}: BudgetRule, and what it does"
    if not re.search(
        rf'^    {{"{rule}", Budget::\w+, make<\w+>}},', TRACE.read_text(), re.MULTILINE
    ):
        yield f"the trace checks ({TRACE}) have no class for {rule} in `budgets`"
    if not any(f"is {rule} + " in page.read_text() for page in PAGES.glob("*.md")):
        yield f"no page in {PAGES} is about {rule}: `policy = ...` is {rule} + ..."


def build_fuzzer() -> list[str]:
    """The command that compiles the core's fuzzer with the sanitizers."""
    FUZZER.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-I."]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    return ["g++", *flags, *sanitizers, "-o", str(FUZZER), "tests/native/fuzz_core.cpp"]


def jobs(rule: str, *, core_only: bool) -> Iterator[tuple[str, list[str]]]:
    """What is run: a title and a command each."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    yield "rules of the core's sources", [sys.executable, "tools/check_core.py"]
    yield "every compiler", [*pytest, "tests/core_builds"]
    yield "fuzzer: compile", build_fuzzer()
    yield "fuzzer", [str(FUZZER), str(EVENTS), str(SEED), f"budget={rule}"]
    if core_only:
        return
    small = ["-n", "2", "-m", "not slow", "-k", f"{rule} and not changes_and_swaps"]
    yield "naive model, traces, tables", [*pytest, *small, *PACKAGE_TESTS]
    yield "schema, naive model", [*pytest, *WHOLE_TESTS]


def main() -> int:
    """Says what is missing, runs everything else and prints how long it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rule", help="the word of a budget rule, such as deferrable")
    parser.add_argument("--core", action="store_true", help="only what needs no native modules")
    arguments = parser.parse_args()
    lacks = list(missing(arguments.rule))
    print(*(f"missing: {what}" for what in lacks), sep="\n", end="\n" if lacks else "")
    failed = bool(lacks)
    for title, command in jobs(arguments.rule, core_only=arguments.core):
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        took = time.monotonic() - start
        print(f"{title}: {'passed' if done.returncode == 0 else 'failed'}, {took:.0f} s")
        if done.returncode != 0:
            print(" ".join(command), done.stdout[-4000:], done.stderr[-4000:], sep="\n")
            failed = True
            if title == "fuzzer: compile":
                break
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
