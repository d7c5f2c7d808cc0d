# SPDX-License-Identifier: BSD-2-Clause
"""Prints which tests are about a rule, a policy or a command: `make tests-of WHAT=deferrable`.

Nothing of it is written by hand. Rules are the rows of the core; a rule's hunts are those that the
rows of `analysis/proofs.py` name. Tests of every rule are those that take the lists of all legal
combinations; tests of one name it in a text. Commands are those of `hyperperiod.commands`; a test
of one has its name as the first word of what it runs. Files stand in the order of how often they do
so. Without WHAT all are listed. Run from the top; 2 if there is nothing of that name.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hyperperiod.analysis.proofs import PROOFS, REFINEMENTS
from hyperperiod.commands import COMMANDS
from hyperperiod.model import PRESETS, Budget, Order, Slack

TESTS = Path("tests")
RULES = tuple(str(rule) for rules in (Budget, Order, Slack) for rule in rules)
ALL_RULES = re.compile(r"\blegal_policies\b|\bsupport import rules|\.rules import .*(LOCAL|GLOBAL)")


class Texts(NamedTuple):
    """What stands in a module of tests: its short texts, and the first text of what it may run."""

    names: str
    first: list[str]


@cache
def modules() -> dict[Path, Texts]:
    """All modules of tests."""
    return {
        path: texts_of(ast.parse(path.read_text())) for path in sorted(TESTS.rglob("test_*.py"))
    }


def texts_of(tree: ast.AST) -> Texts:
    """Lines of at most three words, one below the other; the first texts of calls and lists."""
    names, first = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names += [line for line in node.value.splitlines() if len(line.split()) <= 3]
        parts = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
        first += [str(part.value) for part in parts[:2] if isinstance(part, ast.Constant)][:1]
    return Texts("\n".join(names), first)


def most_first(count: Callable[[Texts], int]) -> list[Path]:
    """The modules of which something is counted, those with the most first."""
    counts = Counter({path: count(one) for path, one in modules().items()})
    return [path for path, number in counts.most_common() if number]


def hunts_of(rule: str) -> set[Path]:
    """The hunts of the rows of proofs that are about a rule."""
    hunts = {
        hunt
        for row in PROOFS
        if rule in map(str, (row.budget, row.order, *row.slacks))
        for hunt in row.hunts
    } | {
        hunt
        for row in REFINEMENTS
        if rule in map(str, (row.budget, *row.orders, *row.slacks))
        for hunt in row.hunts
    }
    return {TESTS / "soundness" / hunt for hunt in hunts}


def about(what: str) -> Iterator[tuple[str, list[Path]]]:
    """What the tests of a rule, a policy or a command do, and their files."""
    if what in RULES:
        yield "attacks what is proved of it", sorted(hunts_of(what))
        yield (
            "takes every legal combination",
            [path for path in modules() if ALL_RULES.search(path.read_text())],
        )
    if what in RULES or what in PRESETS:
        word = re.compile(rf"(?:^|[\s\"'+=,]){re.escape(what)}(?=$|[\s\"'+,])", re.MULTILINE)
        yield "names it", most_first(lambda one: len(word.findall(one.names)))
    if what in COMMANDS:
        yield "runs it", most_first(lambda one: one.first.count(what))


def main() -> int:
    """Prints the tests of one name, or of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", nargs="?", help="a rule, a policy or a command")
    asked = parser.parse_args().what
    for what in [asked] if asked else dict.fromkeys([*RULES, *PRESETS, *COMMANDS]):
        found = list(about(what))
        if not found:
            print(f"{what} is no rule, policy or command", file=sys.stderr)
            return 2
        for kind, files in found:
            print(f"{what}: {kind}", *(f"  {file}" for file in files), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
