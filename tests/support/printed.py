# SPDX-License-Identifier: BSD-2-Clause
"""What commands print with --json, held against the schema and the classes that it comes from."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema

from hyperperiod.analysis.fit.fit_result import FitResult
from hyperperiod.analysis.result import AnalysisResult
from hyperperiod.experiments.sweep.result import SweepResult
from hyperperiod.hosts.result import ComparisonResult, RunResult
from hyperperiod.model.result_object import ResultObject
from hyperperiod.observe.result import ObservationResult
from hyperperiod.papers.latency.result import LatencyResult
from hyperperiod.papers.result import ReproductionResult
from hyperperiod.results import results_schema
from hyperperiod.trace.result import TraceCheckResult, TraceDiffResult


@cache
def validator() -> Any:
    return jsonschema.Draft202012Validator(results_schema())


def checked(text: str) -> Any:
    """The object in the text, which is a result: the schema allows it, reading it loses nothing."""
    printed = json.loads(text)
    validator().validate(printed)
    kind: type[ResultObject] = RunResult
    if "results" in printed:
        kind = ComparisonResult
    elif "asked" in printed:
        kind = FitResult
    elif "scenarios" in printed:
        kind = LatencyResult
    elif "claims" in printed:
        kind = ReproductionResult
    elif "sweep" in printed:
        kind = SweepResult
    elif "properties" in printed:
        kind = TraceCheckResult
    elif "unequal_jobs" in printed:
        kind = TraceDiffResult
    elif "observed" in printed:
        kind = ObservationResult
    elif "host" not in printed:
        kind = AnalysisResult
    assert kind.of(printed).to_json() + "\n" == text
    return printed
