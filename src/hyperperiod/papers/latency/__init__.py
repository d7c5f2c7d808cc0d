# SPDX-License-Identifier: BSD-2-Clause
"""The latency lab: the scenarios of the RT-Xen evaluation under every policy, on any host.

What a VM notices of its scheduler is measured from inside it, as the paper does: a busy loop of
known length is timed again and again, and what it takes too long was stolen from the VM. The
settings and the paper's figures are data (`experiments/latency-*.toml`); `lab.measure` runs them
and puts our figures beside the paper's.
"""

from hyperperiod.papers.latency.lab import Plan, measure
from hyperperiod.papers.latency.settings import SCENARIOS, load_scenarios

__all__ = ["SCENARIOS", "Plan", "load_scenarios", "measure"]
