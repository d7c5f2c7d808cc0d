# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis of flows finds, apart from how: all that systems without flows need of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hyperperiod.analysis.domains.domain_level import DomainVerdict
    from hyperperiod.analysis.flows.end_to_end import FlowVerdict


class FlowAnalysis(NamedTuple):
    """The domains with hops, by name, and all flows in the order of the file.

    `proved` are domains whose tasks are in time whether or not their servers get every budget.
    """

    domains: Mapping[str, DomainVerdict]
    flows: tuple[FlowVerdict, ...]
    proved: frozenset[str] = frozenset()


NO_FLOWS = FlowAnalysis({}, ())
