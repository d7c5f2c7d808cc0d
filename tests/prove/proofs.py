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

ARITHMETIC = ("hp_parts:prove_parts", "hp_modulo:prove_modulo", "hp_times:prove_times")
"""Verbs of core/wide.h, and what takes their place: the laws of arithmetic.h."""
QUEUE = ("hp_requeue:prove_requeue",)
"""The verb that tells the queues of a change, and the notebook of world.h that takes its place."""

WHOLE = (
    "hp_server_of:one_of_two",
    "hp_key_of:one_key",
    "hp_parts:narrow_parts",
    "hp_times:narrow_times",
)
"""Where the core runs as it is, at a small size: the same answers, by cases and in few bits."""


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
    """More verbs that something takes the place of: VERB:FUNCTION, a contract mostly."""
    unwind: int = 4
    """Rounds of a loop that are tried; that there are no more is shown as well."""
    cases: tuple[tuple[str, ...], ...] = ((),)
    """What is defined for the compiler; the proof is asked for once for each."""
    whole: bool = False
    """Whether queues and arithmetic are the core's, but for what the proof itself names."""
    on_demand: bool = False
    """Whether it is too slow for CI."""

    @property
    def replaced(self) -> tuple[str, ...]:
        """All verbs that something takes the place of in this proof."""
        common = WHOLE if self.whole else (*ARITHMETIC, *QUEUE)
        verbs = {pair.partition(":")[0]: pair for pair in (*common, *self.instead)}
        return tuple(verbs.values())


SPEND = "hp_spend:prove_spend"
REFILLS = "hp_timed_catch_up:prove_timed_catch_up"
ONE_QUOTIENT = ("hp_parts:one_parts", "hp_times:one_times")

QUEUES = tuple((f"-DHEAD={head}u", f"-DCOUNT={count}u") for head in (0, 6) for count in range(1, 9))
"""Queues of refills of each length: one that begins its ring, and one that goes round its end."""

ROUND_THE_END = QUEUES[8:]
"""Those of the second kind alone."""

CHARGED = ("hp_charge_all:prove_charge_all",)
SETTLED = ("hp_settle:prove_settle",)
PICKED = (*SETTLED, "hp_charge_pcpu:prove_charge_pcpu")
RULES = tuple((f"-DBUDGET=HP_BUDGET_{rule}",) for rule in ("PERIODIC", "DEFERRABLE"))
EACH_VCPU = tuple((*rule, f"-DVCPU={vcpu}u") for rule in RULES for vcpu in (0, 1))
PAYERS = ("HP_NONE", "0u", "1u")
EACH_PAYER = tuple((*rule, f"-DPAYER={payer}") for rule in RULES for payer in PAYERS)
EACH_VCPU_AND_PAYER = tuple((*case, f"-DPAYER={payer}") for case in EACH_VCPU for payer in PAYERS)


def _of_whole(
    verb: str,
    shows: str,
    instead: tuple[str, ...] = (),
    cases: tuple[tuple[str, ...], ...] = RULES,
) -> Proof:
    """A step of the induction over the whole core: an entry, from any state with the invariant."""
    return Proof(
        f"whole_{verb}",
        "whole.c",
        f"hp_{verb}",
        shows,
        instead,
        unwind=9,
        cases=cases,
        whole=True,
        on_demand=True,
    )


