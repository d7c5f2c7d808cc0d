# SPDX-License-Identifier: BSD-2-Clause
"""The list of proofs: what each shows, and how the model checker is asked.

A proof is a C function in this folder. What it takes for granted (TAKE) and what it shows (SHOW)
stands there; the table in docs/proved.md is made of this list (`python -m tests.prove.prove
--write`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

ARITHMETIC = ("hp_parts:prove_parts", "hp_rest:prove_rest", "hp_times:prove_times")
"""Verbs of core/wide.h, and what takes their place: the laws of arithmetic.h."""
QUEUE = ("hp_enlist:prove_enlist", "hp_sort_in:prove_sort_in")
"""The verbs that tell the queue of a change, and the notebook of world.h that takes their place."""


@dataclass(frozen=True)
class Proof:
    """One function of this folder, which the model checker runs for all inputs at once."""

    name: str
    """The function."""
    file: str
    verb: str
    """The verb of the core that it is about."""
    shows: str
    """What it shows, beside what every proof shows: for the docs."""
    instead: tuple[str, ...] = ()
    """More verbs that something takes the place of: VERB:FUNCTION."""
    unwind: int = 4
    """Rounds of a loop that are tried; that there are no more is shown as well."""
    on_demand: bool = False
    """Whether it is too slow for CI."""

    @property
    def replaced(self) -> tuple[str, ...]:
        """All verbs that something takes the place of in this proof."""
        return ARITHMETIC + QUEUE + self.instead


PROOFS = (
    Proof(
        "drop_level",
        "account.c",
        "hp_drop_level",
        "what is past the end of a level is paid by as many below it as it takes, to the "
        "nanosecond; something is left on the last",
    ),
    Proof(
        "deplete",
        "account.c",
        "hp_deplete",
        "an emptied server has an extra level exactly if it may",
    ),
    Proof(
        "after_refills",
        "account.c",
        "hp_after_refills",
        "never more than a budget; a debt is paid back and not forgiven",
    ),
    Proof(
        "share_cost",
        "account.c",
        "hp_share_cost",
        "a share costs something, so that a claim is one",
    ),
)
