# SPDX-License-Identifier: BSD-2-Clause
"""Analysis: interfaces computed, verdicts given, each by a published test.

`analyze(system)` is what the command prints; `resolve(system)` fills interfaces in for hosts.
Each test is a module of its own, named after it; `host_level` and `domain_level` choose among
them. Verdicts are true, false or null with a reason, and are decided in exact arithmetic.
"""

from hyperperiod.analysis.analyze import AnalyzeResult, analyze
from hyperperiod.analysis.resolve import resolve

__all__ = ["AnalyzeResult", "analyze", "resolve"]