PROOFS = (
    Proof(
        "timed_charge",
        "timed.c",
        "hp_timed_charge",
        "all of the time is charged, split at each refill; no refill is passed over; without extra "
        "time what was used since the last refill is not there any more",
        (SPEND, REFILLS, "hp_timed_charge_periods:prove_timed_charge_periods", *ONE_QUOTIENT),
        on_demand=True,
    ),
    Proof(
        "spare_charge",
        "spare.c",
        "hp_spare_charge",
        "the spare stays within its budget; no refill is passed over; the plan is made anew when "
        "nothing is left",
        on_demand=True,
    ),
    Proof(
        "sporadic_usable",
        "sporadic.c",
        "hp_sporadic_usable",
        "never more than the budget has come back, and all of it once the last refill has",
        unwind=9,
        cases=QUEUES,
        on_demand=True,
    ),
    Proof(
        "sporadic_use_rounds",
        "sporadic.c",
        "hp_sporadic_use_rounds",
        "an overrun of any length leaves refills in order, a period apart at most, together the "
        "budget, and none of them sooner",
        unwind=9,
        cases=QUEUES,
        on_demand=True,
    ),
    Proof(
        "sporadic_append",
        "refills.c",
        "hp_refill_append",
        "what is added is there, at its time or with the last one; a head in use is never joined; "
        "the others are as they were, and none comes sooner than the one before is used up",
        unwind=9,
        cases=ROUND_THE_END,
        on_demand=True,
    ),
    Proof(
        "charge",
        "rules.c",
        "hp_charge",
        "under every rule but sporadic: all of the time is charged, with new parameters from their "
        "time on, and what charges need of the deadline holds again",
        (
            "hp_charge_rule:prove_charge_rule",
            "hp_catch_up:prove_catch_up",
            SPEND,
        ),
    ),
    Proof(
        "cbs_catch_up",
        "cbs.c",
        "hp_cbs_catch_up",
        "what is due is done and no more; who has budget keeps it; a debt does not grow",
        on_demand=True,
    ),
    Proof(
        "spend",
        "timed.c",
        "hp_spend",
        "a charge costs what it is long, on the level that the server is on, or below it if that "
        "is used up",
    ),
    Proof(
        "cbs_charge",
        "cbs.c",
        "hp_cbs_charge",
        "all of the time is charged, in at most sixteen pieces and a last one",
        ("hp_cbs_charge_piece:prove_cbs_charge_piece", SPEND),
        unwind=18,
        on_demand=True,
    ),
    Proof(
        "cbs_charge_piece",
        "cbs.c",
        "hp_cbs_charge_piece",
        "a piece charges the time up to where it says that it ends",
        (
            "hp_cbs_catch_up:prove_cbs_catch_up",
            "hp_cbs_charge_periods:prove_cbs_charge_periods",
            SPEND,
        ),
    ),
    Proof(
        "timed_catch_up",
        "timed.c",
        "hp_timed_catch_up",
        "all refills that are due are done and no other; then the budget is full, or the debt less",
    ),
    Proof(
        "timed_charge_periods",
        "timed.c",
        "hp_timed_charge_periods",
        "n periods cost n periods and give n budgets, to the nanosecond",
    ),
    Proof(
        "polling_catch_up",
        "timed.c",
        "hp_polling_catch_up",
        "nothing is kept without work; nothing is lost with it",
        (REFILLS,),
    ),
    Proof(
        "slice_first",
        "slice.c",
        "hp_slice_first",
        "the first work begins a period, or a wait for one",
        ("hp_slice_begin:prove_slice_begin",),
    ),
    Proof(
        "slice_arrive",
        "slice.c",
        "hp_slice_arrive",
        "work finds a period that goes on, begins one, or waits; what is kept is as it was",
        (REFILLS, "hp_slice_begin:prove_slice_begin", "hp_slice_lose:prove_slice_lose"),
    ),
    Proof(
        "slice_begin",
        "slice.c",
        "hp_slice_begin",
        "a period begins with a full slice, or with part of a debt paid back",
    ),
    Proof("slice_lose", "slice.c", "hp_slice_lose", "all that is left is lost, and makes a claim"),
    Proof("slice_rest", "slice.c", "hp_slice_rest", "without work nothing comes back"),
    Proof(
        "cbs_charge_periods",
        "cbs.c",
        "hp_cbs_charge_periods",
        "whole periods cost nothing in the end and move the deadline by as much",
    ),
    Proof(
        "cbs_arrive",
        "cbs.c",
        "hp_cbs_arrive",
        "a depleted server is as it was; another has budget and a deadline to come, whatever the "
        "comparison of bandwidths says",
        ("hp_product_above:any_answer",),
    ),
    Proof(
        "spare_catch_up",
        "spare.c",
        "hp_spare_catch_up",
        "the spare's refills that are due are done; a debt does not grow",
    ),
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
    _of_whole(
        "charge_all",
        "the invariant of the whole; who has work and who is there is as it was",
        (),
        EACH_PAYER,
    ),
    _of_whole("settle", "the invariant of the whole; what is due is done", CHARGED),
    _of_whole(
        "arrive", "the invariant of the whole; the vcpu has work", SETTLED, EACH_VCPU_AND_PAYER
    ),
    _of_whole("depart", "the invariant of the whole; the vcpu has none", (), EACH_VCPU),
    _of_whole(
        "pick",
        "the invariant of the whole, and its laws; who is first pays; the grant ends later than "
        "now and is the planned one",
        PICKED,
    ),
    _of_whole(
        "kicks",
        "the invariant of the whole, and its laws; a pcpu whose grant is wrong is named, and some "
        "pcpu if nobody would wake up for the next alarm",
        SETTLED,
    ),
    _of_whole("check", "no law is broken, whenever it is asked", SETTLED),
    _of_whole("init", "with two servers added it keeps the invariant of the whole"),
)
