# SPDX-License-Identifier: BSD-2-Clause
"""The swaps of a recorded run: when which policy came into force, by name."""

import numpy as np

from hyperperiod.model import PRESETS
from hyperperiod.trace.format import NONE, Header, Kind, Records
from hyperperiod.trace.records import BUDGETS, ORDERS, SLACKS, each


def swaps(header: Header, records: Records) -> list[tuple[int, str]]:
    """Each swap (ns, policy) once: pcpus that swap one by one do so at nearly the same time."""
    first = (records["kind"] == Kind.SWAP) & np.isin(records["pcpu"], (0, NONE))
    return [
        (record.time_ns, _policy_name(record.value, str(header["scope"])))
        for record in each(records[first])
    ]


def _policy_name(rules: int, scope: str) -> str:
    """The policy of the rules in a record of a swap, by name where it has one."""
    words = (BUDGETS[rules & 0xFF], ORDERS[rules >> 8 & 0xFF], SLACKS[rules >> 16 & 0xFF], scope)
    for name, preset in PRESETS.items():
        if (preset.budget, preset.order, preset.slack, preset.scope) == words:
            return name
    return "+".join(words[:3])
