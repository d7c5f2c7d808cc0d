# SPDX-License-Identifier: BSD-2-Clause
"""Analysis: interfaces computed, verdicts given, each by a published test.

`analyze(system)` is what the command prints; `resolve(system)` fills interfaces in; `Analysis` is
for who needs both, and more than once.
Each test is a module of its own, named after it; `host_level` and `domain_level` choose among
them. Verdicts are true, false or null with a reason, and are decided in exact arithmetic.
"""

from hyperperiod.analysis.analyze import Analysis, analyze
from hyperperiod.analysis.resolve import resolve
from hyperperiod.analysis.result import AnalysisResult

__all__ = ["Analysis", "AnalysisResult", "analyze", "resolve"]
