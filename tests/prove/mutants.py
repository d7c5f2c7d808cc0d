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
        "if (over_ns >= budget_ns) {",
        "if (over_ns > budget_ns) {",
    ),
    Mutant(
        "a charge that uses up a budget exactly leaves the server on it",
        "spend",
        "account.h",
        "if (server->remaining_ns > 0)\n            return;\n    }\n    if (span_ns > 0)",
        "if (server->remaining_ns >= 0)\n            return;\n    }\n    if (span_ns > 0)",
    ),
    Mutant(
        "a refill that is due now waits",
        "timed_catch_up",
        "budget/timed.h",
        "if (server->deadline_ns > now_ns)",
        "if (server->deadline_ns >= now_ns)",
    ),
    Mutant(
        "a whole period gives nothing back",
        "timed_charge_periods",
        "budget/timed.h",
        "(hp_i64)hp_times(periods, server->params.period_ns - server->params.budget_ns)",
        "(hp_i64)hp_times(periods, server->params.period_ns)",
    ),
    Mutant(
        "polling loses what a server with work has",
        "polling_catch_up",
        "budget/polling.h",
        "    if (hp_server_of(core, vcpu)->runnable)\n"
        "        hp_timed_catch_up(core, vcpu, now_ns);\n    else\n",
        "",
    ),
    Mutant(
        "a slice begins with more than a budget",
        "slice_begin",
        "budget/slice.h",
        "hp_after_refills(server->remaining_ns, server->params.budget_ns, refills)",
        "(hp_i64)server->params.budget_ns + 1",
    ),
    Mutant(
        "a slice is lost without a word to the queue",
        "slice_lose",
        "budget/slice.h",
        "    server->remaining_ns = 0;\n    hp_deplete(core, vcpu, 1);",
        "    server->remaining_ns = 0;",
    ),
    Mutant(
        "new parameters leave more than their budget",
        "slice_rest",
        "budget/slice.h",
        "    if (server->remaining_ns > (hp_i64)server->params.budget_ns)\n"
        "        server->remaining_ns = (hp_i64)server->params.budget_ns;\n",
        "",
    ),
    Mutant(
        "a period that is over is not caught up before the next begins",
        "slice_arrive",
        "budget/slice.h",
        "if (server->deadline_ns <= now_ns)\n        hp_slice_begin",
        "if (server->deadline_ns < now_ns)\n        hp_slice_begin",
    ),
    Mutant(
        "a depleted cbs server gets all its refills, due or not",
        "cbs_catch_up",
        "budget/cbs.h",
        "hp_min(hp_parts((hp_u64)-server->remaining_ns, server->params.budget_ns),\n"
        "                          hp_parts(late_ns, server->params.period_ns))",
        "hp_parts((hp_u64)-server->remaining_ns, server->params.budget_ns)",
    ),
    Mutant(
        "a debt goes through a difference below zero",
        "cbs_charge_piece",
        "budget/cbs.h",
        "if (server->level == 0 && server->remaining_ns > 0)",
        "if (server->level == 0)",
    ),
    Mutant(
        "what is left after sixteen pieces is free",
        "cbs_charge",
        "budget/cbs.h",
        "        to_ns = HP_FORGET(to_ns);\n    }\n    hp_spend(core, vcpu, to_ns - from_ns);",
        "        to_ns = HP_FORGET(to_ns);\n    }",
    ),
    Mutant(
        "an arrival revives a depleted cbs server",
        "cbs_arrive",
        "budget/cbs.h",
        "    if (server->remaining_ns <= 0)\n        return;",
        "    if (server->remaining_ns < 0)\n        return;",
    ),
    Mutant(
        "the spare gets more than its budget",
        "spare_catch_up",
        "slack/spare.h",
        "hp_after_refills(spare->remaining_ns, spare->budget_ns, refills)",
        "(hp_i64)spare->budget_ns + (hp_i64)refills",
    ),
    Mutant(
        "new parameters take effect without what was used until then",
        "charge",
        "budget.h",
        "        hp_charge_rule(core, vcpu, from_ns, change_ns);\n",
        "",
    ),
    Mutant(
        "a charge is taken for one without a refill in between",
        "charge",
        "budget.h",
        "return to_ns <= server->deadline_ns;",
        "return to_ns <= server->change_at_ns;",
    ),
    Mutant(
        "work that arrives and starts a period is not told to the queues",
        "cbs_arrive",
        "budget/cbs.h",
        "server->deadline_ns = now_ns + server->params.period_ns;\n    hp_refilled(core, vcpu);\n",
        "server->deadline_ns = now_ns + server->params.period_ns;\n    server->level = 0;\n",
    ),
    Mutant(
        "a head in use is joined",
        "sporadic_append",
        "budget/sporadic.h",
        "if (count > head_stays && time_ns <= tail->time_ns + tail->amount_ns)",
        "if (time_ns <= tail->time_ns + tail->amount_ns)",
    ),
    Mutant(
        "an overrun multiplies without a bound",
        "sporadic_use_rounds",
        "budget/sporadic.h",
        "hp_times(hp_min(rounds, most), server->params.period_ns)",
        "hp_times(rounds + (most & 0u), server->params.period_ns)",
    ),
    Mutant(
        "a refill that is due at this instant is left for later",
        "whole_settle",
        "grant.h",
        "hp_queue_lowest(&core->due) <= core->now_ns)\n        hp_replenish_due",
        "hp_queue_lowest(&core->due) < core->now_ns)\n        hp_replenish_due",
    ),
    Mutant(
        "the end of a grant is not looked after",
        "whole_pick",
        "alone.h",
        "    core->due_ns = end_ns;\n",
        "    core->due_ns = hp_refill_until(core, HP_NEVER);\n",
    ),
    Mutant(
        "an arrival leaves a plan that it makes wrong",
        "whole_arrive",
        "vcpu.h",
        "core->planned = planned && !hp_arrival_matters(core, vcpu);",
        "core->planned = planned;",
    ),
    Mutant(
        "a refill that is due before all others is not waited for",
        "whole_arrive",
        "account.h",
        "        core->due_ns = due_ns;\n",
        "",
    ),
    Mutant(
        "of two that are equal in a queue the later one stays first",
        "whole_arrive",
        "queue.h",
        "key < queue->lowest || (key == queue->lowest && vcpu <= queue->first)",
        "key < queue->lowest",
    ),
    Mutant(
        "a block with a new key is not looked at",
        "whole_depart",
        "queue.h",
        "    *low = 0;\n",
        "",
    ),
    Mutant(
        "who leaves a queue is still known as its first",
        "whole_depart",
        "queue.h",
        "    } else if (vcpu == queue->first) {\n        queue->known = 0;\n    }\n",
        "    }\n",
    ),
    Mutant(
        "time that is charged is charged once more",
        "whole_charge_all",
        "grant.h",
        "    pcpu->charged_ns = core->now_ns;\n",
        "",
    ),
    Mutant(
        "a grant outlasts the budget that pays for it",
        "whole_pick",
        "alone.h",
        "        end_ns = hp_server_pays_until(payer, only->charged_ns);\n",
        "",
    ),
    Mutant(
        "of two equals the one that goes on gives way",
        "whole_pick",
        "order.h",
        "return hp_is_vcpu(last) && hp_key_of",
        "return last == HP_SPARE && hp_key_of",
    ),
    Mutant(
        "a payer that is not the planned one is let pass",
        "whole_kicks",
        "alone.h",
        "(grant->run ^ run) | (grant->pay ^ plan->pay)",
        "(grant->run ^ run)",
    ),
    Mutant(
        "nobody is asked to wake up for the next alarm",
        "whole_kicks",
        "alone.h",
        "core->due_ns < grant->until_ns || ",
        "",
    ),
)
