# SPDX-License-Identifier: BSD-2-Clause
"""Faults that a proof must see: `make prove MUTANTS=1` puts each into a copy of the core.

A proof that holds of a broken core shows nothing. Each fault is one that could be made: a bound
that is off by one, a refill that is forgotten, a debt that is forgiven, a queue that is not told.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change of one file of the core, and the proof that must fail for it."""

    says: str
    proof: str
    file: str
    found: str
    instead: str

    def apply(self, text: str) -> str:
        """The file's text with the fault. Raises ValueError if the place is not there just once."""
        if text.count(self.found) != 1:
            raise ValueError(f"{self.says}: found {text.count(self.found)} times in {self.file}")
        return text.replace(self.found, self.instead)


MUTANTS = (
    Mutant(
        "a debt is forgiven by a refill",
        "after_refills",
        "account.h",
        "remaining_ns += (hp_i64)hp_times(refills, budget_ns);",
        "remaining_ns = (hp_i64)hp_times(refills, budget_ns);",
    ),
    Mutant(
        "what is paid back of a debt is not bounded by the budget",
        "after_refills",
        "account.h",
        "return remaining_ns > (hp_i64)budget_ns ? (hp_i64)budget_ns : remaining_ns;",
        "return remaining_ns;",
    ),
    Mutant(
        "a level that is used up exactly has nothing below it",
        "drop_level",
        "account.h",
        "if (over_ns >= server->budget_ns) {",
        "if (over_ns > server->budget_ns) {",
    ),
)
