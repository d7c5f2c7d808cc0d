# SPDX-License-Identifier: BSD-2-Clause
"""Guests whose jobs move between vcpus that may differ: what these supply together.

Inputs: a domain and what is known of each vcpu. Results: verdicts on its tasks, if every vcpu
gets its budget. Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod.analysis.domains.domain_level import UNPINNED, DomainVerdict, SupplyContract
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Domain

MOVING = "jobs move between vcpus that may differ: no test covers it"


def judge_guest(domain: Domain, contracts: Sequence[SupplyContract]) -> DomainVerdict:
    """The verdicts on a domain whose jobs move, `contracts` being those of its vcpus in order.

    The interface and pcpu of each vcpu are in `domain.each_vcpu`.
    """
    del contracts
    whole = Verdict.unknown(MOVING if domain.scheduler.is_global else UNPINNED)
    return DomainVerdict(whole, dict.fromkeys((task.name for task in domain.tasks), whole))
