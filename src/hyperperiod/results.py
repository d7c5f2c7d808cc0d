# SPDX-License-Identifier: BSD-2-Clause
"""What commands print with `--json`: which object comes from which command, and the JSON Schema.

The schema is made of the classes that are printed and read, so it names every key and no other.
What the keys mean is in docs/formats.md. The copy beside this file ships with the package, and a
test keeps it up to date.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hyperperiod.analysis.fit.fit_result import FitResult
from hyperperiod.analysis.result import AnalysisResult
from hyperperiod.experiments.sweep.result import SweepResult
from hyperperiod.hosts.result import ComparisonResult, RunResult
from hyperperiod.model.error_result import ErrorResult
from hyperperiod.model.result_kinds import Object
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.schema import SCHEMA_DIALECT
from hyperperiod.model.values import Definitions, JsonSchema
from hyperperiod.observe.result import ObservationResult
from hyperperiod.papers.latency.result import LatencyResult
from hyperperiod.papers.result import ReproductionResult
from hyperperiod.trace.result import TraceCheckResult, TraceDiffResult

RESULTS: Final[Mapping[type[ResultObject], str]] = {
    AnalysisResult: "analyze",
    RunResult: "simulate or run",
    ComparisonResult: "compare",
    FitResult: "fit",
    LatencyResult: "latency",
    ObservationResult: "observe",
    ReproductionResult: "reproduce",
    SweepResult: "sweep",
    TraceCheckResult: "trace check",
    TraceDiffResult: "trace diff",
    ErrorResult: "any command that fails",
}
"""The objects, and the commands that print them."""
SCHEMA_ID = "urn:hyperperiod:results"


def printed_by(values: Any) -> str:
    """Returns the command that prints such an object, by its keys; empty if none does."""
    keys = set(values) if isinstance(values, Mapping) else set()
    for one, command in RESULTS.items():
        if one.required_fields <= keys <= one.field_defaults.keys():
            return command
    return ""


def results_schema() -> JsonSchema:
    """Returns the JSON Schema that any one result meets."""
    definitions: Definitions = {}
    each = [Object(one).schema(definitions) for one in RESULTS]
    head = {"$schema": SCHEMA_DIALECT, "$id": SCHEMA_ID, "title": "Hyperperiod result"}
    return {**head, "oneOf": each, "$defs": dict(sorted(definitions.items()))}
